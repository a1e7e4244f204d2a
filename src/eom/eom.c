// eom.c: the constant object: checks of a definition, dispatch table, sizes, names, dependencies.
//
// Which function may depend on what follows from the signatures in kardan/eom.h (S3 Eq. 1); zero[], autonomous,
// force_of_multipliers and sizes of 0 take dependencies away. Derivatives by KD_T are total along the inputs:
// u moves with u', u' with u''.
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "eom/internal.h"

#define COOKIE 0x6b64656fu // "kdeo": the definition comes from kd_eom_def_default
// Of one kind of unknown. Full matrices of more than INT_MAX entries are never made (core/memory.c)
#define LARGEST_SIZE 1000000

kd_eom_def kd_eom_def_default(void)
{
    kd_eom_def def = {0};
    def.cookie = COOKIE;
    return def;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// what functions of a level may depend on, by the signatures of kardan/eom.h; each level adds to the one before
#define BITS_POSITION (KD_BIT(KD_P) | KD_BIT(KD_S) | KD_BIT(KD_THETA) | KD_BIT(KD_T))
#define BITS_VELOCITY (BITS_POSITION | KD_BIT(KD_V))
#define BITS_FORCE (BITS_VELOCITY | KD_BIT(KD_R) | KD_BIT(KD_W) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU) | KD_BIT(KD_U))

// clang-format off
typedef struct function_info {
    const char *word;
    kd_stage    stage;
    unsigned    depends; // by the definition of the function
    kd_kind     kind;    // name of a row
} function_info;

static const function_info functions[KD_FN_COUNT] = {
    [KD_KINEMATICS] = {"kinematics Z v",      KD_STAGE_VELOCITY,     KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_THETA), KD_NAME_P},
    [KD_RESIDUAL]   = {"residual",            KD_STAGE_ACCELERATION, BITS_FORCE | KD_BIT(KD_A),                      KD_NAME_V},
    [KD_B]          = {"b",                   KD_STAGE_ACCELERATION, BITS_FORCE,                                     KD_NAME_R},
    [KD_D]          = {"d",                   KD_STAGE_ACCELERATION, BITS_FORCE,                                     KD_NAME_W},
    [KD_C]          = {"c",                   KD_STAGE_POSITION,     BITS_POSITION,                                  KD_NAME_S},
    [KD_G]          = {"constraint g",        KD_STAGE_POSITION,     BITS_POSITION | KD_BIT(KD_U),                   KD_NAME_LAMBDA},
    [KD_GI]         = {"constraint level gI", KD_STAGE_VELOCITY,     BITS_VELOCITY | KD_BIT(KD_U),                   KD_NAME_LAMBDA},
    [KD_GII]        = {"constraint level gII", KD_STAGE_ACCELERATION, BITS_VELOCITY | KD_BIT(KD_A) | KD_BIT(KD_U),   KD_NAME_LAMBDA},
    [KD_H]          = {"constraint h",        KD_STAGE_VELOCITY,     BITS_VELOCITY | KD_BIT(KD_U),                   KD_NAME_MU},
    [KD_HI]         = {"constraint level hI", KD_STAGE_ACCELERATION, BITS_VELOCITY | KD_BIT(KD_A) | KD_BIT(KD_U),    KD_NAME_MU},
    [KD_Q]          = {"norm equation q",     KD_STAGE_POSITION,     KD_BIT(KD_P) | KD_BIT(KD_THETA),                KD_NAME_Q},
    [KD_E]          = {"invariant e",         KD_STAGE_VELOCITY,     BITS_VELOCITY,                                  KD_NAME_E},
    [KD_Y]          = {"output y",            KD_STAGE_ACCELERATION, BITS_FORCE | KD_BIT(KD_A),                      KD_NAME_Y},
    [KD_SWITCH]     = {"switching function",  KD_STAGE_ACCELERATION, BITS_FORCE | KD_BIT(KD_A),                      KD_NAME_SWITCH},
    [KD_FORCE]      = {"force f",             KD_STAGE_ACCELERATION, BITS_FORCE,                                     KD_NAME_V},
    [KD_MASS]       = {"mass matrix M",       KD_STAGE_POSITION,     KD_BIT(KD_P) | KD_BIT(KD_U) | KD_BIT(KD_THETA) | KD_BIT(KD_T), KD_NAME_V},
};

