// connections_file.c: how the systems of a co-simulation hang together, of its file (systems_file.c): connections with their units,
// pairs of energy, rigid joints, and the master that runs them.
#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "core/text.h"
#include "cosim/cosim.h"
#include "cosim/systems_file.h"
#include "expr/quantity.h"
#include "modelfile/node_values.h"

enum { MOST_JOINTS = KD_COSIM_MOST_ROWS / 3 };

typedef kd_cosim_reader reader;

static int find_system(reader *r, const kd_node *node, size_t length)
{
    const kd_cosim *c = r->cosim;
    const char     *names[KD_COSIM_MOST_SYSTEMS], *text = node->text;
    char            word[100];
    for (int i = 0; i < c->nsystems; i++) {
        names[i] = c->system[i]->name;
        if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) return i;
    }
    kd_text(word, sizeof word, "%.*s", (int)(length < 90 ? length : 90), text);
    const char *meant = kd_nearest_word(word, names, c->nsystems);
    kd_file_findings_add(&r->findings, node->line, node->column, "there is no system '%s'%s%s%s", word,
                         meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    return -1;
}

// "system.port" of a node: the system; *port is what stands behind the point
static int split(reader *r, const kd_node *node, const char **port)
{
    if (!kd_cosim_is_scalar(r, node, "'system.port' is expected here")) return -1;
    const char *point = strchr(node->text, '.');
    if (!point || !point[1]) {
        kd_cosim_say(r, node, "'system.port' is expected here");
        return -1;
    }
    *port = point + 1;
    return find_system(r, node, (size_t)(point - node->text));
}

static const char *nearest_port(const char *word, const kd_port *port, int n)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; i < n; i++) kd_nearest_offer(&nearest, port[i].name);
    return nearest.best;
}

static void say_no_port(reader *r, const kd_node *node, const kd_cosim_system *s, bool input, const char *name)
{
    const char *meant = input ? nearest_port(name, s->input, s->ninputs) : nearest_port(name, s->output, s->noutputs);
    kd_file_findings_add(&r->findings, node->line, node->column, "system '%s' has no %s '%s'%s%s%s", s->name,
                         input ? "input" : "output", name, meant ? "; did you mean '" : "", meant ? meant : "",
                         meant ? "'?" : "");
}

static bool find_input(reader *r, const kd_node *node, int *system, int *input)
{
    const char *name;
    if ((*system = split(r, node, &name)) < 0) return false;
    const kd_cosim_system *s = r->cosim->system[*system];
    for (*input = 0; *input < s->ninputs; (*input)++)
        if (strcmp(s->input[*input].name, name) == 0) return true;
    say_no_port(r, node, s, true, name);
    return false;
}

static bool find_output(reader *r, const kd_node *node, int *system, int *output)
{
    const char *name;
    if ((*system = split(r, node, &name)) < 0) return false;
    kd_cosim_system *s = r->cosim->system[*system];
    *output = -1;
    if (s->class->find_output)
        *output = s->class->find_output(s, name);
    else
        for (int i = 0; i < s->noutputs; i++)
            if (strcmp(s->output[i].name, name) == 0) *output = i;
    if (*output >= 0) return true;
    say_no_port(r, node, s, false, name);
    return false;
}

// ---- connections ----------------------------------------------------------------------------------------------------

// The factor between the units of both ends, where both are known; false: they do not fit
static bool match_units(const char *from, const char *to, double *factor)
{
    kd_unit a, b;
    char    why[300];
    int     column;
    *factor = 1;
    if (!from[0] || !to[0] || strcmp(from, to) == 0) return true;
    const bool plain_a = strcmp(from, "1") == 0, plain_b = strcmp(to, "1") == 0;
    if (plain_a || plain_b) return plain_a == plain_b;
    if (!kd_unit_parse(from, NULL, &a, &column, why, sizeof why)) return true;
    if (!kd_unit_parse(to, NULL, &b, &column, why, sizeof why)) return true;
    if (memcmp(a.dimension, b.dimension, sizeof a.dimension) != 0) return false;
    *factor = a.factor / b.factor * pow(10, a.decimal - b.decimal);
    return true;
}

