// query.c: what a finished model consists of, for programs: elements, definitions, coordinates, paths.
#include <kardan/query.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"
#include "model/channel.h"

// numbers of elements come from outside
static bool is_element(const kd_model *m, kd_section section, int i)
{
    return i >= 0 && i < kd_model_count(m, section);
}

int kd_model_count(const kd_model *m, kd_section section)
{
    return m && section >= 0 && section < KD_SECTION_COUNT ? kd_section_count(m, section) : 0;
}

const char *kd_model_name(const kd_model *m, kd_section section, int i)
{
    return is_element(m, section, i) ? kd_element_name(m, section, i) : "";
}

// ---- about an element -----------------------------------------------------------------------------------------------

// The word of a kind in model files; of sections without kinds that of a field with words: the form of a curve
static const char *kind_of(const kd_model *m, kd_section section, int i)
{
    // a section without schema has no kinds
    const kd_schema *schema = kd_section_schema(section);
    if (!schema) return "";
    const void *def = kd_element_definition(m, section, i);
    if (kd_schema_has_kinds(schema)) {
        const char *word = kd_schema_word(schema, kd_schema_kind_of(schema, def))->word;
        return word ? word : "user"; // a block whose function is written in C
    }
    const kd_field *form = section == KD_SECTION_CURVE ? kd_schema_field(schema, 0, "form") : NULL;
    return form ? form->words[m->curve[i].def.form] : "";
}

static int body_of(const kd_anchor *at)
{
    return at->body < 0 ? KD_GROUND : at->body;
}

// Both bodies; a force in a joint has those of the joint. Without places, and of one that acts on one body: no other
static void tell_bodies(const kd_model *m, kd_section section, int i, kd_element_info *info)
{
    if (section == KD_SECTION_JOINT) {
        info->from = body_of(&m->joint[i].from);
        info->to = body_of(&m->joint[i].to);
    } else if (section == KD_SECTION_FORCE && m->force[i].joint >= 0) {
        info->joint = m->force[i].joint;
        tell_bodies(m, KD_SECTION_JOINT, info->joint, info);
    } else if (section == KD_SECTION_FORCE) {
        // elements with one place (applied) have no other body
        if (kd_schema_field(kd_section_schema(section), (int)m->force[i].def.kind, "from"))
            info->from = body_of(&m->force[i].from);
        info->to = body_of(&m->force[i].to);
    } else if (section == KD_SECTION_CONSTRAINT) {
        const kd_schema *schema = kd_section_schema(section);
        if (!kd_schema_field(schema, (int)m->constraint[i].def.kind, "to")) return; // coupling, expression
        info->from = body_of(&m->constraint[i].from);
        info->to = body_of(&m->constraint[i].to);
    } else if (section == KD_SECTION_FRAME) {
        info->to = body_of(&m->frame[i].at);
    }
}

// Its expression, and the number that it has now or at the start
static void tell_value(const kd_model *m, kd_section section, int i, kd_element_info *info)
{
    // expressions as they were written; numbers where an element has one without a motion
    switch (section) {
    case KD_SECTION_PARAMETER:
        info->text = m->parameter[i].expr ? m->parameter[i].text : NULL;
        // a parameter that is computed has a text, others only a number
        info->value = m->parameter[i].value;
        break;
    case KD_SECTION_INPUT:
        info->text = m->input[i].def.value;
        info->value = m->input[i].def.start;
        break;
    case KD_SECTION_STATE:
        info->text = m->state[i].def.input;
        info->value = m->state[i].def.start;
        break;
    case KD_SECTION_ALGEBRAIC:
        info->text = m->algebraic[i].def.equation;
        info->value = m->algebraic[i].def.start;
        break;
    case KD_SECTION_VARIABLE:
        info->value = m->variable[i].def.start;
        break;
    case KD_SECTION_SENSOR:
        info->text = m->sensor[i].def.value;
        break;
    case KD_SECTION_TRACK:
        info->text = m->track[i].def.curvature;
        break;
    case KD_SECTION_EVENT:
        info->text = m->event[i].def.when;
        break;
    case KD_SECTION_SUBSYSTEM:
        info->text = m->subsystem[i].of;
        break;
    default:
        break;
    }
}

// The unit of the path that is its name alone
static const char *unit_of(const kd_model *m, kd_section section, int i)
{
    // input.NAME, state.NAME and so on
    const kd_path path = {.section = section, .element = i, .property = KD_PROPERTY_VALUE};
    switch (section) {
    case KD_SECTION_STATE:
    case KD_SECTION_ALGEBRAIC:
    case KD_SECTION_INPUT:
    case KD_SECTION_SENSOR:
    case KD_SECTION_VARIABLE:
        return kd_path_unit(m, &path);
    default:
        return "";
    }
}

kd_element_info kd_model_about(const kd_model *m, kd_section section, int i)
{
    // what is not known stays empty, NaN or -1
    kd_element_info info = {"", "", "", NULL, NAN, KD_NO_BODY, KD_NO_BODY, -1, NULL, 0, 0};
    if (!is_element(m, section, i)) return info;
    info.name = kd_element_name(m, section, i);
    info.kind = kind_of(m, section, i);
    info.unit = unit_of(m, section, i);
    tell_value(m, section, i, &info);
    tell_bodies(m, section, i, &info);
    const kd_source source = kd_model_source_of(m, section, i, NULL);
    info.file = source.file;
    info.line = source.line;
    info.column = source.column;
    return info;
}

