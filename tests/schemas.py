#!/usr/bin/env python3
"""Checks the JSON Schemas and the pages of keys: the shipped ones are what the program prints, every shipped YAML file is
valid under its schema, and a misspelt key is not. --update writes schemas and pages.

usage: schemas.py PROGRAM SOURCE_DIR [--update]
"""

import json
import pathlib
import subprocess
import sys

import jsonschema
import yaml

import key_pages

# kind -> where its schema lies, and its files
KINDS = {
    "platform": ("platforms/schema", "platforms/*.yaml"),
    "gpu": ("platforms/schema", "platforms/gpus/*.yaml"),
    "processor": ("platforms/schema", "platforms/processors/*.yaml"),
    "protocols": ("platforms/schema", "platforms/protocols/*.yaml"),
    "machines": ("workloads/schema", "workloads/published/machines/*.yaml"),
    "model": ("workloads/schema", "workloads/models/*.yaml"),
    "stack": ("workloads/schema", "workloads/stacks/*.yaml"),
    "software": ("workloads/schema", "workloads/software/*.yaml"),
    "lowering": ("workloads/schema", "workloads/lowering/*.yaml"),
    "experiment": ("workloads/schema", "workloads/experiments/*.yaml"),
    "sweep": ("workloads/schema", "workloads/sweeps/*.yaml"),
    "runs": ("workloads/schema", "workloads/published/runs/*.yaml"),
}


class AsText(yaml.SafeLoader):
    """Leaves dates as text, as trainyard's own reader does."""


AsText.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def main():
    program, source = sys.argv[1], pathlib.Path(sys.argv[2])
    problems = []
    for kind, (folder, pattern) in KINDS.items():
        printed = subprocess.run([program, "schema", kind], capture_output=True, text=True, check=True).stdout
        shipped = source / folder / f"{kind}.json"
        schema = json.loads(printed)
        # a line for each value, without blanks before it: half the bytes of what is printed
        made = {shipped: json.dumps(schema, indent=0) + "\n", source / f"docs/keys/{kind}.md": key_pages.page(kind, schema)}
        for path, text in made.items():
            if "--update" in sys.argv:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            if not path.exists() or path.read_text() != text:
                problems.append(f"{path}: not what `trainyard schema {kind}` says; --update writes it")
        validator = jsonschema.Draft202012Validator(schema)
        validator.check_schema(validator.schema)
        files = sorted(source.glob(pattern))
        if not files:
            problems.append(f"no file matches {pattern}")
        for file in files:
            value = yaml.load(file.read_text(), AsText)
            problems += [f"{file}: {error.json_path}: {error.message}" for error in validator.iter_errors(value)]
            if validator.is_valid({**value, "plaform": 1}):
                problems.append(f"{kind}: the schema accepts an unknown key")
            first_line = file.read_text().splitlines()[0]
            named = file.parent / first_line.rpartition("$schema=")[2]
            if not named.resolve() == shipped.resolve():
                problems.append(f"{file}: its first line does not name {shipped}")
    printed = subprocess.run([program, "keys", "--json"], capture_output=True, text=True, check=True).stdout
    words, text = source / "docs/keys/words.md", key_pages.words_page(json.loads(printed))
    if "--update" in sys.argv:
        words.write_text(text)
    if not words.exists() or words.read_text() != text:
        problems.append(f"{words}: not what `trainyard keys --json` says; --update writes it")
    print("\n".join(problems) or "every shipped file is valid under its schema")
    return 1 if problems else 0


sys.exit(main())
