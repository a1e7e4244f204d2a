// The evaluation point: stages, stamps, faults in words, counters, memory, threads.
#include "systems.h"

#include "eom/internal.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct fixture {
    kd_eom      *eom;
    kd_eom_data *d;
} fixture;

static fixture set_up(const kd_eom_def *def)
{
    fixture f = {.eom = make(def)};
    f.d = make_data(f.eom);
    return f;
}

static void tear_down(fixture *f)
{
    kd_eom_data_destroy(f->d);
    kd_eom_destroy(f->eom);
}

static void too_early(kd_eom_data *d, kd_fn fn)
{
    double out[64];
    assert_int_equal(kd_eom_eval(d, fn, out), KD_EVAL_STOP);
    assert_int_equal(kd_eom_data_fault(d).status, KD_ERR_STAGE);
    assert_int_equal(kd_eom_data_fault(d).fn, fn);
    assert_non_null(strstr(kd_eom_data_message(d), "was asked for before"));
}

static void in_time(kd_eom_data *d, kd_fn fn)
{
    double out[64];
    assert_int_equal(kd_eom_eval(d, fn, out), KD_EVAL_OK);
}

// A function can be asked for from its stage on; setting an earlier stage takes the later ones away.
static void test_stages(void **state)
{
    (void)state;
    kd_eom_def   def = pendulum();
    fixture      f = set_up(&def);
    kd_eom_data *d = f.d;
    const place *x = &pendulum_place;
    too_early(d, KD_G);
    kd_eom_at_position(d, x->p, NULL); // before the time: does not count
    too_early(d, KD_G);
    kd_eom_at_time(d, 0.0, NULL, NULL, NULL, NULL);
    too_early(d, KD_MASS);
    kd_eom_at_position(d, x->p, NULL);
    in_time(d, KD_G);
    in_time(d, KD_MASS);
    too_early(d, KD_GI);
    too_early(d, KD_E);
    too_early(d, KD_KINEMATICS);
    kd_eom_at_velocity(d, x->v, x->r);
    in_time(d, KD_GI);
    in_time(d, KD_E);
    too_early(d, KD_RESIDUAL);
    too_early(d, KD_FORCE);
    too_early(d, KD_GII);
    too_early(d, KD_Y);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, NULL);
    in_time(d, KD_RESIDUAL);
    in_time(d, KD_FORCE);
    in_time(d, KD_Y);
    kd_eom_at_velocity(d, x->v, x->r);
    too_early(d, KD_GII);
    kd_eom_at_position(d, x->p, NULL);
    too_early(d, KD_GI);
    kd_eom_at_time(d, 0.0, NULL, NULL, NULL, NULL);
    too_early(d, KD_G);
    kd_blocks blocks = {0};
    double    block[8], GZ[2];
    blocks.block[KD_G][KD_P] = block;
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_STOP);
    assert_int_equal(kd_eom_constraint_matrices(d, GZ, NULL), KD_EVAL_STOP);
    assert_int_equal(kd_eom_data_fault(d).status, KD_ERR_STAGE);
    tear_down(&f);
}

// Each call gives new stamps to its own stage and the later ones, and only to these.
static void test_stamps(void **state)
{
    (void)state;
    kd_eom_def      def = pendulum();
    fixture         f = set_up(&def);
    const kd_point *now = kd_eom_point(f.d);
    go_to(f.d, &pendulum_place);
    kd_point before = *now;
    kd_eom_at_velocity(f.d, pendulum_place.v, pendulum_place.r);
    assert_true(now->time_stamp == before.time_stamp && now->position_stamp == before.position_stamp);
    assert_true(now->velocity_stamp > before.velocity_stamp && now->acceleration_stamp > before.acceleration_stamp);
    before = *now;
    kd_eom_at_position(f.d, pendulum_place.p, NULL);
    assert_true(now->time_stamp == before.time_stamp && now->position_stamp > before.position_stamp);
    before = *now;
    kd_eom_at_parameters(f.d, NULL);
    assert_true(now->time_stamp > before.time_stamp && now->position_stamp > before.position_stamp);
    tear_down(&f);
}

// ---- faults ---------------------------------------------------------------------------------------------------------

typedef struct trap {
    int     calls, at; // the call that fails
    kd_eval answer;
    double  number; // written to row 1
} trap;
static kd_eval trap_f(const kd_point *x, void *context, double *f)
{
    trap *t = context;
    pendulum_f(x, NULL, f);
    if (++t->calls != t->at) return KD_EVAL_OK;
    f[1] = t->number;
    return t->answer;
}

