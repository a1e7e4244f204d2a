// json.c: results for programs: members of nested objects, one per line.
#include <math.h>

#include "cli/cli.h"
#include "core/shortest.h"

// escapes that JSON demands
static void put_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(file, "\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            fprintf(file, "\\u%04x", (unsigned)*c);
        } else {
            fputc(*c, file);
        }
    }
    fputc('"', file);
}

// a comma before every member but the first
static void put_key(kd_json *json, const char *key)
{
    fputs(json->first ? "\n" : ",\n", json->file);
    json->first = false;
    put_text(json->file, key);
    fputs(": ", json->file);
}

void kd_json_open(kd_json *json, const char *key)
{
    if (key) put_key(json, key);
    fputs("{", json->file);
    json->first = true;
}

void kd_json_close(kd_json *json)
{
    fputs("\n}", json->file);
    json->first = false;
}

void kd_json_text(kd_json *json, const char *key, const char *value)
{
    put_key(json, key);
    put_text(json->file, value);
}

// the shortest digits that give the same bits
static void put_number(FILE *file, double value)
{
    if (isfinite(value)) {
        char number[KD_SHORTEST_SIZE];
        fputs(kd_shortest_text(value, number), file);
    } else {
        fputs("null", file);
    }
}

void kd_json_number(kd_json *json, const char *key, double value)
{
    put_key(json, key);
    put_number(json->file, value);
}

void kd_json_numbers(kd_json *json, const char *key, const double *values, int n)
{
    put_key(json, key);
    fputs("[", json->file);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", json->file);
        put_number(json->file, values[i]);
    }
    fputs("]", json->file);
}

void kd_json_count(kd_json *json, const char *key, long value)
{
    put_key(json, key);
    fprintf(json->file, "%ld", value);
}

void kd_json_bool(kd_json *json, const char *key, bool value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->file);
}

void kd_json_texts(kd_json *json, const char *key, const char *const *values, int n)
{
    put_key(json, key);
    fputs("[", json->file);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", json->file);
        put_text(json->file, values[i]);
    }
    fputs("]", json->file);
}

void kd_json_raw(kd_json *json, const char *key, const char *value)
{
    put_key(json, key);
    fputs(value, json->file);
}

// objects in a list have no keys
void kd_json_list(kd_json *json, const char *key)
{
    put_key(json, key);
    fputs("[", json->file);
    json->first = true;
}

void kd_json_item(kd_json *json)
{
    fputs(json->first ? "\n{" : ",\n{", json->file);
    json->first = true;
}

void kd_json_list_close(kd_json *json)
{
    fputs("]", json->file);
    json->first = false;
}
