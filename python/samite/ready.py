"""Ready operations on arrays of any library: samite.matmul, grouped_mm, scaled_mm, scaled_grouped_mm, quantise,
softmax, layer_norm, attention.

Each takes arrays of NumPy, torch, JAX, CuPy and others, on the CPU or on CUDA, and returns a new array of the same
library, or writes to `out`. Their kernels are tile kernels of the library, compiled when first needed. samite.torch has
the operations that torch can differentiate.
"""

from __future__ import annotations

import functools
import math

from ._arrays import Given, given, new, reshaped, result, swapped, with_type
from ._errors import user_error
from ._samite import ReadyKernels, debug_mode

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "attention",
    "dequantise",
    "grouped_mm",
    "layer_norm",
    "matmul",
    "quantise",
    "scaled_grouped_mm",
    "scaled_mm",
    "softmax",
]

_ready = ReadyKernels()
# Each returns the kernel and the extents of its launch, for arguments of the given types and extents.
_quantise = functools.lru_cache(4096)(_ready.quantise)
_dequantise = functools.lru_cache(4096)(_ready.dequantise)
_softmax = functools.lru_cache(4096)(_ready.softmax)
_softmax_adjoint = functools.lru_cache(4096)(_ready.softmax_adjoint)
_layer_norm = functools.lru_cache(4096)(_ready.layer_norm)
_layer_norm_adjoint = functools.lru_cache(4096)(_ready.layer_norm_adjoint)
_attention = functools.lru_cache(4096)(_ready.attention)
_attention_adjoint = functools.lru_cache(4096)(_ready.attention_adjoint)
_masked_attention = functools.lru_cache(4096)(_ready.masked_attention)
_masked_attention_adjoint = functools.lru_cache(4096)(_ready.masked_attention_adjoint)

Group = tuple[int | None, int | None]


def _refuse(operation: str, why: str, *all_given: Given) -> None:
    raise user_error(f"samite.{operation}(): {why}; given are " + ", ".join(map(str, all_given)))


def _one_device(operation: str, *all_given: Given) -> None:
    for each in all_given[1:]:
        if each.device != all_given[0].device:
            why = f"{each.name} is on another device than {all_given[0].name}: copy one of them"
            _refuse(operation, why, *all_given)


def _expect(operation: str, what: Given, dtype: str, shape: tuple[int, ...], *others: Given) -> None:
    if what.dtype != dtype or what.shape != shape:
        _refuse(operation, f"expected {what.name} of {dtype} with shape {shape}", what, *others)


def _output(operation: str, out: Any, like: Given, dtype: str, shape: tuple[int, ...]) -> Any:
    """`out` if it is given, or else a new array. UserError if `out` does not fit."""
    if out is None:
        return new(like, shape, dtype)
    what = given(operation, "out", out)
    _expect(operation, what, dtype, shape, like)
    _one_device(operation, like, what)
    return out


def _returned(out: Any, like: Given, made: Any) -> Any:
    return out if out is not None else result(like, made)


def _factors(operation: str, a: Given, b: Given) -> tuple[int, int, int, int]:
    """The batches, rows, columns and terms of a product."""
    rank = len(a.shape)
    if rank not in (2, 3) or len(b.shape) != rank:
        why = "expected two matrices, or two arrays of as many matrices each: reshape or broadcast them"
        _refuse(operation, why, a, b)
    if a.shape[-1] != b.shape[-2]:
        remedy = ""
        if a.shape[-1] == b.shape[-1]:
            remedy = ": they would fit with b transposed, as b.swapaxes(-1, -2)"
        elif a.shape[-2] == b.shape[-2]:
            remedy = ": they would fit with a transposed, as a.swapaxes(-1, -2)"
        _refuse(operation, f"expected b with {a.shape[-1]} rows, as many as a has columns{remedy}", a, b)
    if rank == 3 and a.shape[0] != b.shape[0]:
        _refuse(operation, "expected as many matrices in b as in a", a, b)
    _one_device(operation, a, b)
    return (a.shape[0] if rank == 3 else 1), a.shape[-2], b.shape[-1], a.shape[-1]


def _extras(operation: str, planned: _Product, bias: Any, residual: Any, a: Given) -> list[Any]:
    extras = []
    for name, array, expected in (("bias", bias, planned.shape[-1:]), ("residual", residual, planned.shape)):
        if array is not None:
            what = given(operation, name, array)
            _expect(operation, what, planned.dtype, expected, a)
            _one_device(operation, a, what)
            extras.append(array)
    return extras


