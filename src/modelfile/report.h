// report.h: what is wrong with a file, collected with positions.
#ifndef KD_MODELFILE_REPORT_H
#define KD_MODELFILE_REPORT_H

#include <kardan/base.h>

enum { KD_REPORT_LINES = 20, KD_REPORT_LENGTH = 600 };

typedef struct kd_report_line {
    int  line, column; // 1-based; 0: the file as a whole
    char text[KD_REPORT_LENGTH];
} kd_report_line;

typedef struct kd_report {
    const char    *file;
    int            count; // all that was said; the first KD_REPORT_LINES are kept
    kd_report_line item[KD_REPORT_LINES];
} kd_report;

void kd_report_add(kd_report *report, int line, int column, const char *format, ...) KD_PRINTF(4, 5);
// All lines, ordered by position, "file:line:column: text", each with its end of line but the last.
void kd_report_write(kd_report *report, char *message, size_t size);

#endif
