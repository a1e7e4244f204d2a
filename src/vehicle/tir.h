// vehicle/tir.h: tyre property files (.tir) of the Magic Formula: numbers by their names, units, side, version, tables.
//
// A file has sections in brackets, `NAME = value` in each of them, and tables of rows of numbers. Comments begin with $
// or !. What is read here is in SI units and radians.  Guide: docs/guide/vehicles.md
#ifndef KD_VEHICLE_TIR_H
#define KD_VEHICLE_TIR_H

#include <kardan/base.h>

// Names with their default and unit: L length, F force, K force per length, D damping, V velocity, A angle, P pressure,
// a blank: none
// clang-format off
#define KD_TIR_NUMBERS(X) \
    X(FITTYP, 0, ' ') X(USE_MODE, 4, ' ') X(LONGVL, 16.7, 'V') X(VXLOW, 1, 'V') \
    X(UNLOADED_RADIUS, 0, 'L') X(WIDTH, 0, 'L') X(RIM_RADIUS, 0, 'L') X(RIM_WIDTH, 0, 'L') X(ASPECT_RATIO, 0, ' ') \
    X(INFLPRES, 0, 'P') X(NOMPRES, 0, 'P') \
    X(VERTICAL_STIFFNESS, 0, 'K') X(VERTICAL_DAMPING, 0, 'D') X(BREFF, 0, ' ') X(DREFF, 0, ' ') X(FREFF, 0, ' ') \
    X(FNOMIN, 0, 'F') \
    X(KPUMIN, -1.5, ' ') X(KPUMAX, 1.5, ' ') X(ALPMIN, -1.5708, 'A') X(ALPMAX, 1.5708, 'A') X(CAMMIN, -1.5708, 'A') \
    X(CAMMAX, 1.5708, 'A') X(FZMIN, 0, 'F') X(FZMAX, 1e30, 'F') \
    X(LFZO, 1, ' ') X(LCX, 1, ' ') X(LMUX, 1, ' ') X(LEX, 1, ' ') X(LKX, 1, ' ') X(LHX, 1, ' ') X(LVX, 1, ' ') \
    X(LGAX, 1, ' ') X(LCY, 1, ' ') X(LMUY, 1, ' ') X(LEY, 1, ' ') X(LKY, 1, ' ') X(LHY, 1, ' ') X(LVY, 1, ' ') \
    X(LGAY, 1, ' ') X(LTR, 1, ' ') X(LRES, 1, ' ') X(LGAZ, 1, ' ') X(LXAL, 1, ' ') X(LYKA, 1, ' ') X(LVYKA, 1, ' ') \
    X(LS, 1, ' ') X(LSGKP, 1, ' ') X(LSGAL, 1, ' ') X(LMX, 1, ' ') X(LMY, 1, ' ') X(LVMX, 1, ' ') X(LKYC, 1, ' ') \
    X(LKZC, 1, ' ') X(LCZ, 1, ' ') \
    X(PCX1, 0, ' ') X(PDX1, 0, ' ') X(PDX2, 0, ' ') X(PDX3, 0, ' ') X(PEX1, 0, ' ') X(PEX2, 0, ' ') X(PEX3, 0, ' ') \
    X(PEX4, 0, ' ') X(PKX1, 0, ' ') X(PKX2, 0, ' ') X(PKX3, 0, ' ') X(PHX1, 0, ' ') X(PHX2, 0, ' ') X(PVX1, 0, ' ') \
    X(PVX2, 0, ' ') X(PPX1, 0, ' ') X(PPX2, 0, ' ') X(PPX3, 0, ' ') X(PPX4, 0, ' ') X(RBX1, 0, ' ') X(RBX2, 0, ' ') \
    X(RBX3, 0, ' ') X(RCX1, 0, ' ') X(REX1, 0, ' ') X(REX2, 0, ' ') X(RHX1, 0, ' ') X(PTX1, 0, ' ') X(PTX2, 0, ' ') \
    X(PTX3, 0, ' ') \
    X(QSX1, 0, ' ') X(QSX2, 0, ' ') X(QSX3, 0, ' ') X(QSX4, 0, ' ') X(QSX5, 0, ' ') X(QSX6, 0, ' ') X(QSX7, 0, ' ') \
    X(QSX8, 0, ' ') X(QSX9, 0, ' ') X(QSX10, 0, ' ') X(QSX11, 0, ' ') X(PPMX1, 0, ' ') \
    X(PCY1, 0, ' ') X(PDY1, 0, ' ') X(PDY2, 0, ' ') X(PDY3, 0, ' ') X(PEY1, 0, ' ') X(PEY2, 0, ' ') X(PEY3, 0, ' ') \
    X(PEY4, 0, ' ') X(PEY5, 0, ' ') X(PKY1, 0, ' ') X(PKY2, 0, ' ') X(PKY3, 0, ' ') X(PKY4, 2, ' ') X(PKY5, 0, ' ') \
    X(PKY6, 0, ' ') X(PKY7, 0, ' ') X(PHY1, 0, ' ') X(PHY2, 0, ' ') X(PHY3, 0, ' ') X(PVY1, 0, ' ') X(PVY2, 0, ' ') \
    X(PVY3, 0, ' ') X(PVY4, 0, ' ') X(PPY1, 0, ' ') X(PPY2, 0, ' ') X(PPY3, 0, ' ') X(PPY4, 0, ' ') X(PPY5, 0, ' ') \
    X(RBY1, 0, ' ') X(RBY2, 0, ' ') X(RBY3, 0, ' ') X(RBY4, 0, ' ') X(RCY1, 0, ' ') X(REY1, 0, ' ') X(REY2, 0, ' ') \
    X(RHY1, 0, ' ') X(RHY2, 0, ' ') X(RVY1, 0, ' ') X(RVY2, 0, ' ') X(RVY3, 0, ' ') X(RVY4, 0, ' ') X(RVY5, 0, ' ') \
    X(RVY6, 0, ' ') X(PTY1, 0, ' ') X(PTY2, 0, ' ') \
    X(QSY1, 0, ' ') X(QSY2, 0, ' ') X(QSY3, 0, ' ') X(QSY4, 0, ' ') X(QSY5, 0, ' ') X(QSY6, 0, ' ') X(QSY7, 1, ' ') \
    X(QSY8, 0, ' ') \
    X(QBZ1, 0, ' ') X(QBZ2, 0, ' ') X(QBZ3, 0, ' ') X(QBZ4, 0, ' ') X(QBZ5, 0, ' ') X(QBZ9, 0, ' ') X(QBZ10, 0, ' ') \
    X(QCZ1, 0, ' ') X(QDZ1, 0, ' ') X(QDZ2, 0, ' ') X(QDZ3, 0, ' ') X(QDZ4, 0, ' ') X(QDZ6, 0, ' ') X(QDZ7, 0, ' ') \
    X(QDZ8, 0, ' ') X(QDZ9, 0, ' ') X(QDZ10, 0, ' ') X(QDZ11, 0, ' ') X(QEZ1, 0, ' ') X(QEZ2, 0, ' ') \
    X(QEZ3, 0, ' ') X(QEZ4, 0, ' ') X(QEZ5, 0, ' ') X(QHZ1, 0, ' ') X(QHZ2, 0, ' ') X(QHZ3, 0, ' ') X(QHZ4, 0, ' ') \
    X(PPZ1, 0, ' ') X(PPZ2, 0, ' ') X(QPZ1, 0, ' ') X(QPZ2, 0, ' ') X(SSZ1, 0, ' ') X(SSZ2, 0, ' ') X(SSZ3, 0, ' ') \
    X(SSZ4, 0, ' ')
