#!/usr/bin/env python3
"""Every command fits the page it is printed on: no line is wider, columns align, and no column is lost without a word.

usage: page_width.py PROGRAM SOURCE_DIR
"""

import concurrent.futures
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

import samples

WIDTHS = (60, 80, 100, 160)
FULL = max(WIDTHS)

RUN_IT = ["resnet50_dgx2", "--gpus", "2", "--fidelity", "closed"]
STAGES = ["gpt3_175b_dgx_a100"]
# name: words of the command
COMMANDS = {
    "run": ["run", *RUN_IT],
    "run of a job": ["run", *RUN_IT, "--epochs", "90"],
    "run of nodes": ["run", "resnet50_p3_16xlarge_x2"],
    "run in stages": ["run", *STAGES],
    "learn": ["learn", "digits_stragglers"],
    "explain": ["explain", "resnet50_p3_8xlarge", "-j", "2"],
    "compare": ["compare", "resnet50_p3_8xlarge", "resnet50_p3_8xlarge_dataparallel"],
    "compare of three": ["compare", "resnet50_p3_8xlarge", "resnet50_p3_16xlarge_x2", "resnet50_dgx2"],
    "run with servers": ["run", "inception_v3_dgx1_p100_server"],
    "memory with servers": ["memory", "inception_v3_dgx1_p100_server"],
    "import": ["import", "kineto", "PROFILE", "RANK1", "-o", "/dev/null"],
    "validate of a trace": ["validate-trace", "PROFILE", "--model", "resnet50", "--batch", "8"],
    "validate of the traces of ranks": ["validate-trace", "PROFILE", "RANK1"],
    "import of a report": ["import", "nsys", "REPORT", "--step-range", "step", "-o", "/dev/null"],
    "import of operators": ["import", "et", "OPERATORS", "-o", "/dev/null"],
    "import of a model": ["import", "onnx", "MODEL", "-o", "model.yaml", "--force"],
    "import of a timeline": ["import", "horovod", "TIMELINE"],
    "import of a log": ["import", "nccl-tests", "LOG", "-o", "/dev/null"],
    "import of an execution trace": ["import", "chakra", "EXECUTION", "-o", "/dev/null"],
    "import of a workload": ["import", "astra-sim", "WORKLOAD", "--time-unit", "ns", "-o", "/dev/null"],
    "export of a step": ["export", "chakra", *RUN_IT[:3], "-o", "job", "--force"],
    "memory": ["memory", "resnet50_dgx2"],
    "memory in stages": ["memory", *STAGES],
    "model": ["model", "resnet50", "--batch", "128"],
    "model of a transformer": ["model", "bert_base"],
    "topology": ["topology", "dgx2"],
    "topology with a fabric": ["topology", "dgx_a100"],
    "topology of groups": ["topology", *STAGES, "--groups"],
    "collective": ["collective", "all_reduce", "--platform", "dgx2", "-b", "1M", "-e", "16M"],
    "collective of groups": ["collective", "all_reduce", "--platform", "dgx2", "--group", "0-7", "--group", "8-15",
                             "-b", "1M", "-e", "4M"],
    "sweep": ["sweep", "SWEEP"],
    "plan": ["plan", "gpt2_small", "--on", "dgx1v", "--gpus", "8,16", "--global-batch", "64", "--over", "batch_per_gpu=1,4"],
    "sweep by a key": ["sweep", "SWEEP", "--by", "stack"],
    "validate": ["validate", "ROWS", "--fit", "nothing"],
    "validate --summary": ["validate", "ROWS", "--summary", "--fit", "nothing"],
    "list": ["list"],
    "list platforms": ["list", "platforms"],
    "list gpus": ["list", "gpus"],
    "keys": ["keys", "nic"],
    "no command": [],
    "unknown command": ["rum"],
    "unknown option": ["run", "resnet50_dgx2", "--fidelty", "closed"],
    "two errors": ["check", "BROKEN"],
    "unknown key": ["run", "resnet50_dgx2", "--set", "platform.fabric.nics=3"],
    "unknown name": ["run", "resnet50_dgx3"],
    "out of memory": ["memory", "resnet50_dgx2", "--batch", "1024"],
    "--help": ["--help"],
}
# Not for people: the same bytes on any page.
MACHINE = {
    "keys --json": ["keys", "nic", "--json"],
    "topology --dot": ["topology", "dgx2", "--dot"],
    "collective --json": ["collective", "all_reduce", "--platform", "dgx2", "-b", "1M", "-e", "4M", "--json"],
    "memory --json": ["memory", "resnet50_dgx2", "--json"],
    "schema": ["schema", "experiment"],
    "completion": ["completion", "bash"],
    "manual": ["manual"],
    "init": ["init", "experiment"],
    "init platform": ["init", "platform", "--gpus", "8", "--gpu", "h100_sxm_80gb", "--nvlink", "18"],
}
# The head of a table begins like this; its numeric columns end where their heads end.
TABLES = {
    "sweep": (r"^ +batch_per_gpu +", ["step", "samples/s", "efficiency"]),
    "plan": (r"^ +gpus +step", ["step", "samples/s", "MFU"]),
    "explain": (r"^changes that help ", ["samples/s", "gain"]),
    "compare": (r"^side by side ", ["B - A", "B / A"]),
    "memory": (r"^term ", ["memory", "share"]),
    "memory in stages": (r"^GB by stage ", ["peak", "share"]),
    "collective": (r"^# +size ", ["time", "algbw", "busbw"]),
    "model": (r"^layer ", ["parameters", "MACs"]),
    "learn": (r"^ +time ", ["loss"]),
    "validate --summary": (r"^family +rows ", ["rows", "MAPE", "bias"]),
}
SWEEP = """experiment: resnet50_dgx2
set: {fidelity: closed}
vary:
  batch_per_gpu: [32, 64, 100000]
  stack: [pytorch_ddp, horovod]
  software: [ideal, published]
"""
EXECUTION = "\x0c\x08\x01\x12\x04conv\x18\x04\x38\x0a"  # a node of 10 us
WORKLOAD = "DATA\n1\nconv1 -1 1200 NONE 0 900 NONE 0 1100 ALLREDUCE 37632 10\n"
BROKEN = """model: resnet50
platform: dgx2
stack: pytorch_ddp
precision: fp32
batch_per_gpu: 32
optimizer: {kind: momentum, whatever_this_is_it_is_not_a_key_that_anybody_knows: 1, and_this_is_another_key_of_great_length: 1}
"""


