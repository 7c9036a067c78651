#include "report/expected_error.hpp"
#include "report/run_words.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

/// "3.00 h (Daly's)".
std::string interval_in_words(const FaultReport& faults) {
  if (!faults.every) return "none";
  return human(*faults.every) + (faults.is_daly ? " (Daly's)" : "");
}

}  // namespace

std::string goodput_in_words(const FaultReport& faults) {
  std::string text = percent(faults.share) + " of the throughput";
  if (faults.runs > 1)
    text +=
        fmt::format(" (95 % confidence: {} to {})", percent(faults.share_low), percent(faults.share_high));
  return text;
}

void write_faults(Page& out, const Run& run) {
  const FaultReport& faults = *run.faults;
  out.heading("faults and checkpoints", faults.runs > 1 ? fmt::format("mean of {} runs", faults.runs) : "");
  const std::string interval = bounds_in_words(run, "goodput_samples_per_s");
  out.row("goodput", rounded(run.pace.throughput * faults.share) + " samples/s",
          fmt::format("{}{}; {} of work take {}", interval.empty() ? "" : interval + "; ",
                      goodput_in_words(faults), human(faults.work), estimate(faults.wall)),
          true);
  const auto share = [&](std::string_view label, Seconds time, std::string_view colour) {
    out.share(label, time, faults.wall, colour);
  };
  share("work", faults.work, "36");
  share("lost work", faults.lost, "31");
  if (faults.slowed > Seconds{}) share("missing ranks", faults.slowed, "31");
  share("restarting", faults.restarting, "33");
  share("checkpoints", faults.writing, "33");
  out.row("faults", rounded(faults.faults),
          fmt::format("{} of them restart the job{}", rounded(faults.restarts),
                      faults.between_stops
                          ? fmt::format(", one every {} on average", estimate(*faults.between_stops))
                          : ""));
  if (!faults.every) return;
  out.row("checkpoint", interval_in_words(faults),
          fmt::format("between checkpoints; each has {} and takes {} to write",
                      estimate(faults.checkpoint_size), estimate(faults.write)));
  if (!faults.daly) return;
  std::string best = fmt::format("Young {}, Daly {}", estimate(*faults.young), estimate(*faults.daly));
  if (faults.best) {
    best += fmt::format("; best of the simulated intervals: {} ({} of the throughput)",
                        estimate(*faults.best), percent(faults.best_share));
  }
  out.text_row("best interval", best);
}

}  // namespace trainyard
