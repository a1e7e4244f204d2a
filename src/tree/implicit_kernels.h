// implicit_kernels.h: the elimination of implicit_body.c for one kind of numbers. Included there twice, with
//   SCALAR, KERNEL(name), OF(re), PLUS(a, b), MINUS(a, b), TIMES(a, b), SCALED(double, a), OVER(a, b), SIZE(a)
// and the members of kd_implicit_body that belong to it, FACTORS.

// out (9) = row (6) times P (6 x 9, row by row)
static inline void KERNEL(row_times)(const double *row, const SCALAR *P, SCALAR *out)
{
    for (int c = 0; c < WIDTH; c++) out[c] = SCALED(row[0], P[c]);
    for (int k = 1; k < SIX; k++)
        for (int c = 0; c < WIDTH; c++) out[c] = PLUS(out[c], SCALED(row[k], P[k * WIDTH + c]));
}

// e = (gamma^2 S + gamma T + A, gamma S_w + Z_w): what a unit of the dof does to the accelerations and turns behind it
static inline void KERNEL(unit_motion)(const dof_terms *d, SCALAR gamma, SCALAR *e)
{
    for (int k = 0; k < SIX; k++) e[k] = PLUS(TIMES(gamma, PLUS(SCALED(d->S[k], gamma), OF(d->T[k]))), OF(d->A[k]));
    for (int k = 0; k < 3; k++) e[SIX + k] = PLUS(SCALED(d->S[k], gamma), OF(d->Z[k]));
}

// LU of the pivot block of a joint, by rows with the largest entries
static bool KERNEL(factor_pivot)(int m, SCALAR *D, int *pivot)
{
    for (int k = 0; k < m; k++) {
        int at = k;
        for (int i = k + 1; i < m; i++)
            if (SIZE(D[i + k * m]) > SIZE(D[at + k * m])) at = i;
        pivot[k] = at;
        if (!(SIZE(D[at + k * m]) > 0) || !isfinite(SIZE(D[at + k * m]))) return false;
        for (int j = 0; j < m && at != k; j++) {
            SCALAR other = D[k + j * m];
            D[k + j * m] = D[at + j * m];
            D[at + j * m] = other;
        }
        for (int i = k + 1; i < m; i++) {
            D[i + k * m] = OVER(D[i + k * m], D[k + k * m]);
            for (int j = k + 1; j < m; j++) D[i + j * m] = MINUS(D[i + j * m], TIMES(D[i + k * m], D[k + j * m]));
        }
    }
    return true;
}

// b (m, a distance of step between its numbers) = D \ b
static inline void KERNEL(solve_pivot)(int m, const SCALAR *D, const int *pivot, SCALAR *b, int step)
{
    for (int k = 0; k < m; k++) {
        SCALAR other = b[k * step];
        b[k * step] = b[pivot[k] * step];
        b[pivot[k] * step] = other;
    }
    for (int k = 0; k < m; k++)
        for (int i = k + 1; i < m; i++) b[i * step] = MINUS(b[i * step], TIMES(D[i + k * m], b[k * step]));
    for (int k = m - 1; k >= 0; k--) {
        for (int j = k + 1; j < m; j++) b[k * step] = MINUS(b[k * step], TIMES(D[k + j * m], b[j * step]));
        b[k * step] = OVER(b[k * step], D[k + k * m]);
    }
}

