// flex.c: kardan flex: from finite elements or beams to a flexible body with few modes, and what is in such a file.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/pi.h"
#include "core/text.h"
#include "flexible/flex_file.h"
#include "flexible/sid.h"
#include "flexible/stress.h"
#include "modelfile/part.h"

typedef struct task {
    const char      *operand;
    const char      *output, *sid, *shapes;
    bool             json, quiet;
    kd_flexible_body body;
    kd_part_report   report;
    char             message[4000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--output", "FILE", "write the body there (-o PART.flex, HDF5)", KD_CLI_TEXT, &t->output},
        {"--sid", "FILE", "write it as a SID file (.SID_FEM), too", KD_CLI_TEXT, &t->sid},
        {"--shapes", "FILE", "write its modes as steps of CalculiX (.inp), for the stress of each", KD_CLI_TEXT,
         &t->shapes},
        {"--json", NULL, "facts as JSON on standard output", KD_CLI_FLAG, &t->json},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
    };
    static const char *const names[] = {"PART"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan flex PART [-o PART.flex] [OPTION...]",
             .about = "Reduce a part of finite elements or beams (PART.yaml) to a flexible body with few modes, and tell "
                           "the error\n"
                           "of its frequencies and transfer functions that is to be expected. Of a finished body (.flex, "
                           ".SID_FEM) tell what is in it.",
             .details = "Examples:\n"
                             "  kardan flex rod.yaml -o rod.flex\n"
                             "  kardan flex rod.flex\n"
                             "  kardan flex blade.SID_FEM -o blade.flex\n"
                             "\n"
                             "A part file:\n"
                             "  part: connecting rod\n"
                             "  structure: {stiffness: rod.sti, mass: rod.mas, dofs: rod.dof, nodes: rod.inp}\n"
                             "  interfaces:\n"
                             "    big_end: {nodes: LEFT, point: [0, 0, 0]}\n"
                             "    small_end: {nodes: RIGHT}\n"
                             "  reduction: {band: 1500 Hz}\n"
                             "  reference: {tangent: big_end}\n"
                             "  damping: 0.01\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &t->operand,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// The body, from whatever the file is
static kd_status read_body(task *t)
{
    const bool yaml = kd_text_has_ending(t->operand, ".yaml") || kd_text_has_ending(t->operand, ".yml");
    // a deck of shapes is the way to stress, which cannot be there yet
    if (yaml && t->shapes) return kd_part_read_plain(t->operand, &t->body, &t->report, t->message, sizeof t->message);
    if (yaml) return kd_part_read(t->operand, 1, 1, &t->body, &t->report, t->message, sizeof t->message);
    if (kd_text_has_ending(t->operand, ".flex"))
        return kd_flex_read(t->operand, &t->body, t->message, sizeof t->message);
    if (kd_text_has_ending(t->operand, ".sid_fem") || kd_text_has_ending(t->operand, ".sid"))
        return kd_sid_read(t->operand, &t->body, t->message, sizeof t->message);
    snprintf(t->message, sizeof t->message, "'%s' is neither a part (.yaml) nor a body (.flex, .SID_FEM)", t->operand);
    return KD_ERR_FILE;
}

static bool write_sid(task *t)
{
    char  part[4096];
    FILE *file = snprintf(part, sizeof part, "%s.part", t->sid) < (int)sizeof part ? fopen(part, "wb") : NULL;
    bool  good = file && kd_sid_write(&t->body, file);
    if (file) good = fclose(file) == 0 && good;
    good = good && rename(part, t->sid) == 0;
    if (!good && file) unlink(part);
    if (!good) snprintf(t->message, sizeof t->message, "'%s' could not be written", t->sid);
    return good;
}

static bool write_shapes(task *t)
{
    char              part[4096], title[4096];
    kd_part_structure fe;
    if (!kd_text_has_ending(t->operand, ".yaml") && !kd_text_has_ending(t->operand, ".yml")) {
        snprintf(t->message, sizeof t->message, "--shapes needs the part file (.yaml) with its finite elements");
        return false;
    }
    if (kd_part_read_structure(t->operand, &fe, t->message, sizeof t->message) < 0) return false;
    FILE *file = snprintf(part, sizeof part, "%s.part", t->shapes) < (int)sizeof part ? fopen(part, "wb") : NULL;
    kd_text(title, sizeof title, "kardan: %d modes of %s", t->body.nq, t->operand);
    bool good = file && kd_stress_write_shapes(&fe.structure, &t->body, title, file) == KD_OK;
    if (file) good = fclose(file) == 0 && good;
    good = good && rename(part, t->shapes) == 0;
    if (!good && file) unlink(part);
    if (!good) snprintf(t->message, sizeof t->message, "'%s' could not be written", t->shapes);
    kd_part_structure_release(&fe);
    return good;
}

enum { MOST_IDLE = 20 };

// Modes of a kind as numbers from 1 on, at most so many; answers how many there are
static int list_idle(const kd_flexible_body *b, kd_idle kind, double *list, int most)
{
    int n = 0;
    for (int k = 0; k < b->nq; k++)
        if (kd_flexible_body_idle(b, k) == kind && n++ < most) list[n - 1] = k + 1;
    return n;
}

static void tell_idle(const kd_flexible_body *b)
{
    static const struct {
        kd_idle     kind;
        const char *what;
    } kinds[] = {{KD_IDLE_YES, "nothing excites them"}, {KD_IDLE_BUT_ROTATION, "nothing but rotation excites them"}};
    for (int i = 0; i < 2; i++) {
        double    list[MOST_IDLE];
        const int n = list_idle(b, kinds[i].kind, list, MOST_IDLE);
        if (n == 0) continue;
        printf("idle        modes");
        for (int k = 0; k < n && k < MOST_IDLE; k++) printf(" %.0f", list[k]);
        printf("%s: %s\n", n > MOST_IDLE ? " ..." : "", kinds[i].what);
    }
}

static void tell_json(const task *t, const double *hertz, int n)
{
    double                  idle[MOST_IDLE];
    const int               nidle = list_idle(&t->body, KD_IDLE_YES, idle, MOST_IDLE);
    const kd_flexible_body *b = &t->body;
    const char             *names[200];
    kd_json                 json = {.file = stdout};
    int                     nframes = 0;
    for (; nframes < b->nframes && nframes < 200; nframes++) names[nframes] = b->frame[nframes].name;
    // the body and its frequencies
    kd_json_open(&json, NULL);
    kd_json_text(&json, "title", t->report.title);
    kd_json_number(&json, "mass", b->mass);
    kd_json_count(&json, "modes", b->nq);
    kd_json_numbers(&json, "frequencies_hz", hertz, n);
    kd_json_numbers(&json, "idle_modes", idle, nidle < MOST_IDLE ? nidle : MOST_IDLE);
    kd_json_text(&json, "reference", b->reference);
    kd_json_texts(&json, "frames", names, nframes);
    // how it is connected, and what the reduction kept
    kd_json_count(&json, "rows", t->report.rows);
    kd_json_count(&json, "shapes", t->report.shapes);
    kd_json_count(&json, "normal_modes", t->report.normal_modes);
    // up to where, and how well
    kd_json_number(&json, "band_hz", b->band / (2 * KD_PI));
    kd_json_number(&json, "expected_error", b->expected);
    kd_json_number(&json, "expected_transfer_error", b->transfer);
    kd_json_count(&json, "stress_places", b->nplaces);
    kd_json_close(&json);
    fputs("\n", stdout);
}

static void tell_words(const task *t, const double *hertz, int n)
{
    const kd_flexible_body *b = &t->body;
    const kd_part_report   *r = &t->report;
    if (r->title[0]) printf("%s\n", r->title);
    // what was read, what of it became shapes, what is left
    if (r->rows > 0)
        printf("structure   %d nodes, %d unknowns; mass %.9g kg, centre (%.6g, %.6g, %.6g) m\n", r->nodes, r->rows,
               r->facts.mass, r->facts.centre.x, r->facts.centre.y, r->facts.centre.z);
    if (r->shapes > 0) printf("reduction   %d shapes, %d of them normal modes\n", r->shapes, r->normal_modes);
    printf("body        %d modes, mass %.9g kg, reference: %s\n", b->nq, b->mass, b->reference);
    printf("frames     ");
    for (int i = 0; i < b->nframes && i < 10; i++) printf(" %s", b->frame[i].name);
    puts(b->nframes > 10 ? " ..." : "");
    printf("frequencies");
    for (int i = 0; i < n; i++) printf(" %.6g", hertz[i]);
    puts(n < b->nq ? " ... Hz" : " Hz");
    tell_idle(b);
    // errors as they are expected, where the reduction was given a band
    if (b->band > 0)
        printf("error       of frequencies up to %.6g Hz, free and with each interface held: at most %.1e expected\n",
               b->band / (2 * KD_PI), b->expected);
    if (b->band > 0 && b->transfer > 0)
        printf("            of transfer functions between the interfaces there: at most %.1e expected\n", b->transfer);
    if (b->nplaces > 0) {
        printf("stress      at %d places", b->nplaces);
        for (int i = 0; i < b->nspots && i < 10; i++) printf("%s %s", i > 0 ? "," : ", named:", b->spot[i].name);
        puts(b->nspots > 10 ? " ..." : "");
    }
    // what needs a look, and what was written
    if (r->warning[0]) printf("warning: %s\n", r->warning);
    if (t->output) printf("written     %s\n", t->output);
    if (t->sid) printf("written     %s\n", t->sid);
    if (t->shapes) printf("written     %s\n", t->shapes);
}

static int reduce(task *t)
{
    double omega[KD_PART_FREQUENCIES];
    int    n = 0;
    if (read_body(t) < 0) return KD_EXIT_FAILED;
    if (t->output && kd_flex_write(&t->body, t->output, t->message, sizeof t->message) < 0) return KD_EXIT_FAILED;
    if (t->sid && !write_sid(t)) return KD_EXIT_FAILED;
    if (t->shapes && !write_shapes(t)) return KD_EXIT_FAILED;
    double *all = kd_alloc((size_t)t->body.nq * sizeof *all);
    if (all && kd_flexible_body_frequencies(&t->body, all) == KD_OK)
        for (; n < t->body.nq && n < KD_PART_FREQUENCIES; n++) omega[n] = all[n] / (2 * KD_PI);
    kd_free(all);
    if (t->json)
        tell_json(t, omega, n);
    else if (!t->quiet)
        tell_words(t, omega, n);
    return KD_EXIT_OK;
}

int kd_cli_flex(int argc, char **argv)
{
    task                t = {0};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (t.output && kd_cli_is_same_file(t.operand, t.output)) {
        fprintf(stderr, "kardan: '%s' is the part itself: give the body another name\n", t.output);
        return KD_EXIT_USAGE;
    }
    const int status = reduce(&t);
    if (status != KD_EXIT_OK) fprintf(stderr, "kardan: %s\n", t.message);
    kd_flexible_body_release(&t.body);
    return status;
}
