// cli/mode_pictures.h: what a mode looks like.
#ifndef KD_CLI_MODE_PICTURES_H
#define KD_CLI_MODE_PICTURES_H

#include "cli/operating_point.h"
#include "report/modes_page.h"

enum { KD_MODE_PICTURES = 12 };

// Pictures FOLDER/NAME-mode-NUMBER.svg of the listed modes, numbered from 1, and where the viewer is built in the page
// FOLDER/NAME-modes.html, in which they swing; scale: of the coordinate that moves most
// [m], [rad]. false: standard error has been told.
bool kd_cli_draw_modes(const kd_operating_point *point, const int *list, int count, double scale, const char *folder,
                       bool quiet);

// An entry of a page: mode number k at the present operating point; scale 0: without its motion.
kd_status kd_cli_add_mode(const kd_operating_point *point, int k, double value, double scale,
                          kd_modes_page *page) KD_NODISCARD;

#endif
