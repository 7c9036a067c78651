#include "convert/import_report.hpp"

#include "document/json_text.hpp"
#include "imports/profile_groups.hpp"
#include "interchange/input_text.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

std::string steps_text(const ImportedTrace& imported) {
  if (imported.steps.empty()) return "the whole file is one";
  std::string text;
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(imported.steps.size(), most); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", imported.steps[i]);
  if (imported.steps.size() > most) text += fmt::format(" and {} more", imported.steps.size() - most);
  if (imported.steps.size() > 1) text += "; durations are medians";
  return text;
}

/// A count for people; of damaged files it may be larger than any integer.
std::string grouped_count(double count) {
  constexpr double most = 9e18;
  return grouped(static_cast<std::int64_t>(std::clamp(count, 0.0, most)));
}

std::string gradients_text(const ImportedTrace& imported) {
  const GradientTotals known = gradient_totals(imported.trace);
  if (known.tensors == 0)
    return fmt::format("{} tensors of unknown size: profile with record_shapes=True", imported.tensors);
  return fmt::format("{} tensors, {} values", known.tensors, grouped_count(known.values));
}

/// The kernels that ran at the same time as collectives, which slowed them.
std::string overlap_text(const ImportedTrace& imported) {
  std::string text = fmt::format("{} of the computing ran at the same time as a collective, which slowed it",
                                 estimate(from_ns(imported.beside)));
  if (imported.ops_timed_alone > 0)
    text += fmt::format("; {} timed in runs without one", plural(imported.ops_timed_alone, "op"));
  if (imported.slowed_ops > 0)
    text += fmt::format(
        "; {} ({}) never ran alone: stack.overlap_slows=false keeps a run from slowing the kernels again",
        plural(imported.slowed_ops, "op"), estimate(from_ns(imported.slowed)));
  return text;
}

std::string profile_text(const Profile& profile) {
  std::string text = fmt::format("{} events", grouped(static_cast<std::int64_t>(profile.seen)));
  if (!profile.schema.empty()) text += ", schema " + profile.schema;
  if (!profile.gpu.empty()) text += ", " + profile.gpu;
  if (profile.rank) text += fmt::format(", rank {}", *profile.rank);
  if (profile.rank && profile.ranks) text += fmt::format(" of {}", *profile.ranks);
  return text;
}

/// The work of all GPUs in the file, of which one becomes the trace.
doc::Table gpu_table(const Profile& profile) {
  doc::Table table{.key = "gpus",
                   .title = "GPUs of the file",
                   .columns = {doc::texts("GPU"),
                               doc::numbers("kernels"),
                               doc::numbers("NCCL kernels"),
                               doc::numbers("kernel time"),
                               {}},
                   .shape = {}};
  std::int64_t longest = 0;
  for (const ProfiledGpu& one : profile.gpus) longest = std::max(longest, one.kernel_time);
  for (const ProfiledGpu& one : profile.gpus) {
    const std::string process = one.process < 0 ? "" : fmt::format(" (process {})", one.process);
    table.rows.push_back({.cells = {fmt::format("{}{}", one.device, process), grouped(one.kernels),
                                    grouped(one.communication_kernels),
                                    doc::Value(human_like(from_ns(one.kernel_time), from_ns(longest)),
                                               from_ns(one.kernel_time)),
                                    one.is_read ? "the trace" : ""}});
  }
  return table;
}

Json gpus_json(const Profile& profile) {
  Json gpus = Json::array();
  for (const ProfiledGpu& one : profile.gpus) {
    gpus.push_back({{"device", one.device},
                    {"process", one.process < 0 ? Json() : Json(one.process)},
                    {"kernels", one.kernels},
                    {"communication_kernels", one.communication_kernels},
                    {"kernel_time_s", from_ns(one.kernel_time).si()},
                    {"is_trace", one.is_read}});
  }
  return gpus;
}

/// The kinds of work in the rows of a step.
struct WorkCounts {
  int kernels = 0;
  int copies_and_fills = 0;  ///< on the device
};

WorkCounts work_counts(const Profile& profile, const StepRows& parts) {
  WorkCounts counts;
  for (const ProfileRow& row : parts.rows) {
    for (const std::uint32_t event : row.events)
      ++(profile.events[event].kind == EventKind::kernel ? counts.kernels : counts.copies_and_fills);
  }
  return counts;
}

std::string work_in_words(std::size_t operators, const WorkCounts& counts) {
  std::string text = fmt::format("{}, {}", plural(static_cast<long long>(operators), "operator"),
                                 plural(counts.kernels, "kernel"));
  if (counts.copies_and_fills > 0)
    text += fmt::format(", {}", counts.copies_and_fills == 1
                                    ? "1 copy or fill on the GPU"
                                    : grouped(counts.copies_and_fills) + " copies and fills on the GPU");
  return text;
}

constexpr std::array<std::string_view, work_phases> phase_names{"rest", "backward", "optimizer", "zero_grad",
                                                                "unknown"};

