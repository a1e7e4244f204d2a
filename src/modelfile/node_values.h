// modelfile/node_values.h: values of small files (studies, systems): keys that are known, numbers with units; what is wrong goes to
// the findings with its line.
#ifndef KD_MODELFILE_NODE_VALUES_H
#define KD_MODELFILE_NODE_VALUES_H

#include "modelfile/document.h"

void kd_node_say(kd_file_findings *f, const kd_node *node, const char *what); // node NULL: of the file
// "WHAT 'WORD'; did you mean 'NEAREST'?" about the text of a node
void kd_node_say_unknown(kd_file_findings *f, const kd_node *node, const char *what, const char *const *words,
                         int count);
// Keys and values, all keys (nkeys) known; keys NULL: any
bool kd_node_is_map(kd_file_findings *f, const kd_node *node, const char *const *keys, int nkeys);
#define KD_NODE_IS_MAP(f, node, keys) kd_node_is_map(f, node, keys, (int)(sizeof(keys) / sizeof(keys)[0]))
// A number, with a unit or as an expression of numbers; *value stays where it is none
bool kd_node_number(kd_file_findings *f, const kd_node *node, const char *unit, double *value);
// The same of a key, if it is there
void kd_node_number_of(kd_file_findings *f, const kd_node *map, const char *key, const char *unit, double *value);
bool kd_node_count(kd_file_findings *f, const kd_node *node, int least, int most, int *value);

#endif
