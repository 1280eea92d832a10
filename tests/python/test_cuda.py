"""What there is on CUDA alone: torch's streams, graphs and memory, arrays of two devices."""

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import samite  # noqa: E402
import samite.torch  # noqa: E402
import samite_test_kernels as kernels  # noqa: E402

CYCLES = 200_000_000  # of a clock of 1 to 2 GHz

multiply = samite.torch.function(kernels.multiply, outputs={"z": "x"})




@pytest.fixture(autouse=True)
def seen_by_torch(cuda_only):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    torch.manual_seed(0)


def doubles(*shape):
    return torch.randn(*shape, dtype=torch.float64, device="cuda")


def axpy(x, w):
    y = x.clone()
    kernels.axpy(y.view(-1), w[:1].expand_as(x).reshape(-1), 2.0)
    return y


def quantised(x, w):
    (q, scale), (r, scale_r) = samite.quantise(x.float()), samite.quantise(w.float(), group=(1, None))
    return samite.scaled_mm(q, r.t(), scale, scale_r.t(), out_dtype=torch.float32).double()


def scaled_groups(x, w):
    (q, scale), (r, scale_r) = samite.quantise(x.float(), group=(1, None)), samite.quantise(w.float(), group=(1, None))
    offsets = x.shape[0] * torch.arange(2, dtype=torch.int32, device=x.device)
    return samite.scaled_grouped_mm(q, r[None].mT, scale, scale_r[None].mT, offsets).double()


def grouped(x, w):
    groups = torch.arange(3, dtype=torch.int32, device=x.device)
    offsets = 3 * groups + (x.shape[0] - 6) * (groups == 2).int()  # 0, 3 and all rows, without a number from the host
    return samite.grouped_mm(x, torch.stack((w, w)).mT, offsets)


# Each is given a matrix x and a square one w, and returns a matrix like x; what it should return is beside it.
OPERATIONS = {
    "kernel": (axpy, lambda x, w: x + 2 * w[:1]),
    "function": (lambda x, w: multiply(x.reshape(-1), x.reshape(-1)).view_as(x), lambda x, w: x * x * x.sin()),
    "matmul": (lambda x, w: samite.matmul(x, w.t()), lambda x, w: x @ w.t()),
    "layer": (
        lambda x, w: samite.torch.matmul(x, w.t(), bias=w[0], residual=x, activation="gelu"),
        lambda x, w: torch.nn.functional.gelu(x @ w.t() + w[0]) + x,
    ),
    "scaled_mm": (quantised, lambda x, w: x @ w.t()),
    "grouped_mm": (grouped, lambda x, w: x @ w.t()),
    "scaled_grouped_mm": (scaled_groups, lambda x, w: x @ w.t()),
    "softmax": (lambda x, w: samite.softmax(x), lambda x, w: x.softmax(-1)),
    "layer_norm": (
        lambda x, w: samite.layer_norm(x, w[0], w[1]),
        lambda x, w: torch.nn.functional.layer_norm(x, x.shape[-1:], w[0], w[1]),
    ),
    "attention": (
        lambda x, w: samite.attention(x[None, None], w[None, None], w[None, None])[0, 0],
        lambda x, w: torch.nn.functional.scaled_dot_product_attention(x[None], w[None], w[None])[0],
    ),
}
operations = pytest.mark.parametrize("operation, reference", OPERATIONS.values(), ids=OPERATIONS)


def near(actual, expected):
    # Of 8-bit numbers the errors are of some hundredths; all others are in double.
    return (actual - expected).norm() <= 0.1 * expected.norm()


@operations
def test_the_current_stream_is_used_and_nobody_waits(operation, reference):
    x, w = doubles(48, 32), doubles(32, 32)
    expected = reference(3 * x, w)
    operation(x, w)
    given, stream = torch.zeros_like(x), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        operation(given, w)  # what a first call in a stream costs
        torch.cuda.synchronize()
        torch.cuda._sleep(CYCLES)
        given.copy_(3 * x)
        result = operation(given, w) * 1
        given.zero_()
        assert not stream.query()
    torch.cuda.current_stream().wait_stream(stream)
    assert near(result, expected)


@operations
def test_other_streams_are_not_waited_for(operation, reference):
    x, w, stream = doubles(48, 32), doubles(32, 32), torch.cuda.Stream()
    busy = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        operation(x, w)
        torch.cuda.synchronize()
        with torch.cuda.stream(busy):
            torch.cuda._sleep(2 * CYCLES)
        result = operation(x, w)
        stream.synchronize()
        assert not busy.query()
        assert near(result, reference(x, w))


