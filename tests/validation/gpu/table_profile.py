"""A kernel table of op_trace.py as a torch.profiler trace, so that `trainyard import kineto` reads it like any other.

Kernels follow each other without gaps, as in an imported trace. The table has the innermost operator of each kernel, not
which kernels one call of it launched: neighbours with the same operator and shapes are one call; fills, and in the forward
pass the casts of operands directly before a product, belong to the call that follows. What a table does not have follows
from what it has: strides of products from the letters in the kernel's name, stride and padding of convolutions from the
sizes of input and output. Needs the standard library only.
"""

from __future__ import annotations

import csv
import gzip
import math
import pathlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_table import Kernel

PRODUCTS = ("aten::addmm", "aten::mm", "aten::bmm", "aten::cudnn_convolution")
# The names that the importer knows for the same work.
OTHER_NAMES = {"aten::clamp_min_": "aten::relu_", "aten::gather": "aten::embedding"}
UPDATE = "Optimizer.step#update"  # the range around the optimizer's kernels


class TableError(Exception):
    """The table does not fit the model; the text says how."""


@dataclass
class Call:
    """One call of an operator and its kernels. `filled`: shape of a buffer that it fills first; `gradients`: values of the
    tensors whose gradients are ready after it."""

    phase: str
    op: str
    shapes: str
    kernels: list[Kernel] = field(default_factory=list)
    filled: str = ""
    gradients: list[int] = field(default_factory=list)

    @property
    def sizes(self) -> list[list[int]]:
        """Of its tensors; a text cut off in the middle of a size is no matter for the first ones."""
        return [[int(size) for size in shape.split("x") if size] for shape in self.shapes.split(";") if shape]


