// mode_pictures.c: a file for each mode that is shown; poses: drawing/mode_shape.
#include "cli/mode_pictures.h"

#include "drawing/mode_shape.h"
#include "report/viewer.h"

static const double PERIOD = 2; // [s] of a mode in the page, whatever its frequency

enum { PATH_SIZE = 1200, TITLE_SIZE = 400, MESSAGE_SIZE = 1000 };

// one file: frames of the motion of one mode
static bool save_picture(const kd_operating_point *point, int mode, int number, double scale, const char *folder,
                         bool quiet)
{
    const kd_subject *subject = &point->subject;
    const kd_modes   *m = point->modes;
    char              path[PATH_SIZE], title[TITLE_SIZE], message[MESSAGE_SIZE] = "";
    kd_drawing       *drawing;
    snprintf(path, sizeof path, "%s/%s-mode-%d.svg", folder, subject->name, number);
    snprintf(title, sizeof title, "mode %d: %.5g Hz, damping %.3f", number, m->frequency[mode], m->damping[mode] + 0.0);
    kd_status status = kd_drawing_create(subject->system, KD_MODE_FRAMES, &drawing);
    if (status >= 0)
        status = kd_mode_shape_draw(&(kd_mode_place){subject->system, kd_subject_inputs(subject), subject->x}, m, mode,
                                    scale, drawing);
    if (status >= 0) status = kd_drawing_save_svg(drawing, title, path, message, sizeof message);
    kd_drawing_destroy(drawing);
    if (status < 0) fprintf(stderr, "kardan: %s\n", message[0] ? message : kd_status_sentence(status));
    if (status >= 0 && !quiet) printf("%s\n", path);
    return status >= 0;
}

kd_status kd_cli_add_mode(const kd_operating_point *point, int k, double value, double scale, kd_modes_page *page)
{
    const kd_subject   *subject = &point->subject;
    const kd_modes     *m = point->modes;
    const kd_mode_place place = {subject->system, kd_subject_inputs(subject), subject->x};
    char                moves[600];
    kd_drawing         *film = NULL;
    kd_status           status = scale > 0 ? kd_drawing_create(subject->system, KD_MODE_FILM, &film) : KD_OK;
    if (status >= 0 && film) status = kd_mode_shape_film(&place, m, k, scale, PERIOD, film);
    kd_operating_point_moves_most(point, k, moves, sizeof moves);
    const kd_mode_entry entry = {.real = m->real[k],
                                 .imaginary = m->imaginary[k],
                                 .frequency = m->frequency[k],
                                 .damping = m->damping[k],
                                 .value = value,
                                 .moves = moves,
                                 .film = film};
    if (status >= 0) status = kd_modes_page_add(page, &entry);
    kd_drawing_destroy(film);
    return status;
}

// A page with all of them
static bool save_page(const kd_operating_point *point, const int *list, int count, double scale, const char *folder,
                      bool quiet)
{
    char           path[PATH_SIZE], title[TITLE_SIZE], message[MESSAGE_SIZE] = "";
    kd_modes_page *page;
    snprintf(path, sizeof path, "%s/%s-modes.html", folder, point->subject.name);
    snprintf(title, sizeof title, "Modes: %s", point->subject.title);
    kd_status status = kd_modes_page_open(path, title, NULL, &page, message, sizeof message);
    for (int i = 0; i < count && status >= 0; i++) status = kd_cli_add_mode(point, list[i], 0, scale, page);
    status = kd_modes_page_close(page, status, message, sizeof message);
    if (status < 0) fprintf(stderr, "kardan: %s\n", message[0] ? message : kd_status_sentence(status));
    if (status >= 0 && !quiet) printf("%s\n", path);
    return status >= 0;
}

bool kd_cli_draw_modes(const kd_operating_point *point, const int *list, int count, double scale, const char *folder,
                       bool quiet)
{
    char message[MESSAGE_SIZE] = "";
    if (!point->subject.system) {
        fputs("kardan: pictures of modes are for model files\n", stderr);
        return false;
    }
    const kd_status status = kd_cli_make_folder(folder, message, sizeof message);
    if (status < 0) fprintf(stderr, "kardan: %s\n", message[0] ? message : kd_status_sentence(status));
    bool good = status >= 0;
    if (good && !quiet && count > 0) printf("\n");
    for (int i = 0; i < count && i < KD_MODE_PICTURES && good; i++)
        good = save_picture(point, list[i], i + 1, scale, folder, quiet);
    if (count > KD_MODE_PICTURES) count = KD_MODE_PICTURES;
    return good && (count == 0 || !kd_viewer_is_built() || save_page(point, list, count, scale, folder, quiet));
}
