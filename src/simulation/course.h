// course.h: an input along a step, as a smooth function would go from end to end.
#ifndef KD_SIMULATION_COURSE_H
#define KD_SIMULATION_COURSE_H

typedef struct kd_course {
    double c[6], b[2];       // of the quintic of u, u', u''; of the cubic of u, u', whose first two are the same
    double most_u, most_ddu; // sizes at the ends, h^2 u''
} kd_course;

// From end to end of a step of length h: u, u', u'' there
kd_course kd_course_of(double h, const double end0[3], const double end1[3]);

// How far u and u'' at the part s of the step are from that, in tolerances; a pulse of a force leaves u, one of a motion
// u'' first. NaN counts as far.
double kd_course_off(const kd_course *course, double h, double s, double u, double ddu, double rtol, double atol);

#endif
