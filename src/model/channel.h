// model/channel.h: quantities of a model as channels of results: their units.
#ifndef KARDAN_MODEL_CHANNEL_H
#define KARDAN_MODEL_CHANNEL_H

#include "model/model.h"

const char *kd_path_unit(const kd_model *m, const kd_path *path); // "" if it has none or none is known
// Of what a class says, "N|N m", the one of this force
const char *kd_force_unit(const kd_model *m, int force, const char *unit);
const char *kd_state_unit(const kd_model *m, const kd_state_def *def);
// Is coordinate i of a joint an angle? By its name; -1: there is none of that name yet.
int kd_model_joint_turns(const kd_model *m, const char *name, int i);
// The unit of a path or sensor; "" for all others. Components of the state: kd_system_unit.
const char *kd_channel_unit(const kd_model *m, const char *name);

#endif
