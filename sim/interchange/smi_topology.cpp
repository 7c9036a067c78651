#include "interchange/smi_topology.hpp"

#include "platform/plausible_limits.hpp"
#include "units/leading_number.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace trainyard {
namespace {

constexpr int most_lanes = 256;

bool is_gpu_name(std::string_view word) {
  return word.starts_with("GPU") && word.size() > 3 &&
         word.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

bool is_relation(std::string_view word) {
  static const std::set<std::string_view> known{"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
  if (known.contains(word)) return true;
  return word.starts_with("NV") && word.size() > 2 &&
         word.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

/// Words of `nvidia-smi topo -p2p`: OK, chipset not supported, GPU not supported and so on.
bool is_p2p_status(std::string_view word) {
  static const std::set<std::string_view> known{"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};
  return known.contains(word);
}

/// The header names the GPUs, then cards, then "CPU Affinity" and more.
std::vector<std::string> columns_of(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  std::vector<std::string> columns;
  if (words.empty() || words.front() != "GPU0") return columns;
  if (words.size() > 1 && (is_relation(words[1]) || is_p2p_status(words[1]))) return columns;  // a row
  for (const std::string_view word : words) {
    if (word == "CPU" || word == "NUMA" || word == "GPU") break;
    columns.emplace_back(word);
  }
  return columns;
}

/// 12 for "NV12".
std::optional<int> lanes_of(std::string_view cell) {
  if (!cell.starts_with("NV")) return std::nullopt;
  cell.remove_prefix(2);
  return take_number(cell);
}

/// The affinities behind the cells of a row. "CPU Affinity" may be empty: the row is then shorter.
void read_affinity(const std::vector<std::string_view>& words, std::size_t row, SmiTopology& topology) {
  const std::size_t begin = topology.devices.size() + 1;
  if (begin < words.size()) topology.cpu_affinity[row] = words[begin];
  if (begin + 1 < words.size()) topology.numa_affinity[row] = words[begin + 1];
}

void read_row(const std::vector<std::string_view>& words, int line, std::vector<bool>& seen,
              SmiTopology& topology) {
  const std::string name(words.front());
  const std::size_t columns = topology.devices.size();
  const auto found = std::ranges::find(topology.devices, name);
  const std::size_t cells = std::min(words.size() - 1, columns);
  if (std::any_of(words.begin() + 1, words.begin() + 1 + cells, is_p2p_status)) {
    throw input_error(topology.file, line,
                      "this is the output of `nvidia-smi topo -p2p`, which says only whether GPUs reach each "
                      "other, not how",
                      "nvidia-smi topo -m > topo.txt");
  }
  for (std::size_t i = 1; i <= cells; ++i) {
    const auto lanes = lanes_of(words[i]);
    const bool is_sound = !words[i].starts_with("NV") || (lanes && *lanes >= 1 && *lanes <= most_lanes);
    if (is_relation(words[i]) && is_sound) continue;
    throw input_error(topology.file, line,
                      fmt::format("{} is not a connection of {}", shown(words[i]), shown(name)),
                      "X, NV#, PIX, PXB, PHB, NODE or SYS; is the row complete?");
  }
  ++topology.rows;
  if (found == topology.devices.end()) {
    topology.without_column.push_back(name);
    return;
  }
  if (cells < columns) {
    throw input_error(topology.file, line,
                      fmt::format("the row of {} has {} of {} connections", name, cells, columns));
  }
  const auto row = static_cast<std::size_t>(found - topology.devices.begin());
  if (seen[row]) throw input_error(topology.file, line, fmt::format("a second row of {}", name));
  seen[row] = true;
  for (std::size_t i = 0; i < columns; ++i) {
    topology.cells[row][i] = words[i + 1] == "SOC" ? "SYS" : std::string(words[i + 1]);
  }
  if (is_gpu_name(name)) read_affinity(words, row, topology);
}

void check_symmetry(const SmiTopology& topology, int line) {
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (topology.cells[i][j] == topology.cells[j][i]) continue;
      throw input_error(
          topology.file, line,
          fmt::format("{} to {} is {}, but {} to {} is {}", topology.devices[j], topology.devices[i],
                      topology.cells[j][i], topology.devices[i], topology.devices[j], topology.cells[i][j]),
          "both directions have to be alike: is the file complete?");
    }
    if (topology.cells[i][i] != "X") {
      throw input_error(topology.file, line,
                        fmt::format("{} to itself is {}, not X", topology.devices[i], topology.cells[i][i]),
                        "are rows or columns missing?");
    }
  }
}

/// "  NIC0: mlx5_0" behind the matrix.
void read_legend(std::string_view line, SmiTopology& topology) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() != 2 || !words[0].starts_with("NIC") || !words[0].ends_with(':')) return;
  const std::string name(words[0].substr(0, words[0].size() - 1));
  const auto found = std::ranges::find(topology.devices, name);
  if (found == topology.devices.end()) return;
  topology.card_names[static_cast<std::size_t>(found - topology.devices.begin())] = words[1];
}

/// Sets that are joined.
class Sets {
public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::size_t of(std::size_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  /// The smaller number stands for both, so that sets come in the order of their first members.
  void join(std::size_t one, std::size_t other) {
    one = of(one);
    other = of(other);
    parent_[std::max(one, other)] = std::min(one, other);
  }

private:
  std::vector<std::size_t> parent_;
};

class MatrixLayout {
public:
  explicit MatrixLayout(const SmiTopology& topology)
      : topology_(topology),
        count_(topology.devices.size()),
        sockets_(count_),
        below_switches_(count_),
        below_one_switch_(count_) {
    layout_.origin = "nvidia-smi topo -m (" + base_name(topology.file) + ")";
  }

