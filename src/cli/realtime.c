// realtime.c: kardan realtime: steps of fixed length and fixed work against the clock, and how much time they leave.
//
// Only the step itself is timed. Looking at the state (constraints, energies, results) is done between steps, and, when
// keeping pace, only where there is time left before the next one. Inside the loop nothing is allocated and no file is
// touched.  Guide: docs/guide/realtime.md
#define _POSIX_C_SOURCE 200809L
#include "cli/realtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "results/state_file.h"

typedef kd_realtime_task task;

// own ones and those of the subject
enum { MAX_OPTIONS = 60 };
static const double MOST_STEPS = 1e9;
static const double PROGRESS_TIME = 5e-4; // [s] that must be left for a line on the terminal
static const double PRUDENCE = 2;         // looking at a state may take so much longer than last time
static const double FORGETTING = 0.9;     // of its cost, when it was left out: it may have been an accident

// words in the order of the enumerations, from their lists
#define WORD_OF_LIST(name, word, sentence) word,
static const char *const JACOBIANS[] = {KD_REALTIME_JACOBIAN_LIST(WORD_OF_LIST)};
static const char *const STABILISATIONS[] = {KD_REALTIME_STABILISATION_LIST(WORD_OF_LIST)};
static const char *const PROJECTORS[] = {KD_REALTIME_PROJECTOR_LIST(WORD_OF_LIST)};
#undef WORD_OF_LIST
static const char *const FORCES[] = {"new", "old"};
static const char *const STIFF[] = {"elements", "criterion", "all"};

// ---- arguments ------------------------------------------------------------------------------------------------------

static const char ABOUT[] =
    "Simulate MODEL, a file (.yaml, .urdf) or the name of an example, in steps of fixed length and fixed work, and "
    "keep\n"
    "pace with the clock. Says how long a step takes (minimum, median, 99.9 %, worst), which part of the step length "
    "that\n"
    "is, how often the deadline was missed, and how well constraints and energy hold. Writes a table, a report and "
    "plots\n"
    "(DIR/NAME.realtime.csv, .html, .svg).\n\n"
    "A step that cannot be made ends the run with the last good state: DIR/NAME.realtime.post-mortem.txt says why, "
    "and\n"
    "has the command that replays the last second. Ctrl-C ends a run at its next step, with the summary.";

