// core/archive.h: what an object has to remember, as bytes: one walk over its fields writes them or reads them back.
//
// Every class has one function that names its fields to an archive; the archive knows the direction. So the list of
// fields stands once, and what was written is read in the same order. Bytes come from outside: whole numbers are
// checked against the bounds that the walk gives, texts end, arrays have the lengths of the object that reads. After a
// failure nothing more is read, and the first reason is kept; the object that was read into is then to be destroyed.
//
// Arrays of doubles need no list: arenas know them (kd_cut_double). Which pointer of the object points to which array
// is kept, too, as methods exchange their arrays.
#ifndef KD_CORE_ARCHIVE_H
#define KD_CORE_ARCHIVE_H

#include "core/memory.h"

typedef struct kd_archive {
    bool           reads;
    unsigned char *bytes;    // written: of kd_alloc, the archive's; read: the caller's
    size_t         size, at; // of bytes; place of the next field
    size_t         room;     // written: allocated
    const char    *word;     // the last tag that was passed; NULL: none
    kd_status      status;   // KD_OK, or why the walk failed
    char           why[200];
} kd_archive;

kd_archive kd_archive_writer(void);
kd_archive kd_archive_reader(const void *bytes, size_t size);
void       kd_archive_release(kd_archive *a); // of a writer

// The walk goes on without doing anything; the first reason stays.
void               kd_archive_fail(kd_archive *a, kd_status status, const char *format, ...) KD_PRINTF(3, 4);
static inline bool kd_archive_good(const kd_archive *a)
{
    return a->status == KD_OK;
}

// A word at which both sides must meet: an object of this kind begins.
void kd_archive_tag(kd_archive *a, const char *word);
void kd_archive_real(kd_archive *a, double *x);
void kd_archive_least(kd_archive *a, double *x, double least); // not NaN, not below least: loops end by it
void kd_archive_bool(kd_archive *a, bool *x);
void kd_archive_int(kd_archive *a, int *x, int least, int most);
void kd_archive_count(kd_archive *a, long *x); // 0 .. 2^53
// Arrays, whose length both sides know
void kd_archive_doubles(kd_archive *a, double *x, size_t n);
void kd_archive_ints(kd_archive *a, int *x, size_t n, int least, int most);
// Exchanges of rows of an LU, counted from 1; 0: never set
void kd_archive_pivots(kd_archive *a, int *pivot, int n);
void kd_archive_bools(kd_archive *a, bool *x, size_t n);
void kd_archive_flags(kd_archive *a, unsigned char *x, size_t n); // 0, 1
void kd_archive_signs(kd_archive *a, signed char *x, size_t n);   // -1, 0, 1
void kd_archive_text(kd_archive *a, char *text, size_t size);     // in a buffer of size bytes
// A text that the object points to, in somebody else's memory: read back into the buffer. NULL stays NULL.
void kd_archive_words(kd_archive *a, const char **text, char *buffer, size_t size);
// Both sides must have the same: nothing is read into the object.
void kd_archive_same(kd_archive *a, long value, const char *what);

// All numbers in the arena of an object, and which pointers of the object point to them.
void kd_archive_arrays(kd_archive *a, kd_arena *arena, void *object, size_t size);

// Several fields of a kind
#define KD_ARCHIVE_REALS(a, ...)                                                                                       \
    kd_archive_each_real(a, (double *[]){__VA_ARGS__}, sizeof((double *[]){__VA_ARGS__}) / sizeof(double *))
#define KD_ARCHIVE_BOOLS(a, ...)                                                                                       \
    kd_archive_each_bool(a, (bool *[]){__VA_ARGS__}, sizeof((bool *[]){__VA_ARGS__}) / sizeof(bool *))
#define KD_ARCHIVE_COUNTS(a, ...)                                                                                      \
    kd_archive_each_count(a, (long *[]){__VA_ARGS__}, sizeof((long *[]){__VA_ARGS__}) / sizeof(long *))
void kd_archive_each_real(kd_archive *a, double *const *x, size_t n);
void kd_archive_each_bool(kd_archive *a, bool *const *x, size_t n);
void kd_archive_each_count(kd_archive *a, long *const *x, size_t n);

// An enumerator, by a number of its own: most is the last one.
#define KD_ARCHIVE_ENUM(a, type, field, most)                                                                          \
    do {                                                                                                               \
        int number_ = (int)(field);                                                                                    \
        kd_archive_int(a, &number_, 0, (int)(most));                                                                   \
        (field) = (type)number_;                                                                                       \
    } while (0)

#endif
