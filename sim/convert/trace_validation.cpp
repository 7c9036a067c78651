#include "convert/compared_trace.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

std::string change_text(Seconds a, Seconds b) {
  const auto its = change(a, b);
  return its ? signed_percent(*its) : std::string();
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
      {of_profile(validation, trace_parts.back()), validation.replay.time, validation.predicted.time});
  for (const TracePart& part : trace_parts) {
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

/// What of the replay is the profile's own, and what it tests.
std::string replay_words(const TraceValidation& validation) {
  const ImportedTrace& imported = validation.imported;
  std::string text = "has the profile's own durations of ops";
  if (imported.steps.size() > 1) text += fmt::format(" (medians of {} steps)", imported.steps.size());
  text += " and idle times: it tests the order of ops";
  if (imported.collectives > 0)
    text += fmt::format(", overlap, the slowing of kernels and the {} of the trace",
                        plural(imported.collectives, "collective"));
  return text + ", not kernels";
}

}  // namespace

std::string trace_validation_text(const TraceValidation& validation, std::size_t most,
                                  const PrintStyle& style) {
  const std::vector<PredictedOp> predicted = predicted_ops(validation);
  const OpTotals totals = totals_of(validation, predicted);
  const OpTotals rest = rest_of(validation);
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
  text += line("replay", replay_words(validation));
  if (parts.period > 0)
    text += line("", fmt::format("{} of the step is idle or copies, which the replay takes over",
                                 percent(static_cast<double>(parts.idle + parts.copying) /
                                         static_cast<double>(parts.period))));
  if (validation.waiting)
    text += line("", fmt::format("{} of the profile's collectives is waiting for other ranks, which the "
                                 "simulated ranks never do",
                                 estimate(*validation.waiting)));
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

}  // namespace trainyard
