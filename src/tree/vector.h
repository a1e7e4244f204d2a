// vector.h: vectors of space in the form that the processor likes: four lanes of which three count (variant avx2), or
// kd_vec3 (variant base). The fourth lane holds anything; a load reads eight bytes behind the vector, so that arrays of
// structs with a vector at the end have one element more than they need (kd_motion_create).
#ifndef KARDAN_TREE_VECTOR_H
#define KARDAN_TREE_VECTOR_H

#include "tree/work.h"

#if KD_LANES == 4

#include <immintrin.h>

typedef __m256d kd_v3;

static inline kd_v3 kd_v3_load(const kd_vec3 *a)
{
    return _mm256_loadu_pd(&a->x);
}
// the same without the eight bytes behind
static inline kd_v3 kd_v3_load_exactly(const kd_vec3 *a)
{
    return _mm256_maskload_pd(&a->x, _mm256_setr_epi64x(-1, -1, -1, 0));
}
static inline void kd_v3_store(kd_vec3 *to, kd_v3 a)
{
    _mm_storeu_pd(&to->x, _mm256_castpd256_pd128(a));
    _mm_store_sd(&to->z, _mm256_extractf128_pd(a, 1));
}
// with the fourth lane behind it
static inline void kd_v3_store_four(kd_vec3 *to, kd_v3 a)
{
    _mm256_storeu_pd(&to->x, a);
}
// the components apart in memory
static inline void kd_v3_scatter(double *to, int stride, kd_v3 a)
{
    const __m128d xy = _mm256_castpd256_pd128(a);
    _mm_storel_pd(to, xy);
    _mm_storeh_pd(to + stride, xy);
    _mm_storel_pd(to + 2 * stride, _mm256_extractf128_pd(a, 1));
}
static inline kd_v3 kd_v3_zero(void)
{
    return _mm256_setzero_pd();
}
static inline kd_v3 kd_v3_of(double x, double y, double z)
{
    return _mm256_setr_pd(x, y, z, 0);
}
static inline kd_v3 kd_v3_add(kd_v3 a, kd_v3 b)
{
    return a + b;
}
static inline kd_v3 kd_v3_sub(kd_v3 a, kd_v3 b)
{
    return a - b;
}
static inline kd_v3 kd_v3_scale(double s, kd_v3 a)
{
    return _mm256_set1_pd(s) * a;
}
// a + s b
static inline kd_v3 kd_v3_axpy(kd_v3 a, double s, kd_v3 b)
{
    return a + _mm256_set1_pd(s) * b;
}
// a - s b: one operation, where a negative s would be negated before
static inline kd_v3 kd_v3_less(kd_v3 a, double s, kd_v3 b)
{
    return a - _mm256_set1_pd(s) * b;
}
// (y, z, x)
static inline kd_v3 kd_v3_turn(kd_v3 a)
{
    return _mm256_permute4x64_pd(a, _MM_SHUFFLE(3, 0, 2, 1));
}
static inline kd_v3 kd_v3_cross(kd_v3 a, kd_v3 b)
{
    return kd_v3_turn(a * kd_v3_turn(b) - kd_v3_turn(a) * b);
}
static inline double kd_v3_sum(kd_v3 a)
{
    const __m128d xy = _mm256_castpd256_pd128(a), z = _mm256_extractf128_pd(a, 1);
    return _mm_cvtsd_f64(_mm_add_sd(_mm_add_sd(xy, _mm_unpackhi_pd(xy, xy)), z));
}
static inline double kd_v3_dot(kd_v3 a, kd_v3 b)
{
    return kd_v3_sum(a * b);
}
// a'b + c'd (+ e'f)
static inline double kd_v3_dot2(kd_v3 a, kd_v3 b, kd_v3 c, kd_v3 d)
{
    return kd_v3_sum(a * b + c * d);
}
static inline double kd_v3_dot3(kd_v3 a, kd_v3 b, kd_v3 c, kd_v3 d, kd_v3 e, kd_v3 f)
{
    return kd_v3_sum(a * b + c * d + e * f);
}
// the columns of -a x
static inline void kd_v3_skew(kd_v3 a, kd_v3 *x, kd_v3 *y, kd_v3 *z)
{
    *x = _mm256_permute4x64_pd(a, _MM_SHUFFLE(3, 1, 2, 0)) * _mm256_setr_pd(0, -1, 1, 0);
    *y = _mm256_permute4x64_pd(a, _MM_SHUFFLE(3, 0, 1, 2)) * _mm256_setr_pd(1, 0, -1, 0);
    *z = _mm256_permute_pd(a, 5) * _mm256_setr_pd(-1, 1, 0, 0);
}
// the three columns become rows
static inline void kd_v3_transpose(kd_v3 *x, kd_v3 *y, kd_v3 *z)
{
    const __m256d a = _mm256_unpacklo_pd(*x, *y), b = _mm256_unpackhi_pd(*x, *y), c = *z; // x0 y0 x2 y2, x1 y1 x3 y3
    *x = _mm256_permute2f128_pd(a, c, 0x20);                                              // x0 y0 z0 z1
    *y = _mm256_permute2f128_pd(b, _mm256_permute_pd(c, 5), 0x20);                        // x1 y1 z1 z0
    *z = _mm256_permute2f128_pd(a, c, 0x31);                                              // x2 y2 z2 z3
}
// (a'v, b'v, c'v)
static inline kd_v3 kd_v3_dots(kd_v3 a, kd_v3 b, kd_v3 c, kd_v3 v)
{
    kd_v3 x = a * v, y = b * v, z = c * v;
    kd_v3_transpose(&x, &y, &z);
    return x + y + z;
}
// a.x + b.y + c.z
static inline double kd_v3_trace(kd_v3 a, kd_v3 b, kd_v3 c)
{
    const __m128d xy = _mm_blend_pd(_mm256_castpd256_pd128(a), _mm256_castpd256_pd128(b), 2);
    return _mm_cvtsd_f64(_mm_add_sd(_mm_add_sd(xy, _mm256_extractf128_pd(c, 1)), _mm_unpackhi_pd(xy, xy)));
}