static const char DETAILS[] =
    "Jacobians (--jacobian), stable for stiffness a and damping b of x'' = -a x - b x':\n"
    "  explicit     none: the explicit Euler method, for comparison\n"
    "  j1           f_p and f_v, positions explicit: h^2 a <= 2 h b + 4\n"
    "  j2           f_p and f_v + h f_p, positions explicit: always (default)\n"
    "  j3           f_p v by one directional difference, no matrix: h^2 a <= 4 - 2 h b\n"
    "  exact        all derivatives, positions implicit: always, damps fast motion\n"
    "\nConstraints (--stabilisation):\n"
    "  none         only the level of --index: positions drift\n"
    "  baumgarte    0 = gII + 2 alpha gI + beta g (--index 1), 0 = gI + alpha g (--index 2)\n"
    "  projection   one Newton step onto g = 0, then velocities exactly onto gI = 0\n"
    "  ggl          one Newton step onto g = 0 before the velocities, which fit the new positions (default)\n"
    "  regularisation  sequential, of order 1: dependent constraints are allowed\n"
    "\nExit status:\n"
    "  0    the end was reached, and all files were written\n"
    "  1    a step failed, or a file could not be read or written, or the priority is not permitted\n"
    "  2    the command line was not understood\n"
    "  3    the run is good, but --max-misses is broken\n"
    "  130  interrupted by Ctrl-C or SIGTERM; summary and results so far are written\n"
    "\nExamples:\n"
    "  kardan realtime models/hmmwv.yaml --step 1e-3 --duration 60\n"
    "  kardan realtime models/hmmwv.yaml --duration 60 --as-fast-as-possible\n"
    "  kardan realtime caraxis --stabilisation baumgarte --alpha 100\n"
    "  kardan realtime models/slider-crank.yaml --jacobian j3 --index 1 --stabilisation projection\n"
    "  kardan realtime examples/realtime/press.yaml --listen 40123\n"
    "  kardan realtime models/hmmwv.yaml --bound --stiff criterion\n"
    "  kardan realtime models/hmmwv.yaml --priority 80 --deadline 5e-4 --max-misses 0\n";

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_realtime_options *o = &t->options;
    const kd_cli_option  own[] = {
         {"--step", "H", "length of a step [s]; default: 1e-3", KD_CLI_POSITIVE, &o->h},
         {"--duration", "T", "simulated time [s]; default: to the model's end", KD_CLI_POSITIVE, &t->duration},
         {"--as-fast-as-possible", NULL, "do not wait for the clock", KD_CLI_FLAG, &t->fast},
         {"--deadline", "D", "a step that takes longer [s] is late; default: the step length", KD_CLI_POSITIVE,
          &o->deadline},
         {"--max-misses", "N", "exit status 3 when more steps are late; default: any number will do", KD_CLI_NUMBER,
          &t->max_misses},
         {"--priority", "P", "real-time priority 1 to 99, all memory held in place", KD_CLI_COUNT, &t->priority},
         {"--jacobian", "J", "derivatives in the matrix: explicit, j1, j2 (default), j3, exact", KD_CLI_TEXT,
          &t->jacobian},
         {"--index", "I", "constraints on acceleration (1) or velocity level (2, default)", KD_CLI_COUNT, &t->index},
         {"--stabilisation", "S", "none, baumgarte, projection, ggl (default), regularisation", KD_CLI_TEXT,
          &t->stabilisation},
         {"--projector", "P", "matrix of the projection: step (default), start, predicted", KD_CLI_TEXT, &t->projector},
         {"--forces", "F", "of j1 and j2, forces and matrices at the new (default) or the old positions", KD_CLI_TEXT,
          &t->forces},
         {"--velocities-first", NULL, "velocities before positions", KD_CLI_FLAG, &o->velocities_first},
         {"--stiff", "W", "derivatives of: elements that say so (default), criterion (found at the start), all",
          KD_CLI_TEXT, &t->stiff},
         {"--refresh", "N", "renew derivatives in N parts, one in each step; default: 1, all of them", KD_CLI_COUNT,
          &o->refresh},
         {"--alpha", "A", "of baumgarte [1/s]; default: 0.1/step", KD_CLI_NUMBER, &o->alpha},
         {"--beta", "B", "of baumgarte, index 1 [1/s^2]; default: alpha^2", KD_CLI_NUMBER, &o->beta},
         {"--epsilon", "E", "of regularisation; default: from the matrices at the start", KD_CLI_POSITIVE, &o->epsilon},
         {"--bound", NULL, "print what a step consists of, from the structure of the model, and do not run", KD_CLI_FLAG,
          &t->bound},
         {"--listen", "PORT", "inputs and outputs by name to a controller on this machine (UDP); 0: any free port",
          KD_CLI_NUMBER, &t->port},
         {"--timeout", "S", "for an answer of the controller [s]; default 1, never beyond the next step",
          KD_CLI_POSITIVE, &t->timeout},
         {"--patience", "S", "for a controller to appear [s]; default 60", KD_CLI_POSITIVE, &t->patience},
         {"--give-up", "N", "answers missing in a row after which the controller is lost; default 1000", KD_CLI_COUNT,
          &t->give_up},
         {"--max-wrong", "N", "answers in a row that are not finite after which the run ends; default 100", KD_CLI_COUNT,
          &t->max_wrong},
         {"--key", "FILE", "shared key of 16 to 256 bytes: words of the controller must carry its code", KD_CLI_TEXT,
          &t->key},
         {"--check-every", "N", "look at constraints and energy every N steps, outside the timed part; default: 1",
          KD_CLI_COUNT, &t->check_every},
         {"--intervals", "N", "output intervals, equally long; default: the model's, 500", KD_CLI_COUNT, &t->intervals},
         {"--output", "DIR", "folder for the results; default: results", KD_CLI_TEXT, &t->folder},
         {"--plots", "A,B,...", "channels that the report shows; default: the model's, or all", KD_CLI_TEXT,
          &t->channels.words},
         {"--no-drawing", NULL, "leave the drawing out of the report", KD_CLI_FLAG, &t->no_drawing},
         {"--plain", NULL, "a small report: plots and drawing without the 3-D viewer", KD_CLI_FLAG, &t->plain},
         {"--start-state", "FILE", "start from a state that was written (DIR/NAME.realtime.state.csv)", KD_CLI_TEXT,
          &t->start_state},
         {"--from", "T", "the state of that file at T [s] or before; default: its last one", KD_CLI_NUMBER, &t->from},
         {"--write-state", "FILE", "write the stepper at the end of the run, for --continue", KD_CLI_TEXT,
          &t->write_state},
         {"--continue", "FILE", "go on with a stepper that was written, with the same bits", KD_CLI_TEXT, &t->go_on},
         {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
         {"--json", NULL, "print the outcome as one JSON object", KD_CLI_FLAG, &t->json},
    };
    kd_cli_option options[MAX_OPTIONS];
    int           count = sizeof own / sizeof *own;
    memcpy(options, own, sizeof own);
    count += kd_subject_options(&t->request, options + count);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan realtime MODEL [OPTION...]",
             .about = ABOUT,
             .details = DETAILS,
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

#define CHOOSE(what, word, list) kd_cli_choose(what, word, list, (int)(sizeof(list) / sizeof *(list)))

// ggl is of index 2, and corrects positions before the velocities are known
static bool ggl_fits(const task *t)
{
    return t->options.index == 2 && !t->options.velocities_first && t->options.jacobian != KD_REALTIME_EXACT;
}

// Words to options
static bool choose_words(task *t)
{
    kd_realtime_options *o = &t->options;
    // unknown words are told with the ones that there are
    int jacobian = t->jacobian ? CHOOSE("jacobian", t->jacobian, JACOBIANS) : (int)o->jacobian;
    int projector = t->projector ? CHOOSE("projector", t->projector, PROJECTORS) : (int)o->projector;
    int forces = t->forces ? CHOOSE("forces", t->forces, FORCES) : 0;
    if (jacobian < 0 || projector < 0 || forces < 0) return false;
    if (t->index > 2) return kd_cli_refuse("--index wants 1 (acceleration level) or 2 (velocity level)");
    if (t->index > 0) o->index = t->index;
    o->jacobian = (kd_realtime_jacobian)jacobian;
    o->projector = (kd_realtime_projector)projector;
    o->ahead = forces == 0;
    // ggl where the rest allows it, else projection
    int stabilisation = t->stabilisation ? CHOOSE("stabilisation", t->stabilisation, STABILISATIONS)
                        : ggl_fits(t)    ? (int)o->stabilisation
                                         : (int)KD_REALTIME_PROJECTION;
    if (stabilisation < 0) return false;
    o->stabilisation = (kd_realtime_stabilisation)stabilisation;
    return true;
}

// only j1 and j2 at the new positions, with stiff elements alone, can renew their derivatives in parts
static bool renews_in_parts(const task *t)
{
    const kd_realtime_options *o = &t->options;
    bool                       matrix = o->jacobian == KD_REALTIME_J1 || o->jacobian == KD_REALTIME_J2;
    return matrix && o->ahead && !o->velocities_first && !(t->stiff && strcmp(t->stiff, "all") == 0);
}

// What has no meaning together is refused, with what works
static bool method_fits(const task *t)
{
    const kd_realtime_options *o = &t->options;
    bool projects = o->stabilisation == KD_REALTIME_PROJECTION || o->stabilisation == KD_REALTIME_GGL;
    bool has_matrix = o->jacobian != KD_REALTIME_EXPLICIT && o->jacobian != KD_REALTIME_J3;
    // stabilisation and its parameters
    if (o->stabilisation == KD_REALTIME_GGL && o->index == 1)
        return kd_cli_refuse("--stabilisation ggl is of index 2; --index 1 works with projection and baumgarte");
    if (o->stabilisation == KD_REALTIME_GGL && !ggl_fits(t))
        return kd_cli_refuse(
            "--stabilisation ggl corrects positions before the velocities are known; --velocities-first "
            "and --jacobian exact work with projection");
    if (o->stabilisation != KD_REALTIME_BAUMGARTE && (o->alpha >= 0 || o->beta >= 0))
        return kd_cli_refuse("--alpha and --beta are for --stabilisation baumgarte");
    if (o->beta >= 0 && o->index == 2) return kd_cli_refuse("--beta is for --index 1; index 2 has --alpha alone");
    if (o->stabilisation != KD_REALTIME_REGULARISATION && o->epsilon >= 0)
        return kd_cli_refuse("--epsilon is for --stabilisation regularisation");
    if (t->projector && !projects) return kd_cli_refuse("--projector is for --stabilisation projection and ggl");
    // derivatives in the matrix
    if (t->stiff && !has_matrix)
        return kd_cli_refuse("--stiff chooses derivatives in the matrix; --jacobian explicit and j3 have none there");
    if (t->stiff && o->jacobian == KD_REALTIME_EXACT && strcmp(t->stiff, "all") != 0)
        return kd_cli_refuse("--jacobian exact takes all derivatives; --stiff chooses those of j1 and j2");
    if (t->forces && (o->velocities_first || (o->jacobian != KD_REALTIME_J1 && o->jacobian != KD_REALTIME_J2)))
        return kd_cli_refuse("--forces is for --jacobian j1 and j2 with positions first; the others have no choice");
    if (o->refresh > 1 && !renews_in_parts(t))
        return kd_cli_refuse("--refresh is for stiff elements of models with --jacobian j1 or j2 and --forces new");
    // everything around the steps
    if (!isnan(t->max_misses) && t->max_misses != floor(t->max_misses))
        return kd_cli_refuse("--max-misses wants a whole number");
    if (!isnan(t->port) && (t->port != floor(t->port) || t->port > 65535))
        return kd_cli_refuse("--listen wants a port from 0 to 65535");
    if (t->key && isnan(t->port)) return kd_cli_refuse("--key is for --listen");
    if (t->priority > 99) return kd_cli_refuse("--priority wants a number from 1 to 99");
    if (!isnan(t->from) && !t->start_state) return kd_cli_refuse("--from is for --start-state");
    return true;
}

// all names are made before anything runs: a folder that is too long is told at once
static bool name_files(task *t)
{
    static const char *const ENDING[] = {".csv", ".html", ".svg", ".post-mortem.txt", ".state.csv"};
    char *const              path[] = {t->csv, t->html, t->svg, t->postmortem, t->states};
    bool                     fits = t->folder[0] != '\0';
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        fits = snprintf(path[i], KD_REALTIME_PATH, "%s/%s.realtime%s", t->folder, t->subject.name, ENDING[i]) <
                   KD_REALTIME_PATH &&
               fits;
    if (!fits) fprintf(stderr, "kardan: '%.60s' cannot be the name of a folder\n", t->folder);
    return fits;
}

// Where to start, how many steps, how many outputs
static bool plan(task *t)
{
    const kd_run_def *run = &t->subject.run;
    char              message[KD_REALTIME_MESSAGE] = "";
    // start: that of the model, or a state that was written
    if (t->start_state) {
        kd_status status = kd_state_create(t->subject.eom, &t->start);
        if (status >= 0)
            status = kd_state_file_load(t->start_state, t->from, t->subject.eom, kd_subject_inputs(&t->subject),
                                        t->start, message, sizeof message);
        if (status < 0) {
            fprintf(stderr, "kardan: --start-state: %s\n", message[0] ? message : kd_status_sentence(status));
            return false;
        }
        t->subject.news[0] = '\0'; // of a start that is not taken
    }
    if (t->go_on && t->start) return kd_cli_refuse("--continue and --start-state are two starts; choose one");
    if (!kd_realtime_saved_read(t)) return false;
    double start = t->start ? t->start->t : t->saved ? kd_saved_time(t->saved) : t->subject.x->t, h = t->options.h;
    // steps: as many as reach the end of the model, or --duration
    if (t->duration < 0) t->duration = run->t_end - start;
    if (!(t->duration > 0)) {
        fprintf(stderr, "kardan: the model ends at t = %.9g s; --duration says how long to go on\n", run->t_end);
        return false;
    }
    // a count of steps is a long, but nobody waits for so many
    if (!(t->duration / h <= MOST_STEPS)) return kd_cli_refuse("these are more than a billion steps");
    // whole steps; one more only if rounding is not the reason
    t->nsteps = (long)fmax(1, ceil(t->duration / h * (1 - 1e-9)));
    if (t->intervals == 0) t->intervals = run->intervals > 0 ? run->intervals : 500;
    if (t->intervals > t->nsteps) t->intervals = (int)t->nsteps;
    return true;
}

// One more element that is stiff, or ("-NAME") that is not
static bool mark_stiff(const task *t, const char *word)
{
    kd_system  *system = t->subject.system;
    int         count = kd_system_loads_count(system), found = 0;
    bool        stiff = word[0] != '-';
    const char *name = stiff ? word : word + 1;
    // a force and a state may have the same name
    for (int i = 0; i < count; i++) {
        if (strcmp(kd_system_load_name(system, i), name) != 0) continue;
        kd_system_set_stiff(system, i, stiff);
        found++;
    }
    if (found > 0) return true;
    // no such element: which was meant?
    const char **names = malloc((size_t)(count + 3) * sizeof *names);
    if (names) {
        for (int i = 0; i < 3; i++) names[i] = STIFF[i];
        for (int i = 0; i < count; i++) names[3 + i] = kd_system_load_name(system, i);
        kd_cli_unknown("force element", name, names, count + 3);
    }
    free(names);
    return false;
}

// Elements that are stiff at the start by how fast they are
static bool apply_criterion(const task *t)
{
    kd_status status = kd_system_choose_stiff(t->subject.system, t->subject.x, t->options.h, 0);
    if (status >= 0) return true;
    fprintf(stderr, "kardan: --stiff criterion: %s; --stiff all works\n", kd_status_sentence(status));
    return false;
}

// Which force elements count as stiff: "elements", "criterion", "all", names, and "-NAME" for what is not
static bool choose_stiff(task *t)
{
    char list[KD_REALTIME_PATH];
    if (!t->stiff) return true;
    // cut in a copy
    snprintf(list, sizeof list, "%s", t->stiff);
    for (char *rest = list, *word; (word = kd_cli_next_word(&rest)) != NULL;) {
        if (strcmp(word, "elements") == 0) continue;
        if (strcmp(word, "all") == 0) {
            t->options.part = KD_PART_ALL;
            continue;
        }
        if (!t->subject.system)
            return kd_cli_refuse("equations written in C say themselves what is stiff; --stiff all takes everything");
        if (strcmp(word, "criterion") == 0 ? !apply_criterion(t) : !mark_stiff(t, word)) return false;
    }
    return true;
}

// The derivatives that the matrix has: " of 4 stiff elements out of 20"
static void describe_part(const task *t, char *text, size_t size)
{
    int count = t->subject.system ? kd_system_loads_count(t->subject.system) : 0, stiff = 0;
    for (int i = 0; i < count; i++) stiff += kd_system_stiff(t->subject.system, i);
    if (t->options.jacobian == KD_REALTIME_EXPLICIT || t->options.jacobian == KD_REALTIME_J3) return;
    if (t->options.part == KD_PART_ALL || t->options.jacobian == KD_REALTIME_EXACT)
        kd_text_append(text, size, " of all elements");
    else if (count > 0)
        kd_text_append(text, size, " of %d stiff element%s out of %d", stiff, stiff == 1 ? "" : "s", count);
    else
        kd_text_append(text, size, " of stiff elements");
}

static void describe_method(task *t)
{
    const kd_realtime_options *o = &t->options;
    const kd_dims              d = kd_eom_dims(t->subject.eom);
    char                      *text = t->method;
    // in the order in which a step works: derivatives, order, forces, constraints
    kd_text(text, sizeof t->method, "%s", JACOBIANS[o->jacobian]);
    describe_part(t, text, sizeof t->method);
    if (o->velocities_first) kd_text_append(text, sizeof t->method, ", velocities first");
    if (!o->ahead) kd_text_append(text, sizeof t->method, ", forces at the old positions");
    if (o->refresh > 1) kd_text_append(text, sizeof t->method, ", renewed in %d parts", o->refresh);
    // without constraints there is nothing to stabilise
    if (d.nlambda + d.nmu == 0) return;
    kd_text_append(text, sizeof t->method, ", index %d, %s", o->index, STABILISATIONS[o->stabilisation]);
    if (o->stabilisation == KD_REALTIME_PROJECTION || o->stabilisation == KD_REALTIME_GGL)
        kd_text_append(text, sizeof t->method, " (matrix: %s)", PROJECTORS[o->projector]);
    if (o->alpha >= 0) kd_text_append(text, sizeof t->method, ", alpha %g", o->alpha);
    if (o->beta >= 0) kd_text_append(text, sizeof t->method, ", beta %g", o->beta);
    if (o->epsilon >= 0) kd_text_append(text, sizeof t->method, ", epsilon %g", o->epsilon);
}

// ---- looking at a state ---------------------------------------------------------------------------------------------

// the last value and the largest one with its time
static void watch(kd_watched *w, double value, double t)
{
    w->last = value;
    if (value > w->most) {
        w->most = value;
        w->most_at = t;
    }
}

// Kinetic and potential energy, and the work since the last look by the trapezoidal rule
static kd_status look_at_energy(task *t, const kd_state *x)
{
    kd_energies e = {0};
    if (!t->has_energy) return KD_OK;
    kd_status status = kd_realtime_energies(t->stepper, &e);
    if (status < 0) return status;
    // W += h/2 (P_last + P)
    if (t->checks == 0) {
        t->energy_start = e.kinetic + e.potential;
    } else {
        double half = 0.5 * (x->t - t->checked_at);
        t->dissipated += half * (t->power.dissipated + e.dissipated);
        t->supplied += half * (t->power.supplied + e.supplied);
    }
    // T + V + dissipated - supplied against the start
    t->power = e;
    t->energy_end = e.kinetic + e.potential;
    t->energy_scale = fmax(t->energy_scale, fmax(fabs(e.kinetic), fmax(fabs(t->dissipated), fabs(t->supplied))));
    watch(&t->balance, fabs(t->energy_end + t->dissipated - t->supplied - t->energy_start), x->t);
    return KD_OK;
}

// constraints and energies of the state that was reached
static kd_status check_state(task *t)
{
    const kd_state    *x = kd_realtime_state(t->stepper);
    kd_realtime_defect defect = {0};
    kd_status          status = kd_realtime_defects(t->stepper, &defect);
    if (status >= 0) status = look_at_energy(t, x);
    if (status < 0) {
        kd_text(t->message, sizeof t->message, "constraints and energies cannot be evaluated at t = %.9g s: %s", x->t,
                kd_realtime_message(t->stepper));
        return status;
    }
    kd_realtime_bound_after(t->below, defect.position);
    watch(&t->position, defect.position, x->t);
    watch(&t->velocity, defect.velocity, x->t);
    watch(&t->auxiliary, defect.auxiliary, x->t);
    t->checks += t->checks == 0 || x->t > t->checked_at; // states, not looks
    t->checked_at = x->t;
    return KD_OK;
}

// One row of the results
static kd_status sample(task *t, bool is_end)
{
    const kd_state *x = kd_realtime_state(t->stepper);
    // checked at this very state already, or now
    kd_status status = x->t > t->checked_at ? check_state(t) : KD_OK; // energies of this very state
    if (status < 0) return status;
    status = kd_certifier_see(t->certifier, NULL, x);
    kd_findings findings = kd_certifier_findings(t->certifier);
    // energies as they were followed from step to step
    findings.kinetic = t->power.kinetic;
    findings.potential = t->power.potential;
    findings.dissipated = t->dissipated;
    findings.supplied = t->supplied;
    findings.balance = t->energy_end + t->dissipated - t->supplied - t->energy_start;
    if (status >= 0) status = kd_recording_add(t->recording, x, &findings);
    if (status < 0) {
        const char *why = kd_recording_message(t->recording);
        kd_text(t->message, sizeof t->message, "output at t = %.9g s failed%s%s", x->t, why[0] ? ": " : "", why);
        return status;
    }
    // a pose that cannot be evaluated is left out of the drawing
    if (t->drawing) kd_drawing_add(t->drawing, t->probe, x->t, is_end);
    // worst cost since the output before, for the plot
    if (t->nsampled < t->intervals + 2) {
        t->peak_time[t->nsampled] = x->t;
        t->peak[t->nsampled++] = t->peak_now;
    }
    t->peak_now = 0;
    return KD_OK;
}

// [s] left before step n is to start
static double time_left(const task *t, long n)
{
    return t->pace.on ? kd_pace_time(&t->pace, n) - kd_cli_seconds() : INFINITY;
}

// The first step behind n with an output: they are equally far apart, and one that came late does not move the others
static long next_output(const task *t, long n)
{
    // k counts outputs: they are at steps k nsteps / intervals, rounded up
    long k = n * t->intervals / t->nsteps + 1;
    return (k * t->nsteps + t->intervals - 1) / t->intervals;
}

// After n steps: check and sample where there is time for it
static kd_status look(task *t, long n)
{
    kd_status status = KD_OK;
    double    started = kd_cli_seconds();
    kd_replay_see(t->replay, kd_realtime_state(t->stepper));
    // constraints and energies: with time to spare for it, or not at all; what was too dear becomes
    // cheaper with time, so that it is tried again
    if (n % t->check_every == 0) {
        if (time_left(t, n) > PRUDENCE * t->check_cost) {
            status = check_state(t);
            t->check_cost = kd_cli_seconds() - started;
        } else {
            t->check_cost *= FORGETTING;
        }
    }
    // a row of the results in the same way
    if (status >= 0 && n >= t->due && n < t->nsteps) {
        if (time_left(t, n) > PRUDENCE * t->sample_cost) {
            started = kd_cli_seconds();
            status = sample(t, false);
            t->sample_cost = kd_cli_seconds() - started;
            t->due = next_output(t, n);
        } else {
            t->sample_cost *= FORGETTING;
        }
    }
    // for the bound: the state before a step that is checked
    if ((n + 1) % t->check_every == 0) kd_realtime_bound_before(t->below);
    if (t->progress.on && time_left(t, n) > PROGRESS_TIME)
        kd_progress_show(&t->progress, kd_realtime_state(t->stepper)->t, n);
    return status;
}

// ---- running --------------------------------------------------------------------------------------------------------

static kd_status one_step(task *t, long n)
{
    // inputs as the controller last gave them; their rates by differences
    for (int i = 0; i < kd_eom_dims(t->subject.eom).nu; i++) { // rates as kd_realtime_step takes them
        t->applied_rate[i] = n > 0 ? (t->inputs[i] - t->applied[i]) / t->options.h : 0;
        t->applied[i] = t->inputs[i];
    }
    // the step, and nothing else, between the two looks at the clock
    kd_pace_wait(&t->pace, n);
    double    begun = kd_cli_seconds();
    kd_status status = kd_realtime_step(t->stepper, t->line ? t->inputs : NULL, t->outputs);
    double    ended = kd_cli_seconds(), time = kd_realtime_state(t->stepper)->t;
    if (status < 0) {
        kd_text(t->message, sizeof t->message, "%s", kd_realtime_message(t->stepper));
        return status;
    }
    // cost, and how late it began
    kd_timing_add(&t->cost, ended - begun, time);
    t->peak_now = fmax(t->peak_now, ended - begun);
    if (t->pace.on) kd_timing_add(&t->lateness, fmax(0, begun - kd_pace_time(&t->pace, n)), time);
    if (status == KD_STOPPED) { // as good an end as any
        t->ended = true;
        kd_text(t->message, sizeof t->message, "%s", kd_realtime_message(t->stepper));
    }
    // missed: ended behind its deadline
    bool late = status == KD_LATE || (t->pace.on && ended > kd_pace_time(&t->pace, n) + t->options.deadline);
    if (late && t->misses++ == 0) t->first_miss = time;
    return KD_OK;
}

// step, exchange with the controller, look; in this order, so that answers have the whole rest of the step
static kd_status run_steps(task *t)
{
    kd_status status = KD_OK;
    long      n = 0;
    for (; status >= 0 && n < t->nsteps && !t->ended && !kd_cli_is_interrupted(); n++) {
        status = one_step(t, n);
        if (status >= 0 && t->line) status = kd_realtime_exchange(t, n + 1, time_left(t, n + 1));
        if (status >= 0) status = look(t, n + 1);
    }
    return status >= 0 && !t->ended && n < t->nsteps ? KD_STOPPED : status;
}

// Inputs as they act: the model's, and those of the controller as they were at the last step
static kd_eval eval_held(double time, void *context, double *u, double *du, double *ddu)
{
    task     *t = context;
    const int nu = kd_eom_dims(t->subject.eom).nu;
    for (int i = 0; i < nu; i++) u[i] = du[i] = ddu[i] = 0;
    // those of the model first
    if (t->subject.inputs.eval) {
        kd_eval answer = t->subject.inputs.eval(time, t->subject.inputs.context, u, du, ddu);
        if (answer != KD_EVAL_OK) return answer;
    }
    // external ones as they were applied
    for (int i = 0; i < nu; i++)
        if (t->external[i]) u[i] = t->applied[i], du[i] = t->applied_rate[i], ddu[i] = 0;
    return KD_EVAL_OK;
}

// Arrays of ports; inputs start as the model says
static kd_status make_ports(task *t)
{
    const kd_subject *s = &t->subject;
    const kd_dims     d = kd_eom_dims(s->eom);
    // one array: inputs for the next step, applied, two derivatives as scratch, applied rates
    const size_t nu = (size_t)d.nu + 1;
    t->external = calloc(nu, sizeof *t->external);
    t->outputs = calloc((size_t)d.ny + 1, sizeof *t->outputs);
    t->inputs = calloc(5 * nu, sizeof *t->inputs);
    if (!t->external || !t->outputs || !t->inputs) return KD_ERR_MEMORY;
    t->applied = t->inputs + nu;
    t->applied_rate = t->inputs + 4 * nu;
    // inputs start with the values of the model
    t->held = (kd_inputs){eval_held, t};
    if (s->inputs.eval &&
        s->inputs.eval(s->x->t, s->inputs.context, t->inputs, t->inputs + 2 * nu, t->inputs + 3 * nu) != KD_EVAL_OK)
        return KD_ERR_CALLBACK_STOP;
    memcpy(t->applied, t->inputs, nu * sizeof *t->inputs);
    return KD_OK;
}

// The stepper at the start: made for the model's start, and taken from there to a state that was read
static kd_status make_stepper(task *t)
{
    const kd_subject *s = &t->subject;
    // external inputs are known now
    t->options.external = t->external;
    if (t->options.deadline <= 0) t->options.deadline = t->options.h;
    kd_status status =
        kd_realtime_create(s->eom, kd_subject_inputs(s), &t->options, s->x, &t->stepper, t->message, sizeof t->message);
    // news of the start are kept for the summary
    if (status > 0) snprintf(t->news, sizeof t->news, "%s", t->message);
    if (status >= 0) t->message[0] = '\0';
    if (status >= 0 && t->start) status = kd_realtime_restore(t->stepper, t->start);
    if (status >= 0) status = kd_realtime_saved_go_on(t);
    return status;
}

static kd_status prepare_run(task *t)
{
    const kd_subject *s = &t->subject;
    const int         room = t->intervals + 2;
    kd_status         status = kd_cli_make_folder(t->folder, t->message, sizeof t->message); // before anything runs
    // everything that a run needs, so that nothing is allocated in the loop
    t->peak = malloc((size_t)room * sizeof *t->peak);
    t->peak_time = malloc((size_t)room * sizeof *t->peak_time);
    if (status >= 0 && (!t->peak || !t->peak_time)) status = KD_ERR_MEMORY;
    if (status >= 0) status = kd_certifier_create_by(t->probe, &t->certifier);
    if (status >= 0) status = kd_replay_create(s->eom, &t->replay);
    if (status >= 0 && s->system && !t->no_drawing)
        status = kd_drawing_create(s->system, t->intervals + 1, &t->drawing);
    // the controller first: its ports decide which inputs are external
    if (status >= 0 && !isnan(t->port)) {
        kd_cli_watch_signals();
        status = kd_realtime_listen(t);
    }
    if (status >= 0) status = make_stepper(t);
    if (status >= 0 && kd_realtime_bound_create(t->stepper, &t->below) == KD_ERR_MEMORY) status = KD_ERR_MEMORY;
    if (status >= 0) status = kd_realtime_bound_reserve(t->below, t->nsteps);
    // last of all: from here on this program goes before others
    if (status >= 0 && t->priority > 0) status = kd_pace_priority(t->priority, t->message, sizeof t->message);
    return status;
}

static void run_in_time(task *t)
{
    t->status = prepare_run(t);
    if (t->status < 0) return;
    // what a look and a row cost, before the clock counts
    const kd_state *x = kd_realtime_state(t->stepper);
    t->has_energy = kd_eom_definition(t->subject.eom)->energies != NULL;
    t->status = check_state(t);
    double started = kd_cli_seconds();
    if (t->status >= 0) t->status = check_state(t); // once more, now that all is warm
    t->check_cost = kd_cli_seconds() - started;
    started = kd_cli_seconds();
    if (t->status >= 0) t->status = sample(t, false);
    t->sample_cost = kd_cli_seconds() - started;
    t->due = next_output(t, 0);
    if (t->status < 0) return;
    // all steps against the clock
    kd_progress_start(&t->progress, !t->quiet && !t->json, x->t, x->t + (double)t->nsteps * t->options.h);
    kd_cli_watch_signals();
    kd_pace_start(&t->pace, !t->fast, t->options.h);
    t->status = run_steps(t);
    t->wall_seconds = kd_cli_seconds() - t->pace.start;
    if (t->priority > 0) kd_pace_relax();
    kd_progress_end(&t->progress);
    // the place where the run ended, also after a failure or a stop
    char      message[KD_REALTIME_MESSAGE];
    kd_status status = t->status;
    t->exploded = kd_certifier_certificate(t->certifier).exploded;
    snprintf(message, sizeof message, "%s", t->message);
    if (status >= 0) status = t->status = kd_realtime_saved_write(t) < 0 ? KD_ERR_FILE : status;
    if (status < 0) snprintf(message, sizeof message, "%s", t->message);
    // no hurry any more: nothing is left out
    t->pace.on = false;
    kd_status last = check_state(t);
    if (last >= 0) last = sample(t, true);
    if (last >= 0 && (last = kd_realtime_bound_look(t->below)) < 0)
        kd_text(t->message, sizeof t->message, "the constants of the bound of the position error cannot be evaluated");
    if (status < 0 || (t->ended && last >= 0))
        snprintf(t->message, sizeof t->message, "%s", message); // that one matters
    else if (last < 0)
        t->status = last;
    else if (status == KD_STOPPED)
        kd_text(t->message, sizeof t->message, "interrupted at t = %.9g s; summary and results so far are kept",
                kd_realtime_state(t->stepper)->t);
}

// ---- command --------------------------------------------------------------------------------------------------------

static void release(task *t)
{
    kd_realtime_bound_destroy(t->below);
    kd_realtime_destroy(t->stepper);
    kd_recording_destroy(t->recording);
    kd_drawing_destroy(t->drawing);
    kd_certifier_destroy(t->certifier);
    kd_probe_destroy(t->probe);
    kd_replay_destroy(t->replay);
    kd_state_destroy(t->start);
    kd_saved_destroy(t->saved);
    kd_realtime_hang_up(t);
    free(t->external);
    free(t->outputs);
    free(t->inputs);
    free(t->peak);
    free(t->peak_time);
    kd_subject_close(&t->subject);
}

// what happened, what may help, where more is said
static void tell_failure(const task *t)
{
    const char *advice = kd_realtime_advice(t);
    fprintf(stderr, "kardan: %s: %s\n", t->subject.name, kd_status_sentence(t->status));
    if (t->message[0]) fprintf(stderr, "  %s\n", t->message);
    if (advice[0]) fprintf(stderr, "  try: %s\n", advice);
    if (t->has_postmortem) fprintf(stderr, "  post-mortem: %s\n", t->postmortem);
}

// the stepper knows its matrices: no step is made
static int show_bound(task *t)
{
    t->status = make_stepper(t);
    if (t->status < 0) {
        tell_failure(t);
        return KD_EXIT_FAILED;
    }
    kd_realtime_tell_bound(t);
    return KD_EXIT_OK;
}

static int simulate(task *t)
{
    run_in_time(t);
    // a run that failed has rows up to there
    bool has_result = t->stepper && kd_recording_length(t->recording) > 0;
    bool written = has_result && kd_realtime_write(t);
    kd_realtime_write_postmortem(t);
    if (t->json)
        kd_realtime_tell_json(t, written);
    else if (!t->quiet && has_result)
        kd_realtime_tell(t, written);
    if (t->status < 0) tell_failure(t);
    if (t->status < 0 || !written) return KD_EXIT_FAILED;
    if (t->status == KD_STOPPED) {
        fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->message);
        return KD_EXIT_INTERRUPTED;
    }
    // NaN: any number of late steps will do
    if (!((double)t->misses > t->max_misses)) return KD_EXIT_OK;
    fprintf(stderr, "kardan: %s: %ld steps were late, first at t = %.9g s; --max-misses permits %.0f\n",
            t->subject.name, t->misses, t->first_miss, t->max_misses);
    return KD_EXIT_LIMIT;
}

