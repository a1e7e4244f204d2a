// system.c: a model made into equations of motion: life cycle and queries.
#include "system/system.h"
#include "system/start.h"

#include <math.h>
#include <string.h>

#include "core/option.h"
#include "core/text.h"
#include "model/parameters.h"

kd_system_options kd_system_options_default(void)
{
    return (kd_system_options){.coordinates = KD_JOINT, .fmu_timeout = 10, .cookie = KD_OPTIONS_COOKIE};
}

// Coordinates alone
static kd_system_options options_of_run(const kd_model *m)
{
    kd_system_options opt = kd_system_options_default();
    if (m->run.coordinates && strcmp(m->run.coordinates, "cartesian") == 0) opt.coordinates = KD_CARTESIAN;
    return opt;
}

kd_system_options kd_system_options_of(const kd_model *m)
{
    if (!m) return kd_system_options_default();
    kd_system_options opt = options_of_run(m);
    opt.watch = m->run.plots;
    opt.nwatch = m->run.nplots;
    return opt;
}

// ---- sizes ----------------------------------------------------------------------------------------------------------
static kd_status count_coordinates(kd_system *s)
{
    const kd_tree *tree = &s->tree;
    s->p_of_x = kd_cut_int(&s->arena, tree->nposition);
    s->x_of_p = kd_cut_int(&s->arena, tree->nposition);
    s->quaternion = kd_cut_int(&s->arena, tree->nlinks);
    s->quaternion_v = kd_cut_int(&s->arena, tree->nlinks);
    s->scalar_p = kd_cut_int(&s->arena, tree->nposition);
    s->scalar_v = kd_cut_int(&s->arena, tree->nposition);
    if (s->arena.failed) return KD_ERR_MEMORY;
    int np = 0;
    // x in the order of links; p without prescribed scalars, quaternions as a whole
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *link = &tree->link[i];
        int            n = link->form.nposition;
        for (int k = 0; k < n; k++) {
            bool scalar = k < link->form.nscalars;
            if (scalar && tree->dof_v[link->dof + k] < 0) {
                s->p_of_x[link->position + k] = -1;
                continue;
            }
            if (scalar) {
                s->scalar_p[s->nscalars] = np;
                s->scalar_v[s->nscalars++] = tree->dof_v[link->dof + k];
            } else if (k == n - 4) {
                s->quaternion_v[s->nquaternions] = tree->dof_v[link->dof + k];
                s->quaternion[s->nquaternions++] = np;
            }
            s->x_of_p[np] = link->position + k;
            s->p_of_x[link->position + k] = np++;
        }
    }
    s->dense_tree = tree->column != NULL;
    s->np = np + s->nturns;
    s->nv = tree->nv;
    s->nmu = s->nrows_h;
    return KD_OK;
}

// user forces may read t as they like
static bool reads_time(const kd_system *s)
{
    for (int i = 0; i < s->nexprs; i++)
        for (int k = 0; k < kd_expr_slot_count(s->expr[i]); k++) {
            kd_slot_kind kind = s->slot[kd_expr_slot(s->expr[i], k)].kind;
            if (kind == KD_SLOT_TIME || kind == KD_SLOT_INPUT) return true;
        }
    return s->model->nuser_forces > 0 || s->model->ninputs > 0;
}

// Does a row read anything beside positions, as time and inputs are?
static bool reads_beyond_position(const kd_system *s, const kd_expr *expr)
{
    for (int k = 0; k < kd_expr_slot_count(expr); k++) {
        const kd_slot *at = &s->slot[kd_expr_slot(expr, k)];
        if (at->kind != KD_SLOT_MEASURE || at->level != 0) return true;
    }
    return false;
}

// Do drives bring in power: prescribed coordinates that do not stand, rows that depend on time?
static bool is_driven(const kd_system *s)
{
    bool driven = false;
    for (int k = 0; s->prescribed && k < s->tree.ndof; k++)
        driven = driven || (s->motion[k] && !kd_expr_is_constant(s->motion[k], NULL));
    for (int i = 0; i < s->nrows_g; i++) {
        const kd_row *row = &s->row_g[i];
        driven = driven || row->target || (row->expr && reads_beyond_position(s, row->expr));
    }
    return driven;
}

