// report/compare_file.h: a comparison of methods as table (CSV), work-precision plot (SVG) and page (HTML).
#ifndef KD_REPORT_COMPARE_FILE_H
#define KD_REPORT_COMPARE_FILE_H

#include <kardan/compare.h>

// One line per run, behind comment lines with the reference.
kd_status kd_compare_save_csv(const kd_comparison *comparison, const char *title, const char *path, char *message,
                              size_t size) KD_NODISCARD;
// Error against computing time, one line per method: the best ones and the usual one in colours, the others faint.
kd_status kd_compare_save_svg(const kd_comparison *comparison, const char *title, const char *path, char *message,
                              size_t size) KD_NODISCARD;
// Plot, recommendation and table on one page.
kd_status kd_compare_save_html(const kd_comparison *comparison, const char *title, const char *path, char *message,
                               size_t size) KD_NODISCARD;

#endif
