"""The pictures of published runs: workloads/published/training.svg and platforms/collectives.svg.

results.py compares their numbers with the digest that each picture carries, and with --update draws those that differ
(matplotlib).
"""

import collections
import hashlib
import io
import json
import math
import re
import statistics

BLUE, GREY, RED = "#1f5fa8", "#b9b9b9", "#cc3333"
COLLECTIVES = ("aiconfigurator_nccl.csv", "autoparallel_nccl.csv", "deepbench_allreduce.csv", "nccl.csv", "vtrain_allreduce.csv")
# bus bandwidth over size / time, of n ranks: nccl-tests doc/PERFORMANCE.md
BUS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
       "reduce_scatter": lambda n: (n - 1) / n, "all_to_all": lambda n: (n - 1) / n}
KINDS = {"nvlink": "NVLink, one node", "pcie": "PCIe, one node", "several_nodes": "Several nodes"}


def training_runs(rows):
    """Of each family of runs its marks: GPUs, predicted and linear / measured, whether the source is incomplete."""
    families = collections.defaultdict(list)
    for row in rows:
        if row["scored"] == "true" and row["linear_from_one_gpu"]:
            families[row["family"]].append((int(row["gpus"]), round(1 + float(row["error"]), 3),
                                            round(float(row["linear_from_one_gpu"]) / float(row["measured"]), 3),
                                            row["incomplete"] == "true"))
    return dict(families)


def curves(result):
    """The curves of three sizes and more: kind, name, remark and dots of size, measured and predicted GB/s."""
    dots = collections.defaultdict(list)
    for row in result["rows"]:
        if row["metric"].endswith("time"):
            factor = BUS.get(row["operation"], lambda _: 1)(row["gpus"]) * row["size_bytes"] / 1e9
            dots[row["curve"]].append((row["size_bytes"], *(float(f"{factor / row[key]:.3g}") for key in ("measured", "predicted"))))
    found = []
    for number, curve in enumerate(result["curves"]):
        if len(dots[number]) < 3:
            continue
        errors = [f"{100 * curve[key]:.1f} % {words}" for key, words in (("mape_from_1_mib", "from 1 MiB up"), ("mape_below_1_mib", "below")) if curve[key]]
        found.append((curve["family"], curve["name"], ("fitted: " if curve["fitted"] else "unseen: ") + ", ".join(errors), dots[number]))
    return found


def mean_error(marks, column):
    return f"{100 * statistics.mean(abs(mark[column] - 1) for mark in marks):.1f} %"


def caption(marks):
    complete = [mark for mark in marks if not mark[3]]
    parts = [f"{mean_error(complete, 1)}, linear {mean_error(complete, 2)}, {len(complete)} runs"] if complete else []
    if len(complete) < len(marks):
        parts.append(f"{len(marks) - len(complete)} incomplete {mean_error([mark for mark in marks if mark[3]], 1)}")
    return "; ".join(parts)


def draw_family(axes, name, marks):
    axes.axhspan(0.9, 1.1, color="#dfe8f4", linewidth=0)
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(0.6, 2)
    axes.set_yticks([0.6, 0.8, 1, 1.25, 1.6, 2], labels=["0.6", "0.8", "1", "1.25", "1.6", "2"])
    axes.minorticks_off()
    columns = collections.Counter(mark[0] for mark in marks)
    counts = sorted(columns)
    axes.set_xlim(counts[0] / 1.5, counts[-1] * 1.5)
    powers = [2**i for i in range(0, 12, 1 if counts[-1] <= 256 else 2) if counts[0] <= 2**i <= counts[-1]] or counts
    axes.set_xticks(powers, labels=[str(power) for power in powers])
    places, seen = [], collections.Counter()  # runs on one number of GPUs stand side by side
    for gpus, *_ in marks:
        places.append(gpus * 2 ** (min(0.1, 0.76 / columns[gpus]) * (seen[gpus] - (columns[gpus] - 1) / 2)))
        seen[gpus] += 1
    for column, style in ((2, {"color": GREY}), (1, {"color": BLUE})):
        for is_incomplete in (True, False):
            for beyond, sign in ((0, "o"), (1, "^"), (-1, "v")):
                chosen = [(x, min(max(mark[column], 0.6), 2)) for x, mark in zip(places, marks)
                          if (column == 2 or mark[3] == is_incomplete) and (mark[column] > 2) - (mark[column] < 0.6) == beyond]
                hollow = {"markerfacecolor": "white"} if column == 1 and is_incomplete else {}
                if chosen:
                    axes.plot(*zip(*chosen), sign, markersize=3, clip_on=False, **style, **hollow)
    axes.set_title(f"{name}\n{caption(marks)}", loc="left", fontsize=8)
    axes.tick_params(labelsize=7)


