// browser.c: Chromium as a child process with --remote-debugging-pipe: it reads commands from its file 3, answers on 4.
#define _XOPEN_SOURCE 700
#include "cli/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/text.h"

enum { PATIENCE = 60000, MOST_BYTES = 400000000 }; // ms for one answer; bytes of one

static const char *const PROGRAMS[] = {"chromium", "chromium-browser", "google-chrome"};

// one browser, one page
struct kd_browser {
    pid_t  child;
    int    to, from; // pipes
    int    number;   // of the last command
    char   session[100];
    char   profile[64];
    char  *text;                 // the last answer, then what has come and was not looked at yet
    size_t answer, length, room; // bytes of the answer with the zero behind it, of all, of the buffer
};

// ---- messages -------------------------------------------------------------------------------------------------------
static bool send_all(int to, const char *text, size_t length)
{
    // a pipe may take less than it is given, and signals interrupt
    while (length > 0) {
        const ssize_t n = write(to, text, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

static bool make_room(kd_browser *b, size_t more)
{
    // twice what is needed: pictures come in many pieces
    if (b->length + more < b->room) return true;
    const size_t room = 2 * (b->length + more);
    char        *larger = room > MOST_BYTES ? NULL : realloc(b->text, room);
    if (!larger) return false;
    b->text = larger;
    b->room = room;
    return true;
}

// More bytes from the browser; false: it is gone, silent or says too much
static bool receive(kd_browser *b)
{
    // at most PATIENCE without a byte
    struct pollfd wait = {.fd = b->from, .events = POLLIN};
    int           ready;
    do ready = poll(&wait, 1, PATIENCE);
    while (ready < 0 && errno == EINTR && !kd_cli_is_interrupted());
    if (ready <= 0 || !make_room(b, 1 << 16)) return false;
    const ssize_t n = read(b->from, b->text + b->length, 1 << 16);
    if (n <= 0) return false;
    b->length += (size_t)n;
    return true;
}

// The next message without the zero byte behind it at the beginning of b->text; *used: its length with that byte
static bool next_message(kd_browser *b, size_t *used)
{
    size_t looked = 0;
    for (;;) {
        // messages end with a zero byte
        const char *end = b->length > looked ? memchr(b->text + looked, '\0', b->length - looked) : NULL;
        if (end) {
            *used = (size_t)(end - b->text) + 1;
            return true;
        }
        looked = b->length;
        if (!receive(b)) return false;
    }
}

static void drop(kd_browser *b, size_t used)
{
    memmove(b->text, b->text + used, b->length - used);
    b->length -= used;
}

// Text as it stands inside the quotes of JSON; false: too long
static bool quoted(const char *text, char *out, size_t size)
{
    // quotes, backslashes and control characters as \u00xx
    size_t n = 0;
    for (; *text; text++) {
        if (n + 8 > size) return false;
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c < 0x20)
            n += (size_t)snprintf(out + n, size - n, "\\u%04x", c);
        else
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return true;
}

// A command and its answer, which stays at the beginning of b->text; events in between are passed over
static bool command(kd_browser *b, const char *method, const char *parameters, char *message, size_t size)
{
    char      text[6000], mark[40];
    const int n =
        snprintf(text, sizeof text, "{\"id\":%d,\"method\":\"%s\",\"params\":{%s}%s%s%s}", ++b->number, method,
                 parameters, b->session[0] ? ",\"sessionId\":\"" : "", b->session, b->session[0] ? "\"" : "");
    snprintf(mark, sizeof mark, "{\"id\":%d,", b->number);
    // the last answer is no longer needed
    drop(b, b->answer);
    b->answer = 0;
    if (n < 0 || (size_t)n >= sizeof text || !send_all(b->to, text, (size_t)n + 1)) goto lost;
    // the answer has the number of the command
    for (size_t used; next_message(b, &used); drop(b, used)) {
        if (strncmp(b->text, mark, strlen(mark)) != 0) continue;
        b->answer = used;
        if (strncmp(b->text + strlen(mark), "\"error\"", 7) != 0) return true;
        kd_text(message, size, "the browser refuses %s: %.200s", method, b->text + strlen(mark));
        return false;
    }
lost:
    kd_text(message, size, "the browser ended, or did not answer for %d s", PATIENCE / 1000);
    return false;
}

// The text member of the answer, cut out in place and with its escapes undone; NULL: there is none
static char *member(char *answer, const char *key)
{
    char *at = strstr(answer, key), *out;
    if (!at) return NULL;
    at += strlen(key);
    char *start = out = at;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) at++; // what is asked for has quotes and slashes at the most
        *out++ = *at;
    }
    *out = '\0';
    return start;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------
static void run_browser(const int in[2], const int out[2], const char *profile, int width, int height)
{
    // the child behind fork: it becomes the browser, or ends with 127
    char folder[100], window[60];
    // it reads from 3 and writes to 4; copies first, because the ends may have these numbers
    const int from = fcntl(in[0], F_DUPFD, 10), to = fcntl(out[1], F_DUPFD, 10);
    if (from < 0 || to < 0 || dup2(from, 3) < 0 || dup2(to, 4) < 0) _exit(127);
    // nothing else of ours stays open in the browser
    for (int i = 5; i < 64; i++) close(i);
    if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(127);
    snprintf(folder, sizeof folder, "--user-data-dir=%s", profile);
    snprintf(window, sizeof window, "--window-size=%d,%d", width, height);
    // the first of the names that is there; exec does not come back. WebGL by software, but not the page around it: that is much slower
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++)
        execlp(PROGRAMS[i], PROGRAMS[i], "--headless=new", "--remote-debugging-pipe", "--use-angle=swiftshader",
               "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-gpu-rasterization",
               "--disable-gpu-compositing", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
               "--disable-background-networking", "--disable-component-update", folder, window,
               geteuid() == 0 ? "--no-sandbox" : "--disable-sync", "about:blank", (char *)NULL);
    _exit(127);
}

// looked for before fork, so that the message can say what to install
static bool is_installed(void)
{
    const char *path = getenv("PATH");
    char        file[600];
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++) {
            snprintf(file, sizeof file, "%.*s/%s", (int)n, path, PROGRAMS[i]);
            if (access(file, X_OK) == 0) return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

// A tab of its own, and the session that commands to it belong to
static bool attach(kd_browser *b, char *message, size_t size)
{
    char parameters[300], target[100];
    // a tab, then the session in which it is talked to
    if (!command(b, "Target.createTarget", "\"url\":\"about:blank\"", message, size)) return false;
    const char *id = member(b->text, "\"targetId\":\"");
    snprintf(target, sizeof target, "%s", id ? id : "");
    snprintf(parameters, sizeof parameters, "\"targetId\":\"%s\",\"flatten\":true", target);
    if (!command(b, "Target.attachToTarget", parameters, message, size)) return false;
    const char *session = member(b->text, "\"sessionId\":\"");
    snprintf(b->session, sizeof b->session, "%s", session ? session : "");
    return b->session[0] != '\0';
}

kd_status kd_browser_open(int width, int height, kd_browser **browser, char *message, size_t size)
{
    int in[2], out[2];
    *browser = NULL;
    if (!is_installed()) {
        kd_text(message, size, "pictures of the 3-D view need a browser: package chromium");
        return KD_ERR_UNAVAILABLE;
    }
    kd_browser *b = calloc(1, sizeof *b);
    if (!b) return KD_ERR_MEMORY;
    snprintf(b->profile, sizeof b->profile, "/tmp/kardan-browser-XXXXXX");
    signal(SIGPIPE, SIG_IGN); // a browser that has ended is told by the write
    // a profile of its own: the user's is not touched
    if (!mkdtemp(b->profile)) goto failed;
    if (pipe(in) != 0) goto failed_with_folder;
    if (pipe(out) != 0) {
        const int why = errno;
        close(in[0]);
        close(in[1]);
        errno = why;
        goto failed_with_folder;
    }
    // our ends of both pipes stay open, those of the child are closed
    b->child = fork();
    if (b->child == 0) run_browser(in, out, b->profile, width, height);
    close(in[0]);
    close(out[1]);
    b->to = in[1];
    b->from = out[0];
    *browser = b;
    // it runs when it answers
    if (b->child > 0 && attach(b, message, size)) return KD_OK;
    kd_browser_close(b);
    *browser = NULL;
    return KD_ERR_FILE;
failed_with_folder:
    kd_text(message, size, "the browser could not be started: %s", strerror(errno));
    (void)rmdir(b->profile); // empty yet
    free(b);
    return KD_ERR_FILE;
failed:
    kd_text(message, size, "the browser could not be started: %s", strerror(errno));
    free(b);
    return KD_ERR_FILE;
}

// for nftw: contents first, then the folder
static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

void kd_browser_close(kd_browser *b)
{
    if (!b) return;
    close(b->to); // it ends when nobody can talk to it
    close(b->from);
    if (b->child > 0) {
        kill(b->child, SIGTERM);
        while (waitpid(b->child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    nftw(b->profile, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(b->text);
    free(b);
}

// ---- pages ----------------------------------------------------------------------------------------------------------
const char *kd_browser_ask(kd_browser *b, const char *expression, char *message, size_t size)
{
    char words[3000], parameters[3200];
    if (!quoted(expression, words, sizeof words)) {
        kd_text(message, size, "a question to the browser is too long");
        return NULL;
    }
    // waits for a promise, and wants the value itself
    snprintf(parameters, sizeof parameters, "\"expression\":\"%s\",\"awaitPromise\":true,\"returnByValue\":true",
             words);
    if (!command(b, "Runtime.evaluate", parameters, message, size)) return NULL;
    // an exception of the page's script
    if (strstr(b->text, "\"exceptionDetails\"")) {
        const char *why = member(b->text, "\"description\":\"");
        kd_text(message, size, "the page failed: %.200s", why ? why : "no reason given");
        return NULL;
    }
    const char *value = member(b->text, "\"value\":\"");
    if (!value) kd_text(message, size, "the page gave no answer");
    return value;
}

kd_status kd_browser_show(kd_browser *b, const char *url, const char *ready, double seconds, char *message, size_t size)
{
    char words[2000], parameters[2100];
    if (!quoted(url, words, sizeof words)) {
        kd_text(message, size, "the name of the page is too long");
        return KD_ERR_FILE;
    }
    snprintf(parameters, sizeof parameters, "\"url\":\"%s\"", words);
    if (!command(b, "Page.navigate", parameters, message, size)) return KD_ERR_FILE;
    // pages with a 3-D view take their time to begin
    for (const double end = kd_cli_seconds() + seconds; kd_cli_seconds() < end && !kd_cli_is_interrupted();) {
        // asked again and again until the page says yes, or no
        const struct timespec pause = {.tv_nsec = 20000000};
        const char           *answer = kd_browser_ask(b, ready, message, size);
        if (answer && strcmp(answer, "yes") == 0) return KD_OK;
        if (answer && strcmp(answer, "no") == 0) break;
        nanosleep(&pause, NULL);
    }
    kd_text(message, size,
            "the page has no 3-D view: it was written with --plain, by another kardan, or without a drawing");
    return KD_ERR_FILE;
}
