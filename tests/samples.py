"""Files of other tools that tests of the whole program read, as users have them."""

import contextlib
import pathlib
import sqlite3


def write_report(path):
    """An export of Nsight Systems."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as report:
        report.executescript((pathlib.Path(__file__).parent / "imports/report.sql").read_text(encoding="utf-8"))


def onnx_model():
    """A convolution, ReLU, the mean and a product on images of 3 x 64 x 64, as an ONNX model."""

    def varint(value):
        low = value & 127
        return bytes([low]) if value < 128 else bytes([low | 128]) + varint(value >> 7)

    def number(field, value):
        return varint(field << 3) + varint(value)

    def text(field, value):
        value = value.encode() if isinstance(value, str) else value
        return varint(field << 3 | 2) + varint(len(value)) + value

    def node(kind, inputs, output, *attributes):
        return text(1, b"".join(text(1, one) for one in inputs) + text(2, output) + text(4, kind)
                    + b"".join(text(5, one) for one in attributes))

    def weight(name, *sizes):
        return text(5, b"".join(number(1, size) for size in sizes) + number(2, 1) + text(8, name))

    sizes = b"".join(text(1, number(1, size)) for size in (1, 3, 64, 64))
    graph = node("Conv", "xwb", "c", text(1, "pads") + b"".join(number(8, 1) for _ in range(4))) + node("Relu", "c", "r")
    graph += node("GlobalAveragePool", "r", "p") + node("Gemm", "pvd", "y", text(1, "transB") + number(3, 1))
    graph += weight("w", 32, 3, 3, 3) + weight("b", 32) + weight("v", 10, 32) + weight("d", 10)
    graph += text(11, text(1, "x") + text(2, text(1, number(1, 1) + text(2, sizes)))) + text(12, text(1, "y"))
    return number(1, 8) + text(7, graph) + text(8, number(2, 17))