static kd_status list_drives(kd_system *s)
{
    s->drive = kd_cut_int(&s->arena, s->tree.ndof);
    if (!s->drive) return KD_ERR_MEMORY;
    for (int k = 0; s->prescribed && k < s->tree.ndof; k++)
        if (s->motion[k]) s->drive[s->ndrives++] = k;
    return KD_OK;
}

// Joints that must not be cut are all in the tree.
static kd_status check_cuts(const kd_system *s, char *message, size_t size)
{
    if (s->options.coordinates == KD_CARTESIAN) return KD_OK;
    for (int j = 0; j < s->model->njoints; j++)
        if (s->model->joint[j].def.cut == KD_CUT_NO && s->edge[j].link == 0) {
            kd_text(message, size, "joint '%s' must not be cut, but it closes a loop of such joints: cut one of them",
                    s->model->joint[j].name);
            return KD_ERR_MODEL;
        }
    return KD_OK;
}

// ---- expressions of inputs and sensors ------------------------------------------------------------------------------
static kd_status compile_inputs(kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    kd_status       status = KD_OK;
    s->input = kd_arena_cut(&s->arena, (size_t)m->ninputs, sizeof *s->input);
    if (!s->input) return KD_ERR_MEMORY;
    for (int i = 0; i < m->ninputs && status == KD_OK; i++) {
        if (!m->input[i].def.value) continue;
        status = kd_system_compile(s, m->input[i].def.value, m->input[i].name, &m->input[i].source, false, NULL, 0,
                                   &s->input[i], message, size);
        // slot 0 is t, and the only one that inputs may read
        for (int k = 0; status == KD_OK && k < kd_expr_slot_count(s->input[i]); k++)
            if (kd_expr_slot(s->input[i], k) != 0) {
                kd_text(message, size, "input '%s' can depend on t only", m->input[i].name);
                status = KD_ERR_MODEL;
            }
        if (status == KD_OK && kd_expr_work_size(s->input[i]) > KD_INPUT_WORK) {
            kd_text(message, size, "input '%s': the expression is too long", m->input[i].name);
            status = KD_ERR_MODEL;
        }
    }
    return status;
}

// Is a path a channel of its own, in the state, among the inputs or the sensors? Under its name: "q1" of a joint with
// one coordinate is not.
static bool is_channel(const kd_system *s, const kd_path *path, const char *text)
{
    const int  length = (int)strlen(text);
    const bool numbered = length > 0 && text[length - 1] >= '1' && text[length - 1] <= '9';
    switch (path->section) {
    case KD_SECTION_JOINT: {
        const bool motion =
            path->property == KD_PROPERTY_Q || path->property == KD_PROPERTY_V || path->property == KD_PROPERTY_A;
        const int  dof = motion ? kd_edge_dof(s, path->element, path->i) : -1;
        const bool single = kd_joint_form_of(s->model->joint[path->element].def.kind).ndof == 1;
        return dof >= 0 && s->tree.dof_v[dof] >= 0 && numbered == !single;
    }
    case KD_SECTION_BODY: // amplitudes of modes; it floats
        if (path->property == KD_PROPERTY_Q || path->property == KD_PROPERTY_V || path->property == KD_PROPERTY_A)
            return true;
        return path->property == KD_PROPERTY_COM && s->link_joint[s->body_link[path->element]] < 0;
    case KD_SECTION_FORCE:
        return path->property == KD_PROPERTY_INNER;
    case KD_SECTION_STATE:
        return path->property == KD_PROPERTY_VALUE;
    case KD_SECTION_ALGEBRAIC:
    case KD_SECTION_INPUT:
    case KD_SECTION_SENSOR:
        return true;
    default:
        return false;
    }
}

static bool is_watched(const kd_system *s, int n, const unsigned *hashes, const char *path)
{
    const unsigned hash = kd_text_hash(path);
    for (int i = 0; i < n; i++)
        if (hashes[i] == hash && strcmp(s->watch[i], path) == 0) return true;
    return false;
}

