#!/usr/bin/python3
"""Reference motions of flexible multibody systems, written from the floating-frame equations and not from kardan's code.

A body is a set of mass points m_i at x_i in its frame, r_i = rho + A (x_i + phi_i q). Nothing else is known of its
inertia: the equations of motion are those of the points,

    sum_i m_i J_i'J_i y'' = Q(y, y') - sum_i m_i J_i' (d/dt J_i) y' - G'lambda,    J_i = dr_i/dy

with J by the complex step and d/dt J y' by differences of sixth order of it; no inertia shape integral is formed. The
modes are reduced here, too: dense matrices, numpy's eigenvalues. A marker of an interface shifts by Phi q and turns by
Rx(e_1/2) Ry(e_2/2) Rz(e_3) Ry(e_2/2) Rx(e_1/2), e = Psi q (docs/methods/wide_link.md).

Writes the structure (truss.sti, .mas, .dof, .inp) and the motions (chain.csv, floating.csv) beside itself:
    /usr/bin/python3 reference.py
"""
import os
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

HERE = os.path.dirname(os.path.abspath(__file__))

# ---- the structure: a crooked tower of four triangles along x, springs between neighbours, lumped masses --------------
LEVELS, FIRST, LAST = 4, [0, 1, 2], [9, 10, 11]


def tower():
    rng = np.random.default_rng(19)
    x = np.zeros((3 * LEVELS, 3))
    for k in range(LEVELS):
        for i in range(3):
            angle = 2 * np.pi * i / 3 + 0.3 * k
            x[3 * k + i] = [k / 3, 0.12 * np.cos(angle), 0.12 * np.sin(angle)]
    x += 0.02 * rng.uniform(-1, 1, x.shape)
    mass = rng.uniform(0.1, 0.2, len(x))
    n = 3 * len(x)
    K = np.zeros((n, n))
    for i in range(len(x)):
        for j in range(i):
            if i // 3 - j // 3 > 1:
                continue
            d = x[i] - x[j]
            length = np.linalg.norm(d)
            k = rng.uniform(300, 500) / length * np.outer(d, d) / length**2
            for a, b, s in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                K[3 * a:3 * a + 3, 3 * b:3 * b + 3] += s * k
    # what the files have: 17 digits
    return np.array(x), np.array(mass), K


def write_structure(x, mass, K):
    path = lambda end: os.path.join(HERE, 'truss.' + end)
    n = 3 * len(x)
    with open(path('sti'), 'w') as f:
        for i in range(n):
            for j in range(i, n):
                if K[i, j] != 0:
                    f.write(f'{i + 1} {j + 1} {K[i, j]:.17e}\n')
    with open(path('mas'), 'w') as f:
        for i in range(n):
            f.write(f'{i + 1} {i + 1} {mass[i // 3]:.17e}\n')
    with open(path('dof'), 'w') as f:
        for i in range(n):
            f.write(f'{i // 3 + 1}.{i % 3 + 1}\n')
    with open(path('inp'), 'w') as f:
        f.write('*NODE\n')
        for i, r in enumerate(x):
            f.write(f'{i + 1}, {r[0]:.17g}, {r[1]:.17g}, {r[2]:.17g}\n')
        for name, nodes in (('ROOT', FIRST), ('TIP', LAST)):
            f.write(f'*NSET, NSET={name}\n' + ', '.join(str(i + 1) for i in nodes) + '\n')


# ---- reduction: rigid interfaces, Craig and Bampton with two normal modes, six conditions -----------------------------
def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