static const char *const var_letters[KD_VAR_COUNT] = {
    [KD_P] = "p", [KD_V] = "v", [KD_A] = "a", [KD_R] = "r", [KD_W] = "w", [KD_S] = "s", [KD_LAMBDA] = "lambda",
    [KD_MU] = "mu", [KD_U] = "u", [KD_THETA] = "theta", [KD_T] = "t",
};

static const char *const kind_letters[KD_NAME_KIND_COUNT] = {
    [KD_NAME_P] = "p", [KD_NAME_V] = "v", [KD_NAME_R] = "r", [KD_NAME_W] = "w", [KD_NAME_S] = "s",
    [KD_NAME_LAMBDA] = "lambda", [KD_NAME_MU] = "mu", [KD_NAME_Q] = "q", [KD_NAME_E] = "e", [KD_NAME_U] = "u",
    [KD_NAME_Z] = "z", [KD_NAME_THETA] = "theta", [KD_NAME_Y] = "y", [KD_NAME_SWITCH] = "switch",
    [KD_NAME_DRIVE] = "drive",
};
// clang-format on

const char *kd_fn_word(kd_fn fn)
{
    return functions[fn].word;
}

const char *kd_var_letter(kd_var var)
{
    return var_letters[var];
}

// ---- checks of a definition -----------------------------------------------------------------------------------------

// where the reason of a refusal goes
typedef struct message_buffer {
    char  *text;
    size_t size;
} message_buffer;

static kd_status check_sizes(const kd_dims *n, message_buffer m)
{
    const struct {
        const char *name;
        int         value;
    } sizes[] = {{"np", n->np},           {"nv", n->nv},         {"nr", n->nr}, {"nw", n->nw},          {"ns", n->ns},
                 {"nlambda", n->nlambda}, {"nmu", n->nmu},       {"nq", n->nq}, {"ne", n->ne},          {"nu", n->nu},
                 {"nz", n->nz},           {"ntheta", n->ntheta}, {"ny", n->ny}, {"nswitch", n->nswitch}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value < 0 || sizes[i].value > LARGEST_SIZE) {
            kd_text(m.text, m.size, "dims.%s = %d is not between 0 and %d", sizes[i].name, sizes[i].value,
                    LARGEST_SIZE);
            return KD_ERR_DEFINITION;
        }
    }
    if (n->np == 0 && n->nr == 0 && n->nw == 0) {
        kd_text(m.text, m.size, "the definition is empty: dims.np, dims.nr and dims.nw are 0");
        return KD_ERR_DEFINITION;
    }
    // more velocities than coordinates: Z could not have full column rank
    if (n->np < n->nv) {
        kd_text(m.text, m.size, "np = %d is smaller than nv = %d: velocities would not be determined", n->np, n->nv);
        return KD_ERR_DEFINITION;
    }
    return KD_OK;
}

