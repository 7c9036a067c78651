"""An ONNX model as a model file with a list of layers (docs/models.md, "Write your own model").

The program holds this file and runs it with python3 (import_onnx.cpp). onnx infers the shape of every tensor; a layer is written for
each node that computes. The batch, the first size of the input, is left out. Prints JSON: the model file and an account of it, or an
error. Whether the layers have as many parameters as the weights is checked by the program.

usage: onnx_layers.py FILE NAME [SIZES]     NAME: of the model; SIZES: of a sample, 3x224x224, where the file leaves them open
"""

import collections
import copy
import dataclasses
import json
import math
import os
import pathlib
import sys

try:
    import onnx
    import onnx.shape_inference
except ImportError:
    onnx = None

HINT_ATTENTION = "write attention by hand: {attention: {heads: 12}}"


class Refused(Exception):
    """A problem of the model, and a hint."""


@dataclasses.dataclass
class Entry:
    """A layer of the list."""

    kind: str
    keys: str
    inputs: list
    is_join: bool = False  # it names its inputs itself
    name: str = ""


def shown(name):
    name = name.decode(errors="replace") if isinstance(name, bytes) else name  # protobuf gives bytes where a text is none
    return repr(name[:60] + "..." * (len(name) > 60))


def plural(count, word):
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def inferred_shapes(model):
    """The shape of each tensor by name, where all sizes are known. A batch that the file leaves open is 1."""
    for tensor in model.graph.initializer:
        if tensor.data_type not in (onnx.TensorProto.INT32, onnx.TensorProto.INT64):
            for values in ("raw_data", "float_data", "external_data"):  # models of 2 GiB and more have no bytes
                tensor.ClearField(values)
    model = copy.deepcopy(model)
    for node in model.graph.node:
        if node.op_type == "Gelu":  # of other domains, or younger than onnx
            node.op_type, node.domain = "Relu", ""
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:  # a node without its operands, an unknown type
        raise Refused(f"its shapes do not fit: {str(error)[:500]!r}") from error
    shapes = {one.name: list(one.dims) for one in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        sizes = [size.dim_value for size in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.HasField("shape") and 0 not in sizes:
            shapes[value.name] = sizes
    return shapes


class Layers:
    """The list of layers of a model."""

    def __init__(self, model, sample):
        self.graph = model.graph
        self.node = None
        self.makers = {output: node for node in self.graph.node for output in node.output}
        self.constants = {one.name for one in self.graph.initializer}  # and what is computed from them and from shapes
        self.entries, self.notes, self.warnings = [], [], []
        self.of_entry = {}  # entries by the name of their output
        self.maps = {}  # shapes of maps by the name of a tensor with their channels in groups
        self.pooled = set()  # names of vectors, which ONNX has as maps of one pixel
        self.sigmoids = {}  # not multiplied yet, and their inputs
        self.kinds, self.uses = collections.Counter(), collections.Counter()
        self.learnt = set()
        self.parameters = self.running_values = self.asymmetric = 0
        self.has_loss = self.has_norm = self.has_convolution_bias = False
        nodes = self.nodes()
        self.add_input(sample)
        self.refuse_crashes(model)
        self.shapes = inferred_shapes(model)
        for self.node in nodes:
            self.kinds[self.node.op_type] += 1
            if self.node.op_type == "Shape" or self.constants.issuperset(filter(None, self.node.input)):
                self.constants.update(self.node.output)
            else:
                self.add()
        self.node = None
        self.end()

    # The graph

    def refuse(self, problem, hint=""):
        if self.node is None:
            raise Refused(problem, hint)
        name = f"node {shown(self.node.name)}" if self.node.name else f"node of {shown(self.output)}"
        raise Refused(f"{shown(self.node.op_type)} (the {name}): {problem}", hint)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def nodes(self):
        """The nodes that lead to an output, in the order of the file, which is one of execution."""
        needed = {one.name for one in self.graph.output}
        self.uses.update(needed)
        found = []
        for node in reversed(self.graph.node):
            if not needed.isdisjoint(node.output):
                needed.update(node.input)
                self.uses.update(node.input)
                found.insert(0, node)
        if rest := len(self.graph.node) - len(found):
            self.note(f"left out: {plural(rest, 'node')} without effect on the output")
        return found

    def refuse_crashes(self, model):
        """Refuses models on which the package onnx crashes."""
        if model.functions:
            self.refuse("it has functions of its own", "a list of layers has no such layer")
        for tensor in self.graph.initializer:
            size = {onnx.TensorProto.INT32: 4, onnx.TensorProto.INT64: 8}.get(tensor.data_type)
            if size and tensor.raw_data and len(tensor.raw_data) != size * math.prod(tensor.dims):
                self.refuse(f"the values of {shown(tensor.name)} do not fit its shape")
        for self.node in self.graph.node:
            if any(0 in self.numbers(key) for key in ("strides", "kernel_shape", "dilations")):
                self.refuse("its window is impossible")
        self.node = None

    def add_input(self, sample):
        """The input has the sizes of the file or, where those are open, of the sample; writes them into the graph."""
        # Before version 4 of the format weights were inputs, too.
        inputs = [one for one in self.graph.input if one.name not in self.constants]
        if len(inputs) != 1:
            names = ", ".join(shown(one.name) for one in inputs[:8]) + (f" and {len(inputs) - 8:,} more" if len(inputs) > 8 else "")
            self.refuse(f"the model has {len(inputs)} inputs{': ' if inputs else ''}{names}",
                        "export it with one input, or write the list of layers by hand")
        name, dims = shown(inputs[0].name), inputs[0].type.tensor_type.shape.dim
        if len(dims) < 2 and not sample:
            self.refuse(f"the input {name} has no shape", "--sample 3x224x224 gives it")
        if sample and dims and len(dims) != len(sample) + 1:
            self.refuse(f"the input {name} has {len(dims)} sizes with the batch, not {len(sample) + 1}")
        shape = sample or [dim.dim_value for dim in dims[1:]]
        for i, (size, dim) in enumerate(zip(shape, dims[1:]), 1):
            if size < 1:
                symbol = f": {shown(dim.dim_param)}" if dim.dim_param else ""
                self.refuse(f"size {i} of the input {name} is dynamic{symbol}", "--sample 3x224x224 gives all sizes of a sample")
            if dim.dim_value > 0 and dim.dim_value != size:
                self.refuse(f"size {i} of the input {name} is {dim.dim_value}, not {size}")
        if len(shape) > 3 or max(shape) > 10_000_000:
            self.refuse(f"the input {name} is no map, tokens or vector")
        batch = dims[0].dim_value if dims else 1
        del dims[:]
        for size in (max(batch, 1), *shape):
            dims.add().dim_value = size
        self.entries.append(Entry("input", f"[{', '.join(map(str, shape))}]", []))
        self.of_entry[inputs[0].name] = 0

    # The node at hand

    @property
    def output(self):
        return self.node.output[0] if self.node.output else ""

    def operand(self, i):
        return self.node.input[i] if i < len(self.node.input) else ""

    def attribute(self, name):
        return next((one for one in self.node.attribute if one.name == name), onnx.AttributeProto())

    def number(self, name, otherwise=0):
        attribute = self.attribute(name)
        return attribute.i if attribute.HasField("i") else otherwise

    def numbers(self, name, otherwise=()):
        return list(self.attribute(name).ints or otherwise)

    def shape(self, name):
        if name not in self.shapes:
            self.refuse(f"the shape of {shown(name)} is unknown")
        return self.shapes[name]

    def entry_of(self, i):
        """The layer that an operand is the output of."""
        if self.operand(i) not in self.of_entry:
            self.refuse(f"input {i} is no output of a layer")
        return self.of_entry[self.operand(i)]

    def sizes(self, i=0):
        """The shape of an operand that is the output of a layer, without the batch."""
        self.entry_of(i)
        return self.shape(self.operand(i))[1:2 if self.operand(i) in self.pooled else None]

    def map(self):
        """The first operand: channels, height and width."""
        if len(self.sizes()) != 3:
            self.refuse("the input is no map of channels, height and width", "only two-dimensional ones are read")
        return self.sizes()

    def weight(self, i):
        """The shape of a weight that is learnt; counts its parameters. A matrix and its transpose are one weight."""
        name = origin = self.operand(i)
        if name not in self.constants:
            self.refuse(f"input {i} is no weight: {shown(name)}")
        while origin in self.makers and self.makers[origin].op_type in ("Transpose", "Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze"):
            origin = self.makers[origin].input[0]
        if origin in self.learnt:
            self.refuse(f"the weight {shown(name)} belongs to another layer, too", "a list of layers shares weights of embeddings alone")
        self.learnt.add(origin)
        self.parameters += math.prod(self.shape(name))
        return self.shape(name)

    def matrix(self):
        """The shape of the second operand, a weight of two dimensions."""
        if len(self.shape(self.operand(1))) != 2:
            self.refuse("its weight is no matrix")
        return self.weight(1)

    def bias(self):
        """Counts the third operand; whether there is one, in YAML."""
        if self.operand(2):
            self.weight(2)
        return "true" if self.operand(2) else "false"

    def window(self, kernel, rounds_up=False):
        """The keys of a window over a map."""
        strides, pads = self.numbers("strides", [1, 1]), self.numbers("pads", [0, 0, 0, 0])
        if len(kernel) != 2 or len(strides) != 2 or len(pads) != 4:
            self.refuse("its window is not two-dimensional")
        if any(one != 1 for one in self.numbers("dilations")):
            self.refuse("it is dilated", "a list of layers has no dilated windows")
        if strides[0] != strides[1]:
            self.refuse("its strides differ by direction")
        sides = list(zip(self.map()[1:], self.shape(self.output)[2:], kernel, strides, pads[:2], pads[2:]))
        can_round = self.node.op_type != "Conv" and not rounds_up
        # Padding after the map alone gives the sizes of rounding up.
        if can_round and all(before == 0 < after and out == -((k - size) // stride) + 1 for size, out, k, stride, before, after in sides):
            self.asymmetric += 1
            rounds_up, padding = True, [0, 0]
        else:
            padding = [self.padding(rounds_up, *side) for side in sides]

        def both(pair):
            return f"{pair[0]}" if pair[0] == pair[1] else f"[{pair[0]}, {pair[1]}]"

        return (f"kernel: {both(kernel)}, stride: {strides[0]}" + (f", padding: {both(padding)}" if any(padding) else "")
                + (", round_up: true" if rounds_up else ""))

    def padding(self, rounds_up, size, out, kernel, stride, before, after):
        """The padding of each side of a list's layers, which is symmetric: one with the same output."""
        if self.attribute("auto_pad").s not in (b"", b"NOTSET"):
            total = max((out - 1) * stride + kernel - size, 0)
            before, after = total // 2, total - total // 2
        for symmetric in (min(before, after), max(before, after), (before + after) // 2, (before + after + 1) // 2):
            if (size + 2 * symmetric - kernel + (stride - 1 if rounds_up else 0)) // stride + 1 == out:
                self.asymmetric += before != after
                return symmetric
        return self.refuse("its padding is asymmetric, and no symmetric one has the same output")

    # The layers

    def add(self):
        rule = RULES.get(self.node.op_type)
        if rule is None or (self.node.domain not in ("", "ai.onnx") and self.node.op_type != "Gelu"):
            self.refuse("a list of layers has no such layer", 'write the model by hand: docs/models.md, "Write your own model"')
        rule[0](self, *rule[1:])

    def add_layer(self, kind, keys="", inputs=None, is_join=False):
        self.entries.append(Entry(kind, f"{{{keys}}}" if keys else "", inputs or [self.entry_of(0)], is_join))
        self.of_entry[self.output] = len(self.entries) - 1
        if kind == "global_pool" or self.operand(0) in self.pooled:
            self.pooled.add(self.output)

    def pass_on(self, i=0):
        """No layer."""
        self.of_entry[self.output] = self.entry_of(i)
        if self.operand(i) in self.pooled:
            self.pooled.add(self.output)

    def add_conv(self):
        channels = self.map()[0]
        weights = self.weight(1)
        if len(weights) != 4:
            self.refuse("its window is not two-dimensional")
        groups = self.number("group", 1)
        is_depthwise = 1 < groups == channels == weights[0]
        keys = ("" if is_depthwise else f"out: {weights[0]}, ") + self.window(weights[2:])
        if groups != 1 and not is_depthwise:
            keys += f", groups: {groups}"
        self.has_convolution_bias |= bool(self.operand(2))
        self.add_layer("depthwise_conv" if is_depthwise else "conv", f"{keys}, bias: {self.bias()}")

    def add_pool(self, kind):
        if any(self.uses[one] for one in self.node.output[1:]):
            self.refuse("its second output is used")
        self.add_layer(kind, self.window(self.numbers("kernel_shape"), self.number("ceil_mode") != 0))

    def add_global_pool(self):
        self.map()
        self.add_layer("global_pool")

    def add_mean(self):
        axes = sorted(axis + 4 if axis < 0 else axis for axis in self.numbers("axes", [2, 3]))  # an input since version 18
        if axes != [2, 3] or math.prod(self.shape(self.output)[1:]) != self.map()[0]:
            self.refuse("only the mean over height and width is supported")
        self.add_layer("global_pool")

    def add_gemm(self):
        if len(self.sizes()) != 1:
            self.refuse("its input is no vector", "Flatten before it")
        if self.number("transA"):
            self.refuse("it transposes the samples")
        out = self.matrix()[0 if self.number("transB") else 1]
        self.add_layer("linear", f"out: {out}, bias: {self.bias()}")

    def add_matmul(self):
        if self.operand(0) in self.of_entry and self.operand(1) in self.of_entry:
            self.refuse("it multiplies the outputs of two layers", HINT_ATTENTION)
        if len(self.sizes()) not in (1, 2):
            self.refuse("its weight does not fit its input")
        self.add_layer("linear", f"out: {self.matrix()[1]}, bias: false")

    def add_batch_norm(self):
        self.weight(1)
        self.weight(2)
        self.running_values += sum(math.prod(self.shape(self.operand(i))) for i in (3, 4) if self.operand(i))
        self.has_norm = True
        self.add_layer("batch_norm")

    def add_layer_norm(self):
        if len(self.sizes()) > 2 or self.number("axis", -1) not in (-1, len(self.sizes())):
            self.refuse("it normalises other axes than the last")
        self.weight(1)
        self.add_layer("layer_norm", f"bias: {self.bias()}")

    def add_response_norm(self):
        self.map()
        self.add_layer("local_response_norm")

    def add_clip(self):
        self.note("Clip is written as relu, which costs as much")
        self.add_layer("relu")

    def add_prelu(self):
        self.weight(1)
        self.add_layer("prelu")

    def add_sigmoid(self):
        """x times its sigmoid is SiLU; the sigmoid of the model's output is a loss."""
        if self.is_last():
            self.add_loss("sigmoid_cross_entropy")
            return
        self.pass_on()
        self.sigmoids[self.output] = self.operand(0)

    def add_product(self):
        for a, b in ((0, 1), (1, 0)):
            if self.operand(a) in self.sigmoids:
                if self.sigmoids.pop(self.operand(a)) != self.operand(b) or self.uses[self.operand(a)] != 1:
                    self.refuse("it multiplies a sigmoid with something else")
                self.add_layer("silu", inputs=[self.entry_of(b)])
                return
        if not self.takes_affine_of_norm():
            self.add_join("multiply")

    def layer_and_constant(self):
        """The places of the output of a layer and of a constant, or None."""
        places = ((a, b) for a, b in ((0, 1), (1, 0)) if self.operand(a) in self.of_entry and self.operand(b) in self.constants)
        return next(places, None)

    def takes_affine_of_norm(self):
        """Caffe's batch normalisation has no scale and bias: a Mul and an Add behind it have them. Here they are those of the batch
        normalisation, whose own are constants."""
        if (places := self.layer_and_constant()) is None:
            return False
        layer, scale = places
        is_affine = math.prod(self.shape(self.operand(scale))) == self.sizes(layer)[0]
        if self.entries[self.entry_of(layer)].kind != "batch_norm" or self.uses[self.operand(layer)] != 1 or not is_affine:
            return False
        self.note("a scale and a bias behind a batch normalisation are its own")
        self.pass_on(layer)
        return True

    def add_sum(self):
        """A bias behind a product or a convolution without one, or the sum of layers."""
        if self.takes_affine_of_norm():
            return
        if (places := self.layer_and_constant()) is None:
            self.add_join("add")
            return
        layer, bias = places
        entry = self.entries[self.entry_of(layer)]
        is_map = entry.kind in ("conv", "depthwise_conv")
        if (entry is not self.entries[-1] or not (is_map or entry.kind == "linear") or self.uses[self.operand(layer)] != 1
                or not entry.keys.endswith("bias: false}")
                or math.prod(self.shape(self.operand(bias))) != self.sizes(layer)[0 if is_map else -1]):
            self.refuse("it adds a constant to a layer", "a list of layers adds outputs of layers alone")
        self.weight(bias)
        self.has_convolution_bias |= is_map
        entry.keys = entry.keys.removesuffix("false}") + "true}"
        self.pass_on(layer)

    def add_join(self, kind):
        """Two layers at a time."""
        inputs = [self.entry_of(i) for i in range(len(self.node.input))]
        self.pass_on()
        for after in inputs[1:]:
            self.add_layer(kind, inputs=[self.of_entry[self.output], after], is_join=True)

    def add_concat(self):
        inputs = [self.entry_of(i) for i in range(len(self.node.input))]
        rank = len(self.sizes()) + 1
        if self.number("axis") not in ((2, -1) if rank == 3 else (1, 1 - rank)):
            self.refuse("it does not concatenate channels or features")
        if len(inputs) == 1:
            self.pass_on()
        else:
            self.add_layer("concat", inputs=inputs, is_join=True)

    def flatten(self):
        if len(self.sizes()) == 1:
            self.pass_on()
        else:
            self.add_layer("flatten")

    def add_flatten(self):
        if self.number("axis", 1) != 1:
            self.refuse("it flattens samples into each other")
        self.flatten()

    def add_reshape(self):
        before, after = self.sizes(), self.shape(self.output)[1:]
        is_grouped = len(before) == 3 and len(after) == 4 and after[0] * after[1] == before[0] and after[2:] == before[1:]
        if after == before:
            self.pass_on()
        elif is_grouped:
            self.pass_on()
            self.maps[self.output] = before
        elif after == self.maps.get(self.operand(0)):
            self.note("shuffles of channels are left out: they copy maps")
            self.pass_on()
        elif after == [math.prod(before)]:
            self.flatten()
        else:
            self.refuse(f"it makes {after} of {before}", "a list of layers flattens alone")

    def add_transpose(self):
        """The groups of channels change places with the channels of a group, as in ShuffleNet."""
        if self.operand(0) not in self.maps or self.numbers("perm") != [0, 2, 1, 3, 4]:
            self.refuse("it changes the order of sizes", "a list of layers shuffles groups of channels alone")
        self.pass_on()
        self.maps[self.output] = self.maps[self.operand(0)]

    def add_squeeze(self):
        if len(self.sizes()) != 1 and (len(self.sizes()) != 3 or self.sizes()[1:] != [1, 1]):
            self.refuse("it takes sizes away")
        self.flatten()

    def add_embedding(self):
        """Rows of a table that is a weight."""
        if self.operand(0) not in self.constants or self.entry_of(1) != 0 or len(self.sizes(1)) != 1:
            self.refuse("it is no look-up of the input's tokens in a table")
        table = self.weight(0)
        if len(table) != 2 or self.number("axis") != 0:
            self.refuse("its table is no matrix")
        self.add_layer("embedding", f"entries: {table[0]}, features: {table[1]}", [0])

    def is_last(self):
        return any(one.name == self.output for one in self.graph.output) and self.uses[self.output] == 1

    def add_loss(self, kind):
        if not self.is_last():
            self.refuse("it is not the model's output", HINT_ATTENTION)
        self.add_layer(kind)
        self.has_loss = True

    def end(self):
        if len(self.graph.output) != 1:
            self.refuse(f"the model has {len(self.graph.output)} outputs", "export it with one output")
        if self.sigmoids:
            self.refuse("a sigmoid is not multiplied with its input, and is no output")
        last = self.of_entry.get(self.graph.output[0].name)
        if last is None:
            self.refuse("the model's output is computed from no input")
        if not self.has_loss:
            if last == 0:
                self.refuse("the model has no layers")
            self.entries.append(Entry("softmax_cross_entropy", "", [last]))
            self.note("the model has no loss: softmax_cross_entropy is assumed")
        if self.asymmetric:
            sides = plural(self.asymmetric, "side or pooling")
            self.note(f"asymmetric padding of {sides} is written as symmetric, with the same shapes and FLOPs")
        if self.has_convolution_bias and not self.has_norm:
            self.warnings.append("convolutions have a bias and no batch normalisation follows: if the model has some, the export "
                                 "folded it into them. For training export with training=torch.onnx.TrainingMode.TRAINING")
        if self.running_values:
            self.note(f"running means and variances are no parameters: {self.running_values:,} values")

    def text(self):
        """The list; entries that others refer to get names."""
        for i, entry in enumerate(self.entries):
            for one in entry.inputs:
                if one > 0 and (entry.is_join or one + 1 != i):
                    self.entries[one].name = f"{self.entries[one].kind}_{one}"
        return "".join(f"  - {self.entry_text(i, entry)}\n" for i, entry in enumerate(self.entries))

    def entry_text(self, i, entry):
        if i == 0:
            return f"input: {entry.keys}"
        inputs = [self.entries[one].name or "input" for one in entry.inputs]
        head = f"name: {entry.name}, " if entry.name else ""
        if entry.is_join:
            return f"{{{head}{entry.kind}: [{', '.join(inputs)}]}}"
        if entry.inputs[0] + 1 != i:
            head += f"from: {inputs[0]}, "
        return f"{{{head}{entry.kind}: {entry.keys or '{}'}}}" if head or entry.keys else entry.kind


# Operators, the functions that check their forms and add layers, and the names of these layers.
RULES = {
    "Conv": (Layers.add_conv,), "Gemm": (Layers.add_gemm,), "MatMul": (Layers.add_matmul,),
    "BatchNormalization": (Layers.add_batch_norm,), "LayerNormalization": (Layers.add_layer_norm,),
    "LRN": (Layers.add_response_norm,), "MaxPool": (Layers.add_pool, "max_pool"), "AveragePool": (Layers.add_pool, "average_pool"),
    "GlobalAveragePool": (Layers.add_global_pool,), "ReduceMean": (Layers.add_mean,), "Relu": (Layers.add_layer, "relu"),
    "Clip": (Layers.add_clip,), "Gelu": (Layers.add_layer, "gelu"), "Dropout": (Layers.add_layer, "dropout"),
    "PRelu": (Layers.add_prelu,), "Sigmoid": (Layers.add_sigmoid,), "Add": (Layers.add_sum,), "Sum": (Layers.add_sum,),
    "Mul": (Layers.add_product,), "Concat": (Layers.add_concat,), "Flatten": (Layers.add_flatten,), "Reshape": (Layers.add_reshape,),
    "Squeeze": (Layers.add_squeeze,), "Transpose": (Layers.add_transpose,), "Identity": (Layers.pass_on,), "Cast": (Layers.pass_on,),
    "Gather": (Layers.add_embedding,), "Softmax": (Layers.add_loss, "softmax_cross_entropy"),
    "LogSoftmax": (Layers.add_loss, "softmax_cross_entropy")}


def account(model, file, name, sample):
    if not model.HasField("graph"):
        raise Refused("no ONNX model: it has no graph")
    layers = Layers(model, sample)
    operators = [f" of operator set {one.version}" for one in model.opset_import if one.domain in ("", "ai.onnx")]
    head = (f"# {repr(pathlib.Path(file).name)[1:-1]}, an ONNX model{''.join(operators[-1:])}, by `trainyard import onnx`\n"
            f"name: {json.dumps(name, ensure_ascii=False)}\nlayers:\n")
    return {"yaml": head + layers.text(), "operators": dict(sorted(layers.kinds.items())), "layers": len(layers.entries) - 1,
            "parameters": layers.parameters, "running_values": layers.running_values, "notes": layers.notes,
            "warnings": layers.warnings}


def main(file, name, sizes=""):
    try:
        model = onnx.load(file, load_external_data=False)
    except Exception as error:  # pylint: disable=broad-except  # protobuf and onnx throw many kinds for a damaged file
        return {"error": f"damaged or cut off ({type(error).__name__})", "hint": "an ONNX model is expected: torch.onnx.export writes one"}
    try:
        return account(model, file, name.encode(errors="replace").decode(), [int(size) for size in sizes.split("x") if size])
    except Refused as refused:
        return {"error": refused.args[0], "hint": "".join(refused.args[1:])}
    except Exception as error:  # pylint: disable=broad-except  # of a node of a form that nobody thought of
        return {"error": f"it cannot be read as a list of layers ({type(error).__name__}: {str(error)[:200]!r})",
                "hint": 'write the model by hand: docs/models.md, "Write your own model"'}


if __name__ == "__main__":
    debian = "/usr/bin/python3"  # has Debian's packages, which another python3 in PATH has not
    if onnx is None and sys.executable != debian and os.path.exists(debian):
        os.execv(debian, [debian, *sys.orig_argv[1:]])
    print(json.dumps(main(*sys.argv[1:]) if onnx else {}))
