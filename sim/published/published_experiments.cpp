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

/// `text` without what would end a comment.
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
                                                       const TrainingValidation& training,
                                                       const LayoutValidation& layouts) {
  std::vector<PublishedExperiment> all;
  InputFiles files;
  files.wants_published_errors = false;
  for (const ScoredRun& scored : training.runs) {
    const PublishedRun& run = scored.run;
    if (scored.predicted.measured)
      all.push_back(experiment_of(*run.row, *scored.predicted.measured,
                                  inputs_of(catalogue, run, *run.machine, files)));
  }
  for (const ScoredLayout& scored : layouts.runs) {
    if (scored.memory)
      all.push_back(
          experiment_of(*scored.run.row, scored.run.measured, inputs_of(catalogue, scored.run, files)));
  }
  return all;
}

}  // namespace trainyard
