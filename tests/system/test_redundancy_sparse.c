// test_redundancy_sparse.c: sparse elimination of rows decides as full matrices with their singular values do: rank,
// rows that are left out, shared forces. Both ways on all models of the gallery, on rows of random linkages with planted
// redundancy, whose rank is known, and on a large one.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <dirent.h>
#include <kardan/kardan.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "core/text.h"
#include "system/redundancy.h"
#include "systems/random_model.h"

static char message[600];

// ---- both ways ------------------------------------------------------------------------------------------------------

typedef struct subject {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} subject;

// The equations with all rows, at an assembled start; false: no constraints, or no start
static bool open_subject(kd_model *model, subject *s)
{
    kd_system_options opt = kd_system_options_default();
    *s = (subject){.model = model};
    opt.keep_redundant = true;
    if (kd_system_create(model, &opt, &s->system, message, sizeof message) < 0) return false;
    const kd_eom *eom = kd_system_eom(s->system);
    if (kd_eom_dims(eom).nlambda == 0 || kd_state_create(eom, &s->x) < 0) return false;
    return kd_system_start(s->system, s->x, message, sizeof message) >= 0;
}

static void close_subject(subject *s)
{
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

static kd_redundancy find(const subject *s, int large, kd_arena *arena, kd_status *status)
{
    kd_redundancy r;
    *status = kd_redundancy_find_by(kd_system_eom(s->system), NULL, kd_system_inputs(s->system), s->x, large, arena, &r,
                                    message, sizeof message);
    return r;
}

// The rank; *eliminated: clusters that were not left to full matrices. One-sided rows that are open at the start are a
// fault in both ways: -1
static int compare_ways(const subject *s, const char *name, int *eliminated)
{
    kd_arena            arena = {0};
    const int           m = kd_eom_dims(kd_system_eom(s->system)).nlambda;
    kd_status           status, other;
    const kd_redundancy full = find(s, INT_MAX, &arena, &status), sparse = find(s, 1, &arena, &other);
    assert_int_equal(status, other);
    *eliminated = sparse.neliminated;
    if (status != KD_OK) {
        kd_arena_release(&arena);
        return -1;
    }
    assert_int_equal(full.neliminated, 0);
    if (full.rank != sparse.rank || full.start_rank != sparse.start_rank || full.certain != sparse.certain)
        fail_msg("%s: rank %d and %d, at the start %d and %d, certain %d and %d", name, full.rank, sparse.rank,
                 full.start_rank, sparse.start_rank, full.certain, sparse.certain);
    for (int i = 0; i < m; i++) {
        char row[128];
        if (full.keep[i] == sparse.keep[i] && full.shares[i] == sparse.shares[i]) continue;
        fail_msg("%s, %s: kept %d and %d, shares %d and %d", name,
                 kd_eom_name(kd_system_eom(s->system), KD_NAME_LAMBDA, i, row, sizeof row), full.keep[i],
                 sparse.keep[i], full.shares[i], sparse.shares[i]);
    }
    const int rank = full.rank;
    kd_arena_release(&arena);
    return rank;
}

// ---- the gallery ----------------------------------------------------------------------------------------------------

static void test_gallery(void **state)
{
    (void)state;
    int            models = 0, sparse = 0, eliminated;
    DIR           *folder = opendir(KD_SOURCE_DIR "/models");
    struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char        path[400];
        const char *dot = strrchr(entry->d_name, '.');
        kd_model   *model = NULL;
        subject     s;
        if (!dot || strcmp(dot, ".yaml") != 0) continue;
        kd_text(path, sizeof path, KD_SOURCE_DIR "/models/%.200s", entry->d_name);
        if (kd_model_read(path, NULL, 0, &model, message, sizeof message) < 0) fail_msg("%s", message);
        if (open_subject(model, &s)) {
            if (compare_ways(&s, entry->d_name, &eliminated) >= 0) models++, sparse += eliminated > 0;
        }
        close_subject(&s);
    }
    closedir(folder);
    print_message("%d models with loops, %d by elimination\n", models, sparse);
    assert_true(models > 20 && 2 * sparse > models);
}

// ---- rows of linkages -----------------------------------------------------------------------------------------------

typedef struct linkage {
    int    loops;
    bool   parallel; // equal cranks: one loop after the other is a parallelogram
    bool   gears;    // between some cranks of a parallel one, which makes a row of their loops redundant
    bool   spatial;  // loops are closed by revolute joints, whose planes are redundant
    int    rows;     // of g
    double turn;     // of the whole about x
    char   text[40000];
} linkage;