  NodeLayout make() {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < i; ++j) join_as(topology_.cells[i][j], i, j);
    }
    join_by_affinity();
    add_devices();
    add_nvlinks();
    note_differences();
    return std::move(layout_);
  }

private:
  void join_as(const std::string& cell, std::size_t i, std::size_t j) {
    if (cell == "NODE") layout_.host_bridge_per_port = true;
    if (cell == "PIX") below_one_switch_.join(i, j);
    if (cell == "PIX" || cell == "PXB") below_switches_.join(i, j);
    if (cell == "PIX" || cell == "PXB" || cell == "PHB" || cell == "NODE") sockets_.join(i, j);
  }

  [[nodiscard]] bool has_gpus_joined_by_nvlink_only() const {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (lanes_of(topology_.cells[i][j])) return true;
      }
    }
    return false;
  }

  /// NVLinks hide the sockets of two GPUs: then their affinity tells.
  void join_by_affinity() {
    const auto all_gpus = [&](const std::vector<std::string>& affinity, const auto& is_known) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (is_gpu_name(topology_.devices[i]) && !is_known(affinity[i])) return false;
      }
      return true;
    };
    const auto is_stated = [](const std::string& text) { return !text.empty() && text != "N/A"; };
    const auto is_number = [](const std::string& text) {
      return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    };
    const std::vector<std::string>* affinity = nullptr;
    if (all_gpus(topology_.numa_affinity, is_number)) {
      affinity = &topology_.numa_affinity;
    } else if (all_gpus(topology_.cpu_affinity, is_stated)) {
      affinity = &topology_.cpu_affinity;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!lanes_of(topology_.cells[i][j])) continue;
        if (affinity == nullptr || (*affinity)[i] == (*affinity)[j]) sockets_.join(i, j);
      }
    }
    if (affinity == nullptr && has_gpus_joined_by_nvlink_only()) layout_.is_affinity_known = false;
  }

  int add(DeviceKind kind, int parent, std::string name = {}) {
    layout_.devices.push_back({kind, parent, {}, std::move(name)});
    return static_cast<int>(layout_.devices.size()) - 1;
  }

  int socket_of(std::size_t device) {
    const auto [found, is_new] = socket_places_.try_emplace(sockets_.of(device), 0);
    if (is_new) found->second = add(DeviceKind::cpu, -1);
    return found->second;
  }

  /// Devices below the same upper switch or switches, in sets of those below one switch.
  [[nodiscard]] std::size_t sets_below(std::size_t component) {
    std::set<std::size_t> sets;
    for (std::size_t i = 0; i < count_; ++i) {
      if (below_switches_.of(i) == component) sets.insert(below_one_switch_.of(i));
    }
    return sets.size();
  }

  int parent_of(std::size_t device) {
    const std::size_t component = below_switches_.of(device);
    const std::size_t own = below_one_switch_.of(device);
    int parent = socket_of(device);
    const std::size_t sets = sets_below(component);
    if (sets > 1) {  // PXB: an upper switch, and one below it for each set
      const auto [upper, is_new] = upper_places_.try_emplace(component, 0);
      if (is_new) upper->second = add(DeviceKind::pcie_switch, parent);
      parent = upper->second;
    }
    const bool is_alone =
        std::ranges::count_if(numbers(), [&](std::size_t i) { return below_one_switch_.of(i) == own; }) == 1;
    if (is_alone && sets == 1) return parent;
    const auto [lower, is_new] = lower_places_.try_emplace(own, 0);
    if (is_new) lower->second = add(DeviceKind::pcie_switch, parent);
    return lower->second;
  }

  [[nodiscard]] std::vector<std::size_t> numbers() const {
    std::vector<std::size_t> all(count_);
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }

  void add_devices() {
    places_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const int parent = parent_of(i);
      const bool is_gpu_row = is_gpu_name(topology_.devices[i]);
      const std::string& card = topology_.card_names[i];
      places_[i] = add(is_gpu_row ? DeviceKind::gpu : DeviceKind::nic, parent,
                       card.empty() ? topology_.devices[i] : card);
    }
  }

  void add_nvlinks() {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = i + 1; j < count_; ++j) {
        if (const auto lanes = lanes_of(topology_.cells[i][j])) {
          layout_.gpu_links.push_back({places_[i], places_[j], *lanes});
        }
      }
    }
  }

  /// A matrix need not be that of a tree: the differences of the platform are named.
  void note_differences() {
    std::vector<std::string> differences;
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = i + 1; j < count_; ++j) {
        const std::string& cell = topology_.cells[i][j];
        const std::string_view ours = pcie_connection(layout_, places_[i], places_[j]);
        const bool is_same = cell == ours || (cell == "PHB" && ours == "NODE");
        if (lanes_of(cell) || is_same) continue;
        differences.push_back(fmt::format("{}-{} is {}, {} in the platform", topology_.devices[i],
                                          topology_.devices[j], cell, ours));
      }
    }
    if (differences.empty()) return;
    const std::size_t more = differences.size() - 1;
    layout_.warnings.push_back(
        fmt::format("not a tree of sockets and switches: {}{}", differences.front(),
                    more == 0 ? std::string() : fmt::format(", and {} more pairs", more)));
  }

  const SmiTopology& topology_;
  std::size_t count_;
  Sets sockets_, below_switches_, below_one_switch_;
  std::map<std::size_t, int> socket_places_, upper_places_, lower_places_;
  std::vector<int> places_;
  NodeLayout layout_;
};

}  // namespace

