// tests/fuzz/fuzz_files.c: any bytes as a model of several files.
//
// Files are parts of the text behind lines "#= NAME", the model first. A refusal says one of the files and why, in at
// most 21 lines; an accepted model is written with its subsystems and without, and both can be read again.
#define _GNU_SOURCE
#include <kardan/model.h>

#include "core/load.h"
#include "core/memory.h"
#include "fuzz/fuzz_file.h"
#include "modelfile/reader.h"

enum { MOST_FILES = 8 };

typedef struct files {
    int         n;
    const char *name[MOST_FILES], *text[MOST_FILES];
    size_t      length[MOST_FILES];
} files;

// Cuts the text at its lines "#= NAME"; what stands before the first one is "model.yaml"
static void cut(char *text, files *f)
{
    char *end = text + strlen(text);
    f->n = 0;
    for (char *at = text; at && f->n < MOST_FILES;) {
        char *name = "model.yaml", *begin = at;
        if (strncmp(at, "#= ", 3) == 0) {
            name = at + 3;
            begin = name + strcspn(name, "\n");
            if (*begin) *begin++ = '\0';
        }
        char *next = strncmp(begin, "#= ", 3) == 0 ? begin : strstr(begin, "\n#= ");
        if (next && *next == '\n') *next++ = '\0';
        f->name[f->n] = name;
        f->text[f->n] = begin;
        f->length[f->n++] = (size_t)((next ? next : end) - begin) - (next && next > begin ? 1 : 0);
        at = next;
    }
}

static int count_lines(const char *text)
{
    int lines = 1;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

static void check_refusal(const files *f, const char *message)
{
    bool named = false;
    for (int i = 0; i < f->n; i++)
        named = named || (strncmp(message, f->name[i], strlen(f->name[i])) == 0 && message[strlen(f->name[i])] == ':');
    demand(named && count_lines(message) <= 21);
}

typedef kd_status writing(const kd_model *m, const char *path, char *message, size_t size);

static char *written(const kd_model *m, writing *write, size_t *length)
{
    char        message[4000], *text = NULL;
    const char *path = file_of((const uint8_t *)"", 0);
    demand(write(m, path, message, sizeof message) == KD_OK);
    demand(kd_load_file(path, (size_t)1 << 30, &text, length, message, sizeof message) == KD_OK);
    return text;
}

// Both write the same
static void check_same(const kd_model *a, const kd_model *b, writing *write)
{
    size_t na, nb;
    char  *x = written(a, write, &na), *y = written(b, write, &nb);
    demand(na == nb && memcmp(x, y, na) == 0);
    kd_free(x);
    kd_free(y);
}

// As one file it is the same model; without subsystems it is a model, too
static void check_written(const kd_model *m)
{
    static char message[1 << 14];
    kd_model   *again = NULL, *flat = NULL;
    size_t      n;
    char       *text = written(m, kd_model_write, &n);
    demand(kd_model_read_text("again.yaml", text, n, NULL, 0, &again, message, sizeof message) == KD_OK);
    check_same(m, again, kd_model_write);
    check_same(m, again, kd_model_write_flat);
    kd_free(text);
    text = written(m, kd_model_write_flat, &n);
    demand(kd_model_read_text("flat.yaml", text, n, NULL, 0, &flat, message, sizeof message) == KD_OK);
    kd_free(text);
    kd_model_destroy(again);
    kd_model_destroy(flat);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char message[1 << 14];
    char       *text = text_of(data, size);
    kd_model   *m = NULL;
    files       f;
    cut(text, &f);
    const kd_file_source source = {f.n, f.name, f.text, f.length};
    const kd_status      status = kd_model_read_files(&source, &m, message, sizeof message);
    demand(memchr(message, '\0', sizeof message));
    if (status == KD_OK) {
        demand(m && message[0] == '\0');
        check_written(m);
    } else {
        demand(status == KD_ERR_MODEL && !m);
        check_refusal(&f, message);
    }
    kd_model_destroy(m);
    free(text);
    return 0;
}
