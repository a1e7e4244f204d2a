// parameters.c: numbers that remember their expressions: bindings while a model is read, copies whose numbers change.
#include "model/parameters.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"

// ---- what readers found ---------------------------------------------------------------------------------------------

// lists whose capacity is kept
enum { BINDINGS, STEPS, EXPRS, INDICES, SCRATCH };

// Room for n more entries of a list; NULL: out of memory
static void *room(void *list, int count, int n, int *capacity, size_t size)
{
    if (count + n <= *capacity) return list;
    int wanted = *capacity > 0 ? *capacity : 32;
    while (wanted < count + n) wanted *= 2;
    void *larger = kd_alloc((size_t)wanted * size);
    if (!larger) return NULL;
    if (count > 0) memcpy(larger, list, (size_t)count * size);
    kd_free(list);
    *capacity = wanted;
    return larger;
}

static struct kd_bindings *bindings_of(const kd_model *m)
{
    return &m->private->bindings;
}

// expressions of all bindings; the largest decides the workspace
int kd_model_keep_expr(kd_model *m, kd_expr *expr)
{
    struct kd_bindings *b = bindings_of(m);
    kd_expr           **list = room(b->expr, b->nexprs, 1, &b->capacity[EXPRS], sizeof *list);
    if (!list) {
        kd_expr_destroy(expr);
        return -1;
    }
    b->expr = list;
    b->expr[b->nexprs] = expr;
    if (kd_expr_work_size(expr) > b->work_size) b->work_size = kd_expr_work_size(expr);
    return b->nexprs++;
}

// numbers at the end of a list; the place of the first one
static int keep_numbers(double **list, int *count, int *capacity, const double *number, int n)
{
    double *larger = room(*list, *count, n, capacity, sizeof *larger);
    if (!larger) return -1;
    *list = larger;
    if (n > 0) memcpy(*list + *count, number, (size_t)n * sizeof *number);
    *count += n;
    return *count - n;
}

int kd_model_keep_indices(kd_model *m, const double *index, int n)
{
    struct kd_bindings *b = bindings_of(m);
    if (n == 0) return 0;
    return keep_numbers(&b->index, &b->nindices, &b->capacity[INDICES], index, n);
}

int kd_model_keep_scratch(kd_model *m, const double *number, int n)
{
    struct kd_bindings *b = bindings_of(m);
    return keep_numbers(&b->scratch, &b->nscratch, &b->capacity[SCRATCH], number, n);
}

// gravity and held values belong to no element and do not wait
kd_status kd_model_bind(kd_model *m, const kd_binding *binding)
{
    struct kd_bindings *b = bindings_of(m);
    kd_binding         *list = room(b->binding, b->nbindings, 1, &b->capacity[BINDINGS], sizeof *list);
    if (!list) return KD_ERR_MEMORY;
    b->binding = list;
    b->binding[b->nbindings] = *binding;
    b->binding[b->nbindings++].element = -1;
    if (binding->target != KD_BIND_NOTHING && binding->target != KD_BIND_GRAVITY) b->bindings_waiting++;
    return KD_OK;
}

kd_status kd_model_bind_step(kd_model *m, const kd_binding_step *step)
{
    struct kd_bindings *b = bindings_of(m);
    kd_binding_step    *list = room(b->step, b->nsteps, 1, &b->capacity[STEPS], sizeof *list);
    if (!list) return KD_ERR_MEMORY;
    b->step = list;
    b->step[b->nsteps] = *step;
    b->step[b->nsteps++].element = -1;
    b->steps_waiting++;
    return KD_OK;
}

// a frame whose place lives must not be copied once and for all
void kd_bindings_claim(kd_model *m, kd_section section, int element)
{
    struct kd_bindings *b = bindings_of(m);
    if (section == KD_SECTION_FRAME && b->bindings_waiting + b->steps_waiting > 0) m->frame[element].lives = true;
    for (; b->bindings_waiting > 0; b->bindings_waiting--) {
        kd_binding *waiting = &b->binding[b->nbindings - b->bindings_waiting];
        waiting->section = section;
        waiting->element = element;
    }
    for (; b->steps_waiting > 0; b->steps_waiting--) {
        kd_binding_step *waiting = &b->step[b->nsteps - b->steps_waiting];
        waiting->section = section;
        waiting->element = element;
    }
}

