// core/archive.c: fields of objects to bytes and back, checked.
//
// Numbers have the byte order and format of the machine; whoever writes a file says so in its head.
#include "core/archive.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define MOST_COUNT (1LL << 53)
#define FIRST_ROOM ((size_t)1 << 14)

kd_archive kd_archive_writer(void)
{
    return (kd_archive){.reads = false};
}

kd_archive kd_archive_reader(const void *bytes, size_t size)
{
    // a reader never writes to them
    union {
        const void    *given;
        unsigned char *bytes;
    } from = {bytes};
    return (kd_archive){.reads = true, .bytes = from.bytes, .size = size};
}

void kd_archive_release(kd_archive *a)
{
    if (!a->reads) kd_free(a->bytes);
    *a = (kd_archive){.status = a->status};
}

void kd_archive_fail(kd_archive *a, kd_status status, const char *format, ...)
{
    if (a->status != KD_OK) return;
    va_list list;
    va_start(list, format);
    const int n = a->word ? snprintf(a->why, sizeof a->why, "%s: ", a->word) : 0; // where it was
    vsnprintf(a->why + n, sizeof a->why - (size_t)n, format, list);
    va_end(list);
    a->status = status;
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

static bool make_room(kd_archive *a, size_t n)
{
    if (n <= a->room - a->size) return true;
    size_t room = a->room ? a->room : FIRST_ROOM;
    while (room - a->size < n && room < SIZE_MAX / 4) room *= 2;
    unsigned char *larger = room - a->size < n ? NULL : kd_alloc(room);
    if (!larger) {
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for %zu bytes of a saved object", room);
        return false;
    }
    if (a->size > 0) memcpy(larger, a->bytes, a->size);
    kd_free(a->bytes);
    a->bytes = larger;
    a->room = room;
    return true;
}

// n bytes of a field; false: nothing was moved
static bool move(kd_archive *a, void *field, size_t n)
{
    if (!kd_archive_good(a)) return false;
    if (n == 0) return true;
    if (a->reads) {
        if (n > a->size - a->at) return kd_archive_fail(a, KD_ERR_SAVED, "it ends too early"), false;
        memcpy(field, a->bytes + a->at, n);
        a->at += n;
        return true;
    }
    if (!make_room(a, n)) return false;
    memcpy(a->bytes + a->size, field, n);
    a->at = a->size += n;
    return true;
}

void kd_archive_tag(kd_archive *a, const char *word)
{
    char         found[32] = "";
    unsigned     length = (unsigned)strlen(word), there = length;
    const size_t n = length < sizeof found ? length : sizeof found - 1;
    move(a, &there, sizeof there);
    if (kd_archive_good(a) && there != length) kd_archive_fail(a, KD_ERR_SAVED, "%s is not where it should be", word);
    if (!a->reads) memcpy(found, word, n);
    if (move(a, found, n) && memcmp(found, word, n) != 0)
        kd_archive_fail(a, KD_ERR_SAVED, "%s is not where it should be", word);
    if (kd_archive_good(a)) a->word = word;
}

// ---- single fields --------------------------------------------------------------------------------------------------

void kd_archive_real(kd_archive *a, double *x)
{
    move(a, x, sizeof *x);
}

void kd_archive_least(kd_archive *a, double *x, double least)
{
    double value = *x;
    if (!move(a, &value, sizeof value)) return;
    if (a->reads && !(value >= least)) {
        kd_archive_fail(a, KD_ERR_SAVED, "a number is out of its range");
        return;
    }
    *x = value;
}

void kd_archive_bool(kd_archive *a, bool *x)
{
    unsigned char value = *x;
    kd_archive_flags(a, &value, 1);
    *x = value == 1;
}

void kd_archive_int(kd_archive *a, int *x, int least, int most)
{
    kd_archive_ints(a, x, 1, least, most);
}

void kd_archive_count(kd_archive *a, long *x)
{
    int64_t value = *x;
    if (!move(a, &value, sizeof value)) return;
    if (a->reads && (value < 0 || value > MOST_COUNT)) {
        kd_archive_fail(a, KD_ERR_SAVED, "a counter is out of its range");
        return;
    }
    *x = (long)value;
}

void kd_archive_same(kd_archive *a, long value, const char *what)
{
    int64_t there = value;
    if (!move(a, &there, sizeof there) || there == value) return;
    kd_archive_fail(a, KD_ERR_SAVED, "%s: %lld there, %ld here", what, (long long)there, value);
}

void kd_archive_each_real(kd_archive *a, double *const *x, size_t n)
{
    for (size_t i = 0; i < n; i++) kd_archive_real(a, x[i]);
}

void kd_archive_each_bool(kd_archive *a, bool *const *x, size_t n)
{
    for (size_t i = 0; i < n; i++) kd_archive_bool(a, x[i]);
}

void kd_archive_each_count(kd_archive *a, long *const *x, size_t n)
{
    for (size_t i = 0; i < n; i++) kd_archive_count(a, x[i]);
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

// Arrays of zeros, of which objects have many, take one byte. -0 is no zero.
void kd_archive_doubles(kd_archive *a, double *x, size_t n)
{
    static const double zero = 0;
    unsigned char       any = 0;
    for (size_t i = 0; !a->reads && !any && i < n; i++) any = memcmp(&x[i], &zero, sizeof zero) != 0;
    kd_archive_flags(a, &any, 1);
    if (!kd_archive_good(a) || n == 0) return;
    if (any)
        move(a, x, n * sizeof *x);
    else if (a->reads)
        memset(x, 0, n * sizeof *x);
}

void kd_archive_ints(kd_archive *a, int *x, size_t n, int least, int most)
{
    for (size_t i = 0; i < n; i++) {
        int32_t value = x[i];
        if (!move(a, &value, sizeof value)) return;
        if (a->reads && (value < least || value > most)) {
            kd_archive_fail(a, KD_ERR_SAVED, "a whole number is %d, not in %d .. %d", (int)value, least, most);
            return;
        }
        x[i] = value;
    }
}

// An exchange that was never made is one with itself: nothing reads before the first row
void kd_archive_pivots(kd_archive *a, int *pivot, int n)
{
    kd_archive_ints(a, pivot, n > 0 ? (size_t)n : 0, 0, n);
    for (int k = 0; a->reads && k < n; k++)
        if (pivot[k] < 1) pivot[k] = k + 1;
}

void kd_archive_flags(kd_archive *a, unsigned char *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char value = x[i];
        if (!move(a, &value, 1)) return;
        if (a->reads && value > 1) {
            kd_archive_fail(a, KD_ERR_SAVED, "a flag is %d", value);
            return;
        }
        x[i] = value;
    }
}

void kd_archive_bools(kd_archive *a, bool *x, size_t n)
{
    for (size_t i = 0; i < n; i++) kd_archive_bool(a, &x[i]);
}

void kd_archive_signs(kd_archive *a, signed char *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int value = x[i];
        kd_archive_int(a, &value, -1, 1);
        if (!kd_archive_good(a)) return;
        x[i] = (signed char)value;
    }
}

