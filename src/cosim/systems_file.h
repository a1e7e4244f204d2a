// cosim/systems_file.h: what the readers of a file of a co-simulation share.
#ifndef KD_COSIM_SYSTEMS_FILE_H
#define KD_COSIM_SYSTEMS_FILE_H

#include "cosim/cosim.h"
#include "modelfile/node_values.h"

typedef struct kd_cosim_reader {
    kd_cosim        *cosim;
    kd_file_findings findings;
    kd_document      document;
    const char      *path;
    kd_cosim_folders folders; // of libraries
} kd_cosim_reader;

void kd_cosim_say(kd_cosim_reader *r, const kd_node *node, const char *what);
bool kd_cosim_is_scalar(kd_cosim_reader *r, const kd_node *node, const char *what); // what: said where it is none
int  kd_cosim_choice(kd_cosim_reader *r, const kd_node *node, const char *what, const char *const *words,
                     int n); // -1: none

// ---- connections_file.c: sections behind those of the systems ---------------------------------------------------------
void kd_cosim_read_connections(kd_cosim_reader *r, const kd_node *node);
void kd_cosim_read_energy(kd_cosim_reader *r, const kd_node *node);
void kd_cosim_read_joints(kd_cosim_reader *r, const kd_node *node);
void kd_cosim_read_master(kd_cosim_reader *r, const kd_node *node);

#endif
