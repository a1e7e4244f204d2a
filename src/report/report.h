// report/report.h: a simulation on one page: a self-contained HTML file with settings, certificate, statistics and
// plots.
#ifndef KD_REPORT_REPORT_H
#define KD_REPORT_REPORT_H

#include "results/result.h"

kd_status kd_report_save(const kd_result *result, const char *path, char *message, size_t size) KD_NODISCARD;
// The plots alone, as one SVG file.
kd_status kd_report_save_svg(const kd_result *result, const char *path, char *message, size_t size) KD_NODISCARD;

// The style sheet of the pages.
const char *kd_report_style(void);

#endif
