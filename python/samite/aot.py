"""Kernels of an archive that was compiled ahead of time: they need neither a compiler nor their original modules.

    kernels = samite.aot.open("kernels.samite")
    kernels.scale(y, x, factor=3.0, extents=y.shape)

samite.torch.function() and samite.jax.function() take them like kernels of a module: with a gradient if the archive has
the adjoint, also under torch.compile and jax.jit.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._errors import missing_package, user_error
from ._samite import Parameter, archived_adjoints, archived_kernel, open_archive

__all__ = ["Archive", "Kernel", "open"]


class Kernel:
    """A kernel of an archive. Call it with its arguments and the extents of the launch, which are never guessed."""

    is_tile_kernel = True  # an archive does not tell, so extents are never guessed

    def __init__(self, name: str, active: Sequence[int] = ()) -> None:
        self.archived = archived_kernel(name, list(active))
        self._active = tuple(active)
        self.name: str = name if not active else f"{name}_adjoint"
        self.launch_rank: int = self.archived.launch_rank
        self.parameters: list[Parameter] = self.archived.parameters

    def __call__(self, *positional: Any, extents: Any, stream: Any = None, **named: Any) -> None:
        names = [each.name for each in self.parameters]
        if len(positional) > len(names):
            raise TypeError(f"{self.name}() takes {len(names)} arguments; {len(positional)} are given")
        given = dict(zip(names, positional))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{self.name}() has no argument {name!r}")
            if name in given:
                raise TypeError(f"{self.name}(): argument {name!r} is given twice")
            given[name] = value
        for name in names:
            if name not in given:
                raise TypeError(f"{self.name}(): argument {name!r} is missing")
        over = [operator.index(each) for each in _each(extents)]
        if len(over) != self.launch_rank or min(over) < 0:
            raise user_error(f"{self.name}(): extents expects {self.launch_rank} sizes; {tuple(over)} is given")
        arguments = [
            given[each.name] if each.rank else self.bits(i, given[each.name]) for i, each in enumerate(self.parameters)
        ]
        self.archived.launch(over, arguments, stream)

    def bits(self, index: int, value: Any) -> int:
        """The bits of a number in the parameter's type."""
        parameter = self.parameters[index]
        refused = f"{self.name}(): argument {parameter.name!r} expects a number, as a {parameter.dtype}; "
        refused += f"{value!r} is given"
        dtype = _dtype(parameter.dtype)
        if parameter.dtype == "bool":
            if not isinstance(value, (bool, np.bool_)):
                raise user_error(refused + ": give True or False")
        elif parameter.dtype.startswith(("int", "uint")):
            try:
                value = operator.index(value)
            except TypeError:
                raise user_error(refused) from None
            limits = np.iinfo(dtype)
            if not limits.min <= value <= limits.max:
                raise user_error(refused + f", which is not between {limits.min} and {limits.max}")
        else:
            try:
                value = float(value)
            except (TypeError, ValueError):
                raise user_error(refused) from None
        with np.errstate(over="ignore"):
            made = np.asarray(value, dtype)
        if isinstance(value, float) and math.isfinite(value) and not math.isfinite(float(made)):
            raise user_error(refused + ", which is too large for it")
        return int.from_bytes(made.tobytes(), "little")

    def signed_bits(self, index: int, value: Any) -> int:
        """The same bits as a signed integer of 64 bits."""
        bits = self.bits(index, value)
        return bits - (1 << 64) if bits >> 63 else bits

    def adjoint(self, *names: str) -> Kernel:
        """The adjoint with respect to arrays of these names: its arguments are this kernel's, then a gradient for each.

        The adjoint uses up the gradients of arrays that the kernel writes, and adds to the others. UserError unless the
        archive has the adjoint for exactly these arrays.
        """
        places = sorted(self._place(name) for name in names)
        if places not in self._adjoints():
            raise self._no_adjoint(names)
        return Kernel(self.name, places)

    def active_for(self, names: Sequence[str]) -> tuple[str, ...]:
        """The arrays, in parameter order, of the archive's smallest adjoint that includes these."""
        wanted = {self._place(name) for name in names}
        serving = [each for each in self._adjoints() if wanted <= set(each)]
        if not serving:
            raise self._no_adjoint(names)
        return tuple(self.parameters[each].name for each in min(serving, key=len))

    def _place(self, name: str) -> int:
        for i, each in enumerate(self.parameters):
            if each.name == name and each.rank:
                return i
        raise user_error(f"{self.name}() has no array {name!r}")

    def _adjoints(self) -> list[list[int]]:
        return [] if self._active else archived_adjoints(self.name)

    def _no_adjoint(self, names: Sequence[str]) -> Exception:
        there = ", ".join(f"({','.join(self.parameters[i].name for i in each)})" for each in self._adjoints()) or "none"
        return user_error(
            f"{self.name}(): the open archives have no adjoint for ({','.join(names)}); they have {there}. Add it with "
            f"ADJOINTS {self.name}({','.join(names)}) in samite_add_kernels(), or with SAMITE_AOT_ADJOINTS"
        )

    def __repr__(self) -> str:
        def type_of(each: Parameter) -> str:
            return each.dtype + (f"[{', '.join(':' * each.rank)}]" if each.rank else "")

        taken = ", ".join(f"{each.name}: {type_of(each)}" for each in self.parameters)
        return f"<samite.aot.Kernel {self.name}({taken})>"


class Archive:
    """The kernels of an archive, as attributes and as items by name."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._names: list[str] = open_archive(path)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._names:
            there = ", ".join(self._names) or "no kernel that can be launched without its source"
            raise AttributeError(f"the archive {self._path} has no kernel {name!r}; it has {there}")
        return Kernel(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __dir__(self) -> list[str]:
        return self._names

    def __repr__(self) -> str:
        return f"<samite.aot.Archive {self._path}: {', '.join(self._names)}>"


def open(path: str | os.PathLike[str]) -> Archive:
    """Opens an archive that samite_add_kernels() or SAMITE_AOT_RECORD made.

    UserError if the archive cannot be read, is damaged, or has another version. Kernels of modules find their images in
    it, too.
    """
    return Archive(os.fspath(path))


def _each(extents: Any) -> Sequence[Any]:
    try:
        return tuple(extents)
    except TypeError:
        return (extents,)


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            raise missing_package(f"a number of {name}", "ml_dtypes") from None
        return np.dtype(getattr(ml_dtypes, name))