int SmiTopology::gpus() const { return static_cast<int>(std::ranges::count_if(devices, is_gpu_name)); }
int SmiTopology::nics() const { return static_cast<int>(devices.size()) - gpus(); }

bool has_smi_matrix(const InputText& input) {
  return std::ranges::any_of(lines_of(input.text), [](auto line) { return !columns_of(line).empty(); });
}

SmiTopology read_smi_topology(const InputText& input) {
  SmiTopology topology;
  topology.file = input.name;
  std::vector<bool> seen;
  int header = 0;
  int number = 0;
  bool is_behind = false;
  for (const std::string_view line : lines_of(input.text)) {
    ++number;
    if (header == 0) {
      topology.devices = columns_of(line);
      if (topology.devices.empty()) continue;
      header = number;
      const std::size_t count = topology.devices.size();
      constexpr std::size_t most = 2 * static_cast<std::size_t>(config::most_count);
      if (count > most) {
        throw input_error(input.name, number, fmt::format("{} devices; a node has at most {}", count, most));
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (std::ranges::count(topology.devices, topology.devices[i]) > 1) {
          throw input_error(input.name, number, fmt::format("{} twice", shown(topology.devices[i])));
        }
      }
      topology.cells.assign(count, std::vector<std::string>(count));
      topology.card_names.resize(count);
      topology.cpu_affinity.resize(count);
      topology.numa_affinity.resize(count);
      seen.resize(count);
      continue;
    }
    const std::vector<std::string_view> words = words_of(line);
    const bool is_row = words.size() > 1 && (is_relation(words[1]) || is_p2p_status(words[1]));
    if (!is_behind && is_row) {
      read_row(words, number, seen, topology);
    } else if (!words.empty() && topology.rows > 0) {
      is_behind = true;
      read_legend(line, topology);
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) {
      throw input_error(input.name, header, fmt::format("{} has a column, but no row", topology.devices[i]),
                        "is the file complete?");
    }
  }
  check_symmetry(topology, header);
  return topology;
}

NodeLayout layout_of(const SmiTopology& topology) {
  NodeLayout layout = MatrixLayout(topology).make();
  if (!topology.without_column.empty()) {
    layout.warnings.push_back(
        fmt::format("rows without a column are left out: {}", fmt::join(topology.without_column, ", ")));
  }
  if (!layout.is_affinity_known) {
    layout.assumptions.emplace_back(
        "the file does not say which GPU belongs to which socket: all are below one");
  } else if (!layout.gpu_links.empty() && topology.nics() == 0) {
    layout.assumptions.emplace_back(
        "NVLinks hide the PCIe tree of the GPUs in this output: each has a port of its socket");
  }
  check_counts(layout, topology.file);
  return layout;
}

}  // namespace trainyard
