// hdf5.c: results in HDF5. The file is put together in memory (driver core) and then written as every other file is:
// complete or not there, with a full disk told in words.
//
//     /                 attributes: title, version, status, message, reference_error, model_file
//     /time             (n) [s]
//     /channels/NAME    (n), in the order of the table; attributes: name, unit, group, column
//     /settings         attributes: name = text
//     /statistics       attributes: key = number
//     /certificate      attributes: clean (1, 0), verdict, json, text
//     /events           datasets t, kind, element, direction, text; attributes: kind = count. Where events are possible
//     /model            text of the model file
//
// Nothing in the file depends on when or where it was written.
#include "results/result.h"

#include "core/text.h"
#include "probe/probe.h"

#ifndef KD_WITH_HDF5

kd_status kd_result_save_hdf5(const kd_result *result, const char *path, char *message, size_t size)
{
    (void)result;
    kd_text(message, size, "'%s' was not written: kardan was built without HDF5 (package libhdf5-dev)", path);
    return KD_ERR_UNAVAILABLE;
}

bool kd_result_has_hdf5(void)
{
    return false;
}

#else

#include <errno.h>
#include <hdf5.h>
#include <string.h>

#include "core/memory.h"
#include "results/file.h"

enum { TEXT_SIZE = 32000, OVERHEAD = 4096 /* bytes per channel: headers and attributes */ };

typedef struct writer {
    hid_t   file, creation; // creation: of datasets and groups, without times of change
    bool    failed;
    double *column; // (n)
} writer;

// Failures are noted and looked at once, by the caller: the library is called on with what there is
static hid_t keep_id(writer *w, hid_t id)
{
    if (id < 0) w->failed = true;
    return id;
}

