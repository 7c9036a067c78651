#include "report/summary_text.hpp"

#include "report/fault_text.hpp"
#include "report/kernel_kinds.hpp"
#include "report/limits.hpp"
#include "report/memory_table.hpp"
#include "report/page.hpp"
#include "report/run_title.hpp"
#include "report/text_layout.hpp"
#include "report/timeline_chart.hpp"
#include "report/training_text.hpp"
#include "run/figures.hpp"
#include "units/text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

constexpr int chart_width = 76;

void write_headline(Page& out, const Run& run) {
  out.line("");
  out.row(updates_of(run) ? "an update" : "step time", human(run.pace.time), update_in_words(run), true);
  std::string remark = epoch_time(run) ? "an epoch takes " + long_time(*epoch_time(run)) : "";
  if (tokens_per_second(run)) {
    remark = rounded(*tokens_per_second(run)) + " tokens/s" + (remark.empty() ? "" : "; ") + remark;
  }
  out.row("throughput", rounded(run.pace.throughput) + " samples/s", remark, true);
  if (run.ranks == 1) return;
  out.row("one GPU alone", human(run.pace.one_rank),
          fmt::format("{} samples/s with the same batch per GPU",
                      rounded(static_cast<double>(run.experiment.settings.batch_per_gpu) *
                              run.experiment.settings.accumulation / run.pace.one_rank.si())));
  std::string speedup = fmt::format("of {}: efficiency {}", grouped(run.ranks), percent(run.pace.efficiency));
  if (!updates_of(run))
    speedup += fmt::format(", {} over linear scaling", human((run.pace.time - run.pace.one_rank)));
  out.row("speedup", rounded(run.pace.speedup) + " x", speedup);
}

void write_where(Page& out, const Run& run) {
  out.heading("where the time goes", "rank 0, share of the step");
  std::map<Phase, Seconds> phases;
  for (const OpRow& row : step_of(run).ops) phases[row.phase] += row.duration;
  for (const auto& [phase, time] : phases) out.share(config::name_of(phase), time, run.pace.time, "36");
  if (run.input && run.input->exposed > Seconds{})
    out.share("exposed input", run.input->exposed, run.pace.time, "35");
  if (run.ranks == 1) return;
  // Omitted if it rounds to 0.0 %.
  if (step_of(run).slowed > 5e-4 * run.pace.time)
    out.share("slowed kernels", step_of(run).slowed, run.pace.time, "36");
  out.share("exposed comm.", exposed_communication(run), run.pace.time, "33");
  const Overlap times = overlap(run);
  const double hidden = communication_time(run).si() > 0 ? times.hidden / communication_time(run) : 0;
  out.row("communication", human(communication_time(run)),
          fmt::format("in all, {} of it hidden behind compute; {}", percent(hidden),
                      count(static_cast<std::int64_t>(step_of(run).collectives.size()), "collective")));
}

void write_kinds(Page& out, const Run& run) {
  const std::vector<KernelKind> kinds = kernel_kinds(run);
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
  out.text_row("kernels", fmt::format("{} in all: {}", human(sum), text));
}

void write_chart(Page& out, const Run& run) {
  out.heading("timeline of rank 0", "f forward, b backward, o optimizer, . waiting; = communication");
  const TimelineChart chart = timeline_chart(run, chart_width);
  out.line(fmt::format("  compute         |{}|", out.painted("36", chart.compute)));
  if (run.ranks > 1) out.line(fmt::format("  communication   |{}|", out.painted("33", chart.communication)));
  const std::string end = human(run.pace.time);
  out.line(fmt::format("{:18} 0{}{}", "",
                       std::string(static_cast<std::size_t>(chart_width) - 1 - end.size(), ' '), end));
}

/// "48 of 48 cores busy for 62 %; storage for 8 %".
std::string input_in_words(const InputReport& input) {
  std::string text = fmt::format("made ready in {} beside the step", human(input.loading.time));
  if (!input.is_prefetched)
    text = fmt::format("made ready in {} before each step", human(input.loading.time));
  if (input.cpu_utilization)
    text += fmt::format("; a node's cores are busy for {}", percent(*input.cpu_utilization));
  if (input.storage_utilization)
    text += fmt::format("; its storage for {}", percent(*input.storage_utilization));
  return text;
}

