"""One training step of PyTorch, on random data that lies on the GPU: the models, their loss and their optimizer.

Models are built from the hyper-parameters in workloads/models/*.yaml with random weights; nothing is downloaded. Each
must have exactly the parameters that trainyard counts. Needs torch, torchvision, transformers and a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torchvision
import transformers
import yaml
from plan import PARAMETERS, WORKLOADS, Run

# Small enough that a step from random weights keeps the loss finite; the time of a step does not depend on them.
LEARNING_RATES = {"momentum": 1e-3, "adam": 1e-5}
MOMENTUM = 0.9
DROPOUT = 0.1  # everywhere in BERT and GPT-2, as published; also the default of both configurations


class WrongModel(Exception):
    """What PyTorch built is not the model that trainyard simulates."""


@dataclass
class Training:
    """A model in training: `loss` runs forward and returns the loss, `mark` names the phases for a profiler."""

    loss: Callable[[], torch.Tensor]
    optimizer: torch.optim.Optimizer
    autocast: bool
    mark: Callable[[str], contextlib.AbstractContextManager] = lambda phase: contextlib.nullcontext()

    def step(self) -> torch.Tensor:
        """One update: gradients dropped, forward, backward, optimizer. Returns the loss, still on the GPU."""
        with self.mark("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
        with self.mark("forward"), torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.autocast):
            loss = self.loss()
        with self.mark("backward"):
            loss.backward()
        with self.mark("optimizer"):
            self.optimizer.step()
        return loss.detach()


def make_training(run: Run) -> Training:
    """Builds model, data and optimizer of `run` and sets PyTorch's switches for its precision."""
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    set_tf32(run.precision == "tf32")
    with torch.device("cuda"):
        model, loss = _image_training(run) if run.family in ("resnet", "vgg") else _text_training(run)
    model.to("cuda").train()
    _check_parameters(run, model)
    return Training(loss, _make_optimizer(run, model), run.precision == "amp_bf16")


def set_tf32(allowed: bool) -> None:
    """Whether fp32 products and convolutions may run on TF32 units; PyTorch's own defaults differ for the two."""
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # PyTorch 2.9 and later
        torch.backends.cuda.matmul.fp32_precision = "tf32" if allowed else "ieee"
        torch.backends.cudnn.conv.fp32_precision = "tf32" if allowed else "ieee"
    else:
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed


def _check_parameters(run: Run, model: torch.nn.Module) -> None:
    tensors = list(model.parameters())  # a tied tensor counts once
    built = (sum(tensor.numel() for tensor in tensors), len(tensors))
    if built != PARAMETERS[run.model]:
        raise WrongModel(f"{built} parameters and tensors, trainyard counts {PARAMETERS[run.model]}")


def _make_optimizer(run: Run, model: torch.nn.Module) -> torch.optim.Optimizer:
    """PyTorch's default implementation on a GPU (foreach: several passes), or its fused one for that variant."""
    options = {"lr": LEARNING_RATES[run.optimizer], "fused": True if run.variant == "fused_optimizer" else None}
    if run.optimizer == "momentum":
        return torch.optim.SGD(model.parameters(), momentum=MOMENTUM, **options)
    return torch.optim.AdamW(model.parameters(), **options)


def _hyperparameters(run: Run) -> dict:
    document = yaml.safe_load((WORKLOADS / "models" / f"{run.model}.yaml").read_text())
    return document[run.family]


def _image_training(run: Run) -> tuple[torch.nn.Module, Callable[[], torch.Tensor]]:
    sizes = _hyperparameters(run)
    layout = torch.channels_last if run.memory_format == "channels_last" else torch.contiguous_format
    make = {"resnet50": torchvision.models.resnet50, "vgg16": torchvision.models.vgg16}[run.model]
    model = make(weights=None, num_classes=sizes["classes"]).to(memory_format=layout)
    edge = sizes["image_size"]
    images = torch.randn(run.batch_per_gpu, 3, edge, edge).contiguous(memory_format=layout)
    labels = torch.randint(sizes["classes"], (run.batch_per_gpu,))
    criterion = torch.nn.CrossEntropyLoss()
    return model, lambda: criterion(model(images), labels)


def _text_training(run: Run) -> tuple[torch.nn.Module, Callable[[], torch.Tensor]]:
    attention = "sdpa" if run.variant == "sdpa" else "eager"
    make = _bert_training if run.family == "bert" else _gpt2_training
    model, loss = make(run, _hyperparameters(run), attention)
    if model.config._attn_implementation != attention:  # no public name says which one was taken
        raise WrongModel(f"attention '{model.config._attn_implementation}', not '{attention}'")
    return model, loss


def _bert_training(run: Run, sizes: dict, attention: str) -> tuple[torch.nn.Module, Callable[[], torch.Tensor]]:
    config = transformers.BertConfig(
        vocab_size=sizes["vocabulary"],
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["intermediate"],
        max_position_embeddings=sizes["positions"],
        type_vocab_size=sizes["segments"],
        hidden_act="gelu",
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
        tie_word_embeddings=True,
    )
    model = transformers.AutoModelForPreTraining.from_config(config, attn_implementation=attention)
    batch, length = run.batch_per_gpu, run.sequence_length
    predicted = length if run.variant == "all_tokens" else sizes["predictions"][length]
    tokens = torch.randint(1, sizes["vocabulary"], (batch, length))  # 0 is padding, which gets no gradient
    segments = torch.randint(sizes["segments"], (batch, length))
    masked = torch.rand(batch, length).topk(predicted).indices.sort().values
    positions = (masked + length * torch.arange(batch).unsqueeze(1)).flatten()
    labels = torch.randint(1, sizes["vocabulary"], (batch * predicted,))
    is_next = torch.randint(2, (batch,))
    criterion = torch.nn.CrossEntropyLoss()

    def loss() -> torch.Tensor:
        encoded = model.bert(input_ids=tokens, token_type_ids=segments)
        hidden = encoded.last_hidden_state.flatten(0, 1)
        if run.variant != "all_tokens":
            hidden = hidden.index_select(0, positions)
        words, relation = model.cls(hidden, encoded.pooler_output)
        return criterion(words, labels) + criterion(relation, is_next)

    return model, loss


def _gpt2_training(run: Run, sizes: dict, attention: str) -> tuple[torch.nn.Module, Callable[[], torch.Tensor]]:
    config = transformers.GPT2Config(
        vocab_size=sizes["vocabulary"],
        n_embd=sizes["hidden"],
        n_layer=sizes["layers"],
        n_head=sizes["heads"],
        n_positions=sizes["positions"],
        activation_function="gelu_new" if run.variant == "gelu_new" else "gelu_pytorch_tanh",
        resid_pdrop=DROPOUT,
        embd_pdrop=DROPOUT,
        attn_pdrop=DROPOUT,
        tie_word_embeddings=True,
    )
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    tokens = torch.randint(sizes["vocabulary"], (run.batch_per_gpu, run.sequence_length))
    return model, lambda: model(input_ids=tokens, labels=tokens, use_cache=False).loss
