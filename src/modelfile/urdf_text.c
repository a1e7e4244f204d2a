// urdf_text.c: what a robot description says and what is said about it: report, messages, numbers, poses.
#include "modelfile/urdf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "expr/expr.h"

// ---- report and messages --------------------------------------------------------------------------------------------

static void say(kd_urdf *u, const char *format, va_list arguments)
{
    if (!u->report || u->reported + 1 >= u->report_size) return;
    const int n = vsnprintf(u->report + u->reported, u->report_size - u->reported, format, arguments);
    if (n > 0) u->reported += (size_t)n;
    if (u->reported >= u->report_size) u->reported = u->report_size - 1;
}

void kd_urdf_say_piece(kd_urdf *u, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(u, format, arguments);
    va_end(arguments);
}

const char *kd_urdf_name_of(const kd_xml_element *e)
{
    const char *name = kd_xml_attribute_of(e, "name");
    return name ? name : "";
}

// "line 12: link 'arm': visual: converted: .."; part NULL: the element itself
void kd_urdf_report(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
{
    kd_urdf_say_piece(u, "line %d: %.60s '%.100s': ", part ? part->line : owner->line, owner->name,
                      kd_urdf_name_of(owner));
    if (part) kd_urdf_say_piece(u, "%.60s: ", part->name);
    va_list arguments;
    va_start(arguments, format);
    say(u, format, arguments);
    va_end(arguments);
    kd_urdf_say_piece(u, "\n");
}

void kd_urdf_complain(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
{
    char            text[400];
    const kd_source source = {u->file, part ? part->line : owner->line, 0, 0};
    va_list         arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    kd_model_error_at(u->m, &source, "%.60s '%.100s': %.60s%s%s", owner->name, kd_urdf_name_of(owner),
                      part ? part->name : "", part ? ": " : "", text);
}

// Remember the first failure that is not an error of the model (those are collected).
void kd_urdf_keep_failure(kd_urdf *u, kd_status status)
{
    if (status < 0 && status != KD_ERR_MODEL && u->status >= 0) u->status = status;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// 12, -0.5, 1e-3: an optional sign, digits with a point, an exponent
static bool is_number(const char *c)
{
    int digits = 0;
    if (*c == '+' || *c == '-') c++;
    // digits with a point anywhere
    for (; isdigit((unsigned char)*c); c++) digits++;
    if (*c == '.') c++;
    for (; isdigit((unsigned char)*c); c++) digits++;
    if (digits == 0) return false;
    if (*c == 'e' || *c == 'E') {
        c++;
        if (*c == '+' || *c == '-') c++;
        if (!isdigit((unsigned char)*c)) return false;
        while (isdigit((unsigned char)*c)) c++;
    }
    return *c == '\0';
}

static bool parse_number(const char *word, double *value)
{
    return is_number(word) && kd_expr_constant(word, NULL, value, NULL) >= 0 && isfinite(*value);
}

// Exactly n numbers, separated by blanks.
static bool parse_numbers(const char *text, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        char word[64];
        text += strspn(text, " \t\r\n");
        const size_t length = strcspn(text, " \t\r\n");
        if (length == 0 || length >= sizeof word) return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (!parse_number(word, &out[i])) return false;
        text += length;
    }
    return text[strspn(text, " \t\r\n")] == '\0';
}

// n numbers of an attribute; out keeps its values where there is none. A wrong one is an error.
bool kd_urdf_read_numbers(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, const char *attribute,
                          int n, double *out)
{
    const char *text = kd_xml_attribute_of(e, attribute);
    double      value[4];
    if (!text) return true;
    if (parse_numbers(text, n, value)) {
        memcpy(out, value, (size_t)n * sizeof *out);
        return true;
    }
    kd_urdf_complain(u, owner, e == owner ? NULL : e, "%s=\"%.60s\" is not %s", attribute, text,
                     n == 1 ? "a number" : "three numbers");
    return false;
}

// Attributes that nobody reads are reported.
void kd_urdf_report_attributes(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, const char *known)
{
    for (int i = 0; i < e->nattributes; i++) {
        const char  *name = e->attribute[i].name;
        const size_t n = strlen(name);
        const char  *found = strstr(known, name);
        while (found && (found[-1] != ' ' || found[n] != ' ')) found = strstr(found + 1, name); // known starts with ' '
        if (!found) {
            kd_urdf_report(u, owner, e == owner ? NULL : e, "refused: attribute '%.60s' has no meaning in URDF", name);
        }
    }
}

// ---- poses ----------------------------------------------------------------------------------------------------------

static kd_mat3 matrix_of_rpy(const double rpy[3])
{
    const kd_quat x = kd_quat_exp(kd_vec(rpy[0], 0, 0)), y = kd_quat_exp(kd_vec(0, rpy[1], 0));
    const kd_quat z = kd_quat_exp(kd_vec(0, 0, rpy[2]));
    return kd_quat_matrix(kd_quat_mul(z, kd_quat_mul(y, x)));
}

// <origin xyz rpy>; e NULL: none
bool kd_urdf_read_origin(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, kd_vec3 *r, kd_mat3 *R)
{
    double xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0};
    *r = kd_vec(0, 0, 0);
    *R = kd_mat_identity();
    if (!e) return true;
    kd_urdf_report_attributes(u, owner, e, " xyz rpy ");
    if (!kd_urdf_read_numbers(u, owner, e, "xyz", 3, xyz) || !kd_urdf_read_numbers(u, owner, e, "rpy", 3, rpy))
        return false;
    *r = kd_vec_of(xyz);
    *R = matrix_of_rpy(rpy);
    return true;
}

// A frame with z along the axis.
bool kd_urdf_read_axis(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, kd_mat3 *axes)
{
    double axis[3] = {1, 0, 0};
    if (e) {
        kd_urdf_report_attributes(u, owner, e, " xyz ");
        if (!kd_urdf_read_numbers(u, owner, e, "xyz", 3, axis)) return false;
    }
    const double n = kd_vec_norm(kd_vec_of(axis));
    if (!(n > 1e-6 && n < 1e6)) {
        kd_urdf_complain(u, owner, e, "the axis has no direction");
        return false;
    }
    // z along the axis, x across it
    const kd_vec3 z = kd_vec_scale(1.0 / n, kd_vec_of(axis));
    const kd_vec3 near = fabs(z.x) < 0.77 ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0);
    const kd_vec3 across = kd_vec_axpy(near, -kd_vec_dot(near, z), z);
    const kd_vec3 x = kd_vec_scale(1.0 / kd_vec_norm(across), across);
    *axes = (kd_mat3){x, kd_vec_cross(z, x), z};
    return true;
}