static void check_answer(writer *w, herr_t answer)
{
    if (answer < 0) w->failed = true;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

// One value at an object: text, number or count
static void put_attribute(writer *w, hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = keep_id(w, H5Screate(H5S_SCALAR));
    hid_t attribute = keep_id(w, H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (attribute >= 0) {
        check_answer(w, H5Awrite(attribute, type, value));
        check_answer(w, H5Aclose(attribute));
    }
    if (space >= 0) check_answer(w, H5Sclose(space));
}

static hid_t text_type(writer *w, size_t length)
{
    hid_t type = keep_id(w, H5Tcopy(H5T_C_S1));
    if (type >= 0) {
        // a type of no length is none: empty texts have one zero byte
        check_answer(w, H5Tset_size(type, length > 0 ? length : 1));
        check_answer(w, H5Tset_cset(type, H5T_CSET_UTF8));
        check_answer(w, H5Tset_strpad(type, H5T_STR_NULLPAD));
    }
    return type;
}

static void put_text(writer *w, hid_t object, const char *name, const char *text)
{
    hid_t type = text_type(w, strlen(text));
    put_attribute(w, object, name, type, text);
    if (type >= 0) check_answer(w, H5Tclose(type));
}

static void put_number(writer *w, hid_t object, const char *name, double value)
{
    put_attribute(w, object, name, H5T_NATIVE_DOUBLE, &value);
}

static void put_count(writer *w, hid_t object, const char *name, long value)
{
    put_attribute(w, object, name, H5T_NATIVE_LONG, &value);
}

// ---- groups and datasets --------------------------------------------------------------------------------------------

// A group whose members and attributes keep their order and may be many
static hid_t open_group(writer *w, const char *name)
{
    // the order of the table, and no times: equal runs give equal files
    hid_t plan = keep_id(w, H5Pcreate(H5P_GROUP_CREATE));
    check_answer(w, H5Pset_obj_track_times(plan, false));
    check_answer(w, H5Pset_link_creation_order(plan, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    check_answer(w, H5Pset_attr_creation_order(plan, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    hid_t group = keep_id(w, H5Gcreate2(w->file, name, H5P_DEFAULT, plan, H5P_DEFAULT));
    if (plan >= 0) check_answer(w, H5Pclose(plan));
    return group;
}

static void close_group(writer *w, hid_t group)
{
    if (group >= 0) check_answer(w, H5Gclose(group));
}

// A dataset of n numbers; the caller closes it
static hid_t put_numbers(writer *w, hid_t parent, const char *name, const double *values, int n)
{
    // little-endian in the file, whatever the machine has
    hsize_t size = (hsize_t)n;
    hid_t   space = keep_id(w, H5Screate_simple(1, &size, NULL));
    hid_t   set = keep_id(w, H5Dcreate2(parent, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, w->creation, H5P_DEFAULT));
    if (set >= 0 && n > 0) check_answer(w, H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    if (space >= 0) check_answer(w, H5Sclose(space));
    return set;
}

static void put_model(writer *w, const char *text)
{
    hid_t type = text_type(w, strlen(text)), space = keep_id(w, H5Screate(H5S_SCALAR));
    hid_t set = keep_id(w, H5Dcreate2(w->file, "model", type, space, H5P_DEFAULT, w->creation, H5P_DEFAULT));
    if (set >= 0) {
        check_answer(w, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text));
        check_answer(w, H5Dclose(set));
    }
    if (space >= 0) check_answer(w, H5Sclose(space));
    if (type >= 0) check_answer(w, H5Tclose(type));
}

// ---- contents -------------------------------------------------------------------------------------------------------

// '/' separates groups and '.' is a place: neither can be in the name of a dataset
static const char *link_name(const char *name, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", name);
    for (char *c = buffer; *c; c++)
        if (*c == '/') *c = '|';
    if (strcmp(buffer, ".") == 0) buffer[0] = '_';
    return buffer;
}

static void put_channels(writer *w, const kd_result *r)
{
    const kd_recording      *rec = r->recording;
    static const char *const GROUP[KD_RECORDED_GROUPS] = {"position", "velocity", "inner state", "auxiliary variable",
                                                          "contact",  "lambda",   "mu",          "acceleration",
                                                          "input",    "output",   "energy",      "violation"};
    int                      n = kd_recording_length(rec), columns = kd_recording_columns(rec);
    hid_t                    time = put_numbers(w, w->file, "time", kd_recording_times(rec), n);
    if (time >= 0) {
        // the time of all channels, with its unit
        put_text(w, time, "unit", "s");
        check_answer(w, H5Dclose(time));
    }
    // one dataset per channel
    hid_t channels = open_group(w, "channels");
    for (int group = 0; group < KD_RECORDED_GROUPS && !w->failed; group++) {
        int first, count;
        kd_recording_group(rec, (kd_group)group, &first, &count);
        for (int j = first; j < first + count && !w->failed; j++) {
            char link[KD_CHANNEL_NAME];
            if (!kd_result_has_column(r, j)) continue;
            // rows to a column
            for (int i = 0; i < n; i++)
                w->column[i] = kd_recording_values(rec)[(size_t)i * (size_t)columns + (size_t)j];
            hid_t set = put_numbers(w, channels, link_name(kd_recording_name(rec, j), link, sizeof link), w->column, n);
            if (set < 0) break;
            put_text(w, set, "name", kd_recording_name(rec, j));
            put_text(w, set, "unit", kd_recording_unit(rec, j));
            put_text(w, set, "group", GROUP[group]);
            put_count(w, set, "column", j);
            check_answer(w, H5Dclose(set));
        }
    }
    close_group(w, channels);
}

typedef const char *(*text_of)(const kd_logged_event *event);

static const char *kind_of(const kd_logged_event *event)
{
    return kd_event_word(event->kind);
}
static const char *element_of(const kd_logged_event *event)
{
    return event->element;
}
static const char *words_of(const kd_logged_event *event)
{
    return event->text;
}

// A dataset of texts that are as long as the longest
static void put_texts(writer *w, hid_t parent, const char *name, const kd_event_log *log, text_of text)
{
    const int n = kd_event_log_length(log);
    size_t    width = 1;
    // the longest text decides the width
    for (int i = 0; i < n; i++) {
        size_t length = strlen(text(kd_event_log_at(log, i)));
        if (length > width) width = length;
    }
    char *all = kd_alloc((size_t)n * width);
    if (!all) {
        w->failed = true;
        return;
    }
    for (int i = 0; i < n; i++) {
        const char *one = text(kd_event_log_at(log, i));
        memcpy(all + (size_t)i * width, one, strlen(one));
    }
    // texts one behind the other, filled up with zeros
    hsize_t size = (hsize_t)n;
    hid_t   type = text_type(w, width), space = keep_id(w, H5Screate_simple(1, &size, NULL));
    hid_t   set = keep_id(w, H5Dcreate2(parent, name, type, space, H5P_DEFAULT, w->creation, H5P_DEFAULT));
    if (set >= 0) {
        if (n > 0) check_answer(w, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
        check_answer(w, H5Dclose(set));
    }
    if (space >= 0) check_answer(w, H5Sclose(space));
    if (type >= 0) check_answer(w, H5Tclose(type));
    kd_free(all);
}

static void put_events(writer *w, const kd_event_log *log)
{
    // numbers of all events, then their words, then counts of each kind
    const int n = kd_event_log_length(log);
    double   *t = kd_alloc(2 * (size_t)n * sizeof *t), *direction = t ? t + n : NULL;
    if (!t) {
        w->failed = true;
        return;
    }
    for (int i = 0; i < n; i++) {
        t[i] = kd_event_log_at(log, i)->t;
        direction[i] = kd_event_log_at(log, i)->direction;
    }
    hid_t group = open_group(w, "events");
    hid_t set[2] = {put_numbers(w, group, "t", t, n), put_numbers(w, group, "direction", direction, n)};
    for (int k = 0; k < 2; k++)
        if (set[k] >= 0) check_answer(w, H5Dclose(set[k]));
    put_texts(w, group, "kind", log, kind_of);
    put_texts(w, group, "element", log, element_of);
    put_texts(w, group, "text", log, words_of);
    for (int kind = 0; kind < KD_EVENT_KIND_COUNT; kind++)
        put_count(w, group, kd_event_word((kd_event_kind)kind), kd_event_log_count(log, (kd_event_kind)kind));
    close_group(w, group);
    kd_free(t);
}

static void put_facts(writer *w, const kd_result *r)
{
    char     text[TEXT_SIZE];
    kd_clean verdict;
    // settings, statistics and the certificate as groups of attributes
    hid_t group = open_group(w, "settings");
    for (int i = 0; i < r->nsettings; i++) put_text(w, group, r->settings[i].name, r->settings[i].value);
    close_group(w, group);
    group = open_group(w, "statistics");
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&r->certificate, i);
        if (s.is_count)
            put_count(w, group, s.key, (long)s.value);
        else
            put_number(w, group, s.key, s.value);
    }
    close_group(w, group);
    group = open_group(w, "certificate");
    kd_certificate_describe(&r->certificate, text, sizeof text);
    put_text(w, group, "text", text);
    kd_certificate_verdict(&r->certificate, &verdict);
    put_count(w, group, "clean", verdict.clean);
    put_text(w, group, "verdict", verdict.sentence);
    kd_certificate_json(&r->certificate, text, sizeof text);
    put_text(w, group, "json", text);
    close_group(w, group);

    // what belongs to the run as a whole: attributes of the file
    put_text(w, w->file, "title", r->title);
    put_text(w, w->file, "version", kd_version());
    put_text(w, w->file, "status", kd_status_name(r->certificate.status));
    put_text(w, w->file, "message", r->message ? r->message : "");
    text[0] = '\0';
    for (int i = 0; i < r->nwarnings; i++) kd_text_append(text, sizeof text, "%s\n", r->warnings[i]);
    put_text(w, w->file, "warnings", text);
    put_number(w, w->file, "reference_error", r->reference_error);
    if (r->model_file) put_text(w, w->file, "model_file", r->model_file);
    if (r->model_text) put_model(w, r->model_text);
}

// ---- the file -------------------------------------------------------------------------------------------------------

static void open_file(writer *w, size_t bytes)
{
    // a file in memory: nothing on the disk until it is complete
    hid_t access = keep_id(w, H5Pcreate(H5P_FILE_ACCESS)), plan = keep_id(w, H5Pcreate(H5P_FILE_CREATE));
    check_answer(w, H5Pset_fapl_core(access, bytes, false)); // in memory only, in one piece
    check_answer(w, H5Pset_obj_track_times(plan, false));
    check_answer(w, H5Pset_link_creation_order(plan, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    w->file = keep_id(w, H5Fcreate("kardan.h5", H5F_ACC_TRUNC, plan, access)); // a name that nobody sees
    w->creation = keep_id(w, H5Pcreate(H5P_DATASET_CREATE));
    check_answer(w, H5Pset_obj_track_times(w->creation, false));
    if (plan >= 0) check_answer(w, H5Pclose(plan));
    if (access >= 0) check_answer(w, H5Pclose(access));
}

// The bytes of the file; the caller frees them
static void *take_image(writer *w, size_t *length)
{
    *length = 0;
    // what the library holds back belongs to the image
    check_answer(w, H5Fflush(w->file, H5F_SCOPE_GLOBAL));
    ssize_t size = H5Fget_file_image(w->file, NULL, 0);
    void   *image = size > 0 ? kd_alloc((size_t)size) : NULL;
    if (image && H5Fget_file_image(w->file, image, (size_t)size) == size) *length = (size_t)size;
    if (*length == 0) w->failed = true;
    return image;
}

static kd_status write_image(const void *image, size_t length, const char *path, char *message, size_t size)
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

kd_status kd_result_save_hdf5(const kd_result *r, const char *path, char *message, size_t size)
{
    H5E_auto2_t handler = NULL;
    void       *context = NULL, *image = NULL;
    size_t      n = (size_t)kd_recording_length(r->recording), columns = (size_t)kd_recording_columns(r->recording);
    size_t      length = 0;
    writer      w = {.file = -1, .creation = -1};
    kd_status   status = KD_ERR_MEMORY;

    // the library prints its errors unless it is told not to; they are told by message here
    (void)H5Eget_auto2(H5E_DEFAULT, &handler, &context);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    // memory first: the library does not bear that there is none
    w.column = kd_alloc(n * sizeof(double));
    const size_t bytes = (columns + 1) * (n * sizeof(double) + OVERHEAD);
    if (!w.column || !kd_memory_offers(2 * bytes)) goto done; // the library ends badly where it gets none
    open_file(&w, bytes);
    if (!w.failed) put_channels(&w, r);
    if (!w.failed) put_facts(&w, r);
    if (!w.failed && r->events) put_events(&w, r->events);
    if (!w.failed) image = take_image(&w, &length);
    status = w.failed ? KD_ERR_MEMORY : write_image(image, length, path, message, size);
done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "no memory for the HDF5 file '%s'", path);
    // in reverse order; the file in memory is gone with it
    kd_free(image);
    kd_free(w.column);
    if (w.creation >= 0) (void)H5Pclose(w.creation);
    if (w.file >= 0) (void)H5Fclose(w.file);
    (void)H5Eset_auto2(H5E_DEFAULT, handler, context);
    return status;
}

bool kd_result_has_hdf5(void)
{
    return true;
}

#endif
