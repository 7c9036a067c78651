#!/usr/bin/env python3
"""The alarm: published runs that are predicted worse than before, by 2 points or more.

usage: worse.py SOURCE_DIR [COMMIT]

Compares workloads/published/errors with what COMMIT (default: HEAD) has, by fit and row. It fails nothing: a change that
makes some rows worse may be right, but whoever lands it has seen them.
"""

import csv
import pathlib
import subprocess
import sys

POINTS = 0.02
FOLDER = "workloads/published/errors"
SHOWN = 20


def errors(text):
    """Predicted over measured - 1, by row."""
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["row"]: float(row["predicted"]) / float(row["measured"]) - 1 for row in rows}


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        sys.exit(2)
    source, commit = pathlib.Path(sys.argv[1]), (sys.argv[2:] + ["HEAD"])[0]
    subprocess.run(["git", "-C", source, "rev-parse", "--quiet", "--verify", commit], stdout=subprocess.DEVNULL, check=True)
    for path in sorted((source / FOLDER).glob("*.csv")):
        if path.name in ("collectives.csv", "known_errors.csv", "new_circumstances.csv"):
            continue
        shown = subprocess.run(["git", "-C", source, "show", f"{commit}:{FOLDER}/{path.name}"], capture_output=True, text=True,
                               check=False)
        if shown.returncode != 0:
            print(f"{path.name}: not in {commit}")
            continue
        before, now = errors(shown.stdout), errors(path.read_text(encoding="utf-8"))
        worse = sorted((abs(before[row]) - abs(now[row]), row) for row in now if row in before)
        worse = [row for change, row in worse if change <= -POINTS]
        print(f"{path.name}: {len(worse)} of {len(now)} rows are 2 points or more worse than in {commit}, "
              f"{len(set(now) - set(before))} are new, {len(set(before) - set(now))} gone")
        for row in worse[:SHOWN]:
            print(f"  {100 * before[row]:+6.1f} -> {100 * now[row]:+6.1f} %  {row}")
        if len(worse) > SHOWN:
            print(f"  and {len(worse) - SHOWN} more")


if __name__ == "__main__":
    main()