// A function must be there exactly if its size is not 0 (levels of constraints may be missing).
static kd_status check_functions(const kd_eom_def *def, message_buffer m)
{
    const kd_dims *n = &def->dims;
    const struct {
        const char *name, *size_name;
        bool        given, required;
        int         size;
    } list[] = {
        {"b", "nr", def->b != NULL, true, n->nr},
        {"d", "nw", def->d != NULL, true, n->nw},
        {"c", "ns", def->c != NULL, true, n->ns},
        {"g", "nlambda", def->g != NULL, true, n->nlambda},
        {"gI", "nlambda", def->gI != NULL, false, n->nlambda},
        {"gII", "nlambda", def->gII != NULL, false, n->nlambda},
        {"h", "nmu", def->h != NULL, true, n->nmu},
        {"hI", "nmu", def->hI != NULL, false, n->nmu},
        {"q", "nq", def->q != NULL, true, n->nq},
        {"e", "ne", def->e != NULL, true, n->ne},
        {"y", "ny", def->y != NULL, true, n->ny},
        {"switching", "nswitch", def->switching != NULL, true, n->nswitch},
        {"theta", "ntheta", def->theta != NULL, true, n->ntheta},
    };
    // there exactly where its size is not 0
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (list[i].size > 0 && list[i].required && !list[i].given) {
            kd_text(m.text, m.size, "%s is missing: dims.%s = %d", list[i].name, list[i].size_name, list[i].size);
            return KD_ERR_DEFINITION;
        }
        if (list[i].size == 0 && list[i].given) {
            kd_text(m.text, m.size, "%s is given, but dims.%s = 0", list[i].name, list[i].size_name);
            return KD_ERR_DEFINITION;
        }
    }
    // p' must be determined, and so must a
    if (n->np != n->nv && !def->kinematics && !def->Z) {
        kd_text(m.text, m.size, "kinematics or Z is missing: np = %d and nv = %d differ", n->np, n->nv);
        return KD_ERR_DEFINITION;
    }
    if (n->nq > 0 && !def->kinematics && !def->Z) {
        kd_text(m.text, m.size,
                "kinematics or Z is missing: norm equations q (nq = %d) need q_p Z = 0, which Z = I cannot give",
                n->nq);
        return KD_ERR_DEFINITION;
    }
    if (def->ncounted < 0 || def->ncounted > n->np - n->nv) {
        kd_text(m.text, m.size, "ncounted = %d is not between 0 and np - nv = %d", def->ncounted, n->np - n->nv);
        return KD_ERR_DEFINITION;
    }
    if (n->nv > 0 && !def->residual && !(def->M && def->f)) {
        kd_text(m.text, m.size, "%s missing: give residual, or M and f",
                def->M ? "f is" : (def->f ? "M is" : "the dynamics are"));
        return KD_ERR_DEFINITION;
    }
    if (def->mass_structure < KD_MASS_FULL || def->mass_structure > KD_MASS_DIAGONAL_CONSTANT) {
        kd_text(m.text, m.size, "mass_structure = %d is none of kd_mass_structure", (int)def->mass_structure);
        return KD_ERR_DEFINITION;
    }
    return KD_OK;
}

// drives and impulses belong together, and to ndrives > 0
static kd_status check_drives(const kd_eom_def *def, message_buffer m)
{
    const bool complete = def->drives && def->impulses;
    if (def->ndrives == 0 ? !def->drives && !def->impulses : def->ndrives > 0 && complete) return KD_OK;
    kd_text(m.text, m.size,
            def->ndrives == 0  ? "%s is given, but ndrives = %d"
            : def->ndrives < 0 ? "%sndrives = %d is negative"
                               : "%s is missing: ndrives = %d",
            def->ndrives < 0    ? ""
            : def->ndrives == 0 ? (def->drives ? "drives" : "impulses")
                                : (def->drives ? "impulses" : "drives"),
            def->ndrives);
    return KD_ERR_DEFINITION;
}

