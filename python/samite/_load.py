"""samite.load(): a module of kernels from a C++ source, compiled when it is first needed."""

from __future__ import annotations

import threading

from ._errors import user_error
from ._samite import cache_find, cache_key, cache_publish, library_build, library_file, version

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from types import ModuleType

__all__ = ["load", "restore"]

_PACKAGE = "samite._loaded"  # the prefix of loaded modules' names
_COMPILERS = ("clang++-22", "clang++", "g++")

_lock = threading.RLock()
# Loaded modules by key, with the hashes of the headers that each was compiled with.
_modules: dict[str, tuple[ModuleType, dict[str, str]]] = {}


def load(
    path: str | PathLike[str] | None = None,
    *,
    source: str | None = None,
    flags: Sequence[str] = (),
    compiler: str | None = None,
) -> ModuleType:
    """Loads a module of kernels from a C++ source, given by path or as text. The source ends in SAMITE_PYTHON_MODULE:

        kernels = samite.load("kernels.cpp")
        kernels.diffuse(next, now, rate=0.2)

    The compiler is `compiler`, or the environment's CXX, or the first of clang++-22, clang++ and g++ that is installed;
    it also gets `flags`. The cache on disk keeps the result. Later loads reuse it, without a compiler, while the
    source, the headers that it includes, the flags and the library stay the same. Loading the same content again in
    one process returns the same module.

    UserError with the compiler's messages if the source does not compile; ImportError if the module's body throws.
    """
    name, text, folder = _source_of(path, source)
    flags = list(flags)
    module = _module_name(name, text)
    key = cache_key(["module", version, library_build(), _machine(), name, folder, compiler or "", *flags, text])
    with _lock:
        if key in _modules and _is_current(_modules[key][1]):
            return _modules[key][0]
        entry = cache_find(key)
        if entry is None or not _is_current(_split(entry)[0]):
            entry = _entry(*_compile(name, text, folder, flags, compiler))
            cache_publish(key, entry)
        return _open(key, module, entry)


def restore(module: str) -> ModuleType:
    """For pickle: loads the module of this name, which another process has loaded."""
    key, name = module[len(_PACKAGE) + 1 :].split(".")
    key = key.removeprefix("_")
    with _lock:
        if key in _modules:
            return _modules[key][0]
        entry = cache_find(key)
        if entry is None:
            raise user_error(
                f"the module '{name}' was compiled by samite.load() in another process, and the cache on disk does not "
                "have it: call samite.load() with the same source here first"
            )
        return _open(key, name, entry)


def _machine() -> str:
    import platform

    return platform.machine()


def _source_of(path: str | PathLike[str] | None, source: str | None) -> tuple[str, str, str]:
    """The source's name in messages, its text, and the folder of its own headers."""
    import os

    if (path is None) == (source is None):
        raise TypeError("samite.load() expects the path of a C++ source, or its text as source=...")
    if source is not None:
        return "<source>", source, os.getcwd()
    assert path is not None
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            return name, file.read(), os.path.dirname(os.path.abspath(name))
    except (OSError, UnicodeDecodeError) as error:
        raise user_error(f"samite.load(): cannot read {name}: {error}") from None


def _module_name(name: str, text: str) -> str:
    import re

    without_comments = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"\bSAMITE_PYTHON_MODULE\s*\(\s*(\w+)\s*,", without_comments)
    if len(found) == 1:
        return found[0]
    example = "SAMITE_PYTHON_MODULE(my_kernels, module) { module.def(my_kernel); }"
    raise user_error(
        f"samite.load(): {name} has {len(found) or 'no'} SAMITE_PYTHON_MODULE, and exactly one is expected, which "
        f"names the module and its kernels: {example}"
    )


def _compile(name: str, text: str, folder: str, flags: list[str], chosen: str | None) -> tuple[bytes, list[str]]:
    """The shared object, and the user's headers that it depends on."""
    import os
    import subprocess
    import tempfile

    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
    if not os.path.isdir(include):
        raise user_error(f"samite.load() needs the C++ headers of the package, and there is no {include}")
    compiler = _compiler(chosen)
    library = library_file()
    with tempfile.TemporaryDirectory(prefix="samite-load-") as scratch:
        result, dependencies = os.path.join(scratch, "module.so"), os.path.join(scratch, "module.d")
        command = [
            *compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-fdiagnostics-color=never",
            "-ftemplate-backtrace-limit=1", f'-DSAMITE_PYTHON_VERSION="{version}"', "-isystem", include,
            "-iquote", folder, "-MMD", "-MF", dependencies, *flags, "-x", "c++", "-", "-x", "none",
            library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o", result,
        ]  # fmt: skip
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        try:
            ran = subprocess.run(
                command, input=f'#line 1 "{quoted}"\n{text}', capture_output=True, text=True, errors="replace"
            )
        except OSError as error:
            raise user_error(f"samite.load(): cannot run the compiler {compiler[0]}: {error.strerror}") from None
        if ran.returncode != 0:
            raise user_error(f"samite.load({name!r}): {compiler[0]} does not compile it:\n{ran.stderr.strip()}")
        with open(result, "rb") as file:
            image = file.read()
        with open(dependencies, encoding="utf-8", errors="surrogateescape") as file:
            return image, _headers(file.read(), folder)


def _compiler(chosen: str | None) -> list[str]:
    import os
    import shlex
    import shutil

    named = chosen or os.environ.get("CXX")
    if named:
        return shlex.split(named)
    for each in _COMPILERS:
        if shutil.which(each):
            return [each]
    raise user_error(
        f"samite.load() needs a C++20 compiler, and none of {', '.join(_COMPILERS)} is installed: on Debian or "
        "Ubuntu `apt install g++`, on Fedora `dnf install gcc-c++`, with conda `conda install -c conda-forge gxx`; or name one "
        "by compiler= or by CXX"
    )


def _headers(rules: str, folder: str) -> list[str]:
    """The prerequisites of a make rule, as absolute paths."""
    import os
    import re

    words = re.split(r"(?<!\\)\s+", rules.partition(":")[2].replace("\\\n", " ").strip())
    paths = [word.replace("\\ ", " ").replace("$$", "$") for word in words if word and word != "-"]
    return sorted({os.path.abspath(path) for path in paths if path not in ("<stdin>", os.devnull)})


def _hash(path: str) -> str:
    """The hash of the file's content; empty if the file cannot be read."""
    import hashlib

    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _entry(image: bytes, headers: list[str]) -> bytes:
    import json

    head = json.dumps({path: _hash(path) for path in headers}).encode()
    return len(head).to_bytes(8, "little") + head + image


def _split(entry: bytes) -> tuple[dict[str, str], bytes]:
    import json

    size = int.from_bytes(entry[:8], "little")
    return json.loads(entry[8 : 8 + size]), entry[8 + size :]


def _is_current(headers: dict[str, str]) -> bool:
    return all(_hash(path) == known for path, known in headers.items())


def _open(key: str, name: str, entry: bytes) -> ModuleType:
    """Imports the module under a unique name, so that it does not replace another module."""
    import importlib.machinery
    import importlib.util
    import os
    import tempfile

    headers, image = _split(entry)
    full_name = f"{_PACKAGE}._{key}.{name}"
    with tempfile.TemporaryDirectory(prefix="samite-load-") as scratch:
        path = os.path.join(scratch, f"{name}.abi3.so")
        with open(path, "wb") as file:
            file.write(image)
        loader = importlib.machinery.ExtensionFileLoader(full_name, path)
        spec = importlib.util.spec_from_file_location(full_name, path, loader=loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    _modules[key] = module, headers
    return module
