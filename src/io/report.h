// io/report.h: a simulation on one page: a self-contained HTML file with settings, certificate, statistics and plots.
#ifndef KD_IO_REPORT_H
#define KD_IO_REPORT_H

#include <kardan/radau.h>

#include "io/recording.h"

typedef struct kd_report_setting {
    const char *name, *value;
} kd_report_setting;

typedef struct kd_report {
    const char              *title;
    const char              *about; // what was simulated
    kd_recording            *recording;
    const kd_report_setting *settings;
    int                      nsettings;
    double                   atol; // for the verdicts
    kd_stats                 stats;
    double                   wall_seconds;
    kd_status                status;          // how the run ended
    const char              *message;         // in words; may be empty
    double                   reference_error; // against the reference solution at the end; NaN: there is none
} kd_report;

kd_status kd_report_save(const kd_report *report, const char *path, char *message, size_t size) KD_NODISCARD;
// The plots alone, as one SVG file.
kd_status kd_report_save_svg(const kd_report *report, const char *path, char *message, size_t size) KD_NODISCARD;

#endif