static kd_status check_hybrid(const kd_eom_def *def, message_buffer m)
{
    const kd_dims *n = &def->dims;
    if (check_drives(def, m) < 0) return KD_ERR_DEFINITION;
    // events need switching functions
    if ((def->event || def->switch_bounds) && !def->switching) {
        kd_text(m.text, m.size, "%s is given, but there are no switching functions",
                def->event ? "event" : "switch_bounds");
        return KD_ERR_DEFINITION;
    }
    // numbers of one-sided rows and dry friction
    for (int i = 0; def->restitution && i < n->nlambda; i++)
        if (!(def->restitution[i] <= 1)) {
            kd_text(m.text, m.size, "restitution[%d] = %g is not between 0 and 1", i, def->restitution[i]);
            return KD_ERR_DEFINITION;
        }
    // invariants that keep their value of the start have a place for it
    for (int i = 0; def->e_at_start && i < n->ne; i++)
        if (def->e_at_start[i] < -1 || def->e_at_start[i] >= n->nz) {
            kd_text(m.text, m.size, "e_at_start[%d] = %d is no place in z (nz = %d)", i, def->e_at_start[i], n->nz);
            return KD_ERR_DEFINITION;
        }
    // directions of dry friction: their places in z
    bool friction = false;
    for (int i = 0; def->friction && i < n->nmu; i++) {
        friction = friction || def->friction[i] >= 0;
        if (def->friction[i] < n->nz) continue;
        kd_text(m.text, m.size, "friction[%d] = %d is no place in z (nz = %d)", i, def->friction[i], n->nz);
        return KD_ERR_DEFINITION;
    }
    // velocities over which levels fall
    for (int i = 0; def->friction_scale && i < n->nmu; i++)
        if (!(def->friction_scale[i] >= 0)) {
            kd_text(m.text, m.size, "friction_scale[%d] = %g is negative", i, def->friction_scale[i]);
            return KD_ERR_DEFINITION;
        }
    // planes: two directions that know each other
    for (int i = 0; def->friction_across && i < n->nmu; i++) {
        const int j = def->friction_across[i];
        if (j == -1 || (j >= 0 && j < n->nmu && j != i && def->friction_across[j] == i)) continue;
        kd_text(m.text, m.size, "friction_across[%d] = %d is no second direction of a plane", i, j);
        return KD_ERR_DEFINITION;
    }
    // rows that press
    for (int i = 0; def->friction_normal && i < n->nmu; i++)
        if (def->friction_normal[i] < -1 || def->friction_normal[i] >= n->nlambda) {
            kd_text(m.text, m.size, "friction_normal[%d] = %d is no row of g", i, def->friction_normal[i]);
            return KD_ERR_DEFINITION;
        }
    // dry friction and its limit belong together
    if (friction == (def->breakaway != NULL)) return KD_OK;
    kd_text(m.text, m.size,
            friction ? "breakaway is missing: rows of h are dry friction"
                     : "breakaway is given, but no row of h is dry friction");
    return KD_ERR_DEFINITION;
}

// by the signature; f of multipliers only where the definition says so
static unsigned formal_dependencies(const kd_eom_def *def, kd_fn fn)
{
    unsigned bits = functions[fn].depends;
    if (fn == KD_FORCE && !def->force_of_multipliers) bits &= ~(KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU));
    return bits;
}

// what given[] and zero[] promise must be possible
static kd_status check_derivatives(const kd_eom_def *def, message_buffer m)
{
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (def->given[fn] && !def->derivative) {
            kd_text(m.text, m.size, "derivative is missing: given[] promises derivatives of %s", kd_fn_word((kd_fn)fn));
            return KD_ERR_DEFINITION;
        }
        for (int var = 0; var < KD_VAR_COUNT; var++) {
            // promised derivatives: not zero at once, and allowed by the signature
            bool given = def->given[fn] & KD_BIT(var);
            if (given && (def->zero[fn] & KD_BIT(var))) {
                kd_text(m.text, m.size, "the derivative of %s by %s is both in given[] and in zero[]",
                        kd_fn_word((kd_fn)fn), var_letters[var]);
                return KD_ERR_DEFINITION;
            }
            if (given && !(formal_dependencies(def, (kd_fn)fn) & KD_BIT(var))) {
                kd_text(m.text, m.size, "given[] promises a derivative of %s by %s, on which it must not depend%s",
                        kd_fn_word((kd_fn)fn), var_letters[var],
                        fn == KD_FORCE && (var == KD_LAMBDA || var == KD_MU) ? " unless force_of_multipliers is set"
                                                                             : "");
                return KD_ERR_DEFINITION;
            }
        }
    }
    return KD_OK;
}

// the first that is wrong is told; later checks rely on earlier ones
static kd_status check_definition(const kd_eom_def *def, message_buffer m)
{
    if (def->cookie != COOKIE) {
        kd_text(m.text, m.size, "the definition does not start from kd_eom_def_default");
        return KD_ERR_DEFINITION;
    }
    kd_status status = check_sizes(&def->dims, m);
    if (status == KD_OK) status = check_functions(def, m);
    if (status == KD_OK) status = check_hybrid(def, m);
    if (status == KD_OK) status = check_derivatives(def, m);
    return status;
}

