#!/usr/bin/env python3
"""Runs every command that the documentation shows and compares its output; checks the links between pages.

In the pages of docs/, those of the top folder and the README.md of each folder, a fenced block marked `console` holds commands after
"$ " and what they print. A line that is just "..." stands for any lines. Blocks of one file share a folder, so that a
later command can use what an earlier one wrote. A block marked `yaml` or `text` that begins with a comment "# NAME.yaml" or
"# NAME.txt" is a file in that folder, as are `toml` with "# NAME.toml", `sh` with "# NAME.sh", and one marked `xml` that begins with "<!-- NAME.xml -->". `./dev` commands install and build: they are run by .ci/run and the
clean-root test, and here it is only checked that they exist. git is not run, nor are containers: a build machine has no
engine for them.

With --help-examples, the examples that `--help` of every command ends with are run instead, and have to work.

usage: documents.py PROGRAM SOURCE_DIR [--help-examples | --update]

--update writes what the commands print into the documents, except where "..." stands for a part of it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import samples


def blocks(text):
    return re.findall(r"^```console\n(.*?)^```", text, flags=re.M | re.S)


def files(text):
    """Names and contents of the files that a document shows."""
    begin = r"^```(?:yaml|text|xml|toml|sh)\n(?:# |<!-- )(\w+\.(?:yaml|txt|xml|toml|sh))(?: -->)?\n"
    return re.findall(begin + r"(.*?)^```", text, flags=re.M | re.S)


def commands(block):
    """Pairs of a command and the output shown for it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def anchors(text):
    """The names by which GitHub links to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page, source):
    """Links of a page to a file or heading that does not exist."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link or target == source:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    return broken


