// findings.h: what is wrong with a file, collected with positions.
#ifndef KD_MODELFILE_FINDINGS_H
#define KD_MODELFILE_FINDINGS_H

#include <kardan/base.h>

enum { KD_FINDINGS_KEPT = 20, KD_FINDING_LENGTH = 600 };

typedef struct kd_finding {
    const char *file;
    int         order;        // of the files, as they were found
    int         line, column; // 1-based; 0: the file as a whole
    char        text[KD_FINDING_LENGTH];
} kd_finding;

typedef struct kd_file_findings {
    const char *file;
    const char *at;    // the file that is being read now, of several; NULL: the one above
    int         count; // all that was said; the first KD_FINDINGS_KEPT are kept
    kd_finding  item[KD_FINDINGS_KEPT];
} kd_file_findings;

void kd_file_findings_add(kd_file_findings *findings, int line, int column, const char *format, ...) KD_PRINTF(4, 5);
// All lines, ordered by position, "file:line:column: text", each with its end of line but the last.
void kd_file_findings_write(kd_file_findings *findings, char *message, size_t size);

#endif
