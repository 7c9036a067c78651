#!/usr/bin/env python3
"""The errors that README.md and report.html state of training runs, and the picture, are what `trainyard validate` says.

usage: results.py PROGRAM SOURCE_DIR [--update]

Predicts the shipped measurements with every fit and compares the table between the two marks in README.md,
training.svg here, and workloads/published/errors/known_errors.csv, which the build puts into the program, with what comes out; --update
writes all three. Exit status 1: they differ, 2: the program failed.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BEGIN = "<!-- training runs: ./dev published --update -->"
END = "<!-- end of training runs -->"
FITS = ("1gpu", "1node", "nothing")

# family, runs, MAPE, median, p90, worst, linear, coverage, of all, MAPE all
LINE = re.compile(r"(\S.*?)\s+(\d+)" + r"\s+(-|[\d.]+)" * 8)


def tables(text):
    """The printed tables: fit -> family -> its numbers as text."""
    found, fit = {}, None
    for line in text.splitlines():
        if line.startswith("#"):
            start = re.match(r"# fit (\w+):", line)
            fit = start and start.group(1)
        elif fit and (match := LINE.fullmatch(line.rstrip())):
            name, *numbers = match.groups()
            keys = ("rows", "mape", "median", "p90", "worst", "linear", "coverage", "of_all", "with_out")
            found.setdefault(fit, {})[name] = dict(zip(keys, numbers))
    return found


def cells_of(numbers):
    if numbers is None or numbers["rows"] == "0":
        return "", "", ""
    return numbers["rows"], f"{numbers['mape']} / {numbers['p90']}", numbers["linear"].replace("-", "")


def is_total(name):
    return name.startswith("all ")


def families(found):
    """Their names, in the order of the tables."""
    order = []
    for fit in ("nothing", "1gpu", "1node"):
        order += [name for name in found[fit] if name not in order]
    return order


def csv(found):
    """For report.html: totals first; errors in percent."""
    lines = ["family,protocol,rows,mape,p90"]
    for name in sorted(families(found), key=lambda name: not is_total(name)):
        for fit in FITS:
            numbers = found[fit].get(name)
            if numbers and numbers["rows"] != "0":
                lines.append(f'"{name}",{fit},{numbers["rows"]},{numbers["mape"]},{numbers["p90"]}')
    return "\n".join(lines) + "\n"


def markdown(found):
    order = families(found)
    last = [name for name in order if is_total(name)]
    lines = ["| family | runs | 1gpu: MAPE / p90 | linear | runs | 1node: MAPE / p90 | linear | runs | nothing: MAPE / p90 |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name in [name for name in order if name not in last] + last:
        cells = []
        for fit in FITS:
            rows, errors, linear = cells_of(found[fit].get(name))
            cells += [rows, errors] + ([linear] if fit != "nothing" else [])
        if any(cells):
            lines.append("| " + " | ".join([name, *cells]) + " |")
    one_gpu, one_node, nothing = (found[fit]["all runs"] for fit in FITS)
    lines += ["", f"With 1gpu, {one_gpu['coverage']} % of the eligible published runs could be predicted "
              f"({one_gpu['of_all']} % counting those without a one-GPU run to fit to); with 1node, "
              f"{one_node['coverage']} % ({one_node['of_all']} %); with nothing fitted, {nothing['coverage']} %."]
    return "\n".join(lines)


def main():
    program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    is_update = "--update" in sys.argv[3:]
    readme, picture = source / "README.md", source / "workloads/published/training.svg"
    errors = source / "workloads/published/errors/known_errors.csv"
    with tempfile.TemporaryDirectory() as folder:
        drawn = pathlib.Path(folder, "training.svg")
        run = subprocess.run([program, "validate", "--summary", "--plot-runs", drawn], capture_output=True, text=True,
                             check=False, env={**os.environ, "TRAINYARD_DATA": str(source)})
        if run.returncode != 0:
            print(run.stderr, end="")
            return 2
        svg = drawn.read_text(encoding="utf-8")
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"README.md lacks the line {BEGIN} or {END}")
        return 1
    found = tables(run.stdout)
    wanted = {readme: f"{before}{BEGIN}\n\n{markdown(found)}\n\n{END}{after}", picture: svg, errors: csv(found)}
    differ = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if is_update:
        for path in differ:
            path.write_text(wanted[path], encoding="utf-8")
    elif differ:
        print(f"not what the program says: {', '.join(path.name for path in differ)}; run ./dev published --update")
        return 1
    print("the tables and the picture are what the program says")
    return 0


sys.exit(main())
