#include "cli/commands.hpp"
#include "cli/export_options.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "exports/astra_text.hpp"
#include "exports/rank_step.hpp"
#include "report/out_files.hpp"
#include "run/simulate.hpp"
#include "units/plural.hpp"

#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <string>

namespace trainyard {
namespace {

struct AstraSimOptions {
  ExportOptions common;
  std::string unit;
};

void export_astra_sim(const AstraSimOptions& options) {
  const auto unit = choice<WorkloadTime>(options.unit);
  const ResolvedExperiment resolved = resolved_for_export(options.common);
  require_data_parallel_step(resolved, "a workload");
  check_out_file(options.common.out, options.common.force);
  // its times of collectives are not written
  const Run run = simulate(resolved, {.fidelity = Fidelity::closed});
  const AstraWorkloadText workload = astra_workload_text(run, unit);
  write_out_file(options.common.out, workload.text, options.common.force);
  print_message(fmt::format("wrote {}: times in {}", options.common.out, options.unit));
  if (workload.broadcasts > 0) {
    print_message(fmt::format("left out: {} before forward, {} B in all, for which a workload has no place",
                              plural(workload.broadcasts, "broadcast"),
                              grouped(std::llround(workload.broadcast_bytes.si()))));
  }
}

}  // namespace

void add_export_astra_sim(CLI::App& command_of_exports) {
  auto options = std::make_shared<AstraSimOptions>();
  CLI::App& command = *command_of_exports.add_subcommand(
      "astra-sim", "write the step as a workload of ASTRA-sim: a layer a line, data parallelism");
  add_export_options(command, options->common, "FILE", "write the workload to this file");
  add_choice<WorkloadTime>(command, "--time-unit", options->unit, "UNIT",
                           "unit of the times, which the file does not say: {}");
  command.get_option("--time-unit")->required();
  add_examples(command, {"trainyard export astra-sim resnet50_dgx2 --time-unit ns -o resnet50.txt",
                         "trainyard export astra-sim bert_base_p3dn --time-unit us -o bert.txt"});
  command.callback([options] { export_astra_sim(*options); });
}

}  // namespace trainyard