// NaN or infinity at the n-th call: RETRY, with function, row, name and time in words.
static void test_not_finite(void **state)
{
    (void)state;
    trap       t = {.at = 3, .number = NAN};
    kd_eom_def def = pendulum();
    def.f = trap_f;
    def.context = &t;
    fixture f = set_up(&def);
    double  out[2];
    go_to(f.d, &pendulum_place);
    assert_int_equal(kd_eom_eval(f.d, KD_FORCE, out), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(f.d, KD_RESIDUAL, out), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(f.d, KD_RESIDUAL, out), KD_EVAL_RETRY);
    kd_fault fault = kd_eom_data_fault(f.d);
    assert_int_equal(fault.status, KD_ERR_NOT_FINITE);
    assert_int_equal(fault.fn, KD_FORCE);
    assert_int_equal(fault.row, 1);
    assert_true(fault.t == 0.3);
    assert_string_equal(kd_eom_data_message(f.d), "force f returned NaN in row 1 (p 'y') at t = 0.3");
    assert_int_equal(kd_eom_eval(f.d, KD_RESIDUAL, out), KD_EVAL_OK);
    t = (trap){.at = 1, .number = -INFINITY};
    assert_int_equal(kd_eom_eval(f.d, KD_FORCE, out), KD_EVAL_RETRY);
    assert_string_equal(kd_eom_data_message(f.d), "force f returned infinity in row 1 (p 'y') at t = 0.3");
    tear_down(&f);
}

// STOP and RETRY of a function pass through, at every call of a differenced derivative; the point is restored.
static void test_answers(void **state)
{
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        trap       t = {0};
        kd_eom_def def = pendulum();
        memset(def.given, 0, sizeof def.given);
        def.f = trap_f;
        def.context = &t;
        def.gI = def.gII = NULL;
        fixture   f = set_up(&def);
        double    block[4], gII_p[2];
        kd_blocks blocks = {0};
        blocks.block[KD_RESIDUAL][KD_P] = block;
        blocks.block[KD_GII][KD_P] = gII_p;
        go_to(f.d, &pendulum_place);
        assert_int_equal(kd_eom_derivatives(f.d, KD_PART_ALL, &blocks), KD_EVAL_OK);
        const kd_point before = *kd_eom_point(f.d);
        const int      calls = t.calls;
        assert_in_range(calls, 3, 8);
        for (int at = 1; at <= calls; at++) {
            t = (trap){.at = at, .answer = stop ? KD_EVAL_STOP : KD_EVAL_RETRY};
            kd_eval answer = kd_eom_derivatives(f.d, KD_PART_ALL, &blocks);
            if (stop) {
                assert_int_equal(answer, KD_EVAL_STOP);
                assert_int_equal(kd_eom_data_fault(f.d).status, KD_ERR_CALLBACK_STOP);
                assert_string_equal(kd_eom_data_message(f.d), "force f asked to stop at t = 0.3");
            } else if (answer != KD_EVAL_OK) { // forward differences may have gone to the other side
                assert_int_equal(answer, KD_EVAL_RETRY);
                assert_int_equal(kd_eom_data_fault(f.d).status, KD_ERR_RETRY_FAILED);
            }
            assert_memory_equal(&before, kd_eom_point(f.d), sizeof before);
            in_time(f.d, KD_RESIDUAL);
        }
        tear_down(&f);
    }
}

// A derivative that is not finite is named with its column.
static kd_eval nan_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    kd_eval answer = pendulum_derivative(x, fn, var, part, context, D);
    if (fn == KD_RESIDUAL && var == KD_V) D[2] = NAN;
    return answer;
}
static void test_derivative_fault(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.derivative = nan_derivative;
    fixture   f = set_up(&def);
    double    block[4];
    kd_blocks blocks = {0};
    blocks.block[KD_RESIDUAL][KD_V] = block;
    go_to(f.d, &pendulum_place);
    assert_int_equal(kd_eom_derivatives(f.d, KD_PART_ALL, &blocks), KD_EVAL_RETRY);
    assert_string_equal(kd_eom_data_message(f.d),
                        "derivative of residual by v returned NaN in row 0 (p 'x'), column 1 at t = 0.3");
    tear_down(&f);
}

