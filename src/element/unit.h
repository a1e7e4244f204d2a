// unit.h: loads of blocks without period.
#ifndef KARDAN_ELEMENT_UNIT_H
#define KARDAN_ELEMENT_UNIT_H

#include "element/block.h"
#include "element/force.h"

void kd_load_make_unit(kd_load_builder *b, int block);

#endif