def _dtype_name(dtype: Any) -> str:
    """The name of a type such as "bfloat16", torch.bfloat16, np.float32, np.dtype("float32")."""
    if isinstance(dtype, str):
        return dtype
    return str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).rpartition(".")[2])


def matmul(
    a: Any,
    b: Any,
    *,
    bias: Any = None,
    residual: Any = None,
    activation: str | None = None,
    out: Any = None,
    out_dtype: Any = None,
    tf32: bool = False,
    stream: Any = None,
) -> Any:
    """activation(a b + bias) + residual, of matrices (m, k) and (k, n), of equally many of each in three dimensions, or
    of an array a of any rank and one matrix b, as in a layer of a network.

    Both factors have one type, float16, bfloat16, float32, float64, int8 or uint8, and any strides; transposed ones are
    read in place. 16-bit factors are summed in float32, and the result has their type or float32; the result of 8-bit
    integers is int32. `bias` has n numbers, `residual` has the result's shape, and both have its type. `activation` is
    "relu", "silu", "gelu", "tanh" or "sigmoid". `tf32` lets tensor cores round float32 factors.
    """
    x, y = given("matmul", "a", a), given("matmul", "b", b)
    if len(x.shape) > 2 and len(y.shape) == 2:
        rows, terms, columns = math.prod(x.shape[:-1]), x.shape[-1], y.shape[-1]
        made = matmul(
            reshaped(x, rows, terms),
            b,
            bias=bias,
            residual=None if residual is None else _as_rows("matmul", residual, rows, columns, "residual"),
            activation=activation,
            out=None if out is None else _as_rows("matmul", out, rows, columns),
            out_dtype=out_dtype,
            tf32=tf32,
            stream=stream,
        )
        return out if out is not None else made.reshape((*x.shape[:-1], columns))
    of_result = (out_dtype, activation, bias is not None, residual is not None)
    planned = _planned(_plan_product, "matmul", (x, y), of_result, tf32)
    return _run_product("matmul", planned, (x, y), (), bias, residual, out, stream)


class _Product:
    """The launch of a product for factors of given types, extents and strides."""

    __slots__ = ("dtype", "exchanged", "extents", "is_empty", "kernel", "shape", "transposed")

    def __init__(
        self,
        launch: Any,
        transposed: tuple[bool, bool],
        dtype: str,
        shape: tuple[int, ...],
        exchanged: tuple[bool, bool] = (False, False),  # the last two dimensions of scale_a, of scale_b
    ) -> None:
        self.kernel, self.extents = launch
        self.transposed = transposed
        self.exchanged = exchanged
        self.dtype = dtype
        self.shape = shape
        self.is_empty = 0 in shape


_products: dict[Any, _Product] = {}


def _planned(plan: Any, operation: str, arrays: tuple[Given, ...], *options: Any) -> _Product:
    """The product that `plan` makes for the arrays and options; it is kept for later calls."""
    key = (operation, *[each[2:] for each in arrays], options)
    try:
        found = _products.get(key)
    except TypeError:  # an option that is not hashable cannot be in the key
        return plan(*arrays, *options)
    if found is None:
        if len(_products) >= 4096:
            _products.clear()
        found = _products[key] = plan(*arrays, *options)
    return found


def _check_options(operation: str, activation: Any, tf32: Any = False) -> None:
    if activation is not None and not isinstance(activation, str):
        raise user_error(f"samite.{operation}(): activation expects a name, as 'relu'; {activation!r} is given")
    if not isinstance(tf32, bool):
        raise user_error(f"samite.{operation}(): tf32 expects True or False; {tf32!r} is given")


def _plan_product(x: Given, y: Given, of_result: Any, tf32: bool) -> _Product:
    out_dtype, activation, has_bias, has_residual = of_result
    _check_options("matmul", activation, tf32)
    shape = _factors("matmul", x, y)
    if x.dtype != y.dtype:
        _refuse("matmul", "expected factors of one type: convert one of them", x, y)
    usual = "int32" if x.dtype in ("int8", "uint8") else x.dtype
    dtype = usual if out_dtype is None else _dtype_name(out_dtype)
    epilogue = (dtype, activation or "none", has_bias, has_residual)
    transposed = (x.is_transposed, y.is_transposed)
    launch = _ready.matmul(x.dtype, epilogue, transposed, tf32, len(x.shape) == 3, shape, x.device)
    return _Product(launch, transposed, dtype, (*x.shape[:-1], y.shape[-1]))


