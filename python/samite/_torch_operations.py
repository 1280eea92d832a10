"""The ready operations (samite/ready.py) as custom ops of torch, with their gradients.

Gradients of products are products; layer norm, softmax and attention have gradient kernels of their own. Products and
softmax can be differentiated twice.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import ready
from ._errors import user_error

__all__ = [
    "attention",
    "grouped_mm",
    "layer_norm",
    "matmul",
    "matmul_8bit",
    "scaled_grouped_mm",
    "scaled_mm",
    "softmax",
]

Tensor = torch.Tensor


def _op(
    schema: str, run: Callable[..., Any], fake: Callable[..., Any], backward: Callable[..., Any] | None = None
) -> Any:
    """A custom op. `backward` takes a flag for each input that needs a gradient, the inputs, the outputs and the
    cotangents, and returns the inputs' gradients."""

    def without_gradients(*inputs: Any) -> Any:
        with torch.no_grad():
            return run(*inputs)

    name = schema.partition("(")[0]
    custom = torch.library.custom_op(
        f"samite::{name}", without_gradients, mutates_args=(), schema=schema.removeprefix(name)
    )
    custom.register_fake(fake)
    op = custom._opoverload

    def set_up(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        everything = [*inputs, *(output if isinstance(output, tuple) else (output,))]
        ctx.count = len(inputs)
        ctx.is_tensor = [isinstance(each, Tensor) for each in everything]
        ctx.save_for_backward(*[each for each in everything if isinstance(each, Tensor)])
        ctx.others = [None if isinstance(each, Tensor) else each for each in everything]

    def go_back(ctx: Any, *cotangents: Tensor | None) -> Any:
        if backward is None:
            raise user_error(
                f"samite.torch: {name} has no derivative"
                + (": multiply with matmul_8bit()" if name == "scaled_mm" else ", so there is no second one here")
            )
        saved = iter(ctx.saved_tensors)
        everything = [next(saved) if is_tensor else other for is_tensor, other in zip(ctx.is_tensor, ctx.others)]
        return backward(ctx.needs_input_grad, everything[: ctx.count], everything[ctx.count :], cotangents)

    custom.register_autograd(go_back, setup_context=set_up if backward else None)

    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Any, Any]:
        rows = []
        for row in range(info.batch_size):
            made = op(
                *[
                    each.select(dimension, row) if isinstance(each, Tensor) and dimension is not None else each
                    for each, dimension in zip(inputs, in_dims)
                ]
            )
            rows.append(made if isinstance(made, tuple) else (made,))
        stacked = tuple(torch.stack(each) for each in zip(*rows))
        return (stacked, (0,) * len(stacked)) if len(stacked) > 1 else (stacked[0], 0)

    custom.register_vmap(vmap)
    _kept.append(custom)  # keeps the op registered
    return op


_kept: list[Any] = []


def _sum_to(x: Tensor, shape: torch.Size) -> Tensor:
    """Sums x over all but the last dimension, for a bias of that shape."""
    return x.reshape(-1, shape[-1]).sum(0)



def _type_of_product(a: Tensor, out_dtype: torch.dtype | None) -> torch.dtype:
    return out_dtype or (torch.int32 if a.dtype in (torch.int8, torch.uint8) else a.dtype)


def _slope(activation: str, x: Tensor) -> Tensor:
    """The derivative of an activation."""
    if activation == "relu":
        return (x > 0).to(x.dtype)
    if activation == "tanh":
        return 1 - x.tanh().square()
    if activation == "sigmoid":
        s = x.sigmoid()
        return s * (1 - s)
    if activation == "silu":
        s = x.sigmoid()
        return s * (1 + x * (1 - s))
    return 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-0.5 * x.square()) / math.sqrt(2 * math.pi)


def _matmul_run(
    a: Tensor, b: Tensor, bias: Tensor | None, residual: Tensor | None, activation: str, dtype: torch.dtype, tf32: bool
) -> Tensor:
    return ready.matmul(a, b, bias=bias, residual=residual, activation=activation, out_dtype=dtype, tf32=tf32)


def _matmul_fake(
    a: Tensor, b: Tensor, bias: Tensor | None, residual: Tensor | None, activation: str, dtype: torch.dtype, tf32: bool
) -> Tensor:
    return a.new_empty((*a.shape[:-1], b.shape[-1]), dtype=dtype)


