// names.h: a table from names to numbers, constant time.
#ifndef KD_MODELFILE_NAMES_H
#define KD_MODELFILE_NAMES_H

#include <kardan/base.h>

typedef struct kd_names {
    int capacity, count; // a power of two; at most half of it is used
    struct kd_name_entry {
        const char *name; // not copied; NULL: free
        int         value;
    } * entry;
} kd_names;

// Put a name into the table. -1: it is new; otherwise the value that it has, which stays. -2: out of memory.
int  kd_names_put(kd_names *names, const char *name, int value);
int  kd_names_find(const kd_names *names, const char *name); // -1: unknown
void kd_names_release(kd_names *names);

#endif
