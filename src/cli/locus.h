// cli/locus.h: eigenvalues over a parameter, and the values of it at which stability changes.
#ifndef KD_CLI_LOCUS_H
#define KD_CLI_LOCUS_H

#include "cli/operating_point.h"

// vary: "NAME=A:B:N"; output: folder for NAME-locus.svg and, where the viewer is built in, NAME-locus.html, in which the modes of
// its points swing; or NULL. scale: of the modes; jobs: threads, 0: one for each processor, whose number changes no bit. Answers the
// exit status.
int kd_cli_locus(kd_operating_point *point, const char *vary, const char *output, double scale, int jobs, bool json);

#endif
