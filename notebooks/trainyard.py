"""Runs the program trainyard and returns its figures as dictionaries and pandas data frames.

Every function starts the program anew, so that a notebook shows the program's own figures. Columns and keys
are the program's own, with the unit in the name: step_time_s, memory_peak_bytes, busbw_bytes_per_s (sim/README.md). A
quantity that is not modelled is None or NaN.

Settings are what `--set KEY=VALUE` takes: keyword arguments for keys without a dot, a dictionary for any key.

    run("resnet50_dgx2", nodes=4)["scaling_efficiency"]
    run("resnet50_dgx2", {"platform.fabric.nic": "25 Gbps"}, nodes=4)

The program is $TRAINYARD, else the one that was installed with this file, else trainyard on PATH, else build/trainyard
of this checkout, or of the one that pip installed this file from. No path depends on the working folder. It needs pandas.
"""

import importlib.metadata
import importlib.util
import io
import json
import numbers
import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.parse

if importlib.util.find_spec("pandas") is None:
    raise ImportError("trainyard needs pandas: install with 'apt-get install python3-pandas' or 'pip install pandas'")

import pandas

HERE = pathlib.Path(__file__).resolve().parent

#: The style of the lessons' pictures: plt.style.use(ty.STYLE). Lines differ in lightness, dash and marker besides colour, so
#: that they survive grey printing.
STYLE = {
    "figure.figsize": (7.2, 3.8),
    "figure.dpi": 90,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.prop_cycle": "cycler(color=['#08306b', '#d95f02', '#1b9e77', '#8c6bb1', '#4d4d4d', '#b8860b'])"
    " + cycler(marker=['o', 's', '^', 'D', 'v', 'P'])"
    " + cycler(linestyle=['-', '--', '-.', ':', (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1))])",
    "lines.markersize": 4.5,
    "lines.linewidth": 1.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "hatch.linewidth": 0.6,
}


class ProgramError(Exception):
    """The program ended with another exit code than 0; its message says why.

    `exit_code`: 3 wrong input, 4 a job that cannot run on that machine, and so on (sim/README.md, "Exit codes").
    """

    def __init__(self, exit_code, message):
        super().__init__(f"{message}\n(exit code {exit_code})")
        self.exit_code = exit_code


def _checkout():
    """The checkout that this file is in, or that `pip install .` copied it from, which pip notes."""
    try:
        noted = importlib.metadata.distribution("trainyard").read_text("direct_url.json") or "{}"
    except importlib.metadata.PackageNotFoundError:
        noted = "{}"
    path = urllib.parse.unquote(urllib.parse.urlsplit(json.loads(noted).get("url", "")).path)
    return pathlib.Path(path) if path and HERE.name in ("dist-packages", "site-packages") else HERE.parent


def _program():
    if named := os.environ.get("TRAINYARD"):
        return named
    # <prefix>/lib/python3/dist-packages/trainyard.py was installed with <prefix>/bin/trainyard
    installed = [HERE.parents[2] / "bin" / "trainyard"] if HERE.name in ("dist-packages", "site-packages") else []
    for program in (*installed, shutil.which("trainyard"), _checkout() / "build" / "trainyard"):
        if program and os.access(program, os.X_OK):
            return str(program)
    raise FileNotFoundError(
        "the program trainyard was not found: build it with ./dev run, install it, or set TRAINYARD to its path"
    )


def data():
    """The folder of the shipped files, with platforms/ and workloads/: $TRAINYARD_DATA if it has them, else the program's."""
    named = os.environ.get("TRAINYARD_DATA")
    prefix = pathlib.Path(_program()).resolve().parent.parent
    # installed, and two of a checkout
    places = [*([pathlib.Path(named)] if named else []), prefix / "share" / "trainyard", prefix, HERE.parent]
    for place in places:
        if (place / "workloads" / "published").is_dir():
            return place
    raise FileNotFoundError(f"no platforms/ and workloads/ in {', '.join(map(str, places))}: set TRAINYARD_DATA to their folder")


