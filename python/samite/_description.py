"""The texts of help() and inspect.signature() for a kernel or a pipeline."""

from __future__ import annotations

from . import _samite

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any

    from . import Kernel, Pipeline


class OfKernel:
    """An attribute with a value for each kernel or pipeline, and another for the class."""

    def __init__(self, make: Callable[[Any], Any], of_class: Any) -> None:
        self.make = make
        self.of_class = of_class

    def __get__(self, kernel: Kernel | Pipeline | None, owner: type) -> Any:
        if kernel is not None:
            return self.make(kernel)
        if self.of_class is None:
            raise AttributeError("a kernel has a signature, the class of kernels has none")
        return self.of_class


def signature(kernel: Kernel | Pipeline) -> Signature:
    """The signature for inspect.signature(). Parameters that Python cannot name, such as `in`, are positional."""
    import inspect
    import keyword

    kinds = inspect.Parameter
    names = [each.name for each in kernel.parameters]
    by_position = max((i for i, name in enumerate(names) if keyword.iskeyword(name)), default=-1)
    parameters = []
    for i, each in enumerate(kernel.parameters):
        annotation = each.dtype
        if each.rank:
            annotation += "[" + ", ".join(":" * each.rank) + "]"
        elif each.count > 1:
            annotation = f"tuple[{', '.join([each.dtype] * each.count)}]"
        kind = kinds.POSITIONAL_ONLY if i <= by_position else kinds.POSITIONAL_OR_KEYWORD
        parameters.append(kinds(each.name, kind, annotation=annotation))
    options: dict[str, Any] = {"extents": None} if isinstance(kernel, _samite.Kernel) else {"schedule": None}
    options |= {"stream": None, "debug": None, "deterministic": False}
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in options.items()]
    return inspect.Signature(parameters)


def documentation(kernel: Kernel | Pipeline) -> str:
    """The user's text, and a description of each argument."""
    lines = [f"{kernel.name}{signature(kernel)}", "", *kernel.documentation.splitlines()]
    if kernel.documentation:
        lines.append("")
    for each in kernel.parameters:
        if each.rank:
            use = "changed in place" if each.is_written and each.is_read else "written" if each.is_written else "read"
            what = f"array of {each.dtype} with {each.rank} dimension{'s' * (each.rank > 1)}, {use}"
        else:
            what = f"{each.count} numbers as a tuple, {each.dtype}" if each.count > 1 else each.dtype
        lines.append(f"{each.name}: {what}")
    return "\n".join(lines)
