#include "run/run_summary.hpp"

namespace trainyard {

std::string text_of(const RunSummary& run, std::string_view field) {
  const std::optional<FigureValue>& value = run.figures.at(index_of(field, run.table));
  return value ? std::get<std::string>(*value) : std::string();
}

double number_of(const RunSummary& run, std::string_view field) {
  return std::get<double>(run.figures.at(index_of(field, run.table)).value());
}

Seconds step_time(const RunSummary& run) { return Seconds{number_of(run, "step_time_s")}; }
double throughput(const RunSummary& run) { return number_of(run, "throughput_samples_per_s"); }

}  // namespace trainyard
