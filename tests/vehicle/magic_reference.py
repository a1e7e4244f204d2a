#!/usr/bin/python3
# Forces and moments of the Magic Formula by plain Python, for random coefficients: a second way to what
# src/vehicle/magic_formula.c computes. Written from the equations (5.2: PAC2002; 6.1: Pacejka's book), one line each.
#   tests/vehicle/magic_reference.py 1 52 > tests/vehicle/data/random52.csv     (seed, version; the .tir goes beside it)
import random
import sys
from math import atan, cos, exp, pi, sin, sqrt, tan

# name: (centre, spread); every number differs from its neutral value
RANGES = {
    'PCX1': (1.6, .1), 'PDX1': (1.1, .1), 'PDX2': (-.1, .05), 'PDX3': (2, 1), 'PEX1': (.3, .2), 'PEX2': (.1, .1),
    'PEX3': (-.05, .05), 'PEX4': (.05, .05), 'PKX1': (21, 3), 'PKX2': (-.5, .5), 'PKX3': (.2, .1), 'PHX1': (0, .002),
    'PHX2': (0, .001), 'PVX1': (0, .02), 'PVX2': (0, .01), 'PPX1': (-.3, .1), 'PPX2': (.3, .1), 'PPX3': (-.1, .05),
    'PPX4': (.05, .02), 'RBX1': (12, 2), 'RBX2': (-9, 2), 'RBX3': (1.5, .5), 'RCX1': (1.05, .05), 'REX1': (.2, .2),
    'REX2': (-.1, .1), 'RHX1': (0, .01),
    'QSX1': (0, .01), 'QSX2': (.8, .3), 'QSX3': (.03, .01), 'QSX4': (.1, .05), 'QSX5': (.9, .2), 'QSX6': (1.3, .3),
    'QSX7': (.7, .2), 'QSX8': (-.3, .1), 'QSX9': (1.2, .3), 'QSX10': (.1, .05), 'QSX11': (1.5, .5), 'PPMX1': (-.1, .05),
    'PCY1': (1.3, .05), 'PDY1': (1, .1), 'PDY2': (-.1, .05), 'PDY3': (1.5, .5), 'PEY1': (-.8, .2), 'PEY2': (-.3, .2),
    'PEY3': (-.1, .1), 'PEY4': (-3, 1), 'PEY5': (5, 2), 'PKY1': (-16, 3), 'PKY2': (1.7, .2), 'PKY3': (.3, .1),
    'PKY4': (1.95, .03), 'PKY5': (-1, .3), 'PKY6': (-.9, .2), 'PKY7': (-.2, .1), 'PHY1': (0, .004), 'PHY2': (0, .002),
    'PHY3': (.03, .02), 'PVY1': (0, .03), 'PVY2': (0, .02), 'PVY3': (-.2, .1), 'PVY4': (-.2, .1), 'PPY1': (-.5, .1),
    'PPY2': (-.07, .03), 'PPY3': (-.1, .05), 'PPY4': (.05, .02), 'PPY5': (-.2, .1), 'RBY1': (10, 2), 'RBY2': (7, 2),
    'RBY3': (0, .03), 'RBY4': (2, 1), 'RCY1': (1.05, .03), 'REY1': (.2, .1), 'REY2': (-.1, .1), 'RHY1': (0, .01),
    'RHY2': (0, .005), 'RVY1': (.04, .02), 'RVY2': (-.02, .02), 'RVY3': (-.3, .1), 'RVY4': (11, 2), 'RVY5': (1.8, .1),
    'RVY6': (-10, 2),
    'QBZ1': (9, 1), 'QBZ2': (-2, 1), 'QBZ3': (-.5, .3), 'QBZ4': (-.3, .1), 'QBZ5': (-.4, .1), 'QBZ9': (13, 3),
    'QBZ10': (.2, .1), 'QCZ1': (1.15, .05), 'QDZ1': (.1, .02), 'QDZ2': (-.01, .01), 'QDZ3': (-.3, .1), 'QDZ4': (2, .5),
    'QDZ6': (-.005, .003), 'QDZ7': (.002, .001), 'QDZ8': (-.15, .05), 'QDZ9': (-.03, .02), 'QDZ10': (.3, .1),
    'QDZ11': (.1, .05), 'QEZ1': (-1.4, .3), 'QEZ2': (.3, .1), 'QEZ3': (-.1, .1), 'QEZ4': (.2, .1), 'QEZ5': (-2.5, 1),
    'QHZ1': (0, .006), 'QHZ2': (0, .003), 'QHZ3': (.1, .05), 'QHZ4': (.02, .02), 'PPZ1': (-.3, .1), 'PPZ2': (.1, .05),
    'SSZ1': (.02, .01), 'SSZ2': (.01, .01), 'SSZ3': (.4, .1), 'SSZ4': (-.2, .1)}
