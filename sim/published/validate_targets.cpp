#include "published/validate_targets.hpp"

#include "config/fields.hpp"
#include "published/predict_series.hpp"
#include "published/published_run.hpp"
#include "published/training_rows.hpp"
#include "published/validate_training.hpp"
#include "run/child_processes.hpp"
#include "run/job_phases.hpp"
#include "run/simulate.hpp"
#include "units/statistics.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

/// A row whose time or energy can be predicted.
struct TargetRun {
  PublishedRun run;
  double samples = 0;      ///< predicted
  double evaluations = 0;  ///< until then
  double trained = 0;      ///< samples as published; 0: not stated
  int evaluated = 0;       ///< samples of an evaluation
};

/// What the rules make of a row; `excluded` says why there is nothing to predict.
struct Reading {
  std::string excluded;
  const ModelRule* model = nullptr;
  SamplesToTarget samples;
  std::optional<TargetEvaluation> evaluation;
  double between = 0;  ///< samples; 0: no evaluation is stated
};

class Models {
public:
  explicit Models(const config::Catalogue& catalogue) : catalogue_(catalogue) {}

  const Model& named(const std::string& name) {
    const auto known = models_.find(name);
    if (known != models_.end()) return known->second;
    return models_[name] = load_model(config::load(config::find(catalogue_, config::Kind::model, name)));
  }

private:
  const config::Catalogue& catalogue_;
  std::map<std::string, Model> models_;
};

std::optional<double> batch_of(const PublishedRow& row) {
  char* end = nullptr;
  const double batch = std::strtod(row.global_batch.c_str(), &end);
  if (row.global_batch.empty() || *end != 0 || !std::isfinite(batch) || batch < 1 || batch > 1e9)
    return std::nullopt;
  return batch;
}

Reading read_row(const PublishedRow& row, const RunRules& rules, Models& models) {
  Reading read;
  read.model = first_match(rules.models, row);
  if (read.model == nullptr) {
    read.excluded = "no model with published points for the benchmark";
    return read;
  }
  if (row.to_target->epochs > 0) {
    // Nothing but times is asked of these rows.
    if (const ExclusionRule* excluded = first_match(rules.excluded, row)) {
      read.excluded = excluded->reason;
      return read;
    }
  }
  const Model& model = models.named(read.model->model);
  const std::optional<double> batch = batch_of(row);
  if (!batch) {
    read.excluded = "the batch is not stated";
    return read;
  }
  if (row.to_target->epochs > 0) {
    const std::optional<double> epoch = samples_per_epoch(model);
    if (!epoch) read.excluded = "the model does not state the samples of an epoch";
    read.samples.samples = row.to_target->epochs * epoch.value_or(0);
    return read;
  }
  const Convergence* curve =
      convergence_of_round(model.convergence, row.to_target->round, row.to_target->optimizer);
  if (curve == nullptr) {
    read.excluded = "the round has no reference points for this optimizer";
    return read;
  }
  const Known<SamplesToTarget> samples = samples_to_target(*curve, *batch, std::max(1, row.to_target->runs));
  if (!samples) {
    read.excluded = samples.error();
    return read;
  }
  read.samples = *samples;
  read.evaluation = curve->evaluate;
  if (curve->evaluate)
    read.between = samples_between(*curve->evaluate, *batch, samples_per_epoch(model)).value_or(0);
  return read;
}

/// The run, or why it cannot be simulated.
std::variant<TargetRun, std::string> target_run(const std::shared_ptr<const PublishedData>& data,
                                                const PublishedRow& row, const Reading& read) {
  const RunRules& rules = data->run_rules;
  if (const ExclusionRule* excluded = first_match(rules.excluded, row)) return excluded->reason;
  if (row.gpus_total < 1 || row.nodes < 1 || counts_contradict(row))
    return "the numbers of nodes and accelerators are missing or contradict each other";
  TargetRun its;
  its.run = {.data = data,
             .row = &row,
             .machine = machine_of(data->machine_rules.machines, row),
             .model = read.model,
             .stack = first_match(rules.stacks, row),
             .measured = {},
             .series = {}};
  if (its.run.machine == nullptr) return "no rule matches the machine";
  if (its.run.stack == nullptr) return "no rule matches the software";
  const double batch = batch_of(row).value();
  const int accumulation = row.notes.starts_with("grad_accum=") ? std::stoi(row.notes.substr(11)) : 1;
  const double per_gpu = batch / accumulation / row.gpus_total;
  if (per_gpu < 1 || per_gpu != std::floor(per_gpu)) return "the GPUs do not share the batch equally";
  TrainingMeasurement& measured = its.run.measured;
  measured.batch_per_gpu = static_cast<int>(per_gpu);
  measured.accumulation = accumulation;
  measured.precision = Precision::amp;
  if (const auto stated = config::value_named<Precision>(row.precision)) measured.precision = *stated;
  its.samples = read.samples.samples;
  its.trained = row.to_target->samples;
  if (read.evaluation && read.between > 0) {
    its.evaluations = evaluations_until(*read.evaluation, its.samples, read.between, batch);
    its.evaluated = read.evaluation->samples;
  }
  return its;
}

