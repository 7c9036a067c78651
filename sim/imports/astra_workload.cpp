#include "imports/astra_workload.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::size_t usual_columns = 12;
constexpr std::string_view customized =
    "HYBRID_CUSTOMIZED";  // each layer names its own parallelism, in a column more

class WorkloadReader {
public:
  explicit WorkloadReader(const InputText& input) : input_(input), lines_(lines_of(input.text)) {}

  AstraWorkload read() {
    result_.file = input_.name;
    read_parallelism();
    const std::int64_t layers = read_count();
    for (; next_ < lines_.size(); ++next_) {
      const Words words = words_of(lines_[next_]);
      if (!words.empty()) add_layer(words);
    }
    if (static_cast<std::int64_t>(result_.layers.size()) != layers)
      refuse(2, fmt::format("{} layers are stated, but there are {}", layers, result_.layers.size()),
             "is the file cut off?");
    refuse_groups();
    return std::move(result_);
  }

private:
  [[noreturn]] void refuse(int line, std::string message, std::string hint = {}) const {
    throw input_error(input_.name, line, std::move(message), std::move(hint));
  }

  [[nodiscard]] int line() const { return static_cast<int>(next_) + 1; }

  void read_parallelism() {
    const Words words = lines_.empty() ? Words{} : words_of(lines_.front());
    constexpr std::array known{"DATA", "MICRO", "MODEL", "TRANSFORMER", "DLRM", "HYBRID"};
    const bool is_known = !words.empty() && std::ranges::any_of(known, [&](std::string_view one) {
      return words.front().starts_with(one);
    });
    if (!is_known)
      refuse(1,
             fmt::format("no workload of ASTRA-sim: it begins with {}",
                         shown(words.empty() ? "" : words.front())),
             "expected: the parallelism, such as DATA, then the number of layers");
    result_.parallelism = words.front();
    if (result_.is_transformer()) read_header(words);
    ++next_;
  }

