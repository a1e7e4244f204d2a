// study.c: the same model with several values of a parameter, in two threads: where does it end?
// Usage: study models/pendulum.yaml l 1 0.5 1 1.5 2     (model, parameter, seconds, values)
//
// Objects of the library belong to one thread at a time; different objects need no lock.
#include <kardan/kardan.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, MOST = 64 };

typedef struct job {
    char **argv;
    int    first, count;  // this thread takes values first, first + THREADS, ..
    double end[MOST];     // first coordinate at the end
    char   message[1000]; // why it failed; ""
} job;

// One value: the model with it, from the start to the end
static kd_status simulate(char **argv, const char *value, double *end, char *message, size_t size)
{
    const kd_setting setting = {argv[2], value};
    kd_model        *model = NULL;
    kd_system       *system = NULL;
    kd_state        *x = NULL;
    kd_status        status = kd_model_read(argv[1], &setting, 1, &model, message, size);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, size);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, size);
    if (status >= 0)
        status =
            kd_simulate(kd_system_eom(system), kd_system_inputs(system), NULL, x, atof(argv[3]), NULL, message, size);
    if (status >= 0) *end = x->p[0];
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status;
}

static void *work(void *context)
{
    job *j = context;
    for (int i = j->first; i < j->count; i += THREADS) {
        char message[1000] = "";
        if (simulate(j->argv, j->argv[4 + i], &j->end[i], message, sizeof message) < 0)
            snprintf(j->message, sizeof j->message, "%.900s", message);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static job jobs[THREADS];
    pthread_t  thread[THREADS];
    int        failed = 0, count = argc - 4 < MOST ? argc - 4 : MOST;
    if (argc < 5) return fprintf(stderr, "usage: study MODEL PARAMETER SECONDS VALUE...\n"), 2;
    for (int i = 0; i < THREADS; i++) {
        jobs[i].argv = argv, jobs[i].first = i, jobs[i].count = count;
        if (pthread_create(&thread[i], NULL, work, &jobs[i]) != 0) return fprintf(stderr, "no thread\n"), 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (jobs[i].message[0]) failed = fprintf(stderr, "%s\n", jobs[i].message) > 0;
    }
    for (int i = 0; !failed && i < count; i++)
        printf("%s = %-8s %12.8f\n", argv[2], argv[4 + i], jobs[i % THREADS].end[i]);
    return failed;
}
