#!/usr/bin/env python3
"""Writes the shipped traces of an H200, workloads/traces/*_h200.csv, from the kernel tables of h200_traces.

usage: table_traces.py TRAINYARD [FOLDER]

TRAINYARD is the built program, FOLDER where the traces go (default: workloads/traces). Each table becomes a profile, which
`trainyard import kineto` reads; gradients are those of the model. Needs the standard library only.
"""

from __future__ import annotations

import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass

sys.dont_write_bytecode = True  # the sources stay as they are

from plan import HERE, WORKLOADS, Run, read_plan
from table_profile import Call, add_gradients, calls_of, profile_of, read_table

TABLES = HERE / "h200_traces"
STEPS = HERE / "h200_steps.csv"
GPU = "h200_sxm_141gb"


@dataclass(frozen=True)
class Shipped:
    """A trace of workloads/traces: its name, the title of its run, and what it is in words."""

    name: str
    run: str
    words: str


SHIPPED = (
    Shipped(
        "resnet50_h200",
        "resnet50 amp_bf16 channels_last, batch 128",
        "ResNet-50 v1.5, 128 images of 224 x 224, autocast to bf16, channels last, SGD with momentum",
    ),
    Shipped(
        "bert_base_h200",
        "bert_base amp_bf16, batch 64",
        "BERT-base, pre-training heads, 64 sequences of 128 tokens, autocast to bf16, separate attention, AdamW",
    ),
    Shipped(
        "gpt2_small_h200",
        "gpt2_small amp_bf16, batch 4",
        "GPT-2 small, 4 sequences of 1,024 tokens, autocast to bf16, separate attention, AdamW",
    ),
)


def rows(path: pathlib.Path) -> list[dict[str, str]]:
    """Of a CSV with lines of comments."""
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def tables() -> dict[str, pathlib.Path]:
    """The kernel tables by the titles of their runs."""
    return {read_table(file)[0]["run"]: file for file in sorted(TABLES.glob("*.csv*"))}


def step_of(run: Run) -> dict[str, str]:
    """The row of the same step measured without the profiler."""
    return next(row for row in rows(STEPS) if all(row[key] == value for key, value in run.described.items() if key in row))


def tensors_of(trainyard: str, run: Run) -> Counter[int]:
    """The model's parameters: how many tensors have so many values."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.csv")
        words = ["--model", run.model, "--platform", "dgx_h100", "--stack", "pytorch_ddp", "--gpus", "1", "--batch", "1"]
        subprocess.run([trainyard, "trace", *words, "-o", file], check=True, capture_output=True)
        gradients = [row["gradients"].split(";") for row in rows(file) if row["gradients"]]
    return Counter(int(float(one.rpartition(":")[2])) for of_op in gradients for one in of_op)


def imported(trainyard: str, calls: list[Call], batch: int) -> list[dict[str, str]]:
    """The ops of the trace that `import kineto` makes of the calls."""
    with tempfile.TemporaryDirectory() as folder:
        profile, trace = pathlib.Path(folder, "profile.json"), pathlib.Path(folder, "trace.csv")
        profile.write_text(json.dumps(profile_of(calls, "NVIDIA H200")))
        command = [trainyard, "import", "kineto", profile, "--batch", str(batch), "-o", trace]
        subprocess.run(command, check=True, capture_output=True)
        return rows(trace)


def header(shipped: Shipped, run: Run, facts: dict[str, str]) -> list[str]:
    step = step_of(run)
    memory = float(step["peak_allocated_bytes"]), float(step["context_bytes"])
    cudnn = int(facts["cudnn"])
    versions = f"PyTorch {facts['torch'].partition('+')[0]}, CUDA {facts['cuda']}, cuDNN {cudnn // 10000}.{cudnn // 100 % 100}"
    keys = {"trainyard trace": 1, "model": run.model, "batch_per_gpu": run.batch_per_gpu, "precision": run.precision}
    if run.sequence_length:
        keys["sequence_length"] = run.sequence_length
    if run.model == "resnet50":
        keys["samples_per_epoch"] = 1281167
    keys |= {"memory_bytes": round(sum(memory)), "gpu": GPU}
    return [
        *(f"# {key}: {value}" for key, value in keys.items()),
        f'# One training step, measured: {shipped.words}; the optimizer of torch.optim, "foreach".',
        f"# {facts['gpu']}, {versions}, {facts['date']}; made by tests/validation/gpu/table_traces.py from the table of kernels",
        "# there, with trainyard import kineto. Durations are those of kernels; idle times are left out.",
        f"# Without the profiler the step takes {1e3 * float(step['step_time_s']):.1f} ms (median of {step['steps']}), its "
        f"kernels {1e3 * float(facts['kernel_time_s']):.1f} ms; the host needs {1e3 * float(step['host_time_s']):.1f} ms to "
        "launch them.",
        f"# Memory: {1e-9 * memory[0]:.2f} GB allocated at most, {1e-9 * memory[1]:.2f} GB outside of the allocator.",
    ]


def trace_text(trainyard: str, shipped: Shipped) -> str:
    run = next(one for one in read_plan() if one.title == shipped.run)
    facts, kernels = read_table(tables()[shipped.run])
    calls = calls_of(kernels)
    add_gradients(calls, tensors_of(trainyard, run))
    ops = imported(trainyard, calls, run.batch_per_gpu)
    columns = [column for column in ops[0] if any(op[column] not in ("", "0") for op in ops)]
    out = io.StringIO()
    out.writelines(f"{line}\n" for line in header(shipped, run, facts))
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(ops)
    return out.getvalue()


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[1]) if len(arguments) == 2 else WORKLOADS / "traces"
    for shipped in SHIPPED:
        (folder / f"{shipped.name}.csv").write_text(trace_text(arguments[0], shipped))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
