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

#include <string.h>

#include "core/memory.h"
#include "results/hdf5_writer.h"

enum { TEXT_SIZE = 32000, OVERHEAD = 4096 /* bytes per channel: headers and attributes */ };

static void put_model(kd_h5_writer *w, const char *text)
{
    hid_t type = kd_h5_text_type(w, strlen(text)), space = kd_h5_keep(w, H5Screate(H5S_SCALAR));
    hid_t set = kd_h5_keep(w, H5Dcreate2(w->file, "model", type, space, H5P_DEFAULT, w->creation, H5P_DEFAULT));
    if (set >= 0) {
        kd_h5_check(w, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text));
        kd_h5_check(w, H5Dclose(set));
    }
    if (space >= 0) kd_h5_check(w, H5Sclose(space));
    if (type >= 0) kd_h5_check(w, H5Tclose(type));
}

// ---- contents -------------------------------------------------------------------------------------------------------

static void put_channels(kd_h5_writer *w, const kd_result *r)
{
    const kd_recording      *rec = r->recording;
    static const char *const GROUP[KD_RECORDED_GROUPS] = {"position", "velocity", "inner state", "auxiliary variable",
                                                          "contact",  "lambda",   "mu",          "acceleration",
                                                          "input",    "output",   "energy",      "violation"};
    int                      n = kd_recording_length(rec), columns = kd_recording_columns(rec);
    hid_t                    time = kd_h5_numbers(w, w->file, "time", kd_recording_times(rec), n);
    if (time >= 0) {
        // the time of all channels, with its unit
        kd_h5_text(w, time, "unit", "s");
        kd_h5_check(w, H5Dclose(time));
    }
    // one dataset per channel
    hid_t channels = kd_h5_open_group(w, "channels");
    for (int group = 0; group < KD_RECORDED_GROUPS && !w->failed; group++) {
        int first, count;
        kd_recording_group(rec, (kd_group)group, &first, &count);
        for (int j = first; j < first + count && !w->failed; j++) {
            char link[KD_CHANNEL_NAME];
            if (!kd_result_has_column(r, j)) continue;
            // rows to a column
            for (int i = 0; i < n; i++)
                w->column[i] = kd_recording_values(rec)[(size_t)i * (size_t)columns + (size_t)j];
            hid_t set =
                kd_h5_numbers(w, channels, kd_h5_link_name(kd_recording_name(rec, j), link, sizeof link), w->column, n);
            if (set < 0) break;
            kd_h5_text(w, set, "name", kd_recording_name(rec, j));
            kd_h5_text(w, set, "unit", kd_recording_unit(rec, j));
            kd_h5_text(w, set, "group", GROUP[group]);
            kd_h5_count(w, set, "column", j);
            kd_h5_check(w, H5Dclose(set));
        }
    }
    kd_h5_close_group(w, channels);
}

static const char *kind_of(const void *log, int i)
{
    return kd_event_word(kd_event_log_at(log, i)->kind);
}
static const char *element_of(const void *log, int i)
{
    return kd_event_log_at(log, i)->element;
}
static const char *words_of(const void *log, int i)
{
    return kd_event_log_at(log, i)->text;
}

static void put_events(kd_h5_writer *w, const kd_event_log *log)
{
    // numbers of all events, then their words, then counts of each kind
    const int n = kd_event_log_length(log);
    double   *t = kd_alloc(2 * (size_t)n * sizeof *t), *direction = t ? t + n : NULL;
    if (!t) {
        w->failed = true;
        return;
    }
    // arrays by event, from a list of events
    for (int i = 0; i < n; i++) {
        t[i] = kd_event_log_at(log, i)->t;
        direction[i] = kd_event_log_at(log, i)->direction;
    }
    hid_t group = kd_h5_open_group(w, "events");
    hid_t set[2] = {kd_h5_numbers(w, group, "t", t, n), kd_h5_numbers(w, group, "direction", direction, n)};
    for (int k = 0; k < 2; k++)
        if (set[k] >= 0) kd_h5_check(w, H5Dclose(set[k]));
    // words in the same order
    kd_h5_texts(w, group, "kind", n, kind_of, log);
    kd_h5_texts(w, group, "element", n, element_of, log);
    kd_h5_texts(w, group, "text", n, words_of, log);
    // a count of each kind, also of those that did not happen
    for (int kind = 0; kind < KD_EVENT_KIND_COUNT; kind++)
        kd_h5_count(w, group, kd_event_word((kd_event_kind)kind), kd_event_log_count(log, (kd_event_kind)kind));
    kd_h5_close_group(w, group);
    kd_free(t);
}

