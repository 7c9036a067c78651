#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/import_input.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/read_file.hpp"
#include "imports/astra_workload.hpp"
#include "imports/checked_trace.hpp"
#include "report/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "workload/trace_csv.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

namespace trainyard {
namespace {

struct ImportAstraSimOptions {
  std::string file, out, unit;
  std::optional<std::string> gradients;
  bool force = false;
};

void import_astra_sim(const ImportAstraSimOptions& options) {
  const auto unit = choice<WorkloadTime>(options.unit);
  std::optional<Bytes> gradient;
  if (options.gradients) {
    if (*options.gradients != "fp32" && *options.gradients != "fp16")
      throw CLI::ValidationError("--gradients", "fp32 or fp16");
    gradient = Bytes(*options.gradients == "fp32" ? 4 : 2);
  }
  check_out_file(options.out, options.force);
  const AstraWorkload workload = read_as(options.file, {config::FileFormat::astra_sim_workload}, [&] {
    return read_astra_workload(
        plain_input(options.file, config::read_file(options.file, largest_interchange_file)));
  });
  const Trace trace = trace_of(workload, unit, gradient);
  write_out_file(options.out, checked_trace_text(options.out, trace), options.force);
  print_message(
      fmt::format("wrote {}: {} of {}\nnext:  trainyard run --platform dgx_a100 --batch 32 --set trace={}",
                  options.out, plural(std::ssize(trace.ops), "op"),
                  plural(static_cast<long long>(workload.layers.size()), "layer"), shell_word(options.out)));
}

}  // namespace

void add_import_astra_sim(CLI::App& import) {
  auto options = std::make_shared<ImportAstraSimOptions>();
  CLI::App& command = *import.add_subcommand(
      "astra-sim",
      "convert a workload of ASTRA-sim (text, data parallelism) into a trace of its training step");
  command.add_option("file", options->file, "the workload")->required()->type_name("FILE");
  command.add_option("-o,--output", options->out, "write the trace to this file")
      ->required()
      ->type_name("FILE");
  add_choice<WorkloadTime>(command, "--time-unit", options->unit, "UNIT",
                           "unit of the times, which the file does not say: {}");
  command.get_option("--time-unit")->required();
  add_value(
      command, "--gradients", options->gradients, "DTYPE",
      "type of the gradients, fp32 or fp16: makes tensors of the sizes, for other stacks and for memory");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command,
               {"trainyard import astra-sim workload.txt --time-unit ns -o astra.csv",
                "trainyard import astra-sim workload.txt --time-unit us --gradients fp32 -o tensors.csv"});
  command.callback([options] { import_astra_sim(*options); });
}

}  // namespace trainyard
