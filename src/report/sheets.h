// report/sheets.h: surfaces that deform (drawing/deformed.h) as data of a page.  Format: docs/methods/page.md
#ifndef KD_REPORT_SHEETS_H
#define KD_REPORT_SHEETS_H

#include <stdio.h>

#include "core/json.h"
#include "drawing/scene.h"

// Nodes, triangles, lines and shapes as a further member "deformed" of a JSON object; nothing where there is none. A lack of memory
// leaves it out.
void kd_sheets_put(kd_json *json, const kd_scene *scene);
// The amplitudes of all frames as a block, by the largest of each, which the scene has; nothing where there are none.
kd_status kd_sheets_write_amplitudes(FILE *file, const char *name, const kd_film *film) KD_NODISCARD;

#endif
