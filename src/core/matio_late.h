// core/matio_late.h: matio, loaded when it is first used; as hdf5_late.h.
#ifndef KD_CORE_MATIO_LATE_H
#define KD_CORE_MATIO_LATE_H

#include <matio.h>
#include <stdbool.h>
#include <stddef.h>

// false: why says what is missing
bool kd_matio_load(char *why, size_t size);

#ifdef KD_MATIO_LIBRARY

// clang-format off
#define KD_MATIO_FUNCTIONS(X)                                                                                          \
    X(Mat_Close) X(Mat_CreateVer) X(Mat_Open) X(Mat_VarCreate) X(Mat_VarFree) X(Mat_VarRead) X(Mat_VarSetCell)         \
    X(Mat_VarWrite)
// clang-format on

typedef struct kd_matio_calls {
#define KD_MATIO_MEMBER(name) __typeof__(name) *name;
    KD_MATIO_FUNCTIONS(KD_MATIO_MEMBER)
#undef KD_MATIO_MEMBER
} kd_matio_calls;

extern kd_matio_calls kd_matio; // filled by kd_matio_load

#ifndef KD_MATIO_AS_IT_IS
#define Mat_Close (kd_matio.Mat_Close)
#define Mat_CreateVer (kd_matio.Mat_CreateVer)
#define Mat_Open (kd_matio.Mat_Open)
#define Mat_VarCreate (kd_matio.Mat_VarCreate)
#define Mat_VarFree (kd_matio.Mat_VarFree)
#define Mat_VarRead (kd_matio.Mat_VarRead)
#define Mat_VarSetCell (kd_matio.Mat_VarSetCell)
#define Mat_VarWrite (kd_matio.Mat_VarWrite)
#endif
#endif
#endif
