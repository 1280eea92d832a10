"""Kernels as differentiable functions of torch.

    step = samite.torch.function(my_kernels.diffuse, outputs={"next": "now"})
    next = step(now, rate=0.2)
    next.square().sum().backward()

A function changes none of its arguments. It returns the arrays that the kernel writes, as new tensors. Those named in
`outputs` begin as zeros, the others as copies of their argument. The function is a custom op of torch, so that
torch.compile takes it as a whole. Its gradient is the kernel's adjoint, derived and compiled when a backward pass first
needs it; the second gradient is the adjoint's adjoint.

matmul, grouped_mm, softmax, layer_norm, rms_norm, group_norm, cross_entropy, rotary and attention are the package's
ready operations, differentiable. scaled_mm and scaled_grouped_mm are ops without gradients. matmul_8bit multiplies in
8 bits, forward and backward.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from . import Kernel, Parameter, aot
from ._errors import check_outputs, user_error
from ._samite import set_leak_warnings
from ._torch_layers import cross_entropy, group_norm, rms_norm, rotary
from ._torch_operations import (
    attention,
    grouped_mm,
    layer_norm,
    matmul,
    matmul_8bit,
    scaled_grouped_mm,
    scaled_mm,
    softmax,
)

__all__ = [
    "Function",
    "attention",
    "cross_entropy",
    "function",
    "group_norm",
    "grouped_mm",
    "layer_norm",
    "matmul",
    "matmul_8bit",
    "rms_norm",
    "rotary",
    "scaled_grouped_mm",
    "scaled_mm",
    "softmax",
]

Shape = str | Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]

_NUMBERS = {"bool": "bool", "float16": "float", "bfloat16": "float", "float32": "float", "float64": "float"}
# torch keeps its ops beyond the end of the interpreter, and these keep their kernels.
set_leak_warnings(False)


class _Parameter:
    """A parameter of a kernel, as plain values that torch.compile can read."""

    def __init__(self, index: int, parameter: Parameter, is_output: bool) -> None:
        name, type, rank, is_written, count, _ = parameter
        self.name = name
        self.dtype = getattr(torch, type)
        self.is_array = rank > 0
        self.rank = rank
        self.is_written = is_written
        self.is_output = is_output
        self.has_gradient = self.is_array and self.dtype.is_floating_point and self.dtype.itemsize > 1
        if self.is_output:
            kind = "SymInt[]"  # the shape
        elif self.is_array:
            kind = "Tensor"
        else:
            kind = _NUMBERS.get(type, "SymInt") + ("[]" if count > 1 else "")
        self.schema = f"{kind} a{index}"  # its own name may be a Python keyword


class _Operation:
    """A kernel as a torch op. It takes the kernel's arguments in order, a shape for each output, and the extents."""

    def __init__(self, kernel: Kernel | aot.Kernel, outputs: frozenset[str]) -> None:
        self.kernel = kernel
        self.parameters = [_Parameter(i, each, each.name in outputs) for i, each in enumerate(kernel.parameters)]
        self.written = [i for i, each in enumerate(self.parameters) if each.is_written]
        self.adjoints: dict[tuple[str, ...], _Operation] = {}
        if not self.written:  # an adjoint without gradients: a torch op must return something
            return
        identifier = "".join(c if c.isalnum() else "_" for c in kernel.name)
        returns = ", ".join(["Tensor"] * len(self.written))
        arguments = ", ".join([each.schema for each in self.parameters] + ["SymInt[] extents"])
        # torch keeps compiled graphs on disk by the names of their ops, so a name must be unique across processes.
        custom = torch.library.custom_op(
            f"samite::{identifier}_{uuid.uuid4().hex}",
            self.run,
            mutates_args=(),
            schema=f"({arguments}) -> " + (returns if len(self.written) == 1 else f"({returns})"),
        )
        custom.register_fake(self.fake)
        custom.register_autograd(self.backward, setup_context=self.set_up)
        custom.register_vmap(self.vmap)
        self.op = custom._opoverload
        self.custom = custom  # keeps the op registered

    def like(self, arguments: Sequence[Any]) -> torch.Tensor:
        """A tensor on the device of the call."""
        for parameter, argument in zip(self.parameters, arguments):
            if parameter.is_array and not parameter.is_output:
                return argument
        raise user_error(
            f"{self.kernel.name}(): all arrays are outputs, so the device is not known: give one of them as an argument"
        )

    def returned(self, made: list[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return made[0] if len(made) == 1 else tuple(made)

    def run(self, *arguments: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
        given = list(arguments[:-1])
        from_archive = isinstance(self.kernel, aot.Kernel)
        if from_archive:  # an archive has few layouts, and gradients have their arrays' layout
            given = [each.contiguous() if isinstance(each, torch.Tensor) else each for each in given]
        for i in self.written:
            parameter = self.parameters[i]
            if parameter.is_output:
                given[i] = self.like(arguments).new_zeros(given[i], dtype=parameter.dtype)
            else:
                layout = torch.contiguous_format if from_archive else torch.preserve_format
                given[i] = given[i].clone(memory_format=layout)
        with torch.no_grad():
            self.kernel(*given, extents=tuple(arguments[-1]))
        return self.returned([given[i] for i in self.written])

    def fake(self, *arguments: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
        made = []
        for i in self.written:
            parameter = self.parameters[i]
            if parameter.is_output:
                made.append(self.like(arguments).new_empty(arguments[i], dtype=parameter.dtype))
            else:
                made.append(torch.empty_like(arguments[i]))
        return self.returned(made)

    def set_up(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*[each for each in inputs if isinstance(each, torch.Tensor)])
        ctx.others = [None if isinstance(each, torch.Tensor) else each for each in inputs]

    def backward(self, ctx: Any, *cotangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        saved = iter(ctx.saved_tensors)
        arguments = [next(saved) if other is None else other for other in ctx.others]
        # The adjoint is with respect to wanted arrays, and to written arrays, whose cotangents flow back.
        active = [
            i
            for i, each in enumerate(self.parameters)
            if each.has_gradient and (each.is_written or ctx.needs_input_grad[i])
        ]
        gradients: list[torch.Tensor | None] = [None] * len(arguments)
        if not any(self.parameters[i].is_written for i in active):
            return tuple(gradients)
        if isinstance(self.kernel, aot.Kernel):
            names = self.kernel.active_for([self.parameters[i].name for i in active])
            active = [i for i, each in enumerate(self.parameters) if each.name in names]
        adjoint = self.adjoint(tuple(self.parameters[i].name for i in active))
        like = self.like(arguments)
        values = []
        for parameter, argument in zip(self.parameters, arguments):
            if parameter.is_output:  # as it was before the kernel
                values.append(like.new_zeros([1] * parameter.rank, dtype=parameter.dtype).expand(argument))
            else:
                values.append(argument)
        of_adjoint = adjoint.parameters[len(self.parameters) :]
        for i, parameter in zip(active, of_adjoint):
            if self.parameters[i].is_written:
                cotangent = cotangents[self.written.index(i)]
                values.append(torch.zeros_like(values[i]).contiguous() if cotangent is None else cotangent)
            elif parameter.is_output:
                values.append(list(arguments[i].shape))
            else:  # nothing flows there
                values.append(torch.zeros_like(arguments[i]))
        if adjoint.written:
            made = adjoint.op(*values, arguments[-1])
            made = [made] if isinstance(made, torch.Tensor) else list(made)
            # A gradient that the adjoint only reads stays: the cotangent of an array that the kernel only adds to.
            for place, tensor in zip(adjoint.written, made):
                values[place] = tensor
        for i, gradient in zip(active, values[len(self.parameters) :]):
            if ctx.needs_input_grad[i]:
                gradients[i] = gradient
        return tuple(gradients)

    def adjoint(self, names: tuple[str, ...]) -> "_Operation":
        if names not in self.adjoints:
            kernel = self.kernel.adjoint(*names)
            written = {each.name for each in self.parameters if each.is_written}
            gradients = kernel.parameters[len(self.parameters) :]
            outputs = frozenset(
                gradient.name for name, gradient in zip(names, gradients) if name not in written and gradient.is_written
            )
            self.adjoints[names] = _Operation(kernel, outputs)
        return self.adjoints[names]

    def vmap(self, info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, Any]:
        """Launches the kernel once for each element, because it has no batch dimension."""
        rows = []
        for row in range(info.batch_size):
            made = self.op(
                *[
                    each.select(dimension, row) if isinstance(each, torch.Tensor) and dimension is not None else each
                    for each, dimension in zip(arguments, in_dims)
                ]
            )
            rows.append([made] if isinstance(made, torch.Tensor) else list(made))
        made = [torch.stack(each) for each in zip(*rows)]
        return self.returned(made), 0 if len(made) == 1 else tuple([0] * len(made))


class Function:
    """The result of function()."""

    def __init__(self, kernel: Kernel | aot.Kernel, outputs: Mapping[str, Shape], extents: Shape | None) -> None:
        self.name = kernel.name
        check_outputs("samite.torch.function", kernel.name, kernel.parameters, outputs)
        self.operation = _Operation(kernel, frozenset(outputs))
        if not self.operation.written:
            raise user_error(f"samite.torch.function({self.name}): the kernel writes no array, so there is no result")
        self.op = self.operation.op
        self.parameters = self.operation.parameters
        self.taken = [each.name for each in self.parameters if not each.is_output]
        self.outputs = dict(outputs)
        self.extents = extents
        self.launch_rank = kernel.launch_rank
        # The array whose extents are the default: the first written array of the launch's rank, as in a kernel's call.
        self.extents_of = None
        if not kernel.is_tile_kernel:
            self.extents_of = next(
                (each.name for each in self.parameters if each.is_written and each.rank == self.launch_rank), None
            )

    def shape(self, what: str, shape: Shape, given: dict[str, Any]) -> list[int]:
        if isinstance(shape, str):
            if not isinstance(given.get(shape), torch.Tensor):
                raise user_error(f"{self.name}(): {what} is to have the shape of {shape!r}, which is no tensor")
            return list(given[shape].shape)
        if callable(shape):
            return list(shape(given))
        return [shape] if isinstance(shape, int) else list(shape)

    def __call__(self, *positional: Any, extents: Any = None, **named: Any) -> Any:
        if len(positional) > len(self.taken):
            raise TypeError(f"{self.name}() takes {len(self.taken)} arguments; {len(positional)} are given")
        given = dict(zip(self.taken, positional))
        for name, value in named.items():
            if name not in self.taken:
                raise TypeError(f"{self.name}() has no argument {name!r}")
            if name in given:
                raise TypeError(f"{self.name}(): argument {name!r} is given twice")
            given[name] = value
        arguments = []
        for parameter in self.parameters:
            if parameter.is_output:
                arguments.append(self.shape(f"output {parameter.name!r}", self.outputs[parameter.name], given))
                continue
            if parameter.name not in given:
                raise TypeError(f"{self.name}(): argument {parameter.name!r} is missing")
            argument = given[parameter.name]
            if parameter.is_array:
                self.check(parameter, argument)
            elif isinstance(argument, torch.Tensor):
                if argument.requires_grad:
                    raise user_error(
                        f"{self.name}(): argument {parameter.name!r} is a number, which has no gradient, and a tensor "
                        "that requires one is given: make it an array of one element in the kernel"
                    )
                argument = argument.item()
            arguments.append(argument)
        if extents is None:
            extents = self.extents if self.extents is not None else self.extents_of
        if extents is None:
            raise user_error(f"{self.name}(): extents is missing, over which {self.launch_rank} indices the kernel runs")
        if isinstance(extents, str) and extents in self.outputs:
            extents = self.outputs[extents]
        arguments.append(self.shape("the launch", extents, given))
        return self.op(*arguments)

    def check(self, parameter: _Parameter, argument: Any) -> None:
        expected = f"{self.name}(): argument {parameter.name!r} expects a tensor of {parameter.dtype} with "
        expected += f"{parameter.rank} dimensions; "
        if not isinstance(argument, torch.Tensor):
            raise user_error(expected + f"{type(argument).__name__} is given")
        if argument.dtype != parameter.dtype or argument.dim() != parameter.rank:
            raise user_error(expected + f"one of {argument.dtype} with shape {tuple(argument.shape)} is given")

    def __repr__(self) -> str:
        return f"<samite.torch.Function {self.name}({', '.join(self.taken)}, *, extents)>"


def function(
    kernel: Kernel | aot.Kernel, *, outputs: Mapping[str, Shape] | None = None, extents: Shape | None = None
) -> Function:
    """Makes a differentiable function for torch from a kernel.

    `outputs` names arrays that the kernel writes and that are not arguments of the function: new arrays, which begin as
    zeros. Each has a shape: the name of an argument whose shape it takes, a shape, or a function that takes all
    arguments by name and returns a shape. `extents` gives the extents of the launch, in the same ways, if a call names
    none. Without it, the extents of the first array that the kernel writes are used, unless it is a tile kernel or a
    kernel of an archive. The gradient of a kernel of an archive is an adjoint that the archive has, and has no gradient
    itself.
    """
    if not isinstance(kernel, (Kernel, aot.Kernel)):
        raise TypeError(f"samite.torch.function() expects a kernel; {type(kernel).__name__} is given")
    return Function(kernel, outputs or {}, extents)