void kd_archive_text(kd_archive *a, char *text, size_t size)
{
    int length = a->reads ? 0 : (int)strlen(text);
    kd_archive_int(a, &length, 0, (int)size - 1);
    if (!kd_archive_good(a) || !move(a, text, (size_t)length)) return;
    text[length] = '\0';
}

void kd_archive_words(kd_archive *a, const char **text, char *buffer, size_t size)
{
    bool any = *text != NULL;
    kd_archive_bool(a, &any);
    if (!kd_archive_good(a)) return;
    if (!any) {
        *text = NULL;
        return;
    }
    if (!a->reads && *text != buffer) kd_text(buffer, size, "%s", *text);
    kd_archive_text(a, buffer, size);
    if (a->reads) *text = buffer;
}

// ---- arrays of an arena ---------------------------------------------------------------------------------------------

static int count_arrays(const kd_arena *arena)
{
    int n = 0;
    for (const kd_numbers *k = arena->numbers; k; k = k->next) n++;
    return n;
}

// Arrays are counted from the oldest, which is the last of the list: later ones may come and not be there on the other
// side. NULL: there are not so many
static kd_numbers *array_number(const kd_arena *arena, int count, int i)
{
    kd_numbers *k = arena->numbers;
    if (i < 0 || i >= count) return NULL;
    while (++i < count) k = k->next;
    return k;
}