// ---- the object -----------------------------------------------------------------------------------------------------

// columns of the derivative by each variable: by p along increments, so nv
static void fill_columns(kd_eom *eom)
{
    const kd_dims *n = &eom->def.dims;
    const int      columns[KD_VAR_COUNT] = {
             [KD_P] = n->nv,   [KD_V] = n->nv,           [KD_A] = n->nv,        [KD_R] = n->nr,
             [KD_W] = n->nw,   [KD_S] = n->ns,           [KD_U] = n->nu,        [KD_T] = 1,
             [KD_MU] = n->nmu, [KD_LAMBDA] = n->nlambda, [KD_THETA] = n->ntheta};
    memcpy(eom->columns, columns, sizeof columns);
}

// where Z and GZ come from, decided once; the flags tell later which values contain differences
static void choose_sources(kd_eom *eom)
{
    const kd_eom_def *def = &eom->def;
    eom->kinematics = def->Z ? KD_Z_GIVEN : (def->kinematics ? KD_Z_FROM_KINEMATICS : KD_Z_IDENTITY);
    eom->moves_in_time = !def->autonomous || def->dims.nu > 0;

    // GZ, best first: gI_v, g_p (with c_s, c_p, g_s), gI linear in v, differences of g
    bool contact_given = def->dims.ns == 0 ||
                         (kd_is_given(eom, KD_G, KD_S) && kd_is_given(eom, KD_C, KD_S) && kd_is_given(eom, KD_C, KD_P));
    if (def->dims.nlambda == 0)
        eom->GZ = KD_GZ_NONE;
    else if (kd_is_given(eom, KD_GI, KD_V) && (def->dims.ns > 0 || !kd_is_given(eom, KD_G, KD_P)))
        eom->GZ = KD_GZ_FROM_GI_V;
    else if (kd_is_given(eom, KD_G, KD_P) && (contact_given || !def->gI))
        eom->GZ = KD_GZ_FROM_G_P;
    else
        eom->GZ = def->gI ? KD_GZ_FROM_GI : KD_GZ_DIFFERENCES;
    eom->exact_GZ = eom->GZ != KD_GZ_DIFFERENCES && (contact_given || eom->GZ != KD_GZ_FROM_G_P);
}

// Entries of a full matrix; more than an int counts are never asked for
static int full_entries(int n)
{
    return n == 0 || n <= INT_MAX / n ? n * n : INT_MAX;
}

// the dispatch table: the definition's function or what stands in for it, its stage, and whether it is noisy
static void fill_entries(kd_eom *eom)
{
    const kd_eom_def  *def = &eom->def;
    const kd_dims     *n = &def->dims;
    const kd_eom_entry entries[KD_FN_COUNT] = {
        [KD_KINEMATICS] = {.user = def->kinematics, .rows = n->np},
        [KD_RESIDUAL] = {.user = def->residual, .fallback = kd_fallback_residual, .rows = n->nv},
        [KD_B] = {.user = def->b, .rows = n->nr},
        [KD_D] = {.user = def->d, .rows = n->nw},
        [KD_C] = {.user = def->c, .rows = n->ns},
        [KD_G] = {.user = def->g, .rows = n->nlambda},
        [KD_GI] = {.user = def->gI, .fallback = kd_fallback_gI, .rows = n->nlambda},
        [KD_GII] = {.user = def->gII, .fallback = kd_fallback_gII, .rows = n->nlambda},
        [KD_H] = {.user = def->h, .rows = n->nmu},
        [KD_HI] = {.user = def->hI, .fallback = kd_fallback_hI, .rows = n->nmu},
        [KD_Q] = {.user = def->q, .rows = n->nq},
        [KD_E] = {.user = def->e, .rows = n->ne},
        [KD_Y] = {.user = def->y, .rows = n->ny},
        [KD_SWITCH] = {.user = def->switching, .rows = n->nswitch},
        [KD_FORCE] = {.user = def->f, .fallback = kd_fallback_force, .rows = n->nv},
        // M always goes through its fallback, which knows the mass structure
        [KD_MASS] = {.user = NULL, .fallback = kd_fallback_mass, .rows = full_entries(n->nv)},
    };
    memcpy(eom->entry, entries, sizeof entries);
    eom->entry[KD_KINEMATICS].fallback = def->Z ? kd_fallback_kinematics : kd_fallback_identity;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) eom->entry[fn].stage = functions[fn].stage;
    // values that come from differences; gI = GZ v with supplied g_p is exact unless time enters
    eom->entry[KD_RESIDUAL].noisy = !def->residual && !eom->exact_GZ;
    eom->entry[KD_FORCE].noisy = !def->f && def->force_of_multipliers && !eom->exact_GZ;
    eom->entry[KD_GI].noisy = !def->gI && (!eom->exact_GZ || eom->moves_in_time);
    eom->entry[KD_GII].noisy = !def->gII;
    eom->entry[KD_HI].noisy = !def->hI;
}

