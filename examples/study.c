// study.c: the same model with several values of a parameter, in two threads: where does it end?
// Usage: study models/pendulum.yaml l 1 0.5 1 1.5 2     (model, parameter, seconds, values)
//
// The model is read once and constant: both threads share it. Each has a system of its own, with its own values of the
// parameters. Objects belong to one thread at a time; different objects need no lock.
#include <kardan/kardan.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, MOST = 64 };

typedef struct job {
    char          **argv;
    const kd_model *model;
    int             first, count;  // this thread takes values first, first + THREADS, ..
    double          end[MOST];     // first coordinate at the end
    char            message[1000]; // why it failed; ""
} job;

// One value: the system changed to it, from the start to the end
static kd_status simulate(job *j, kd_system *system, kd_state *x, int i)
{
    double    theta[MOST];
    const int parameter = kd_model_parameter_index(j->model, j->argv[2]), n = kd_model_parameters(j->model, NULL, 0);
    for (int k = 0; k < n && k < MOST; k++) theta[k] = kd_system_parameters(system)[k];
    theta[parameter] = atof(j->argv[4 + i]);
    kd_status status = kd_system_set_parameters(system, theta, j->message, sizeof j->message);
    if (status >= 0) status = kd_system_start(system, x, j->message, sizeof j->message);
    if (status >= 0)
        status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), NULL, x, atof(j->argv[3]), NULL,
                             j->message, sizeof j->message);
    if (status >= 0) j->message[0] = '\0'; // no news
    j->end[i] = x->p[0];
    return status;
}

static void *work(void *context)
{
    job       *j = context;
    kd_system *system = NULL;
    kd_status  status = kd_system_create(j->model, NULL, &system, j->message, sizeof j->message);
    for (int i = j->first; i < j->count && status >= 0; i += THREADS) {
        kd_state *x = NULL;
        status = kd_state_create(kd_system_eom(system), &x);
        if (status >= 0) status = simulate(j, system, x, i);
        kd_state_destroy(x);
    }
    kd_system_destroy(system);
    return NULL;
}

int main(int argc, char **argv)
{
    static job jobs[THREADS];
    pthread_t  thread[THREADS];
    int        failed = 0, count = argc - 4 < MOST ? argc - 4 : MOST;
    kd_model  *model = NULL;
    char       message[1000];
    if (argc < 5) return fprintf(stderr, "usage: study MODEL PARAMETER SECONDS VALUE...\n"), 2;
    if (kd_model_read(argv[1], NULL, 0, &model, message, sizeof message) < 0)
        return fprintf(stderr, "%s\n", message), 1;
    if (kd_model_parameter_index(model, argv[2]) < 0 || kd_model_parameters(model, NULL, 0) > MOST)
        return kd_model_destroy(model), fprintf(stderr, "%s has no parameter '%s'\n", argv[1], argv[2]), 1;
    for (int i = 0; i < THREADS; i++) {
        jobs[i].argv = argv, jobs[i].model = model, jobs[i].first = i, jobs[i].count = count;
        if (pthread_create(&thread[i], NULL, work, &jobs[i]) != 0) return fprintf(stderr, "no thread\n"), 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (jobs[i].message[0]) failed = fprintf(stderr, "%s\n", jobs[i].message) > 0;
    }
    for (int i = 0; !failed && i < count; i++)
        printf("%s = %-8s %12.8f\n", argv[2], argv[4 + i], jobs[i % THREADS].end[i]);
    kd_model_destroy(model);
    return failed;
}