@operations
def test_a_graph_of_torch_holds_the_launches(operation, reference):
    x, w, graph, side = doubles(48, 32), doubles(32, 32), torch.cuda.CUDAGraph(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        operation(x, w)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        result = operation(x, w)
    for _ in range(12):  # launches that take the places of those in the graph
        operation(doubles(48, 32), w)
    for _ in range(3):
        x.copy_(doubles(48, 32))
        graph.replay()
        assert near(result, reference(x, w))


def test_a_graph_of_torch_keeps_the_memory_of_its_launches():
    """Rows of an odd number of bytes are copied first, so that they can be read fast."""
    a, b = doubles(512, 511).bfloat16(), doubles(512, 511).bfloat16()
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        samite.matmul(a, b.t())
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph, stream=stream):
        result = samite.matmul(a, b.t())
    for _ in range(12):
        other = doubles(512, 511).bfloat16()
        assert near(samite.matmul(a, other.t()).double(), a.double() @ other.double().t())
    for _ in range(3):
        a.copy_(doubles(512, 511))
        graph.replay()
        assert near(result.double(), a.double() @ b.double().t())


def test_a_graph_holds_a_step_of_training():
    w, x = (0.1 * doubles(32, 32)).requires_grad_(), doubles(48, 32)
    offsets = torch.tensor([0, 5, 48], dtype=torch.int32, device="cuda")

    def step():
        w.grad = None
        h = samite.torch.matmul(x, w, activation="gelu")
        samite.torch.layer_norm(samite.torch.softmax(h)).square().sum().backward()
        h = samite.torch.matmul(x, w)
        groups = samite.torch.grouped_mm(h, torch.stack((w, w)), offsets, activation="silu")
        groups.square().sum().backward(retain_graph=True)
        loss = (h * multiply(h.reshape(-1), h.reshape(-1)).view_as(h)).sum()
        loss.backward()
        return loss.detach()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    w.grad = None
    with torch.cuda.graph(graph):
        loss = step()
    gradient = w.grad
    for _ in range(2):
        x.copy_(doubles(48, 32))
        graph.replay()
        of_graph = loss.clone(), gradient.clone()
        assert torch.allclose(of_graph[0], step())
        assert torch.allclose(of_graph[1], w.grad)


def test_a_backward_pass_runs_in_the_stream_of_its_forward_pass():
    x, y, stream = doubles(50), doubles(50), torch.cuda.Stream()
    multiply(x.requires_grad_(), y).sum().backward()
    x.grad = None
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        late = 2 * x
        multiply(late, y).sum().backward()
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.allclose(x.grad, 2 * 2 * 2 * x.detach() * y.sin())


def test_a_stream_that_is_named():
    x, y = doubles(1000), doubles(1000)
    kernels.axpy(y, x, 1.0)  # compiled and loaded, which waits for the device
    before = y.clone()
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for given in (stream, stream.cuda_stream):
        torch.cuda._sleep(2 * CYCLES)
        kernels.axpy(y, x, 1.0, stream=given)
        stream.synchronize()
        assert not torch.cuda.current_stream().query()
        torch.cuda.synchronize()
    assert torch.allclose(y, before + 2 * x)
    with pytest.raises(samite.UserError, match="stream expects a stream of CUDA"):
        kernels.axpy(y, x, 1.0, stream="mine")


def test_a_recorded_launch_runs_in_the_stream_it_was_recorded_in():
    x, y, stream = doubles(1000), torch.zeros(1000, dtype=torch.float64, device="cuda"), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        launch = kernels.axpy.record(y, x, 1.0)
        launch()
        torch.cuda._sleep(CYCLES)
    launch()
    assert torch.cuda.current_stream().query() or not stream.query()
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(y, 2 * x)


