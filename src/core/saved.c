// core/saved.c: bytes of what is saved: a head, then parts with names.
//
//     head: "kdsaved\n", byte order, format, size and checksum of the rest
//     rest: version of kardan, time, then parts: name, size, bytes
#define _POSIX_C_SOURCE 200809L
#include "core/saved.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/load.h"
#include "core/text.h"

static const char     MAGIC[8] = {'k', 'd', 's', 'a', 'v', 'e', 'd', '\n'};
static const uint32_t ORDER = 0x01020304, FORMAT = 1;

enum { VERSION_SIZE = 16, NAME_SIZE = 16 };
#define MOST_BYTES ((size_t)1 << 34)

typedef struct head {
    char     magic[8];
    uint32_t order, format;
    uint64_t size, checksum; // of what follows
    char     version[VERSION_SIZE];
    double   t;
} head;
// the first byte that the checksum counts
enum { COUNTED = offsetof(head, version) };

typedef struct part_head {
    char     name[NAME_SIZE];
    uint64_t size;
} part_head;

struct kd_saved {
    unsigned char *bytes;
    size_t         size;
};

// FNV-1a over words of eight bytes, then over the rest
static uint64_t checksum(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 14695981039346656037u, word;
    size_t   i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        sum = (sum ^ word) * 1099511628211u;
        sum ^= sum >> 32;
    }
    for (; i < size; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

// ---- parts ----------------------------------------------------------------------------------------------------------

static void close_head(kd_saved *s)
{
    head h;
    memcpy(&h, s->bytes, sizeof h);
    h.size = s->size - COUNTED;
    h.checksum = checksum(s->bytes + COUNTED, s->size - COUNTED);
    memcpy(s->bytes, &h, sizeof h);
}

kd_status kd_saved_create(double t, kd_saved **saved)
{
    head h = {.order = ORDER, .format = FORMAT, .t = t};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    kd_text(h.version, sizeof h.version, "%s", kd_version());
    kd_saved *s = *saved = kd_alloc(sizeof *s);
    if (s) s->bytes = kd_alloc(sizeof h);
    if (!s || !s->bytes) {
        kd_saved_destroy(s);
        *saved = NULL;
        return KD_ERR_MEMORY;
    }
    s->size = sizeof h;
    memcpy(s->bytes, &h, sizeof h);
    close_head(s);
    return KD_OK;
}

kd_status kd_saved_add(kd_saved *s, const char *name, kd_archive *part)
{
    part_head      p = {.size = part->size};
    kd_status      status = part->status;
    unsigned char *larger = status == KD_OK ? kd_alloc(s->size + sizeof p + part->size) : NULL;
    if (status == KD_OK && !larger) status = KD_ERR_MEMORY;
    if (larger) {
        kd_text(p.name, sizeof p.name, "%s", name);
        memcpy(larger, s->bytes, s->size);
        memcpy(larger + s->size, &p, sizeof p);
        if (part->size > 0) memcpy(larger + s->size + sizeof p, part->bytes, part->size);
        kd_free(s->bytes);
        s->bytes = larger;
        s->size += sizeof p + part->size;
        close_head(s);
    }
    kd_archive_release(part);
    return status;
}

// The part that begins at `at`; false: the bytes end, or are not those of a part
static bool part_at(const kd_saved *s, size_t at, part_head *p)
{
    if (at > s->size || s->size - at < sizeof *p) return false;
    memcpy(p, s->bytes + at, sizeof *p);
    return memchr(p->name, '\0', sizeof p->name) && p->size <= s->size - at - sizeof *p;
}

bool kd_saved_part(const kd_saved *s, const char *name, kd_archive *part)
{
    part_head p;
    for (size_t at = sizeof(head); s && part_at(s, at, &p); at += sizeof p + (size_t)p.size) {
        if (strcmp(p.name, name) != 0) continue;
        if (part) *part = kd_archive_reader(s->bytes + at + sizeof p, (size_t)p.size);
        return true;
    }
    return false;
}

bool kd_saved_has(const kd_saved *s, const char *part)
{
    return part && kd_saved_part(s, part, NULL);
}

kd_status kd_saved_end(const kd_archive *part, const char *name, char *message, size_t size)
{
    const bool rest = part->status == KD_OK && part->at != part->size;
    if (part->status == KD_OK && !rest) return KD_OK;
    kd_text(message, size, "saved %s: %s", name, rest ? "there is more than belongs to it" : part->why);
    return rest ? KD_ERR_SAVED : part->status;
}

// ---- bytes and files ------------------------------------------------------------------------------------------------

// What is wrong with the head, in words; NULL: nothing
static const char *fault_of(const unsigned char *bytes, size_t size, char *room, size_t room_size)
{
    head h;
    if (size < sizeof h) return "it is too short";
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, MAGIC, sizeof MAGIC) != 0) return "these are no saved simulations of kardan";
    if (h.order != ORDER) return "it comes from a machine of another byte order";
    if (h.size != size - COUNTED) return "it is not complete";
    if (h.checksum != checksum(bytes + COUNTED, size - COUNTED)) return "the checksum does not fit: it is damaged";
    h.version[VERSION_SIZE - 1] = '\0';
    if (h.format == FORMAT && strcmp(h.version, kd_version()) == 0) return NULL;
    kd_text(room, room_size, "it was written by kardan %s, this is %s", h.version, kd_version());
    return room;
}

