// system/unseen.h: the parts of the search for what laws hold between the ends of a step. Method:
// docs/methods/intervals.md
#ifndef KD_SYSTEM_UNSEEN_H
#define KD_SYSTEM_UNSEEN_H

#include "system/system.h"

#define KD_HARMLESS 100.0 // [tolerances] an effect that is not decided, but cannot be more

// The first step of a method that lives by its past: it knows values and slopes at the ends, and nothing between them.
static inline bool kd_unseen_is_blind(const kd_step_seen *seen)
{
    return seen->nnodes == 0;
}

// unseen_laws.c: the list. Nothing is known about the motion from here on
void        kd_unseen_forget(const kd_system *s, kd_unseen_work *u);
const char *kd_unseen_motion_name(const kd_system *s, int dof);

// unseen_path.c
// A cubic over 0 .. 1 with the slopes v
typedef struct kd_cubic {
    double s[2], v[2];
} kd_cubic;
double      kd_cubic_at(const kd_cubic *c, double x, double *slope, double *bend);
kd_interval kd_cubic_range(const kd_cubic *c, double a, double b, int level); // its value (0) or slope (1) there
double      kd_unseen_measure_atol(const kd_work *w, const kd_step_seen *seen, int measure, int level);
double      kd_unseen_atol(const kd_work *w, const kd_step_seen *seen, int slot); // of a variable, in its unit
bool        kd_unseen_is_end(const kd_system *s, const kd_unseen_end *e, const kd_point *x);
void        kd_unseen_take_end(kd_work *w, const kd_point *x, kd_unseen_end *e);
// Effect of a unit of each law per time, at the end of the step, which the work object has just been at
// also: or as much as is known from elsewhere
void kd_unseen_mobilities(kd_work *w, const kd_step_seen *seen, const kd_point *x1, bool also);
void kd_unseen_check_inputs(kd_work *w, const kd_unseen_end *e); // do inputs follow their expressions?
// Ranges of the terms of a law between the parts a and b of the step; their values at one part of it
void kd_unseen_ranges(kd_work *w, const kd_law *law, const kd_point *x1, double a, double b, kd_interval *out);
void kd_unseen_values(kd_work *w, const kd_law *law, const kd_point *x1, double part, double *out);

// unseen_turn.c
bool kd_unseen_cut_turns(const kd_system *s, kd_arena *arena, kd_unseen_work *u);
bool kd_unseen_reads_places(const kd_work *w, const kd_law *law); // of bodies, which go round where joints turn
double
kd_unseen_turn(const kd_work *w); // [rad] how far joints turn in the step, the work object being at one of its ends
// Pieces of the path, where joints turn so far that cubics between the ends show nothing; or the step is too long
void kd_unseen_make_path(kd_work *w, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out);
// The piece of a measure's path with a part of the step; *inside: what part of the piece that is
kd_cubic kd_unseen_piece(const kd_work *w, int measure, double part, double *inside);
int      kd_unseen_piece_of(const kd_work *w, int measure, double part, double *inside); // its number

// unseen_length.c: lengths, by the cubics of their vectors
bool kd_unseen_is_length(const kd_work *w, int measure); // that a law reads
void kd_unseen_take_way(const kd_work *w, int measure, double *way);
// Length (level 0) or its rate (1) at a part of a piece of the path, and between two of them
double      kd_unseen_length(const kd_work *w, int measure, int piece, double inside, int level);
kd_interval kd_unseen_lengths(const kd_work *w, int measure, int piece, double a, double b, int level);
// Of |d| and its rate, from the boxes of d and d'
kd_interval kd_range_of_length(const kd_interval d[3]);
kd_interval kd_range_of_length_rate(const kd_interval d[3], const kd_interval rate[3]);

// unseen_touch.c: how surfaces move where the work object is, at its velocity stage; those that rows keep in touch are left out
void kd_touch_take_end(const kd_work *w, kd_touch_pass *out);
// Of the gap between two ends; smooth: the range by its values and rates there, good for steps that are short beside the surfaces
kd_interval kd_range_of_gap(const kd_touch *t, const kd_touch_pass ends[2], double h, kd_interval smooth);

// unseen_jumps.c
bool kd_unseen_is_abrupt(const kd_law *law); // may it have kinks and jumps?
bool kd_unseen_one_branch(kd_work *w, const kd_law *law, kd_interval range);
// What is lost at the first one, and where the step should end; false: the law takes one branch in the whole step
bool kd_unseen_jumps(kd_work *w, int law, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out);
bool kd_unseen_hides_jumps(const kd_work *w, int law, const kd_step_seen *seen);
void kd_unseen_brief_jumps(kd_work *w, int law, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out);

// unseen_box.c
// Can nothing hide in a step along enclosure.slot?
bool kd_box_is_plain_step(kd_work *w, int law, const kd_step_seen *seen);

// unseen_drives.c
bool kd_unseen_has_drives(const kd_system *s);
void kd_unseen_drives(kd_work *w, const kd_point *x0, const kd_step_seen *seen, double h, kd_hidden *out);

#endif
