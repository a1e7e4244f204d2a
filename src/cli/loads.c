// loads.c: kardan loads: what a flexible body carries along a run, as a table and as load cases for its finite elements.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analysis/carried.h"
#include "cli/equilibrium.h"
#include "cli/method.h"
#include "core/read_number.h"
#include "core/text.h"
#include "flexible/load_case.h"
#include "flexible/stress.h"
#include "model/model.h"
#include "model/part.h"
#include "modelfile/part.h"
#include "results/csv.h"

enum { USUAL_ROWS = 100, MOST_CASES = 100, NAME_SIZE = 120, PATH_SIZE = 4096 };

static const double ON_TIME = 1e-12; // instants nearer than this part of the run are one

typedef struct task {
    kd_subject_request request;
    kd_subject         subject;
    const char        *body_name, *folder;
    double             end, every;
    kd_cli_list        at;
    bool               rest, quiet;
    double             instant[MOST_CASES]; // rising
    int                ncases, next_case;
    int                body;
    kd_arena           arena;
    kd_simulation     *simulation;
    kd_carried_loads   loads;
    kd_csv            *csv;
    int                ncolumns;
    double            *row;
    kd_part_structure  part;
    double            *f;     // (rows of the structure)
    kd_hot_spots       spots; // of a body with stress
    char               message[4000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[7 + KD_SUBJECT_OPTIONS] = {
        {"--body", "NAME", "the flexible body; may be left out where there is one only", KD_CLI_TEXT, &t->body_name},
        {"--at", "T", "a load case for CalculiX at this time [s]; may be given several times", KD_CLI_LIST, &t->at},
        {"--end", "T", "simulate to this time [s]; without it as the model says", KD_CLI_NUMBER, &t->end},
        {"--every", "H", "a row of the table every H seconds; without it a hundredth of the run", KD_CLI_POSITIVE,
         &t->every},
        {"--from-equilibrium", NULL, "take the equilibrium as the start", KD_CLI_FLAG, &t->rest},
        {"--output", "FOLDER", "write there; without it results/", KD_CLI_TEXT, &t->folder},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
    };
    const int                count = 7 + kd_subject_options(&t->request, options + 7);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan loads MODEL --body NAME [--at T...] [OPTION...]",
             .about =
                 "Simulate a model and write what one of its flexible bodies carries: motion of its frame, amplitudes of "
                      "its\nmodes, forces and moments at its interfaces, as a table (.csv); its largest stress, where its part "
                      "has any; and load cases for CalculiX (.inp) "
                      "at "
                      "chosen times.",
             .details =
                 "Examples:\n"
                      "  kardan loads models/flexible-slider-crank.yaml --body rod\n"
                      "  kardan loads crank.yaml --body rod --at 0.12 --at 0.15 --output loads\n"
                      "\n"
                      "All numbers are in the axes of the body. A load case needs the part file (.yaml) with the matrices of\n"
                      "its finite elements, named as 'flexible' in the model.\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- what is asked for ----------------------------------------------------------------------------------------------

static bool find_body(task *t)
{
    const kd_model *m = t->subject.model;
    int             flexible = 0;
    t->body = -1;
    for (int i = 0; m && i < m->nbodies; i++) {
        if (m->body[i].nmodes == 0) continue;
        flexible++;
        if (!t->body_name || strcmp(m->body[i].name, t->body_name) == 0) t->body = i;
    }
    if (!m) return kd_cli_refuse("flexible bodies are in model files; this is an example written in C");
    if (flexible == 0) return kd_cli_refuse("the model has no flexible body");
    if (!t->body_name && flexible > 1) return kd_cli_refuse("which flexible body? Give --body NAME");
    if (t->body >= 0) return true;
    fprintf(stderr, "kardan: there is no flexible body '%s'\n", t->body_name);
    return false;
}

static bool read_instants(task *t)
{
    const double start = t->subject.x->t;
    if (t->at.count > MOST_CASES) return kd_cli_refuse("more than 100 load cases");
    // instants in rising order, none before the start
    for (int i = 0; i < t->at.count; i++) {
        char        *end;
        const double value = kd_read_number(t->at.word[i], &end);
        if (end == t->at.word[i] || *end || !(value >= start) || !isfinite(value)) {
            fprintf(stderr, "kardan: --at '%s' is no time behind the start at %g s\n", t->at.word[i], start);
            return false;
        }
        int k = t->ncases++;
        for (; k > 0 && t->instant[k - 1] > value; k--) t->instant[k] = t->instant[k - 1];
        t->instant[k] = value;
    }
    // the end: the model's, or the last instant
    if (isnan(t->end)) t->end = t->subject.run.t_end;
    if (t->ncases > 0) t->end = fmax(t->end, t->instant[t->ncases - 1]);
    if (!(t->end >= start)) return kd_cli_refuse("the end of the run is not known: give --end T");
    if (!(t->every > 0)) t->every = (t->end - start) / USUAL_ROWS;
    return true;
}

// The finite elements behind the body
static bool open_part(task *t)
{
    const kd_body *b = &t->subject.model->body[t->body];
    const char    *path = kd_model_part_path(t->subject.model, b->def.read);
    if (t->ncases == 0) return true;
    if (!path || !kd_text_has_ending(path, ".yaml") || b->def.pieces > 1)
        return kd_cli_refuse(
            "load cases need a part file (.yaml) with the matrices of its finite elements: 'flexible' of the "
            "body names something else");
    if (kd_part_read_structure(path, &t->part, t->message, sizeof t->message) < 0) return kd_cli_refuse(t->message);
    t->f = kd_cut_double(&t->arena, t->part.structure.n);
    return t->f || kd_cli_refuse("out of memory");
}

// ---- the table ------------------------------------------------------------------------------------------------------

typedef struct columns {
    int         n;
    const char *name[12 * 100 + 3 * 1000 + 20], *unit[12 * 100 + 3 * 1000 + 20];
} columns;

static void add_column(task *t, columns *c, const char *unit, const char *form, const char *word, int i)
{
    char *name = kd_arena_cut(&t->arena, NAME_SIZE, 1);
    if (!name || c->n == (int)(sizeof c->name / sizeof *c->name)) return;
    kd_text(name, NAME_SIZE, form, word, i);
    c->unit[c->n] = unit;
    c->name[c->n++] = name;
}

static bool open_table(task *t)
{
    static const char *const axis[] = {"x", "y", "z"};
    const kd_body           *b = &t->subject.model->body[t->body];
    columns                 *c = kd_arena_cut(&t->arena, 1, sizeof *c);
    char                     path[PATH_SIZE];
    if (!c) return kd_cli_refuse("out of memory");
    // time, then amplitudes of all modes with two derivatives
    add_column(t, c, "s", "%s", "t", 0);
    for (int k = 0; k < b->nmodes; k++) add_column(t, c, "", "%s%d", "q", k + 1);
    for (int k = 0; k < b->nmodes; k++) add_column(t, c, "", "%s%d", "v", k + 1);
    for (int k = 0; k < b->nmodes; k++) add_column(t, c, "", "%s%d", "a", k + 1);
    // how the frame of the body moves
    for (int d = 0; d < 3; d++) add_column(t, c, "m/s^2", "frame.a%s", axis[d], 0);
    for (int d = 0; d < 3; d++) add_column(t, c, "rad/s", "frame.w%s", axis[d], 0);
    for (int d = 0; d < 3; d++) add_column(t, c, "rad/s^2", "frame.dw%s", axis[d], 0);
    // forces that act on the frames, and on what holds the body
    for (int i = -1; i < b->def.read->nframes; i++)
        for (int d = 0; d < 6; d++) {
            char form[NAME_SIZE];
            kd_text(form, sizeof form, "%%s.%s%s", d < 3 ? "F" : "M", axis[d % 3]);
            add_column(t, c, d < 3 ? "N" : "N m", form, i < 0 ? "held" : b->def.read->frame[i].name, 0);
        }
    // how far each frame has moved
    for (int i = 0; i < b->def.read->nframes; i++)
        for (int d = 0; d < 6; d++) {
            char form[NAME_SIZE];
            kd_text(form, sizeof form, "%%s.%s%s", d < 3 ? "u" : "r", axis[d % 3]);
            add_column(t, c, d < 3 ? "m" : "rad", form, b->def.read->frame[i].name, 0);
        }
    // one row of numbers, written again and again
    t->ncolumns = c->n;
    t->row = kd_cut_double(&t->arena, c->n);
    if (t->arena.failed) return kd_cli_refuse("out of memory");
    kd_text(path, sizeof path, "%s/%s-%s-loads.csv", t->folder, t->subject.name, b->name);
    if (kd_csv_create(path, c->n, &t->csv, t->message, sizeof t->message) < 0) return kd_cli_refuse(t->message);
    // what the table is of
    kd_csv_comment(t->csv, "loads on the flexible body", b->name);
    kd_csv_comment(t->csv, "model", t->request.word);
    kd_csv_comment_row(t->csv, "units", c->unit);
    kd_csv_header(t->csv, c->name);
    if (!t->quiet) printf("table       %s\n", path);
    return true;
}

static bool write_row(task *t)
{
    const kd_carried_loads *l = &t->loads;
    double                 *to = t->row;
    *to++ = kd_simulation_state(t->simulation)->t;
    const struct {
        const double *from;
        int           n;
    } part[] = {{l->q, l->nmodes}, {l->dq, l->nmodes}, {l->ddq, l->nmodes}, {l->a, 3},
                {l->w, 3},         {l->dw, 3},         {l->rest, 6},        {l->load, 6 * l->nframes}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        memcpy(to, part[i].from, (size_t)part[i].n * sizeof *to);
        to += part[i].n;
    }
    for (int i = 0; i < l->nframes; i++, to += 6)
        kd_carried_deflection(t->subject.model->body[t->body].def.read, l, i, to);
    return kd_csv_row(t->csv, t->row) >= 0 || kd_cli_refuse("the table cannot be written");
}

// ---- stress ---------------------------------------------------------------------------------------------------------

// Every place with its largest von Mises stress, as a table
static bool write_stress(task *t)
{
    static const char *const names[] = {"place", "x", "y", "z", "mises", "signed", "t"}, *const units[] = {
                                                                                             "",   "m",  "m", "m",
                                                                                             "Pa", "Pa", "s"};
    enum { COLUMNS = sizeof names / sizeof *names };
    const kd_body          *b = &t->subject.model->body[t->body];
    const kd_flexible_body *f = b->def.read;
    char                    path[PATH_SIZE], words[NAME_SIZE];
    kd_csv                 *csv;
    int                     hottest;
    if (f->nplaces == 0) return true;
    // a table of its own: places are many, instants few
    kd_text(path, sizeof path, "%s/%s-%s-stress.csv", t->folder, t->subject.name, b->name);
    if (kd_csv_create(path, COLUMNS, &csv, t->message, sizeof t->message) < 0) return kd_cli_refuse(t->message);
    kd_csv_comment(csv, "largest von Mises stress of the flexible body", b->name);
    kd_csv_comment(csv, "model", t->request.word);
    // places with names
    for (int i = 0; i < f->nspots; i++) {
        kd_text(words, sizeof words, "place %d", f->spot[i].place + 1);
        kd_csv_comment(csv, words, f->spot[i].name);
    }
    kd_csv_comment_row(csv, "units", units);
    kd_csv_header(csv, names);
    for (int i = 0; i < f->nplaces; i++) {
        const double *x = f->place + 3 * (size_t)i;
        const double  row[COLUMNS] = {i + 1,        x[0], x[1], x[2], t->spots.mises[i], t->spots.signed_mises[i],
                                      t->spots.t[i]};
        if (kd_csv_row(csv, row) < 0) {
            kd_csv_abandon(csv);
            return kd_cli_refuse("the table cannot be written");
        }
    }
    if (kd_csv_close(csv, t->message, sizeof t->message) < 0) return kd_cli_refuse(t->message);
    if (t->quiet || kd_hot_spots_rank(&t->spots, 1, &hottest) < 1) return true;
    kd_stress_place_words(f, hottest, words, sizeof words);
    printf("stress      %s: largest %.4g MPa, %s, t = %.6g s\n", path, 1e-6 * t->spots.mises[hottest], words,
           t->spots.t[hottest]);
    return true;
}

// ---- load cases -----------------------------------------------------------------------------------------------------

// The interface that stands still in the body's frame; the first one with other references
static int held_interface(const kd_flexible_body *b)
{
    const char *word = "tangent ";
    for (int i = 0; strncmp(b->reference, word, strlen(word)) == 0 && i < b->nframes; i++)
        if (strcmp(b->reference + strlen(word), b->frame[i].name) == 0) return i;
    return 0;
}

static bool write_case(task *t, double time)
{
    const kd_body         *b = &t->subject.model->body[t->body];
    const kd_fe_structure *s = &t->part.structure;
    char                   path[PATH_SIZE], part[PATH_SIZE + 8], title[PATH_SIZE];
    if (t->part.nfaces != b->def.read->nframes || kd_load_case_inertia(s, b->def.read, &t->loads, t->f) < 0)
        return kd_cli_refuse("the finite elements of the part file are not those of the body");
    const kd_load_balance sum = kd_load_case_balance(s, b->def.read, &t->loads, t->f);
    kd_text(path, sizeof path, "%s/%s-%s-%.6g.inp", t->folder, t->subject.name, b->name, time);
    kd_text(part, sizeof part, "%s.part", path);
    kd_text(title, sizeof title, "kardan: loads on '%s' of %s at t = %.9g s", b->name, t->request.word, time);
    FILE *file = fopen(part, "wb");
    bool  good = file && kd_load_case_write(s, b->def.read, t->part.face, &t->loads, t->f, held_interface(b->def.read),
                                            title, file) == KD_OK;
    if (file) good = fclose(file) == 0 && good;
    good = good && rename(part, path) == 0;
    if (!good && file) unlink(part);
    if (!good) {
        fprintf(stderr, "kardan: '%s' could not be written\n", path);
        return false;
    }
    if (!t->quiet)
        printf("load case   %s: forces left over %.1e of %.4g N, moments %.1e of %.4g N m\n", path, sum.force,
               sum.force_size, sum.moment, sum.moment_size);
    return true;
}

// ---- the run --------------------------------------------------------------------------------------------------------

static bool look(task *t)
{
    const kd_status status = kd_carried_now(t->simulation, t->subject.system, t->body, &t->loads);
    if (status >= 0 && t->spots.body) kd_hot_spots_see(&t->spots, kd_simulation_state(t->simulation)->t, t->loads.q);
    return status >= 0 || kd_cli_refuse(kd_status_sentence(status));
}

// rows and load cases up to the end
static bool go_through(task *t)
{
    const double start = t->subject.x->t, close = ON_TIME * fmax(fabs(t->end), t->end - start);
    for (long k = 0;;) {
        // the next of both, together where they meet
        const double row = fmin(start + (double)k * t->every, t->end);
        const double next = t->next_case < t->ncases ? fmin(t->instant[t->next_case], row) : row;
        if (next > kd_simulation_state(t->simulation)->t + close && kd_simulation_run(t->simulation, next) < 0)
            return kd_cli_refuse(kd_simulation_message(t->simulation));
        if (!look(t)) return false;
        if (next >= row - close && !write_row(t)) return false;
        for (; t->next_case < t->ncases && t->instant[t->next_case] <= next + close; t->next_case++)
            if (!write_case(t, t->instant[t->next_case])) return false;
        if (next < row - close) continue;
        if (row >= t->end - close) return true;
        k++;
    }
}

static bool open_run(task *t)
{
    kd_subject           *s = &t->subject;
    kd_method             method = {.run = &s->run, .fixed = true};
    kd_equilibrium_result result;
    const kd_body        *b = &s->model->body[t->body];
    if (t->rest && kd_cli_rest(s, false, true, &result, t->message, sizeof t->message) < 0)
        return kd_cli_refuse(t->message);
    if (!kd_carried_loads_cut(b->nmodes, b->def.read->nframes, &t->arena, &t->loads))
        return kd_cli_refuse("out of memory");
    if (b->def.read->nplaces > 0 && !kd_hot_spots_cut(b->def.read, b->nmodes, &t->arena, &t->spots))
        return kd_cli_refuse("out of memory");
    if (!kd_method_read(&method)) return false;
    kd_method_decide(&method, s);
    const kd_simulation_options options = kd_method_for_run(&method);
    if (kd_simulation_create(s->eom, kd_subject_inputs(s), &options, s->x, &t->simulation, t->message,
                             sizeof t->message) < 0)
        return kd_cli_refuse(t->message);
    return true;
}

static bool work(task *t)
{
    if (!t->folder) t->folder = "results";
    if (kd_cli_make_folder(t->folder, t->message, sizeof t->message) < 0) return kd_cli_refuse(t->message);
    if (!open_part(t) || !open_run(t) || !open_table(t)) return false;
    if (!go_through(t) || !write_stress(t)) return false;
    kd_csv *csv = t->csv;
    t->csv = NULL;
    return kd_csv_close(csv, t->message, sizeof t->message) >= 0 || kd_cli_refuse(t->message);
}

int kd_cli_loads(int argc, char **argv)
{
    task *t = kd_alloc(sizeof *t);
    int   status = KD_EXIT_FAILED;
    if (!t) return kd_cli_refuse("out of memory"), KD_EXIT_FAILED;
    t->end = NAN;
    const kd_cli_parsed parsed = read_arguments(t, argc, argv);
    if (parsed != KD_CLI_GO)
        status = parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    else if (kd_subject_open(&t->subject, &t->request, &status))
        status = !find_body(t) || !read_instants(t) ? KD_EXIT_USAGE : work(t) ? KD_EXIT_OK : KD_EXIT_FAILED;
    if (t->csv) kd_csv_abandon(t->csv);
    kd_simulation_destroy(t->simulation);
    kd_part_structure_release(&t->part);
    kd_subject_close(&t->subject);
    kd_arena_release(&t->arena);
    kd_free(t);
    return status;
}