// The array that an address lies in, its number and the place there; NULL: none
static kd_numbers *array_at(const kd_arena *arena, int count, uintptr_t address, int *number, ptrdiff_t *place)
{
    *number = count;
    for (kd_numbers *k = arena->numbers; k; k = k->next) {
        const uintptr_t begin = (uintptr_t)kd_numbers_values(k);
        --*number;
        if (address < begin || address >= begin + k->count * sizeof(double)) continue;
        *place = (ptrdiff_t)((address - begin) / sizeof(double));
        return (address - begin) % sizeof(double) == 0 ? k : NULL;
    }
    return NULL;
}

// The array that the word at `field` points into
static kd_numbers *array_of(const kd_arena *arena, int count, const char *field, int *number, ptrdiff_t *place)
{
    uintptr_t address;
    memcpy(&address, field, sizeof address);
    return address ? array_at(arena, count, address, number, place) : NULL;
}

// Which word of the object points to which array, one by one; -1: no more
static void write_pointers(kd_archive *a, const kd_arena *arena, int count, const char *object, int words)
{
    int       number, end = -1;
    ptrdiff_t place;
    for (int i = 0; i < words; i++) {
        if (!array_of(arena, count, object + (size_t)i * sizeof(double *), &number, &place)) continue;
        kd_archive_int(a, &i, 0, words);
        kd_archive_int(a, &number, 0, count);
    }
    kd_archive_int(a, &end, -1, -1);
}

// Methods exchange arrays of one length: a word that points to one now may point to another such one, at the same place
static void read_pointers(kd_archive *a, const kd_arena *arena, int count, char *object, int words)
{
    int       i = 0, number = 0, own;
    ptrdiff_t place = 0;
    for (kd_archive_int(a, &i, -1, words - 1); kd_archive_good(a) && i >= 0; kd_archive_int(a, &i, -1, words - 1)) {
        kd_archive_int(a, &number, 0, count - 1);
        if (!kd_archive_good(a)) return;
        char             *field = object + (size_t)i * sizeof(double *);
        const kd_numbers *now = array_of(arena, count, field, &own, &place);
        kd_numbers       *then = array_number(arena, count, number);
        if (!now || !then || now->count != then->count) {
            kd_archive_fail(a, KD_ERR_SAVED, "arrays of an object are exchanged in a way that cannot be");
            return;
        }
        const double *moved = kd_numbers_values(then) + place;
        memcpy(field, &moved, sizeof moved);
    }
}

void kd_archive_arrays(kd_archive *a, kd_arena *arena, void *object, size_t size)
{
    const int here = count_arrays(arena), words = (int)(size / sizeof(double *));
    int       there = here;
    kd_archive_int(a, &there, 0, here);
    for (int i = 0; i < there && kd_archive_good(a); i++) {
        kd_numbers *k = array_number(arena, here, i);
        kd_archive_same(a, (long)k->count, "length of an array");
        kd_archive_doubles(a, kd_numbers_values(k), k->count);
    }
    // pointers of the object lie at multiples of their size
    if (a->reads)
        read_pointers(a, arena, here, object, words);
    else
        write_pointers(a, arena, here, object, words);
}
