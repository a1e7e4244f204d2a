#!/usr/bin/env python3
"""Motion of the HMMWV of models/hmmwv.yaml over its bump, independent of kardan: prints models/reference/hmmwv.csv.

Fourteen bodies in Cartesian coordinates (position, quaternion, velocities in the axes of the world), Newton-Euler for each, the 66 constraints
by Lagrange multipliers at the level of accelerations,

    a = M^-1 (f - J' lambda),   J M^-1 J' lambda = J M^-1 f - gamma,

with what has drifted brought back (Baumgarte), integrated by scipy's Radau (order 5, tolerances as printed) piecewise between the instants at which
an axle meets or leaves the bump. Nothing of kardan is used but the numbers of the model: of the two model files, whose own sources they name.
The bump is under the wheels of the left side only, so that the vehicle heaves, pitches, rolls and yaws.

    hmmwv_reference.py [rtol] > models/reference/hmmwv.csv
"""
import sys

import numpy as np
from scipy.integrate import solve_ivp

SPEED, K, C, KT, CT, BUMP, AXLE, H = 16 / 3.6, 2e7, 2e6, 296325.0, 3502.0, 0.05, 1.688965, 0.476
R_LOADED, REACH, GRAVITY = H - 0.026, 0.05, 9.81
CONTACT = np.sqrt((R_LOADED + BUMP) ** 2 - R_LOADED ** 2)
AT = AXLE - 0.040 + REACH * SPEED + CONTACT

# numbers of an axle, left side; points from the middle of the axle at the height of hardpoints
FRONT = dict(x=AXLE, load=6150.92301455, spring=12618.7947164, bushing=1013.58796512, upper=(-0.1055, 0.589, 0.21775), pivot=(-0.158, 0.462, 0.2205),
             wheel=-0.040, foot=(-0.036, 0.787, -0.118), head=(-0.053, 0.716, 0.215), rubber=-0.25, rod=(-0.176, 0.821, -0.016),
             rod_end=(-0.250, 0.448, 0.054), side=1, top=(0.510, 0.197), damping=19015.5692, damper=(0.543, -0.047))
REAR = dict(x=-AXLE, load=5751.17720545, spring=11618.6907081, bushing=1422.00108028, upper=(0.1245, 0.589, 0.221), pivot=(0.213, 0.462, 0.226),
            wheel=0.036, foot=(0.036, 0.787, -0.118), head=(0.036, 0.716, 0.216), rubber=0.25, rod=(0.170, 0.821, -0.009),
            rod_end=(0.223, 0.416, 0.059), side=-1, top=(0.502, 0.256), damping=36725.2201, damper=(0.544, -0.038))

# ---- the vehicle ------------------------------------------------------------------------------------------------------
mass, inertia, place = [], [], []                # of bodies: kg, kg m^2 about the axes at the start, centre of mass at the start
balls, perpendicular, rods, struts, tyres = [], [], [], [], []


def body(m, J, at):
    mass.append(m)
    inertia.append(J)
    place.append(at)
    return len(mass) - 1


chassis = body(2086.52, (1078.52, 2955.66, 3570.20), (0.056, 0, H + 0.523))
rack = body(9.072, (0.61, 0.01, 0.61), (AXLE - 0.250, 0, H + 0.054))
# the rack slides in the chassis, and the steering holds it: it is fixed
balls.append((chassis, rack, place[rack]))
for a, b in ((0, 1), (1, 2), (2, 0)):
    perpendicular.append((chassis, rack, np.eye(3)[a], np.eye(3)[b]))