  /// "ep: 16 pp: 12 ... pp_comm 50331648", with or without colons.
  void read_header(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::string_view name = words[i];
      if (name.ends_with(':')) name.remove_suffix(1);
      if (i + 1 == words.size()) refuse(1, fmt::format("{} has no number behind it", shown(words[i])));
      const std::int64_t value = number(words[++i], "number");
      result_.header.emplace_back(name, value);
      WorkloadGroups& groups = result_.groups;
      if (name == "model_parallel_NPU_group") groups.tensor = value;
      if (name == "ep") groups.expert = value;
      if (name == "pp") groups.pipeline = value;
      if (name == "all_gpus") groups.ranks = value;
      if (name.starts_with("checkpoint") && value > 0)
        refuse(1, fmt::format("{} {}: layers whose forward pass backward repeats", shown(name), value),
               "a workload without recomputation");
    }
    check_groups();
  }

  void check_groups() const {
    const WorkloadGroups& its = result_.groups;
    const std::int64_t divisor = std::max<std::int64_t>(its.tensor, 1) *
                                 std::max<std::int64_t>(its.pipeline, 1) *
                                 std::max<std::int64_t>(its.expert, 1);
    if (its.ranks > 0 && its.ranks % divisor != 0)
      refuse(1, fmt::format(
                    "{} ranks cannot be divided into {} stages of {} ranks for each layer and {} for the "
                    "experts",
                    its.ranks, std::max<std::int64_t>(its.pipeline, 1), its.tensor, its.expert));
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
    const bool is_number = problem == std::errc() && end == word.data() + word.size();
    if (!is_number || value < 0 || value > most)
      refuse(line(), fmt::format("{} is no {}", shown(word), what), "a whole number from 0 on");
    return value;
  }

  /// The group of a collective's word, whose end it takes off; `usual`: of a word without one.
  [[nodiscard]] Axis take_group(std::string_view& word, Axis usual) const {
    if (!result_.is_transformer()) return Axis::all;
    for (const auto& [end, axis] : {std::pair(std::string_view("_DP_EP"), Axis::expert_data),
                                    std::pair(std::string_view("_EP"), Axis::expert)}) {
      if (!word.ends_with(end)) continue;
      word.remove_suffix(end.size());
      return axis;
    }
    return usual;
  }

  [[nodiscard]] WorkloadPass pass(std::span<const std::string_view> words, Axis usual) const {
    WorkloadPass made{.time = number(words[0], "time"), .size = number(words[2], "size in bytes")};
    if (words[1] == no_collective) {
      if (made.size > 0) refuse(line(), fmt::format("{} B are sent by NONE", made.size));
      return made;
    }
    std::string_view word = words[1];
    made.axis = take_group(word, usual);
    const auto* const found = std::ranges::find(workload_words, word, &WorkloadWord::text);
    if (found == workload_words.end())
      refuse(line(), fmt::format("unknown collective {}", shown(words[1])),
             words[1].ends_with("_EP")
                 ? "collectives of groups, such as ALLREDUCE_EP of SimAI, are read in a workload "
                   "HYBRID_TRANSFORMER..."
                 : "one of NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL and BROADCAST");
    made.operation = found->operation;
    if (made.size == 0) made.operation.reset();
    return made;
  }

  void add_layer(const Words& words) {
    const std::size_t columns = usual_columns + (result_.parallelism == customized ? 1 : 0);
    if (words.size() != columns)
      refuse(line(), fmt::format("{} columns; expected: {}", words.size(), columns));
    const std::span<const std::string_view> all(words);
    if (words.size() > usual_columns && words.back() != "DATA")
      refuse(line(), fmt::format("layer {} has parallelism {}", shown(words.front()), shown(words.back())),
             "only DATA can be imported");
    WorkloadLayer layer{.name = std::string(words.front()),
                        .forward = pass(all.subspan(2, 3), Axis::tensor),
                        .input_gradient = pass(all.subspan(5, 3), Axis::tensor),
                        .weight_gradient = pass(all.subspan(8, 3), Axis::data),
                        .update = number(words[11], "time"),
                        .line = line()};
    if (is_data_parallel()) refuse_blocking(layer);
    result_.layers.push_back(std::move(layer));
  }

  void refuse_blocking(const WorkloadLayer& layer) const {
    for (const auto& [pass, name] :
         {std::pair(&layer.forward, "forward"), std::pair(&layer.input_gradient, "input gradient")}) {
      if (pass->operation)
        refuse(layer.line,
               fmt::format("layer {}: {} holds up the {} pass, which {} does not have", shown(layer.name),
                           config::name_of(*pass->operation), name, result_.parallelism),
               "collectives of weight gradients; those of groups stand in HYBRID_TRANSFORMER...");
    }
  }

  [[nodiscard]] bool is_data_parallel() const {
    const std::string& its = result_.parallelism;
    return its == "DATA" || its == "MICRO" || its == customized;
  }

  void refuse_groups() const {
    if (is_data_parallel() || result_.is_transformer()) return;
    refuse(
        1,
        fmt::format("{} is no data parallelism: its groups are dimensions of a network, which the file does "
                    "not have",
                    result_.parallelism),
        "DATA, MICRO and HYBRID_TRANSFORMER... can be imported");
  }

  const InputText& input_;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
  AstraWorkload result_;
};

class WorkloadTrace {
public:
  WorkloadTrace(const AstraWorkload& workload, WorkloadTime unit, std::optional<Bytes> gradient)
      : workload_(workload), unit_(length_of(unit)), gradient_(gradient) {}

