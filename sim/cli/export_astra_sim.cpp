#include "cli/astra_config_files.hpp"
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
#include "units/text.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <system_error>

namespace trainyard {
namespace {

struct AstraSimOptions {
  ExportOptions common;
  std::string unit;
};

void export_astra_sim(const AstraSimOptions& options) {
  const auto unit = choice<WorkloadTime>(options.unit);
  const LimitsKept limits(limits_of(options.common.limits), announce_work);
  const ResolvedExperiment resolved = resolved_for_export(options.common);
  require_data_parallel_step(resolved, "a workload");
  check_out_file(options.common.out, options.common.force);
  const std::filesystem::path out(options.common.out);
  std::error_code ignored;
  const bool is_file =
      !std::filesystem::exists(out, ignored) || std::filesystem::is_regular_file(out, ignored);
  std::filesystem::path stem = out;
  const AstraConfigFiles configs = astra_config_files(stem.replace_extension().string());
  if (is_file) check_astra_configs(configs, options.common.force);  // nothing stands beside /dev/stdout
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
  if (workload.side_kernels > 0) {
    print_message(fmt::format("left out: {} around collectives, {} in all, for which a workload has no place",
                              plural(workload.side_kernels, "kernel"), human(workload.side_time)));
  }
  if (is_file) write_astra_configs(run, configs, options.common.force);
}

}  // namespace

void add_export_astra_sim(CLI::App& command_of_exports) {
  auto options = std::make_shared<AstraSimOptions>();
  CLI::App& command =
      *command_of_exports.add_subcommand("astra-sim",
                                         "write the step as a workload of ASTRA-sim (a layer a line, data "
                                         "parallelism), with its network and system");
  add_export_options(command, options->common, "FILE",
                     "write the workload to this file; NAME.network.yml and NAME.system.json next to it");
  add_choice<WorkloadTime>(command, "--time-unit", options->unit, "UNIT",
                           "unit of the times, which the file does not say: {}");
  command.get_option("--time-unit")->required();
  add_examples(command, {"trainyard export astra-sim resnet50_dgx2 --time-unit ns -o resnet50_layers.txt",
                         "trainyard export astra-sim bert_base_p3dn --time-unit us -o bert_layers.txt"});
  command.callback([options] { export_astra_sim(*options); });
}

}  // namespace trainyard