// Paths to be watched that are not recorded anyway, each once; s->nsensors counts them
static kd_status list_watches(kd_system *s, char *message, size_t size)
{
    const int n = s->for_start ? 0 : s->options.nwatch, nsensors = s->nsensors, nplain = s->options.nplain;
    unsigned *hash = kd_arena_cut(&s->arena, (size_t)n, sizeof *hash);
    s->watch = kd_arena_cut(&s->arena, (size_t)n, sizeof *s->watch);
    if (!s->watch || !hash) return KD_ERR_MEMORY;
    s->options.nplain = 0;
    for (int i = 0; i < n; i++) {
        const char *text = s->options.watch[i];
        char        why[400];
        kd_path     path;
        if (text && (!strchr(text, '.') || strchr(text, ' '))) continue; // the name of another channel
        if (!text || !kd_path_parse(s->model, text, &path, why, sizeof why)) {
            kd_text(message, size, "channel '%s': %s", text ? text : "", text ? why : "a path is missing");
            return KD_ERR_ARGUMENT;
        }
        if (is_channel(s, &path, text) || is_watched(s, s->nsensors - nsensors, hash, text)) continue;
        char *copy = kd_arena_cut(&s->arena, strlen(text) + 1, 1);
        if (!copy) return KD_ERR_MEMORY;
        hash[s->nsensors - nsensors] = kd_text_hash(text);
        s->watch[s->nsensors++ - nsensors] = strcpy(copy, text);
        if (i >= n - nplain) s->options.nplain++;
    }
    s->options.watch = NULL; // the caller's
    return KD_OK;
}

static kd_status compile_sensors(kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    kd_status       status = list_watches(s, message, size);
    if (status < 0) return status;
    s->sensor = kd_arena_cut(&s->arena, (size_t)s->nsensors, sizeof *s->sensor);
    if (!s->sensor) return KD_ERR_MEMORY;
    for (int i = 0; i < s->nsensors && status == KD_OK; i++) {
        const char     *watched = i >= m->nsensors ? s->watch[i - m->nsensors] : NULL;
        const kd_source none = {NULL, 0, 0, 0};
        s->shows = i >= s->nsensors - s->options.nplain;
        status = kd_system_compile(s, watched ? watched : m->sensor[i].def.value, watched ? watched : m->sensor[i].name,
                                   watched ? &none : &m->sensor[i].source, true, NULL, 0, &s->sensor[i], message, size);
    }
    s->shows = false;
    // a reaction is read in the frames of its joint: their pair must be there
    for (int i = 0; i < s->nslots && status == KD_OK; i++) {
        if (s->slot[i].kind == KD_SLOT_REACTION && kd_system_joint_pair(s, s->slot[i].index) < 0)
            status = KD_ERR_MEMORY;
        s->reads_energy = s->reads_energy || s->slot[i].kind == KD_SLOT_ENERGY;
    }
    return status;
}

// ---- rows that are kept ---------------------------------------------------------------------------------------------
// Rows that always hold: they stand before the one-sided ones.
static int lasting_rows(const kd_system *s)
{
    return s->nrows_g - s->none_sided;
}

static kd_status keep_rows(kd_system *s, const bool *keep)
{
    if (!s->kept) s->kept = kd_cut_int(&s->arena, s->nrows_g);
    if (!s->lambda_of) s->lambda_of = kd_cut_int(&s->arena, s->nrows_g);
    if (!s->kept || !s->lambda_of) return KD_ERR_MEMORY;
    s->nlambda = 0;
    // lasting rows by keep (NULL: all), one-sided ones when the equations take them
    for (int i = 0; i < s->nrows_g; i++) {
        bool kept = i < lasting_rows(s) ? !keep || keep[i] : s->takes_one_sided;
        s->lambda_of[i] = kept ? s->nlambda : -1;
        if (kept) s->kept[s->nlambda++] = i;
    }
    for (int k = 0; k < s->nwheels; k++) s->wheel[k].lambda = s->lambda_of[s->wheel[k].row];
    return KD_OK;
}

// Rows that stay, and the matrices of these
static kd_status plan_rows(kd_system *s, const bool *keep)
{
    kd_status status = keep_rows(s, keep);
    return status == KD_OK ? kd_system_plan(s) : status;
}

// The equations of the rows that were planned
static kd_status make_equations(kd_system *s, char *message, size_t size)
{
    kd_eom_destroy(s->eom);
    s->eom = NULL;
    kd_status status = kd_system_names(s);
    if (status == KD_OK) status = kd_system_equations(s, message, size);
    return status;
}