// ---- what a function finds in out -----------------------------------------------------------------------------------

// at t < 1 every entry, later those that are not zero
static kd_eval sparse_M(const kd_point *x, void *context, double *M)
{
    (void)context;
    if (x->t < 1.0) M[1] = M[2] = 0.5;
    M[0] = M[3] = 2.0;
    return KD_EVAL_OK;
}
static kd_eval sparse_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    (void)x;
    (void)part;
    (void)context;
    if (fn == KD_FORCE && var == KD_V) D[3] = 3.0;
    return KD_EVAL_OK;
}
// M, Z and blocks of derivatives are zero on entry, whatever the arrays held before.
static void test_matrices_are_zero(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.M = sparse_M;
    def.mass_structure = KD_MASS_FULL;
    def.derivative = sparse_derivative;
    memset(def.given, 0, sizeof def.given);
    def.given[KD_FORCE] = KD_BIT(KD_V);
    fixture f = set_up(&def);
    place   x = pendulum_place;
    double  M[4], block[4] = {7.0, 7.0, 7.0, 7.0};
    go_to(f.d, &x);
    assert_int_equal(kd_eom_eval(f.d, KD_MASS, M), KD_EVAL_OK);
    assert_true(M[1] == 0.5);
    x.t = 1.5;
    go_to(f.d, &x);
    assert_int_equal(kd_eom_eval(f.d, KD_MASS, M), KD_EVAL_OK);
    assert_true(M[0] == 2.0 && M[1] == 0.0 && M[2] == 0.0 && M[3] == 2.0);
    kd_blocks blocks = {0};
    blocks.block[KD_FORCE][KD_V] = block;
    assert_int_equal(kd_eom_derivatives(f.d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    assert_true(block[0] == 0.0 && block[1] == 0.0 && block[2] == 0.0 && block[3] == 3.0);
    tear_down(&f);
}

static kd_eval forgetful_f(const kd_point *x, void *context, double *out)
{
    const int *way = context;
    if (*way == 0) out[0] = x->v[0];
    if (*way == 1) out[0] = 0.0, out[1] += x->v[1];
    if (*way == 2) out[0] = out[1] = NAN;
    if (*way == 3) out[0] = out[1] = 1.0;
    return KD_EVAL_OK;
}
// A row that a function forgets, or adds to, is named at its first evaluation and until it has been set once; a NaN of
// the function's own is told apart.
static void test_not_set(void **state)
{
    (void)state;
    int        way = 0;
    kd_eom_def def = pendulum();
    def.f = def.acceleration = forgetful_f;
    def.context = &way;
    fixture f = set_up(&def);
    double  out[2] = {0.0, 0.0};
    go_to(f.d, &pendulum_place);
    for (int k = 0; k < 4; k++) {
        way = k % 2;
        assert_int_equal(k < 2 ? kd_eom_eval(f.d, KD_FORCE, out) : kd_eom_acceleration(f.d, out), KD_EVAL_STOP);
        assert_int_equal(kd_eom_data_fault(f.d).status, KD_ERR_DEFINITION);
        assert_int_equal(kd_eom_data_fault(f.d).row, 1);
        assert_string_equal(kd_eom_data_message(f.d), k < 2 ? "force f: row 1 (p 'y') was not set at t = 0.3"
                                                            : "acceleration: row 1 (p 'y') was not set at t = 0.3");
    }
    way = 2;
    assert_int_equal(kd_eom_eval(f.d, KD_FORCE, out), KD_EVAL_RETRY);
    assert_int_equal(kd_eom_data_fault(f.d).status, KD_ERR_NOT_FINITE);
    way = 3;
    assert_int_equal(kd_eom_eval(f.d, KD_FORCE, out), KD_EVAL_OK);
    assert_int_equal(kd_eom_acceleration(f.d, out), KD_EVAL_OK);
    tear_down(&f);
}

// ---- the rest -------------------------------------------------------------------------------------------------------

static kd_eval some_energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    *out = (kd_energies){.kinetic = x->v[0] * x->v[0] + x->v[1] * x->v[1], .potential = 19.62 * x->p[1]};
    return KD_EVAL_OK;
}
static double every_half(const kd_point *x, void *context)
{
    (void)context;
    return 0.5 * (floor(2.0 * x->t) + 1.0);
}
static kd_eval count_up(const kd_point *x, void *context, double *z)
{
    (void)context;
    z[0] = x->z[0] + 1.0;
    return KD_EVAL_OK;
}
// Energies, explicit formalism, samples and discrete update; what is not given is said so.
static void test_optional_functions(void **state)
{
    (void)state;
    kd_eom_def  def = pendulum();
    fixture     f = set_up(&def);
    kd_energies energies;
    double      a[2], z[1] = {5.0}, residual[2];
    go_to(f.d, &pendulum_place);
    assert_int_equal(kd_eom_energies(f.d, &energies), KD_EVAL_STOP);
    assert_int_equal(kd_eom_data_fault(f.d).status, KD_ERR_UNSUPPORTED);
    assert_int_equal(kd_eom_acceleration(f.d, a), KD_EVAL_STOP);
    assert_true(isinf(kd_eom_next_sample(f.d)));
    tear_down(&f);

    def.dims.nz = 1;
    def.energies = some_energies;
    def.acceleration = pendulum_acceleration;
    def.next_sample = every_half;
    def.discrete = count_up;
    f = set_up(&def);
    place x = pendulum_place;
    x.z[0] = 3.0;
    go_to(f.d, &x);
    assert_int_equal(kd_eom_energies(f.d, &energies), KD_EVAL_OK);
    assert_close(energies.kinetic, 2.25, 1e-15);
    assert_true(kd_eom_next_sample(f.d) == 0.5);
    assert_int_equal(kd_eom_discrete(f.d, z), KD_EVAL_OK);
    assert_true(z[0] == 4.0);
    assert_int_equal(kd_eom_acceleration(f.d, a), KD_EVAL_OK);
    kd_eom_at_acceleration(f.d, a, x.w, x.lambda, NULL);
    assert_int_equal(kd_eom_eval(f.d, KD_RESIDUAL, residual), KD_EVAL_OK);
    assert_close(residual[0], 0.0, 1e-14);
    assert_close(residual[1], 0.0, 1e-14);
    tear_down(&f);
}

// Counters: one evaluation, one count; a constant M is evaluated once for all points.
static void test_counters(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    fixture    f = set_up(&def);
    for (int i = 0; i < 5; i++) {
        go_to(f.d, &pendulum_place);
        in_time(f.d, KD_RESIDUAL);
        in_time(f.d, KD_G);
    }
    kd_eom_counters n = kd_eom_data_counters(f.d);
    assert_int_equal(n.fn[KD_RESIDUAL], 5);
    assert_int_equal(n.fn[KD_FORCE], 5);
    assert_int_equal(n.fn[KD_MASS], 1);
    assert_int_equal(n.fn[KD_G], 5);
    assert_int_equal(n.derivative, 5); // g_p for the constraint force
    assert_int_equal(n.for_differences, 0);
    tear_down(&f);
}

// Same numbers at the same point, bit for bit, whatever was evaluated in between.
static void test_restored(void **state)
{
    (void)state;
    place      x = contact_place();
    kd_eom_def def = contact();
    def.gI = def.gII = NULL;
    memset(def.given, 0, sizeof def.given);
    fixture f = set_up(&def);
    double  first[3], second[3], block[4];
    go_to(f.d, &x);
    assert_int_equal(kd_eom_eval(f.d, KD_RESIDUAL, first), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(f.d, KD_GII, first + 2), KD_EVAL_OK);
    kd_blocks blocks = {0};
    blocks.block[KD_RESIDUAL][KD_P] = block;
    assert_int_equal(kd_eom_derivatives(f.d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(f.d, KD_RESIDUAL, second), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(f.d, KD_GII, second + 2), KD_EVAL_OK);
    assert_memory_equal(first, second, sizeof first);
    tear_down(&f);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

typedef struct counting {
    long allocations, fail_at, alive;
} counting;
static void *counting_allocate(size_t size, void *context)
{
    counting *c = context;
    if (++c->allocations == c->fail_at) return NULL;
    c->alive++;
    return malloc(size);
}
static void counting_release(void *memory, void *context)
{
    ((counting *)context)->alive--;
    free(memory);
}
static void *make_work(void *context)
{
    (void)context;
    return calloc(1, 8);
}
static void *no_work(void *context)
{
    (void)context;
    return NULL;
}

static kd_status create_all(const kd_eom_def *def)
{
    kd_eom      *eom = NULL;
    kd_eom_data *d = NULL;
    kd_state    *x = NULL;
    kd_status    status = kd_eom_create(def, &eom, NULL, 0);
    if (status == KD_OK) status = kd_eom_data_create(eom, &d);
    if (status == KD_OK) status = kd_state_create(eom, &x);
    if (status == KD_OK) {
        x->p[0] = 0.9, x->p[1] = -1.2;
        status = kd_eom_check(eom, NULL, x, NULL, NULL, 0);
    }
    kd_state_destroy(x);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
    return status;
}

// Each allocation failing: KD_ERR_MEMORY, nothing left behind.
static void test_allocation_failures(void **state)
{
    (void)state;
    kd_eom_def   def = pendulum();
    counting     count = {0};
    kd_allocator allocator = {counting_allocate, counting_release, &count};
    def.make_work = make_work;
    def.free_work = free;
    kd_set_allocator(&allocator);
    kd_status status = create_all(&def);
    long      total = count.allocations, left = count.alive, wrong = 0;
    for (long i = 1; i <= total; i++) {
        count = (counting){.fail_at = i};
        wrong += create_all(&def) != KD_ERR_MEMORY;
        wrong += count.alive != 0;
    }
    def.make_work = no_work;
    count = (counting){0};
    wrong += create_all(&def) != KD_ERR_MEMORY;
    wrong += count.alive != 0;
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_OK);
    assert_int_equal(left, 0);
    assert_true(total > 5);
    assert_int_equal(wrong, 0);
}

// Evaluation and differences do not allocate.
static void test_no_allocation(void **state)
{
    (void)state;
    counting     count = {0};
    kd_allocator allocator = {counting_allocate, counting_release, &count};
    kd_set_allocator(&allocator);
    kd_eom_def def = body();
    def.oplus = NULL;
    def.gI = def.gII = NULL;
    memset(def.given, 0, sizeof def.given);
    fixture f = set_up(&def);
    long    before = count.allocations;
    double  out[64], block[36];
    go_to(f.d, &body_place);
    kd_blocks blocks = {0};
    blocks.block[KD_RESIDUAL][KD_P] = block;
    kd_eval answer = kd_eom_derivatives(f.d, KD_PART_ALL, &blocks);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(f.d, KD_GII, out);
    if (answer == KD_EVAL_OK) answer = kd_eom_oplus(f.d, body_place.p, body_place.v, out);
    long during = count.allocations - before;
    tear_down(&f);
    kd_set_allocator(NULL);
    assert_int_equal(answer, KD_EVAL_OK);
    assert_int_equal(during, 0);
}

// ---- threads --------------------------------------------------------------------------------------------------------

typedef struct worker {
    const kd_eom *eom;
    double        lambda, result;
} worker;
static void *work_hard(void *argument)
{
    worker      *w = argument;
    kd_eom_data *d;
    place        x = pendulum_place;
    double       out[2];
    x.lambda[0] = w->lambda;
    if (kd_eom_data_create(w->eom, &d) != KD_OK) return NULL;
    for (int i = 0; i < 2000; i++) {
        go_to(d, &x);
        if (kd_eom_eval(d, KD_RESIDUAL, out) != KD_EVAL_OK) break;
        w->result += out[0];
    }
    kd_eom_data_destroy(d);
    return NULL;
}
// Two threads with data of their own on one object: each gets its own numbers.
static void test_threads(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.make_work = make_work;
    def.free_work = free;
    kd_eom   *eom = make(&def);
    worker    w[2] = {{.eom = eom, .lambda = 1.0}, {.eom = eom, .lambda = 100.0}}, alone[2] = {w[0], w[1]};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, work_hard, &w[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        work_hard(&alone[i]);
        assert_true(w[i].result == alone[i].result);
    }
    kd_eom_destroy(eom);
}

// Numbers are finite though their sum is not; one that is not is found at every place
static void test_all_finite(void **state)
{
    (void)state;
    double x[11];
    for (int n = 0; n <= 11; n++) {
        for (int i = 0; i < 11; i++) x[i] = 1.7e308;
        assert_true(kd_all_finite(x, n));
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) {
                x[i] = k == 0 ? NAN : k == 1 ? INFINITY : -INFINITY;
                assert_false(kd_all_finite(x, n));
                x[i] = 1.0;
            }
        assert_true(kd_all_finite(x, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_derivative_fault),
        cmocka_unit_test(test_matrices_are_zero),
        cmocka_unit_test(test_not_set),
        cmocka_unit_test(test_optional_functions),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_restored),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_all_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
