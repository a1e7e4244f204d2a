// rows.h: rows of constraints, 0 = combination of measures: how elements make them, how they are evaluated (rows.c).
#ifndef KARDAN_SYSTEM_ROWS_H
#define KARDAN_SYSTEM_ROWS_H

#include <kardan/system.h>

#include "element/wheel.h"
#include "expr/expr.h"
#include "model/model.h"

typedef struct kd_work  kd_work;  // system.h
typedef struct kd_local kd_local; // the same

// linear:      0 = sum coefficient_i * slot_i - offset - target(t, u)
// expression:  0 = expr(slots)
// Holonomic rows read values of measures, nonholonomic ones rates too (linearly).
typedef struct kd_row {
    int         nterms;
    int        *slot;        // (nterms) slots of measures
    double     *coefficient; // (nterms); NULL: expression or wheel on a rail
    double      offset;
    kd_expr    *target; // may be NULL; not owned
    kd_expr    *expr;
    kd_wheel   *wheel;             // wheel on a rail; NULL
    int         joint, constraint; // where it comes from; -1
    int         component;         // number within that element
    int         force;             // that it belongs to: a stop or contact, dry friction; -1
    bool        one_sided;         // it holds on one side only
    bool        reversed;          // g decreases where what it holds grows, as of ropes: readings change the sign
    int         direction;         // dry friction: place of its direction in z; -1
    double      scale;             // dry friction: velocity over which its level falls; 0: none
    double      restitution;       // one-sided row
    const char *name;
    // where its numbers come from, in the model; NULL: they do not change
    const double *offset_of; // cosine: of this angle; one-sided: times its factor
    bool          cosine;
    const double *coefficient_of, *scale_of, *restitution_of;
} kd_row;

typedef struct kd_gradient { // an addition to G: factor of a row times a slope of a measure
    int           place, slope;
    const double *factor;
} kd_gradient;

// Rows of one element, while they are made
typedef struct kd_row_builder {
    kd_system  *s;
    int         joint, constraint, component;
    const char *kind, *element;
    kd_status   status;
    char       *message;
    size_t      size;
} kd_row_builder;

void kd_row_set(const kd_system *s, kd_row *row); // rows.c: its numbers
// A linear row follows an expression of t and inputs (NULL: it does not), beside its offset
void kd_row_move(kd_row_builder *b, kd_row *row, const char *motion, const char *name, const kd_source *source);

// rows.c: rows of an element, holonomic or not; what: its name within the element
kd_row *kd_row_linear(kd_row_builder *b, bool nonholonomic, int nterms, const int *slot, const double *coefficient,
                      const char *what);                                  // 0 = sum coefficient * slot - offset
kd_row *kd_row_measure(kd_row_builder *b, int measure, const char *what); // 0 = value of a measure - offset
// The column of a joint by tables that is the coordinate itself, numbered as the coordinates of a cardan joint; -1: none
int kd_table_own_column(const kd_model *m, const kd_joint *j);
// The columns of a joint by tables as rows (table_rows.c). true: they hold its turns as well
bool    kd_row_table(kd_row_builder *b, int joint, int pair);
kd_row *kd_row_expression(kd_row_builder *b, bool nonholonomic, const char *text, const kd_source *source,
                          const kd_local *local, int nlocal, const char *what);
// An expression of the motion that is no constraint: invariants
void kd_row_motion(kd_row_builder *b, kd_row *row, const char *text, const kd_source *source);
void kd_row_lift_off(kd_row_builder *b, kd_row *row, const double *restitution); // the row, or NULL, is >= 0 only
// factor * (measure - offset) >= 0
kd_row *kd_row_one_sided(kd_row_builder *b, int force, int measure, double factor, const double *offset,
                         const double *restitution, const char *what);
void    kd_row_sticking(kd_row_builder *b, int force, int measure, const double *scale); // holds the rate of a measure
int     kd_row_shift(kd_row_builder *b, int pair, int i);                                // measures of a pair
int     kd_row_cosine(kd_row_builder *b, int pair, int i, int j);
int     kd_system_row_of(const kd_system *s, int constraint, int number); // a row of g; -1: none
double  kd_row_hold(const kd_system *s, int row, const double *lambda);   // its multiplier as it is read
// their evaluation
kd_jet kd_row_jet(const kd_row *row, kd_work *w);   // value and time derivatives from w->jet
double kd_row_value(const kd_row *row, kd_work *w); // its x and x1 alone
double kd_row_rate(const kd_row *row, kd_work *w);
void   kd_row_gradient(const kd_row *row, kd_work *w, double *out);        // (nterms) derivatives by the terms
kd_jet kd_row_contact_jet(const kd_row *row, kd_work *w, double xi_d);     // of a wheel, xi changing along the tangent
void   kd_row_contact(const kd_row *row, kd_work *w, kd_wheel_point *out); // the same: values and first derivatives
void   kd_row_apply(const kd_row *row, bool nonholonomic, kd_work *w, double multiplier);

#endif
