#include "published/target_cases.hpp"

#include "config/fields.hpp"
#include "published/match_rules.hpp"
#include "published/row_numbers.hpp"
#include "published/training_rows.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

std::optional<double> batch_of(const PublishedRow& row) {
  constexpr double most = 1e9;
  char* end = nullptr;
  const double batch = std::strtod(row.global_batch.c_str(), &end);
  if (row.global_batch.empty() || *end != 0 || !std::isfinite(batch) || batch < 1 || batch > most)
    return std::nullopt;
  return batch;
}

/// Machine, its settings, and the model: rows of one system may be fitted to one of them.
std::string system_of(const Case& run) {
  std::string text = run.machine->platform + '\n' + run.model->model + '\n';
  for (const auto& [key, value] : run.machine->set) text += fmt::format("{}={}\n", key, value);
  return text;
}

}  // namespace

const Model& TargetCaseReader::model_named(const std::string& name) {
  const auto known = models_.find(name);
  if (known != models_.end()) return known->second;
  return models_[name] = load_model(config::load(config::find(catalogue_, config::Kind::model, name)));
}

std::variant<CaseTarget, std::string> TargetCaseReader::target_of(const PublishedRow& row,
                                                                  const ModelRule* rule) {
  const TargetColumns& columns = *row.to_target;
  if (rule == nullptr) return "no model with published points for the benchmark";
  const bool states_epochs = columns.epochs > 0;
  // Nothing but times is asked of rows with epochs.
  const ExclusionRule* excluded = states_epochs ? first_match(data_->run_rules.excluded, row) : nullptr;
  if (excluded != nullptr) return excluded->reason;
  const std::optional<double> batch = batch_of(row);
  if (!batch) return "the batch is not stated";
  const Model& model = model_named(rule->model);
  CaseTarget target{.trained = columns.samples};
  if (states_epochs) {
    const std::optional<double> epoch = samples_per_epoch(model);
    if (!epoch) return "the model does not state the samples of an epoch";
    target.samples = columns.epochs * *epoch;
    return target;
  }
  const Convergence* curve = convergence_of_round(model.convergence, columns.round, columns.optimizer);
  if (curve == nullptr) return "the round has no reference points for this optimizer";
  const Known<SamplesToTarget> samples = samples_to_target(*curve, *batch, std::max(1, columns.runs));
  if (!samples) return samples.error();
  target.samples = samples->samples;
  target.low = samples->low;
  target.high = samples->high;
  if (!curve->evaluate) return target;
  const double between = samples_between(*curve->evaluate, *batch, samples_per_epoch(model)).value_or(0);
  if (between <= 0) return target;
  target.evaluations = evaluations_until(*curve->evaluate, target.samples, between, *batch);
  target.evaluated = curve->evaluate->samples;
  return target;
}

std::variant<Case, std::string> TargetCaseReader::run_of(const PublishedRow& row, const ModelRule& rule,
                                                         const CaseTarget& target) {
  const RunRules& rules = data_->run_rules;
  if (const ExclusionRule* excluded = first_match(rules.excluded, row)) return excluded->reason;
  if (row.gpus_total < 1 || row.nodes < 1 || counts_contradict(row))
    return "the numbers of nodes and accelerators are missing or contradict each other";
  Case run{.data = data_,
           .row = &row,
           .machine = machine_of(data_->machine_rules.machines, row),
           .model = &rule,
           .stack = first_match(rules.stacks, row),
           .target = target};
  if (run.machine == nullptr) return "no rule matches the machine";
  if (run.stack == nullptr) return "no rule matches the software";
  run.micro_batches = std::max(1, positive(number_after(row.notes, "grad_accum=")));
  const double per_gpu = *batch_of(row) / run.micro_batches / row.gpus_total;
  if (per_gpu < 1 || per_gpu != std::floor(per_gpu)) return "the GPUs do not share the batch equally";
  run.batch_per_gpu = static_cast<int>(per_gpu);
  run.precision = config::value_named<Precision>(row.precision).value_or(Precision::amp);
  run.series = system_of(run);
  if (std::string reason = read_settings(run); !reason.empty()) return reason;
  return run;
}

std::vector<TargetCase> TargetCaseReader::cases_of(const PublishedRow& row) {
  const TargetColumns& columns = *row.to_target;
  const ModelRule* rule = first_match(data_->run_rules.models, row);
  const auto target = target_of(row, rule);
  const auto* const reason = std::get_if<std::string>(&target);
  std::vector<TargetCase> cases;
  for (const auto& [figure, measured] : {std::pair(CaseFigure::samples_to_target, columns.samples),
                                         std::pair(CaseFigure::time_to_train, columns.time_s),
                                         std::pair(CaseFigure::energy_to_train, columns.energy_j),
                                         std::pair(CaseFigure::cost_to_train, columns.cost_usd)}) {
    if (measured <= 0) continue;
    TargetCase& one = cases.emplace_back(TargetCase{figure, measured, ""});
    if (reason != nullptr)
      one.of = *reason;
    else if (figure == CaseFigure::samples_to_target)
      one.of = Case{.data = data_, .row = &row, .model = rule, .target = std::get<CaseTarget>(target)};
    else
      one.of = run_of(row, *rule, std::get<CaseTarget>(target));
    auto* const run = std::get_if<Case>(&one.of);
    if (run == nullptr) continue;
    run->figure = figure;
    run->measured = measured;
  }
  return cases;
}

}  // namespace trainyard
