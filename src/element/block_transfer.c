// block_transfer.c: a sampled transfer function b(z)/a(z) of order n, a monic, in controllable form: with x_1 .. x_n
//
//     x_1+ = u - a_1 x_1 - .. - a_n x_n,   x_(i+1)+ = x_i,   y = b_0 u + sum (b_i - a_i b_0) x_i
//
// One of s becomes one of z by the trapezoidal rule, s = 2/T (z - 1)/(z + 1) (Tustin).
#include <math.h>
#include <string.h>

#include "element/block.h"
#include "model/fields.h"

enum { COEFFICIENTS = KD_MAX_SIGNALS + 1 };

// out += factor (z - 1)^minus (z + 1)^(n - minus), highest power first
static void add_power(int n, int minus, double factor, double *out)
{
    // polynomial multiplication by (z - 1) or (z + 1), one factor after the other
    double power[COEFFICIENTS] = {factor};
    for (int k = 0; k < n; k++) {
        const double c = k < minus ? -1.0 : 1.0;
        for (int i = k + 1; i > 0; i--) power[i] += c * power[i - 1];
    }
    for (int i = 0; i <= n; i++) out[i] += power[i];
}

// Coefficients of a polynomial as those of z^n .. 1; of s: times ((z + 1) T/2)^n
static void in_z(const kd_block_def *def, const double *given, int count, int n, double *out)
{
    memset(out, 0, COEFFICIENTS * sizeof *out);
    const int power = count - 1; // of given[0]
    // z already: shifted to the power n
    if (!def->continuous) {
        memcpy(out + n - power, given, (size_t)count * sizeof *out);
        return;
    }
    for (int i = 0; i < count; i++) add_power(n, power - i, given[i] * pow(0.5 * def->period, n - power + i), out);
}

// Row 0 of A, then C and D, from the coefficients; the rest of A and B does not depend on them.
static void set(kd_sampler *b)
{
    const kd_block_def *def = &b->block->def;
    const int           n = def->nstates;
    double              num[COEFFICIENTS], den[COEFFICIENTS], *A = b->made[0], *C = b->made[1], *D = b->made[2];
    in_z(def, def->numerator, def->nnumerator, n, num);
    in_z(def, def->denominator, def->ndenominator, n, den);
    // y = D u + C x with D = b_0 / a_0; both polynomials are divided by a_0
    *D = num[0] / den[0];
    for (int i = 0; i < n; i++) {
        A[i] = -den[i + 1] / den[0];
        C[i] = (num[i + 1] - den[i + 1] * *D) / den[0];
    }
}

static kd_status make(kd_block_builder *builder)
{
    kd_system  *s = builder->s;
    kd_sampler *b = builder->sampler;
    const int   n = b->block->def.nstates;
    double     *A = kd_cut_double(&s->arena, n * n), *B = kd_cut_double(&s->arena, n);
    double     *C = kd_cut_double(&s->arena, n), *D = kd_cut_double(&s->arena, 1);
    if (s->arena.failed) return KD_ERR_MEMORY;
    // x_(i+1)+ = x_i: ones below the diagonal, the input enters x_1
    for (int i = 1; i < n; i++) A[n * i + i - 1] = 1.0;
    if (n > 0) B[0] = 1.0;
    b->A = b->made[0] = A, b->B = B, b->C = b->made[1] = C, b->D = b->made[2] = D;
    set(b);
    return KD_OK;
}

// a proper function whose highest coefficient divides
static bool check(kd_model *m, const char *name, const kd_block_def *def)
{
    if (def->denominator[0] == 0.0)
        return kd_block_refuse(m, name, "denominator", "the first number of 'denominator' is 0");
    if (def->nnumerator > def->ndenominator)
        return kd_block_refuse(
            m, name, "numerator",
            "the numerator has a higher power than the denominator: only proper transfer functions can be "
            "computed");
    if (def->ndenominator > KD_MAX_SIGNALS + 1) {
        kd_model_refuse(m, KD_SECTION_BLOCK, name, "denominator", "the denominator has a higher power than %d",
                        KD_MAX_SIGNALS);
        return false;
    }
    // the denominator at s = 2/period, by Horner, against the sum of the sizes of its terms
    double at_corner = 0.0, size = 0.0, s = 2.0 / def->period; // where z of the trapezoidal rule is infinite
    for (int i = 0; def->continuous && i < def->ndenominator; i++) {
        at_corner = at_corner * s + def->denominator[i];
        size = size * s + fabs(def->denominator[i]);
    }
    if (def->continuous && !(fabs(at_corner) > 1e-12 * size))
        return kd_block_refuse(m, name, "denominator", "a pole at s = 2/period cannot be sampled: change the period");
    return true;
}

static void count(kd_block_def *def)
{
    def->ninputs = def->noutputs = 1;
    def->nstates = def->ndenominator - 1;
}

// clang-format off
#define O(member) offsetof(kd_block_def, member)
static const kd_field fields[] = {
    KD_BLOCK_TIMES,
    {"input", KD_FIELD_LAW, O(input), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of any paths, as in sensors"},
    {"numerator", KD_FIELD_SAMPLES, O(numerator), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "coefficients, highest power first", .length = O(nnumerator)},
    {"denominator", KD_FIELD_SAMPLES, O(denominator), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "coefficients, highest power first; of no lower power than the numerator", .length = O(ndenominator)},
    {"continuous", KD_FIELD_BOOLEAN, O(continuous), 1, ALL, 0, 0, ANY, "",
     .doc = "the polynomials are of s, and are sampled by the trapezoidal rule (Tustin)"},
    KD_BLOCK_START_OUTPUT,
};
// clang-format on

const kd_block_class kd_block_transfer = {
    .element =
        {
            .element =
                {
                    .kind = {"transfer",
                             "numerator / denominator, polynomials of z, or of s where `continuous` is set"},
                    .fields = fields,
                    .nfields = COUNT(fields),
                },
            .check = check,
            .count = count,
            .polynomials = true,
        },
    .make = make,
    .set = set,
    .sample = kd_sample_linear,
};
