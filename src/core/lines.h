// core/lines.h: the text of a file that is read line by line, and refusals that name the line.
#ifndef KD_CORE_LINES_H
#define KD_CORE_LINES_H

#include <kardan/base.h>

typedef struct kd_lines {
    const char *path;     // for messages
    const char *at, *end; // the rest; a zero byte stands at the end
    int         line;     // the last one that was read, from 1 on
    char       *message;
    size_t      size;
} kd_lines;

// The next line that is not empty and no comment (#), without blanks at both ends; what does not fit into size is cut off,
// zero bytes become '?'. false: there is none.
bool kd_lines_next(kd_lines *lines, char *line, size_t size);
// "path:line: what 'word'" into the message; answers KD_ERR_FILE. word "": nothing behind what.
kd_status kd_lines_refuse(kd_lines *lines, const char *what, const char *word);

#endif
