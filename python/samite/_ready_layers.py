"""Ready operations on arrays of any library, beside samite/ready.py: rms_norm, group_norm, cross_entropy, rotary."""

from __future__ import annotations

import functools
import math

from ._arrays import Given, given, new, reshaped, result, with_type
from ._errors import user_error
from .ready import _as_rows, _expect, _one_device, _output, _ready, _refuse, _returned, _rows

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from typing import Any

__all__ = ["cross_entropy", "group_norm", "rms_norm", "rotary"]

# Each returns the kernel and the extents of its launch, for arguments of the given types and extents.
_rms_norm = functools.lru_cache(4096)(_ready.rms_norm)
_rms_norm_adjoint = functools.lru_cache(4096)(_ready.rms_norm_adjoint)
_group_norm = functools.lru_cache(4096)(_ready.group_norm)
_group_norm_adjoint = functools.lru_cache(4096)(_ready.group_norm_adjoint)
_cross_entropy = functools.lru_cache(4096)(_ready.cross_entropy)
_cross_entropy_adjoint = functools.lru_cache(4096)(_ready.cross_entropy_adjoint)
_rotary = functools.lru_cache(4096)(_ready.rotary)


def _sums(dtype: str) -> str:
    """The type in which elements of this type are summed."""
    return "float64" if dtype == "float64" else "float32"


def _numbers(operation: str, what: Given, name: str, array: Any, shape: tuple[int, ...], otherwise: int | None) -> Any:
    """An argument in the type of x's sums; if none is given, an array filled with `otherwise`."""
    sums = _sums(what.dtype)
    if array is None and otherwise is not None:
        array = new(what, shape, sums)
        array[...] = otherwise
        return array
    each = given(operation, name, array)
    _expect(operation, each, each.dtype, shape, what)
    _one_device(operation, what, each)
    return array if each.dtype == sums else with_type(array, sums)


def rms_norm(x: Any, weight: Any = None, *, epsilon: float = 1e-6, out: Any = None, stream: Any = None) -> Any:
    """x / sqrt(mean(x * x) + epsilon) * weight, along the last dimension; x is float16, bfloat16, float32 or float64.
    The weight has a number for each element of a row, and is read as float32, or as float64 if x is float64."""
    what = given("rms_norm", "x", x)
    if not what.shape:
        _refuse("rms_norm", "expected an array with a dimension", what)
    rows, columns = _rows(what.shape)
    kernel, extents = _rms_norm(what.dtype, weight is not None, rows, columns, what.device)
    y = _output("rms_norm", out, what, what.dtype, what.shape)
    extras = [] if weight is None else [_numbers("rms_norm", what, "weight", weight, (columns,), 1)]
    if rows and columns:
        target = _as_rows("rms_norm", y, rows, columns)
        kernel(reshaped(what, rows, columns), *extras, target, epsilon, extents=extents, stream=stream)
    return _returned(out, what, y)


