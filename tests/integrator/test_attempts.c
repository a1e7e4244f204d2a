// What step control promises, seen from attempt to attempt: an oscillator with a sharp pulse of force, by all methods of
// one step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kardan/kardan.h>

static const kd_integrator_kind methods[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853};
enum { METHODS = sizeof methods / sizeof *methods };

#define T_END 10.0

typedef struct pulse {
    double size, at, width;
} pulse;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const pulse *s = context;
    const double u = (x->t - s->at) / s->width;
    out[0] = s->size * exp(-u * u) - x->p[0];
    return KD_EVAL_OK;
}

typedef struct watch {
    double t, h;       // of the last attempt
    bool   rejected;   // it was
    double most;       // the next step may not be longer; 0: it may
    int    rejections; // that were followed by a step
    double grew;       // the largest next step over that
} watch;

static void note(const kd_attempt_report *r, void *context)
{
    watch *w = context;
    if (w->most > 0 && r->t + r->h < T_END) w->grew = fmax(w->grew, r->h / w->most);
    w->most = 0;
    if (r->outcome == KD_ATTEMPT_ACCEPTED && w->rejected && r->t == w->t) {
        w->most = r->h;
        w->rejections++;
    }
    w->rejected = r->outcome != KD_ATTEMPT_ACCEPTED;
    w->t = r->t;
    w->h = r->h;
}

typedef struct fixture {
    pulse          pulse;
    kd_eom        *eom;
    kd_state      *x;
    kd_dae        *dae;
    kd_integrator *it;
    watch          watch;
} fixture;

static void open_run(fixture *f, kd_integrator_kind method, pulse s, double tol)
{
    kd_eom_def            def = kd_eom_def_default();
    kd_integrator_options opt = kd_integrator_options_default();
    double                y[2] = {0.1, 0};
    *f = (fixture){.pulse = s};
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.context = &f->pulse;
    def.M = mass;
    def.f = force;
    opt.rtol = opt.atol = tol;
    assert_int_equal(kd_eom_create(&def, &f->eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f->eom, &f->x), KD_OK);
    assert_int_equal(kd_formulation_create(f->eom, NULL, f->x, KD_ODE, NULL, &f->dae, NULL, 0), KD_OK);
    f->dae->observe = note;
    f->dae->observer = &f->watch;
    assert_int_equal(kd_integrator_create(f->dae, method, &opt, &f->it, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(f->it, 0, y), KD_OK);
}

static void close_run(fixture *f)
{
    kd_integrator_destroy(f->it);
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// A step that was accepted only after a longer attempt had failed is not followed by a longer one: the estimate that has
// just been too hopeful is not trusted at once.
static void no_growth_behind_a_rejection(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        int rejections = 0;
        for (double width = 0.3; width > 0.01; width *= 0.6) {
            fixture f;
            open_run(&f, methods[k], (pulse){20 / width, 3, width}, 1e-7);
            while (kd_integrator_time(f.it) < T_END) assert_true(kd_integrator_step(f.it, T_END) >= 0);
            if (f.watch.grew > 1 + 1e-6)
                fail_msg("%s, width %g: the next step is %g times as long", kd_integrator_word(methods[k]), width,
                         f.watch.grew);
            rejections += f.watch.rejections;
            close_run(&f);
        }
        assert_true(rejections >= 3);
    }
}

// A step that the end of a run cuts short says nothing against longer ones: a run in pieces goes on as one in a whole.
static void pieces_do_not_shorten_steps(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++)
        for (double piece = 0.3; piece > 0.001; piece *= 0.2) {
            fixture f;
            open_run(&f, methods[k], (pulse){0, 3, 1}, 1e-6);
            for (int i = 0; i < 8; i++) assert_true(kd_integrator_step(f.it, T_END) >= 0);
            const double h = f.watch.h, t = kd_integrator_time(f.it) + piece * h;
            while (kd_integrator_time(f.it) < t) assert_true(kd_integrator_step(f.it, t) >= 0);
            assert_true(f.watch.h < 1.01 * piece * h);
            assert_true(kd_integrator_step(f.it, T_END) >= 0);
            if (!(f.watch.h > 0.6 * h))
                fail_msg("%s: %g of %g behind a piece of %g", kd_integrator_word(methods[k]), f.watch.h, h, piece);
            close_run(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_growth_behind_a_rejection),
        cmocka_unit_test(pieces_do_not_shorten_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
