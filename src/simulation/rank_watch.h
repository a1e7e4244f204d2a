// simulation/rank_watch.h: is it still certain on which branch of its constraints a motion is?
#ifndef KD_SIMULATION_RANK_WATCH_H
#define KD_SIMULATION_RANK_WATCH_H

#include <kardan/simulation.h>

typedef struct kd_rank_watch kd_rank_watch;

// *watch is NULL without constraints, and with more of them than can be watched at the price of a step (unwatched, if
// not NULL, says so). inputs are copied; data is moved by each look, and must outlive it.
kd_status kd_rank_watch_create(kd_eom_data *data, const kd_inputs *inputs, kd_tolerances tolerances,
                               kd_rank_watch **watch, bool *unwatched);
void      kd_rank_watch_destroy(kd_rank_watch *watch);                // NULL is fine
void      kd_rank_watch_archive(kd_rank_watch *watch, kd_archive *a); // save or restore
// A start: active rows, their rank and scales are taken from x. KD_OK, or < 0: a function asked to stop. Does not
// allocate.
kd_status kd_rank_watch_start(kd_rank_watch *watch, const kd_state *x, char *message, size_t size);
// The integrator starts again at x under the same rows: other velocities.
void kd_rank_watch_go_on(kd_rank_watch *watch, const kd_state *x);
// May a step of the length h [s] from the last look have gone over to another branch?
bool kd_rank_watch_wants(const kd_rank_watch *watch, double h);
// The end of a step that can be taken back: the length [s] with which it could be told whether it went over to another
// branch; INFINITY: it can be told. Does not allocate.
double kd_rank_watch_judge(kd_rank_watch *watch, const kd_state *x);
// May the step to t that was judged last have passed a singular position?
bool kd_rank_watch_passed(const kd_rank_watch *watch, double t);
// The next look is at the end of a step that does not fulfil the equations inside it, however short it is made: it ends
// the run if rounding of the positions is the reason, because of a singular position that is near.
void kd_rank_watch_doubt(kd_rank_watch *watch);
// The end of an accepted step: KD_OK, the status of a function that asked to stop, or KD_ERR_RANK_CHANGE with the
// reason in message. Does not allocate.
kd_status kd_rank_watch_look(kd_rank_watch *watch, const kd_state *x, char *message, size_t size);

#endif
