"""Files of other tools that tests of the whole program read, as users have them."""

import contextlib
import pathlib
import sqlite3

from onnx import TensorProto, ValueInfoProto, helper


def write_report(path):
    """An export of Nsight Systems."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as report:
        report.executescript((pathlib.Path(__file__).parent / "imports/report.sql").read_text(encoding="utf-8"))


def onnx_model():
    """A convolution, ReLU, the mean and a product on images of 3 x 64 x 64, as an ONNX model. The weights have no values."""
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Gemm", ["p", "v", "d"], ["y"], transB=1)]
    shapes = {"w": (32, 3, 3, 3), "b": (32,), "v": (10, 32), "d": (10,)}
    weights = [TensorProto(name=name, dims=sizes, data_type=TensorProto.FLOAT) for name, sizes in shapes.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 64, 64))]
    graph = helper.make_graph(nodes, "net", inputs, [ValueInfoProto(name="y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def megatron_script():
    """Arguments of Megatron-LM behind torchrun."""
    return ("torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
            "--seq-length 2048 --micro-batch-size 4 --global-batch-size 256 --tensor-model-parallel-size 2 --bf16\n")


def torchtitan_job():
    """A job of torchtitan."""
    return '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n[parallelism]\ndata_parallel_shard_degree = -1\n'
