// trim.c: kardan trim: inputs and parameters that hold a position, or a steady motion.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/equilibrium.h"
#include "cli/method.h"
#include "core/shortest.h"
#include "core/text.h"
#include "model/model.h"

enum { PATH_SIZE = 4096, MESSAGE_SIZE = 1200, NAME_SIZE = 200, MOST = 64, TEXT_SIZE = 4096 };

// one search for a steady state
typedef struct quest {
    kd_subject_request    request;
    kd_subject            subject;
    kd_equilibrium_result result;
    const char           *folder, *adjust, *hold, *release;
    bool                  moving, json;
    kd_adjustable         list[MOST];
    int                   count;
    double                first[MOST]; // values before
    bool                 *free_p, *free_v;
    double                rate; // of a steady turn [rad/s]; NaN: none
    kd_turn               turn;
    // parameters of a model file: the model is read once more, with these as --set, and changed from then on
    char       parameter[MOST][NAME_SIZE];
    int        nparameters;
    char       setting[MOST][NAME_SIZE + 40];
    kd_subject made;
    char       message[MESSAGE_SIZE], path[PATH_SIZE];
} quest;

static kd_cli_parsed read_arguments(quest *q, int argc, char **argv)
{
    kd_cli_option options[7 + KD_SUBJECT_OPTIONS] = {
        {"--adjust", "A,B,...", "inputs and parameters that may change", KD_CLI_TEXT, &q->adjust},
        {"--hold", "A,B,...", "coordinates that are held; default: all", KD_CLI_TEXT, &q->hold},
        {"--free", "A,B,...", "coordinates and velocities that may change; default: none", KD_CLI_TEXT, &q->release},
        {"--moving", NULL, "hold the velocities of the start, without acceleration; default: rest", KD_CLI_FLAG,
         &q->moving},
        {"--turn", "RATE", "a steady turn [rad/s] with the speed of the start, to the left; negative: to the right",
         KD_CLI_SIGNED, &q->rate},
        {"--output", "DIR", "folder for the state; default: results", KD_CLI_TEXT, &q->folder},
        {"--json", NULL, "print the outcome as one JSON object", KD_CLI_FLAG, &q->json},
    };
    int                      count = 7 + kd_subject_options(&q->request, options + 7);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan trim MODEL --adjust NAME,... [OPTION...]",
             .about = "Find the inputs and parameters with which MODEL stays in the position of its start, or moves on\n"
                           "steadily, straight on (--moving) or in a turn (--turn). Where they are not determined, the\n"
                           "smallest change is taken. Writes the state (DIR/NAME.trim.state.csv).",
             .details = "A name also stands for all names that begin with it: joint.steering for joint.steering.q.\n"
                             "In a turn all coordinates but the place are free, and the velocities that are not zero at the\n"
                             "start, unless --hold or --free say otherwise.\n\n"
                             "Examples:\n"
                             "  kardan trim models/passenger-car.yaml --moving --adjust steer\n"
                             "  kardan trim models/closed-loop-car.yaml --adjust push --hold joint.body.q3\n"
                             "  kardan trim models/closed-loop-car.yaml --turn 0.2 --adjust angle,torque\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &q->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// An increment has the name of its coordinate, that of a rotation the name of its angular velocity
static const char *increment_name(const quest *q, int i, char *name, size_t size)
{
    // joint.hinge.v -> joint.hinge.q, body.cab.com_v.x -> body.cab.com.x
    char *place;
    kd_eom_name(q->subject.eom, KD_NAME_V, i, name, size);
    if ((place = strstr(name, ".com_v."))) memmove(place + 4, place + 6, strlen(place + 6) + 1);
    if ((place = strrchr(name, '.')) && place[1] == 'v') place[1] = 'q';
    return name;
}

// Does the word name this, or begin its name?
static bool names(const char *word, const char *name)
{
    const size_t length = strlen(word);
    return strncmp(word, name, length) == 0 && (name[length] == '\0' || strchr(". [", name[length]));
}

static bool refuse_name(const char *option, const char *word)
{
    fprintf(stderr, "kardan: %s: the model has no '%s'; kardan info --channels lists the names\n", option, word);
    return false;
}

// one word may stand for several inputs
static bool find_adjustable(quest *q, const char *word)
{
    static const kd_kind KIND[] = {KD_NAME_U, KD_NAME_THETA};
    static const kd_var  VAR[] = {KD_U, KD_THETA};
    const kd_dims        n = kd_eom_dims(q->subject.eom);
    const int            size[] = {n.nu, q->subject.model ? 0 : n.ntheta}; // inputs of a model depend on them, too
    const int            before = q->count;
    char                 name[NAME_SIZE];
    // inputs, and parameters of equations written in C
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < size[k] && q->count < MOST; i++) {
            kd_eom_name(q->subject.eom, KIND[k], i, name, sizeof name);
            const char *tail = strncmp(name, "input.", 6) == 0 ? name + 6 : name;
            if (names(word, name) || strcmp(word, tail) == 0)
                q->list[q->count++] = (kd_adjustable){.kind = VAR[k], .index = i};
        }
    // parameters of a model file
    if (q->count == before && q->subject.model && q->count < MOST) {
        const kd_parameter *parameter = kd_model_parameter(q->subject.model, word);
        if (!parameter) return refuse_name("--adjust", word);
        snprintf(q->parameter[q->nparameters], NAME_SIZE, "%s", word);
        q->list[q->count++] =
            (kd_adjustable){.kind = KD_VAR_COUNT, .index = q->nparameters++, .value = parameter->value};
    }
    return q->count > before || refuse_name("--adjust", word);
}

