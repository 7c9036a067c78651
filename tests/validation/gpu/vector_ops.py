#!/usr/bin/env python3
"""Times the vector ops of training (norms, softmax, dropout, optimizers ...) in PyTorch, into a recording.

usage: vector_ops.py RECORDING [--seconds 500] [--only WORD]...
       vector_ops.py --check

`trainyard calibrate gpu` fits a profile's vector curves to the recording. Needs torch alone. Goes on where it stopped
when started again with the same recording. --only keeps the rows whose title, as the progress lines show it, has all
these words. --check only counts the rows and needs neither PyTorch nor a GPU.

exit: 0 everything measured, 4 no PyTorch or no usable GPU, 5 cannot read or write, 70 a row failed,
      75 time is up and rows are left, 130 interrupted; 2 wrong command line.
"""

from __future__ import annotations

import argparse
import sys

sys.dont_write_bytecode = True  # the sources stay as they are

import program
from recording import Form, Recording, work_through
from vector_plan import COLUMNS, KEY_COLUMNS, VectorRow, summary, vector_plan

FORM = Form(COLUMNS, KEY_COLUMNS)
VECTOR_OPS = program.Kind(
    make_plan=lambda options: vector_plan(),
    summary=summary,
    packages={"torch": "torch"},
)


def record(options: argparse.Namespace, rows: list[VectorRow]) -> int:
    """Measures what the recording does not have yet; needs PyTorch."""
    import machine
    import vector_calls

    facts = machine.facts()
    recording = Recording(options.output, facts | {"timing": "kernels", "source": f"PyTorch {facts['torch']}"}, FORM)

    def work(row: VectorRow) -> str:
        timing = vector_calls.measure(row)
        if timing is None:
            return "does not fit into the memory"
        times = {"time_us": f"{timing.median_us:.6g}", "spread_us": f"{timing.spread_us:.6g}"}
        recording.append(row, times | {"repetitions": timing.repetitions})
        return f"{timing.median_us:.2f} us, {1e-3 * row.bytes / timing.median_us:.0f} GB/s"

    todo = [row for row in rows if vector_calls.can_run(row) and not recording.has(row)]
    return work_through(todo, work, options.seconds, program.STARTED)


if __name__ == "__main__":
    sys.exit(program.run(sys.argv[1:], VECTOR_OPS, __doc__, record))
