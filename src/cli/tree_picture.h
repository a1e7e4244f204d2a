// tree_picture.h: bodies and joints of a model as a picture of text.
#ifndef KD_CLI_TREE_PICTURE_H
#define KD_CLI_TREE_PICTURE_H

#include <kardan/kardan.h>

// What hangs on what, from the ground down, and behind it the joints that close loops. Rows of equal elements (an index in
// parentheses) beyond a few are counted instead.
void kd_cli_tree_picture(const kd_system *system);

#endif
