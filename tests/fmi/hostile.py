#!/usr/bin/python3
"""FMUs that mean harm, or are broken in a way of their own. Usage: hostile.py KARDAN GOOD.fmu (FMI 3.0, both kinds) [CC].
Every one must be a message and an exit status, in time, and nothing may be written outside of the folder that it runs in. Prints a line
for each kind; exit status 1: one was taken, hung, crashed or wrote."""
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime"))
from strict import ALL3  # noqa: E402

PATIENCE = 60


def rebuilt(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


def described(files, change):
    files = dict(files)
    files["modelDescription.xml"] = change(files["modelDescription.xml"].decode()).encode()
    return rebuilt(files)


def with_name(files, name, mode=0o644, data=b"x"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for n, d in files.items():
            z.writestr(n, d)
        info = zipfile.ZipInfo(name)
        info.filename = name  # as it is
        info.external_attr = mode << 16
        z.writestr(info, data)
    return out.getvalue()


def patched(data, at, form, value):
    """A field of the last central directory entry, or of the end record where at < 0"""
    data = bytearray(data)
    end = data.rfind(b"PK\5\6")
    place = end - at if at < 0 else data.rfind(b"PK\1\2", 0, end) + at
    struct.pack_into(form, data, place, value)
    return bytes(data)


def kinds(files, cc):
    d = files["modelDescription.xml"].decode()
    binary = next(n for n in files if n.startswith("binaries/x86_64-linux/"))
    good = rebuilt(files)
    yield "path upwards", with_name(files, "resources/../../../escape.txt")
    yield "absolute path", with_name(files, "/tmp/kardan-hostile-escape.txt")
    yield "backslashes", with_name(files, "resources\\..\\..\\escape.txt")
    yield "drive letter", with_name(files, "C:/escape.txt")
    yield "link to outside", with_name(files, "resources/link", 0o120777, b"/etc/passwd")
    yield "device", with_name(files, "resources/null", 0o020666)
    yield "name with a control character", with_name(files, "resources/a\nb\x1b[31m")
    yield "one name twice", with_name(files, "modelDescription.xml", data=d.encode())
    yield "file as folder", with_name(with_parts(files, {"resources/a": b"1"}), "resources/a/b")
    yield "very long name", with_name(files, "resources/" + "a" * 60000)
    yield "bomb", rebuilt({**files, "resources/bomb": bytes(1100 << 20)})
    yield "size that is not true", patched(good, 24, "<I", 1 << 30)
    yield "compressed size beyond the end", patched(good, 20, "<I", 1 << 30)
    yield "offset beyond the end", patched(good, 42, "<I", 1 << 30)
    yield "count of entries", patched(good, -10, "<H", 60000)
    yield "overlapping entries", patched(good, 42, "<I", 0)
    yield "wrong checksum", patched(good, 16, "<I", 12345)
    yield "unknown compression", patched(good, 10, "<H", 99)
    yield "cut off", good[:len(good) * 2 // 3]
    yield "no archive", b"PK\5\6" + bytes(18)[:10]
    yield "empty", b""
    yield "no description", rebuilt({n: x for n, x in files.items() if n != "modelDescription.xml"})
    yield "billion laughs", described(files, lambda t: re.sub(
        r"<fmiModelDescription", '<!DOCTYPE a [<!ENTITY a "ha">' + "".join(
            f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 20}">' for i in range(12)) + "]><fmiModelDescription", t, count=1)
        .replace('description="', 'description="&m;', 1))
    yield "entity of a file", described(files, lambda t: t.replace(
        "<fmiModelDescription", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><fmiModelDescription', 1).replace(
            'description="', 'description="&x;', 1))
    yield "depth", described(files, lambda t: t.replace("<ModelVariables>", "<ModelVariables>" + "<a>" * 100000, 1))
    yield "not XML", described(files, lambda t: t[:len(t) // 2])
    yield "no such version", described(files, lambda t: t.replace('fmiVersion="3.0"', 'fmiVersion="7.1"'))
    yield "identifier with a path", described(files, lambda t: re.sub(r'modelIdentifier="[^"]*"', 'modelIdentifier="../../../../bin/sh"', t))
    yield "reference twice", described(files, lambda t: t.replace('valueReference="4"', 'valueReference="3"', 1))
    yield "reference that is none", described(files, lambda t: re.sub(r'(<Output valueReference=)"3"', r'\1"77777"', t, count=1))
    yield "number of a state that is none", described(files, lambda t: re.sub(r'derivative="[0-9]+"', 'derivative="99999999999999999999"', t))
    yield "start that is no number", described(files, lambda t: re.sub(r'start="[^"]*"', 'start="nan0x"', t))
    yield "step of zero", described(files, lambda t: re.sub(r'stepSize="[^"]*"', 'stepSize="0"', t))
    yield "stop at infinity", described(files, lambda t: re.sub(r'stopTime="[^"]*"', 'stopTime="INF"', t))
    yield "wrong token", described(files, lambda t: re.sub(r'instantiationToken="[^"]*"', 'instantiationToken="{0}"', t))
    yield "binary that is none", rebuilt({**files, binary: b"#!/bin/sh\necho bad > escape.txt\n"})
    yield "no binary", rebuilt({n: x for n, x in files.items() if not n.startswith("binaries/")})
    for name, code in (CODES if cc else {}).items():
        yield name, rebuilt({**files, binary: compiled(cc, code)})


def with_parts(files, more):
    return {**files, **more}


HEAD = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <signal.h>\n#include <stdio.h>\n"
BASE = """void *fmi3InstantiateCoSimulation(void) { return malloc(1); } void *fmi3InstantiateModelExchange(void) { return malloc(1); }
const char *fmi3GetVersion(void) { return "3.0"; } void fmi3FreeInstance(void *c) {}
"""
OWN = {"InstantiateCoSimulation", "InstantiateModelExchange", "GetVersion", "FreeInstance"}
BASE += "".join(f"__attribute__((weak)) int fmi3{n}(void *c) {{ return 0; }}\n" for n in ALL3 if n not in OWN | {"EnterInitializationMode"})
CODES = {
    "crash when it is loaded": "__attribute__((constructor)) static void f(void) { *(volatile int *)0 = 1; }" + BASE,
    "end when it is loaded": "__attribute__((constructor)) static void f(void) { _exit(0); }" + BASE,
    "hangs when it is loaded": "__attribute__((constructor)) static void f(void) { for (;;) pause(); }" + BASE,
    "overflow of the stack": BASE + "int enter(void *c) { volatile char a[1 << 16]; a[0] = 1; "
                             "return enter(c) + a[0]; }",
    "stops itself": BASE + "int enter(void *c) { raise(SIGSTOP); return 0; }",
    "writes into all open files": BASE + "int enter(void *c) { for (int i = 1; i < 64; i++) "
                                  "if (write(i, \"garbage garbage garbage\", 23) < 0) continue; return 0; }",
    "closes all files": BASE + "int enter(void *c) { for (int i = 0; i < 1024; i++) close(i); return 0; }",
}


def compiled(cc, code):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/a.c", "w", encoding="utf-8") as file:
            if "int enter(" not in code:
                code += "int enter(void *c) { return 0; }"
            file.write(HEAD + code.replace("int enter(", "int fmi3EnterInitializationMode(").replace(
                "return enter(", "return fmi3EnterInitializationMode("))
        subprocess.run([cc, "-w", "-shared", "-fPIC", "-o", folder + "/a.so", folder + "/a.c"], check=True)
        with open(folder + "/a.so", "rb") as file:
            return file.read()


def listing(folder):
    return sorted(os.path.join(r, f) for r, _, names in os.walk(folder) for f in names)


def judge(kardan, data, home):
    """What is wrong with the answers; "" nothing. And the first message"""
    path = home + "/run/bad.fmu"
    with open(path, "wb") as file:
        file.write(data)
    before, first, refused = listing(home), "", 0
    for words in (["info"], ["check"], ["simulate", "--timeout", "3"]):
        try:
            answer = subprocess.run([kardan, "fmu", words[0], path, *words[1:]], capture_output=True, cwd=home + "/run", timeout=PATIENCE,
                                    env={**os.environ, "TMPDIR": home + "/tmp"}, check=False)
        except subprocess.TimeoutExpired:
            return f"{words[0]} hangs", first
        text = (answer.stderr + answer.stdout).decode(errors="replace")
        if answer.returncode < 0 or answer.returncode > 3:
            return f"{words[0]} ended with {answer.returncode}: {text[:200]}", first
        if "root:" in text:
            return f"{words[0]} shows a file of the system", first
        if "\x1b[31m" in text or "\nb" in text and "a\nb" in text:
            return f"{words[0]} prints control characters of the archive", first
        if answer.returncode != 0:
            refused += 1
            if not text.strip():
                return f"{words[0]} fails without a word", first
            first = first or next(x for x in text.splitlines() if x.strip())
        written = set(listing(home)) - set(before)
        if any(not x.startswith(home + "/tmp/") or "escape" in x for x in written) or os.path.exists("/tmp/kardan-hostile-escape.txt"):
            return f"{words[0]} wrote {sorted(written)[:3]}", first
        if written:
            return f"{words[0]} left {sorted(written)[:3]}", first
    return ("" if refused else "it was taken"), first


def main():
    kardan, wrong = os.path.abspath(sys.argv[1]), 0
    with zipfile.ZipFile(sys.argv[2]) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    for name, data in kinds(files, sys.argv[3] if len(sys.argv) > 3 else None):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(home + "/run"), os.mkdir(home + "/tmp")
            fault, message = judge(kardan, data, home)
        wrong += fault != ""
        print(f"{'WRONG ' + fault if fault else 'good'}: {name}: {message[:150]}", flush=True)
    sys.exit(int(wrong > 0))


main()