def _run_product(
    operation: str,
    planned: _Product,
    factors: tuple[Given, Given],
    scales: tuple[Any, ...],
    bias: Any,
    residual: Any,
    out: Any,
    stream: Any,
) -> Any:
    extras = () if bias is None and residual is None else _extras(operation, planned, bias, residual, factors[0])
    return _launch_product(operation, planned, factors, (*scales, *extras), out, stream)


def _launch_product(
    operation: str, planned: _Product, factors: tuple[Given, Given], others: tuple[Any, ...], out: Any, stream: Any
) -> Any:
    """`others` are the arguments between the factors and the result."""
    x, y = factors
    c = _output(operation, out, x, planned.dtype, planned.shape)
    if not planned.is_empty:
        of_a, of_b = planned.transposed
        left, right = swapped(x) if of_a else x.array, swapped(y) if of_b else y.array
        planned.kernel(left, right, *others, c, extents=planned.extents, stream=stream)
    return _returned(out, x, c)


def grouped_mm(
    a: Any,
    b: Any,
    offsets: Any,
    *,
    bias: Any = None,
    activation: str | None = None,
    out: Any = None,
    out_dtype: Any = None,
    tf32: bool = False,
    stream: Any = None,
) -> Any:
    """activation(a[begin:end] b[g] + bias[g]) for each group g of the rows of a, as in a mixture of experts.

    a is (m, k), with the rows of each group consecutive; b is (groups, k, n), with any strides, and transposed matrices
    are read in place. `offsets`, of int32 on the device of a, has groups + 1 numbers: group g has the rows from
    offsets[g] to before offsets[g + 1]. The host does not wait for them. Groups may be empty. Rows in no group are not
    written: in a new array they have arbitrary values. On the CPU and in debug mode, offsets that do not ascend from at
    least 0 to at most m raise a UserError with the group.

    The types are those of samite.matmul, without integers. `bias` is (groups, n), of the result's type.

    If b is a matrix, too, the groups divide the terms, a[:, begin:end] b[begin:end], and the result is (groups, m, n).
    Such a product has neither a bias nor an activation.
    """
    x, y = given("grouped_mm", "a", a), given("grouped_mm", "b", b)
    places = given("grouped_mm", "offsets", offsets)
    if len(y.shape) == 2:
        if bias is not None or activation is not None:
            why = "expected neither a bias nor an activation where b is a matrix, of whose rows there are groups"
            _refuse("grouped_mm", why, x, y)
        planned = _planned(_plan_terms, "grouped_mm", (x, y, places), out_dtype, tf32, debug_mode())
        return _run_product("grouped_mm", planned, (x, y), (places.array,), None, None, out, stream)
    of_result = (out_dtype, activation, bias is not None, False)
    planned = _planned(_plan_groups, "grouped_mm", (x, y, places), of_result, tf32, debug_mode())
    return _run_groups("grouped_mm", planned, (x, y), (), places, bias, out, stream)


def _run_groups(
    operation: str,
    planned: _Product,
    factors: tuple[Given, Given],
    scales: tuple[Any, ...],
    places: Given,
    bias: Any,
    out: Any,
    stream: Any,
) -> Any:
    x, y = factors
    extras = []
    if bias is not None:
        what = given(operation, "bias", bias)
        _expect(operation, what, planned.dtype, (y.shape[0], y.shape[2]), x)
        _one_device(operation, x, what)
        extras.append(bias)
    return _launch_product(operation, planned, factors, (*scales, places.array, *extras), out, stream)


def _groups(operation: str, x: Given, y: Given, places: Given) -> tuple[int, int, int, int]:
    """The groups, rows, columns and terms of a product."""
    if len(x.shape) != 2 or len(y.shape) != 3:
        _refuse(operation, "expected a matrix a, and in b a matrix for each group, or one with groups of rows", x, y)
    groups, rows, columns, inner = y.shape[0], x.shape[0], y.shape[2], x.shape[1]
    if y.shape[1] != inner:
        remedy = ": they would fit with b transposed, as b.swapaxes(-1, -2)" if y.shape[2] == inner else ""
        _refuse(operation, f"expected matrices of {inner} rows in b, as many as a has columns{remedy}", x, y)
    if groups == 0:
        _refuse(operation, "expected one group at least", x, y)
    _check_offsets(operation, places, groups, y)
    _one_device(operation, x, y, places)
    return groups, rows, columns, inner


