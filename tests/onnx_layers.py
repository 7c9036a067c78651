#!/usr/bin/env python3
"""ONNX models as lists of layers, by sim/convert/onnx_layers.py and by `trainyard import onnx`.

usage: onnx_layers.py PROGRAM SOURCE_DIR
"""

import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import onnx
import samples
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper

PROGRAM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path.insert(0, SOURCE + "/sim/convert")
import onnx_layers  # noqa: E402  # pylint: disable=wrong-import-position

NORM = ("scale", "bias", "mean", "var")


class Net:
    """A model, made node by node. Weights have no values: those lie in other files."""

    def __init__(self, *sizes):
        self.nodes, self.weights = [], []
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)]
        self.last, self.outputs = "x", []

    def weight(self, name, *sizes):
        self.weights.append(TensorProto(name=name, dims=sizes, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL))
        return self

    def values(self, name, *values):
        self.weights.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return self

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs.split(), [output], name=f"node_{output}", **attributes))
        self.last = output
        return self

    def add(self, kind, weights="", **attributes):
        """A node that reads the one before."""
        return self.node(kind, f"{self.last} {weights}", f"t{len(self.nodes)}", **attributes)

    def conv(self, inputs, out, kernel, stride, relu=True):
        name = f"w{len(self.nodes)}"
        self.weight(name, out, inputs, kernel, kernel).add("Conv", name, strides=[stride] * 2, pads=[kernel // 2] * 4)
        for one in NORM:
            self.weight(name + one, out)
        self.add("BatchNormalization", " ".join(name + one for one in NORM))
        return self.add("Relu") if relu else self

    def model(self):
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs or [self.last]]
        graph = helper.make_graph(self.nodes, "net", self.inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    def read(self, *sample):
        return onnx_layers.account(self.model(), "net.onnx", "net", list(sample))

    def problem(self, *sample):
        try:
            self.read(*sample)
        except onnx_layers.Refused as refused:
            return refused.args[0]
        return ""


def resnet50():
    """ResNet-50 v1.5 as torchvision exports it."""
    net = Net("N", 3, 224, 224).conv(3, 64, 7, 2).add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            before = net.last
            main = net.conv(inputs, width, 1, 1).conv(width, width, 3, stride).conv(width, 4 * width, 1, 1, False).last
            if block == 0:
                net.last = before
                before = net.conv(inputs, 4 * width, 1, stride, False).last
            net.node("Add", f"{main} {before}", f"sum{stage}_{block}").add("Relu")
            inputs = 4 * width
    return net.add("GlobalAveragePool").add("Flatten").weight("fc", 1000, 2048).weight("fb", 1000).add("Gemm", "fc fb", transB=1)


def one_node(kind, inputs, **attributes):
    return Net(1, 8, 8, 8).weight("w", 8, 8, 3, 3).weight("b", 8).node(kind, inputs, "y", **attributes)


def command(*words):
    usual = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}  # python3 that has onnx
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, env=usual)


