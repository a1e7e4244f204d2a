// ranks.c: see ranks.h.
#define _GNU_SOURCE // dladdr
#include "study/ranks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <kardan/study.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

enum { PATH_SIZE = 4096 };

// ---- the plug-in ----------------------------------------------------------------------------------------------------

// FOLDER of a file, with something behind it
static void beside(const char *file, const char *what, char path[PATH_SIZE])
{
    const char *slash = strrchr(file, '/');
    const int   n = snprintf(path, PATH_SIZE, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, what);
    if (n >= PATH_SIZE) path[0] = '\0';
}

// Beside the program or library that holds this function (a build folder), or where an installation has it
static void *find_plugin(char *message, size_t size)
{
    static const char *const PLACES[] = {"kardan-mpi.so", "kardan/kardan-mpi.so",
                                         "../" KD_LIBDIR "/kardan/kardan-mpi.so"};
    char                     path[PATH_SIZE], self[2][PATH_SIZE] = {"", ""};
    Dl_info                  info;
    const ssize_t            n = readlink("/proc/self/exe", self[0], PATH_SIZE - 1);
    if (n > 0) self[0][n] = '\0';
    // of a program that was called by its name alone this is no path
    void *(*here)(char *, size_t) = find_plugin;
    void *address;
    memcpy(&address, &here, sizeof address);
    if (dladdr(address, &info) && info.dli_fname && strchr(info.dli_fname, '/'))
        kd_text(self[1], PATH_SIZE, "%s", info.dli_fname);
    const char *given = getenv("KARDAN_MPI");
    if (given && given[0]) {
        // MPI looks for symbols of its own parts: all of them see each other
        void *plugin = dlopen(given, RTLD_NOW | RTLD_GLOBAL);
        if (!plugin) kd_text(message, size, "KARDAN_MPI: %s", dlerror());
        return plugin;
    }
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; self[i][0] && j < sizeof PLACES / sizeof *PLACES; j++) {
            beside(self[i], PLACES[j], path);
            if (access(path, R_OK) != 0) continue;
            void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
            if (!plugin) kd_text(message, size, "MPI cannot be loaded: %s", dlerror());
            return plugin;
        }
    kd_text(message, size, "kardan was built without MPI (package libopenmpi-dev)");
    return NULL;
}

static kd_status open_mpi(kd_ranks *r, char *message, size_t size)
{
    void *plugin = find_plugin(message, size);
    if (!plugin) return KD_ERR_UNAVAILABLE;
    r->plugin = dlsym(plugin, "kardan_ranks");
    if (!r->plugin || r->plugin->version != KD_RANKS_VERSION) {
        kd_text(message, size, "kardan-mpi.so belongs to another version of kardan");
        return KD_ERR_UNAVAILABLE;
    }
    return r->plugin->open(&r->rank, &r->size, message, size) == 0 ? KD_OK : KD_ERR_UNAVAILABLE;
}

bool kd_study_has_mpi(char *message, size_t size)
{
    char why[1000];
    return find_plugin(message ? message : why, message ? size : sizeof why) != NULL;
}

// ---- a common folder ------------------------------------------------------------------------------------------------

// Rank and name of a job that several processes belong to, as OpenMPI, MPICH and Slurm tell them
static void find_job(kd_ranks *r)
{
    static const char *const RANK[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    static const char *const SIZE[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    static const char *const NAME[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID"};
    for (int i = 0; i < 3; i++) {
        const char *rank = getenv(RANK[i]), *size = getenv(SIZE[i]), *name = getenv(NAME[i]);
        if (!rank || !size || atoi(size) < 2) continue;
        r->rank = atoi(rank), r->size = atoi(size);
        kd_text(r->job, sizeof r->job, "%.80s", name && name[0] ? name : "job");
        for (char *c = r->job; *c; c++)
            if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", *c)) *c = '-';
        return;
    }
}

// A counter in a file of the job, under a lock
static long take(const kd_ranks *r, long count)
{
    char         path[PATH_SIZE], text[40] = "";
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    kd_text(path, sizeof path, "%s/taken-%s", r->folder, r->job);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return -1;
    long first = -1;
    if (fcntl(file, F_SETLKW, &lock) == 0 && pread(file, text, sizeof text - 1, 0) >= 0) {
        const long now = strtol(text, NULL, 10);
        const int  n = snprintf(text, sizeof text, "%ld\n", now + count);
        if (pwrite(file, text, (size_t)n, 0) == n) first = now;
    }
    (void)close(file); // and the lock
    return first;
}

// ---- both -----------------------------------------------------------------------------------------------------------

kd_status kd_ranks_open(kd_ranks *r, bool mpi, const char *folder, char *message, size_t size)
{
    *r = (kd_ranks){.size = 1, .folder = folder};
    if (mpi) return open_mpi(r, message, size);
    if (folder) find_job(r);
    return KD_OK;
}

long kd_ranks_add(kd_ranks *r, kd_ranks_counter counter, long count)
{
    if (r->plugin) return r->plugin->add((int)counter, count);
    return counter == KD_RANKS_TAKEN ? take(r, count) : 0;
}

int kd_ranks_least(kd_ranks *r, int value)
{
    return r->plugin ? r->plugin->least(value) : value;
}

void kd_ranks_close(kd_ranks *r)
{
    if (r->plugin) r->plugin->close();
    r->plugin = NULL;
}
