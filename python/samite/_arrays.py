"""Arrays of any library, as the ready operations see them: describes them, and makes new ones like them."""

from __future__ import annotations

import collections
import sys

from ._errors import missing_package, user_error
from ._samite import layout

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Given", "given", "new", "reshaped", "result", "swapped", "with_type"]

_DIFFERENTIABLE = (  # by samite.torch
    "attention",
    "cross_entropy",
    "group_norm",
    "grouped_mm",
    "layer_norm",
    "matmul",
    "rms_norm",
    "rotary",
    "softmax",
)
_SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # NumPy gets these from ml_dtypes


class Given(collections.namedtuple("Given", "name array dtype shape strides device")):
    """An argument: the array, its element type by name, extents, strides in elements, and CUDA device or -1."""

    __slots__ = ()

    def __str__(self) -> str:
        place = "the CPU" if self.device < 0 else f"cuda:{self.device}"
        return f"{self.name} of {self.dtype} with shape {self.shape} and strides {self.strides} on {place}"

    @property
    def is_transposed(self) -> bool:
        """Whether neighbours in memory are neighbours in a column, not in a row."""
        return len(self.shape) >= 2 and self.strides[-1] != 1 and self.strides[-2] == 1


def given(operation: str, name: str, array: Any) -> Given:
    """Describes an argument. UserError if it is not an array, or is a tensor whose gradient torch would miss."""
    if getattr(array, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        other = f"call samite.torch.{operation}(), or " if operation in _DIFFERENTIABLE else ""
        raise user_error(
            f"samite.{operation}(): argument {name!r} is a tensor that requires a gradient, which torch would not see "
            f"through this call: {other}give tensor.detach(), or call it under torch.no_grad()"
        )
    return Given(name, array, *layout(array, f"samite.{operation}(): argument {name!r}"))


def _module(name: str) -> Any:
    found = sys.modules.get(name)
    if found is None:
        import importlib

        found = importlib.import_module(name)
    return found


def _element(dtype: str) -> Any:
    """NumPy's type of this name."""
    if dtype not in _SMALL:
        return dtype
    try:
        return getattr(_module("ml_dtypes"), dtype)
    except ModuleNotFoundError:
        raise missing_package(f"an array of {dtype} in NumPy", "ml_dtypes", ", or give arrays of torch") from None


_libraries: dict[type, str] = {}


def _library(array: Any) -> str:
    kind = type(array)
    found = _libraries.get(kind)
    if found is None:
        root = kind.__module__.partition(".")[0]
        found = _libraries[kind] = "jax" if root == "jaxlib" else root
    return found


def new(like: Given, shape: Sequence[int], dtype: str, *, zero: bool = False) -> Any:
    """A new array of like's library on its device; for JAX, whose arrays are immutable, an array of NumPy."""
    library = _library(like.array)
    if library == "torch":
        torch = sys.modules["torch"]
        make = torch.zeros if zero else torch.empty
        return make(tuple(shape), dtype=getattr(torch, dtype), device=like.array.device)
    if library == "cupy" or like.device < 0:
        arrays = _module("cupy" if library == "cupy" else "numpy")
        return (arrays.zeros if zero else arrays.empty)(tuple(shape), _element(dtype))
    raise user_error(
        f"no new array can be made like {like}, of {type(like.array).__module__}: its arrays cannot be written on "
        "CUDA, so hand it over to torch or CuPy first, by DLPack"
    )


def result(like: Given, made: Any) -> Any:
    """Converts an array from new() to an array of like's library."""
    if _library(like.array) == "jax":
        return _module("jax.numpy").asarray(made)
    return made


def with_type(array: Any, dtype: str) -> Any:
    """The array with its elements converted."""
    if _library(array) == "torch":
        return array.to(getattr(sys.modules["torch"], dtype))
    return _with_methods(array).astype(_element(dtype))


def _with_methods(array: Any) -> Any:
    """The array, or a NumPy array over it if it has no views of its own, like memoryview and bytes."""
    if hasattr(array, "reshape"):
        return array
    return _module("numpy").asarray(memoryview(array) if isinstance(array, (bytes, bytearray)) else array)


def swapped(what: Given) -> Any:
    """A view of the array with its last two dimensions exchanged."""
    return _with_methods(what.array).swapaxes(-1, -2)


def reshaped(what: Given, *shape: int) -> Any:
    return _with_methods(what.array).reshape(shape)
