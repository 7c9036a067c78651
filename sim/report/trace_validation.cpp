#include "report/trace_validation.hpp"

#include "report/csv.hpp"
#include "report/json_text.hpp"
#include "report/text_layout.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Seconds seconds_of_ns(std::int64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

/// A part of the step in the profile and in a simulation.
struct ComparedPart {
  std::string_view label, field;
  std::int64_t StepRows::*profile;  ///< null: a profile has no such part
  Seconds SimulatedStep::*simulated;
};

constexpr std::array parts_compared{
    ComparedPart{"computing", "computing_s", &StepRows::computing, &SimulatedStep::computing},
    ComparedPart{"exposed", "exposed_communication_s", &StepRows::exposed, &SimulatedStep::exposed},
    ComparedPart{"host copies", "host_copies_s", &StepRows::copying, &SimulatedStep::copying},
    ComparedPart{"idle", "idle_s", &StepRows::idle, &SimulatedStep::idle},
    ComparedPart{"other", "other_s", nullptr, &SimulatedStep::other},
    ComparedPart{"step", "time_s", &StepRows::period, &SimulatedStep::time}};

Seconds of_profile(const TraceValidation& validation, const ComparedPart& part) {
  return part.profile == nullptr ? Seconds() : seconds_of_ns(validation.imported.parts.*part.profile);
}

/// b / a - 1; nothing if a is 0.
std::optional<double> change(Seconds a, Seconds b) {
  return a > Seconds() ? std::optional(b / a - 1) : std::nullopt;
}

std::string change_text(Seconds a, Seconds b) {
  const auto its = change(a, b);
  return its ? signed_percent(*its) : std::string();
}

/// The first run of an op of the trace in a simulated step, whose micro-batches repeat the trace's; null if
/// the step has other ops.
const SimulatedOp* simulated_op(const TraceValidation& validation, const SimulatedStep& step,
                                std::size_t op) {
  const std::vector<Op>& ops = validation.imported.trace.ops;
  const bool is_update = ops[op].phase == Phase::optimizer;
  if (step.ops.size() < ops.size()) return nullptr;
  const std::size_t index = is_update ? step.ops.size() - (ops.size() - op) : op;
  const SimulatedOp& found = step.ops[index];
  return found.phase == ops[op].phase && found.kind == ops[op].kind ? &found : nullptr;
}

/// How often a step runs an op of the trace.
int runs_of_op(const TraceValidation& validation, const Op& op) {
  return op.phase == Phase::optimizer ? 1 : validation.imported.accumulation;
}

/// An op whose time was computed.
struct PredictedOp {
  std::size_t op = 0;
  Seconds measured, predicted;
  ComputeSource source{};
};

std::vector<PredictedOp> predicted_ops(const TraceValidation& validation) {
  std::vector<PredictedOp> result;
  const std::vector<Op>& ops = validation.imported.trace.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const SimulatedOp* const its =
        validation.is_computed[i] ? simulated_op(validation, validation.predicted, i) : nullptr;
    if (its != nullptr) result.push_back({i, *ops[i].duration, its->duration, its->source});
  }
  return result;
}

/// Ops of one pass and kind, over a step.
struct KindOfOps {
  Phase phase{};
  OpKind kind{};
  int ops = 0;
  Seconds measured, predicted;
};

/// Those whose times were computed, in the order of passes, the longest first.
std::vector<KindOfOps> predicted_kinds(const TraceValidation& validation,
                                       const std::vector<PredictedOp>& predicted) {
  std::map<std::pair<Phase, OpKind>, KindOfOps> kinds;
  for (const PredictedOp& one : predicted) {
    const Op& op = validation.imported.trace.ops[one.op];
    KindOfOps& its = kinds[{op.phase, op.kind}];
    const int runs = runs_of_op(validation, op);
    its.phase = op.phase;
    its.kind = op.kind;
    its.ops += runs;
    its.measured += runs * one.measured;
    its.predicted += runs * one.predicted;
  }
  std::vector<KindOfOps> result;
  for (const auto& [key, its] : kinds) result.push_back(its);
  std::ranges::stable_sort(result, [](const KindOfOps& a, const KindOfOps& b) {
    return a.phase != b.phase ? a.phase < b.phase : a.measured > b.measured;
  });
  return result;
}

