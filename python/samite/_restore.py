"""What pickle calls to have a kernel again, in this process or in another."""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all else
if TYPE_CHECKING:
    from . import Kernel


def kernel(module: str, name: str) -> Kernel:
    """A kernel of a module, which is imported."""
    if module.startswith("samite._loaded."):
        from ._load import restore

        return getattr(restore(module), name)
    import importlib

    return getattr(importlib.import_module(module), name)


def derivative(of: Kernel, kind: str, names: tuple[str, ...]) -> Kernel:
    """An adjoint or a tangent."""
    return getattr(of, kind)(*names)
