#pragma once
// A platform from the layout of a node and the user's options. Figures that nobody states are assumed, with
// the reason in the file.

#include "interchange/node_layout.hpp"
#include "platform/platform_file.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The answers that `trainyard init platform` asks for, or takes as options.
struct PlatformAnswers {
  std::string name;                     ///< of the platform
  std::string gpu;                      ///< profile, a name or a path; empty: from the layout
  std::optional<int> gpus;              ///< per node, without a file
  std::optional<int> nvlink;            ///< lanes of a GPU; 0: none
  std::optional<LinkKind> nvlink_kind;  ///< if neither GPU nor file tells
  std::optional<int> pcie;              ///< generation, if neither GPU nor file tells
  std::optional<int> nics;              ///< per node, if the file has none
  std::optional<Bandwidth> nic_rate;    ///< of one card; replaces that of a file
  std::optional<Transport> transport;
  int nodes = 1;
};

struct PlatformDraft {
  PlatformFile file;
  std::vector<std::string> comments;  ///< for the head of the file: origin and assumptions
  std::vector<std::string> warnings;  ///< for people who read the terminal
};

/// The node that answers without a file describe: GPUs below one socket (two from five GPUs on).
NodeLayout layout_of(const PlatformAnswers& answers);

/// The profile of the layout's GPUs; empty if they are unknown. Throws InputError if they differ.
std::string profile_of_gpus(const NodeLayout& layout);

/// `answers.gpu` must name a profile, and so does node.gpus.profile. Throws InputError if the answers
/// contradict the layout, or if the generation of its NVLinks is not known.
PlatformDraft make_platform(NodeLayout layout, const PlatformAnswers& answers);

/// The links as few entries of a platform file: lists of devices with the same figures.
struct NodeLink {
  DeviceKind kind_one{}, kind_other{};
  int one = 0, other = 0;  ///< numbers within their kinds
  LinkFile figures;        ///< without ends
};
/// "gpu3", "gpu[0-7]", "gpu[0,2,4-7]": in the order given.
std::string list_text(std::string_view word, const std::vector<int>& numbers);

std::vector<LinkFile> grouped(const std::vector<NodeLink>& links);

}  // namespace trainyard