// The joint of link i gives way: D, W, e, U of its dofs from P of all that it carries
static bool KERNEL(eliminate_joint)(kd_implicit_body *self, int i, SCALAR gamma, const SCALAR *P)
{
    const kd_tree *tree = self->tree;
    const int      first = tree->link_v[i], m = tree->link_v[i + 1] - first;
    const double  *by_p = self->by_position + self->block[i], *by_v = self->by_velocity + self->block[i];
    SCALAR        *D = FACTORS(D) + self->block[i];
    for (int j = 0; j < m; j++) {
        const dof_terms *d = &self->dof[first + j];
        SCALAR          *e = FACTORS(e) + (first + j) * WIDTH, *U = FACTORS(U) + (first + j) * SIX;
        KERNEL(unit_motion)(d, gamma, e);
        KERNEL(row_times)(d->S, P, FACTORS(W) + (first + j) * WIDTH);
        // force of all that is carried, per unit of the dof
        for (int k = 0; k < SIX; k++) {
            U[k] = OF(0.0);
            for (int c = 0; c < WIDTH; c++) U[k] = PLUS(U[k], TIMES(P[k * WIDTH + c], e[c]));
        }
        // rows of the joint: those before the dof see that force turned with it; forces inside of the joint
        for (int k = 0; k < m; k++) {
            const double *S = self->dof[first + k].S;
            SCALAR        sum = PLUS(OF(by_p[k + j * m]), SCALED(by_v[k + j * m], gamma));
            for (int c = 0; c < SIX; c++) sum = PLUS(sum, SCALED(S[c], U[c]));
            for (int c = 0; c < SIX && first + k < d->carried; c++) sum = PLUS(sum, OF(S[c] * d->X[c]));
            D[k + j * m] = sum;
        }
        for (int k = 0; k < SIX; k++) U[k] = PLUS(U[k], OF(d->X[k]));
    }
    return KERNEL(factor_pivot)(m, D, FACTORS(pivot) + first);
}

// P - U D^-1 W to the parent
static void KERNEL(hand_on)(kd_implicit_body *self, int i, const SCALAR *P, SCALAR *sum)
{
    const kd_tree *tree = self->tree;
    const int      first = tree->link_v[i], m = tree->link_v[i + 1] - first;
    SCALAR         Y[SIX * WIDTH];
    memcpy(Y, FACTORS(W) + first * WIDTH, (size_t)(m * WIDTH) * sizeof *Y);
    for (int c = 0; c < WIDTH; c++)
        KERNEL(solve_pivot)(m, FACTORS(D) + self->block[i], FACTORS(pivot) + first, Y + c, WIDTH);
    for (int k = 0; k < SIX * WIDTH; k++) sum[k] = PLUS(sum[k], P[k]);
    for (int j = 0; j < m; j++) {
        const SCALAR *U = FACTORS(U) + (first + j) * SIX;
        for (int k = 0; k < SIX; k++)
            for (int c = 0; c < WIDTH; c++)
                sum[k * WIDTH + c] = MINUS(sum[k * WIDTH + c], TIMES(U[k], Y[j * WIDTH + c]));
    }
}

// From the tips to the ground
static bool KERNEL(factor)(kd_implicit_body *self, SCALAR gamma)
{
    const kd_tree *tree = self->tree;
    SCALAR        *all = FACTORS(P);
    FACTORS(gamma) = gamma;
    for (int k = 0; k < tree->nlinks * SIX * WIDTH; k++) all[k] = OF(self->G[k]);
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const SCALAR *P = all + (ptrdiff_t)i * SIX * WIDTH;
        if (!KERNEL(eliminate_joint)(self, i, gamma, P)) return false;
        if (tree->link[i].parent > 0) KERNEL(hand_on)(self, i, P, all + (ptrdiff_t)tree->link[i].parent * SIX * WIDTH);
    }
    return true;
}

// Motion and force of link i with d = 0: dv = -rho, da = -gamma rho - r
static void KERNEL(known_motion)(kd_implicit_body *self, int i, const SCALAR *rho, const SCALAR *r)
{
    const kd_tree *tree = self->tree;
    SCALAR        *y = FACTORS(y) + i * WIDTH, *force = FACTORS(force) + i * SIX;
    const double  *G = self->G + (ptrdiff_t)i * SIX * WIDTH;
    memcpy(y, FACTORS(y) + tree->link[i].parent * WIDTH, WIDTH * sizeof *y);
    for (int j = tree->link_v[i]; j < tree->link_v[i + 1]; j++) {
        const dof_terms *d = &self->dof[j];
        const SCALAR     a = PLUS(TIMES(FACTORS(gamma), rho[j]), r[j]);
        for (int k = 0; k < SIX; k++) y[k] = MINUS(y[k], PLUS(SCALED(d->S[k], a), SCALED(d->T[k], rho[j])));
        for (int k = 0; k < 3; k++) y[SIX + k] = MINUS(y[SIX + k], SCALED(d->S[k], rho[j]));
    }
    for (int k = 0; k < SIX; k++) {
        force[k] = SCALED(G[k * WIDTH], y[0]);
        for (int c = 1; c < WIDTH; c++) force[k] = PLUS(force[k], SCALED(G[k * WIDTH + c], y[c]));
    }
}