for axle in (FRONT, REAR):
    for sign in (1, -1):
        def point(p):
            return np.array([axle["x"] + p[0], sign * p[1], H + p[2]])
        upper = body(5.813, (0.032, 0.032, 0.06276), point(axle["upper"]))
        lower = body(23.965, (0.45, 0.45, 0.8938), point((0, 0.547, -0.059)))
        spindle = body(52.955, (0.631, 0.380, 0.509), point((axle["wheel"], 0.8516, -0.026)))
        # lower arm: hinge along x; upper arm: a ball; balls of the spindle; the tie rod
        balls.append((chassis, lower, point((0, 0.307, 0))))
        for b in (1, 2):
            perpendicular.append((chassis, lower, np.eye(3)[0], np.eye(3)[b]))
        balls.append((chassis, upper, point(axle["pivot"])))
        balls.append((lower, spindle, point(axle["foot"])))
        balls.append((upper, spindle, point(axle["head"])))
        rods.append((rack if axle is FRONT else chassis, spindle, point(axle["rod_end"]), point(axle["rod"])))
        # T = k (s - s0) + c s' + T0
        head, s = np.array(axle["head"]), axle["side"]
        struts.append((chassis, upper, point(head + [axle["rubber"], 0, 0]), point(head), K, C, axle["bushing"]))
        struts.append((chassis, lower, point((s * 0.104,) + axle["top"]), point((s * 0.097, 0.543, -0.047)), 167062.0, 0.0, -axle["spring"]))
        struts.append((chassis, lower, point((s * 0.104, 0.498, 0.323)), point((s * 0.097,) + axle["damper"]), 0.0, axle["damping"], 0.0))
        tyres.append((spindle, point((axle["wheel"], 0.910, -0.026)), R_LOADED + axle["load"] / KT, sign > 0, axle is FRONT))
mass, inertia, place = np.array(mass), np.array(inertia), np.array(place, dtype=float)
N = len(mass)


def two(rows):
    """Bodies as index arrays, points as arms from the centres of mass: (i, j, si, sj)"""
    i, j = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    pi, pj = np.array([r[2] for r in rows]), np.array([r[3 if len(r) > 3 else 2] for r in rows])
    return i, j, pi - place[i], pj - place[j]


BALL, ROD, STRUT = two(balls), two(rods), two(struts)
PERP = tuple(np.array([p[k] for p in perpendicular]) for k in range(4))
STIFF, DAMP, PRE = (np.array([s[k] for s in struts]) for k in (4, 5, 6))
REST = np.linalg.norm(STRUT[3] + place[STRUT[1]] - STRUT[2] - place[STRUT[0]], axis=1)
LONG = np.linalg.norm(ROD[3] + place[ROD[1]] - ROD[2] - place[ROD[0]], axis=1)
TYRE = np.array([t[0] for t in tyres])
TYRE_ARM = np.array([t[1] for t in tyres]) - place[TYRE]
TYRE_R, TYRE_LEFT, TYRE_FRONT = (np.array([t[k] for t in tyres]) for k in (2, 3, 4))
NB, NP, NR = len(balls), len(perpendicular), len(rods)
ROWS = 3 * NB + NP + NR
assert N == 14 and ROWS == 66


def rotation(q):
    """(.., 4) -> (.., 3, 3), of any length"""
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(q, -1, 0)
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
    return np.moveaxis(R, (0, 1), (-2, -1))


def turn(R, i, s):
    """Vectors s of bodies i in the axes of the world"""
    return np.einsum("...nij,nj->...ni", R[..., i, :, :], s)


cross = np.cross


def split(y):
    y = y.reshape(y.shape[:-1] + (N, 13))
    return y[..., :3], y[..., 3:7], y[..., 7:10], y[..., 10:]


def motion_of(state, two_bodies):
    """Of pairs of points: vector from the first to the second, its rate, its centripetal acceleration, both arms"""
    r, R, v, w = state
    i, j, si, sj = two_bodies
    a, b = turn(R, i, si), turn(R, j, sj)
    wi, wj = w[..., i, :], w[..., j, :]
    va, vb = cross(wi, a), cross(wj, b)
    d = r[..., j, :] + b - r[..., i, :] - a
    return d, v[..., j, :] + vb - v[..., i, :] - va, cross(wj, vb) - cross(wi, va), a, b


def tyre_forces(state, on_bump):
    """Loads (.., 4) and arms; on_bump: which axles (front, rear) are on it"""
    r, R, v, w = state
    arm = turn(R, TYRE, TYRE_ARM)
    p, u = r[..., TYRE, :] + arm, v[..., TYRE, :] + cross(w[..., TYRE, :], arm)
    # the centre of a wheel over the half-cylinder: sqrt((R + b)^2 - (x - at)^2) - R
    over = TYRE_LEFT & np.where(TYRE_FRONT, on_bump[0], on_bump[1])
    x = p[..., 0] - AT
    top = np.sqrt(np.where(over, (R_LOADED + BUMP) ** 2 - x * x, 1.0))
    road, slope = np.where(over, top - R_LOADED, 0.0), np.where(over, -x / top, 0.0)
    return KT * (road + TYRE_R - p[..., 2]) + CT * (slope * u[..., 0] - u[..., 2]), arm


