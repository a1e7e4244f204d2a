// modes_page.c: a table of eigenvalues and a film for each that swings, as data of the viewer (viewer/src/modes.ts).
#include "report/modes_page.h"

#include <math.h>

#include "core/text.h"
#include "report/report.h"
#include "report/viewer.h"
#include "results/file.h"

static void put_number(FILE *file, const char *key, double value)
{
    char number[40];
    fprintf(file, "\"%s\":%s,", key,
            isfinite(value) ? kd_file_number(value + 0.0, "%.9g", number, sizeof number) : "0");
}

static void put_list(FILE *file, const kd_mode_entry *modes, int count)
{
    fputs("<script type=\"application/json\" data-kardan=\"modes\">[", file);
    for (int i = 0; i < count; i++) {
        fputs(i == 0 ? "{" : ",\n{", file);
        put_number(file, "real", modes[i].real);
        put_number(file, "imaginary", modes[i].imaginary);
        put_number(file, "frequency", modes[i].frequency);
        put_number(file, "damping", modes[i].damping);
        fprintf(file, "\"film\":%s,\"moves\":", modes[i].film ? "true" : "false");
        kd_file_json(file, modes[i].moves);
        fputc('}', file);
    }
    fputs("]</script>\n", file);
}

kd_status kd_modes_page_save(const char *path, const char *title, const kd_mode_entry *modes, int count, char *message,
                             size_t size)
{
    FILE *file;
    if (!kd_viewer_is_built()) {
        kd_text(message, size, "the viewer is not built in (make viewer)");
        return KD_ERR_UNAVAILABLE;
    }
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
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
    fputs("</h1>\n<section class=\"card\" data-kardan-viewer data-modes></section>\n", file);
    put_list(file, modes, count);
    for (int i = 0; i < count && status == KD_OK; i++) {
        char front[40], name[100];
        kd_text(front, sizeof front, "mode-%d-", i);
        kd_text(name, sizeof name, "mode %d: %.5g Hz", i + 1, modes[i].frequency);
        if (modes[i].film) status = kd_viewer_put_film(file, front, name, kd_drawing_film(modes[i].film));
    }
    if (status < 0) {
        kd_file_abandon(file, path);
        kd_text(message, size, "%s", kd_status_sentence(status));
        return status;
    }
    kd_viewer_put_script(file);
    fputs("</main>\n</body>\n</html>\n", file);
    return kd_file_close(file, path, message, size);
}
