#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/import_input.hpp"
#include "cli/options.hpp"
#include "cli/platform_of_gpu.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/read_file.hpp"
#include "imports/astra_workload.hpp"
#include "imports/checked_trace.hpp"
#include "report/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct ImportAstraSimOptions {
  std::string file, out, unit;
  std::optional<std::string> gradients;
  bool force = false;
};

/// A line for each kind and group of a pass's collectives, with number and bytes as the file counts them.
std::string collectives_of(const AstraWorkload& workload, WorkloadPass WorkloadLayer::*pass) {
  struct Total {
    int number = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<Axis, Operation>, Total> totals;
  for (const WorkloadLayer& layer : workload.layers) {
    const WorkloadPass& its = layer.*pass;
    if (!its.operation) continue;
    Total& total = totals[{its.axis, *its.operation}];
    ++total.number;
    total.bytes += its.size;
  }
  std::string text;
  for (const auto& [kind, total] : totals) {
    const std::string group =
        kind.first == Axis::all ? std::string() : fmt::format(", {}", config::name_of(kind.first));
    text += fmt::format("  {} {}{}: {} B\n", total.number, config::name_of(kind.second), group,
                        grouped(total.bytes));
  }
  return text;
}

void print_account(const AstraWorkload& workload, Seconds unit) {
  const auto line = [&](std::string_view name, std::int64_t time) {
    return fmt::format("{:15}  {:>9}\n", name, human(unit * static_cast<double>(time)));
  };
  std::string text;
  for (const auto& [name, pass] : {std::pair("forward", &WorkloadLayer::forward),
                                   std::pair("input gradient", &WorkloadLayer::input_gradient),
                                   std::pair("weight gradient", &WorkloadLayer::weight_gradient)}) {
    std::int64_t time = 0;
    for (const WorkloadLayer& layer : workload.layers) time += (layer.*pass).time;
    text += line(name, time) + collectives_of(workload, pass);
  }
  std::int64_t update = 0;
  for (const WorkloadLayer& layer : workload.layers) update += layer.update;
  print_result(text + line("update", update));
}

/// Groups of which a rank is all: SimAI's ZeRO-3 gathers parameters in "tensor groups" of one rank.
std::string groups_of_one(const AstraWorkload& workload) {
  std::set<std::string_view> names;
  for (const WorkloadLayer& layer : workload.layers) {
    for (const WorkloadPass* pass : {&layer.forward, &layer.input_gradient, &layer.weight_gradient}) {
      if (pass->operation && group_size(workload.groups, pass->axis) == 1)
        names.insert(config::name_of(pass->axis));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Whether replicas exchange something.
bool has_replicas(const AstraWorkload& workload) {
  const auto is_of_replicas = [](const WorkloadPass& pass) {
    return pass.operation && (pass.axis == Axis::data || pass.axis == Axis::expert_data);
  };
  return std::ranges::any_of(workload.layers, [&](const WorkloadLayer& layer) {
    return is_of_replicas(layer.forward) || is_of_replicas(layer.input_gradient) ||
           is_of_replicas(layer.weight_gradient);
  });
}

/// What the header says besides groups, and what a trace of one stage leaves out.
void print_header_notes(const AstraWorkload& workload) {
  std::vector<std::string> others;
  for (const auto& [name, value] : workload.header) {
    const bool is_group =
        name == "model_parallel_NPU_group" || name == "ep" || name == "pp" || name == "all_gpus";
    if (!is_group && value != 0) others.push_back(fmt::format("{} {}", name, value));
  }
  if (!others.empty()) print_message(fmt::format("not used: {}", fmt::join(others, ", ")));
  if (const std::string groups = groups_of_one(workload); !groups.empty() && workload.is_transformer())
    print_message(fmt::format(
        "warning: groups of one rank (by line 1 of the file), so their collectives take no time: {}",
        groups));
  if (workload.is_transformer() && workload.groups.ranks == 0 && has_replicas(workload))
    print_message(
        "warning: the file does not say the number of GPUs (all_gpus): collectives of data take no time "
        "unless --nodes and --gpus make several replicas");
  if (workload.groups.pipeline > 1)
    print_message(
        fmt::format("warning: the trace is one of {} stages alone: messages between them and bubbles are "
                    "not in the file",
                    workload.groups.pipeline));
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
        plain_input(options.file, config::read_file(options.file, largest_interchange_file)));
  });
  const Trace trace = trace_of(workload, unit, gradient);
  write_out_file(options.out, checked_trace_text(options.file, trace), options.force);
  print_account(workload, length_of(unit));
  print_header_notes(workload);
  print_message(fmt::format(
      "wrote {}: {} of {}\nnext:  trainyard run --platform dgx_a100 --batch 32{} --set trace={}", options.out,
      plural(std::ssize(trace.ops), "op"), plural(std::ssize(workload.layers), "layer"),
      options_for_groups(workload.groups), shell_word(options.out)));
}

}  // namespace

void add_import_astra_sim(CLI::App& import) {
  auto options = std::make_shared<ImportAstraSimOptions>();
  CLI::App& command = *import.add_subcommand(
      "astra-sim", "convert a workload of ASTRA-sim or SimAI (text) into a trace of its training step");
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
