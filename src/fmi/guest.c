// guest.c: our side of an FMU at work: its folder, its process, requests and answers with time limits.
//
// The process is a fork of this one, which loads the FMU behind limits of memory and without core files; it ends with its
// socket. Whatever comes from it is as untrusted as its file.
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "fmi/guest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "fmi/guest_impl.h"

enum { MOST_SECONDS_AT_CLOSE = 2 };

typedef struct head {
    uint32_t call, size; // of a request; of an answer: status + 1000, size
    uint32_t text;       // bytes of the message in front of the answer
} head;

struct kd_guest {
    const kd_fmu_file *fmu;
    kd_guest_options   opt;
    char               folder[PATH_MAX];
    kd_served         *served; // in this process
    int                socket; // to its own; -1
    pid_t              pid;
    bool               dead;
    kd_guest_bytes     in, out;
    char               message[KD_GUEST_TEXT + 400];
};

kd_guest_options kd_guest_options_default(void)
{
    return (kd_guest_options){.timeout = 10};
}

const char *kd_guest_message(const kd_guest *g)
{
    return g->message;
}

static kd_status refuse_call(kd_guest *g, kd_status status, const char *what)
{
    if (status < 0) kd_text(g->message, sizeof g->message, "the FMU: %s", *what ? what : kd_status_sentence(status));
    return status;
}

