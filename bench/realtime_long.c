// realtime_long.c: ten minutes of driving round a figure eight in steps of 1 ms: the car on closed loops, which a
// driver steers through its ports and which meets its bump in every lap, and the car with caravan, whose driver is part
// of the model. Constraints and distance from the course, minute by minute: nothing may grow.
#include "realtime.h"

#include <math.h>

#include <kardan/kardan.h>
#include <kardan/realtime.h>

#include "core/text.h"

#define STEP 1e-3
#define SPEED 10.0 // [m/s]
#define A 100.0    // the course: x = A sin w, y = B/2 sin 2w, turned so that it starts along x [m]
#define B 60.0
enum { OUTPUTS = 40, INPUTS = 4, MINUTES = 10, MINUTE = 60000, WATCH = 10 }; // steps of a minute, steps between looks

// ---- the course and its driver -------------------------------------------------------------------------------------

typedef struct place {
    double x, y, dx, dy; // and its derivatives by w
} place;

static place course_at(double w)
{
    const double c = A / hypot(A, B), s = B / hypot(A, B);
    const double x = A * sin(w), y = B / 2 * sin(2 * w), dx = A * cos(w), dy = B * cos(2 * w);
    return (place){c * x + s * y, c * y - s * x, c * dx + s * dy, c * dy - s * dx};
}

// Moves w to the point of the course that lies at a way before (x, y), measured along the tangent: Newton's method.
static double follow(double w, double x, double y, double way)
{
    for (int i = 0; i < 2; i++) {
        const place  p = course_at(w);
        const double size = hypot(p.dx, p.dy);
        w += (way - ((p.x - x) * p.dx + (p.y - y) * p.dy) / size) / size;
    }
    return w;
}

static double distance_from_course(double *w, double x, double y)
{
    *w = follow(*w, x, y, 0);
    const place p = course_at(*w);
    return hypot(p.x - x, p.y - y);
}

// Steers towards a point ahead, with a lag; holds the speed by the torque of the rear wheels.
typedef struct driver {
    int    steer, drive, x, y, yaw, speed; // ports
    double w, angle;
} driver;

static void driver_acts(driver *d, const double *outputs, double *inputs)
{
    const double way = 0.6 * SPEED, lag = 0.1, x = outputs[d->x], y = outputs[d->y], yaw = outputs[d->yaw];
    d->w = follow(d->w, x, y, way);
    const place p = course_at(d->w);
    d->angle += STEP / lag * ((cos(yaw) * (p.y - y) - sin(yaw) * (p.x - x)) / way - d->angle);
    inputs[d->steer] = d->angle;
    inputs[d->drive] = 320 * (SPEED - outputs[d->speed]);
}

// ---- a drive -------------------------------------------------------------------------------------------------------

typedef struct drive {
    const char  *name, *title;
    kd_setting   settings[2];
    int          nsettings;
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_realtime *stepper;
} drive;

typedef struct minute {
    double position, velocity, distance; // largest in this minute
} minute;

static bool drive_open(drive *d, char *message, size_t size)
{
    char                      path[BENCH_PATH];
    const kd_realtime_options opt = kd_realtime_options_default();
    kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, d->name);
    if (kd_model_read(path, d->settings, d->nsettings, &d->model, message, size) < 0) return false;
    if (kd_system_create(d->model, NULL, &d->system, message, size) < 0) return false;
    if (kd_state_create(kd_system_eom(d->system), &d->x) < 0) return false;
    if (kd_system_start(d->system, d->x, message, size) < 0) return false;
    const kd_dims n = kd_eom_dims(kd_system_eom(d->system));
    return n.ny <= OUTPUTS && n.nu <= INPUTS &&
           kd_realtime_create(kd_system_eom(d->system), kd_system_inputs(d->system), &opt, d->x, &d->stepper, message,
                              size) >= 0;
}

static void drive_close(drive *d)
{
    kd_realtime_destroy(d->stepper);
    kd_state_destroy(d->x);
    kd_system_destroy(d->system);
    kd_model_destroy(d->model);
}

