"""What the files of the package ask of a machine, as auditwheel and abi3audit would ask it of a wheel."""

import glob
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels

if not shutil.which("readelf"):
    pytest.skip("there is no readelf: install binutils", allow_module_level=True)

# What docs/python.md says that a machine has, and what every Linux has.
KNOWN = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
    "ld-linux-x86-64.so.2", "libfmt.so.9", "libtbb.so.12", "libxxhash.so.0", "libsamite.so.0", "libsamite_ops.so.0",
}  # fmt: skip


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def needed(path):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", path)))


def undefined(path):
    """Symbols that another file has to have, with their versions."""
    rows = [row.split() for row in readelf("--dyn-syms", path).splitlines()]
    return {row[7] for row in rows if len(row) > 7 and row[6] == "UND"}


def loaded(name):
    """Files of the process: all of them are open once a kernel has run."""
    kernels.axpy(np.zeros(3), np.zeros(3), 1.0)
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    return sorted(path for path in paths if os.path.basename(path).startswith(name))


def files():
    return loaded("_samite.") + loaded("libsamite.") + loaded("libsamite_ops.") + loaded("samite_test_kernels.")


def test_no_driver_and_no_framework_is_linked():
    assert len(files()) == 4
    for path in files():
        assert needed(path) <= KNOWN, path
    for path in glob.glob(os.path.join(os.path.dirname(loaded("libsamite.")[0]), "libsamite_clang.so")):
        extra = {each for each in needed(path) - KNOWN if not each.startswith(("libLLVM", "libclang-cpp"))}
        assert extra <= {"libz.so.1", "libzstd.so.1"}, path  # which LLVM needs, too


def test_only_the_compiler_plug_in_links_the_compiler():
    for path in files():
        assert not {each for each in needed(path) if each.startswith(("libLLVM", "libclang"))}, path


def test_a_users_module_asks_one_function_of_python():
    (path,) = loaded("samite_test_kernels.")
    assert {each for each in undefined(path) if each.startswith(("Py", "_Py"))} == {"PyCapsule_Import"}


def test_the_c_library_may_be_that_of_debian_12():
    for path in files():
        found = re.findall(r"@GLIBC_([\d.]+)", " ".join(undefined(path)))
        assert max(tuple(map(int, version.split("."))) for version in found) <= (2, 36), path


def test_the_files_are_small():
    folder = os.path.dirname(loaded("libsamite.")[0])
    paths = [*loaded("_samite."), *loaded("libsamite."), *glob.glob(os.path.join(folder, "libsamite_clang.so"))]
    # A wheel compresses them, and has the headers beside them, which are less than 2 MB.
    assert sum(os.path.getsize(path) for path in paths) < 58 << 20


def test_it_imports_no_framework():
    program = "import sys, samite; print([each for each in ('numpy', 'torch', 'jax', 'typing') if each in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
