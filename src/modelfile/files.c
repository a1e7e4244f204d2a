// files.c: files that a model refers to: subsystems, and what it includes.
//
// A path is meant from the folder of the file that it stands in; what is not there is looked for in the folders of the
// library. With links resolved a file must be inside of the folder of the model, or of one of those. Files are read
// once.
#define _XOPEN_SOURCE 700
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/text.h"
#include "modelfile/paths.h"
#include "modelfile/reader.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

static char *keep(kd_reader *r, const char *text)
{
    char *copy = kd_arena_cut(&r->memory, strlen(text) + 1, 1);
    if (copy)
        memcpy(copy, text, strlen(text));
    else
        kd_reader_short_of_memory(r);
    return copy;
}

// ---- folders --------------------------------------------------------------------------------------------------------

static bool is_inside(const char *folder, const char *path)
{
    const size_t n = folder ? strlen(folder) : 0;
    return folder && strncmp(path, folder, n) == 0 && (path[n] == '/' || (n > 0 && folder[n - 1] == '/'));
}

// The folder of a file, with its last '/'; "" : here
static void folder_of(const char *file, char *folder, size_t size)
{
    const char *slash = strrchr(file, '/');
    kd_text(folder, size, "%.*s", slash ? (int)(slash - file) + 1 : 0, file);
}

static void add_library(kd_reader *r, const char *folder)
{
    char real[PATH_MAX];
    if (r->nlibraries == KD_READER_MAX_LIBRARIES || !realpath(folder, real)) return;
    const char *copy = keep(r, real);
    if (copy) r->library[r->nlibraries++] = copy;
}

kd_status kd_reader_set_folders(kd_reader *r, const char *path, const char *const *library, int nlibraries)
{
    char folder[KD_PATH_LENGTH], real[PATH_MAX];
    if (path && kd_folder_of(path, folder) == KD_OK) {
        if (realpath(folder, real)) r->home = keep(r, real);
        r->first_folder = r->folder = keep(r, folder);
    }
    for (int i = 0; i < nlibraries; i++) {
        if (!library[i] || !realpath(library[i], real)) {
            kd_file_findings_add(r->findings, 0, 0, "there is no folder '%.200s' of a library",
                                 library[i] ? library[i] : "");
            return KD_ERR_FILE;
        }
        add_library(r, library[i]);
    }
    return r->status;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static kd_model_file *add_file(kd_reader *r, const char *shown, const char *real)
{
    if (r->nfiles == r->files_capacity) {
        const int       capacity = r->files_capacity > 0 ? 2 * r->files_capacity : 8;
        kd_model_file **larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) {
            kd_reader_short_of_memory(r);
            return NULL;
        }
        if (r->nfiles > 0) memcpy(larger, r->file, (size_t)r->nfiles * sizeof *larger);
        kd_free(r->file);
        r->file = larger;
        r->files_capacity = capacity;
    }
    // both names: as it was written, for messages, and as the system knows it, to find circles
    kd_model_file *f = kd_alloc(sizeof *f);
    if (!f) {
        kd_reader_short_of_memory(r);
        return NULL;
    }
    f->shown = keep(r, shown);
    f->real = keep(r, real);
    char folder[KD_PATH_LENGTH];
    if (!r->files_given && kd_folder_of(shown, folder) == KD_OK) f->folder = keep(r, folder);
    r->file[r->nfiles++] = f;
    return r->status == KD_OK ? f : NULL;
}

// The text becomes a tree, whose root is a map
static bool read_document(kd_reader *r, kd_model_file *f, const char *text, size_t length)
{
    const char *const at = r->findings->at;
    r->findings->at = f->shown;
    const kd_status status = kd_document_read(text, length, &f->document, r->findings);
    if (status == KD_ERR_MEMORY) kd_reader_short_of_memory(r);
    f->wrong = status < 0;
    if (!f->wrong && f->document.root->type != KD_NODE_MAP) {
        kd_file_findings_add(r->findings, 1, 1, "this is not a model file: it must begin with 'kardan: 1'");
        f->wrong = true;
    }
    r->findings->at = at;
    return !f->wrong;
}

