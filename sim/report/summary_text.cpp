#include "report/summary_text.hpp"

#include "document/page.hpp"
#include "document/writers.hpp"
#include "report/expected_error.hpp"
#include "report/input_ranges.hpp"
#include "report/kernel_kinds.hpp"
#include "report/layout_summary.hpp"
#include "report/limits.hpp"
#include "report/memory_page.hpp"
#include "report/run_words.hpp"
#include "report/timeline_chart.hpp"
#include "run/expected_bounds.hpp"
#include "run/figures.hpp"
#include "run/layout_parts.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

void write_headline(Page& out, const Run& run) {
  out.line("");
  out.row(updates_of(run) ? "an update" : "step time", estimate(run.pace.time), update_in_words(run), true);
  std::string remark = epoch_time(run) ? "an epoch takes " + estimate(*epoch_time(run)) : "";
  if (tokens_per_second(run)) {
    remark = rounded(*tokens_per_second(run)) + " tokens/s" + (remark.empty() ? "" : "; ") + remark;
  }
  out.row("throughput", rounded(run.pace.throughput) + " samples/s", remark, true);
  if (run.expected_error)
    out.row("expected error", error_range(*run.expected_error), expected_error_in_words(*run.expected_error));
  else if (run.experiment.layout)
    out.row("expected error", "unknown", run.expected_error.error());
  if (run.assumed) out.text_row("assumed inputs", assumed_in_words(run));
  if (run.ranges) out.text_row("if inputs vary", ranges_in_words(*run.ranges));
  if (run.ranks == 1 || shares_model(run.experiment)) return;
  out.row("one GPU alone", estimate(run.pace.one_rank),
          fmt::format("{} samples/s with the same batch per GPU",
                      rounded(static_cast<double>(run.experiment.settings.batch_per_gpu) *
                              run.experiment.settings.accumulation / run.pace.one_rank.si())));
  std::string speedup = fmt::format("of {} ({})", grouped(run.ranks), percent(run.pace.efficiency));
  constexpr double rounding = 1e-9;
  const Seconds longer = run.pace.time - run.pace.one_rank;
  if (!updates_of(run))
    speedup += std::abs(longer.si()) <= rounding * run.pace.time.si()
                   ? "; as long as one GPU alone"
                   : fmt::format("; {} longer than one GPU alone", estimate(longer));
  out.row("speedup", rounded(run.pace.speedup) + " x", speedup);
}

/// Smaller shares round to 0.0 %.
constexpr double least_shown = 5e-4;

void write_where(Page& out, const Run& run, const ClassStep& one) {
  out.heading("where the time goes", rank_in_words(run, one) + ", share of the step");
  std::map<Phase, Seconds> phases;
  for (const OpRow& row : one.ops) phases[row.phase] += row.duration;
  for (const auto& [phase, time] : phases) out.share(config::name_of(phase), time, run.pace.time, "36");
  if (one.launch_waits > least_shown * run.pace.time)
    out.share("waits for host", one.launch_waits, run.pace.time, "35");
  if (run.input && run.input->exposed > Seconds{})
    out.share("exposed input", run.input->exposed, run.pace.time, "35");
  if (run.ranks == 1) return;
  if (one.slowed > least_shown * run.pace.time) out.share("kernel slowdown", one.slowed, run.pace.time, "36");
  out.share("exposed comm.", one.exposed, run.pace.time, "33");
  const double hidden = one.communication > Seconds{} ? hidden_communication(one) / one.communication : 0;
  out.row("communication", estimate(one.communication),
          fmt::format("in total, {} of it overlaps with compute; {}", percent(hidden),
                      count(static_cast<std::int64_t>(step_of(run).collectives.size()), "collective")));
}

void write_kinds(Page& out, const Run& run, const ClassStep& one) {
  const std::vector<KernelKind> kinds = kernel_kinds(one);
  const Seconds sum = sum_of(kinds);
  if (sum.si() <= 0) return;
  std::string text;
  Seconds rest = sum;
  for (const auto& [kind, time, kernels] : kinds) {
    if (time / sum < 0.01) break;
    rest -= time;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", config::name_of(kind), percent(time / sum));
  }
  if (rest / sum > 1e-9) text += ", others " + percent(rest / sum);
  out.text_row("kernels", fmt::format("{} in total{}: {}", estimate(sum),
                                      updates_of(run) && step_of(run).classes.size() > 1
                                          ? " on " + rank_in_words(run, one)
                                          : std::string(),
                                      text));
}

