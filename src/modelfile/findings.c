// findings.c: what is wrong with a file, collected with positions.
#include "modelfile/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

void kd_file_findings_add(kd_file_findings *findings, int line, int column, const char *format, ...)
{
    if (findings->count++ >= KD_FINDINGS_KEPT) return;
    kd_finding *item = &findings->item[findings->count - 1];
    item->file = findings->at ? findings->at : findings->file;
    item->order = 0;
    // findings of one file stand together, in the order in which files were met
    if (strcmp(item->file, findings->file) != 0) {
        item->order = findings->count;
        for (int i = findings->count - 2; i >= 0; i--)
            if (strcmp(findings->item[i].file, item->file) == 0) item->order = findings->item[i].order;
    }
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
    const kd_finding *first = a, *second = b;
    if (first->order != second->order) return first->order < second->order ? -1 : 1;
    if (first->line != second->line) return first->line < second->line ? -1 : 1;
    if (first->column != second->column) return first->column < second->column ? -1 : 1;
    return strcmp(first->text, second->text);
}

void kd_file_findings_write(kd_file_findings *findings, char *message, size_t size)
{
    int kept = findings->count < KD_FINDINGS_KEPT ? findings->count : KD_FINDINGS_KEPT;
    qsort(findings->item, (size_t)kept, sizeof *findings->item, by_position);
    kd_text(message, size, "%s", "");
    for (int i = 0; i < kept; i++) {
        const kd_finding *item = &findings->item[i];
        kd_text_append(message, size, "%s%s:", i > 0 ? "\n" : "", item->file);
        if (item->line > 0) kd_text_append(message, size, "%d:%d:", item->line, item->column);
        kd_text_append(message, size, " %s", item->text);
    }
    if (findings->count > kept) {
        kd_text_append(message, size, "\n%s: and %d more", findings->file, findings->count - kept);
    }
}