def _text(value):
    """A value as the program reads it: true and false are YAML's."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _settings(settings, more):
    return [("--set", f"{key}={_text(value)}") for key, value in {**(settings or {}), **more}.items()]


def _named(experiment):
    """An experiment as an argument: none for None, where the settings name a model and a platform."""
    return [] if experiment is None else [experiment]


def _flat(pairs):
    return [text for pair in pairs for text in pair]


def trainyard(*arguments):
    """The output of `trainyard ARGUMENTS`. Raises ProgramError if it fails."""
    done = subprocess.run(
        [_program(), *map(_text, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )
    if done.returncode != 0:
        raise ProgramError(done.returncode, done.stderr.strip() or done.stdout.strip())
    return done.stdout


def run(experiment, settings=None, **more):
    """One training step: the summary of `trainyard run EXPERIMENT --json`, a dictionary.

    `experiment` is a shipped name or the path of a YAML file, or None if the settings name a model and a platform. Raises
    ProgramError, with exit code 4 if the step does not fit into the GPU's memory.
    """
    return json.loads(trainyard("run", *_named(experiment), "--json", *_flat(_settings(settings, more))))


def run_tables(experiment, settings=None, **more):
    """The same step in full: the files of `run --out`, by name without ".csv".

    `summary` is the dictionary of run(); `ops`, `collectives`, `links` and `ranks` are data frames, one row for each op
    of rank 0, collective, direction of a link and rank. Runs of many updates also have `workers`, `staleness` and, with
    servers, `servers`; jobs with faults have `checkpoints`; runs that learn have `learning`, a row for each evaluation.
    If ranks share a model, `ops` has those of the first rank of each stage, in their first micro-batch. `timeline` is
    trace.json, a row for each box of a browser's timeline: `process` and `lane` (a rank, and a stream or kind of
    message), `category`, `name`, `start_s` and `duration_s`.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        trainyard("run", *_named(experiment), "--out", out, "--no-page", *_flat(_settings(settings, more)))
        tables = {file.stem: pandas.read_csv(file) for file in sorted(out.glob("*.csv"))}
        tables["summary"] = json.loads((out / "summary.json").read_text())
        tables["timeline"] = _timeline(json.loads((out / "trace.json").read_text())["traceEvents"])
    return tables


def _timeline(events):
    """The boxes of a Chrome trace, a row for each. Its times are in microseconds."""
    names = {(event["name"], event["pid"], event.get("tid")): event["args"]["name"]
             for event in events if event["name"] in ("process_name", "thread_name")}
    return pandas.DataFrame(
        {
            "process": names["process_name", event["pid"], None],
            "lane": names["thread_name", event["pid"], event["tid"]],
            "category": event["cat"],
            "name": event["name"],
            "start_s": event["ts"] / 1e6,
            "duration_s": event["dur"] / 1e6,
        }
        for event in events if event["ph"] == "X"
    )


