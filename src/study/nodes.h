// study/nodes.h: what the readers of study files share beyond modelfile/node_values.h: words and lists in the memory of the study.
#ifndef KD_STUDY_NODES_H
#define KD_STUDY_NODES_H

#include "modelfile/node_values.h"
#include "study/study.h"

typedef struct kd_study_reader {
    kd_study        *study;
    kd_file_findings findings;
    kd_document      document;
    const char      *path;
} kd_study_reader;

// ---- findings -------------------------------------------------------------------------------------------------------
void kd_nodes_say_of(kd_study_reader *r, const kd_node *node, const char *what, const char *word); // with 'word' behind

// ---- values; false, NULL: it was told what is wrong -----------------------------------------------------------------
const char   *kd_nodes_copy(kd_study_reader *r, const char *text); // in the arena of the study
const double *kd_nodes_numbers(kd_study_reader *r, const kd_node *node, int *n);
void          kd_nodes_word(kd_study_reader *r, const kd_node *map, const char *key, const char **out);
int           kd_study_find_parameter(const kd_study *s, const char *name); // -1: it is none of the study

// ---- parts of a study file ------------------------------------------------------------------------------------------
void kd_study_read_outputs(kd_study_reader *r, const kd_node *node);
// An expression of parameters and of the outputs so far.
void kd_study_read_expression(kd_study_reader *r, const kd_node *node, const char *text, kd_expr **expr);
void kd_study_read_identify(kd_study_reader *r, const kd_node *node);
void kd_study_read_keep(kd_study_reader *r, const kd_node *node);
void kd_study_read_search(kd_study_reader *r, const kd_node *node);

#endif