def matches(shown, printed):
    pattern = "".join(r"(.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + "\n" for line in shown)
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


def install(program, folder):
    """An empty folder to work in, and an environment in which `trainyard` is the program."""
    bin_folder = pathlib.Path(folder, ".bin")
    bin_folder.mkdir()
    (bin_folder / "trainyard").symlink_to(program)
    (bin_folder / "python3").symlink_to(sys.executable)  # which has the package onnx
    work = pathlib.Path(folder, "work")
    work.mkdir()
    for sample in ("worker0.pt.trace.json", "execution_trace.json", "timeline.json", "all_reduce.log"):  # as users have them
        shutil.copy(pathlib.Path(__file__).parent / "imports" / sample, work)
    # the same step on both ranks of a job; rank 1 comes 40 us later to each all-reduce
    step = (work / "worker0.pt.trace.json").read_text(encoding="utf-8")
    (work / "rank0.json").write_text(step, encoding="utf-8")
    late = step.replace('"rank": 0', '"rank": 1')
    late = re.sub(r'("name": "ncclDev[^}]*?"ts": )([0-9.]+)(, "dur": )([0-9.]+)',
                  lambda m: f"{m[1]}{float(m[2]) + 40:.3f}{m[3]}{float(m[4]) - 40:.3f}", late, flags=re.S)
    (work / "rank1.json").write_text(late, encoding="utf-8")
    (work / "net.onnx").write_bytes(samples.onnx_model())
    samples.write_report(work / "report.sqlite")
    (work / "pretrain.sh").write_text(samples.megatron_script())
    (work / "llama3_8b.toml").write_text(samples.torchtitan_job())
    usual = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return work, {**usual, "NO_COLOR": "1", "PATH": f"{bin_folder}:{os.environ['PATH']}"}


def names_of_commands(env, parent=()):
    answer = subprocess.run(["trainyard", "__complete", *parent, ""], env=env, capture_output=True, text=True, check=True)
    paths, *words = answer.stdout.splitlines()
    names = [word.split("\t")[0] for word in words]
    if paths != "none" or any(not re.fullmatch("[a-z][a-z-]*", name) for name in names):
        return []  # arguments or options
    found = []
    for name in names:
        command = (*parent, name)
        text = subprocess.run(["trainyard", *command, "--help"], env=env, capture_output=True, text=True, check=False).stdout
        if f"Usage: trainyard {' '.join(command)}" in text:
            found += [(command, text), *names_of_commands(env, command)]
    return found


def run_help_examples(program, source):
    """Those of long fits and of a GPU, and what goes into another program, are only counted here: a test of the
    command line reads them all."""
    run = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work, env = install(program, folder)
        for copy, original in {
            "my_machine.yaml": "platforms/dgx2.yaml",
            "my_experiment.yaml": "workloads/experiments/resnet50_dgx2.yaml",
        }.items():
            text = (source / original).read_text()
            (work / copy).write_text(re.sub("^name: .*", f"name: {copy.removesuffix('.yaml')}", text, flags=re.M))
        (work / "workload.txt").write_text("DATA\n1\nconv1 -1 1200 NONE 0 900 NONE 0 1100 ALLREDUCE 37632 10\n")
        (work / "worker.0.et").write_bytes(b"\x0c\x08\x01\x12\x04conv\x18\x04\x38\x0a")  # a node of 10 us
        (work / "config.json").write_text('{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, '
                                          '"num_attention_heads": 4, "vocab_size": 1000}')
        (work / "topo.txt").write_text("GPU0 GPU1\nGPU0 X NV12\nGPU1 NV12 X\n")
        (work / "cluster.xml").write_text('<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1"><cluster '
                                          'id="c" prefix="n" suffix="" radical="0-3" speed="1Tf" bw="1GBps" lat="9us"/></platform>')
        env["TRAINYARD_DATA"] = str(source)
        for command, text in names_of_commands(env):
            examples = re.findall(r"^  (trainyard .*)$", text.partition("\nExamples:\n")[2], flags=re.M)
            if len(examples) < 2:
                failed += 1
                print(f"trainyard {' '.join(command)} --help: has {len(examples)} examples, and two are the least")
            for example in examples:
                if command[0] in ("calibrate", "validate") or "|" in example:
                    continue
                run += 1
                result = subprocess.run(["sh", "-c", example], cwd=work, env=env, capture_output=True, text=True, check=False)
                if result.returncode != 0:
                    failed += 1
                    print(f"{example}\nends with {result.returncode}: {result.stderr}")
    print(f"{run} examples of --help run, {failed} failed")
    return 1 if failed or run == 0 else 0


def main():
    program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[3:] == ["--help-examples"]:
        return run_help_examples(program, source)
    is_update = "--update" in sys.argv[3:]
    subcommands = set(re.findall(r"^  ([a-z]+) ", (source / "dev").read_text(), flags=re.M))
    run = failed = 0
    for document in sorted([*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("*/**/README.md")]):
        if any(part.startswith("build") for part in document.relative_to(source).parts):
            continue
        text = document.read_text()
        for link in broken_links(document, source):
            failed += 1
            print(f"{document.relative_to(source)}: no such file or heading: {link}")
        with tempfile.TemporaryDirectory() as folder:
            work, env = install(program, folder)
            for name, content in files(text):
                (work / name).write_text(content)
            for block in blocks(text):
                for line, shown in commands(block):
                    command = line
                    where = f"{document.relative_to(source)}: {command}"
                    if command.startswith(("git ", "cd ", "docker ")):
                        continue
                    run += 1
                    if command.startswith("./dev "):
                        if command.split()[1] not in subcommands:
                            failed += 1
                            print(f"{where}: dev has no such subcommand")
                        if not shown:
                            continue
                        command = command.replace("./dev run", "trainyard run", 1)
                        if command.strip() == "trainyard run":
                            command += " resnet50_dgx2"
                    result = subprocess.run(
                        ["sh", "-c", command], cwd=work, env=env, capture_output=True, text=True, check=False
                    )
                    printed = result.stdout + result.stderr
                    if matches(shown, printed):
                        continue
                    if is_update and result.returncode == 0 and "..." not in (one.strip() for one in shown):
                        old = "".join(f"{one}\n" for one in [f"$ {line}", *shown])
                        text = text.replace(old, f"$ {line}\n" + "".join(f"{one.rstrip()}\n" for one in printed.splitlines()))
                    else:
                        failed += 1
                        print(f"{where}: shows\n" + "\n".join(shown) + f"\nbut prints (exit {result.returncode})\n" + printed)
        if text != document.read_text():
            document.write_text(text)
            print(f"{document.relative_to(source)}: updated")
    print(f"{run} commands of the documentation run, {failed} failed")
    return 1 if failed or run == 0 else 0


sys.exit(main())
