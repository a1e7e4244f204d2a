// flex_file.c: flexible bodies in HDF5, all numbers in units of the SI, arrays as C has them (the last index runs fastest):
//
//     /                 attributes: format = 1, reference (text), mass, band [rad/s], expected_error, expected_transfer_error
//     /first            (3)          int x dm                 /second   (3, 3)        int x x' dm
//     /C                (nq, 3)      int phi_k                /A        (nq, 3, 3)    int x phi_k', transposed: [k][column][row]
//     /Cr               (nq, 3)      int x x phi_k
//     /B                (nq, nq, 3, 3)  int phi_k phi_l': [l][k][column][row]
//     /Me /Ke /De       (nq, nq)
//     /frames/names     (nframes) text of 64 bytes            /frames/at  (nframes, 3)
//     /frames/Phi       (nframes, nq, 3) displacement of each mode         /frames/Psi  rotation
//     /nodes/at         (nnodes, 3)                           /nodes/shape (nq, nnodes, 3)
//     /nodes/triangles  (ntriangles, 3)  nodes of its surface, from 0 on; where there are any     /nodes/lines (nlines, 2)  beams
//     /K0t /K0r         (3, nq, nq)  stiffness by accelerations and angular accelerations of the frame, where it is known
//     /K0w              (6, nq, nq)  by products of angular velocities xx yy zz xy yz xz; attribute spin_axis: 0, or the one axis (ASCII)
//     /K0F              (3 nframes, nq, nq)  by forces at the frames
//     /stress/at        (nplaces, 3)  places where stress is known      /stress/modes (nq, nplaces, 6)  xx yy zz xy yz zx by the modes [Pa]
//     /stress/names     (nspots) text of 64 bytes: places with names, and which they are, from 0 on: /stress/named (nspots)
//     /residual         (6 nframes, 6 nframes)  deflection of the frames by loads at them that modes left out would add
#define _POSIX_C_SOURCE 200809L
#include "flexible/flex_file.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

#ifndef KD_WITH_HDF5

kd_status kd_flex_write(const kd_flexible_body *body, const char *path, char *message, size_t size)
{
    (void)body;
    kd_text(message, size, "'%s' was not written: kardan was built without HDF5 (package libhdf5-dev)", path);
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_flex_read(const char *path, kd_flexible_body *body, char *message, size_t size)
{
    *body = (kd_flexible_body){0};
    kd_text(message, size, "'%s' was not read: kardan was built without HDF5 (package libhdf5-dev)", path);
    return KD_ERR_UNAVAILABLE;
}

#else

#include <math.h>
#include <unistd.h>

#include "core/hdf5_late.h"
#include "flexible/stress.h"

enum { NAME = 64, MOST_MODES = 1000, MOST_FRAMES = 20000, MOST_NODES = 1000000, MOST_PLACES = 2000000 };

// ---- arrays both ways -----------------------------------------------------------------------------------------------

// One direction at a time: what is written is read by the same list
typedef struct transfer {
    hid_t  file;
    bool   writes;
    bool   failed;
    char  *message;
    size_t size;
} transfer;

static void fail(transfer *t, const char *name, const char *what)
{
    if (!t->failed) kd_text_append(t->message, t->size, "%s %s", name, what);
    t->failed = true;
}

static void write_array(transfer *t, const char *name, hid_t type, int rank, const hsize_t *sizes, const void *value)
{
    const hid_t space = H5Screate_simple(rank, sizes, NULL), creation = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(creation, 1);
    const hid_t plain = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plain, 0); // nothing depends on when it was written
    const hid_t set = H5Dcreate2(t->file, name, type, space, creation, plain, H5P_DEFAULT);
    if (set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) fail(t, name, "could not be written");
    if (set >= 0) H5Dclose(set);
    H5Pclose(plain);
    H5Pclose(creation);
    H5Sclose(space);
}

// Sizes of an array; false: it is not there or has another rank
static bool sizes_of(transfer *t, const char *name, int rank, hsize_t *sizes)
{
    bool        good = false;
    const hid_t set = H5Dopen2(t->file, name, H5P_DEFAULT);
    if (set >= 0) {
        const hid_t space = H5Dget_space(set);
        good = space >= 0 && H5Sget_simple_extent_ndims(space) == rank &&
               H5Sget_simple_extent_dims(space, sizes, NULL) == rank;
        if (space >= 0) H5Sclose(space);
        H5Dclose(set);
    }
    if (!good) fail(t, name, "is missing or is no array of that rank");
    return good;
}