void write_chart(Page& out, const Run& run, const ClassStep& one) {
  out.heading("timeline of " + rank_in_words(run, one),
              "f forward, b backward, o optimizer, . waiting; = communication");
  const TimelineChart chart = timeline_chart(run, one, out.chart_width());
  out.line(fmt::format("  compute         |{}|", out.painted("36", chart.compute)));
  if (run.ranks > 1) out.line(fmt::format("  communication   |{}|", out.painted("33", chart.communication)));
  out.line(fmt::format("{:18} {}", "", chart_axis(run, out.chart_width())));
}

/// "prepared in 12.1 ms during the previous step; cores of a node 62 % busy; storage 8 % busy".
std::string input_in_words(const InputReport& input) {
  std::string text = fmt::format("prepared in {} during the previous step", estimate(input.loading.time));
  if (!input.is_prefetched)
    text = fmt::format("prepared in {} before each step", estimate(input.loading.time));
  if (input.cpu_utilization)
    text += fmt::format("; cores of a node {} busy", percent(*input.cpu_utilization));
  if (input.storage_utilization)
    text += fmt::format("; storage {} busy", percent(*input.storage_utilization));
  return text;
}

void write_limits(Page& out, const Run& run) {
  out.heading("what limits it");
  out.paragraph(limit_in_words(run) + costly_choice_in_words(run), 2);
  if (!run.links.busiest.empty()) {
    const LinkRow* const link = busiest(run.links);
    std::string text = fmt::format("{}, busy for {} of the {}", elide(run.links.busiest, 50),
                                   percent(run.links.most), updates_of(run) ? "run" : "step");
    if (link != nullptr)
      text += fmt::format(" ({} at {}{})", estimate(link->bytes), estimate(link->capacity),
                          assumed_mark(link->is_assumed));
    out.text_row("busiest link", text);
  }
  if (run.input) out.text_row("input", input_in_words(*run.input));
  if (run.ranks > 1 && updates_of(run) == nullptr) {
    out.row("lower bound", estimate(step_of(run).lower_bound),
            fmt::format("all collectives at their bound; the step {}",
                        takes_longer(run.pace.time, step_of(run).lower_bound)));
  }
  if (!run.matrix) return;
  const bool recomputes =
      run.experiment.layout && run.experiment.layout->parallelism.recompute != Recompute::none;
  out.text_row(
      "matrix FLOPs",
      fmt::format("{} per GPU, {} of the {} peak (model FLOPs utilization{}){}", estimate(run.matrix->rate),
                  percent(run.matrix->utilization), matrix_dtype_name(run),
                  recomputes ? ", without recomputation" : "", above_peak_in_words(run)));
}

/// "; 12 J of it for cancelled work".
std::string wasted_in_words(const Run& run) {
  if (!updates_of(run) || updates_of(run)->wasted_energy.value_or(Joules{}) <= Joules{}) return {};
  return fmt::format("; {} of it for cancelled work", estimate(*updates_of(run)->wasted_energy));
}

/// "; largest batch that fits: 64"; empty for a trace, whose batch is fixed.
std::string largest_batch_in_words(const Run& run, const MemoryReport& memory) {
  if (!run.experiment.model) return {};
  return fmt::format("; largest {} that fits: {}", run.experiment.layout ? "micro-batch" : "batch",
                     grouped(memory.largest_batch));
}

/// "on node 0, the fullest of 4: parameters 0.40 GB, ...".
std::string server_memory_in_words(const ServerMemory& memory) {
  std::string text = "on " + server_place(memory);
  std::string_view separator = ": ";
  for (const ServerMemoryTerm& term : server_memory_terms) {
    std::string name(term.name);
    std::ranges::replace(name, '_', ' ');
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), name, gpu_memory(memory.*term.bytes));
  }
  return text;
}

/// "; 7.2 GB to 12.9 GB expected"; empty for a figure without an interval.
std::string interval_of(const Run& run, std::string_view field) {
  const std::string words = bounds_in_words(run, field);
  return words.empty() ? words : "; " + words;
}

/// ", 10.0 GB to 16.5 GB expected: it may not fit".
std::string memory_interval(const Run& run, const MemoryReport& memory) {
  constexpr const char* field = "memory_peak_bytes";
  const auto bounds = expected_bounds(run, field);
  if (!bounds) return {};
  const bool may_not_fit = memory.fits && bounds->high > memory.available.si();
  return fmt::format(", {}{}", bounds_in_words(run, field), may_not_fit ? ", so it may not fit" : "");
}

/// The memory of each class, or of the fullest stage.
void write_memory(Page& out, const Run& run) {
  const std::vector<MemoryReport>& reports = *run.memory;
  const bool has_stages = run.experiment.layout && reports.size() > 1;
  for (const MemoryReport& memory : reports) {
    if (has_stages && &memory != &fullest(reports)) continue;
    const std::string whose = reports.size() > 1 ? memory.ranks + ": " : std::string();
    out.row("memory", gpu_memory(memory.peak),
            fmt::format("{}of {} per GPU ({}){}: {}{}", whose, gpu_memory(memory.capacity),
                        percent(memory.utilization),
                        &memory == &fullest(reports) ? memory_interval(run, memory) : "",
                        largest_terms(memory.terms), largest_batch_in_words(run, memory)));
  }
  if (has_stages) out.text_row("by stage", memory_by_stage(reports));
  const std::optional<ServerMemory>& server = fullest(reports).server;
  if (server) out.row("server memory", gpu_memory(total(*server)), server_memory_in_words(*server));
}

