#include "published/case.hpp"

#include "config/diagnostic.hpp"
#include "experiment/experiment.hpp"
#include "experiment/keys_meant.hpp"
#include "platform/load.hpp"
#include "published/layout_rows.hpp"
#include "published/match_rules.hpp"
#include "published/row_numbers.hpp"
#include "published/training_rows.hpp"
#include "units/letters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

constexpr std::string_view out_of_memory = "out_of_memory";
constexpr std::string_view within_memory = "within_memory";

/// Key paths of the sequence lengths that a row's column sets.
constexpr std::array<std::string_view, 2> with_sequences{"bert", "gpt2"};

/// Path of the model's sequence length, empty if it has none.
std::string sequence_key(const config::Catalogue& catalogue, const std::string& model) {
  const config::Document document = config::load(config::find(catalogue, config::Kind::model, model));
  for (const std::string_view family : with_sequences) {
    if (document.root.find(family) != nullptr) return fmt::format("model.{}.sequence_length", family);
  }
  return {};
}

std::size_t cpus_of(const config::Catalogue& catalogue, const MachineRule& machine) {
  const auto file = config::find(catalogue, config::Kind::platform, machine.platform);
  return load_platform(config::load(file)).cpus.size();
}

/// The only number that the machine decides, not the row.
std::string with_cpus(std::string value, const config::Catalogue& catalogue, const MachineRule& machine) {
  constexpr std::string_view word = "{cpus}";
  for (std::size_t place = value.find(word); place != std::string::npos; place = value.find(word))
    value.replace(place, word.size(), std::to_string(cpus_of(catalogue, machine)));
  return value;
}

std::string read_training(Case& run, bool timed) {
  auto read = training_measurement(*run.row, timed);
  if (auto* reason = std::get_if<std::string>(&read); reason != nullptr) return std::move(*reason);
  const auto& measured = std::get<TrainingMeasurement>(read);
  run.batch_per_gpu = measured.batch_per_gpu;
  run.micro_batches = measured.accumulation;
  run.precision = measured.precision;
  run.sequence_length = measured.sequence_length;
  if (!timed) return {};
  if (measured.epoch_time) run.stated = StatedSpeed::epoch_time;
  run.measured = measured.epoch_time ? *measured.epoch_time : measured.throughput.value_or(0);
  run.rounding = measured.rounding;
  return {};
}

struct UsedNodes {
  int nodes = 1;
  int gpus_per_node = 1;
};

/// Nodes of the platform: those of the row, or racks, with equal parts of the run on each.
UsedNodes nodes_of(const PublishedRow& row, const MachineRule& machine) {
  if (machine.gpus_per_rack == 0) return {row.nodes, row.gpus_per_node};
  int part = std::min(machine.gpus_per_rack, row.gpus_total);
  while (row.gpus_total % part != 0) --part;
  return {row.gpus_total / part, part};
}

/// The memory is ignored: a published run ran, whatever is counted; figures of memory compare the two.
std::string text_of(const Case& of, const MachineRule& machine) {
  const PublishedRow& row = *of.row;
  const auto [nodes, gpus_per_node] = nodes_of(row, machine);
  std::string text =
      fmt::format("platform: {}\nnodes: {}\ngpus: {}\n", machine.platform, nodes, row.gpus_total);
  if (nodes > 1) text += fmt::format("gpus_per_node: {}\n", gpus_per_node);
  text += fmt::format(
      "model: {}\nstack: {}\nprecision: {}\nbatch_per_gpu: {}\naccumulation: {}\noptimizer: {}\n"
      "memory: ignore\n",
      of.model->model, of.stack->stack, config::name_of(of.precision), of.batch_per_gpu, of.micro_batches,
      config::name_of(of.model->optimizer));
  if (!of.layout) return text;
  const Parallelism& parallelism = of.layout->parallelism;
  return text + fmt::format(
                    "parallelism: {{tensor: {}, context: {}, pipeline: {}, virtual_stages: {}, expert: {}, "
                    "sequence: {}, recompute: {}, shard: {}, shard_over: {}, stages: [{}]}}\n",
                    parallelism.tensor, parallelism.context, parallelism.pipeline, parallelism.virtual_stages,
                    parallelism.expert, parallelism.sequence, config::name_of(parallelism.recompute),
                    config::name_of(parallelism.shard), config::name_of(parallelism.shard_over),
                    fmt::join(parallelism.stages, ", "));
}

/// Its memory is ignored as well.
ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const CaseExperiment& experiment,
                             InputFiles& files, const Overrides& further) {
  Overrides asked = experiment.set;
  asked.emplace_back("memory", config::name_of(MemoryCheck::ignore));
  asked.insert(asked.end(), further.begin(), further.end());
  files.wants_published_errors = true;  // its interval is the one that `run` prints
  return resolve_with_totals(catalogue, experiment.file, asked, files);
}

}  // namespace

double Case::batch() const {
  return 1.0 * batch_per_gpu * micro_batches * (layout ? layout->replicas : row->gpus_total);
}

std::string Case::platform_name() const {
  if (experiment) return experiment->platform;
  return machine == nullptr ? std::string() : machine->platform;
}

