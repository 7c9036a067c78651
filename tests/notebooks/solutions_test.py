"""Tests of solutions.py: a wrong solution fails, and so does an exercise without one.

usage: /usr/bin/python3 -m unittest tests/notebooks/solutions_test.py
"""

import pathlib
import sys
import unittest

import nbformat.v4 as nb

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import solutions

EXERCISE = "guess = None  # ms\nguess_b = None\n\nty.check(guess, 2)\nty.check(guess_b, 3)"
SOLUTION = "<details><summary>Solution</summary>\n\n<pre>\nguess, guess_b = 2, 3  # 3 &gt; 2\n</pre>\n<pre>\nold\n</pre>\n\nWhy.\n</details>"


def book(*cells):
    made = nb.new_notebook(cells=[nb.new_code_cell(c) if c.startswith("guess") else nb.new_markdown_cell(c) for c in cells])
    return made


class Solutions(unittest.TestCase):
    def solved(self, *printed):
        made = solutions.with_solved_cells(book("# Lesson", EXERCISE, SOLUTION, "# End"))
        made.cells[3].outputs = [nb.new_output("stream", name="stdout", text="".join(f"{line}\n" for line in printed))]
        return made

    def test_a_solution_stands_in_place_of_the_blanks(self):
        made = self.solved()
        self.assertEqual(made.cells[3].source, "guess, guess_b = 2, 3  # 3 > 2\n\nty.check(guess, 2)\nty.check(guess_b, 3)")

    def test_what_it_prints_is_written_beside_it_and_the_copy_is_taken_out(self):
        made = self.solved("right: the program says 2", "right: the program says 3")
        self.assertEqual(solutions.take_solved_cells(made), [])
        self.assertEqual([cell.source for cell in made.cells][:2], ["# Lesson", EXERCISE])
        self.assertEqual(len(made.cells), 4)
        self.assertIn("<pre>\nright: the program says 2\nright: the program says 3\n</pre>\n\nWhy.", made.cells[2].source)
        self.assertEqual(solutions.printed_by(made)[0], "[solution 1] right: the program says 2")

    def test_a_wrong_solution_is_a_fault(self):
        for printed in ((), ("right: the program says 2",), ("right: the program says 2", "4 is too high")):
            self.assertEqual(solutions.take_solved_cells(self.solved(*printed))[0], "a solution is wrong:")

    def test_an_exercise_without_a_solution_is_refused(self):
        for cells in ((EXERCISE,), (EXERCISE, "Why."), ("# Lesson", SOLUTION)):
            with self.assertRaises(solutions.NoSolution):
                solutions.with_solved_cells(book(*cells))


if __name__ == "__main__":
    unittest.main()
