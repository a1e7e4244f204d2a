#!/usr/bin/python3
"""Princeton beam as a geometrically exact rod: Cosserat's equations in arc length, shooting for the root moment. Independent of
kardan; tests/models/test_pieces.c has its numbers. Published tip displacements (ANSYS, ../shared/benchmarks/flexible.md) belong to
another stiffness of torsion: with 45 degrees and 8.896 N they are 8.837, 108.988 mm.
    /usr/bin/python3 princeton.py
"""
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

y, z, L = 12.3777e-3, 3.2024e-3, 0.508
E, G = 71.7e9, 71.7e9 / 2 / 1.31
A, Iy, Iz = y * z, y * z**3 / 12, z * y**3 / 12
# axial force, shear with the whole section, torsion with 0.198 of the polar moment, bending
C = np.array([E * A, G * A, G * A, G * 0.198 * (Iy + Iz), E * Iy, E * Iz])


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def tip(load, angle):
    F = load * np.array([0, np.cos(angle), np.sin(angle)])

    def rod(s, w):  # r, R, moment; the force is the load everywhere
        R, m = w[3:12].reshape(3, 3), w[12:15]
        t = R @ (R.T @ F / C[:3] + [1, 0, 0])
        return np.concatenate([t, (R @ skew(R.T @ m / C[3:])).ravel(), -np.cross(t, F)])

    def end(m0):
        start = np.concatenate([np.zeros(3), np.eye(3).ravel(), m0])
        return solve_ivp(rod, (0, L), start, 'DOP853', rtol=1e-11, atol=1e-13).y[:, -1]

    m0 = fsolve(lambda m: end(m)[12:] / (load * L), np.cross([L, 0, 0], F), xtol=1e-13)
    return 1000 * end(m0)[1:3]


for load in (8.896, 13.345):
    for degrees in range(0, 91, 15):
        stiff, soft = tip(load, np.radians(degrees))
        print(f'{load} N, {degrees} degrees: {stiff:.6f} {soft:.6f} mm')
