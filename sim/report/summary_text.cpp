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
#include "report/unmodelled.hpp"
#include "units/text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

constexpr int chart_width = 76;

void write_headline(Page& out, const Result& result) {
  out.line("");
  out.row(result.training ? "an update" : "step time", human(result.step_time), update_in_words(result),
          true);
  std::string remark = result.epoch_time ? "an epoch takes " + long_time(*result.epoch_time) : "";
  if (result.tokens_per_second) {
    remark = rounded(*result.tokens_per_second) + " tokens/s" + (remark.empty() ? "" : "; ") + remark;
  }
  out.row("throughput", rounded(result.throughput) + " samples/s", remark, true);
  if (result.ranks == 1) return;
  out.row("one GPU alone", human(result.one_rank_step_time),
          fmt::format("{} samples/s with the same batch per GPU",
                      rounded(static_cast<double>(result.resolved.batch_per_gpu) *
                              result.resolved.accumulation / result.one_rank_step_time.si())));
  std::string speedup =
      fmt::format("of {}: efficiency {}", grouped(result.ranks), percent(result.scaling_efficiency));
  if (!result.training)
    speedup += fmt::format(", {} over linear scaling", human(result.communication_overhead));
  out.row("speedup", rounded(result.speedup) + " x", speedup);
}

void write_where(Page& out, const Result& result) {
  out.heading("where the time goes", "rank 0, share of the step");
  std::map<Phase, Seconds> phases;
  for (const LayerRow& row : result.layers) phases[row.phase] += row.duration;
  for (const auto& [phase, time] : phases) out.share(config::name_of(phase), time, result.step_time, "36");
  if (result.input && result.input->exposed > Seconds{})
    out.share("exposed input", result.input->exposed, result.step_time, "35");
  if (result.ranks == 1) return;
  // What rounds to 0.0 % is no news.
  if (result.compute_slowdown > 5e-4 * result.step_time)
    out.share("slowed kernels", result.compute_slowdown, result.step_time, "36");
  out.share("exposed comm.", result.exposed_communication, result.step_time, "33");
  const Overlap times = overlap(result);
  const double hidden = result.communication_time.si() > 0 ? times.hidden / result.communication_time : 0;
  out.row("communication", human(result.communication_time),
          fmt::format("in all, {} of it hidden behind compute; {}", percent(hidden),
                      count(static_cast<std::int64_t>(result.collectives.size()), "collective")));
}

void write_kinds(Page& out, const Result& result) {
  const std::vector<KernelKind> kinds = kernel_kinds(result);
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

void write_chart(Page& out, const Result& result) {
  out.heading("timeline of rank 0", "f forward, b backward, o optimizer, . waiting; = communication");
  const TimelineChart chart = timeline_chart(result, chart_width);
  out.line(fmt::format("  compute         |{}|", out.painted("36", chart.compute)));
  if (result.ranks > 1)
    out.line(fmt::format("  communication   |{}|", out.painted("33", chart.communication)));
  const std::string end = human(result.step_time);
  out.line(fmt::format("{:18} 0{}{}", "",
                       std::string(static_cast<std::size_t>(chart_width) - 1 - end.size(), ' '), end));
}

/// "48 of 48 cores busy for 62 %; storage for 8 %".
std::string input_in_words(const InputReport& input) {
  std::string text = fmt::format("made ready in {} beside the step", human(input.pipeline.time));
  if (!input.is_prefetched)
    text = fmt::format("made ready in {} before each step", human(input.pipeline.time));
  if (input.cpu_utilization)
    text += fmt::format("; a node's cores are busy for {}", percent(*input.cpu_utilization));
  if (input.storage_utilization)
    text += fmt::format("; its storage for {}", percent(*input.storage_utilization));
  return text;
}

void write_limits(Page& out, const Result& result) {
  out.heading("what limits it");
  out.paragraph(limit_in_words(result), 2);
  if (!result.busiest_link.empty()) {
    const LinkRow* const link = busiest_link(result);
    std::string text = fmt::format("{}, busy for {} of the {}", elide(result.busiest_link, 50),
                                   percent(result.link_utilization_max), result.training ? "run" : "step");
    if (link != nullptr) text += fmt::format(" ({} at {})", human(link->bytes), human(link->capacity));
    out.text_row("busiest link", text);
  }
  if (result.input) out.text_row("input", input_in_words(*result.input));
  if (result.ranks > 1 && result.lower_bound.si() > 0) {
    out.row("lower bound", human(result.lower_bound),
            fmt::format("all collectives at their bound; the step takes {} longer",
                        percent(result.step_time / result.lower_bound - 1)));
  }
  std::string rate = human(result.achieved_flops_per_gpu) + " per GPU";
  if (result.model_flops_utilization) {
    rate += fmt::format(", {} of its peak in {} (model FLOPs utilisation){}",
                        percent(*result.model_flops_utilization), result.matrix_dtype,
                        above_peak_in_words(result));
    out.text_row("matrix FLOPs", rate);
  }
}

/// "; 12 J of it for what was cancelled".
std::string wasted_in_words(const Result& result) {
  if (!result.training || result.training->wasted_energy.value_or(Joules{}) <= Joules{}) return {};
  return fmt::format("; {} of it for what was cancelled", human(*result.training->wasted_energy));
}

void write_needs(Page& out, const Result& result) {
  if (!result.memory && !result.energy_per_step && !result.cost) return;
  out.heading("what it takes");
  if (result.memory) {
    const MemoryReport& memory = *result.memory;
    out.row(
        "memory", human(memory.peak),
        fmt::format("of {} per GPU, {}: {}; batch {} still fits", human(memory.capacity),
                    percent(memory.utilization), largest_terms(memory.terms), grouped(memory.largest_batch)));
  }
  if (result.energy_per_step) {
    out.row(
        "energy", human(*result.energy_per_step),
        fmt::format("{}, {} on average over all GPUs and boxes{}", result.training ? "an update" : "a step",
                    human(*result.average_power), wasted_in_words(result)));
  }
  if (result.cost) {
    out.row("cost", rounded(result.cost->per_epoch.si()) + " USD",
            fmt::format("an epoch, at {} USD per node and hour ({})",
                        rounded(result.cost->per_node_hour.si()), result.cost->date));
  }
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

void write_trust(Page& out, const Result& result) {
  out.heading("what the numbers rest on");
  const ComputeSourceShares& shares = result.compute_source_shares;
  out.text_row("compute times",
               fmt::format("{} measured kernels, {} curves fitted to kernels, {} roofline",
                           percent(shares.measured), percent(shares.fitted), percent(shares.roofline)));
  out.text_row("calibrated on", result.calibrated_on.empty() ? "nothing: no end-to-end run was used"
                                                             : joined(result.calibrated_on));
  out.text_row("fidelity", fmt::format("{} ({} events)", result.fidelity,
                                       grouped(static_cast<std::int64_t>(result.events))));
  for (const std::string& note : result.notes) out.text_row("note", note);
  out.text_row("not modelled", joined(unmodelled_topics(result)) + " (more with --json)");
}

}  // namespace

std::string summary_text(const Result& result, bool colour) {
  Page out(colour);
  write_title(out, result);
  write_headline(out, result);
  if (result.training) {
    write_activities(out, *result.training);
  } else {
    write_where(out, result);
  }
  write_kinds(out, result);
  if (result.training)
    write_updates(out, *result.training);
  else
    write_chart(out, result);
  write_limits(out, result);
  if (result.faults) write_faults(out, result);
  write_needs(out, result);
  write_trust(out, result);
  return out.text();
}

}  // namespace trainyard
