"""Measures how fast this computer's host launches kernels, for node.host.launch of a platform file.

Needs PyTorch and one GPU; takes some seconds. Let nothing else run. Prints the key for the file, then each cost.
"""
import datetime
import math
import platform
import statistics
import sys
import time

import torch

REFERENCE_US = {}  # 'trainyard calibrate host' prints this program with the costs of the reference host

CALLS = 400  # fewer than the launches that may wait for the GPU
REPETITIONS = 15


def cost_us(call):
    """Host time of a call that does not wait for the GPU: the median of the repetitions."""
    for _ in range(50):
        call()
    times = []
    for _ in range(REPETITIONS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append(1e6 * (time.perf_counter() - begin) / CALLS)
    torch.cuda.synchronize()
    return statistics.median(times)


def costs_us():
    """By operation."""
    row = torch.zeros(16, device="cuda")
    matrix, weights = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    linear, norm = torch.nn.Linear(64, 64).cuda(), torch.nn.LayerNorm(64).cuda()
    with torch.no_grad():
        costs = {
            "add_": cost_us(lambda: row.add_(1)),
            "mul": cost_us(lambda: row * 2),
            "mm": cost_us(lambda: torch.mm(matrix, weights)),
            "copy_dtype": cost_us(lambda: matrix.to(torch.bfloat16)),
            "view": cost_us(lambda: matrix.view(-1)),
            "transpose": cost_us(lambda: matrix.t()),
        }
    costs["linear_grad"] = cost_us(lambda: linear(matrix))
    costs["layer_norm_grad"] = cost_us(lambda: norm(matrix))
    return costs


def processor():
    """Its name, where Linux tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main():
    """Returns the exit code."""
    if not torch.cuda.is_available():
        print("PyTorch finds no GPU here", file=sys.stderr)
        return 1
    costs = costs_us()
    factor = math.exp(statistics.mean(math.log(costs[name] / cost) for name, cost in REFERENCE_US.items()))
    of = f"{processor()}, PyTorch {torch.__version__}, {datetime.date.today()}, {len(REFERENCE_US)} operations"
    print(f'host: {{launch: {{value: {factor:.3g}, measured: "{of}"}}}}')
    for name, cost in costs.items():
        print(f"# {name}: {cost:.2f} us, reference {REFERENCE_US[name]:.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
