"""What train_steps.py and op_trace.py share: their command line, the check of the plan, the look for PyTorch.

Nothing here imports PyTorch before the plan is known to be right, so that a plan can be checked on any machine.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
from collections.abc import Callable

import plan
from recording import CANNOT_WRITE, INTERRUPTED, RecordingError

STARTED = time.monotonic()  # before the seconds that importing PyTorch takes
WRONG_PLAN, NO_GPU = 3, 4


def run(arguments: list[str], documentation: str, record: Callable[[argparse.Namespace, list[plan.Run]], int]) -> int:
    """Checks the plan and PyTorch, then calls `record` with options and chosen runs. Returns an exit code."""
    options = _parse(arguments, documentation)
    try:
        runs = checked_plan(options.plan)
        if options.check:
            print(plan.summary(runs))
            return 0
        reason = missing()
        if reason:
            print(f"error: {reason}", file=sys.stderr)
            return NO_GPU
        return record(options, selected(runs, options.only))
    except plan.PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_PLAN
    except (OSError, RecordingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return CANNOT_WRITE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _parse(arguments: list[str], documentation: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("output", type=pathlib.Path, nargs="?", help="what is made or continued")
    parser.add_argument("--plan", type=pathlib.Path, default=plan.RUNS, help="what to measure (default: runs.csv here)")
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
    found = plan.problems(runs)
    if found:
        raise plan.PlanError("\n".join(f"{path}: {problem}" for problem in found))
    return runs


def selected(runs: list[plan.Run], words: list[str]) -> list[plan.Run]:
    """Runs whose title has all `words`; a word may be of several: "batch 8"."""
    return [run for run in runs if all(f" {word} " in f" {run.title.replace(',', '')} " for word in words)]


def missing() -> str:
    """What stops PyTorch from measuring here, in one line; empty if nothing does."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import torch
        import torchvision  # noqa: F401
        import transformers
        import yaml  # noqa: F401
    except ImportError as error:
        return f"needs torch, torchvision, transformers and PyYAML: {error}"
    transformers.logging.set_verbosity_error()
    return "" if torch.cuda.is_available() else "PyTorch finds no usable GPU"
