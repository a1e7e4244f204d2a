// vehicle/crg.h: roads from OpenCRG files: a strip of elevations along a reference line, as a surface z(x, y).
#ifndef KD_VEHICLE_CRG_H
#define KD_VEHICLE_CRG_H

#include <kardan/base.h>

typedef struct kd_crg kd_crg;

enum { KD_CRG_MAX_BYTES = 1 << 28 };

// Read the content of a file (formats LRFI and LDFI: text, KRBI and KDBI: 32 and 64 bits, big-endian); a zero byte stands behind
// its length. KD_OK; KD_ERR_FILE: message says file, line and reason; KD_ERR_MEMORY. On failure *crg is NULL.
kd_status kd_crg_parse(const char *path, const char *text, size_t length, kd_crg **crg, char *message,
                       size_t size) KD_NODISCARD;
kd_status kd_crg_read(const char *path, kd_crg **crg, char *message, size_t size) KD_NODISCARD;
void      kd_crg_destroy(kd_crg *crg); // NULL is fine

// Along the reference line and across it (to the left): elevation, and where that is. Beyond the ends and edges the values there
// stay.
double kd_crg_elevation(const kd_crg *crg, double u, double v);
void   kd_crg_place(const kd_crg *crg, double u, double v, double *x, double *y);

// Elevation at x and y, its derivatives by x and y; u and v there (may be NULL)
void kd_crg_at(const kd_crg *crg, double x, double y, double z[3], double uv[2]);

// Least and largest elevation over a rectangle of x and y: exact for a point, wider than needed for large ones
void kd_crg_range(const kd_crg *crg, const double x[2], const double y[2], double z[2]);

// Ends along u and v; least and largest elevation
void kd_crg_ends(const kd_crg *crg, double u[2], double v[2], double z[2]);
int  kd_crg_missing(const kd_crg *crg); // values that were not there
// First name in $ROAD_CRG that is not known, in small letters; "": none
const char *kd_crg_unknown(const kd_crg *crg);
bool        kd_crg_modified(const kd_crg *crg); // the file asks for modifiers ($ROAD_CRG_MODS), which are not applied

#endif