/// Machine, its settings, and the model: rows of one system may be fitted to one of them.
std::string system_of(const TargetRun& run) {
  std::string text = run.run.machine->platform + '\n' + run.run.model->model + '\n';
  for (const auto& [key, value] : run.run.machine->set) text += fmt::format("{}={}\n", key, value);
  return text;
}

/// What a step's time depends on within a system.
using StepKey = std::tuple<int, int, int, int, const StackRule*>;

/// The trainings of one system, simulated on demand.
class System {
public:
  System(const config::Catalogue& catalogue, bool equal_gpus)
      : catalogue_(catalogue), equal_gpus_(equal_gpus) {
    files_.wants_published_errors = false;
  }

  double time(const TargetRun& run, TargetFit fit, double scale) {
    const auto key = std::tuple(key_of(run), fit, scale);
    auto speed = speeds_.find(key);
    if (speed == speeds_.end()) {
      const ResolvedExperiment changed = experiment(run, fit, scale);
      speed =
          speeds_.emplace(key, Speed{closed_pace(changed).throughput, evaluation(run, changed).time}).first;
    }
    return run.samples / speed->second.throughput + run.evaluations * speed->second.evaluation.si();
  }

  double cost(const TargetRun& run, TargetFit fit, double scale) {
    const Known<double> rent = rent_per_hour(resolved(run).platform, run.run.row->nodes);
    if (!rent) throw InputError(rent.error());
    constexpr double hour = 3600;
    return *rent * time(run, fit, scale) / hour;
  }

  double figure(TargetFigure figure, const TargetRun& run, TargetFit fit, double scale) {
    if (figure == TargetFigure::energy) return energy(run, fit, scale);
    return figure == TargetFigure::cost ? cost(run, fit, scale) : time(run, fit, scale);
  }

