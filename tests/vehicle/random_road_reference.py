#!/usr/bin/python3
"""Roads of kardan judged by another program: Welch's estimate of SciPy over wave numbers, class by class.

    kardan simulate roads.yaml --output roads; random_road_reference.py roads/roads.csv

The model runs along x = t at 1 m/s and writes the heights of sensors A .. E (a road of each class). Prints for each the ratio of Welch's
density to 16e-6 4^class (n/0.1)^-2 m^3, geometric mean between 0.1 and 1.5 cycles/m; 1 within some per cent is right."""
import csv
import sys

import numpy as np
from scipy.signal import welch

rows = list(csv.reader(line for line in open(sys.argv[1]) if not line.startswith("#")))
head, data = rows[0], np.array([[float(v) for v in r] for r in rows[1:]])
x = data[:, head.index("t")]
step = x[1] - x[0]
for number, name in enumerate("ABCDE"):
    n, G = welch(data[:, head.index(name)], fs=1 / step, nperseg=4096, detrend="linear")
    keep = (n > 0.1) & (n < 1.5)
    ratio = np.exp(np.mean(np.log(G[keep] / (16e-6 * 4**number * (n[keep] / 0.1) ** -2))))
    print(name, "%.3f" % ratio)
