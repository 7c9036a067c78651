"""The plan of the vector ops to be timed in PyTorch: which calls, of which sizes, and the bytes that trainyard counts.

Its rows are those of a recording (sim/cuda/README.md): op, variant, dtype, shape, bytes. Needs the standard library
only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

KEY_COLUMNS = ("op", "variant", "dtype", "shape", "bytes")
COLUMNS = (*KEY_COLUMNS, "time_us", "spread_us", "repetitions")

SIZE_OF = {"fp32": 4, "bf16": 2, "fp16": 2}
HALF_TYPES = ("bf16", "fp16")
TABLE_ROWS = 30522  # of the embedding: BERT's vocabulary
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class VectorOp:
    """One call. It moves what sim/workload/layer.cpp and transformer_layers.cpp count for the layer."""

    op: str  # the kind of op in a trace
    variant: str
    call: str  # its name in vector_calls.py
    passes: int | Fraction  # values moved for each value that the call works on
    sample: tuple[int, ...] = ()  # shape of what comes whole: a row, an image
    backward: bool = False
    other_bytes: int = 0  # moved for each value, whatever its type: a mask, the fp32 side of a cast
    call_values: int = 0  # moved by each call besides, however many values it works on
    fewest: int = 1  # samples that a call has in training
    dtypes: tuple[str, ...] = tuple(SIZE_OF)

    def bytes_of(self, values: int, dtype: str) -> int:
        return int(self._value_bytes(dtype) * values) + self.call_values * SIZE_OF[dtype]

    def values_in(self, size: int, dtype: str) -> int:
        """The most values in whole samples with which a call moves at most `size` bytes; 0 if those are too few."""
        sample = math.prod(self.sample)
        left = size - self.call_values * SIZE_OF[dtype]
        samples = int(left // (self._value_bytes(dtype) * sample))
        return samples * sample if samples >= self.fewest else 0

    def _value_bytes(self, dtype: str) -> Fraction:
        return Fraction(self.passes) * SIZE_OF[dtype] + self.other_bytes


@dataclass(frozen=True)
class VectorRow:
    """A row of the plan: a call on so many values of a type."""

    op: VectorOp
    dtype: str
    values: int

    @property
    def bytes(self) -> int:
        return self.op.bytes_of(self.values, self.dtype)

    @property
    def key(self) -> tuple[str, ...]:
        """What makes a row the same measurement as another: the cells of KEY_COLUMNS."""
        return (self.op.op, self.op.variant, self.dtype, f"e{self.values}", str(self.bytes))

    @property
    def described(self) -> dict[str, str]:
        return dict(zip(KEY_COLUMNS, self.key))

    @property
    def title(self) -> str:
        return f"{self.op.op} {self.op.variant}, {self.dtype}, e{self.values}"


def _both_ways(
    op: str,
    variant: str,
    call: str,
    sample: tuple[int, ...],
    forward: int | Fraction,
    backward: int | Fraction,
    fewest: int = 1,
) -> tuple[VectorOp, VectorOp]:
    """A call and its backward pass; `variant` has a place for the direction."""
    return (
        VectorOp(op, variant.format("forward"), call, forward, sample, fewest=fewest),
        VectorOp(op, variant.format("backward"), call, backward, sample, backward=True, fewest=fewest),
    )


def _batch_norms(layout: str, call: str) -> Iterator[VectorOp]:
    for sample in ((64, 56, 56), (1024, 14, 14)):  # of ResNet-50: channels, height, width
        yield VectorOp("batch_norm_forward", f"{layout} c{sample[0]}", call, 3, sample)
        yield VectorOp("batch_norm_backward", f"{layout} c{sample[0]}", call, 5, sample, backward=True)


def vector_ops() -> list[VectorOp]:
    """Every call, in the order in which those of one size are measured."""
    early, late = (64, 112, 112), (2048, 7, 7)  # images before ResNet-50's two poolings
    quarter, mean = Fraction(1, 4), Fraction(1, 49)  # values written for each one read
    width = 768
    return [
        VectorOp("elementwise", "add", "add", 3),
        VectorOp("elementwise", "relu", "relu", 2),
        VectorOp("elementwise", "relu_backward", "relu", 3, backward=True),
        VectorOp("elementwise", "gelu", "gelu", 2),
        VectorOp("elementwise", "gelu_backward", "gelu", 3, backward=True),
        VectorOp("elementwise", "dropout", "dropout", 2, other_bytes=1),
        VectorOp("elementwise", "dropout_backward", "dropout", 2, other_bytes=1, backward=True),
        VectorOp("elementwise", "cast", "cast", 1, other_bytes=SIZE_OF["fp32"], dtypes=HALF_TYPES),
        *_batch_norms("nchw", "batch_norm"),
        *_batch_norms("nhwc", "batch_norm_nhwc"),
        *_both_ways("layer_norm", "{} w768", "layer_norm", (768,), 2, 3),
        *_both_ways("layer_norm", "{} w1600", "layer_norm", (1600,), 2, 3),
        *_both_ways("softmax", "{} w128", "softmax", (128,), 2, 3),
        *_both_ways("softmax", "{} w1024", "softmax", (1024,), 2, 3),
        *_both_ways("softmax", "{} w30522", "softmax", (TABLE_ROWS,), 2, 3, fewest=16),
        *_both_ways("softmax", "{} w50257", "softmax", (50257,), 2, 3, fewest=16),  # GPT-2's vocabulary
        *_both_ways("pooling", "max_{} nchw", "max_pool", early, 1 + quarter, 1 + 2 * quarter),
        *_both_ways("pooling", "max_{} nhwc", "max_pool_nhwc", early, 1 + quarter, 1 + 2 * quarter),
        *_both_ways("pooling", "average_{} nchw", "average_pool", late, 1 + mean, 1 + 2 * mean),
        VectorOp("embedding", f"forward w{width}", "embedding", 2, (width,)),
        VectorOp(
            "embedding", f"backward w{width}", "embedding", 1, (width,), backward=True, call_values=TABLE_ROWS * width
        ),
        VectorOp("optimizer", "momentum", "momentum", 5, dtypes=("fp32",)),
        VectorOp("optimizer", "adam", "adam", 7, dtypes=("fp32",)),
    ]


def vector_plan() -> list[VectorRow]:
    """All rows, the most important first: a coarse grid of sizes in fp32, a fine one, then 16-bit types."""
    quarter = Fraction(1, 4)
    sizes = [(size, "fp32") for size in (1, 16, 256, Fraction(1, 16), quarter, 4, 64, 1024)]
    sizes += [(size, dtype) for dtype in HALF_TYPES for size in (quarter, 4, 64, 512)]
    rows = [
        VectorRow(op, dtype, op.values_in(int(size * MEBIBYTE), dtype))
        for size, dtype in sizes
        for op in vector_ops()
        if dtype in op.dtypes
    ]
    return [row for row in rows if row.values > 0]


def summary(rows: list[VectorRow]) -> str:
    """One line: how many rows of how many calls."""
    return f"{len(rows)} rows of {len({row.op for row in rows})} calls"
