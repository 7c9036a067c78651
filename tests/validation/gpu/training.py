"""One training step of PyTorch, on random data that lies on the GPU: forward, loss, backward and update.

Models are built from the hyper-parameters in workloads/models/*.yaml with random weights; nothing is downloaded. Each
must have exactly the parameters that trainyard counts. Needs torch, torchvision, transformers and a GPU.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass

import image_models
import text_models
import torch
import yaml
from objective import Built, Objective, WrongModel
from plan import WORKLOADS, Run
from plan_models import TEXT, parameters

# Small enough that a step from random weights keeps the loss finite; the time of a step does not depend on them.
LEARNING_RATES = {"momentum": 1e-3, "adam": 1e-5}
MOMENTUM = 0.9
AUTOCAST = {"amp_bf16": torch.bfloat16, "amp": torch.float16}


@dataclass
class Training:
    """A model in training: `loss` runs forward and returns the loss, `mark` names the phases for a profiler."""

    loss: Callable[[], torch.Tensor]
    optimizer: torch.optim.Optimizer
    autocast: torch.dtype | None
    scaler: torch.amp.GradScaler | None
    micro_batches: int
    replays_graphs: bool
    mark: Callable[[str], contextlib.AbstractContextManager] = lambda phase: contextlib.nullcontext()

    def step(self) -> torch.Tensor:
        """One update: gradients dropped, forward and backward, optimizer. Returns the last loss, still on the GPU."""
        with self.mark("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
        for _ in range(self.micro_batches):
            loss = self._micro_batch()
        with self.mark("optimizer"):
            self._update()
        return loss.detach().clone() if self.replays_graphs else loss.detach()  # the next replay writes over it

    def _micro_batch(self) -> torch.Tensor:
        if self.replays_graphs:
            torch.compiler.cudagraph_mark_step_begin()
        autocast = torch.autocast("cuda", dtype=self.autocast or torch.bfloat16, enabled=self.autocast is not None)
        with self.mark("forward"), autocast:
            loss = self.loss()
        if self.micro_batches > 1:
            loss = loss / self.micro_batches
        with self.mark("backward"):
            (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        return loss

    def _update(self) -> None:
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()


def make_training(run: Run) -> Training:
    """Builds model, data and optimizer of `run` and sets PyTorch's switches for its precision."""
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    set_tf32(run.precision == "tf32" or (run.variant == "options" and run.precision != "fp32"))
    with torch.device("cuda"):
        built = (text_models if run.family in TEXT else image_models).build(run, _document(run))
    built = _in_precision(run, built)
    model = built.model.to("cuda").train()
    _check_parameters(run, model)
    options = run.options
    if options.recompute == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return Training(
        loss=functools.partial(_runnable(Objective(built), options.runtime), *built.batch),
        optimizer=_make_optimizer(run, model),
        autocast=AUTOCAST.get(run.precision),
        scaler=torch.amp.GradScaler("cuda") if run.precision == "amp" else None,
        micro_batches=options.accumulation,
        replays_graphs=options.runtime == "cuda_graph",
    )


def set_tf32(allowed: bool) -> None:
    """Whether fp32 products and convolutions may run on TF32 units; PyTorch's own defaults differ for the two.

    By the older names: torch.compile reads them, and refuses to where `fp32_precision` was set
    (github.com/pytorch/pytorch/issues/166387, open in 2.11).
    """
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def _document(run: Run) -> dict:
    return yaml.safe_load((WORKLOADS / "models" / f"{run.model}.yaml").read_text())


def _in_precision(run: Run, built: Built) -> Built:
    """With parameters and images in bfloat16 where everything is; autocast and fp32 leave both in fp32."""
    if run.precision != "pure_bf16":
        return built
    cast = [tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor for tensor in built.batch]
    return Built(built.model.to(torch.bfloat16), built.loss, tuple(cast))


def _check_parameters(run: Run, model: torch.nn.Module) -> None:
    tensors = list(model.parameters())  # a tied tensor counts once
    built = (sum(tensor.numel() for tensor in tensors), len(tensors))
    expected = parameters(run.model, run.options.layers)
    if built != expected:
        raise WrongModel(f"{built} parameters and tensors, not {expected}")


def _runnable(objective: Objective, runtime: str) -> Callable[..., torch.Tensor]:
    """As PyTorch runs it, or compiled at the first step; sizes never change, so that one compilation is enough."""
    if runtime == "eager":
        return objective
    return torch.compile(objective, dynamic=False, mode="reduce-overhead" if runtime == "cuda_graph" else None)


def _make_optimizer(run: Run, model: torch.nn.Module) -> torch.optim.Optimizer:
    """PyTorch's default implementation on a GPU (foreach: several passes), or its fused one where the run says so."""
    is_fused = run.options.optimizer_kernels == "fused"
    options = {"lr": LEARNING_RATES[run.optimizer], "fused": True if is_fused else None}
    if run.optimizer == "momentum":
        return torch.optim.SGD(model.parameters(), momentum=MOMENTUM, **options)
    return torch.optim.AdamW(model.parameters(), **options)