/// All ops of the profile by pass and kind beside those of the model's step.
std::vector<KindOfOps> kinds_beside_model(const TraceValidation& validation) {
  std::map<std::pair<Phase, OpKind>, KindOfOps> kinds;
  for (const Op& op : validation.imported.trace.ops) {
    if (op.kind == OpKind::host) continue;
    KindOfOps& its = kinds[{op.phase, op.kind}];
    its.ops += runs_of_op(validation, op);
    its.measured += runs_of_op(validation, op) * *op.duration;
  }
  for (const SimulatedOp& op : validation.model->ops) {
    if (op.kind != OpKind::host) kinds[{op.phase, op.kind}].predicted += op.duration;
  }
  std::vector<KindOfOps> result;
  for (auto& [key, its] : kinds) {
    std::tie(its.phase, its.kind) = key;
    result.push_back(its);
  }
  return result;
}

struct Totals {
  int ops = 0;
  Seconds measured, predicted;
  double mean_error = 0;  ///< of the absolute errors, weighted by the profile's time
};

Totals totals_of(const TraceValidation& validation, const std::vector<PredictedOp>& predicted) {
  Totals totals;
  Seconds errors;
  for (const PredictedOp& one : predicted) {
    const int runs = runs_of_op(validation, validation.imported.trace.ops[one.op]);
    totals.ops += runs;
    totals.measured += runs * one.measured;
    totals.predicted += runs * one.predicted;
    errors += runs * Seconds(std::abs((one.predicted - one.measured).si()));
  }
  if (totals.measured > Seconds()) totals.mean_error = errors / totals.measured;
  return totals;
}

/// The profile's time of a step's kernels whose times are not computed.
Totals rest_of(const TraceValidation& validation) {
  Totals rest;
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    if (op.kind == OpKind::host || validation.is_computed[i]) continue;
    rest.ops += runs_of_op(validation, op);
    rest.measured += runs_of_op(validation, op) * *op.duration;
  }
  return rest;
}

/// The kernels of the trace's collectives in the profile's step.
SentCollectives profiled(const TraceValidation& validation, Operation operation) {
  SentCollectives sum{.operation = operation, .count = 0, .size = {}, .time = {}};
  const int runs = validation.imported.reduces_each ? validation.imported.accumulation : 1;
  for (const TracedCollective& one : validation.imported.sent) {
    if (one.operation != operation) continue;
    sum.count += runs;
    sum.size += runs * one.size;
    sum.time += runs * seconds_of_ns(one.time);
  }
  return sum;
}

std::optional<Seconds> transfer_of(const TraceValidation& validation, Operation operation) {
  const auto its = std::ranges::find(validation.transfers, config::name_of(operation),
                                     [](const auto& one) { return std::string_view(one.first); });
  return its == validation.transfers.end() ? std::nullopt : std::optional(seconds_of_ns(its->second));
}

std::string machine_text(const ReplayMachine& machine) {
  return fmt::format("{} on {} of {}; {}, {}, kernels of {}", plural(machine.ranks, "GPU"),
                     plural(machine.nodes, "node"), machine.platform, machine.stack,
                     config::name_of(machine.precision), machine.gpu);
}

std::string profile_words(const TraceValidation& validation) {
  std::string text = validation.files.front();
  if (validation.files.size() > 1) text += fmt::format(" and {} more", validation.files.size() - 1);
  if (!validation.gpu.empty()) text += "; " + validation.gpu;
  if (validation.rank) text += fmt::format(", rank {}", *validation.rank);
  if (validation.rank && validation.ranks) text += fmt::format(" of {}", *validation.ranks);
  text += validation.step ? fmt::format("; step {}", *validation.step) : std::string("; the whole file");
  return text;
}

std::string parts_table(const TraceValidation& validation, std::size_t width) {
  std::vector<TableColumn> columns{
      text_column(),   number_column(),          number_column(),          number_column(),
      number_column(), number_column().drops(2), number_column().drops(3), number_column().drops(1)};
  if (!validation.model) columns.resize(6);
  Table table(columns, {.gap = 2, .elsewhere = "--json"});
  std::vector<std::string> heads{"", "profile", "replay", "difference", "predicted", "difference"};
  if (validation.model) heads.insert(heads.end(), {"model", "difference"});
  table.add(heads);
  const Seconds largest = std::max(
      {of_profile(validation, parts_compared.back()), validation.replay.time, validation.predicted.time});
  for (const ComparedPart& part : parts_compared) {
    const Seconds own = of_profile(validation, part);
    const auto beside = [&](const SimulatedStep& step) { return step.*part.simulated; };
    if (part.profile == nullptr && beside(validation.replay) <= Seconds() &&
        (!validation.model || beside(*validation.model) <= Seconds()))
      continue;
    std::vector<std::string> cells{std::string(part.label),
                                   part.profile == nullptr ? std::string() : human_like(own, largest)};
    const auto add = [&](const SimulatedStep& step) {
      cells.push_back(human_like(beside(step), largest));
      cells.push_back(change_text(own, beside(step)));
    };
    add(validation.replay);
    add(validation.predicted);
    if (validation.model) add(*validation.model);
    table.add(std::move(cells));
  }
  return table.text(width);
}

