#!/usr/bin/python3
"""Random roads in the four formats of OpenCRG, and points on them: a second way to what src/vehicle/crg.c computes, written from the
description of the format alone.
    tests/vehicle/crg_reference.py 5     (seed; writes tests/vehicle/data/random_*.crg and .csv)"""
import struct
import sys

import numpy as np

rng = np.random.default_rng(int(sys.argv[1]))
NU, NV = 25, 7


def cell(x, width):
    return '*' * width if np.isnan(x) else ('%10.7f' % x if width == 10 else '%20.13e' % x)


def write(path, form, head, channels, rows):
    """Answers the numbers as they are in the file."""
    text = '$CT\nrandom road\n$ROAD_CRG ! head\n%s\n$KD_Definition\n#:%s\n%s\n$\n$$$$\n' % (
        '\n'.join(head), form, '\n'.join('D:' + c for c in channels))
    with open(path, 'wb') as f:
        f.write(text.encode())
        if form in ('KRBI', 'KDBI'):
            kind = '>f4' if form == 'KRBI' else '>f8'
            f.write(rows.astype(kind).tobytes())
            f.write(struct.pack('>f', float('nan')) * (-rows.astype(kind).nbytes % 80 // 4))
            return rows.astype(kind).astype(float)
        width, per_line = (10, 8) if form == 'LRFI' else (20, 4)
        for r in rows:
            for i in range(0, len(r), per_line):
                f.write((''.join(cell(x, width) for x in r[i:i + per_line]) + '\n').encode())
    return np.array([[np.nan if np.isnan(x) else float(cell(x, width)) for x in r] for r in rows])


def filled(z, v):
    """Missing values take the next one towards the middle."""
    for row in z:
        middle = np.argmin(np.where(np.isnan(row), np.inf, np.abs(v)))
        for j in range(middle + 1, NV):
            row[j] = row[j - 1] if np.isnan(row[j]) else row[j]
        for j in range(middle - 1, -1, -1):
            row[j] = row[j + 1] if np.isnan(row[j]) else row[j]
    return z


def road(number, form):
    du, u0, half = [0.5, 1.0, 0.25, 2.5][number], round(rng.uniform(-9, 9), 2), rng.uniform(1, 3)
    uneven = number % 2 == 1
    v = np.linspace(-1, 1, NV) * round(half, 2)
    if uneven:
        v = np.round(v + rng.uniform(-0.1, 0.1, NV) * half, 3)
    phi = rng.uniform(-3, 3) + np.cumsum(0.6 * du / max(half, 8 * du) * (1 + 0.2 * rng.standard_normal(NU)))
    slope, bank = rng.uniform(-0.1, 0.1, NU), rng.uniform(-0.08, 0.08, NU)
    z = rng.uniform(-0.05, 0.05, (NU, NV))
    z[4, :2] = z[9, 5:] = z[13, :1] = phi[0] = np.nan
    x0, y0, z0 = np.round(rng.uniform(-9, 9, 3), 3)
    head = ['REFERENCE_LINE_START_U = %r' % u0, 'Reference_line_end_u=%r ! end' % (u0 + du * (NU - 1)),
            'REFERENCE_LINE_INCREMENT = %r' % du, 'REFERENCE_LINE_START_X = %r' % x0, 'REFERENCE_LINE_START_Y = %r' % y0,
            'REFERENCE_LINE_START_Z = %r' % z0]
    if not uneven:
        head += ['LONG_SECTION_V_RIGHT = %r' % v[0], 'LONG_SECTION_V_LEFT = %r' % v[-1]]
    channels = ['reference line phi,rad', 'reference line slope,m/m', 'reference line banking,m/m']
    channels += ['long section at v = %.3f,m' % x if uneven else 'long section %d,m' % j for j, x in enumerate(v)]
    data = write('tests/vehicle/data/random_%s.crg' % form.lower(), form, head, channels,
                 np.column_stack([phi, slope, bank, z]))
    phi, slope, bank, z = data[:, 0], data[:, 1], data[:, 2], filled(data[:, 3:], v)
    height = z0 + np.append(0, np.cumsum(du * slope[1:]))
    place = np.column_stack([x0 + np.append(0, np.cumsum(du * np.cos(phi[1:]))),
                             y0 + np.append(0, np.cumsum(du * np.sin(phi[1:])))])
    normal = np.column_stack([-np.sin(phi[1:]), np.cos(phi[1:])])
    with open('tests/vehicle/data/random_%s.csv' % form.lower(), 'w') as f:
        f.write('u,v,z,x,y\n')
        for _ in range(60):
            at, across = rng.uniform(0, NU - 1), rng.uniform(v[0], v[-1])
            i, ends, heights = int(at), [], []
            for k in (i, i + 1):
                mean = 0.5 * (normal[max(k - 1, 0)] + normal[min(k, NU - 2)])
                ends.append(place[k] + across * mean / (mean @ mean))
                heights.append(height[k] + bank[k] * across + np.interp(across, v, z[k]))
            t = at - i
            point = (1 - t) * ends[0] + t * ends[1]
            f.write('%.15g,%.15g,%.15g,%.15g,%.15g\n' %
                    (u0 + at * du, across, (1 - t) * heights[0] + t * heights[1], *point))


for n, name in enumerate(('LRFI', 'LDFI', 'KRBI', 'KDBI')):
    road(n, name)