def strut_forces(state):
    d, u, _, a, b = motion_of(state, STRUT)
    s = np.linalg.norm(d, axis=-1)
    return STIFF * (s - REST) + DAMP * np.sum(d * u, axis=-1) / s + PRE, d / s[..., None], a, b


def derivative(y, on_bump, back=50.0):
    """y' for states (.., 182)"""
    shape = y.shape[:-1]
    r, q, v, w = split(y)
    R = rotation(q)
    state = r, R, v, w
    # forces and torques: weight, gyroscopic, struts, tyres
    F, T = np.zeros(shape + (N, 3)), np.zeros(shape + (N, 3))
    F[..., 2] -= mass * GRAVITY
    J_world = np.einsum("...nij,nj,...nkj->...nik", R, inertia, R)
    J_inverse = np.einsum("...nij,nj,...nkj->...nik", R, 1 / inertia, R)
    T -= cross(w, np.einsum("...nij,...nj->...ni", J_world, w))
    tension, e, a, b = strut_forces(state)
    for k in range(len(struts)):
        i, j, pull = STRUT[0][k], STRUT[1][k], tension[..., k, None] * e[..., k, :]
        F[..., i, :] += pull
        T[..., i, :] += cross(a[..., k, :], pull)
        F[..., j, :] -= pull
        T[..., j, :] -= cross(b[..., k, :], pull)
    load, arm = tyre_forces(state, on_bump)
    for k in range(4):
        push = np.zeros(shape + (3,))
        push[..., 2] = load[..., k]
        F[..., TYRE[k], :] += push
        T[..., TYRE[k], :] += cross(arm[..., k, :], push)
    # rows: J (.., rows, bodies, 6), what they are and how fast they change, gamma: their second rate at a = 0
    J = np.zeros(shape + (ROWS, N, 6))
    g, gI, gamma = (np.zeros(shape + (ROWS,)) for _ in range(3))
    d, u, c, a, b = motion_of(state, BALL)
    for k in range(NB):
        i, j = BALL[0][k], BALL[1][k]
        for m in range(3):
            axis, row = np.eye(3)[m], 3 * k + m
            J[..., row, j, :3], J[..., row, i, :3] = axis, -axis
            J[..., row, j, 3:], J[..., row, i, 3:] = cross(b[..., k, :], axis), -cross(a[..., k, :], axis)
            g[..., row], gI[..., row], gamma[..., row] = d[..., k, m], u[..., k, m], c[..., k, m]
    A, B = turn(R, PERP[0], PERP[2]), turn(R, PERP[1], PERP[3])
    wi, wj = w[..., PERP[0], :], w[..., PERP[1], :]
    AB, rate = cross(A, B), cross(cross(wi, A), B) + cross(A, cross(wj, B))
    for k in range(NP):
        row = 3 * NB + k
        J[..., row, PERP[0][k], 3:], J[..., row, PERP[1][k], 3:] = AB[..., k, :], -AB[..., k, :]
        g[..., row] = np.sum(A[..., k, :] * B[..., k, :], axis=-1)
        gI[..., row] = np.sum(AB[..., k, :] * (wi - wj)[..., k, :], axis=-1)
        gamma[..., row] = np.sum(rate[..., k, :] * (wi - wj)[..., k, :], axis=-1)
    d, u, c, a, b = motion_of(state, ROD)
    for k in range(NR):
        i, j, row, along = ROD[0][k], ROD[1][k], 3 * NB + NP + k, d[..., k, :]
        J[..., row, j, :3], J[..., row, i, :3] = along, -along
        J[..., row, j, 3:], J[..., row, i, 3:] = cross(b[..., k, :], along), -cross(a[..., k, :], along)
        g[..., row] = 0.5 * (np.sum(along * along, axis=-1) - LONG[k] ** 2)
        gI[..., row] = np.sum(along * u[..., k, :], axis=-1)
        gamma[..., row] = np.sum(along * c[..., k, :] + u[..., k, :] ** 2, axis=-1)
    # a = M^-1 (f - J' lambda), J a = -gamma - 2 back gI - back^2 g
    JM = np.empty_like(J)
    JM[..., :3] = J[..., :3] / mass[:, None]
    JM[..., 3:] = np.einsum("...rni,...nij->...rnj", J[..., 3:], J_inverse)
    flat, flat_M = J.reshape(shape + (ROWS, 6 * N)), JM.reshape(shape + (ROWS, 6 * N))
    f = np.concatenate((F, T), axis=-1).reshape(shape + (6 * N,))
    right = np.einsum("...ri,...i->...r", flat_M, f) + gamma + 2 * back * gI + back ** 2 * g
    multiplier = np.linalg.solve(flat_M @ np.swapaxes(flat, -1, -2), right[..., None])[..., 0]
    rest = (f - np.einsum("...ri,...r->...i", flat, multiplier)).reshape(shape + (N, 6))
    # q' = 1/2 (0, w) q
    out = np.empty(shape + (N, 13))
    out[..., :3] = v
    out[..., 3] = -0.5 * np.sum(w * q[..., 1:], axis=-1)
    out[..., 4:7] = 0.5 * (q[..., :1] * w + cross(w, q[..., 1:]))
    out[..., 7:10] = rest[..., :3] / mass[:, None]
    out[..., 10:] = np.einsum("...nij,...nj->...ni", J_inverse, rest[..., 3:])
    return out.reshape(y.shape), g


