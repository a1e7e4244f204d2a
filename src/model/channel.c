// channel.c: units of paths and channels.
#include "model/channel.h"

#include <string.h>

#include "model/element.h"

// ---- units ----------------------------------------------------------------------------------------------------------

int kd_model_joint_turns(const kd_model *m, const char *name, int i)
{
    const int j = kd_model_find(m, KD_SECTION_JOINT, name);
    return j < 0 ? -1 : kd_joint_turns(m->joint[j].def.kind, i);
}

// Level 0, 1, 2: coordinate, velocity, acceleration
static const char *unit_of_motion(bool angle, int level)
{
    static const char *const unit[2][3] = {{"m", "m/s", "m/s^2"}, {"rad", "rad/s", "rad/s^2"}};
    return unit[angle][level];
}

static const char *unit_of_force(bool torque)
{
    return torque ? "N m" : "N";
}

static const char *unit_of_frame(kd_property property)
{
    // metres and radians over powers of the second, by the level of the property
    switch (property) {
    case KD_PROPERTY_POS:
    case KD_PROPERTY_COM:
        return unit_of_motion(false, 0);
    case KD_PROPERTY_VEL:
        return unit_of_motion(false, 1);
    case KD_PROPERTY_ACC:
        return unit_of_motion(false, 2);
    case KD_PROPERTY_ANGLE:
        return unit_of_motion(true, 0);
    case KD_PROPERTY_OMEGA:
        return unit_of_motion(true, 1);
    case KD_PROPERTY_ALPHA:
        return unit_of_motion(true, 2);
    case KD_PROPERTY_STRESS:
        return "Pa";
    default:
        return ""; // components of axes
    }
}

// Coordinates and forces along them; six: forces have six components, else one along the coordinate
static const char *unit_along(kd_property property, bool angle, bool six, int i)
{
    switch (property) {
    case KD_PROPERTY_Q:
        return unit_of_motion(angle, 0);
    case KD_PROPERTY_V:
        return unit_of_motion(angle, 1);
    case KD_PROPERTY_A:
        return unit_of_motion(angle, 2);
    case KD_PROPERTY_FORCE:
        return unit_of_force(six ? i >= 3 : angle);
    default:
        return "";
    }
}

// Of "N|N m" the first or the second
static const char *one_of(const char *both, bool second)
{
    static const struct {
        const char *both, *unit[2];
    } list[] = {{"m|rad", {"m", "rad"}}, {"m/s|rad/s", {"m/s", "rad/s"}}, {"N|N m", {"N", "N m"}}};
    // only those that force classes use; a unit without '|' stands for itself
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (strcmp(list[i].both, both) == 0) return list[i].unit[second];
    return both;
}

// joint_spring and the like act along a coordinate, which may be a shift or a turn
const char *kd_force_unit(const kd_model *m, int force, const char *unit)
{
    const kd_force *f = &m->force[force];
    const bool      in_joint = kd_force_element((int)f->def.kind)->units == KD_UNITS_OF_JOINT && f->joint >= 0;
    return one_of(unit, in_joint && kd_joint_turns(m->joint[f->joint].def.kind, f->def.coordinate - 1));
}

static const char *unit_of_constraint(const kd_model *m, const kd_path *path)
{
    if (path->reading) return path->reading->unit;
    return kd_constraint_element((int)m->constraint[path->element].def.kind)->unit; // of multipliers
}

static const char *unit_of_sensor(const kd_model *m, const char *unit, const char *value);

// x of a state: its own unit, or that of the path whose lag it is; states that read each other end there
const char *kd_state_unit(const kd_model *m, const kd_state_def *def)
{
    kd_path path;
    // given, or that of what it follows; a state that follows another state would ask in circles
    if (def->unit && def->unit[0]) return def->unit;
    if (!kd_state_element_class((int)def->kind)->follows_input || !def->input || !strchr(def->input, '.')) return "";
    if (!kd_path_parse(m, def->input, &path, NULL, 0) || path.section == KD_SECTION_STATE) return "";
    return kd_path_unit(m, &path);
}

// the unit belongs to the section; elements tell theirs by their classes
const char *kd_path_unit(const kd_model *m, const kd_path *path)
{
    switch (path->section) {
    case KD_SECTION_BODY:
    case KD_SECTION_FRAME:
        return unit_of_frame(path->property);
    case KD_SECTION_JOINT:
        return unit_along(path->property, kd_joint_turns(m->joint[path->element].def.kind, path->i), true, path->i);
    case KD_SECTION_FORCE:
        return kd_force_unit(m, path->element, path->reading->unit);
    case KD_SECTION_CONSTRAINT:
        return unit_of_constraint(m, path);
    case KD_SECTION_STATE:
        return path->property == KD_PROPERTY_VALUE ? kd_state_unit(m, &m->state[path->element].def) : "";
    case KD_SECTION_ALGEBRAIC:
        return m->algebraic[path->element].def.unit ? m->algebraic[path->element].def.unit : "";
    case KD_SECTION_SENSOR:
        return unit_of_sensor(m, m->sensor[path->element].def.unit, m->sensor[path->element].def.value);
    case KD_SECTION_ENERGY:
        return "J";
    default:
        return "";
    }
}

// given, or that of the path that it shows alone, also with another sign and in brackets: "(-body.b.pos.y)"
static const char *unit_of_sensor(const kd_model *m, const char *unit, const char *value)
{
    kd_path path;
    char    alone[1000];
    if (unit && unit[0]) return unit;
    // as many brackets behind it as before it: names may end with one, x(3)
    int brackets = 0;
    for (; *value != '\0' && strchr("(- ", *value); value++) brackets += *value == '(';
    size_t n = strlen(value);
    for (; n > 0 && (value[n - 1] == ' ' || (value[n - 1] == ')' && brackets > 0)); n--)
        brackets -= value[n - 1] == ')';
    if (n >= sizeof alone || brackets > 0) return "";
    memcpy(alone, value, n);
    alone[n] = '\0';
    return strchr(alone, '.') && kd_path_parse(m, alone, &path, NULL, 0) ? kd_path_unit(m, &path) : "";
}

const char *kd_channel_unit(const kd_model *m, const char *name)
{
    // sensors first: their names may look like paths
    kd_path path;
    for (int i = 0; i < m->nsensors; i++)
        if (strcmp(m->sensor[i].name, name) == 0)
            return unit_of_sensor(m, m->sensor[i].def.unit, m->sensor[i].def.value);
    if (strchr(name, '.') && kd_path_parse(m, name, &path, NULL, 0)) return kd_path_unit(m, &path);
    return "";
}
