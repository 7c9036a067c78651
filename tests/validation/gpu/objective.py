"""A model with its loss as one module, so that torch.compile gets both at once. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch


class WrongModel(Exception):
    """What PyTorch built is not the model that trainyard simulates."""


@dataclass(frozen=True)
class Built:
    """What a run trains: `loss` of the model and a batch, and the batch, whose tensors lie on the GPU."""

    model: torch.nn.Module
    loss: Callable[..., torch.Tensor]
    batch: tuple[torch.Tensor, ...]


class Objective(torch.nn.Module):
    """Computes the loss of a batch."""

    def __init__(self, built: Built) -> None:
        super().__init__()
        self.model = built.model
        self.loss_of = built.loss

    def forward(self, *batch: torch.Tensor) -> torch.Tensor:
        return self.loss_of(self.model, *batch)