static void read_connection(reader *r, const kd_node *key, const kd_node *value)
{
    static const char *const KEYS[] = {"from", "factor"};
    kd_cosim                *c = r->cosim;
    kd_connection            l = {.factor = 1};
    double                   factor = 1, units;
    const kd_node           *from = value;
    // short form: the output alone; long form with a factor
    if (value->type == KD_NODE_MAP) {
        (void)KD_NODE_IS_MAP(&r->findings, value, KEYS);
        kd_node_number_of(&r->findings, value, "factor", "", &factor);
        from = kd_node_find(value, "from");
        if (!from) {
            kd_cosim_say(r, value, "a connection tells from which output: {from: system.output, factor: 2}");
            return;
        }
    }
    // both ends must be there before their units can be compared
    const bool input = find_input(r, key, &l.to, &l.input), output = find_output(r, from, &l.from, &l.output);
    if (!input || !output) return;
    kd_cosim_system *a = c->system[l.from], *b = c->system[l.to];
    // a factor between units of one dimension belongs to the connection
    if (!match_units(a->output[l.output].unit, b->input[l.input].unit, &units)) {
        kd_file_findings_add(&r->findings, from->line, from->column, "the output is in %s, the input '%s' in %s",
                             a->output[l.output].unit, key->text, b->input[l.input].unit);
        return;
    }
    // an input that tells no unit takes that of its output
    if (!b->input[l.input].unit[0]) b->input[l.input].unit = a->output[l.output].unit;
    l.factor = factor * units;
    // a model frees the input from its own value
    if (b->class->drive) b->class->drive(b, l.input);
    c->connection[c->nconnections++] = l;
}

void kd_cosim_read_connections(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    if (node->n > KD_COSIM_MOST_CONNECTIONS) {
        kd_cosim_say(r, node, "there are too many connections");
        return;
    }
    c->connection = kd_arena_cut(&c->arena, (size_t)node->n + 1, sizeof *c->connection);
    for (int i = 0; c->connection && i < node->n; i++) read_connection(r, &node->item[2 * i], &node->item[2 * i + 1]);
}

static int connection_of(reader *r, const kd_node *node)
{
    int system, input;
    if (!find_input(r, node, &system, &input)) return -1;
    for (int k = 0; k < r->cosim->nconnections; k++)
        if (r->cosim->connection[k].to == system && r->cosim->connection[k].input == input) return k;
    kd_cosim_say(r, node, "nothing is connected with this input");
    return -1;
}

void kd_cosim_read_energy(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    // a list of pairs
    if (node->type != KD_NODE_LIST) {
        kd_cosim_say(r, node, "a list of pairs of inputs is expected here: [[a.force, b.velocity]]");
        return;
    }
    for (int i = 0; i < node->n; i++) {
        const kd_node *pair = &node->item[i];
        if (pair->type != KD_NODE_LIST || pair->n != 2 || c->nbonds == KD_COSIM_MOST_BONDS) {
            kd_cosim_say(r, pair,
                         c->nbonds == KD_COSIM_MOST_BONDS ? "there are too many pairs"
                                                          : "two inputs are expected here");
            return;
        }
        const kd_bond bond = {connection_of(r, &pair->item[0]), connection_of(r, &pair->item[1])};
        if (bond.effort < 0 || bond.flow < 0) continue;
        // each system of a pair must be told by the other: only then effort times flow is a power between the two
        const kd_connection *e = &c->connection[bond.effort], *f = &c->connection[bond.flow];
        if (e->from != f->to || e->to != f->from)
            kd_cosim_say(r, pair, "the two inputs of a pair belong to two systems, each of which is told by the other");
        c->bond[c->nbonds++] = bond;
    }
}

// ---- rigid joints ---------------------------------------------------------------------------------------------------

static bool read_end(reader *r, const char *joint, const kd_node *node, int side, kd_cosim_row *rows)
{
    static const char *const LEVEL[3] = {"pos", "vel", "acc"};
    const char              *frame;
    char                     name[300];
    // the system and the frame in it
    const int system = split(r, node, &frame);
    if (system < 0) return false;
    kd_cosim_system *s = r->cosim->system[system];
    // for each axis: three levels that are read, and one force that acts on the frame
    for (int k = 0; k < 3; k++) {
        rows[k].system[side] = system;
        for (int l = 0; l < 3; l++) {
            kd_text(name, sizeof name, "frame.%.100s.%s.%c", frame, LEVEL[l], "xyz"[k]);
            rows[k].output[side][l] = s->class->find_output ? s->class->find_output(s, name) : -1;
        }
        kd_text(name, sizeof name, "%.100s-%c", joint, "xyz"[k]);
        rows[k].force[side] = -1;
        for (int i = 0; i < s->ninputs; i++)
            if (strcmp(s->input[i].name, name) == 0) rows[k].force[side] = i;
        if (rows[k].output[side][2] < 0 || rows[k].force[side] < 0) {
            kd_file_findings_add(&r->findings, node->line, node->column, "system '%s' is no model with a frame '%s'",
                                 s->name, frame);
            return false;
        }
        // the force is driven from outside from now on
        if (s->class->drive) s->class->drive(s, rows[k].force[side]);
    }
    return true;
}

