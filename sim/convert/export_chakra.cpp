#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "convert/commands.hpp"
#include "convert/export_options.hpp"
#include "exports/chakra_et.hpp"
#include "exports/rank_step.hpp"
#include "io/out_files.hpp"
#include "run/simulate.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct ChakraOptions {
  ExportOptions common;
  std::optional<std::string> ranks;
};

void export_chakra(const ChakraOptions& options) {
  const LimitsKept limits(limits_of(options.common.limits), announce_work);
  const ResolvedExperiment resolved = resolved_for_export(options.common);
  require_data_parallel_step(resolved, "an execution trace");
  const auto file_of = [&](Rank rank) { return fmt::format("{}.{}.et", options.common.out, index(rank)); };
  const std::vector<Rank> ranks = ranks_for_export(options.ranks, resolved);
  for (const Rank rank : ranks) check_out_file(file_of(rank), options.common.force);
  // its times of collectives are not written
  const Run run = simulate(resolved, {.fidelity = Fidelity::closed});
  for (const Rank rank : ranks) write_out_file(file_of(rank), chakra_et(run, rank), options.common.force);
  print_message(fmt::format("wrote {}: {} ... of {}", plural(static_cast<int>(ranks.size()), "file"),
                            file_of(ranks.front()), plural(run.ranks, "rank")));
  const auto is_broadcast = [](const Collective& one) { return one.operation == Operation::broadcast; };
  if (std::ranges::any_of(step_of(run).plan.graph.collectives, is_broadcast))
    print_message(
        "note: ASTRA-sim carries out no broadcast; --set stack.broadcast_buffers=false leaves those of DDP "
        "out");
}

}  // namespace

void add_export_chakra(CLI::App& command_of_exports) {
  auto options = std::make_shared<ChakraOptions>();
  CLI::App& command = *command_of_exports.add_subcommand(
      "chakra", "write the step of ranks as execution traces of Chakra, for ASTRA-sim");
  add_export_options(command, options->common, "NAME", "write NAME.0.et, NAME.1.et ...");
  add_ranks_option(command, options->ranks);
  add_examples(command, {"trainyard export chakra resnet50_dgx2 --gpus 2 -o resnet50",
                         "trainyard export chakra bert_base_p3dn --ranks 0 -o bert"});
  command.callback([options] { export_chakra(*options); });
}

}  // namespace trainyard
