// core/kind.h: how a kind of element is written in files and told to people.
#ifndef KARDAN_CORE_KIND_H
#define KARDAN_CORE_KIND_H

typedef struct kd_kind_word {
    const char *word; // NULL: this kind cannot be written
    const char *doc;
} kd_kind_word;

#endif
