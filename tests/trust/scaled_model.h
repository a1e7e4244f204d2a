// scaled_model.h: a model again with other units of length, mass and time: every number of its definitions times the
// power of two that its unit in the schema says. Powers of two are exact: the motions agree to the last digit.
#ifndef KARDAN_TESTS_SCALED_MODEL_H
#define KARDAN_TESTS_SCALED_MODEL_H

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kardan/kardan.h>

#include "model/model.h"
#include "model/schema.h"

typedef struct scaling {
    int length, mass, time; // exponents of 2
} scaling;

// Exponent of one unit word of the list below
static inline int scaled_word(const scaling *s, const char *word, size_t size)
{
    const struct {
        const char *word;
        int         exponent;
    } list[] = {{"m", s->length},
                {"kg", s->mass},
                {"s", s->time},
                {"rad", 0},
                {"1", 0},
                {"N", s->length + s->mass - 2 * s->time},
                {"Pa", s->mass - s->length - 2 * s->time},
                {"J", 2 * s->length + s->mass - 2 * s->time}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strlen(list[i].word) == size && memcmp(list[i].word, word, size) == 0) return list[i].exponent;
    abort();
}

// Exponent of a unit: "N m s/rad", "kg m^2"; of "m|rad" the part before or behind the bar
static inline int scaled_unit(const scaling *s, const char *unit, bool turn)
{
    const char *bar = strchr(unit, '|'), *end = bar && !turn ? bar : unit + strlen(unit);
    int         sum = 0, sign = 1;
    for (const char *at = bar && turn ? bar + 1 : unit; at < end;) {
        size_t size = strcspn(at, " /^|");
        if (size > (size_t)(end - at)) size = (size_t)(end - at);
        int word = size > 0 ? scaled_word(s, at, size) : 0, power = 1;
        at += size;
        if (at < end && *at == '^') {
            power = at[1] - '0';
            at += 2;
        }
        sum += sign * power * word;
        if (at < end && *at == '/') sign = -1;
        if (at < end) at++;
    }
    return sum;
}

// Is coordinate k of a joint a turn?
static inline bool scaled_turns(kd_joint_kind kind, int k)
{
    switch (kind) {
    case KD_PRISMATIC:
        return false;
    case KD_CYLINDRICAL:
        return k != 1;
    case KD_PLANAR:
        return k > 1;
    case KD_FREE:
    case KD_CARDAN:
        return k > 2;
    default:
        return true;
    }
}

// All numbers of a definition; joint, coordinate: what decides between "m" and "rad". false: a law of its own
static inline bool scale_definition(const scaling *s, kd_schema_id id, void *def, const kd_joint_def *joint,
                                    int coordinate)
{
    const kd_schema *schema = kd_schema_of(id);
    const int        kind = kd_schema_kind_of(schema, def);
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *f = kd_schema_field_at(schema, kind, i);
        char           *at = (char *)def + f->offset;
        if (!kd_field_has(f, kind)) continue;
        if (f->type == KD_FIELD_PLACE && !scale_definition(s, KD_SCHEMA_PLACE, at, NULL, 0)) return false;
        if (f->type == KD_FIELD_MATRIX) return false;
        if (f->type == KD_FIELD_LAW && id != KD_SCHEMA_JOINT) {
            for (int k = 0; k < kd_field_count(f, kind); k++)
                if (((const char **)at)[k]) return false;
        }
        if (f->type != KD_FIELD_NUMBER && f->type != KD_FIELD_INERTIA) continue;
        for (int k = 0; k < kd_field_count(f, kind); k++) {
            const bool one = id != KD_SCHEMA_JOINT;
            const bool turn = joint && scaled_turns(joint->kind, one ? coordinate - 1 : k);
            double    *x = (double *)at + k;
            *x = ldexp(*x, scaled_unit(s, f->unit, id == KD_SCHEMA_FORCE && !joint ? kind == KD_RSDA : turn));
        }
    }
    return true;
}

// E(t) -> 2^size*(E(2^-time*t))
static inline const char *scaled_law(const char *law, int size, int time)
{
    static char text[8][600];
    static int  next;
    char       *out = text[next++ % 8];
    size_t      n = (size_t)snprintf(out, 600, "%.17g*(", ldexp(1, size));
    for (const char *c = law; *c; c++) {
        const bool word = c > law && (isalnum((unsigned char)c[-1]) || c[-1] == '_' || c[-1] == '.');
        if (*c == 't' && !word && !isalnum((unsigned char)c[1]) && c[1] != '_')
            n += (size_t)snprintf(out + n, 600 - n, "(%.17g*t)", ldexp(1, -time));
        else
            n += (size_t)snprintf(out + n, 600 - n, "%c", *c);
    }
    snprintf(out + n, 600 - n, ")");
    return out;
}