static kd_status make_equations_with(kd_system *s, const bool *keep, char *message, size_t size)
{
    kd_system_forget_start(s); // it belongs to the other rows
    kd_status status = plan_rows(s, keep);
    return status == KD_OK ? make_equations(s, message, size) : status;
}

// What was found out about the start while equations were made: positions and velocities, from all rows
typedef struct known_start {
    kd_state    *x;     // NULL: nothing
    kd_eom_data *point; // where it was found; NULL: those equations are gone
    kd_status    status;
    char         news[2000];
} known_start;

// A tree cannot be redundant: only loops are looked at.
static kd_status leave_out_redundant(kd_system *s, known_start *start, char *message, size_t size)
{
    kd_status status = kd_state_create(s->eom, &start->x);
    if (status == KD_OK) status = kd_eom_data_create(s->eom, &start->point);
    bool *keep = kd_cut_bool(&s->arena, s->nrows_g);
    if (status == KD_OK && !keep) status = KD_ERR_MEMORY;
    if (status != KD_OK) return status;
    // from an assembled start, with springs that are relaxed there
    s->unexamined = true;
    status = start->status = kd_system_start_motion(s, start->point, start->x, start->news, sizeof start->news);
    s->unexamined = false;
    if (status == KD_ERR_MEMORY) return status;
    s->info.assembled = status >= 0;
    if (status < 0) return KD_OK; // the caller's own start will say why; nothing can be found out about the rows here
    status = kd_system_relax(s, start->x);
    if (status == KD_OK)
        status =
            kd_redundancy_find(s->eom, start->point, &s->inputs, start->x, &s->arena, &s->redundancy, message, size);
    if (status < 0) return status;
    // rank of the mechanism against that of the start: a singular position
    s->info.nsingular = s->redundancy.rank - s->redundancy.start_rank;
    for (int i = 0; i < lasting_rows(s); i++) {
        keep[i] = s->redundancy.keep[i];
        s->info.nredundant += !keep[i];
    }
    s->keep = keep;
    return KD_OK;
}

// ---- Cartesian coordinates, joints that rub: what the model in joint coordinates knows ------------------------------
// The row of a joint or a constraint that has this component. The rows of one element follow each other.
static const kd_row *row_of(const kd_system *s, int joint, int constraint, int component, int *number)
{
    int first = joint >= 0 ? s->edge[joint].row : s->constraint_row[constraint];
    for (int i = first; i < s->nrows_g; i++) {
        const kd_row *row = &s->row_g[i];
        if (row->joint != joint || row->constraint != constraint) break;
        if (row->component == component) {
            *number = i;
            return row;
        }
    }
    return NULL;
}

// Lengths that were taken from the start position
static void copy_lengths(kd_system *s)
{
    const kd_system *joints = s->joints;
    int              number;
    for (int i = 0; i < s->nloads; i++) s->load[i].constant[0] = joints->load[i].constant[0];
    for (int i = 0; i < lasting_rows(s); i++) {
        kd_row       *row = &s->row_g[i];
        const kd_row *other =
            isnan(row->offset) ? row_of(joints, row->joint, row->constraint, row->component, &number) : NULL;
        if (other) row->offset = other->offset;
    }
}

static kd_status copy_from_joints(kd_system *s)
{
    const kd_system *joints = s->joints;
    bool            *keep = kd_cut_bool(&s->arena, s->nrows_g);
    if (!keep) return KD_ERR_MEMORY;
    copy_lengths(s);
    // Rows that are redundant there are redundant here, because the joints of the tree add rows that are independent of
    // all others.
    for (int i = 0; i < lasting_rows(s); i++) {
        const kd_row *row = &s->row_g[i];
        int           number = -1;
        const kd_row *other = row_of(joints, row->joint, row->constraint, row->component, &number);
        bool          in_tree = row->joint >= 0 && joints->edge[row->joint].link > 0;
        keep[i] = in_tree || !other || !joints->keep || joints->keep[number];
    }
    s->keep = keep;
    s->info.nredundant = joints->info.nredundant;
    s->info.nsingular = joints->info.nsingular;
    s->info.assembled = joints->info.assembled;
    return KD_OK;
}

