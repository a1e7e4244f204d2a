// ranks_mpi.c: the one file that knows MPI. It becomes kardan-mpi.so, which the library loads when it is asked to (study/ranks.c).
//
// Counters of the job live in a window of the first process; all add to them one-sidedly. MPI is started once in a process, unless somebody else has
// done so (mpi4py), and ended when the process ends.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "study/ranks.h"

extern const kd_ranks_plugin kardan_ranks;

// Of the process, as MPI itself is
static MPI_Win window = MPI_WIN_NULL;
static long   *memory;

static void finish(void)
{
    int ended = 0;
    if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended) (void)MPI_Finalize();
}

static int start(char *message, size_t length)
{
    int there = 0, level = 0;
    if (MPI_Initialized(&there) != MPI_SUCCESS) return 1;
    if (!there) {
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return 1;
        (void)atexit(finish);
    }
    (void)MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED) return 0;
    (void)snprintf(message, length, "MPI was started without threads (MPI_THREAD_SERIALIZED is needed)");
    return 1;
}

// A window of counters at the first process, open for all from now on
static int open_counters(int *rank, int *size, char *message, size_t length)
{
    (void)snprintf(message, length, "MPI could not be started");
    if (start(message, length) != 0) return 1;
    if (MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS)
        return 1;
    const MPI_Aint bytes = *rank == 0 ? (MPI_Aint)(KD_RANKS_COUNTERS * sizeof(long)) : 0;
    if (MPI_Win_allocate(bytes, (int)sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) != MPI_SUCCESS)
        return 1;
    if (MPI_Win_lock_all(0, window) != MPI_SUCCESS) return 1;
    for (int i = 0; *rank == 0 && i < KD_RANKS_COUNTERS; i++) {
        const long nothing = 0;
        long       before;
        if (MPI_Fetch_and_op(&nothing, &before, MPI_LONG, 0, i, MPI_REPLACE, window) != MPI_SUCCESS) return 1;
    }
    if (*rank == 0 && MPI_Win_flush(0, window) != MPI_SUCCESS) return 1;
    if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) return 1;
    message[0] = '\0';
    return 0;
}

static long add(int counter, long count)
{
    long before = -1;
    if (MPI_Fetch_and_op(&count, &before, MPI_LONG, 0, counter, MPI_SUM, window) != MPI_SUCCESS) return -1;
    return MPI_Win_flush(0, window) == MPI_SUCCESS ? before : -1;
}

static int least(int value)
{
    int all = value;
    (void)MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static void close_counters(void)
{
    if (window == MPI_WIN_NULL) return;
    (void)MPI_Win_unlock_all(window);
    (void)MPI_Win_free(&window);
    memory = NULL;
}

const kd_ranks_plugin kardan_ranks = {KD_RANKS_VERSION, open_counters, add, least, close_counters};
