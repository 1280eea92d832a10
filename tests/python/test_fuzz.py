"""Whatever is passed, an exception is all that comes of it."""

import array
import os
import random

import ml_dtypes
import numpy as np
import samite
import samite_test_kernels as kernels

KERNELS = [kernels.diffuse, kernels.axpy, kernels.count_up, kernels.move, kernels.total, kernels.exponential_rows]
TYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f4", "f8", "f8", ">f8", "c8", "O", "S3", "M8[s]"]


def some_array(random):
    shape = [random.choice([0, 1, 2, 3, 64]) for _ in range(random.randrange(6))]
    if random.random() < 0.1:
        made = np.zeros(shape, random.choice([ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4]))
    else:
        made = np.zeros(shape, random.choice(TYPES))
    if random.random() < 0.3:
        made = made.T
    if random.random() < 0.3 and made.ndim:
        made = made[:: random.choice([-2, -1, 1, 3])]
    if random.random() < 0.1 and made.ndim and made.shape[0]:
        made = np.broadcast_to(made[:1], (4, *made.shape[1:]))
    if random.random() < 0.1:
        made.flags.writeable = False
    return made


def fitting(random, kind, rank):
    """What a parameter takes, most of the time."""
    if rank == 0:
        return {"bool": True, "int32": 3, "int64": -4}.get(kind, 0.5)
    shape = [random.choice([1, 3, 64]) for _ in range(rank)]
    return np.zeros(shape, kind)


def something(random):
    return random.choice(
        [
            None, True, 0, -1, 1 << 31, 1 << 63, 1 << 90, 0.5, float("nan"), float("inf"), 1j, "a", b"ab", [], [1.0],
            (), (1, 2, 3), {}, object(), object, samite, kernels.axpy, array.array("d", [1]), memoryview(b"abc"),
            bytearray(8), range(3), np.float32(1), np.int64(1), np.bool_(True), np.dtype("f4"), np.ndarray,
        ]
    )  # fmt: skip


def argument(random, parameter):
    draw = random.random()
    if draw < 0.6:
        return fitting(random, parameter[1], parameter[2]) if parameter[4] == 1 else (1, 2, 3)
    return some_array(random) if draw < 0.85 else something(random)


def extents(random, kernel):
    draw = random.random()
    if draw < 0.5:
        return (1,) * kernel.launch_rank
    if draw < 0.7:
        return None
    return something(random) if draw < 0.9 else tuple(something(random) for _ in range(random.randrange(4)))


def test_arguments():
    seed = int(os.environ.get("SAMITE_TEST_RANDOM_SEED", "0"))
    calls = 0
    for i in range(4000):
        chance = random.Random(seed + i)
        kernel = chance.choice(KERNELS)
        positional = [argument(chance, each) for each in kernel.parameters]
        named = {"extents": extents(chance, kernel)}
        if chance.random() < 0.3:
            for each in kernel.parameters[len(positional) // 2 :]:
                named[each[0]] = positional.pop()
        if chance.random() < 0.1:
            named[chance.choice(["stream", "debug", "deterministic", "speed", "next"])] = something(chance)
        if is_large(named["extents"]):
            continue
        # Extents and arrays are apart: debug mode keeps a kernel inside of what it is given.
        named.setdefault("debug", True)
        try:
            if chance.random() < 0.2:
                kernel.record(*positional, **named)()
            else:
                kernel(*positional, **named)
            calls += 1
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            assert str(error) and not isinstance(error, samite.InternalError), (seed + i, error)
    assert calls > 100


def is_large(extents):
    """Whether a launch over them would not come to an end."""
    numbers = extents if isinstance(extents, (tuple, list)) else [extents]
    integers = [int(each) for each in numbers if isinstance(each, (int, np.integer))]
    return any(each > 1000 for each in integers) and all(each < 1 << 63 for each in integers)


def test_ready_operations():
    seed = int(os.environ.get("SAMITE_TEST_RANDOM_SEED", "0"))
    arrays_of = {
        samite.matmul: 2, samite.scaled_mm: 4, samite.quantise: 1, samite.dequantise: 2, samite.softmax: 1,
        samite.layer_norm: 3, samite.attention: 3, samite.grouped_mm: 3, samite.scaled_grouped_mm: 5,
    }  # fmt: skip
    options = ["bias", "residual", "activation", "out", "out_dtype", "tf32", "group", "dtype", "epsilon", "causal"]
    done = 0
    for i in range(1500):
        chance = random.Random(seed + i)
        operation = chance.choice(list(arrays_of))
        kind = chance.choice(["f4", "f8", ml_dtypes.float8_e4m3fn])
        rank = 4 if operation is samite.attention else 2

        def given():
            draw = chance.random()
            if draw < 0.75:
                return np.zeros([chance.choice([0, 1, 2, 2, 2]) for _ in range(rank)], kind)
            return some_array(chance) if draw < 0.9 else something(chance)

        arrays = [given() for _ in range(arrays_of[operation])]
        if operation is samite.scaled_mm and chance.random() < 0.8:
            arrays[2:] = [np.ones((1, 1), "f4")] * 2
        if operation in (samite.grouped_mm, samite.scaled_grouped_mm) and chance.random() < 0.8:
            arrays[1] = np.zeros([2, *(chance.choice([0, 2, 2]) for _ in range(2))], kind)
            arrays[2:-1] = [np.ones((1, 1), "f4"), np.ones((2, 1, 1), "f4")][: len(arrays) - 3]
            arrays[-1] = np.array(sorted(chance.choices([-1, 0, 1, 2, 3], k=3)), np.int32)
        if chance.random() < 0.1:
            arrays = arrays[:-1]
        named = {}
        for name in options:
            if chance.random() < 0.06:
                named[name] = chance.choice([given, lambda: something(chance), lambda: "relu", lambda: "float32"])()
        try:
            operation(*arrays, **named)
            done += 1
        except samite.UserError as error:
            assert str(error)
        except TypeError as error:  # of the form of the call
            assert "argument" in str(error)
    assert done > 50
