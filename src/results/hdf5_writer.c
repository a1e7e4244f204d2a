// hdf5_writer.c: see hdf5_writer.h.
#include "results/hdf5_writer.h"

#ifdef KD_WITH_HDF5

#include <errno.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "results/file.h"

// Failures are noted and looked at once, by the caller: the library is called on with what there is
hid_t kd_h5_keep(kd_h5_writer *w, hid_t id)
{
    if (id < 0) w->failed = true;
    return id;
}

void kd_h5_check(kd_h5_writer *w, herr_t answer)
{
    if (answer < 0) w->failed = true;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

// One value at an object: text, number or count
void kd_h5_attribute(kd_h5_writer *w, hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = kd_h5_keep(w, H5Screate(H5S_SCALAR));
    hid_t attribute = kd_h5_keep(w, H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (attribute >= 0) {
        kd_h5_check(w, H5Awrite(attribute, type, value));
        kd_h5_check(w, H5Aclose(attribute));
    }
    if (space >= 0) kd_h5_check(w, H5Sclose(space));
}

hid_t kd_h5_text_type(kd_h5_writer *w, size_t length)
{
    hid_t type = kd_h5_keep(w, H5Tcopy(H5T_C_S1));
    if (type >= 0) {
        // a type of no length is none: empty texts have one zero byte
        kd_h5_check(w, H5Tset_size(type, length > 0 ? length : 1));
        kd_h5_check(w, H5Tset_cset(type, H5T_CSET_UTF8));
        kd_h5_check(w, H5Tset_strpad(type, H5T_STR_NULLPAD));
    }
    return type;
}

void kd_h5_text(kd_h5_writer *w, hid_t object, const char *name, const char *text)
{
    hid_t type = kd_h5_text_type(w, strlen(text));
    kd_h5_attribute(w, object, name, type, text);
    if (type >= 0) kd_h5_check(w, H5Tclose(type));
}

void kd_h5_number(kd_h5_writer *w, hid_t object, const char *name, double value)
{
    kd_h5_attribute(w, object, name, H5T_NATIVE_DOUBLE, &value);
}

void kd_h5_count(kd_h5_writer *w, hid_t object, const char *name, long value)
{
    kd_h5_attribute(w, object, name, H5T_NATIVE_LONG, &value);
}

// ---- groups and datasets --------------------------------------------------------------------------------------------

// A group whose members and attributes keep their order and may be many
hid_t kd_h5_open_group(kd_h5_writer *w, const char *name)
{
    // the order of the table, and no times: equal runs give equal files
    hid_t plan = kd_h5_keep(w, H5Pcreate(H5P_GROUP_CREATE));
    kd_h5_check(w, H5Pset_obj_track_times(plan, false));
    kd_h5_check(w, H5Pset_link_creation_order(plan, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    kd_h5_check(w, H5Pset_attr_creation_order(plan, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    hid_t group = kd_h5_keep(w, H5Gcreate2(w->file, name, H5P_DEFAULT, plan, H5P_DEFAULT));
    if (plan >= 0) kd_h5_check(w, H5Pclose(plan));
    return group;
}

void kd_h5_close_group(kd_h5_writer *w, hid_t group)
{
    if (group >= 0) kd_h5_check(w, H5Gclose(group));
}

// A dataset of n numbers; the caller closes it
hid_t kd_h5_numbers(kd_h5_writer *w, hid_t parent, const char *name, const double *values, int n)
{
    // little-endian in the file, whatever the machine has
    hsize_t size = (hsize_t)n;
    hid_t   space = kd_h5_keep(w, H5Screate_simple(1, &size, NULL));
    hid_t   set = kd_h5_keep(w, H5Dcreate2(parent, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, w->creation, H5P_DEFAULT));
    if (set >= 0 && n > 0) kd_h5_check(w, H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    if (space >= 0) kd_h5_check(w, H5Sclose(space));
    return set;
}

// '/' separates groups and '.' is a place: neither can be in the name of a dataset
const char *kd_h5_link_name(const char *name, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", name);
    for (char *c = buffer; *c; c++)
        if (*c == '/') *c = '|';
    if (strcmp(buffer, ".") == 0) buffer[0] = '_';
    return buffer;
}

// A dataset of texts that are as long as the longest
void kd_h5_texts(kd_h5_writer *w, hid_t parent, const char *name, int n, const char *(*text)(const void *of, int i),
                 const void *of)
{
    size_t width = 1;
    // the longest text decides the width
    for (int i = 0; i < n; i++) {
        size_t length = strlen(text(of, i));
        if (length > width) width = length;
    }
    char *all = kd_alloc((size_t)n * width + 1);
    if (!all) {
        w->failed = true;
        return;
    }
    for (int i = 0; i < n; i++) {
        const char *one = text(of, i);
        memcpy(all + (size_t)i * width, one, strlen(one));
    }
    // texts one behind the other, filled up with zeros
    hsize_t size = (hsize_t)n;
    hid_t   type = kd_h5_text_type(w, width), space = kd_h5_keep(w, H5Screate_simple(1, &size, NULL));
    hid_t   set = kd_h5_keep(w, H5Dcreate2(parent, name, type, space, H5P_DEFAULT, w->creation, H5P_DEFAULT));
    if (set >= 0) {
        if (n > 0) kd_h5_check(w, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
        kd_h5_check(w, H5Dclose(set));
    }
    if (space >= 0) kd_h5_check(w, H5Sclose(space));
    if (type >= 0) kd_h5_check(w, H5Tclose(type));
    kd_free(all);
}

// ---- the file -------------------------------------------------------------------------------------------------------

void kd_h5_open_file(kd_h5_writer *w, size_t bytes)
{
    // a file in memory: nothing on the disk until it is complete
    hid_t access = kd_h5_keep(w, H5Pcreate(H5P_FILE_ACCESS)), plan = kd_h5_keep(w, H5Pcreate(H5P_FILE_CREATE));
    kd_h5_check(w, H5Pset_fapl_core(access, bytes, false)); // in memory only, in one piece
    kd_h5_check(w, H5Pset_obj_track_times(plan, false));
    kd_h5_check(w, H5Pset_link_creation_order(plan, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    w->file = kd_h5_keep(w, H5Fcreate("kardan.h5", H5F_ACC_TRUNC, plan, access)); // a name that nobody sees
    w->creation = kd_h5_keep(w, H5Pcreate(H5P_DATASET_CREATE));
    kd_h5_check(w, H5Pset_obj_track_times(w->creation, false));
    if (plan >= 0) kd_h5_check(w, H5Pclose(plan));
    if (access >= 0) kd_h5_check(w, H5Pclose(access));
}

// The bytes of the file; the caller frees them
void *kd_h5_take_image(kd_h5_writer *w, size_t *length)
{
    *length = 0;
    // what the library holds back belongs to the image
    kd_h5_check(w, H5Fflush(w->file, H5F_SCOPE_GLOBAL));
    ssize_t size = H5Fget_file_image(w->file, NULL, 0);
    void   *image = size > 0 ? kd_alloc((size_t)size) : NULL;
    if (image && H5Fget_file_image(w->file, image, (size_t)size) == size) *length = (size_t)size;
    if (*length == 0) w->failed = true;
    return image;
}

kd_status kd_h5_write_image(const void *image, size_t length, const char *path, char *message, size_t size)
{
    FILE     *file;
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    // the same way as every other file: complete or not there
    if (fwrite(image, 1, length, file) == length) return kd_file_close(file, path, message, size);
    kd_text(message, size, "cannot write '%s': %s", path, strerror(errno));
    kd_file_abandon(file, path);
    return KD_ERR_FILE;
}

#else

typedef int kd_h5_nothing; // a file is not empty

#endif
