#include "imports/chakra_trace.hpp"

#include "config/fields.hpp"
#include "imports/op_names.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <queue>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace trainyard {
namespace {

using chakra::NodeType;

bool has_any_word(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool names_backward(std::string_view name) {  // _BWD_: of Chakra's converter of text
  return has_any_word(name, {"ackward", "autograd::engine", "_BWD_", "dgrad", "wgrad", "bwd_"});
}

bool names_optimizer(std::string_view name) {
  return has_any_word(name, {"Optimizer.", "## optimizer", "_fused_adam", "_fused_sgd", "_OPT"});
}

class ChakraImporter {
public:
  ChakraImporter(const ChakraGraph& graph, std::optional<int> ranks) : graph_(graph), ranks_(ranks) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) place_.emplace(graph.nodes[i].id, i);
  }

  ChakraImport make() {
    refuse_messages();
    count_edges();
    order_nodes();
    choose_nodes();
    find_phases();
    add_ops();
    note_what_is_left_out();
    return std::move(result_);
  }

private:
  [[nodiscard]] const ChakraNode& node(std::size_t i) const { return graph_.nodes[i]; }

  void refuse_messages() const {
    for (const ChakraNode& one : graph_.nodes) {
      if (one.type != NodeType::send && one.type != NodeType::receive) continue;
      throw input_error(
          graph_.file, 0,
          fmt::format("node {} {} is one end of a message between two ranks", one.id, shown(one.name)),
          "traces of pipelines are not imported: their other ends are in other files");
    }
  }

  [[nodiscard]] const std::vector<std::uint64_t>& parents(const ChakraNode& one) const {
    return by_control_ ? one.control_parents : one.data_parents;
  }

  void count_edges() {
    std::set<std::uint64_t> dangling;
    for (const ChakraNode& one : graph_.nodes) {
      result_.data_edges += static_cast<std::int64_t>(one.data_parents.size());
      result_.control_edges += static_cast<std::int64_t>(one.control_parents.size());
      for (const auto* list : {&one.data_parents, &one.control_parents}) {
        for (const std::uint64_t parent : *list) {
          if (!place_.contains(parent)) dangling.insert(parent);
        }
      }
    }
    result_.dangling_parents = static_cast<std::int64_t>(dangling.size());
    by_control_ = result_.data_edges == 0;
  }

