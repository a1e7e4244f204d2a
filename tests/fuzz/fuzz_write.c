// tests/fuzz/fuzz_write.c: any bytes as a model file; what is accepted is written, read again and written again.
//
// The second text is the first one: nothing is lost or changed by writing.
#define _GNU_SOURCE
#include <kardan/model.h>

#include "core/load.h"
#include "core/memory.h"
#include "fuzz/fuzz_file.h"

static char *written(const kd_model *m, size_t *length)
{
    char        message[4000], *text = NULL;
    const char *path = file_of((const uint8_t *)"", 0);
    demand(kd_model_write(m, path, message, sizeof message) == KD_OK);
    demand(kd_load_file(path, (size_t)1 << 30, &text, length, message, sizeof message) == KD_OK);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char message[1 << 14];
    char       *text = text_of(data, size);
    kd_model   *m = NULL, *again = NULL;
    if (kd_model_read_text("fuzz.yaml", text, size, NULL, 0, &m, message, sizeof message) == KD_OK) {
        size_t na, nb;
        char  *a = written(m, &na), *b;
        demand(kd_model_read_text("again.yaml", a, na, NULL, 0, &again, message, sizeof message) == KD_OK);
        b = written(again, &nb);
        demand(na == nb && memcmp(a, b, na) == 0);
        kd_free(a);
        kd_free(b);
    }
    kd_model_destroy(again);
    kd_model_destroy(m);
    free(text);
    return 0;
}
