#include "published/memory_figures.hpp"

#include "published/stated_software.hpp"
#include "units/text.hpp"

namespace trainyard {
namespace {

constexpr std::string_view out_of_memory = "out_of_memory";
constexpr std::string_view within_memory = "within_memory";

}  // namespace

std::string read_memory_figure(Case& run) {
  const PublishedRow& row = *run.row;
  if (is_memory_verdict(row)) {
    run.figure = row.metric == out_of_memory ? CaseFigure::out_of_memory : CaseFigure::within_memory;
    return {};
  }
  if (row.metric == "peak_memory") {
    const bool is_in_use = in_small_letters(row.notes).find("whole gpu") != std::string::npos;
    run.figure = is_in_use ? CaseFigure::memory_in_use : CaseFigure::memory_allocated;
  } else if (row.metric == "memory_activations") {
    run.figure = CaseFigure::memory_of_activations;
  } else if (row.metric == "memory_parameters_and_optimizer") {
    run.figure = CaseFigure::memory_of_state;
  } else {
    return std::string(no_size);
  }
  const Parsed<Bytes> size = parse_quantity<Bytes>(shortest(row.value) + " " + row.unit);
  if (!size || *size <= Bytes{}) return std::string(no_size);
  run.measured = size->si();
  return {};
}

bool is_about_memory(const PublishedRow& row) {
  return row.metric == "peak_memory" || is_memory_verdict(row) || row.metric.starts_with("memory_");
}

bool is_memory_verdict(const PublishedRow& row) {
  return row.metric == out_of_memory || row.metric == within_memory;
}

}  // namespace trainyard