std::string Case::model_name() const {
  if (experiment) return experiment->model;
  return model == nullptr ? std::string() : model->model;
}

std::string Case::stack_name() const {
  if (experiment) return experiment->stack;
  return stack == nullptr ? std::string() : stack->stack;
}

std::string read_memory_figure(Case& run) {
  const PublishedRow& row = *run.row;
  if (is_memory_verdict(row)) {
    run.figure = row.metric == out_of_memory ? CaseFigure::out_of_memory : CaseFigure::within_memory;
    return {};
  }
  if (row.metric == "peak_memory") {
    const bool is_in_use = small_letters(row.notes).find("whole gpu") != std::string::npos;
    run.figure = is_in_use ? CaseFigure::memory_in_use : CaseFigure::memory_allocated;
  } else if (row.metric == "memory_activations") {
    run.figure = CaseFigure::memory_of_activations;
  } else if (row.metric == "memory_parameters_and_optimizer") {
    run.figure = CaseFigure::memory_of_state;
  } else {
    return std::string(no_size);
  }
  const Parsed<Bytes> size = parse_quantity<Bytes>(shortest(row.value) + " " + row.unit);
  if (!size || *size <= Bytes{}) return std::string(no_size);
  run.measured = size->si();
  return {};
}

bool is_about_memory(const PublishedRow& row) {
  return row.metric == "peak_memory" || is_memory_verdict(row) || row.metric.starts_with("memory_");
}

bool is_memory_verdict(const PublishedRow& row) {
  return row.metric == out_of_memory || row.metric == within_memory;
}

std::string read_settings(Case& run) {
  for (const RowSettings* settings : {&run.model->set, &run.stack->set}) {
    for (const auto& [key, value] : *settings) {
      auto filled = with_row_numbers(value, *run.row);
      if (!filled) return filled.error();
      run.settings[key] = *std::move(filled);
    }
  }
  return {};
}

std::variant<Case, std::string> case_of(const std::shared_ptr<const PublishedData>& data,
                                        const PublishedRow& row, bool timed) {
  const RunRules& rules = data->run_rules;
  if (row.report) return "a report with an experiment of its own";
  if (row.unknown) return row.unknown->message;
  if (const ExclusionRule* excluded = first_match(rules.excluded, row)) return excluded->reason;
  Case run{.data = data,
           .row = &row,
           .machine = machine_of(data->machine_rules.machines, row),
           .model = first_match(rules.models, row),
           .stack = first_match(rules.stacks, row),
           .series = row.layout ? layout_series(row) : series_text(series_of(row, rules.series))};
  if (row.layout) {
    if (std::string reason = layout_refusal(row); !reason.empty()) return reason;
    if (row.gpus_total < 1 || row.nodes < 1) return "no number of GPUs";
    if (counts_contradict(row)) return "contradictory numbers of GPUs and nodes";
  } else if (std::string reason = read_training(run, timed); !reason.empty()) {
    return reason;
  }
  if (run.model == nullptr)
    return row.layout ? "the sizes of the model are not stated" : "no layer table for the model";
  if (run.machine == nullptr) return "no rule matches the machine";
  if (run.stack == nullptr) return "no rule matches the software";
  if (std::string reason = read_settings(run); !reason.empty()) return reason;
  if (!row.layout) return run;
  if (std::string reason = read_layout_columns(run); !reason.empty()) return reason;
  if (!timed) return run;
  if (std::string reason = read_layout_speed(run); !reason.empty()) return reason;
  return run;
}

ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const Case& of, const MachineRule* machine,
                             InputFiles& files, const Overrides& further) {
  if (of.experiment) return inputs_of(catalogue, *of.experiment, files, further);
  Overrides overrides;
  for (const auto& [key, value] : machine->set) overrides.emplace_back("platform." + key, value);
  if (of.sequence_length) {
    if (const std::string key = sequence_key(catalogue, of.model->model); !key.empty())
      overrides.emplace_back(key, std::to_string(*of.sequence_length));
  }
  for (const auto& [key, value] : of.settings)
    overrides.emplace_back(key, with_cpus(value, catalogue, *machine));
  overrides.insert(overrides.end(), further.begin(), further.end());
  files.machines_exist = true;
  const std::string name = fmt::format("{}:{}", of.row->file, of.row->line);
  return resolve(catalogue, config::parse(name, text_of(of, *machine)), {}, overrides, files);
}

std::string identity_of(const Case& of, const MachineRule* machine) {
  if (of.experiment) {
    std::string text = fmt::format("experiment: {}\n", of.experiment->file);
    for (const auto& [key, value] : of.experiment->set) text += fmt::format("{}: {}\n", key, value);
    return text;
  }
  std::string text = text_of(of, *machine);
  if (of.sequence_length) text += fmt::format("sequence: {}\n", *of.sequence_length);
  for (const RowSettings* settings : {&machine->set, &of.settings}) {
    for (const auto& [key, value] : *settings) text += fmt::format("{}: {}\n", key, value);
  }
  return text;
}

}  // namespace trainyard
