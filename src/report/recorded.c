// recorded.c: the page of a recorder. The drawing is made for the page alone, from the states of the recording, and
// released behind it.
#include "core/text.h"
#include "drawing/drawing.h"
#include "report/report.h"
#include "results/recorder.h"

typedef kd_status (*kd_page_writer)(const kd_result *result, const char *path, char *message, size_t size);

static kd_status save(const kd_recorder *r, kd_page_writer writer, bool draws, const char *path, char *message,
                      size_t size)
{
    kd_drawing *drawing = NULL;
    kd_status   status = KD_OK;
    if (!kd_recorder_has_rows(r, path, message, size)) return KD_ERR_ARGUMENT;
    kd_result result = kd_recorder_result(r);
    if (draws)
        status = kd_drawing_of_recording(kd_recorder_system(r), kd_recorder_probe(r), result.recording, &drawing);
    if (status < 0) {
        kd_text(message, size, "no memory for the drawing in '%s'", path);
        return status;
    }
    result.drawing = drawing;
    status = writer(&result, path, message, size);
    kd_drawing_destroy(drawing);
    return status;
}

kd_status kd_recorder_save_report(const kd_recorder *r, const char *path, char *message, size_t size)
{
    return save(r, kd_report_save, r && kd_recorder_draws(r), path, message, size);
}

kd_status kd_recorder_save_svg(const kd_recorder *r, const char *path, char *message, size_t size)
{
    return save(r, kd_report_save_svg, false, path, message, size);
}