// ---- parameters of a model file -------------------------------------------------------------------------------------

// such a setting is replaced, not repeated
static bool is_adjusted_setting(const quest *q, const char *setting)
{
    for (int i = 0; i < q->nparameters; i++) {
        const size_t length = strlen(q->parameter[i]);
        if (strncmp(setting, q->parameter[i], length) == 0 && setting[length] == '=') return true;
    }
    return false;
}

// The model with other values of the adjusted parameters
static kd_status make_equations(const double *value, void *context, const kd_eom **eom, const kd_inputs **inputs)
{
    quest             *q = context;
    kd_subject_request request = q->request;
    const char        *name[MOST];
    int                status;
    for (int i = 0; i < q->nparameters; i++) name[i] = q->parameter[i];
    // in place where the system can take them over
    if (q->made.system && kd_subject_change(&q->made, q->nparameters, name, value)) {
        *eom = q->made.eom;
        *inputs = kd_subject_inputs(&q->made);
        return KD_OK;
    }
    // else the file again, with these settings in place of the old ones
    request.settings.count = 0;
    request.unassembled = true; // positions are those of the search
    for (int i = 0; i < q->request.settings.count; i++)
        if (!is_adjusted_setting(q, q->request.settings.word[i]))
            request.settings.word[request.settings.count++] = q->request.settings.word[i];
    if (request.settings.count + q->nparameters > KD_CLI_LONGEST_LIST) return KD_ERR_ARGUMENT;
    for (int i = 0; i < q->nparameters; i++) {
        char text[sizeof q->setting[i]] = ""; // of its own: parameter and setting are parts of one object
        kd_text(text, sizeof text, "%s=%.17g", q->parameter[i], value[i]);
        memcpy(q->setting[i], text, sizeof text);
        request.settings.word[request.settings.count++] = q->setting[i];
    }
    kd_subject_close(&q->made); // values that a system cannot take over: what is read may be another one
    if (!kd_subject_open(&q->made, &request, &status)) return KD_ERR_MODEL;
    *eom = q->made.eom;
    *inputs = kd_subject_inputs(&q->made);
    return KD_OK;
}

