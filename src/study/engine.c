// engine.c: the rows of a study in threads.
//
// Units, the rows of a design or whole searches, are handed out one after the other to whoever is free; what a row is does not depend on that. Several
// processes take them from a common counter (ranks.c), and the first of them gathers all rows at the end. A unit of a later stage (points of a front,
// further rows of a sample that may be large enough) waits until all units before its stage are done, wherever they are made.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/option.h"
#include "core/text.h"
#include "study/ranks.h"
#include "study/study.h"

enum { MOST_THREADS = 256, BLOCK = 4 /* rows that a process takes at once */, FIRST_STAGE = 64 };

kd_study_run_options kd_study_run_options_default(void)
{
    return (kd_study_run_options){.cookie = KD_OPTIONS_COOKIE};
}

// What the threads share
typedef struct engine {
    kd_study                   *study;
    const kd_study_run_options *opt;
    kd_row_store               *store; // NULL: nothing is kept
    pthread_mutex_t             lock;
    kd_ranks                    ranks;
    int                         units, missing; // all; those of them that were not there at the beginning
    int                         next;           // of one process alone
    int                         complete;       // units before this one are known to be done
    int                         there, bad;     // rows that were there at the beginning, failed ones of them
    bool                        enough;         // the sample is large enough
    volatile bool               stop;
    int                         running;
    kd_status                   status; // the first failure that is none of a row
    char                        message[1000];
    double                      started;
    int                         made, failed;
} engine;

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- threads --------------------------------------------------------------------------------------------------------

static void stop_with(engine *e, kd_status status, const char *message)
{
    if (e->status >= 0) {
        e->status = status;
        kd_text(e->message, sizeof e->message, "%s", message);
    }
    e->stop = true;
}

static bool is_search(const engine *e)
{
    return e->study->search.nobjectives > 0;
}

static bool is_missing(const engine *e, int unit)
{
    if (is_search(e)) return !e->study->search.end[unit].done;
    const kd_study_cell *c = &e->study->cell[unit];
    if (!c->done || c->status < 0) return !c->done || e->opt->retry;
    return !kd_channels_are_there(e->study, e->opt->folder, unit);
}

static bool is_done(const engine *e, int unit)
{
    return is_search(e) ? e->study->search.end[unit].done : e->study->cell[unit].done;
}

// The next unit; -1: there are no more. Under the lock
static int next_unit(engine *e, int block[2])
{
    const int size = is_search(e) ? 1 : BLOCK;
    while (!e->stop && !e->enough) {
        // rows of the block that are not done yet, from an earlier run perhaps
        for (; block[0] < block[1] && block[0] < e->units; block[0]++)
            if (is_missing(e, block[0])) return block[0]++;
        if (block[1] >= e->units) return -1;
        // a new block: several processes take it by a shared counter, one by its own
        long first = e->next;
        if (e->ranks.size > 1) {
            if ((first = kd_ranks_add(&e->ranks, KD_RANKS_TAKEN, size)) < 0)
                stop_with(e, KD_ERR_FILE, "the rows cannot be shared between processes: the folder knows no locks");
        } else {
            e->next = e->next < e->units ? e->next + 1 : e->next;
        }
        block[0] = first < 0 || first > e->units ? e->units : (int)first;
        block[1] = e->ranks.size > 1 ? block[0] + size : block[0] + 1;
        if (block[0] >= e->units) return -1;
    }
    return -1;
}

// ---- stages ---------------------------------------------------------------------------------------------------------

// Units that must be done before this one begins: 0, or the start of its stage
static int stage_of(const engine *e, int unit)
{
    const kd_search *q = &e->study->search;
    if (is_search(e)) return kd_search_is_first(e->study, unit) ? 0 : q->nobjectives * q->starts;
    if (e->study->nuntil == 0 || unit < FIRST_STAGE) return 0;
    int start = FIRST_STAGE;
    while (2 * start <= unit) start *= 2;
    return start;
}

static void pause_a_little(void)
{
    const struct timespec wait = {0, 20000000};
    (void)nanosleep(&wait, NULL);
}

