// Mechanisms with closed loops of the gallery, moved by the extrapolation method on ode with projection and on
// statespace, beside radau on psf: equal sensors, constraints at all steps and wanted times, in both coordinate sets.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <kardan/kardan.h>

enum { MOST_SENSORS = 64, MOST_ROWS = 200, TIMES = 20 };

typedef struct motion {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
    kd_dims      dims;
    double       sensors[MOST_SENSORS]; // at the end
    double       rows[MOST_ROWS];
    double       worst; // |g|, |gI| at all steps and wanted times
    int          seen;
} motion;

static void set_point(motion *m, const kd_state *x)
{
    kd_eom_at_time(m->data, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(m->data, x->p, x->s);
    kd_eom_at_velocity(m->data, x->v, x->r);
    kd_eom_at_acceleration(m->data, x->a, x->w, x->lambda, x->mu);
}

static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    motion *m = context;
    set_point(m, x);
    for (int level = 0; level < 2; level++) {
        assert_int_equal(kd_eom_eval(m->data, level == 0 ? KD_G : KD_GI, m->rows), KD_EVAL_OK);
        for (int i = 0; i < m->dims.nlambda; i++) m->worst = fmax(m->worst, fabs(m->rows[i]));
    }
    m->seen += at_time;
    return KD_EVAL_OK;
}

static motion open_motion(const char *file, kd_coordinates coordinates)
{
    motion            m = {0};
    char              path[400], message[2000] = "";
    kd_system_options options = kd_system_options_default();
    options.coordinates = coordinates;
    snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", file);
    kd_status status = kd_model_read(path, NULL, 0, &m.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(m.model, &options, &m.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(m.system), &m.x);
    if (status >= 0) status = kd_eom_data_create(kd_system_eom(m.system), &m.data);
    if (status >= 0) status = kd_system_start(m.system, m.x, message, sizeof message);
    if (status < 0) fail_msg("%s: %s", file, message);
    m.dims = kd_eom_dims(kd_system_eom(m.system));
    assert_true(m.dims.ny > 0 && m.dims.ny <= MOST_SENSORS && m.dims.nlambda <= MOST_ROWS && m.dims.nu == 0);
    return m;
}

static void close_motion(motion *m)
{
    kd_eom_data_destroy(m->data);
    kd_state_destroy(m->x);
    kd_system_destroy(m->system);
    kd_model_destroy(m->model);
}

// Sensors at t_end
static motion move(const char *file, kd_coordinates coordinates, kd_formulation form, double t_end)
{
    motion                m = open_motion(file, coordinates);
    char                  message[2000] = "";
    double                times[TIMES];
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = form;
    opt.integrator = form == KD_PSF ? KD_RADAU : KD_EXTRAPOLATION;
    opt.rtol = opt.atol = 1e-12;
    if (form == KD_ODE) opt.formulation_options.projection = KD_PROJECT_ALWAYS;
    for (int i = 0; i < TIMES; i++) times[i] = t_end * (i + 1) / TIMES;
    opt.output = look;
    opt.context = &m;
    opt.times = times;
    opt.ntimes = TIMES;
    kd_status status = kd_simulate(kd_system_eom(m.system), NULL, &opt, m.x, t_end, NULL, message, sizeof message);
    if (status < 0) fail_msg("%s: %s", file, message);
    assert_int_equal(m.seen, TIMES);
    set_point(&m, m.x);
    assert_int_equal(kd_eom_eval(m.data, KD_Y, m.sensors), KD_EVAL_OK);
    close_motion(&m);
    return m;
}

static void compare(const char *file, kd_coordinates coordinates, double t_end)
{
    static const kd_formulation forms[] = {KD_ODE, KD_STATESPACE};
    motion                      reference = move(file, coordinates, KD_PSF, t_end);
    for (int form = 0; form < 2; form++) {
        motion m = move(file, coordinates, forms[form], t_end);
        if (!(m.worst < 1e-11)) fail_msg("%s, %s: violation %g", file, kd_formulation_word(forms[form]), m.worst);
        for (int i = 0; i < m.dims.ny; i++)
            if (!(fabs(m.sensors[i] - reference.sensors[i]) <= 1e-9 * fmax(1, fabs(reference.sensors[i]))))
                fail_msg("%s, coordinates %d, %s: sensor %d is %.15g, not %.15g", file, (int)coordinates,
                         kd_formulation_word(forms[form]), i, m.sensors[i], reference.sensors[i]);
    }
}

// Mechanisms with loops move as with radau on psf to 1e-9.
static void loops_move_as_with_radau(void **state)
{
    (void)state;
    const struct {
        const char *file;
        double      t_end;
    } models[] = {{"four-bar-spring", 1}, {"slider-crank", 0.5}, {"andrews", 0.01}, {"trammel", 1}};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        compare(models[k].file, KD_JOINT, models[k].t_end);
        compare(models[k].file, KD_CARTESIAN, models[k].t_end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_move_as_with_radau),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