static void read_array(transfer *t, const char *name, hid_t type, int rank, const hsize_t *sizes, void *value)
{
    hsize_t there[4];
    if (t->failed || !sizes_of(t, name, rank, there)) return;
    for (int i = 0; i < rank; i++)
        if (there[i] != sizes[i]) {
            fail(t, name, "has another size than the modes, frames or nodes say");
            return;
        }
    const hid_t set = H5Dopen2(t->file, name, H5P_DEFAULT);
    if (set < 0 || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) fail(t, name, "could not be read");
    if (set >= 0) H5Dclose(set);
}

// Doubles of sizes that end with a zero
static void move_doubles(transfer *t, const char *name, const hsize_t *sizes, double *value)
{
    int    rank = 0;
    size_t count = 1;
    for (; sizes[rank] > 0; rank++) count *= sizes[rank];
    if (t->writes) {
        write_array(t, name, H5T_NATIVE_DOUBLE, rank, sizes, value);
        return;
    }
    read_array(t, name, H5T_NATIVE_DOUBLE, rank, sizes, value);
    for (size_t i = 0; !t->failed && i < count; i++)
        if (!isfinite(value[i])) fail(t, name, "has a number that is not finite");
}

static void move_number(transfer *t, const char *name, double *value)
{
    if (t->writes) {
        const hid_t space = H5Screate(H5S_SCALAR),
                    at = H5Acreate2(t->file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
        if (at < 0 || H5Awrite(at, H5T_NATIVE_DOUBLE, value) < 0) fail(t, name, "could not be written");
        if (at >= 0) H5Aclose(at);
        H5Sclose(space);
        return;
    }
    const hid_t at = H5Aopen(t->file, name, H5P_DEFAULT);
    hid_t       space = at >= 0 ? H5Aget_space(at) : -1;
    const bool  one = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    if (!one || H5Aread(at, H5T_NATIVE_DOUBLE, value) < 0 || !isfinite(*value))
        fail(t, name, "is missing or no number");
    if (space >= 0) H5Sclose(space);
    if (at >= 0) H5Aclose(at);
}

// A list of texts of one width
static void move_texts(transfer *t, const char *name, int count, size_t width, char *text)
{
    const hsize_t sizes[] = {(hsize_t)count};
    const hid_t   type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, width);
    if (t->writes)
        write_array(t, name, type, 1, sizes, text);
    else
        read_array(t, name, type, 1, sizes, text);
    H5Tclose(type);
}

// ---- the body -------------------------------------------------------------------------------------------------------

// Frames side by side, as they stand in the file
typedef struct frame_arrays {
    char   *name;
    double *at, *Phi, *Psi;
} frame_arrays;

// Stiffness by loads, where there is any
static void move_stiffening(transfer *t, const char *name, int loads, kd_flexible_body *b, double **value)
{
    const hsize_t nq = (hsize_t)b->nq;
    if (!t->writes && H5Lexists(t->file, name, H5P_DEFAULT) > 0) {
        *value = kd_cut_matrix(&b->arena, b->nq, loads * b->nq);
        if (!*value) fail(t, name, "is too large for the memory");
    }
    if (*value && !t->failed) move_doubles(t, name, (hsize_t[]){(hsize_t)loads, nq, nq, 0}, *value);
}

// Deflection by modes that were left out, where there were any
static void move_residual(transfer *t, kd_flexible_body *b)
{
    const int n = 6 * b->nframes;
    if (!t->writes && H5Lexists(t->file, "residual", H5P_DEFAULT) > 0) {
        b->residual = kd_cut_matrix(&b->arena, n, n);
        if (!b->residual) fail(t, "residual", "is too large for the memory");
    }
    if (b->residual && !t->failed) move_doubles(t, "residual", (hsize_t[]){(hsize_t)n, (hsize_t)n, 0}, b->residual);
}

