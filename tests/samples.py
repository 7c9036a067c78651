"""Files of other tools that tests of the whole program read, as users have them."""

import contextlib
import pathlib
import sqlite3


def write_report(path):
    """An export of Nsight Systems."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as report:
        report.executescript((pathlib.Path(__file__).parent / "imports/report.sql").read_text(encoding="utf-8"))
