#include "published/published_run.hpp"

#include "config/keys.hpp"
#include "experiment/experiment.hpp"
#include "platform/load.hpp"
#include "published/model_numbers.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

/// Key paths of the sequence lengths, for models that have one.
constexpr std::array<std::string_view, 2> with_sequences{"bert", "gpt2"};

int cpus_of(const config::Catalogue& catalogue, const MachineRule& machine) {
  const auto file = config::find(catalogue, config::Kind::platform, machine.platform);
  return static_cast<int>(load_platform(config::load(file)).cpus.size());
}

/// `text` with the row's numbers in place of {gpus} and so on.
std::string filled_in(std::string text, const config::Catalogue& catalogue, const PublishedRun& run,
                      const MachineRule& machine) {
  const PublishedRow& row = *run.row;
  const auto replace = [&](std::string_view word, const auto& number) {
    for (std::size_t place = text.find(word); place != std::string::npos; place = text.find(word))
      text.replace(place, word.size(), std::to_string(number()));
  };
  replace("{gpus}", [&] { return row.gpus_total; });
  replace("{nodes}", [&] { return row.nodes; });
  replace("{gpus_per_node}", [&] { return std::min(row.gpus_per_node, row.gpus_total); });
  replace("{servers}", [&] { return row.servers > 0 ? row.servers : row.nodes; });
  replace("{cpus}", [&] { return cpus_of(catalogue, machine); });
  return with_model_numbers(std::move(text), [&](const std::string& word, const std::string& otherwise) {
    const std::string number = number_after(row.model, word);
    if (!number.empty()) return number;
    if (otherwise.empty()) {
      throw InputError(fmt::format("no number follows '{}' in the model '{}'", word, row.model),
                       fmt::format("a rule that does not need it, or {{model {}|1}}", word));
    }
    return otherwise;
  });
}

/// The memory is ignored: a published run ran, whatever is counted (memory_outcomes.hpp compares the two).
config::Document document_of(const PublishedRun& run, const MachineRule& machine) {
  const PublishedRow& row = *run.row;
  const TrainingMeasurement& measured = run.measured;
  std::string text =
      fmt::format("platform: {}\nnodes: {}\ngpus: {}\n", machine.platform, row.nodes, row.gpus_total);
  if (row.nodes > 1) text += fmt::format("gpus_per_node: {}\n", row.gpus_per_node);
  text += fmt::format(
      "model: {}\nstack: {}\nprecision: {}\nbatch_per_gpu: {}\naccumulation: {}\noptimizer: {}\n"
      "memory: ignore\n",
      run.model->model, run.stack->stack, config::name_of(measured.precision), measured.batch_per_gpu,
      measured.accumulation, config::name_of(run.model->optimizer));
  return config::parse(fmt::format("{}:{}", row.file, row.line), text);
}

/// The key of the model's sequence length, empty if it has none.
std::string sequence_key(const config::Catalogue& catalogue, const std::string& model) {
  const config::Document document = config::load(config::find(catalogue, config::Kind::model, model));
  for (const std::string_view family : with_sequences) {
    if (document.root.find(family) != nullptr) return fmt::format("model.{}.sequence_length", family);
  }
  return {};
}

}  // namespace

std::variant<PublishedRun, std::string> published_run(const std::shared_ptr<const PublishedData>& data,
                                                      const PublishedRow& row) {
  if (row.layout) return "ranks that share a model: see the runs with layouts";
  const RunRules& rules = data->run_rules;
  const ExclusionRule* excluded = first_match(rules.excluded, row);
  if (excluded != nullptr) return excluded->reason;
  auto read = training_measurement(row);
  if (auto* reason = std::get_if<std::string>(&read)) return std::move(*reason);
  const PublishedRun run{.data = data,
                         .row = &row,
                         .machine = machine_of(data->machine_rules.machines, row),
                         .model = first_match(rules.models, row),
                         .stack = first_match(rules.stacks, row),
                         .measured = std::get<TrainingMeasurement>(read),
                         .series = series_of(row, rules.series)};
  if (run.model == nullptr) return "no layer table for the model";
  if (run.machine == nullptr) return "no rule matches the machine";
  if (run.stack == nullptr) return "no rule matches the software";
  return run;
}

ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const PublishedRun& run,
                             const MachineRule& machine, InputFiles& files, const Overrides& further) {
  Overrides overrides;
  for (const auto& [key, value] : machine.set) overrides.emplace_back("platform." + key, value);
  if (run.measured.sequence_length) {
    if (const std::string key = sequence_key(catalogue, run.model->model); !key.empty())
      overrides.emplace_back(key, std::to_string(*run.measured.sequence_length));
  }
  for (const RowSettings* settings : {&run.model->set, &run.stack->set}) {
    for (const auto& [key, value] : *settings)
      overrides.emplace_back(key, filled_in(value, catalogue, run, machine));
  }
  overrides.insert(overrides.end(), further.begin(), further.end());
  files.machines_exist = true;
  return resolve(catalogue, document_of(run, machine), {}, overrides, files);
}

}  // namespace trainyard