def _check_offsets(operation: str, places: Given, groups: int, *others: Given) -> None:
    if places.dtype != "int32" or places.shape != (groups + 1,):
        why = f"expected offsets of int32 with shape ({groups + 1},): where each group begins, and the last one ends"
        _refuse(operation, why, places, *others)


def _plan_terms(x: Given, y: Given, places: Given, out_dtype: Any, tf32: bool, checked: bool) -> _Product:
    _check_options("grouped_mm", None, tf32)
    _, m, n, k = _factors("grouped_mm", x, y)
    groups = places.shape[0] - 1 if len(places.shape) == 1 else 0
    if groups < 1:
        _refuse("grouped_mm", "expected offsets in one dimension, of one group at least", places, x, y)
    _check_offsets("grouped_mm", places, groups, x, y)
    _one_device("grouped_mm", x, y, places)
    if x.dtype != y.dtype:
        _refuse("grouped_mm", "expected factors of one type: convert one of them", x, y)
    dtype = x.dtype if out_dtype is None else _dtype_name(out_dtype)
    transposed = (x.is_transposed, y.is_transposed)
    checked = checked or x.device < 0
    launch = _ready.grouped_terms(x.dtype, dtype, transposed, tf32, checked, (groups, m, n, k), x.device)
    return _Product(launch, transposed, dtype, (groups, m, n))


def _plan_groups(x: Given, y: Given, places: Given, of_result: Any, tf32: bool, checked: bool) -> _Product:
    out_dtype, activation, has_bias, _ = of_result
    _check_options("grouped_mm", activation, tf32)
    shape = _groups("grouped_mm", x, y, places)
    if x.dtype != y.dtype:
        _refuse("grouped_mm", "expected factors of one type: convert one of them", x, y)
    dtype = x.dtype if out_dtype is None else _dtype_name(out_dtype)
    epilogue = (dtype, activation or "none", has_bias, False)
    checked = checked or x.device < 0
    launch = _ready.grouped_matmul(x.dtype, epilogue, y.is_transposed, tf32, checked, shape, x.device)
    return _Product(launch, (False, y.is_transposed), dtype, shape[1:3])


def _scales(name: str, scale: Any, rank: int) -> Given:
    what = given("scaled_mm", name, scale)
    if what.dtype != "float32":
        _refuse("scaled_mm", f"expected {name} of float32", what)
    if rank == 2 and len(what.shape) < 2 and math.prod(what.shape) == 1:  # one number, perhaps without dimensions
        return given("scaled_mm", name, reshaped(what, 1, 1))
    return what


def scaled_mm(
    a: Any,
    b: Any,
    scale_a: Any,
    scale_b: Any,
    *,
    bias: Any = None,
    residual: Any = None,
    activation: str | None = None,
    out: Any = None,
    out_dtype: Any = "bfloat16",
    stream: Any = None,
) -> Any:
    """activation((a scale_a) (b scale_b) + bias) + residual, of 8-bit factors whose numbers are multiplied by their
    scales.

    As with torch's scaled product, a (m, k) by rows and b (k, n) by columns are fastest; other strides work too. The
    factors are float8_e4m3fn; one of them may be float8_e5m2. Scales are float32: one number; (m, 1) and (1, n) for
    rows of a and columns of b; (m, k / 128) and (k / 128, n) for 128 terms of each; or
    (m / 128, k / 128) and (k / 128, n / 128) for blocks. Each factor has its own kind of scale, and quotients are
    rounded up. The result is bfloat16, float16 or float32.
    """
    x, y = given("scaled_mm", "a", a), given("scaled_mm", "b", b)
    rank = len(x.shape)
    of_a, of_b = _scales("scale_a", scale_a, rank), _scales("scale_b", scale_b, rank)
    of_result = (out_dtype, activation, bias is not None, residual is not None)
    planned = _planned(_plan_scaled, "scaled_mm", (x, y, of_a, of_b), of_result)
    exchanged_a, exchanged_b = planned.exchanged
    scales = (swapped(of_a) if exchanged_a else of_a.array, swapped(of_b) if exchanged_b else of_b.array)
    return _run_product("scaled_mm", planned, (x, y), scales, bias, residual, out, stream)