class Lists(unittest.TestCase):
    """Models that are lists of layers."""

    def has(self, net, *lines, sample=(), parameters=None):
        read = net.read(*sample)
        for line in lines:
            self.assertIn(line, read["yaml"])
        if parameters is not None:
            self.assertEqual(read["parameters"], parameters)
        return read

    def test_shapes_that_the_exporter_computes_are_followed(self):
        net = Net("N", 4, 2, 2).values("axis", 0).values("rest", -1).values("shape", 16, 5).weight("b", 5)
        net.weights.append(helper.make_tensor("zero", TensorProto.INT64, [], [0]))
        net.node("Shape", "x", "s").node("Gather", "s zero", "n").node("Unsqueeze", "n axis", "n1")
        net.node("Concat", "n1 rest", "to", axis=0).node("Reshape", "x to", "f").node("ConstantOfShape", "shape", "w")
        net.node("MatMul", "f w", "m").node("Add", "m b", "a").node("Softmax", "a", "y")
        self.has(net, "  - flatten\n  - {linear: {out: 5, bias: true}}\n  - softmax_cross_entropy\n", parameters=85)

    def test_branches_are_named_joined_and_concatenated(self):
        net = Net(1, 8, 8, 8).weight("u", 8, 8, 1, 1).weight("v", 8, 8, 1, 1).weight("w", 8, 8, 1, 1)
        net.node("Conv", "x u", "a").node("Conv", "x v", "b").node("Sum", "a b x", "s").node("Conv", "s w", "d")
        net.node("Concat", "s d", "c", axis=1).node("Sigmoid", "c", "g").node("Mul", "c g", "m").node("GlobalAveragePool", "m", "y")
        self.has(net, "{name: conv_1, conv", "{name: conv_2, from: input, conv", "{name: add_3, add: [conv_1, conv_2]}",
                 "{name: add_4, add: [add_3, input]}", "{concat: [add_4, conv_5]}", "  - silu\n", parameters=192)

    def test_groups_and_asymmetric_padding_keep_their_sizes(self):
        net = Net(1, 8, 15, 15).weight("g", 16, 4, 3, 3).weight("d", 16, 1, 3, 3)
        net.add("Conv", "g", group=2, pads=[1] * 4).add("Conv", "d", group=16, pads=[0, 0, 1, 1], strides=[2, 2])
        net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1]).add("GlobalAveragePool")
        self.has(net, "{out: 16, kernel: 3, stride: 1, padding: 1, groups: 2, bias: false}",
                 "{depthwise_conv: {kernel: 3, stride: 2, bias: false}}", "{max_pool: {kernel: 2, stride: 2, round_up: true}}")
        for pads, padding in (([0, 0, 2, 2], "padding: 1"), ([3, 1, 1, 3], "padding: 2")):
            self.has(Net(1, 8, 14, 14).add("MaxPool", kernel_shape=[3, 3], pads=pads), padding)
        self.has(Net(1, 8, 14, 14).add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
                 "{kernel: 3, stride: 2, padding: 1}")

    def test_a_scale_and_a_bias_behind_a_batch_normalisation_are_its_own(self):
        net = Net("N", 3, 8, 8).weight("w", 4, 3, 1, 1).values("axes", 1, 2)
        for name in (*NORM, "s", "t"):
            net.weight(name, 4)
        net.add("Conv", "w").add("BatchNormalization", " ".join(NORM))
        before = net.last
        net.node("Unsqueeze", "s axes", "s1").node("Mul", f"{before} s1", "m").node("Unsqueeze", "t axes", "shift")
        net.node("Add", "shift m", "a").add("Relu").add("GlobalAveragePool")
        self.assertNotIn("multiply", self.has(net, "- batch_norm\n  - relu", parameters=4 * 3 + 2 * 4)["yaml"])

    def test_a_bias_of_channels_behind_a_convolution_is_its_bias(self):
        net = Net("N", 3, 8, 8).weight("w", 4, 3, 1, 1).weight("b", 4, 1, 1)
        self.has(net.add("Conv", "w").add("Add", "b").add("GlobalAveragePool"), "bias: true", parameters=4 * 3 + 4)

    def test_a_shuffle_of_channels_is_left_out_with_a_note(self):
        def shuffled(*order):
            net = Net("N", 6, 8, 8).values("groups", 0, 2, 3, 8, 8).values("map", 0, 6, 8, 8)
            return net.add("Reshape", "groups").add("Transpose", perm=order).add("Reshape", "map").add("GlobalAveragePool")

        read = shuffled(0, 2, 1, 3, 4).read()
        self.assertEqual(read["layers"], 2)
        self.assertIn("shuffles", read["notes"][0])
        self.assertIn("changes the order of sizes", shuffled(0, 3, 4, 1, 2).problem())

    def test_tokens_of_a_table_are_read(self):
        net = Net("N", "N").weight("t", 100, 16).weight("s", 16).weight("w", 16, 32)
        net.inputs[0].type.tensor_type.elem_type = TensorProto.INT64
        net.node("Gather", "t x", "e").node("LayerNormalization", "e s", "n").node("Gelu", "n", "g").node("MatMul", "g w", "y")
        self.assertEqual(net.problem(), "size 1 of the input 'x' is dynamic: 'N'")
        self.has(net, "- input: [12]\n  - {embedding: {entries: 100, features: 16}}\n  - {layer_norm: {bias: false}}\n  - gelu\n",
                 sample=[12], parameters=1600 + 16 + 512)

    def test_the_response_normalisation_of_alexnet_is_a_layer_of_maps(self):
        net = Net(1, 3, 32, 32).weight("w", 8, 3, 3, 3).add("Conv", "w").add("LRN", size=5).add("Flatten")
        self.has(net, "- local_response_norm\n  - flatten\n")
        self.assertIn("is no map", Net(1, 4).weight("w", 4, 4).add("Gemm", "w").add("LRN", size=5).problem())

    def test_nodes_without_effect_on_the_output_are_left_out(self):
        net = Net(1, 3, 8, 8).add("Relu").node("LRN", "x", "unused", size=5).node("Relu", "unused", "unused_2")
        net.outputs = ["t0"]
        read = net.read()
        self.assertEqual(read["notes"][0], "left out: 2 nodes without effect on the output")
        self.assertEqual(read["operators"], {"Relu": 1})

    def test_a_weight_in_a_constant_node_has_its_shape(self):
        net = Net(1, 4).node("Constant", "", "w", value=helper.make_tensor("", TensorProto.FLOAT, [4, 8], [0] * 32))
        self.has(net.node("Gemm", "x w", "y"), "out: 8", parameters=32)


