"""The plan of the measured training steps: reads runs.csv and says what is wrong with it.

One row is one run. The split is decided here, before anything is measured: within a configuration (model, precision,
memory format) the batch sizes in ascending order are fit, report, fit, report ... Rows of another variant than
`default` are apart: they show what an option of PyTorch changes and are neither fitted nor counted.
"""

from __future__ import annotations

import csv
import json
import pathlib
import re
from collections import defaultdict
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = HERE.parents[2] / "workloads"
RUNS = HERE / "runs.csv"
KEY_COLUMNS = ("model", "precision", "memory_format", "variant", "sequence_length", "batch_per_gpu")
MINIMUM_BATCH_SIZES = 4  # so that two are fitted and two reported

FAMILIES = {
    "resnet50": "resnet",
    "vgg16": "vgg",
    "bert_base": "bert",
    "bert_large": "bert",
    "gpt2_small": "gpt2",
    "gpt2_medium": "gpt2",
}
PRECISIONS = ("fp32", "tf32", "amp_bf16")
MEMORY_FORMATS = {
    "resnet": ("contiguous", "channels_last"),
    "vgg": ("contiguous", "channels_last"),
    "bert": ("contiguous",),
    "gpt2": ("contiguous",),
}
OPTIMIZERS = {"resnet": "momentum", "vgg": "momentum", "bert": "adam", "gpt2": "adam"}
VARIANTS = {
    "resnet": ("default", "fused_optimizer"),
    "vgg": ("default", "fused_optimizer"),
    "bert": ("default", "fused_optimizer", "sdpa", "all_tokens"),
    "gpt2": ("default", "fused_optimizer", "sdpa", "gelu_new"),
}

# Parameters and tensors, as `trainyard model` counts them (workloads/README.md): what PyTorch builds must have as many.
PARAMETERS = {
    "resnet50": (25_557_032, 161),
    "vgg16": (138_357_544, 32),
    "bert_base": (110_106_428, 206),
    "bert_large": (336_226_108, 398),
    "gpt2_small": (124_439_808, 148),
    "gpt2_medium": (354_823_168, 292),
}


class PlanError(Exception):
    """The plan cannot be read; the text says where and why."""


@dataclass(frozen=True)
class Run:
    """One row of the plan; `sequence_length` is 0 where samples are images."""

    model: str
    precision: str
    memory_format: str
    variant: str
    sequence_length: int
    batch_per_gpu: int
    optimizer: str
    split: str
    trace: bool

    @property
    def family(self) -> str:
        return FAMILIES[self.model]

    @property
    def configuration(self) -> tuple[str, str, str]:
        """What stays the same over the batch sizes of one fit."""
        return (self.model, self.precision, self.memory_format)

    @property
    def key(self) -> tuple[str, ...]:
        """What makes a row the same run as another."""
        return (*self.configuration, self.variant, str(self.sequence_length or ""), str(self.batch_per_gpu))

    @property
    def described(self) -> dict[str, str]:
        """The columns of a recording that say which run it is."""
        return dict(zip(KEY_COLUMNS, self.key)) | {"optimizer": self.optimizer, "split": self.split}

    @property
    def title(self) -> str:
        shown = [self.model, self.precision]
        shown += [word for word in (self.memory_format, self.variant) if word not in ("contiguous", "default")]
        return " ".join(shown) + f", batch {self.batch_per_gpu}"


def read_plan(path: pathlib.Path = RUNS) -> list[Run]:
    """The rows in the order in which they are measured. Raises PlanError for a row that is not one."""
    with path.open(newline="") as file:
        table = csv.DictReader(file)
        columns = list(Run.__dataclass_fields__)
        if table.fieldnames != columns:
            raise PlanError(f"{path}:1: the columns must be {','.join(columns)}")
        return [_read_row(row, f"{path}:{table.line_num}") for row in table]


