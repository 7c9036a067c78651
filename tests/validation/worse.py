#!/usr/bin/env python3
"""The alarm: published runs that are predicted worse than before, by 2 points or more.

usage: worse.py SOURCE_DIR [COMMIT]

Compares workloads/published/errors with what COMMIT (default: HEAD) has, by fit and run. A run is known by its file and
by what its row states, not by its line: a row that is inserted moves all others. It fails nothing: a change that makes
some rows worse may be right, but whoever lands it has seen them.
"""

import collections
import csv
import pathlib
import subprocess
import sys

POINTS = 0.02
FOLDER = "workloads/published/errors"
SHOWN = 20
STATED = ("platform", "nodes", "gpus", "batch_per_gpu", "framework", "stack", "gpu", "model", "precision", "measured",
          "tensor", "context", "pipeline", "virtual_stages", "expert", "micro_batches", "recompute", "sharded")


def errors(text):
    """Predicted over measured - 1 and place by run: its file, what is stated of it, and its number among equal ones."""
    found, equal = {}, collections.Counter()
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        run = (row["row"].rpartition(":")[0], *(row.get(column) for column in STATED))
        equal[run] += 1
        found[*run, equal[run]] = float(row["predicted"]) / float(row["measured"]) - 1, row["row"]
    return found


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
        worse = sorted((abs(before[run][0]) - abs(now[run][0]), now[run][1], run) for run in now if run in before)
        worse = [run for change, _, run in worse if change <= -POINTS]
        print(f"{path.name}: {len(worse)} of {len(now)} rows are 2 points or more worse than in {commit}, "
              f"{len(set(now) - set(before))} are new, {len(set(before) - set(now))} gone")
        for run in worse[:SHOWN]:
            (error, place), (old_error, _) = now[run], before[run]
            print(f"  {100 * old_error:+6.1f} -> {100 * error:+6.1f} %  {place}")
        if len(worse) > SHOWN:
            print(f"  and {len(worse) - SHOWN} more")


if __name__ == "__main__":
    main()
