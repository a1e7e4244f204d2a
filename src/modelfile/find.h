// find.h: names as a subsystem means them (find.c).
#ifndef KD_MODELFILE_FIND_H
#define KD_MODELFILE_FIND_H

#include "modelfile/reader.h"

// What was handed to a subsystem under a name; NULL: nothing
kd_handed *kd_reader_find_handed(const kd_scope *scope, const char *name, size_t length);
// A body, or with frames also a point, as it is meant in a scope; looks counts the scopes that were asked
bool kd_reader_find_thing(kd_reader *r, const kd_node *node, kd_scope *scope, bool frames, int looks,
                          const char **name);
// The part of a scope whose name the text begins with; *rest: behind it and a point
kd_scope *kd_reader_find_part(const kd_reader *r, const kd_scope *scope, const char *text, const char **rest);
// Is the name one of the models around the scope, which it does not know?
bool kd_reader_is_around(const kd_scope *scope, const char *name);
// Does the text begin with a subsystem of the scope that is written there, but not used? Then this has been told.
bool kd_reader_misses_part(kd_reader *r, const kd_node *node, const kd_scope *scope, const char *text);
bool kd_reader_has_element(const kd_node *root, const char *section, const char *name);
// What a subsystem means by a name that others use: an expression, "body.x" or "frame.x"; the name itself where it does
// not say what it offers. NULL: it is not offered, which has been told.
const char *kd_reader_find_offer(kd_reader *r, const kd_node *node, const kd_scope *part, const char *name);

#endif
