#!/usr/bin/env python3
"""Writes tables of ai-dynamo/aiconfigurator (systems/data, Apache-2.0) as a recording for `trainyard calibrate gpu`.

  aiconfigurator.py RECORDING.csv TABLE... [--commit COMMIT]

TABLE is a table of products (gemm_perf) or of forward attention (context_attention_perf) of one GPU, as published
(parquet; needs python3-pandas with a reader of parquet) or as CSV with the same columns. Products have 64 rows and more;
the mean where several frameworks called one of them. A product in 8 bits is a call of a linear layer and includes the cast
of its input. Attention is causal, in bf16, over 1,024 tokens and more, with 128 values a head. COMMIT is that of the
repository from which the tables are, for the recording's source.
"""

import argparse
import csv
import statistics
import sys

FEWEST_ROWS = 64
FEWEST_TOKENS = 1024
HEAD = 128
BYTES = 2  # of a value of bf16
TYPES = {"bfloat16": "bf16", "float16": "fp16", "fp8": "fp8"}
NAMES = {"VLLM": "vLLM", "TRTLLM": "TensorRT-LLM", "SGLANG": "SGLang"}


def rows_of(file):
    if file.endswith(".parquet"):
        import pandas

        return pandas.read_parquet(file).astype(str).to_dict("records")
    with open(file, newline="", encoding="utf-8") as table:
        return list(csv.DictReader(table))


def first(row, *columns):
    for column in columns:
        if column in row:
            return row[column]
    sys.exit(f"a table has none of the columns {', '.join(columns)}")


def milliseconds(row):
    return float(first(row, "latency_ms", "latency"))


def product(row):
    """The kernel of a row, as in a recording; None if it does not count."""
    dtype = TYPES.get(first(row, "dtype", "gemm_dtype"))
    m, n, k = (int(row[side]) for side in "mnk")
    if dtype is None or m < FEWEST_ROWS:
        return None
    variant = "with_cast" if dtype == "fp8" else "-"
    values = (m * k + k * n) + BYTES * m * n if dtype == "fp8" else BYTES * (m * k + k * n + m * n)
    return ("gemm", variant, dtype, f"m{m} n{n} k{k} nt", values)


def attention(row):
    tokens, heads = int(row["isl"]), int(row["num_heads"])
    batch, kv_heads = int(row["batch_size"]), int(row["num_key_value_heads"])
    is_plain = (
        int(row["head_dim"]) == HEAD
        and tokens >= FEWEST_TOKENS
        and row["attn_dtype"] == row["kv_cache_dtype"] == "bfloat16"
        and int(row["step"]) == 0
        and int(row.get("window_size", 0)) == 0
    )
    if not is_plain:
        return None
    moved = 2 * BYTES * batch * tokens * HEAD * (heads + kv_heads)
    return ("attention", "causal", "bf16", f"b{batch * heads} m{tokens} n{tokens} k{HEAD} nt", moved)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    times, devices, frameworks = {}, set(), set()
    for file in options.tables:
        for row in rows_of(file):
            kernel = attention(row) if "isl" in row else product(row)
            if kernel is None:
                continue
            times.setdefault(kernel, []).append(milliseconds(row))
            devices.add(row["device"])
            frameworks.add(f"{NAMES.get(row['framework'], row['framework'])} {row['version']}")
    if len(devices) != 1:
        sys.exit(f"the tables are of {len(devices)} GPUs: {', '.join(sorted(devices))}")
    origin = " ".join(["ai-dynamo/aiconfigurator", options.commit]).strip()
    called = " and ".join(sorted(frameworks))
    with open(options.recording, "x", encoding="utf-8") as out:
        out.write(f"# gpu: {devices.pop()}\n")
        out.write(f"# source: {origin}, systems/data, Apache-2.0; called by {called} in CUDA graphs\n")
        out.write("op,variant,dtype,shape,bytes,time_us\n")
        for kernel, values in sorted(times.items()):
            out.write(",".join(map(str, kernel)) + f",{1e3 * statistics.fmean(values):.6g}\n")


if __name__ == "__main__":
    main()