def _read_row(row: dict[str, str], where: str) -> Run:
    if None in row or None in row.values():
        raise PlanError(f"{where}: too many or too few values")
    family = FAMILIES.get(row["model"])
    if family is None:
        raise PlanError(f"{where}: unknown model '{row['model']}', known are {', '.join(FAMILIES)}")
    choices = {
        "precision": PRECISIONS,
        "memory_format": MEMORY_FORMATS[family],
        "variant": VARIANTS[family],
        "optimizer": (OPTIMIZERS[family],),
        "split": ("fit", "report") if row["variant"] == "default" else ("apart",),
        "trace": ("yes", "no"),
    }
    for column, allowed in choices.items():
        if row[column] not in allowed:
            raise PlanError(f"{where}: {column} '{row[column]}' of {row['model']} is none of {', '.join(allowed)}")
    if not re.fullmatch(r"[1-9][0-9]*", row["batch_per_gpu"]):
        raise PlanError(f"{where}: batch_per_gpu '{row['batch_per_gpu']}' is no positive number")
    if not re.fullmatch(r"[0-9]*", row["sequence_length"]):
        raise PlanError(f"{where}: sequence_length '{row['sequence_length']}' is no number")
    numbers = {"sequence_length": int(row["sequence_length"] or 0), "batch_per_gpu": int(row["batch_per_gpu"])}
    return Run(**{**row, **numbers, "trace": row["trace"] == "yes"})


def problems(runs: list[Run], workloads: pathlib.Path = WORKLOADS) -> list[str]:
    """What is wrong with a plan whose rows are each well-formed; empty if nothing is."""
    found = _unknown_names(runs, workloads)
    seen = set()
    configurations = defaultdict(list)
    for run in runs:
        if run.key in seen:
            found.append(f"{run.title}: is there twice")
        seen.add(run.key)
        if run.trace and run.split != "fit":
            found.append(f"{run.title}: only fitted batch sizes are traced: nothing is learnt from reported ones")
        if run.split != "apart":
            configurations[run.configuration].append(run)
    for configuration, members in configurations.items():
        found += _wrong_split(" ".join(configuration), members)
    for run in runs:
        if run.split == "apart" and run.configuration not in configurations:
            found.append(f"{run.title}: has no rows of variant default to be compared with")
    traces = [(run.model, run.precision) for run in runs if run.trace]
    for pair in sorted({(run.model, run.precision) for run in runs}):
        if traces.count(pair) != 1:
            found.append(f"{' '.join(pair)}: is traced {traces.count(pair)} times, not once")
    return found


def _wrong_split(name: str, members: list[Run]) -> list[str]:
    found = []
    if len(members) < MINIMUM_BATCH_SIZES:
        found.append(f"{name}: fewer than {MINIMUM_BATCH_SIZES} batch sizes")
    for index, run in enumerate(sorted(members, key=lambda run: run.batch_per_gpu)):
        expected = ("fit", "report")[index % 2]
        if run.split != expected:
            found.append(f"{name}, batch {run.batch_per_gpu}: is {run.split}, by the rule {expected}")
    return found


def _unknown_names(runs: list[Run], workloads: pathlib.Path) -> list[str]:
    """Names and lengths that are not those of the shipped workloads."""
    keys = json.loads((workloads / "schema" / "experiment.json").read_text())["properties"]
    found = []
    for column in ("precision", "optimizer"):
        for name in sorted({getattr(run, column) for run in runs} - set(keys[column]["enum"])):
            found.append(f"{column} '{name}' is unknown to {workloads}/schema/experiment.json")
    for model in sorted({run.model for run in runs}):
        file = workloads / "models" / f"{model}.yaml"
        if not file.exists():
            found.append(f"model '{model}' is not in {workloads}/models")
            continue
        length = re.search(r"^ +sequence_length: *(\d+)", file.read_text(), flags=re.M)
        expected = int(length[1]) if length else 0
        if any(run.sequence_length != expected for run in runs if run.model == model):
            found.append(f"model '{model}': sequence_length is not {expected or 'empty'} as in {file}")
    return found


def summary(runs: list[Run]) -> str:
    """One line: how many rows, of which kind."""
    count = {split: sum(run.split == split for run in runs) for split in ("fit", "report", "apart")}
    configurations = len({run.configuration for run in runs})
    words = ", ".join(f"{number} {split}" for split, number in count.items())
    return f"{len(runs)} runs of {configurations} configurations: {words}; {sum(run.trace for run in runs)} traced"
