#!/usr/bin/env python3
"""Runs every notebook from its first cell to its last and compares what it prints with what is committed.

A notebook fails on an error in a cell, on a cell that takes more than 300 s, and where its text (not its pictures, which
depend on fonts) is no longer what the committed notebook shows: then read the difference and take the new outputs with
--update. What the program prints is in them, so a change of a model's numbers shows here. The picture of a cell with a
tag `picture:NAME` is kept as notebooks/NAME.png for the top README.

An exercise is a cell with a blank, `guess = None`. The Markdown cell after it has its solution, folded: a block that fills
the blank, and a block of what the exercise then prints. The solution runs as well, after the exercise;
it fails if the program does not call it right, and the text is compared or, with --update, written. solutions.py does it.

usage: run.py PROGRAM SOURCE_DIR [--update] [NOTEBOOK...]
"""

import base64
import concurrent.futures
import difflib
import io
import os
import pathlib
import resource
import sys
import time

import nbformat
import PIL.Image
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbconvert.preprocessors import ExecutePreprocessor

import solutions

LIMIT_S = 300  # a cell; a guard against a program that hangs, on a machine that builds meanwhile


def joined(outputs):
    """The outputs with neighbours of one stream as one: where the kernel cuts them is a matter of time."""
    kept = []
    for output in outputs:
        if kept and output.output_type == "stream" and output.get("name") == kept[-1].get("name"):
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def run_again(path, environment):
    """The notebook with the outputs of a fresh run, and the faults of its solutions."""
    book = solutions.with_solved_cells(nbformat.read(path, as_version=4))
    os.environ.update(environment)  # the kernel's: this process runs this notebook and nothing else
    executor = ExecutePreprocessor(timeout=LIMIT_S, kernel_name="python3", record_timing=False)
    executor.preprocess(book, {"metadata": {"path": str(path.parent)}})
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    faults = solutions.take_solved_cells(book)
    book.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return book, faults


def text_of(book):
    """What a reader sees of the outputs, as lines, without the pictures."""
    lines = []
    for number, cell in enumerate(c for c in book.cells if c.cell_type == "code"):
        for output in joined(cell.outputs):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/plain", "")
            picture = "a picture" if "image/png" in data else None
            lines += [f"[{number}] {line}" for line in ([picture] if picture else text.splitlines())]
    return lines + solutions.printed_by(book)


def with_small_pictures(book):
    """The same with pictures of at most 48 colours: a quarter of the bytes, which a clone carries."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                small = io.BytesIO()
                picture = PIL.Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
                picture.quantize(48, dither=PIL.Image.Dither.NONE).save(small, "PNG", optimize=True)
                data["image/png"] = base64.b64encode(small.getvalue()).decode()
    return book


def warnings_of(book):
    """Text on stderr: what a reader would take for an error."""
    return [
        output.text
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.get("name") == "stderr"
    ]


def pictures_of(book):
    """The pictures that the top README shows, by name."""
    found = {}
    for cell in book.cells:
        for tag in cell.metadata.get("tags", []):
            if tag.startswith("picture:"):
                (picture,) = (o.data["image/png"] for o in cell.outputs if "image/png" in o.get("data", {}))
                found[tag.removeprefix("picture:")] = base64.b64decode(picture)
    return found


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def judge(path, environment, update):
    """Problems of one notebook, as lines, and the wall and CPU seconds that it took."""
    started, used = time.monotonic(), cpu_of_children()
    try:
        fresh, problems = run_again(path, environment)
    except (CellExecutionError, CellTimeoutError, solutions.NoSolution) as error:
        return [str(error)], time.monotonic() - started, cpu_of_children() - used
    took = time.monotonic() - started
    problems += [f"stderr: {text}" for text in warnings_of(fresh)]
    if update:
        nbformat.write(with_small_pictures(fresh), path)
        for name, picture in pictures_of(fresh).items():
            path.with_name(f"{name}.png").write_bytes(picture)
    else:
        committed = nbformat.read(path, as_version=4)
        problems += difflib.unified_diff(text_of(committed), text_of(fresh), "committed", "this run", lineterm="", n=1)
        for name, picture in pictures_of(committed).items():
            if path.with_name(f"{name}.png").read_bytes() != picture:
                problems.append(f"{name}.png is not the picture in the notebook: --update writes it")
    return problems, took, cpu_of_children() - used


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    update = len(arguments) < len(sys.argv) - 1
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, source = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    paths = [pathlib.Path(a).resolve() for a in arguments[2:]] or sorted((source / "notebooks").glob("*.ipynb"))
    environment = {
        "TRAINYARD": str(program),
        "OPENBLAS_NUM_THREADS": "1",  # two notebooks run at once, and pictures need no more
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # the kernel's debugger, which nobody uses here, warns on stderr
    }
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(max_workers=max(1, min(4, os.cpu_count() or 1))) as pool:
        results = pool.map(judge, paths, [environment] * len(paths), [update] * len(paths))
        for path, (problems, took, used) in zip(paths, results):
            print(f"{path.name}: {'failed' if problems else 'ok'}, {took:.0f} s, {used:.0f} s of CPU time", flush=True)
            failed += bool(problems)
            print("\n".join(f"  {line}" for line in problems), end="\n" if problems else "")
    if not paths:
        sys.exit("there are no notebooks")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
