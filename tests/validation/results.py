#!/usr/bin/env python3
"""The errors of training runs in README.md, docs/accuracy.md, report.html and errors/*.csv, and the pictures, are what
`trainyard validate` says.

usage: results.py PROGRAM SOURCE_DIR [--update]

Fits software to the shipped one-GPU runs, predicts the shipped measurements with every fit and compares what comes out
with workloads/software/published.yaml and .csv, the tables between marks in README.md and docs/accuracy.md,
training.svg and collectives.svg, and workloads/published/errors: known_errors.csv, which the build puts into the program, and the errors of
every run by fit. --update writes all of them. Exit status 1: they differ, 2: the program failed.
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).parent / "gpu"))
import compare
import plots

BEGIN = "<!-- training runs: ./dev published --update -->"
END = "<!-- end of training runs -->"
BEGIN_TOTALS = "<!-- totals: ./dev published --update -->"
END_TOTALS = "<!-- end of totals -->"
BEGIN_COMPARISONS = "<!-- comparisons: ./dev published --update -->"
END_COMPARISONS = "<!-- end of comparisons -->"
BEGIN_LAYOUTS = "<!-- runs that share a model: ./dev published --update -->"
END_LAYOUTS = "<!-- end of runs that share a model -->"
BEGIN_INTERVALS = "<!-- expected errors of layouts: ./dev published --update -->"
END_INTERVALS = "<!-- end of expected errors of layouts -->"
BEGIN_TARGETS = "<!-- trainings to a target: ./dev published --update -->"
END_TARGETS = "<!-- end of trainings to a target -->"
FITS = ("nothing", "software", "1gpu", "1node")
FITTED = ("1gpu", "1node")  # to a run that linear scaling can begin with
MODELINE = "# yaml-language-server: $schema=../schema/software.json\n"

# family, runs, MAPE, median, p90, worst, linear, coverage, of all, MAPE all
LINE = re.compile(r"(\S.*?)\s+(\d+)" + r"\s+(-|[-+]?[\d.]+)" * 9)


KINDS = {"training runs": "training", "runs whose ranks share a model": "layouts", "trainings to a target": "targets",
         "reports with an experiment each": "reports"}


def parts(text):
    """The printed text of each kind."""
    found, kind = {}, None
    for line in text.splitlines():
        kind = KINDS.get(line, kind)
        if kind:
            found.setdefault(kind, []).append(line)
    return {kind: "\n".join(lines) for kind, lines in found.items()}


def tables(text):
    """The printed tables: fit -> family -> its numbers as text."""
    found, fit = {}, None
    for line in text.splitlines():
        if start := re.match(r"fit (\w+):", line):
            fit = start.group(1)
        elif not line:
            fit = None
        elif fit and (match := LINE.fullmatch(line.rstrip())):
            found.setdefault(fit, {})[match.group(1)] = numbers_of(match)
    return found


def numbers_of(line):
    keys = ("rows", "mape", "median", "p90", "worst", "bias", "linear", "coverage", "of_all", "with_out")
    return dict(zip(keys, line.groups()[1:]))


# change, pairs, inside, half width, of one run
PAIRS = re.compile(r"(\S.*?)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)")


def comparisons(text):
    """The printed errors of comparisons as a table: a line for each change, the fits side by side."""
    found, fit = {}, None
    for line in text.splitlines():
        if start := re.match(r"expected error of comparisons with fit (\w+):", line):
            fit = start.group(1)
        elif not line:
            fit = None
        elif fit and (match := PAIRS.fullmatch(line.rstrip())):
            name, *numbers = match.groups()
            found.setdefault(name, {})[fit] = numbers
    fits = [fit for fit in FITS if any(fit in its for its in found.values())]
    heads = " | ".join(f"{fit}: pairs | inside | half width (one run)" for fit in fits)
    lines = [f"| pairs differ in | {heads} |", "|---" * (1 + 3 * len(fits)) + "|"]
    for name, its in found.items():
        cells = []
        for fit in fits:
            pairs, inside, half, of_run = its.get(fit, [""] * 4)
            cells += [pairs, inside, f"{half} ({of_run})" if half else ""]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


# setting (only in its first line), fit, pairs, change, error
LAYOUT_PAIRS = re.compile(r"(\S.*?)?\s+(nothing|software|1layout)\s+(\d+)\s+([\d.]+)\s+([\d.]+)")
VERDICTS = re.compile(r"memory of these runs: (\d+) of (\d+) that ran .* fit, (\d+) of (\d+) that ran out of memory")
LAYOUT_FITS = ("nothing", "software", "1layout")


def side_by_side(found, fits, name):
    """Of a family: mean / median / p90 and bias, with each fit."""
    cells = []
    for fit in fits:
        its = found.get(fit, {}).get(name)
        is_known = its and its["mape"] != "-"
        cells += [f"{its['mape']} / {its['median']} / {its['p90']}", its["bias"]] if is_known else ["", ""]
    return cells


def layout_pairs(text):
    pairs, name = {}, None
    for line in text.splitlines():
        if match := LAYOUT_PAIRS.fullmatch(line.rstrip()):
            name = match.group(1) or name
            pairs.setdefault(name, {})[match.group(2)] = match.groups()[2:]
    return pairs


def layout_tables(text):
    found = tables(text)
    lines = ["| family | runs | " + " | ".join(f"{fit}: mean / median / p90 | bias" for fit in LAYOUT_FITS) + " | coverage |",
             "|---" * 9 + "|"]
    for name, its in found["software"].items():
        if its["rows"] != "0":
            lines.append("| " + " | ".join([name, its["rows"], *side_by_side(found, LAYOUT_FITS, name), its["coverage"]]) + " |")
    lines += ["", "| pairs differ in | pairs | change | " + " | ".join(f"{fit}: error" for fit in LAYOUT_FITS) + " |",
              "|---" * 6 + "|"]
    for name, its in layout_pairs(text).items():
        cells = [its[fit][2] if fit in its else "" for fit in LAYOUT_FITS]
        lines.append("| " + " | ".join([name, *its["nothing"][:2], *cells]) + " |")
    _, _, memory = text.partition("errors of published sizes of memory in %")
    lines += ["", "| memory | rows | mean | median | p90 | worst | bias |", "|---" * 7 + "|"]
    for line in memory.partition("\n\n")[0].splitlines():
        if match := LINE.fullmatch(line.rstrip()):
            its = numbers_of(match)
            lines.append("| " + " | ".join([match.group(1), *(its[key] for key in ("rows", "mape", "median", "p90", "worst", "bias"))]) + " |")
    accepted, ran, refused, failed = next(filter(None, map(VERDICTS.match, text.splitlines()))).groups()
    lines += ["", f"{accepted} of {ran} layouts that ran are predicted to fit; {refused} of {failed} that ran out of memory "
              "are predicted not to."]
    return "\n".join(lines)


# family, runs, inside, half width, both also held out
INTERVAL = re.compile(r"(\S.*?)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)")
INTERVAL_OR_NONE = re.compile(r"(\S.*?)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+(-|[\d.]+)\s+(-|[\d.]+)")


def layout_intervals(text):
    """The printed coverage of the expected errors of layouts as a table: a line for each family, the fits side by side."""
    found, fit = {}, None
    for line in text.splitlines():
        if start := re.match(r"expected error with fit (\w+):", line):
            fit = start.group(1)
        elif not line:
            fit = None
        elif fit and (match := INTERVAL.fullmatch(line.rstrip())):
            found.setdefault(match.group(1), {})[fit] = (match.group(2), *match.groups()[4:])
    lines = ["| family, held out | runs | nothing: inside | half width | software: inside | half width |", "|---" * 6 + "|"]
    for name, its in found.items():
        cells = [cell for fit in ("nothing", "software") for cell in its[fit][1:]]
        lines.append("| " + " | ".join([name, its["software"][0], *cells]) + " |")
    return "\n".join(lines)


TARGET_FITS = ("nothing", "software", "1system")


def target_table(text):
    """The printed errors of trainings to a target as a table: a line for each family, the fits side by side."""
    found = tables(text)
    inside = {}
    _, _, intervals = text.partition("expected error with fit software:")
    for line in intervals.partition("\n\n")[0].splitlines():
        if match := INTERVAL_OR_NONE.fullmatch(line.rstrip()):
            inside[match.group(1)] = match.group(3)
    lines = ["| family | rows | " + " | ".join(f"{fit}: mean / median / p90 | bias" for fit in TARGET_FITS)
             + " | coverage | inside |", "|---" * 10 + "|"]
    for name, its in found["software"].items():
        if its["rows"] != "0":
            cells = side_by_side(found, TARGET_FITS, name)
            lines.append("| " + " | ".join([name, its["rows"], *cells, its["coverage"], inside.get(name, "")]) + " |")
    return "\n".join(lines)


def layout_overview(text):
    found = tables(text)
    lines = ["| fit | runs | mean | median | p90 | bias |", "|---" * 6 + "|"]
    for fit in LAYOUT_FITS:
        its = found[fit]["all runs"]
        lines.append(f"| `{fit}` | {its['rows']} | {its['mape']} | {its['median']} | {its['p90']} | {its['bias']} |")
    return "\n".join(lines)


def cells_of(numbers):
    if numbers is None or numbers["rows"] == "0":
        return "", "", ""
    return numbers["rows"], f"{numbers['mape']} / {numbers['p90']}", numbers["linear"].replace("-", "")


def is_total(name):
    return name.startswith("all ")


def families(found):
    """Their names, in the order of the tables."""
    order = []
    for fit in FITS:
        order += [name for name in found[fit] if name not in order]
    return order


def known_errors_csv(found):
    """For report.html: totals first; errors in percent."""
    lines = ["family,protocol,rows,mape,p90"]
    for name in sorted(families(found), key=lambda name: not is_total(name)):
        for fit in FITS:
            numbers = found[fit].get(name)
            if numbers and numbers["rows"] != "0":
                lines.append(f'"{name}",{fit},{numbers["rows"]},{numbers["mape"]},{numbers["p90"]}')
    return "\n".join(lines) + "\n"


def by_family(found):
    order = families(found)
    last = [name for name in order if is_total(name)]
    heads = " | ".join(f"{fit}: MAPE / p90" + (" | linear" if fit in FITTED else "") for fit in FITS)
    lines = [f"| family | runs | {heads} |", "|---" * (2 + len(FITS) + len(FITTED)) + "|"]
    for name in [name for name in order if name not in last] + last:
        cells = [cells_of(found["nothing"].get(name))[0]]
        for fit in FITS:
            _, errors, linear = cells_of(found[fit].get(name))
            cells += [errors] + ([linear] if fit in FITTED else [])
        if any(cells):
            lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def overview(found):
    lines = ["| fit | runs | mean | median | p90 | bias | linear scaling |", "|---|---|---|---|---|---|---|"]
    for fit in FITS:
        its = found[fit]["all runs"]
        lines.append(f"| `{fit}` | {its['rows']} | {its['mape']} | {its['median']} | {its['p90']} | {its['bias']} | "
                     f"{its['linear'].replace('-', '')} |")
    software = found["software"]["all runs"]
    lines += ["", f"{software['coverage']} % of the eligible published runs could be predicted."]
    return "\n".join(lines)


LEFT_OUT = re.compile(r"left_out: (\w+), runs: (\d+), mape: ([\d.]+), median: ([\d.]+), p90: ([\d.]+), bias: ([-\d.]+)")
GENERATIONS = {"kepler": "Kepler (K80)", "maxwell": "Maxwell (M60)", "pascal": "Pascal (P100)", "volta": "Volta (V100)",
               "turing": "Turing (T4)", "ampere": "Ampere (A100)", "ada": "Ada (L40)", "hopper": "Hopper (H100)",
               "blackwell": "Blackwell (B200)"}  # by year
FAR_OFF = 20  # percent


def left_out(software):
    """What the file of the software's factors says of one-GPU runs without whatever is named: name -> runs and ratios."""
    return {name: (int(runs), *map(float, numbers)) for name, runs, *numbers in LEFT_OUT.findall(software)}


