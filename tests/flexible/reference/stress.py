#!/usr/bin/env python3
"""Stress in a bent frame by statics alone, for tests/flexible/test_stress.c: writes stress.csv beside it.

Two straight pieces follow each other, a round tube from A to B and a box from B to C. A force F and a moment M act at C, A is held. The
frame is statically determinate: internal forces follow from balance, nothing is known of elements or modes here. Stress by
N/A + M c/I, T r/J, V Q/(I b); the twist of the box by Prandtl's stress function as a Fourier series.
"""
import csv
import math
import os

A, B, C = (0.0, 0.0, 0.0), (0.9, 0.3, 0.1), (1.2, 0.3, 0.9)
F, M = (30.0, -50.0, 70.0), (11.0, 5.0, -8.0)
R, WALL = 0.03, 0.005        # tube
WIDE, HIGH = 0.05, 0.02      # box along y and z of its section
UP = (0.0, 0.0, 1.0)


def sub(a, b): return tuple(x - y for x, y in zip(a, b))
def add(a, b): return tuple(x + y for x, y in zip(a, b))
def mul(s, a): return tuple(s * x for x in a)
def dot(a, b): return sum(x * y for x, y in zip(a, b))
def cross(a, b): return (a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0])
def unit(a): return mul(1 / math.sqrt(dot(a, a)), a)


def axes(p, q):
    x = unit(sub(q, p))
    z = unit(sub(UP, mul(dot(UP, x), x)))
    return x, cross(z, x), z


def shear_of_box(y, z):
    """tau_xy, tau_xz over G times twist at (y, z): phi = sum of cosh and cos, tau = (dphi/dz, -dphi/dy)."""
    a, b = WIDE / 2, HIGH / 2   # cos in z, cosh in y
    txy, txz = -2 * z, 0.0      # phi = b^2 - z^2 - sum c_n cos(k z) cosh(k y)/cosh(k a)
    for i in range(20000):
        n = 2 * i + 1
        k = n * math.pi / (2 * b)
        c = 32 * b * b * (-1) ** i / (n * math.pi) ** 3
        ratio_cosh = math.exp(k * (abs(y) - a)) * (1 + math.exp(-2 * k * abs(y))) / (1 + math.exp(-2 * k * a))
        ratio_sinh = math.copysign(math.exp(k * (abs(y) - a)) * (1 - math.exp(-2 * k * abs(y))) / (1 + math.exp(-2 * k * a)), y)
        txy += c * k * math.sin(k * z) * ratio_cosh
        txz += c * k * math.cos(k * z) * ratio_sinh
    return txy, txz


def twist_stiffness_of_box():
    """J as kardan has it (the usual fit, within 0.5 %): the twist per length follows from it."""
    b, a = sorted((WIDE, HIGH))
    return a * b**3 * (1 / 3 - 0.21 * b / a * (1 - (b / a) ** 4 / 12))


def stress(p, q, at, y, z, tube):
    x_, y_, z_ = axes(p, q)
    force, moment = F, add(M, cross(sub(C, at), F))
    N, Vy, Vz = (dot(force, e) for e in (x_, y_, z_))
    T, My, Mz = (dot(moment, e) for e in (x_, y_, z_))
    if tube:
        r = R - WALL
        area, I = math.pi * (R*R - r*r), math.pi * (R**4 - r**4) / 4
        sxx = N / area + My * z / I - Mz * y / I
        sxy, sxz = -T * z / (2 * I), T * y / (2 * I)
        # the force across as a vector; along the rim, largest where the radius stands across it
        c, s = y / R, z / R
        along = (2 / 3 * (R**3 - r**3)) / (I * 2 * (R - r)) * (-Vy * s + Vz * c)
        sxy, sxz = sxy - along * s, sxz + along * c
    else:
        area, Iy, Iz = WIDE * HIGH, WIDE * HIGH**3 / 12, HIGH * WIDE**3 / 12
        sxx = N / area + My * z / Iy - Mz * y / Iz
        txy, txz = shear_of_box(y, z)
        G_twist = T / twist_stiffness_of_box()
        sxy = G_twist * txy + 1.5 * Vy / area * (1 - (2 * y / WIDE) ** 2)
        sxz = G_twist * txz + 1.5 * Vz / area * (1 - (2 * z / HIGH) ** 2)
        # what a force along one edge does on the sides that stand across it is left out, as kardan does: at corners it is 0, on the middle of
        # a side y = const there is no sxy
        if abs(abs(y) - WIDE / 2) < 1e-12:
            sxy = 0.0
        if abs(abs(z) - HIGH / 2) < 1e-12:
            sxz = 0.0
    s = [[0.0] * 3 for _ in range(3)]
    e = (x_, y_, z_)
    local = [[sxx, sxy, sxz], [sxy, 0, 0], [sxz, 0, 0]]
    for i in range(3):
        for j in range(3):
            s[i][j] = sum(local[k][l] * e[k][i] * e[l][j] for k in range(3) for l in range(3))
    return s[0][0], s[1][1], s[2][2], s[0][1], s[1][2], s[2][0]


def main():
    rows = []
    for p, q, tube in ((A, B, True), (B, C, False)):
        x_, y_, z_ = axes(p, q)
        rim = ([(R * math.cos(k * math.pi / 8), R * math.sin(k * math.pi / 8)) for k in range(16)] if tube else
               [(WIDE/2, HIGH/2), (-WIDE/2, HIGH/2), (WIDE/2, -HIGH/2), (-WIDE/2, -HIGH/2), (WIDE/2, 0), (-WIDE/2, 0), (0, HIGH/2), (0, -HIGH/2)])
        for j in range(5):
            at = add(p, mul(j / 4, sub(q, p)))
            for y, z in rim:
                place = add(add(at, mul(y, y_)), mul(z, z_))
                rows.append([*place, *stress(p, q, at, y, z, tube)])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stress.csv")
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["x", "y", "z", "sxx", "syy", "szz", "sxy", "syz", "szx"])
        for row in rows:
            out.writerow([f"{v:.12e}" for v in row])


main()
