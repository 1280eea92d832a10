"""A program for a system that has only Python: its arrays are Python's own."""

import array

import samite


class Matrix:
    def __init__(self, *values: float) -> None:
        self.values = array.array("f", values)

    @property
    def __array_interface__(self) -> dict:
        address, _ = self.values.buffer_info()
        return {"version": 3, "shape": (2, 2), "typestr": "<f4", "data": (address, False)}


product = Matrix(0, 0, 0, 0)
samite.matmul(Matrix(1, 2, 3, 4), Matrix(5, 6, 7, 8), out=product)
print("product", *product.values)
