#include "convert/trace_validation.hpp"

#include "convert/import_report.hpp"
#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

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

/// The data that the replay takes from the profile, and the parts of the simulation that it tests.
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

void add_replay_facts(const TraceValidation& validation, doc::Section& section) {
  section.fact("replay", replay_words(validation));
  const StepRows& parts = validation.imported.parts;
  if (parts.period > 0)
    section.fact("", fmt::format("{} of the step is idle or copies, which the replay takes over",
                                 percent(static_cast<double>(parts.idle + parts.copying) /
                                         static_cast<double>(parts.period))));
  if (validation.waiting)
    section.fact("", fmt::format("{} of the profile's collectives is waiting for other ranks, which the "
                                 "simulated ranks never do",
                                 estimate(*validation.waiting)));
}

void add_prediction_facts(const TraceValidation& validation, doc::Section& section) {
  const OpTotals totals = totals_of(validation, true);
  const OpTotals rest = totals_of(validation, false);
  section.fact(
      "predicted",
      totals.ops == 0
          ? "no op has its operands in the profile (record_shapes=True): no time is computed"
          : fmt::format("times of {} ({} in the profile, {} computed; mean error {}) follow from "
                        "operands and {}",
                        plural(totals.ops, "op"), estimate(totals.measured), estimate(totals.predicted),
                        percent(totals.mean_error), validation.machine.gpu));
  if (rest.ops == 0) return;
  const std::string other_type =
      validation.of_other_type > 0
          ? fmt::format(", or {} of another type than {}", plural(validation.of_other_type, "matrix op"),
                        config::name_of(validation.machine.precision))
          : std::string();
  section.fact("", fmt::format("{} ({}) keep the profile's: of other kinds, without operands{}",
                               plural(rest.ops, "op"), estimate(rest.measured), other_type));
}

std::string summary_words(const TraceValidation& validation) {
  const auto with_error = [&](std::string_view name, const SimulatedStep& step) {
    return fmt::format("; {} {} ({})", name, estimate(step.time),
                       signed_percent(step_error(validation, step)));
  };
  std::string text = fmt::format("step {}", estimate(from_ns(validation.imported.parts.period))) +
                     with_error("replayed", validation.replay) +
                     with_error("with predicted kernels", validation.predicted);
  if (validation.model) text += with_error(validation.model_name, *validation.model);
  return text;
}

using Json = nlohmann::ordered_json;

Json step_json(const SimulatedStep& step) {
  Json json = Json::object();
  for (const TracePart& part : trace_parts) json[std::string(part.field)] = (step.*part.simulated).si();
  json["slowed_s"] = step.slowed.si();
  return json;
}

/// Rows of a page's table, except these of its columns.
Json rows_without(std::initializer_list<const char*> columns, const doc::Table& table) {
  Json rows = doc::rows_json(table);
  for (Json& row : rows) {
    for (const char* const column : columns) row.erase(column);
  }
  return rows;
}

/// A row for each op of the trace.
Json op_rows(const TraceValidation& validation) {
  std::vector<std::size_t> all(validation.imported.trace.ops.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return doc::rows_json(ops_table(validation, all));
}

}  // namespace

doc::Document trace_validation_document(const TraceValidation& validation, std::size_t most) {
  doc::Document page{.title = "A profile's step and its simulations", .version = version()};
  doc::Section& subject = page.account("profile", "profile and machine");
  subject.fact("profile", profile_words(validation));
  subject.fact("simulated on", machine_text(validation.machine));
  page.account("parts", "parts of the step").add(parts_table(validation));
  if (!validation.imported.sent.empty())
    page.account("collectives", "collectives").add(collectives_table(validation));
  if (const std::vector<std::size_t> predicted = predicted_ops(validation); !predicted.empty()) {
    page.account("kinds", "predicted kernels by kind").add(predicted_kinds_table(validation));
    const std::vector<std::size_t> shown(predicted.begin(),
                                         predicted.begin() + std::min(most, predicted.size()));
    if (most > 0)
      page.section("ops", fmt::format("furthest of {}:", plural(std::ssize(predicted), "op")))
          .add(ops_table(validation, shown));
  }
  if (validation.model) page.account("model", "the model's ops by kind").add(model_kinds_table(validation));
  doc::Section& sources = page.account("sources", "origin of the times");
  add_replay_facts(validation, sources);
  add_prediction_facts(validation, sources);
  add_left_out(sources, validation.imported);
  doc::Section& answer = page.account("answer", "answer");
  answer.is_answer = true;
  answer.add(doc::Sentence{.text = summary_words(validation), .is_main = true, .indent = 0});
  return page;
}

nlohmann::ordered_json trace_validation_json(const TraceValidation& validation) {
  const OpTotals totals = totals_of(validation, true);
  const OpTotals rest = totals_of(validation, false);
  const ReplayMachine& machine = validation.machine;
  Json profile = Json::object();
  for (const TracePart& part : trace_parts) {
    if (part.profile != nullptr) profile[std::string(part.field)] = of_profile(validation, part).si();
  }
  Json ops = op_rows(validation);
  for (Json& op : ops) {
    op.erase("runs");
    if (op["source"] == "") op["source"] = nullptr;
    Json error = std::move(op["error"]);
    op.erase("error");
    op["error"] = std::move(error);
  }
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
            {"parallelism", layout_json(validation.imported)},
            {"profile", std::move(profile)},
            {"replay", Json()},
            {"predicted", Json()},
            {"model", Json()},
            {"replay_error", Json()},
            {"predicted_error", Json()},
            {"model_error", Json()},
            {"collectives", rows_without({"error"}, collectives_table(validation))},
            {"waiting_for_ranks_s", validation.waiting ? Json(validation.waiting->si()) : Json()},
            {"predicted_kernels",
             {{"ops", totals.ops},
              {"profile_s", totals.measured.si()},
              {"predicted_s", totals.predicted.si()},
              {"mean_error", totals.ops == 0 ? Json() : Json(totals.mean_error)},
              {"kinds", doc::rows_json(predicted_kinds_table(validation))}}},
            {"other_kernels", {{"ops", rest.ops}, {"profile_s", rest.measured.si()}}},
            {"ops", std::move(ops)},
            {"left_out", left_out_json(validation.imported)},
            {"warnings", validation.imported.warnings}};
  for (const ComparedStep& one : compared_steps(validation)) {
    json[std::string(one.name)] = step_json(*one.step);
    json[fmt::format("{}_error", one.name)] = step_error(validation, *one.step);
  }
  if (!validation.model) return json;
  json["model"]["name"] = validation.model_name;
  json["model"]["kinds"] = rows_without({"ops", "error"}, model_kinds_table(validation));
  return json;
}

std::string trace_validation_csv(const TraceValidation& validation) {
  std::string csv =
      "phase,layer,kind,shape,runs,profile_start_s,replay_start_s,profile_s,predicted_s,source\n";
  for (const Json& op : op_rows(validation)) {
    for (const auto& [field, value] : op.items()) {
      if (field == "error") continue;
      append_csv_cell(csv, value.is_string()   ? value.get<std::string>()
                           : value.is_number() ? digits12(value.get<double>())
                                               : std::string());
      csv += ',';
    }
    csv.back() = '\n';
  }
  return csv;
}

}  // namespace trainyard