  double energy(const TargetRun& run, TargetFit fit, double scale) {
    const ResolvedExperiment changed = experiment(run, fit, scale);
    const ForwardPass evaluated = evaluation(run, changed);
    const Run simulated = simulate(changed, {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
    if (!simulated.energy) throw InputError(simulated.energy.error());
    return run.samples / simulated.pace.throughput * simulated.energy->average.si() +
           run.evaluations * evaluated.energy.si();
  }

private:
  struct Speed {
    double throughput = 0;
    Seconds evaluation;  ///< of one
  };

  static StepKey key_of(const TargetRun& run) {
    const PublishedRow& row = *run.run.row;
    return {row.nodes, row.gpus_total, run.run.measured.batch_per_gpu, run.run.measured.accumulation,
            run.run.stack};
  }

  const ResolvedExperiment& resolved(const TargetRun& run) {
    const StepKey key = key_of(run);
    const auto known = inputs_.find(key);
    if (known != inputs_.end()) return known->second;
    return inputs_.emplace(key, inputs_of(catalogue_, run.run, *run.run.machine, files_)).first->second;
  }

  ResolvedExperiment experiment(const TargetRun& run, TargetFit fit, double scale) {
    ResolvedExperiment changed = resolved(run);
    changed.stack.compute_scale.value *= scale;
    if (fit == TargetFit::nothing) changed.stack.slowdown = OpSlowdown{};
    if (equal_gpus_ || fit == TargetFit::nothing) changed.stack.slowest_gpu = 1;
    return changed;
  }

  /// One evaluation: whole batches of training's size.
  static ForwardPass evaluation(const TargetRun& run, const ResolvedExperiment& resolved) {
    if (run.evaluated == 0) return {};
    const double of_rank = std::ceil(1.0 * run.evaluated / run.run.row->gpus_total);
    const int batch = static_cast<int>(std::min<double>(run.run.measured.batch_per_gpu, of_rank));
    const double passes = std::ceil(of_rank / batch);
    ForwardPass pass = forward_pass(resolved, batch);
    pass.time = passes * pass.time;
    pass.energy = passes * pass.energy;
    return pass;
  }

  const config::Catalogue& catalogue_;
  bool equal_gpus_;
  InputFiles files_;
  std::map<StepKey, ResolvedExperiment> inputs_;
  std::map<std::tuple<StepKey, TargetFit, double>, Speed> speeds_;
};

/// A figure to predict, by its place in the result.
struct AskedTarget {
  std::size_t row = 0;
  TargetRun run;
};

/// The one with the fewest GPUs, of the first year, in the order of the rows.
std::size_t reference_of(const std::vector<AskedTarget>& asked, const std::vector<ScoredTarget>& rows) {
  std::size_t best = asked.size();
  const auto order = [&](std::size_t i) {
    const PublishedRow& row = *asked[i].run.run.row;
    return std::tuple(row.gpus_total, row.year);
  };
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (rows[asked[i].row].figure != TargetFigure::time) continue;
    if (best == asked.size() || order(i) < order(best)) best = i;
  }
  return best;
}

/// The factor of a system and the predictions of its rows: [scale, reference, [[nothing, software, 1system]
/// or a reason, ...]].
nlohmann::json predict_system(const config::Catalogue& catalogue, const std::vector<AskedTarget>& asked,
                              const std::vector<ScoredTarget>& rows, bool equal_gpus) {
  System system(catalogue, equal_gpus);
  const std::size_t reference = reference_of(asked, rows);
  std::optional<double> scale;
  const auto guarded = [](const auto& work) -> std::string {
    try {
      work();
      return {};
    } catch (const InputError& error) {
      return error.diagnostics().front().message;
    } catch (const JobImpossible& error) {
      return error.what();
    }
  };
  if (reference < asked.size()) {
    const double measured = rows[asked[reference].row].measured;
    // The factor is of steps: how many the row took is known, however well its samples are predicted.
    TargetRun run = asked[reference].run;
    if (run.trained > 0) {
      run.evaluations *= run.trained / run.samples;
      run.samples = run.trained;
    }
    guarded([&] {
      scale =
          solve_scale(measured, [&](double factor) { return system.time(run, TargetFit::software, factor); });
    });
  }
  nlohmann::json predictions = nlohmann::json::array();
  for (const AskedTarget& one : asked) {
    nlohmann::json its = nlohmann::json::array();
    const TargetFigure figure = rows[one.row].figure;
    const std::string reason = guarded([&] {
      for (const TargetFit fit : target_fits) {
        if (fit == TargetFit::one_system && !scale) continue;
        const double factor = fit == TargetFit::one_system ? *scale : 1;
        its.push_back(system.figure(figure, one.run, fit, factor));
      }
    });
    predictions.push_back(reason.empty() ? its : nlohmann::json(reason));
  }
  return {scale.value_or(1), scale ? static_cast<int>(reference) : -1, predictions};
}

/// Whether both figures are of one result.
bool is_of_result(const PublishedRow& row, const PublishedRow& result) {
  const TargetColumns& its = *row.to_target;
  const TargetColumns& of = *result.to_target;
  const std::string& submitter = its.result_submitter.empty() ? its.submitter : its.result_submitter;
  return row.system == result.system && its.round == of.round && its.benchmark == of.benchmark &&
         submitter == of.submitter && row.global_batch == result.global_batch && row.nodes == result.nodes;
}

/// What identifies metered runs: several meters may have read them.
using MeteredRuns = std::tuple<std::string, std::string, std::string, std::string, double>;

MeteredRuns metered_runs(const PublishedRow& row) {
  const TargetColumns& its = *row.to_target;
  return {its.round, row.system, its.benchmark, row.global_batch, its.metered_s};
}

std::string family_of_figure(TargetFigure figure, const std::string& title) {
  return fmt::format("{}, {}", config::name_of(figure), title);
}

}  // namespace

std::optional<double> ScoredTarget::error(TargetFit fit) const {
  if (is_fitted && fit == TargetFit::one_system) return std::nullopt;
  const std::optional<double> its = prediction(fit);
  return its ? std::optional(*its / measured - 1) : std::nullopt;
}

