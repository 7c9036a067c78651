#!/usr/bin/env python3
"""Runs every command that the documentation shows and compares its output.

In README.md and the README.md of each folder, a fenced block marked `console` holds commands after "$ " and what
they print. A line that is just "..." stands for any lines. Blocks of one file share a folder, so that a later
command can use what an earlier one wrote. `./dev` commands install and build: they are run by the clean-root test,
and here it is only checked that they exist.

usage: documents.py PROGRAM SOURCE_DIR
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks(text):
    return re.findall(r"^```console\n(.*?)^```", text, flags=re.M | re.S)


def commands(block):
    """Pairs of a command and the output shown for it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def matches(shown, printed):
    pattern = "".join(r"(.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + "\n" for line in shown)
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


def main():
    program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    subcommands = set(re.findall(r"^  ([a-z]+) ", (source / "dev").read_text(), flags=re.M))
    run = failed = 0
    for document in sorted(source.glob("**/README.md")):
        if any(part.startswith("build") for part in document.relative_to(source).parts):
            continue
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = pathlib.Path(folder, ".bin")
            bin_folder.mkdir()
            (bin_folder / "trainyard").symlink_to(program)
            work = pathlib.Path(folder, "work")
            work.mkdir()
            env = {**os.environ, "NO_COLOR": "1", "PATH": f"{bin_folder}:{os.environ['PATH']}"}
            for block in blocks(document.read_text()):
                for command, shown in commands(block):
                    where = f"{document.relative_to(source)}: {command}"
                    if command.startswith(("git ", "cd ")):
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
                    if not matches(shown, printed):
                        failed += 1
                        print(f"{where}: shows\n" + "\n".join(shown) + f"\nbut prints (exit {result.returncode})\n" + printed)
    print(f"{run} commands of the documentation run, {failed} failed")
    return 1 if failed or run == 0 else 0


sys.exit(main())
