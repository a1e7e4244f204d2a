// workers.c: one task of all systems in threads. A thread has its own systems, always the same ones: nothing is handed out, and
// what a system computes does not depend on who computes it.
//
// A task is shorter than what the kernel takes to wake a sleeper (about 50 us on a virtual machine), and there are several in a
// macro step: whoever waits looks for the next round for a while, and sleeps only then. It does not give way to others in between:
// on a busy machine that costs a slice of time, and sleep does not. Without a processor for each thread it sleeps at once.
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <unistd.h>

#include "cosim/cosim.h"

static const double AWAKE = 5e-4; // [s] of looking before sleep
enum {
    LOOKS = 200,
    LINE = 64
}; // looks between two at the clock; bytes of a cache line, which two threads should not both write to

typedef struct worker {
    kd_workers *all;
    pthread_t   thread;
    int         number;
} worker;

struct kd_workers {
    kd_cosim       *cosim;
    int             n; // threads beside the caller
    bool            patient;
    worker          worker[KD_COSIM_MOST_SYSTEMS];
    int             owner[KD_COSIM_MOST_SYSTEMS]; // of each system; 0: the caller
    kd_cosim_task   task;
    double          t;
    pthread_mutex_t lock;
    pthread_cond_t  begin, end;
    atomic_bool     over;
    char            apart[3][LINE];
    atomic_long     round; // of the present task
    atomic_int      sleepers;
    char            apart_too[LINE];
    atomic_int      busy;
    atomic_bool     caller_sleeps;
};

// ---- waiting --------------------------------------------------------------------------------------------------------

static void breathe(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ __volatile__("yield");
#endif
}

static bool has_begun(kd_workers *w, long seen)
{
    return atomic_load(&w->round) != seen || atomic_load(&w->over);
}

static bool is_done(kd_workers *w, long unused)
{
    (void)unused;
    return atomic_load(&w->busy) == 0;
}

// Looks for `come` for a while. false: it is time to sleep
static bool look_out(kd_workers *w, bool (*come)(kd_workers *w, long seen), long seen)
{
    if (!w->patient) return come(w, seen);
    const double until = kd_cosim_seconds() + AWAKE;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (come(w, seen)) return true;
            breathe();
        }
    } while (kd_cosim_seconds() < until);
    return false;
}

// Who goes to sleep says so and looks once more under the lock; who wakes others has changed what they look at before it reads
// whether they sleep: one of both sees the other
static void wait_for_round(kd_workers *w, long seen)
{
    if (look_out(w, has_begun, seen)) return;
    pthread_mutex_lock(&w->lock);
    atomic_fetch_add(&w->sleepers, 1);
    while (!has_begun(w, seen)) pthread_cond_wait(&w->begin, &w->lock);
    atomic_fetch_sub(&w->sleepers, 1);
    pthread_mutex_unlock(&w->lock);
}

static void wait_for_end(kd_workers *w)
{
    if (look_out(w, is_done, 0)) return;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->caller_sleeps, true);
    while (!is_done(w, 0)) pthread_cond_wait(&w->end, &w->lock);
    atomic_store(&w->caller_sleeps, false);
    pthread_mutex_unlock(&w->lock);
}

static void wake(kd_workers *w, bool asleep, pthread_cond_t *condition)
{
    if (!asleep) return;
    pthread_mutex_lock(&w->lock);
    pthread_cond_broadcast(condition);
    pthread_mutex_unlock(&w->lock);
}

// ---- tasks ----------------------------------------------------------------------------------------------------------

static void make_own(kd_workers *w, int number)
{
    for (int s = 0; s < w->cosim->nsystems; s++)
        if (w->owner[s] == number) w->task(w->cosim, s, w->t);
}

static void *work(void *context)
{
    worker     *self = context;
    kd_workers *w = self->all;
    for (long seen = 0;; seen++) {
        wait_for_round(w, seen);
        if (atomic_load(&w->over)) return NULL;
        make_own(w, self->number);
        if (atomic_fetch_sub(&w->busy, 1) == 1) wake(w, atomic_load(&w->caller_sleeps), &w->end);
    }
}

void kd_cosim_each(kd_cosim *c, kd_cosim_task task, double t)
{
    kd_workers *w = c->workers;
    if (!w) {
        for (int s = 0; s < c->nsystems; s++) task(c, s, t);
        return;
    }
    w->task = task, w->t = t;
    atomic_store(&w->busy, w->n);
    atomic_fetch_add(&w->round, 1);
    wake(w, atomic_load(&w->sleepers) > 0, &w->begin);
    make_own(w, 0);
    wait_for_end(w);
}

// ---- life -----------------------------------------------------------------------------------------------------------

// Systems with a state in turn; formulas cost nothing and are the caller's
static void deal(kd_workers *w)
{
    int next = 0;
    for (int s = 0; s < w->cosim->nsystems; s++) {
        w->owner[s] = w->cosim->system[s]->algebraic ? 0 : next;
        if (!w->cosim->system[s]->algebraic) next = (next + 1) % (w->n + 1);
    }
}

kd_status kd_workers_create(kd_cosim *c, int threads, kd_workers **out)
{
    kd_workers *w = kd_alloc(sizeof *w);
    *out = NULL;
    if (!w) return KD_ERR_MEMORY;
    // threads wait in a loop only where each has a processor
    w->cosim = c;
    w->patient = threads <= sysconf(_SC_NPROCESSORS_ONLN);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->begin, NULL);
    pthread_cond_init(&w->end, NULL);
    // as many as the system gives; the caller is the first worker itself
    while (w->n < threads - 1) {
        worker *k = &w->worker[w->n];
        *k = (worker){.all = w, .number = w->n + 1};
        if (pthread_create(&k->thread, NULL, work, k) != 0) break;
        w->n++;
    }
    // systems are dealt out once: the same thread has the same ones at every step
    deal(w);
    *out = w;
    return KD_OK;
}

void kd_workers_destroy(kd_workers *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->over, true);
    pthread_cond_broadcast(&w->begin);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n; i++) pthread_join(w->worker[i].thread, NULL);
    pthread_cond_destroy(&w->end);
    pthread_cond_destroy(&w->begin);
    pthread_mutex_destroy(&w->lock);
    kd_free(w);
}