// ---- sockets --------------------------------------------------------------------------------------------------------

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// All bytes within the time; 1 done, 0 the other side has gone, -1 too late. deadline infinite: waits
static int transfer(int socket, void *data, size_t size, bool sends, double deadline)
{
    char *at = data;
    while (size > 0) {
        struct pollfd p = {socket, sends ? POLLOUT : POLLIN, 0};
        const double  left = deadline - now();
        const int     ready = poll(&p, 1, isfinite(deadline) ? (left > 0 ? (int)(1000 * left) + 1 : 0) : -1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return -1;
        if (ready < 0) return 0;
        const ssize_t n = sends ? send(socket, at, size, MSG_NOSIGNAL) : recv(socket, at, size, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return 0;
        at += n;
        size -= (size_t)n;
    }
    return 1;
}

// ---- its process ----------------------------------------------------------------------------------------------------

static void serve_for_ever(int socket)
{
    kd_served *s = kd_served_create();
    for (;;) {
        head           h;
        char           text[KD_GUEST_TEXT] = "";
        kd_guest_bytes in = {0}, out = {0};
        // the head says how much follows; without more of it the other side has gone
        if (!s || transfer(socket, &h, sizeof h, false, HUGE_VAL) != 1 || h.size > KD_GUEST_BYTES) break;
        in.data = kd_alloc((size_t)h.size + 1);
        in.size = in.room = h.size;
        if (!in.data || transfer(socket, in.data, h.size, false, HUGE_VAL) != 1) break;
        // the call, its answer and the words for a failure
        const kd_status status = kd_served_call(s, (kd_guest_call)h.call, &in, &out, text);
        h = (head){(uint32_t)((int)status + 1000), (uint32_t)out.size, (uint32_t)strlen(text)};
        const bool sent = transfer(socket, &h, sizeof h, true, HUGE_VAL) == 1 &&
                          transfer(socket, text, h.text, true, HUGE_VAL) == 1 &&
                          transfer(socket, out.data, out.size, true, HUGE_VAL) == 1;
        kd_free(in.data);
        kd_free(out.data);
        if (!sent) break;
    }
    // its own clean-up is not waited for
    _exit(0);
}

// What its process may take; sanitizers reserve more than there is
static void limit_memory(double bytes)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    (void)bytes;
#else
    const double        least = 128.0 * 1024 * 1024;
    const double        half = 0.5 * (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const rlim_t        most = (rlim_t)fmax(least, bytes > 0 ? bytes : fmax(half, 4 * least));
    const struct rlimit limit = {most, most};
    (void)setrlimit(RLIMIT_DATA, &limit);
#endif
}

static kd_status make_process(kd_guest *g)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return refuse_call(g, KD_ERR_FILE, strerror(errno));
    fflush(NULL);
    g->pid = fork();
    if (g->pid < 0) {
        close(pair[0]);
        close(pair[1]);
        return refuse_call(g, KD_ERR_FILE, strerror(errno));
    }
    if (g->pid == 0) {
        const struct rlimit none = {0, 0};
        close(pair[0]);
        (void)setrlimit(RLIMIT_CORE, &none);
        limit_memory(g->opt.memory);
        // signals of the terminal are for the parent; what it prints goes to standard error
        (void)setpgid(0, 0);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        serve_for_ever(pair[1]);
    }
    (void)setpgid(g->pid, g->pid); // whoever of both comes first
    close(pair[1]);
    g->socket = pair[0];
    return KD_OK;
}

// Its end, with that of processes that it has started. The group lives as long as the zombie that names it
static void bury(kd_guest *g, int *state)
{
    (void)kill(-g->pid, SIGKILL);
    (void)waitpid(g->pid, state, 0);
    g->pid = 0;
}

// Has it ended? It is still to be buried
static bool has_ended(const kd_guest *g)
{
    siginfo_t about = {0};
    return waitid(P_PID, (id_t)g->pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == g->pid;
}

static void wait_until(const kd_guest *g, double deadline)
{
    while (!has_ended(g) && now() < deadline) nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void end_process(kd_guest *g)
{
    if (g->socket >= 0) close(g->socket);
    g->socket = -1;
    if (g->pid <= 0) return;
    // it ends with its socket; what hangs is killed
    wait_until(g, now() + (g->dead ? 0 : MOST_SECONDS_AT_CLOSE));
    bury(g, NULL);
}

// Why it has gone
static kd_status tell_death(kd_guest *g, kd_guest_call call, bool late)
{
    static const char *const WORD[] = {"instantiation",
                                       "setting a value",
                                       "reading a value",
                                       "the start of initialisation",
                                       "the end of initialisation",
                                       "a step",
                                       "its termination",
                                       "reading its states",
                                       "its derivatives",
                                       "the end of a step",
                                       "an event",
                                       "entering event mode",
                                       "saving its state",
                                       "restoring its state",
                                       "its evaluation",
                                       "its directional derivatives"};
    int                      state = 0;
    // late: ended from here; otherwise it ended itself, and its status says how
    g->dead = true;
    if (late) {
        bury(g, NULL);
        kd_text(g->message, sizeof g->message, "the FMU did not come back from %s within %g s and was ended",
                WORD[call], g->opt.timeout);
        return KD_ERR_CONNECTION;
    }
    wait_until(g, now() + MOST_SECONDS_AT_CLOSE);
    bury(g, &state);
    // a signal or a status
    if (WIFSIGNALED(state))
        kd_text(g->message, sizeof g->message, "the FMU crashed in %s (%s)", WORD[call], strsignal(WTERMSIG(state)));
    else
        kd_text(g->message, sizeof g->message, "the FMU ended its process in %s (status %d)", WORD[call],
                WEXITSTATUS(state));
    return KD_ERR_CONNECTION;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

static void new_request(kd_guest *g)
{
    g->in.size = g->in.at = g->out.size = g->out.at = 0;
}

// Request and answer over the socket
static kd_status call_far(kd_guest *g, kd_guest_call call, char *text)
{
    const double deadline = g->opt.timeout > 0 ? now() + g->opt.timeout : HUGE_VAL;
    head         h = {(uint32_t)call, (uint32_t)g->in.size, 0};
    if (g->dead || g->socket < 0) return KD_ERR_CONNECTION;
    // request, then head, words and values of the answer; each waits until the deadline only
    int done = transfer(g->socket, &h, sizeof h, true, deadline);
    if (done == 1) done = transfer(g->socket, g->in.data, g->in.size, true, deadline);
    if (done == 1) done = transfer(g->socket, &h, sizeof h, false, deadline);
    if (done == 1 && (h.size > 2 * (size_t)KD_GUEST_BYTES || h.text >= KD_GUEST_TEXT)) done = 0;
    if (done == 1) done = transfer(g->socket, text, h.text, false, deadline);
    // the buffer for answers grows with the largest one
    if (done == 1) {
        text[h.text] = '\0';
        if (h.size > g->out.room) {
            kd_free(g->out.data);
            g->out.data = kd_alloc((size_t)h.size + 256);
            g->out.room = g->out.data ? (size_t)h.size + 256 : 0;
            if (!g->out.data) return KD_ERR_MEMORY;
        }
        done = transfer(g->socket, g->out.data, h.size, false, deadline);
        g->out.size = h.size;
    }
    if (done != 1) return tell_death(g, call, done < 0);
    const int status = (int)h.call - 1000;
    return (kd_status)status;
}

static kd_status make_call(kd_guest *g, kd_guest_call call)
{
    char            text[KD_GUEST_TEXT] = "";
    const kd_status status =
        g->served ? kd_served_call(g->served, call, &g->in, &g->out, text) : call_far(g, call, text);
    if (status < 0 && !g->dead) return refuse_call(g, status, text);
    return status < 0 ? status : KD_OK;
}

static void put_text(kd_guest_bytes *b, const char *text)
{
    const uint32_t length = (uint32_t)strlen(text);
    kd_bytes_put(b, &length, sizeof length);
    kd_bytes_put(b, text, length);
}

int kd_guest_version(const kd_guest *g)
{
    return g->fmu->about.version;
}

kd_guest_bytes *kd_guest_request(kd_guest *g)
{
    new_request(g);
    return &g->in;
}

kd_guest_bytes *kd_guest_request_again(kd_guest *g)
{
    return &g->in;
}

kd_guest_bytes *kd_guest_answer(kd_guest *g)
{
    return &g->out;
}

kd_status kd_guest_call_now(kd_guest *g, kd_guest_call call)
{
    return make_call(g, call);
}

kd_status kd_guest_refuse(kd_guest *g, kd_status status, const char *why)
{
    return refuse_call(g, status, why);
}

// ---- life -----------------------------------------------------------------------------------------------------------

static void remove_folder(const char *path)
{
    DIR *list = opendir(path);
    for (struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
        char        inner[PATH_MAX];
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) >= (int)sizeof inner) continue;
        if (lstat(inner, &about) == 0 && S_ISDIR(about.st_mode))
            remove_folder(inner);
        else
            (void)unlink(inner);
    }
    if (list) closedir(list);
    (void)rmdir(path);
}

static kd_status unpack(kd_guest *g)
{
    // a binary for this machine must be there, of the kind that is wanted
    const char *temporary = getenv("TMPDIR");
    char        why[600], name[600], path[PATH_MAX + 20];
    if (!kd_fmu_file_binary(g->fmu, g->opt.exchange, name, sizeof name)) {
        const bool none =
            !(g->opt.exchange ? g->fmu->about.exchange.identifier : g->fmu->about.cosimulation.identifier);
        return refuse_call(g, KD_ERR_UNSUPPORTED,
                           none ? (g->opt.exchange ? "it has no model exchange" : "it has no co-simulation")
                                : "it has no binary for this machine");
    }
    // everything goes into a folder of its own, which is removed at the end
    if (snprintf(path, sizeof path, "%s/kardan-guest-XXXXXX", temporary && *temporary ? temporary : "/tmp") >= PATH_MAX)
        return refuse_call(g, KD_ERR_FILE, "the folder of temporary files has too long a name");
    kd_text(g->folder, sizeof g->folder, "%s", path);
    if (!mkdtemp(g->folder)) {
        g->folder[0] = '\0';
        return refuse_call(g, KD_ERR_FILE, strerror(errno));
    }
    const kd_status status = kd_zip_unpack_all(g->fmu->zip, g->folder, why, sizeof why);
    if (status < 0) return refuse_call(g, status, why);
    // FMUs may expect their folder of resources even where it is empty
    kd_text(path, sizeof path, "%s/resources", g->folder);
    (void)mkdir(path, 0700);
    return KD_OK;
}

static kd_status instantiate(kd_guest *g)
{
    char          name[600], path[PATH_MAX + 700];
    const uint8_t start[2] = {g->opt.exchange, (uint8_t)g->fmu->about.version};
    new_request(g);
    kd_bytes_put(&g->in, start, sizeof start);
    kd_text(path, sizeof path, "%s/%s", g->folder, kd_fmu_file_binary(g->fmu, g->opt.exchange, name, sizeof name));
    put_text(&g->in, path);
    put_text(&g->in, g->fmu->about.token);
    kd_text(path, sizeof path, "%s/resources", g->folder);
    put_text(&g->in, path);
    return make_call(g, KD_CALL_OPEN);
}

kd_status kd_guest_open(const kd_fmu_file *fmu, const kd_guest_options *opt, kd_guest **guest, char *message,
                        size_t size)
{
    *guest = NULL;
    kd_guest *g = kd_alloc(sizeof *g);
    if (!g) return KD_ERR_MEMORY;
    g->fmu = fmu;
    g->opt = *opt;
    g->socket = -1;
    // files first, then a process for them, or this one
    kd_status status = unpack(g);
    if (status >= 0 && opt->in_process) {
        g->served = kd_served_create();
        status = g->served ? KD_OK : KD_ERR_MEMORY;
    } else if (status >= 0) {
        status = make_process(g);
    }
    // what failed so far has its sentence in g
    if (status >= 0) status = instantiate(g);
    if (status < 0) {
        kd_text(message, size, "%s", g->message[0] ? g->message : kd_status_sentence(status));
        kd_guest_close(g);
    } else {
        *guest = g;
    }
    return status;
}

void kd_guest_close(kd_guest *g)
{
    if (!g) return;
    kd_served_destroy(g->served);
    end_process(g);
    if (g->folder[0]) remove_folder(g->folder);
    kd_free(g->in.data);
    kd_free(g->out.data);
    kd_free(g);
}

kd_status kd_guest_begin(kd_guest *g, double t_start, double t_stop, double tolerance)
{
    const double in[3] = {t_start, t_stop, tolerance};
    new_request(g);
    kd_bytes_put(&g->in, in, sizeof in);
    return make_call(g, KD_CALL_BEGIN);
}

kd_status kd_guest_finish(kd_guest *g)
{
    new_request(g);
    return make_call(g, KD_CALL_FINISH);
}

kd_status kd_guest_end(kd_guest *g)
{
    new_request(g);
    return make_call(g, KD_CALL_END);
}

static kd_status get_doubles(kd_guest *g, double *x, size_t n)
{
    if (kd_bytes_get(&g->out, x, n * sizeof *x)) return KD_OK;
    return refuse_call(g, KD_ERR_CONNECTION, "its answer is too short");
}

kd_status kd_guest_step(kd_guest *g, double t, double h, double *reached, bool *stop)
{
    const double in[2] = {t, h};
    double       out[2];
    new_request(g);
    kd_bytes_put(&g->in, in, sizeof in);
    kd_status status = make_call(g, KD_CALL_STEP);
    if (status >= 0) status = get_doubles(g, out, 2);
    if (status < 0) return status;
    *reached = out[0];
    *stop = out[1] != 0;
    return isfinite(out[0]) ? KD_OK : refuse_call(g, KD_ERR_NOT_FINITE, "the time that it has reached is no number");
}

// ---- model exchange -------------------------------------------------------------------------------------------------

int kd_guest_states(const kd_guest *g)
{
    return g->fmu->about.nstates;
}

int kd_guest_indicators(const kd_guest *g)
{
    return g->fmu->about.nindicators;
}

// Numbers that are none end the run here, where it is known who made them
static kd_status check_finite(kd_guest *g, const double *x, int n, const char *what)
{
    char text[100];
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) {
            kd_text(text, sizeof text, "%s %d is no finite number", what, i + 1);
            return refuse_call(g, KD_ERR_NOT_FINITE, text);
        }
    return KD_OK;
}

kd_status kd_guest_get_states(kd_guest *g, double *x)
{
    const uint32_t n = (uint32_t)kd_guest_states(g);
    if (n == 0) return KD_OK;
    new_request(g);
    kd_bytes_put(&g->in, &n, sizeof n);
    kd_status status = make_call(g, KD_CALL_STATES);
    if (status >= 0) status = get_doubles(g, x, n);
    return status < 0 ? status : check_finite(g, x, (int)n, "state");
}

kd_status kd_guest_rates(kd_guest *g, double t, const double *x, double *dx, double *z)
{
    const uint32_t size[2] = {(uint32_t)kd_guest_states(g), z ? (uint32_t)kd_guest_indicators(g) : 0};
    new_request(g);
    kd_bytes_put(&g->in, &t, sizeof t);
    kd_bytes_put(&g->in, size, sizeof size);
    kd_bytes_put(&g->in, x, size[0] * sizeof *x);
    kd_status status = make_call(g, KD_CALL_RATES);
    if (status >= 0) status = get_doubles(g, dx, size[0]);
    if (status >= 0 && z) status = get_doubles(g, z, size[1]);
    if (status >= 0) status = check_finite(g, dx, (int)size[0], "derivative");
    return status < 0 || !z ? status : check_finite(g, z, (int)size[1], "event indicator");
}

// t, counts, then numbers and references in the order in which the other side reads them
static void put_point(kd_guest *g, const kd_guest_point *at, int nz)
{
    const uint32_t size[4] = {(uint32_t)kd_guest_states(g), (uint32_t)nz, (uint32_t)at->nu, (uint32_t)at->ny};
    new_request(g);
    kd_bytes_put(&g->in, &at->t, sizeof at->t);
    kd_bytes_put(&g->in, size, sizeof size);
    kd_bytes_put(&g->in, at->x, size[0] * sizeof *at->x);
    kd_bytes_put(&g->in, at->u_reference, size[2] * sizeof *at->u_reference);
    kd_bytes_put(&g->in, at->u, size[2] * sizeof *at->u);
    kd_bytes_put(&g->in, at->y_reference, size[3] * sizeof *at->y_reference);
}

kd_status kd_guest_evaluate(kd_guest *g, const kd_guest_point *at, double *dx, double *z, double *y)
{
    const int nx = kd_guest_states(g), nz = kd_guest_indicators(g);
    put_point(g, at, nz);
    kd_status status = make_call(g, KD_CALL_EVALUATE);
    if (status >= 0) status = get_doubles(g, dx, (size_t)nx);
    if (status >= 0) status = get_doubles(g, z, (size_t)nz);
    if (status >= 0) status = get_doubles(g, y, (size_t)at->ny);
    if (status >= 0) status = check_finite(g, dx, nx, "derivative");
    if (status >= 0) status = check_finite(g, z, nz, "event indicator");
    return status < 0 ? status : check_finite(g, y, at->ny, "output");
}

kd_status kd_guest_slopes(kd_guest *g, const kd_guest_point *at, const uint32_t *x_reference,
                          const uint32_t *dx_reference, double *J)
{
    const int     nx = kd_guest_states(g), n = (nx + at->ny) * (nx + at->nu);
    const uint8_t differences = !x_reference;
    put_point(g, at, 0);
    kd_bytes_put(&g->in, &differences, sizeof differences);
    if (!differences) {
        kd_bytes_put(&g->in, x_reference, (size_t)nx * sizeof *x_reference);
        kd_bytes_put(&g->in, dx_reference, (size_t)nx * sizeof *dx_reference);
    }
    kd_status status = make_call(g, KD_CALL_SLOPES);
    if (status >= 0) status = get_doubles(g, J, (size_t)n);
    return status < 0 ? status : check_finite(g, J, n, "derivative of an output or rate, number");
}

kd_status kd_guest_completed(kd_guest *g, bool *event, bool *stop)
{
    double out[2];
    new_request(g);
    kd_status status = make_call(g, KD_CALL_COMPLETED);
    if (status >= 0) status = get_doubles(g, out, 2);
    *event = status >= 0 && out[0] != 0;
    *stop = status >= 0 && out[1] != 0;
    return status;
}

kd_status kd_guest_update(kd_guest *g, bool enter, kd_guest_event *event)
{
    const uint8_t in = enter;
    double        out[3];
    new_request(g);
    kd_bytes_put(&g->in, &in, 1);
    kd_status status = make_call(g, KD_CALL_UPDATE);
    if (status >= 0) status = get_doubles(g, out, 3);
    if (status >= 0) *event = (kd_guest_event){out[0] != 0, out[1] != 0, isnan(out[2]) ? HUGE_VAL : out[2]};
    return status;
}

kd_status kd_guest_enter(kd_guest *g)
{
    new_request(g);
    return make_call(g, KD_CALL_ENTER);
}

// ---- saved ----------------------------------------------------------------------------------------------------------

bool kd_guest_saves(const kd_guest *g)
{
    return (g->opt.exchange ? g->fmu->about.exchange : g->fmu->about.cosimulation).saves;
}

static kd_status call_slot(kd_guest *g, kd_guest_call call, int slot)
{
    const uint32_t number = (uint32_t)slot;
    new_request(g);
    kd_bytes_put(&g->in, &number, sizeof number);
    return make_call(g, call);
}

kd_status kd_guest_save(kd_guest *g, int slot)
{
    return call_slot(g, KD_CALL_SAVE, slot);
}

kd_status kd_guest_restore(kd_guest *g, int slot)
{
    return call_slot(g, KD_CALL_RESTORE, slot);
}
