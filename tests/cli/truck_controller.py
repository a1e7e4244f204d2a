#!/usr/bin/python3
"""The controllers of semi-active-truck as a program of its own, in another language: velocities come over the wire of
`kardan simulate --listen`, damper coefficients go back. Usage: truck_controller.py PORT"""
import socket
import struct
import sys

HEAD, PAYLOAD = struct.Struct("<32sIIQQdII"), 1024
MAGIC, HELLO, SESSION, WELCOME, REFUSED, VALUES, GOODBYE = 0x4B445032, 0, 1, 2, 3, 4, 5
READS = ["frame.chassis-rear.vel.z", "body.rear-wheel.vel.z", "rate1", "frame.chassis-front.vel.z", "body.front-wheel.vel.z",
         "rate2", "frame.cabin-rear.vel.z", "rate3", "frame.cabin-front.vel.z", "rate4"]
WRITES = ["want1", "want2", "want3", "want4"]


def law(wanted, rate, passive):
    return passive * min(max(wanted * rate / max(rate * rate, 1e-6) / passive, 0.1), 2.5)


def control(y):
    c1, w1, r1, c2, w2, r2, c3, r3, c4, r4 = y
    return [law(120000 * c1 - 30000 * w1, r1, 21593), law(120000 * c2 - 30000 * w2, r2, 38537), law(10000 * c3, r3, 12218),
            law(10000 * c4, r4, 12218)]


def main():
    line, plant, session = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), ("127.0.0.1", int(sys.argv[1])), 0
    names = b"".join(name.encode().ljust(32, b"\0") for name in READS + WRITES).ljust(PAYLOAD, b"\0")

    def send(kind, number=0, time=0.0, nreads=0, nwrites=0, payload=b""):
        line.sendto(HEAD.pack(b"", MAGIC, kind, session, number, time, nreads, nwrites) + payload.ljust(PAYLOAD, b"\0"), plant)

    line.settimeout(0.1)
    welcome = False
    for _ in range(300):
        if welcome:
            break
        send(HELLO, nreads=len(READS), nwrites=len(WRITES), payload=names)
        try:
            answer = line.recv(4096)
        except (socket.timeout, ConnectionRefusedError):
            continue
        _, _, kind, its, _, _, _, _ = HEAD.unpack_from(answer)
        session = its if kind == SESSION else session
        welcome = kind == WELCOME
        if kind == REFUSED:
            sys.exit(answer[HEAD.size:].split(b"\0")[0].decode())
    line.settimeout(30)
    while True:
        answer = line.recv(4096)
        _, _, kind, its, number, time, n, _ = HEAD.unpack_from(answer)
        if kind == GOODBYE:
            return
        if kind == VALUES and its == session:
            u = control(struct.unpack_from(f"<{n}d", answer, HEAD.size))
            send(VALUES, number, time, len(u), payload=struct.pack(f"<{len(u)}d", *u))


main()