class Errors(unittest.TestCase):
    """Models that are no lists of layers."""

    def test_other_operators_and_forms_are_refused_by_operator_and_node(self):
        for problem, net in (
                ("'Einsum' (the node 'node_y'): a list of layers has no such layer", one_node("Einsum", "x", equation="ijkl->ijkl")),
                ("'Conv' (the node 'node_y'): it is dilated", one_node("Conv", "x w", dilations=[2, 2])),
                ("strides differ", one_node("Conv", "x w", strides=[2, 1])),
                ("input 1 is no weight: 'x'", one_node("Conv", "x x")),
                ("input 0 is no output of a layer", one_node("Conv", "z w")),
                ("outputs of two layers", one_node("MatMul", "x x")),
                ("adds a constant", one_node("Add", "x w")),
                ("mean over height and width", one_node("ReduceMean", "x", axes=[1, 2])),
                ("its input is no vector", one_node("Gemm", "x w")),
                ("its window is not two-dimensional", one_node("Conv", "x b")),
                ("its window is impossible", one_node("Conv", "x w", strides=[0, 0])),
                ("it does not concatenate", one_node("Concat", "x x", axis=9)),
                ("its weight is no matrix", Net(1, 4).weight("one").add("Gemm", "one")),
                ("its shapes do not fit", one_node("Relu", ""))):
            with self.subTest(problem):
                self.assertIn(problem, net.problem())

    def test_a_model_has_one_input(self):
        net = one_node("Relu", "x")
        net.inputs += [helper.make_tensor_value_info(f"in{i}", TensorProto.FLOAT, (1, 2)) for i in range(2000)]
        self.assertEqual(net.problem(), "the model has 2001 inputs: 'x', 'in0', 'in1', 'in2', 'in3', 'in4', 'in5', 'in6' and 1,993 more")

    def test_a_weight_of_two_layers_and_its_transpose_are_refused(self):
        self.assertIn("the weight 'w' belongs to another layer", Net(1, 4).weight("w", 4, 4).add("Gemm", "w").add("Gemm", "w").problem())
        for kind, attributes in (("Transpose", {}), ("Identity", {}), ("Cast", {"to": 1})):
            net = Net(1, 4).weight("w", 4, 4).node(kind, "w", "t", **attributes).node("Gemm", "x w", "a")
            self.assertIn("the weight 't' belongs to another layer", net.node("Gemm", "a t", "y").problem())

    def test_a_damaged_model_is_an_error_or_a_model(self):
        content = samples.onnx_model()
        numbers = random.Random(5)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "net.onnx")
            for _ in range(1000):
                damaged = bytearray(content)
                for _ in range(2):
                    damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
                file.write_bytes(damaged)
                with contextlib.suppress(DecodeError, onnx_layers.Refused):
                    onnx_layers.account(onnx.load(str(file), load_external_data=False), "net.onnx", "net", [])
            file.write_bytes(content[:50])
            self.assertEqual(onnx_layers.main(str(file), "net")["error"], "damaged or cut off (DecodeError)")


