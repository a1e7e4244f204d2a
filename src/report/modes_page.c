// modes_page.c: a table of eigenvalues and a film for each that swings, as data of the viewer (viewer/src/modes.ts); pages of a
// motion alone.
#include "report/modes_page.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "report/block.h"
#include "report/report.h"
#include "report/viewer.h"
#include "results/file.h"

struct kd_modes_page {
    FILE *file;
    char *path;
    int   count; // entries so far
};

// Up to the words of the section that the viewer fills
static void put_head(FILE *file, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          file);
    kd_file_escaped(file, title, 200);
    fprintf(
        file,
        "</title>\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src %s; style-src "
        "'unsafe-inline'; img-src data: blob:\">\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>",
        kd_viewer_policy(), kd_report_style());
    kd_file_escaped(file, title, 200);
    fputs("</h1>\n<section class=\"card\" data-kardan-viewer", file);
}

static void put_foot(FILE *file)
{
    kd_viewer_put_script(file);
    fputs("</main>\n</body>\n</html>\n", file);
}

kd_status kd_modes_page_open(const char *path, const char *title, const char *parameter, kd_modes_page **page,
                             char *message, size_t size)
{
    *page = NULL;
    if (!kd_viewer_is_built()) {
        kd_text(message, size, "the viewer is not built in (make viewer)");
        return KD_ERR_UNAVAILABLE;
    }
    // the path is kept behind the object: an error later removes the file
    const size_t   length = strlen(path) + 1;
    kd_modes_page *p = kd_alloc(sizeof *p + length);
    if (!p) return KD_ERR_MEMORY;
    p->path = memcpy(p + 1, path, length);
    kd_status status = kd_file_open(path, &p->file, message, size);
    if (status < 0) {
        kd_free(p);
        return status;
    }
    // the viewer finds its films by attributes of the section
    FILE *file = p->file;
    put_head(file, title);
    fputs(" data-modes", file);
    if (parameter) {
        fputs(" data-parameter=\"", file);
        kd_file_escaped(file, parameter, 200);
        fputc('"', file);
    }
    fputs("></section>\n", file);
    *page = p;
    return KD_OK;
}

kd_status kd_modes_page_add(kd_modes_page *p, const kd_mode_entry *m)
{
    char front[40], name[100];
    kd_text(front, sizeof front, "mode-%d-", p->count);
    kd_text(name, sizeof name, "mode %d: %.5g Hz", p->count + 1, m->frequency);
    kd_json json = kd_block_begin(p->file, "mode");
    kd_json_number(&json, "real", m->real);
    kd_json_number(&json, "imaginary", m->imaginary);
    kd_json_number(&json, "frequency", m->frequency);
    kd_json_number(&json, "damping", m->damping);
    kd_json_number(&json, "value", m->value);
    kd_json_bool(&json, "film", m->film);
    kd_json_text(&json, "moves", m->moves);
    kd_block_end(&json);
    p->count++;
    return m->film ? kd_viewer_put_film(p->file, front, name, kd_drawing_film(m->film)) : KD_OK;
}

// What is not finite has no point in a plot
void kd_modes_page_put_bode(kd_modes_page *p, const double *frequency, int n, const kd_bode_line *line, int count)
{
    kd_json json = kd_block_begin(p->file, "bode");
    json.digits = "%.7g";
    json.none = NULL;
    kd_json_numbers(&json, "frequency", frequency, n);
    kd_json_list(&json, "lines");
    for (int k = 0; k < count; k++) {
        kd_json_open(&json, NULL);
        kd_json_count(&json, "input", line[k].input);
        kd_json_text(&json, "name", line[k].name);
        kd_json_text(&json, "inputName", line[k].input_name);
        kd_json_numbers(&json, "level", line[k].level, n);
        kd_json_numbers(&json, "phase", line[k].phase, n);
        kd_json_close(&json);
    }
    kd_json_list_close(&json);
    kd_block_end(&json);
}

kd_status kd_modes_page_close(kd_modes_page *p, kd_status status, char *message, size_t size)
{
    if (!p) return status;
    if (status < 0) {
        kd_file_abandon(p->file, p->path);
        kd_text(message, size, "%s", kd_status_sentence(status));
    } else {
        put_foot(p->file);
        status = kd_file_close(p->file, p->path, message, size);
    }
    kd_free(p);
    return status;
}

kd_status kd_motion_page_save(const char *path, const char *title, const kd_drawing *film, const char *other_title,
                              const kd_drawing *other, char *message, size_t size)
{
    FILE *file;
    if (!kd_viewer_is_built()) {
        kd_text(message, size, "the viewer is not built in (make viewer)");
        return KD_ERR_UNAVAILABLE;
    }
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    // one motion, or two that move side by side
    put_head(file, title);
    fputs("></section>\n", file);
    status = kd_viewer_put_film(file, "", title, kd_drawing_film(film));
    if (status >= 0 && other) status = kd_viewer_put_film(file, "beside-", other_title, kd_drawing_film(other));
    if (status < 0) {
        kd_file_abandon(file, path);
        kd_text(message, size, "%s", kd_status_sentence(status));
        return status;
    }
    put_foot(file);
    return kd_file_close(file, path, message, size);
}
