#!/usr/bin/env python3
"""Records which kernels one training step runs: one CSV for each run of runs.csv that has `trace` yes.

usage: op_trace.py FOLDER [--order lent] [--seconds 500] [--only WORD]... [--plan CSV]
       op_trace.py --check

Runs offline; its options and exit codes are those of train_steps.py. Files that are there are not made again. The
profiler makes the host slower: durations of kernels hold, gaps between them are longer than without it.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are

import program
from kernel_table import read_kernels, to_csv
from plan import Run
from recording import work_through

PLAIN_STEPS = 10  # before the profiler starts


def file_name(run: Run) -> str:
    """Of a traced run: its title, without the word `options`."""
    title, _, batch = run.title.partition(", batch ")
    words = [word for word in title.split() if word != "options"]
    return "_".join([*words, f"batch{batch}"]) + ".csv"


def profiled_step(run: Run) -> dict:
    """The Chrome trace of one step; the step before it is profiled too and dropped, for the profiler's own start."""
    import torch
    from torch import profiler
    from training import make_training

    training = make_training(run)
    training.mark = profiler.record_function
    for _ in range(PLAIN_STEPS):
        training.step()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "trace.json")
        with profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA],
            schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
            on_trace_ready=lambda finished: finished.export_chrome_trace(str(file)),
            record_shapes=True,
        ) as running:
            for _ in range(2):
                torch.cuda.synchronize()
                training.step()
                torch.cuda.synchronize()  # or the step's last kernels would be missing
                running.step()
        return json.loads(file.read_text())


def record(options: argparse.Namespace, runs: list[Run]) -> int:
    """Makes the files that are not there yet; needs PyTorch."""
    import measure

    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    facts = measure.facts()

    def work(run: Run) -> str:
        measure.release()
        kernels = read_kernels(profiled_step(run))
        if not kernels:
            raise RuntimeError("the profiler saw no kernel")
        busy = 1e-6 * sum(kernel.duration_us for kernel in kernels)
        described = {"run": run.title, "kernels": str(len(kernels)), "kernel_time_s": f"{busy:.6g}"}
        file = folder / file_name(run)
        unfinished = file.with_suffix(".partial")
        unfinished.write_text(to_csv(kernels, facts | described))
        unfinished.rename(file)
        return f"{len(kernels)} kernels, {1e3 * busy:.2f} ms"

    todo = [run for run in runs if run.trace and not (folder / file_name(run)).exists()]
    return work_through(todo, work, options.seconds, program.STARTED, estimate=program.estimate(options))


if __name__ == "__main__":
    sys.exit(program.run(sys.argv[1:], program.TRAINING_STEPS, __doc__, record))
