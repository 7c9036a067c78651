#!/usr/bin/env python3
"""Runs `run --verify` for shipped experiments: flow against messages on SimGrid.

    verify.py PROGRAM SOURCE_DIR [--all] [--jobs N] [--update]

The program itself exits with 1 where the largest difference is more than documented. Beyond that: without a cause for
differences the step and its collectives must be equal to 1e-9, an experiment that sends something must be compared, one
of up to 64 ranks as a whole, and the kinds of jobs must occur: whole jobs and parts, with and without causes, servers,
and one rank alone. Beyond 1e-9 a difference may be half as large again as the one in verify.csv. Prints the list of differences. By default the experiments that take less than a second; --all:
every one. --update writes verify.csv, with --all."""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys

# Seconds of CPU: the 1,000 GPUs of Tianshu, 256 of Minsky, and jobs whose ranks share a large model.
LONG = ("bert_base_tianshu", "bert_large_dgx_a100_faults", "llama31_405b_llama3_cluster_faults", "digits_stragglers", "gpt2_small_tianshu", "gpt3_175b_dgx_a100",
        "insightface_tianshu", "resnet101_minsky", "resnet50_abci", "resnet50_big_basin_k_sync",
        "resnet50_p2_16xlarge_async", "resnet50_tianshu", "t5_11b_dgx_a100", "wide_deep_tianshu")
ROUNDING = 1e-9
GROWTH = 1.5


def verified(program, name):
    done = subprocess.run([program, "run", name, "--verify", "--json"], capture_output=True, text=True, check=False)
    usage = json.loads(done.stdout) if done.stdout else None
    return name, done.returncode, done.stderr.strip(), usage


def row_of(name, summary):
    it = summary["verification"]
    if it is None:
        return f"{name:34} {summary['ranks']:5} ranks, not compared: {summary['unmodelled']['verification']}"
    part = ", ".join(f"{key}={value}" for key, value in (it["part"] or {}).items())
    return (f"{name:34} {it['ranks']:5} ranks {it['messages']:12,} messages  {it['largest_difference']:.1e} of {it['of']}, limit "
            f"{it['limit']:.2g}{' (' + '; '.join(it['causes']) + ')' if it['causes'] else ''}{', part ' + part if part else ''}")


def recorded(source):
    with open(source / "tests/verify.csv", encoding="utf-8") as file:
        return {row["experiment"]: float(row["largest_difference"]) for row in csv.DictReader(file)}


def problems_of(name, code, message, summary, most):
    if code != 0 or summary is None:
        return [f"{name}: exit code {code}: {message}"]
    it, found = summary["verification"], []
    if it is None:
        sends = summary["network_engine"] is not None
        return [f"{name}: {summary['ranks']} ranks were not compared"] if sends else []
    servers = summary["network_engine"] == "fair_shares"
    if not it["causes"] and not servers and it["largest_difference"] > ROUNDING:
        found.append(f"{name}: {it['of']} differs by {it['largest_difference']} without a cause")
    if it["largest_difference"] > max(ROUNDING, GROWTH * most):
        found.append(f"{name}: {it['of']} differs by {it['largest_difference']:.3g}, {most:.3g} before")
    if summary["ranks"] <= 64 and it["part"]:
        found.append(f"{name}: only a part of {summary['ranks']} ranks was compared: {it['part']}")
    if summary["ranks"] > 256 and not it["part"]:
        found.append(f"{name}: {summary['ranks']} ranks were compared as a whole")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count())
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    known = {} if options.update else recorded(options.source)
    found = {}
    names = sorted(file.stem for file in (options.source / "workloads/experiments").glob("*.yaml"))
    assert set(LONG) <= set(names), set(LONG) - set(names)
    names = [name for name in names if options.all or name not in LONG]
    problems, kinds = [], set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, code, message, summary in pool.map(lambda name: verified(options.program, name), names):
            problems += problems_of(name, code, message, summary, float("inf") if options.update else known.get(name, 0))
            if summary is None:
                continue
            print(row_of(name, summary), flush=True)
            it = summary["verification"]
            if it is not None and it["largest_difference"] > ROUNDING:
                found[name] = it["largest_difference"]
            kinds.add("alone" if it is None else "servers" if summary["network_engine"] == "fair_shares"
                      else "causes" if it["causes"] else "exact")
            kinds.add("part" if it is not None and it["part"] else "whole")
    expected = {"alone", "servers", "causes", "exact", "whole"} | ({"part"} if options.all else set())
    if not expected <= kinds:
        problems.append(f"no experiment of a kind: {sorted(expected - kinds)}")
    if options.update:
        with open(options.source / "tests/verify.csv", "w", encoding="utf-8") as file:
            file.write("experiment,largest_difference\n")
            file.writelines(f"{name},{found[name]:.3g}\n" for name in sorted(found))
    print("\n".join(problems) if problems else f"{len(names)} experiments: no difference larger than documented")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
