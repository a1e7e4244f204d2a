// fmi/zip.h: archives in the ZIP format: written whole, read with bounds. Files are untrusted.
#ifndef KD_FMI_ZIP_H
#define KD_FMI_ZIP_H

#include <kardan/base.h>

// Limits of an archive that is read.
enum {
    KD_ZIP_MAX_ENTRIES = 20000,
    KD_ZIP_MAX_NAME = 1000,
};
#define KD_ZIP_MAX_BYTES ((size_t)1 << 29)    // of the archive
#define KD_ZIP_MAX_UNPACKED ((size_t)1 << 30) // of all files in it
#define KD_ZIP_MAX_RATIO 2000                 // bytes that one packed byte becomes (deflate: at most 1032)

// ---- writing --------------------------------------------------------------------------------------------------------
typedef struct kd_zip_writer kd_zip_writer;

kd_status kd_zip_create(kd_zip_writer **writer) KD_NODISCARD;
// One more file, packed where that is shorter. executable: its rights, where systems have them.
kd_status kd_zip_add(kd_zip_writer *writer, const char *name, const void *bytes, size_t size,
                     bool executable) KD_NODISCARD;
// The whole archive as a file; the name appears when all is written.
kd_status kd_zip_write(kd_zip_writer *writer, const char *path, char *message, size_t size) KD_NODISCARD;
void      kd_zip_destroy(kd_zip_writer *writer); // NULL is fine

// ---- reading --------------------------------------------------------------------------------------------------------
typedef struct kd_zip kd_zip;

typedef struct kd_zip_entry {
    const char *name; // relative, without "..", with '/'; a folder ends with it
    size_t      size; // unpacked
    bool        folder;
} kd_zip_entry;

// The bytes must outlive it. Everything that is wrong is told, and refused: names that lead out, links, more than the limits,
// sizes that contradict each other, methods other than stored and deflated, passwords.
kd_status    kd_zip_open(const unsigned char *bytes, size_t size, kd_zip **zip, char *message,
                         size_t message_size) KD_NODISCARD;
void         kd_zip_close(kd_zip *zip); // NULL is fine
int          kd_zip_count(const kd_zip *zip);
kd_zip_entry kd_zip_at(const kd_zip *zip, int i);
int          kd_zip_find(const kd_zip *zip, const char *name); // -1: there is none
// Unpacked, checked by its sum; kd_alloc'd with a zero behind it.
kd_status kd_zip_unpack(const kd_zip *zip, int i, char **bytes, char *message, size_t size) KD_NODISCARD;
// All files into a folder that is there.
kd_status kd_zip_unpack_all(const kd_zip *zip, const char *folder, char *message, size_t size) KD_NODISCARD;

#endif