class Body:
    def __init__(self, reference):
        self.x, self.mass, K = tower()
        n = 3 * len(self.x)
        M = np.diag(np.repeat(self.mass, 3))
        self.root, self.tip = self.x[FIRST].mean(0), self.x[LAST].mean(0)
        inner = [i for i in range(len(self.x)) if i not in FIRST + LAST]
        # u = T (frames, inner)
        T = np.zeros((n, 12 + 3 * len(inner)))
        for f, (nodes, p) in enumerate(((FIRST, self.root), (LAST, self.tip))):
            for i in nodes:
                T[3 * i:3 * i + 3, 6 * f:6 * f + 3] = np.eye(3)
                T[3 * i:3 * i + 3, 6 * f + 3:6 * f + 6] = -skew(self.x[i] - p)
        for k, i in enumerate(inner):
            T[3 * i:3 * i + 3, 12 + 3 * k:15 + 3 * k] = np.eye(3)
        Kz, Mz = T.T @ K @ T, T.T @ M @ T
        _, X = eigh(Kz[12:, 12:], Mz[12:, 12:])
        V = np.zeros((len(Kz), 14))
        V[:12, :12] = np.eye(12)
        V[12:, :12] = -np.linalg.solve(Kz[12:, 12:], Kz[12:, :12])
        V[12:, 12:] = X[:, :2]
        if reference == 'tangent root':
            V = V[:, 6:]
        else:  # mean axes: no momentum, linear or angular
            R = np.zeros((n, 6))
            for i in range(len(self.x)):
                R[3 * i:3 * i + 3, :3] = np.eye(3)
                R[3 * i:3 * i + 3, 3:] = -skew(self.x[i])
            _, _, W = np.linalg.svd(R.T @ M @ T @ V)
            V = V @ W[6:].T
        # natural modes: coordinates of order one
        w2, Q = eigh(V.T @ Kz @ V, V.T @ Mz @ V)
        V = V @ Q
        self.K, self.m = np.diag(w2), len(w2)
        self.D = np.diag(2 * 0.02 * np.sqrt(w2))
        self.shape = (T @ V).reshape(-1, 3, self.m)
        self.frame = {'root': (self.root, V[0:3], V[3:6]), 'tip': (self.tip, V[6:9], V[9:12])}
        print(reference, 'frequencies Hz', np.sqrt(w2) / 2 / np.pi)

    def points(self, rho, A, q):
        return rho + (self.x + self.shape @ q) @ A.T

    def marker(self, name, rho, A, q):
        at, Phi, Psi = self.frame[name]
        e = Psi @ q
        half = turn(0, e[0] / 2) @ turn(1, e[1] / 2)
        back = turn(1, e[1] / 2) @ turn(0, e[0] / 2)
        return rho + A @ (at + Phi @ q), A @ half @ turn(2, e[2]) @ back


def turn(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3, dtype=np.result_type(angle, float))
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def about(axis, angle):  # Rodrigues
    e = np.asarray(axis, float) / np.linalg.norm(axis)
    S = skew(e)
    return np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S


# ---- systems ----------------------------------------------------------------------------------------------------------
GRAVITY = np.array([0.0, 0.0, -9.81])
# a rigid load as six points: 0.5 kg, inertia 2 a^2 m_i of pairs
LOAD = np.array([[0.1, 0, 0], [-0.1, 0, 0], [0, 0.15, 0], [0, -0.15, 0], [0, 0, 0.2], [0, 0, -0.2]])
LOAD_MASS = np.full(6, 0.5 / 6)
SPRING = dict(at=np.array([1.0, 0.8, -0.5]), stiffness=15.0, damping=0.5, length=0.7)


class Chain:
    """Two bodies with tangent frames in a row, a load at the end, a spring from it to the ground; 2 + 2 m coordinates."""
    axis = ([0.2, 1, 0.3], [0, -0.4, 1])

    def __init__(self):
        self.b = Body('tangent root')
        self.n = 2 + 2 * self.b.m
        self.masses = np.concatenate([self.b.mass, self.b.mass, LOAD_MASS])
        self.start = np.zeros(self.n), np.zeros(self.n)
        self.start[1][[0, 1 + self.b.m]] = 1.0, -2.0

    def frames(self, y):
        b, m = self.b, self.b.m
        A1 = about(self.axis[0], y[0])
        rho1 = b.root - A1 @ b.root
        P, C = b.marker('tip', rho1, A1, y[1:1 + m])
        A2 = C @ about(self.axis[1], y[1 + m])
        rho2 = P - A2 @ b.root
        end = b.marker('tip', rho2, A2, y[2 + m:])
        return (rho1, A1, y[1:1 + m]), (rho2, A2, y[2 + m:]), end

    def points(self, y):
        f1, f2, (P, C) = self.frames(y)
        return np.concatenate([self.b.points(*f1), self.b.points(*f2), P + LOAD @ C.T])

    def end(self, y):
        return self.frames(y)[2][0]

    def elastic(self, y, v):
        m, f = self.b.m, np.zeros(self.n)
        for s in (slice(1, 1 + m), slice(2 + m, 2 + 2 * m)):
            f[s] = -self.b.K @ y[s] - self.b.D @ v[s]
        return f

    def constraint(self, y):
        return np.zeros(0, dtype=y.dtype)


