"""Exercises of a lesson and their solutions: a notebook with a solved copy of each exercise, and what these copies print.

An exercise is a code cell whose first lines are blanks, `guess = None`. The Markdown cell after it has the solution:

    <details><summary>Solution</summary>

    <pre>
    guess = 0.88
    </pre>
    <pre>
    right: the program says 0.8838
    </pre>

A solved copy has the first block in place of the blanks. It is right if every verdict of ty.check() is. The blocks are HTML,
not Markdown's, because GitHub shows the inside of a folded part as it is.
"""

import html
import re

import nbformat

BLANK = re.compile(r"guess\w* = None\b.*\n")
SOLUTION = re.compile(r"(<details><summary>Solution</summary>\n+<pre>\n)(.*?)(</pre>\n<pre>\n)(.*?)(</pre>\n)", re.DOTALL)


class NoSolution(Exception):
    """An exercise without a solution after it, or a solution without a blank before it."""


def is_exercise(cell):
    return cell.cell_type == "code" and BLANK.match(cell.source) is not None


def solution_after(book, place):
    """The solution of the exercise at this place of the notebook: the match in its Markdown cell."""
    cell = book.cells[place + 1] if place + 1 < len(book.cells) else None
    found = SOLUTION.search(cell.source) if cell is not None and cell.cell_type == "markdown" else None
    if found is None:
        raise NoSolution(f"no solution (folded, with two blocks) after the exercise\n{book.cells[place].source}")
    return found


def with_solved_cells(book):
    """The notebook with a solved copy after the solution of each exercise. Raises NoSolution."""
    cells = []
    for place, cell in enumerate(book.cells):
        cells.append(cell)
        if place > 0 and is_exercise(book.cells[place - 1]):
            rest = book.cells[place - 1].source
            while blank := BLANK.match(rest):
                rest = rest[blank.end():]
            solved = nbformat.v4.new_code_cell(html.unescape(solution_after(book, place - 1).group(2)) + rest)
            cells.append(nbformat.from_dict({**solved, "metadata": {"solves": place - 1}}))
        elif cell.cell_type == "markdown" and SOLUTION.search(cell.source):
            raise NoSolution(f"no exercise (a cell that begins with guess = None) before the solution\n{cell.source}")
    if cells and is_exercise(book.cells[-1]):
        solution_after(book, len(book.cells) - 1)
    book.cells = cells
    return book


def take_solved_cells(book):
    """Takes the solved copies out, puts what they printed into the blocks of text, and returns their faults."""
    solved = [cell for cell in book.cells if "solves" in cell.metadata]
    book.cells = [cell for cell in book.cells if "solves" not in cell.metadata]
    faults = []
    for cell in solved:
        place = cell.metadata["solves"]
        printed = "".join(output.get("text", "") for output in cell.outputs)
        verdicts = sum(line.startswith("right: ") for line in printed.splitlines())
        if verdicts != cell.source.count("ty.check("):
            faults += ["a solution is wrong:", *cell.source.splitlines(), *(f"=> {line}" for line in printed.splitlines())]
        answer = book.cells[place + 1]
        found = SOLUTION.search(answer.source)
        answer.source = answer.source[:found.start(4)] + html.escape(printed, quote=False) + answer.source[found.end(4):]
    return faults


def printed_by(book):
    """What the solutions of a notebook are said to print, as lines."""
    solutions = [found for cell in book.cells if cell.cell_type == "markdown" and (found := SOLUTION.search(cell.source))]
    return [f"[solution {n}] {line}" for n, found in enumerate(solutions, 1) for line in found.group(4).splitlines()]