def read_table(path: pathlib.Path) -> tuple[dict[str, str], list[Kernel]]:
    """The `# key: value` lines and the kernels."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    lines = text.splitlines()
    facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    rows = csv.DictReader(line for line in lines if not line.startswith("# "))
    kernels = [
        Kernel(int(row["index"]), row["phase"], row["op"], row["shapes"], row["kernel"], float(row["start_us"]),
               float(row["duration_us"]))
        for row in rows
    ]  # fmt: skip
    return facts, kernels


def is_host_copy(kernel: Kernel) -> bool:
    """Copies to and from the host, which the importer leaves out of a trace."""
    return kernel.kernel.startswith("Memcpy") and ("HtoD" in kernel.kernel or "DtoH" in kernel.kernel)


def calls_of(kernels: list[Kernel]) -> list[Call]:
    """The calls of operators in the order in which their kernels ran."""
    joined: list[Call] = []  # the last one first
    for call in reversed(_neighbours([Call(one.phase, one.op, one.shapes, [one]) for one in kernels])):
        following = joined[-1] if joined else None
        if following and _prepares(call, following):
            following.kernels = call.kernels + following.kernels
            if call.op == "aten::fill_":
                following.filled = following.filled or call.shapes
        else:
            joined.append(call)
    return _neighbours(joined[::-1])


def _neighbours(calls: list[Call]) -> list[Call]:
    """Neighbours with the same operator and shapes as one call."""
    joined: list[Call] = []
    for call in calls:
        last = joined[-1] if joined else None
        if last and (last.phase, last.op, last.shapes) == (call.phase, call.op, call.shapes):
            last.kernels += call.kernels
            last.filled = last.filled or call.filled
        else:
            joined.append(call)
    return joined


def _prepares(call: Call, following: Call) -> bool:
    if call.phase != following.phase:
        return False
    is_cast = call.op == "aten::copy_" and call.phase == "forward" and following.op in PRODUCTS
    return call.op == "aten::fill_" or is_cast


def add_gradients(calls: list[Call], tensors: Counter[int]) -> None:
    """Puts the gradients of a model's parameters, `tensors` by their values, where the backward pass completes them: the
    last calls with results of their sizes, since autocast casts each gradient and a gradient with two parts is added up.
    Raises TableError if some are left over."""
    left = tensors.copy()
    for call in reversed(calls):
        for values in _results(call):
            if left[values] > 0:
                left[values] -= 1
                call.gradients.append(values)
    if left.total() > 0:
        raise TableError(f"no kernels complete the gradients of {dict(+left)}")


def _results(call: Call) -> list[int]:
    """Values of the results that may be gradients of parameters."""
    if call.phase != "backward" or not call.sizes:
        return []
    if call.op in ("aten::copy_", "aten::add_"):
        return [math.prod(call.sizes[0])]
    if call.op == "aten::native_batch_norm_backward":
        return 2 * [call.sizes[0][1]]
    if call.op == "aten::native_layer_norm_backward":
        return 2 * [call.sizes[0][-1]]
    if call.op == "aten::embedding_dense_backward" and call.filled:
        return [math.prod(map(int, call.filled.split("x")))]
    return []


def profile_of(calls: list[Call], gpu: str) -> dict:
    """The trace in the form that torch.profiler exports."""
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": gpu}],
        "traceEvents": list(_events(calls)),
    }


def _events(calls: list[Call]) -> Iterator[dict]:
    ran = 0  # ns
    updates = [number for number, call in enumerate(calls) if call.phase == "optimizer"]
    if updates:
        yield _event("user_annotation", UPDATE, updates[0], updates[-1] + 1 - updates[0])
    correlation = 0
    for number, call in enumerate(calls):
        name = OTHER_NAMES.get(call.op, call.op)
        if call.phase == "backward":
            yield _event("cpu_op", f"autograd::engine::evaluate_function: {name}", number, 0.8)
        if call.op:
            yield _event("cpu_op", name, number + 0.1, 0.6, _operands(call, calls[number + 1 :]))
        for kernel in call.kernels:
            correlation += 1
            category = "gpu_memcpy" if kernel.kernel.startswith("Memcpy") else "kernel"
            duration = round(1000 * kernel.duration_us)
            yield _event("cuda_runtime", "cudaLaunchKernel", number + 0.2, 0.01, {"correlation": correlation})
            yield _event(category, kernel.kernel, ran / 1000, duration / 1000, {"correlation": correlation, "device": 0})
            ran += duration
        for values in call.gradients:
            yield _event("cpu_op", "torch::autograd::AccumulateGrad", number + 0.85, 0.05, {"Input Dims": [[values]]})


def _event(category: str, name: str, start_us: float, duration_us: float, more: dict | None = None) -> dict:
    on_gpu = category in ("kernel", "gpu_memcpy")
    place = {"pid": 0, "tid": 7} if on_gpu else {"pid": 9, "tid": 1}
    times = {"ts": round(start_us, 3), "dur": round(duration_us, 3)}
    return {"ph": "X", "cat": category, "name": name, **place, **times, "args": more or {}}


def _operands(call: Call, following: list[Call]) -> dict:
    """Sizes, strides and other operands, as far as they are known."""
    sizes = call.sizes
    if call.op == "aten::gather":  # a table, as many rows as are read, and the result
        sizes = [sizes[0], sizes[1][:1]]
    if call.op in ("aten::cudnn_convolution", "aten::convolution_backward"):
        return {"Input Dims": sizes, "Concrete Inputs": _convolution(call, following)}
    return {"Input Dims": sizes, "Input Strides": _strides(call, sizes)}


def _convolution(call: Call, following: list[Call]) -> list[str]:
    """Stride, padding and dilation at the places of the operator's operands. A padding of half the window keeps the size
    of an image, which the stride then divides."""
    if call.op == "aten::convolution_backward":
        result, image, weight = call.sizes[:3]
    else:
        image, weight = call.sizes[:2]
        result = next(one.sizes[0] for one in following if one.sizes and len(one.sizes[0]) == 4)
    stride = f"[{image[2] // result[2]}, {image[3] // result[3]}]"
    padding = f"[{weight[2] // 2}, {weight[3] // 2}]"
    if call.op == "aten::convolution_backward":
        return ["", "", "", "", stride, padding, "[1, 1]", "False"]
    return ["", "", padding, stride, "[1, 1]"]


def _strides(call: Call, sizes: list[list[int]]) -> list[list[int]]:
    """Of a product's operands. cuBLAS stores matrices by columns, so that it takes the second one first: nvjet's letters
    (NNT) and CUTLASS's (_tn_) say first of it, then of the first one, whether it is transposed."""
    letters = [
        re.search(r"_([NT])([NT])[NT]$|_([nt])([nt])(?:_|$)", kernel.kernel)
        for kernel in call.kernels
        if call.op in PRODUCTS
    ]
    found = next((match for match in letters if match), None)
    if not found:
        return []
    second, first = (letter.upper() == "T" for letter in (group for group in found.groups() if group))
    transposed = [False] * (len(sizes) - 2) + [first, second]
    return [_steps(size, is_transposed) for size, is_transposed in zip(sizes, transposed)]


def _steps(size: list[int], is_transposed: bool) -> list[int]:
    steps = [math.prod(size[index + 1 :]) for index in range(len(size))]
    return [*steps[:-2], 1, size[-2]] if is_transposed and len(size) > 1 else steps
