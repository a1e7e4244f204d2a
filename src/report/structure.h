// report/structure.h: the structure of a Newton matrix as pictures.
#ifndef KD_REPORT_STRUCTURE_H
#define KD_REPORT_STRUCTURE_H

#include <kardan/formulation.h>

// folder/NAME-pattern.svg, -groups.svg, -compressed.svg (S0 figures 3, 4 and 5). The folder must exist.
kd_status kd_structure_save(const kd_structure *structure, const char *title, const char *folder, const char *name,
                            char *message, size_t size) KD_NODISCARD;

#endif
