"""Rules by which published rows of training with parameter servers become experiments: over the columns gpu,
gpus_per_node, nodes, framework, model and notes, and over `servers` (how many there were) and `update` (what the
framework's option variable_update said) where a file has them; never over who published a row.
"""

from __future__ import annotations

import dataclasses

WIDEST_NODE = 8  # GPUs; a series that uses more in one node ran on the larger EC2 instance
CPUS = {"dgx1_p100": 2, "p2_8xlarge": 1, "p2_16xlarge": 2, "piz_daint": 1}  # of a node


class Excluded(Exception):
    """A row that is not predicted; the text is the rule that leaves it out."""


@dataclasses.dataclass(frozen=True)
class Setup:
    """How the rows of a series are simulated."""

    platform: str
    model: str
    optimizer: str
    family: str


def is_tensorflow(row):
    return row["framework"].startswith("TensorFlow")


def is_mxnet(row):
    return "dist_device_sync" in row["framework"]


def data_of(row):
    """What was fed: `synthetic` where the notes do not say that images were read."""
    return "real" if row["notes"].startswith("real") else "synthetic"


def platform_of(row, widest):
    """`widest`: the most GPUs that the series uses in one node."""
    gpu = row["gpu"]
    if gpu.startswith("P100-SXM2"):
        return "dgx1_p100"
    if gpu.startswith("P100 PCIe") and widest == 1:
        return "piz_daint"
    if gpu.startswith("K80") and widest > WIDEST_NODE or is_mxnet(row):
        return "p2_16xlarge"
    if gpu.startswith("K80") and widest > 1:
        return "p2_8xlarge"
    if gpu.startswith("K80"):
        raise Excluded("no platform describes nodes with one K80 GPU")
    raise Excluded(f"no platform with a {gpu}")


def model_of(row):
    suffix = {True: "_tf", False: "_mxnet"}[is_tensorflow(row)]
    models = {
        "AlexNet": "alexnet" + suffix,
        "Inception v3": "inception_v3" + (suffix if is_tensorflow(row) else ""),
        "ResNet-50": "resnet50",
        "ResNet-152": "resnet152",
        "VGG-16": "vgg16",
    }
    if row["model"] not in models:
        raise Excluded(f"no model {row['model']}")
    return models[row["model"]]


def family_of(row):
    """Rows that the same mechanism explains; they share a line of the table."""
    framework = row["framework"]
    data = data_of(row)
    if is_mxnet(row):
        return "MXNet kvstore" + (", AlexNet" if row["model"] == "AlexNet" else "")
    if "distributed_replicated" in framework:
        return f"TensorFlow distributed_replicated, {data}"
    if "without NCCL" in framework:
        return f"TensorFlow replicated without NCCL, {data}"
    if "NCCL" in framework:
        return f"TensorFlow replicated, {data}"
    if "vars on GPU" in framework:
        return f"TensorFlow variables on GPUs, {data}"
    if "vars on CPU" in framework:
        return f"TensorFlow variables on the host, {data}"
    if row["gpu"].startswith("P100"):
        return f"TensorFlow servers on Piz Daint, {data}"
    return f"TensorFlow servers on EC2, {data}"


NOT_SOLVED = {  # family: why its errors decide nothing
    "MXNet kvstore, AlexNet": "3,970 images/s for each node; its 32 cores decode 8,000 at tf.data's rate, and no source tells MXNet's",
    "TensorFlow servers on EC2, real": "12 images/s for each core, where tf.data decodes 250: with what augmentation is not published",
    "TensorFlow replicated, synthetic": "AlexNet over NCCL 1, whose rates no source at hand tells",
    "TensorFlow replicated, real": "AlexNet over NCCL 1, whose rates no source at hand tells; and what limits its input at half of tf.data's rate",
}


def sync_of(row, platform, stacks):
    """(stack, its overrides, `sync` of the experiment)"""
    framework = row["framework"]
    gpus = int(row["gpus_per_node"])
    nodes = int(row["nodes"])
    servers = int(row.get("servers") or nodes)
    update = row.get("update") or ("distributed_replicated" if "distributed_replicated" in framework else "")
    at_servers = {"kind": "parameter_server", "update": "sync"}
    if is_mxnet(row):
        # every host runs a worker and a server; the GPUs of a host add up their gradients first (kvstore_dist.h)
        return "mxnet_kvstore", {}, {**at_servers, "shards": nodes, "placement": "hosts"}
    if not is_tensorflow(row):
        raise Excluded("neither TensorFlow's servers nor MXNet's")
    if "distributed_replicated" in update:
        # sums on the GPUs unless local_parameter_device is the CPU (variable_mgr.py)
        where = {"servers.node_reduce": "host"} if "on the CPU" in update else {}
        return "tf_distributed_replicated", where, {**at_servers, "shards": servers, "placement": "hosts"}
    if "without NCCL" in framework or "vars on GPU" in framework:
        # every tensor has a GPU on which gradients meet; sums come back at once, variables with the next step
        if "vars on GPU" in framework and "without NCCL" not in framework:
            at_servers |= {"update": "k_sync", "k": gpus}
        return "tf_parameter_server", {}, {**at_servers, "shards": gpus, "placement": "gpus"}
    if "NCCL" in framework:
        if "tf_replicated" not in stacks:
            raise Excluded("stack tf_replicated is missing")
        return "tf_replicated", {}, {"kind": "all_reduce"}
    # a step fetches variables after the step before has updated the last of them: as k_sync of all workers
    if nodes == 1:
        # one process; its memory lies beside all CPUs of the node
        at_servers |= {"update": "k_sync", "k": gpus, "shards": CPUS[platform]}
        return "tf_parameter_server", {}, {**at_servers, "placement": "hosts"}
    # a worker adds up its GPUs' gradients on its CPU and fetches variables once (VariableMgrDistributedFetchFromPS)
    at_servers |= {"update": "k_sync", "k": nodes, "shards": servers}
    return "tf_parameter_server", {"servers.node_reduce": "host"}, {**at_servers, "placement": "hosts"}


def series_key(row):
    system = row["system"].split("x ", 1)[-1]  # "4x AWS p2.16xlarge"
    columns = ("source", "gpu", "framework", "model", "precision", "batch_per_gpu", "seq_len")
    return (system, data_of(row), *(row[column] for column in columns))


def check_row(row):
    """Raises Excluded for rows that are no training throughput of this kind."""
    if row["metric"] != "throughput":
        raise Excluded("no training throughput")
    if row["clean"] == "no":
        raise Excluded("marked as unreliable in its file")
    if row["split"] == "context":
        raise Excluded("context only")
    if not row["batch_per_gpu"]:
        raise Excluded("batch unknown")
    if not (is_mxnet(row) or is_tensorflow(row)):
        raise Excluded("neither TensorFlow's servers nor MXNet's")
