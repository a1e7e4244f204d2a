// document.h: a YAML text as a bounded tree with positions.
#ifndef KD_MODELFILE_DOCUMENT_H
#define KD_MODELFILE_DOCUMENT_H

#include "core/memory.h"
#include "modelfile/findings.h"

// Limits of a file.
enum {
    KD_DOCUMENT_MAX_BYTES = 64 << 20,
    KD_DOCUMENT_MAX_DEPTH = 32,
    KD_DOCUMENT_MAX_NODES = 2000000,
};

typedef enum kd_node_type { KD_NODE_SCALAR, KD_NODE_LIST, KD_NODE_MAP } kd_node_type;

typedef struct kd_node {
    kd_node_type    type;
    bool            plain;        // a scalar without quotes
    int             line, column; // 1-based
    int             first;        // column of text[0] if the text stands in one line as it is; 0: otherwise
    int             begin, end;   // bytes of a scalar in the text that was read
    int             n;            // items of a list, pairs of a map
    const char     *text;         // of a scalar
    struct kd_node *item;         // (n) items, or (2n) keys and values alternately
    int             cache, owner; // for the reader: 0 at first
    const char     *file;         // NULL: the file that was read first
} kd_node;

typedef struct kd_document {
    kd_arena    arena;
    const char *file; // of all nodes
    kd_node    *root;
} kd_document;

// KD_OK; KD_ERR_MODEL: the findings say why; KD_ERR_MEMORY. Keys of maps are scalars and different from each other.
// Expressions whose commas make several values of them, like [max(a, b), 0], are put together again.
kd_status kd_document_read(const char *text, size_t length, kd_document *document,
                           kd_file_findings *findings) KD_NODISCARD;
void      kd_document_release(kd_document *document);

// The value of a key of a map; NULL: it is not there.
kd_node *kd_node_find(const kd_node *map, const char *key);
// A scalar that says nothing: null, ~, or empty without quotes.
bool kd_node_is_null(const kd_node *node);

#endif