int kd_cli_realtime(int argc, char **argv)
{
    static task t; // of this one command; large
    t = (task){.folder = "results",
               .duration = -1,
               .from = NAN,
               .max_misses = NAN,
               .check_every = 1,
               .port = NAN,
               .timeout = 1,
               .patience = 60,
               .give_up = 1000,
               .max_wrong = 100,
               .options = kd_realtime_options_default(),
               .argc = argc,
               .argv = argv};
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status = KD_EXIT_USAGE;
    // before the file is read
    if (!choose_words(&t) || !method_fits(&t) || !kd_plot_channels_split(&t.channels, &t.request.watch)) goto done;
    if (!kd_subject_open(&t.subject, &t.request, &status)) goto done;
    // words first, then the file: a mistake is told before it is read
    status = KD_EXIT_USAGE;
    if (!choose_stiff(&t)) goto done;
    // ports, then either the work of a step or a run
    describe_method(&t);
    if (make_ports(&t) < 0) {
        fputs("kardan: the inputs cannot be evaluated at the start\n", stderr);
        status = KD_EXIT_FAILED;
        goto done;
    }
    if (t.bound) {
        status = show_bound(&t);
        goto done;
    }
    if (!plan(&t) || !name_files(&t)) goto done;
    // one more for the place where a run fails or is stopped, one for the start
    if (kd_subject_probe(&t.subject, &t.held, &t.probe) < 0 ||
        kd_recording_create(t.probe, t.intervals + 2, &t.recording) < 0) {
        fputs("kardan: no memory for the results; --intervals makes them smaller\n", stderr);
        status = KD_EXIT_FAILED;
        goto done;
    }
    if (kd_plot_channels_choose(&t.channels, t.recording, &t.subject)) status = simulate(&t);
done:
    release(&t);
    return status;
}