def too_wide(text, width):
    """Lines wider than the page; one word that cannot be broken, a path, is no fault."""
    return [line for line in text.splitlines() if len(line) > width and len(line.split()) > 1]


def table_in(text, head):
    """The lines of the table whose head matches, up to the next empty line."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if re.search(head, line):
            end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
            return lines[at:end]
    return []


def misaligned(table, heads):
    """Rows in which a number does not end where the head of its column does."""
    wrong = []
    for head in heads:
        found = re.search(rf"(?<!\S){re.escape(head)}(?!\S)", table[0])
        if not found:
            continue
        end = found.end()
        for row in table[1:]:
            is_rule = set(row) == {"-"}
            if ": " in row or row.startswith("#") or (is_rule and row is not table[1]):  # sums and notes are below
                break
            if "impossible" in row or not re.search(r"\d", row):
                continue
            cell = row[:end].rsplit(" ", 1)[-1] if len(row) >= end else ""
            in_place = len(row) >= end and (row[end - 1] != " ") and (len(row) == end or row[end] == " ")
            is_empty = not row[max(0, end - len(head) - 1) : end + 1].strip()
            if not in_place and not is_empty:
                wrong.append(f"{head}: {row!r} {cell!r}")
    return wrong


def lost(table, full):
    """Heads of the whole table that are neither in the narrow one nor named as left out."""
    left_out = " ".join(" ".join(table).partition("left out:")[2].split())
    gone = []
    for head in full[0].strip("# ").split():
        if head not in " ".join(table[:2]) and head not in left_out:  # some heads stand in a second line
            gone.append(head)
    return gone


def check_the_checks():
    """Each of them finds the fault it is for."""
    assert too_wide("a b\n" + "word " * 20, 60) and not too_wide("x" * 70, 60)
    assert misaligned(["name  step", "a   12 ms ", "b  3 ms"], ["step"])
    assert not misaligned(["name   step", "a     12 ms", "b      3 ms"], ["step"])
    assert lost(["name", "a", "b"], ["name  step"]) == ["step"]
    assert not lost(["name", "left out: step (in a wider terminal)"], ["name  step"])


def faults_in_terminal(terminal, end, command, source):
    """Of a command in a terminal of 72 columns."""
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"TRAINYARD_DATA": str(source.resolve())}
    process = subprocess.Popen(command, stdout=end, stderr=end, env=environment)
    os.close(end)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the end of a terminal
            break
        if not part:
            break
        shown += part
    process.wait()
    widest = max(len(line) for line in shown.decode().splitlines())
    return [] if 60 < widest <= 72 else [f"a terminal of 72 columns gets lines of {widest}"]


def main():
    check_the_checks()
    program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        inputs = {"SWEEP": ("sweep.yaml", SWEEP), "BROKEN": ("broken.yaml", BROKEN)}
        rows = (source / "workloads/published/dlperf.csv").read_text().splitlines()
        profile = source / "tests/imports/worker0.pt.trace.json"
        inputs["PROFILE"] = (profile.name, profile.read_text(encoding="utf-8"))
        inputs["RANK1"] = ("rank1.json", inputs["PROFILE"][1].replace('"rank": 0', '"rank": 1'))
        log = source / "tests/imports/all_reduce.log"
        inputs["LOG"] = (log.name, log.read_text(encoding="utf-8"))
        inputs["OPERATORS"] = ("operators.json", (source / "tests/imports/execution_trace.json").read_text(encoding="utf-8"))
        inputs["TIMELINE"] = ("timeline.json", (source / "tests/imports/timeline.json").read_text(encoding="utf-8"))
        inputs["EXECUTION"] = ("conv.0.et", EXECUTION)
        inputs["WORKLOAD"] = ("workload.txt", WORKLOAD)
        inputs["ROWS"] = ("rows.csv", "\n".join(rows[:12]) + "\n")
        for name, text in inputs.values():
            pathlib.Path(folder, name).write_text(text)
        inputs["MODEL"] = ("model.onnx", "")
        inputs["REPORT"] = ("report.sqlite", "")
        (pathlib.Path(folder) / "model.onnx").write_bytes(samples.onnx_model())
        samples.write_report(pathlib.Path(folder, "report.sqlite"))

        def printed(words, width):
            environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"TRAINYARD_DATA": str(source.resolve())}
            environment["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # python3 that has onnx
            if width is not None:
                environment["COLUMNS"] = str(width)
            words = [inputs[word][0] if word in inputs else word for word in words]
            ended = subprocess.run([program, *words], capture_output=True, text=True, cwd=folder, env=environment)
            if ended.returncode in (70,) or ended.returncode < 0:
                faults.append(f"{' '.join(words)}: ends with {ended.returncode}\n{ended.stderr}")
            return ended.stdout, ended.stderr

        helps = re.findall(r"^  ([a-z][a-z-]+)  +\S", printed(["--help"], None)[0], flags=re.M)
        commands = COMMANDS | {f"{name} --help": [name, "--help"] for name in helps}
        missing = set(helps) - {words[0] for words in (COMMANDS | MACHINE).values() if words} - {"trace", "calibrate"}
        if missing:
            faults.append(f"no form of {', '.join(sorted(missing))} is tried")

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            tasks = {(name, width): pool.submit(printed, words, width) for name, words in commands.items() for width in WIDTHS}
            same = {name: [pool.submit(printed, words, width) for width in (60, 160)] for name, words in MACHINE.items()}
            texts = {key: task.result() for key, task in tasks.items()}
            for name, pair in same.items():
                narrow, wide = (task.result() for task in pair)
                if narrow != wide or not narrow[0]:
                    faults.append(f"{name}: depends on the width, or prints nothing")

        for (name, width), (out, err) in texts.items():
            for line in too_wide(out + "\n" + err, width):
                faults.append(f"{name} at {width}: {len(line)} columns: {line}")
            if re.search(r"(?<![\d.])-0\.0+(?![\d.])", out):
                faults.append(f"{name} at {width}: -0.0")
            if not out + err:
                faults.append(f"{name} at {width}: prints nothing")
        for name, (head, numbers) in TABLES.items():
            full = table_in(texts[name, FULL][0], head)
            for width in WIDTHS:
                table = table_in(texts[name, width][0], head)
                if not table or not full:
                    faults.append(f"{name} at {width}: no table {head}")
                    continue
                faults += [f"{name} at {width}: misaligned {fault}" for fault in misaligned(table, numbers)]
                faults += [f"{name} at {width}: lost {fault}" for fault in lost(table, full)]

        # Where the width comes from.
        words = ["keys", "nic"]
        at = {width: printed(words, width)[0] for width in (None, "100", "60", "20", "160", "1000", "-3", "wide", "")}
        for one, other in ((None, "100"), ("wide", "100"), ("-3", "100"), ("", "100"), ("20", "60"), ("1000", "160")):
            if at[one] != at[other]:
                faults.append(f"COLUMNS={one} is not as {other}")
        if len({at["60"], at["100"], at["160"]}) != 3:
            faults.append("the width changes nothing")
        try:
            terminal, end = pty.openpty()
        except OSError as error:  # /dev/pts is missing
            print(f"width of a terminal: skipped, there is none ({error})")
        else:
            faults += faults_in_terminal(terminal, end, [program, *words], source)

    for fault in faults:
        print(fault)
    print(f"{len(texts)} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
