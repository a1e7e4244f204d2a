// user_force.h: loads of force elements written in C.
#ifndef KARDAN_ELEMENT_USER_FORCE_H
#define KARDAN_ELEMENT_USER_FORCE_H

#include "element/force.h"

void kd_load_make_user(kd_load_builder *b, int user);

#endif
