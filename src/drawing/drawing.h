// drawing/drawing.h: the mechanism in the report: a drawing that moves, with a still picture for pages without scripts.
//
// Poses are collected while a run goes on, at most two thousand frames, more of them where the motion bends (thin.h); the small drawing shows some hundred of them,
// rounded to 16 bits in the page. Nothing is fetched from anywhere. Models with more than KD_DRAWING_BODIES bodies are
// shown by the viewer only, those with more than KD_DRAWING_MOST not at all.  Guide: docs/guide/drawing.md
#ifndef KD_DRAWING_DRAWING_H
#define KD_DRAWING_DRAWING_H

#include <kardan/probe.h>
#include <stdio.h>

#include "drawing/loads.h"
#include "drawing/scene.h"
#include "results/recording.h"

enum { KD_DRAWING_BODIES = 500, KD_DRAWING_MOST = 5000, KD_DRAWING_FRAMES = 2001 };

typedef struct kd_drawing kd_drawing;

// For a run with that many output times; the model of the system must outlive it. On failure *drawing is NULL.
kd_status kd_drawing_create(const kd_system *system, int noutputs, kd_drawing **drawing) KD_NODISCARD;
void      kd_drawing_destroy(kd_drawing *drawing); // NULL is fine

// Surfaces that deform. Before the first frame; arrays that the surfaces point to must outlive the drawing, the surfaces themselves are
// copied. amplitudes: those of all surfaces, one behind the other, at the state that the probe is set to; NULL: unknown, the frame is passed
// over. KD_ERR_ARGUMENT: a surface is not sound (kd_deformed_is_sound), or there are frames already. KD_ERR_MEMORY.
typedef const double *(*kd_amplitudes)(void *context, kd_probe *probe);
kd_status kd_drawing_deform(kd_drawing *drawing, const kd_deformed *surface, int count, kd_amplitudes amplitudes,
                            void *context) KD_NODISCARD;

// Those of all surfaces at the state that a probe of the system is set to, kd_drawing_film(drawing)->namplitudes of them; NULL: there are
// none, or they are unknown. They last until the next call.
const double *kd_drawing_amplitudes(kd_drawing *drawing, kd_probe *probe);

// Show it, as the picture of time t, the state that a probe of the system is set to; every few of them are kept, the
// end always. Does not allocate. Times that are not later than the last one and poses that cannot be evaluated or are
// not finite are passed over.
void kd_drawing_add(kd_drawing *drawing, kd_probe *probe, double t, bool is_end);
// The same of all rows of a recording, whose states the probe of the system is set to. On failure *drawing is NULL.
kd_status kd_drawing_of_recording(const kd_system *system, kd_probe *probe, const kd_recording *recording,
                                  kd_drawing **drawing) KD_NODISCARD;
int       kd_drawing_length(const kd_drawing *drawing); // frames; 0: nothing to draw

// Forces and reactions that the viewer shows, read from the states of the recording; a model whose loads cannot be read
// has none. KD_ERR_MEMORY.
kd_status       kd_drawing_read_loads(kd_drawing *drawing, kd_coordinates coordinates, const kd_inputs *inputs,
                                      const kd_recording *recording) KD_NODISCARD;
const kd_loads *kd_drawing_loads(const kd_drawing *drawing); // NULL: none

// The frames; they stay the drawing's.
const kd_film *kd_drawing_film(const kd_drawing *drawing);
// The picture of several instants alone, as an element of a page.
kd_status kd_drawing_write_still(const kd_drawing *drawing, const char *title, FILE *file) KD_NODISCARD;

// The section of a page: a heading, the picture, the script. KD_ERR_MEMORY: nothing was written; the stream's error
// flag tells whether all was written.
kd_status kd_drawing_write(const kd_drawing *drawing, const char *title, FILE *file) KD_NODISCARD;
// The picture alone: several instants in one.
kd_status kd_drawing_save_svg(const kd_drawing *drawing, const char *title, const char *path, char *message,
                              size_t size) KD_NODISCARD;

#endif
