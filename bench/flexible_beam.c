// flexible_beam.c: a beam as flexible body of a model.
#include <stdio.h>
#include <string.h>

#include "flexible.h"
#include "model/part.h"
#include "modelfile/part.h"

bool flexible_read(kd_model *model, const flexible_beam *beam, kd_body_def *def, char *message, size_t size)
{
    kd_flexible_body body = {0};
    kd_part_report   report;
    char             text[1000];
    // a large area: no rotary inertia to speak of; a larger one costs digits
    (void)snprintf(text, sizeof text,
                   "points: {root: [0, 0, 0], tip: [%.17g, 0, 0]}\n"
                   "beams: [{from: root, to: tip, elements: 120, E: %.17g, nu: 0.3, density: %.17g,"
                   " section: {area: 0.01, Iz: 5e-8, Iy: 5e-4, torsion: 5e-4}}]\n"
                   "interfaces: {root: {nodes: root}, tip: {nodes: tip}}\n"
                   "reduction: {modes: %d}\nreference: {tangent: root}\nmodes: %d\ndamping: %.17g\n",
                   beam->length, beam->EI / 5e-8, 100 * beam->rhoA, beam->modes > 14 ? 40 : 14, beam->modes,
                   beam->damping);
    if (kd_part_read_text("beam.yaml", text, strlen(text), NULL, 1, 1, &body, &report, message, size) != KD_OK)
        return false;
    if (!beam->stiffened) body.K0t = body.K0r = body.K0w = body.K0F = NULL;
    *def = kd_body_def_default();
    def->flexible = "beam";
    def->read = kd_model_part_enter(model, "beam", 1, 1, &body);
    return def->read != NULL;
}
