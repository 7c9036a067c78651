"""Measures training steps on the GPU: time by CUDA events, host time, peak memory.

Every run starts from an empty allocator and leaves one behind. Needs torch and a GPU.
"""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time

import machine
import torch
import torchvision
import transformers
from plan import Run
from training import Training, make_training

# The first ones compile, record graphs, search for convolution algorithms (cudnn.benchmark) and fill the allocator.
WARM_UP_STEPS = 10
LEAST_STEPS, MOST_STEPS = 10, 30
TIMED_SECONDS = 2.0  # between the two: as many steps as fill this time
HOST_STEPS = 5


def facts() -> dict[str, str]:
    """What the times depend on besides the plan."""
    return machine.facts() | {"torchvision": torchvision.__version__, "transformers": transformers.__version__}


def release() -> None:
    """Gives back to the device all that earlier runs held, so that the next one's peaks are its own."""
    if "torch._inductor" in sys.modules:  # something was compiled: its code and its graphs hold memory
        torch.compiler.reset()
    gc.collect()
    clear_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)  # they live in the allocator
    if clear_workspaces is not None:
        clear_workspaces()
    torch.cuda.empty_cache()


def measure(run: Run) -> dict[str, object]:
    """The columns of one run; where the GPU's memory does not suffice only `status` is known, and is `oom`."""
    release()
    values: dict[str, object] | None = None
    try:
        values = _measure(run)
    except torch.OutOfMemoryError:
        pass  # left before anything is freed: the exception holds the frames that hold the tensors
    release()
    return values or {"status": "oom"}


def _measure(run: Run) -> dict[str, object]:
    training = make_training(run)
    _sensors()  # the first question loads NVML
    seconds = _warm_up(training)
    torch.cuda.reset_peak_memory_stats()  # the search for algorithms is not part of a step
    steps = max(LEAST_STEPS, min(MOST_STEPS, math.ceil(TIMED_SECONDS / seconds)))
    times, loss, sensors = _timed_steps(training, steps)
    host_time = _host_time(training)
    deciles = statistics.quantiles(times, n=10, method="inclusive")
    free, total = torch.cuda.mem_get_info()
    return {
        "status": "ok" if math.isfinite(loss) else "not_finite",
        "step_time_s": _text(statistics.median(times)),
        "step_time_p10_s": _text(deciles[0]),
        "step_time_p90_s": _text(deciles[-1]),
        "steps": steps,
        "host_time_s": _text(host_time),
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
        "device_used_bytes": total - free,
        "context_bytes": total - free - torch.cuda.memory_reserved(),
        "loss": _text(loss),
        **sensors,
    }


def _text(value: float) -> str:
    """Six digits: more than a measurement is worth."""
    return f"{value:.6g}"


def _warm_up(training: Training) -> float:
    """Runs the first steps and returns how long one of the last takes, in seconds."""
    last = 3
    for _ in range(WARM_UP_STEPS - last):
        training.step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(last):
        training.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / last


def _timed_steps(training: Training, steps: int) -> tuple[list[float], float, dict[str, object]]:
    """Seconds of each step between events at its ends, the last loss, and the sensors while the GPU still works.

    Nothing waits for the GPU in between, as in a training loop that does not look at its loss every step.
    """
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    events[0].record()
    for event in events[1:]:
        loss = training.step()
        event.record()
    sensors = _sensors()
    torch.cuda.synchronize()
    times = [1e-3 * begin.elapsed_time(end) for begin, end in zip(events, events[1:])]
    return times, float(loss), sensors


def _sensors() -> dict[str, object]:
    """SM clock and power, where NVML can be asked: they tell a throttled run."""
    try:
        return {"clock_mhz": torch.cuda.clock_rate(), "power_w": _text(torch.cuda.power_draw() / 1000)}
    except Exception:  # without NVML or its Python module, or on a GPU that tells nothing
        return {}


def _host_time(training: Training) -> float:
    """Seconds until the host has queued one step on an idle GPU; more than that where the launch queue fills."""
    times = []
    for _ in range(HOST_STEPS):
        torch.cuda.synchronize()
        started = time.perf_counter()
        training.step()
        times.append(time.perf_counter() - started)
    torch.cuda.synchronize()
    return statistics.median(times)
