// point/projection.h: coordinate projection of accepted points onto the constraints (S1 Eq. 36).
// Method: docs/methods/projection.md
#ifndef KD_POINT_PROJECTION_H
#define KD_POINT_PROJECTION_H

#include "point/acceleration.h"

// Is there something to project, and is it wanted? The form must leave position or velocity level open.
bool kd_projects(const kd_eom *eom, kd_formulation form, const kd_formulation_options *opt);

// p, s and v at time t to the closest point on g = 0, gI = 0, h = 0 (active rows) if opt->projection says so; *moved
// tells. rows: (max(nlambda, nmu)) workspace.
kd_eval kd_project(kd_acceleration *acceleration, const kd_formulation_options *opt, double t, double *p, double *s,
                   double *v, const double *r, double *rows, bool *moved) KD_NODISCARD;

#endif