SCALES = ('LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LHY LVY LGAY LTR LRES LGAZ LXAL LYKA LVYKA LS LMX LVMX '
          'LKYC LKZC').split()


def sgn(x):
    return (x > 0) - (x < 0)


def S(B, C, E, x):
    E = min(E, 1)
    return C * atan(B * x - E * (B * x - atan(B * x)))


def mf52(c, Fz, kappa, alpha, gamma):
    g = type('c', (), c)
    F0 = g.LFZO * g.FNOMIN
    d = (Fz - F0) / F0
    R0 = g.UNLOADED_RADIUS
    gx, gy, gz = gamma * g.LGAX, gamma * g.LGAY, gamma * g.LGAZ
    # along
    kx = kappa + (g.PHX1 + g.PHX2 * d) * g.LHX
    Dx = Fz * (g.PDX1 + g.PDX2 * d) * (1 - g.PDX3 * gx**2) * g.LMUX
    Kx = Fz * (g.PKX1 + g.PKX2 * d) * exp(g.PKX3 * d) * g.LKX
    Cx = g.PCX1 * g.LCX
    Ex = (g.PEX1 + g.PEX2 * d + g.PEX3 * d * d) * (1 - g.PEX4 * sgn(kx)) * g.LEX
    Fx0 = Dx * sin(S(Kx / Cx / Dx, Cx, Ex, kx)) + Fz * (g.PVX1 + g.PVX2 * d) * g.LVX * g.LMUX
    # across
    SHy = (g.PHY1 + g.PHY2 * d) * g.LHY + g.PHY3 * gy
    SVy = Fz * ((g.PVY1 + g.PVY2 * d) * g.LVY + (g.PVY3 + g.PVY4 * d) * gy) * g.LMUY
    ay = alpha + SHy
    muy = (g.PDY1 + g.PDY2 * d) * (1 - g.PDY3 * gy**2) * g.LMUY
    Ky = g.PKY1 * F0 * sin(2 * atan(Fz / g.PKY2 / F0)) * g.LKY * (1 - g.PKY3 * abs(gy))
    Cy = g.PCY1 * g.LCY
    By = Ky / Cy / (Fz * muy)
    Ey = (g.PEY1 + g.PEY2 * d) * (1 - (g.PEY3 + g.PEY4 * gy) * sgn(ay)) * g.LEY
    Fy0 = Fz * muy * sin(S(By, Cy, Ey, ay)) + SVy
    # combined
    Bxa = g.RBX1 * cos(atan(g.RBX2 * kappa)) * g.LXAL
    Exa = g.REX1 + g.REX2 * d
    Fx = Fx0 * cos(S(Bxa, g.RCX1, Exa, alpha + g.RHX1)) / cos(S(Bxa, g.RCX1, Exa, g.RHX1))
    Byk = g.RBY1 * cos(atan(g.RBY2 * (alpha - g.RBY3))) * g.LYKA
    Eyk, SHyk = g.REY1 + g.REY2 * d, g.RHY1 + g.RHY2 * d
    SVyk = (Fz * muy * (g.RVY1 + g.RVY2 * d + g.RVY3 * gamma) * cos(atan(g.RVY4 * alpha)) * sin(g.RVY5 * atan(g.RVY6 * kappa))
            * g.LVYKA)
    Fy = Fy0 * cos(S(Byk, g.RCY1, Eyk, kappa + SHyk)) / cos(S(Byk, g.RCY1, Eyk, SHyk)) + SVyk
    # moments
    at = alpha + g.QHZ1 + g.QHZ2 * d + (g.QHZ3 + g.QHZ4 * d) * gz
    ar = alpha + SHy + SVy / Ky
    Bt = (g.QBZ1 + g.QBZ2 * d + g.QBZ3 * d * d) * (1 + g.QBZ4 * gz + g.QBZ5 * abs(gz)) * g.LKY / g.LMUY
    Dt = Fz * (g.QDZ1 + g.QDZ2 * d) * (1 + g.QDZ3 * gz + g.QDZ4 * gz**2) * R0 / F0 * g.LTR
    Et = (g.QEZ1 + g.QEZ2 * d + g.QEZ3 * d * d) * (1 + (g.QEZ4 + g.QEZ5 * gz) * 2 / pi * atan(Bt * g.QCZ1 * at))
    Br = g.QBZ9 * g.LKY / g.LMUY + g.QBZ10 * By * Cy
    Dr = Fz * ((g.QDZ6 + g.QDZ7 * d) * g.LRES + (g.QDZ8 + g.QDZ9 * d) * gz) * R0 * g.LMUY
    eq = lambda x: atan(sqrt(tan(x)**2 + (Kx / Ky * kappa)**2)) * sgn(x)
    t = Dt * cos(S(Bt, g.QCZ1, Et, eq(at))) * cos(alpha)
    arm = (g.SSZ1 + g.SSZ2 * Fy / F0 + (g.SSZ3 + g.SSZ4 * d) * gamma) * R0 * g.LS
    Mz = -t * (Fy - SVyk) + Dr * cos(atan(Br * eq(ar))) * cos(alpha) + arm * Fx
    Mx = R0 * Fz * (g.QSX1 * g.LVMX - g.QSX2 * gamma + g.QSX3 * Fy / F0) * g.LMX
    return Fx, Fy, Mx, Mz