def sweep(what, settings=None, **more):
    """Many points of an experiment, a shipped sweep, or None: sweep.csv of `trainyard sweep`, a row for each point.

    A setting that is a list is varied; the points are all combinations. The keys are those of the experiment, and `ranks`
    and `global_batch`. A point that cannot run is a row of failures.csv: `exit_code` and `reason` say why, and
    its figures are NaN.

        sweep("resnet50_dgx2", ranks=[2, 4, 8, 16], batch_per_gpu=[32, 128])
    """
    varied = {
        key: ",".join(map(_text, value)) if isinstance(value, (list, tuple, range)) else value
        for key, value in {**(settings or {}), **more}.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        try:
            trainyard("sweep", *_named(what), "--out", out, *_flat(_settings(varied, {})))
        except ProgramError as error:
            if error.exit_code != 4 or not (out / "sweep.csv").exists():
                raise
        parts = [pandas.read_csv(file) for file in (out / "sweep.csv", out / "failures.csv") if file.exists()]
    rows = pandas.concat([part for part in parts if len(part)])  # an empty one would turn whole numbers and true into objects
    return rows.reindex(columns=pandas.concat(parts).columns).sort_values("point", ignore_index=True)


def collective(operation, platform, begin="1M", end="1G", factor=2, **options):
    """A collective alone over message sizes, as nccl-tests measures it: a row for each size.

    Sizes are binary as in nccl-tests: "1M" is 1 MiB. `options` are those of `trainyard collective`: nodes, gpus,
    gpus_per_node, algorithm, protocol, fidelity; a repeatable option takes a list, group=["0-7", "8-15"].
    Times are in seconds, rates in bytes per second.
    """
    given = [(name, one) for name, value in options.items() for one in (value if isinstance(value, list) else [value])]
    flags = _flat((f"--{name.replace('_', '-')}", value) for name, value in given)
    text = trainyard("collective", operation, "--platform", platform, "-b", begin, "-e", end, "-f", factor, "--json", *flags)
    return pandas.DataFrame(json.loads(text)["rows"])


def plan(what, settings=None, over=None, **options):
    """The best way to share a model and its batch among GPUs: the parsed `trainyard plan --json`, which is plan.json.

    `what` is a model with `on=PLATFORM`, or an experiment. `options` are those of `trainyard plan`: on, gpus, global_batch,
    goal, stack, precision and so on; quick=True is a flag, and None and False leave an option out. `over` has further
    keys with the values to try, or one value.

        plan("gpt3_13b", on="dgx_a100", gpus=64, global_batch=512)["best"]["step_time_s"]

    `best` is the plan: `layout` in words, `keys` (settings for run()) and its figures; `groups` the search for
    each number of GPUs, with `progress`; `layouts` the steps and lower bounds by tensor ranks and stages; `changes` the best
    plans of machines that differ a little. Raises ProgramError, with exit code 4 if no layout fits.
    """
    given = {f"--{name.replace('_', '-')}": value for name, value in options.items() if value not in (None, False)}
    flags = [text for name, value in given.items() for text in ([name] if value is True else [name, value])]
    tried = [("--over", f"{key}={','.join(map(_text, values if isinstance(values, (list, tuple)) else [values]))}")
             for key, values in (over or {}).items()]
    return json.loads(trainyard("plan", what, "--json", *flags, *_flat(tried), *_flat(_settings(settings, {}))))


def trace(experiment, settings=None, **more):
    """The ops of one step as `trainyard trace` writes them; write_trace() writes them back after changes."""
    text = trainyard("trace", experiment, "-o", "/dev/stdout", *_flat(_settings(settings, more)))
    return pandas.read_csv(io.StringIO(text), comment="#")


def write_trace(ops, file):
    """Writes ops as a trace that an experiment with `trace: FILE` replays. Empty durations are computed by the replay."""
    pathlib.Path(file).write_text("# trainyard trace: 1\n" + ops.to_csv(index=False))


def validate(fit="1gpu", *publications):
    """Predictions and published figures of training runs and collectives: the parsed `trainyard validate --json`.

    `fit` is "nothing", "software", "1gpu" or "1node": all kernel times are scaled by one factor so that the published run
    on one GPU or one node is matched; "software" takes the factors of other published runs. `publications` are files or
    data frames as published() returns them, by default all that are shipped. The `rows` of the answer make a data frame:
    pandas.DataFrame(validate()["rows"]); `line` of the first row of a publication is 2. Runs whose ranks share a model
    (publications with columns `tp` and `pp`) are in another table, validate()["layouts"]["rows"].
    """
    with tempfile.TemporaryDirectory() as folder:
        files = list(publications)
        for number, publication in enumerate(publications):
            if isinstance(publication, pandas.DataFrame):
                files[number] = pathlib.Path(folder, f"{number}.csv")
                publication.to_csv(files[number], index=False)
        return json.loads(trainyard("validate", "--fit", fit, "--json", *files))


def names(kind):
    """The shipped names of a kind: platforms, gpus, models, stacks, experiments or sweeps."""
    table = trainyard("list", kind).split("\n\n")[0]  # remarks follow
    return [line.split()[0] for line in table.splitlines()]


def published(name):
    """Published measurements, a row for each: workloads/published/NAME.csv."""
    return pandas.read_csv(data() / "workloads" / "published" / f"{name}.csv")


def errors(fit="software"):
    """The errors of all published training runs with a fit, a row for each run: "nothing", "software" or "1gpu", and for runs
    whose ranks share a model "layouts_nothing" or "layouts_software".

    They are the stored result of `trainyard validate`, which takes minutes. The totals in the top README.md are those of
    rows with `is_scored`; the others have incomplete sources or are one-GPU runs, to which software factors are
    fitted. `error` is predicted over measured throughput, minus 1. `publication` and `line` say where the measurement is.
    """
    rows = pandas.read_csv(data() / "workloads" / "published" / "errors" / f"{fit}.csv", comment="#")
    place = rows.row.str.extract(r"(?P<publication>.*)\.csv:(?P<line>\d+)").astype({"line": int})
    rows = rows.drop(columns="row").join(place).rename(columns={"scored": "is_scored"}).astype({"is_scored": bool})
    return rows.assign(error=rows.predicted / rows.measured - 1)


def family_errors():
    """Mean and 90th percentile of these errors in percent, by family and fit: a row for each, the totals as `all runs`."""
    return pandas.read_csv(data() / "workloads" / "published" / "errors" / "known_errors.csv")


def plain_ticks(axis, values, labels=None):
    """Plain numbers at these values of a logarithmic axis, and no minor ticks: plain_ticks(axes.xaxis, [1, 2, 4])."""
    axis.set_ticks(values, labels or [f"{value:,}" for value in values])
    axis.set_ticks([], minor=True)


def _four_digits(value):
    return f"{float(f'{value:.4g}'):,g}"  # 10,990 and not 1.099e+04


# Factors by which a guess is off if its unit is not the answer's.
UNITS = {
    1e3: "a factor of 1,000", 1e6: "a factor of a million", 100: "a factor of 100 (percent?)", 8: "a factor of 8 (bits or bytes?)"
}


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_near(guess, answer, within):
    return abs(guess - answer) <= within * abs(answer) if _is_number(guess) and _is_number(answer) else guess == answer


def _verdict(guess, answer, within):
    if _is_near(guess, answer, within):
        return f"right: the program says {_four_digits(answer)}" if _is_number(answer) else f"right: {answer}"
    if not _is_number(answer):
        return f"not {guess}"
    if not _is_number(guess):
        return f"not {guess!r}: the answer is a number"
    side = "low" if guess < answer else "high"
    for factor, name in UNITS.items():
        if answer and any(_is_near(guess * scale, answer, 0.1) for scale in (factor, 1 / factor)):
            return f"{_four_digits(guess)} is too {side} by {name}: check the unit"
    if within and _is_near(guess, answer, max(0.1, 3 * within)):
        return f"near: {_four_digits(guess)} is a little too {side} (within {100 * within:g} % is right)"
    return f"{_four_digits(guess)} is too {side}"


def check(guess, answer, within=0.02, choices=None, mistakes=None, explain=None):
    """Compares an exercise's guess with the program's answer and prints a verdict.

    A guess is right if it is a number within the fraction `within` of the answer, or another value that equals it. `answer`
    is a value or a function that returns it, which is called only if there is a guess; for None the verdict is "write your
    guess first". `choices` are the only guesses that count. `mistakes` explains likely wrong numbers: a text for each.
    `explain(guess)` returns a text that is printed after the verdict, such as what the guess would lead to.
    """
    if guess is None:
        print("write your guess first: replace None and run the cell again")
        return
    if choices is not None and guess not in choices:
        print(f"{guess!r} is not a choice: write one of {', '.join(map(repr, choices))}")
        return
    answer = answer() if callable(answer) else answer
    print(_verdict(guess, answer, within))
    if not _is_near(guess, answer, within):
        for mistake, explanation in (mistakes or {}).items():
            if _is_near(guess, mistake, within):
                print(explanation)
    if explain:
        print(explain(guess))