def scored_runs(errors):
    """Of a table of errors: the rows in the totals, and the one-GPU rows that software is fitted to."""
    rows = list(csv.DictReader(line for line in errors.splitlines() if not line.startswith("#")))
    return [row for row in rows if row["scored"] == "1"], [row for row in rows if row["scored"] == "0" and row["gpus"] == "1"]


def with_known_software(errors):
    """How many scored runs have a one-GPU run of another series with their stack, model and precision."""
    def key(row):
        return row["stack"], row["model"].partition("@")[0], row["precision"]
    scored, fitted = scored_runs(errors)
    series = {}
    for row in fitted:
        series.setdefault(key(row), set()).add(row["series"])
    return sum(bool(series.get(key(row), set()) - {row["series"]}) for row in scored), len(scored)


def origin(errors, published):
    """First and last year of the scored runs, and their newest generation of GPUs, with the number of runs on processors."""
    scored, _ = scored_runs(errors)
    tables, years = {}, set()
    for row in scored:
        name, line = row["row"].split(":")
        if name not in tables:
            tables[name] = list(csv.reader((published / name).read_text(encoding="utf-8").splitlines()))
        cells = dict(zip(tables[name][0], tables[name][int(line) - 1]))
        years.update(re.findall(r"\d{4}", cells.get("year", "")))
    order = list(GENERATIONS)
    newest = max((row["generation"] for row in scored if row["generation"] in order), key=order.index)
    on_processors = sum(row["generation"] not in order for row in scored)
    return min(years), max(years), f"{GENERATIONS[newest]}; {on_processors} are on processors" if on_processors else GENERATIONS[newest]