// Is a length taken from the start position?
static bool has_lengths(const kd_system *s)
{
    bool any = false;
    for (int i = 0; i < s->nloads; i++) any = any || isnan(s->load[i].constant[0]);
    for (int i = 0; i < s->nrows_g; i++) any = any || (!s->row_g[i].expr && isnan(s->row_g[i].offset));
    return any;
}

// Where loops are closed, springs without free length are relaxed at the assembled start.
static kd_status relax_again(kd_system *s)
{
    char      text[500] = "";
    kd_state *x = NULL;
    kd_status status = kd_state_create(s->eom, &x);
    if (status >= 0 && kd_system_start(s, x, text, sizeof text) >= 0) status = kd_system_relax(s, x);
    kd_state_destroy(x);
    return status;
}

kd_status kd_system_set_lengths(kd_system *s)
{
    if (s->joints) {
        copy_lengths(s);
        return KD_OK;
    }
    // free lengths from the guess first; where loops move it, from the assembled start
    if (!has_lengths(s)) return KD_OK;
    kd_status status = kd_system_fill_lengths(s);
    if (status >= 0 && lasting_rows(s) > 0) status = relax_again(s);
    return status;
}

// ---- extents --------------------------------------------------------------------------------------------------------
static void note_extent(kd_system *s, kd_extent extent)
{
    for (int i = (int)extent; i < KD_EXTENT_COUNT; i++) s->upto[i] = (kd_counts){s->npairs, s->nmeasures, s->nslots};
}

// Pairs of which nobody reads how the frames are turned, or how far they are apart
static void mark_pairs(kd_system *s)
{
    // all of them, until a measure reads more; reactions need the axes, too
    for (int i = 0; i < s->npairs; i++) s->pair[i].shifts_only = s->pair[i].no_length = true;
    for (int i = 0; i < s->nmeasures; i++) {
        const kd_measure *m = &s->measure[i];
        bool plain = m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_LENGTH || m->kind == KD_MEASURE_TURN;
        if (m->pair >= 0 && !plain) s->pair[m->pair].shifts_only = false;
        if (m->kind == KD_MEASURE_LENGTH) s->pair[m->pair].no_length = false;
    }
    for (int i = 0; i < s->nslots; i++)
        if (s->slot[i].kind == KD_SLOT_REACTION) s->pair[s->edge[s->slot[i].index].pair].shifts_only = false;
}

// Links that rows need, with their ancestors, where these are few: half of the loop of a real-time step looks at rows alone
static kd_status list_placed(kd_system *s)
{
    const int n = s->tree.nlinks;
    bool     *needed = kd_cut_bool(&s->arena, n);
    s->placed = kd_cut_int(&s->arena, n);
    s->left = kd_cut_int(&s->arena, n);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->upto[KD_FOR_ROWS].pairs; i++) needed[s->pair[i].a] = needed[s->pair[i].b] = true;
    for (int i = n - 1; i > 0; i--)
        if (needed[i]) needed[s->tree.link[i].parent] = true;
    int placed = 1, left = 1;
    for (int i = 1; i < n; i++)
        if (needed[i])
            s->placed[placed++] = i;
        else
            s->left[left++] = i;
    if (s->tree.nwide > 0 || placed == 1 || 4 * placed > 3 * n) return KD_OK;
    s->nplaced = placed;
    s->nleft = left;
    return KD_OK;
}

static kd_status list_rotations(kd_system *s)
{
    s->rotation = kd_cut_int(&s->arena, s->npairs);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->npairs; i++) s->rotation[i] = 0;
    for (int i = 0; i < s->nmeasures; i++)
        if (s->measure[i].kind == KD_MEASURE_ROTATION) s->rotation[s->measure[i].pair] = 1;
    // flags become numbers of pairs: none is written before it was read
    for (int i = 0; i < s->npairs; i++)
        if (s->rotation[i] == 1) s->rotation[s->nrotations++] = i;
    return KD_OK;
}

static kd_status list_time_slots(kd_system *s)
{
    s->time_slot = kd_cut_int(&s->arena, s->nslots);
    if (!s->time_slot) return KD_ERR_MEMORY;
    for (int i = 0; i < s->nslots; i++)
        if (s->slot[i].kind == KD_SLOT_TIME || s->slot[i].kind == KD_SLOT_INPUT) s->time_slot[s->ntime_slots++] = i;
    return KD_OK;
}

