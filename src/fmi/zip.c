// zip.c: archives by PKWARE's APPNOTE 6.3: local heads with their bytes, then the list of entries, then its place.
//
// Without ZIP64, several disks and passwords, which FMUs have no use for.
#define _POSIX_C_SOURCE 200809L
#include "fmi/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef KD_WITH_ZLIB
#include <zlib.h>
#endif

#include "core/memory.h"
#include "core/text.h"

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    STORED = 0,
    DEFLATED = 8,
    MADE_BY_UNIX = 3 << 8 | 20,
    UTF8_NAMES = 1 << 11,
    DATE = 0x5a21, // 2025-01-01: the same bytes whenever it is written
};

static unsigned get16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

#ifdef KD_WITH_ZLIB

// ---- writing --------------------------------------------------------------------------------------------------------

typedef struct buffer {
    unsigned char *data;
    size_t         size, room;
} buffer;

struct kd_zip_writer {
    buffer body, list;
    int    count;
};

static bool append(buffer *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        const size_t   room = 2 * (b->size + size) + 1024;
        unsigned char *larger = kd_alloc(room);
        if (!larger) return false;
        if (b->size > 0) memcpy(larger, b->data, b->size);
        kd_free(b->data);
        b->data = larger;
        b->room = room;
    }
    if (size > 0) memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}

static bool put_number(buffer *b, int width, uint32_t value)
{
    const unsigned char digit[4] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 24)};
    return append(b, digit, (size_t)width);
}

kd_status kd_zip_create(kd_zip_writer **writer)
{
    *writer = kd_alloc(sizeof **writer);
    return *writer ? KD_OK : KD_ERR_MEMORY;
}

void kd_zip_destroy(kd_zip_writer *w)
{
    if (!w) return;
    kd_free(w->body.data);
    kd_free(w->list.data);
    kd_free(w);
}

// Raw deflate; NULL and 0: it would not be shorter
static unsigned char *pack(const void *data, size_t size, size_t *packed)
{
    z_stream       z = {0};
    unsigned char *out = size > 0 ? kd_alloc(size) : NULL;
    *packed = 0;
    if (!out || deflateInit2(&z, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
        kd_free(out);
        return NULL;
    }
    // in one go: the answer is never longer than the data, or it is given up
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)size;
    const int answer = deflate(&z, Z_FINISH);
    *packed = answer == Z_STREAM_END ? size - z.avail_out : 0;
    deflateEnd(&z);
    // only what became shorter is kept
    if (*packed > 0 && *packed < size) return out;
    kd_free(out);
    *packed = 0;
    return NULL;
}

// The fields that a local head and the list have in common
static bool put_common(buffer *b, int method, uint32_t crc, size_t packed, size_t size, size_t length)
{
    return put_number(b, 2, 20) && put_number(b, 2, UTF8_NAMES) && put_number(b, 2, (uint32_t)method) &&
           put_number(b, 2, 0) && put_number(b, 2, DATE) && put_number(b, 4, crc) &&
           put_number(b, 4, (uint32_t)packed) && put_number(b, 4, (uint32_t)size) &&
           put_number(b, 2, (uint32_t)length) && put_number(b, 2, 0);
}

kd_status kd_zip_add(kd_zip_writer *w, const char *name, const void *data, size_t size, bool executable)
{
    const size_t length = strlen(name);
    if (size > KD_ZIP_MAX_BYTES || length > KD_ZIP_MAX_NAME) return KD_ERR_ARGUMENT;
    // the data, packed where that is shorter, with its checksum
    size_t         packed;
    unsigned char *packed_data = pack(data, size, &packed);
    const int      method = packed_data ? DEFLATED : STORED;
    const uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), size > 0 ? data : (const void *)"", (uInt)size);
    const uint32_t place = (uint32_t)w->body.size;
    if (!packed_data) packed = size;
    // the entry stands before its data, and once more in the list at the end
    bool good = put_number(&w->body, 4, LOCAL) && put_common(&w->body, method, crc, packed, size, length) &&
                append(&w->body, name, length) && append(&w->body, packed_data ? packed_data : data, packed);
    good = good && put_number(&w->list, 4, CENTRAL) && put_number(&w->list, 2, MADE_BY_UNIX) &&
           put_common(&w->list, method, crc, packed, size, length) && put_number(&w->list, 2, 0) &&
           put_number(&w->list, 2, 0) && put_number(&w->list, 2, 0) &&
           put_number(&w->list, 4, (uint32_t)(executable ? 0100755u : 0100644u) << 16) &&
           put_number(&w->list, 4, place) && append(&w->list, name, length);
    w->count++;
    kd_free(packed_data);
    return good ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_zip_write(kd_zip_writer *w, const char *path, char *message, size_t size)
{
    char temporary[4200];
    // the end: how many entries, how long the list, where it begins
    buffer end = {0};
    bool   good = put_number(&end, 4, END) && put_number(&end, 2, 0) && put_number(&end, 2, 0) &&
                put_number(&end, 2, (uint32_t)w->count) && put_number(&end, 2, (uint32_t)w->count) &&
                put_number(&end, 4, (uint32_t)w->list.size) && put_number(&end, 4, (uint32_t)w->body.size) &&
                put_number(&end, 2, 0);
    if (!good) {
        kd_free(end.data);
        return KD_ERR_MEMORY;
    }
    // under another name until it is whole
    kd_text(temporary, sizeof temporary, "%s.part", path);
    errno = 0;
    FILE *file = fopen(temporary, "wb");
    good = file && fwrite(w->body.data, 1, w->body.size, file) == w->body.size &&
           fwrite(w->list.data, 1, w->list.size, file) == w->list.size &&
           fwrite(end.data, 1, end.size, file) == end.size;
    if (file && fclose(file) != 0) good = false;
    if (good && rename(temporary, path) != 0) good = false;
    if (!good) {
        kd_text(message, size, "%s: cannot be written: %s", path, strerror(errno));
        (void)remove(temporary);
    }
    kd_free(end.data);
    return good ? KD_OK : KD_ERR_FILE;
}