def rms_norm_adjoint(x: Any, weight: Any, cotangent: Any, *, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """The gradients of x and of the weight, for the gradient `cotangent` of rms_norm's result. The weight has the type
    of the sums, or is None."""
    what, of_y = given("rms_norm", "x", x), given("rms_norm", "cotangent", cotangent)
    _expect("rms_norm", of_y, what.dtype, what.shape, what)
    rows, columns = _rows(what.shape)
    kernel, extents = _rms_norm_adjoint(what.dtype, weight is not None, rows, columns, what.device)
    of_x = new(what, (rows, columns), what.dtype)
    of_weight = None if weight is None else new(what, (columns,), _sums(what.dtype), zero=True)
    if rows and columns:
        matrices = [reshaped(what, rows, columns), reshaped(of_y, rows, columns), of_x]
        weights = ([], []) if weight is None else ([weight], [of_weight])
        kernel(matrices[0], *weights[0], *matrices[1:], *weights[1], epsilon, extents=extents)
    return result(what, of_x.reshape(what.shape)), None if of_weight is None else result(what, of_weight)


def _channels(operation: str, what: Given, groups: int) -> tuple[int, int, int, int]:
    """Batches, groups, channels per group, and places of an array of (batches, channels, …)."""
    if len(what.shape) < 2:
        _refuse(operation, "expected an array of (batches, channels, ...)", what)
    if not isinstance(groups, int) or groups < 1 or what.shape[1] % groups:
        _refuse(operation, f"expected a number of groups that divides the channels; {groups!r} is given", what)
    return what.shape[0], groups, what.shape[1] // groups, math.prod(what.shape[2:])


def _places(operation: str, y: Any, shape: tuple[int, int, int]) -> Any:
    """A view of an array of (batches, channels, …) with three dimensions."""
    what = given(operation, "out", y)
    if len(what.shape) == 3:
        return y
    if what.strides != tuple(math.prod(what.shape[d + 1 :]) for d in range(len(what.shape))):
        _refuse(operation, "expected out that lies row by row without gaps, or with three dimensions", what)
    return reshaped(what, *shape)


def group_norm(
    x: Any,
    groups: int,
    weight: Any = None,
    bias: Any = None,
    *,
    epsilon: float = 1e-5,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, with the mean and the variance of each group of
    consecutive channels; x is (batches, channels, ...), of float16, bfloat16, float32 or float64. Weight and bias have
    a number for each channel, and are read as float32, or as float64 if x is float64."""
    what = given("group_norm", "x", x)
    shape = _channels("group_norm", what, groups)
    kernel, extents = _group_norm(what.dtype, shape, what.device)
    y = _output("group_norm", out, what, what.dtype, what.shape)
    flat = (shape[0], what.shape[1], shape[3])
    extras = [
        _numbers("group_norm", what, name, array, what.shape[1:2], otherwise)
        for name, array, otherwise in (("weight", weight, 1), ("bias", bias, 0))
    ]
    if 0 not in what.shape:
        target = _places("group_norm", y, flat)
        kernel(reshaped(what, *flat), *extras, target, epsilon, extents=extents, stream=stream)
    return _returned(out, what, y)


def group_norm_adjoint(
    x: Any, groups: int, weight: Any, cotangent: Any, *, epsilon: float = 1e-5
) -> tuple[Any, Any, Any]:
    """The gradients of x, the weight and the bias, for the gradient `cotangent` of group_norm's result. The weight has
    the type of the sums."""
    what, of_y = given("group_norm", "x", x), given("group_norm", "cotangent", cotangent)
    _expect("group_norm", of_y, what.dtype, what.shape, what)
    shape = _channels("group_norm", what, groups)
    kernel, extents = _group_norm_adjoint(what.dtype, shape, what.device)
    flat = (shape[0], what.shape[1], shape[3])
    of_x = new(what, flat, what.dtype)
    of_weight, of_bias = (new(what, what.shape[1:2], _sums(what.dtype), zero=True) for _ in range(2))
    if 0 not in what.shape:
        matrices = [reshaped(what, *flat), weight, reshaped(of_y, *flat), of_x]
        kernel(*matrices, of_weight, of_bias, epsilon, extents=extents)
    return result(what, of_x.reshape(what.shape)), result(what, of_weight), result(what, of_bias)


def _targets(x: Any, targets: Any) -> tuple[Given, Given, int, int]:
    """The logits, the targets, and the numbers of rows and classes."""
    what, classes = given("cross_entropy", "logits", x), given("cross_entropy", "targets", targets)
    if not what.shape:
        _refuse("cross_entropy", "expected logits with a dimension of classes", what)
    rows, columns = _rows(what.shape)
    if classes.dtype not in ("int32", "int64"):
        _refuse("cross_entropy", "expected targets of int32 or int64, the numbers of classes", classes, what)
    _expect("cross_entropy", classes, classes.dtype, what.shape[:-1], what)
    _one_device("cross_entropy", what, classes)
    if rows and not columns:
        _refuse("cross_entropy", "expected logits with classes to choose from", what)
    return what, classes, rows, columns


def _smoothing(smoothing: float) -> float:
    if not 0 <= smoothing <= 1:
        raise user_error(f"samite.cross_entropy(): expected smoothing from 0 to 1; {smoothing!r} is given")
    return smoothing


def cross_entropy(
    logits: Any,
    targets: Any,
    *,
    reduction: str = "mean",
    smoothing: float = 0.0,
    ignored: int = -100,
    row_sums: Any = None,
    stream: Any = None,
) -> Any:
    """-log(softmax(logits)[target]) along the last dimension. The logits are float16, bfloat16, float32 or float64, the
    targets int32 or int64. It reads the logits once, and allocates no array of their size.

    `reduction` is "mean", over the targets that are not `ignored`, "sum" or "none". `smoothing` is the share of a
    target that moves to all classes. The loss is float32, or float64 if the logits are float64. A target that is
    neither a class nor ignored gives NaN. If `row_sums` is given, of the loss's type with one element for each row, it
    receives log(sum(exp(logits))), for the adjoint.
    """
    what, classes, rows, columns = _targets(logits, targets)
    launches = _cross_entropy(what.dtype, classes.dtype, reduction, rows, columns, what.device)
    dtype, number = _sums(what.dtype), _smoothing(smoothing)
    sums = _output("cross_entropy", row_sums, what, dtype, (rows,))
    losses = new(what, (rows,), dtype)
    if rows:
        arrays = (reshaped(what, rows, columns), reshaped(classes, rows))
        kernel, extents = launches[0]
        kernel(*arrays, losses, sums, number, ignored, extents=extents, stream=stream)
    if reduction == "none":
        return result(what, losses.reshape(classes.shape))
    loss = new(what, (1,), dtype)
    if rows:
        kernel, extents = launches[1]
        kernel(losses, arrays[1], loss, ignored, extents=extents, stream=stream)
    else:
        loss[...] = math.nan if reduction == "mean" else 0
    return result(what, loss.reshape(()))


def cross_entropy_adjoint(
    logits: Any,
    targets: Any,
    row_sums: Any,
    cotangent: Any,
    *,
    reduction: str = "mean",
    smoothing: float = 0.0,
    ignored: int = -100,
) -> Any:
    """The gradient of the logits, for the gradient `cotangent` of cross_entropy's result."""
    what, classes, rows, columns = _targets(logits, targets)
    launches = list(_cross_entropy_adjoint(what.dtype, classes.dtype, reduction, rows, columns, what.device))
    gradient = new(what, (rows, columns), what.dtype)
    if rows:
        flat = reshaped(classes, rows)
        of_loss = reshaped(given("cross_entropy", "cotangent", cotangent), rows if reduction == "none" else 1)
        if reduction == "mean":
            kernel, extents = launches.pop(0)
            share = new(what, (1,), _sums(what.dtype))
            kernel(flat, of_loss, share, ignored, extents=extents)
            of_loss = share
        kernel, extents = launches[0]
        matrix = reshaped(what, rows, columns)
        kernel(matrix, flat, row_sums, of_loss, gradient, _smoothing(smoothing), ignored, extents=extents)
    return result(what, gradient.reshape(what.shape))


def _pairs(operation: str, name: str, array: Any, interleaved: bool) -> tuple[Any, Any]:
    """Views of the first and of the second elements of all pairs."""
    what = given(operation, name, array)
    view, half = reshaped(what, *what.shape), what.shape[3] // 2
    return (view[..., 0::2], view[..., 1::2]) if interleaved else (view[..., :half], view[..., half:])


def rotary(
    x: Any,
    cosines: Any,
    sines: Any,
    *,
    interleaved: bool = False,
    backwards: bool = False,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Rotary position embedding of (batches, heads, rows, size): each pair (a, b) of a row becomes
    (a c - b s, b c + a s).

    A pair is elements d and d + size / 2 of a row, or with `interleaved` 2 d and 2 d + 1. x is float16, bfloat16,
    float32 or float64; `out` may be x. The cosines and sines are (rows, size / 2), and are read as float32, or as
    float64 if x is float64. For positions that begin later, give slices of them. `backwards` rotates by the negative
    angles.
    """
    what = given("rotary", "x", x)
    if len(what.shape) != 4 or what.shape[3] % 2:
        _refuse("rotary", "expected an array of (batches, heads, rows, size) with an even size", what)
    kernel, extents = _rotary(what.dtype, what.shape, bool(backwards), what.device)
    table = (what.shape[2], what.shape[3] // 2)
    tables = [
        _numbers("rotary", what, name, array, table, None) for name, array in (("cosines", cosines), ("sines", sines))
    ]
    y = _output("rotary", out, what, what.dtype, what.shape)
    if 0 not in what.shape:
        pairs = (*_pairs("rotary", "x", x, interleaved), *tables, *_pairs("rotary", "out", y, interleaved))
        kernel(*pairs, extents=extents, stream=stream)
    return _returned(out, what, y)
