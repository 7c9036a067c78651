#include "report/expected_error.hpp"
#include "report/layout_summary.hpp"
#include "report/memory_page.hpp"
#include "report/run_page.hpp"
#include "run/expected_bounds.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace trainyard {

namespace {

/// "; 12 J of it for cancelled work".
std::string wasted_in_words(const Run& run) {
  if (!updates_of(run) || updates_of(run)->wasted_energy.value_or(Joules{}) <= Joules{}) return {};
  return fmt::format("; {} of it for cancelled work", estimate(*updates_of(run)->wasted_energy));
}

/// "; largest batch that fits: 64"; empty for a trace, whose batch is fixed.
std::string largest_batch_in_words(const Run& run, const MemoryReport& memory) {
  if (!run.experiment.model) return {};
  return fmt::format("; largest {} that fits: {}", run.experiment.layout ? "micro-batch" : "batch",
                     grouped(memory.largest_batch));
}

/// "on node 0, the fullest of 4: parameters 0.40 GB, ...".
std::string server_memory_in_words(const ServerMemory& memory) {
  std::string text = "on " + server_place(memory);
  std::string_view separator = ": ";
  for (const ServerMemoryTerm& term : server_memory_terms) {
    std::string name(term.name);
    std::ranges::replace(name, '_', ' ');
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), name, gpu_memory(memory.*term.bytes));
  }
  return text;
}

/// "; 7.2 GB to 12.9 GB expected"; empty for a figure without an interval.
std::string interval_of(const Run& run, std::string_view field) {
  const std::string words = bounds_in_words(run, field);
  return words.empty() ? words : "; " + words;
}

/// ", 10.0 GB to 16.5 GB expected: it may not fit".
std::string memory_interval(const Run& run, const MemoryReport& memory) {
  constexpr const char* field = "memory_peak_bytes";
  const auto bounds = expected_bounds(run, field);
  if (!bounds) return {};
  const bool may_not_fit = memory.fits && bounds->high > memory.available.si();
  return fmt::format(", {}{}", bounds_in_words(run, field), may_not_fit ? ", so it may not fit" : "");
}

/// The memory of each class, or of the fullest stage.
void add_memory_facts(doc::Section& section, const Run& run) {
  const std::vector<MemoryReport>& reports = *run.memory;
  const bool has_stages = run.experiment.layout && reports.size() > 1;
  for (const MemoryReport& memory : reports) {
    if (has_stages && &memory != &fullest(reports)) continue;
    const std::string ranks = reports.size() > 1 ? memory.ranks + ": " : std::string();
    section.add(doc::Fact{"memory_peak_bytes",
                          "memory",
                          {gpu_memory(memory.peak), memory.peak},
                          fmt::format("{}of {} per GPU ({}){}: {}{}", ranks, gpu_memory(memory.capacity),
                                      percent(memory.utilization),
                                      &memory == &fullest(reports) ? memory_interval(run, memory) : "",
                                      largest_terms(memory.terms), largest_batch_in_words(run, memory))});
  }
  if (has_stages) section.fact("by stage", memory_by_stage(reports));
  if (const std::optional<ServerMemory>& server = fullest(reports).server)
    section.add(doc::Fact{
        {}, "server memory", {gpu_memory(total(*server)), total(*server)}, server_memory_in_words(*server)});
}

void add_energy(doc::Section& section, const Run& run) {
  section.add(doc::Fact{"energy_per_step_j",
                        "energy",
                        {estimate(run.energy->per_step), run.energy->per_step},
                        fmt::format("per {}; {} on average for all GPUs and nodes{}{}",
                                    updates_of(run) ? "update" : "step", estimate(run.energy->average),
                                    wasted_in_words(run), interval_of(run, "energy_per_step_j"))});
  const double samples = run.pace.throughput / run.energy->average.si();
  const auto on_page = [&](const char* label, doc::Value value, const char* remark) {
    section.add(doc::Fact{{}, label, std::move(value), remark, false, doc::Shown::pages});
  };
  on_page("samples per joule", {rounded(samples), samples}, "throughput over average power");
  if (const auto epoch = epoch_time(run))
    on_page("energy of an epoch", {estimate(run.energy->average * *epoch), run.energy->average * *epoch},
            "average power times the time of an epoch");
}

}  // namespace

void add_resources(doc::Document& page, const Run& run) {
  doc::Section& section = page.section("needs", "resources");
  if (run.memory) add_memory_facts(section, run);
  if (run.energy) add_energy(section, run);
  if (!run.cost) return;
  section.add(doc::Fact{
      "cost_per_epoch_usd",
      "cost",
      {rounded(run.cost->per_epoch.si()) + " USD", run.cost->per_epoch},
      fmt::format("per epoch, at {} USD per node and hour ({}{}){}", shortest(run.cost->per_node_hour.si()),
                  run.cost->date, run.cost->is_assumed ? ", assumed" : "",
                  interval_of(run, "cost_per_epoch_usd"))});
}

}  // namespace trainyard
