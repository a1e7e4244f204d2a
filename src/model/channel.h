// model/channel.h: quantities of a model as channels of results: their units, and paths that are to be recorded.
#ifndef KARDAN_MODEL_CHANNEL_H
#define KARDAN_MODEL_CHANNEL_H

#include "model/model.h"

const char *kd_path_unit(const kd_model *m, const kd_path *path); // "" if it has none or none is known
// Is coordinate i of a joint an angle? By its name; -1: there is none of that name yet.
int kd_model_joint_turns(const kd_model *m, const char *name, int i);
// The unit of a channel by its name: a path, or the name of a sensor; "" for all others.
const char *kd_channel_unit(const kd_model *m, const char *name);

// Record a path, too: a finished model gets a sensor whose name is the path. Before systems are made of it. Does
// nothing if it is recorded already. KD_ERR_MODEL: not a path of this model; why (may be NULL) says what it could have
// been.
kd_status kd_model_watch(kd_model *m, const char *path, char *why, size_t size) KD_NODISCARD;

#endif
