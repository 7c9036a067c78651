"""The steps that the lowering of PyTorch was fitted to: workloads/published/gpu_steps.csv, as keys of runs."""

from __future__ import annotations

import csv
import pathlib

from plan_models import CONVOLUTIONAL, FAMILIES
from run_options import Options

# Its words and the plan's, where they differ.
MODELS = {"qwen3_06b": "qwen3_0_6b"}
PRECISIONS = {"amp_fp16": "amp", "bf16": "pure_bf16"}
RUNTIMES = {"eager": "eager", "compile": "compiled", "cudagraph": "cuda_graph"}
RECOMPUTE = {"False": "none", "True": "full"}


def fitted_steps(workloads: pathlib.Path) -> set[tuple[str, ...]]:
    """Keys of the runs that measure these steps. Raises OSError, and KeyError for a column or word it does not know."""
    with (workloads / "published" / "gpu_steps.csv").open(newline="") as file:
        return {_key(row) for row in csv.DictReader(line for line in file if not line.startswith("#"))}


def _key(row: dict[str, str]) -> tuple[str, ...]:
    model = MODELS.get(row["model"], row["model"])
    options = Options(
        attention="" if FAMILIES[model] in CONVOLUTIONAL else row["attn"],
        runtime=RUNTIMES[row["mode"]],
        optimizer_kernels=row["opt"],
        accumulation=int(row["accum"]),
        recompute=RECOMPUTE[row["ckpt"]],
        layers=int(row["layers"] or 0),
    )
    precision = PRECISIONS.get(row["prec"], row["prec"])
    return (model, precision, row["fmt"], "options", row["seq"], row["batch"], *options.cells)