std::string collectives_table(const TraceValidation& validation, std::size_t width) {
  const bool has_transfers = !validation.transfers.empty();
  Table table({text_column(), number_column(), number_column().drops(1), number_column(), number_column(),
               number_column(), number_column()},
              {.gap = 2, .elsewhere = "--json"});
  table.row("collectives", "number", "bytes", "profile", has_transfers ? "transfer" : "", "replay",
            "difference");
  for (const SentCollectives& one : validation.replay.collectives) {
    const SentCollectives own = profiled(validation, one.operation);
    if (own.count == 0) continue;
    const auto transfer = transfer_of(validation, one.operation);
    const Seconds largest = std::max(own.time, one.time);
    table.row(config::name_of(one.operation), own.count, count_text(own.size.si()),
              human_like(own.time, largest), transfer ? human_like(*transfer, largest) : "",
              human_like(one.time, largest), change_text(transfer.value_or(own.time), one.time));
  }
  return table.text(width);
}

std::string kinds_table(const std::vector<KindOfOps>& kinds, std::string_view heading, std::string_view other,
                        std::size_t width) {
  Table table({text_column(), text_column(), number_column().drops(1), number_column(), number_column(),
               number_column()},
              {.gap = 2, .elsewhere = "--json"});
  table.row(heading, "kind", "ops", "profile", other, "difference");
  Seconds largest;
  for (const KindOfOps& one : kinds) largest = std::max({largest, one.measured, one.predicted});
  for (const KindOfOps& one : kinds) {
    table.row(config::name_of(one.phase), config::name_of(one.kind), one.ops,
              human_like(one.measured, largest), human_like(one.predicted, largest),
              change_text(one.measured, one.predicted));
  }
  return table.text(width);
}

/// The ops whose computed times are furthest from the profile's, the furthest first.
std::vector<PredictedOp> furthest(std::vector<PredictedOp> predicted, std::size_t most) {
  std::ranges::stable_sort(predicted, std::greater{}, [](const PredictedOp& one) {
    return std::abs((one.predicted - one.measured).si());
  });
  predicted.resize(std::min(predicted.size(), most));
  return predicted;
}

std::string ops_table(const TraceValidation& validation, const std::vector<PredictedOp>& shown,
                      std::size_t width) {
  Table table({text_column(), text_column().wraps(10), text_column().drops(3), text_column().drops(1),
               number_column(), number_column(), number_column(), text_column().drops(2)},
              {.gap = 2, .elsewhere = "--json"});
  table.row("pass", "layer", "kind", "shape", "profile", "predicted", "difference", "source");
  Seconds largest;
  for (const PredictedOp& one : shown) largest = std::max({largest, one.measured, one.predicted});
  for (const PredictedOp& one : shown) {
    const Op& op = validation.imported.trace.ops[one.op];
    table.row(config::name_of(op.phase), op.layer, config::name_of(op.kind), to_string(op.shape),
              human_like(one.measured, largest), human_like(one.predicted, largest),
              change_text(one.measured, one.predicted), config::name_of(one.source));
  }
  return table.text(width);
}

Json change_json(Seconds a, Seconds b) { return number_or_null(change(a, b)); }

Json step_json(const SimulatedStep& step) {
  Json json = Json::object();
  for (const ComparedPart& part : parts_compared) json[std::string(part.field)] = (step.*part.simulated).si();
  json["slowed_s"] = step.slowed.si();
  return json;
}

}  // namespace

double step_error(const TraceValidation& validation, const SimulatedStep& step) {
  return change(seconds_of_ns(validation.imported.parts.period), step.time).value_or(0);
}

