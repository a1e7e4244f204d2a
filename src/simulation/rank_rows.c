// rank_rows.c: entries of GZ and HZ, row by row, from the patterns of the equations (compressed rows).
#include "simulation/rank_rows.h"

// Rows of GZ or HZ, from `first` on in [g; h]: their counts to start[i + 1], or their columns from start[i] on, which moves
// to the start of the next row
static bool list_pattern(kd_rank_rows *r, const kd_eom *eom, kd_fn fn, int first, bool count)
{
    kd_pattern p;
    if (!kd_eom_pattern(eom, fn, KD_V, &p)) return false;
    for (int j = 0; j < p.columns; j++)
        for (int e = p.column[j]; e < p.column[j + 1]; e++) {
            int *at = &r->start[first + p.row[e] + count];
            if (!count) r->column[*at] = j;
            ++*at;
        }
    return true;
}

static bool list_patterns(kd_rank_rows *r, const kd_eom *eom, bool count)
{
    const kd_dims d = kd_eom_dims(eom);
    return (d.nlambda == 0 || list_pattern(r, eom, KD_GI, 0, count)) &&
           (d.nmu == 0 || list_pattern(r, eom, KD_H, d.nlambda, count));
}

void kd_rank_rows_take(kd_rank_rows *r, kd_arena *arena, const kd_eom *eom)
{
    const int m = kd_eom_dims(eom).nlambda + kd_eom_dims(eom).nmu, n = kd_eom_dims(eom).nv;
    r->start = kd_cut_int(arena, m + 1);
    if (!r->start) return;
    r->listed = list_patterns(r, eom, true);
    for (int i = 0; i < m; i++) r->start[i + 1] = r->listed ? r->start[i + 1] + r->start[i] : (i + 1) * n;
    r->column = kd_cut_int(arena, r->start[m]);
    if (!r->column) return;
    for (int k = 0; k < r->start[m] && !r->listed; k++) r->column[k] = k % n;
    if (!r->listed || !list_patterns(r, eom, false)) return;
    for (int i = m; i > 0; i--) r->start[i] = r->start[i - 1];
    r->start[0] = 0;
}
