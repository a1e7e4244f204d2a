// workers.c: the systems of one step in threads. A thread has its own systems, always the same ones: nothing is handed out, and
// what a system computes does not depend on who computes it.
#define _POSIX_C_SOURCE 200809L
#include "cosim/cosim.h"

typedef struct worker {
    kd_workers *all;
    pthread_t   thread;
    int         number;
} worker;

struct kd_workers {
    kd_cosim       *cosim;
    int             n; // threads beside the caller
    worker          worker[KD_COSIM_MOST_SYSTEMS];
    pthread_mutex_t lock;
    pthread_cond_t  begin, end;
    long            round; // of the present step
    int             busy;
    bool            over;
    double          t_end;
};

static void make_own(kd_workers *w, int number)
{
    for (int s = number; s < w->cosim->nsystems; s += w->n + 1) (void)kd_cosim_step_one(w->cosim, s, w->t_end);
}

static void *work(void *context)
{
    worker     *self = context;
    kd_workers *w = self->all;
    long        seen = 0;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->round == seen && !w->over) pthread_cond_wait(&w->begin, &w->lock);
        if (w->over) break;
        seen = w->round;
        pthread_mutex_unlock(&w->lock);
        make_own(w, self->number);
        pthread_mutex_lock(&w->lock);
        if (--w->busy == 0) pthread_cond_signal(&w->end);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void kd_workers_run(kd_workers *w, double t_end)
{
    pthread_mutex_lock(&w->lock);
    w->t_end = t_end, w->busy = w->n, w->round++;
    pthread_cond_broadcast(&w->begin);
    pthread_mutex_unlock(&w->lock);
    make_own(w, 0);
    pthread_mutex_lock(&w->lock);
    while (w->busy > 0) pthread_cond_wait(&w->end, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

kd_status kd_workers_create(kd_cosim *c, int threads, kd_workers **out)
{
    kd_workers *w = kd_alloc(sizeof *w);
    *out = NULL;
    if (!w) return KD_ERR_MEMORY;
    w->cosim = c;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->begin, NULL);
    pthread_cond_init(&w->end, NULL);
    while (w->n < threads - 1) {
        worker *k = &w->worker[w->n];
        *k = (worker){.all = w, .number = w->n + 1};
        if (pthread_create(&k->thread, NULL, work, k) != 0) break;
        w->n++;
    }
    *out = w;
    return KD_OK;
}

void kd_workers_destroy(kd_workers *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_broadcast(&w->begin);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n; i++) pthread_join(w->worker[i].thread, NULL);
    pthread_cond_destroy(&w->end);
    pthread_cond_destroy(&w->begin);
    pthread_mutex_destroy(&w->lock);
    kd_free(w);
}
