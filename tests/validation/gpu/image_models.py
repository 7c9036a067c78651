"""Models of images, from torchvision, with the sizes in workloads/models. Needs torch and torchvision."""

from __future__ import annotations

import torch
import torchvision
from objective import Built
from plan import Run


def build(run: Run, document: dict) -> Built:
    """Model, loss and random images; `document` is the model's file."""
    edge, classes = _sizes(run, document)
    layout = torch.channels_last if run.memory_format == "channels_last" else torch.contiguous_format
    options = {"image_size": edge} if run.family == "vit" else {}
    model = getattr(torchvision.models, run.model)(weights=None, num_classes=classes, **options)
    model = model.to(memory_format=layout)
    images = torch.randn(run.batch_per_gpu, 3, edge, edge).contiguous(memory_format=layout)
    labels = torch.randint(classes, (run.batch_per_gpu,))
    criterion = torch.nn.CrossEntropyLoss()
    return Built(model, lambda model, images, labels: criterion(model(images), labels), (images, labels))


def _sizes(run: Run, document: dict) -> tuple[int, int]:
    """Pixels along an edge, and classes."""
    if run.family != "layers":
        return document[run.family]["image_size"], document[run.family]["classes"]
    layers = document["layers"]
    classes = [layer["linear"] for layer in layers if isinstance(layer, dict) and "linear" in layer]
    return layers[0]["input"][1], classes[-1]
