#pragma once
// Which program wrote a file, by its content: people feed one tool's files to another.

#include "interchange/node_layout.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class NodeFileKind { smi_topology, smi_query, nccl_topology };

/// The kind of a description of a node. Throws InputError that names the kind of another file: a graph dump
/// of NCCL, a trace, a platform of trainyard or SimGrid, plain text.
NodeFileKind recognise_node_file(const InputText& input);

/// The node that several files describe together: one has its topology (NCCL's, then nvidia-smi topo -m,
/// nvidia-smi -q), the others add missing facts. Throws InputError if they contradict each
/// other, or if two are of a kind.
NodeLayout read_node(const std::vector<InputText>& files);

}  // namespace trainyard