class Program(unittest.TestCase):
    """The command."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_import(self, model, *options, name="net.yaml"):
        (self.folder / "net.onnx").write_bytes(model)
        return command("import", "onnx", str(self.folder / "net.onnx"), "-o", str(self.folder / name), "--force", *options)

    def test_resnet50_is_the_shipped_one(self):
        done = self.run_import(resnet50().model().SerializeToString(), "--json")
        account = json.loads(done.stdout)
        self.assertEqual((account["parameters"], account["running_values"], account["warnings"]), (25_557_032, 53_120, []))
        self.assertIn(f"{account['forward_macs_per_sample']:,} MACs", command("model", "resnet50", "--batch", "1").stdout)

    def test_the_model_runs(self):
        done = self.run_import(samples.onnx_model())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("parameters  1,226", done.stdout)
        self.assertIn("no batch normalisation", done.stderr)
        run = command("run", "--model", str(self.folder / "net.yaml"), "--platform", "dgx_a100", "--gpus", "2", "--batch", "32")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_the_name_of_a_model_is_text(self):
        for name in ("null", "123", "a: b #c", 'say "x"', "ä"):
            self.assertEqual(self.run_import(samples.onnx_model(), name=f"{name}.yaml").returncode, 0)

    def test_what_is_wrong_is_an_error(self):
        self.assertEqual(self.run_import(samples.onnx_model(), name="net.txt").returncode, 2)
        self.assertEqual(self.run_import(samples.onnx_model(), "--sample", "3xtwo").returncode, 2)
        self.assertEqual(self.run_import(samples.onnx_model(), "--sample", "4x64x64").returncode, 3)
        self.assertEqual(self.run_import(samples.onnx_model(), "--sample", "3x64x64").returncode, 0)
        self.assertIn("no ONNX model: it has no graph", self.run_import(b"").stderr)
        self.assertIn("trainyard import kineto", self.run_import(pathlib.Path(SOURCE, "tests/imports/worker0.pt.trace.json").read_bytes()).stderr)
        self.assertEqual(command("import", "onnx", "/nonexistent/net.onnx", "-o", str(self.folder / "no.yaml")).returncode, 5)

    def test_shapes_that_do_not_fit_are_errors(self):
        def parameters(layers, weights):
            return f"net.onnx: error: its layers have {layers} parameters, and its weights {weights} values"

        def squeezed(axes, *sizes):
            net = Net(1, 8).weight("w", *sizes).values("axes", axes).node("Squeeze", "w axes", "s")
            return net.node("MatMul", "x s", "y")

        self.assertEqual(squeezed(0, 1, 8, 2).read()["parameters"], 16)
        self.assertEqual(squeezed(-1, 8, 2, 1).read()["parameters"], 16)
        for problem, net in (
                (parameters(40, 33), Net(1, 4).weight("w", 4, 8).weight("b", 1).add("Gemm", "w b")),
                (parameters(40, 33), Net(1, 4).weight("w", 4, 8).weight("b").add("Gemm", "w b")),
                (parameters(32, 27), Net(1, 3, 8, 8).weight("w", 8, 3, 1, 1).weight("b", 3).add("Conv", "w b").add("Flatten")),
                (parameters(8, 5), Net(1, 4).weight("w", 4).weight("b", 1).add("LayerNormalization", "w b")),
                (parameters(64, 8), squeezed(-1, 1, 8, 1)),
                ("the shape of 's' is unknown", squeezed(1, 1, 8, 1)),
                ("as a list of layers: ", Net(1, 4).values("shape", 4, -8).node("ConstantOfShape", "shape", "w").node("Gemm", "x w", "y")),
                ("as a list of layers: ", Net(1, 4).weight("w", 4, 1 << 62).add("Gemm", "w")),
                ("as a list of layers: ", one_node("Conv", "x w", group=-3))):
            with self.subTest(problem):
                done = self.run_import(net.model().SerializeToString())
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(problem, done.stderr)


unittest.main(argv=sys.argv[:1])
