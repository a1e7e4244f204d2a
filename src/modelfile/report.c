// report.c: what is wrong with a file, collected with positions.
#include "modelfile/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

void kd_report_add(kd_report *report, int line, int column, const char *format, ...)
{
    if (report->count++ >= KD_REPORT_LINES) return;
    kd_report_line *item = &report->item[report->count - 1];
    item->line = line;
    item->column = column;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(item->text, sizeof item->text, format, arguments) < 0) item->text[0] = '\0';
    va_end(arguments);
    for (char *c = item->text; *c; c++) { // a quoted text may have broken lines
        if ((unsigned char)*c < ' ' || *c == 127) *c = ' ';
    }
}

static int by_position(const void *a, const void *b)
{
    const kd_report_line *first = a, *second = b;
    if (first->line != second->line) return first->line < second->line ? -1 : 1;
    if (first->column != second->column) return first->column < second->column ? -1 : 1;
    return strcmp(first->text, second->text);
}

void kd_report_write(kd_report *report, char *message, size_t size)
{
    int kept = report->count < KD_REPORT_LINES ? report->count : KD_REPORT_LINES;
    qsort(report->item, (size_t)kept, sizeof *report->item, by_position);
    kd_text(message, size, "%s", "");
    for (int i = 0; i < kept; i++) {
        const kd_report_line *item = &report->item[i];
        kd_text_append(message, size, "%s%s:", i > 0 ? "\n" : "", report->file);
        if (item->line > 0) kd_text_append(message, size, "%d:%d:", item->line, item->column);
        kd_text_append(message, size, " %s", item->text);
    }
    if (report->count > kept) {
        kd_text_append(message, size, "\n%s: and %d more", report->file, report->count - kept);
    }
}