std::string trace_validation_text(const TraceValidation& validation, std::size_t most,
                                  const PrintStyle& style) {
  const std::vector<PredictedOp> predicted = predicted_ops(validation);
  const Totals totals = totals_of(validation, predicted);
  const Totals rest = rest_of(validation);
  const StepRows& parts = validation.imported.parts;
  const auto line = [&](std::string_view label, const std::string& text) {
    return hanging(fmt::format("{:<16}", label), text, style.width);
  };
  std::string text = line("profile", profile_words(validation));
  text += line("simulated on", machine_text(validation.machine));
  text += "\n" + parts_table(validation, style.width);
  if (!validation.imported.sent.empty()) text += "\n" + collectives_table(validation, style.width);
  if (!predicted.empty()) {
    text += "\n" + kinds_table(predicted_kinds(validation, predicted), "pass", "predicted", style.width);
    const std::vector<PredictedOp> shown = furthest(predicted, most);
    if (!shown.empty())
      text += fmt::format("\nfurthest of {}:\n", plural(std::ssize(predicted), "op")) +
              ops_table(validation, shown, style.width);
  }
  if (validation.model)
    text += "\n" + kinds_table(kinds_beside_model(validation), "pass", "model", style.width);
  text += "\n";
  text += line("replay", fmt::format("has the profile's own durations of ops and idle times: it tests the "
                                     "order of ops, overlap, slowing and the {} of the trace, not kernels",
                                     plural(validation.imported.collectives, "collective")));
  if (parts.period > 0)
    text += line("", fmt::format("{} of the step is idle or copies, which the replay takes over",
                                 percent(static_cast<double>(parts.idle + parts.copying) /
                                         static_cast<double>(parts.period))));
  text +=
      line("predicted",
           predicted.empty()
               ? "no op has its operands in the profile (record_shapes=True): no time is computed"
               : fmt::format("times of {} ({} in the profile, {} computed; mean error {}) follow from "
                             "operands and {}",
                             plural(totals.ops, "op"), estimate(totals.measured), estimate(totals.predicted),
                             percent(totals.mean_error), validation.machine.gpu));
  if (rest.ops > 0)
    text += line("", fmt::format("{} ({}) keep the profile's: of other kinds, without operands{}",
                                 plural(rest.ops, "op"), estimate(rest.measured),
                                 validation.of_other_type > 0
                                     ? fmt::format(", or {} of another type than {}",
                                                   plural(validation.of_other_type, "matrix op"),
                                                   config::name_of(validation.machine.precision))
                                     : std::string()));
  for (const LeftOut& one : validation.imported.left_out)
    text += line("left out", fmt::format("{} {}{}", grouped(one.count), one.what,
                                         one.time > 0 ? ", " + estimate(seconds_of_ns(one.time)) : ""));
  std::string summary = fmt::format(
      "step {}; replayed {} ({}); with predicted kernels {} ({})", estimate(seconds_of_ns(parts.period)),
      estimate(validation.replay.time), signed_percent(step_error(validation, validation.replay)),
      estimate(validation.predicted.time), signed_percent(step_error(validation, validation.predicted)));
  if (validation.model)
    summary += fmt::format("; {} {} ({})", validation.model_name, estimate(validation.model->time),
                           signed_percent(step_error(validation, *validation.model)));
  return text + "\n" + hanging("", summary, style.width);
}

