"""Errors raised in Python: like the library's own, they end with the line of the program that made the call."""

from __future__ import annotations

from collections.abc import Iterable

from ._samite import Parameter, UserError, called_at


def user_error(message: str) -> UserError:
    where = called_at()
    return UserError(message if where == "unknown location" else f"{message}\ncalled at {where}")


def check_outputs(function: str, name: str, parameters: Iterable[Parameter], outputs: Iterable[str]) -> None:
    """UserError unless `outputs` names arrays that the kernel `name` writes; `function` names the caller."""
    known = {each.name: each for each in parameters}
    for output in outputs:
        if output not in known or not known[output].is_written:
            raise user_error(
                f"{function}({name}): outputs expects names of arrays that the kernel writes; {output!r} is given"
            )


def missing_package(what: str, package: str, instead: str = "") -> ModuleNotFoundError:
    """The error for a package that is not installed; `what` needs it."""
    return ModuleNotFoundError(
        f"{what} needs the package {package}, which is not installed: pip install {package}{instead}\n"
        f"called at {called_at()}",
        name=package,
    )
