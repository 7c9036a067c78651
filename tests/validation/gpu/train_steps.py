#!/usr/bin/env python3
"""Measures the training steps of runs.csv with PyTorch on one GPU and appends them to a recording.

usage: train_steps.py RECORDING [--order lent] [--seconds 500] [--only WORD]... [--plan CSV]
       train_steps.py --check

Runs offline. Goes on where it stopped when started again with the same recording. --only keeps the runs whose title,
as the progress lines show it, has all these words. --order lent measures the runs of the lent order: a run for which
the time left is too short is passed over for shorter ones. --check only reads the plan and needs neither PyTorch nor a
GPU.

exit: 0 everything measured, 3 wrong plan, 4 no PyTorch or no usable GPU, 5 cannot read or write, 70 a run failed,
      75 time is up and runs are left, 130 interrupted; 2 wrong command line.
"""

from __future__ import annotations

import argparse
import sys

sys.dont_write_bytecode = True  # the sources stay as they are

import program
from plan import KEY_COLUMNS, Run
from recording import Form, Recording, work_through

FORM = Form(
    columns=(
        *KEY_COLUMNS,
        "optimizer",
        "split",
        "status",
        "step_time_s",
        "step_time_p10_s",
        "step_time_p90_s",
        "steps",
        "host_time_s",
        "peak_allocated_bytes",
        "peak_reserved_bytes",
        "device_used_bytes",
        "context_bytes",
        "loss",
        "clock_mhz",
        "power_w",
    ),
    key_columns=KEY_COLUMNS,
)


def record(options: argparse.Namespace, runs: list[Run]) -> int:
    """Measures what the recording does not have yet; needs PyTorch."""
    import measure

    recording = Recording(options.output, measure.facts(), FORM)

    def work(run: Run) -> str:
        values = measure.measure(run)
        recording.append(run, values)
        if values["status"] == "oom":
            return "out of memory"
        return f"{1e3 * float(values['step_time_s']):.2f} ms, {values['peak_allocated_bytes'] / 1e9:.2f} GB"

    todo = [run for run in runs if not recording.has(run)]
    return work_through(todo, work, options.seconds, program.STARTED, estimate=program.estimate(options))


if __name__ == "__main__":
    sys.exit(program.run(sys.argv[1:], program.TRAINING_STEPS, __doc__, record))