static bool is_filled(const kd_slot *at, int list)
{
    if (list == KD_FILLED_STATES) return at->kind == KD_SLOT_STATE;
    return at->kind == KD_SLOT_MEASURE && at->level == list;
}

static kd_status list_filled(kd_system *s)
{
    for (int list = 0; list < KD_FILLED; list++) {
        kd_filled *f = &s->filled[list];
        f->slot = kd_cut_int(&s->arena, s->nslots);
        f->index = kd_cut_int(&s->arena, s->nslots);
        f->before = kd_cut_int(&s->arena, s->nslots + 1);
        if (s->arena.failed) return KD_ERR_MEMORY;
        int n = 0;
        for (int i = 0; i < s->nslots; i++) {
            f->before[i] = n;
            if (is_filled(&s->slot[i], list)) f->slot[n] = i, f->index[n++] = s->slot[i].index;
        }
        f->before[s->nslots] = n;
    }
    return KD_OK;
}

// Sorted by places in z, by counting.
static kd_status list_z_slots(kd_system *s)
{
    s->z_slot = kd_cut_int(&s->arena, s->nslots);
    s->z_slot_at = kd_cut_int(&s->arena, s->nz + 2);
    if (!s->z_slot || !s->z_slot_at) return KD_ERR_MEMORY;
    int *next = s->z_slot_at + 1; // becomes the end of each place, the beginning of the one behind it
    for (int i = 0; i < s->nslots; i++)
        if (s->slot[i].kind == KD_SLOT_DISCRETE) next[s->slot[i].index + 1]++, s->nz_slots++;
    for (int i = 0; i < s->nz; i++) next[i + 1] += next[i];
    for (int i = 0; i < s->nslots; i++)
        if (s->slot[i].kind == KD_SLOT_DISCRETE) s->z_slot[next[s->slot[i].index]++] = i;
    return KD_OK;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------
static kd_status build(kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    // pairs are made when somebody asks: -1 until then
    s->body_pair = kd_cut_int(&s->arena, m->nbodies);
    s->centre_pair = kd_cut_int(&s->arena, m->nbodies);
    s->frame_pair = kd_cut_int(&s->arena, m->nframes);
    s->force_pair = kd_cut_int(&s->arena, m->nforces);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < m->nbodies; i++) s->body_pair[i] = s->centre_pair[i] = -1;
    for (int i = 0; i < m->nframes; i++) s->frame_pair[i] = -1;
    for (int i = 0; i < m->nforces; i++) s->force_pair[i] = -1;
    if (kd_system_slot(s, KD_SLOT_TIME, 0, 0) != 0) return KD_ERR_MEMORY; // slot 0 is t
    // the order of extents: what rows read, then loads, then samples and events, then sensors
    kd_status status = kd_system_topology(s);
    if (status == KD_OK) status = kd_system_discrete_places(s);
    if (status == KD_OK) status = check_cuts(s, message, size);
    if (status == KD_OK) status = kd_system_rows(s, message, size);
    note_extent(s, KD_FOR_ROWS);
    s->bare_paths = s->for_start;
    if (status == KD_OK) status = kd_system_loads(s, message, size);
    note_extent(s, KD_FOR_FORCES);
    if (status == KD_OK) status = kd_system_modes(s);
    note_extent(s, KD_FOR_LOADS);
    if (status == KD_OK) status = compile_inputs(s, message, size);
    // expressions up to here drive the motion; blocks, events and sensors come behind
    s->nmotion = s->nexprs;
    if (status == KD_OK) status = kd_system_discrete(s, message, size);
    note_extent(s, KD_FOR_INSTANTS);
    if (status == KD_OK) status = compile_sensors(s, message, size);
    note_extent(s, KD_FOR_ALL);
    // lists that evaluation goes through, now that nothing is added any more
    if (status == KD_OK) mark_pairs(s);
    if (status == KD_OK) kd_system_discrete_readings(s);
    if (status == KD_OK) status = kd_system_list_fours(s);
    if (status == KD_OK) status = list_placed(s);
    if (status == KD_OK) status = list_rotations(s);
    if (status == KD_OK) status = list_time_slots(s);
    if (status == KD_OK) status = list_filled(s);
    if (status == KD_OK) status = kd_system_list_measures(s);
    if (status == KD_OK) status = kd_system_list_sensed(s);
    if (status == KD_OK) status = list_z_slots(s);
    if (status == KD_OK) status = kd_system_list_breaks(s);
    if (status == KD_OK) status = kd_system_list_laws(s);
    if (status == KD_OK) status = kd_system_order_signals(s);
    if (status == KD_OK) status = count_coordinates(s);
    if (status == KD_OK) status = list_drives(s);
    s->time_dependent = reads_time(s) || s->nsampled < s->model->nblocks;
    if (status == KD_OK) s->driven = is_driven(s);
    return status;
}