// all names that begin with the word
static bool mark(quest *q, const char *option, const char *word, bool *p, bool *v, bool value)
{
    const kd_dims n = kd_eom_dims(q->subject.eom);
    char          name[NAME_SIZE];
    bool          found = false;
    for (int i = 0; i < n.nv; i++) {
        // velocities by their names, positions by their own or those of their increments
        if (v && names(word, kd_eom_name(q->subject.eom, KD_NAME_V, i, name, sizeof name))) v[i] = found = true;
        bool is = n.np == n.nv && names(word, kd_eom_name(q->subject.eom, KD_NAME_P, i, name, sizeof name));
        // with Euler parameters places and increments differ
        is = is || (n.np != n.nv && (names(word, kd_eom_name(q->subject.eom, KD_NAME_V, i, name, sizeof name)) ||
                                     names(word, increment_name(q, i, name, sizeof name))));
        if (is) p[i] = value;
        found = found || is;
    }
    return found || refuse_name(option, word);
}

// a list that is cut word by word
static bool split(quest *q, const char *option, const char *list, bool value)
{
    char text[TEXT_SIZE], *rest = text;
    if (!list) return true;
    if (snprintf(text, sizeof text, "%s", list) >= TEXT_SIZE) {
        fprintf(stderr, "kardan: the list of %s is longer than %d characters\n", option, TEXT_SIZE - 1);
        return false;
    }
    for (char *word; (word = kd_cli_next_word(&rest));)
        if (!mark(q, option, word, q->free_p, value ? q->free_v : NULL, value)) return false;
    return true;
}

static bool read_words(quest *q)
{
    const kd_dims n = kd_eom_dims(q->subject.eom);
    char          text[TEXT_SIZE], *rest = text;
    // what may change must be said
    if (!q->adjust || snprintf(text, sizeof text, "%s", q->adjust) >= TEXT_SIZE) {
        if (q->adjust)
            fprintf(stderr, "kardan: the list of --adjust is longer than %d characters\n", TEXT_SIZE - 1);
        else
            fputs("kardan: trim needs --adjust NAME,...\n", stderr);
        return false;
    }
    // inputs and parameters, then what is held or free
    for (char *word; (word = kd_cli_next_word(&rest));)
        if (!find_adjustable(q, word)) return false;
    q->free_p = calloc((size_t)n.nv + 1, sizeof *q->free_p);
    q->free_v = calloc((size_t)n.nv + 1, sizeof *q->free_v);
    if (!q->free_p || !q->free_v) {
        fputs("kardan: out of memory\n", stderr);
        return false;
    }
    // --hold frees all others; a turn frees all but the place
    for (int i = 0; q->hold && i < n.nv; i++) q->free_p[i] = true;
    if (!isnan(q->rate)) {
        if (!q->subject.model || q->subject.coordinates != KD_JOINT ||
            !kd_turn_find(q->subject.eom, q->rate, &q->turn)) {
            fputs(
                "kardan: --turn needs a model in joint coordinates with a body that moves freely or in a plane (joints "
                "free, planar)\n",
                stderr);
            return false;
        }
        if (!q->hold && !q->release) kd_turn_release(q->subject.eom, &q->turn, q->subject.x, q->free_p, q->free_v);
    }
    return split(q, "--hold", q->hold, false) && split(q, "--free", q->release, true);
}

// First guess: the values at the start
static bool read_values(quest *q)
{
    const kd_subject *s = &q->subject;
    const kd_dims     n = kd_eom_dims(s->eom);
    const kd_inputs  *inputs = kd_subject_inputs(s);
    const double     *theta = s->x->theta ? s->x->theta : kd_eom_definition(s->eom)->theta;
    double           *u = calloc(3 * (size_t)n.nu + 1, sizeof *u);
    bool              good = u != NULL;
    // inputs of the start; parameters as they are now
    if (good && inputs) good = inputs->eval(s->x->t, inputs->context, u, u + n.nu, u + 2 * n.nu) == KD_EVAL_OK;
    for (int i = 0; good && i < q->count; i++) {
        const double *from = q->list[i].kind == KD_U ? u : theta;
        if (q->list[i].kind != KD_VAR_COUNT) q->list[i].value = from ? from[q->list[i].index] : 0;
        q->first[i] = q->list[i].value;
    }
    free(u);
    return good;
}

