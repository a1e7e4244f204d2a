// guest_values.c: values of all types of variables, as numbers and as text.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortest.h"
#include "core/text.h"
#include "fmi/guest_impl.h"

// A value on its way: bytes of the type of the FMU's version
typedef union value {
    double   f64;
    float    f32;
    int8_t   i8;
    uint8_t  u8;
    int16_t  i16;
    uint16_t u16;
    int32_t  i32;
    uint32_t u32;
    int64_t  i64;
    uint64_t u64;
    bool     flag;
} value;

// The type as it is handed over: enumerations are Int32 in 2.0, Int64 in 3.0, Booleans int in 2.0
static kd_fmi_type passed_as(const kd_guest *g, kd_fmi_type type)
{
    const bool two = kd_guest_version(g) == 2;
    if (type == KD_FMI_ENUMERATION) return two ? KD_FMI_INT32 : KD_FMI_INT64;
    return type == KD_FMI_BOOLEAN && two ? KD_FMI_INT32 : type;
}

static size_t size_of(kd_fmi_type type)
{
    switch (type) {
    case KD_FMI_FLOAT64:
    case KD_FMI_INT64:
    case KD_FMI_UINT64:
        return 8;
    case KD_FMI_FLOAT32:
    case KD_FMI_INT32:
    case KD_FMI_UINT32:
        return 4;
    case KD_FMI_INT16:
    case KD_FMI_UINT16:
        return 2;
    case KD_FMI_INT8:
    case KD_FMI_UINT8:
        return 1;
    case KD_FMI_BOOLEAN:
        return sizeof(bool);
    default:
        return 0;
    }
}

static double number_of(kd_fmi_type type, const value *v)
{
    switch (type) {
    case KD_FMI_FLOAT64:
        return v->f64;
    case KD_FMI_FLOAT32:
        return (double)v->f32;
    case KD_FMI_INT8:
        return v->i8;
    case KD_FMI_UINT8:
        return v->u8;
    case KD_FMI_INT16:
        return v->i16;
    case KD_FMI_UINT16:
        return v->u16;
    case KD_FMI_INT32:
        return v->i32;
    case KD_FMI_UINT32:
        return v->u32;
    case KD_FMI_INT64:
        return (double)v->i64;
    case KD_FMI_UINT64:
        return (double)v->u64;
    case KD_FMI_BOOLEAN:
        return v->flag;
    default:
        return NAN;
    }
}

// Whole numbers must be whole, and in the range of the type
static bool is_whole_in(double x, double least, double most)
{
    return x == floor(x) && x >= least && x <= most;
}

static bool to_value(kd_fmi_type type, double x, value *v)
{
    switch (type) {
    case KD_FMI_FLOAT64:
        v->f64 = x;
        return true;
    case KD_FMI_FLOAT32:
        v->f32 = (float)x;
        return true;
    case KD_FMI_INT8:
        v->i8 = (int8_t)(is_whole_in(x, -128, 127) ? x : 0);
        return is_whole_in(x, -128, 127);
    case KD_FMI_UINT8:
        v->u8 = (uint8_t)(is_whole_in(x, 0, 255) ? x : 0);
        return is_whole_in(x, 0, 255);
    case KD_FMI_INT16:
        v->i16 = (int16_t)(is_whole_in(x, -32768, 32767) ? x : 0);
        return is_whole_in(x, -32768, 32767);
    case KD_FMI_UINT16:
        v->u16 = (uint16_t)(is_whole_in(x, 0, 65535) ? x : 0);
        return is_whole_in(x, 0, 65535);
    case KD_FMI_INT32:
        v->i32 = (int32_t)(is_whole_in(x, INT32_MIN, INT32_MAX) ? x : 0);
        return is_whole_in(x, INT32_MIN, INT32_MAX);
    case KD_FMI_UINT32:
        v->u32 = (uint32_t)(is_whole_in(x, 0, UINT32_MAX) ? x : 0);
        return is_whole_in(x, 0, UINT32_MAX);
    case KD_FMI_INT64:
        v->i64 = (int64_t)(is_whole_in(x, -0x1p63, 0x1.fffffffffffffp62) ? x : 0);
        return is_whole_in(x, -0x1p63, 0x1.fffffffffffffp62);
    case KD_FMI_UINT64:
        v->u64 = (uint64_t)(is_whole_in(x, 0, 0x1.fffffffffffffp63) ? x : 0);
        return is_whole_in(x, 0, 0x1.fffffffffffffp63);
    case KD_FMI_BOOLEAN:
        v->flag = x != 0;
        return x == 0 || x == 1;
    default:
        return false;
    }
}

static kd_status refuse_value(kd_guest *g, const kd_fmi_variable *variable, const char *text)
{
    char why[400];
    kd_text(why, sizeof why, "%.100s: %.100s is no value of type %s", variable->name, text,
            kd_fmi_type_word(variable->type));
    return kd_guest_refuse(g, KD_ERR_ARGUMENT, why);
}

static void begin_call(kd_guest *g, const kd_fmi_variable *variable)
{
    const uint32_t word[2] = {(uint32_t)variable->type, variable->reference};
    kd_bytes_put(kd_guest_request(g), word, sizeof word);
}