def _plan_scaled(x: Given, y: Given, of_a: Given, of_b: Given, of_result: Any) -> _Product:
    out_dtype, activation, has_bias, has_residual = of_result
    _check_options("scaled_mm", activation)
    shape = _factors("scaled_mm", x, y)
    _one_device("scaled_mm", x, y, of_a, of_b)
    dtype = _dtype_name(out_dtype)
    epilogue = (dtype, activation or "none", has_bias, has_residual)
    transposed = (x.is_transposed, y.is_transposed)
    launch = _ready.scaled_matmul(
        (x.dtype, y.dtype),
        epilogue,
        transposed,
        len(x.shape) == 3,
        (of_a.shape, of_a.strides),
        (of_b.shape, of_b.strides),
        shape,
        x.device,
    )
    if launch is None:
        m, k, n = shape[1], shape[3], shape[2]
        blocks = [-(-each // 128) for each in (m, k, n)]
        _refuse(
            "scaled_mm",
            f"expected scale_a with shape (1, 1), ({m}, 1), ({m}, {blocks[1]}) or ({blocks[0]}, {blocks[1]}), and "
            f"scale_b with shape (1, 1), (1, {n}), ({blocks[1]}, {n}) or ({blocks[1]}, {blocks[2]})"
            + (", each with the batches before" if len(x.shape) == 3 else ""),
            x, y, of_a, of_b,
        )  # fmt: skip
    launch, exchanged = launch
    return _Product(launch, transposed, dtype, (*x.shape[:-1], y.shape[-1]), exchanged)


def scaled_grouped_mm(
    a: Any,
    b: Any,
    scale_a: Any,
    scale_b: Any,
    offsets: Any,
    *,
    bias: Any = None,
    activation: str | None = None,
    out: Any = None,
    out_dtype: Any = "bfloat16",
    stream: Any = None,
) -> Any:
    """samite.grouped_mm of 8-bit factors with scales: activation((a scale_a)[begin:end] (b scale_b)[g] + bias[g]).

    Factors and results have the types of samite.scaled_mm. Scales are float32. Those of a are (1, 1), (m, 1) or (m,)
    for its rows, or (m, k / 128) for 128 numbers of a row. Those of b are for each group: (groups, 1, 1),
    (groups, 1, n) or (groups, n) for columns, (groups, k / 128, n), or (groups, k / 128, n / 128). Quotients are
    rounded up.
    """
    x, y = given("scaled_grouped_mm", "a", a), given("scaled_grouped_mm", "b", b)
    places = given("scaled_grouped_mm", "offsets", offsets)
    of_a, of_b = (_group_scales(name, scale) for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)))
    of_result = (out_dtype, activation, bias is not None, False)
    arrays = (x, y, of_a, of_b, places)
    planned = _planned(_plan_scaled_groups, "scaled_grouped_mm", arrays, of_result, debug_mode())
    scales = (of_a.array, of_b.array)
    return _run_groups("scaled_grouped_mm", planned, (x, y), scales, places, bias, out, stream)


def _group_scales(name: str, scale: Any) -> Given:
    """The scales, with the dimension that row scales of a and column scales of b may omit, as in torch."""
    what = given("scaled_grouped_mm", name, scale)
    if what.dtype != "float32":
        _refuse("scaled_grouped_mm", f"expected {name} of float32", what)
    rank = len(what.shape)
    if name == "scale_a" and rank == 1:
        return given("scaled_grouped_mm", name, reshaped(what, -1, 1))
    if name == "scale_b" and rank == 2:
        return given("scaled_grouped_mm", name, reshaped(what, what.shape[0], 1, what.shape[1]))
    return what


