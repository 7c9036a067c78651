"""A recording of what was measured, and working through a plan in chunks of limited time.

A recording is a CSV that only grows: facts of the machine as `# key: value`, the columns, one row per finished run,
written and flushed at once. Starting again goes on after the rows that are there. Needs the standard library only.
"""

from __future__ import annotations

import csv
import io
import pathlib
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

DONE, TIME_WAS_UP, INTERRUPTED, CANNOT_WRITE, FAILED = 0, 75, 130, 5, 70

CHANGEABLE_FACTS = ("date",)  # all others must stay the same within one file


class Planned(Protocol):
    """A row of a plan: one run."""

    key: tuple[str, ...]  # what makes it the same run as another: its cells in the recording's key columns
    described: dict[str, str]  # its cells in all columns of the plan
    title: str  # for people


@dataclass(frozen=True)
class Form:
    """The columns of a kind of recording, and those among them that tell runs apart."""

    columns: tuple[str, ...]
    key_columns: tuple[str, ...]


class RecordingError(Exception):
    """The file is no recording of ours, or one of another machine."""


class Recording:
    """A CSV of finished runs that is appended to."""

    def __init__(self, path: pathlib.Path, facts: dict[str, str], form: Form):
        """Opens `path`, or makes it with `facts`. Raises RecordingError if it holds something else, and OSError."""
        self.path_ = path
        self.form_ = form
        self.finished_: set[tuple[str, ...]] = set()
        if path.exists() and path.stat().st_size > 0:
            self._continue(facts)
        else:
            header = "".join(f"# {key}: {value}\n" for key, value in facts.items())
            path.write_text(header + ",".join(form.columns) + "\n")

    def _continue(self, facts: dict[str, str]) -> None:
        text = self.path_.read_text()
        whole = text[: text.rfind("\n") + 1]
        lines = whole.splitlines()
        comments = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
        table = csv.DictReader(line for line in lines if not line.startswith("#"))
        if tuple(table.fieldnames or ()) != self.form_.columns:
            raise RecordingError(f"{self.path_}: is no recording of this program's; write to another file")
        for key, _, value in comments:
            if key not in CHANGEABLE_FACTS and facts.get(key, value) != value:
                raise RecordingError(
                    f"{self.path_}: was made with {key} '{value}', here it is '{facts[key]}'; write to another file"
                )
        self.finished_ = {tuple(row[column] for column in self.form_.key_columns) for row in table}
        if whole != text:
            self.path_.write_text(whole)  # a last row without its end was cut off while it was written

    def has(self, run: Planned) -> bool:
        return run.key in self.finished_

    def append(self, run: Planned, values: dict[str, object]) -> None:
        """Adds the row of `run`; `values` are the columns that do not describe it, those left out stay empty."""
        unknown = set(values) - set(self.form_.columns)
        if unknown:
            raise ValueError(f"no such columns: {', '.join(sorted(unknown))}")
        line = io.StringIO()
        csv.DictWriter(line, self.form_.columns, restval="", lineterminator="\n").writerow(run.described | values)
        with self.path_.open("a") as file:
            file.write(line.getvalue())
        self.finished_.add(run.key)


def work_through(
    runs: Iterable[Planned],
    work: Callable[[Any], str],
    seconds: float,
    started: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    out: TextIO = sys.stderr,
    estimate: Callable[[Any], float] | None = None,
) -> int:
    """Does `work` for each run, which returns what to say of it, until `seconds` after `started` would be passed.

    The next run is taken to last as long as the longest so far, and the first one that is too long ends the work. With
    `estimate`, in seconds, it is taken to last that long, or longer by as much as the runs so far were; a run that is
    too long is passed over for shorter ones. A run that raises is named and left out: it is tried again by the next
    start. Returns an exit code: DONE, TIME_WAS_UP, INTERRUPTED, CANNOT_WRITE or FAILED.
    """
    started = clock() if started is None else started
    todo = list(runs)
    longest = spent = estimated = 0.0
    done = failed = passed_over = 0
    for index, run in enumerate(todo):
        begun = clock()
        left_over = passed_over + len(todo) - index
        if estimate is None:
            expected = longest
        else:
            expected = estimate(run) * max(1.0, spent / estimated if estimated else 1.0)
        if begun - started + expected > seconds:
            if estimate is None:
                return _time_was_up(left_over, out)
            passed_over += 1
            continue
        try:
            said = work(run)
        except KeyboardInterrupt:
            print(f"interrupted: {left_over} left; the same command goes on with them", file=out)
            return INTERRUPTED
        except OSError as error:
            print(f"error: cannot write: {error}", file=out)
            return CANNOT_WRITE
        except Exception as error:  # one run that PyTorch cannot do must not cost the others
            failed += 1
            said = f"failed: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        took = clock() - begun
        longest, spent, done = max(longest, took), spent + took, done + 1
        behind = todo[index + 1 :]
        if estimate is None:
            left = spent / done * len(behind)
        else:
            estimated += estimate(run)
            left = sum(map(estimate, behind))
        print(f"[{index + 1}/{len(todo)}] {run.title}: {said}; about {left:.0f} s left", file=out, flush=True)
    if failed:
        print(f"{failed} failed and are not recorded", file=out)
    if passed_over:
        return _time_was_up(passed_over, out)
    return FAILED if failed else DONE


def _time_was_up(left_over: int, out: TextIO) -> int:
    print(f"time is up: {left_over} left; the same command goes on with them", file=out)
    return TIME_WAS_UP
