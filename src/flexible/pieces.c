// pieces.c: a row of beams in pieces of equal numbers of elements. Each piece becomes a body with a frame of its own, so that
// deflections may be large although each piece bends a little only: the angle between two frames falls with the number of pieces,
// and what the linear theory leaves out in each of them with its square.
#include <string.h>

#include "core/text.h"
#include "flexible/beams.h"

static kd_status refuse(char *message, size_t size, const char *why)
{
    kd_text(message, size, "%s", why);
    return KD_ERR_MODEL;
}

// Beams that follow each other, and elements that can be shared out
static kd_status check_row(const kd_beam_list *row, int pieces, char *message, size_t size)
{
    int elements = 0;
    for (int i = 0; i < row->nbeams; i++) {
        const kd_beam *b = &row->beam[i];
        if (b->from < 0 || b->from >= row->npoints || b->to < 0 || b->to >= row->npoints || b->elements < 1)
            return refuse(message, size, "a beam has no points or no elements");
        if (i > 0 && b->from != row->beam[i - 1].to)
            return refuse(message, size, "pieces: each beam must begin where the one before it ends");
        elements += b->elements;
    }
    if (elements > 0 && elements % pieces == 0) return KD_OK;
    kd_text(message, size, "%d elements cannot be shared out to %d pieces evenly", elements, pieces);
    return KD_ERR_MODEL;
}

// The point of a beam in front of its element k: one of the row, by its name, or a new one
static int add_point(const kd_beam_list *row, const kd_beam *b, int k, const char *name, kd_beam_list *cut)
{
    const int    old = k == 0 ? b->from : k == b->elements ? b->to : -1, made = cut->npoints;
    const double t = (double)k / b->elements;
    const char  *word = old >= 0 ? row->name[old] : name;
    if (made > 0 && strcmp(cut->name[made - 1], word) == 0) return made - 1; // where the beam before it ended
    cut->name[made] = word;
    cut->at[made] = old >= 0 ? row->at[old] : kd_vec_axpy(kd_vec_scale(1 - t, row->at[b->from]), t, row->at[b->to]);
    return cut->npoints++;
}

// Elements from ... to of a beam as a beam
static void add_part(const kd_beam_list *row, const kd_beam *b, int from, int to, const char *const cut_name[2],
                     kd_beam_list *cut)
{
    kd_beam *made = &cut->beam[cut->nbeams++];
    *made = *b;
    made->elements = to - from;
    made->begin = kd_beam_section_between(&b->begin, &b->end, (double)from / b->elements);
    made->end = kd_beam_section_between(&b->begin, &b->end, (double)to / b->elements);
    made->from = add_point(row, b, from, cut_name[0], cut);
    made->to = add_point(row, b, to, cut_name[1], cut);
}

// Masses at points of the piece; at its first point only if nothing comes before it
static void take_masses(const kd_beam_list *row, bool is_first, kd_beam_list *cut)
{
    for (int i = 0; i < row->nmasses; i++)
        for (int k = is_first ? 0 : 1; k < cut->npoints; k++)
            if (row->mass[i].point >= 0 && strcmp(cut->name[k], row->name[row->mass[i].point]) == 0) {
                cut->mass[cut->nmasses] = row->mass[i];
                cut->mass[cut->nmasses++].point = k;
            }
}

kd_status kd_beams_cut(const kd_beam_list *row, int piece, int pieces, kd_arena *arena, kd_beam_list *cut, int *first,
                       int *last, char *message, size_t size)
{
    const kd_status status = check_row(row, pieces, message, size);
    if (status < 0) return status;
    int elements = 0, before = 0;
    for (int i = 0; i < row->nbeams; i++) elements += row->beam[i].elements;
    const int begin = (piece - 1) * (elements / pieces), end = piece * (elements / pieces);
    *cut = (kd_beam_list){.name = kd_arena_cut(arena, (size_t)row->nbeams + 1, sizeof *cut->name),
                          .at = kd_arena_cut(arena, (size_t)row->nbeams + 1, sizeof *cut->at),
                          .beam = kd_arena_cut(arena, (size_t)row->nbeams, sizeof *cut->beam),
                          .mass = kd_arena_cut(arena, (size_t)row->nmasses, sizeof *cut->mass)};
    char *name[2] = {kd_arena_cut(arena, 32, 1), kd_arena_cut(arena, 32, 1)};
    if (arena->failed) return KD_ERR_MEMORY;
    kd_text(name[0], 32, "cut%d", piece - 1);
    kd_text(name[1], 32, "cut%d", piece);
    // what lies between its first and its last element
    for (int i = 0; i < row->nbeams; i++) {
        const kd_beam *b = &row->beam[i];
        const int      from = begin > before ? begin - before : 0;
        const int      to = end < before + b->elements ? end - before : b->elements;
        if (from < to) add_part(row, b, from, to, (const char *const[]){name[0], name[1]}, cut);
        before += b->elements;
    }
    take_masses(row, piece == 1, cut);
    *first = cut->beam[0].from;
    *last = cut->beam[cut->nbeams - 1].to;
    return KD_OK;
}
