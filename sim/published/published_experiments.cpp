#include "published/published_experiments.hpp"

#include "config/write.hpp"
#include "experiment/experiment.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

/// `text` on one line, so that it stays within a comment.
std::string in_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

PublishedExperiment experiment_of(const PublishedRow& row, double samples_per_second,
                                  const ResolvedExperiment& resolved) {
  const std::filesystem::path table = row.file;
  std::string text = fmt::format("# Published: {} samples/s of all GPUs ({}, line {})\n",
                                 shortest(samples_per_second), table.filename().string(), row.line);
  text += fmt::format("# Source: {}\n", in_one_line(row.source));
  text += "# The memory is ignored: the run was possible, whatever is counted.\n";
  return {.file = experiment_file(row), .text = text + config::write(resolved.settings)};
}

}  // namespace

std::string experiment_file(const PublishedRow& row) {
  return fmt::format("{}-{}.yaml", std::filesystem::path(row.file).stem().string(), row.line);
}

std::vector<PublishedExperiment> published_experiments(const config::Catalogue& catalogue,
                                                       const Validation& validation) {
  std::vector<PublishedExperiment> all;
  InputFiles files;
  files.wants_published_errors = false;
  for (const ScoredCase& scored : validation.cases) {
    const Case& of = scored.of;
    if (of.figure != CaseFigure::throughput || !scored.predicted.of || of.experiment) continue;
    if (of.layout && !scored.predicted.memory) continue;
    all.push_back(
        experiment_of(*of.row, *scored.predicted.measured, inputs_of(catalogue, of, of.machine, files)));
  }
  return all;
}

}  // namespace trainyard
