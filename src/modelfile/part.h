// modelfile/part.h: a part file (PART.yaml) becomes a flexible body: structure, interfaces, reduction, reference.
#ifndef KD_MODELFILE_PART_H
#define KD_MODELFILE_PART_H

#include "flexible/body.h"

enum { KD_PART_FREQUENCIES = 8 };

// What is worth telling of how the body was made
typedef struct kd_part_report {
    char                  title[200];
    bool                  from_sid; // nothing was reduced
    kd_fe_structure_facts facts;
    int                   rows, nodes; // of the structure
    int                   shapes, normal_modes, modes;
    double                expected, band; // rad/s; expected 0: not asked for
    int                   judged;
    int                   nfrequencies;
    double                frequency[KD_PART_FREQUENCIES]; // of the modes of the body, rad/s
    char                  warning[1000];                  // "": none
} kd_part_report;

// Piece 1 ... pieces of a part of beams; 1, 1: all of a part of any kind.
// KD_OK; KD_ERR_MODEL, KD_ERR_FILE: message has one or more lines "file:line:column: why"; KD_ERR_MEMORY, KD_ERR_UNAVAILABLE
kd_status kd_part_read(const char *path, int piece, int pieces, kd_flexible_body *body, kd_part_report *report,
                       char *message, size_t size) KD_NODISCARD;
// All of it without stress, whose files need not be there yet
kd_status kd_part_read_plain(const char *path, kd_flexible_body *body, kd_part_report *report, char *message,
                             size_t size) KD_NODISCARD;
// The text of a part file; folder: where other files are; NULL: nowhere
kd_status kd_part_read_text(const char *path, const char *text, size_t length, const char *folder, int piece,
                            int pieces, kd_flexible_body *body, kd_part_report *report, char *message,
                            size_t size) KD_NODISCARD;

// The finite elements of a part and its interfaces, not reduced
typedef struct kd_part_structure {
    kd_fe_structure structure;
    int             nfaces;
    kd_interface   *face;
    kd_arena        arena;
} kd_part_structure;

// KD_ERR_MODEL also of a part that is made of beams or a SID file
kd_status kd_part_read_structure(const char *path, kd_part_structure *part, char *message, size_t size) KD_NODISCARD;
void      kd_part_structure_release(kd_part_structure *part);

#endif
