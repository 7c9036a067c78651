#!/usr/bin/env python3
"""Kills a sweep with SIGKILL at random moments and resumes it until it is done: no row may be lost or doubled,
and the files at the end are those of a sweep that nobody disturbed.

    sweep_kills.py PROGRAM [--cycles N] [--seed S] [--jobs J]

A cycle is a start that is killed; a sweep that is done before all cycles are begins anew. The moments are drawn
from one seed, but what they hit depends on the machine."""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

POINTS = 400
EXPERIMENT = "platform: dgx2\nmodel: alexnet\nstack: pytorch_ddp\nbatch_per_gpu: 32\n"
# Every fourth point wants more GPUs than there are: failures are rows as well.
SWEEP = "experiment: tiny.yaml\nvary:\n  batch_per_gpu: [1..100]\n  gpus: [1, 2, 4, 17]\n"
FILES = ["sweep.csv", "failures.csv", "sweep.resolved.yaml", "report.html"]
FAILED = 4  # exit code of a sweep with failed points


def check(is_right, what):
    if not is_right:
        sys.exit(f"sweep_kills: {what}")


def rows(database):
    """Point and everything else that is kept of it; nothing of a sweep killed before it made its tables. From a copy:
    one who reads what was killed in mid-write first has to undo the write, which is left to the program here."""
    with tempfile.TemporaryDirectory() as folder:
        for file in database.parent.glob(f"{database.name}*"):
            shutil.copy(file, folder)
        with contextlib.closing(sqlite3.connect(pathlib.Path(folder, database.name))) as connection:
            has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'points'").fetchall()
            return {row[0]: row for row in connection.execute("SELECT * FROM points")} if has_table else {}


class Sweep:
    def __init__(self, program, folder, jobs):
        self.command = [program, "sweep", str(folder / "s.yaml"), "-j", str(jobs), "--resume", "--out"]
        (folder / "tiny.yaml").write_text(EXPERIMENT)
        (folder / "s.yaml").write_text(SWEEP)

    def start(self, out):
        return subprocess.Popen([*self.command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                start_new_session=True, text=True)

    def finish(self, out):
        process = self.start(out)
        _, errors = process.communicate(timeout=600)
        check(process.returncode == FAILED, f"ended with {process.returncode}: {errors}")


def is_gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def check_that_no_child_is_left(groups):
    """Children of a killed sweep die with it, and whoever inherits them takes note a little later."""
    end = time.monotonic() + 10
    while not all(is_gone(group) for group in groups):
        check(time.monotonic() < end, "children outlive the sweep by ten seconds")
        time.sleep(0.01)


def killed_after(sweep, out, seconds, groups):
    """Whether the sweep was still running then."""
    process = sweep.start(out)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    check(process.returncode in (FAILED, -signal.SIGKILL), f"ended with {process.returncode}: {errors}")
    groups.append(process.pid)
    return process.returncode == -signal.SIGKILL


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="trainyard-kills-") as name:
        folder = pathlib.Path(name)
        sweep = Sweep(os.path.abspath(options.program), folder, options.jobs)
        began = time.monotonic()
        sweep.finish(folder / "undisturbed")
        whole = time.monotonic() - began
        expected = rows(folder / "undisturbed/sweep.db")
        check(sorted(expected) == list(range(POINTS)), f"{len(expected)} rows instead of {POINTS}")

        kills = sweeps = in_the_middle = 0
        groups = []
        while kills < options.cycles:
            sweeps += 1
            out = folder / f"killed{sweeps}"
            kept = {}
            # A few kills a sweep: before its first row, among the rows, while it writes its files.
            while kills < options.cycles and killed_after(sweep, out, draw.random() ** 3 * whole, groups):
                kills += 1
                now = rows(out / "sweep.db")
                check(all(now.get(point) == row for point, row in kept.items()), "a row was lost or changed")
                check(all(expected[point] == row for point, row in now.items()), "a row is another one")
                in_the_middle += 0 < len(now) < POINTS
                kept = now
            sweep.finish(out)
            check(rows(out / "sweep.db") == expected, "the rows are others")
            for file in FILES:
                check((out / file).read_bytes() == (folder / "undisturbed" / file).read_bytes(), f"{file} differs")
            check(sorted(os.listdir(out)) == sorted([*FILES, "sweep.db"]), f"left behind: {os.listdir(out)}")
        check_that_no_child_is_left(groups)
        check(in_the_middle > 0, "no kill hit a sweep between its first and its last row")
    print(f"{kills} kills in {sweeps} sweeps of {POINTS} points, {in_the_middle} between first and last row: "
          f"nothing lost or doubled; undisturbed {whole:.2f} s, all {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
