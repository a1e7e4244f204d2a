// modelfile/part_reader.h: a part file while it is read: what was found wrong, its words and numbers, its structure.
#ifndef KD_MODELFILE_PART_READER_H
#define KD_MODELFILE_PART_READER_H

#include "modelfile/document.h"
#include "modelfile/part.h"

typedef struct kd_part_reader {
    kd_file_findings findings;
    kd_document      document;
    const char      *folder;
    kd_part_report  *report;
    kd_arena         arena;
    kd_fe_structure  structure;
    int              piece, pieces; // which of the pieces of a row of beams; pieces 1: all of it
    int              first, last;   // points at both ends of the piece
    const kd_node   *materials;     // of the file, or of the one that it includes; NULL: none
    kd_document      included;
    bool             plain; // stress is left out
} kd_part_reader;

// ---- words and numbers (part_reader.c) ------------------------------------------------------------------------------

void        kd_part_complain(kd_part_reader *p, const kd_node *node, const char *what, const char *word);
bool        kd_part_is_wrong(const kd_part_reader *p);
bool        kd_part_check_keys(kd_part_reader *p, const kd_node *map, const char *const *keys, int nkeys);
const char *kd_part_nearest_key(const kd_node *map, const char *word);
const char *kd_part_text(kd_part_reader *p, const kd_node *map, const char *key);
bool        kd_part_number_of(kd_part_reader *p, const kd_node *node, const char *key, const char *unit, double *value);
double      kd_part_number(kd_part_reader *p, const kd_node *map, const char *key, const char *unit, double otherwise);
int         kd_part_count(kd_part_reader *p, const kd_node *map, const char *key, int least, int most, int otherwise);
bool        kd_part_flag(kd_part_reader *p, const kd_node *map, const char *key, bool otherwise);
bool kd_part_vector(kd_part_reader *p, const kd_node *node, const char *key, const char *unit, int n, double *value);
const char *kd_part_path(kd_part_reader *p, const kd_node *map, const char *key);
#define KD_PART_KEYS(p, map, keys) kd_part_check_keys(p, map, keys, (int)(sizeof(keys) / sizeof(keys)[0]))

// ---- structures (part_files.c, part_beams.c) ------------------------------------------------------------------------

kd_status kd_part_read_files(kd_part_reader *p, const kd_node *map, char *message, size_t size) KD_NODISCARD;
// `stress`: before the reduction; names of its places behind it (part_stress.c)
kd_status kd_part_read_stress(kd_part_reader *p, const kd_node *root, char *message, size_t size) KD_NODISCARD;
kd_status kd_part_name_stress(kd_part_reader *p, const kd_node *root, kd_flexible_body *body) KD_NODISCARD;
kd_status kd_part_read_beams(kd_part_reader *p, const kd_node *root, char *message, size_t size) KD_NODISCARD;

#endif