// Is its version one that is read? Sections are checked where it is used.
static bool check_file(kd_reader *r, kd_model_file *f)
{
    const kd_node *root = f->document.root, *version = kd_node_find(root, "kardan");
    if (version && version->type == KD_NODE_SCALAR && strcmp(version->text, "1") == 0) return true;
    if (version)
        kd_reader_complain(r, version, "unknown version '%.20s' of the format; this program reads 'kardan: 1'",
                           version->type == KD_NODE_SCALAR ? version->text : "...");
    else
        kd_reader_complain(r, root, "this is not a model file: it must begin with 'kardan: 1'");
    f->wrong = true;
    return false;
}

// Files in memory, by their names
static kd_model_file *find_given(kd_reader *r, const kd_node *node)
{
    for (int i = 0; i < r->nfiles; i++)
        if (strcmp(r->file[i]->real, node->text) == 0) return r->file[i];
    for (int i = 0; i < r->files_given->n; i++) {
        if (strcmp(r->files_given->name[i], node->text) != 0) continue;
        kd_model_file *f = add_file(r, node->text, node->text);
        if (f && read_document(r, f, r->files_given->text[i], r->files_given->length[i])) (void)check_file(r, f);
        return f;
    }
    kd_reader_complain(r, node, "there is no file '%.200s'", node->text);
    return NULL;
}

// The path as it can be opened, and with links resolved. false: there is no such file
static bool find_path(const kd_reader *r, const kd_node *node, char *shown, char *real)
{
    const char *from = node->file ? node->file : r->findings->file;
    char        folder[PATH_MAX];
    folder_of(from, folder, sizeof folder);
    const bool has_folder = node->file || r->home; // a text has none
    if (has_folder && snprintf(shown, PATH_MAX, "%s%s", folder, node->text) < PATH_MAX && realpath(shown, real))
        return true;
    for (int i = 0; i < r->nlibraries; i++)
        if (snprintf(shown, PATH_MAX, "%s/%s", r->library[i], node->text) < PATH_MAX && realpath(shown, real))
            return true;
    return false;
}

static kd_model_file *open_file(kd_reader *r, const kd_node *node)
{
    char shown[PATH_MAX], real[PATH_MAX], why[600] = "";
    bool allowed = false;
    // where it is, and whether it may be read
    if (node->text[0] == '/') {
        kd_reader_complain(r, node, "'%.200s' is an absolute path; write it from the folder of this file", node->text);
        return NULL;
    }
    if (!find_path(r, node, shown, real)) {
        kd_reader_complain(r, node, "there is no file '%.200s', neither beside this one nor in the library",
                           node->text);
        return NULL;
    }
    allowed = is_inside(r->home, real);
    for (int i = 0; i < r->nlibraries; i++) allowed = allowed || is_inside(r->library[i], real);
    if (!allowed) {
        kd_reader_complain(r, node, "'%.200s' leaves the folder of the model; '--library DIR' allows others",
                           node->text);
        return NULL;
    }
    // a file is read once
    for (int i = 0; i < r->nfiles; i++)
        if (strcmp(r->file[i]->real, real) == 0) return r->file[i];
    if (r->nfiles == KD_READER_MAX_FILES) {
        kd_reader_complain(r, node, "more than %d files", KD_READER_MAX_FILES);
        return NULL;
    }
    // its text, then its sections
    char     *text = NULL;
    size_t    length;
    kd_status status = kd_load_file(real, KD_DOCUMENT_MAX_BYTES, &text, &length, why, sizeof why);
    if (status == KD_ERR_MEMORY) kd_reader_short_of_memory(r);
    if (status < 0) {
        if (status != KD_ERR_MEMORY) kd_reader_complain(r, node, "'%.200s' cannot be read: %s", node->text, why);
        return NULL;
    }
    kd_model_file *f = add_file(r, shown, real);
    if (f && read_document(r, f, text, length)) (void)check_file(r, f);
    kd_free(text);
    return f;
}