static driver driver_of(const kd_realtime *rt)
{
    return (driver){.steer = kd_realtime_input(rt, "steer"),
                    .drive = kd_realtime_input(rt, "drive"),
                    .x = kd_realtime_output(rt, "x"),
                    .y = kd_realtime_output(rt, "y"),
                    .yaw = kd_realtime_output(rt, "yaw"),
                    .speed = kd_realtime_output(rt, "speed")};
}

static bool drive_minute(drive *d, driver *who, double *w, double *inputs, minute *m)
{
    *m = (minute){0};
    for (int k = 0; k < MINUTE; k++) {
        double             outputs[OUTPUTS];
        kd_realtime_defect defect;
        if (kd_realtime_step(d->stepper, inputs, outputs) < 0) return false;
        if (who->steer >= 0) driver_acts(who, outputs, inputs);
        if (k % WATCH != 0) continue;
        if (kd_realtime_defects(d->stepper, &defect) < 0) return false;
        m->position = fmax(m->position, defect.position);
        m->velocity = fmax(m->velocity, defect.velocity);
        m->distance = fmax(m->distance, distance_from_course(w, outputs[who->x], outputs[who->y]));
    }
    return true;
}

static void rows_of(bench *b, const drive *d, const minute *m, int n, bool good, const char *message)
{
    double       worst = 0, distance = 0;
    const minute last = good ? m[n - 1] : (minute){NAN, NAN, NAN};
    for (int i = 0; i < n; i++) {
        worst = fmax(worst, m[i].position);
        distance = fmax(distance, m[i].distance);
    }
    bench_row(b, bench_below(1e-6), NAN, good ? worst : NAN, "m", good ? d->title : message, "ten_minutes.position.%s",
              d->name);
    bench_row(b, bench_below(1.5), NAN, last.position / m[0].position, "",
              "largest error of the constraints, last minute over first", "ten_minutes.growth.%s", d->name);
    bench_row(b, bench_below(2), NAN, good ? distance : NAN, "m", "largest distance from the course",
              "ten_minutes.distance.%s", d->name);
    bench_row(b, bench_below(1e-3), NAN, fabs(last.distance - m[0].distance), "m",
              "change of that from the first to the last minute", "ten_minutes.drift.%s", d->name);
}

static void drive_long(bench *b, drive *d)
{
    char      message[500] = "";
    minute    m[MINUTES] = {{0}};
    const int n = bench_quick(b) ? 2 : MINUTES;
    double    inputs[INPUTS] = {0}, w = 0;
    bool      good = drive_open(d, message, sizeof message);
    driver    who = good ? driver_of(d->stepper) : (driver){0};
    if (good && (who.x < 0 || who.y < 0)) kd_text(message, sizeof message, "no outputs x and y");
    good = good && who.x >= 0 && who.y >= 0;
    for (int i = 0; i < n && good; i++) {
        good = drive_minute(d, &who, &w, inputs, &m[i]);
        if (!good) kd_text(message, sizeof message, "minute %d: %s", i + 1, kd_realtime_message(d->stepper));
        bench_say(b, "%s, minute %d: |g| %.1e, |gI| %.1e, distance from the course %.4f m\n", d->name, i + 1,
                  m[i].position, m[i].velocity, m[i].distance);
    }
    rows_of(b, d, m, n, good, message);
    drive_close(d);
}

void realtime_long(bench *b)
{
    drive car = {.name = "closed-loop-car",
                 .title = "600000 steps with ggl, driven through its ports",
                 .settings = {{"speed", "10"}},
                 .nsettings = 1};
    drive trailer = {.name = "car-trailer",
                     .title = "600000 steps with ggl, hitch by constraints",
                     .settings = {{"speed", "10"}, {"course", "2"}},
                     .nsettings = 2};
    if (!bench_wants(b, "ten_minutes.")) return;
    drive_long(b, &car);
    if (!bench_quick(b)) drive_long(b, &trailer);
}
