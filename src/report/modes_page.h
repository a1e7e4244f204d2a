// report/modes_page.h: modes of a mechanism in one page: eigenvalues to choose from, and the mechanism that swings in the chosen one.
#ifndef KD_REPORT_MODES_PAGE_H
#define KD_REPORT_MODES_PAGE_H

#include "drawing/drawing.h"

typedef struct kd_mode_entry {
    double            real, imaginary, frequency, damping; // [1/s], [rad/s], [Hz], ratio
    const char       *moves;                               // what moves most
    const kd_drawing *film;                                // a period of it; NULL: it does not swing
} kd_mode_entry;

// KD_ERR_UNAVAILABLE: the viewer is not built in.
kd_status kd_modes_page_save(const char *path, const char *title, const kd_mode_entry *modes, int count, char *message,
                             size_t size) KD_NODISCARD;

#endif
