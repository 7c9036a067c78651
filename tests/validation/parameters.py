#!/usr/bin/env python3
"""The list of all numbers that rest on measured rows: the tables between marks in docs/parameters.md.

usage: parameters.py SOURCE_DIR [--update]

Reads the files of platforms/ and workloads/: every value with `fitted`, also in settings of published runs, and the numbers
of lines of the fitted tables. --update writes the page. Exit status 1: the page differs.
"""

import collections
import pathlib
import sys

import yaml

BEGIN = "<!-- parameters: ./dev published --update -->"
END = "<!-- end of parameters -->"
TABLES = {
    "workloads/software/published.csv": "factors on kernel times and launches; the table names the rows of each",
    "workloads/published/errors/new_circumstances.csv": "lines of bounds of the error of jobs unlike all measured ones; "
                                                        "all rows, predicted without their group",
}


def fitted_values(node, key=()):
    """(dotted key, value, source) of every value with `fitted`; settings may be YAML in a string."""
    if isinstance(node, dict):
        if "fitted" in node:
            yield ".".join(key), node.get("value", "a table"), node["fitted"]
            return
        for name, its in node.items():
            yield from fitted_values(its, key + (str(name),))
    elif isinstance(node, list):
        for its in node:
            name = its.get("name") if isinstance(its, dict) else None
            yield from fitted_values(its, key + ((str(name),) if name else ()))
    elif isinstance(node, str) and "fitted:" in node and node.startswith("{"):
        yield from fitted_values(yaml.safe_load(node), key)


def found_in(source):
    places = collections.defaultdict(list)
    for folder in ("platforms", "workloads"):
        for path in sorted((source / folder).rglob("*.yaml")):
            if "schema" in path.parts:
                continue
            for key, value, text in fitted_values(yaml.safe_load(path.read_text(encoding="utf-8"))):
                places[key, str(value), text].append(path.relative_to(source))
    return places


def lines_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(1 for line in lines if line and not line.startswith("#")) - 1


def page_of(source):
    lines = ["| table | lines | what, and the rows |", "|---|---|---|"]
    lines += [f"| `{table}` | {lines_of(source / table):,} | {words} |" for table, words in TABLES.items()]
    lines += ["", "| value | number | files | fitted to |", "|---|---|---|---|"]
    for (key, value, text), files in sorted(found_in(source).items(), key=lambda its: (its[1][0], its[0])):
        where = f"`{files[0]}`" + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        value = "a table" if value.startswith(("{", "[")) else value
        lines.append(f"| `{key}` | {value} | {where} | {text.replace('|', '/')} |")
    return "\n".join(lines)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--update"]):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        sys.exit(2)
    source = pathlib.Path(sys.argv[1])
    page = source / "docs/parameters.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    wanted = f"{before}{BEGIN}\n\n{page_of(source)}\n\n{END}{rest.partition(END)[2]}"
    if text == wanted:
        return
    if sys.argv[2:]:
        page.write_text(wanted, encoding="utf-8")
        return
    print("docs/parameters.md is not what the files say: run ./dev published --update", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
