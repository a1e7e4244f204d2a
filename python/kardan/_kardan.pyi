# The compiled part: the public C interface of kardan through cffi. Use the package, not this.
from typing import Any

ffi: Any
lib: Any