STEP = re.compile(r"[\d.]+ ms\s+[\d.]+ ms\s+([-+][\d.]+)%.*(?:GPU|host)$")


def steps_in_words(program, source):
    """About the steps of PyTorch on one GPU: the errors of their comparisons, and whether they lie in the interval of `run`."""
    folder = source / "tests/validation/gpu"
    errors, inside = [], 0
    for path in sorted(folder.glob("*_comparison.txt")):
        its = [float(match.group(1)) for line in path.read_text(encoding="utf-8").splitlines() if (match := STEP.search(line))]
        gpu = path.name.removesuffix("_comparison.txt")
        holds, count = compare.inside(str(program), folder / f"{gpu}_steps.csv", f"{gpu}_measured")
        assert count == len(its), path
        errors += its
        inside += holds
    far = [error for error in errors if abs(error) > FAR_OFF]
    short = sum(error < 0 for error in far)
    short = "all of them" if short == len(far) else short
    return (f"Of {len(errors)} steps of PyTorch measured on one H100 or H200, predicted with `pytorch_ddp`, without a host, {len(far)} are\n"
            f"more than {FAR_OFF} % off ({short} predicted too short), and {inside} lie in the interval that `run` prints; the stack `pytorch` is nearer")


def facts(found, printed, errors, software, steps, source):
    """The first screen of README.md."""
    linear, its = found["1gpu"]["all runs"], found["software"]["all runs"]
    shared = tables(printed["layouts"])["software"]["all runs"]
    hard = left_out(software)
    known, runs = with_known_software(errors)
    first, last, newest = origin(errors, source / "workloads/published")
    return "\n".join([
        "| predicted from | runs | mean error |", "|---|---|---|",
        f"| their machine and one measured GPU, `--one-gpu` | {linear['rows']} | {linear['mape']} % "
        f"(that GPU's rate times their number: {linear['linear']} %) |",
        f"| their machine and what software cost in other runs on one GPU | {its['rows']} | {its['mape']} % |",
        f"| the same, for models that GPUs share | {shared['rows']} | {shared['mape']} % |",
        *(f"| the same on one GPU, if the software was never seen {where} | {hard[name][0]} | {100 * hard[name][1]:.1f} % |"
          for name, where in (("gpu", "on this GPU"), ("stack", "at all"), ("model", "with this model"))),
        "",
        f"No run has a part in its own prediction, but {known} of the {runs} have the software of other runs with the same stack, model",
        f"and precision: {its['mape']} % holds for such jobs, the last three lines for others. The {runs} runs date from {first} to {last}, on",
        f"GPUs up to {newest}.",
        f"{steps}",
        "([docs/accuracy.md](docs/accuracy.md#in-total))."])


