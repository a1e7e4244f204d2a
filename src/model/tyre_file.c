// tyre_file.c: tyre property files of a model with curves through their tables, and OpenCRG roads; each is read once.
#include "model/tyre_file.h"

#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "model/build.h"

// Cubics without overshoot; beyond the last row along the tangent
static kd_status make_curve(const kd_tir_table *t, kd_curve **curve, char *message, size_t size)
{
    if (t->n == 0) return KD_OK;
    return kd_curve_create(KD_CURVE_KIND_MONOTONE, KD_OUTSIDE_TANGENT, t->n, t->x, t->y, curve, message, size);
}

static kd_status read_tyre(kd_model_tyre *tyre, const char *path, char *message, size_t size)
{
    kd_status status = kd_tir_read(path, &tyre->tir, message, size);
    if (status == KD_OK) status = make_curve(&tyre->tir.deflection, &tyre->deflection, message, size);
    if (status == KD_OK) status = make_curve(&tyre->tir.bottoming, &tyre->bottoming, message, size);
    return status == KD_ERR_FILE ? KD_ERR_MODEL : status;
}

static void release(kd_model_tyre *tyre)
{
    kd_curve_destroy(tyre->deflection);
    kd_curve_destroy(tyre->bottoming);
    kd_free(tyre);
}

kd_status kd_model_tyre_read(kd_model *m, const char *path, const kd_model_tyre **tyre, char *message, size_t size)
{
    kd_model_tyre **end = &m->private->tyres;
    *tyre = NULL;
    // a file that is named again was read before
    for (; *end; end = &(*end)->next) {
        if (strcmp((*end)->path, path) != 0) continue;
        *tyre = *end;
        return KD_OK;
    }
    kd_model_tyre *made = kd_alloc(sizeof *made);
    if (!made) return KD_ERR_MEMORY;
    made->path = kd_model_text(m, path);
    const kd_status status = made->path ? read_tyre(made, path, message, size) : KD_ERR_MEMORY;
    if (status < 0) {
        release(made);
        return status;
    }
    *tyre = *end = made;
    return KD_OK;
}

void kd_model_tyres_release(kd_model_tyre *first)
{
    while (first) {
        kd_model_tyre *next = first->next;
        release(first);
        first = next;
    }
}

// ---- roads ----------------------------------------------------------------------------------------------------------

kd_status kd_model_road_read(kd_model *m, const char *path, const kd_model_road **road, char *message, size_t size)
{
    kd_model_road **end = &m->private->roads;
    *road = NULL;
    // a road that was read before is shared by all tyres on it
    for (; *end; end = &(*end)->next) {
        if (strcmp((*end)->path, path) != 0) continue;
        *road = *end;
        return KD_OK;
    }
    // read, then kept at the end of the list, with the path as its name
    kd_crg   *crg = NULL;
    kd_status status = kd_crg_read(path, &crg, message, size);
    if (status < 0) return status == KD_ERR_FILE ? KD_ERR_MODEL : status;
    kd_model_road *made = kd_alloc(sizeof *made);
    const char    *kept = kd_model_text(m, path);
    if (!made || !kept) {
        kd_free(made);
        kd_crg_destroy(crg);
        return KD_ERR_MEMORY;
    }
    *made = (kd_model_road){.path = kept, .crg = crg};
    *road = *end = made;
    return KD_OK;
}

void kd_model_roads_release(kd_model_road *first)
{
    while (first) {
        kd_model_road *next = first->next;
        kd_crg_destroy(first->crg);
        kd_free(first);
        first = next;
    }
}
