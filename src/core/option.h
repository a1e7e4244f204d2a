// core/option.h: rows of options at work: defaults, checks, values from and to text.
#ifndef KD_CORE_OPTION_H
#define KD_CORE_OPTION_H

#include <kardan/option.h>
#include <math.h>

// Rows. field: of the structure T, with a path (radau.safety); ranges contain their ends.
#define KD_REAL(name_, T, field, standard_, least_, most_, sentence_)                                                  \
    .name = name_, .type = KD_OPTION_REAL, .standard = standard_, .least = least_, .most = most_,                      \
    .sentence = sentence_, .offset = offsetof(T, field)
#define KD_WHOLE(name_, T, field, standard_, least_, most_, sentence_)                                                 \
    .name = name_, .type = KD_OPTION_INT, .standard = standard_, .least = least_, .most = most_,                       \
    .sentence = sentence_, .offset = offsetof(T, field)
#define KD_SWITCH(name_, T, field, standard_, sentence_)                                                               \
    .name = name_, .type = KD_OPTION_SWITCH, .standard = standard_, .most = 1, .sentence = sentence_,                  \
    .offset = offsetof(T, field)
#define KD_WORD(name_, T, field, standard_, words_, sentence_)                                                         \
    .name = name_, .type = KD_OPTION_WORD, .standard = standard_, .words = words_, .sentence = sentence_,              \
    .offset = offsetof(T, field)

// Was a structure of options (name: "kd_trim_options") made by its default function? NULL options are. Otherwise message
// says so.
bool kd_options_made(const void *options, unsigned cookie, const char *name, char *message, size_t size);

// base: the structure that offsets count from.
void kd_options_reset(const kd_option *rows, int count, void *base);
// Every value within its range: KD_OK, or KD_ERR_ARGUMENT with name, value and range in message
kd_status kd_options_check(const kd_option *rows, int count, const void *base, char *message, size_t size);

double kd_option_number(const kd_option *row, const void *base);                  // of TEXT: NAN
void   kd_option_set_number(const kd_option *row, void *base, double value);      // not checked; TEXT: nothing
bool   kd_option_same(const kd_option *row, const void *base, const void *other); // value in two structures
// "2 to 5", "above 0", "sdirk, esdirk, rosenbrock"
const char *kd_option_range(const kd_option *row, char *buffer, size_t size);
const char *kd_option_print(const kd_option *row, const void *base, char *buffer, size_t size);
// A value from text: checked, then set; otherwise KD_ERR_ARGUMENT, and message says what is allowed
kd_status kd_option_read(const kd_option *row, void *base, const char *text, char *message, size_t size);

#endif
