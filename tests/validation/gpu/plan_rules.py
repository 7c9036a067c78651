"""What is wrong with a plan whose rows are each well-formed: names, splits, traces.

The split is decided before anything is measured. Rows of variant `default`: within a configuration (model, precision,
memory format) the batch sizes in ascending order are fit, report, fit, report ... Rows of variant `options` are fit if
the rates of the lowering were fitted to the same step on another machine, report if not. All other variants are apart:
they show what an option of PyTorch changes and are neither fitted nor counted.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections import defaultdict

from fitted_steps import fitted_steps
from plan import WORKLOADS, Run

MINIMUM_BATCH_SIZES = 4  # so that two are fitted and two reported


def problems(runs: list[Run], workloads: pathlib.Path = WORKLOADS) -> list[str]:
    """Empty if nothing is wrong."""
    found = _unknown_names(runs, workloads)
    seen = set()
    for run in runs:
        if run.key in seen:
            found.append(f"{run.title}: is there twice")
        seen.add(run.key)
        if run.trace and run.split != "fit":
            found.append(f"{run.title}: only fitted batch sizes are traced: nothing is learnt from reported ones")
    fitted = fitted_steps(workloads)
    stated = [run for run in runs if run.variant == "options"]
    for run in stated:
        expected = "fit" if run.key in fitted else "report"
        if run.split != expected:
            found.append(f"{run.title}: is {run.split}, by gpu_steps.csv {expected}")
    return found + _wrong_configurations([run for run in runs if run.variant != "options"])


def _wrong_configurations(runs: list[Run]) -> list[str]:
    found = []
    configurations = defaultdict(list)
    for run in runs:
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
        text = file.read_text()
        expected = _size(text, "sequence_length")
        its = [run for run in runs if run.model == model]
        if any(run.sequence_length != expected for run in its if run.variant != "options"):
            found.append(f"model '{model}': sequence_length is not {expected or 'empty'} as in {file}")
        found += [problem for run in its if run.variant == "options" for problem in _wrong_length(run, text)]
    return found


def _wrong_length(run: Run, model: str) -> list[str]:
    """Of a run whose length is its own: `model` is the model's file."""
    most = _size(model, "positions") or _size(model, "sequence_length")
    if bool(run.sequence_length) != bool(most) or run.sequence_length > most:
        return [f"{run.title}: sequence_length is not {f'1 to {most}' if most else 'empty'}"]
    predictions = re.search(r"^ +predictions: *{(.*)}", model, flags=re.M)
    if predictions and not re.search(rf"\b{run.sequence_length}:", predictions[1]):
        return [f"{run.title}: the model's file has no predictions for {run.sequence_length} tokens"]
    return []


def _size(model: str, key: str) -> int:
    """A number in a model's file; 0 if it has none of this name."""
    found = re.search(rf"^ +{key}: *(\d+)", model, flags=re.M)
    return int(found[1]) if found else 0


def summary(runs: list[Run]) -> str:
    """One line: how many rows, of which kind."""
    count = {split: sum(run.split == split for run in runs) for split in ("fit", "report", "apart")}
    configurations = len({run.configuration for run in runs if run.variant != "options"})
    words = ", ".join(f"{number} {split}" for split, number in count.items())
    stated = sum(run.variant == "options" for run in runs)
    lent = [run.lent_s for run in runs if run.lent_s]
    return (
        f"{len(runs)} runs of {configurations} configurations and {stated} with options: {words}; "
        f"{sum(run.trace for run in runs)} traced; lent order {len(lent)} runs, about {sum(lent)} s"
    )