#else

typedef kd_vec3 kd_v3;

static inline kd_v3 kd_v3_load(const kd_vec3 *a)
{
    return *a;
}
static inline kd_v3 kd_v3_load_exactly(const kd_vec3 *a)
{
    return *a;
}
static inline void kd_v3_store(kd_vec3 *to, kd_v3 a)
{
    *to = a;
}
static inline void kd_v3_store_four(kd_vec3 *to, kd_v3 a)
{
    *to = a;
}
static inline void kd_v3_scatter(double *to, int stride, kd_v3 a)
{
    to[0] = a.x;
    to[stride] = a.y;
    to[2 * stride] = a.z;
}
static inline kd_v3 kd_v3_zero(void)
{
    return kd_vec(0, 0, 0);
}
static inline kd_v3 kd_v3_of(double x, double y, double z)
{
    return kd_vec(x, y, z);
}
static inline kd_v3 kd_v3_add(kd_v3 a, kd_v3 b)
{
    return kd_vec_add(a, b);
}
static inline kd_v3 kd_v3_sub(kd_v3 a, kd_v3 b)
{
    return kd_vec_sub(a, b);
}
static inline kd_v3 kd_v3_scale(double s, kd_v3 a)
{
    return kd_vec_scale(s, a);
}
static inline kd_v3 kd_v3_axpy(kd_v3 a, double s, kd_v3 b)
{
    return kd_vec_axpy(a, s, b);
}
static inline kd_v3 kd_v3_less(kd_v3 a, double s, kd_v3 b)
{
    return kd_vec_axpy(a, -s, b);
}
static inline kd_v3 kd_v3_cross(kd_v3 a, kd_v3 b)
{
    return kd_vec_cross(a, b);
}
static inline double kd_v3_dot(kd_v3 a, kd_v3 b)
{
    return kd_vec_dot(a, b);
}
static inline double kd_v3_dot2(kd_v3 a, kd_v3 b, kd_v3 c, kd_v3 d)
{
    return kd_vec_dot(a, b) + kd_vec_dot(c, d);
}
static inline double kd_v3_dot3(kd_v3 a, kd_v3 b, kd_v3 c, kd_v3 d, kd_v3 e, kd_v3 f)
{
    return kd_vec_dot(a, b) + kd_vec_dot(c, d) + kd_vec_dot(e, f);
}
static inline void kd_v3_skew(kd_v3 a, kd_v3 *x, kd_v3 *y, kd_v3 *z)
{
    *x = kd_vec(0, -a.z, a.y);
    *y = kd_vec(a.z, 0, -a.x);
    *z = kd_vec(-a.y, a.x, 0);
}
static inline double kd_v3_trace(kd_v3 a, kd_v3 b, kd_v3 c)
{
    return a.x + b.y + c.z;
}
static inline kd_v3 kd_v3_dots(kd_v3 a, kd_v3 b, kd_v3 c, kd_v3 v)
{
    return kd_vec(kd_vec_dot(a, v), kd_vec_dot(b, v), kd_vec_dot(c, v));
}
static inline void kd_v3_transpose(kd_v3 *x, kd_v3 *y, kd_v3 *z)
{
    const kd_mat3 A = {*x, *y, *z}, B = kd_mat_transpose(&A);
    *x = B.x;
    *y = B.y;
    *z = B.z;
}