#else

kd_status kd_zip_create(kd_zip_writer **writer)
{
    *writer = NULL;
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_zip_add(kd_zip_writer *w, const char *name, const void *data, size_t size, bool executable)
{
    (void)w, (void)name, (void)data, (void)size, (void)executable;
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_zip_write(kd_zip_writer *w, const char *path, char *message, size_t size)
{
    (void)w, (void)path;
    kd_text(message, size, "archives were not built in: zlib was missing");
    return KD_ERR_UNAVAILABLE;
}

void kd_zip_destroy(kd_zip_writer *w)
{
    (void)w;
}

#endif

// ---- reading --------------------------------------------------------------------------------------------------------

typedef struct entry {
    char    *name;
    uint32_t crc;
    size_t   packed, size, place; // place: of its bytes
    int      method;
    bool     folder;
} entry;

struct kd_zip {
    const unsigned char *bytes;
    size_t               size;
    kd_arena             arena;
    entry               *entry;
    int                  count;
};

static kd_status refuse_archive(char *message, size_t size, const char *name, const char *why)
{
    kd_text(message, size, "%s%.200s%s%s", *name ? "'" : "", name, *name ? "': " : "", why);
    return KD_ERR_FILE;
}

// The place of the end record: behind it a comment of at most 65535 bytes, which it tells
static bool find_end(const unsigned char *b, size_t size, size_t *at)
{
    for (size_t back = END_SIZE; back <= size && back <= END_SIZE + 65535; back++) {
        const unsigned char *p = b + size - back;
        if (get32(p) == END && get16(p + 20) + (size_t)END_SIZE == back) {
            *at = size - back;
            return true;
        }
    }
    return false;
}

// Why a name must not be unpacked; NULL: it may
static const char *wrong_name(const char *name, size_t length)
{
    if (length == 0) return "an entry has no name";
    if (length > KD_ZIP_MAX_NAME) return "the name of an entry is too long";
    if (memchr(name, 0, length)) return "the name has a zero byte";
    if (memchr(name, '\\', length)) return "the name has a backslash; FMUs separate folders by '/'";
    if (name[0] == '/' || (length > 1 && name[1] == ':'))
        return "the name begins at the root; it would lead out of the folder";
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 32 || name[i] == 127) return "the name has a control character";
    for (const char *part = name; part < name + length;) {
        const char  *slash = memchr(part, '/', (size_t)(name + length - part));
        const size_t n = slash ? (size_t)(slash - part) : (size_t)(name + length - part);
        if (n == 2 && strncmp(part, "..", 2) == 0) return "the name has '..'; it would lead out of the folder";
        if (n == 0 || (n == 1 && *part == '.')) return "the name has an empty part";
        part += n + 1;
    }
    return NULL;
}

// What the head in front of the bytes says must be what the list says
static kd_status check_local(kd_zip *z, entry *e, size_t head, size_t list, char *message, size_t size)
{
    const unsigned char *p = z->bytes + head;
    if (head > list || list - head < LOCAL_SIZE || get32(p) != LOCAL)
        return refuse_archive(message, size, e->name, "its head is not where the list says");
    const size_t before = LOCAL_SIZE + get16(p + 26) + get16(p + 28);
    if (before > list - head || e->packed > list - head - before)
        return refuse_archive(message, size, e->name, "its bytes reach beyond the archive");
    if (get16(p + 26) != strlen(e->name) || memcmp(p + LOCAL_SIZE, e->name, strlen(e->name)) != 0)
        return refuse_archive(message, size, e->name, "its head has another name than the list");
    e->place = head + before;
    return KD_OK;
}

// One entry of the list at *at
static kd_status read_entry(kd_zip *z, size_t *at, size_t end, size_t list, entry *e, char *message, size_t size)
{
    const unsigned char *p = z->bytes + *at;
    // an entry of the list, not beyond its end
    if (end - *at < CENTRAL_SIZE || get32(p) != CENTRAL)
        return refuse_archive(message, size, "", "the list of entries is damaged");
    const size_t length = get16(p + 28), rest = get16(p + 30) + (size_t)get16(p + 32);
    if (end - *at - CENTRAL_SIZE < length + rest)
        return refuse_archive(message, size, "", "the list of entries is cut off");
    // names are looked at before anything else is done with them
    const char *why = wrong_name((const char *)p + CENTRAL_SIZE, length);
    e->name = kd_arena_cut(&z->arena, length + 1, 1);
    if (!e->name) return KD_ERR_MEMORY;
    memcpy(e->name, p + CENTRAL_SIZE, length);
    // what is printed must not move the cursor of a terminal
    for (size_t i = 0; why && i < length; i++)
        if ((unsigned char)e->name[i] < 32 || e->name[i] == 127) e->name[i] = '?';
    if (why) return refuse_archive(message, size, e->name, why);
    // checksum, sizes, method; what is not a plain file or folder is refused
    e->crc = get32(p + 16);
    e->packed = get32(p + 20);
    e->size = get32(p + 24);
    e->method = (int)get16(p + 10);
    e->folder = e->name[length - 1] == '/';
    const bool     by_unix = get16(p + 4) >> 8 == 3;
    const unsigned type = by_unix ? get32(p + 38) >> 16 & 0170000u : 0;
    if (get16(p + 8) & 1u) return refuse_archive(message, size, e->name, "it is locked by a password");
    if (type != 0 && type != 0100000u && type != 0040000u)
        return refuse_archive(message, size, e->name, "it is a link or a device, not a file");
    if (e->method != STORED && e->method != DEFLATED)
        return refuse_archive(message, size, e->name, "it is packed by a method other than deflate");
    if (e->packed == UINT32_MAX || e->size == UINT32_MAX)
        return refuse_archive(message, size, e->name, "ZIP64 is not read");
    // sizes that cannot be: a bomb claims far more than its bytes hold
    if (e->method == STORED && e->packed != e->size)
        return refuse_archive(message, size, e->name, "its two sizes are different");
    if (e->size > KD_ZIP_MAX_RATIO * (e->packed + 1))
        return refuse_archive(message, size, e->name, "it claims to unpack to far more than its bytes can hold");
    *at += CENTRAL_SIZE + length + rest;
    return check_local(z, e, get32(p + 42), list, message, size);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

// A name twice, or a file that is a folder for another one
static kd_status check_names(const kd_zip *z, char *message, size_t size)
{
    for (int i = 0; i + 1 < z->count; i++) {
        const char  *a = z->entry[i].name, *b = z->entry[i + 1].name;
        const size_t n = strlen(a);
        if (strcmp(a, b) == 0) return refuse_archive(message, size, a, "it is there twice");
        if (!z->entry[i].folder && strncmp(a, b, n) == 0 && b[n] == '/')
            return refuse_archive(message, size, a, "it is a file and a folder");
    }
    return KD_OK;
}

static kd_status read_list(kd_zip *z, char *message, size_t size)
{
    size_t end = 0, total = 0;
    // the end of the archive tells where the list is
    if (z->size > KD_ZIP_MAX_BYTES) return refuse_archive(message, size, "", "the archive is larger than 512 MB");
    if (z->size < END_SIZE || !find_end(z->bytes, z->size, &end))
        return refuse_archive(message, size, "", "this is not a ZIP archive");
    const unsigned char *p = z->bytes + end;
    const int            count = (int)get16(p + 10);
    const size_t         list_size = get32(p + 12), list = get32(p + 16);
    if (get16(p + 4) != 0 || get16(p + 6) != 0 || get16(p + 8) != get16(p + 10))
        return refuse_archive(message, size, "", "the archive is in several parts");
    // the list must lie before the end, and be long enough for its entries
    if (count > KD_ZIP_MAX_ENTRIES) return refuse_archive(message, size, "", "the archive has too many entries");
    if (list > end || list_size > end - list || (size_t)count * CENTRAL_SIZE > list_size)
        return refuse_archive(message, size, "",
                              "the list of entries is not where the archive says, or shorter than their number");
    z->entry = kd_arena_cut(&z->arena, (size_t)count, sizeof *z->entry);
    if (!z->entry) return KD_ERR_MEMORY;
    size_t at = list;
    // entries one after the other, their sum bounded
    for (; z->count < count; z->count++) {
        const kd_status status = read_entry(z, &at, list + list_size, list, z->entry + z->count, message, size);
        if (status < 0) return status;
        total += z->entry[z->count].size;
        if (total > KD_ZIP_MAX_UNPACKED)
            return refuse_archive(message, size, "", "the files would take more than 1 GB");
    }
    // sorted, so that two of one name are neighbours
    qsort(z->entry, (size_t)count, sizeof *z->entry, by_name);
    return check_names(z, message, size);
}

kd_status kd_zip_open(const unsigned char *b, size_t size, kd_zip **zip, char *message, size_t message_size)
{
    *zip = NULL;
    kd_zip *z = kd_alloc(sizeof *z);
    if (!z) return KD_ERR_MEMORY;
    z->bytes = b;
    z->size = size;
    const kd_status status = read_list(z, message, message_size);
    if (status < 0)
        kd_zip_close(z);
    else
        *zip = z;
    return status;
}

void kd_zip_close(kd_zip *z)
{
    if (!z) return;
    kd_arena_release(&z->arena);
    kd_free(z);
}

int kd_zip_count(const kd_zip *z)
{
    return z->count;
}

kd_zip_entry kd_zip_at(const kd_zip *z, int i)
{
    return (kd_zip_entry){z->entry[i].name, z->entry[i].size, z->entry[i].folder};
}

int kd_zip_find(const kd_zip *z, const char *name)
{
    for (int i = 0; i < z->count; i++)
        if (strcmp(z->entry[i].name, name) == 0) return i;
    return -1;
}

#ifdef KD_WITH_ZLIB

// Exactly the bytes that are told, from exactly those that are there
static bool inflate_into(const unsigned char *from, size_t packed, char *to, size_t size)
{
    z_stream z = {0};
    if (inflateInit2(&z, -15) != Z_OK) return false;
    z.next_in = (Bytef *)(uintptr_t)from;
    z.avail_in = (uInt)packed;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)size;
    const int  answer = inflate(&z, Z_FINISH);
    const bool good = answer == Z_STREAM_END && z.avail_out == 0 && z.avail_in == 0;
    inflateEnd(&z);
    return good;
}

kd_status kd_zip_unpack(const kd_zip *z, int i, char **bytes, char *message, size_t size)
{
    const entry *e = z->entry + i;
    char        *out = kd_alloc(e->size + 1);
    *bytes = NULL;
    if (!out) return KD_ERR_MEMORY;
    bool good = true;
    if (e->method == STORED && e->size > 0) memcpy(out, z->bytes + e->place, e->size);
    if (e->method == DEFLATED) good = inflate_into(z->bytes + e->place, e->packed, out, e->size);
    if (good && (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)out, (uInt)e->size) == e->crc) {
        *bytes = out;
        return KD_OK;
    }
    kd_free(out);
    return refuse_archive(message, size, e->name, "its bytes are damaged");
}

