// cosim_line.h: the line of kardan cosimulate to other programs.
#ifndef KD_CLI_COSIM_LINE_H
#define KD_CLI_COSIM_LINE_H

#include <kardan/cosim.h>

extern const kd_cosim_wire kd_cli_cosim_wire;

#endif
