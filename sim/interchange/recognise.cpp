#include "interchange/recognise.hpp"

#include "config/file_format.hpp"
#include "interchange/nccl_topology.hpp"
#include "interchange/smi_query.hpp"
#include "interchange/smi_topology.hpp"
#include "interchange/xml.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace trainyard {
namespace {

constexpr const char* what_is_read = "accepted: nvidia-smi topo -m, nvidia-smi -q (-x), NCCL_TOPO_DUMP_FILE";

}  // namespace

NodeFileKind recognise_node_file(const InputText& input) {
  const config::FileFormat other = config::format_of(input.text);
  const auto name_it = [&](const std::string& hint) {
    throw input_error(input.name, 0, fmt::format("this is {}", config::words_of(other)), hint);
  };
  // AMD's tools also print matrices of GPUs
  if (other == config::FileFormat::rocm_smi || other == config::FileFormat::amd_smi)
    name_it(config::command_for(other, input.name));
  const std::string root = root_of_xml(input.text);
  if (root == "system") return NodeFileKind::nccl_topology;
  if (root == "nvidia_smi_log") return NodeFileKind::smi_query;
  if (root.empty() && has_smi_matrix(input)) return NodeFileKind::smi_topology;
  if (root.empty() && is_smi_query_text(input)) return NodeFileKind::smi_query;
  if (other != config::FileFormat::unknown)
    name_it(other == config::FileFormat::astra_sim_config || other == config::FileFormat::slurm ||
                    other == config::FileFormat::nccl_graph || other == config::FileFormat::lstopo
                ? config::command_for(other, input.name)
                : std::string(what_is_read));
  throw input_error(input.name, 0,
                    root.empty()
                        ? "no description of a node: the text has no matrix of GPUs"
                        : fmt::format("an XML file of <{}>, which is no description of a node", shown(root)),
                    what_is_read);
}

NodeLayout read_node(const std::vector<InputText>& files) {
  std::map<NodeFileKind, const InputText*> by_kind;
  for (const InputText& file : files) {
    const auto [found, is_new] = by_kind.emplace(recognise_node_file(file), &file);
    if (!is_new) {
      throw input_error(file.name, 0, fmt::format("of the same kind as {}", found->second->name),
                        "one file of a kind: all nodes of a platform are alike");
    }
  }
  const auto file = [&](NodeFileKind kind) {
    const auto found = by_kind.find(kind);
    return found == by_kind.end() ? nullptr : found->second;
  };
  const InputText* const nccl = file(NodeFileKind::nccl_topology);
  const InputText* const matrix = file(NodeFileKind::smi_topology);
  const InputText* const query = file(NodeFileKind::smi_query);
  if (nccl != nullptr && matrix != nullptr) {
    throw input_error(matrix->name, 0, fmt::format("both this and {} are the topology", nccl->name),
                      "leave out one of them: NCCL's has more");
  }
  NodeLayout layout = nccl != nullptr     ? layout_of(read_nccl_topology(*nccl))
                      : matrix != nullptr ? layout_of(read_smi_topology(*matrix))
                                          : layout_of(read_smi_query(*query));
  const bool is_query_alone = nccl == nullptr && matrix == nullptr;
  if (query != nullptr && !is_query_alone) add_facts(layout, read_smi_query(*query));
  return layout;
}

}  // namespace trainyard