static void fill_dependencies(kd_eom *eom)
{
    const kd_eom_def *def = &eom->def;
    unsigned          present = 0;
    // variables that are there
    for (int var = 0; var < KD_VAR_COUNT; var++)
        if (eom->columns[var] > 0) present |= KD_BIT(var);
    if (!eom->moves_in_time) present &= ~KD_BIT(KD_T);
    // by the signature of each function, less zero[]
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        eom->depends[fn] = formal_dependencies(def, (kd_fn)fn) & present & ~def->zero[fn];
        if (eom->entry[fn].rows == 0) eom->depends[fn] = 0;
    }
    bool constant = def->mass_structure == KD_MASS_FULL_CONSTANT || def->mass_structure == KD_MASS_DIAGONAL_CONSTANT;
    // a constant M still moves with the parameters
    if (constant) eom->depends[KD_MASS] &= KD_BIT(KD_THETA);
}

// Own copies of what the definition points to.
static kd_status copy_definition(const kd_eom_def *def, kd_eom *eom)
{
    const char *title = def->title ? def->title : "";
    size_t      length = strlen(title) + 1;
    eom->def = *def;
    eom->title = kd_alloc(length);
    eom->theta = kd_alloc((size_t)def->dims.ntheta * sizeof(double));
    eom->restitution = kd_alloc((size_t)def->dims.nlambda * sizeof(double));
    eom->friction = kd_alloc((size_t)def->dims.nmu * sizeof(int));
    eom->friction_across = kd_alloc((size_t)def->dims.nmu * sizeof(int));
    eom->friction_normal = kd_alloc((size_t)def->dims.nmu * sizeof(int));
    eom->e_at_start = kd_alloc((size_t)def->dims.ne * sizeof(int));
    eom->friction_scale = kd_alloc((size_t)def->dims.nmu * sizeof(double));
    eom->crossing = kd_alloc((size_t)def->dims.nswitch);
    eom->timed = kd_alloc((size_t)def->dims.nlambda);
    eom->unit = kd_alloc((size_t)def->dims.nv * sizeof(double));
    eom->position_unit = kd_alloc((size_t)def->dims.np * sizeof(double));
    if (!eom->title || !eom->theta || !eom->e_at_start || !eom->restitution || !eom->friction || !eom->friction_scale ||
        !eom->friction_across || !eom->friction_normal || !eom->crossing || !eom->timed || !eom->unit ||
        !eom->position_unit)
        return KD_ERR_MEMORY;
    // natural units, 1 where none are given
    for (int j = 0; j < def->dims.nv; j++) eom->unit[j] = def->unit ? def->unit[j] : 1.0;
    eom->def.unit = eom->unit;
    for (int i = 0; i < def->dims.np; i++) eom->position_unit[i] = def->position_unit ? def->position_unit[i] : 1.0;
    eom->def.position_unit = eom->position_unit;
    if (!(eom->def.time > 0.0)) eom->def.time = 1.0;
    // title, parameters, rows that come and go
    memcpy(eom->title, title, length);
    if (def->dims.ntheta > 0) memcpy(eom->theta, def->theta, (size_t)def->dims.ntheta * sizeof(double));
    eom->def.title = eom->title;
    eom->def.theta = def->dims.ntheta > 0 ? eom->theta : NULL;
    for (int i = 0; def->restitution && i < def->dims.nlambda; i++) eom->restitution[i] = def->restitution[i];
    for (int i = 0; def->friction && i < def->dims.nmu; i++) eom->friction[i] = def->friction[i];
    for (int i = 0; i < def->dims.nmu; i++) {
        eom->friction_across[i] = def->friction_across ? def->friction_across[i] : -1;
        eom->friction_normal[i] = def->friction_normal ? def->friction_normal[i] : -1;
    }
    eom->def.friction_across = eom->friction_across, eom->def.friction_normal = eom->friction_normal;
    for (int i = 0; def->e_at_start && i < def->dims.ne; i++) eom->e_at_start[i] = def->e_at_start[i];
    eom->def.e_at_start = def->e_at_start ? eom->e_at_start : NULL;
    for (int i = 0; def->friction_scale && i < def->dims.nmu; i++) eom->friction_scale[i] = def->friction_scale[i];
    eom->def.friction_scale = def->friction_scale ? eom->friction_scale : NULL;
    eom->def.restitution = def->restitution ? eom->restitution : NULL;
    eom->def.friction = def->friction ? eom->friction : NULL;
    for (int i = 0; def->crossing && i < def->dims.nswitch; i++) eom->crossing[i] = def->crossing[i];
    eom->def.crossing = def->crossing ? eom->crossing : NULL;
    for (int i = 0; def->timed && i < def->dims.nlambda; i++) eom->timed[i] = def->timed[i];
    eom->def.timed = def->timed ? eom->timed : NULL;
    return KD_OK;
}

