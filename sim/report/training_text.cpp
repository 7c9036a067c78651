#include "report/run_words.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// The rank that delays the others, if there is one: that with the fewest gradients, or else the shortest
/// wait.
void write_slowest(Page& out, const Updates& updates) {
  constexpr double alike = 0.005;  // of the measured time
  const auto [fewest, most] = std::ranges::minmax_element(updates.workers, {}, &WorkerRow::gradients);
  if (fewest->gradients < most->gradients) {
    out.row("slowest rank", fmt::format("{} (node {})", index(fewest->rank), index(fewest->node)),
            fmt::format("updates used {} of its gradients, and {} of rank {}", grouped(fewest->gradients),
                        grouped(most->gradients), index(most->rank)));
    return;
  }
  const auto [least, longest] = std::ranges::minmax_element(updates.workers, {}, &WorkerRow::waiting);
  if (longest->waiting - least->waiting < alike * updates.measured) return;
  out.row("slowest rank", fmt::format("{} (node {})", index(least->rank), index(least->node)),
          fmt::format("waited {}; rank {} waited {}", estimate(least->waiting), index(longest->rank),
                      estimate(longest->waiting)));
}

/// "39.4-39.8 ms".
std::string range_in_words(Seconds low, Seconds high) {
  const std::string begin = estimate(low);
  const std::string end = estimate(high);
  const std::size_t blank = begin.find(' ');
  const bool has_same_unit = begin.substr(blank) == end.substr(std::min(end.size(), end.find(' ')));
  return has_same_unit ? begin.substr(0, blank) + "-" + end : begin + " to " + end;
}

}  // namespace

std::string rule_in_words(const UpdateSettings& settings) {
  std::string text(config::name_of(settings.rule));
  if (takes_k(settings.rule)) text += fmt::format(", k = {}", settings.k);
  if (settings.rule == UpdateRule::ssp) text += fmt::format(", bound {}", settings.bound);
  if (settings.rule == UpdateRule::local_sgd)
    text += fmt::format(" every {}", plural(settings.push_every, "step"));
  if (settings.rule == UpdateRule::downpour)
    text += fmt::format(", push every {}, fetch every {}", settings.push_every,
                        plural(settings.fetch_every, "step"));
  return text;
}

std::string spread_in_words(const Updates& updates) {
  if (updates.counts.repeats < 2) return {};
  return fmt::format("; {} ({} repeats, {} confidence)", range_in_words(updates.time.low, updates.time.high),
                     updates.counts.repeats, percent(updates.time.confidence));
}

void write_activities(Page& out, const Updates& updates) {
  out.heading("where the time goes", "all ranks, share of the measured time");
  const WorkerRow sum = sum_of(updates.workers);
  const auto ranks = static_cast<double>(updates.workers.size());
  const auto share = [&](std::string_view label, Seconds time, std::string_view colour) {
    out.share(label, time / ranks, updates.measured, colour);
  };
  share("computing", sum.computing - sum.wasted, "36");
  share("communicating", sum.communicating, "33");
  share("waiting", sum.waiting, "33");
  if (sum.loading > Seconds{}) share("loading", sum.loading, "35");
  share("wasted", sum.wasted, "31");
  if (updates.workers.size() > 1) write_slowest(out, updates);
}

void write_updates(Page& out, const Updates& updates) {
  out.heading("updates");
  out.row("rate", rounded(1 / updates.time.median.si()) + " /s",
          fmt::format("{} gradients per update", rounded(gradients_in_update(updates))));
  out.row("staleness", rounded(updates.staleness.mean),
          fmt::format("updates on average, {} at most (1 is fresh)", grouped(updates.staleness.max)));
  if (updates.settings.rule == UpdateRule::ssp) {
    out.row("lead", grouped(updates.lead),
            fmt::format("largest lead of a rank over the slowest, in finished steps; bound {}",
                        updates.settings.bound));
  }
  const ServerRow* const busiest = busiest_server(updates);
  if (busiest != nullptr) {
    out.row("busiest server", percent(busiest->utilization),
            fmt::format("utilization of the {}", busiest->name));
  }
}

}  // namespace trainyard
