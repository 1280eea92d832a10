"""Errors that are raised in Python: like the library's own they end with the line of the program that called."""

from __future__ import annotations

from ._samite import UserError, called_at


def user_error(message: str) -> UserError:
    where = called_at()
    return UserError(message if where == "unknown location" else f"{message}\ncalled at {where}")


def missing_package(what: str, package: str, instead: str = "") -> ModuleNotFoundError:
    """Of a package that is not installed; `what` is what asked for it."""
    return ModuleNotFoundError(
        f"{what} needs the package {package}, which is not installed: pip install {package}{instead}\n"
        f"called at {called_at()}",
        name=package,
    )