def _matmul_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    a, b, bias, residual, activation, dtype, tf32 = inputs
    (g,) = cotangents
    inner = g
    if activation != "none":
        # Recomputes the activation's input.
        sums = _matmul(a, b, bias, None, "none", dtype, tf32)
        inner = g * _slope(activation, sums)
    narrow = inner.to(a.dtype)
    left, right = a, narrow
    if a.dim() > b.dim():  # one matrix b for all rows
        left, right = a.reshape(-1, a.shape[-1]), narrow.reshape(-1, narrow.shape[-1])
    return (
        _matmul(narrow, b.mT, None, None, "none", a.dtype, tf32) if wanted[0] else None,
        _matmul(left.mT, right, None, None, "none", a.dtype, tf32) if wanted[1] else None,
        _sum_to(inner, bias.shape) if wanted[2] else None,
        g if wanted[3] else None,
        None, None, None,
    )  # fmt: skip


_matmul = _op(
    "matmul(Tensor a, Tensor b, Tensor? bias, Tensor? residual, str activation, ScalarType dtype, bool tf32) -> Tensor",
    _matmul_run, _matmul_fake, _matmul_backward,
)  # fmt: skip


def matmul(
    a: Tensor,
    b: Tensor,
    *,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    activation: str | None = None,
    out_dtype: torch.dtype | None = None,
    tf32: bool = False,
) -> Tensor:
    """samite.matmul, differentiable twice: gradients of factors are products, too."""
    return _matmul(a, b, bias, residual, activation or "none", _type_of_product(a, out_dtype), tf32)



# Rows in no group are zero: their cotangents are zero, and callers must not see unwritten numbers there.
def _grouped_run(
    a: Tensor, b: Tensor, offsets: Tensor, bias: Tensor | None, activation: str, dtype: torch.dtype, tf32: bool
) -> Tensor:
    options = {"bias": bias, "activation": None if activation == "none" else activation, "tf32": tf32}
    if b.dim() == 3 and a.dim() == 2:
        options["out"] = a.new_zeros((a.shape[0], b.shape[2]), dtype=dtype)
    return ready.grouped_mm(a, b, offsets, out_dtype=dtype, **options)


def _grouped_fake(
    a: Tensor, b: Tensor, offsets: Tensor, bias: Tensor | None, activation: str, dtype: torch.dtype, tf32: bool
) -> Tensor:
    before = (offsets.shape[0] - 1,) if b.dim() == 2 else ()
    return a.new_empty((*before, a.shape[0], b.shape[-1]), dtype=dtype)


def _grouped_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    a, b, offsets, bias, activation, dtype, tf32 = inputs
    (inner,) = cotangents

    def product(left: Tensor, right: Tensor, result: torch.dtype = a.dtype) -> Tensor:
        return _grouped_mm(left, right, offsets, None, "none", result, tf32)

    if activation != "none":
        # Recomputes the activation's input.
        inner = inner * _slope(activation, _grouped_mm(a, b, offsets, bias, "none", dtype, tf32))
    narrow = inner.to(a.dtype)
    if b.dim() == 3:
        of_a = product(narrow, b.mT) if wanted[0] else None
        of_b = product(a.mT, narrow) if wanted[1] else None
        # Sums over the rows of each group.
        of_bias = product(narrow.new_ones(1, a.shape[0]), narrow, dtype).squeeze(1) if wanted[3] else None
        return of_a, of_b, None, of_bias, None, None, None
    # With groups of terms, each column of a and row of b gets the cotangent of its group's matrix.
    of_a = product(b, narrow.mT).mT if wanted[0] else None
    of_b = product(a.mT, narrow) if wanted[1] else None
    return of_a, of_b, None, None, None, None, None


_grouped_mm = _op(
    "grouped_mm(Tensor a, Tensor b, Tensor offsets, Tensor? bias, str activation, ScalarType dtype, bool tf32)"
    " -> Tensor",
    _grouped_run, _grouped_fake, _grouped_backward,
)  # fmt: skip


