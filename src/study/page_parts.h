// study/page_parts.h: parts of the page of a study.
#ifndef KD_STUDY_PAGE_PARTS_H
#define KD_STUDY_PAGE_PARTS_H

#include <stdio.h>

#include "study/study.h"

// Text with what HTML would take for its own escaped; a cell of a table with a number; with its interval.
void kd_page_text(FILE *f, const char *text);
void kd_page_number(FILE *f, double value);
void kd_page_estimate(FILE *f, kd_estimate e);
bool kd_page_is_good(const kd_study *s, int row); // done, and did not fail

bool kd_page_has_report(const kd_study *s, int row); // a page of its own beside that of the study

// Channels that were kept (page_channels.c); false: no memory
bool kd_page_channels(FILE *f, const kd_study *s);
// Plots (page_plots.c); false: no memory
bool kd_page_scatter(FILE *f, const kd_study *s);  // outputs over parameters, means in shares of the range among them
bool kd_page_parallel(FILE *f, const kd_study *s); // a line for each row over axes of parameters and outputs
bool kd_page_convergence(FILE *f, const kd_study *s); // means with their intervals over the number of rows
bool kd_page_index_plots(FILE *f, const kd_study *s); // indices or effects with their intervals
// Searches (page_search.c)
bool kd_page_searches(FILE *f, const kd_study *s);

#endif