// Terms of a coupling: factors of turns grow with the length where a shift is among them, and the offset with them
static inline void scale_coupling(const kd_model *m, const scaling *s, kd_constraint_def *def)
{
    bool    shifts = false, turn[KD_MAX_TERMS];
    kd_path path;
    for (int i = 0; i < def->nterms; i++) {
        if (!kd_path_parse(m, def->coordinate[i], &path, NULL, 0)) abort();
        turn[i] = scaled_turns(m->joint[path.element].def.kind, path.i);
        shifts = shifts || !turn[i];
    }
    for (int i = 0; i < def->nterms; i++)
        if (shifts && turn[i]) def->factor[i] = ldexp(def->factor[i], s->length);
    if (shifts) def->offset = ldexp(def->offset, s->length);
}

// Numbers of files (parts, tyres, roads) are not scaled with the model
static inline bool scaled_reads_files(const kd_model *m)
{
    bool reads = false;
    for (int i = 0; i < m->nbodies; i++) reads = reads || m->body[i].def.flexible;
    for (int i = 0; i < m->nforces; i++)
        reads = reads || m->force[i].def.kind == KD_MAGIC_TYRE || m->force[i].def.kind == KD_TMEASY_TYRE;
    return reads;
}

// NULL: the model has laws, states, tables of its own, whose numbers have no known unit. m must outlive it
static inline kd_model *scaled_model(const kd_model *m, const scaling *s)
{
    kd_model *out;
    if (m->ncurves + m->ntracks + m->ninputs + m->nuser_forces + m->nstates + m->nblocks + m->nvariables + m->nevents >
            0 ||
        scaled_reads_files(m))
        return NULL;
    if (kd_model_create(&out) < 0) abort();
    double g[3];
    bool   fine = true;
    for (int i = 0; i < 3; i++) g[i] = ldexp(m->gravity[i], s->length - 2 * s->time);
    fine = fine && kd_model_set_gravity(out, g) >= 0;
    for (int i = 0; i < m->nparameters && fine; i++)
        fine = kd_model_add_parameter(out, m->parameter[i].name, m->parameter[i].value) >= 0;
    for (int i = 0; i < m->nbodies && fine; i++) {
        kd_body_def def = m->body[i].def;
        def.nshapes = 0;
        fine = scale_definition(s, KD_SCHEMA_BODY, &def, NULL, 0) && kd_model_add_body(out, m->body[i].name, &def) >= 0;
    }
    for (int i = 0; i < m->nframes && fine; i++) {
        kd_frame_def def = m->frame[i].def;
        fine =
            scale_definition(s, KD_SCHEMA_FRAME, &def, NULL, 0) && kd_model_add_frame(out, m->frame[i].name, &def) >= 0;
    }
    for (int i = 0; i < m->njoints && fine; i++) {
        kd_joint_def def = m->joint[i].def;
        fine = scale_definition(s, KD_SCHEMA_JOINT, &def, &def, 0);
        for (int k = 0; k < 6; k++)
            if (def.motion[k])
                def.motion[k] = scaled_law(def.motion[k], scaled_turns(def.kind, k) ? 0 : s->length, s->time);
        fine = fine && kd_model_add_joint(out, m->joint[i].name, &def) >= 0;
    }
    for (int i = 0; i < m->nconstraints && fine; i++) {
        kd_constraint_def def = m->constraint[i].def;
        fine = scale_definition(s, KD_SCHEMA_CONSTRAINT, &def, NULL, 0);
        if (def.kind == KD_COUPLING) scale_coupling(m, s, &def);
        fine = fine && kd_model_add_constraint(out, m->constraint[i].name, &def) >= 0;
    }
    for (int i = 0; i < m->nforces && fine; i++) {
        kd_force_def        def = m->force[i].def;
        const kd_joint_def *joint = m->force[i].joint >= 0 ? &m->joint[m->force[i].joint].def : NULL;
        fine = scale_definition(s, KD_SCHEMA_FORCE, &def, joint, def.coordinate) &&
               kd_model_add_force(out, m->force[i].name, &def) >= 0;
    }
    if (fine && kd_model_finish(out) >= 0) return out;
    kd_model_destroy(out);
    return NULL;
}

#endif
