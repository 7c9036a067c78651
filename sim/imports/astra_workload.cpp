#include "imports/astra_workload.hpp"

#include "collectives/operation.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <span>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

using Words = std::vector<std::string_view>;

/// A pass of a layer and the collective behind it.
struct Pass {
  std::int64_t time = 0;
  std::optional<Operation> operation = {};
  std::int64_t size = 0;  ///< bytes, as in the file
  Axis axis = Axis::all;  ///< whose groups take part
};

struct Layer {
  std::string name;
  Pass forward, input_gradient, weight_gradient, update;
  int line = 0;
};

constexpr std::array<std::pair<std::string_view, Operation>, 5> collective_words{
    {{"ALLREDUCE", Operation::all_reduce},
     {"ALLGATHER", Operation::all_gather},
     {"REDUCESCATTER", Operation::reduce_scatter},
     {"ALLTOALL", Operation::all_to_all},
     {"BROADCAST", Operation::broadcast}}};

constexpr std::size_t usual_columns = 12;
/// Each layer names its own parallelism, in a column more.
constexpr std::string_view customized = "HYBRID_CUSTOMIZED";

class WorkloadReader {
public:
  WorkloadReader(const InputText& input, WorkloadTime unit, std::optional<Bytes> gradient)
      : input_(input), unit_(unit), gradient_(gradient), lines_(lines_of(input.text)) {}

  AstraWorkload read() {
    read_head();
    const std::int64_t count = read_count();
    for (; next_ < lines_.size(); ++next_) {
      const Words words = words_of(lines_[next_]);
      if (!words.empty()) add_layer(words);
    }
    result_.layers = std::ssize(layers_);
    if (result_.layers != count)
      refuse(2, fmt::format("{} layers are stated, but there are {}", count, result_.layers),
             "is the file cut off?");
    order_ops();
    if (result_.trace.ops.empty()) refuse(0, "no layer takes time or communicates");
    warn();
    return std::move(result_);
  }

private:
  [[noreturn]] void refuse(int line, std::string message, std::string hint = {}) const {
    throw input_error(input_.name, line, std::move(message), std::move(hint));
  }

  [[nodiscard]] int line() const { return static_cast<int>(next_) + 1; }

  [[nodiscard]] bool is_transformer() const { return parallelism_.starts_with("HYBRID_TRANSFORMER"); }
  [[nodiscard]] bool is_data_parallel() const {
    return parallelism_ == "DATA" || parallelism_ == "MICRO" || parallelism_ == customized;
  }

  void read_head() {
    const Words words = lines_.empty() ? Words{} : words_of(lines_.front());
    parallelism_ = words.empty() ? std::string_view() : words.front();
    constexpr std::array known{"DATA", "MICRO", "MODEL", "TRANSFORMER", "DLRM", "HYBRID"};
    if (std::ranges::none_of(known, [&](std::string_view one) { return parallelism_.starts_with(one); }))
      refuse(1, fmt::format("no workload of ASTRA-sim: it begins with {}", shown(parallelism_)),
             "expected: the parallelism, such as DATA, then the number of layers");
    if (is_transformer())
      read_groups(words);
    else if (!is_data_parallel())
      refuse(1,
             fmt::format("{} is no data parallelism: its groups are dimensions of a network, which the file "
                         "does not have",
                         parallelism_),
             "DATA, MICRO and HYBRID_TRANSFORMER... can be imported");
    ++next_;
  }

