"""Pages of keys, docs/keys/KIND.md, from JSON Schemas: a row for each key with its values, its default and its effect."""

import json
import re

HEAD = """# Keys of a file: {kind}

Made of the program's declarations by `tests/schemas.py build/trainyard . --update`. `x[]` is an item of a list, `x.NAME` a value
of a mapping with names of your own, `{{a,b}}` each of these keys.

| key | values | default | effect |
|---|---|---|---|
"""


def unwrapped(schema):
    """A value's own form: without the one that names a source, and a mapping without what it may be short for."""
    forms = schema.get("anyOf")
    if not forms:
        return schema
    chosen = next((form for form in forms if "minProperties" not in form and form.get("type") == "object"), forms[0])
    return {**chosen, **{key: schema[key] for key in ("description", "default") if key in schema}}


def has_keys(schema):
    schema = unwrapped(schema)
    return has_keys(schema["items"]) if schema.get("type") == "array" else bool(schema.get("properties"))


def form_of(schema):
    """A schema without what differs between keys of one form."""
    return json.dumps({key: value for key, value in schema.items() if key not in ("description", "default")})


def number_range(schema):
    least, above, most = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if least is not None and most is not None:
        words = [f"{least:,} to {most:,}"]
    else:
        ends = {"at least": least, "above": above, "at most": most}
        words = [f"{word} {end:,}" for word, end in ends.items() if end is not None]
    return ", ".join([*(["whole number"] if schema["type"] == "integer" else []), *words])


def values_and_effect(schema):
    schema = unwrapped(schema)
    words, kind = schema.get("description", ""), schema.get("type")
    if kind == "array":
        values, described = values_and_effect(schema["items"])
        return f"list: {values}", ": ".join(filter(None, (words, "" if has_keys(schema) else described)))
    if "enum" in schema:  # "effect (kind of thing: a = what a does; b)"
        first = re.search(rf"^(.*?)\(?\w[^:(]*: (?={re.escape(schema['enum'][0])}(?: = |;|\)|$))", words)
        if not first:
            return ", ".join(f"`{value}`" for value in schema["enum"]), words
        listed = words[first.end():].removesuffix(")" if first[1] else "")
        names = "|".join(sorted(map(re.escape, schema["enum"]), key=len, reverse=True))
        listed = re.sub(rf"(^|; )({names})(?= = |;|$)", r"\1`\2`", listed).replace("` = ", "`: ")
        return "one of these", ": ".join(text for text in (first[1].strip(), listed) if text)
    if "pattern" in schema:  # "effect (time with its unit, for example 1.2 us; above 0 s)"
        quantity = re.search(r"\(?([\w ]+) with its unit, for example ([^;)]+)(; [^)]*)?\)?$", words)
        return (f"{quantity[1]} ({quantity[2]}){quantity[3] or ''}", words[:quantity.start()].strip()) if quantity else ("", words)
    if kind in ("integer", "number"):
        return number_range(schema), words
    if "$ref" in schema:
        return f"mapping: {schema['$ref'].rpartition('/')[2]}", words
    return ("`true`, `false`" if kind == "boolean" else "mapping" if kind == "object" else "text"), words


def rows(schema, path, seen):
    """Cells of a row for each key below a schema; `seen`: where the keys of a form are listed already."""
    schema = unwrapped(schema)
    if schema.get("type") == "array":
        yield from rows(schema["items"], path + "[]", seen)
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from rows(schema["additionalProperties"], path + ".NAME", seen)
    alike = {}  # mappings of one form are listed once, with the names of all
    for name, child in schema.get("properties", {}).items():
        alike.setdefault(form_of(child) if has_keys(child) else name, []).append((name, child))
    for form, keys in alike.items():
        names = [name for name, _ in keys]
        key = f"{path}.{'{' + ','.join(names) + '}' if len(names) > 1 else names[0]}".removeprefix(".")
        values, effect = values_and_effect(keys[0][1])
        effects = [effect]
        if len(names) > 1:
            effects = [f"`{name}`: {values_and_effect(child)[1]}" for name, child in keys]
        default = keys[0][1].get("default", "**required**" if names[0] in schema.get("required", ()) else "")
        shown = "" if isinstance(default, (dict, list)) else json.dumps(default).strip('"')
        if has_keys(keys[0][1]) and form in seen:
            effects.append(f"keys as of `{seen[form]}`")
        yield f"`{key}`", values, shown, "; ".join(filter(None, effects))
        if seen.setdefault(form, key) == key:
            yield from rows(keys[0][1], key, seen)


def page(kind, schema):
    cells = list(rows(schema, "", {}))
    for name, definition in schema.get("$defs", {}).items():
        cells += rows(definition, name, {})
    return HEAD.format(kind=kind) + "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in cells)


WORDS = """# Words of other software

Made of the program's glossary by `tests/schemas.py build/trainyard . --update`. The words of the first table are the same as our
keys, with the same values: experiments, `--set` and options take them, in capitals and with `-` or `_`.

| key | other words |
|---|---|
{same}
These words differ in meaning from framework to framework, or in their values. They are refused with this advice:

| word | what to write |
|---|---|
{advice}"""


def words_page(printed):
    """The page of other words for keys, from what `keys --json` prints."""
    same = [(key["key"], ", ".join(f"`{word}`" for word in key["other_words"])) for key in printed["keys"] if key["other_words"]]
    advice = {}
    for row in printed["words_with_advice"]:
        advice.setdefault(row["word"], []).append(row["meant"])
    return WORDS.format(
        same="".join(f"| `{key}` | {words} |\n" for key, words in same),
        advice="".join(f"| `{word}` | {'; '.join(meant)} |\n" for word, meant in advice.items()),
    )