static void put_point(char *text, size_t size, const linkage *l, double x, double y)
{
    kd_text_append(text, size, "[%.17g, %.17g, %.17g]", x, y * cos(l->turn), y * sin(l->turn));
}

// One degree of freedom: n + 1 cranks on the ground, n couplers between their ends
static void write_linkage(linkage *l, uint64_t *seed)
{
    char  *t = l->text;
    double x[40], y[40], length = 1 + 0.5 * mechanism_random(seed), angle = 1 + 0.4 * mechanism_random(seed);
    size_t size = sizeof l->text;
    for (int i = 0; i <= l->loops; i++) {
        if (!l->parallel) length = 1 + 0.4 * mechanism_random(seed), angle = 1.2 + 0.5 * mechanism_random(seed);
        x[i] = 3 * i + length * cos(angle);
        y[i] = length * sin(angle);
    }
    kd_text(t, size, "kardan: 1\nbodies:\n");
    for (int i = 0; i <= l->loops; i++) {
        kd_text_append(t, size, "  crank%d: {mass: 1, inertia: [0.1, 0.1, 0.1], position: ", i);
        put_point(t, size, l, (3 * i + x[i]) / 2, y[i] / 2);
        kd_text_append(t, size, "}\n");
        if (i == 0) continue;
        kd_text_append(t, size, "  coupler%d: {mass: 1, inertia: [0.1, 0.1, 0.1], position: ", i);
        put_point(t, size, l, (x[i - 1] + x[i]) / 2, (y[i - 1] + y[i]) / 2);
        kd_text_append(t, size, "}\n");
    }
    kd_text_append(t, size, "joints:\n");
    const double axis[3] = {0, -sin(l->turn), cos(l->turn)};
    for (int i = 0; i <= l->loops; i++)
        for (int k = 0; k < (i > 0 ? 3 : 1); k++) {
            static const char *const name[] = {"pivot", "left", "right"};
            const char              *kind = k < 2 || l->spatial ? "revolute" : "spherical";
            kd_text_append(t, size, "  %s%d: {type: %s, bodies: [", name[k], i, kind);
            if (k == 0) kd_text_append(t, size, "ground, crank%d], point: ", i);
            if (k == 1) kd_text_append(t, size, "crank%d, coupler%d], point: ", i - 1, i);
            if (k == 2) kd_text_append(t, size, "coupler%d, crank%d], point: ", i, i);
            put_point(t, size, l, k == 0 ? 3 * i : x[k == 1 ? i - 1 : i], k == 0 ? 0 : y[k == 1 ? i - 1 : i]);
            if (strcmp(kind, "revolute") == 0)
                kd_text_append(t, size, ", axis: [%.17g, %.17g, %.17g]", axis[0], axis[1], axis[2]);
            kd_text_append(t, size, "}\n");
        }
    l->rows = l->loops * (l->spatial ? 5 : 3);
    for (int i = 1, any = 0; i <= l->loops && l->gears; i++) {
        if (mechanism_below(3, seed) == 0) continue;
        if (!any++) kd_text_append(t, size, "constraints:\n");
        kd_text_append(t, size, "  gear%d: {type: coupling, terms: {joint.pivot%d.q: 1, joint.pivot%d.q: -1}}\n", i,
                       i - 1, i);
        l->rows++;
    }
}

// Of 2 n + 1 coordinates one is free: the rank is 2 n, whatever rows there are
static void test_linkages(void **state)
{
    (void)state;
    uint64_t       seed = 20261;
    static linkage l;
    int            sparse = 0, cases = 0;
    for (int k = 0; k < 60; k++) {
        kd_model *model = NULL;
        subject   s;
        int       eliminated;
        l = (linkage){.loops = 1 + mechanism_below(9, &seed), .parallel = k % 3 > 0, .gears = k % 3 == 2};
        l.spatial = mechanism_below(2, &seed);
        l.turn = mechanism_below(2, &seed) ? mechanism_random(&seed) : 0;
        write_linkage(&l, &seed);
        if (kd_model_read_text("linkage", l.text, strlen(l.text), NULL, 0, &model, message, sizeof message) < 0)
            fail_msg("%s", message);
        if (open_subject(model, &s)) {
            assert_int_equal(kd_eom_dims(kd_system_eom(s.system)).nlambda, l.rows);
            assert_int_equal(compare_ways(&s, "linkage", &eliminated), 2 * l.loops);
            sparse += eliminated > 0;
            cases++;
        }
        close_subject(&s);
    }
    print_message("%d linkages, %d by elimination\n", cases, sparse);
    assert_true(cases > 40 && 2 * sparse > cases);
}

