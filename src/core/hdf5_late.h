// core/hdf5_late.h: HDF5, loaded when it is first used. Whoever calls it includes this in place of hdf5.h and asks
// kd_hdf5_load before the first call; its functions have their names. Without KD_HDF5_LIBRARY it is linked as usual.
#ifndef KD_CORE_HDF5_LATE_H
#define KD_CORE_HDF5_LATE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

// false: why says what is missing
bool kd_hdf5_load(char *why, size_t size);

#ifdef KD_HDF5_LIBRARY

// clang-format off
#define KD_HDF5_FUNCTIONS(X)                                                                                           \
    X(H5open) X(H5check_version) X(H5Aclose) X(H5Acreate2) X(H5Aget_space) X(H5Aexists) X(H5Aopen) X(H5Aread) X(H5Awrite) X(H5Dclose) X(H5Dcreate2)    \
    X(H5Dget_space) X(H5Dopen2) X(H5Dread) X(H5Dwrite) X(H5Eget_auto2) X(H5Eset_auto2) X(H5Fclose) X(H5Fcreate)        \
    X(H5Fflush) X(H5Fget_file_image) X(H5Fopen) X(H5Gclose) X(H5Gcreate2) X(H5Lexists) X(H5Pclose) X(H5Pcreate)        \
    X(H5Pset_attr_creation_order) X(H5Pset_create_intermediate_group) X(H5Pset_fapl_core)                              \
    X(H5Pset_link_creation_order) X(H5Pset_obj_track_times) X(H5Sclose) X(H5Screate) X(H5Screate_simple)               \
    X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_ndims) X(H5Sget_simple_extent_npoints) X(H5Tclose) X(H5Tcopy)  \
    X(H5Tset_cset) X(H5Tset_size) X(H5Tset_strpad)
#define KD_HDF5_NUMBERS(X)                                                                                             \
    X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_FILE_ACCESS_ID_g) X(H5P_CLS_FILE_CREATE_ID_g)                             \
    X(H5P_CLS_GROUP_CREATE_ID_g) X(H5P_CLS_LINK_CREATE_ID_g) X(H5T_C_S1_g) X(H5T_IEEE_F64LE_g) X(H5T_NATIVE_DOUBLE_g)  \
    X(H5T_NATIVE_LONG_g) X(H5T_NATIVE_INT_g)
// clang-format on

typedef struct kd_hdf5_calls {
#define KD_HDF5_MEMBER(name) __typeof__(name) *name;
    KD_HDF5_FUNCTIONS(KD_HDF5_MEMBER)
    KD_HDF5_NUMBERS(KD_HDF5_MEMBER)
#undef KD_HDF5_MEMBER
} kd_hdf5_calls;

extern kd_hdf5_calls kd_hdf5; // filled by kd_hdf5_load

#ifndef KD_HDF5_AS_IT_IS // the names, one by one: hdf5.h's own macros use them, too
#define H5open (kd_hdf5.H5open)
#define H5check_version (kd_hdf5.H5check_version)
#define H5Aclose (kd_hdf5.H5Aclose)
#define H5Acreate2 (kd_hdf5.H5Acreate2)
#define H5Aget_space (kd_hdf5.H5Aget_space)
#define H5Aexists (kd_hdf5.H5Aexists)
#define H5Aopen (kd_hdf5.H5Aopen)
#define H5Aread (kd_hdf5.H5Aread)
#define H5Awrite (kd_hdf5.H5Awrite)
#define H5Dclose (kd_hdf5.H5Dclose)
#define H5Dcreate2 (kd_hdf5.H5Dcreate2)
#define H5Dget_space (kd_hdf5.H5Dget_space)
#define H5Dopen2 (kd_hdf5.H5Dopen2)
#define H5Dread (kd_hdf5.H5Dread)
#define H5Dwrite (kd_hdf5.H5Dwrite)
#define H5Eget_auto2 (kd_hdf5.H5Eget_auto2)
#define H5Eset_auto2 (kd_hdf5.H5Eset_auto2)
#define H5Fclose (kd_hdf5.H5Fclose)
#define H5Fcreate (kd_hdf5.H5Fcreate)
#define H5Fflush (kd_hdf5.H5Fflush)
#define H5Fget_file_image (kd_hdf5.H5Fget_file_image)
#define H5Fopen (kd_hdf5.H5Fopen)
#define H5Gclose (kd_hdf5.H5Gclose)
#define H5Gcreate2 (kd_hdf5.H5Gcreate2)
#define H5Lexists (kd_hdf5.H5Lexists)
#define H5Pclose (kd_hdf5.H5Pclose)
#define H5Pcreate (kd_hdf5.H5Pcreate)
#define H5Pset_attr_creation_order (kd_hdf5.H5Pset_attr_creation_order)
#define H5Pset_create_intermediate_group (kd_hdf5.H5Pset_create_intermediate_group)
#define H5Pset_fapl_core (kd_hdf5.H5Pset_fapl_core)
#define H5Pset_link_creation_order (kd_hdf5.H5Pset_link_creation_order)
#define H5Pset_obj_track_times (kd_hdf5.H5Pset_obj_track_times)
#define H5Sclose (kd_hdf5.H5Sclose)
#define H5Screate (kd_hdf5.H5Screate)
#define H5Screate_simple (kd_hdf5.H5Screate_simple)
#define H5Sget_simple_extent_dims (kd_hdf5.H5Sget_simple_extent_dims)
#define H5Sget_simple_extent_ndims (kd_hdf5.H5Sget_simple_extent_ndims)
#define H5Sget_simple_extent_npoints (kd_hdf5.H5Sget_simple_extent_npoints)
#define H5Tclose (kd_hdf5.H5Tclose)
#define H5Tcopy (kd_hdf5.H5Tcopy)
#define H5Tset_cset (kd_hdf5.H5Tset_cset)
#define H5Tset_size (kd_hdf5.H5Tset_size)
#define H5Tset_strpad (kd_hdf5.H5Tset_strpad)
#define H5P_CLS_DATASET_CREATE_ID_g (*kd_hdf5.H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_FILE_ACCESS_ID_g (*kd_hdf5.H5P_CLS_FILE_ACCESS_ID_g)
#define H5P_CLS_FILE_CREATE_ID_g (*kd_hdf5.H5P_CLS_FILE_CREATE_ID_g)
#define H5P_CLS_GROUP_CREATE_ID_g (*kd_hdf5.H5P_CLS_GROUP_CREATE_ID_g)
#define H5P_CLS_LINK_CREATE_ID_g (*kd_hdf5.H5P_CLS_LINK_CREATE_ID_g)
#define H5T_C_S1_g (*kd_hdf5.H5T_C_S1_g)
#define H5T_IEEE_F64LE_g (*kd_hdf5.H5T_IEEE_F64LE_g)
#define H5T_NATIVE_DOUBLE_g (*kd_hdf5.H5T_NATIVE_DOUBLE_g)
#define H5T_NATIVE_LONG_g (*kd_hdf5.H5T_NATIVE_LONG_g)
#define H5T_NATIVE_INT_g (*kd_hdf5.H5T_NATIVE_INT_g)
#endif
#endif
#endif