static void put_facts(kd_h5_writer *w, const kd_result *r)
{
    char     text[TEXT_SIZE];
    kd_clean verdict;
    // settings, statistics and the certificate as groups of attributes
    hid_t group = kd_h5_open_group(w, "settings");
    for (int i = 0; i < r->nsettings; i++) kd_h5_text(w, group, r->settings[i].name, r->settings[i].value);
    kd_h5_close_group(w, group);
    // counts are whole numbers, times and shares are not
    group = kd_h5_open_group(w, "statistics");
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&r->certificate, i);
        if (s.is_count)
            kd_h5_count(w, group, s.key, (long)s.value);
        else
            kd_h5_number(w, group, s.key, s.value);
    }
    kd_h5_close_group(w, group);
    // the certificate in words, as a verdict, and for programs
    group = kd_h5_open_group(w, "certificate");
    kd_certificate_describe(&r->certificate, text, sizeof text);
    kd_h5_text(w, group, "text", text);
    kd_certificate_verdict(&r->certificate, &verdict);
    kd_h5_count(w, group, "clean", verdict.clean);
    kd_h5_text(w, group, "verdict", verdict.sentence);
    kd_h5_text(w, group, "kind", kd_certificate_kind_word(r->certificate.kind));
    kd_certificate_json(&r->certificate, text, sizeof text);
    kd_h5_text(w, group, "json", text);
    kd_h5_close_group(w, group);

    // what belongs to the run as a whole: attributes of the file
    kd_h5_text(w, w->file, "title", r->title);
    kd_h5_text(w, w->file, "version", kd_version());
    kd_h5_text(w, w->file, "status", kd_status_name(r->certificate.status));
    kd_h5_text(w, w->file, "message", r->message ? r->message : "");
    text[0] = '\0';
    for (int i = 0; i < r->nwarnings; i++) kd_text_append(text, sizeof text, "%s\n", r->warnings[i]);
    kd_h5_text(w, w->file, "warnings", text);
    kd_h5_number(w, w->file, "reference_error", r->reference_error);
    if (r->model_file) kd_h5_text(w, w->file, "model_file", r->model_file);
    if (r->model_text) put_model(w, r->model_text);
}

kd_status kd_result_save_hdf5(const kd_result *r, const char *path, char *message, size_t size)
{
    H5E_auto2_t  handler = NULL;
    void        *context = NULL, *image = NULL;
    size_t       n = (size_t)kd_recording_length(r->recording), columns = (size_t)kd_recording_columns(r->recording);
    size_t       length = 0;
    kd_h5_writer w = {.file = -1, .creation = -1};
    kd_status    status = KD_ERR_MEMORY;
    char         why[300];
    if (!kd_hdf5_load(why, sizeof why)) {
        kd_text(message, size, "'%s' was not written: %s", path, why);
        return KD_ERR_UNAVAILABLE;
    }
    // the library prints its errors unless it is told not to; they are told by message here
    (void)H5Eget_auto2(H5E_DEFAULT, &handler, &context);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    // memory first: the library does not bear that there is none
    w.column = kd_alloc(n * sizeof(double));
    const size_t bytes = (columns + 1) * (n * sizeof(double) + OVERHEAD);
    if (!w.column || !kd_memory_offers(2 * bytes)) goto done; // the library ends badly where it gets none
    kd_h5_open_file(&w, bytes);
    if (!w.failed) put_channels(&w, r);
    if (!w.failed) put_facts(&w, r);
    if (!w.failed && r->events) put_events(&w, r->events);
    if (!w.failed) image = kd_h5_take_image(&w, &length);
    status = w.failed ? KD_ERR_MEMORY : kd_h5_write_image(image, length, path, message, size);
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
