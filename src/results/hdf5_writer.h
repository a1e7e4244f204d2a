// results/hdf5_writer.h: HDF5 files that are put together in memory and written as every other file is. Failures are noted in the writer and looked at once.
#ifndef KD_RESULTS_HDF5_WRITER_H
#define KD_RESULTS_HDF5_WRITER_H

#include <kardan/base.h>

#ifdef KD_WITH_HDF5
#include "core/hdf5_late.h"

typedef struct kd_h5_writer {
    hid_t   file, creation; // creation: of datasets and groups, without times of change
    bool    failed;
    double *column; // of the caller
} kd_h5_writer;

hid_t kd_h5_keep(kd_h5_writer *w, hid_t id); // notes a failure
void  kd_h5_check(kd_h5_writer *w, herr_t answer);
hid_t kd_h5_text_type(kd_h5_writer *w, size_t length);

// ---- attributes of an object: text, number, count
void kd_h5_attribute(kd_h5_writer *w, hid_t object, const char *name, hid_t type, const void *value);
void kd_h5_text(kd_h5_writer *w, hid_t object, const char *name, const char *text);
void kd_h5_number(kd_h5_writer *w, hid_t object, const char *name, double value);
void kd_h5_count(kd_h5_writer *w, hid_t object, const char *name, long value);

// ---- groups, whose members keep their order, and datasets; kd_h5_numbers is closed by the caller
hid_t kd_h5_open_group(kd_h5_writer *w, const char *name);
void  kd_h5_close_group(kd_h5_writer *w, hid_t group);
hid_t kd_h5_numbers(kd_h5_writer *w, hid_t parent, const char *name, const double *values, int n);
void  kd_h5_texts(kd_h5_writer *w, hid_t parent, const char *name, int n, const char *(*text)(const void *of, int i),
                  const void *of);
// A name that a dataset may have.
const char *kd_h5_link_name(const char *name, char *buffer, size_t size);

// ---- the file in memory, about that many bytes; its image, which the caller frees; the image on the disk
void      kd_h5_open_file(kd_h5_writer *w, size_t bytes);
void     *kd_h5_take_image(kd_h5_writer *w, size_t *length);
kd_status kd_h5_write_image(const void *image, size_t length, const char *path, char *message,
                            size_t size) KD_NODISCARD;

#endif
#endif
