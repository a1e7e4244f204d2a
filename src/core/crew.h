// core/crew.h: threads that take numbered units of work in their order, and turns for what has to be told in that order.
#ifndef KD_CORE_CREW_H
#define KD_CORE_CREW_H

#include <pthread.h>
#include <stdbool.h>

// Threads for so many units: the wanted number, or with 0 one for each processor; at least 1.
int kd_crew_size(int wanted, int units);

// Units 0 .. units - 1, each taken by whoever is free; the caller is worker 0. work answers false when no more units are to be taken.
// Comes back when all workers are done; threads that cannot be started are missing, not missed.
typedef bool kd_crew_work(int worker, int unit, void *context);
void         kd_crew_run(int threads, int units, kd_crew_work *work, void *context);

// Between begin and end units go one after the other, in their order. Every unit that is taken has to pass.
typedef struct kd_crew_turn {
    pthread_mutex_t lock;
    pthread_cond_t  passed;
    int             next;
} kd_crew_turn;
#define KD_CREW_TURN_START                                                                                             \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER                                          \
    }
void kd_crew_turn_begin(kd_crew_turn *turn, int unit);
void kd_crew_turn_end(kd_crew_turn *turn);

#endif
