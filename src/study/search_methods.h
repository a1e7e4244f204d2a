// study/search_methods.h: the methods of NLopt that a study may ask for.
#ifndef KD_STUDY_SEARCH_METHODS_H
#define KD_STUDY_SEARCH_METHODS_H

#include <stdbool.h>

typedef struct kd_search_method {
    const char *word;           // in files
    const char *nlopt;          // its name there
    bool        global;         // looks at the whole ranges; not only for the next valley
    bool        gradient;       // by differences of runs
    bool        unequal, equal; // constraints that it knows
    const char *sentence;
} kd_search_method;

enum { KD_SEARCH_METHODS = 11 };
extern const kd_search_method KD_SEARCH_METHOD[KD_SEARCH_METHODS];
// Number of a word; -1: there is none.
int kd_search_method_of(const char *word);

#endif
