// report/block.h: numbers inside a page: deflated, in base64, as data that a browser does not run.
#ifndef KD_REPORT_BLOCK_H
#define KD_REPORT_BLOCK_H

#include <kardan/base.h>
#include <stdio.h>

#include "core/json.h"

// `count` numbers of `size` bytes each, low byte first; their first bytes are written together, then their second bytes
// and so on, because neighbours resemble each other there. In the page it is <script type="text/plain"
// data-kardan="NAME">. KD_ERR_MEMORY: nothing was written. KD_ERR_UNAVAILABLE: built without zlib.
kd_status kd_block_write(FILE *file, const char *name, const unsigned char *bytes, size_t count,
                         size_t size) KD_NODISCARD;
// x (rows x columns), each column as whole parts of 1/32767 of its largest value, and those as differences of 16 bits from row
// to row; columns one behind the other. A column whose largest is 0 is 0.
kd_status kd_block_write_steps(FILE *file, const char *name, const double *x, size_t rows, size_t columns,
                               const double *largest) KD_NODISCARD;
// An object of JSON, to be filled with members between the two: <script type="application/json" data-kardan="NAME">. Nine digits;
// numbers that are not finite as 0, which the viewer shows in their place.
kd_json kd_block_begin(FILE *file, const char *name);
void    kd_block_end(kd_json *json);
bool    kd_block_is_available(void);

#endif
