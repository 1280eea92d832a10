"""The ready operations of samite/_ready_layers.py as custom ops of torch, with their gradients.

Gradients have kernels of their own. rotary is linear, so it can be differentiated twice.
"""

from collections.abc import Sequence
from typing import Any

import torch

from . import _ready_layers as ready
from ._errors import user_error
from ._torch_operations import _op, _type_of_sums

__all__ = ["cross_entropy", "group_norm", "rms_norm", "rotary"]

Tensor = torch.Tensor


def _like(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _rms_norm_adjoint_run(x: Tensor, weight: Tensor | None, g: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    of_x, of_weight = ready.rms_norm_adjoint(x, weight, g, epsilon=epsilon)
    return of_x, x.new_empty(0) if of_weight is None else of_weight


_rms_norm_adjoint = _op(
    "rms_norm_adjoint(Tensor x, Tensor? weight, Tensor g, float epsilon) -> (Tensor, Tensor)",
    _rms_norm_adjoint_run,
    lambda x, weight, g, epsilon: (_like(x), x.new_empty(0) if weight is None else torch.empty_like(weight)),
)


def _rms_norm_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    x, weight, epsilon = inputs
    of_x, of_weight = _rms_norm_adjoint(x, weight, cotangents[0], epsilon)
    return of_x, None if weight is None else of_weight, None


_rms_norm = _op(
    "rms_norm(Tensor x, Tensor? weight, float epsilon) -> Tensor",
    lambda x, weight, epsilon: ready.rms_norm(x, weight, epsilon=epsilon),
    lambda x, weight, epsilon: _like(x),
    _rms_norm_backward,
)


def rms_norm(x: Tensor, weight: Tensor | None = None, *, epsilon: float = 1e-6) -> Tensor:
    """samite.rms_norm, differentiable. The gradient of the weight is summed in float32, or float64."""
    return _rms_norm(x, None if weight is None else weight.to(_type_of_sums(x)), epsilon)


_group_norm_adjoint = _op(
    "group_norm_adjoint(Tensor x, int groups, Tensor weight, Tensor g, float epsilon) -> (Tensor, Tensor, Tensor)",
    lambda x, groups, weight, g, epsilon: ready.group_norm_adjoint(x, groups, weight, g, epsilon=epsilon),
    lambda x, groups, weight, g, epsilon: (_like(x), torch.empty_like(weight), torch.empty_like(weight)),
)


def _group_norm_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    x, groups, weight, bias, epsilon = inputs
    of_x, of_weight, of_bias = _group_norm_adjoint(x, groups, weight, cotangents[0], epsilon)
    return of_x, None, of_weight, of_bias, None


_group_norm = _op(
    "group_norm(Tensor x, int groups, Tensor weight, Tensor bias, float epsilon) -> Tensor",
    lambda x, groups, weight, bias, epsilon: ready.group_norm(x, groups, weight, bias, epsilon=epsilon),
    lambda x, groups, weight, bias, epsilon: _like(x),
    _group_norm_backward,
)


def group_norm(
    x: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None, *, epsilon: float = 1e-5
) -> Tensor:
    """samite.group_norm, differentiable. Gradients of weight and bias are summed in float32, or float64."""
    sums, channels = _type_of_sums(x), tuple(x.shape[1:2])
    wide_weight = x.new_ones(channels, dtype=sums) if weight is None else weight.to(sums)
    wide_bias = x.new_zeros(channels, dtype=sums) if bias is None else bias.to(sums)
    return _group_norm(x, groups, wide_weight, wide_bias, epsilon)


def _cross_entropy_run(
    logits: Tensor, targets: Tensor, reduction: str, smoothing: float, ignored: int
) -> tuple[Tensor, Tensor]:
    row_sums = logits.new_empty(targets.numel(), dtype=_type_of_sums(logits))
    loss = ready.cross_entropy(
        logits, targets, reduction=reduction, smoothing=smoothing, ignored=ignored, row_sums=row_sums
    )
    return loss, row_sums


def _cross_entropy_fake(
    logits: Tensor, targets: Tensor, reduction: str, smoothing: float, ignored: int
) -> tuple[Tensor, Tensor]:
    sums = _type_of_sums(logits)
    loss = logits.new_empty(targets.shape if reduction == "none" else (), dtype=sums)
    return loss, logits.new_empty(targets.numel(), dtype=sums)


_cross_entropy_adjoint = _op(
    "cross_entropy_adjoint(Tensor logits, Tensor targets, Tensor row_sums, Tensor g, str reduction, float smoothing,"
    " int ignored) -> Tensor",
    lambda logits, targets, row_sums, g, reduction, smoothing, ignored: ready.cross_entropy_adjoint(
        logits, targets, row_sums, g, reduction=reduction, smoothing=smoothing, ignored=ignored
    ),
    lambda logits, targets, row_sums, g, reduction, smoothing, ignored: _like(logits),
)


def _cross_entropy_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    logits, targets, *options = inputs
    return _cross_entropy_adjoint(logits, targets, outputs[1], cotangents[0], *options), None, None, None, None


_cross_entropy = _op(
    "cross_entropy(Tensor logits, Tensor targets, str reduction, float smoothing, int ignored) -> (Tensor, Tensor)",
    _cross_entropy_run,
    _cross_entropy_fake,
    _cross_entropy_backward,
)


def cross_entropy(
    logits: Tensor, targets: Tensor, *, reduction: str = "mean", smoothing: float = 0.0, ignored: int = -100
) -> Tensor:
    """samite.cross_entropy, differentiable: like torch's cross_entropy, with the classes in the last dimension."""
    return _cross_entropy(logits, targets, reduction, float(smoothing), ignored)[0]


def _rotary_backward(wanted: Sequence[bool], inputs: list[Any], outputs: list[Any], cotangents: Any) -> Any:
    x, cosines, sines, interleaved, backwards = inputs
    return _rotary(cotangents[0], cosines, sines, interleaved, not backwards), None, None, None, None


_rotary = _op(
    "rotary(Tensor x, Tensor cosines, Tensor sines, bool interleaved, bool backwards) -> Tensor",
    lambda x, cosines, sines, interleaved, backwards: ready.rotary(
        x, cosines, sines, interleaved=interleaved, backwards=backwards
    ),
    lambda x, cosines, sines, interleaved, backwards: _like(x),
    _rotary_backward,
)


def rotary(
    x: Tensor, cosines: Tensor, sines: Tensor, *, interleaved: bool = False, backwards: bool = False
) -> Tensor:
    """samite.rotary, differentiable twice. Cosines and sines have no gradients; UserError if they require one."""
    if cosines.requires_grad or sines.requires_grad:
        raise user_error(
            "samite.torch.rotary(): the cosines and sines have no gradients here: give detach() of them, or multiply "
            "with operations of torch"
        )
    return _rotary(x, cosines, sines, interleaved, backwards)
