// crew.c: units of work in threads, handed out in their order.
#define _POSIX_C_SOURCE 200809L
#include "core/crew.h"

#include <unistd.h>

enum { MOST_THREADS = 256 };

typedef struct crew {
    pthread_mutex_t lock;
    kd_crew_work   *work;
    void           *context;
    int             next, units; // handed out so far, all
} crew;

typedef struct member {
    crew     *crew;
    pthread_t thread;
    int       number;
} member;

int kd_crew_size(int wanted, int units)
{
    const long processors = wanted > 0 ? wanted : sysconf(_SC_NPROCESSORS_ONLN);
    const int  n = processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : (int)processors;
    return n < units ? n : units > 0 ? units : 1;
}

static int take_unit(crew *c)
{
    pthread_mutex_lock(&c->lock);
    const int unit = c->next < c->units ? c->next++ : -1;
    pthread_mutex_unlock(&c->lock);
    return unit;
}

static void end_early(crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->units = c->next;
    pthread_mutex_unlock(&c->lock);
}

static void *take_part(void *context)
{
    const member *m = context;
    for (int unit; (unit = take_unit(m->crew)) >= 0;)
        if (!m->crew->work(m->number, unit, m->crew->context)) end_early(m->crew);
    return NULL;
}

void kd_crew_run(int threads, int units, kd_crew_work *work, void *context)
{
    crew   c = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = work, .context = context, .units = units};
    member m[MOST_THREADS];
    int    started = 1;
    m[0] = (member){.crew = &c};
    for (; started < threads && started < MOST_THREADS; started++) {
        m[started] = (member){.crew = &c, .number = started};
        if (pthread_create(&m[started].thread, NULL, take_part, &m[started]) != 0) break;
    }
    (void)take_part(&m[0]);
    for (int i = 1; i < started; i++) pthread_join(m[i].thread, NULL);
    pthread_mutex_destroy(&c.lock);
}

void kd_crew_turn_begin(kd_crew_turn *t, int unit)
{
    pthread_mutex_lock(&t->lock);
    while (t->next != unit) pthread_cond_wait(&t->passed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void kd_crew_turn_end(kd_crew_turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->next++;
    pthread_cond_broadcast(&t->passed);
    pthread_mutex_unlock(&t->lock);
}
