"""Limits of stability of the macro step H for two masses with coupled spring and damper, independent of kardan.

Each scheme is a linear map of (x1, v1, x2, v2, held values) from one communication point to the next, made of exact
exponentials of the two systems; the limit is the first H at which its spectral radius passes 1.
    python3 tests/cosim/stability_limits.py        numbers as they stand in tests/cosim/test_master.c and bench/coupling
"""
import numpy as np
from scipy.linalg import expm

M, K, D, KC, DC = 1.0, 10.0, 0.1, 100.0, 1.0
FREE = np.array([[0, 1], [-K / M, -D / M]])                  # a mass on its own spring, driven by a force
TIED = np.array([[0, 1], [-(K + KC) / M, -(D + DC) / M]])    # with the coupling spring, driven by the other's motion
PUSH = np.array([[0], [1 / M]])
PULL = np.array([[0, 0], [KC / M, DC / M]])


def step(A, B, H):
    """x(H) = E x(0) + F u for u held."""
    n, m = A.shape[0], B.shape[1]
    X = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * H)
    return X[:n, :n], X[:n, n:]


def force(first, second):
    """Force on mass 1 by the coupling: row of (x1, v1) and of (x2, v2)."""
    return np.array([[-KC, -DC]]) * first, np.array([[KC, DC]]) * second


def jacobi_fresh(H):
    E1, F1 = step(FREE, PUSH, H)
    E2, F2 = step(TIED, PULL, H)
    a, b = force(1, 1)
    return np.block([[E1 + F1 @ a, F1 @ b], [F2, E2]])


def jacobi_held(H):
    """The force is read with the input that was held: state (z1, z2, force)."""
    E1, F1 = step(FREE, PUSH, H)
    E2, F2 = step(TIED, PULL, H)
    a, b = force(1, 1)
    z1 = np.hstack([E1, np.zeros((2, 2)), F1])
    z2 = np.hstack([F2, E2, np.zeros((2, 1))])
    held = np.hstack([np.eye(2), np.zeros((2, 3))])
    return np.vstack([z1, z2, a @ held + b @ z2])


def gauss_seidel(H, displaced_first):
    """The system that takes the force first, or the other one."""
    E1, F1 = step(FREE, PUSH, H)
    E2, F2 = step(TIED, PULL, H)
    a, b = force(1, 1)
    if not displaced_first:
        z1 = np.hstack([E1 + F1 @ a, F1 @ b])
        z2 = F2 @ z1 + np.hstack([np.zeros((2, 2)), E2])
        return np.vstack([z1, z2])
    z2 = np.hstack([F2, E2])
    held = np.hstack([np.eye(2), np.zeros((2, 2))])
    z1 = np.hstack([E1, np.zeros((2, 2))]) + F1 @ (a @ held + b @ z2)
    return np.vstack([z1, z2])


def jacobi_displacements(H):
    E, F = step(TIED, PULL, H)
    return np.block([[E, F], [F, E]])


def converged_forces(H):
    """Both take the force of the end of the step."""
    E, F = step(FREE, PUSH, H)
    a, b = force(1, 1)
    Z, z = np.zeros((2, 2)), np.vstack([F, -F])
    L = np.eye(4) - z @ np.hstack([a, b])
    return np.linalg.solve(L, np.block([[E, Z], [Z, E]]))


def radius(A):
    return max(abs(np.linalg.eigvals(A)))


def limit(scheme, low=1e-4, high=0.2, n=4000):
    grid = np.linspace(low, high, n)
    for H0, H1 in zip(grid, grid[1:]):
        if radius(scheme(H1)) > 1 + 1e-12:
            for _ in range(60):
                H = (H0 + H1) / 2
                H0, H1 = (H, H1) if radius(scheme(H)) <= 1 + 1e-12 else (H0, H)
            return H0
    return np.inf


if __name__ == "__main__":
    print("jacobi fresh         %.6g" % limit(jacobi_fresh))
    print("jacobi held          %.6g" % limit(jacobi_held))
    print("gauss-seidel, force first         %.6g" % limit(lambda H: gauss_seidel(H, False)))
    print("gauss-seidel, displacement first  %.6g" % limit(lambda H: gauss_seidel(H, True)))
    print("displacement/displacement         %.6g" % limit(jacobi_displacements))
    hs = np.linspace(1e-3, 100 * limit(jacobi_fresh), 5000)
    print("converged forces, largest radius  %.9g" % max(radius(converged_forces(H)) for H in hs))
