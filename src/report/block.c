// block.c: bytes in planes, zlib, base64.
//
// Neighbours in time differ in their low bytes and agree in their high ones: with all first bytes together, then all
// second ones, the high planes are long runs of the same byte, which deflate packs to nearly nothing.
#include "report/block.h"

#include <math.h>
#ifdef KD_WITH_ZLIB
#include <zlib.h>
#endif

#include "core/base64.h"
#include "core/memory.h"

kd_json kd_block_begin(FILE *file, const char *name)
{
    kd_json json = {.file = file, .layout = KD_JSON_DENSE, .digits = "%.9g", .none = "0", .in_page = true};
    fprintf(file, "<script type=\"application/json\" data-kardan=\"%s\">", name);
    kd_json_open(&json, NULL);
    return json;
}

void kd_block_end(kd_json *json)
{
    kd_json_close(json);
    fputs("</script>\n", json->file);
}

kd_status kd_block_write_steps(FILE *file, const char *name, const double *x, size_t rows, size_t columns,
                               const double *largest)
{
    unsigned char *bytes = kd_alloc(2 * rows * columns + 1);
    if (!bytes) return KD_ERR_MEMORY;
    for (size_t c = 0; c < columns; c++) {
        unsigned last = 0;
        for (size_t i = 0; i < rows; i++) {
            const double   part = largest[c] > 0 ? x[i * columns + c] / largest[c] : 0;
            const unsigned value = (unsigned)(lround(32767.0 * part) & 0xffff), step = (value - last) & 0xffffu;
            bytes[2 * (c * rows + i)] = (unsigned char)(step & 255u);
            bytes[2 * (c * rows + i) + 1] = (unsigned char)(step >> 8);
            last = value;
        }
    }
    kd_status status = kd_block_write(file, name, bytes, rows * columns, 2);
    kd_free(bytes);
    return status;
}

#ifdef KD_WITH_ZLIB
kd_status kd_block_write(FILE *file, const char *name, const unsigned char *bytes, size_t count, size_t size)
{
    const size_t   n = count * size;
    uLongf         packed_size = compressBound((uLong)n);
    unsigned char *planes = kd_alloc(n + 1), *packed = kd_alloc((size_t)packed_size);
    kd_status      status = KD_ERR_MEMORY;
    if (!planes || !packed) goto done;

    // byte k of number i to plane k
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < count; i++) planes[k * count + i] = bytes[i * size + k];
    if (compress2(packed, &packed_size, planes, (uLong)n, 6) != Z_OK) goto done;

    fprintf(file, "<script type=\"text/plain\" data-kardan=\"%s\">", name);
    kd_base64_write(file, packed, (size_t)packed_size);
    fputs("</script>\n", file);
    status = KD_OK;
done:
    kd_free(packed);
    kd_free(planes);
    return status;
}

bool kd_block_is_available(void)
{
    return true;
}
#else
kd_status kd_block_write(FILE *file, const char *name, const unsigned char *bytes, size_t count, size_t size)
{
    (void)file, (void)name, (void)bytes, (void)count, (void)size;
    return KD_ERR_UNAVAILABLE;
}

bool kd_block_is_available(void)
{
    return false;
}
#endif