// clang-format on

#define KD_TIR_INDEX(name, value, unit) KD_TIR_##name,
typedef enum kd_tir_number { KD_TIR_NUMBERS(KD_TIR_INDEX) KD_TIR_COUNT } kd_tir_number;
#undef KD_TIR_INDEX

typedef enum kd_tir_version { KD_TIR_52, KD_TIR_61 } kd_tir_version;
typedef enum kd_tir_side { KD_TIR_LEFT, KD_TIR_RIGHT, KD_TIR_ANY_SIDE } kd_tir_side; // any: symmetric, or not told

enum { KD_TIR_MAX_BYTES = 1 << 20, KD_TIR_MAX_ROWS = 200 };

// Force over deflection, rising from 0
typedef struct kd_tir_table {
    int    n;
    double x[KD_TIR_MAX_ROWS], y[KD_TIR_MAX_ROWS];
} kd_tir_table;

typedef struct kd_tir {
    double         c[KD_TIR_COUNT];
    bool           given[KD_TIR_COUNT];
    kd_tir_version version;
    kd_tir_side    side;
    bool           ellipse;    // FE_METHOD 'YES': combined slip by a friction ellipse
    kd_tir_table   deflection; // load over deflection [m], [N]; n = 0: linear
    kd_tir_table   bottoming;  // of the rim, in addition
    int            nunknown;   // numbers that are not used here; the first of them:
    char           unknown[40];
    int            unknown_line;
    int            replaced_line; // of a table that replaces one before; 0: none
} kd_tir;

// Read the text of a file; a zero byte stands behind its length. KD_OK; KD_ERR_FILE: message says "path:line: what".
kd_status kd_tir_parse(const char *path, const char *text, size_t length, kd_tir *tir, char *message,
                       size_t size) KD_NODISCARD;
kd_status kd_tir_read(const char *path, kd_tir *tir, char *message, size_t size) KD_NODISCARD;

const char *kd_tir_name(kd_tir_number i);

#endif
