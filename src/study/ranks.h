// study/ranks.h: processes of one job that share the rows of a study.
//
// Three ways: one process alone; several that mpirun or a queue has started, which count through a locked file of the common folder; and MPI, which
// is a plug-in of its own (src/mpi), loaded when it is asked for: one program, with or without MPI.
#ifndef KD_STUDY_RANKS_H
#define KD_STUDY_RANKS_H

#include <kardan/base.h>

// Counters of a job
typedef enum kd_ranks_counter {
    KD_RANKS_TAKEN,  // units that somebody works on
    KD_RANKS_DONE,   // rows of this call
    KD_RANKS_FAILED, // of them
    KD_RANKS_STOP,   // above 0: all end
    KD_RANKS_ENDED,  // processes without work
    KD_RANKS_COUNTERS
} kd_ranks_counter;

// What the plug-in exports as `kardan_ranks`. It is called by one thread at a time.
enum { KD_RANKS_VERSION = 1 };
typedef struct kd_ranks_plugin {
    int version;
    int (*open)(int *rank, int *size, char *message, size_t length); // 0: good
    long (*add)(int counter, long count); // adds to a counter of the job, answers what was there; < 0: failed
    int (*least)(int value);              // of all processes, which wait for each other
    void (*close)(void);
} kd_ranks_plugin;

typedef struct kd_ranks {
    int                    rank, size; // size 1: alone
    char                   job[100];   // folder: name of the job
    const char            *folder;
    const kd_ranks_plugin *plugin; // NULL: the folder
} kd_ranks;

// mpi: by the plug-in, KD_ERR_UNAVAILABLE if there is none; otherwise by the folder if the environment tells of several processes.
kd_status kd_ranks_open(kd_ranks *ranks, bool mpi, const char *folder, char *message, size_t size) KD_NODISCARD;
// Under a lock of the caller. The folder knows KD_RANKS_TAKEN only, others are 0 there. -1: it failed.
long kd_ranks_add(kd_ranks *ranks, kd_ranks_counter counter, long count);
// The least value of all processes (MPI); the own one without.
int  kd_ranks_least(kd_ranks *ranks, int value);
void kd_ranks_close(kd_ranks *ranks);

#endif
