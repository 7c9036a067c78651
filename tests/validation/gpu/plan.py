"""The plan of the measured training steps: reads runs.csv, whose rows are runs; plan_rules.py says which are right."""

from __future__ import annotations

import csv
import pathlib
import re
from dataclasses import dataclass

from plan_models import CONVOLUTIONAL, FAMILIES, LAYERS, TEXT, VARIANTS, memory_formats, optimizer
from run_options import OPTION_COLUMNS, Options, options_of_variant

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = HERE.parents[2] / "workloads"
RUNS = HERE / "runs.csv"
PRECISIONS = ("fp32", "tf32", "amp_bf16", "amp", "pure_bf16")

# Recordings begun before there were options lack their columns: a missing cell is an empty one.
KEY_COLUMNS = ("model", "precision", "memory_format", "variant", "sequence_length", "batch_per_gpu", *OPTION_COLUMNS)
COLUMNS = (*KEY_COLUMNS[:6], "optimizer", "split", "trace", *OPTION_COLUMNS, "lent_s")


class PlanError(Exception):
    """The plan cannot be read; the text says where and why."""


@dataclass(frozen=True)
class Run:
    """One row; `sequence_length` is 0 where samples are images, `lent_s` where the lent order does not have the run."""

    model: str
    precision: str
    memory_format: str
    variant: str
    sequence_length: int
    batch_per_gpu: int
    optimizer: str
    split: str
    trace: bool
    options: Options
    lent_s: int

    @property
    def family(self) -> str:
        return FAMILIES[self.model]

    @property
    def configuration(self) -> tuple[str, str, str]:
        """What stays the same over the batch sizes of one fit."""
        return (self.model, self.precision, self.memory_format)

    @property
    def key(self) -> tuple[str, ...]:
        """What makes a row the same run as another: its cells in KEY_COLUMNS."""
        stated = self.options.cells if self.variant == "options" else ("",) * len(OPTION_COLUMNS)
        return (*self.configuration, self.variant, str(self.sequence_length or ""), str(self.batch_per_gpu), *stated)

    @property
    def described(self) -> dict[str, str]:
        """The columns of a recording that say which run it is."""
        return dict(zip(KEY_COLUMNS, self.key)) | {"optimizer": self.optimizer, "split": self.split}

    @property
    def title(self) -> str:
        shown = [self.model, self.precision]
        shown += [word for word in (self.memory_format, self.variant) if word not in ("contiguous", "default")]
        if self.variant == "options":
            shown += self.options.words
            shown += [f"tokens{self.sequence_length}"] if self.sequence_length else []
        return " ".join(shown) + f", batch {self.batch_per_gpu}"


def read_plan(path: pathlib.Path = RUNS) -> list[Run]:
    """The rows in the order in which they are measured. Raises PlanError for a row that is not one."""
    with path.open(newline="") as file:
        table = csv.DictReader(file)
        if tuple(table.fieldnames or ()) != COLUMNS:
            raise PlanError(f"{path}:1: the columns must be {','.join(COLUMNS)}")
        return [_read_row(row, f"{path}:{table.line_num}") for row in table]


def _read_row(row: dict[str, str], where: str) -> Run:
    if None in row or None in row.values():
        raise PlanError(f"{where}: too many or too few values")
    family = FAMILIES.get(row["model"])
    if family is None:
        raise PlanError(f"{where}: unknown model '{row['model']}', known are {', '.join(FAMILIES)}")
    is_default_or_options = row["variant"] in ("default", "options")
    choices = {
        "precision": PRECISIONS,
        "memory_format": memory_formats(family),
        "variant": VARIANTS[family],
        "optimizer": (optimizer(family),),
        "split": ("fit", "report") if is_default_or_options else ("apart",),
        "trace": ("yes", "no"),
    }
    _check_words(row, choices, where)
    words = {column: row[column] for column in choices}
    return Run(
        **words | {"trace": row["trace"] == "yes"},
        model=row["model"],
        sequence_length=_number(row, "sequence_length", where),
        batch_per_gpu=_number(row, "batch_per_gpu", where, can_be_empty=False),
        options=_read_options(row, family, where),
        lent_s=_number(row, "lent_s", where),
    )


def _read_options(row: dict[str, str], family: str, where: str) -> Options:
    if row["variant"] != "options":
        for column in OPTION_COLUMNS:
            if row[column]:
                raise PlanError(f"{where}: {column} '{row[column]}' needs the variant 'options'")
        return options_of_variant(row["variant"], family not in CONVOLUTIONAL)
    attention = ("sdpa", "eager") if family in TEXT else ("sdpa",)  # torchvision's ViT has no other
    choices = {
        "attention": ("",) if family in CONVOLUTIONAL else attention,
        "runtime": ("eager", "compiled", "cuda_graph"),
        "optimizer_kernels": ("foreach", "fused"),
        "recompute": ("", "full") if family in TEXT else ("",),  # torchvision checkpoints nothing
    }
    _check_words(row, choices, where)
    layers = _number(row, "layers", where)
    if layers and row["model"] not in LAYERS:
        raise PlanError(f"{where}: layers '{layers}': {row['model']} runs with all only")
    if layers and layers >= LAYERS[row["model"]][0]:
        raise PlanError(f"{where}: layers '{layers}' of {row['model']} is not below {LAYERS[row['model']][0]}")
    accumulation = _number(row, "accumulation", where)
    if accumulation == 1:
        raise PlanError(f"{where}: accumulation '1' is written as nothing")
    if accumulation and row["runtime"] == "cuda_graph":
        raise PlanError(f"{where}: a graph overwrites the gradients that accumulation adds to")
    return Options(
        attention=row["attention"],
        runtime=row["runtime"],
        optimizer_kernels=row["optimizer_kernels"],
        accumulation=accumulation or 1,
        recompute=row["recompute"] or "none",
        layers=layers,
    )


def _check_words(row: dict[str, str], choices: dict[str, tuple[str, ...]], where: str) -> None:
    for column, allowed in choices.items():
        if row[column] not in allowed:
            known = ", ".join(word or "empty" for word in allowed)
            raise PlanError(f"{where}: {column} '{row[column]}' of {row['model']} is none of {known}")


def _number(row: dict[str, str], column: str, where: str, can_be_empty: bool = True) -> int:
    """A positive number; 0 for an empty cell."""
    if not row[column] and can_be_empty:
        return 0
    if not re.fullmatch(r"[1-9][0-9]*", row[column]):
        raise PlanError(f"{where}: {column} '{row[column]}' is no positive number")
    return int(row[column])