// How far all units are done, up to a limit; between two stages the question whether the sample is large enough. Under the lock
static void count_complete(engine *e, int limit)
{
    while (e->complete < limit && !e->enough && is_done(e, e->complete)) {
        e->complete++;
        const bool between = e->study->nuntil > 0 && stage_of(e, e->complete) == e->complete;
        if (between && kd_study_knows_enough(e->study, e->complete)) e->enough = true;
    }
}

// Until the stages before are complete; false: this unit is not needed. Under the lock, which is open in between
static bool wait_for_stage(engine *e, int unit)
{
    const int start = stage_of(e, unit);
    for (count_complete(e, start); e->complete < start && !e->stop && !e->enough; count_complete(e, start)) {
        pthread_mutex_unlock(&e->lock);
        pause_a_little();
        pthread_mutex_lock(&e->lock);
        if (e->ranks.size > 1 && kd_row_store_refresh(e->store) < 0) stop_with(e, KD_ERR_FILE, "rows cannot be read");
    }
    return !e->stop && !e->enough;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// On disk first, then in the study. Under the lock
static void keep(engine *e, int row, const kd_study_cell *cell, const double *value)
{
    char      message[1000] = "no memory for the rows";
    kd_status status = e->store ? kd_row_store_append(e->store, row, cell, value, message, sizeof message) : KD_OK;
    if (status >= 0) status = kd_study_keep(e->study, row, cell, value);
    if (status < 0) stop_with(e, status, message);
    e->made++, e->failed += cell->status < 0;
    if (e->ranks.size > 1) (void)kd_ranks_add(&e->ranks, KD_RANKS_DONE, 1);
    if (e->ranks.size > 1 && cell->status < 0) (void)kd_ranks_add(&e->ranks, KD_RANKS_FAILED, 1);
}

// What a thread works with
typedef struct worker {
    engine       *engine;
    kd_row_maker *maker;
} worker;

// One row; false: the study stops. Without the lock
static bool make_row(void *context, int row)
{
    worker       *w = context;
    engine       *e = w->engine;
    char          reason[KD_STUDY_REASON], message[1000];
    double        value[KD_STUDY_MOST];
    kd_study_cell cell = {.reason = reason};
    const bool    made = !e->stop && kd_row_make(w->maker, row, &cell, value);
    kd_status     status = KD_OK;
    // channels are on the disk before the row is
    if (made && cell.status >= 0 && e->store)
        status = kd_channels_save(w->maker, e->study, e->opt->folder, row, message, sizeof message);
    pthread_mutex_lock(&e->lock);
    if (status < 0)
        stop_with(e, status, message);
    else if (made)
        keep(e, row, &cell, value);
    const bool good = made && !e->stop;
    pthread_mutex_unlock(&e->lock);
    return good;
}

// A search, and that it has ended. Without the lock
static void make_search(worker *w, int k)
{
    engine       *e = w->engine;
    char          message[1000] = "kardan was built without NLopt, which searches (package libnlopt-dev)";
    kd_search_end end;
    kd_status     status = kd_search_run(e->study, k, make_row, w, &end);
    pthread_mutex_lock(&e->lock);
    if (status == KD_OK && e->store) status = kd_row_store_append_end(e->store, k, &end, message, sizeof message);
    if (status == KD_OK) e->study->search.end[k] = end;
    if (status < 0) stop_with(e, status, message);
    pthread_mutex_unlock(&e->lock);
}

static void *work(void *context)
{
    engine   *e = context;
    worker    w = {.engine = e};
    char      message[1000] = "";
    int       block[2] = {0, 0}, unit;
    kd_status status = kd_row_maker_create(e->study, e->opt->limit, &e->stop, &w.maker, message, sizeof message);
    pthread_mutex_lock(&e->lock);
    if (status < 0) stop_with(e, status, message);
    // rows are made without the lock; what is next is decided under it
    while (status >= 0 && (unit = next_unit(e, block)) >= 0 && wait_for_stage(e, unit)) {
        pthread_mutex_unlock(&e->lock);
        if (is_search(e))
            make_search(&w, unit);
        else
            (void)make_row(&w, unit);
        pthread_mutex_lock(&e->lock);
    }
    e->running--;
    pthread_mutex_unlock(&e->lock);
    kd_row_maker_destroy(w.maker);
    return NULL;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

// Over all processes, as far as they tell. Under the lock
static kd_study_progress progress_of(engine *e)
{
    kd_study_progress p = {.rows = e->study->design.nrows, .seconds = seconds() - e->started};
    long              made = e->made, failed = e->failed;
    if (e->ranks.plugin && e->ranks.size > 1) {
        made = kd_ranks_add(&e->ranks, KD_RANKS_DONE, 0);
        failed = kd_ranks_add(&e->ranks, KD_RANKS_FAILED, 0);
    }
    p.done = e->there + (int)made, p.failed = e->bad + (int)failed;
    p.rate = p.seconds > 0 ? (double)made / p.seconds : 0;
    return p;
}

// Does the caller want to go on?
static bool asks_to_stop(engine *e)
{
    if (!e->opt->go_on) return false;
    pthread_mutex_lock(&e->lock);
    const kd_study_progress p = progress_of(e);
    pthread_mutex_unlock(&e->lock);
    return !e->opt->go_on(&p, e->opt->context);
}

// The calling thread looks on: the caller, and other processes, may want to stop
static bool look_on(engine *e, double *next, bool stopped)
{
    if (seconds() < *next) return stopped;
    *next = seconds() + 0.2;
    if (!stopped && asks_to_stop(e)) stopped = e->stop = true;
    if (!e->ranks.plugin || e->ranks.size < 2) return stopped;
    pthread_mutex_lock(&e->lock);
    const bool others = kd_ranks_add(&e->ranks, KD_RANKS_STOP, 0) > 0;
    if (e->stop && !others) (void)kd_ranks_add(&e->ranks, KD_RANKS_STOP, 1);
    if (others) e->stop = true;
    pthread_mutex_unlock(&e->lock);
    return stopped;
}

// Until all threads have ended
static bool wait_for_threads(engine *e)
{
    bool stopped = false;
    for (double next = 0;;) {
        pthread_mutex_lock(&e->lock);
        const int running = e->running;
        pthread_mutex_unlock(&e->lock);
        if (running == 0) return stopped;
        stopped = look_on(e, &next, stopped);
        pause_a_little();
    }
}

// Processes of a folder: the first one waits for the rows of the others
static bool wait_for_rows(engine *e)
{
    for (;;) {
        if (kd_row_store_refresh(e->store) < 0) return true;
        count_complete(e, e->units);
        if (e->complete == e->units || e->enough) return false;
        if (asks_to_stop(e)) return true;
        for (int i = 0; i < 5; i++) pause_a_little();
    }
}

// MPI: nobody waits inside of it, which would take a processor, until all have ended
static bool wait_for_ranks(engine *e)
{
    bool stopped = false;
    (void)kd_ranks_add(&e->ranks, KD_RANKS_ENDED, 1);
    for (double next = 0; kd_ranks_add(&e->ranks, KD_RANKS_ENDED, 0) < e->ranks.size;) {
        stopped = look_on(e, &next, stopped);
        pause_a_little();
    }
    return stopped;
}

// All rows in the first process, and one answer for all
static void gather(engine *e)
{
    if (e->ranks.size < 2) return;
    kd_row_store_finish(e->store);
    if (!e->ranks.plugin) {
        if (e->ranks.rank == 0 && e->status == KD_OK && wait_for_rows(e)) e->status = KD_STOPPED;
        return;
    }
    const bool stopped = wait_for_ranks(e);
    // -1: somebody failed, 0: somebody was stopped
    const int all = kd_ranks_least(&e->ranks, e->status < 0 ? -1 : stopped || e->status == KD_STOPPED ? 0 : 1);
    if (e->status >= 0 && all < 0) stop_with(e, KD_ERR_FILE, "another process of the job failed");
    if (e->status >= 0 && all == 0) e->status = KD_STOPPED;
    if (e->ranks.rank == 0 && kd_row_store_refresh(e->store) < 0) stop_with(e, KD_ERR_FILE, "the rows cannot be read");
}

static void start_threads(engine *e)
{
    pthread_t thread[MOST_THREADS];
    // one thread for each processor, or one for each process of several; never more than rows
    int n = e->opt->threads > 0 ? e->opt->threads : e->ranks.size > 1 ? 1 : (int)sysconf(_SC_NPROCESSORS_ONLN);
    n = n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
    if (n > e->missing) n = e->missing > 0 ? e->missing : 1;
    int started = 0;
    e->running = n;
    for (; started < n; started++)
        if (pthread_create(&thread[started], NULL, work, e) != 0) break;
    pthread_mutex_lock(&e->lock);
    e->running -= n - started;
    if (started == 0) stop_with(e, KD_ERR_MEMORY, "no thread could be started");
    pthread_mutex_unlock(&e->lock);
    // joined in any case: rows in the making are ended first
    const bool stopped = wait_for_threads(e);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
    if (stopped && e->status >= 0) e->status = KD_STOPPED;
}

// The folder of the rows; the first process makes it, then the others come
static kd_status open_store(engine *e, char *message, size_t size)
{
    const kd_study_run_options *o = e->opt;
    kd_status                   status = KD_OK;
    if (e->ranks.size > 1 && !o->folder) {
        kd_text(message, size, "several processes need a folder that all of them see");
        return KD_ERR_ARGUMENT;
    }
    if (!o->folder) return KD_OK;
    // the first process decides what is there already; nobody goes on alone
    if (e->ranks.rank == 0) status = kd_row_store_open(e->study, o->folder, o->fresh, 0, &e->store, message, size);
    if (kd_ranks_least(&e->ranks, status < 0 ? -1 : 0) < 0 && status >= 0) {
        kd_row_store_close(e->store);
        e->store = NULL;
        kd_text(message, size, "the first process of the job could not begin");
        return KD_ERR_FILE;
    }
    if (status < 0) return status;
    if (e->ranks.rank > 0)
        status = kd_row_store_open(e->study, o->folder, o->fresh, e->ranks.rank, &e->store, message, size);
    const int all = kd_ranks_least(&e->ranks, status < 0 ? -1 : 0);
    if (all == 0 || status < 0) return status;
    kd_row_store_close(e->store);
    e->store = NULL;
    kd_text(message, size, "another process of the job could not begin");
    return KD_ERR_FILE;
}

kd_status kd_study_run(kd_study *s, const kd_study_run_options *opt, char *message, size_t size)
{
    const kd_study_run_options usual = kd_study_run_options_default();
    kd_text(message, size, "%s", "");
    if (!s) return KD_ERR_ARGUMENT;
    if (!opt) opt = &usual;
    if (!kd_options_made(opt, opt->cookie, "kd_study_run_options", message, size)) return KD_ERR_ARGUMENT;
    engine    e = {.study = s, .opt = opt, .started = seconds()};
    kd_status status = kd_ranks_open(&e.ranks, opt->mpi, opt->folder, message, size);
    if (status < 0) return status;
    status = open_store(&e, message, size);
    if (status < 0) {
        kd_ranks_close(&e.ranks);
        return status;
    }
    // what is missing
    e.units = is_search(&e) ? s->search.nsearches : s->design.nrows;
    for (int i = 0; i < e.units; i++) e.missing += is_missing(&e, i);
    for (int i = 0; i < s->design.nrows; i++)
        e.there += s->cell[i].done, e.bad += s->cell[i].done && s->cell[i].status < 0;
    pthread_mutex_init(&e.lock, NULL);
    if (e.missing > 0) start_threads(&e);
    gather(&e);
    (void)asks_to_stop(&e); // the last look
    pthread_mutex_destroy(&e.lock);
    kd_row_store_close(e.store);
    kd_ranks_close(&e.ranks);
    kd_text(message, size, "%s", e.message);
    return e.status;
}
