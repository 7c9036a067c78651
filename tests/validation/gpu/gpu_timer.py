"""How long a call keeps the GPU busy, whatever the host needs to launch it.

The way of trainyard_gpu_kernels (sim/cuda/README.md, "How it is measured"): events enclose so many calls that they take
50 us, and the GPU is held by a kernel that only waits until the host has queued them all. Whether it was held long
enough is looked at, not assumed. Needs the standard library only; `Gpu` is the GPU, or what a test puts in its place.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

LEAST_REPETITIONS, MOST_REPETITIONS = 10, 100
TIMED_SECONDS = 0.1  # between the two: as many repetitions as fill this time
LEAST_WARM_UP = 3
LONG_ENOUGH_US = 50  # that events resolve well
MOST_CALLS = 50  # in one repetition
FIRST_HOLD_US, MOST_HOLD_US = 100, 102_400


class Gpu(Protocol):
    """What timing needs of a GPU; all but the last wait for nothing."""

    def hold(self, microseconds: float) -> None:
        """Queues a kernel that only waits, at least for so long."""

    def mark(self) -> Any:
        """Queues an event and returns it."""

    def has_passed(self, event: Any) -> bool:
        """Whether the GPU has come to the event."""

    def microseconds(self, begin: Any, end: Any) -> float:
        """From one event to the other; waits for both."""


class HostNotHidden(Exception):
    """The host could not queue a single call while the GPU was held: the time would be the host's."""


@dataclass(frozen=True)
class Timing:
    """Of one call, in microseconds: the median of the repetitions and their interquartile range."""

    median_us: float
    spread_us: float
    repetitions: int


def time_on_gpu(
    gpu: Gpu, call: Callable[[int], object], warm_up: int = 0, clock: Callable[[], float] = time.perf_counter
) -> Timing:
    """Times `call`, which is given the number of the call, `warm_up` untimed ones (at least 3) included."""
    batches = _Batches(gpu, call)
    for _ in range(max(LEAST_WARM_UP, warm_up)):
        batches.call_once()
    batches.calls = 2
    batches.calls = _calls_for(batches.time())
    started = clock()
    times: list[float] = []
    while len(times) < LEAST_REPETITIONS or (len(times) < MOST_REPETITIONS and clock() - started < TIMED_SECONDS):
        times.append(batches.time())
    quartiles = statistics.quantiles(times, n=4, method="inclusive")
    return Timing(statistics.median(times), quartiles[2] - quartiles[0], len(times))


def _calls_for(microseconds: float) -> int:
    return max(1, min(MOST_CALLS, math.ceil(LONG_ENOUGH_US / max(microseconds, 1e-3))))


class _Batches:
    """Repetitions of `calls` calls each."""

    def __init__(self, gpu: Gpu, call: Callable[[int], object]):
        self.calls = 1
        self._gpu, self._call = gpu, call
        self._next = 0
        self._hold_us = FIRST_HOLD_US

    def call_once(self) -> None:
        self._call(self._next)
        self._next += 1

    def time(self) -> float:
        """Microseconds per call. Raises HostNotHidden."""
        while True:
            self._gpu.hold(self._hold_us)
            begin = self._gpu.mark()
            for _ in range(self.calls):
                self.call_once()
            was_hidden = not self._gpu.has_passed(begin)
            took = self._gpu.microseconds(begin, self._gpu.mark())
            if was_hidden:
                return took / self.calls
            if self._hold_us < MOST_HOLD_US:
                self._hold_us *= 4
            elif self.calls > 1:
                self.calls //= 2  # their kernels do not fit into the launch queue, which makes the host wait
            else:
                raise HostNotHidden("the host waits for the GPU within the call")
