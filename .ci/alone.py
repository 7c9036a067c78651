#!/usr/bin/env python3
"""Sources that use a name of a header which they do not include. A unity build hides that: another source of the folder
includes the header, and a build without the presets, as the README's by hand, fails.

usage: alone.py COMPILER JOBS [FILE...]     from the root of the repository; FILE: only these sources

A source is suspected if it uses a type or calls a function whose name some headers declare, none of which it includes,
directly or not. Suspects are compiled alone, syntax only: a name may be one of its own, of a member or of a library."""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
TYPE = re.compile(r"^(?:struct|class|enum class|using|concept) (\w+)", re.M)
FUNCTION = re.compile(r"^(?!using)[A-Za-z_\[][\w:<>,&*\[\] ]*[ &*]([a-z_]\w+)\(", re.M)
# In a source also members and local names: "int count(", "auto count = [", "vector<int>& count,"
OWN = re.compile(r"\b(\w+)[>&*\]]* [&*]*(\w+)\s*(?:[=({,;)\[]|: )")
NO_TYPE = {"return", "throw", "else", "case", "and", "or", "not", "delete", "new"}
# "void Class::count(" and "std::function<double(int)>& count)"
OWN_MEMBER = re.compile(r"^[\w:<>,&* ]*\b[A-Z]\w*::(\w+)\(|\)>[&*]* (\w+)[,)]", re.M)
OWN_TYPE = re.compile(r"\b(?:struct|class|using|concept|typename) (\w+)")
COMMENT = re.compile(r"//.*$|\"(?:[^\"\\\n]|\\.)*\"", re.M)
FLAGS = ["-std=c++20", "-fsyntax-only", "-Isim", "-Itests", "-DFMT_SHARED", "-DBOOST_ALL_NO_LIB",
         '-DTRAINYARD_SOURCE_DIR="."', '-DTRAINYARD_PROGRAM="."', '-DTRAINYARD_VERSION="0"']


class Texts:
    def __init__(self, root):
        self.root, self.read, self.closures = root, {}, {}

    def of(self, file):
        if file not in self.read:
            self.read[file] = file.read_text() if file.is_file() else None
        return self.read[file]

    def closure(self, file):
        """The files of the repository that a file includes, itself among them."""
        if file not in self.closures:
            found, waiting = set(), [file]
            while waiting:
                one = waiting.pop()
                text = self.of(one)
                if one in found or text is None:
                    continue
                found.add(one)
                for name in INCLUDE.findall(text):
                    waiting += [self.root / "sim" / name, self.root / "tests" / name, (one.parent / name).resolve()]
            self.closures[file] = found
        return self.closures[file]


def declared(text):
    code = COMMENT.sub("", text)
    return set(TYPE.findall(code)) | set(FUNCTION.findall(code))


def suspects(root, sources, texts):
    """Sources with the names that they use and do not include."""
    headers_of = {}
    for header in [*root.glob("sim/**/*.hpp"), *root.glob("tests/**/*.hpp")]:
        for name in declared(texts.of(header)):
            headers_of.setdefault(name, set()).add(header)
    for source in sources:
        code = COMMENT.sub("", texts.of(source))
        files = texts.closure(source)
        own = {name for before, name in OWN.findall(code) if before not in NO_TYPE} | set(OWN_TYPE.findall(code))
        own |= {name for names in OWN_MEMBER.findall(code) for name in names}
        used = set(re.findall(r"(?<![\w:.])[A-Z]\w+\b", code)) | set(re.findall(r"(?<![\w.>:])([a-z_]\w+)\(", code))
        missing = {name for name in used - own if headers_of.get(name) and not headers_of[name] & files}
        if missing:
            yield source, sorted(missing)


def main():
    compiler, jobs, root = sys.argv[1], int(sys.argv[2]), pathlib.Path.cwd()
    sources = [root / name for name in sys.argv[3:]] or sorted(
        file for folder in ("sim", "tests") for file in root.glob(f"{folder}/**/*.cpp") if "cuda" not in file.parts)
    found = list(suspects(root, sources, Texts(root)))

    def check(suspect):
        source, names = suspect
        ended = subprocess.run([compiler, *FLAGS, str(source.relative_to(root))], capture_output=True, text=True, check=False)
        return source, names, ended

    faults = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for source, names, ended in pool.map(check, found):
            if ended.returncode != 0:
                faults += 1
                print(f"{source.relative_to(root)} does not compile alone ({', '.join(names)}):\n{ended.stderr[:2000]}", flush=True)
    print(f"{len(sources)} sources, {len(found)} suspected and compiled alone, {faults} with faults")
    return 1 if faults else 0


sys.exit(main())