void kd_cosim_read_joints(reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"type", "frames"}, *const TYPES[] = {"spherical"};
    kd_cosim *c = r->cosim;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    for (int i = 0; i < node->n; i++) {
        const kd_node *key = &node->item[2 * i], *value = &node->item[2 * i + 1];
        if (!KD_NODE_IS_MAP(&r->findings, value, KEYS)) continue;
        // what a joint needs: its type, and two frames in different systems
        const kd_node *type = kd_node_find(value, "type"), *frames = kd_node_find(value, "frames");
        if (type) (void)kd_cosim_choice(r, type, "between systems there is no joint", TYPES, 1);
        if (!frames || frames->type != KD_NODE_LIST || frames->n != 2 || c->nrows_joined == 3 * MOST_JOINTS) {
            kd_cosim_say(r, value,
                         c->nrows_joined == 3 * MOST_JOINTS
                             ? "there are too many joints"
                             : "two frames are expected here: frames: [car.hook, trailer.eye]");
            continue;
        }
        // three rows, one for each axis, with both ends
        kd_cosim_row *rows = c->row + c->nrows_joined;
        if (!read_end(r, key->text, &frames->item[0], 0, rows) || !read_end(r, key->text, &frames->item[1], 1, rows))
            continue;
        if (rows->system[0] == rows->system[1]) kd_cosim_say(r, frames, "a joint between systems has two of them");
        c->nrows_joined += 3;
    }
}

// ---- master and run -------------------------------------------------------------------------------------------------

static void read_order(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    bool      seen[KD_COSIM_MOST_SYSTEMS] = {false};
    // all systems, each once
    if (node->type != KD_NODE_LIST || node->n != c->nsystems) {
        kd_cosim_say(r, node, "the names of all systems are expected here, in the order in which they are to run");
        return;
    }
    // each by its name; twice is told
    for (int i = 0; i < node->n; i++) {
        const kd_node *item = &node->item[i];
        if (!kd_cosim_is_scalar(r, item, "the name of a system is expected here")) return;
        const int s = find_system(r, item, strlen(item->text));
        if (s < 0) return;
        if (seen[s]) kd_cosim_say(r, item, "this system is there already");
        seen[s] = true, c->order[i] = s;
    }
    c->order_given = true;
}

// kinds by words, with the nearest word where one is wrong
void kd_cosim_read_master(reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"type",    "degree",         "outputs",     "order",    "control",
                                       "step",    "rtol",           "atol",        "min_step", "max_step",
                                       "threads", "max_iterations", "convergence", "index",    "precondition"};
    static const char *const OUTPUTS[] = {"fresh", "held"}, *const PRECONDITION[] = {"auto", "no", "yes"};
    kd_file_findings *f = &r->findings;
    kd_cosim_options *o = &r->cosim->opt;
    const kd_node    *at;
    const char       *words[KD_COSIM_MASTER_COUNT + KD_COSIM_CONTROL_COUNT];
    if (!KD_NODE_IS_MAP(f, node, KEYS)) return;
    for (int i = 0; i < KD_COSIM_MASTER_COUNT; i++) words[i] = kd_cosim_master_word((kd_cosim_master)i);
    if ((at = kd_node_find(node, "type"))) {
        const int i = kd_cosim_choice(r, at, "there is no master", words, KD_COSIM_MASTER_COUNT);
        if (i >= 0) o->master = (kd_cosim_master)i;
    }
    for (int i = 0; i < KD_COSIM_CONTROL_COUNT; i++) words[i] = kd_cosim_control_word((kd_cosim_control)i);
    if ((at = kd_node_find(node, "control"))) {
        const int i = kd_cosim_choice(r, at, "there is no control of the macro step", words, KD_COSIM_CONTROL_COUNT);
        if (i >= 0) o->control = (kd_cosim_control)i;
    }
    // how outputs are taken, and how many threads take them
    if ((at = kd_node_find(node, "outputs")))
        o->held = kd_cosim_choice(r, at, "outputs are fresh or held, not", OUTPUTS, 2) == 1;
    if ((at = kd_node_find(node, "degree"))) (void)kd_node_count(f, at, 0, 2, &o->degree);
    if ((at = kd_node_find(node, "threads"))) (void)kd_node_count(f, at, 0, KD_COSIM_MOST_SYSTEMS, &o->threads);
    if ((at = kd_node_find(node, "max_iterations"))) (void)kd_node_count(f, at, 1, 1000, &o->max_iterations);
    if ((at = kd_node_find(node, "order"))) read_order(r, at);
    if ((at = kd_node_find(node, "index"))) (void)kd_node_count(f, at, 1, 2, &r->cosim->joint_index);
    if ((at = kd_node_find(node, "precondition")))
        r->cosim->precondition = kd_cosim_choice(r, at, "precondition is auto, no or yes, not", PRECONDITION, 3) - 1;
    // lengths of steps in seconds, tolerances without units
    kd_node_number_of(f, node, "step", "s", &o->step);
    kd_node_number_of(f, node, "min_step", "s", &o->min_step);
    kd_node_number_of(f, node, "max_step", "s", &o->max_step);
    kd_node_number_of(f, node, "rtol", "", &o->rtol);
    kd_node_number_of(f, node, "atol", "", &o->atol);
    kd_node_number_of(f, node, "convergence", "", &o->convergence);
}