// Nodes of triangles or lines, `corners` each, where there are any
static void move_corners(transfer *t, const char *name, int corners, const kd_flexible_body *b, int *count, int **value,
                         kd_arena *arena)
{
    hsize_t sizes[2] = {(hsize_t)*count, (hsize_t)corners};
    if (!t->writes) {
        if (H5Lexists(t->file, name, H5P_DEFAULT) <= 0 || !sizes_of(t, name, 2, sizes)) return;
        if (sizes[0] > MOST_PLACES || sizes[1] != (hsize_t)corners) {
            fail(t, name, "has another size than triangles or lines have");
            return;
        }
        *count = (int)sizes[0];
        *value = kd_arena_cut(arena, (size_t)corners * (size_t)*count, sizeof **value);
        if (!*value && *count > 0) fail(t, name, "is too large for the memory");
    }
    if (*count == 0 || t->failed) return;
    if (t->writes)
        write_array(t, name, H5T_NATIVE_INT, 2, sizes, *value);
    else
        read_array(t, name, H5T_NATIVE_INT, 2, sizes, *value);
    for (int i = 0; !t->failed && i < corners * *count; i++)
        if ((*value)[i] < 0 || (*value)[i] >= b->nnodes) fail(t, name, "names a node that is not there");
}

// Names of places, and their numbers
static void move_spots(transfer *t, kd_flexible_body *b, kd_arena *scratch)
{
    hsize_t sizes[2];
    if (!t->writes && H5Lexists(t->file, "stress/named", H5P_DEFAULT) <= 0) return;
    if (!t->writes && (!sizes_of(t, "stress/named", 1, sizes) || sizes[0] < 1 || sizes[0] > MOST_FRAMES)) {
        fail(t, "stress/named", "has no names, or too many");
        return;
    }
    if (!t->writes) b->nspots = (int)sizes[0];
    if (b->nspots == 0) return;
    double *number = kd_cut_double(scratch, b->nspots);
    char   *names = kd_arena_cut(scratch, (size_t)b->nspots, NAME);
    char   *own = t->writes ? names : kd_arena_cut(&b->arena, (size_t)b->nspots, NAME);
    if (!t->writes) b->spot = kd_arena_cut(&b->arena, (size_t)b->nspots, sizeof *b->spot);
    if (scratch->failed || b->arena.failed) {
        fail(t, "stress/named", "is too large for the memory");
        return;
    }
    for (int i = 0; t->writes && i < b->nspots; i++) {
        number[i] = b->spot[i].place;
        kd_text(names + (size_t)i * NAME, NAME, "%s", b->spot[i].name);
    }
    move_doubles(t, "stress/named", (hsize_t[]){(hsize_t)b->nspots, 0}, number);
    move_texts(t, "stress/names", b->nspots, NAME, names);
    for (int i = 0; !t->writes && !t->failed && i < b->nspots; i++) {
        if (!(number[i] >= 0 && number[i] < b->nplaces)) fail(t, "stress/named", "names a place that is not there");
        memcpy(own + (size_t)i * NAME, names + (size_t)i * NAME, NAME - 1);
        b->spot[i] = (kd_stress_spot){own + (size_t)i * NAME, t->failed ? 0 : (int)number[i]};
    }
}

// Stress by the modes, where it is known
static void move_stress(transfer *t, kd_flexible_body *b)
{
    kd_arena scratch = {0};
    hsize_t  sizes[2];
    if (!t->writes && H5Lexists(t->file, "stress", H5P_DEFAULT) > 0) {
        if (!sizes_of(t, "stress/at", 2, sizes)) return;
        if (sizes[0] < 1 || sizes[0] > MOST_PLACES)
            fail(t, "stress/at", "has no places, or too many");
        else if (!kd_stress_cut(b, (int)sizes[0]))
            fail(t, "stress/at", "is too large for the memory");
    }
    if (b->nplaces == 0 || t->failed) return;
    move_doubles(t, "stress/at", (hsize_t[]){(hsize_t)b->nplaces, 3, 0}, b->place);
    move_doubles(t, "stress/modes", (hsize_t[]){(hsize_t)b->nq, (hsize_t)b->nplaces, 6, 0}, b->stress);
    move_spots(t, b, &scratch);
    kd_arena_release(&scratch);
}