  /// Orders nodes that wait for nothing more by their start, then by id.
  void order_nodes() {
    using Next = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;
    std::vector<std::size_t> missing(graph_.nodes.size());
    std::vector<std::vector<std::size_t>> children(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::uint64_t parent : parents(node(i))) {
        const auto found = place_.find(parent);
        if (found == place_.end()) continue;
        children[found->second].push_back(i);
        ++missing[i];
      }
    }
    std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
    const auto push = [&](std::size_t i) { ready.emplace(node(i).start_us, node(i).id, i); };
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] == 0) push(i);
    }
    while (!ready.empty()) {
      const std::size_t i = std::get<2>(ready.top());
      ready.pop();
      order_.push_back(i);
      for (const std::size_t child : children[i]) {
        if (--missing[child] == 0) push(child);
      }
    }
    if (order_.size() < graph_.nodes.size()) refuse_cycle(missing);
  }

  /// Backwards from a node that waits for ever, until one comes again.
  [[noreturn]] void refuse_cycle(const std::vector<std::size_t>& missing) const {
    std::size_t at = 0;
    while (missing[at] == 0) ++at;
    std::vector<std::size_t> way;
    std::vector<bool> is_on_way(missing.size());
    while (!is_on_way[at]) {
      is_on_way[at] = true;
      way.push_back(at);
      for (const std::uint64_t parent : parents(node(at))) {
        const auto found = place_.find(parent);
        if (found == place_.end() || missing[found->second] == 0) continue;
        at = found->second;
        break;
      }
    }
    way.erase(way.begin(), std::ranges::find(way, at));
    std::string ids;
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < std::min(way.size(), most); ++i)
      ids += fmt::format("{} -> ", node(way[i]).id);
    if (way.size() > most) ids += "... -> ";
    throw input_error(graph_.file, 0, fmt::format("nodes depend on each other: {}{}", ids, node(at).id),
                      fmt::format("by {}", by_control_ ? "ctrl_deps" : "data_deps"));
  }

  /// Host operators only launch; the launched work has nodes of its own.
  void choose_nodes() {
    const bool has_gpu = std::ranges::any_of(graph_.nodes, [](const ChakraNode& one) {
      return one.is_cpu_op == false && one.type == NodeType::compute;
    });
    for (const std::size_t i : order_) {
      const ChakraNode& one = node(i);
      if (one.type != NodeType::compute && one.type != NodeType::collective) {
        leave_out("nodes that neither compute nor communicate", one);
      } else if (has_gpu && one.is_cpu_op.value_or(false)) {
        leave_out(
            one.type == NodeType::compute ? "operators of the host" : "calls of collectives by the host",
            one);
      } else {
        chosen_.push_back(i);
      }
    }
  }

  /// Whether the node's name, or one of those that launched it, says so.
  template <class Says>
  [[nodiscard]] bool says(const ChakraNode& one, Says names) const {
    const ChakraNode* at = &one;
    constexpr int deepest = 64;  // ctrl_deps may have cycles
    for (int depth = 0; depth < deepest; ++depth) {
      if (names(at->name)) return true;
      if (at->control_parents.empty()) return false;
      const auto found = place_.find(at->control_parents.front());
      if (found == place_.end()) return false;
      at = &node(found->second);
    }
    return false;
  }

  void find_phases() {
    std::size_t first = chosen_.size();
    std::size_t last = 0;
    std::vector<std::optional<Phase>> said(chosen_.size());
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const ChakraNode& one = node(chosen_[i]);
      if (one.phase) said[i] = config::value_named<Phase>(*one.phase);
      if (!said[i] && says(one, names_optimizer)) said[i] = Phase::optimizer;
      if (!said[i] && says(one, names_backward)) said[i] = Phase::backward;
      if (said[i] != Phase::backward) continue;
      first = std::min(first, i);
      last = i;
    }
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const Phase by_place = i < first ? Phase::forward : i <= last ? Phase::backward : Phase::optimizer;
      phases_.push_back(said[i].value_or(by_place));
    }
  }

  void add_ops() {
    std::map<std::string, int> uses;
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
      std::vector<const ChakraNode*> early;  // collectives before the first op of the phase
      bool has_op = false;
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        if (phases_[i] != phase) continue;
        const ChakraNode& one = node(chosen_[i]);
        if (one.type == NodeType::collective) {
          if (!has_op && result_.trace.ops.empty())
            early.push_back(&one);
          else
            add_collective(one, LaunchTime::end);
          continue;
        }
        has_op = true;
        add_op(one, phase);
        for (const ChakraNode* collective : early) add_collective(*collective, LaunchTime::start);
        early.clear();
      }
      for (const ChakraNode* collective : early)
        leave_out("collectives without concurrent compute", *collective);
    }
    const bool computes =
        std::ranges::any_of(result_.trace.ops, [](const Op& op) { return *op.duration > Seconds{}; });
    if (!computes)
      throw input_error(graph_.file, 0, "no node computes: none has a duration",
                        "a trace of collectives alone: trainyard collective");
  }

  void add_op(const ChakraNode& one, Phase phase) {
    Op op;
    op.phase = phase;
    op.layer = one.name.empty() ? fmt::format("node.{}", one.id) : layer_name(one.name);
    op.kind = OpKind::measured;
    if (one.num_ops) op.flops = Flops(static_cast<double>(*one.num_ops));
    if (one.tensor_size) op.bytes = Bytes(static_cast<double>(*one.tensor_size));
    op.duration = one.duration_ns ? Seconds(static_cast<double>(*one.duration_ns) / 1e9)
                                  : Seconds(static_cast<double>(one.duration_us) / 1e6);
    result_.trace.ops.push_back(std::move(op));
  }

  /// On one line, and not longer than a report shows.
  static std::string layer_name(std::string_view name) {
    std::string made(short_kernel_name(name));
    for (char& c : made) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte > 0x7E) c = '?';
    }
    return made;
  }

  /// Behind the last op; behind the last before the optimizer, which launches none since it waits for all.
  void add_collective(const ChakraNode& one, LaunchTime at) {
    const auto operation = chakra::operation_of(one.comm_type.value_or(0));
    if (!operation) {
      leave_out("barriers", one);
      return;
    }
    if (one.comm_size.value_or(0) == 0) {
      leave_out("collectives of unknown size", one);
      return;
    }
    std::vector<Op>& ops = result_.trace.ops;
    const auto launcher =
        std::find_if(ops.rbegin(), ops.rend(), [](const Op& op) { return op.phase != Phase::optimizer; });
    if (launcher == ops.rend()) {
      leave_out("collectives with the optimizer alone", one);
      return;
    }
    if (launcher != ops.rbegin()) at = LaunchTime::end;
    Op& op = *launcher;
    Bytes size(static_cast<double>(*one.comm_size));
    if (chakra::counts_part(*operation)) {
      if (ranks_) size = size * static_cast<double>(*ranks_);
      ++sizes_of_parts_;
    }
    OpCommunication communication{.operation = *operation, .size = size};
    communication.at = at;
    communication.waits = usual_wait(op.phase, *operation);
    op.communications.push_back(communication);
    ++result_.collectives;
    result_.collective_bytes += size;
    if (one.group) groups_.insert(*one.group);
  }

  void leave_out(const std::string& why, const ChakraNode& one) {
    LeftOut& left = left_out_[why];
    ++left.count;
    left.time += static_cast<std::int64_t>(one.duration_us) * 1000;
    left.what = why;
  }

  void note_what_is_left_out() {
    for (auto& [why, one] : left_out_) result_.left_out.push_back(std::move(one));
    if (result_.dangling_parents > 0)
      result_.warnings.push_back(fmt::format("{} on which others depend are not in the file",
                                             plural(result_.dangling_parents, "node")));
    if (sizes_of_parts_ > 0 && !ranks_)
      result_.warnings.push_back(
          fmt::format("the sizes of {} that gather (all_gather, gather) are taken as those of the result; in "
                      "ASTRA-sim they are a rank's part: --gpus N multiplies them",
                      plural(sizes_of_parts_, "collective")));
    if (groups_.size() > 1)
      result_.warnings.push_back(
          fmt::format("{} of ranks: in the trace all ranks take part in each collective",
                      plural(static_cast<long long>(groups_.size()), "group")));
  }

  const ChakraGraph& graph_;
  std::optional<int> ranks_;
  int sizes_of_parts_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> place_;  // of an id in the nodes
  bool by_control_ = false;
  std::vector<std::size_t> order_, chosen_;
  std::vector<Phase> phases_;  // of the chosen nodes
  std::map<std::string, LeftOut> left_out_;
  std::set<std::string> groups_;
  ChakraImport result_;
};

}  // namespace

ChakraImport trace_of(const ChakraGraph& graph, std::optional<int> ranks) {
  return ChakraImporter(graph, ranks).make();
}

}  // namespace trainyard
