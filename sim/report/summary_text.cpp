#include "report/summary_text.hpp"

#include "report/limits.hpp"
#include "report/memory_table.hpp"
#include "report/text_layout.hpp"
#include "report/timeline_chart.hpp"
#include "report/unmodelled.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

constexpr std::size_t page = 100;
constexpr std::size_t label_width = 18;  ///< with the indent of 2
constexpr std::size_t value_width = 18;
constexpr int chart_width = 76;
constexpr double bar_width = 56;

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

/// Writes lines of a label, a value and a remark; the remark is wrapped in its column.
class Page {
public:
  explicit Page(bool colour) : colour_(colour) {}

  void heading(std::string_view text, std::string_view remark = {}) {
    text_ += '\n' + painted("1", text);
    if (!remark.empty()) text_ += "  " + painted("2", remark);
    text_ += '\n';
  }

  void paragraph(std::string_view text, std::size_t indent) {
    for (const std::string& line : wrap(text, page - indent)) text_ += std::string(indent, ' ') + line + '\n';
  }

  void line(std::string_view text) { (text_ += text) += '\n'; }

  /// label, value, remark.
  void row(std::string_view label, std::string_view value, std::string_view remark, bool is_main = false) {
    const std::string start = "  " + padded(label, label_width - 2);
    // a value that fills its column still has a blank behind it
    const std::size_t width = std::max(value_width, columns(value) + 1);
    const std::string shown = remark.empty() ? std::string(value) : padded(value, width);
    text_ += start + (is_main ? painted("1;32", shown) : shown);
    hang(remark, label_width + width);
  }

  /// label, then text in the columns of values and remarks.
  void text_row(std::string_view label, std::string_view text) {
    text_ += "  " + padded(label, label_width - 2);
    hang(text, label_width);
  }

  [[nodiscard]] std::string painted(std::string_view code, std::string_view text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

private:
  /// Ends the line that has reached column `at` with `text`, later lines indented to the same column.
  void hang(std::string_view text, std::size_t at) {
    const std::vector<std::string> lines = wrap(text, page - at);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) text_ += '\n' + std::string(at, ' ');
      text_ += lines[i];
    }
    text_ += '\n';
  }

  bool colour_;
  std::string text_;
};

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

/// Hours and minutes for what lasts long, the usual prefixes for the rest.
std::string long_time(Seconds time) {
  const auto seconds = static_cast<std::int64_t>(std::llround(time.si()));
  if (seconds < 120) return human(time);
  if (seconds < 7200) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", grouped(seconds / 3600), seconds % 3600 / 60);
}

/// "k_sync, k = 6" or "ssp, bound 2".
std::string rule_in_words(const UpdateSettings& settings) {
  std::string text(config::name_of(settings.rule));
  if (takes_k(settings.rule)) text += fmt::format(", k = {}", settings.k);
  if (settings.rule == UpdateRule::ssp) text += fmt::format(", bound {}", settings.bound);
  if (settings.rule == UpdateRule::local_sgd) text += fmt::format(" every {} steps", settings.push_every);
  if (settings.rule == UpdateRule::downpour)
    text += fmt::format(", push every {}, fetch every {} steps", settings.push_every, settings.fetch_every);
  return text;
}

/// "; 12.1 to 12.6 ms in 5 repeats" where there are several.
std::string spread_in_words(const TrainingReport& training) {
  if (training.steps.repeats < 2) return {};
  return fmt::format("; {} to {} in {} repeats, between which the median lies with {} probability",
                     human(Seconds{training.update_time.low}), human(Seconds{training.update_time.high}),
                     training.steps.repeats, percent(training.confidence));
}

void write_title(Page& out, const Result& result) {
  std::string what = "training step";
  if (result.training) {
    what = fmt::format("training, {} updates with {}", grouped(result.training->updates),
                       rule_in_words(result.training->settings));
  }
  out.paragraph(fmt::format("{}: {} {}", result.experiment, result.model, what), 0);
  out.paragraph(
      fmt::format("{} of {} x {}; {}, {}, {}, batch {}{} per GPU", count(result.ranks, "GPU"),
                  grouped(result.nodes), result.platform_title, result.resolved.stack,
                  config::name_of(result.resolved.precision), config::name_of(result.resolved.optimizer),
                  result.resolved.accumulation > 1 ? fmt::format("{} x ", result.resolved.accumulation) : "",
                  grouped(result.resolved.batch_per_gpu)),
      2);
}

void write_headline(Page& out, const Result& result) {
  out.line("");
  out.row(result.training ? "an update" : "step time", human(result.step_time),
          fmt::format("one optimizer update with {}{}", count(result.global_batch, "sample"),
                      result.training ? spread_in_words(*result.training) : ""),
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

std::string bar(double share) {
  return std::string(static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * bar_width)), '#');
}

