// beside.c: data blocks of a report, found by their marks and copied. The file is somebody's: a block is taken only if it has no
// character that could end it early or begin anything else in a page.
#include "report/beside.h"

#include <string.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/text.h"

enum { LARGEST = 1 << 27, BLOCKS = 6, NEEDED = 5 }; // bytes of a report

static const char *const NAME[BLOCKS] = {"scene", "rows", "channels", "times", "pose", "amplitudes"};
static const char *const TYPE[BLOCKS] = {"application/json", "text/plain", "text/plain",
                                         "text/plain",       "text/plain", "text/plain"};

struct kd_beside {
    char       *text;
    const char *block[BLOCKS];
    size_t      length[BLOCKS];
};

static bool find_block(kd_beside *b, int i)
{
    char mark[100];
    kd_text(mark, sizeof mark, "<script type=\"%s\" data-kardan=\"%s\">", TYPE[i], NAME[i]);
    const char *start = strstr(b->text, mark);
    if (!start) return false;
    start += strlen(mark);
    // up to the next bracket, which must be that of the end
    const char *end = strchr(start, '<');
    if (!end || strncmp(end, "</script>", 9) != 0) return false;
    b->block[i] = start;
    b->length[i] = (size_t)(end - start);
    return true;
}

kd_status kd_beside_read(const char *path, kd_beside **beside, char *message, size_t size)
{
    size_t     length;
    kd_beside *b = kd_alloc(sizeof *b);
    *beside = NULL;
    if (!b) return KD_ERR_MEMORY;
    // a report is one file, and bounded
    kd_status status = kd_load_file(path, LARGEST, &b->text, &length, message, size);
    if (status >= 0 && length > LARGEST) {
        kd_text(message, size, "'%s' is larger than any report", path);
        status = KD_ERR_FILE;
    }
    // its blocks by their names; the first ones must be there
    for (int i = 0; i < BLOCKS && status >= 0; i++)
        if (!find_block(b, i) && i < NEEDED) {
            kd_text(message, size,
                    "'%s' is no report with the 3-D viewer: its data '%s' are missing (written with --plain?)", path,
                    NAME[i]);
            status = KD_ERR_FILE;
        }
    if (status >= 0)
        *beside = b;
    else
        kd_beside_destroy(b);
    return status;
}

void kd_beside_destroy(kd_beside *b)
{
    if (!b) return;
    kd_free(b->text);
    kd_free(b);
}

void kd_beside_write(const kd_beside *b, FILE *file)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (!b->block[i]) continue; // a run without surfaces that deform
        fprintf(file, "<script type=\"%s\" data-kardan=\"beside-%s\">", TYPE[i], NAME[i]);
        fwrite(b->block[i], 1, b->length[i], file);
        fputs("</script>\n", file);
    }
}