// ---- definitions ----------------------------------------------------------------------------------------------------

#define DEFINITION_OF(word, section)                                                                                   \
    const kd_##word##_def *kd_model_##word##_def(const kd_model *m, int i)                                             \
    {                                                                                                                  \
        return is_element(m, section, i) ? &m->word[i].def : NULL;                                                     \
    }

DEFINITION_OF(body, KD_SECTION_BODY)
DEFINITION_OF(frame, KD_SECTION_FRAME)
DEFINITION_OF(joint, KD_SECTION_JOINT)
DEFINITION_OF(force, KD_SECTION_FORCE)
DEFINITION_OF(constraint, KD_SECTION_CONSTRAINT)
DEFINITION_OF(state, KD_SECTION_STATE)
DEFINITION_OF(input, KD_SECTION_INPUT)
DEFINITION_OF(sensor, KD_SECTION_SENSOR)
DEFINITION_OF(block, KD_SECTION_BLOCK)
DEFINITION_OF(variable, KD_SECTION_VARIABLE)
DEFINITION_OF(algebraic, KD_SECTION_ALGEBRAIC)
DEFINITION_OF(user_force, KD_SECTION_USER_FORCE)
DEFINITION_OF(curve, KD_SECTION_CURVE)
DEFINITION_OF(track, KD_SECTION_TRACK)
DEFINITION_OF(event, KD_SECTION_EVENT)

void kd_model_gravity(const kd_model *m, double g[3])
{
    // NaN: there is no model
    for (int i = 0; g && i < 3; i++) g[i] = m ? m->gravity[i] : NAN;
}

const char *kd_shape_word(kd_shape_kind kind)
{
    const kd_schema *schema = kd_schema_of(KD_SCHEMA_SHAPE);
    const char *word = (int)kind >= 0 && (int)kind < schema->nkinds ? kd_schema_word(schema, (int)kind)->word : NULL;
    return word ? word : "";
}

// ---- coordinates of joints ------------------------------------------------------------------------------------------

int kd_model_coordinates(const kd_model *m, int joint)
{
    return is_element(m, KD_SECTION_JOINT, joint) ? kd_joint_coordinates(m->joint[joint].def.kind) : 0;
}

bool kd_model_has_ball(const kd_model *m, int joint)
{
    return is_element(m, KD_SECTION_JOINT, joint) && kd_joint_form_of(m->joint[joint].def.kind).ball;
}

kd_coordinate_info kd_model_coordinate(const kd_model *m, int joint, int i)
{
    static const char *const q[] = {"q1", "q2", "q3", "q4", "q5", "q6"}, *const v[] = {"v1", "v2", "v3",
                                                                                       "v4", "v5", "v6"};
    // one coordinate is called q, several q1, q2, ..
    const int n = kd_model_coordinates(m, joint);
    if (i < 0 || i >= n) return (kd_coordinate_info){"", "", "", "", NULL, false};
    const kd_joint_def *def = &m->joint[joint].def;
    kd_path             path = {.section = KD_SECTION_JOINT, .element = joint, .property = KD_PROPERTY_Q, .i = i};
    kd_coordinate_info  info = {n > 1 ? q[i] : "q", n > 1 ? v[i] : "v",          kd_path_unit(m, &path), "",
                               def->motion[i],     kd_joint_turns(def->kind, i)};
    path.property = KD_PROPERTY_V;
    info.rate_unit = kd_path_unit(m, &path);
    return info;
}

// ---- paths ----------------------------------------------------------------------------------------------------------

size_t kd_model_path(const kd_model *m, kd_section section, int i, int k, char *text, size_t size)
{
    char buffer[KD_SIGNAL_NAME];
    if (text && size > 0) text[0] = '\0';
    // energy has no elements
    const bool energy = m && section == KD_SECTION_ENERGY;
    if (k < 0 || section > KD_SECTION_ENERGY || (!energy && !is_element(m, section, i))) return 0;
    const char *word = kd_path_word(m, section, energy ? 0 : i, k, buffer);
    if (!word) return 0;
    const char *name = energy ? "" : kd_element_name(m, section, i);
    const int   n = snprintf(text, text ? size : 0, "%s%s%s%s%s", kd_section_word(section), energy ? "" : ".", name,
                           word[0] ? "." : "", word);
    return n > 0 ? (size_t)n : 0;
}

kd_status kd_model_path_about(const kd_model *m, const char *path, kd_path_info *info, char *why, size_t size)
{
    kd_path found;
    kd_text(why, size, "%s", "");
    if (!m || !path || !info) return KD_ERR_ARGUMENT;
    if (!kd_path_parse(m, path, &found, why, size)) return KD_ERR_MODEL;
    *info = (kd_path_info){found.section, found.element, kd_path_unit(m, &found), kd_path_is_kinematic(&found)};
    return KD_OK;
}
