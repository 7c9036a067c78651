#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/read_file.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "convert/platform_of_gpu.hpp"
#include "imports/astra_workload.hpp"
#include "imports/checked_trace.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct ImportAstraSimOptions {
  std::string file, out, unit;
  std::optional<std::string> gradients;
  bool force = false;
};

/// A line for each kind and group of collectives.
std::string collectives_in(const Trace& trace) {
  std::map<std::pair<Axis, Operation>, std::pair<int, Bytes>> totals;  // number, sum
  for (const Op& op : trace.ops) {
    for (const OpCommunication& one : op.communications) {
      auto& [number, bytes] = totals[{one.axis, one.operation}];
      ++number;
      bytes += one.size;
    }
  }
  std::string text;
  for (const auto& [kind, total] : totals) {
    const std::string group =
        kind.first == Axis::all ? std::string() : fmt::format(", {}", config::name_of(kind.first));
    text += fmt::format("  {} {}{}: {} B\n", total.first, config::name_of(kind.second), group,
                        grouped(std::llround(total.second.si())));
  }
  return text;
}

/// Options of `run` for the groups that a workload names, on nodes of eight GPUs.
std::string options_for_groups(const WorkloadGroups& groups) {
  constexpr int on_node = 8;
  Overrides job =
      job_of(static_cast<int>(groups.ranks / std::max<std::int64_t>(groups.pipeline, 1)), on_node);
  if (groups.tensor > 1) job.emplace_back("parallelism.tensor", std::to_string(groups.tensor));
  if (groups.expert > 1) job.emplace_back("parallelism.expert", std::to_string(groups.expert));
  return job.empty() ? "" : ' ' + as_options(job);
}

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
        plain_input(options.file, config::read_file(options.file, largest_interchange_file)), unit, gradient);
  });
  const std::vector<Op>& ops = workload.trace.ops;
  write_out_file(options.out, checked_trace_text(options.file, workload.trace), options.force);
  Seconds computing;
  for (const Op& op : ops) computing += *op.duration;
  print_result(fmt::format("computing {} in {} of {}\n{}", human(computing), plural(std::ssize(ops), "op"),
                           plural(workload.layers, "layer"), collectives_in(workload.trace)));
  if (!workload.not_used.empty())
    print_message(fmt::format("not used: {}", fmt::join(workload.not_used, ", ")));
  for (const std::string& warning : workload.warnings) print_message("warning: " + warning);
  print_message(fmt::format("wrote {}\nnext:  trainyard run --platform dgx_a100 --batch 32{} --set trace={}",
                            options.out, options_for_groups(workload.groups), shell_word(options.out)));
}

}  // namespace

void add_import_astra_sim(CLI::App& import) {
  auto options = std::make_shared<ImportAstraSimOptions>();
  CLI::App& command = *import.add_subcommand(
      "astra-sim", "convert a workload of ASTRA-sim or SimAI (text) into a trace of its training step");
  add_input_file(command, options->file, "the workload");
  add_output_file(command, options->out, "write the trace to this file");
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
