// view.c: kardan view: a model that runs along with the clock, in a page of a browser on this machine.  Guide:
// docs/guide/live.md
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/live.h"
#include "cli/serve.h"
#include "core/text.h"
#include "report/report.h"
#include "report/viewer.h"
#include "results/file.h"

enum { SCENE, FAULT, NOTE, CERTIFICATE, FRAME, MESSAGE_SIZE = 20000 }; // kinds of messages, in the order of sending
enum { MOST_FILES = 64 };                                              // that a model is put together from

static const double TICK = 1.0 / 60;   // [s]
static const double BUDGET = 0.03;     // [s] of computing in a tick: what comes from pages does not wait longer
static const double LOOK = 0.1;        // [s] between looks at the file
static const double CERTIFY = 0.5;     // [s] between certificates
static const double QUIET_FILE = 0.05; // [s] that a file must be unchanged before it is read: editors write in pieces

typedef struct watched_file { // as it was when it was read last
    char            path[PATH_MAX];
    struct timespec time;
    off_t           size;
    ino_t           number;
} watched_file;

// one view: the model that runs, its pages, its file
typedef struct task {
    kd_subject_request request;
    const char        *folder;
    bool               no_browser, paused, realtime;
    double             stay, step;
    kd_server         *server;
    kd_live           *live;
    unsigned           generation;
    double             now, file_looked, certified, alone_since;
    watched_file       file[MOST_FILES]; // the model's own, then those of its subsystems and includes
    int                nfiles;
    double             file_changed; // clock; 0: as they were read
    bool               visited, failed;
    char               message[MESSAGE_SIZE];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    const kd_cli_option own[] = {
        {"--no-browser", NULL, "do not open a browser; the address is printed in any case", KD_CLI_FLAG,
         &t->no_browser},
        {"--paused", NULL, "wait at the start until somebody presses play", KD_CLI_FLAG, &t->paused},
        {"--realtime", NULL, "by the stepper of kardan realtime: fixed work for each picture, no certificate",
         KD_CLI_FLAG, &t->realtime},
        {"--step", "H", "its step [s]; default: 1e-3", KD_CLI_POSITIVE, &t->step},
        {"--output", "DIR", "folder for states that are saved; default: results", KD_CLI_TEXT, &t->folder},
        {"--stay", "S", "end so long after the last page was closed [s]; default 10", KD_CLI_NUMBER, &t->stay},
    };
    kd_cli_option options[sizeof own / sizeof *own + KD_SUBJECT_OPTIONS];
    int           count = sizeof own / sizeof *own;
    memcpy(options, own, sizeof own);
    count += kd_subject_options(&t->request, options + count);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan view MODEL [OPTION...]",
             .about = "Run a model file along with the clock in a page of a browser on this machine: sliders for its "
                           "parameters and\n"
                           "inputs, bodies to pull with the mouse (alt and drag), pause, single steps, the certificate beside "
                           "it. When the\n"
                           "file changes it is read again; when it is wrong, the page says where. Ends ten seconds after the "
                           "last page was\n"
                           "closed, or by Ctrl-C. Nobody but this machine reaches the page, and nobody without its address.",
             .details = "Examples:\n"
                             "  kardan view models/stewart.yaml\n"
                             "  kardan view models/hmmwv.yaml --no-browser --set speed=20\n"
                             "  kardan view models/hmmwv.yaml --realtime --step 2e-3\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- the page -------------------------------------------------------------------------------------------------------

// the viewer with nothing in it: the model comes by the line
static kd_status make_page(task *t)
{
    size_t               script_size, size = 0;
    const unsigned char *script = kd_viewer_bytes(&script_size);
    char                *html = NULL, policy[600];
    FILE                *file = open_memstream(&html, &size);
    if (!file) return KD_ERR_MEMORY;
    fprintf(
        file,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n<title>kardan</title>\n"
        "<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1></h1>\n<section class=\"card\" data-kardan-viewer "
        "data-live></section>\n</main>\n<script>",
        kd_report_style());
    fwrite(script, 1, script_size, file);
    fputs("</script>\n</body>\n</html>\n", file);
    kd_status status = fclose(file) == 0 ? KD_OK : KD_ERR_MEMORY;
    // no other script, no other line than to this port
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src %s; style-src 'unsafe-inline'; img-src data: blob:; connect-src "
             "ws://127.0.0.1:%d ws://localhost:%d; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             kd_viewer_policy(), kd_server_port(t->server), kd_server_port(t->server));
    if (status == KD_OK) status = kd_server_set_page(t->server, html, size, policy);
    free(html);
    return status;
}

// A text that was made for the pages
static void tell_page(task *t, int kind, char *text, size_t length)
{
    if (!text || kd_server_say(t->server, kind, text, length, false) < 0) t->failed = true;
    free(text);
}

static void tell_words(task *t, int kind, const char *word, const char *words)
{
    size_t length = 0;
    char  *text = kd_live_words(word, words, &length);
    tell_page(t, kind, text, length);
}

// numbers of the present state; nothing while it stands still for good
static void tell_frame(task *t)
{
    size_t        count = 0;
    const double *frame = kd_live_frame(t->live, t->generation, &count);
    if (frame && kd_server_say(t->server, FRAME, frame, count * sizeof *frame, true) < 0) t->failed = true;
}

// frames carry the number of the scene that they fit
static void tell_scene(task *t)
{
    size_t length = 0;
    char  *text = kd_live_scene(t->live, t->generation + 1, &length);
    if (!text) return; // it stands still, and has said why
    t->generation++;
    tell_page(t, SCENE, text, length);
    tell_frame(t);
}

static void tell_certificate(task *t)
{
    size_t length = 0;
    char  *text = kd_live_certificate(t->live, &length);
    if (text) tell_page(t, CERTIFICATE, text, length);
}

static void tell_note(task *t)
{
    bool        is_fault;
    const char *note = kd_live_note(t->live, &is_fault);
    if (note[0]) tell_words(t, is_fault ? FAULT : NOTE, is_fault ? "fault" : "note", note);
}

// ---- the file -------------------------------------------------------------------------------------------------------

// by time, size and inode: editors write anew or rename. true: it is another one than before
static bool note_file(watched_file *f)
{
    struct stat s;
    if (stat(f->path, &s) != 0) return false;
    const bool same = s.st_mtim.tv_sec == f->time.tv_sec && s.st_mtim.tv_nsec == f->time.tv_nsec &&
                      s.st_size == f->size && s.st_ino == f->number;
    f->time = s.st_mtim;
    f->size = s.st_size;
    f->number = s.st_ino;
    return !same;
}

static bool note_files(task *t)
{
    bool changed = false;
    for (int i = 0; i < t->nfiles; i++) changed = note_file(&t->file[i]) || changed;
    return changed;
}

// One more to be looked at, unless it is already
static void watch_file(task *t, const char *path)
{
    for (int i = 0; i < t->nfiles; i++)
        if (strcmp(t->file[i].path, path) == 0) return;
    if (t->nfiles == MOST_FILES || strlen(path) >= sizeof t->file->path) return;
    snprintf(t->file[t->nfiles].path, sizeof t->file->path, "%s", path);
    (void)note_file(&t->file[t->nfiles++]);
}

// Files of subsystems and includes, which the model that runs now was put together from
static void watch_parts(task *t)
{
    const char *file[MOST_FILES];
    const int   n = kd_live_files(t->live, file, MOST_FILES);
    for (int i = 0; i < n; i++) watch_file(t, file[i]);
}

// The file as it is now takes the place of what runs; a wrong one is told of, and the old one goes on
static void reload(task *t)
{
    kd_live        *fresh;
    const kd_status status =
        kd_live_open(&t->request, t->folder, t->realtime ? t->step : 0, &fresh, t->message, sizeof t->message);
    if (status < 0) {
        tell_words(t, FAULT, "fault", t->message);
        return;
    }
    kd_live_go_on_as(fresh, t->live);
    kd_live_close(t->live);
    t->live = fresh;
    watch_parts(t);
    tell_words(t, FAULT, "fault", "");
    tell_scene(t);
    tell_certificate(t);
}

static void look_at_file(task *t)
{
    // a file that changes is looked at more often
    if (t->now - t->file_looked < (t->file_changed > 0 ? QUIET_FILE : LOOK)) return;
    t->file_looked = t->now;
    if (note_files(t)) {
        t->file_changed = t->now; // wait until it is whole
    } else if (t->file_changed > 0) {
        t->file_changed = 0;
        reload(t);
    }
}

// ---- what happens ---------------------------------------------------------------------------------------------------

// a word of a page: done at once, and told to all pages
static void hear(const char *bytes, size_t size, void *context)
{
    task           *t = context;
    kd_live_message message;
    if (!t->live || !kd_live_message_read(bytes, size, &message)) return;
    kd_live_obey(t->live, &message);
    tell_note(t);
    if (kd_live_is_changed(t->live))
        tell_scene(t);
    else
        tell_frame(t);
}

// time of the clock since the last tick, as far as there is computing time
static void tick(void *context)
{
    task        *t = context;
    const double before = t->now;
    if (!t->live || !t->server) return;
    t->now = kd_cli_seconds();
    if (kd_live_advance(t->live, t->now - before, BUDGET)) {
        tell_note(t);
        tell_frame(t);
        if (t->now - t->certified > CERTIFY) {
            t->certified = t->now;
            tell_certificate(t);
        }
    }
    look_at_file(t);
    // it waits for its first page as long as it takes
    if (kd_server_pages(t->server) > 0) {
        t->visited = true;
        t->alone_since = t->now;
    }
}

// The browser of the desktop, in a process that nobody waits for
static void open_browser(const char *address)
{
    (void)signal(SIGCHLD, SIG_IGN);
    if (fork() != 0) return;
    const int nowhere = open("/dev/null", O_RDWR);
    if (nowhere >= 0) (void)(dup2(nowhere, 0) + dup2(nowhere, 1) + dup2(nowhere, 2));
    execlp("xdg-open", "xdg-open", address, (char *)NULL);
    _exit(127);
}

static int serve(task *t)
{
    if (make_page(t) < 0) {
        fputs("kardan: no memory for the page\n", stderr);
        return KD_EXIT_FAILED;
    }
    // pages that come later get the last messages: they are said before
    tell_scene(t);
    tell_certificate(t);
    kd_cli_watch_signals();
    printf("%s\n", kd_server_address(t->server));
    fflush(stdout);
    if (!t->no_browser) open_browser(kd_server_address(t->server));
    t->now = kd_cli_seconds();
    // until Ctrl-C, or some time after the last page has gone
    while (!kd_cli_is_interrupted() && !t->failed) {
        if (!kd_server_serve(t->server)) break;
        if (t->visited && t->now - t->alone_since > t->stay) return KD_EXIT_OK;
    }
    if (kd_cli_is_interrupted()) return KD_EXIT_OK;
    fputs("kardan: the page cannot be served any longer\n", stderr);
    return KD_EXIT_FAILED;
}

int kd_cli_view(int argc, char **argv)
{
    static task t; // of this one command; large
    t = (task){.folder = "results", .stay = 10, .step = 1e-3};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (!kd_viewer_is_built()) {
        fputs("kardan: this kardan was built without its viewer (make viewer), so that there is nothing to see\n",
              stderr);
        return KD_EXIT_FAILED;
    }
    // noted before it is read: a change in between is seen
    watch_file(&t, t.request.word);
    int       exit_status = KD_EXIT_FAILED;
    kd_status status =
        kd_live_open(&t.request, t.folder, t.realtime ? t.step : 0, &t.live, t.message, sizeof t.message);
    if (status < 0) return KD_EXIT_FAILED;
    watch_parts(&t);
    const kd_live_message    go = {.word = t.paused ? KD_LIVE_PAUSE : KD_LIVE_RUN};
    const kd_server_listener listener = {hear, tick, TICK, &t};
    kd_live_obey(t.live, &go);
    status = kd_server_open(&listener, &t.server, t.message, sizeof t.message);
    if (status < 0)
        fprintf(stderr, "kardan: %s\n", t.message);
    else
        exit_status = serve(&t);
    kd_server_close(t.server);
    kd_live_close(t.live);
    return exit_status;
}
