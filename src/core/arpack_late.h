// core/arpack_late.h: ARPACK, loaded when it is first used; as hdf5_late.h.
#ifndef KD_CORE_ARPACK_LATE_H
#define KD_CORE_ARPACK_LATE_H

#include <arpack.h>
#include <stdbool.h>
#include <stddef.h>

// false: why says what is missing
bool kd_arpack_load(char *why, size_t size);

#ifdef KD_ARPACK_LIBRARY

#define KD_ARPACK_FUNCTIONS(X) X(dsaupd_c) X(dseupd_c) X(znaupd_c) X(zneupd_c)

typedef struct kd_arpack_calls {
#define KD_ARPACK_MEMBER(name) __typeof__(name) *name;
    KD_ARPACK_FUNCTIONS(KD_ARPACK_MEMBER)
#undef KD_ARPACK_MEMBER
} kd_arpack_calls;

extern kd_arpack_calls kd_arpack; // filled by kd_arpack_load

#ifndef KD_ARPACK_AS_IT_IS
#define dsaupd_c (kd_arpack.dsaupd_c)
#define dseupd_c (kd_arpack.dseupd_c)
#define znaupd_c (kd_arpack.znaupd_c)
#define zneupd_c (kd_arpack.zneupd_c)
#endif
#endif
#endif