  /// "ep: 16 pp: 12 ... pp_comm 50331648", with or without colons.
  void read_groups(const Words& words) {
    WorkloadGroups& groups = result_.groups;
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::string_view name = words[i];
      if (name.ends_with(':')) name.remove_suffix(1);
      if (i + 1 == words.size()) refuse(1, fmt::format("{} has no number behind it", shown(words[i])));
      const std::int64_t value = number(words[++i], "number");
      if (name.starts_with("checkpoint") && value > 0)
        refuse(1, fmt::format("{} {}: layers whose forward pass backward repeats", shown(name), value),
               "a workload without recomputation");
      std::int64_t* const group = name == "model_parallel_NPU_group" ? &groups.tensor
                                  : name == "ep"                     ? &groups.expert
                                  : name == "pp"                     ? &groups.pipeline
                                  : name == "all_gpus"               ? &groups.ranks
                                                                     : nullptr;
      if (group != nullptr)
        *group = value;
      else if (value != 0)
        result_.not_used.push_back(fmt::format("{} {}", name, value));
    }
    const std::int64_t stages = std::max<std::int64_t>(groups.pipeline, 1);
    if (groups.ranks % (stages * *groups.size(Axis::tensor) * *groups.size(Axis::expert)) != 0)
      refuse(1, fmt::format("{} ranks cannot be divided into {} stages of {} ranks for each layer and {} for "
                            "the experts",
                            groups.ranks, stages, groups.tensor, groups.expert));
  }

  std::int64_t read_count() {
    while (next_ < lines_.size() && words_of(lines_[next_]).empty()) ++next_;
    const Words words = next_ < lines_.size() ? words_of(lines_[next_]) : Words{};
    if (words.size() != 1) refuse(line(), "the number of layers is missing");
    const std::int64_t count = number(words.front(), "number of layers");
    ++next_;
    return count;
  }

  [[nodiscard]] std::int64_t number(std::string_view word, std::string_view what) const {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    constexpr std::int64_t most = std::int64_t{1} << 53U;  // exact as double
    if (problem != std::errc() || end != word.data() + word.size() || value < 0 || value > most)
      refuse(line(), fmt::format("{} is no {}", shown(word), what), "a whole number from 0 on");
    return value;
  }

  /// The group of a collective's word, whose end it takes off; `usual`: of a word without one.
  [[nodiscard]] Axis take_group(std::string_view& word, Axis usual) const {
    if (!is_transformer()) return Axis::all;
    for (const auto& [end, axis] : {std::pair(std::string_view("_DP_EP"), Axis::expert_data),
                                    std::pair(std::string_view("_EP"), Axis::expert)}) {
      if (!word.ends_with(end)) continue;
      word.remove_suffix(end.size());
      return axis;
    }
    return usual;
  }

  [[nodiscard]] Pass pass(std::span<const std::string_view> words, Axis usual) const {
    Pass made{.time = number(words[0], "time"), .size = number(words[2], "size in bytes")};
    if (words[1] == "NONE") {
      if (made.size > 0) refuse(line(), fmt::format("{} B are sent by NONE", made.size));
      return made;
    }
    std::string_view word = words[1];
    made.axis = take_group(word, usual);
    const auto* const found =
        std::ranges::find(collective_words, word, [](const auto& one) { return one.first; });
    if (found == collective_words.end())
      refuse(line(), fmt::format("unknown collective {}", shown(words[1])),
             words[1].ends_with("_EP")
                 ? "collectives of groups, such as ALLREDUCE_EP of SimAI, are read in a workload "
                   "HYBRID_TRANSFORMER..."
                 : "one of NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL and BROADCAST");
    if (made.size > 0) made.operation = found->second;
    return made;
  }

  void add_layer(const Words& words) {
    const std::size_t columns = usual_columns + (parallelism_ == customized ? 1 : 0);
    if (words.size() != columns)
      refuse(line(), fmt::format("{} columns; expected: {}", words.size(), columns));
    const std::span<const std::string_view> all(words);
    if (words.size() > usual_columns && words.back() != "DATA")
      refuse(line(), fmt::format("layer {} has parallelism {}", shown(words.front()), shown(words.back())),
             "only DATA can be imported");
    const Layer& layer = layers_.emplace_back(Layer{.name = std::string(words.front()),
                                                    .forward = pass(all.subspan(2, 3), Axis::tensor),
                                                    .input_gradient = pass(all.subspan(5, 3), Axis::tensor),
                                                    .weight_gradient = pass(all.subspan(8, 3), Axis::data),
                                                    .update = {.time = number(words[11], "time")},
                                                    .line = line()});
    if (is_transformer()) return;
    for (const auto& [pass, name] :
         {std::pair(&layer.forward, "forward"), std::pair(&layer.input_gradient, "input gradient")}) {
      if (pass->operation)
        refuse(line(),
               fmt::format("layer {}: {} holds up the {} pass, which {} does not have", shown(layer.name),
                           config::name_of(*pass->operation), name, parallelism_),
               "collectives of weight gradients; those of groups stand in HYBRID_TRANSFORMER...");
    }
  }

  void order_ops() {
    for (const Layer& layer : layers_) add_op(Phase::forward, layer, "", layer.forward);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      if (is_transformer()) add_op(Phase::backward, *layer, ".dgrad", layer->input_gradient);
      add_op(Phase::backward, *layer, ".wgrad", layer->weight_gradient);
      if (!is_transformer()) add_op(Phase::backward, *layer, ".dgrad", layer->input_gradient);
    }
    for (const Layer& layer : layers_) add_op(Phase::optimizer, layer, "", layer.update);
  }

  void add_op(Phase phase, const Layer& layer, std::string_view suffix, const Pass& pass) {
    if (pass.time == 0 && !pass.operation) return;
    Op op;
    op.phase = phase;
    op.layer = layer.name + std::string(suffix);
    op.kind = OpKind::measured;
    // divided, so that the decimals of the file stay: 0.0007, not 0.0007000000000000001
    op.duration = Seconds(static_cast<double>(pass.time) / static_cast<double>(unit_));
    if (pass.operation) {
      const Bytes size = size_of(layer, pass);
      const bool overlaps = &pass == &layer.weight_gradient;
      op.communications.push_back({.operation = *pass.operation, .size = size, .axis = pass.axis});
      op.communications.back().waits = overlaps ? std::nullopt : std::optional(0);
      if (gradient_ && overlaps && pass.operation == Operation::all_reduce)
        op.gradients.push_back({.tensor = layer.name, .elements = size / *gradient_});
    }
    result_.trace.ops.push_back(std::move(op));
  }

  /// An all-gather's size is the whole result in SimAI's files, and a rank's part in ASTRA-sim's. In SimAI's
  /// files a reduce-scatter of fp32 gradients has twice the bytes of the all-gather of their 16-bit
  /// parameters.
  [[nodiscard]] Bytes size_of(const Layer& layer, const Pass& pass) const {
    const Bytes size(static_cast<double>(pass.size));
    constexpr std::string_view simai = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
    if (pass.operation != Operation::all_gather || parallelism_ == simai) return size;
    if (const auto ranks = result_.groups.size(pass.axis)) return size * static_cast<double>(*ranks);
    refuse(layer.line,
           fmt::format("layer {}: the size of an all-gather is that of a rank's part, and the file does not "
                       "say the number of ranks",
                       shown(layer.name)));
  }

  void warn() {
    if (!is_transformer()) return;
    const WorkloadGroups& groups = result_.groups;
    std::set<Axis> axes;
    for (const Op& op : result_.trace.ops)
      for (const OpCommunication& one : op.communications) axes.insert(one.axis);
    std::set<std::string_view> alone;  // SimAI's ZeRO-3 gathers parameters in "tensor groups" of one rank
    for (const Axis axis : axes)
      if (groups.size(axis) == 1) alone.insert(config::name_of(axis));
    if (!alone.empty())
      result_.warnings.push_back(
          fmt::format("groups of one rank (by line 1 of the file), so their collectives take no time: {}",
                      fmt::join(alone, ", ")));
    if (groups.ranks == 0 && (axes.contains(Axis::data) || axes.contains(Axis::expert_data)))
      result_.warnings.emplace_back(
          "the file does not say the number of GPUs (all_gpus): collectives of data take no time unless "
          "--nodes and --gpus make several replicas");
    if (groups.pipeline > 1)
      result_.warnings.push_back(fmt::format(
          "the trace is one of {} stages alone: messages between them and bubbles are not in the file",
          groups.pipeline));
  }

  const InputText& input_;
  WorkloadTime unit_;
  std::optional<Bytes> gradient_;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
  std::string_view parallelism_;
  std::vector<Layer> layers_;
  AstraWorkload result_;
};

}  // namespace

std::optional<std::int64_t> WorkloadGroups::size(Axis axis) const {
  const auto at_least_one = [](std::int64_t number) { return std::max<std::int64_t>(number, 1); };
  if (axis == Axis::tensor) return at_least_one(tensor);
  if (axis == Axis::expert) return at_least_one(expert);
  if (ranks == 0) return std::nullopt;
  const std::int64_t replicas = ranks / at_least_one(pipeline) / at_least_one(tensor);
  if (axis == Axis::data) return replicas;
  return axis == Axis::expert_data ? std::optional(replicas / at_least_one(expert)) : std::nullopt;
}

AstraWorkload read_astra_workload(const InputText& input, WorkloadTime unit, std::optional<Bytes> gradient) {
  return WorkloadReader(input, unit, gradient).read();
}

}  // namespace trainyard