Json figures_json(const ProfileFigures& figures) {
  Json phases = Json::object();
  for (std::size_t i = 0; i < work_phases; ++i) {
    phases[std::string(phase_names[i])] = {{"kernels", figures.kernels_of_phase[i]},
                                           {"time_s", from_ns(figures.time_of_phase[i]).si()}};
  }
  return {{"compute_kernels", figures.compute_kernels},
          {"communication_kernels", figures.communication_kernels},
          {"copies", figures.copies},
          {"fills", figures.fills},
          {"compute_time_s", from_ns(figures.compute_time).si()},
          {"communication_time_s", from_ns(figures.communication_time).si()},
          {"memory_time_s", from_ns(figures.memory_time).si()},
          {"span_s", from_ns(figures.span).si()},
          {"busy_s", from_ns(figures.busy).si()},
          {"busy_compute_s", from_ns(figures.busy_compute).si()},
          {"busy_communication_s", from_ns(figures.busy_communication).si()},
          {"exposed_communication_s", from_ns(figures.exposed_communication).si()},
          {"phases", std::move(phases)},
          {"collectives", collectives_json(figures)},
          {"gradients", figures.gradients},
          {"gradient_values", number_or_null(figures.gradient_values)}};
}

/// The parts of the step that became the trace.
doc::Table parts_of_step(const Profile& profile, const ProfileWork& work, const ImportedTrace& imported) {
  doc::Table table{.key = "step",
                   .title = "parts of the step",
                   .columns = {{.head = "part", .layout = text_column().wraps(12)},
                               doc::numbers("time"),
                               doc::numbers("share"),
                               {.head = "meaning", .layout = text_column().wraps(20)}},
                   .shape = {},
                   .has_heads = false};
  const StepRows& parts = imported.parts;
  const auto add = [&](std::string label, std::int64_t ns, std::string meaning) {
    const double share = parts.period > 0 ? static_cast<double>(ns) / static_cast<double>(parts.period) : 0;
    table.rows.push_back(
        {.cells = {std::move(label), doc::Value(human_like(from_ns(ns), from_ns(parts.period)), from_ns(ns)),
                   doc::Value(fmt::format("{:.1f} %", 100 * share), share), std::move(meaning)}});
  };
  add(imported.shown_step >= 0 ? fmt::format("step {}", work.steps[imported.shown_step].number)
                               : "whole file",
      parts.period, imported.steps.size() > 1 ? "the median of the steps" : "");
  add("computing", parts.computing, work_in_words(parts.rows.size(), work_counts(profile, parts)));
  add("exposed", parts.exposed, "communication while no kernel computes");
  add("host copies", parts.copying, "copies to or from the host alone; left out unless with --host-gaps");
  add("idle", parts.idle, "the GPU waits for its host; left out unless with --host-gaps");
  return table;
}

}  // namespace

Seconds from_ns(std::int64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

std::string collectives_in_words(const ImportedTrace& imported) {
  if (imported.collectives == 0)
    return imported.leaves_collectives ? "left to the stack, which makes buckets of the gradients" : "none";
  std::map<Operation, std::pair<int, double>> sums;
  for (const Op& op : imported.trace.ops) {
    for (const OpCommunication& one : op.communications) {
      auto& [count, bytes] = sums[one.operation];
      ++count;
      bytes += one.size.si();
    }
  }
  std::string text;
  for (const auto& [operation, sum] : sums) {
    text += fmt::format("{}{} {} of {} B in all", text.empty() ? "" : "; ", sum.first,
                        config::name_of(operation), grouped_count(sum.second));
  }
  return text;
}

std::string layout_in_words(const Parallelism& layout, int ranks) {
  std::string text;
  const auto part = [&](std::string_view name, int size) {
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, size);
  };
  part("tensor", layout.tensor);
  part("context", layout.context);
  part("data", ranks / (layout.tensor * layout.context));
  text += fmt::format(" = {}, by the groups of the collectives", plural(ranks, "rank"));
  if (layout.expert > 1) text += fmt::format("; {} ranks share experts", layout.expert);
  if (layout.layer_group) text += fmt::format("; {} ranks divide layers", *layout.layer_group);
  if (layout.order != Parallelism{}.order)
    text += fmt::format("; consecutive ranks are those of {}", config::name_of(layout.order.front()));
  return text;
}

nlohmann::ordered_json layout_json(const ImportedTrace& imported) {
  if (!imported.layout) return nullptr;
  const Parallelism& layout = *imported.layout;
  Json order = Json::array();
  for (const Axis axis : layout.order) order.push_back(config::name_of(axis));
  return {{"tensor", layout.tensor},
          {"context", layout.context},
          {"expert", layout.expert},
          {"layer_group", layout.layer_group ? Json(*layout.layer_group) : Json()},
          {"order", std::move(order)}};
}

GradientTotals gradient_totals(const Trace& trace) {
  GradientTotals totals;
  for (const Op& op : trace.ops) {
    totals.tensors += static_cast<int>(op.gradients.size());
    for (const Gradient& one : op.gradients) totals.values += one.elements;
  }
  return totals;
}

