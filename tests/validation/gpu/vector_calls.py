"""The vector ops of vector_plan.py as PyTorch runs them, and their times on the GPU.

Each call has several copies of its operands, which together exceed the L2 cache: in training an op's operands were
written long before. Results stay until the same copy's next call, so that they do not lie in one place either.
Needs torch; a GPU only to measure.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from gpu_timer import Timing, time_on_gpu
from torch.nn import functional
from vector_plan import TABLE_ROWS, VectorRow

Call = Callable[[], object]

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
MOST_COPIES = 16
DROPOUT = 0.1
PARAMETER_VALUES = 1 << 20  # of one tensor of parameters: BERT-Large has 0.8 million in each on average
LEARNING_RATE = 1e-6


class TorchGpu:
    """The current GPU and its current stream (gpu_timer.Gpu)."""

    CLOCKS_PER_US = 3000  # no GPU's multiprocessors run at 3 GHz: it is held rather too long

    def hold(self, microseconds: float) -> None:
        torch.cuda._sleep(int(self.CLOCKS_PER_US * microseconds))  # PyTorch's own tests hold the GPU with it

    def mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def has_passed(self, event: torch.cuda.Event) -> bool:
        return event.query()

    def microseconds(self, begin: torch.cuda.Event, end: torch.cuda.Event) -> float:
        end.synchronize()
        return 1e3 * begin.elapsed_time(end)


def can_run(row: VectorRow) -> bool:
    """Whether the GPU has the row's type in hardware; PyTorch would emulate it."""
    return row.dtype != "bf16" or torch.cuda.get_device_capability() >= (8, 0)


def measure(row: VectorRow) -> Timing | None:
    """The row's time on the GPU; nothing where its operands do not fit into the memory."""
    timing = None
    try:
        timing = _measure(row)
    except torch.OutOfMemoryError:
        pass  # left before anything is freed: the exception holds the frames that hold the tensors
    torch.cuda.empty_cache()
    return timing


def _measure(row: VectorRow) -> Timing:
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
    copies = min(MOST_COPIES, 2 * cache // row.bytes + 1)
    torch.manual_seed(1)
    calls = [make_call(row) for _ in range(copies)]
    results: list[object] = [None] * copies

    def call(repetition: int) -> None:
        results[repetition % copies] = calls[repetition % copies]()

    return time_on_gpu(TorchGpu(), call, warm_up=2 * copies)  # so often that the allocator has all it will need


def make_call(row: VectorRow, device: str = "cuda") -> Call:
    """The row's call on operands of its own: random values, all bits of the mantissa in use."""
    if row.op.op == "optimizer":
        return _update(row, device)
    if row.op.call == "embedding":
        forward, operands = _embedding(row, device)
    else:
        forward, operands = _function(row, device)
    for operand in operands:
        operand.requires_grad_()  # as in training: what backward needs is kept
    if not row.op.backward:
        return lambda: forward(*operands)
    result = forward(*operands)
    gradient = torch.empty_like(result).uniform_(-1, 1)
    return lambda: torch.autograd.grad(result, operands, gradient, retain_graph=True)


def _values(row: VectorRow, device: str) -> torch.Tensor:
    """Random values in samples: [n, channels, height, width], [n, width] or [n]."""
    samples = row.values
    for extent in row.op.sample:
        samples //= extent
    dtype = torch.float32 if row.op.call == "cast" else DTYPES[row.dtype]
    layout = torch.channels_last if _is_channels_last(row) else torch.contiguous_format
    return torch.empty(samples, *row.op.sample, dtype=dtype, device=device, memory_format=layout).uniform_(-1, 1)


def _is_channels_last(row: VectorRow) -> bool:
    return row.op.call.endswith("_nhwc")


def _function(row: VectorRow, device: str) -> tuple[Callable[..., torch.Tensor], list[torch.Tensor]]:
    """A function and its operands, all of which have a gradient."""
    values = _values(row, device)
    name = row.op.call.removesuffix("_nhwc")
    if name == "add":
        return torch.add, [values, _values(row, device)]
    if name == "layer_norm":
        width = row.op.sample[-1]
        scale, shift = (torch.ones(width, dtype=values.dtype, device=device) for _ in range(2))
        return lambda x, w, b: functional.layer_norm(x, (width,), w, b), [values, scale, shift]
    if name == "batch_norm":  # parameters and statistics are fp32 whatever the values are, as under autocast
        scale, shift, mean, variance = (torch.ones(row.op.sample[0], device=device) for _ in range(4))
        return lambda x, w, b: functional.batch_norm(x, mean, variance, w, b, training=True), [values, scale, shift]
    functions = {
        "relu": torch.relu,
        "gelu": functional.gelu,
        "dropout": lambda x: functional.dropout(x, DROPOUT, training=True),
        "cast": lambda x: x.to(DTYPES[row.dtype]),
        "softmax": lambda x: torch.softmax(x, dim=-1),
        "max_pool": lambda x: functional.max_pool2d(x, kernel_size=3, stride=2, padding=1),
        "average_pool": lambda x: functional.adaptive_avg_pool2d(x, 1),
    }
    return functions[name], [values]


def _embedding(row: VectorRow, device: str) -> tuple[Callable[..., torch.Tensor], list[torch.Tensor]]:
    width = row.op.sample[-1]
    table = torch.empty(TABLE_ROWS, width, dtype=DTYPES[row.dtype], device=device).uniform_(-1, 1)
    tokens = torch.randint(TABLE_ROWS, (row.values // width,), device=device)
    return lambda weights: functional.embedding(tokens, weights), [table]


def _update(row: VectorRow, device: str) -> Call:
    """PyTorch's fused optimizers: the one pass over parameters, gradients and state that trainyard counts."""
    sizes = [min(PARAMETER_VALUES, row.values - begin) for begin in range(0, row.values, PARAMETER_VALUES)]
    parameters = [torch.empty(size, device=device).uniform_(-1, 1).requires_grad_() for size in sizes]
    for parameter in parameters:
        parameter.grad = torch.empty_like(parameter).uniform_(-1, 1)
    if row.op.call == "momentum":
        return torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=0.9, fused=True).step
    return torch.optim.AdamW(parameters, lr=LEARNING_RATE, fused=True).step
