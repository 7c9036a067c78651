#include "imports/astra_system.hpp"

#include "config/document.hpp"
#include "config/fields.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace trainyard {
namespace {

constexpr std::string_view all_reduce_key = "all-reduce-implementation";
constexpr std::string_view optimization_key = "collective-optimization";
constexpr std::string_view policy_key = "scheduling-policy";
constexpr std::string_view by_dimension = "localBWAware";

/// An algorithm of ASTRA-sim, and ours that is the same on ranks of one dimension.
struct AstraAlgorithm {
  std::string_view word;
  Algorithm algorithm;
  bool is_of_all = false;  ///< of all dimensions as one
};
constexpr std::array astra_algorithms{AstraAlgorithm{"ring", Algorithm::ring},
                                      AstraAlgorithm{"oneRing", Algorithm::ring, true},
                                      AstraAlgorithm{"direct", Algorithm::direct},
                                      AstraAlgorithm{"oneDirect", Algorithm::direct, true},
                                      AstraAlgorithm{"halvingDoubling", Algorithm::halving_doubling},
                                      AstraAlgorithm{"oneHalvingDoubling", Algorithm::halving_doubling, true},
                                      AstraAlgorithm{"doubleBinaryTree", Algorithm::tree}};

const AstraAlgorithm* algorithm_called(std::string_view word) {
  const auto found = std::ranges::find(astra_algorithms, word, &AstraAlgorithm::word);
  return found == astra_algorithms.end() ? nullptr : &*found;
}

/// "direct4" and "oneDirect4" send to four others at a time.
bool has_window(std::string_view word) {
  for (const std::string_view name : {"direct", "oneDirect"}) {
    if (word.size() > name.size() && word.starts_with(name) &&
        word.find_first_not_of("0123456789", name.size()) == std::string_view::npos)
      return true;
  }
  return false;
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class SystemReader {
public:
  explicit SystemReader(const InputText& input)
      : document_(config::parse(input.name, spaced(input.text), {config::FileFormat::astra_sim_system})) {
    system_.file = input.name;
  }

  AstraSystem read() {
    if (!document_.errors.empty()) throw InputError(document_.errors);
    for (const config::Node::Entry& entry : document_.root.entries) {
      system_.keys.emplace_back(entry.key, text_of(entry.value));
      if (entry.key == all_reduce_key) read_algorithms(entry.value);
      if (entry.key == optimization_key) system_.is_by_dimension = entry.value.scalar == by_dimension;
    }
    if (system_.all_reduce.empty())
      throw input_error(system_.file, 0, fmt::format("no {}", all_reduce_key),
                        fmt::format("\"{}\": [\"ring\"], an algorithm for each dimension", all_reduce_key));
    return std::move(system_);
  }

private:
  /// JSON may have tabs, YAML must not.
  static std::string spaced(std::string text) {
    std::ranges::replace(text, '\t', ' ');
    return text;
  }

  static std::string text_of(const config::Node& node) {
    if (node.kind == config::Node::Kind::scalar) return node.scalar;
    if (node.kind != config::Node::Kind::sequence) return "...";
    std::vector<std::string> items;
    for (const config::Node& item : node.items) items.push_back(text_of(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }

  /// A list, or 1.0's words between underscores.
  void read_algorithms(const config::Node& node) {
    if (node.kind == config::Node::Kind::scalar) {
      for (const std::string& word : split_at(node.scalar, '_')) add(word, node);
    }
    for (const config::Node& item : node.items) add(item.scalar, item);
  }

  void add(const std::string& word, const config::Node& node) {
    if (algorithm_called(word) == nullptr && !has_window(word)) {
      std::vector<std::string_view> words;
      for (const AstraAlgorithm& one : astra_algorithms) words.push_back(one.word);
      throw InputError({config::diagnostic_at(document_, node.mark, config::width_of(document_, node),
                                              fmt::format("{} is no algorithm of ASTRA-sim", shown(word)),
                                              fmt::format("one of: {}", fmt::join(words, ", ")))});
    }
    system_.all_reduce.push_back(word);
  }

  config::Document document_;
  AstraSystem system_;
};

/// Ours for an algorithm in each of several dimensions: scatter along the first, reduce along the last.
std::optional<Algorithm> algorithm_by_dimension(const std::vector<std::string>& words) {
  const bool scatters_in_rings =
      std::all_of(words.begin(), words.end() - 1, [](const std::string& word) { return word == "ring"; });
  if (!scatters_in_rings) return std::nullopt;
  if (words.back() == "ring") return Algorithm::hierarchical;
  if (words.back() == "doubleBinaryTree" && words.size() == 2) return Algorithm::hierarchical_tree;
  return std::nullopt;
}

void choose_algorithm(const AstraSystem& system, AstraSettings& made) {
  const std::vector<std::string>& words = system.all_reduce;
  const AstraAlgorithm* const first = algorithm_called(words.front());
  made.why = fmt::format("{}: [{}]", all_reduce_key, fmt::join(words, ", "));
  if (first != nullptr && (words.size() == 1 || first->is_of_all)) {
    made.algorithm = first->algorithm;
    if (first->algorithm == Algorithm::tree) made.why += "; trees join nodes, inside a node they are chains";
    return;
  }
  if (words.size() > 1 && !system.is_by_dimension) {
    made.why +=
        fmt::format("; not used: without {} ASTRA-sim reduces whole buffers in each dimension", by_dimension);
    return;
  }
  const std::optional<Algorithm> found =
      words.size() > 1 ? algorithm_by_dimension(words) : std::optional<Algorithm>();
  if (!found) {
    made.why += "; not used: no algorithm here is like it";
    return;
  }
  made.algorithm = *found;
  made.why += fmt::format(", {}: {}", optimization_key, by_dimension);
  if (words.size() > 2) made.why += "; one ring joins the nodes, not one for each dimension";
}

}  // namespace

AstraSystem read_astra_system(const InputText& input) { return SystemReader(input).read(); }

AstraSettings settings_of(const AstraSystem& system) {
  AstraSettings made;
  choose_algorithm(system, made);
  for (const auto& [key, value] : system.keys) {
    if (key == all_reduce_key || (key == optimization_key && made.algorithm != Algorithm::automatic))
      continue;
    std::string text = fmt::format("{}: {}", key, value);
    if (key == policy_key && value == "FIFO")
      made.used.push_back(text +
                          ": collectives begin in the order in which they are launched, as always here");
    else
      made.not_used.push_back(std::move(text));
  }
  return made;
}

}  // namespace trainyard
