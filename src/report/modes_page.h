// report/modes_page.h: modes of a mechanism in one page: eigenvalues to choose from, and the mechanism that swings in the chosen one.
#ifndef KD_REPORT_MODES_PAGE_H
#define KD_REPORT_MODES_PAGE_H

#include "drawing/drawing.h"

typedef struct kd_mode_entry {
    double            real, imaginary, frequency, damping; // [1/s], [rad/s], [Hz], ratio
    double            value;                               // of the parameter that varies, if one does
    const char       *moves;                               // what moves most
    const kd_drawing *film; // a period of it; NULL: it does not swing, or is a point alone
} kd_mode_entry;

typedef struct kd_modes_page kd_modes_page;

// parameter: that varies from entry to entry (a root locus); NULL: none. KD_ERR_UNAVAILABLE: the viewer is not built in. On
// failure *page is NULL.
kd_status kd_modes_page_open(const char *path, const char *title, const char *parameter, kd_modes_page **page,
                             char *message, size_t size) KD_NODISCARD;
// Written at once: the film may go afterwards.
kd_status kd_modes_page_add(kd_modes_page *page, const kd_mode_entry *entry) KD_NODISCARD;
// Frequency responses: the page has gain and phase in place of eigenvalues, and its entries are swings at a `frequency`, forced by the input
// number `value`.
enum { KD_BODE_LINES = 16 };
typedef struct kd_bode_line {
    const char   *name; // "sensor by input"
    int           input;
    const char   *input_name;
    const double *level, *phase; // (n) [dB], [deg]
} kd_bode_line;
void kd_modes_page_put_bode(kd_modes_page *page, const double *frequency, int n, const kd_bode_line *line, int count);
// Ends the page, or takes it away where something failed before (status < 0); the page is gone then. NULL is fine.
kd_status kd_modes_page_close(kd_modes_page *page, kd_status status, char *message, size_t size) KD_NODISCARD;

// A page that shows a motion, with another one pale over it or beside it (NULL: none). As kd_modes_page_open.
kd_status kd_motion_page_save(const char *path, const char *title, const kd_drawing *film, const char *other_title,
                              const kd_drawing *other, char *message, size_t size) KD_NODISCARD;

#endif