def test_memory_that_is_given_back_while_a_launch_runs():
    count, results = 1 << 20, []
    for i in range(20):
        x, y = torch.full((count,), float(i), device="cuda").double(), torch.zeros(count, device="cuda").double()
        torch.cuda._sleep(CYCLES // 20)
        kernels.axpy(y, x, 2.0)
        results.append((y, 2.0 * i))
        del x
        torch.full((count,), -1.0, dtype=torch.float64, device="cuda")  # likely where x was
        one, angle = (torch.full((count,), value, dtype=torch.float64, device="cuda") for value in (1.0, float(i)))
        z = multiply(one, angle)
        del one, angle
        torch.full((count,), -1.0, dtype=torch.float64, device="cuda")
        results.append((z, float(np.sin(i))))
    for actual, expected in results:
        assert torch.allclose(actual, torch.full_like(actual, expected))


def test_memory_is_steady():
    def call(times):
        for _ in range(times):
            x = doubles(64, 64)
            samite.softmax(samite.matmul(x, x))
            samite.quantise(x.float())
            kernels.axpy(x[0], x[1], 1.0)
        torch.cuda.synchronize()

    call(20)
    free = torch.cuda.mem_get_info()[0]
    call(2000)
    assert free - torch.cuda.mem_get_info()[0] < 8 << 20


def test_arrays_of_two_devices_are_refused():
    here, there = doubles(4, 4), torch.zeros(4, 4, dtype=torch.float64)
    for other in (there, there.numpy(), memoryview(there.numpy())):
        with pytest.raises(samite.UserError, match="'from' is on cpu, but 'to' is on cuda:0"):
            kernels.copy_float64(here, other)
        with pytest.raises(samite.UserError, match="'from' is on cuda:0, but 'to' is on cpu"):
            kernels.copy_float64(other, here)
    for call in (
        lambda: samite.matmul(here, there),
        lambda: samite.matmul(there.numpy(), here),
        lambda: samite.matmul(here, here, bias=there[0]),
        lambda: samite.layer_norm(here, there[0]),
        lambda: samite.attention(here[None, None], here[None, None], there[None, None]),
        lambda: samite.grouped_mm(here, here[None], torch.tensor([0, 4], dtype=torch.int32)),
        lambda: samite.dequantise(samite.quantise(here.float())[0], torch.ones(1, 1)),
    ):
        with pytest.raises(samite.UserError, match=r"is on another device than \w+: copy one of them"):
            call()
    for call in (
        lambda: samite.matmul(here, here, out=there),
        lambda: samite.softmax(here, out=there),
        lambda: samite.layer_norm(here, out=there.numpy()),
    ):
        with pytest.raises(samite.UserError, match="out is on another device than"):
            call()


def test_bad_input_is_described_with_its_device():
    with pytest.raises(samite.UserError, match=r"torch.Tensor of float32 with shape \(3\) on cuda:0 is given"):
        kernels.axpy(doubles(3), torch.zeros(3, device="cuda"), 1.0)
    with pytest.raises(samite.UserError, match=r"a of float64 with shape \(3, 4\) and strides \(4, 1\) on cuda:0"):
        samite.matmul(doubles(3, 4), doubles(5, 4))


def test_groups_that_are_not_in_order_are_named_in_debug_mode():
    offsets = torch.tensor([0, 5, 3], dtype=torch.int32, device="cuda")
    samite.set_debug_mode(True)
    try:
        with pytest.raises(samite.UserError, match="group 1 is of the rows from 5 to before 3 of 5"):
            samite.grouped_mm(doubles(5, 4), doubles(2, 4, 3), offsets)
    finally:
        samite.set_debug_mode(False)
    ones = torch.ones(2, 2, device="cuda")
    assert samite.matmul(ones, ones).sum().item() == 8  # the device goes on


def test_tensors_without_elements():
    kernels.axpy(doubles(0), doubles(0), 1.0)
    assert samite.matmul(doubles(0, 3), doubles(3, 4)).shape == (0, 4)
    assert not samite.matmul(doubles(2, 0), doubles(0, 4)).any()
    assert samite.softmax(doubles(0, 4)).shape == (0, 4)


def test_threads_with_streams_of_their_own():
    results = {}

    def work(i):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.full((1000,), float(i), dtype=torch.float64, device="cuda")
            y = torch.zeros_like(x)
            for _ in range(100):
                kernels.axpy(y, x, 1.0)
                product = samite.matmul(x.view(25, 40), x.view(40, 25))
            results[i] = bool((y == 100 * i).all() and (product == 40 * i * i).all())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: True for i in range(8)}


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_torch_compile(mode):
    pytest.importorskip("triton", reason="torch's compiler for CUDA needs Triton")

    def network(x, w):
        h = samite.torch.matmul(x.relu(), w, activation="gelu")
        h = multiply((h + 1).reshape(-1), h.reshape(-1)).view_as(h)
        return samite.torch.layer_norm(samite.torch.softmax(h)).square().mean()

    x, w = doubles(48, 32).requires_grad_(), doubles(32, 32).requires_grad_()
    expected = torch.autograd.grad(network(x, w), (x, w))
    compiled = torch.compile(network, fullgraph=True, mode=mode)
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        for actual, each in zip(torch.autograd.grad(compiled(x, w), (x, w)), expected):
            assert torch.allclose(actual, each)


def test_a_second_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    with torch.cuda.device(1):
        x = doubles(5, 4)
        assert torch.allclose(samite.softmax(x), x.softmax(-1))
    assert samite.softmax(x).device == x.device
    with pytest.raises(samite.UserError, match="'from' is on cuda:1, but 'to' is on cuda:0"):
        kernels.copy_float64(torch.zeros_like(x, device="cuda:0"), x)


def test_arrays_of_jax_are_read():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    if not any(each.platform == "gpu" for each in jax.devices()):
        pytest.skip("JAX sees no GPU")
    given = jax.numpy.arange(12.0).reshape(3, 4) * 2
    to = torch.zeros(3, 4, dtype=torch.float64, device="cuda")
    kernels.copy_float64(to, given)
    assert to.tolist() == np.asarray(given).tolist()
    with pytest.raises(samite.UserError, match="as all arrays of JAX are"):
        kernels.copy_float64(given, to)
    with pytest.raises(samite.UserError, match="no new array can be made like"):
        samite.softmax(given)
