"""What the programs of this folder share: their command line, the check of the plan, the look for PyTorch.

Nothing here imports PyTorch before the plan is known to be right, so that a plan can be checked on any machine.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plan
import plan_rules
from recording import CANNOT_WRITE, INTERRUPTED, Planned, RecordingError

STARTED = time.monotonic()  # before the seconds that importing PyTorch takes
WRONG_PLAN, NO_GPU = 3, 4
ORDERS = ("plan", "lent")


@dataclass(frozen=True)
class Kind:
    """What a program measures."""

    make_plan: Callable[[argparse.Namespace], list[Any]]  # raises PlanError
    summary: Callable[[list[Any]], str]  # of such a plan, in a line
    packages: dict[str, str]  # that it needs: what is imported, by the package's name
    plan_file: pathlib.Path | None = None  # where another than this can be named


def run(
    arguments: list[str], kind: Kind, documentation: str, record: Callable[[argparse.Namespace, list[Any]], int]
) -> int:
    """Checks the plan and PyTorch, then calls `record` with options and chosen rows. Returns an exit code."""
    options = _parse(arguments, kind, documentation)
    try:
        rows = kind.make_plan(options)
        if options.check:
            print(kind.summary(rows))
            return 0
        reason = missing(kind.packages)
        if reason:
            print(f"error: {reason}", file=sys.stderr)
            return NO_GPU
        return record(options, in_order(selected(rows, options.only), options.order))
    except plan.PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_PLAN
    except (OSError, RecordingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_WRITE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _parse(arguments: list[str], kind: Kind, documentation: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("output", type=pathlib.Path, nargs="?", help="what is made or continued")
    parser.set_defaults(order="plan")
    if kind.plan_file is not None:
        text = "lent: only the runs that have lent_s, for a GPU that is lent for minutes (default: plan, all)"
        parser.add_argument("--order", choices=ORDERS, help=text)
        text = f"what to measure (default: {kind.plan_file.name} here)"
        parser.add_argument("--plan", type=pathlib.Path, default=kind.plan_file, help=text)
    parser.add_argument("--seconds", type=float, default=500, help="stop in good order before this time (default: 500)")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="only runs with it in their title")
    parser.add_argument("--check", action="store_true", help="check the plan and stop")
    options = parser.parse_args(arguments)
    if options.output is None and not options.check:
        parser.error("where to? name the output, or use --check")
    return options


def checked_plan(path: pathlib.Path) -> list[plan.Run]:
    """The plan's runs. Raises PlanError with all that is wrong with them, OSError if it cannot be read."""
    runs = plan.read_plan(path)
    found = plan_rules.problems(runs)
    if found:
        raise plan.PlanError("\n".join(f"{path}: {problem}" for problem in found))
    return runs


TRAINING_STEPS = Kind(
    make_plan=lambda options: checked_plan(options.plan),
    summary=plan_rules.summary,
    packages={"torch": "torch", "torchvision": "torchvision", "transformers": "transformers", "PyYAML": "yaml"},
    plan_file=plan.RUNS,
)


def selected(runs: list[Planned], words: list[str]) -> list[Planned]:
    """Runs whose title has all `words`; a word may be of several: "batch 8"."""
    return [run for run in runs if all(f" {word} " in f" {run.title.replace(',', '')} " for word in words)]


def in_order(runs: list[Any], order: str) -> list[Any]:
    """The runs of an order, as they stand in the plan."""
    return [run for run in runs if run.lent_s] if order == "lent" else runs


def estimate(options: argparse.Namespace) -> Callable[[plan.Run], float] | None:
    """Seconds that a run is expected to take, where the order has such numbers."""
    return (lambda run: run.lent_s) if options.order == "lent" else None


def missing(packages: dict[str, str]) -> str:
    """What stops PyTorch from measuring here, in one line; empty if nothing does."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        found = {name: importlib.import_module(module) for name, module in packages.items()}
    except ImportError as error:
        *others, last = packages
        return f"needs {', '.join(others) + ' and ' if others else ''}{last}: {error}"
    if "transformers" in found:
        found["transformers"].logging.set_verbosity_error()
    return "" if found["torch"].cuda.is_available() else "PyTorch finds no usable GPU"
