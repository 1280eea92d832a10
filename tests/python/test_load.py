"""samite.load(): modules compiled from C++ when they are first asked for."""

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import samite

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("clang++-22", "clang++", "g++"))), reason="there is no C++ compiler"
)

SCALE = """\
#include <samite/python/module.h>
#include <samite/samite.h>

using namespace samite;

Kernel scale{"scale", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
               Int i = thread_index();
               y(i) = x(i) * FACTOR;
             }};

SAMITE_PYTHON_MODULE(scaling, module) { module.def(scale, "y = FACTOR x"); }
"""
IMPORTS = "#include <samite/python/module.h>\n#include <samite/samite.h>\n"


def scaled(module):
    y = np.zeros(3, np.float32)
    module.scale(y, np.arange(3, dtype=np.float32))
    return y.tolist()


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache of the module's tests, so that what is compiled is compiled here."""
    before = os.environ.get("SAMITE_CACHE_DIR")
    os.environ["SAMITE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    del os.environ["SAMITE_CACHE_DIR"]
    if before is not None:
        os.environ["SAMITE_CACHE_DIR"] = before


@pytest.fixture
def source(tmp_path, cache):
    (tmp_path / "factor.h").write_text("#define FACTOR 2.0f\n")
    path = tmp_path / "scale.cpp"
    path.write_text('#include "factor.h"\n' + SCALE)
    return path


def test_a_source_becomes_a_module_that_is_kept(source, monkeypatch):
    module = samite.load(source)
    assert scaled(module) == [0, 2, 4]
    assert module.scale.documentation == "y = FACTOR x"
    assert samite.load(str(source)) is module
    assert "scaling" not in sys.modules

    # Kernels go to other processes, and those that load the same source need no compiler.
    program = f"""
import pickle, numpy as np, samite
module = samite.load({str(source)!r})
y = np.zeros(3, np.float32)
module.scale(y, np.arange(3, dtype=np.float32))
assert pickle.loads({pickle.dumps(module.scale)!r}) is module.scale
print(y.tolist())
"""
    monkeypatch.setenv("CXX", "/nowhere/c++")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "[0.0, 2.0, 4.0]\n", ran.stderr
    monkeypatch.setenv("SAMITE_CACHE_DIR", str(source.parent / "another"))
    restore = f"import pickle; pickle.loads({pickle.dumps(module.scale)!r})"
    ran = subprocess.run([sys.executable, "-c", restore], capture_output=True, text=True)
    assert "the module 'scaling' was compiled by samite.load() in another process" in ran.stderr

    # Another content is another module, whatever its name.
    monkeypatch.delenv("CXX")
    (source.parent / "factor.h").write_text("#define FACTOR 3.0f\n")
    edited = samite.load(source)
    assert scaled(edited) == [0, 3, 6] and scaled(module) == [0, 2, 4]


def test_a_text_becomes_a_module_and_flags_are_given_on(cache):
    assert scaled(samite.load(source=SCALE, flags=["-DFACTOR=5.0f"])) == [0, 5, 10]


def test_errors_name_the_users_lines(tmp_path, cache):
    path = tmp_path / "wrong.cpp"
    path.write_text(SCALE.replace("FACTOR;", "factor;"))
    text = message(lambda: samite.load(path))
    assert f"{path}:8:" in text and "factor" in text and "test_load.py:" in text.splitlines()[-1]
    text = message(lambda: samite.load(source="\nSAMITE_PYTHON_MODULE(wrong, module) { module.def(nothing); }"))
    assert "<source>:2:" in text


def test_errors_of_a_kernel_name_the_users_lines(tmp_path, cache):
    path = tmp_path / "throws.cpp"
    path.write_text(IMPORTS + 'SAMITE_PYTHON_MODULE(throws, module) { throw samite::UserError("not today"); }\n')
    assert "not today" in message(lambda: samite.load(path), ImportError)


def test_what_is_no_source_of_a_module(tmp_path, monkeypatch):
    assert "cannot read" in message(lambda: samite.load(tmp_path / "none.cpp"))
    assert "has no SAMITE_PYTHON_MODULE" in message(lambda: samite.load(source="int main() {}"))
    twice = "SAMITE_PYTHON_MODULE(a, m) {}\nSAMITE_PYTHON_MODULE(b, m) {}\n// SAMITE_PYTHON_MODULE(c, m) {}"
    assert "has 2 SAMITE_PYTHON_MODULE" in message(lambda: samite.load(source=twice))
    assert "expects the path" in message(lambda: samite.load(), TypeError)
    assert "expects the path" in message(lambda: samite.load("a.cpp", source=""), TypeError)


def test_a_compiler_that_is_missing(tmp_path, monkeypatch):
    text = "SAMITE_PYTHON_MODULE(a, m) {}"
    monkeypatch.setenv("SAMITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", "/nowhere/c++ -O3")
    assert "cannot run the compiler /nowhere/c++" in message(lambda: samite.load(source=text))
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt install g++" in message(lambda: samite.load(source=text))