// the element was refused: so are its bindings
void kd_bindings_drop(kd_model *m)
{
    struct kd_bindings *b = bindings_of(m);
    b->nbindings -= b->bindings_waiting;
    b->nsteps -= b->steps_waiting;
    b->bindings_waiting = b->steps_waiting = 0;
}

void kd_bindings_release(kd_model *m)
{
    struct kd_bindings *b = bindings_of(m);
    for (int i = 0; i < b->nexprs; i++) kd_expr_destroy(b->expr[i]);
    for (int i = 0; i < m->nparameters; i++) kd_expr_destroy(m->parameter[i].expr);
    kd_free(b->expr);
    kd_free(b->binding);
    kd_free(b->step);
    kd_free(b->index);
    kd_free(b->scratch);
}

// of a parameter itself; the workspace must hold it, too
void kd_model_derive_parameter(kd_model *m, int i, kd_expr *expr)
{
    struct kd_bindings *b = bindings_of(m);
    m->parameter[i].expr = expr;
    if (kd_expr_work_size(expr) > b->work_size) b->work_size = kd_expr_work_size(expr);
}

// order: each behind those that it reads
kd_status kd_model_order_parameters(kd_model *m, const int *order)
{
    int *copy = kd_cut_int(&m->private->arena, m->nparameters);
    if (!copy) return KD_ERR_MEMORY;
    if (m->nparameters > 0) memcpy(copy, order, (size_t)m->nparameters * sizeof *copy);
    bindings_of(m)->order = copy;
    return KD_OK;
}

// ---- public ---------------------------------------------------------------------------------------------------------

int kd_model_parameters(const kd_model *m, kd_parameter_info *list, int size)
{
    if (!m) return 0;
    for (int i = 0; list && i < m->nparameters && i < size; i++) {
        const kd_parameter *p = &m->parameter[i];
        list[i] = (kd_parameter_info){p->name, p->value, p->text, !p->expr};
    }
    return m->nparameters;
}

int kd_model_parameter_index(const kd_model *m, const char *name)
{
    return kd_model_find(m, KD_SECTION_PARAMETER, name);
}

// ---- numbers that are made of others --------------------------------------------------------------------------------

void kd_make_axis_angle(const double in[4], double q[4])
{
    // half the angle about the unit axis
    const double s = sin(0.5 * in[3]) / kd_vec_norm(kd_vec_of(in));
    kd_quat_to(kd_quat_normalised((kd_quat){cos(0.5 * in[3]), s * in[0], s * in[1], s * in[2]}), q);
}

void kd_make_cardan(const double in[3], double q[4])
{
    const kd_quat z = kd_quat_exp(kd_vec(0, 0, in[2])), y = kd_quat_exp(kd_vec(0, in[1], 0));
    kd_quat_to(kd_quat_normalised(kd_quat_mul(z, kd_quat_mul(y, kd_quat_exp(kd_vec(in[0], 0, 0))))), q);
}

// size, centre and orientation of a shape that reaches from one point to the other
void kd_make_span(const double from[3], const double to[3], kd_shape *shape)
{
    const kd_vec3 d = kd_vec_sub(kd_vec_of(to), kd_vec_of(from));
    shape->size[shape->kind == KD_TUBE ? 2 : 1] = kd_vec_norm(d);
    for (int i = 0; i < 3; i++) shape->position[i] = 0.5 * (from[i] + to[i]);
    // the shortest turn from z to d: about z x d by their angle; any axis across z will do for half a turn
    const double  across = hypot(d.x, d.y), half = 0.5 * atan2(across, d.z);
    const kd_vec3 axis = across > 0.0 ? kd_vec(-d.y / across, d.x / across, 0.0) : kd_vec(1, 0, 0);
    kd_quat_to((kd_quat){cos(half), sin(half) * axis.x, sin(half) * axis.y, 0.0}, shape->orientation);
}

// ---- definitions in their elements ----------------------------------------------------------------------------------

// where the definition stands in its element
typedef struct place_of_definition {
    size_t       offset, size; // in the element
    kd_schema_id schema;
} place_of_definition;

#define DEFINITION(type, id)                                                                                           \
    {                                                                                                                  \
        offsetof(type, def), sizeof(((type *)0)->def), id                                                              \
    }