def grouped_mm(
    a: Tensor,
    b: Tensor,
    offsets: Tensor,
    *,
    bias: Tensor | None = None,
    activation: str | None = None,
    out_dtype: torch.dtype | None = None,
    tf32: bool = False,
) -> Tensor:
    """samite.grouped_mm, differentiable twice: gradients are grouped products, too. Rows in no group are zeros."""
    return _grouped_mm(a, b, offsets, bias, activation or "none", out_dtype or a.dtype, tf32)


def _scaled_groups_run(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    offsets: Tensor,
    bias: Tensor | None,
    activation: str,
    dtype: torch.dtype,
) -> Tensor:
    if a.dim() == 2 and b.dim() == 3:
        out = a.new_zeros((a.shape[0], b.shape[2]), dtype=dtype)
    else:
        out = None  # scaled_grouped_mm() refuses it
    return ready.scaled_grouped_mm(
        a, b, scale_a, scale_b, offsets, bias=bias, activation=activation, out=out, out_dtype=dtype
    )


_scaled_grouped_mm = _op(
    "scaled_grouped_mm(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, Tensor offsets, Tensor? bias,"
    " str activation, ScalarType dtype) -> Tensor",
    _scaled_groups_run,
    lambda a, b, scale_a, scale_b, offsets, bias, activation, dtype: a.new_empty(
        (a.shape[0], b.shape[-1]), dtype=dtype
    ),
)


def scaled_grouped_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    offsets: Tensor,
    *,
    bias: Tensor | None = None,
    activation: str | None = None,
    out_dtype: torch.dtype = torch.bfloat16,
) -> Tensor:
    """samite.scaled_grouped_mm. Matrices in 8 bits have no gradients. Rows in no group are zeros."""
    return _scaled_grouped_mm(a, b, scale_a, scale_b, offsets, bias, activation or "none", out_dtype)


def _scaled_run(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, activation: str, dtype: torch.dtype
) -> Tensor:
    return ready.scaled_mm(a, b, scale_a, scale_b, bias=bias, activation=activation, out_dtype=dtype)


_scaled_mm = _op(
    "scaled_mm(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, Tensor? bias, str activation, ScalarType dtype)"
    " -> Tensor",
    _scaled_run,
    lambda a, b, scale_a, scale_b, bias, activation, dtype: a.new_empty((*a.shape[:-1], b.shape[-1]), dtype=dtype),
)


def scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    *,
    bias: Tensor | None = None,
    activation: str | None = None,
    out_dtype: torch.dtype = torch.bfloat16,
) -> Tensor:
    """samite.scaled_mm. Matrices in 8 bits have no gradients: matmul_8bit() is the differentiable product."""
    return _scaled_mm(a, b, scale_a, scale_b, bias, activation or "none", out_dtype)


# The numbers of rows and columns that share a scale, in the left and in the right factor.
_RECIPES: dict[str, tuple[ready.Group, ready.Group]] = {
    "tensor": ((None, None), (None, None)),
    "row": ((1, None), (None, 1)),
    "block": ((1, 128), (128, 128)),
}


def _product_8bit(
    a: Tensor, b: Tensor, recipe: str, types: tuple[str, str], transposed: tuple[bool, bool], dtype: torch.dtype
) -> Tensor:
    """Quantises two matrices, transposes those that `transposed` marks, and multiplies them."""
    factors, scales = [], []
    for x, group, type, turned in zip((a, b), _RECIPES[recipe], types, transposed):
        q, scale = ready.quantise(x.detach(), dtype=type, group=group[::-1] if turned else group)
        factors.append(q.mT if turned else q)
        scales.append(scale.mT if turned else scale)
    return ready.scaled_mm(*factors, *scales, out_dtype=dtype)


_E4M3 = "float8_e4m3fn"


def _matmul_8bit_run(a: Tensor, b: Tensor, recipe: str, cotangent: str, dtype: torch.dtype) -> Tensor:
    return _product_8bit(a, b, recipe, (_E4M3, _E4M3), (False, False), dtype)


def _matmul_8bit_adjoint_run(a: Tensor, b: Tensor, g: Tensor, recipe: str, cotangent: str) -> tuple[Tensor, Tensor]:
    return (
        _product_8bit(g, b, recipe, (cotangent, _E4M3), (False, True), a.dtype),
        _product_8bit(a, g, recipe, (_E4M3, cotangent), (True, False), b.dtype),
    )