nlohmann::ordered_json trace_validation_json(const TraceValidation& validation) {
  const std::vector<PredictedOp> predicted = predicted_ops(validation);
  const Totals totals = totals_of(validation, predicted);
  const Totals rest = rest_of(validation);
  const ReplayMachine& machine = validation.machine;
  Json profile = Json::object();
  for (const ComparedPart& part : parts_compared) {
    if (part.profile != nullptr) profile[std::string(part.field)] = of_profile(validation, part).si();
  }
  Json collectives = Json::array();
  for (const SentCollectives& one : validation.replay.collectives) {
    const SentCollectives own = profiled(validation, one.operation);
    const auto transfer = transfer_of(validation, one.operation);
    collectives.push_back({{"operation", config::name_of(one.operation)},
                           {"count", own.count},
                           {"bytes", own.size.si()},
                           {"profile_s", own.time.si()},
                           {"transfer_s", transfer ? Json(transfer->si()) : Json()},
                           {"replay_s", one.time.si()}});
  }
  Json kinds = Json::array();
  for (const KindOfOps& one : predicted_kinds(validation, predicted)) {
    kinds.push_back({{"phase", config::name_of(one.phase)},
                     {"kind", config::name_of(one.kind)},
                     {"ops", one.ops},
                     {"profile_s", one.measured.si()},
                     {"predicted_s", one.predicted.si()},
                     {"error", change_json(one.measured, one.predicted)}});
  }
  Json ops = Json::array();
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    const SimulatedOp* const replay = simulated_op(validation, validation.replay, i);
    const SimulatedOp* const computed =
        validation.is_computed[i] ? simulated_op(validation, validation.predicted, i) : nullptr;
    const ProfileRow& row = validation.imported.rows[i];
    const bool has_start = op.kind != OpKind::host && validation.imported.accumulation == 1;
    ops.push_back(
        {{"phase", config::name_of(op.phase)},
         {"layer", op.layer},
         {"kind", config::name_of(op.kind)},
         {"shape", to_string(op.shape)},
         {"profile_start_s",
          has_start ? Json(seconds_of_ns(row.first_start - validation.imported.parts.start).si()) : Json()},
         {"replay_start_s", replay == nullptr ? Json() : Json(replay->start.si())},
         {"profile_s", op.duration->si()},
         {"predicted_s", computed == nullptr ? Json() : Json(computed->duration.si())},
         {"source", computed == nullptr ? Json() : Json(config::name_of(computed->source))},
         {"error", computed == nullptr ? Json() : change_json(*op.duration, computed->duration)}});
  }
  Json left_out = Json::array();
  for (const LeftOut& one : validation.imported.left_out)
    left_out.push_back({{"count", one.count}, {"time_s", seconds_of_ns(one.time).si()}, {"what", one.what}});
  Json json{{"files", validation.files},
            {"gpu", validation.gpu.empty() ? Json() : Json(validation.gpu)},
            {"rank", validation.rank ? Json(*validation.rank) : Json()},
            {"step", validation.step ? Json(*validation.step) : Json()},
            {"used_steps", validation.imported.steps},
            {"platform", machine.platform},
            {"gpus", machine.ranks},
            {"nodes", machine.nodes},
            {"gpu_profile", machine.gpu},
            {"stack", machine.stack},
            {"precision", config::name_of(machine.precision)},
            {"layout", config::name_of(machine.layout)},
            {"accumulation", validation.imported.accumulation},
            {"profile", std::move(profile)},
            {"replay", step_json(validation.replay)},
            {"predicted", step_json(validation.predicted)},
            {"model", Json()},
            {"replay_error", step_error(validation, validation.replay)},
            {"predicted_error", step_error(validation, validation.predicted)},
            {"model_error", Json()},
            {"collectives", std::move(collectives)},
            {"predicted_kernels",
             {{"ops", totals.ops},
              {"profile_s", totals.measured.si()},
              {"predicted_s", totals.predicted.si()},
              {"mean_error", predicted.empty() ? Json() : Json(totals.mean_error)},
              {"kinds", std::move(kinds)}}},
            {"other_kernels", {{"ops", rest.ops}, {"profile_s", rest.measured.si()}}},
            {"ops", std::move(ops)},
            {"left_out", std::move(left_out)},
            {"warnings", validation.imported.warnings}};
  if (!validation.model) return json;
  json["model"] = step_json(*validation.model);
  json["model"]["name"] = validation.model_name;
  json["model_error"] = step_error(validation, *validation.model);
  Json beside = Json::array();
  for (const KindOfOps& one : kinds_beside_model(validation)) {
    beside.push_back({{"phase", config::name_of(one.phase)},
                      {"kind", config::name_of(one.kind)},
                      {"profile_s", one.measured.si()},
                      {"model_s", one.predicted.si()}});
  }
  json["model"]["kinds"] = std::move(beside);
  return json;
}

std::string trace_validation_csv(const TraceValidation& validation) {
  std::string csv =
      "phase,layer,kind,shape,runs,profile_start_s,replay_start_s,profile_s,predicted_s,source\n";
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    const ProfileRow& row = validation.imported.rows[i];
    const SimulatedOp* const replay = simulated_op(validation, validation.replay, i);
    const SimulatedOp* const computed =
        validation.is_computed[i] ? simulated_op(validation, validation.predicted, i) : nullptr;
    const bool has_start = op.kind != OpKind::host && validation.imported.accumulation == 1;
    const auto number = [](Seconds time) { return digits12(time.si()); };
    const std::string start =
        has_start ? number(seconds_of_ns(row.first_start - validation.imported.parts.start)) : "";
    std::string line;
    for (const std::string& field :
         {std::string(config::name_of(op.phase)), op.layer, std::string(config::name_of(op.kind)),
          to_string(op.shape), std::to_string(runs_of_op(validation, op)), start,
          replay == nullptr ? "" : number(replay->start), number(*op.duration),
          computed == nullptr ? "" : number(computed->duration),
          computed == nullptr ? "" : std::string(config::name_of(computed->source))}) {
      append_field(line, field);
      line += ',';
    }
    line.back() = '\n';
    csv += line;
  }
  return csv;
}

}  // namespace trainyard
