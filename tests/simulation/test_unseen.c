// Which steps are searched for what laws did inside of them: the promise of a search holds for so long, and for steps
// that are not much longer than the one that was searched.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "case.h"
#include "simulation/unseen.h"
#include "trust/seeded.h"

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 0;
    return KD_EVAL_OK;
}

typedef struct promise {
    double clear, part, lost; // what every search answers; part 0: nothing was found
    int    searches;
} promise;

static kd_eval search(const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, void *context, kd_hidden *out)
{
    promise *p = context;
    (void)x0, (void)x1, (void)seen;
    p->searches++;
    out->clear = p->clear;
    out->lost = p->lost;
    if (p->part > 0) out->part = p->part, out->size = 5, out->name = "push";
    return KD_EVAL_OK;
}

typedef struct fixture {
    promise      promise;
    kd_eom      *eom;
    kd_eom_data *data;
    kd_state    *x;
    kd_unseen   *unseen;
    double       t; // end of the last step
} fixture;

static void open_fixture(fixture *f, double t, double clear)
{
    const kd_inputs             none = {0};
    const kd_integrator_options opt = kd_integrator_options_default();
    kd_eom_def                  def = kd_eom_def_default();
    *f = (fixture){.promise = {.clear = clear}, .t = t};
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.context = &f->promise;
    def.M = mass, def.f = force, def.unseen = search;
    assert_int_equal(kd_eom_create(&def, &f->eom, NULL, 0), KD_OK);
    assert_int_equal(kd_eom_data_create(f->eom, &f->data), KD_OK);
    assert_int_equal(kd_state_create(f->eom, &f->x), KD_OK);
    assert_int_equal(
        kd_unseen_create(f->data, &none, f->x, kd_integrator_about(KD_RADAU, &opt), 1e-6, 1e-6, NULL, &f->unseen),
        KD_OK);
    assert_non_null(f->unseen);
}

static void close_fixture(fixture *f)
{
    kd_unseen_destroy(f->unseen);
    kd_state_destroy(f->x);
    kd_eom_data_destroy(f->data);
    kd_eom_destroy(f->eom);
}

// Is the next step, of length h, searched?
static bool is_searched(fixture *f, double h)
{
    const double    t = f->t;
    const int       before = f->promise.searches;
    kd_step_verdict verdict = KD_STANDS;
    f->x->t = t;
    f->t = t + h;
    kd_state *end = kd_unseen_end(f->unseen, t, f->t, f->x);
    if (!end) return false;
    end->t = f->t;
    assert_int_equal(kd_unseen_look(f->unseen, &verdict), KD_OK);
    assert_int_equal(f->promise.searches, before + 1);
    return true;
}

// Behind a search steps up to twice as long as the one that was searched are left alone while the promise holds; longer
// ones are searched, however they have grown, as are those behind the promise, behind a restart, and those that begin
// before the last one that was searched: it was taken back.
static void promises_hold_for_steps_of_their_kind(void **state)
{
    uint64_t seed = test_seed(1);
    (void)state;
    for (int k = 0; k < 100; k++) {
        const double h = seeded_log(&seed, 1e-6, 1), t0 = seeded_between(&seed, -5, 5), much = 1e3 * h;
        const double up_to = seeded_between(&seed, 0.1, 1.99), beyond = seeded_between(&seed, 2.01, 4);
        fixture      f;
        open_fixture(&f, t0, much);
        assert_true(is_searched(&f, h));
        assert_false(is_searched(&f, up_to * h));
        assert_true(is_searched(&f, beyond * h));
        close_fixture(&f);
        // grown in between: counted from the one that was searched
        open_fixture(&f, t0, much);
        assert_true(is_searched(&f, h));
        assert_false(is_searched(&f, 1.9 * h));
        assert_true(is_searched(&f, 2.2 * h));
        assert_false(is_searched(&f, 4 * h)); // this one was longer
        close_fixture(&f);
        // the promise ends
        open_fixture(&f, t0, seeded_between(&seed, 0.2, 0.9) * h);
        assert_true(is_searched(&f, h));
        assert_false(is_searched(&f, 0.1 * h));
        assert_true(is_searched(&f, h));
        close_fixture(&f);
        // taken back; started again
        open_fixture(&f, t0, much);
        assert_true(is_searched(&f, h));
        f.t = t0;
        assert_true(is_searched(&f, 0.5 * h));
        assert_false(is_searched(&f, 0.5 * h));
        kd_unseen_restart(f.unseen);
        assert_true(is_searched(&f, 0.5 * h));
        close_fixture(&f);
    }
}

// A step that no shorter one would resolve stands where the search summed up what it costs, and only there: a law that
// took hidden values without a known loss excuses nothing, nor does a loss excuse what others object to.
static void only_known_losses_excuse(void **state)
{
    uint64_t seed = test_seed(2);
    (void)state;
    for (int k = 0; k < 50; k++) {
        const double    h = seeded_log(&seed, 1e-6, 1), part = seeded_between(&seed, 0.1, 0.9);
        kd_step_verdict verdict = KD_STANDS, others = {0.5 * h, 2, "the equations of motion do not hold"};
        fixture         f;
        open_fixture(&f, seeded_between(&seed, -5, 5), 0);
        f.promise.part = part;
        f.promise.lost = k % 2 ? seeded_log(&seed, 1e-3, 10) : 0;
        f.x->t = f.t;
        kd_state *end = kd_unseen_end(f.unseen, f.t, f.t + h, f.x);
        assert_non_null(end);
        end->t = f.t + h;
        assert_int_equal(kd_unseen_look(f.unseen, &verdict), KD_OK);
        assert_true(fabs(verdict.h - part * h) <= 1e-9 * h && verdict.size == 5);
        assert_non_null(strstr(verdict.why, "'push'"));
        assert_int_equal(kd_unseen_accounts(f.unseen, &verdict), k % 2);
        assert_false(kd_unseen_accounts(f.unseen, &others));
        assert_false(kd_unseen_accounts(NULL, &verdict));
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_hold_for_steps_of_their_kind),
        cmocka_unit_test(only_known_losses_excuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
