// wire_meet.h: a plant finds its controller on the wire, and the ports that it names among inputs and outputs of the equations.
#ifndef KD_CLI_WIRE_MEET_H
#define KD_CLI_WIRE_MEET_H

#include <kardan/eom.h>

#include "cli/wire.h"

// Wait for a controller that fits; those that do not are refused, and the next one may come. read, write: (WIRE_PORTS) places of its
// ports among outputs and inputs. false: nobody came within the time, or Ctrl-C; w->message says what came instead.
bool kd_wire_meet(wire *w, const kd_eom *eom, double patience, int *read, int *write);

#endif
