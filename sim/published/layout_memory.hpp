#pragma once
// Published figures of memory of runs whose ranks share a model, and the memory predicted for the runs.
// Nothing is simulated and nothing fitted.

#include "config/keys.hpp"
#include "experiment/resolve.hpp"
#include "published/layout_run.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace trainyard {

/// The memory of the fullest GPU.
struct LayoutMemory {
  Bytes state;  ///< parameters, gradients and optimizer state
  Bytes activations;
  Bytes allocated;  ///< what the framework's allocator hands out
  Bytes whole;      ///< with the context, NCCL's buffers and what the allocator holds besides
  bool fits = true;
};

/// Throws InputError and JobImpossible like memory_reports.
LayoutMemory memory_of(const ResolvedExperiment& resolved);

/// What a row says about memory.
enum class MemoryFigure {
  out_of_memory,  ///< the run failed
  whole,          ///< of the GPU as monitored
  allocated,      ///< the peak that the framework reports
  activations,
  state
};

struct ScoredMemory {
  LayoutRun run;
  MemoryFigure figure{};
  Bytes published = {};  ///< of all figures but out_of_memory
  std::optional<LayoutMemory> predicted = {};

  /// The predicted value of the figure; not of out_of_memory.
  [[nodiscard]] Bytes prediction() const;
};

/// The figure of a row about memory; nothing if it is a ratio or its unit is unknown.
std::optional<ScoredMemory> memory_figure(LayoutRun run);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<MemoryFigure> {
  static constexpr std::string_view what = "figure of memory";
  static constexpr std::array table{
      Name{"out of memory", MemoryFigure::out_of_memory, "the run failed"},
      Name{"whole GPU", MemoryFigure::whole, "memory in use as monitored"},
      Name{"allocated", MemoryFigure::allocated, "the peak that the framework reports"},
      Name{"activations", MemoryFigure::activations, "activations of the first stage"},
      Name{"state", MemoryFigure::state, "parameters, gradients and optimizer state"}};
};

}  // namespace trainyard::config