TargetValidation validate_targets(const config::Catalogue& catalogue,
                                  std::shared_ptr<const PublishedData> data, int parallel, bool equal_gpus) {
  TargetValidation validation;
  Models models(catalogue);
  std::map<std::string, std::vector<AskedTarget>> by_system;
  std::set<MeteredRuns> metered;
  for (const PublishedRow& row : data->rows) {
    const TargetColumns& its = row.to_target.value();
    if (!is_to_be_predicted(row)) {
      ++validation.excluded["calibration row or context, not scored"];
      continue;
    }
    if (its.metered_s > 0 && !metered.insert(metered_runs(row)).second) {
      ++validation.excluded["another meter of runs that are already counted"];
      continue;
    }
    const FamilyRule* family = first_match(data->run_rules.families, row);
    const std::string title = family == nullptr ? its.benchmark : family->family;
    const Reading read = read_row(row, data->run_rules, models);
    const auto add = [&](TargetFigure figure, double measured) -> ScoredTarget& {
      ScoredTarget& scored = validation.rows.emplace_back();
      scored.row = &row;
      scored.figure = figure;
      scored.family = family_of_figure(figure, title);
      scored.measured = measured;
      scored.excluded = read.excluded;
      return scored;
    };
    if (its.samples > 0) {
      ScoredTarget& scored = add(TargetFigure::samples, its.samples);
      if (read.excluded.empty()) {
        scored.predicted.fill(read.samples.samples);
        scored.low = read.samples.low;
        scored.high = read.samples.high;
      }
    }
    for (const auto& [figure, measured] :
         {std::pair(TargetFigure::time, its.time_s), std::pair(TargetFigure::energy, its.energy_j),
          std::pair(TargetFigure::cost, its.cost_usd)}) {
      if (measured <= 0) continue;
      ScoredTarget& scored = add(figure, measured);
      if (!read.excluded.empty()) continue;
      auto run = target_run(data, row, read);
      if (auto* const reason = std::get_if<std::string>(&run)) {
        scored.excluded = *reason;
        continue;
      }
      TargetRun& known = std::get<TargetRun>(run);
      scored.platform = known.run.machine->platform;
      std::vector<AskedTarget>& of_system = by_system[system_of(known)];
      of_system.push_back({validation.rows.size() - 1, std::move(known)});
    }
  }
  std::vector<const std::vector<AskedTarget>*> systems;
  for (const auto& [name, asked] : by_system) systems.push_back(&asked);
  const auto predict = [&](int i) {
    return predict_system(catalogue, *systems[at(i)], validation.rows, equal_gpus).dump();
  };
  const std::vector<std::string> results = in_children(static_cast<int>(systems.size()), parallel, predict);
  for (std::size_t i = 0; i < systems.size(); ++i) {
    const nlohmann::json result = nlohmann::json::parse(results[i]);
    for (std::size_t k = 0; k < systems[i]->size(); ++k) {
      ScoredTarget& scored = validation.rows[(*systems[i])[k].row];
      const nlohmann::json& its = result[2][k];
      if (its.is_string()) {
        scored.excluded = its.get<std::string>();
        continue;
      }
      for (std::size_t fit = 0; fit < its.size(); ++fit) scored.predicted[fit] = its[fit].get<double>();
      scored.scale = result[0].get<double>();
      const int reference = result[1].get<int>();
      if (reference < 0) {
        scored.unfitted = "no row of its system states a time to which a factor could be fitted";
        continue;
      }
      const AskedTarget& fitted = (*systems[i])[at(reference)];
      scored.is_fitted =
          fitted.row == (*systems[i])[k].row || (scored.figure != TargetFigure::time &&
                                                 is_of_result(*scored.row, *validation.rows[fitted.row].row));
    }
  }
  validation.data = std::move(data);
  return validation;
}

std::vector<std::string> target_families(const TargetValidation& validation) {
  std::vector<std::string> families;
  for (const auto& [name, figure, doc] : config::Names<TargetFigure>::table) {
    for (const ScoredTarget& scored : validation.rows) {
      if (scored.figure == figure && std::ranges::find(families, scored.family) == families.end())
        families.push_back(scored.family);
    }
  }
  return families;
}

TargetErrors errors_of(const TargetValidation& validation, TargetFit fit, std::string_view family) {
  TargetErrors errors;
  std::vector<double> with_sign, sizes;
  int figures = 0, predicted = 0, inside = 0;
  for (const ScoredTarget& scored : validation.rows) {
    if (scored.family != family) continue;
    ++figures;
    predicted += scored.prediction(TargetFit::software) ? 1 : 0;
    const std::optional<double> error = scored.error(fit);
    if (!error) continue;
    with_sign.push_back(*error);
    sizes.push_back(std::abs(*error));
    if (scored.low <= scored.measured && scored.measured <= scored.high) ++inside;
  }
  errors.rows = static_cast<int>(sizes.size());
  errors.coverage = figures > 0 ? 1.0 * predicted / figures : 0;
  if (sizes.empty()) return errors;
  errors.mape = mean(sizes);
  errors.median = quantile(sizes, 0.5);
  constexpr double tail = 0.9;
  errors.p90 = quantile(sizes, tail);
  errors.worst = std::ranges::max(sizes);
  errors.bias = mean(with_sign);
  if (family.starts_with(config::name_of(TargetFigure::samples))) errors.inside = 1.0 * inside / errors.rows;
  return errors;
}

}  // namespace trainyard