nlohmann::ordered_json collectives_json(const ProfileFigures& figures) {
  Json collectives = Json::object();
  for (const auto& [name, one] : figures.collectives) {
    collectives[name] = {{"count", one.count},
                         {"bytes", one.bytes},
                         {"output_bytes", one.out_bytes},
                         {"unsized", one.unsized}};
  }
  return collectives;
}

void add_left_out(doc::Section& section, const ImportedTrace& imported) {
  for (const LeftOut& one : imported.left_out)
    section.fact("left out", fmt::format("{} {}{}", grouped(one.count), one.what,
                                         one.time > 0 ? ", " + estimate(from_ns(one.time)) : std::string()));
}

nlohmann::ordered_json left_out_json(const ImportedTrace& imported) {
  Json left_out = Json::array();
  for (const LeftOut& one : imported.left_out)
    left_out.push_back({{"count", one.count}, {"time_s", from_ns(one.time).si()}, {"what", one.what}});
  return left_out;
}

doc::Document import_document(const Profile& profile, const ProfileWork& work,
                              const ImportedTrace& imported) {
  doc::Document page{.title = "Import of a profile", .version = version()};
  doc::Section& file = page.account("profile", "profile");
  file.fact("profile", profile_text(profile));
  file.fact("steps",
            fmt::format("{} in the file{}; used: {}", work.steps.size(),
                        work.marks == StepMarks::updates ? ", by its updates" : "", steps_text(imported)));
  if (profile.gpus.size() > 1) page.account("gpus", "GPUs").add(gpu_table(profile));
  page.account("step", "step").add(parts_of_step(profile, work, imported));
  doc::Section& trace = page.account("trace", "trace");
  if (imported.accumulation > 1)
    trace.fact("accumulation",
               fmt::format("{0} micro-batches in a step; the trace is that of one, with the update. Adding "
                           "gradients took {1} of the step; a run with accumulation={0} adds that itself",
                           imported.accumulation, estimate(from_ns(imported.adding_gradients))));
  trace.fact("collectives", collectives_in_words(imported));
  if (imported.layout) trace.fact("parallelism", layout_in_words(*imported.layout, ranks_of(profile)));
  if (imported.tensors > 0) trace.fact("gradients", gradients_text(imported));
  if (imported.beside > 0) trace.fact("overlap", overlap_text(imported));
  add_left_out(trace, imported);
  return page;
}

nlohmann::ordered_json import_json(const Profile& profile, const ProfileWork& work,
                                   const ImportedTrace& imported) {
  Json steps = Json::array();
  for (int i = 0; i < static_cast<int>(work.steps.size()); ++i) {
    const ProfiledStep& step = work.steps[i];
    Json one = {{"number", step.number}, {"host_duration_s", from_ns(step.end - step.start).si()}};
    one.update(figures_json(figures_of(profile, work, i)));
    steps.push_back(std::move(one));
  }
  const bool is_divided = work.marks == StepMarks::updates;  // the file itself has no steps
  const StepRows& parts = imported.parts;
  const WorkCounts counts = work_counts(profile, parts);
  return {{"file", base_name(profile.file)},
          {"bytes", profile.bytes},
          {"events", profile.seen},
          {"gpu", profile.gpu.empty() ? Json() : Json(profile.gpu)},
          {"rank", profile.rank ? Json(*profile.rank) : Json()},
          {"ranks", profile.ranks ? Json(*profile.ranks) : Json()},
          {"gpus", gpus_json(profile)},
          {"whole", figures_json(figures_of(profile, work))},
          {"steps", is_divided ? Json::array() : steps},
          {"updates", is_divided ? steps : Json::array()},
          {"used_steps", imported.steps},
          {"step",
           {{"number", imported.shown_step >= 0 ? Json(work.steps[imported.shown_step].number) : Json()},
            {"period_s", from_ns(parts.period).si()},
            {"computing_s", from_ns(parts.computing).si()},
            {"exposed_communication_s", from_ns(parts.exposed).si()},
            {"host_copies_s", from_ns(parts.copying).si()},
            {"idle_s", from_ns(parts.idle).si()},
            {"operators", parts.rows.size()},
            {"kernels", counts.kernels},
            {"copies_and_fills", counts.copies_and_fills},
            {"beside_communication_s", from_ns(imported.beside).si()}}},
          {"accumulation", imported.accumulation},
          {"adding_gradients_s", from_ns(imported.adding_gradients).si()},
          {"ops_timed_beside_communication", imported.slowed_ops},
          {"time_beside_communication_s", from_ns(imported.slowed).si()},
          {"ops", imported.trace.ops.size()},
          {"parallelism", layout_json(imported)},
          {"gradients", gradient_totals(imported.trace).tensors},
          {"left_out", left_out_json(imported)},
          {"warnings", imported.warnings}};
}

}  // namespace trainyard