def hard_figures(software, errors, steps, source):
    """What to expect of software that the factors do not know, first in docs/accuracy.md."""
    names = {"gpu": "its GPU", "stack": "its framework and stack", "model": "its model", "series": "its own series alone"}
    hard = left_out(software)
    lines = ["| left out of the fit of software | runs on one GPU | mean | median | p90 | bias |", "|---" * 6 + "|"]
    for name, words in names.items():
        runs, *ratios, bias = hard[name]
        lines.append("| " + " | ".join([words, str(runs), *(f"{100 * ratio:.1f}" for ratio in ratios), f"{100 * bias:+.1f}"]) + " |")
    known, runs = with_known_software(errors)
    first, last, newest = origin(errors, source / "workloads/published")
    lines += ["", f"{known} of the {runs} runs below have factors of other one-GPU runs with the same stack, model and precision; their errors say",
              f"little about other software. They date from {first} to {last}, on GPUs up to {newest}.",
              f"{steps}.",
              "Theirs is the wide interval of new circumstances ([tests/validation/gpu](../tests/validation/gpu/README.md), [software.md](software.md#how-good-it-is))."]
    return "\n".join(lines)


def between_marks(document, text, first=BEGIN, last=END):
    """The document with `text` between its marks."""
    before, begin, rest = document.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        print(f"a document lacks the line {first} or {last}")
        sys.exit(1)
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def output(program, source, *arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                         env={**os.environ, "TRAINYARD_DATA": str(source), "COLUMNS": "160"})  # all columns
    if run.returncode != 0:
        print(run.stderr, end="")
        sys.exit(2)
    return run.stdout