// Random spatial mechanisms; every second one has a loop closed twice
static void test_mechanisms(void **state)
{
    (void)state;
    static mechanism m;
    int              cases = 0, sparse = 0, eliminated;
    for (int k = 0; k < 60; k++) {
        const mechanism_options opt = {.bodies = 3 + k % 5, .loops = 1 + k % 2, .constraints = k % 3, .smooth = true};
        mechanism_make(&m, 500 + (uint64_t)k, &opt);
        const int closing = m.ntree;
        if (k % 2 && m.njoints < MAX_JOINTS) {
            m.joint[m.njoints] = m.joint[closing];
            memcpy(m.design[m.njoints], m.design[closing], sizeof m.design[0]);
            m.njoints++;
        }
        kd_model *model = mechanism_build(&m, &(mechanism_variant){0});
        subject   s;
        if (!model) continue;
        if (open_subject(model, &s)) {
            const int rank = compare_ways(&s, "mechanism", &eliminated);
            if (k % 2) assert_true(rank < kd_eom_dims(kd_system_eom(s.system)).nlambda);
            cases++;
            sparse += eliminated > 0;
        }
        close_subject(&s);
    }
    print_message("%d mechanisms, %d by elimination\n", cases, sparse);
    assert_true(cases > 30 && 2 * sparse > cases);
}

// Large: eliminated without being asked for; the same rows, the same start as with full matrices
static void test_large(void **state)
{
    (void)state;
    const kd_setting set[] = {{"N", "130"}};
    kd_model        *model = NULL;
    kd_arena         arena = {0};
    subject          s;
    int              eliminated;
    if (kd_model_read(KD_SOURCE_DIR "/models/n-four-bar.yaml", set, 1, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    assert_true(open_subject(model, &s));
    assert_int_equal(compare_ways(&s, "n-four-bar", &eliminated), 260);
    assert_int_equal(eliminated, 1);
    kd_redundancy r;
    assert_int_equal(kd_redundancy_find(kd_system_eom(s.system), NULL, NULL, s.x, &arena, &r, message, sizeof message),
                     KD_OK);
    assert_int_equal(r.neliminated, 1);
    // the crank that is held turns with 1 rad/s, and all others with it; the couplers do not turn
    for (int i = 0; i < kd_eom_dims(kd_system_eom(s.system)).nv; i++) {
        char       name[96];
        const bool coupler = strstr(kd_eom_name(kd_system_eom(s.system), KD_NAME_V, i, name, sizeof name), "left");
        assert_true(fabs(s.x->v[i] - (coupler ? -1 : 1)) < 1e-10);
    }
    kd_arena_release(&arena);
    close_subject(&s);
}

// Every allocation failing: told, or done without (full matrices in place of the elimination), and nothing is lost
static void test_memory(void **state)
{
    (void)state;
    const kd_setting  set[] = {{"N", "4"}};
    kd_model         *model = NULL;
    subject           s;
    failing_allocator memory = {0};
    kd_status         status = KD_ERR_MEMORY;
    if (kd_model_read(KD_SOURCE_DIR "/models/n-four-bar.yaml", set, 1, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    assert_true(open_subject(model, &s));
    const int rank = 8;
    bool      good = true;
    failing_allocator_use(&memory);
    do {
        kd_arena      arena = {0};
        kd_redundancy r;
        memory.fail_at++;
        memory.calls = 0;
        status =
            kd_redundancy_find_by(kd_system_eom(s.system), NULL, NULL, s.x, 1, &arena, &r, message, sizeof message);
        good = good && (status == KD_ERR_MEMORY || (status == KD_OK && r.rank == rank));
        kd_arena_release(&arena);
        good = good && memory.live == 0;
    } while (memory.calls >= memory.fail_at && good);
    kd_set_allocator(NULL);
    assert_true(good);
    assert_int_equal(status, KD_OK);
    assert_true(memory.fail_at > 10);
    close_subject(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gallery), cmocka_unit_test(test_linkages), cmocka_unit_test(test_mechanisms),
        cmocka_unit_test(test_large),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