// The place of a file beside the one that is being read, in the folder of the model or of a library all the same
static bool is_allowed(const kd_reader *r, const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real)) return false;
    bool allowed = is_inside(r->home, real);
    for (int i = 0; i < r->nlibraries; i++) allowed = allowed || is_inside(r->library[i], real);
    return allowed;
}

kd_status kd_reader_data_path(const kd_reader *r, const char *written, char path[KD_PATH_LENGTH], char *why,
                              size_t size)
{
    const kd_status status = kd_model_file_path(r->folder, written, path, why, size);
    char            other[200];
    if (status != KD_ERR_MODEL || !r->folder || !written[0] || written[0] == '/') return status;
    const int length = snprintf(path, KD_PATH_LENGTH, "%s/%s", r->folder, written);
    if (length < KD_PATH_LENGTH && is_allowed(r, path)) return KD_OK;
    for (int i = 0; i < r->nlibraries; i++) {
        const kd_status found = kd_model_file_path(r->library[i], written, path, other, sizeof other);
        if (found != KD_ERR_MODEL) return found;
    }
    return status;
}

void kd_reader_look_beside(kd_reader *r, const char *file)
{
    r->folder = r->first_folder;
    for (int i = 0; i < r->nfiles && file; i++)
        if (r->file[i]->shown == file) r->folder = r->file[i]->folder;
}

static kd_model_file *find_file(kd_reader *r, const kd_node *node)
{
    if (node->type != KD_NODE_SCALAR || node->text[0] == '\0') {
        kd_reader_complain(r, node, "a file is given by its path");
        return NULL;
    }
    return r->files_given ? find_given(r, node) : open_file(r, node);
}

kd_node *kd_reader_file(kd_reader *r, const kd_node *node)
{
    kd_model_file *f = find_file(r, node);
    if (!f || f->wrong || r->status != KD_OK) return NULL;
    if (f->document.root->cache == 0) { // once
        f->document.root->cache = 1;
        f->wrong = !kd_reader_check_keys(r, f->document.root, true);
    }
    return f->wrong ? NULL : f->document.root;
}

// ---- include --------------------------------------------------------------------------------------------------------

static const char *const included[] = {"parameters", "expressions", "materials", "curves", "tracks", NULL};

// What a file that is included may have
static bool check_included(kd_reader *r, const kd_node *root)
{
    for (int i = 0; i < root->n; i++) {
        const char *key = root->item[2 * i].text;
        bool        known = strcmp(key, "kardan") == 0 || strcmp(key, "title") == 0 || strcmp(key, "include") == 0;
        for (int k = 0; included[k]; k++) known = known || strcmp(included[k], key) == 0;
        if (known) continue;
        kd_reader_complain(r, &root->item[2 * i],
                           "a file that is included has parameters, expressions, materials, curves and tracks, but no "
                           "'%.60s'; use it as a subsystem",
                           key);
        return false;
    }
    return true;
}

// The items of both maps; a name that both have is told
static bool join_maps(kd_reader *r, kd_node *map, const kd_node *more)
{
    kd_names names = {NULL, 0, 0};
    bool     fine = true;
    kd_node *item = kd_arena_cut(&r->memory, 2 * (size_t)(map->n + more->n), sizeof *item);
    if (!item) return kd_reader_short_of_memory(r);
    for (int i = 0; i < map->n && fine; i++)
        fine = kd_names_add(&names, KD_SECTION_BODY, map->item[2 * i].text, i) >= 0 || kd_reader_short_of_memory(r);
    for (int i = 0; i < more->n && fine; i++) {
        const kd_node *key = &more->item[2 * i];
        const int      other = kd_names_find(&names, KD_SECTION_BODY, key->text);
        if (other < 0) continue;
        const kd_node *first = &map->item[2 * other];
        kd_reader_complain(r, first, "'%.60s' is included as well, from %s:%d", key->text,
                           key->file ? key->file : r->findings->file, key->line);
        fine = false;
    }
    // what is included comes first
    if (fine && more->n > 0) memcpy(item, more->item, 2 * (size_t)more->n * sizeof *item);
    if (fine && map->n > 0) memcpy(item + 2 * more->n, map->item, 2 * (size_t)map->n * sizeof *item);
    if (fine) {
        map->item = item;
        map->n += more->n;
    }
    kd_names_release(&names);
    return fine;
}

