#!/usr/bin/env python3
"""Compares measured training steps with what trainyard predicts from the GPU's profile, nothing fitted to a step.

usage: compare.py TRAINYARD STEPS GPU_PROFILE [--software NAME] [--traces FOLDER] [--expected FILE]

STEPS is a recording of train_steps.py; GPU_PROFILE the name of a shipped profile or a YAML file; NAME the fitted software
(default: ideal, none; published is what `run` takes by default); FOLDER what op_trace.py
made, for the time of the kernels alone; FILE the output of an earlier comparison, from which this one must not differ
(exit code 1). A step is `host` where queueing it takes the host HOST_SHARE of its time or more:
trainyard models the GPU, not the host that launches its kernels, so those rows are counted apart. Needs the standard
library only.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, median

sys.dont_write_bytecode = True  # the sources stay as they are

from plan import KEY_COLUMNS, Run, read_plan
from plan_models import FAMILIES

HOST_SHARE = 0.85
EXPERIMENT = "resnet50_p3_2xlarge"  # one GPU with nothing beside it that takes time


@dataclass(frozen=True)
class Row:
    """A measured step and its prediction: seconds and bytes. `kernels_s`: sum of its kernels, if it was traced."""

    run: Run
    step_s: float
    host_s: float
    peak_bytes: float
    kernels_s: float | None
    predicted_s: float
    predicted_bytes: float

    @property
    def waits_for_host(self) -> bool:
        return self.host_s >= HOST_SHARE * self.step_s

    @property
    def error(self) -> float:
        return self.predicted_s / self.step_s - 1


def settings(run: Run, profile: str, software: str = "ideal") -> list[str]:
    """What makes the experiment the run, as options of `trainyard run` and `trainyard memory`."""
    keys = {
        "model": run.model,
        "precision": run.precision,
        "batch_per_gpu": run.batch_per_gpu,
        "optimizer": run.optimizer,
        "stack.layout": "nhwc" if run.memory_format == "channels_last" else "nchw",
        "platform.node.gpus.profile": profile,
        "software": software,
    }
    if run.sequence_length:
        keys[f"model.{FAMILIES[run.model]}.sequence_length"] = run.sequence_length
    if run.variant == "all_tokens":
        keys[f"model.bert.predictions.{run.sequence_length}"] = run.sequence_length
    return [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]


def ask(trainyard: str, command: str, options: list[str]) -> dict:
    """The command's JSON. Memory that does not suffice has exit code 4 and an answer."""
    done = subprocess.run([trainyard, command, EXPERIMENT, "--json", *options], capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"error: {done.stderr}")
    return json.loads(done.stdout)


def comments(path: pathlib.Path) -> dict[str, str]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    lines = text.splitlines()
    return dict(line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)


def kernel_times(folder: pathlib.Path | None) -> dict[str, float]:
    """Seconds of all kernels of a step, by the run's title."""
    facts = [comments(file) for file in sorted(folder.glob("*.csv*"))] if folder else []
    return {fact["run"]: float(fact["kernel_time_s"]) for fact in facts}


def measured(steps: pathlib.Path) -> Iterable[tuple[Run, dict[str, str]]]:
    """The runs of a recording that trainyard can predict, with their cells."""
    planned = {run.key: run for run in read_plan()}
    lines = (line for line in steps.read_text().splitlines() if not line.startswith("#"))
    for cells in csv.DictReader(lines):
        if cells["status"] == "oom" or cells["variant"] not in ("default", "all_tokens"):
            continue  # options that this stack, one kernel per layer and pass and no host, does not describe
        yield planned[tuple(cells.get(column, "") for column in KEY_COLUMNS)], cells


def inside(trainyard: str, steps: pathlib.Path, profile: str) -> tuple[int, int]:
    """How many measured steps lie in the interval that `run` prints by default for this profile; and of how many."""
    count = holds = 0
    for run, cells in measured(steps):
        said = ask(trainyard, "run", [*settings(run, profile, "published"), "--set", "memory=ignore"])
        expected = said["expected_error"]
        count += 1
        holds += expected["low"] <= said["step_time_s"] / float(cells["step_time_s"]) - 1 <= expected["high"]
    return holds, count


def read(options: argparse.Namespace) -> list[Row]:
    kernels = kernel_times(options.traces)
    rows = []
    for run, cells in measured(options.steps):
        keys = settings(run, options.profile, options.software)
        rows.append(
            Row(
                run,
                float(cells["step_time_s"]),
                float(cells["host_time_s"]),
                float(cells["peak_allocated_bytes"]) + float(cells["context_bytes"]),
                kernels.get(run.title),
                ask(options.trainyard, "run", keys)["step_time_s"],
                ask(options.trainyard, "memory", keys)["memory_peak_bytes"],
            )
        )
    return rows


def said(errors: Iterable[float]) -> str:
    """Mean absolute error, median and bias in percent."""
    errors = list(errors)
    if not errors:
        return "no row"
    sizes = [abs(error) for error in errors]
    return f"{len(errors):3} rows  mean {mean(sizes):6.1%}  median {median(sizes):6.1%}  bias {mean(errors):+6.1%}"


def report(rows: list[Row]) -> str:
    lines = [f"{'run':42} {'step':>9} {'predicted':>10} {'error':>7}  {'kernels':>9}  {'memory':>7}  limited by"]
    for row in rows:
        kernels = "" if row.kernels_s is None else f"{1e3 * row.kernels_s:6.2f} ms"
        memory = row.predicted_bytes / row.peak_bytes - 1
        lines.append(
            f"{row.run.title:42} {1e3 * row.step_s:6.2f} ms {1e3 * row.predicted_s:7.2f} ms {row.error:+7.1%}  "
            f"{kernels:>9}  {memory:+7.1%}  {'host' if row.waits_for_host else 'GPU'}"
        )
    on_gpu = [row for row in rows if not row.waits_for_host]
    lines += ["", f"steps limited by the GPU:     {said(row.error for row in on_gpu)}"]
    for precision in dict.fromkeys(row.run.precision for row in rows):
        for family in dict.fromkeys(row.run.family for row in rows):
            errors = [row.error for row in on_gpu if (row.run.precision, row.run.family) == (precision, family)]
            lines.append(f"  {precision:8} {family:8}           {said(errors)}")
    lines.append(f"steps that wait for the host: {said(row.error for row in rows if row.waits_for_host)}")
    lines.append(f"kernels of traced steps:      {said(row.predicted_s / row.kernels_s - 1 for row in rows if row.kernels_s)}")
    lines.append(f"memory:                       {said(row.predicted_bytes / row.peak_bytes - 1 for row in rows)}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("trainyard")
    parser.add_argument("steps", type=pathlib.Path)
    parser.add_argument("profile")
    parser.add_argument("--software", default="ideal")
    parser.add_argument("--traces", type=pathlib.Path)
    parser.add_argument("--expected", type=pathlib.Path)
    options = parser.parse_args()
    text = report(read(options))
    print(text, end="")
    if options.expected is None or text == options.expected.read_text():
        return 0
    print(f"error: differs from {options.expected}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
