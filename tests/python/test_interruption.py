"""Ctrl-C ends a kernel that runs on the CPU."""

import subprocess
import sys

# A kernel of minutes, and a signal after half a second.
LONG = """
import os, signal, threading, time
import numpy as np, samite_test_kernels as kernels

def after_a_while():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

values = np.zeros(1 << 20)
kernels.spin(values[:16], 1)
threading.Thread(target=after_a_while).start()
start = time.perf_counter()
"""


def python(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_ctrl_c_raises_keyboard_interrupt_and_the_next_call_works():
    done = python(
        LONG
        + """
try:
    kernels.spin(values, 1_000_000)
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - start < 4)
values[:] = 0
kernels.spin(values, 2)
print(np.all(values == 1))
"""
    )
    assert done.stdout == "interrupted True\nTrue\n", done.stderr


def test_the_programs_own_handler_decides():
    done = python(
        LONG
        + """
class Enough(Exception):
    pass

def stop(number, frame):
    raise Enough(number)

signal.signal(signal.SIGINT, stop)
try:
    kernels.spin(values, 1_000_000)
except Enough as error:
    print("handled", error.args[0] == signal.SIGINT)
"""
    )
    assert done.stdout == "handled True\n", done.stderr


def test_a_handler_that_returns_lets_the_kernel_end():
    done = python(
        LONG
        + """
calls = []
signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
many = values[: 1 << 16].copy()
kernels.spin(many, 10_000)
while not calls:
    kernels.spin(values[: 1 << 16], 1_000)
print(len(calls), np.all(many == many[0]) and many[0] > 0)
"""
    )
    assert done.stdout == "1 True\n", done.stderr
