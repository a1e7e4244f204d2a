// reduction.c: a reduction from beginning to end; with a band, as many shapes as it takes.
#include "flexible/reduction.h"

#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "core/text.h"
#include "flexible/reduction_parts.h"
#include "math/dense.h"

enum { MOST_MODES = 400, LOOKS = 60 }; // LOOKS: frequencies at which transfer functions are judged
static const double COVER = 1.2;       // of the band: normal modes reach beyond that

void kd_reduction_release(kd_reduction *r)
{
    kd_factor_destroy(r->inner);
    kd_arena_release(&r->shapes);
    kd_arena_release(&r->arena);
    *r = (kd_reduction){0};
}

// Rigid motions about the centre, in the coordinates z
static kd_status keep_rigid_motions(kd_reduction *r, char *message, size_t size)
{
    const kd_fe_structure *s = r->structure;
    kd_fe_structure_facts  facts;
    kd_arena               scratch = {0};
    double                *R = kd_cut_matrix(&scratch, s->n, 6);
    r->rigid = kd_cut_matrix(&r->arena, r->nz, 6);
    kd_status status =
        scratch.failed || r->arena.failed ? KD_ERR_MEMORY : kd_fe_structure_check(s, &facts, message, size);
    if (status == KD_OK) {
        r->centre = facts.centre;
        kd_fe_structure_rigid_motions(s, facts.centre, R);
        // frames move as the body does; the other coordinates are rows of the structure
        for (int f = 0; f < r->ninterfaces; f++) {
            const kd_vec3 x = kd_vec_sub(r->interface[f].point, facts.centre);
            const double  turned[3][3] = {{0, -x.z, x.y}, {x.z, 0, -x.x}, {-x.y, x.x, 0}}; // [about][direction]
            for (int d = 0; d < 6; d++) r->rigid[(size_t)(6 * f + d) + (size_t)d * (size_t)r->nz] = 1;
            for (int a = 0; a < 3; a++)
                for (int d = 0; d < 3; d++)
                    r->rigid[(size_t)(6 * f + d) + (size_t)(3 + a) * (size_t)r->nz] = turned[a][d];
        }
        for (int j = r->nb; j < r->nz; j++)
            for (int c = 0; c < 6; c++)
                r->rigid[(size_t)j + (size_t)c * (size_t)r->nz] =
                    R[(size_t)r->row[j - r->nb] + (size_t)c * (size_t)s->n];
    }
    kd_arena_release(&scratch);
    return status;
}

// ---- a band ---------------------------------------------------------------------------------------------------------

// The worst expected error of frequencies up to the band: free, and with each interface held. Frequencies of reduced structures lie
// above the true ones: which of them are in the band is told by what remains without the error.
static kd_status judge(kd_reduction *r, double band)
{
    kd_arena  scratch = {0};
    double   *omega = kd_cut_double(&scratch, r->n), *error = kd_cut_double(&scratch, r->n);
    bool     *held = kd_cut_bool(&scratch, r->ninterfaces);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    r->band = band;
    r->expected = 0;
    r->judged = 0;
    for (int f = -1; status == KD_OK && f < r->ninterfaces; f++) {
        int count = 0, wanted = 0;
        for (int i = 0; i < r->ninterfaces; i++) held[i] = i == f;
        status = kd_reduction_modes(r, f < 0 ? NULL : held, omega, NULL, &count);
        while (wanted < count && omega[wanted] <= COVER * band) wanted++;
        if (status == KD_OK && wanted > 0) status = kd_reduction_expect(r, f < 0 ? NULL : held, wanted, omega, error);
        for (int k = 0; status == KD_OK && k < wanted; k++) {
            if (omega[k] * (1 - error[k]) > band) continue;
            r->expected = fmax(r->expected, error[k]);
            r->judged++;
        }
    }
    kd_arena_release(&scratch);
    return status;
}

// The same of transfer functions, at frequencies all over the band
static kd_status judge_transfer(kd_reduction *r, double damping)
{
    double W[LOOKS], error[LOOKS];
    for (int k = 0; k < LOOKS; k++) W[k] = r->band * (k + 1) / LOOKS;
    const kd_status status = kd_reduction_transfer(r, 2 * damping, LOOKS, W, error);
    r->transfer = 0;
    for (int k = 0; status == KD_OK && k < LOOKS; k++) r->transfer = fmax(r->transfer, error[k]);
    return status;
}

// More and more normal modes, with the dynamic shapes of the interfaces, until the expected error is small enough
static kd_status fill_band(kd_reduction *r, const kd_reduction_options *given, char *message, size_t size)
{
    kd_reduction_options o = *given;
    const double         tolerance = o.tolerance > 0 ? o.tolerance : 1e-4;
    const int            most = r->ni < MOST_MODES ? r->ni : MOST_MODES;
    int                  modes = o.modes > 0 ? o.modes : 2;
    o.dynamic = true;
    // those up to 1.2 of the band are needed in any case: fewer need not be tried
    const bool fixed = o.kind == KD_REDUCE_FIXED && r->ni > 0;
    const int  below = fixed ? kd_natural_modes_below(&r->Kii, &r->Mii, COVER * o.band) : 0;
    while (modes <= below && modes < most) modes += 2 + modes / 3;
    for (;;) {
        if (modes > most) modes = most;
        kd_status status = kd_reduction_shapes(r, &o, modes, message, size);
        if (status == KD_OK) status = judge(r, o.band);
        if (status < 0) return status;
        // normal modes below the band have to be there, whatever is expected: their motion is no correction of others
        const bool covers = r->nmodes == r->ni || (r->nmodes > 0 && r->fixed[r->nmodes - 1] > COVER * o.band);
        if (covers && r->expected <= tolerance) return judge_transfer(r, o.damping > 0 ? o.damping : 0.01);
        if (modes >= most) {
            kd_text(message, size,
                    "%d modes are not enough for frequencies up to %g Hz within %g: the expected error is %.1e", modes,
                    o.band / (2 * KD_PI), tolerance, r->expected);
            return KD_ERR_MODEL;
        }
        modes += 2 + modes / 3;
    }
}

kd_status kd_reduce(const kd_fe_structure *s, const kd_interface *interfaces, int ninterfaces,
                    const kd_reduction_options *options, kd_reduction *r, char *message, size_t size)
{
    *r = (kd_reduction){.structure = s, .ninterfaces = ninterfaces};
    kd_text(message, size, "%s", "");
    r->interface = kd_arena_cut(&r->arena, (size_t)(ninterfaces > 0 ? ninterfaces : 0), sizeof *r->interface);
    kd_status status = r->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK && ninterfaces > 0) memcpy(r->interface, interfaces, (size_t)ninterfaces * sizeof *interfaces);
    if (status == KD_OK) status = kd_reduction_check_interfaces(r, message, size);
    if (status == KD_OK) status = kd_reduction_join_interfaces(r, message, size);
    if (status == KD_OK) status = keep_rigid_motions(r, message, size);
    if (status == KD_OK) status = kd_reduction_split(r, message, size);
    if (status == KD_OK)
        status = options->band > 0 ? fill_band(r, options, message, size)
                                   : kd_reduction_shapes(r, options, options->modes, message, size);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    if (status == KD_ERR_DECOMPOSITION) {
        if (message && size > 0 && !message[0])
            kd_text(message, size,
                    "the part can move without force beside its rigid motions: it is a mechanism, or in pieces");
        status = KD_ERR_MODEL;
    }
    if (status < 0) kd_reduction_release(r);
    return status;
}
