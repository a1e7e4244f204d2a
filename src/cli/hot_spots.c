// hot_spots.c: the largest von Mises stress of flexible bodies: amplitudes of their modes in a recording, stress by the modes.
#include "cli/hot_spots.h"

#include <stdio.h>

#include "core/text.h"
#include "flexible/stress.h"

enum { PER_BODY = 3, NAME_SIZE = 300, WORDS_SIZE = 120 };

static bool has_stress(const kd_body *b)
{
    return b->nmodes > 0 && b->def.read->nplaces > 0;
}

// The column of the first amplitude of a body; the others follow. -1: the recording does not have all of them
static int first_column(const kd_body *b, const kd_recording *rec)
{
    char      name[NAME_SIZE];
    const int first = (kd_text(name, sizeof name, "body.%s.q1", b->name), kd_recording_find(rec, name));
    kd_text(name, sizeof name, "body.%s.q%d", b->name, b->nmodes);
    return first >= 0 && kd_recording_find(rec, name) == first + b->nmodes - 1 ? first : -1;
}

static void keep_spot(const kd_body *b, const kd_hot_spots *h, int place, kd_cli_hot_spots *out)
{
    kd_result_spot *spot = &out->spot[out->n++];
    spot->body = b->name;
    spot->mises = h->mises[place];
    spot->signed_mises = h->signed_mises[place];
    spot->t = h->t[place];
    for (int d = 0; d < 3; d++) spot->at[d] = b->def.read->place[3 * (size_t)place + (size_t)d];
    kd_stress_place_words(b->def.read, place, spot->where, sizeof spot->where);
}

static kd_status look_at(const kd_body *b, const kd_recording *rec, kd_cli_hot_spots *out)
{
    kd_arena     scratch = {0};
    kd_hot_spots h;
    const int    columns = kd_recording_columns(rec), first = first_column(b, rec);
    int          place[PER_BODY];
    if (first < 0) return KD_OK;
    if (!kd_hot_spots_cut(b->def.read, b->nmodes, &scratch, &h)) {
        kd_arena_release(&scratch);
        return KD_ERR_MEMORY;
    }
    for (int i = 0; i < kd_recording_length(rec); i++)
        kd_hot_spots_see(&h, kd_recording_times(rec)[i],
                         kd_recording_values(rec) + (size_t)i * (size_t)columns + (size_t)first);
    const int n = kd_hot_spots_rank(&h, PER_BODY, place);
    for (int i = 0; i < n; i++) keep_spot(b, &h, place[i], out);
    kd_arena_release(&scratch);
    return KD_OK;
}

// "rod, 'root' at (0, 0, 0.01) m": "12.3 MPa (pressed) at t = 0.3 s"
static bool make_facts(kd_cli_hot_spots *s)
{
    s->fact = kd_arena_cut(&s->arena, (size_t)s->n, sizeof *s->fact);
    for (int i = 0; i < s->n; i++) {
        const kd_result_spot *spot = &s->spot[i];
        char *name = kd_arena_cut(&s->arena, NAME_SIZE, 1), *value = kd_arena_cut(&s->arena, WORDS_SIZE, 1);
        if (s->arena.failed) return false;
        kd_text(name, NAME_SIZE, "%s, %s", spot->body, spot->where);
        kd_text(value, WORDS_SIZE, "%.4g MPa%s at t = %.6g s", 1e-6 * spot->mises,
                spot->signed_mises < 0 ? ", pressed," : "", spot->t);
        s->fact[i] = (kd_result_setting){name, value};
    }
    s->facts = (kd_result_facts){.title = "Stress",
                                 .fact = s->fact,
                                 .nfacts = s->n,
                                 .reading = "Largest von Mises stress of the flexible bodies at the output times, in "
                                            "their axes; places that are nearer than a twentieth of the body to a "
                                            "hotter one are left out."};
    return !s->arena.failed;
}

kd_status kd_cli_hot_spots_find(const kd_model *m, const kd_recording *rec, kd_cli_hot_spots *s)
{
    int       bodies = 0;
    kd_status status = KD_OK;
    for (int i = 0; m && i < m->nbodies; i++) bodies += has_stress(&m->body[i]);
    if (bodies == 0) return KD_OK;
    s->spot = kd_arena_cut(&s->arena, (size_t)bodies * PER_BODY, sizeof *s->spot);
    if (!s->spot) status = KD_ERR_MEMORY;
    for (int i = 0; i < m->nbodies && status == KD_OK; i++)
        if (has_stress(&m->body[i])) status = look_at(&m->body[i], rec, s);
    if (status == KD_OK && !make_facts(s)) status = KD_ERR_MEMORY;
    if (status < 0) kd_cli_hot_spots_release(s);
    return status;
}

void kd_cli_hot_spots_release(kd_cli_hot_spots *s)
{
    kd_arena_release(&s->arena);
    *s = (kd_cli_hot_spots){0};
}

void kd_cli_hot_spots_print(const kd_cli_hot_spots *s)
{
    for (int i = 0; i < s->n; i++) printf("  stress: %s: %s\n", s->fact[i].name, s->fact[i].value);
}

void kd_cli_hot_spots_tell(const kd_cli_hot_spots *s, kd_json *json)
{
    if (s->n == 0) return;
    kd_json_list(json, "hot_spots");
    for (int i = 0; i < s->n; i++) {
        kd_json_open(json, NULL);
        kd_json_text(json, "body", s->spot[i].body);
        kd_json_text(json, "place", s->spot[i].where);
        kd_json_numbers(json, "at", s->spot[i].at, 3);
        kd_json_number(json, "mises", s->spot[i].mises);
        kd_json_number(json, "signed", s->spot[i].signed_mises);
        kd_json_number(json, "t", s->spot[i].t);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}