static const place_of_definition definitions[KD_SECTION_COUNT] = {
    [KD_SECTION_BODY] = DEFINITION(kd_body, KD_SCHEMA_BODY),
    [KD_SECTION_FRAME] = DEFINITION(kd_frame, KD_SCHEMA_FRAME),
    [KD_SECTION_JOINT] = DEFINITION(kd_joint, KD_SCHEMA_JOINT),
    [KD_SECTION_FORCE] = DEFINITION(kd_force, KD_SCHEMA_FORCE),
    [KD_SECTION_CONSTRAINT] = DEFINITION(kd_constraint, KD_SCHEMA_CONSTRAINT),
    [KD_SECTION_STATE] = DEFINITION(kd_state_element, KD_SCHEMA_STATE),
    [KD_SECTION_INPUT] = DEFINITION(kd_input, KD_SCHEMA_INPUT),
    [KD_SECTION_SENSOR] = DEFINITION(kd_sensor, KD_SCHEMA_SENSOR),
    [KD_SECTION_BLOCK] = DEFINITION(kd_block, KD_SCHEMA_BLOCK),
    [KD_SECTION_VARIABLE] = DEFINITION(kd_variable, KD_SCHEMA_VARIABLE),
    [KD_SECTION_ALGEBRAIC] = DEFINITION(kd_algebraic, KD_SCHEMA_ALGEBRAIC),
    [KD_SECTION_CURVE] = DEFINITION(kd_model_curve, KD_SCHEMA_CURVE),
    [KD_SECTION_TRACK] = DEFINITION(kd_model_track, KD_SCHEMA_TRACK),
    [KD_SECTION_EVENT] = DEFINITION(kd_model_event, KD_SCHEMA_EVENT),
    [KD_SECTION_SUBSYSTEM] = DEFINITION(kd_subsystem, KD_SCHEMA_SUBSYSTEM),
    [KD_SECTION_INVARIANT] = DEFINITION(kd_invariant, KD_SCHEMA_INVARIANT),
    [KD_SECTION_CONDITION] = DEFINITION(kd_condition, KD_SCHEMA_CONDITION),
};

// Sections whose definitions are filled in by finish
static const kd_section filled[] = {KD_SECTION_BODY, KD_SECTION_JOINT, KD_SECTION_CONSTRAINT, KD_SECTION_FORCE,
                                    KD_SECTION_INVARIANT};
enum { NFILLED = sizeof filled / sizeof filled[0] };

// section KD_SECTION_COUNT: the run, which has no section
static char *definition_of(kd_model *m, kd_section section, int element)
{
    if (section == KD_SECTION_COUNT) return (char *)&m->run;
    return (char *)kd_element(m, section, element) + definitions[section].offset;
}

static const kd_schema *schema_of(kd_section section)
{
    return kd_schema_of(section == KD_SECTION_COUNT ? KD_SCHEMA_RUN : definitions[section].schema);
}

const kd_schema *kd_section_schema(kd_section section)
{
    return definitions[section].size ? kd_schema_of(definitions[section].schema) : NULL;
}

const void *kd_element_definition(const kd_model *m, kd_section section, int element)
{
    return (const char *)kd_element(m, section, element) + definitions[section].offset;
}

// ---- copies ---------------------------------------------------------------------------------------------------------

// what finish will fill in, as it was given: only sections that it fills
kd_status kd_model_keep_given(kd_model *m)
{
    if (m->nparameters == 0) return KD_OK;
    for (int k = 0; k < NFILLED; k++) {
        const kd_section s = filled[k];
        const int        n = kd_section_count(m, s);
        const size_t     size = definitions[s].size;
        char            *given = kd_arena_cut(&m->private->arena, (size_t)n, size);
        if (!given) return KD_ERR_MEMORY;
        for (int i = 0; i < n; i++) memcpy(given + (size_t)i * size, definition_of(m, s, i), size);
        m->private->given[s] = given;
    }
    return KD_OK;
}

const void *kd_model_given(const kd_model *m, kd_section section, int element)
{
    const char *given = m->private->given[section];
    return given ? given + (size_t)element * definitions[section].size : NULL;
}

// before other values go in: what was filled in must be computed again
static void restore_given(kd_model *m)
{
    for (int k = 0; k < NFILLED; k++) {
        const kd_section s = filled[k];
        const size_t     size = definitions[s].size;
        for (int i = 0; i < kd_section_count(m, s); i++)
            memcpy(definition_of(m, s, i), m->private->given[s] + (size_t)i * size, size);
    }
}

