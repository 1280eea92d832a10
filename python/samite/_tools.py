"""The commands samite-aot, samite-cache and samite-info. They run programs that a wheel has beside the library."""

import os
import pathlib
import sys


def _run(name: str) -> None:
    program = pathlib.Path(__file__).parent / "bin" / name
    if not program.exists():
        sys.exit(f"{name} is not in this build of the package, which was made with SAMITE_TOOLS=OFF")
    os.execv(program, [name, *sys.argv[1:]])


def samite_aot() -> None:
    _run("samite-aot")


def samite_cache() -> None:
    _run("samite-cache")


def samite_info() -> None:
    _run("samite-info")