// of a parameter of the file, an input, a parameter in C
static const char *name_of(const quest *q, int i, char *name, size_t size)
{
    if (q->list[i].kind == KD_VAR_COUNT) return q->parameter[q->list[i].index];
    return kd_eom_name(q->subject.eom, q->list[i].kind == KD_U ? KD_NAME_U : KD_NAME_THETA, q->list[i].index, name,
                       size);
}

// the outcome also where none was found
static void tell_json(const quest *q, kd_status status)
{
    kd_json json = {.file = stdout};
    char    name[NAME_SIZE];
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", q->request.word);
    kd_json_text(&json, "status", kd_status_name(status));
    kd_json_text(&json, "message", q->message);
    kd_json_number(&json, "residual", q->result.residual);
    if (status >= 0) {
        kd_json_open(&json, "adjusted");
        for (int i = 0; i < q->count; i++) kd_json_number(&json, name_of(q, i, name, sizeof name), q->list[i].value);
        kd_json_close(&json);
        kd_json_text(&json, "state", q->path);
    }
    kd_json_close(&json);
    printf("\n");
}

// With the values of parameters as another command takes them
static void tell_text(const quest *q)
{
    char name[NAME_SIZE];
    printf("%s: %s\n\nAdjusted\n", q->subject.name, q->message);
    for (int i = 0; i < q->count; i++)
        printf("  %-40s %18.10g   from %.10g\n", name_of(q, i, name, sizeof name), q->list[i].value, q->first[i]);
    char number[KD_SHORTEST_SIZE];
    printf("\nState: %s\n", q->path);
    if (q->nparameters == 0) return;
    // the command that goes on from here, with values to the last bit
    printf("Go on: kardan simulate %s --start-state %s", q->request.word, q->path);
    for (int i = 0; i < q->request.settings.count; i++)
        if (!is_adjusted_setting(q, q->request.settings.word[i])) printf(" --set %s", q->request.settings.word[i]);
    for (int i = 0; i < q->count; i++)
        if (q->list[i].kind == KD_VAR_COUNT)
            printf(" --set %s=%s", q->parameter[q->list[i].index], kd_shortest_text(q->list[i].value, number));
    printf("\n");
}

static int find_trim(quest *q)
{
    kd_subject     *s = &q->subject;
    const kd_dims   n = kd_eom_dims(s->eom);
    kd_trim_options opt = kd_trim_options_default();
    // parameters change the equations themselves: kd_trim asks for them by their values
    const kd_family family = {.n = q->nparameters, .make = make_equations, .context = q};
    opt.free_p = q->free_p;
    opt.free_v = q->free_v;
    opt.turn = isnan(q->rate) ? NULL : &q->turn;
    opt.family = q->nparameters > 0 ? &family : NULL;
    // steady: a = 0, and v = 0 unless it moves
    memset(s->x->a, 0, (size_t)n.nv * sizeof(double));
    if (!q->moving && !opt.turn) memset(s->x->v, 0, (size_t)n.nv * sizeof(double));
    kd_status status =
        kd_trim(s->eom, kd_subject_inputs(s), &opt, s->x, q->list, q->count, &q->result, q->message, sizeof q->message);
    if (status >= 0 && !kd_cli_save_state(s, q->folder, "trim", q->path, sizeof q->path)) return KD_EXIT_FAILED;
    if (q->json) tell_json(q, status);
    if (status < 0) {
        fprintf(stderr, "kardan: %s: %s\n", s->name, q->message[0] ? q->message : kd_status_sentence(status));
        return KD_EXIT_FAILED;
    }
    if (!q->json) tell_text(q);
    return KD_EXIT_OK;
}

int kd_cli_trim(int argc, char **argv)
{
    static quest q; // of this one command; large
    q = (quest){.folder = "results", .rate = NAN};
    kd_cli_parsed parsed = read_arguments(&q, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status;
    if (kd_subject_open(&q.subject, &q.request, &status)) {
        status = KD_EXIT_USAGE;
        // words that are wrong are a matter of usage
        if (read_words(&q)) status = read_values(&q) ? find_trim(&q) : KD_EXIT_FAILED;
    }
    free(q.free_p);
    free(q.free_v);
    kd_subject_close(&q.made);
    kd_subject_close(&q.subject);
    return status;
}
