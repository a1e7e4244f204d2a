// cli/response_page.h: a frequency response as a page: gain and phase to click into, and the mechanism that swings at the chosen frequency.
#ifndef KD_CLI_RESPONSE_PAGE_H
#define KD_CLI_RESPONSE_PAGE_H

#include "cli/operating_point.h"

typedef struct kd_response { // of one sensor to one input
    const char   *name;      // "sensor by input"
    int           input;
    const double *level, *phase; // (n) [dB], [deg]
    int           peak;
} kd_response;

// Swings are written for some of the frequencies (n) [Hz]: even ratios, and the peaks. Inputs that prescribe the motion of joints or curves have none:
// what they move is not in the states. KD_ERR_UNAVAILABLE: the viewer is not built in. message says what went wrong.
kd_status kd_cli_save_responses(const kd_operating_point *point, const char *path, const double *frequency, int n,
                                const kd_response *response, int count, char *message, size_t size) KD_NODISCARD;

#endif