// A section of a file that is included, into that of the root
static bool join_section(kd_reader *r, kd_node *root, const kd_node *file, const char *word)
{
    const kd_node *from = kd_node_find(file, word);
    kd_node       *own = kd_node_find(root, word);
    if (!from || kd_node_is_null(from)) return true;
    if (from->type != KD_NODE_MAP) {
        kd_reader_complain(r, from, "'%s' must be a map, like %s: {name: ...}", word, word);
        return false;
    }
    // into a map that is there, in place of an empty one, or as a new section
    if (own && own->type == KD_NODE_MAP) return join_maps(r, own, from);
    if (own) {
        *own = *from;
        return true;
    }
    kd_node *item = kd_arena_cut(&r->memory, 2 * (size_t)(root->n + 1), sizeof *item);
    if (!item) return kd_reader_short_of_memory(r);
    memcpy(item, root->item, 2 * (size_t)root->n * sizeof *item);
    for (int i = 0; i < file->n; i++)
        if (&file->item[2 * i + 1] == from) item[2 * root->n] = file->item[2 * i];
    item[2 * root->n + 1] = *from;
    root->item = item;
    root->n++;
    return true;
}

static bool include_into(kd_reader *r, kd_node *root, int depth);

static bool include_file(kd_reader *r, kd_node *root, const kd_node *node, int depth)
{
    if (depth > KD_READER_MAX_DEPTH) {
        kd_reader_complain(r, node, "files include each other, more than %d deep", KD_READER_MAX_DEPTH);
        return false;
    }
    kd_model_file *f = find_file(r, node);
    if (!f || f->wrong || !check_included(r, f->document.root)) return false;
    if (kd_model_share_file(r->m, f->shown) < 0) return kd_reader_short_of_memory(r);
    if (!include_into(r, f->document.root, depth + 1)) return false;
    for (int k = 0; included[k]; k++)
        if (!join_section(r, root, f->document.root, included[k])) return false;
    return true;
}

// Once: `include` is gone then
static bool include_into(kd_reader *r, kd_node *root, int depth)
{
    kd_node *include = kd_node_find(root, "include");
    if (!include || kd_node_is_null(include)) return true;
    // a path, or a list of paths
    const kd_node files = *include;
    if (files.type == KD_NODE_MAP) {
        kd_reader_complain(r, &files, "'include' must be the path of a file, or a list of such paths");
        return false;
    }
    static const kd_node nothing = {.type = KD_NODE_SCALAR, .plain = true, .text = ""};
    const char *const    file = include->file;
    if (files.cache == 1) { // it is being included: a circle
        kd_reader_complain(r, &files, "this file includes itself");
        return false;
    }
    // marked while its files are read, so that a circle is seen
    include->cache = 1;
    bool      fine = true;
    const int n = files.type == KD_NODE_LIST ? files.n : 1;
    for (int i = 0; i < n && fine; i++)
        fine = include_file(r, root, files.type == KD_NODE_LIST ? &files.item[i] : &files, depth);
    // what was included is not included again
    include = kd_node_find(root, "include"); // the root may have grown
    *include = nothing;
    include->file = file;
    return fine;
}

bool kd_reader_include(kd_reader *r, kd_node *root)
{
    return include_into(r, root, 0);
}
