// pi.h: the number pi, typed once.
#ifndef KARDAN_CORE_PI_H
#define KARDAN_CORE_PI_H

#define KD_PI 3.14159265358979323846

#endif