def jacobian(y, on_bump, step=1e-6):
    """By central differences, of all unknowns at once: they are of the order of 1, and zeros must be moved as far"""
    shift = step * np.eye(y.size)
    return ((derivative(y + shift, on_bump)[0] - derivative(y - shift, on_bump)[0]) / (2 * step)).T


def readings(y, on_bump):
    """height, pitch, x, y, speed, loads, travel, caster, bushings: the sensors of the model"""
    r, q, v, w = split(y)
    R = rotation(q)
    state = r, R, v, w
    load, tension = tyre_forces(state, on_bump)[0], strut_forces(state)[0]
    pitch = -np.arcsin(R[:, 2, 0])
    travel = r[TYRE, 2] - r[chassis, 2]
    return [r[chassis, 2], pitch[chassis], r[chassis, 0], r[chassis, 1], v[chassis, 0], *load, *travel, *pitch[TYRE[:2]], *tension[0::3]]


NAMES = ("t,height,pitch,x,y,speed,front-load(1),front-load(2),rear-load(1),rear-load(2),front-travel(1),front-travel(2),rear-travel(1),"
         "rear-travel(2),caster(1),caster(2),bushing(1),bushing(2),rear-bushing(1),rear-bushing(2)")


def main():
    rtol = float(sys.argv[1]) if len(sys.argv) > 1 else 1e-10
    y = np.zeros((N, 13))
    y[:, :3], y[:, 3], y[:, 7] = place, 1, SPEED
    y = y.reshape(-1)
    rest = np.abs(derivative(y, (False, False))[0].reshape(N, 13)[:, 7:]).max()
    print("accelerations in the design position: %.2g" % rest, file=sys.stderr)
    print("# tests/vehicle/hmmwv_reference.py, rtol %g: models/hmmwv.yaml with reach = 0.05, the bump under the left wheels only" % rtol)
    print(NAMES)
    times, t, on = np.linspace(0, 1.2, 31), 0.0, [False, False]

    def event(axle, where):
        arm, spindle = TYRE_ARM[2 * axle], TYRE[2 * axle]

        def meets(t, y):
            r, q, _, _ = split(y)
            return r[spindle, 0] + (rotation(q[spindle]) @ arm)[0] - AT - where * CONTACT
        meets.terminal, meets.direction = True, 1
        return meets

    # front on, front off, rear on, rear off, to the end
    course = [(0, -1, True), (0, 1, False), (1, -1, True), (1, 1, False), None]
    for stage in course:
        on_bump = tuple(on)
        solution = solve_ivp(lambda t, y: derivative(y, on_bump)[0], (t, times[-1]), y, method="Radau", rtol=rtol, atol=rtol,
                             jac=lambda t, y: jacobian(y, on_bump), dense_output=True, events=[event(stage[0], stage[1])] if stage else None, first_step=1e-7)
        assert solution.status == (1 if stage else 0), solution.message
        for at in times[(times >= t) & ((times < solution.t[-1]) if stage else (times <= solution.t[-1]))]:
            print("%.4g," % at + ",".join("%.15g" % x for x in readings(solution.sol(at), on_bump)))
        t, y = solution.t[-1], solution.y[:, -1]
        print("t = %.12g: %d steps, rows hold to %.2g" % (t, len(solution.t), np.abs(derivative(y, on_bump)[1]).max()), file=sys.stderr)
        if stage:
            on[stage[0]] = stage[2]


main()
