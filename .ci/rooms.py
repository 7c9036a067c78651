#!/usr/bin/env python3
"""Lines of C++ in each room of sim/, and marks of its dialect, against the ceilings in .ci/rooms.csv, which only fall.

usage: rooms.py [--update]     from the root of the repository; --update lowers ceilings to what is counted

Dialect (HOUSE: plain English): in comments and texts "what" for a missing noun, "beside", and sentences that begin with Of,
Those or The same; identifiers with a word its, whose or others, such as its_text or add_others. A new feature brings a budget:
a raised ceiling is an edit by hand of rooms.csv, with a reason in the commit."""

import csv
import pathlib
import re
import sys

TEXT = re.compile(r"//(.*)$|\"((?:[^\"\\\n]|\\.)*)\"", re.M)
# Not a question, nor "what is", which asks too.
DIALECT = re.compile(r"\b[Ww]hat\b(?!-| is\b| are\b)(?!.*\?)|\bbeside\b|(?:^|\. )(?:Of|Those|The same)\b")
NAMES = re.compile(r"(?<![A-Za-z0-9])(?:its|whose|others)(?![A-Za-z0-9])")


def counted(folder):
    lines = dialect = 0
    for file in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.hpp"), *folder.rglob("*.cu"), *folder.rglob("*.cuh")]):
        source = file.read_text(encoding="utf-8")
        lines += source.count("\n")
        texts = [(comment or literal).strip("/ ") for comment, literal in TEXT.findall(source)]
        dialect += sum(len(DIALECT.findall(text)) for text in texts) + len(NAMES.findall(TEXT.sub("", source)))
    return lines, dialect


def main():
    table = pathlib.Path(".ci/rooms.csv")
    with table.open(encoding="utf-8") as rows:
        ceilings = {room: (int(lines), int(dialect)) for room, lines, dialect in list(csv.reader(rows))[1:]}
    found = {folder.name: counted(folder) for folder in sorted(pathlib.Path("sim").iterdir()) if folder.is_dir()}
    print("room            lines ceiling  dialect ceiling")
    above = []
    for room, (lines, dialect) in found.items():
        allowed = ceilings.get(room, (0, 0))
        over = lines > allowed[0] or dialect > allowed[1]
        above += [room] * over
        print(f"{room:<14}{lines:>7}{allowed[0]:>8}{dialect:>9}{allowed[1]:>8}{'  above' * over}")
    totals = [sum(pair[k] for pair in pairs.values()) for k in (0, 1) for pairs in (found, ceilings)]
    print(f"{'all':<14}{totals[0]:>7}{totals[1]:>8}{totals[2]:>9}{totals[3]:>8}")
    if "--update" in sys.argv[1:]:
        lowered = {room: map(min, found[room], ceiling) for room, ceiling in ceilings.items() if room in found}
        table.write_text("room,lines,dialect\n" + "".join(f"{room},{a},{b}\n" for room, (a, b) in lowered.items()), encoding="utf-8")
    if above:
        print(f"above a ceiling of .ci/rooms.csv: {', '.join(above)}", file=sys.stderr)
    return 1 if above else 0


sys.exit(main())