_matmul_8bit_adjoint = _op(
    "matmul_8bit_adjoint(Tensor a, Tensor b, Tensor g, str recipe, str cotangent) -> (Tensor, Tensor)",
    _matmul_8bit_adjoint_run,
    lambda a, b, g, recipe, cotangent: (a.new_empty(a.shape), b.new_empty(b.shape)),
)


def _matmul_8bit_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    a, b, recipe, cotangent, dtype = inputs
    of_a, of_b = _matmul_8bit_adjoint(a, b, cotangents[0], recipe, cotangent)
    return of_a, of_b, None, None, None


_matmul_8bit = _op(
    "matmul_8bit(Tensor a, Tensor b, str recipe, str cotangent, ScalarType dtype) -> Tensor",
    _matmul_8bit_run,
    lambda a, b, recipe, cotangent, dtype: a.new_empty((a.shape[0], b.shape[1]), dtype=dtype),
    _matmul_8bit_backward,
)


def matmul_8bit(
    a: Tensor,
    b: Tensor,
    *,
    recipe: str = "row",
    cotangent_dtype: torch.dtype = torch.float8_e5m2,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """The product of two matrices of float32, bfloat16 or float16, multiplied in 8 bits forward and backward.

    Factors are quantised to float8_e4m3fn, and the cotangent of the result to `cotangent_dtype`, each along the
    dimension that the product sums over. `recipe` says which numbers share a scale: "tensor", all of a matrix; "row",
    those that are summed together; "block", 128 of a row of a, and blocks of 128 by 128 of b. The result has a's type,
    or `out_dtype`.
    """
    if recipe not in _RECIPES:
        expected = ", ".join(map(repr, _RECIPES))
        raise user_error(f"samite.torch.matmul_8bit(): recipe expects one of {expected}; {recipe!r} is given")
    if cotangent_dtype not in (torch.float8_e5m2, torch.float8_e4m3fn):
        raise user_error(
            "samite.torch.matmul_8bit(): cotangent_dtype expects torch.float8_e5m2 or torch.float8_e4m3fn; "
            f"{cotangent_dtype} is given"
        )
    return _matmul_8bit(a, b, recipe, str(cotangent_dtype).rpartition(".")[2], out_dtype or a.dtype)



def _softmax_adjoint_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    y, g = inputs
    (v,) = cotangents
    return (
        v * (g - (g * y).sum(-1, keepdim=True)) - g * (v * y).sum(-1, keepdim=True) if wanted[0] else None,
        _softmax_adjoint(y, v) if wanted[1] else None,
    )


_softmax_adjoint = _op(
    "softmax_adjoint(Tensor y, Tensor g) -> Tensor",
    lambda y, g: ready.softmax_adjoint(y, g),
    lambda y, g: torch.empty_like(y, memory_format=torch.contiguous_format),
    _softmax_adjoint_backward,
)
_softmax = _op(
    "softmax(Tensor x) -> Tensor",
    lambda x: ready.softmax(x),
    lambda x: torch.empty_like(x, memory_format=torch.contiguous_format),
    lambda wanted, inputs, outputs, cotangents: (_softmax_adjoint(outputs[0], cotangents[0]),),
)


def softmax(x: Tensor) -> Tensor:
    """samite.softmax, differentiable twice."""
    return _softmax(x)


def _layer_norm_run(x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float) -> Tensor:
    return ready.layer_norm(x, weight, bias, epsilon=epsilon)


def _layer_norm_adjoint_run(
    x: Tensor, weight: Tensor, bias: Tensor, g: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = math.prod(x.shape[:-1]), x.shape[-1]
    of_x = torch.empty_like(x, memory_format=torch.contiguous_format)
    of_weight, of_bias = torch.zeros_like(weight), torch.zeros_like(bias)
    if x.numel() > 0:
        type = str(x.dtype).rpartition(".")[2]
        kernel, extents = ready._layer_norm_adjoint(type, rows, columns, x.get_device())
        matrices = [each.reshape(rows, columns) for each in (x, g, of_x)]
        kernel(matrices[0], weight, *matrices[1:], of_weight, of_bias, epsilon, extents=extents)
    return of_x, of_weight, of_bias


_layer_norm_adjoint = _op(
    "layer_norm_adjoint(Tensor x, Tensor weight, Tensor bias, Tensor g, float epsilon) -> (Tensor, Tensor, Tensor)",
    _layer_norm_adjoint_run,
    lambda x, weight, bias, g, epsilon: (
        torch.empty_like(x, memory_format=torch.contiguous_format),
        torch.empty_like(weight),
        torch.empty_like(bias),
    ),
)


def _layer_norm_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    x, weight, bias, epsilon = inputs
    of_x, of_weight, of_bias = _layer_norm_adjoint(x, weight, bias, cotangents[0], epsilon)
    return of_x, of_weight, of_bias, None


_layer_norm = _op(
    "layer_norm(Tensor x, Tensor weight, Tensor bias, float epsilon) -> Tensor",
    _layer_norm_run,
    lambda x, weight, bias, epsilon: torch.empty_like(x, memory_format=torch.contiguous_format),
    _layer_norm_backward,
)


def layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, epsilon: float = 1e-5
) -> Tensor:
    """samite.layer_norm, differentiable. Gradients of weight and bias are summed in float32, or float64."""
    sums = torch.float64 if x.dtype == torch.float64 else torch.float32
    columns = (x.shape[-1],)
    wide_weight = x.new_ones(columns, dtype=sums) if weight is None else weight.to(sums)
    wide_bias = x.new_zeros(columns, dtype=sums) if bias is None else bias.to(sums)
    return _layer_norm(x, wide_weight, wide_bias, epsilon)



def _type_of_sums(q: Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def _masks(
    causal: bool,
    scale: float,
    from_the_end: bool,
    window: int | None,
    bias: Tensor | None,
    slopes: Tensor | None,
    lengths: Tensor | None,
) -> dict[str, Any]:
    arrays = {"bias": bias, "slopes": slopes, "lengths": lengths}
    return {"causal": causal, "scale": scale, "from_the_end": from_the_end, "window": window, **arrays}


_MASKS = (
    "bool causal, float scale, bool from_the_end, SymInt? window, Tensor? bias, Tensor? slopes, Tensor? lengths)"
)


def _attention_run(q: Tensor, k: Tensor, v: Tensor, *masks: Any) -> tuple[Tensor, Tensor]:
    row_sums = q.new_empty(q.shape[:3], dtype=_type_of_sums(q))
    return ready.attention(q, k, v, row_sums=row_sums, **_masks(*masks)), row_sums


def _attention_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    q, k, v, *masks = inputs
    return *_attention_adjoint(q, k, v, *outputs, cotangents[0], *masks), *(None for _ in masks)


_attention_adjoint = _op(
    "attention_adjoint(Tensor q, Tensor k, Tensor v, Tensor out, Tensor row_sums, Tensor g, " + _MASKS
    + " -> (Tensor, Tensor, Tensor)",
    lambda q, k, v, out, row_sums, g, *masks: ready.attention_adjoint(q, k, v, out, row_sums, g, **_masks(*masks)),
    lambda q, k, v, out, row_sums, g, *masks: tuple(each.new_empty(each.shape) for each in (q, k, v)),
)  # fmt: skip
_attention = _op(
    "attention(Tensor q, Tensor k, Tensor v, " + _MASKS + " -> (Tensor, Tensor)",
    _attention_run,
    lambda q, k, v, *masks: (q.new_empty(q.shape), q.new_empty(q.shape[:3], dtype=_type_of_sums(q))),
    _attention_backward,
)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    from_the_end: bool = False,
    window: int | None = None,
    bias: Tensor | None = None,
    slopes: Tensor | None = None,
    lengths: Tensor | None = None,
) -> Tensor:
    """samite.attention, differentiable: like torch.nn.functional.scaled_dot_product_attention. The bias and the slopes
    have no gradients; UserError if they require one."""
    for name, mask in (("bias", bias), ("slopes", slopes)):
        if mask is not None and mask.requires_grad:
            raise user_error(f"samite.torch.attention(): the {name} has no gradient here: give {name}.detach()")
    number = ready._scale(scale, q.shape[-1])
    return _attention(q, k, v, causal, number, from_the_end, window, bias, slopes, lengths)[0]