#else

kd_status kd_zip_unpack(const kd_zip *z, int i, char **bytes, char *message, size_t size)
{
    (void)z, (void)i;
    *bytes = NULL;
    kd_text(message, size, "archives were not built in: zlib was missing");
    return KD_ERR_UNAVAILABLE;
}

#endif

// ---- into a folder --------------------------------------------------------------------------------------------------

// The folders of a name, one after the other
static bool make_folders(const char *folder, const char *name)
{
    char path[PATH_MAX];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name) >= (int)sizeof path) return false;
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    }
    return true;
}

static bool write_file(const char *folder, const char *name, const char *bytes, size_t size)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    // never through what is there already
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0700);
    if (file < 0) return false;
    size_t done = 0;
    while (done < size) {
        const ssize_t n = write(file, bytes + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    return close(file) == 0 && done == size;
}

kd_status kd_zip_unpack_all(const kd_zip *z, const char *folder, char *message, size_t size)
{
    for (int i = 0; i < z->count; i++) {
        const entry *e = z->entry + i;
        char        *bytes = NULL;
        if (!make_folders(folder, e->name)) return refuse_archive(message, size, e->name, "its folder cannot be made");
        if (e->folder) continue;
        const kd_status status = kd_zip_unpack(z, i, &bytes, message, size);
        if (status < 0) return status;
        const bool written = write_file(folder, e->name, bytes, e->size);
        kd_free(bytes);
        if (!written) return refuse_archive(message, size, e->name, "it cannot be written");
    }
    return KD_OK;
}
