"""Rainflow counts by another algorithm than rainflow.c: the four-point rule (Amzallag et al. 1994).

Usage: rainflow.py FILE once|repeated, a history per line. Prints for each its rows "range mean count", largest first, and a blank line.
Among four reversals in a row a, b, c, d the inner range |c - b| is a cycle if neither neighbour is smaller; such pairs are
taken out one after the other, anywhere in the history, until there are none. What remains are half cycles.
"""

import sys
from collections import defaultdict


def turning_points(y):
    y = [a for i, a in enumerate(y) if i == 0 or a != y[i - 1]]
    return [y[i] for i in range(len(y)) if i in (0, len(y) - 1) or (y[i] - y[i - 1]) * (y[i + 1] - y[i]) < 0]


def first_loop(p):
    for i in range(len(p) - 3):
        a, b, c, d = p[i : i + 4]
        if abs(c - b) <= abs(b - a) and abs(c - b) <= abs(d - c):
            return i + 1
    return None


def rainflow(y, repeated):
    rows = defaultdict(float)
    if repeated:
        low = y.index(min(y))  # any extreme serves; rainflow.c takes the largest value
        y = y[low:] + y[:low] + [min(y)]
    p = turning_points(y)
    while (i := first_loop(p)) is not None:
        rows[abs(p[i + 1] - p[i]), 0.5 * p[i] + 0.5 * p[i + 1]] += 1
        del p[i : i + 2]
    for a, b in zip(p, p[1:]):
        rows[abs(b - a), 0.5 * a + 0.5 * b] += 0.5
    return sorted(((r, m, n) for (r, m), n in rows.items()), reverse=True)


for line in open(sys.argv[1]):
    for row in rainflow([float(word) for word in line.split()], sys.argv[2] == "repeated"):
        print("%.17g %.17g %.17g" % row)
    print()
