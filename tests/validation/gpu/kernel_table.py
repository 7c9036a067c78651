"""The kernels of one training step, from a torch.profiler trace: which ran when, for how long, launched by which op.

Reads the Chrome trace that torch.profiler exports and writes a small CSV. Needs the standard library only.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH_CATEGORIES = ("cuda_runtime", "cuda_driver")
PHASES = ("zero_grad", "forward", "backward", "optimizer")
LARGEST_FILE = 400_000  # bytes
LONGEST_NAME, SHORTEST_NAME, LONGEST_SHAPES = 64, 12, 60


@dataclass(frozen=True)
class Kernel:
    """One kernel, copy or fill; `start_us` counts from the first of the step."""

    index: int
    phase: str
    op: str
    shapes: str
    kernel: str
    start_us: float
    duration_us: float


def read_kernels(trace: dict) -> list[Kernel]:
    """The kernels of a Chrome trace in the order in which they ran.

    An op is the innermost one that was running when the kernel was launched; a launch is found by its correlation.
    What the trace does not tell is an empty text: a launch outside of every op or phase is none's.
    """
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    launches = {_argument(event, "correlation"): event for event in events if event.get("cat") in LAUNCH_CATEGORIES}
    ops = {_argument(event, "External id"): event for event in events if event.get("cat") == "cpu_op"}
    phases = [event for event in events if event.get("cat") == "user_annotation" and event["name"] in PHASES]
    ran = sorted((event for event in events if event.get("cat") in GPU_CATEGORIES), key=lambda event: event["ts"])
    kernels = []
    for index, event in enumerate(ran):
        launch = launches.get(_argument(event, "correlation"), {})
        op = ops.get(_argument(event, "External id") or _argument(launch, "External id"), {})
        kernels.append(
            Kernel(
                index,
                _phase_at((launch or op).get("ts"), phases),
                op.get("name", ""),
                _shapes(op),
                _plain(event["name"]),
                round(event["ts"] - ran[0]["ts"], 3),
                round(event["dur"], 3),
            )
        )
    return kernels


def _argument(event: dict, name: str) -> int | None:
    return event.get("args", {}).get(name)


def _phase_at(time: float | None, phases: list[dict]) -> str:
    for phase in phases:
        if time is not None and phase["ts"] <= time < phase["ts"] + phase["dur"]:
            return phase["name"]
    return ""


def _shapes(op: dict) -> str:
    """Sizes of the op's tensors, "8x128x768;768x768"; a list of tensors (the optimizer's) is left out."""
    sizes = op.get("args", {}).get("Input Dims", [])
    known = ["x".join(map(str, size)) for size in sizes if size and all(isinstance(n, int) for n in size)]
    return ";".join(known)[:LONGEST_SHAPES]


def _plain(name: str) -> str:
    """A kernel's name without what every PyTorch kernel's name has."""
    for noise in ("void ", "at::native::", "(anonymous namespace)::", "at::cuda::"):
        name = name.replace(noise, "")
    return name


def to_csv(kernels: Iterable[Kernel], facts: dict[str, str], largest: int = LARGEST_FILE) -> str:
    """The CSV's text: `# key: value` lines, columns, kernels; names are cut so that it is not over `largest` bytes."""
    kernels = list(kernels)
    length = LONGEST_NAME
    text = _text(kernels, facts, length)
    while len(text.encode()) > largest and length > SHORTEST_NAME:
        length = max(SHORTEST_NAME, length * 3 // 4)
        text = _text(kernels, facts, length)
    return text


def _text(kernels: list[Kernel], facts: dict[str, str], name_length: int) -> str:
    out = io.StringIO()
    out.writelines(f"# {key}: {value}\n" for key, value in facts.items())
    writer = csv.writer(out, lineterminator="\n")
    columns = [field.name for field in fields(Kernel)]
    writer.writerow(columns)
    name = columns.index("kernel")
    for kernel in kernels:
        row = list(astuple(kernel))
        row[name] = row[name][:name_length]
        writer.writerow(row)
    return out.getvalue()
