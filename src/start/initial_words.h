// initial_words.h: what the search for consistent initial values says: why there are none, what moved, by names.
#ifndef KARDAN_START_INITIAL_WORDS_H
#define KARDAN_START_INITIAL_WORDS_H

#include "start/initial_system.h"

#define KD_IV_STORY 640    // characters of a message
#define KD_IV_TOUCHED 1e-5 // part of a unit null vector that counts

typedef struct kd_iv_name_list {
    char *text;
    int   count, named;
} kd_iv_name_list;

const char *kd_iv_quoted(const kd_eom *eom, kd_kind kind, int i, char *buffer, size_t size);
void        kd_iv_append_row(const kd_iv *iv, int fn, int i, char *text);
void        kd_iv_describe_contradiction(const kd_iv_system *s, const char *level, char *text);
void        kd_iv_describe_no_convergence(const kd_iv_system *s, const char *level, char *text);
double      kd_iv_null_part(const kd_iv_system *s, unsigned vars);
void        kd_iv_add_name(const kd_iv *iv, kd_iv_name_list *list, kd_kind kind, int i);
void        kd_iv_name_null_components(kd_iv_system *s, int var, kd_kind kind, int count, kd_iv_name_list *list);
void        kd_iv_end_names(kd_iv_name_list *list);
void        kd_iv_describe_undetermined(kd_iv_system *s, const char *level, char *text);
kd_status   kd_iv_tell_news(const kd_iv *iv, const kd_state *from);

#endif
