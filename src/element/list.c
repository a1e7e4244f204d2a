// list.c: the classes of elements by their kind; list.h has the lines.
#include "element/list.h"

#include "element/block.h"
#include "element/constraint.h"
#include "element/force.h"
#include "element/state.h"

#define LINE(kind, name) [kind] = &name,
const kd_force_class *const      kd_forces[KD_FORCE_KIND_COUNT] = {KD_FORCES(LINE)};
const kd_constraint_class *const kd_constraints[KD_CONSTRAINT_KIND_COUNT] = {KD_CONSTRAINTS(LINE)};
const kd_state_class *const      kd_states[KD_STATE_KIND_COUNT] = {KD_STATES(LINE)};
const kd_block_class *const      kd_blocks_by_kind[KD_BLOCK_KIND_COUNT] = {KD_BLOCKS(LINE)};

const kd_element_class *kd_force_element(int kind)
{
    return &kd_forces[kind]->element;
}

const kd_element_class *kd_constraint_element(int kind)
{
    return &kd_constraints[kind]->element;
}

const kd_element_class *kd_state_element_class(int kind)
{
    return &kd_states[kind]->element;
}

const kd_element_class *kd_block_element_class(int kind)
{
    return &kd_blocks_by_kind[kind]->element.element;
}

const kd_block_element *kd_block_element_of(const kd_block_def *def)
{
    return &kd_blocks_by_kind[def->kind]->element;
}