void write_limits(Page& out, const Run& run) {
  out.heading("what limits it");
  out.paragraph(limit_in_words(run), 2);
  if (!run.links.busiest.empty()) {
    const LinkRow* const link = busiest_link(run);
    std::string text = fmt::format("{}, busy for {} of the {}", elide(run.links.busiest, 50),
                                   percent(run.links.most), updates_of(run) ? "run" : "step");
    if (link != nullptr) text += fmt::format(" ({} at {})", human(link->bytes), human(link->capacity));
    out.text_row("busiest link", text);
  }
  if (run.input) out.text_row("input", input_in_words(*run.input));
  if (run.ranks > 1 && updates_of(run) == nullptr) {
    out.row("lower bound", human(step_of(run).lower_bound),
            fmt::format("all collectives at their bound; the step takes {} longer",
                        percent(run.pace.time / step_of(run).lower_bound - 1)));
  }
  if (!run.matrix) return;
  out.text_row("matrix FLOPs", fmt::format("{} per GPU, {} of its peak in {} (model FLOPs utilisation){}",
                                           human(run.matrix->rate), percent(run.matrix->utilization),
                                           matrix_dtype_name(run), above_peak_in_words(run)));
}

/// "; 12 J of it for what was cancelled".
std::string wasted_in_words(const Run& run) {
  if (!updates_of(run) || updates_of(run)->wasted_energy.value_or(Joules{}) <= Joules{}) return {};
  return fmt::format("; {} of it for what was cancelled", human(*updates_of(run)->wasted_energy));
}

void write_needs(Page& out, const Run& run) {
  if (!run.memory && !run.energy && !run.cost) return;
  out.heading("what it takes");
  if (run.memory) {
    const MemoryReport& memory = *run.memory;
    out.row(
        "memory", human(memory.peak),
        fmt::format("of {} per GPU, {}: {}; batch {} still fits", human(memory.capacity),
                    percent(memory.utilization), largest_terms(memory.terms), grouped(memory.largest_batch)));
  }
  if (run.energy) {
    out.row(
        "energy", human(run.energy->per_step),
        fmt::format("{}, {} on average over all GPUs and boxes{}", updates_of(run) ? "an update" : "a step",
                    human(run.energy->average), wasted_in_words(run)));
  }
  if (run.cost) {
    out.row("cost", rounded(run.cost->per_epoch.si()) + " USD",
            fmt::format("an epoch, at {} USD per node and hour ({})", rounded(run.cost->per_node_hour.si()),
                        run.cost->date));
  }
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

void write_trust(Page& out, const Run& run) {
  out.heading("what the numbers rest on");
  const ComputeSourceShares& shares = run.compute_sources;
  out.text_row("compute times",
               fmt::format("{} measured kernels, {} curves fitted to kernels, {} roofline",
                           percent(shares.measured), percent(shares.fitted), percent(shares.roofline)));
  out.text_row("calibrated on",
               run.calibrated_on.empty() ? "nothing: no end-to-end run was used" : joined(run.calibrated_on));
  out.text_row("fidelity", fmt::format("{} ({} events)", config::name_of(run.experiment.settings.fidelity),
                                       grouped(static_cast<std::int64_t>(run.events))));
  for (const std::string& note : run.notes) out.text_row("note", note);
  out.text_row("not modelled", joined(unmodelled_topics(run)) + " (more with --json)");
}

}  // namespace

std::string summary_text(const Run& run, bool colour) {
  Page out(colour);
  write_title(out, run);
  write_headline(out, run);
  if (updates_of(run)) {
    write_activities(out, *updates_of(run));
  } else {
    write_where(out, run);
  }
  write_kinds(out, run);
  if (updates_of(run))
    write_updates(out, *updates_of(run));
  else
    write_chart(out, run);
  write_limits(out, run);
  if (run.job) write_faults(out, run);
  write_needs(out, run);
  write_trust(out, run);
  return out.text();
}

}  // namespace trainyard