kd_status kd_guest_set(kd_guest *g, const kd_fmi_variable *variable, double x)
{
    const kd_fmi_type type = passed_as(g, variable->type);
    value             v;
    char              text[40];
    kd_text(text, sizeof text, "%g", x);
    if (variable->is_array || !to_value(type, x, &v)) return refuse_value(g, variable, text);
    begin_call(g, variable);
    kd_bytes_put(kd_guest_request_again(g), &v, size_of(type));
    return kd_guest_call_now(g, KD_CALL_SET);
}

kd_status kd_guest_get(kd_guest *g, const kd_fmi_variable *variable, double *x)
{
    const kd_fmi_type type = passed_as(g, variable->type);
    value             v;
    *x = NAN;
    if (variable->is_array || size_of(type) == 0) return refuse_value(g, variable, "an array, text or binary");
    begin_call(g, variable);
    kd_status status = kd_guest_call_now(g, KD_CALL_GET);
    if (status < 0) return status;
    if (!kd_bytes_get(kd_guest_answer(g), &v, size_of(type)))
        return kd_guest_refuse(g, KD_ERR_CONNECTION, "its answer is too short");
    *x = number_of(type, &v);
    return KD_OK;
}

// Texts of 64-bit integers, which double does not hold
static bool read_whole(kd_fmi_type type, const char *text, value *v)
{
    char *end;
    errno = 0;
    if (type == KD_FMI_INT64)
        v->i64 = strtoll(text, &end, 10);
    else
        v->u64 = strtoull(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && !(type == KD_FMI_UINT64 && *text == '-');
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static kd_status set_bytes(kd_guest *g, const kd_fmi_variable *variable, const char *text)
{
    const bool     binary = variable->type == KD_FMI_BINARY;
    const size_t   n = strlen(text);
    const uint32_t length = (uint32_t)(binary ? n / 2 : n);
    begin_call(g, variable);
    kd_guest_bytes *in = kd_guest_request_again(g);
    kd_bytes_put(in, &length, sizeof length);
    if (!binary) kd_bytes_put(in, text, length);
    for (size_t i = 0; binary && i + 1 < n; i += 2) {
        const int high = digit(text[i]), low = digit(text[i + 1]);
        if (high < 0 || low < 0) return refuse_value(g, variable, text);
        const uint8_t byte = (uint8_t)(16 * high + low);
        kd_bytes_put(in, &byte, 1);
    }
    return binary && n % 2 ? refuse_value(g, variable, text) : kd_guest_call_now(g, KD_CALL_SET);
}

kd_status kd_guest_set_text(kd_guest *g, const kd_fmi_variable *variable, const char *text)
{
    const kd_fmi_type type = passed_as(g, variable->type);
    value             v;
    char             *end;
    if (variable->is_array) return refuse_value(g, variable, text);
    if (variable->type == KD_FMI_STRING || variable->type == KD_FMI_BINARY) return set_bytes(g, variable, text);
    if (type == KD_FMI_INT64 || type == KD_FMI_UINT64) {
        if (!read_whole(type, text, &v)) return refuse_value(g, variable, text);
        begin_call(g, variable);
        kd_bytes_put(kd_guest_request_again(g), &v, 8);
        return kd_guest_call_now(g, KD_CALL_SET);
    }
    double     x = strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : strtod(text, &end);
    const bool word = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    if (!word && (end == text || *end)) return refuse_value(g, variable, text);
    return kd_guest_set(g, variable, x);
}

static kd_status get_bytes(kd_guest *g, const kd_fmi_variable *variable, char *text, size_t size)
{
    uint32_t length = 0;
    begin_call(g, variable);
    kd_status status = kd_guest_call_now(g, KD_CALL_GET);
    if (status < 0) return status;
    kd_guest_bytes *out = kd_guest_answer(g);
    if (!kd_bytes_get(out, &length, sizeof length) || length > out->size - out->at)
        return kd_guest_refuse(g, KD_ERR_CONNECTION, "its answer is too short");
    const char *bytes = (const char *)out->data + out->at;
    kd_text(text, size, "%s", "");
    if (variable->type == KD_FMI_STRING)
        kd_text(text, size, "%.*s", (int)length, bytes);
    else
        for (uint32_t i = 0; i < length; i++) kd_text_append(text, size, "%02x", (unsigned char)bytes[i]);
    return KD_OK;
}

kd_status kd_guest_get_text(kd_guest *g, const kd_fmi_variable *variable, char *text, size_t size)
{
    const kd_fmi_type type = passed_as(g, variable->type);
    value             v;
    char              digits[KD_SHORTEST_SIZE];
    // texts have lengths; all other types are one number each
    if (variable->type == KD_FMI_STRING || variable->type == KD_FMI_BINARY) return get_bytes(g, variable, text, size);
    if (variable->is_array || size_of(type) == 0) return refuse_value(g, variable, "an array");
    begin_call(g, variable);
    const kd_status status = kd_guest_call_now(g, KD_CALL_GET);
    if (status < 0) return status;
    // whole numbers of 64 bits have no exact double
    if (!kd_bytes_get(kd_guest_answer(g), &v, size_of(type)))
        return kd_guest_refuse(g, KD_ERR_CONNECTION, "its answer is too short");
    if (type == KD_FMI_INT64)
        kd_text(text, size, "%" PRId64, v.i64);
    else if (type == KD_FMI_UINT64)
        kd_text(text, size, "%" PRIu64, v.u64);
    else
        kd_text(text, size, "%s", kd_shortest_text(number_of(type, &v), digits));
    return KD_OK;
}
