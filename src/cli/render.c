// render.c: kardan render: the 3-D view of a run as a picture or a film, by the browser that would show it.
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/cli.h"
#include "core/load.h"
#include "core/memory.h"
#include "core/text.h"
#include "report/viewer.h"
#include "results/file.h"

enum { MOST_FRAMES = 20000, LARGEST_SVG = 1 << 26 };
static const char FINE[] = "#fine"; // the viewer spares no pixel

// one picture or film
typedef struct task {
    const char *subject, *output, *view, *size;
    kd_cli_list settings;
    double      at, from, to, speed, rate, t_end;
    int         width, height;
    char        folder[64], page[PATH_MAX];
    char        message[1000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    const kd_cli_option options[] = {
        {"--output", "FILE", "picture (.png, .svg) or film (.mp4, .webm) to write; without it picture.png", KD_CLI_TEXT,
         &t->output},
        {"--at", "T", "instant of a picture [s]; without it the end", KD_CLI_NUMBER, &t->at},
        {"--from", "T", "first instant of a film [s]; without it the start", KD_CLI_NUMBER, &t->from},
        {"--to", "T", "last instant of a film [s]; without it the end", KD_CLI_NUMBER, &t->to},
        {"--speed", "X", "seconds of the motion for each second of the film; default 1", KD_CLI_POSITIVE, &t->speed},
        {"--rate", "N", "pictures in each second of a film; default 30", KD_CLI_POSITIVE, &t->rate},
        {"--view", "V", "default, front, side or top", KD_CLI_TEXT, &t->view},
        {"--size", "WxH", "in pixels; default 1280x720", KD_CLI_TEXT, &t->size},
        {"--set", "NAME=VALUE", "parameter of a model file; may be given several times", KD_CLI_LIST, &t->settings},
        {"--t-end", "T", "end of the simulation of a model file [s]", KD_CLI_POSITIVE, &t->t_end},
    };
    static const char *const names[] = {"SUBJECT"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan render MODEL|REPORT.html [OPTION...]",
             .about =
                 "Simulate a model file, or take the report of a run, and write its 3-D view as a picture or a film. Needs\n"
                      "Chromium (package chromium), and for films ffmpeg (package ffmpeg); a picture as .svg needs neither.",
             .details = "Examples:\n"
                             "  kardan render models/stewart.yaml --at 1.2 --output stewart.png\n"
                             "  kardan render results/truck.html --output truck.mp4 --view side --speed 0.5\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &t->subject,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool check_words(task *t)
{
    static const char *const views[] = {"default", "front", "side", "top"};
    // words before the browser is started
    if (kd_cli_choose("view", t->view, views, 4) < 0) return false;
    int used = 0;
    if (sscanf(t->size, "%dx%d%n", &t->width, &t->height, &used) != 2 || t->size[used] || t->width < 64 ||
        t->height < 64 || t->width > 8000 || t->height > 8000) {
        fprintf(stderr, "kardan: '%s' is no size; write 1280x720 (64 to 8000 pixels)\n", t->size);
        return false;
    }
    if (!ends_with(t->output, ".png") && !ends_with(t->output, ".svg") && !ends_with(t->output, ".mp4") &&
        !ends_with(t->output, ".webm")) {
        fprintf(stderr, "kardan: '%s' is neither a picture (.png, .svg) nor a film (.mp4, .webm)\n", t->output);
        return false;
    }
    // the picture without a browser has its own instants and its own view
    if (ends_with(t->output, ".svg") &&
        (ends_with(t->subject, ".html") || !isnan(t->at) || strcmp(t->view, "default") != 0)) {
        fputs("kardan: a picture as .svg is made of a model file, of several instants in the default view; --at, "
              "--view and "
              "reports need .png\n",
              stderr);
        return false;
    }
    return true;
}

// ---- the page -------------------------------------------------------------------------------------------------------
// Simulate the model into a folder of its own
static int make_page(task *t)
{
    char  t_end[40];
    char *words[2 * KD_CLI_LONGEST_LIST + 8];
    int   n = 0;
    // kardan simulate MODEL --output FOLDER --quiet, with the settings and the end that were given
    words[n++] = (char *)t->subject;
    words[n++] = "--output";
    words[n++] = t->folder;
    words[n++] = "--quiet";
    for (int i = 0; i < t->settings.count; i++) {
        words[n++] = "--set";
        words[n++] = (char *)t->settings.word[i];
    }
    if (t->t_end > 0) {
        snprintf(t_end, sizeof t_end, "%.17g", t->t_end);
        words[n++] = "--t-end";
        words[n++] = t_end;
    }
    // in the same process: its messages are the user's
    const int status = kd_cli_simulate(n, words);
    if (status != KD_EXIT_OK) return status;
    // the report that it wrote
    const char *name = strrchr(t->subject, '/');
    name = name ? name + 1 : t->subject;
    const char *dot = strrchr(name, '.');
    snprintf(t->page, sizeof t->page, "%s/%.*s.html", t->folder, (int)(dot ? dot - name : (long)strlen(name)), name);
    return KD_EXIT_OK;
}

// the folder is ours alone: made by mkdtemp
static void remove_page(const task *t)
{
    char command[200];
    if (!t->folder[0]) return;
    snprintf(command, sizeof command, "rm -rf -- '%s'", t->folder);
    if (system(command) != 0) fprintf(stderr, "kardan: '%s' could not be removed\n", t->folder);
}

// file:// and the absolute name, with what must not stand in an address written as %XX
static bool address_of(const char *path, char *url, size_t size)
{
    char   whole[PATH_MAX];
    size_t n = (size_t)snprintf(url, size, "file://");
    // symbolic links are followed: the browser wants the file itself
    if (!realpath(path, whole)) return false;
    for (const char *c = whole; *c; c++) {
        if (n + 4 > size) return false;
        if (strchr("%#?\" <>`{}", *c) || (unsigned char)*c < 0x20)
            n += (size_t)snprintf(url + n, size - n, "%%%02X", (unsigned char)*c);
        else
            url[n++] = *c;
    }
    url[n] = '\0';
    return true;
}

static kd_status open_page(task *t, kd_browser **browser)
{
    char url[2 * PATH_MAX], start[300];
    // browser, page, then the view with its size
    kd_status status = kd_browser_open(t->width, t->height, browser, t->message, sizeof t->message);
    if (status < 0) return status;
    if (!address_of(t->page, url, sizeof url - sizeof FINE)) {
        kd_text(t->message, sizeof t->message, "'%s': %s", t->page, strerror(errno));
        return KD_ERR_FILE;
    }
    // ready when the viewer says so; a page without viewer says no
    strcat(url, FINE);
    status = kd_browser_show(
        *browser, url,
        "(document.querySelector('[data-kardan-viewer]')||{dataset:{}}).dataset.ready"
        "||(document.readyState==='complete'&&!document.querySelector('[data-kardan-viewer]')?'no':'wait')",
        60.0, t->message, sizeof t->message);
    if (status < 0) return status;
    snprintf(start, sizeof start, "kardan.prepare(%d,%d,'%s')", t->width, t->height, t->view);
    return kd_browser_ask(*browser, start, t->message, sizeof t->message) ? KD_OK : KD_ERR_FILE;
}

// ---- pictures -------------------------------------------------------------------------------------------------------
// base64 in place; answers the number of bytes
static size_t decode(char *text)
{
    static const char DIGIT[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned          bits = 0;
    int               count = 0;
    size_t            n = 0;
    // padding ends it
    for (const char *c = text; *c && *c != '='; c++) {
        const char *digit = strchr(DIGIT, *c);
        if (!digit) return 0;
        // six bits a digit, eight a byte
        bits = bits << 6 | (unsigned)(digit - DIGIT);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        text[n++] = (char)(bits >> count & 255u);
    }
    return n;
}

// The view at an instant, as bytes of a PNG or JPEG file; valid until the next one
static char *picture_at(task *t, kd_browser *browser, double at, const char *kind, size_t *length)
{
    char question[200];
    snprintf(question, sizeof question, "kardan.picture(%.17g,'image/%s')", at, kind);
    char *text = (char *)kd_browser_ask(browser, question, t->message, sizeof t->message);
    *length = text ? decode(text) : 0;
    if (text && *length == 0) kd_text(t->message, sizeof t->message, "the page gave no picture");
    return *length > 0 ? text : NULL;
}

// PNG keeps lines sharp
static kd_status write_picture(task *t, kd_browser *browser, double at)
{
    FILE     *file;
    size_t    length;
    char     *bytes = picture_at(t, browser, at, "png", &length);
    kd_status status = bytes ? kd_file_open(t->output, &file, t->message, sizeof t->message) : KD_ERR_FILE;
    if (status < 0) return status;
    fwrite(bytes, 1, length, file);
    return kd_file_close(file, t->output, t->message, sizeof t->message);
}

// ffmpeg, which reads pictures from a pipe; *child: its process
static FILE *open_film(task *t, pid_t *child)
{
    int  ends[2];
    char rate[40];
    if (pipe(ends) != 0) return NULL;
    snprintf(rate, sizeof rate, "%.6g", t->rate);
    *child = fork();
    // the child reads from the pipe as from standard input
    if (*child == 0) {
        if (dup2(ends[0], 0) < 0) _exit(127);
        close(ends[0]);
        close(ends[1]);
        // even numbers of pixels: the encoder wants them
        execlp("ffmpeg", "ffmpeg", "-y", "-loglevel", "error", "-f", "mjpeg", "-framerate", rate, "-i", "-", "-vf",
               "scale=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p", t->output, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (*child < 0) {
        close(ends[1]);
        return NULL;
    }
    // pictures go into the pipe as they come
    return fdopen(ends[1], "wb");
}

static kd_status write_film(task *t, kd_browser *browser, double from, double to)
{
    // rounded down, the first one included
    const int count = (int)fmin(floor((to - from) / t->speed * t->rate) + 1, MOST_FRAMES + 1.0);
    pid_t     child;
    int       answer = 0;
    if (count > MOST_FRAMES) {
        kd_text(t->message, sizeof t->message,
                "the film would have more than %d pictures; --from, --to, --speed and --rate make it shorter",
                MOST_FRAMES);
        return KD_ERR_ARGUMENT;
    }
    // JPEG one behind the other is what ffmpeg reads as mjpeg
    FILE     *film = open_film(t, &child);
    kd_status status = film ? KD_OK : KD_ERR_FILE;
    if (!film && !t->message[0])
        kd_text(t->message, sizeof t->message, "ffmpeg could not be started for '%s'", t->output);
    kd_progress progress;
    kd_progress_start(&progress, true, from, to);
    for (int i = 0; i < count && status == KD_OK; i++) {
        size_t length;
        // one picture every speed/rate seconds of the motion
        const double at = fmin(from + i * t->speed / t->rate, to);
        const char  *bytes = picture_at(t, browser, at, "jpeg", &length);
        if (!bytes || fwrite(bytes, 1, length, film) != length || kd_cli_is_interrupted()) status = KD_ERR_FILE;
        kd_progress_show(&progress, at, i);
    }
    kd_progress_end(&progress);
    // ffmpeg ends when there is nothing more to read
    if (film && fclose(film) != 0) status = KD_ERR_FILE;
    while (film && waitpid(child, &answer, 0) < 0 && errno == EINTR) continue;
    if (film && WIFEXITED(answer) && WEXITSTATUS(answer) == 127)
        kd_text(t->message, sizeof t->message, "films need ffmpeg (package ffmpeg)");
    else if (answer != 0)
        kd_text(t->message, sizeof t->message, "ffmpeg could not write '%s'", t->output);
    return answer != 0 ? KD_ERR_FILE : status;
}

// The picture beside the report of the run, without a browser
static kd_status copy_svg(task *t)
{
    char   path[PATH_MAX + 20], *text;
    size_t length;
    FILE  *file;
    snprintf(path, sizeof path, "%.*s-motion.svg", (int)(strlen(t->page) - strlen(".html")), t->page);
    kd_status status = kd_load_file(path, LARGEST_SVG, &text, &length, t->message, sizeof t->message);
    if (status >= 0) {
        status = kd_file_open(t->output, &file, t->message, sizeof t->message);
        if (status >= 0) {
            fwrite(text, 1, length, file);
            status = kd_file_close(file, t->output, t->message, sizeof t->message);
        }
        kd_free(text);
    }
    return status;
}

static kd_status write_output(task *t)
{
    kd_browser *browser = NULL;
    if (ends_with(t->output, ".svg")) return copy_svg(t);
    kd_status status = open_page(t, &browser);
    // the page knows from when to when its motion goes
    const char *range =
        status == KD_OK ? kd_browser_ask(browser, "kardan.range()", t->message, sizeof t->message) : NULL;
    double start, end;
    if (range && sscanf(range, "%lf %lf", &start, &end) == 2) {
        // inside of what the page shows
        const double from = isnan(t->from) ? start : fmin(fmax(t->from, start), end);
        const double to = isnan(t->to) ? end : fmin(fmax(t->to, from), end);
        if (ends_with(t->output, ".png"))
            status = write_picture(t, browser, isnan(t->at) ? end : t->at);
        else
            status = write_film(t, browser, from, to);
    } else if (status == KD_OK) {
        status = KD_ERR_FILE;
    }
    kd_browser_close(browser);
    return status;
}

int kd_cli_render(int argc, char **argv)
{
    task                t = {.output = "picture.png",
                             .view = "default",
                             .size = "1280x720",
                             .at = NAN,
                             .from = NAN,
                             .to = NAN,
                             .speed = 1,
                             .rate = 30};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (!check_words(&t)) return KD_EXIT_USAGE;
    int status = KD_EXIT_OK;
    kd_cli_watch_signals();
    // a report that there is, or one of a simulation made for it
    if (ends_with(t.subject, ".html")) {
        snprintf(t.page, sizeof t.page, "%s", t.subject);
    } else if (!kd_viewer_is_built() && !ends_with(t.output, ".svg")) {
        fputs("kardan: this kardan was built without its viewer (make viewer), so that there is nothing to render\n",
              stderr);
        return KD_EXIT_FAILED;
    } else {
        snprintf(t.folder, sizeof t.folder, "/tmp/kardan-render-XXXXXX");
        if (!mkdtemp(t.folder)) {
            fprintf(stderr, "kardan: a folder for the page could not be made: %s\n", strerror(errno));
            return KD_EXIT_FAILED;
        }
        // a model is simulated first
        status = make_page(&t);
    }
    if (status == KD_EXIT_OK && write_output(&t) < 0) {
        fprintf(stderr, "kardan: %s\n", t.message);
        status = kd_cli_is_interrupted() ? KD_EXIT_INTERRUPTED : KD_EXIT_FAILED;
    }
    if (status == KD_EXIT_OK)
        printf("%s: %s\n", ends_with(t.output, ".png") || ends_with(t.output, ".svg") ? "picture" : "film", t.output);
    remove_page(&t);
    return status;
}
