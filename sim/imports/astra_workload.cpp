#include "imports/astra_workload.hpp"

#include <algorithm>
#include <charconv>
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
    ++next_;
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

  [[nodiscard]] WorkloadPass pass(std::span<const std::string_view> words) const {
    WorkloadPass made{.time = number(words[0], "time"), .size = number(words[2], "size in bytes")};
    if (words[1] == no_collective) {
      if (made.size > 0) refuse(line(), fmt::format("{} B are sent by NONE", made.size));
      return made;
    }
    const auto* const found = std::ranges::find(workload_words, words[1], &WorkloadWord::text);
    if (found == workload_words.end())
      refuse(line(), fmt::format("unknown collective {}", shown(words[1])),
             "those of groups, such as ALLREDUCE_EP of SimAI, have no place in a trace of all ranks");
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
                        .forward = pass(all.subspan(2, 3)),
                        .input_gradient = pass(all.subspan(5, 3)),
                        .weight_gradient = pass(all.subspan(8, 3)),
                        .update = number(words[11], "time"),
                        .line = line()};
    for (const auto& [pass, name] :
         {std::pair(&layer.forward, "forward"), std::pair(&layer.input_gradient, "input gradient")}) {
      if (pass->operation)
        refuse(line(),
               fmt::format("layer {}: {} holds up the {} pass", shown(layer.name),
                           config::name_of(*pass->operation), name),
               "only collectives of weight gradients, which run beside it, can be imported");
    }
    if (layer.weight_gradient.operation == Operation::all_gather)
      refuse(
          line(),
          fmt::format("layer {}: the size of an all-gather is that of a rank's part, and the file does not "
                      "say the number of ranks",
                      shown(layer.name)));
    result_.layers.push_back(std::move(layer));
  }

  void refuse_groups() const {
    const std::string& its = result_.parallelism;
    if (its == "DATA" || its == "MICRO" || its == customized) return;
    refuse(1, fmt::format("{} is no data parallelism: its collectives are of groups of ranks", its),
           "only DATA can be imported");
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
      add(Phase::backward, *layer, ".wgrad", layer->weight_gradient);
      add(Phase::backward, *layer, ".dgrad", layer->input_gradient);
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
    op.duration = unit_ * static_cast<double>(pass.time);
    if (pass.operation) {
      const Bytes size(static_cast<double>(pass.size));
      op.communications.push_back({.operation = *pass.operation, .size = size});
      op.communications.back().waits = usual_wait(phase, *pass.operation);
      if (gradient_ && pass.operation == Operation::all_reduce)
        op.gradients.push_back({.tensor = layer.name, .elements = size / *gradient_});
    }
    trace_.ops.push_back(std::move(op));
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

AstraWorkload read_astra_workload(const InputText& input) { return WorkloadReader(input).read(); }

Trace trace_of(const AstraWorkload& workload, WorkloadTime unit, std::optional<Bytes> gradient) {
  return WorkloadTrace(workload, unit, gradient).make();
}

}  // namespace trainyard