  Trace make() {
    for (const WorkloadLayer& layer : workload_.layers) add(Phase::forward, layer, "", layer.forward);
    for (auto layer = workload_.layers.rbegin(); layer != workload_.layers.rend(); ++layer) {
      if (workload_.is_transformer()) add(Phase::backward, *layer, ".dgrad", layer->input_gradient);
      add(Phase::backward, *layer, ".wgrad", layer->weight_gradient);
      if (!workload_.is_transformer()) add(Phase::backward, *layer, ".dgrad", layer->input_gradient);
    }
    for (const WorkloadLayer& layer : workload_.layers)
      add(Phase::optimizer, layer, "", {.time = layer.update});
    if (trace_.ops.empty()) throw input_error(workload_.file, 0, "no layer takes time or communicates");
    return std::move(trace_);
  }

private:
  void add(Phase phase, const WorkloadLayer& layer, std::string_view suffix, const WorkloadPass& pass) {
    if (pass.time == 0 && !pass.operation) return;
    Op op;
    op.phase = phase;
    op.layer = layer.name + std::string(suffix);
    op.kind = OpKind::measured;
    // divided, so that the decimals of the file stay: 0.0007, not 0.0007000000000000001
    op.duration = Seconds(static_cast<double>(pass.time) / std::round(1 / unit_.si()));
    if (pass.operation) {
      const Bytes size = size_of(layer, pass);
      const bool runs_beside = &pass == &layer.weight_gradient;
      op.communications.push_back({.operation = *pass.operation, .size = size, .axis = pass.axis});
      op.communications.back().waits = runs_beside ? std::nullopt : std::optional(0);
      if (gradient_ && runs_beside && pass.operation == Operation::all_reduce)
        op.gradients.push_back({.tensor = layer.name, .elements = size / *gradient_});
    }
    trace_.ops.push_back(std::move(op));
  }

  /// Of an all-gather the whole result, which SimAI's files have; ASTRA-sim counts a rank's part. In SimAI's
  /// files a reduce-scatter of fp32 gradients has twice the bytes of the all-gather of their 16-bit
  /// parameters.
  [[nodiscard]] Bytes size_of(const WorkloadLayer& layer, const WorkloadPass& pass) const {
    const Bytes size(static_cast<double>(pass.size));
    constexpr std::string_view of_simai = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
    if (pass.operation != Operation::all_gather || workload_.parallelism == of_simai) return size;
    if (const auto ranks = group_size(workload_.groups, pass.axis)) return size * static_cast<double>(*ranks);
    throw input_error(
        workload_.file, layer.line,
        fmt::format(
            "layer {}: the size of an all-gather is that of a rank's part, and the file does not say the "
            "number of ranks",
            shown(layer.name)));
  }

  const AstraWorkload& workload_;
  Seconds unit_;
  std::optional<Bytes> gradient_;
  Trace trace_;
};

}  // namespace

Seconds length_of(WorkloadTime unit) {
  switch (unit) {
    case WorkloadTime::ns:
      return Seconds(1e-9);
    case WorkloadTime::us:
      return Seconds(1e-6);
    case WorkloadTime::ms:
      return Seconds(1e-3);
    case WorkloadTime::s:
      break;
  }
  return Seconds(1);
}

std::optional<std::int64_t> group_size(const WorkloadGroups& groups, Axis axis) {
  const std::int64_t tensor = std::max<std::int64_t>(groups.tensor, 1);
  const std::int64_t expert = std::max<std::int64_t>(groups.expert, 1);
  if (axis == Axis::tensor) return tensor;
  if (axis == Axis::expert) return expert;
  if (groups.ranks == 0) return std::nullopt;
  const std::int64_t replicas = groups.ranks / std::max<std::int64_t>(groups.pipeline, 1) / tensor;
  if (axis == Axis::data) return replicas;
  return axis == Axis::expert_data ? std::optional(replicas / expert) : std::nullopt;
}

AstraWorkload read_astra_workload(const InputText& input) { return WorkloadReader(input).read(); }

Trace trace_of(const AstraWorkload& workload, WorkloadTime unit, std::optional<Bytes> gradient) {
  return WorkloadTrace(workload, unit, gradient).make();
}

}  // namespace trainyard