// t = right-hand side of the rows of joint i; the parent gets the force and what D \ t adds to it
static void KERNEL(collect)(kd_implicit_body *self, int i, const SCALAR *rho)
{
    const kd_tree *tree = self->tree;
    const int      first = tree->link_v[i], m = tree->link_v[i + 1] - first, parent = tree->link[i].parent;
    const double  *by_v = self->by_velocity + self->block[i];
    const SCALAR  *force = FACTORS(force) + i * SIX;
    SCALAR        *up = FACTORS(force) + parent * SIX, d[SIX];
    for (int k = 0; k < m; k++) {
        SCALAR        t = OF(0.0);
        const double *S = self->dof[first + k].S;
        for (int c = 0; c < SIX; c++) t = MINUS(t, SCALED(S[c], force[c]));
        for (int l = 0; l < m; l++) t = PLUS(t, SCALED(by_v[k + l * m], rho[first + l]));
        d[k] = FACTORS(t)[first + k] = t;
    }
    if (parent == 0) return;
    KERNEL(solve_pivot)(m, FACTORS(D) + self->block[i], FACTORS(pivot) + first, d, 1);
    for (int k = 0; k < SIX; k++) up[k] = PLUS(up[k], force[k]);
    for (int j = 0; j < m; j++)
        for (int k = 0; k < SIX; k++) up[k] = PLUS(up[k], TIMES(FACTORS(U)[(first + j) * SIX + k], d[j]));
}

// d = D \ (t - W z), z the motion of the parent; then that of the link
static void KERNEL(distribute)(kd_implicit_body *self, int i, SCALAR *rho, SCALAR *r)
{
    const kd_tree *tree = self->tree;
    const int      first = tree->link_v[i], m = tree->link_v[i + 1] - first;
    const SCALAR  *up = FACTORS(y) + tree->link[i].parent * WIDTH;
    SCALAR        *z = FACTORS(y) + i * WIDTH, *d = FACTORS(t) + first;
    for (int k = 0; k < m; k++)
        for (int c = 0; c < WIDTH; c++) d[k] = MINUS(d[k], TIMES(FACTORS(W)[(first + k) * WIDTH + c], up[c]));
    KERNEL(solve_pivot)(m, FACTORS(D) + self->block[i], FACTORS(pivot) + first, d, 1);
    memcpy(z, up, WIDTH * sizeof *z);
    for (int j = 0; j < m; j++) {
        const SCALAR *e = FACTORS(e) + (first + j) * WIDTH;
        for (int c = 0; c < WIDTH; c++) z[c] = PLUS(z[c], TIMES(e[c], d[j]));
        // dv = gamma d - rho
        r[first + j] = MINUS(TIMES(FACTORS(gamma), d[j]), rho[first + j]);
        rho[first + j] = d[j];
    }
}

static void KERNEL(solve)(kd_implicit_body *self, SCALAR *rho, SCALAR *r)
{
    const int n = self->tree->nlinks;
    for (int c = 0; c < WIDTH; c++) FACTORS(y)[c] = OF(0.0);
    for (int i = 1; i < n; i++) KERNEL(known_motion)(self, i, rho, r);
    for (int i = n - 1; i > 0; i--) KERNEL(collect)(self, i, rho);
    for (int i = 1; i < n; i++) KERNEL(distribute)(self, i, rho, r);
}
