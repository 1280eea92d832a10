"""Kernels as functions of JAX.

    step = samite.jax.function(my_kernels.diffuse, outputs={"next": "now"}, extents="now")
    loss = lambda now: (step(now, rate=0.2) ** 2).sum()
    gradient = jax.jit(jax.grad(loss))(now)

A function changes none of its arguments. It returns the arrays that the kernel writes, as new arrays. Those named in
`outputs` begin as zeros; the others begin as their argument, whose memory XLA reuses for the result if it can. XLA
calls the kernel itself, on the CPU and on CUDA, without Python. The gradient is the kernel's adjoint, derived when
first needed; the second gradient is the adjoint's adjoint. Under vmap the kernel is launched once for each element.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import Kernel, aot
from ._errors import check_outputs, user_error
from ._samite import jax_kernel, jax_targets, scalar_bits, set_leak_warnings

__all__ = ["Function", "function"]

Shape = str | Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]
_Array = Any  # a jax.Array, traced or not

_MOST_KEPT = 256  # forms of calls, for each kernel
_TARGET = "samite_kernel"
for _platform, _capsule in zip(("cpu", "CUDA"), jax_targets()):
    jax.ffi.register_ffi_target(_TARGET, _capsule, platform=_platform)
# JAX keeps its programs beyond the end of the interpreter, and these keep their kernels.
set_leak_warnings(False)


class _Parameter:
    """A parameter of a kernel."""

    def __init__(self, index: int, parameter: Any, is_output: bool) -> None:
        self.index = index
        self.name, type, self.rank, self.is_written, self.count, _ = parameter
        self.dtype = jnp.dtype(type)
        self.is_array = self.rank > 0
        self.is_output = is_output
        self.has_gradient = self.is_array and jnp.issubdtype(self.dtype, jnp.floating) and self.dtype.itemsize > 1


class _Form(NamedTuple):
    """The properties of a call that are known when it is traced."""

    extents: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]  # of outputs, in order
    numbers: tuple[tuple[int, ...] | None, ...]  # by parameter, the bits of numbers that are known
    debug: int
    deterministic: bool


class _Operation:
    """A kernel as XLA calls it. Its operands are the arrays that are not outputs and the traced numbers, in order."""

    def __init__(self, kernel: Kernel | aot.Kernel, outputs: frozenset[str]) -> None:
        self.kernel = kernel
        self.id = jax_kernel(kernel.archived if isinstance(kernel, aot.Kernel) else kernel)
        self.parameters = [_Parameter(i, each, each.name in outputs) for i, each in enumerate(kernel.parameters)]
        self.written = [each for each in self.parameters if each.is_written]
        self.adjoints: dict[tuple[str, ...], _Operation] = {}
        self.functions: dict[_Form, Callable[..., tuple[_Array, ...]]] = {}  # the oldest first

    def operands(self, form: _Form) -> list[_Parameter]:
        """The parameter of each operand."""
        found = []
        for each in self.parameters:
            if each.is_array and not each.is_output:
                found.append(each)
            elif not each.is_array and form.numbers[each.index] is None:
                found += [each] * each.count
        return found

    def run(self, form: _Form, operands: Sequence[_Array]) -> tuple[_Array, ...]:
        """Launches the kernel; returns the arrays that it writes."""
        given, shapes = iter(operands), iter(form.shapes)
        described = [self.id, form.debug, form.deterministic, len(form.extents), *form.extents]
        arguments: list[_Array] = []
        results: list[jax.ShapeDtypeStruct] = []
        aliases: dict[int, int] = {}
        for each in self.parameters:
            bits = form.numbers[each.index]
            if bits is not None:
                described += [2, *bits]
            elif not each.is_array:
                described.append(3)
                for _ in range(each.count):
                    described.append(len(arguments))
                    arguments.append(next(given))
            else:
                array = jnp.zeros(next(shapes), each.dtype) if each.is_output else next(given)
                if each.is_written:
                    described += [1, len(arguments), len(results)]
                    aliases[len(arguments)] = len(results)
                    results.append(jax.ShapeDtypeStruct(array.shape, array.dtype))
                else:
                    described += [0, len(arguments)]
                arguments.append(array)
        call = jax.ffi.ffi_call(_TARGET, tuple(results), input_output_aliases=aliases, vmap_method="sequential")
        return tuple(call(*arguments, form=np.array(described, np.int64)))

    def function(self, form: _Form) -> Callable[..., tuple[_Array, ...]]:
        """run() as a function with a gradient."""
        if form in self.functions:
            return self.functions[form]

        def run(*operands: _Array) -> tuple[_Array, ...]:
            return self.run(form, operands)

        differentiable = jax.custom_vjp(run)

        def forward(*primals: Any) -> tuple[tuple[_Array, ...], Any]:
            for parameter, primal in zip(self.operands(form), primals):
                if primal.perturbed and not parameter.is_array:
                    raise user_error(
                        f"{self.kernel.name}(): argument {parameter.name!r} is a number, which has no gradient, and "
                        "one with respect to it is asked for: make it an array of one element in the kernel"
                    )
            values = tuple(primal.value for primal in primals)
            # The tree's structure tells backward() which operands need a gradient.
            wanted = tuple(() if primal.perturbed else None for primal in primals)
            return differentiable(*values), (values, wanted)

        def backward(kept: Any, cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
            return self.backward(form, kept[0], [each is not None for each in kept[1]], cotangents)

        differentiable.defvjp(forward, backward, symbolic_zeros=True)
        if len(self.functions) == _MOST_KEPT:
            del self.functions[next(iter(self.functions))]
        made = self.functions[form] = jax.jit(differentiable)
        return made

    def backward(
        self, form: _Form, operands: Sequence[_Array], wanted: list[bool], cotangents: Sequence[Any]
    ) -> tuple[Any, ...]:
        owners = self.operands(form)
        wants = {owner.name for owner, each in zip(owners, wanted) if each}
        # The adjoint is with respect to wanted arrays, and to written arrays, whose cotangents flow back.
        active = [each for each in self.parameters if each.has_gradient and (each.is_written or each.name in wants)]
        if not any(each.is_written for each in active):
            return tuple(None for _ in owners)
        if isinstance(self.kernel, aot.Kernel):
            names = self.kernel.active_for([each.name for each in active])
            active = [each for each in self.parameters if each.name in names]
        adjoint = self.adjoint(tuple(each.name for each in active))

        arrays = {owner.name: operand for owner, operand in zip(owners, operands) if owner.is_array}
        shapes = dict(zip([each.name for each in self.parameters if each.is_output], form.shapes))
        given: list[_Array] = []
        numbers = iter([operand for owner, operand in zip(owners, operands) if not owner.is_array])
        for each in self.parameters:
            if each.is_output:  # as it was before the kernel
                given.append(jnp.zeros(shapes[each.name], each.dtype))
            elif each.is_array:
                given.append(arrays[each.name])
            elif form.numbers[each.index] is None:
                given += [next(numbers) for _ in range(each.count)]
        of_adjoint = adjoint.parameters[len(self.parameters) :]
        gradients: dict[str, Any] = {}
        new_shapes = []
        for each, gradient in zip(active, of_adjoint):
            if each.is_written:
                cotangent = cotangents[self.written.index(each)]
                if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
                    cotangent = jnp.zeros(cotangent.shape, each.dtype)
                gradients[each.name] = cotangent
                given.append(cotangent)
            elif gradient.is_output:
                new_shapes.append(arrays[each.name].shape)
            else:  # nothing flows there
                gradients[each.name] = None
                given.append(jnp.zeros(arrays[each.name].shape, each.dtype))
        of_call = _Form(
            form.extents, tuple(new_shapes), form.numbers + (None,) * len(of_adjoint), form.debug, form.deterministic
        )
        if adjoint.written:
            made = dict(zip([each.name for each in adjoint.written], adjoint.function(of_call)(*given)))
            for each, gradient in zip(active, of_adjoint):
                # A gradient that the adjoint only reads stays: the cotangent of an array that the kernel only adds to.
                gradients[each.name] = made.get(gradient.name, gradients.get(each.name))
        return tuple(gradients.get(owner.name) if want else None for owner, want in zip(owners, wanted))

    def adjoint(self, names: tuple[str, ...]) -> "_Operation":
        if names not in self.adjoints:
            kernel = self.kernel.adjoint(*names)
            written = {each.name for each in self.written}
            gradients = kernel.parameters[len(self.parameters) :]
            outputs = frozenset(
                gradient.name for name, gradient in zip(names, gradients) if name not in written and gradient.is_written
            )
            self.adjoints[names] = _Operation(kernel, outputs)
        return self.adjoints[names]


class Function:
    """The result of function()."""

    def __init__(
        self,
        kernel: Kernel | aot.Kernel,
        outputs: Mapping[str, Shape],
        extents: Shape | None,
        debug: bool | None,
        deterministic: bool,
    ) -> None:
        self.name = kernel.name
        check_outputs("samite.jax.function", kernel.name, kernel.parameters, outputs)
        self.operation = _Operation(kernel, frozenset(outputs))
        if not self.operation.written:
            raise user_error(f"samite.jax.function({self.name}): the kernel writes no array, so there is no result")
        self.outputs = dict(outputs)
        self.extents = extents
        self.launch_rank = kernel.launch_rank
        self.debug = -1 if debug is None else int(debug)
        self.deterministic = deterministic
        self.taken = [each.name for each in self.operation.parameters if not each.is_output]

    def __call__(self, *positional: Any, extents: Shape | None = None, **named: Any) -> Any:
        given = self.bound(positional, named)
        arrays: dict[str, Any] = {}
        operands: list[_Array] = []
        numbers: list[tuple[int, ...] | None] = []
        for each in self.operation.parameters:
            known = None
            if each.is_array and not each.is_output:
                arrays[each.name] = self.array(each, given[each.name])
                operands.append(arrays[each.name])
            elif not each.is_array:
                known, traced = self.number(each, given[each.name])
                operands += traced
            numbers.append(known)
        shapes = {}
        for each in self.operation.parameters:
            if each.is_output:
                what = f"output {each.name!r}"
                shapes[each.name] = self.shape(what, self.outputs[each.name], given, arrays, each.rank)
        chosen = extents if extents is not None else self.extents
        if chosen is None:
            raise user_error(
                f"{self.name}(): extents is missing, over which {self.launch_rank} indices the kernel runs: name an "
                "array that has them, as extents='now', or give numbers, here or in samite.jax.function()"
            )
        if isinstance(chosen, str) and chosen in shapes:
            chosen = shapes[chosen]
        indices = self.shape("the launch", chosen, given, arrays, self.launch_rank)
        form = _Form(indices, tuple(shapes.values()), tuple(numbers), self.debug, self.deterministic)
        made = self.operation.function(form)(*operands)
        return made[0] if len(made) == 1 else made

    def bound(self, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        if len(positional) > len(self.taken):
            raise TypeError(f"{self.name}() takes {len(self.taken)} arguments; {len(positional)} are given")
        given = dict(zip(self.taken, positional))
        for name, value in named.items():
            if name not in self.taken:
                raise TypeError(f"{self.name}() has no argument {name!r}")
            if name in given:
                raise TypeError(f"{self.name}(): argument {name!r} is given twice")
            given[name] = value
        for name in self.taken:
            if name not in given:
                raise TypeError(f"{self.name}(): argument {name!r} is missing")
        return given

    def array(self, parameter: _Parameter, value: Any) -> _Array:
        expected = f"{self.name}(): argument {parameter.name!r} expects an array of {parameter.dtype} with "
        expected += f"{parameter.rank} dimension{'s' * (parameter.rank != 1)}; "
        if not isinstance(value, (jax.Array, np.ndarray)):
            raise user_error(expected + f"{type(value).__name__} is given")
        if value.dtype != parameter.dtype or value.ndim != parameter.rank:
            hint = ""
            if parameter.dtype.itemsize == 8 and not jax.config.jax_enable_x64:
                hint = ": JAX has 64-bit types after jax.config.update('jax_enable_x64', True)"
            raise user_error(expected + f"one of {value.dtype} with shape {tuple(value.shape)} is given{hint}")
        made = jnp.asarray(value)
        if made.dtype != parameter.dtype:
            raise user_error(
                f"{self.name}(): argument {parameter.name!r} is of {parameter.dtype}, which JAX has after "
                "jax.config.update('jax_enable_x64', True)"
            )
        return made

    def number(self, parameter: _Parameter, value: Any) -> tuple[tuple[int, ...] | None, list[_Array]]:
        """The bits of known numbers, or else an operand for each number."""
        numbers = list(value) if parameter.count > 1 and isinstance(value, (tuple, list)) else [value]
        if not any(isinstance(each, jax.core.Tracer) for each in numbers):
            numbers = [each.item() if isinstance(each, jax.Array) and each.ndim == 0 else each for each in numbers]
            known = tuple(numbers) if parameter.count > 1 and len(numbers) > 1 else numbers[0]
            kernel = self.operation.kernel
            if isinstance(kernel, aot.Kernel):
                bits: tuple[int, ...] = (kernel.signed_bits(parameter.index, known),)
            else:
                bits = tuple(scalar_bits(kernel, parameter.index, known))
            # On the CPU a number is an operand, so that a new value needs no new program.
            has_type = parameter.dtype.itemsize < 8 or jax.config.jax_enable_x64
            if jax.default_backend() != "cpu" or not has_type:
                return bits, []
            return None, [np.asarray(each, parameter.dtype) for each in numbers]
        what = f"{self.name}(): argument {parameter.name!r} expects "
        if len(numbers) != parameter.count:
            raise user_error(what + f"{parameter.count} numbers, as a tuple")
        traced = []
        for each in numbers:
            made = jnp.asarray(each)
            is_right = made.shape == () and jnp.can_cast(made.dtype, parameter.dtype, "same_kind")
            if not is_right or (parameter.dtype == bool) != (made.dtype == bool):
                raise user_error(what + f"a number, as a {parameter.dtype}; one of {made.dtype}{made.shape} is given")
            if parameter.dtype.itemsize == 8 and not jax.config.jax_enable_x64:
                raise user_error(
                    what + f"a {parameter.dtype}, which JAX has after jax.config.update('jax_enable_x64', True)"
                )
            traced.append(made.astype(parameter.dtype))
        return None, traced

    def shape(
        self, what: str, shape: Shape, given: dict[str, Any], arrays: dict[str, Any], rank: int
    ) -> tuple[int, ...]:
        if isinstance(shape, str):
            if shape not in arrays:
                raise user_error(f"{self.name}(): {what} is to have the shape of {shape!r}, which is no array")
            found = arrays[shape].shape
        else:
            found = shape(given) if callable(shape) else (shape,) if isinstance(shape, int) else shape
        try:
            made = tuple(int(each) for each in found)
        except (TypeError, ValueError, jax.errors.ConcretizationTypeError):
            raise user_error(f"{self.name}(): {what} expects {rank} integers that are known when JAX traces") from None
        if len(made) != rank or min(made, default=0) < 0:
            raise user_error(f"{self.name}(): {what} expects {rank} extents; {made} is given")
        return made

    def __repr__(self) -> str:
        return f"<samite.jax.Function {self.name}({', '.join(self.taken)}, *, extents)>"


def function(
    kernel: Kernel | aot.Kernel,
    *,
    outputs: Mapping[str, Shape] | None = None,
    extents: Shape | None = None,
    debug: bool | None = None,
    deterministic: bool = False,
) -> Function:
    """Makes a differentiable function for JAX from a kernel.

    `outputs` names arrays that the kernel writes and that are not arguments of the function: new arrays, which begin as
    zeros. Each has a shape: the name of an argument whose shape it takes, a shape, or a function that takes all
    arguments by name and returns a shape. Any other array that the kernel writes is an argument, and the function
    returns a changed copy, or the same memory if nothing else needs it. `extents` gives the extents of the launch, in
    the same ways, if a call names none; they are never guessed. `debug` and `deterministic` are as in a call of the
    kernel.

    Traced numbers are read when the kernel runs, on the CPU only: on CUDA they must be known before. An error of a
    launch is a jax.errors.JaxRuntimeError with the kernel's message. The gradient of a kernel of an archive is an
    adjoint that the archive has, and has no gradient itself; such a kernel takes neither `debug` nor `deterministic`.
    """
    if not isinstance(kernel, (Kernel, aot.Kernel)):
        raise TypeError(f"samite.jax.function() expects a kernel; {type(kernel).__name__} is given")
    if isinstance(kernel, aot.Kernel) and (debug or deterministic):
        raise user_error(f"samite.jax.function({kernel.name}): kernels of an archive run as they were compiled")
    return Function(kernel, outputs or {}, extents, debug, deterministic)