def draw_training(plt, families):
    lines = math.ceil(len(families) / 3)
    height = 1.9 * lines + 1
    figure, panels = plt.subplots(lines, 3, figsize=(11, height), squeeze=False)
    figure.subplots_adjust(left=0.04, right=0.99, bottom=0.3 / height, top=1 - 1.1 / height, hspace=0.6, wspace=0.12)
    figure.suptitle("Predicted / measured training throughput over the number of GPUs, by family\n"
                    "blue: predicted, kernel times scaled to match the one-GPU run; hollow: incomplete source; grey: linear scaling of "
                    "that run;\nband: 10 %; triangles: outside; %: mean error", fontsize=9, x=0.02, y=1 - 0.1 / height, ha="left")
    for axes in panels.flat[len(families):]:
        axes.remove()
    for axes, (name, marks) in zip(panels.flat, families.items()):
        draw_family(axes, name, marks)
    return figure


def draw_curves(plt, found):
    by_kind = [curve for kind in KINDS for curve in found if curve[0] == kind]
    lines = math.ceil(len(by_kind) / 5)
    height = 2.2 * lines + 1
    figure, panels = plt.subplots(lines, 5, figsize=(17, height), squeeze=False)
    figure.subplots_adjust(left=0.03, right=0.99, bottom=0.3 / height, top=1 - 1.1 / height, hspace=0.6, wspace=0.15)
    figure.suptitle("Bus bandwidth (GB/s) over size (bytes). Dots: measured, as published; lines: predicted. fitted: constants were fitted to "
                    "the curve; %: mean of |predicted time / measured time - 1|", fontsize=10, x=0.02, y=1 - 0.1 / height, ha="left")
    for axes in panels.flat[len(by_kind):]:
        axes.remove()
    for axes, (kind, name, errors, dots) in zip(panels.flat, by_kind):
        sizes, measured, predicted = zip(*dots)
        axes.loglog(sizes, predicted, color=RED, linewidth=1)
        axes.loglog(sizes, measured, "o", markersize=2.5, markerfacecolor="white", color="#111133")
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(numticks=4)
        axes.minorticks_off()
        axes.tick_params(labelsize=7)
        axes.set_title("\n".join([KINDS[kind], name.replace("$", "")[:54], errors]), loc="left", fontsize=7)
    return figure


def digest(data):
    return "data " + hashlib.sha256(json.dumps(data).encode()).hexdigest()


def compact(svg):
    """matplotlib names every text in a comment and every part by an id, indents every mark and repeats its style, and writes
    coordinates to a millionth of a point."""
    svg = " ".join(re.sub(r'<!--.*?-->|(?<=<g) id="\w+"', "", svg, flags=re.S).split())
    svg = re.sub(r'<g([^>]*)>((?: <use [^>]*? (style="[^"]*")/>)(?: <use [^>]*? \3/>)+) </g>',
                 lambda marks: f"<g{marks[1]} {marks[3]}>{marks[2].replace(' ' + marks[3], '')} </g>", svg)
    return re.sub('="[^"]*"', lambda value: re.sub(r"(\d\.\d)\d+", r"\1", value[0]), svg) + "\n"


def is_settled(picture, data, draw, is_update):
    if picture.exists() and digest(data) in picture.read_text(encoding="utf-8"):
        return True
    if not is_update:
        print(f"{picture.name} is not what the program says; run ./dev published --update")
        return False
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "trainyard", "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False, "axes.spines.right": False})
    text = io.StringIO()
    draw(plt, data).savefig(text, format="svg", metadata={"Date": None, "Description": digest(data)})
    picture.write_text(compact(text.getvalue()), encoding="utf-8")
    return True