// arrays that bindings can change must be the copy's own
static void copy_arrays(kd_model *c)
{
    for (int i = 0; i < c->ncurves; i++) {
        kd_curve_def *d = &c->curve[i].def;
        d->x = kd_model_numbers(c, d->x, d->n);
        d->y = kd_model_numbers(c, d->y, d->ny);
        if (d->z) d->z = kd_model_numbers(c, d->z, d->n * d->ny);
    }
    for (int i = 0; i < c->nblocks; i++) {
        kd_block_def *d = &c->block[i].def;
        const int     n = d->nstates, nu = d->ninputs, ny = d->noutputs;
        if (d->A) d->A = kd_model_numbers(c, d->A, n * n);
        if (d->B) d->B = kd_model_numbers(c, d->B, n * nu);
        if (d->C) d->C = kd_model_numbers(c, d->C, ny * n);
        if (d->D) d->D = kd_model_numbers(c, d->D, ny * nu);
        if (d->numerator) d->numerator = kd_model_numbers(c, d->numerator, d->nnumerator);
        if (d->denominator) d->denominator = kd_model_numbers(c, d->denominator, d->ndenominator);
    }
}

// ---- fields that parameters change ----------------------------------------------------------------------------------

static size_t size_of_numbers(const kd_field *f, int kind)
{
    return (size_t)kd_field_count(f, kind) * sizeof(double);
}

static bool lies_in(size_t offset, size_t first, size_t size)
{
    return offset >= first && offset < first + size;
}

// The field of a definition whose number or array is at an offset, also inside of places and shapes; false: none is
static bool find_field(const kd_schema *schema, const char *def, size_t offset, kd_binding_check *check)
{
    const int kind = kd_schema_kind_of(schema, def);
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *f = kd_schema_field_at(schema, kind, i);
        if (!kd_field_has(f, kind)) continue;
        size_t part = f->offset;
        bool   here = false;
        // inside of places and shapes the field is looked for again, from their own beginning
        switch (f->type) {
        case KD_FIELD_PLACE:
            if (!lies_in(offset, part, sizeof(kd_place))) continue;
            check->part += part;
            return find_field(kd_schema_of(KD_SCHEMA_PLACE), def + part, offset - part, check);
        case KD_FIELD_PLACES:
            if (!lies_in(offset, part, (size_t)f->count * sizeof(kd_place))) continue;
            part += (offset - part) / sizeof(kd_place) * sizeof(kd_place);
            check->part += part;
            return find_field(kd_schema_of(KD_SCHEMA_PLACE), def + part, offset - part, check);
        case KD_FIELD_SHAPES:
            if (!lies_in(offset, part, (size_t)f->count * sizeof(kd_shape))) continue;
            part += (offset - part) / sizeof(kd_shape) * sizeof(kd_shape);
            check->part += part;
            return find_field(kd_schema_of(KD_SCHEMA_SHAPE), def + part, offset - part, check);
        // numbers that lie in the definition itself; of arrays only the pointer does
        case KD_FIELD_NUMBER:
        case KD_FIELD_INERTIA:
        case KD_FIELD_MATRIX:
        case KD_FIELD_STARTS:
            here = lies_in(offset, part, size_of_numbers(f, kind));
            break;
        case KD_FIELD_ORIENTATION:
            here = lies_in(offset, part, 4 * sizeof(double));
            break;
        case KD_FIELD_TERMS:
            here = lies_in(offset, f->second, size_of_numbers(f, kind));
            break;
        case KD_FIELD_SAMPLES:
        case KD_FIELD_ROWS:
            here = offset == part;
            break;
        default:
            break;
        }
        // the first that holds it: fields do not overlap
        if (!here) continue;
        check->field = f;
        check->kind = kind;
        return true;
    }
    return false;
}

// Each field once; numbers of steps are made of finite ones so that they are right
static void list_checks(kd_model *c)
{
    struct kd_bindings *b = bindings_of(c);
    b->nchecks = 0;
    b->check = kd_arena_cut(&c->private->arena, (size_t)b->nbindings, sizeof *b->check);
    for (int i = 0; b->check && i < b->nbindings; i++) {
        const kd_binding *binding = &b->binding[i];
        if (binding->element < 0 || (binding->target != KD_BIND_DEFINITION && binding->target != KD_BIND_ARRAY))
            continue;
        // a number that lies in no field is not checked
        kd_binding_check check = {.section = binding->section, .element = binding->element};
        const kd_schema *schema = schema_of(binding->section);
        if (!find_field(schema, definition_of(c, binding->section, binding->element), binding->offset, &check)) {
            check.field = NULL;
            check.part = 0;
        }
        // bindings of one field follow each other
        const kd_binding_check *last = b->nchecks > 0 ? &b->check[b->nchecks - 1] : NULL;
        if (last && last->section == check.section && last->element == check.element && last->field == check.field &&
            last->part == check.part)
            continue;
        b->check[b->nchecks++] = check;
    }
}

