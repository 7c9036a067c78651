#include "report/page_origin.hpp"

#include "experiment/prediction_error.hpp"
#include "report/known_errors.hpp"
#include "run/figures.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

PageOrigin page_origin(const ResolvedExperiment& resolved, const std::string& version) {
  PageOrigin origin{.version = version, .warnings = {}, .sources = {}};
  for (const Diagnostic& warning : resolved.warnings) origin.warnings.push_back(to_string(warning));
  const auto is_measured = [](const Op& op) {
    return op.duration && op.source.value_or(ComputeSource::measured) == ComputeSource::measured;
  };
  origin.has_measured_times = std::ranges::any_of(resolved.classes, [&](const RankClass& one) {
    return std::ranges::any_of(one.trace.ops, is_measured);
  });
  const auto add = [&](std::string_view kind, const std::string& name,
                       const std::vector<std::string>& sources) {
    for (const std::string& source : sources)
      origin.sources.push_back({.file = fmt::format("{} {}", kind, name), .source = source});
  };
  add("platform", resolved.platform.name, resolved.platform.sources);
  add("GPU", resolved.gpu.name, resolved.gpu.source);
  add("stack", resolved.stack.name, resolved.stack.source);
  return origin;
}

doc::Table sources_table(const std::vector<PageSource>& sources) {
  doc::Table table{.key = "sources", .title = "sources", .columns = {{.head = "file"}, {.head = "source"}}};
  for (const PageSource& one : sources) table.rows.push_back({.cells = {one.file, one.source}});
  return table;
}

void add_sources(doc::Section& section, const std::vector<PageSource>& sources) {
  if (sources.empty()) return;
  section.add(doc::Heading{"sources"});
  section.add(sources_table(sources));
}

void add_errors(doc::Document& page, const Run& run, const PageOrigin& origin) {
  add_known_errors(page,
                   origin.has_measured_times
                       ? "The trace gave the compute times: compare with 1gpu, the error of adding GPUs."
                       : fmt::format("Compare this result with the fit {}.", fit_of(run.experiment)));
  page.sections.back().has_own_words = true;
}

void add_experiment(doc::Document& page, const Run& run, const PageOrigin& origin) {
  doc::Section& section = page.section("experiment", "the experiment", "All keys, defaults included.");
  section.has_own_words = true;
  section.add(doc::Listing{"experiment", resolved_text(run)});
  section.add(
      doc::Sentence{"This is experiment.resolved.yaml, next to this page. To get the same numbers again:"});
  section.add(doc::Command{"", "trainyard run experiment.resolved.yaml --out again"});
  section.add(doc::Sentence{fmt::format(
      "trainyard {}, fidelity {}: {} events were simulated. The same input gives the same page, byte for "
      "byte.",
      origin.version, config::name_of(run.experiment.settings.fidelity),
      grouped(static_cast<std::int64_t>(run.events)))});
}

}  // namespace trainyard