kd_status kd_saved_of_bytes(const void *bytes, size_t size, kd_saved **saved, char *message, size_t message_size)
{
    char room[100];
    kd_text(message, message_size, "%s", "");
    if (saved) *saved = NULL;
    if (!bytes || !saved || size > MOST_BYTES) return KD_ERR_ARGUMENT;
    const char *fault = fault_of(bytes, size, room, sizeof room);
    if (fault) {
        kd_text(message, message_size, "%s", fault);
        return KD_ERR_SAVED;
    }
    kd_saved *s = *saved = kd_alloc(sizeof *s);
    if (s) s->bytes = kd_alloc(size);
    if (!s || !s->bytes) {
        kd_saved_destroy(s);
        *saved = NULL;
        return KD_ERR_MEMORY;
    }
    memcpy(s->bytes, bytes, size);
    s->size = size;
    return KD_OK;
}

static kd_status write_failed(const char *path, char *message, size_t size)
{
    kd_text(message, size, "%s: %s", path, strerror(errno));
    return KD_ERR_FILE;
}

kd_status kd_saved_write(const kd_saved *s, const char *path, char *message, size_t size)
{
    char name[4096];
    if (!s || !path) return KD_ERR_ARGUMENT;
    // beside it first: a run that is killed meanwhile leaves the file of before
    if ((size_t)snprintf(name, sizeof name, "%s.part", path) >= sizeof name) {
        kd_text(message, size, "'%.60s...' is too long for the name of a file", path);
        return KD_ERR_FILE;
    }
    FILE *file = fopen(name, "wb");
    if (!file) return write_failed(path, message, size);
    const bool written = fwrite(s->bytes, 1, s->size, file) == s->size;
    const bool closed = fclose(file) == 0;
    if (written && closed && rename(name, path) == 0) return KD_OK;
    const kd_status status = write_failed(path, message, size);
    remove(name);
    return status;
}

kd_status kd_saved_read(const char *path, kd_saved **saved, char *message, size_t size)
{
    char  *bytes = NULL, why[200] = "";
    size_t length = 0;
    if (saved) *saved = NULL;
    if (!path || !saved) return KD_ERR_ARGUMENT;
    kd_status status = kd_load_file(path, MOST_BYTES, &bytes, &length, message, size);
    if (status < 0) return status;
    status = length > MOST_BYTES ? KD_ERR_SAVED : kd_saved_of_bytes(bytes, length, saved, why, sizeof why);
    if (status < 0) kd_text(message, size, "%s: %s", path, why[0] ? why : kd_status_sentence(status));
    kd_free(bytes);
    return status;
}

const void *kd_saved_bytes(const kd_saved *s, size_t *size)
{
    if (size) *size = s ? s->size : 0;
    return s ? s->bytes : NULL;
}

double kd_saved_time(const kd_saved *s)
{
    head h = {0};
    if (s) memcpy(&h, s->bytes, sizeof h);
    return h.t;
}

void kd_saved_destroy(kd_saved *s)
{
    if (!s) return;
    kd_free(s->bytes);
    kd_free(s);
}
