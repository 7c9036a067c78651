#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/commands.hpp"
#include "convert/export_options.hpp"
#include "exports/kineto_json.hpp"
#include "exports/rank_step.hpp"
#include "io/gzip.hpp"
#include "io/out_files.hpp"
#include "run/simulate.hpp"
#include "units/plural.hpp"

#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace trainyard {
namespace {

struct HtaOptions {
  ExportOptions common;
  std::optional<std::string> ranks, fidelity;
  std::string steps = "2";
  bool gzip = false;
};

/// With or without compression, of any rank: an export may replace an earlier one of other ranks.
std::set<std::string> profile_names(int ranks) {
  std::set<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) {
    names.insert(fmt::format("rank_{}.json", rank));
    names.insert(fmt::format("rank_{}.json.gz", rank));
  }
  return names;
}

void export_hta(const HtaOptions& options) {
  constexpr int most_steps = 1000;
  const int steps = whole_number("--steps", options.steps, 1, most_steps);
  SimulateOptions how;
  if (options.fidelity) how.fidelity = choice<Fidelity>(*options.fidelity);
  const LimitsKept limits(limits_of(options.common.limits), announce_work);
  const ResolvedExperiment resolved = resolved_for_export(options.common);
  require_steady_step(resolved, "a profile");
  const std::vector<Rank> ranks = ranks_for_export(options.ranks, resolved);
  const std::set<std::string> names = profile_names(resolved.cluster->ranks());
  check_out_dir(options.common.out, names, options.common.force);
  const Run run = simulate(resolved, how);
  std::map<std::string, std::string> files;
  for (const Rank rank : ranks) {
    std::string text = kineto_json(run, rank, steps);
    files.emplace(fmt::format("rank_{}.json{}", index(rank), options.gzip ? ".gz" : ""),
                  options.gzip ? compressed_by_gzip(text) : std::move(text));
  }
  write_out_dir(options.common.out, files, names, options.common.force);
  print_message(fmt::format("wrote {} to {}: {} each", plural(static_cast<int>(files.size()), "file"),
                            options.common.out, plural(steps, "step")));
  if (steps < 2) print_message("note: Holistic Trace Analysis leaves out the last step; it needs --steps 2");
}

}  // namespace

void add_export_hta(CLI::App& command_of_exports) {
  auto options = std::make_shared<HtaOptions>();
  CLI::App& command = *command_of_exports.add_subcommand(
      "hta", "write the steps of ranks as JSON of torch.profiler, for Holistic Trace Analysis and Perfetto");
  add_export_options(command, options->common, "DIR", "write rank_0.json, rank_1.json ... to this folder");
  add_ranks_option(command, options->ranks);
  add_value(command, "--steps", options->steps, "N", "number of times that the step stands in a file");
  add_choice<Fidelity>(command, "--fidelity", options->fidelity, "F",
                       "level of detail of collectives, cheapest first: {} (default: the experiment's)");
  command.add_flag("--gz", options->gzip, "compress the files by gzip");
  add_examples(command, {"trainyard export hta resnet50_dgx2 --gpus 2 -o profiles",
                         "trainyard export hta bert_base_p3dn --ranks 0 --gz -o more"});
  command.callback([options] { export_hta(*options); });
}

}  // namespace trainyard
