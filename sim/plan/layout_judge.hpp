#pragma once
// Judges a layout without simulating it: whether it is possible and fits in memory, and lower bounds of its
// time and energy.

#include "accuracy/common_error.hpp"
#include "collectives/node_times.hpp"
#include "experiment/resolve.hpp"
#include "plan/layout_space.hpp"
#include "schedule/step_bound.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

enum class LayoutFate : char { open, impossible, too_large };

struct LayoutVerdict {
  LayoutFate fate = LayoutFate::open;
  std::string reason = {};            ///< of an impossible one, or why the error of an open one is unknown
  Seconds time = {};                  ///< of an open one: no step is shorter
  std::optional<Joules> energy = {};  ///< no step needs less; empty: the power is not known
  double memory = 0;                  ///< of an open one: share of the available memory that it takes
  std::optional<ErrorSpread> error = {};  ///< of an open one, if asked for: of its prediction
};

/// Errors of published runs under the fit of a job; null where none are installed.
struct ErrorTables {
  std::shared_ptr<const PublishedErrors> of_replicas;  ///< every rank has the whole model
  std::shared_ptr<const PublishedErrors> of_layouts;
};

/// Judges the layouts of one job.
class LayoutJudge {
public:
  /// `base`: the job without a layout. `headroom`: the share of the available memory that must stay free.
  /// With `errors`, verdicts have the expected error.
  LayoutJudge(ResolvedExperiment base, double headroom, std::optional<ErrorTables> errors = {});

  LayoutVerdict judge(const PlanLayout& layout);

  /// Verdicts of many layouts: much faster where neighbours differ only in sharded state or micro-batches.
  /// Then ops are made once for all kinds of sharding, and no larger micro-batch is tried where a smaller one
  /// does not fit.
  std::vector<LayoutVerdict> judge(std::span<const PlanLayout> layouts);

private:
  void lay_out_as(const PlanLayout& layout);
  LayoutVerdict judge_laid_out();
  void add_error(LayoutVerdict& verdict);
  void judge_family(std::span<const PlanLayout> family, std::span<LayoutVerdict> verdicts);
  [[nodiscard]] std::optional<Joules> energy_of(const StepBound& bound) const;

  ResolvedExperiment trial_;
  Model model_;
  double headroom_;
  std::optional<ErrorTables> errors_;
  Bytes buffers_;  ///< of the communication library
  NodeTimes in_nodes_;
  std::optional<PlanLayout> laid_out_ = {};  ///< the layout of `trial_`, except for its sharded state
  std::vector<Op> updates_ = {};             ///< of `trial_`, for share_state()
  bool is_larger_hopeless_ = false;          ///< of the last one that was judged: no larger micro-batch fits
};

}  // namespace trainyard
