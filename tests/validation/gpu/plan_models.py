"""The models of the plan: how each can be run, and the parameters that it must have when PyTorch has built it."""

from __future__ import annotations

FAMILIES = {
    "resnet50": "resnet",
    "resnet101": "resnet",
    "vgg16": "vgg",
    "densenet121": "layers",
    "mobilenet_v2": "layers",
    "vit_b_16": "vit",
    "bert_base": "bert",
    "bert_large": "bert",
    "gpt2_small": "gpt2",
    "gpt2_medium": "gpt2",
    "llama2_7b": "decoder",
    "llama3_8b": "decoder",
    "qwen3_0_6b": "decoder",
    "t5_base": "encoder_decoder",
}
CONVOLUTIONAL = ("resnet", "vgg", "layers")
TEXT = ("bert", "gpt2", "decoder", "encoder_decoder")

VARIANTS = {
    "resnet": ("default", "fused_optimizer", "options"),
    "vgg": ("default", "fused_optimizer", "options"),
    "layers": ("options",),
    "vit": ("options",),
    "bert": ("default", "fused_optimizer", "sdpa", "all_tokens", "options"),
    "gpt2": ("default", "fused_optimizer", "sdpa", "gelu_new", "options"),
    "decoder": ("options",),
    "encoder_decoder": ("options",),
}

# Parameters and tensors, as `trainyard model` counts them: what PyTorch builds must have as many.
# Decoders have three tensors more in each layer, since transformers keeps q, k and v, and gate and up, apart.
PARAMETERS = {
    "resnet50": (25_557_032, 161),
    "resnet101": (44_549_160, 314),
    "vgg16": (138_357_544, 32),
    "densenet121": (7_978_856, 364),
    "mobilenet_v2": (3_504_872, 158),
    "vit_b_16": (86_567_656, 152),
    "bert_base": (110_106_428, 206),
    "bert_large": (336_226_108, 398),
    "gpt2_small": (124_439_808, 148),
    "gpt2_medium": (354_823_168, 292),
    "llama2_7b": (6_738_415_616, 291),
    "llama3_8b": (8_030_261_248, 291),
    "qwen3_0_6b": (596_049_920, 310),
    "t5_base": (222_903_552, 257),
}

# Of the models that also run with fewer layers: their layers, and parameters and tensors of one.
LAYERS = {
    "llama2_7b": (32, 202_383_360, 9),
    "llama3_8b": (32, 218_112_000, 9),
    "qwen3_0_6b": (28, 15_730_944, 11),
}


def memory_formats(family: str) -> tuple[str, ...]:
    return ("contiguous", "channels_last") if family in CONVOLUTIONAL else ("contiguous",)


def optimizer(family: str) -> str:
    return "momentum" if family in CONVOLUTIONAL else "adam"


def parameters(model: str, layers: int = 0) -> tuple[int, int]:
    """Parameters and tensors of a model with this many layers; 0: all."""
    values, tensors = PARAMETERS[model]
    if not layers:
        return values, tensors
    whole, values_each, tensors_each = LAYERS[model]
    return values - (whole - layers) * values_each, tensors - (whole - layers) * tensors_each
