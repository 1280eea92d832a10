"""Functions that pickle calls to restore a kernel, in this process or in another."""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from . import Kernel


def kernel(module: str, name: str) -> Kernel:
    """Imports the module and returns its kernel."""
    if module.startswith("samite._loaded."):
        from ._load import restore

        return getattr(restore(module), name)
    import importlib

    return getattr(importlib.import_module(module), name)


def derivative(of: Kernel, kind: str, names: tuple[str, ...]) -> Kernel:
    """The adjoint or the tangent of a kernel."""
    return getattr(of, kind)(*names)
