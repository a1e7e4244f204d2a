// core/json.h: JSON, written member by member; commas, quotes, escapes and numbers are right by themselves.
//
//     kd_json json = {.file = file};
//     kd_json_open(&json, NULL);                       // {
//     kd_json_number(&json, "t", 0.5);                 //   "t": 0.5,
//     kd_json_list(&json, "bodies");                   //   "bodies": [
//     kd_json_open(&json, NULL);                       //     {
//     kd_json_text(&json, "name", "crank");            //       "name": "crank"
//     kd_json_close(&json);                            //     }
//     kd_json_list_close(&json);                       //   ]
//     kd_json_close(&json);                            // }
//
// Items of lists have the key NULL, as has the outermost value. Nothing is allocated.
#ifndef KD_CORE_JSON_H
#define KD_CORE_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "core/writer.h"

typedef enum kd_json_layout {
    KD_JSON_LINES, // every member in a line of its own
    KD_JSON_ROWS,  // members of the outermost object, and what stands in them; the rest in their lines
    KD_JSON_DENSE, // the same without spaces
    KD_JSON_LINE,  // all in one line
} kd_json_layout;

typedef struct kd_json {
    FILE          *file; // where it goes, or
    kd_writer     *text; // into a buffer
    kd_json_layout layout;
    const char    *digits;  // of numbers, "%.9g"; NULL: as many as give the same bits
    const char    *none;    // for NaN and infinity, which JSON does not have; NULL: null
    bool           in_page; // < > & ' as codes: no text ends the script of HTML that it stands in
    int            depth;   // of objects and lists: 0 at the start
    bool           follows; // something stands before in this object or list
} kd_json;

void kd_json_open(kd_json *json, const char *key); // an object
void kd_json_close(kd_json *json);
void kd_json_list(kd_json *json, const char *key); // a list
void kd_json_list_close(kd_json *json);

void kd_json_text(kd_json *json, const char *key, const char *value); // NULL: null
void kd_json_number(kd_json *json, const char *key, double value);
void kd_json_count(kd_json *json, const char *key, long value);
void kd_json_bool(kd_json *json, const char *key, bool value);
void kd_json_texts(kd_json *json, const char *key, const char *const *values, int n); // lists in one line
void kd_json_numbers(kd_json *json, const char *key, const double *values, int n);
void kd_json_counts(kd_json *json, const char *key, const int *values, int n);
void kd_json_raw(kd_json *json, const char *key, const char *value);                      // is JSON already
void kd_json_bytes(kd_json *json, const char *key, const unsigned char *bytes, size_t n); // a text in base64

#endif