kd_status kd_model_copy(const kd_model *m, kd_model **copy)
{
    kd_model                *c = kd_alloc(sizeof *c);
    struct kd_model_private *p = kd_alloc(sizeof *p);
    *copy = NULL;
    if (!c || !p) {
        kd_free(c);
        kd_free(p);
        return KD_ERR_MEMORY;
    }
    // everything of the model, then own memory for what changes
    *c = *m;
    *p = *m->private;
    p->arena = (kd_arena){0};
    p->borrowed = true;
    c->private = p;
    kd_status status = kd_model_copy_sections(c, m);
    // curves and tracks are objects: made anew below, not shared
    for (int i = 0; i < c->ncurves; i++) c->curve[i].curve = NULL;
    for (int i = 0; i < c->ntracks; i++) kd_model_forget_track(&c->track[i]);
    if (status >= 0) copy_arrays(c);
    if (status >= 0) list_checks(c);
    // workspace, values of the parameters, numbers that steps start from
    p->work = kd_cut_double(&p->arena, p->bindings.work_size);
    p->theta = kd_cut_double(&p->arena, c->nparameters);
    p->at = kd_cut_double(&p->arena, c->nparameters);
    p->rate = kd_cut_double(&p->arena, c->nparameters);
    p->groups = kd_groups_cut(c, &p->arena);
    // numbers that steps start from change with the parameters: each copy has its own
    double *scratch = kd_cut_double(&p->arena, p->bindings.nscratch);
    if (scratch && p->bindings.nscratch > 0)
        memcpy(scratch, p->bindings.scratch, (size_t)p->bindings.nscratch * sizeof *scratch);
    p->bindings.scratch = scratch;
    for (int i = 0; p->theta && i < c->nparameters; i++) p->theta[i] = c->parameter[i].value;
    // curves and tables of joints are made of the numbers of the copy
    if (status >= 0 && p->arena.failed) status = KD_ERR_MEMORY;
    if (status >= 0) status = kd_finish_curves(c);
    if (status >= 0) {
        for (int i = 0; i < c->njoints; i++) kd_fill_joint_table(c, i); // with the curves of the copy
        *copy = c;
        return KD_OK;
    }
    kd_model_destroy(c);
    return status;
}

// ---- other values ---------------------------------------------------------------------------------------------------

const char *kd_model_changed_parameter(const kd_model *m, const kd_expr *expr, const double *before)
{
    const char *first = NULL;
    // a parameter that was given itself is the better reason than one that follows
    for (int i = 0; i < m->nparameters; i++) {
        if (!kd_expr_reads_parameter(expr, i) || m->private->theta[i] == before[i]) continue;
        const kd_parameter *p = &m->parameter[i];
        if (!p->expr) return p->name;
        const char *behind = kd_model_changed_parameter(m, p->expr, before);
        if (!first) first = behind ? behind : p->name;
    }
    return first ? first : "?";
}

// The tangent of all parameters along one of them: those that are computed by exact derivatives, behind those that they read
static bool set_line(kd_model *m, const double *theta, int along, double h)
{
    const struct kd_bindings *b = bindings_of(m);
    struct kd_model_private  *own = m->private;
    const kd_expr_line        line = {own->at, own->rate, h};
    for (int k = 0; k < m->nparameters; k++) {
        // in an order in which those that are read come first
        const int     i = b->order ? b->order[k] : k;
        kd_parameter *p = &m->parameter[i];
        own->at[i] = theta[i];
        own->rate[i] = i == along;
        if (p->expr &&
            kd_expr_slope_at(p->expr, &line, NULL, own->work, &own->at[i], &own->rate[i]) != KD_EXPR_CHANGED) {
            kd_model_error(m, KD_SECTION_PARAMETER, i, NULL, "it has no derivative");
            return false;
        }
        p->value = own->theta[i] = own->at[i] + h * own->rate[i];
    }
    return true;
}

