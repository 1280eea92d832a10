"""samite.Tape: recorded launches, and their gradients."""

from __future__ import annotations

from . import _samite
from ._arrays import given, new, result

TYPE_CHECKING = False  # typing takes longer to import than everything else
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Tape"]


class Tape(_samite.Tape):
    """Records the kernels that this thread calls, and runs their adjoints in reverse order:

        with samite.Tape() as tape:
            diffuse(next, now, rate=0.2)
            total(loss, next, extents=next.shape)
        tape.backward(loss)
        tape.gradient(now)

    All floating arrays of the recorded calls have a gradient, except those that constant() names. The tape keeps the
    arrays, and copies values before a later call overwrites them. If `keep_values` is false it makes no copies, and
    backward() is refused if it needs overwritten values. The tape sees only calls of kernels, pipelines and ready
    operations: no other code may write to an array between the calls that use it and backward(). On the CPU, unless
    `check_writes` is false, hashes of the arrays detect such writes, and backward() is refused if it needs overwritten
    values. `check_finite` names the first cause of a gradient that is infinite or not a number.
    """

    def gradient(self, array: Any, *, out: Any = None) -> Any:
        """The gradient of an array on the tape: a new array of the same library, or `out`."""
        what = given("Tape.gradient", "array", array)
        made = new(what, what.shape, what.dtype) if out is None else out
        self.copy_gradient(array, made)
        return result(what, made) if out is None else out