void write_needs(Page& out, const Run& run) {
  if (!run.memory && !run.energy && !run.cost) return;
  out.heading("resources");
  if (run.memory) write_memory(out, run);
  if (run.energy) {
    out.row("energy", estimate(run.energy->per_step),
            fmt::format("per {}; {} on average for all GPUs and nodes{}{}",
                        updates_of(run) ? "update" : "step", estimate(run.energy->average),
                        wasted_in_words(run), interval_of(run, "energy_per_step_j")));
  }
  if (run.cost) {
    out.row("cost", rounded(run.cost->per_epoch.si()) + " USD",
            fmt::format("per epoch, at {} USD per node and hour ({}{}){}",
                        shortest(run.cost->per_node_hour.si()), run.cost->date,
                        run.cost->is_assumed ? ", assumed" : "", interval_of(run, "cost_per_epoch_usd")));
  }
}

/// What gave the times of collectives or of messages to servers, and why that is right.
std::string network_engine_in_words(const Run& run) {
  const std::optional<NetworkEngine> engine = network_engine(run);
  if (!engine) return {};
  switch (*engine) {
    case NetworkEngine::formulas:
      return run.experiment.settings.fidelity == Fidelity::closed
                 ? "closed forms: each collective as if alone on the network (fidelity closed)"
                 : "closed forms, exact here: no two collectives share a link at the same time, so SimGrid "
                   "was not needed";
    case NetworkEngine::simgrid:
      return "SimGrid: flows share links max-min fairly";
    case NetworkEngine::fair_shares:
      break;
  }
  return "flows between workers and servers share links max-min fairly (own solver; fidelity messages: "
         "SimGrid)";
}

void write_trust(Page& out, const Run& run) {
  out.heading("basis of the numbers");
  const ComputeSourceShares& shares = run.compute_sources;
  out.text_row("compute times",
               fmt::format("{} measured kernels, {} curves fitted to kernels, {} roofline",
                           percent(shares.measured), percent(shares.fitted), percent(shares.roofline)));
  out.text_row("calibrated on", run.calibrated_on.empty()
                                    ? "no training run (kernel data only)"
                                    : fmt::format("{}", fmt::join(run.calibrated_on, ", ")));
  out.text_row("fidelity", fmt::format("{} ({} events)", config::name_of(run.experiment.settings.fidelity),
                                       grouped(static_cast<std::int64_t>(run.events))));
  if (const std::string engine = network_engine_in_words(run); !engine.empty())
    out.text_row("network", engine);
  for (const std::string& note : run.notes) out.text_row("note", note);
  if (const std::vector<std::string> topics = unmodelled_topics(run); !topics.empty())
    out.text_row("not modelled", fmt::format("{} (reasons with --json)", fmt::join(topics, ", ")));
}

void write(Page& out, const Run& run, void (*add)(doc::Document&, const Run&)) {
  doc::Document page;
  add(page, run);
  for (const doc::Section& section : page.sections) doc::write_section(out, section);
}

}  // namespace

std::string summary_text(const Run& run, const PrintStyle& style) {
  Page out(style, device_words(run.experiment.platform));
  write_title(out, run);
  write_headline(out, run);
  const std::vector<ClassStep>& classes = step_of(run).classes;
  if (updates_of(run) != nullptr) {
    write(out, run, add_activities);
    for (const ClassStep& one : classes) write_kinds(out, run, one);
    write(out, run, add_updates);
  } else if (has_bubbles(run.experiment)) {
    write_stages(out, run);
    write_kinds(out, run, slowest_class(step_of(run)));
    write_stage_charts(out, run);
  } else {
    for (const ClassStep& one : classes) {
      write_where(out, run, one);
      write_kinds(out, run, one);
      write_chart(out, run, one);
    }
  }
  write_limits(out, run);
  for (const auto& add : {add_learning, add_faults, add_job}) write(out, run, add);
  write_needs(out, run);
  write_trust(out, run);
  return out.text();
}

std::string learning_text(const Run& run, const PrintStyle& style) {
  Page out(style, device_words(run.experiment.platform));
  write_title(out, run);
  write_headline(out, run);
  for (const auto& add : {add_updates, add_learning}) write(out, run, add);
  write_trust(out, run);
  return out.text();
}

}  // namespace trainyard
