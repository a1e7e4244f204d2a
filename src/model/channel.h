// model/channel.h: quantities of a model as channels of results: their units.
#ifndef KARDAN_MODEL_CHANNEL_H
#define KARDAN_MODEL_CHANNEL_H

#include "model/model.h"

const char *kd_path_unit(const kd_model *m, const kd_path *path); // "" if it has none or none is known
// Is coordinate i of a joint an angle? By its name; -1: there is none of that name yet.
int kd_model_joint_turns(const kd_model *m, const char *name, int i);
// The unit of a channel by its name: a path, or the name of a sensor; "" for all others.
const char *kd_channel_unit(const kd_model *m, const char *name);

#endif
