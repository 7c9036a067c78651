#!/usr/bin/env python3
"""Errors of published runs that nothing like them stands for, and the expected error of jobs that are unlike all of them.

usage: left_out.py PROGRAM SOURCE_DIR [--update]

Predicts the shipped runs with all runs left out that share a property with them: their stack, the generation of their
GPU, their kind of model and so on. From these errors come workloads/published/errors/new_circumstances.csv and the
table between marks in docs/accuracy.md; --update writes both. Errors of kernels alone are those of
workloads/published/errors, which results.py writes. Exit status 1: they differ, 2: the program failed.

A bound of log(measured / predicted) is -(slower + log(1 + slower_op / op)) or faster + log(1 + faster_op / op), where op
is the run's mean kernel: of all bounds with slower_op and faster_op on a grid, the one with the least loss as the 10 %
and the 90 % quantile (quantile regression). Runs of a group, such as a stack, weigh together as the square root of
their number: few groups have most runs.
"""

import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

BEGIN = "<!-- left out: ./dev published --update -->"
END = "<!-- end of left out -->"
OP_US = (0, 2, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
SHARE = 0.8

# property that is new: fit and level of the errors, and the columns of runs that are left out together
BOUNDS = {
    "nothing": ("software", "series", ("series",)),
    "stack": ("software", "stack", ("framework", "stack")),
    "framework": ("software", "framework", ("framework",)),
    "generation": ("software", "generation", ("generation",)),
    "gpu": ("software", "gpu", ("gpu",)),
    "kind": ("software", "kind", ("kind",)),
    "model": ("software", "model", ("model",)),
    "kernels": ("nothing", "series", ("framework", "stack")),
}
LEVELS = {"gpu": "its GPU", "stack": "its framework and stack", "model": "its model", "publication": "its publication",
          "framework": "its framework", "generation": "the generation of its GPU", "kind": "its kind of model",
          "series": "its own series alone"}


def validated(program, level, folder):
    """The JSON of `validate`, and the errors of all runs on GPUs."""
    done = subprocess.run([program, "validate", "--fit", "software", "--left-out", level, "--errors", folder, "--force",
                           "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        sys.exit(2)
    return json.loads(done.stdout), errors_of(pathlib.Path(folder), "software")


def errors_of(folder, fit):
    rows = []
    for prefix in ("", "layouts_"):
        text = (folder / f"{prefix}{fit}.csv").read_text(encoding="utf-8")
        for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
            row["series"] = prefix + row.get("series", row.get("family"))
            if row["generation"] != "processor":
                rows.append(row)
    return rows


def quantile(values, share):
    """Of values and weights, sorted: the first below which, with it, lies this share of the weights."""
    most, below = share * sum(weight for _, weight in values), 0
    for value, weight in values:
        below += weight
        if below >= most:
            return value
    return values[-1][0]


def bound(errors, share):
    """errors: log(measured / predicted), mean kernel in us, weight. Returns the part of all runs and the time of an op in us."""
    sign, best = (-1 if share < 0.5 else 1), None
    for op in OP_US:
        rest = sorted((error - sign * math.log1p(op / mean), weight) for error, mean, weight in errors)
        part = round(sign * quantile(rest, share), 3)
        loss = sum(weight * (share - (value < sign * part)) * (value - sign * part) for value, weight in rest)
        if best is None or loss < best[0] * (1 - 1e-9):
            best = loss, part, op
    return best[1:]


def bounds_line(name, rows, columns):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    errors = [(math.log(float(row["measured"]) / float(row["predicted"])), float(row["op_us"]), 1 / math.sqrt(len(group)))
              for group in groups.values() for row in group]
    slower = bound(errors, (1 - SHARE) / 2)
    faster = bound(errors, (1 + SHARE) / 2)
    return f"{name},{slower[0]:g},{slower[1]},{faster[0]:g},{faster[1]},{len(rows)}"


def table(results):
    """Mean error and intervals by the property that is left out; runs whose ranks share a model are never fitted to."""
    lines = ["| left out | runs | mean error | inside | half width | runs that share a model: inside | half width |",
             "|---" * 7 + "|"]
    for level, words in LEVELS.items():
        json_of_level = results[level]
        runs, layouts = json_of_level["expected_error"]["overall"], json_of_level["layouts"]["expected_error"]["overall"]
        cells = [words, runs["rows"], f"{100 * json_of_level['overall']['mape']:.1f}"]
        for its in (runs["held_out"], layouts["held_out"]):
            # without decoders, too few runs share a model
            cells += [f"{100 * its['coverage']:.1f}", f"{100 * its['median_half_width']:.1f}"] if its else ["", ""]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def compare_or_write(path, wanted, update):
    if path.exists() and path.read_text(encoding="utf-8") == wanted:
        return 0
    if update:
        path.write_text(wanted, encoding="utf-8")
        return 0
    print(f"{path} is not what `trainyard validate` says: run ./dev published --update", file=sys.stderr)
    return 1


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--update"]):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        sys.exit(2)
    program, source, update = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:] == ["--update"]
    with tempfile.TemporaryDirectory() as folder:
        errors, results = {}, {}
        for level in LEVELS:
            results[level], errors["software", level] = validated(program, level, folder)
        errors["nothing", "series"] = errors_of(source / "workloads/published/errors", "nothing")
        lines = ["# Bounds of the error of jobs with a property that no published run has: tests/validation/left_out.py",
                 "new,slower,slower_op_us,faster,faster_op_us,runs"]
        lines += [bounds_line(name, errors[fit, level], columns) for name, (fit, level, columns) in BOUNDS.items()]
        bounds = source / "workloads/published/errors/new_circumstances.csv"
        is_new = not bounds.exists() or bounds.read_text(encoding="utf-8") != "\n".join(lines) + "\n"
        status = compare_or_write(bounds, "\n".join(lines) + "\n", update)
        if is_new and update:  # the intervals of the table are those of the new bounds
            for level in LEVELS:
                results[level], _ = validated(program, level, folder)
    page = source / "docs/accuracy.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    sys.exit(status | compare_or_write(page, f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}", update))


if __name__ == "__main__":
    main()