def mf61(c, Fz, kappa, angle, lean):
    g = type('c', (), c)
    F0 = g.LFZO * g.FNOMIN
    d, q, R0 = (Fz - F0) / F0, (g.INFLPRES - g.NOMPRES) / g.NOMPRES, g.UNLOADED_RADIUS
    a = tan(angle)
    less = lambda L: 10 * L / (1 + 9 * L)
    kx = kappa + (g.PHX1 + g.PHX2 * d) * g.LHX
    Dx = Fz * (g.PDX1 + g.PDX2 * d) * (1 + g.PPX3 * q + g.PPX4 * q * q) * (1 - g.PDX3 * lean**2) * g.LMUX
    Kx = Fz * (g.PKX1 + g.PKX2 * d) * exp(g.PKX3 * d) * (1 + g.PPX1 * q + g.PPX2 * q * q) * g.LKX
    Cx = g.PCX1 * g.LCX
    Ex = (g.PEX1 + g.PEX2 * d + g.PEX3 * d * d) * (1 - g.PEX4 * sgn(kx)) * g.LEX
    Fx0 = Dx * sin(S(Kx / Cx / Dx, Cx, Ex, kx)) + Fz * (g.PVX1 + g.PVX2 * d) * g.LVX * less(g.LMUX)

    def side(s):
        # stiffness, shift, vertical shift, friction, B, force at sin gamma = s
        Ky = (g.PKY1 * F0 * (1 + g.PPY1 * q) * (1 - g.PKY3 * abs(s))
              * sin(g.PKY4 * atan(Fz / F0 / ((g.PKY2 + g.PKY5 * s * s) * (1 + g.PPY2 * q)))) * g.LKY)
        SVg = Fz * (g.PVY3 + g.PVY4 * d) * s * g.LKYC * less(g.LMUY)
        Kg = Fz * (g.PKY6 + g.PKY7 * d) * (1 + g.PPY5 * q) * g.LKYC
        SV = Fz * (g.PVY1 + g.PVY2 * d) * g.LVY * less(g.LMUY) + SVg
        SH = (g.PHY1 + g.PHY2 * d) * g.LHY + (Kg * s - SVg) / Ky
        mu = (g.PDY1 + g.PDY2 * d) * (1 + g.PPY3 * q + g.PPY4 * q * q) * (1 - g.PDY3 * s * s) * g.LMUY
        C = g.PCY1 * g.LCY
        E = (g.PEY1 + g.PEY2 * d) * (1 + g.PEY5 * s * s - (g.PEY3 + g.PEY4 * s) * sgn(a + SH)) * g.LEY
        B = Ky / C / mu / Fz
        Byk = (g.RBY1 + g.RBY4 * s * s) * cos(atan(g.RBY2 * (a - g.RBY3))) * g.LYKA
        Eyk, SHk = g.REY1 + g.REY2 * d, g.RHY1 + g.RHY2 * d
        G = cos(S(Byk, g.RCY1, Eyk, kappa + SHk)) / cos(S(Byk, g.RCY1, Eyk, SHk))
        return Ky, SH, SV, mu, B * C, G * (mu * Fz * sin(S(B, C, E, a + SH)) + SV)

    s = sin(lean)
    Ky, SHy, SVy, mu, BC, Fy = side(s)
    straight = side(0)[5]
    Bxa = (g.RBX1 + g.RBX3 * s * s) * cos(atan(g.RBX2 * kappa)) * g.LXAL
    Exa = g.REX1 + g.REX2 * d
    Fx = Fx0 * cos(S(Bxa, g.RCX1, Exa, a + g.RHX1)) / cos(S(Bxa, g.RCX1, Exa, g.RHX1))
    Fy += (mu * Fz * (g.RVY1 + g.RVY2 * d + g.RVY3 * s) * cos(atan(g.RVY4 * a)) * sin(g.RVY5 * atan(g.RVY6 * kappa)) * g.LVYKA)
    at = a + g.QHZ1 + g.QHZ2 * d + (g.QHZ3 + g.QHZ4 * d) * s
    ar = a + SHy + SVy / Ky
    Bt = (g.QBZ1 + g.QBZ2 * d + g.QBZ3 * d * d) * (1 + g.QBZ4 * s + g.QBZ5 * abs(s)) * g.LKY / g.LMUY
    Dt = Fz * R0 / F0 * (g.QDZ1 + g.QDZ2 * d) * (1 - g.PPZ1 * q) * (1 + g.QDZ3 * abs(s) + g.QDZ4 * s * s) * g.LTR
    Et = (g.QEZ1 + g.QEZ2 * d + g.QEZ3 * d * d) * (1 + (g.QEZ4 + g.QEZ5 * s) * 2 / pi * atan(Bt * g.QCZ1 * at))
    Br = g.QBZ9 * g.LKY / g.LMUY + g.QBZ10 * BC
    Dr = (Fz * R0 * ((g.QDZ6 + g.QDZ7 * d) * g.LRES
                     + ((g.QDZ8 + g.QDZ9 * d) * (1 + g.PPZ2 * q) + (g.QDZ10 + g.QDZ11 * d) * abs(s)) * s * g.LKZC)
          * g.LMUY * cos(angle))
    eq = lambda x: sqrt(x * x + (Kx / Ky * kappa)**2) * sgn(x)
    t = Dt * cos(S(Bt, g.QCZ1, Et, eq(at))) * cos(angle)
    arm = (g.SSZ1 + g.SSZ2 * Fy / F0 + (g.SSZ3 + g.SSZ4 * d) * s) * R0 * g.LS
    Mz = -t * straight + Dr * cos(atan(Br * eq(ar))) + arm * Fx
    z, y = Fz / g.FNOMIN, Fy / g.FNOMIN
    Mx = R0 * Fz * g.LMX * (g.QSX1 * g.LVMX - g.QSX2 * lean * (1 + g.PPMX1 * q) + g.QSX3 * y
                            + g.QSX4 * cos(g.QSX5 * atan(g.QSX6 * z)**2) * sin(g.QSX7 * lean + g.QSX8 * atan(g.QSX9 * y))
                            + g.QSX10 * atan(g.QSX11 * z) * lean)
    return Fx, Fy, Mx, Mz