// check, copy, then decide once what every evaluation would have to ask
kd_status kd_eom_create(const kd_eom_def *def, kd_eom **eom, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (eom) *eom = NULL;
    if (!def || !eom) {
        kd_text(message, size, "kd_eom_create: an argument is NULL");
        return KD_ERR_ARGUMENT;
    }
    kd_status status = check_definition(def, (message_buffer){message, size});
    if (status < 0) return status;

    kd_eom *made = kd_alloc(sizeof *made);
    status = made ? copy_definition(def, made) : KD_ERR_MEMORY;
    if (status < 0) {
        kd_text(message, size, "%s", kd_status_sentence(status));
        kd_eom_destroy(made);
        return status;
    }
    // what each function needs and where it comes from
    fill_columns(made);
    choose_sources(made);
    fill_entries(made);
    fill_dependencies(made);
    *eom = made;
    return KD_OK;
}

kd_eom_values kd_eom_change_values(kd_eom *eom)
{
    if (!eom) return (kd_eom_values){0};
    // evaluation points compare generations at their next kd_eom_at_time
    eom->generation++;
    return (kd_eom_values){
        .theta = eom->def.theta ? eom->theta : NULL,
        .unit = eom->unit,
        .position_unit = eom->position_unit,
        .time = &eom->def.time,
        .restitution = eom->def.restitution ? eom->restitution : NULL,
        .friction_scale = eom->def.friction_scale ? eom->friction_scale : NULL,
    };
}

void kd_eom_destroy(kd_eom *eom)
{
    if (!eom) return;
    kd_free(eom->title);
    kd_free(eom->theta);
    kd_free(eom->unit);
    kd_free(eom->position_unit);
    kd_free(eom->e_at_start);
    kd_free(eom->restitution);
    kd_free(eom->friction);
    kd_free(eom->friction_scale);
    kd_free(eom->friction_across);
    kd_free(eom->friction_normal);
    kd_free(eom->crossing);
    kd_free(eom->timed);
    kd_free(eom);
}

// ---- queries --------------------------------------------------------------------------------------------------------

kd_dims kd_eom_dims(const kd_eom *eom)
{
    if (!eom) return (kd_dims){0};
    return eom->def.dims;
}

int kd_eom_rows(const kd_eom *eom, kd_fn fn)
{
    return eom && (unsigned)fn < KD_FN_COUNT ? eom->entry[fn].rows : 0;
}