// Independent ones as given, the others behind those that they are computed from
static bool set_parameters(kd_model *m, const double *theta)
{
    const struct kd_bindings *b = bindings_of(m);
    double                   *now = m->private->theta;
    // in an order in which all that is read is known
    for (int k = 0; k < m->nparameters; k++) {
        const int     i = b->order ? b->order[k] : k;
        kd_parameter *p = &m->parameter[i];
        if (!p->expr) {
            now[i] = theta[i];
        } else if (kd_expr_value_at(p->expr, now, NULL, m->private->work, &now[i]) == KD_EXPR_HELD) {
            kd_model_error(m, KD_SECTION_PARAMETER, i, NULL, "it would be computed by another branch");
            return false;
        }
        if (!isfinite(now[i])) {
            kd_model_error(m, KD_SECTION_PARAMETER, i, NULL, "the value is not finite");
            return false;
        }
        p->value = now[i];
    }
    return true;
}

// where a binding's value goes
static double *target_of(kd_model *m, const kd_binding *b)
{
    char *def = b->element >= 0 ? definition_of(m, b->section, b->element) : NULL;
    // in a definition, in an array of one, among numbers of steps, in gravity, or nowhere
    switch (b->target) {
    case KD_BIND_DEFINITION:
        return (double *)(void *)(def + b->offset);
    case KD_BIND_ARRAY: {
        double *array;
        memcpy(&array, def + b->offset, sizeof array);
        return array + b->item;
    }
    case KD_BIND_SCRATCH:
        return m->private->bindings.scratch + b->item;
    case KD_BIND_GRAVITY:
        return &m->gravity[b->item];
    case KD_BIND_NOTHING:
        break;
    }
    return NULL;
}

// the parameter that was changed, not one that follows from it
static void refuse_change(kd_model *m, const kd_binding *b, const double *before)
{
    const kd_expr *expr = m->private->bindings.expr[b->expr];
    const char    *name = kd_model_changed_parameter(m, expr, before);
    kd_model_error_at(m, &b->source, "parameter '%s' cannot be changed: %s depends on it; read the model again", name,
                      b->key);
}

// The value of a binding; line (may be NULL): along it
static kd_expr_change value_of_binding(const kd_model *m, const kd_binding *b, const kd_expr_line *line, double *value)
{
    const struct kd_bindings *all = bindings_of(m);
    const kd_expr            *expr = all->expr[b->expr];
    double                    slope = 0.0;
    if (!line) return kd_expr_value_at(expr, m->private->theta, all->index + b->index, m->private->work, value);
    const kd_expr_change change = kd_expr_slope_at(expr, line, all->index + b->index, m->private->work, value, &slope);
    // what is held has no derivative: it may be a count
    if (b->target == KD_BIND_NOTHING) return change == KD_EXPR_CHANGED && slope != 0.0 ? KD_EXPR_HELD : change;
    *value += line->h * slope;
    return change;
}

// The numbers of all definitions by the values of the parameters
static bool evaluate_bindings(kd_model *m, const double *before, const kd_expr_line *line)
{
    const struct kd_bindings *all = bindings_of(m);
    // held values may not change; all others are written where they belong
    for (int i = 0; i < all->nbindings; i++) {
        const kd_binding    *b = &all->binding[i];
        double               value = 0.0;
        const kd_expr_change change = value_of_binding(m, b, line, &value);
        if (change == KD_EXPR_HELD || (b->target == KD_BIND_NOTHING && value != b->value)) {
            refuse_change(m, b, before);
            return false;
        }
        if (change == KD_EXPR_NOT_FINITE) {
            if (b->element >= 0 && b->section != KD_SECTION_COUNT)
                kd_model_error(m, b->section, b->element, b->key, "'%s' is not finite", b->key);
            else
                kd_model_error_at(m, &b->source, "'%s' is not finite", b->key);
            return false;
        }
        if (b->target != KD_BIND_NOTHING) *target_of(m, b) = value;
    }
    return true;
}

static bool is_zero(const double *a)
{
    return a[0] == 0.0 && a[1] == 0.0 && a[2] == 0.0;
}

static bool make_shape(kd_model *m, const kd_binding_step *step, const double *in, kd_shape *shape)
{
    if (memcmp(in, in + 3, 3 * sizeof *in) == 0) {
        kd_model_error(m, step->section, step->element, "shape", "'from' and 'to' must be different points");
        return false;
    }
    kd_make_span(in, in + 3, shape);
    return true;
}

