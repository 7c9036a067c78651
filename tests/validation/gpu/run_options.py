"""What a step does besides its model, precision and batch: the options of PyTorch, in trainyard's words.

Runs of variant `options` state them in columns of their own; for every other variant they follow from its name.
"""

from __future__ import annotations

from dataclasses import dataclass

OPTION_COLUMNS = ("attention", "runtime", "optimizer_kernels", "accumulation", "recompute", "layers")


@dataclass(frozen=True)
class Options:
    """Keys of trainyard: stack.attention, .runtime and .optimizer_kernels, accumulation, parallelism.recompute, layers.

    `attention` is empty for a convolutional model, `layers` is 0 for a whole model.
    """

    attention: str
    runtime: str = "eager"
    optimizer_kernels: str = "foreach"
    accumulation: int = 1
    recompute: str = "none"
    layers: int = 0

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns of the plan; what PyTorch does by itself is empty in the last three."""
        return (
            self.attention,
            self.runtime,
            self.optimizer_kernels,
            str(self.accumulation) if self.accumulation > 1 else "",
            self.recompute if self.recompute != "none" else "",
            str(self.layers or ""),
        )

    @property
    def words(self) -> list[str]:
        """For titles and names of files."""
        *stack, accumulation, recompute, layers = self.cells
        named = {"accumulation": accumulation, "recompute_": recompute, "layers": layers}
        return [word for word in stack if word] + [name + value for name, value in named.items() if value]


def options_of_variant(variant: str, has_attention: bool) -> Options:
    """Those of a variant that states none: eager PyTorch with the one difference that the variant names."""
    attention = "sdpa" if variant == "sdpa" else "eager"
    return Options(
        attention=attention if has_attention else "",
        optimizer_kernels="fused" if variant == "fused_optimizer" else "foreach",
    )
