// wheel_rail.h: loads of creep and flange forces of wheels on rails.
#ifndef KARDAN_ELEMENT_WHEEL_RAIL_H
#define KARDAN_ELEMENT_WHEEL_RAIL_H

#include "element/force.h"

void kd_load_make_creep(kd_load_builder *b, int wheel);

#endif