static void move_all(transfer *t, kd_flexible_body *b, frame_arrays *f)
{
    const hsize_t nq = (hsize_t)b->nq, nf = (hsize_t)b->nframes, nn = (hsize_t)b->nnodes;
    move_number(t, "mass", &b->mass);
    move_number(t, "band", &b->band);
    move_number(t, "expected_error", &b->expected);
    // files of earlier versions do not have it
    if (t->writes || H5Aexists(t->file, "expected_transfer_error") > 0)
        move_number(t, "expected_transfer_error", &b->transfer);
    double axis = b->spin_axis;
    move_number(t, "spin_axis", &axis);
    b->spin_axis = axis >= 'x' && axis <= 'z' ? (char)axis : 0;
    move_texts(t, "reference", 1, sizeof b->reference, b->reference);
    move_doubles(t, "first", (hsize_t[]){3, 0}, b->first);
    move_doubles(t, "second", (hsize_t[]){3, 3, 0}, b->second);
    move_doubles(t, "C", (hsize_t[]){nq, 3, 0}, b->C);
    move_doubles(t, "Cr", (hsize_t[]){nq, 3, 0}, b->Cr);
    move_doubles(t, "A", (hsize_t[]){nq, 3, 3, 0}, b->A);
    move_doubles(t, "B", (hsize_t[]){nq, nq, 3, 3, 0}, b->B);
    move_doubles(t, "Me", (hsize_t[]){nq, nq, 0}, b->Me);
    move_doubles(t, "Ke", (hsize_t[]){nq, nq, 0}, b->Ke);
    move_doubles(t, "De", (hsize_t[]){nq, nq, 0}, b->De);
    move_texts(t, "frames/names", b->nframes, NAME, f->name);
    move_doubles(t, "frames/at", (hsize_t[]){nf, 3, 0}, f->at);
    move_doubles(t, "frames/Phi", (hsize_t[]){nf, nq, 3, 0}, f->Phi);
    move_doubles(t, "frames/Psi", (hsize_t[]){nf, nq, 3, 0}, f->Psi);
    move_doubles(t, "nodes/at", (hsize_t[]){nn, 3, 0}, b->node);
    move_doubles(t, "nodes/shape", (hsize_t[]){nq, nn, 3, 0}, b->shape);
    move_corners(t, "nodes/triangles", 3, b, &b->ntriangles, &b->triangle, &b->arena);
    move_corners(t, "nodes/lines", 2, b, &b->nlines, &b->line, &b->arena);
    move_stiffening(t, "K0t", 3, b, &b->K0t);
    move_stiffening(t, "K0r", 3, b, &b->K0r);
    move_stiffening(t, "K0w", 6, b, &b->K0w);
    move_stiffening(t, "K0F", 3 * b->nframes, b, &b->K0F);
    move_residual(t, b);
    move_stress(t, b);
}

static bool cut_frames(frame_arrays *f, const kd_flexible_body *b, kd_arena *arena)
{
    f->name = kd_arena_cut(arena, (size_t)b->nframes, NAME);
    f->at = kd_cut_matrix(arena, 3, b->nframes);
    f->Phi = kd_cut_matrix(arena, 3 * b->nq, b->nframes);
    f->Psi = kd_cut_matrix(arena, 3 * b->nq, b->nframes);
    return !arena->failed;
}

// HDF5 is loaded with the first file
static bool is_there(const char *path, const char *what, char *message, size_t size)
{
    char why[300];
    if (kd_hdf5_load(why, sizeof why)) return true;
    kd_text(message, size, "'%s' was not %s: %s", path, what, why);
    return false;
}