class Floating:
    """One body with mean axes, hinged to the ground by constraints, the load and the spring at its tip."""
    axis = [0.2, 1, 0.3]

    def __init__(self):
        self.b = Body('mean')
        self.n = 6 + self.b.m
        self.masses = np.concatenate([self.b.mass, LOAD_MASS])
        self.start = np.zeros(self.n), np.zeros(self.n)
        e = np.array(self.axis) / np.linalg.norm(self.axis)
        self.e = e
        self.across = [np.cross(e, [1, 0, 0]), np.cross(e, np.cross(e, [1, 0, 0]))]

    def pose(self, y):
        return y[:3], turn(2, y[5]) @ turn(1, y[4]) @ turn(0, y[3]), y[6:]

    def points(self, y):
        f = self.pose(y)
        P, C = self.b.marker('tip', *f)
        return np.concatenate([self.b.points(*f), P + LOAD @ C.T])

    def end(self, y):
        return self.b.marker('tip', *self.pose(y))[0]

    def elastic(self, y, v):
        f = np.zeros(self.n)
        f[6:] = -self.b.K @ y[6:] - self.b.D @ v[6:]
        return f

    def constraint(self, y):
        P, C = self.b.marker('root', *self.pose(y))
        a = C @ self.e
        return np.concatenate([P - self.b.root, [a @ self.across[0], a @ self.across[1]]])


# ---- derivatives along coordinates ------------------------------------------------------------------------------------
TINY = 1e-30
SIXTH = np.array([-1, 9, -45, 45, -9, 1]) / 60.0


def slope(f, y, v):
    return np.imag(f(y + 1j * TINY * v)) / TINY


def jacobian(f, y):
    return np.stack([slope(f, y, e) for e in np.eye(len(y))], axis=-1)


def curvature(f, y, v):
    """d^2/ds^2 f(y + s v)"""
    size = np.linalg.norm(v)
    if size == 0:
        return 0 * f(y)
    h = 2e-3 / size
    return sum(c * slope(f, y + k * h * v, v) for c, k in zip(SIXTH, (-3, -2, -1, 1, 2, 3))) / h


def accelerations(s, y, v):
    J = jacobian(s.points, y)
    m = s.masses[:, None]
    M = np.einsum('pik,p,pil->kl', J, s.masses, J)
    force = s.masses[:, None] * (GRAVITY - curvature(s.points, y, v))
    Q = np.einsum('pik,pi->k', J, force) + s.elastic(y, v)
    # the spring pulls the end to its place
    d = SPRING['at'] - s.end(y)
    length = np.linalg.norm(d)
    Je = jacobian(s.end, y)
    rate = -(d / length) @ Je @ v
    Q += Je.T @ (d / length) * (SPRING['stiffness'] * (length - SPRING['length']) + SPRING['damping'] * rate)
    g = s.constraint(y)
    if len(g) == 0:
        return np.linalg.solve(M, Q)
    G = jacobian(s.constraint, y)
    k = 20.0  # Baumgarte: g'' + 2 k g' + k^2 g = 0, g starts at 0
    right = -curvature(s.constraint, y, v) - 2 * k * G @ v - k * k * g
    A = np.block([[M, G.T], [G, np.zeros((len(g), len(g)))]])
    return np.linalg.solve(A, np.concatenate([Q, right]))[:s.n]


def run(s, name, t_end, count):
    t = np.linspace(0, t_end, count + 1)
    f = lambda t, z: np.concatenate([z[s.n:], accelerations(s, z[:s.n], z[s.n:])])
    end = {}
    for rtol in (1e-9, 1e-11):
        r = solve_ivp(f, (0, t_end), np.concatenate(s.start), 'DOP853', t, rtol=rtol, atol=rtol * 1e-2)
        end[rtol] = np.array([s.end(z[:s.n]) for z in r.y.T])
        print(name, 'rtol', rtol, r.nfev, 'evaluations', 'constraint', np.abs(s.constraint(r.y[:s.n, -1])).max(initial=0))
    print(name, 'change by tolerance', np.abs(end[1e-9] - end[1e-11]).max())
    with open(os.path.join(HERE, name + '.csv'), 'w') as out:
        out.write('t,x,y,z\n')
        for k in range(count + 1):
            out.write(','.join(f'{v:.12g}' for v in (t[k], *end[1e-11][k])) + '\n')


write_structure(*tower())
run(Chain(), 'chain', 1.5, 15)
run(Floating(), 'floating', 1.5, 15)
