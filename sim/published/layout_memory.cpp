#include "published/layout_memory.hpp"

#include "published/stated_software.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"

#include <utility>

namespace trainyard {

LayoutMemory memory_of(const ResolvedExperiment& resolved) {
  const std::vector<MemoryReport> reports = memory_reports(resolved);
  const MemoryReport& report = fullest(reports);
  const MemoryTerms& terms = report.terms;
  return {.state = terms.parameters + terms.gradients + terms.optimizer_state,
          .activations = terms.activations,
          .allocated = report.peak - terms.context - terms.communication_buffers - terms.fragmentation,
          .whole = report.peak,
          .fits = report.fits};
}

Bytes ScoredMemory::prediction() const {
  switch (figure) {
    case MemoryFigure::whole:
      return predicted->whole;
    case MemoryFigure::allocated:
    case MemoryFigure::out_of_memory:
      return predicted->allocated;
    case MemoryFigure::activations:
      return predicted->activations;
    case MemoryFigure::state:
      return predicted->state;
  }
  return {};
}

std::optional<ScoredMemory> memory_figure(LayoutRun run) {
  const PublishedRow& row = *run.row;
  MemoryFigure figure{};
  if (row.metric == "out_of_memory") {
    figure = MemoryFigure::out_of_memory;
  } else if (row.metric == "peak_memory") {
    const bool is_whole = in_small_letters(row.notes).find("whole gpu") != std::string::npos;
    figure = is_whole ? MemoryFigure::whole : MemoryFigure::allocated;
  } else if (row.metric == "memory_activations") {
    figure = MemoryFigure::activations;
  } else if (row.metric == "memory_parameters_and_optimizer") {
    figure = MemoryFigure::state;
  } else {
    return std::nullopt;
  }
  Bytes published{};
  if (figure != MemoryFigure::out_of_memory) {
    const Parsed<Bytes> size = parse_quantity<Bytes>(shortest(row.value) + " " + row.unit);
    if (!size) return std::nullopt;
    published = *size;
  }
  return ScoredMemory{.run = std::move(run), .figure = figure, .published = published};
}

}  // namespace trainyard