kd_status kd_flex_write(const kd_flexible_body *body, const char *path, char *message, size_t size)
{
    char             part[4096];
    kd_arena         scratch = {0};
    frame_arrays     f = {0};
    kd_flexible_body b = *body;
    transfer         t = {.writes = true, .message = message, .size = size};
    const size_t     wide = 3 * (size_t)b.nq;
    const int        length = snprintf(part, sizeof part, "%s.part", path);
    if (!is_there(path, "written", message, size)) return KD_ERR_UNAVAILABLE;
    kd_text(message, size, "%s: ", path);
    if (!cut_frames(&f, &b, &scratch)) {
        kd_arena_release(&scratch);
        return KD_ERR_MEMORY;
    }
    for (int i = 0; i < b.nframes; i++) {
        kd_text(f.name + (size_t)i * NAME, NAME, "%s", b.frame[i].name);
        kd_vec_to(b.frame[i].at, f.at + 3 * i);
        memcpy(f.Phi + (size_t)i * wide, b.frame[i].Phi, wide * sizeof(double));
        memcpy(f.Psi + (size_t)i * wide, b.frame[i].Psi, wide * sizeof(double));
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    t.file = length > 0 && length < (int)sizeof part ? H5Fcreate(part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : -1;
    if (t.file < 0) {
        fail(&t, "the file", "could not be made");
    } else {
        double format = 1;
        move_number(&t, "format", &format);
        move_all(&t, &b, &f);
        if (H5Fclose(t.file) < 0) fail(&t, "the file", "could not be written: is the disk full?");
        if (!t.failed && rename(part, path) != 0) fail(&t, "the file", "could not be renamed");
        if (t.failed) unlink(part);
    }
    kd_arena_release(&scratch);
    return t.failed ? KD_ERR_FILE : KD_OK;
}

// The numbers of modes, frames and nodes, within bounds
static bool read_counts(transfer *t, int *nq, int *nframes, int *nnodes)
{
    hsize_t modes[2], frames[2], nodes[2];
    double  format = 0;
    move_number(t, "format", &format);
    if (!t->failed && format != 1) fail(t, "format", "is of a newer kardan");
    if (t->failed || !sizes_of(t, "Ke", 2, modes) || !sizes_of(t, "frames/at", 2, frames) ||
        !sizes_of(t, "nodes/at", 2, nodes))
        return false;
    if (modes[0] < 1 || modes[0] > MOST_MODES || frames[0] < 1 || frames[0] > MOST_FRAMES || nodes[0] < 1 ||
        nodes[0] > MOST_NODES) {
        fail(t, "modes, frames or nodes", "are none or too many");
        return false;
    }
    *nq = (int)modes[0], *nframes = (int)frames[0], *nnodes = (int)nodes[0];
    return true;
}

static kd_status read_body(transfer *t, kd_flexible_body *b)
{
    kd_arena     scratch = {0};
    frame_arrays f = {0};
    int          nq = 0, nframes = 0, nnodes = 0;
    if (!read_counts(t, &nq, &nframes, &nnodes)) return KD_ERR_FILE;
    kd_status status =
        kd_flexible_body_cut(b, nq, nframes, nnodes) && cut_frames(&f, b, &scratch) ? KD_OK : KD_ERR_MEMORY;
    const size_t wide = 3 * (size_t)nq;
    if (status == KD_OK) move_all(t, b, &f);
    b->reference[sizeof b->reference - 1] = '\0';
    if (status == KD_OK && !t->failed && !(b->mass > 0)) fail(t, "mass", "is not positive");
    for (int i = 0; status == KD_OK && !t->failed && i < nframes; i++) {
        char *name = kd_arena_cut(&b->arena, NAME, 1);
        if (!name) {
            status = KD_ERR_MEMORY;
            break;
        }
        memcpy(name, f.name + (size_t)i * NAME, NAME - 1);
        b->frame[i].name = name;
        b->frame[i].at = kd_vec_of(f.at + 3 * i);
        memcpy(b->frame[i].Phi, f.Phi + (size_t)i * wide, wide * sizeof(double));
        memcpy(b->frame[i].Psi, f.Psi + (size_t)i * wide, wide * sizeof(double));
    }
    kd_arena_release(&scratch);
    return status == KD_OK && t->failed ? KD_ERR_FILE : status;
}

kd_status kd_flex_read(const char *path, kd_flexible_body *b, char *message, size_t size)
{
    transfer t = {.message = message, .size = size};
    *b = (kd_flexible_body){0};
    if (!is_there(path, "read", message, size)) return KD_ERR_UNAVAILABLE;
    kd_text(message, size, "%s: ", path);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    t.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (t.file < 0) {
        fail(&t, "this", "is no HDF5 file, or is not there");
        return KD_ERR_FILE;
    }
    const kd_status status = read_body(&t, b);
    H5Fclose(t.file);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    if (status < 0) kd_flexible_body_release(b);
    return status;
}

#endif