def main():
    seed, version = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(seed)
    c = {k: float('%.6g' % (m + w * rng.uniform(-1, 1))) for k, (m, w) in RANGES.items()}
    c.update({k: float('%.6g' % rng.uniform(.9, 1.1)) for k in SCALES})
    c.update(UNLOADED_RADIUS=.31, FNOMIN=4100., INFLPRES=2.4e5 if version == '61' else 2.2e5, NOMPRES=2.2e5)
    with open('tests/vehicle/data/random%s.tir' % version, 'w') as f:
        f.write("$ random coefficients, no tyre\n[UNITS]\nLENGTH = 'meter'\nFORCE = 'newton'\nANGLE = 'radian'\n[MODEL]\n")
        f.write("FITTYP = %s\nUSE_MODE = 4\n[DIMENSION]\nUNLOADED_RADIUS = %r\n[OPERATING_CONDITIONS]\n" %
                ('61' if version == '61' else '6', c['UNLOADED_RADIUS']))
        f.write('INFLPRES = %r\nNOMPRES = %r\n[VERTICAL]\nVERTICAL_STIFFNESS = 2e5\nFNOMIN = %r\n' %
                (c['INFLPRES'], c['NOMPRES'], c['FNOMIN']))
        for section, first in (('SCALING', 'L'), ('LONGITUDINAL', '+X'), ('LATERAL', '+Y'), ('ALIGNING', '+Z')):
            f.write('[%s_COEFFICIENTS]\n' % section)
            for k, v in c.items():
                if k.isupper() and '_' not in k and k not in ('FNOMIN', 'INFLPRES', 'NOMPRES') and \
                   (k[0] == 'L' if first == 'L' else k[0] != 'L' and k.rstrip('0123456789').endswith(first[1])):
                    f.write('%s = %r\n' % (k, v))
    print('Fz,kappa,alpha,gamma,Fx,Fy,Mx,Mz')
    for _ in range(300):
        x = (rng.uniform(1000, 8000), rng.uniform(-.6, .6), rng.uniform(-.3, .3), rng.uniform(-.1, .1))
        x = tuple(float('%.6g' % v) for v in x)
        print(','.join('%.15g' % v for v in x + (mf61 if version == '61' else mf52)(c, *x)))


main()