def fitted_software(program, source, is_update):
    """Whether the shipped factors are those fitted to the shipped runs; predictions use them, so they come first."""
    with tempfile.TemporaryDirectory() as folder:
        output(program, source, "calibrate", "stack", "-o", pathlib.Path(folder, "published.yaml"))
        made = [pathlib.Path(folder, "published" + ending) for ending in (".csv", ".yaml")]
        wanted = {source / "workloads/software" / path.name: path.read_text(encoding="utf-8") for path in made}
    yaml = source / "workloads/software/published.yaml"
    wanted[yaml] = MODELINE + wanted[yaml]
    return settle(wanted, is_update)


def settle(wanted, is_update):
    """Writes the files that differ, or reports them; whether all is well."""
    differ = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if is_update:
        for path in differ:
            path.write_text(wanted[path], encoding="utf-8")
    elif differ:
        print(f"not what the program says: {', '.join(path.name for path in differ)}; run ./dev published --update")
        return False
    return True


def errors_differ(wanted):
    return any(path.parent.name == "errors" and (not path.exists() or path.read_text(encoding="utf-8") != text)
               for path, text in wanted.items())


def main():
    program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    is_update = "--update" in sys.argv[3:]
    if not fitted_software(program, source, is_update):
        return 1
    published = source / "workloads/published"
    with tempfile.TemporaryDirectory() as folder:
        runs = pathlib.Path(folder, "runs")
        printed = output(program, source, "validate", "--summary", "--csv", runs, "--errors", folder)
        with runs.open(encoding="utf-8", newline="") as rows:
            families = plots.training_runs(csv.DictReader(rows))
        wanted = {}
        for path in pathlib.Path(folder).glob("*.csv"):
            wanted[published / "errors" / path.name] = path.read_text(encoding="utf-8")
        if is_update and errors_differ(wanted):
            # the intervals that are printed come from the shipped errors
            settle({path: text for path, text in wanted.items() if path.parent.name == "errors"}, True)
            printed = output(program, source, "validate", "--summary")
    printed = parts(printed)
    found = tables(printed["training"])
    errors = wanted[published / "errors/software.csv"]
    software = (source / "workloads/software/published.yaml").read_text(encoding="utf-8")
    steps = steps_in_words(program, source)
    wanted[published / "errors/known_errors.csv"] = known_errors_csv(found)
    accuracy = source / "docs/accuracy.md"
    for path, text in ((source / "README.md", facts(found, printed, errors, software, steps, source)), (accuracy, by_family(found))):
        wanted[path] = between_marks(path.read_text(encoding="utf-8"), text)
    wanted[accuracy] = between_marks(wanted[accuracy], hard_figures(software, errors, steps, source) + "\n\n" + overview(found) + "\n\n" + layout_overview(printed["layouts"]), BEGIN_TOTALS, END_TOTALS)
    wanted[accuracy] = between_marks(wanted[accuracy], comparisons(printed["training"]), BEGIN_COMPARISONS, END_COMPARISONS)
    wanted[accuracy] = between_marks(wanted[accuracy], layout_tables(printed["layouts"]), BEGIN_LAYOUTS, END_LAYOUTS)
    wanted[accuracy] = between_marks(wanted[accuracy], layout_intervals(printed["layouts"]), BEGIN_INTERVALS, END_INTERVALS)
    wanted[accuracy] = between_marks(wanted[accuracy], target_table(printed["targets"]), BEGIN_TARGETS, END_TARGETS)
    files = [published / name for name in plots.COLLECTIVES]
    curves = plots.curves(json.loads(output(program, source, "validate", *files, "--json")))
    if not settle(wanted, is_update) or not all([
            plots.is_settled(published / "training.svg", families, plots.draw_training, is_update),
            plots.is_settled(source / "platforms/collectives.svg", curves, plots.draw_curves, is_update)]):
        return 1
    print("the tables and the pictures are what the program says")
    return 0


sys.exit(main())
