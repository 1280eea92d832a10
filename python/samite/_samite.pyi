"""The types of the compiled module."""

from typing import Any, NamedTuple, Protocol, SupportsFloat, SupportsIndex

version: str
interface: object

class Error(Exception): ...
class UserError(Error, ValueError): ...
class DeviceError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...

class SupportsDLPack(Protocol):
    def __dlpack__(self, **named: Any) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

# An array is whatever has DLPack, an array interface or a buffer; a number one of Python's or NumPy's; a struct a tuple.
Argument = SupportsDLPack | SupportsFloat | SupportsIndex | tuple[float, ...] | object
Extents = int | tuple[int, ...]

class Report:
    @property
    def variants(self) -> int: ...
    def json(self) -> str: ...

class Parameter(NamedTuple):
    name: str
    dtype: str
    rank: int  # 0: a number
    is_written: bool
    count: int  # numbers: of a struct several
    is_read: bool  # elements of it are loaded or added to

class Kernel:
    @property
    def name(self) -> str: ...
    @property
    def documentation(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def launch_rank(self) -> int: ...
    @property
    def is_tile_kernel(self) -> bool: ...
    def __call__(
        self,
        *arguments: Argument,
        extents: Extents | None = None,
        stream: object | None = None,
        debug: bool | None = None,
        deterministic: bool = False,
        **named: Argument,
    ) -> None: ...
    def record(
        self,
        *arguments: Argument,
        extents: Extents | None = None,
        stream: object | None = None,
        debug: bool | None = None,
        deterministic: bool = False,
        **named: Argument,
    ) -> Launch: ...
    def adjoint(self, *names: str) -> Kernel: ...
    def tangent(self, *names: str) -> Kernel: ...
    def report(self) -> Report: ...
    def __reduce__(self) -> tuple[object, ...]: ...

class Launch:
    @property
    def extents(self) -> tuple[int, ...]: ...
    def __call__(self) -> None: ...
    def set(self, *, extents: Extents = ..., **named: Argument) -> None: ...

def devices() -> list[str]: ...
def synchronize() -> None: ...
def debug_mode() -> bool: ...
def set_debug_mode(on: bool) -> None: ...
def set_leak_warnings(on: bool) -> None: ...
def called_at() -> str: ...
def library_file() -> str: ...
def library_build() -> str: ...
def cache_key(parts: list[str], /) -> str: ...
def cache_find(key: str) -> bytes | None: ...
def cache_publish(key: str, content: bytes) -> None: ...
def requirements() -> list[tuple[str, str, bool]]: ...

# Of samite/ready.py.
Planned = tuple[Kernel, tuple[int, ...]]
Shape = tuple[int, int, int, int]  # batches, rows, columns, inner
Epilogue = tuple[str, str, bool, bool]  # result type, activation, bias, residual

class ReadyKernels:
    def matmul(
        self,
        factor: str,
        epilogue: Epilogue,
        transposed: tuple[bool, bool],
        tf32: bool,
        in_batches: bool,
        shape: Shape,
        device: int,
        /,
    ) -> Planned: ...
    def scaled_matmul(
        self,
        factors: tuple[str, str],
        epilogue: Epilogue,
        transposed: tuple[bool, bool],
        in_batches: bool,
        scales_of_a: tuple[tuple[int, ...], tuple[int, ...]],
        scales_of_b: tuple[tuple[int, ...], tuple[int, ...]],
        shape: Shape,
        device: int,
        /,
    ) -> tuple[Planned, tuple[bool, bool]] | None: ...
    def grouped_matmul(
        self,
        factor: str,
        epilogue: Epilogue,
        b_transposed: bool,
        tf32: bool,
        checked: bool,
        shape: Shape,  # groups before rows
        device: int,
        /,
    ) -> Planned: ...
    def grouped_terms(
        self,
        factor: str,
        result: str,
        transposed: tuple[bool, bool],
        tf32: bool,
        checked: bool,
        shape: Shape,  # groups before rows
        device: int,
        /,
    ) -> Planned: ...
    def scaled_grouped_matmul(
        self,
        factors: tuple[str, str],
        epilogue: Epilogue,
        b_transposed: bool,
        checked: bool,
        scales_of_a: tuple[int, ...],
        scales_of_b: tuple[int, ...],
        shape: Shape,  # groups before rows
        device: int,
        /,
    ) -> Planned | None: ...
    def quantise(self, x: str, q: str, scales: tuple[int, ...], rows: int, columns: int, /) -> list[Planned]: ...
    def dequantise(self, q: str, x: str, scales: tuple[int, ...], rows: int, columns: int, /) -> list[Planned]: ...
    def softmax(self, type: str, rows: int, columns: int, device: int, /) -> Planned: ...
    def softmax_adjoint(self, type: str, rows: int, columns: int, device: int, /) -> Planned: ...
    def layer_norm(self, type: str, weighted: bool, rows: int, columns: int, device: int, /) -> Planned: ...
    def layer_norm_adjoint(self, type: str, rows: int, columns: int, device: int, /) -> Planned: ...
    def attention(self, type: str, shape: tuple[int, int, int, int, int], causal: bool, device: int, /) -> Planned: ...
    def attention_adjoint(
        self, type: str, shape: tuple[int, int, int, int, int], causal: bool, device: int, /
    ) -> list[Planned]: ...

def layout(array: object, what: str) -> tuple[str, tuple[int, ...], tuple[int, ...], int]: ...
