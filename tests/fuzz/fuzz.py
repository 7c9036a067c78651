#!/usr/bin/env python3
"""Feeds mutated input to every reader (libFuzzer, in process) and to the whole program (mutate.py).

    fuzz.py FOLDER SOURCE_DIR --replay
    fuzz.py FOLDER SOURCE_DIR [--seconds N] [--seed S] [--jobs J] [--targets A,B] [--out DIR] [--program FILE]

FOLDER has fuzz_readers and trainyard, both sanitized. Three fifths of the time belong to the readers. Inputs that reach
new code are kept in FOLDER/corpus for the next run, unless --fresh says to begin with the shipped files, so that equal
seeds begin alike. --replay reads the shipped files and the corpus once, unchanged. A finding is an input in --out; the command
that repeats it is printed, and the exit code is 1."""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import mutate

LARGEST_SEED = 16 << 10
READERS_SHARE = 0.6
# Sanitized and on a busy machine; a reader that takes this long for 16 KB hangs.
TIMEOUT_S = 30
SANITIZERS = {"ASAN_OPTIONS": "malloc_context_size=8:quarantine_size_mb=16", "UBSAN_OPTIONS": "print_stacktrace=1"}


def targets_of(readers):
    """Name, kind of file, whether it makes a seed itself, patterns of seeds."""
    listed = subprocess.run([readers, "--list"], capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in listed.splitlines()]


def cut(content):
    """Not longer than a seed may be; of a text whole lines."""
    if len(content) <= LARGEST_SEED:
        return content
    return content[: content.rfind(b"\n", 0, LARGEST_SEED) + 1 or LARGEST_SEED]


def made_by_program(program, source, folder):
    """Seeds that the program writes, by target."""
    def call(*arguments):
        subprocess.run([program, *arguments], cwd=folder, capture_output=True, check=True)

    def files(pattern):
        return [file.read_bytes() for file in sorted(folder.glob(pattern))]

    small = ["--model", "alexnet", "--platform", "ac922", "--batch", "8"]
    call("run", *small, "--out", "r", "--no-page", "--no-usage")
    call("run", *small, "--set", "sync={kind: parameter_server, update: async}", "--out", "u", "--no-page", "--no-usage")
    call("trace", *small, "-o", "t.csv")
    call("export", "chakra", *small, "-o", "job")
    call("calibrate", "gpu", "--plan", "plan.csv")
    with contextlib.closing(sqlite3.connect(folder / "report.sqlite")) as database:
        database.executescript((source / "tests/imports/report.sql").read_text(encoding="utf-8"))
    return {
        "plan": files("plan.csv"),
        "summary": files("r/summary.json") + files("u/summary.json"),
        "trace": files("t.csv"),
        "experiment": files("r/experiment.resolved.yaml") + files("u/experiment.resolved.yaml"),
        "chakra": files("job.0.et"),
        "nsys": files("report.sqlite"),
    }


def write_seeds(folder, contents):
    folder.mkdir(parents=True, exist_ok=True)
    for i, content in enumerate(contents):
        (folder / f"{i:03}").write_bytes(cut(content))


