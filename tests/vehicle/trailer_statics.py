#!/usr/bin/env python3
"""Static loads of tractor with semi-trailer, independent of kardan: two beams on springs in series with tyres.

Data: Project Chrono's Kraz (tests/models/test_large_vehicles.c names them). Unknown: height and pitch of the tractor, height and pitch
of the trailer, tied at the kingpin by one force. Vertical springs at small angles."""
import numpy as np

g = 9.81
spindle, rim = 14.705, 30.0
k = {"front": 592176.2641, "rear": 1026438.858, "trailer": 710611.5169}        # per side
kt = {"front": 673874.26, "rear": 2 * 673874.26, "trailer": 1225024.98}        # per side; rear: twin tyres
R = {"front": 0.5588, "rear": 0.5588, "trailer": 0.5360}
unsprung = {"front": 581 + 2 * 68 + 2 * (spindle + rim + 90) + 10,             # with tie rod and drag link
            "rear": 717 + 2 * (spindle + 2 * (rim + 90)), "trailer": 500 + 2 * (spindle + rim + 69.3)}
compression = 0.262122551 - 0.2                                                # of the springs at design


def solve(axle, ground=-0.5588, rods_on_axle=True):
    """axle: (kind, x in the frame of its vehicle, vehicle). Returns kingpin force and axle loads (on the road)."""
    n = len(axle)
    # unknown: z1, th1, z2, th2 (frames, nose down positive: z(x) = z - th x), zeta_i of axles, kingpin force
    A, b = np.zeros((n + 5, n + 5)), np.zeros(n + 5)
    mass = {1: (10000.0, -2.0), 2: (20000.0, -6.0)}
    row = {1: 0, 2: 2}
    for v in (1, 2):
        m, x = mass[v]
        b[row[v]] += m * g
        b[row[v] + 1] += -x * m * g
    for i, (kind, x, v) in enumerate(axle):
        r, z = row[v], 4 + i
        for line, lever in ((r, 1.0), (r + 1, -x)):   # spring force up on the body: 2 k (c - (z_body(x) - zeta))
            A[line, r] -= lever * 2 * k[kind]
            A[line, r + 1] -= lever * 2 * k[kind] * -x
            A[line, z] += lever * 2 * k[kind]
            b[line] -= lever * 2 * k[kind] * compression
        # axle: tyre force 2 kt (R - (zeta - ground)) = weight + spring force
        A[z, z] -= 2 * kt[kind] + 2 * k[kind]
        A[z, r] += 2 * k[kind]
        A[z, r + 1] += 2 * k[kind] * -x
        b[z] += unsprung[kind] * g + 2 * k[kind] * compression - 2 * kt[kind] * (R[kind] + ground)
    # kingpin: P down on the tractor at x = -4.64, up on the trailer at -0.04; equal heights there
    K = n + 4
    A[0, K], A[1, K] = -1.0, -4.64
    A[2, K], A[3, K] = 1.0, 0.04
    A[K, 0], A[K, 1], A[K, 2], A[K, 3] = 1.0, 4.64, -1.0, -0.04
    u = np.linalg.solve(A, b)
    load = [2 * kt[kind] * (R[kind] - (u[4 + i] - ground)) for i, (kind, x, v) in enumerate(axle)]
    return u[K], load, u


AXLES = [("front", 0.0, 1), ("rear", -4.08, 1), ("rear", -5.48, 1),
         ("trailer", -6.32, 2), ("trailer", -7.63, 2), ("trailer", -8.94, 2)]

if __name__ == "__main__":
    P, load, u = solve(AXLES)
    print("kingpin", P, "axles", load, "sum", sum(load))
    print(u)