static void fill_info(kd_system *s)
{
    const kd_system *tree = s->joints ? s->joints : s;
    s->info.nbodies = s->model->nbodies;
    s->info.njoints = s->model->njoints;
    s->info.nloops = 0;
    // loops: joints that are cut, and constraints, which close one each
    for (int j = 0; j < s->model->njoints; j++) s->info.nloops += tree->edge[j].link == 0 && tree->edge[j].nrows > 0;
    for (int c = 0; c < s->model->nconstraints; c++) s->info.nloops++;
    s->info.nconstraints = s->nlambda - s->none_sided + s->nmu;
    for (int i = 0; i < s->nmu; i++) s->info.nconstraints -= s->row_h[i].direction >= 0; // they hold while they stick
    int redundant = s->options.keep_redundant ? s->info.nredundant : 0;
    // what is left of nv, with redundant rows counted once
    s->info.dof = s->nv - (s->info.nconstraints - redundant);
}

// Where all bodies are fixed, one inner state that stays 0 is the unknown: the reactions are wanted all the same.
static kd_status find_unknowns(kd_system *s, char *message, size_t size)
{
    if (s->np > 0 || s->nr > 0) return KD_OK;
    if (s->model->nbodies > 0) {
        s->is_fixed = true;
        s->nr = 1;
        return KD_OK;
    }
    kd_text(message, size, "nothing can move: the model has no bodies; add some under 'bodies'");
    return KD_ERR_MODEL;
}

static kd_status create_joints(kd_system *s, char *message, size_t size)
{
    kd_status status = build(s, message, size);
    if (status == KD_OK) status = find_unknowns(s, message, size);
    s->inputs = (kd_inputs){kd_system_input_values, s};
    // one-sided rows come last: start values and the search of redundant rows do without them
    const bool  loops = status == KD_OK && lasting_rows(s) > 0;
    known_start start = {0};
    s->info.assembled = true;
    s->takes_one_sided = !loops;
    // a first plan with all rows: lengths of the start are found with it
    if (status == KD_OK) status = plan_rows(s, NULL);
    if (status == KD_OK) status = kd_system_fill_lengths(s);
    if (status == KD_OK) status = make_equations(s, message, size);
    // loops: what follows from others is left out, and the equations are made again where that changes them
    if (status == KD_OK && loops) status = leave_out_redundant(s, &start, message, size);
    s->takes_one_sided = true;
    const bool fewer = s->info.nredundant > 0 && !s->options.keep_redundant;
    if (status == KD_OK && loops && (fewer || s->none_sided > 0)) {
        kd_eom_data_destroy(start.point);
        start.point = NULL;
        status = make_equations_with(s, fewer ? s->keep : NULL, message, size);
    }
    if (status == KD_OK && start.x && start.status >= 0)
        status = kd_system_adopt_start(s, start.point, start.x, start.status, start.news);
    kd_eom_data_destroy(start.point);
    kd_state_destroy(start.x);
    return status;
}

static kd_status create(const kd_model *model, const kd_system_options *opt, bool for_start, kd_system **system,
                        char *message, size_t size);

static kd_status create_by_joints(kd_system *s, char *message, size_t size)
{
    kd_system_options opt = s->options;
    opt.coordinates = KD_JOINT;
    kd_status status = create(s->model, &opt, true, &s->joints, message, size);
    if (status < 0) return status;
    // start values and redundant rows come from the system in joint coordinates
    status = build(s, message, size);
    s->inputs = (kd_inputs){kd_system_input_values, s};
    s->takes_one_sided = true;
    if (status == KD_OK && s->joints->is_fixed) { // the same inner state, so that both have the same channels
        s->is_fixed = true;
        s->nr = 1;
    }
    if (status == KD_OK) status = copy_from_joints(s);
    if (status == KD_OK) status = make_equations_with(s, s->options.keep_redundant ? NULL : s->keep, message, size);
    return status;
}