def _plan_scaled_groups(
    x: Given, y: Given, of_a: Given, of_b: Given, places: Given, of_result: Any, checked: bool
) -> _Product:
    out_dtype, activation, has_bias, _ = of_result
    _check_options("scaled_grouped_mm", activation)
    shape = groups, m, n, k = _groups("scaled_grouped_mm", x, y, places)
    _one_device("scaled_grouped_mm", x, of_a, of_b)
    dtype = _dtype_name(out_dtype)
    epilogue = (dtype, activation or "none", has_bias, False)
    checked = checked or x.device < 0
    launch = _ready.scaled_grouped_matmul(
        (x.dtype, y.dtype), epilogue, y.is_transposed, checked, of_a.shape, of_b.shape, shape, x.device
    )
    if launch is None:
        blocks_of_k, blocks_of_n = -(-k // 128), -(-n // 128)
        _refuse(
            "scaled_grouped_mm",
            f"expected scale_a with shape (1, 1), ({m}, 1) or ({m}, {blocks_of_k}), and scale_b with shape "
            f"({groups}, 1, 1), ({groups}, 1, {n}), ({groups}, {blocks_of_k}, {n}) or "
            f"({groups}, {blocks_of_k}, {blocks_of_n})",
            x, y, of_a, of_b,
        )  # fmt: skip
    return _Product(launch, (False, y.is_transposed), dtype, (m, n))


def _matrix(operation: str, what: Given) -> tuple[int, int]:
    if len(what.shape) != 2:
        _refuse(operation, f"expected a matrix for {what.name}: reshape it", what)
    return what.shape[0], what.shape[1]


def quantise(
    x: Any, *, dtype: Any = "float8_e4m3fn", group: Group = (None, None), stream: Any = None
) -> tuple[Any, Any]:
    """Quantises a matrix to 8 bits, x = q scale, and returns q and the scales. The largest absolute value of each group
    becomes the type's largest number.

    `group` gives the numbers of rows and columns that share a scale, None for all: (None, None), (1, None), (None, 1),
    (1, 128), (128, 1), (128, 128).
    """
    what = given("quantise", "x", x)
    rows, columns = _matrix("quantise", what)
    if not isinstance(group, tuple) or len(group) != 2 or any(each not in (None, 1, 128) for each in group):
        raise user_error(
            "samite.quantise(): group expects how many rows and columns share a scale, each of them 1, 128 or None for "
            f"all, as (1, 128); {group!r} is given"
        )
    of_scale = tuple(1 if size is None else -(-count // size) for count, size in zip((rows, columns), group))
    name = _dtype_name(dtype)
    found = _quantise(what.dtype, name, of_scale, rows, columns)
    if not found:
        raise user_error(
            f"samite.quantise(): group {group!r} would be a scale for each number; make one of them 128 or None"
        )
    q, scale = new(what, (rows, columns), name), new(what, of_scale, "float32", zero=True)
    if rows and columns:
        if len(found) == 2:
            largest = new(what, (1, 1), "float32", zero=True)
            (find, over), (divide, extents) = found
            find(x, largest, extents=over, stream=stream)
            divide(x, q, largest, scale, extents=extents, stream=stream)
        else:
            ((kernel, extents),) = found
            kernel(x, q, scale, extents=extents, stream=stream)
    return result(what, q), result(what, scale)


def dequantise(q: Any, scale: Any, *, dtype: Any = "float32", stream: Any = None) -> Any:
    """q scale: the values of a matrix in 8 bits."""
    what, scales = given("dequantise", "q", q), given("dequantise", "scale", scale)
    rows, columns = _matrix("dequantise", what)
    _one_device("dequantise", what, scales)
    name = _dtype_name(dtype)
    found = _dequantise(what.dtype, name, scales.shape, rows, columns)
    if not found or scales.dtype != "float32":
        _refuse("dequantise", "expected a scale of float32 as quantise() returns it", what, scales)
    x = new(what, (rows, columns), name)
    if rows and columns:
        ((kernel, extents),) = found
        kernel(q, scale, x, extents=extents, stream=stream)
    return result(what, x)


def _rows(shape: tuple[int, ...]) -> tuple[int, int]:
    return math.prod(shape[:-1]), shape[-1]


def softmax(x: Any, *, out: Any = None, stream: Any = None) -> Any:
    """exp(x) / sum(exp(x)), along the last dimension; x is float16, bfloat16, float32 or float64."""
    what = given("softmax", "x", x)
    if not what.shape:
        _refuse("softmax", "expected an array with a dimension", what)
    rows, columns = _rows(what.shape)
    kernel, extents = _softmax(what.dtype, rows, columns, what.device)
    y = _output("softmax", out, what, what.dtype, what.shape)
    if rows and columns:
        kernel(reshaped(what, rows, columns), _as_rows("softmax", y, rows, columns), extents=extents, stream=stream)
    return _returned(out, what, y)


def _as_rows(operation: str, y: Any, rows: int, columns: int, name: str = "out") -> Any:
    """A view of an array as a matrix."""
    what = given(operation, name, y)
    if len(what.shape) == 2:
        return y
    if math.prod(what.shape) != rows * columns or what.shape[-1:] != (columns,):
        _refuse(operation, f"expected {name} with {rows} rows of {columns}", what)
    row_major = tuple(math.prod(what.shape[d + 1 :]) for d in range(len(what.shape)))
    if what.strides != row_major:
        _refuse(operation, f"expected {name} that lies row by row without gaps, or with two dimensions", what)
    return reshaped(what, rows, columns)


def softmax_adjoint(y: Any, cotangent: Any) -> Any:
    """The gradient of x, for the gradient `cotangent` of y = softmax(x)."""
    what, of_y = given("softmax", "y", y), given("softmax", "cotangent", cotangent)
    _expect("softmax", of_y, what.dtype, what.shape, what)
    rows, columns = _rows(what.shape)
    kernel, extents = _softmax_adjoint(what.dtype, rows, columns, what.device)
    gradient = new(what, (rows, columns), what.dtype)
    if rows and columns:
        kernel(reshaped(what, rows, columns), reshaped(of_y, rows, columns), gradient, extents=extents)
    return result(what, gradient.reshape(what.shape))


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, epsilon: float = 1e-5, out: Any = None, stream: Any = None
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, along the last dimension; x is float16, bfloat16, float32
    or float64. Weight and bias have a number for each element of a row, and are read as float32, or as float64 if x is
    float64."""
    what = given("layer_norm", "x", x)
    if not what.shape:
        _refuse("layer_norm", "expected an array with a dimension", what)
    rows, columns = _rows(what.shape)
    weighted = weight is not None or bias is not None
    kernel, extents = _layer_norm(what.dtype, weighted, rows, columns, what.device)
    y = _output("layer_norm", out, what, what.dtype, what.shape)
    extras = []
    sums = "float64" if what.dtype == "float64" else "float32"
    if weighted:
        for name, array, otherwise in (("weight", weight, 1), ("bias", bias, 0)):
            if array is None:
                array = new(what, (columns,), sums, zero=True)
                array[...] = otherwise
            each = given("layer_norm", name, array)
            _expect("layer_norm", each, each.dtype, (columns,), what)
            _one_device("layer_norm", what, each)
            extras.append(array if each.dtype == sums else with_type(array, sums))
    if rows and columns:
        target = _as_rows("layer_norm", y, rows, columns)
        kernel(reshaped(what, rows, columns), *extras, target, epsilon, extents=extents, stream=stream)
    return _returned(out, what, y)


def _heads(operation: str, q: Given, k: Given, v: Given, *others: Given) -> tuple[int, int, int, int, int, int]:
    """Batches, heads, rows of q, numbers per row, rows of k, and heads of q that share a head of k."""
    if any(len(each.shape) != 4 for each in (q, k, v)):
        _refuse(operation, "expected arrays of (batches, heads, rows, size): reshape them", q, k, v)
    batches, heads, rows, size = q.shape
    of_k = k.shape[1] if k.shape[1] and heads % k.shape[1] == 0 else heads
    for each in (k, v):
        _expect(operation, each, q.dtype, (batches, of_k, k.shape[2], size), q)
    if k.shape[2] == 0:
        _refuse(operation, "expected a row of k and v, so that there is something to weigh", q, k, v)
    _one_device(operation, q, k, v, *others)
    return batches, heads, rows, size, k.shape[2], heads // of_k if of_k else 1


def _scale(scale: float | None, size: int) -> float:
    return 1 / math.sqrt(max(size, 1)) if scale is None else scale


_FARTHEST = 1 << 30  # the largest distance


class Masks:
    """The arguments of attention's kernels for its masks; none if `used` is false."""

    def __init__(
        self, q: Given, shape: tuple[int, ...], causal: bool, from_the_end: bool, window: int | None, *arrays: Any
    ) -> None:
        bias, slopes, lengths = arrays
        if window is not None and window < 1:
            raise user_error(f"samite.attention(): expected a window of at least one row; {window!r} is given")
        batches, heads, rows, _, terms, _ = shape
        sums = "float64" if q.dtype == "float64" else "float32"
        has_distances = causal or window is not None or slopes is not None
        self.kinds = (
            bool(from_the_end) and has_distances and (rows != terms or lengths is not None),
            *(array is not None for array in arrays),
        )
        self.used = window is not None or any(self.kinds)
        before = _FARTHEST if window is None else min(window - 1, _FARTHEST)
        self.distances = (before, 0 if causal else before) if self.used else ()
        self.arrays: list[Any] = []
        if not self.used:
            return
        expected = (
            ("bias", bias, q.dtype, (batches, heads, rows, terms)),
            ("slopes", slopes, sums, (heads,)),
            ("lengths", lengths, "int32", (batches,)),
        )
        for name, array, dtype, extents in expected:
            if array is None:
                array = new(q, (1,) * len(extents), dtype, zero=True)
            else:
                each = given("attention", name, array)
                _expect("attention", each, dtype, extents, q)
                _one_device("attention", q, each)
            self.arrays.append(array)


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    from_the_end: bool = False,
    window: int | None = None,
    bias: Any = None,
    slopes: Any = None,
    lengths: Any = None,
    out: Any = None,
    row_sums: Any = None,
    stream: Any = None,
) -> Any:
    """softmax(scale q kᵀ) v for each head of each batch; all are (batches, heads, rows, size).

    They are float16, bfloat16, float32 or float64, with up to 256 numbers in a row and any strides. k and v may have
    fewer heads; equally many consecutive heads of q then share each. `causal` lets row i of q see rows 0 to i of k. The
    scale is 1 / sqrt(size) by default. If `row_sums` is given, of float32 (float64 for float64) with shape (batches,
    heads, rows of q), it receives log(sum(exp(scale q kᵀ))) of each row, for the adjoint.

    Masks: `from_the_end` counts distances between rows of q and k from the last rows of both, as if the rows of q were
    the last rows of k; rows at a distance of `window` or more are not seen; `bias`, of q's type with shape (batches,
    heads, rows of q, rows of k), is added to scale q kᵀ; `slopes`, of row_sums' type, one for each head, are multiplied
    by the distance and subtracted; `lengths`, of int32, give for each batch element how many of its rows of k count. A
    row that sees nothing becomes zeros.
    """
    x, y, z = given("attention", "q", q), given("attention", "k", k), given("attention", "v", v)
    shape = _heads("attention", x, y, z)
    masks = Masks(x, shape, causal, from_the_end, window, bias, slopes, lengths)
    kernel, extents = (
        _masked_attention(x.dtype, shape, masks.kinds, x.device)
        if masks.used
        else _attention(x.dtype, shape, bool(causal), x.device)
    )
    result_array = _output("attention", out, x, x.dtype, x.shape)
    sums = _output("attention", row_sums, x, "float64" if x.dtype == "float64" else "float32", x.shape[:3])
    if 0 not in x.shape:
        arrays = (q, k, v, *masks.arrays, result_array, sums)
        kernel(*arrays, _scale(scale, shape[3]), *masks.distances, extents=extents, stream=stream)
    return _returned(out, x, result_array)


def attention_adjoint(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    row_sums: Any,
    cotangent: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    from_the_end: bool = False,
    window: int | None = None,
    bias: Any = None,
    slopes: Any = None,
    lengths: Any = None,
) -> tuple[Any, Any, Any]:
    """The gradients of q, k and v, for the gradient `cotangent` of attention's result. `out` and `row_sums` are those
    that attention() has written."""
    x, y, z = given("attention", "q", q), given("attention", "k", k), given("attention", "v", v)
    shape = _heads("attention", x, y, z)
    masks = Masks(x, shape, causal, from_the_end, window, bias, slopes, lengths)
    number = _scale(scale, shape[3])
    rows, queries, keys = (
        _masked_attention_adjoint(x.dtype, shape, masks.kinds, x.device, number)
        if masks.used
        else _attention_adjoint(x.dtype, shape, bool(causal), x.device, number)
    )
    gradients = [new(x, each.shape, x.dtype) for each in (x, y, z)]
    products = new(x, x.shape[:3], "float64" if x.dtype == "float64" else "float32")
    if 0 not in x.shape:
        rows[0](out, cotangent, products, extents=rows[1])
        inputs = (q, k, v, *masks.arrays, row_sums, products, cotangent)
        queries[0](*inputs, gradients[0], number, *masks.distances, extents=queries[1])
        keys[0](*inputs, *gradients[1:], number, *masks.distances, extents=keys[1])
    return result(x, gradients[0]), result(x, gradients[1]), result(x, gradients[2])
