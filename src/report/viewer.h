// report/viewer.h: the part of a page that moves: the viewer (viewer/, three.js and uPlot, built in as one script) and
// the data of a run that it shows.  Guide: docs/guide/viewer.md
#ifndef KD_REPORT_VIEWER_H
#define KD_REPORT_VIEWER_H

#include <stdio.h>

#include "core/json.h"
#include "drawing/scene.h"
#include "results/result.h"

enum { KD_VIEWER_SERIES = 10 }; // lines of a plot

typedef struct kd_viewer_plot {
    const char *title, *unit, *note; // note may be NULL
    bool        ylog;
    int         n;
    int         column[KD_VIEWER_SERIES]; // of the recording
} kd_viewer_plot;

// Is the viewer built in? Otherwise reports have the drawing of drawing.h and plots that stand still.
bool kd_viewer_is_built(void);
// What a content security policy of the page must allow: "'sha256-...'" of the script. "" without viewer
const char *kd_viewer_policy(void);
// The script itself, for pages that are told of a run while it goes on; *size 0 without viewer.
const unsigned char *kd_viewer_bytes(size_t *size);
// Bodies, solids and camera of a scene as further members of a JSON object.
void kd_viewer_put_mechanism(kd_json *json, const kd_scene *scene);
// A motion without channels as data of a page, under names that begin with `front`.
kd_status kd_viewer_put_film(FILE *file, const char *front, const char *title, const kd_film *film) KD_NODISCARD;
// The script at the end of a page.
void kd_viewer_put_script(FILE *file);
// The section of the page, with a still picture of the mechanism for browsers without scripts. < 0: nothing that can be
// used was written; the stream's error flag tells whether all was written.
kd_status kd_viewer_write(FILE *file, const kd_result *result, const kd_viewer_plot *plots, int nplots) KD_NODISCARD;

#endif
