"""The Python package of kardan. Build it with `make python` in the folder above, or against an installed kardan:

PKG_CONFIG_PATH=PREFIX/lib/pkgconfig pip wheel --no-index --no-build-isolation --no-deps .
"""

import pathlib
import re

from setuptools import setup

version = re.search(r"project\(kardan VERSION ([0-9.]+)", (pathlib.Path(__file__).parent / "../CMakeLists.txt").read_text())

setup(
    name="kardan",
    version=version.group(1) if version else "0",
    description="multibody system dynamics: models in, motion and what it is worth out",
    license="BSD-3-Clause",
    packages=["kardan"],
    package_data={"kardan": ["py.typed", "*.pyi", "kardan-mpi.so"]},
    python_requires=">=3.9",
    install_requires=["numpy", "cffi"],
    cffi_modules=["build_kardan.py:ffi"],
    zip_safe=False,
)