int kd_eom_columns(const kd_eom *eom, kd_var var)
{
    return eom && (unsigned)var < KD_VAR_COUNT ? eom->columns[var] : 0;
}

double kd_eom_unit(const kd_eom *eom, int j)
{
    return eom && j >= 0 && j < eom->def.dims.nv ? eom->unit[j] : 1;
}

double kd_eom_position_unit(const kd_eom *eom, int i)
{
    return eom && i >= 0 && i < eom->def.dims.np ? eom->position_unit[i] : 1;
}

double kd_eom_time(const kd_eom *eom)
{
    if (!eom) return 1;
    return eom->def.time;
}

const char *kd_eom_title(const kd_eom *eom)
{
    if (!eom) return "";
    return eom->title;
}

const kd_eom_def *kd_eom_definition(const kd_eom *eom)
{
    return eom ? &eom->def : NULL;
}

bool kd_eom_depends(const kd_eom *eom, kd_fn fn, kd_var var)
{
    if (!eom) return false;
    return eom->depends[fn] & KD_BIT(var);
}

// How many there are of a kind
static int count_of(const kd_eom *eom, kd_kind kind)
{
    const kd_dims *n = &eom->def.dims;
    const int      count[KD_NAME_KIND_COUNT] = {
             [KD_NAME_P] = n->np,   [KD_NAME_V] = n->nv,           [KD_NAME_R] = n->nr,
             [KD_NAME_W] = n->nw,   [KD_NAME_S] = n->ns,           [KD_NAME_LAMBDA] = n->nlambda,
             [KD_NAME_MU] = n->nmu, [KD_NAME_Q] = n->nq,           [KD_NAME_E] = n->ne,
             [KD_NAME_U] = n->nu,   [KD_NAME_Z] = n->nz,           [KD_NAME_THETA] = n->ntheta,
             [KD_NAME_Y] = n->ny,   [KD_NAME_SWITCH] = n->nswitch, [KD_NAME_DRIVE] = eom->def.ndrives,
    };
    return count[kind];
}

const char *kd_eom_name(const kd_eom *eom, kd_kind kind, int i, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", "");
    if (!buffer) return "";
    if (!eom || (unsigned)kind >= KD_NAME_KIND_COUNT) return buffer;
    // the definition is asked for names of what there is
    const bool  has = eom->def.name && i >= 0 && i < count_of(eom, kind);
    const char *name = has ? eom->def.name(kind, i, eom->def.context) : NULL;
    // without own kinematics, velocity i is the rate of coordinate i
    const char *coordinate = NULL;
    if (!name && has && kind == KD_NAME_V && eom->kinematics == KD_Z_IDENTITY)
        coordinate = eom->def.name(KD_NAME_P, i, eom->def.context);
    if (name)
        kd_text(buffer, size, "%s", name);
    else if (coordinate)
        kd_text(buffer, size, "rate of '%s'", coordinate);
    else
        kd_text(buffer, size, "%s[%d]", kind_letters[kind], i);
    return buffer;
}

void kd_row_name(const kd_eom *eom, kd_fn fn, int row, char *buffer, size_t size)
{
    kd_kind kind = functions[fn].kind;
    // M is (nv x nv): the row within its column
    if (fn == KD_MASS && eom->def.dims.nv > 0) row %= eom->def.dims.nv;
    // without own kinematics, velocity i belongs to coordinate i, whose name is the better known one
    if (kind == KD_NAME_V && eom->kinematics == KD_Z_IDENTITY) kind = KD_NAME_P;
    const char *name = eom->def.name ? eom->def.name(kind, row, eom->def.context) : NULL;
    bool        constraint = kind == KD_NAME_LAMBDA || kind == KD_NAME_MU;
    if (name && strchr(name, '\'')) // a model's row that says what it is: joint 'pin' shift along x
        kd_text(buffer, size, "%s", name);
    else if (name)
        kd_text(buffer, size, "%s '%s'", constraint ? "constraint" : kind_letters[kind], name);
    else
        kd_text(buffer, size, "%s[%d]", kind_letters[kind], row);
}
