#include "cli/help.hpp"
#include "cli/other_commands.hpp"
#include "cli/terminal.hpp"
#include "convert/commands.hpp"
#include "convert/export_options.hpp"
#include "experiment/keys_meant.hpp"
#include "platform/device_pattern.hpp"
#include "run/simulate.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

void add_export_options(CLI::App& command, ExportOptions& options, const std::string& type,
                        const std::string& text) {
  add_experiment_options(command, options.what);
  command.add_option("-o,--output", options.out, text)->required()->type_name(type);
  add_limit_options(command, options.limits);
  command.add_flag("--force", options.force, "replace what an earlier export wrote there");
}

void add_ranks_option(CLI::App& command, std::optional<std::string>& ranks) {
  add_value(command, "--ranks", ranks, "RANKS",
            "these ranks only: 0,8 or 0-3 (default: all that the result shows)");
}

ResolvedExperiment resolved_for_export(const ExportOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  const Overrides overrides = overrides_of(catalogue, options.what);
  InputFiles files;
  ResolvedExperiment resolved = resolve_with_totals(catalogue, options.what.experiment, overrides, files);
  print_diagnostics(resolved.warnings);
  return resolved;
}

std::vector<Rank> ranks_for_export(const std::optional<std::string>& text,
                                   const ResolvedExperiment& resolved) {
  if (!text) return shown_ranks(resolved);
  const int most = resolved.cluster->ranks() - 1;
  const std::optional<std::vector<int>> numbers = numbers_in_list(*text, most);
  if (!numbers) {
    throw CLI::ValidationError(
        "--ranks", fmt::format("{} names no ranks from 0 to {}; write 0,8 or 0-3", in_quotes(*text), most));
  }
  std::vector<Rank> ranks;
  for (const int rank : *numbers) ranks.push_back(Rank{rank});
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  return ranks;
}

void add_export(CLI::App& program) {
  CLI::App& command = add_command(program, export_command);
  command.require_subcommand(1);
  add_examples(command,
               {"trainyard export hta resnet50_dgx2 --gpus 2 -o ranks", "trainyard export hta --help"});
  add_export_hta(command);
  add_export_chakra(command);
  add_export_simgrid(command);
}

}  // namespace trainyard