// steps in the order of the file: a place may be made of one that was made before
static bool make_numbers(kd_model *m)
{
    const struct kd_bindings *all = bindings_of(m);
    for (int i = 0; i < all->nsteps; i++) {
        const kd_binding_step *step = &all->step[i];
        char                  *at = definition_of(m, step->section, step->element) + step->offset;
        const double          *in = all->scratch + step->from;
        double                *out = (double *)(void *)at;
        // what the numbers mean: an axis and angle, Cardan angles, a shape between two points, a place
        switch (step->op) {
        case KD_MAKE_AXIS_ANGLE:
            if (is_zero(in)) {
                kd_model_error(m, step->section, step->element, "orientation", "'axis' must not be the zero vector");
                return false;
            }
            kd_make_axis_angle(in, out);
            break;
        case KD_MAKE_CARDAN:
            kd_make_cardan(in, out);
            break;
        case KD_MAKE_SPAN:
            if (!make_shape(m, step, in, (kd_shape *)(void *)at)) return false;
            break;
        case KD_MAKE_PLACE: {
            // another body stands at the place of a frame: only the numbers are taken
            kd_place *place = (kd_place *)(void *)at, from = m->frame[step->from].def.at;
            from.body = place->body;
            *place = from;
            break;
        }
        case KD_MAKE_POSITION:
            memcpy(out, m->body[step->from].def.position, 3 * sizeof *out);
            break;
        }
    }
    return true;
}

// All of a definition, in words
static void say_what_is_wrong(kd_model *m, kd_section section, int element, const kd_source *source)
{
    char            text[400];
    const bool      run = section == KD_SECTION_COUNT;
    const kd_field *fault = kd_schema_check(schema_of(section), definition_of(m, section, element), text, sizeof text);
    if (fault && run)
        kd_model_error_at(m, source, "run: %s", text);
    else if (fault)
        kd_model_error(m, section, element, fault->key, "%s", text);
}

// Ranges of the fields that have numbers of parameters
static void check_definitions(kd_model *m)
{
    const struct kd_bindings *all = bindings_of(m);
    bool                      right = true;
    for (int i = 0; i < all->nchecks && right; i++) {
        const kd_binding_check *c = &all->check[i];
        const char             *def = definition_of(m, c->section, c->element);
        right = c->field ? kd_field_check(c->field, c->kind, def + c->part, NULL, 0)
                         : !kd_schema_check(schema_of(c->section), def, NULL, 0);
    }
    // one is wrong: the elements again, one after the other
    for (int i = 0; i < all->nbindings && !right; i++) {
        const kd_binding *b = &all->binding[i];
        const bool        again =
            i > 0 && all->binding[i - 1].element == b->element && all->binding[i - 1].section == b->section;
        if (b->element >= 0 && !again) say_what_is_wrong(m, b->section, b->element, &b->source);
    }
    for (int i = 0; i < m->nblocks; i++) kd_model_check_block(m, i);
}

// given definitions, parameters, numbers, ranges; then finish as in kd_model_finish
static kd_status change(kd_model *m, const double *theta, const double *before, int along, double h)
{
    struct kd_model_private *p = m->private;
    const kd_expr_line       line = {p->at, p->rate, h};
    // errors of this change only, without warnings
    p->nerrors = 0;
    p->message[0] = '\0';
    p->quiet = true;
    restore_given(m);
    if (!(along >= 0 ? set_line(m, theta, along, h) : set_parameters(m, theta))) return KD_ERR_MODEL;
    if (!evaluate_bindings(m, before, along >= 0 ? &line : NULL) || !make_numbers(m)) return KD_ERR_MODEL;
    check_definitions(m);
    if (p->nerrors > 0) return KD_ERR_MODEL;
    kd_update_curves(m);
    kd_finish_numbers(m);
    if (p->nerrors == 0) kd_check_groups(m, p->groups);
    return p->nerrors > 0 ? KD_ERR_MODEL : KD_OK;
}

kd_status kd_model_change(kd_model *m, const double *theta, const double *before)
{
    return change(m, theta, before, -1, 0.0);
}

kd_status kd_model_change_along(kd_model *m, const double *theta, int along, double h)
{
    return change(m, theta, theta, along, h);
}

kd_expr_line kd_model_line(const kd_model *m, double h)
{
    return (kd_expr_line){m->private->at, m->private->rate, h};
}