def words_of(schema):
    """All keys and names of a JSON Schema."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                yield from value
            if key == "enum":
                yield from (word for word in value if isinstance(word, str))
            yield from words_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from words_of(value)


# Words of every reader: units, numbers at the edges, YAML's marks.
COMMON_WORDS = [
    "GB/s", "Gbps", "us", "ms", "ns", "GiB", "MiB", "TFLOP/s", "GFLOP", "USD", "kW", "pJ", "samples/s", "tokens/s",
    "1e308", "1e-308", "-1", "0", "2147483647", "2147483648", "9223372036854775807", "nan", ".inf", "null", "none",
    "{value: ", "specified: ", "measured: ", "assumed: ", "<<: *a", "&a ", "- ", ": ", "\\n", "1..64 times 2",
]


def write_dictionary(file, words):
    quoted = (re.sub(r'(["\\])', r"\\\1", word).replace("\\\\n", "\\x0a") for word in words)
    file.write_text("".join(f'"{word}"\n' for word in dict.fromkeys(quoted) if word), encoding="utf-8")


def end_after(seconds, command, output):
    """Exit status of a fuzzer that is asked to end: its own limit has whole seconds and is exceeded by one."""
    with subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                          env={**os.environ, **SANITIZERS}) as fuzzer:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return fuzzer.wait(seconds)
        fuzzer.send_signal(signal.SIGUSR1)
        status = fuzzer.wait()
        return 0 if status == -signal.SIGUSR1 else status  # asked before it was ready


class Readers:
    def __init__(self, arguments, folder):
        self.program = str(arguments.folder / "fuzz_readers")
        self.arguments, self.folder = arguments, folder
        self.targets = targets_of(self.program)
        if arguments.targets:
            chosen = arguments.targets.split(",")
            self.targets = [target for target in self.targets if target[0] in chosen]
            if len(self.targets) != len(chosen):
                sys.exit("fuzz.py: unknown target; fuzz_readers --list prints them")
        self.findings, self.runs = [], 0

    def prepare(self):
        source = self.arguments.source
        scratch = self.folder / "made"
        scratch.mkdir()
        made = made_by_program(self.arguments.program, source, scratch)
        for name, kind, makes, patterns in self.targets:
            own = source / "tests/fuzz/corpus" / name
            files = sorted(own.glob("*")) if own.is_dir() else []
            for pattern in patterns.split():
                files += sorted(source.glob(pattern))
            contents = [file.read_bytes() for file in dict.fromkeys(files)] + made.get(name, [])
            if makes:
                subprocess.run([self.program, name, "--made", str(scratch / name)], check=True)
                contents.append((scratch / name).read_bytes())
            if not contents:
                sys.exit(f"fuzz.py: no seed for {name}")
            write_seeds(self.folder / "seeds" / name, contents)
            words = list(COMMON_WORDS)
            if kind:
                schema = subprocess.run([self.arguments.program, "schema", kind], capture_output=True, check=True)
                words += words_of(json.loads(schema.stdout))
            write_dictionary(self.folder / f"{name}.dict", words)

    def inputs(self, name):
        """Folders to begin with, the first of which keeps what is new; in a replay the files, which are read as they are."""
        seeds = self.folder / "seeds" / name
        if self.arguments.replay:
            return map(str, sorted(seeds.iterdir()))
        kept = (self.folder if self.arguments.fresh else self.arguments.folder) / "corpus" / name
        kept.mkdir(parents=True, exist_ok=True)
        return [str(kept), str(seeds)]

    def run(self, target, seconds):
        name = target[0]
        prefix = self.arguments.out / f"{name}-"
        command = [
            self.program, name, f"-seed={self.arguments.seed}", "-close_fd_mask=3",
            f"-timeout={TIMEOUT_S}", "-rss_limit_mb=3000", "-malloc_limit_mb=2000", f"-max_len={LARGEST_SEED}",
            "-keep_seed=1", "-reload=0", "-print_final_stats=1", f"-dict={self.folder / f'{name}.dict'}",
            f"-artifact_prefix={prefix}", *self.inputs(name),
        ]
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            ended = end_after(seconds, command, output)
        text = log.read_text(encoding="utf-8", errors="replace")
        executed = re.search(r"stat::number_of_executed_units: (\d+)", text)
        executed = int(executed.group(1)) if executed else text.count("\nExecuted ")
        coverage = re.findall(r"cov: (\d+)", text)
        print(f"{name:<18}{executed:>9} inputs, {coverage[-1] if coverage else '?':>6} edges", flush=True)
        self.runs += executed
        if ended != 0:
            self.report(name, text)

    def report(self, name, text):
        found = re.search(r"Test unit written to (\S+)", text)
        inputs = found.group(1) if found else f"no input of {name}"
        shutil.copy(self.folder / f"{name}.log", self.arguments.out / f"{name}.log")
        self.findings.append(f"{inputs}\n  {self.program} {name} {inputs}")
        print(text[-6000:], file=sys.stderr, flush=True)

    def run_all(self):
        self.prepare()
        seconds = 300 if self.arguments.replay else self.arguments.seconds * READERS_SHARE * self.arguments.jobs / len(self.targets)
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            list(pool.map(lambda target: self.run(target, seconds), self.targets))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="not 0, which libFuzzer draws itself (default: 1)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--targets", help="readers alone: these, comma-separated")
    parser.add_argument("--fresh", action="store_true", help="begin with the shipped files, keep nothing")
    parser.add_argument("--replay", action="store_true", help="readers alone, each seed once")
    parser.add_argument("--out", type=pathlib.Path, help="folder of findings (default: FOLDER/findings)")
    parser.add_argument("--program", help="for seeds and mutate.py (default: FOLDER/trainyard)")
    arguments = parser.parse_args()
    arguments.folder, arguments.source = arguments.folder.resolve(), arguments.source.resolve()
    arguments.out = (arguments.out or arguments.folder / "findings").resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.program = str(pathlib.Path(arguments.program or arguments.folder / "trainyard").resolve())
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trainyard-fuzz-") as folder:
        readers = Readers(arguments, pathlib.Path(folder))
        readers.run_all()
    findings = readers.findings
    print(f"readers: {readers.runs} inputs in {time.monotonic() - begun:.0f} s", flush=True)
    if not arguments.targets and not arguments.replay:
        findings += mutate.fuzz_program(arguments.program, arguments.source, arguments.out,
                                        seconds=arguments.seconds * (1 - READERS_SHARE), seed=arguments.seed,
                                        jobs=arguments.jobs)
    for finding in findings:
        print(finding, file=sys.stderr)
    if findings:
        sys.exit(f"{len(findings)} findings; a mended one leaves its input in tests/fuzz/corpus/")


if __name__ == "__main__":
    main()
