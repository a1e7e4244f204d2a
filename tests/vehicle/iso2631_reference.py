#!/usr/bin/python3
"""Factors of the weightings Wk and Wd of ISO 2631-1 by their analogue transfer functions, independent of kardan; ISO's table 3 in brackets."""
import numpy as np


def factor(f, kind):
    s, w = 2j * np.pi * f, lambda x: 2 * np.pi * x
    q = 1 / np.sqrt(2)
    high = s**2 / (s**2 + w(0.4) / q * s + w(0.4) ** 2)
    low = w(100) ** 2 / (s**2 + w(100) / q * s + w(100) ** 2)
    f4 = 12.5 if kind == "k" else 2.0
    transition = (1 + s / w(f4)) / (1 + s / (0.63 * w(f4)) + (s / w(f4)) ** 2)
    step = 1
    if kind == "k":
        step = (s**2 + w(2.37) / 0.91 * s + w(2.37) ** 2) / (s**2 + w(3.35) / 0.91 * s + w(3.35) ** 2)
    return abs(high * low * transition * step)


TABLE = {"k": {1: 482, 2: 531, 4: 967, 8: 1036, 16: 768, 31.5: 405}, "d": {1: 1011, 2: 890, 4: 512, 8: 253, 16: 125, 31.5: 63.2}}
for kind, rows in TABLE.items():
    for f, published in rows.items():
        print("W%s %5.1f Hz: %.5f (%.4f)" % (kind, f, factor(f, kind), published / 1000))