static kd_status create(const kd_model *model, const kd_system_options *opt, bool for_start, kd_system **system,
                        char *message, size_t size)
{
    kd_system *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    s->model = s->origin = model;
    s->options = *opt;
    s->for_start = for_start;
    // parameters may change later: in a copy of its own, that the caller's model stays
    if (!for_start && model->nparameters > 0 && kd_model_copy(model, &s->live) < 0) {
        kd_free(s);
        return KD_ERR_MEMORY;
    }
    if (s->live) s->model = s->live;
    s->nsensors = for_start ? 0 : model->nsensors;
    // behind Cartesian coordinates and cut joints stands a system for the start
    bool by_joints = s->options.coordinates == KD_CARTESIAN;
    for (int j = 0; j < model->njoints && !for_start; j++) by_joints = by_joints || model->joint[j].rubs;
    kd_status status = by_joints ? create_by_joints(s, message, size) : create_joints(s, message, size);
    if (status == KD_OK) status = kd_system_prepare_parameters(s);
    if (status == KD_OK) status = kd_system_check_invariants(s, message, size);
    if (status < 0) {
        kd_system_destroy(s);
        return status;
    }
    fill_info(s);
    *system = s;
    return KD_OK;
}

kd_status kd_system_create(const kd_model *model, const kd_system_options *opt, kd_system **system, char *message,
                           size_t size)
{
    kd_text(message, size, "%s", "");
    if (!system) return KD_ERR_ARGUMENT;
    *system = NULL;
    if (!model || !model->finished) {
        kd_text(message, size, "the model is not finished: call kd_model_finish first");
        return KD_ERR_ARGUMENT;
    }
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_system_options", message, size)) return KD_ERR_ARGUMENT;
    kd_system_options options = opt ? *opt : options_of_run(model);
    return create(model, &options, false, system, message, size);
}

kd_status kd_system_create_for_start(const kd_model *model, kd_system **system, char *message, size_t size)
{
    const kd_system_options opt = kd_system_options_default();
    *system = NULL;
    return create(model, &opt, true, system, message, size);
}

void kd_system_destroy(kd_system *s)
{
    if (!s) return;
    // starts and equations, which use the rest
    kd_system_forget_start(s);
    kd_start_room_destroy(s->start_room);
    kd_eom_destroy(s->eom);
    kd_system_close_units(s);
    // the system behind this one, then laws and expressions
    kd_system_destroy(s->joints);
    for (int i = 0; i < s->nloads; i++) kd_free(s->load[i].variable);
    for (int i = 0; i < s->nalgebraic; i++) kd_free(s->equation[i].variable);
    for (int i = 0; i < s->nexprs; i++) kd_expr_destroy(s->expr[i]);
    // lists that grew while it was built
    kd_free(s->pair);
    kd_free(s->pair_ends);
    kd_free((void *)s->number);
    kd_free(s->measure);
    kd_free(s->slot);
    kd_free(s->row_g);
    kd_free(s->row_h);
    kd_free(s->load);
    kd_free(s->law);
    kd_free(s->turn_measure);
    kd_free(s->expr);
    // tree, memory, model
    kd_tree_release(&s->tree);
    kd_arena_release(&s->arena);
    kd_model_destroy(s->live);
    kd_free(s);
}

const kd_eom *kd_system_eom(const kd_system *s)
{
    if (!s) return NULL;
    return s->eom;
}
const kd_inputs *kd_system_inputs(const kd_system *s)
{
    return s ? &s->inputs : NULL;
}
const kd_model *kd_system_model(const kd_system *s)
{
    if (!s) return NULL;
    return s->model;
}
const char *kd_system_watched(const kd_system *s, int i)
{
    return s && i >= 0 && i < s->nsensors - s->model->nsensors ? s->watch[i] : NULL;
}
kd_system_info kd_system_info_of(const kd_system *s)
{
    if (!s) return (kd_system_info){0};
    return s->info;
}
