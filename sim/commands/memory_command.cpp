#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "document/json_text.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/one_gpu.hpp"
#include "report/memory_page.hpp"
#include "report/run_words.hpp"
#include "run/fitting_layouts.hpp"
#include "run/memory_verdict.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace trainyard {

namespace {

struct MemoryOptions {
  ExperimentOptions what;
  LimitOptions limits;
  PageOptions page;
};

/// Two remarks, of which either may be empty.
std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

/// Prints the table whether the step fits or not; the exit code and stderr tell which.
void show_memory(const MemoryOptions& options) {
  check_page_options(options.page);
  const config::Catalogue catalogue = config::find_catalogue();
  const LimitsKept limits(only_listing(options.limits), announce_work);
  InputFiles files;
  const ResolvedExperiment resolved =
      resolve_with_totals(catalogue, options.what.experiment, overrides_of(catalogue, options.what), files);
  print_diagnostics(resolved.warnings);
  const std::vector<MemoryReport> reports = memory_reports(resolved);
  MemoryReport report = fullest(reports);
  std::string remark = one_gpu_in_words(resolved.settings);
  if (!remark.empty()) remark += " (memory does not depend on it)";
  const std::string changes = changes_in_words(resolved);
  const bool has_stages = reports.size() > 1;
  const std::string below = joined(
      changes, has_stages ? fmt::format("{}, the fullest of {}", report.ranks, reports.size()) : remark);
  const std::string page = printed_page(
      options.page, memory_document(name_and_what(resolved, resolved.cluster->nodes), reports, below));
  if (options.page.json) {
    if (!remark.empty()) report.assumptions.push_back(remark);
    nlohmann::ordered_json json = memory_json(resolved.name, report);
    json["changed_keys"] = changed_keys(resolved);
    if (has_stages) json["stages"] = stage_memory_json(reports);
    print_result(json_text(json));
  } else {
    print_result(page);
  }
  if (resolved.settings.memory == MemoryCheck::check)
    require_fit(report, report.fits ? "" : fitting_hint(resolved));
  else if (!report.fits)
    print_message("warning: " + ignored_verdict(report));
}

}  // namespace

void add_memory(CLI::App& program) {
  auto options = std::make_shared<MemoryOptions>();
  CLI::App& command = *program.add_subcommand(
      "memory", "print the memory of a step per GPU, whether it fits, and the largest batch that fits");
  add_experiment_options(command, options->what);
  add_limit_options(command, options->limits);
  add_page_options(command, options->page, "print the table as JSON, in bytes");
  add_examples(command,
               {"trainyard memory --model gpt2_xl --platform dgx_a100 --precision bf16",
                "trainyard memory resnet50_dgx2 --batch 256",
                "trainyard memory resnet50_dgx2 --set precision=amp --json"},
               "Exit code 0 if the step fits, 4 if not.");
  command.callback([options] { show_memory(*options); });
}

}  // namespace trainyard
