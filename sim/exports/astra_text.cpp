#include "exports/astra_text.hpp"

#include "config/diagnostic.hpp"
#include "exports/rank_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

enum class WorkloadColumn { forward, input_gradient, weight_gradient, update };
constexpr std::size_t workload_times = 4;

struct LayerLine {
  std::string name = {};
  std::array<double, workload_times> seconds{};
  double parameters = 0;
  std::optional<Operation> operation = {};
  double size = 0;
};

/// A layer's name without what ends a column.
std::string one_word(std::string name) {
  for (char& c : name) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') c = '_';
  }
  return name;
}

bool is_weight_gradient(const Op& op) {
  if (op.kind == OpKind::conv_wgrad || op.kind == OpKind::embedding) return true;
  const auto* product = std::get_if<GemmShape>(&op.shape);
  return op.kind == OpKind::gemm && product != nullptr && product->transpose_a;
}

class AstraWriter {
public:
  AstraWriter(const Run& run, WorkloadTime unit)
      : run_(run), step_(rank_step(run, Rank{0}, "a workload")), unit_(length_of(unit)) {}

  AstraWorkloadText write() {
    require_data_parallel_step(run_.experiment, "a workload");
    if (run_.experiment.settings.accumulation > 1)
      throw InputError(
          "a workload of ASTRA-sim has one forward and one backward pass, but here a step has several",
          "leave out 'accumulation'");
    add_ops();
    add_collectives();
    divide_updates();
    std::string text = fmt::format("DATA\n{}\n", lines_.size());
    std::array<double, workload_times> ends{};
    for (const LayerLine& line : lines_) {
      std::array<long long, workload_times> times{};
      for (std::size_t i = 0; i < workload_times; ++i) {
        const long long before = std::llround(ends[i] / unit_.si());
        ends[i] += line.seconds[i];
        times[i] = std::llround(ends[i] / unit_.si()) - before;
      }
      text += fmt::format("{}\t-1\t{}\tNONE\t0\t{}\tNONE\t0\t{}\t{}\t{:.0f}\t{}\n", line.name, times[0],
                          times[1], times[2], word_of(line), line.size, times[3]);
    }
    AstraWorkloadText made{.text = std::move(text),
                           .broadcasts = broadcasts_,
                           .broadcast_bytes = broadcast_bytes_,
                           .side_time = {}};
    for (const SideKernel& kernel : side_kernels(run_, Rank{0})) {
      ++made.side_kernels;
      made.side_time += kernel.duration;
    }
    return made;
  }

private:
  static std::string_view word_of(const LayerLine& line) {
    if (!line.operation) return no_collective;
    return std::ranges::find(workload_words, *line.operation, &WorkloadWord::operation)->text;
  }

  void add_ops() {
    const std::vector<OpRow>& rows = step_of(run_).classes.front().ops;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Op& op = step_.trace->ops.at(i);
      const double seconds = rows[i].duration.si();
      for (const Gradient& gradient : op.gradients) line_for(op).parameters += gradient.elements;
      if (op.phase == Phase::optimizer) {
        updates_ += seconds;
        continue;
      }
      LayerLine& line = line_for(op);
      line_of_op_[static_cast<int>(i)] = static_cast<std::size_t>(&line - lines_.data());
      const WorkloadColumn column = op.phase == Phase::forward ? WorkloadColumn::forward
                                    : is_weight_gradient(op)   ? WorkloadColumn::weight_gradient
                                                               : WorkloadColumn::input_gradient;
      line.seconds[static_cast<std::size_t>(column)] += seconds;
    }
  }

  /// Ops of backward whose layer has none in forward belong to the layer whose name theirs begins with, such
  /// as "fc" of "fc.cast", otherwise to the line of the op before.
  LayerLine& line_for(const Op& op) {
    std::string name = one_word(op.layer);
    const auto known = place_.find(name);
    if (known != place_.end()) return lines_[last_ = known->second];
    if (op.phase != Phase::forward) {
      for (std::string part = name; part.rfind('.') != std::string::npos;) {
        part.resize(part.rfind('.'));
        const auto found = place_.find(part);
        if (found != place_.end()) return lines_[last_ = found->second];
      }
      if (!lines_.empty()) return lines_[last_];
    }
    last_ = lines_.size();
    place_.emplace(name, last_);
    lines_.push_back({.name = std::move(name)});
    return lines_.back();
  }

  void add_collectives() {
    const std::vector<std::optional<int>> waiting = ops_that_wait(run_);
    const std::vector<Collective>& collectives = step_of(run_).plan.graph.collectives;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const Collective& collective = collectives[i];
      if (collective.operation == Operation::broadcast) {
        ++broadcasts_;
        broadcast_bytes_ += collective.size;
        continue;
      }
      const auto found = line_of_op_.find(collective.label.ready_op);
      const bool has_word = std::ranges::find(workload_words, collective.operation,
                                              &WorkloadWord::operation) != workload_words.end();
      const bool is_of_backward = found != line_of_op_.end() &&
                                  step_.trace->ops.at(at(collective.label.ready_op)).phase == Phase::backward;
      if (!has_word || !is_of_backward || waiting[i])
        throw InputError(fmt::format("a workload of ASTRA-sim has no place for {} ({})",
                                     collective.label.name, config::name_of(collective.operation)),
                         "it has collectives behind weight gradients");
      LayerLine& line = lines_[found->second];
      if (line.operation && line.operation != collective.operation)
        throw InputError(
            fmt::format("layer '{}' completes the data of several kinds of collectives", line.name));
      line.operation = collective.operation;
      // of an all-gather a rank's part
      line.size += collective.size.si() / (collective.operation == Operation::all_gather ? run_.ranks : 1);
    }
  }

  void divide_updates() {
    double parameters = 0;
    for (const LayerLine& line : lines_) parameters += line.parameters;
    for (LayerLine& line : lines_) {
      const double share =
          parameters > 0 ? line.parameters / parameters : 1 / static_cast<double>(lines_.size());
      line.seconds[static_cast<std::size_t>(WorkloadColumn::update)] = updates_ * share;
    }
  }

  const Run& run_;
  ExportedStep step_;
  Seconds unit_;
  std::vector<LayerLine> lines_;
  std::map<std::string, std::size_t> place_;  // of a layer's line
  std::map<int, std::size_t> line_of_op_;
  std::size_t last_ = 0;
  double updates_ = 0;  // s
  int broadcasts_ = 0;
  Bytes broadcast_bytes_;
};

}  // namespace

AstraWorkloadText astra_workload_text(const Run& run, WorkloadTime unit) {
  return AstraWriter(run, unit).write();
}

}  // namespace trainyard