void write_share(Page& out, std::string_view label, Seconds time, Seconds step, std::string_view colour) {
  const double share = step.si() > 0 ? time / step : 0;
  std::string line = fmt::format("  {:<16}{:<11} {:>7}", label, human(time), percent(share));
  if (const std::string filled = bar(share); !filled.empty()) line += ' ' + out.painted(colour, filled);
  out.line(line);
}

void write_where(Page& out, const Result& result) {
  out.heading("where the time goes", "rank 0, share of the step");
  std::map<Phase, Seconds> phases;
  for (const LayerRow& row : result.layers) phases[row.phase] += row.duration;
  for (const auto& [phase, time] : phases)
    write_share(out, config::name_of(phase), time, result.step_time, "36");
  if (result.ranks == 1) return;
  write_share(out, "exposed comm.", result.exposed_communication, result.step_time, "33");
  const Overlap times = overlap(result);
  const double hidden = result.communication_time.si() > 0 ? times.hidden / result.communication_time : 0;
  out.row("communication", human(result.communication_time),
          fmt::format("in all, {} of it hidden behind compute; {}", percent(hidden),
                      count(static_cast<std::int64_t>(result.collectives.size()), "collective")));
}

/// Of a run of many updates: what the ranks did with the time.
void write_activities(Page& out, const TrainingReport& training) {
  out.heading("where the time goes", "all ranks, share of the measured time");
  Seconds computing, communicating, waiting, wasted;
  for (const WorkerRow& worker : training.workers) {
    computing += worker.computing - worker.wasted;
    wasted += worker.wasted;
    communicating += worker.communicating;
    waiting += worker.waiting;
  }
  const auto ranks = static_cast<double>(training.workers.size());
  const auto share = [&](std::string_view label, Seconds time, std::string_view colour) {
    write_share(out, label, time / ranks, training.measured, colour);
  };
  share("computing", computing, "36");
  share("communicating", communicating, "33");
  share("waiting", waiting, "33");
  share("wasted", wasted, "31");
}

void write_updates(Page& out, const TrainingReport& training) {
  out.heading("updates");
  out.row("rate", rounded(1 / training.update_time.median) + " /s",
          fmt::format("of {} gradients each", rounded(training.gradients_per_update)));
  out.row("staleness", rounded(training.staleness_mean),
          fmt::format("updates on average, {} at most (1 is fresh)", grouped(training.staleness_max)));
  if (training.settings.rule == UpdateRule::ssp) {
    out.row(
        "lead", grouped(training.lead),
        fmt::format(
            "finished steps that a rank was ahead of the slowest when it began another, at most; bound {}",
            training.settings.bound));
  }
  const auto busiest = std::ranges::max_element(training.servers, {}, &ServerRow::utilization);
  if (busiest != training.servers.end()) {
    out.row("busiest server", percent(busiest->utilization),
            fmt::format("of the memory bandwidth of {}", busiest->name));
  }
}

void write_kinds(Page& out, const Result& result) {
  std::map<OpKind, Seconds> kinds;
  Seconds sum;
  for (const LayerRow& row : result.layers) {
    kinds[row.kind] += row.duration;
    sum += row.duration;
  }
  if (sum.si() <= 0) return;
  std::vector<std::pair<OpKind, Seconds>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  Seconds rest = sum;
  for (const auto& [kind, time] : sorted) {
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

void write_limits(Page& out, const Result& result) {
  out.heading("what limits it");
  out.paragraph(limit_in_words(result), 2);
  if (!result.busiest_link.empty()) {
    const auto link = std::find_if(result.links.begin(), result.links.end(),
                                   [&](const LinkRow& row) { return row.name == result.busiest_link; });
    std::string text = fmt::format("{}, busy for {} of the {}", elide(result.busiest_link, 50),
                                   percent(result.link_utilization_max), result.training ? "run" : "step");
    if (link != result.links.end())
      text += fmt::format(" ({} at {})", human(link->bytes), human(link->capacity));
    out.text_row("busiest link", text);
  }
  if (result.ranks > 1 && result.lower_bound.si() > 0) {
    out.row("lower bound", human(result.lower_bound),
            fmt::format("all collectives at their bound; the step takes {} longer",
                        percent(result.step_time / result.lower_bound - 1)));
  }
  std::string rate = human(result.achieved_flops_per_gpu) + " per GPU";
  if (result.model_flops_utilization) {
    rate += fmt::format(", {} of its peak in {} (model FLOPs utilisation)",
                        percent(*result.model_flops_utilization), result.matrix_dtype);
    if (*result.model_flops_utilization > 1) {
      rate += "; counted as direct convolutions, of which Winograd's algorithm needs fewer";
    }
    out.text_row("matrix FLOPs", rate);
  }
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
    out.row("energy", human(*result.energy_per_step),
            fmt::format("a step, {} on average over all GPUs and boxes", human(*result.average_power)));
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
  write_needs(out, result);
  write_trust(out, result);
  return out.text();
}

}  // namespace trainyard
