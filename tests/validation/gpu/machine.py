"""The facts of the machine and of PyTorch, for the comments of a recording. Needs torch and a GPU."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import subprocess

import torch


def facts() -> dict[str, str]:
    """What every time depends on; a fact that cannot be read is left out."""
    gpu = torch.cuda.get_device_properties(0)
    known = {
        "gpu": gpu.name,
        "compute_capability": f"{gpu.major}.{gpu.minor}",
        "sm_count": str(gpu.multi_processor_count),
        "memory_capacity": f"{gpu.total_memory} B",
        "memory_bandwidth": _memory_bandwidth(gpu),
        **_driver_facts(),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": str(torch.backends.cudnn.version()),
        "allocator": os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or "default",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }
    return {key: value for key, value in known.items() if value}


def _memory_bandwidth(gpu: object) -> str:
    """Two transfers per clock on every wire, as trainyard_gpu_kernels counts; older versions of PyTorch do not tell."""
    clock_khz = getattr(gpu, "memory_clock_rate", 0)
    bits = getattr(gpu, "memory_bus_width", 0)
    return f"{clock_khz * 1e3 * 2 * bits / 8 / 1e9:.0f} GB/s" if clock_khz and bits else ""


def _driver_facts() -> dict[str, str]:
    names = {"driver": "driver_version", "sm_clock": "clocks.max.sm", "power_limit": "power.limit"}
    query = ["nvidia-smi", f"--query-gpu={','.join(names.values())}", "--format=csv,noheader", "--id=0"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(names, [value.strip() for value in answer.split(",")]))


def _cpu() -> str:
    """The host's processor: steps of small batches wait for it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else ""