#endif

// ---- many numbers at once -------------------------------------------------------------------------------------------

typedef double kd_lanes __attribute__((vector_size(8 * KD_LANES), aligned(8), may_alias));
typedef double kd_two __attribute__((vector_size(16), aligned(8), may_alias));

static inline kd_lanes kd_lanes_at(const double *x)
{
    return *(const kd_lanes *)x;
}
// A vector in memory whose components are read one by one; writing it is one store.
typedef struct kd_vec_slot {
    kd_vec3 v;
    double  pad;
} kd_vec_slot;

// A motion (turn, velocity of the reference point) or a force (moment, force).
typedef struct kd_v6 {
    kd_v3 w, u;
} kd_v6;

// ---- matrices: three columns ---------------------------------------------------------------------------------------

typedef struct kd_m3 {
    kd_v3 x, y, z;
} kd_m3;

static inline kd_m3 kd_m3_load(const kd_mat3 *A)
{
    return (kd_m3){kd_v3_load(&A->x), kd_v3_load(&A->y), kd_v3_load(&A->z)};
}
// a + A b, b in memory
__attribute__((always_inline)) static inline kd_v3 kd_m3_axpy(kd_v3 a, const kd_m3 *A, const kd_vec3 *b)
{
    return kd_v3_axpy(kd_v3_axpy(kd_v3_axpy(a, b->x, A->x), b->y, A->y), b->z, A->z);
}
// A b, b in memory
static inline kd_v3 kd_m3_vec(const kd_m3 *A, const kd_vec3 *b)
{
    return kd_v3_axpy(kd_v3_axpy(kd_v3_scale(b->x, A->x), b->y, A->y), b->z, A->z);
}
static inline kd_m3 kd_m3_add(const kd_m3 *A, const kd_m3 *B)
{
    return (kd_m3){kd_v3_add(A->x, B->x), kd_v3_add(A->y, B->y), kd_v3_add(A->z, B->z)};
}
// -a x
static inline kd_m3 kd_m3_skew(kd_v3 a)
{
    kd_m3 A;
    kd_v3_skew(a, &A.x, &A.y, &A.z);
    return A;
}
// A'b
static inline kd_v3 kd_m3_tvec(const kd_m3 *A, kd_v3 b)
{
    return kd_v3_dots(A->x, A->y, A->z, b);
}
static inline kd_m3 kd_m3_transposed(const kd_m3 *A)
{
    kd_m3 B = *A;
    kd_v3_transpose(&B.x, &B.y, &B.z);
    return B;
}
// A b, b at hand
static inline kd_v3 kd_m3_times(const kd_m3 *A, kd_v3 b)
{
#if KD_LANES == 4
    return _mm256_permute4x64_pd(b, 0) * A->x + _mm256_permute4x64_pd(b, 0x55) * A->y +
           _mm256_permute4x64_pd(b, 0xaa) * A->z;
#else
    return kd_m3_vec(A, &b);
#endif
}
// A + s b c', c in memory
static inline void kd_m3_add_product(kd_m3 *A, double s, kd_v3 b, const kd_vec3 *c)
{
    A->x = kd_v3_axpy(A->x, s * c->x, b);
    A->y = kd_v3_axpy(A->y, s * c->y, b);
    A->z = kd_v3_axpy(A->z, s * c->z, b);
}
// A + s 1
static inline void kd_m3_add_unit(kd_m3 *A, double s)
{
    A->x = kd_v3_axpy(A->x, s, kd_v3_of(1, 0, 0));
    A->y = kd_v3_axpy(A->y, s, kd_v3_of(0, 1, 0));
    A->z = kd_v3_axpy(A->z, s, kd_v3_of(0, 0, 1));
}
// R I R' with R also in memory
__attribute__((always_inline)) static inline kd_m3 kd_m3_rotate(const kd_m3 *R, const kd_mat3 *from, const kd_sym3 *I)
{
    const kd_v3 tx = kd_v3_axpy(kd_v3_axpy(kd_v3_scale(I->xx, R->x), I->xy, R->y), I->xz, R->z); // R I
    const kd_v3 ty = kd_v3_axpy(kd_v3_axpy(kd_v3_scale(I->xy, R->x), I->yy, R->y), I->yz, R->z);
    const kd_v3 tz = kd_v3_axpy(kd_v3_axpy(kd_v3_scale(I->xz, R->x), I->yz, R->y), I->zz, R->z);
    return (kd_m3){kd_v3_axpy(kd_v3_axpy(kd_v3_scale(from->x.x, tx), from->y.x, ty), from->z.x, tz),
                   kd_v3_axpy(kd_v3_axpy(kd_v3_scale(from->x.y, tx), from->y.y, ty), from->z.y, tz),
                   kd_v3_axpy(kd_v3_axpy(kd_v3_scale(from->x.z, tx), from->y.z, ty), from->z.z, tz)};
}

// Inertia and first moment of a rigid link in world axes, J = R I R' and h = m R c, and kept
typedef struct kd_turned {
    kd_m3 J;
    kd_v3 h;
} kd_turned;

static inline kd_turned kd_turned_of(const kd_link *l, const kd_link_motion *m)
{
    const kd_m3 R = kd_m3_load(&m->R);
    return (kd_turned){kd_m3_rotate(&R, &m->R, &l->inertia), kd_v3_scale(l->mass, kd_m3_vec(&R, &l->centre))};
}
static inline void kd_turned_keep(double to[16], const kd_turned *a)
{
    kd_v3_store_four((kd_vec3 *)to, a->J.x);
    kd_v3_store_four((kd_vec3 *)(to + 4), a->J.y);
    kd_v3_store_four((kd_vec3 *)(to + 8), a->J.z);
    kd_v3_store_four((kd_vec3 *)(to + 12), a->h);
}
static inline kd_turned kd_turned_kept(const double from[16])
{
    return (kd_turned){{kd_v3_load((const kd_vec3 *)from), kd_v3_load((const kd_vec3 *)(from + 4)),
                        kd_v3_load((const kd_vec3 *)(from + 8))},
                       kd_v3_load((const kd_vec3 *)(from + 12))};
}

#endif
