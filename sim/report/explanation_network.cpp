// The part of an explanation about the network: the limit of a collective, and concurrent work.

#include "document/page.hpp"
#include "report/explanation.hpp"
#include "report/limits.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// The bandwidth that one connection reaches, and its limit.
std::string connection_in_words(const CollectivePace& pace, const std::string& protocol) {
  switch (pace.held_by) {
    case ConnectionLimit::protocol:
      return "the rate of one connection with protocol " + protocol;
    case ConnectionLimit::fabric:
      return "the rate of connections across the fabric";
    case ConnectionLimit::host_memory:
      return "the rate of one connection through host memory";
    default:
      return "the rate of one connection";
  }
}

/// Whether two collectives run at the same time.
bool do_overlap(const CollectiveRow& one, const CollectiveRow& other) {
  return one.start < other.end && other.start < one.end;
}

bool overlaps_another(const Run& run, const CollectiveRow& row) {
  return std::ranges::any_of(step_of(run).collectives, [&](const CollectiveRow& other) {
    return &other != &row && do_overlap(row, other);
  });
}

}  // namespace

bool is_held_by_sums(const CollectivePace& pace) {
  return pace.sums > pace.transfer && pace.sums > pace.latency;
}

std::string limit_in_words(const CollectivePace& pace, const std::string& protocol) {
  if (is_held_by_sums(pace))
    return fmt::format("the sums of received data by one thread ({})", estimate(pace.sums));
  if (pace.link.empty()) return "latency only";
  if (pace.is_connection) {
    return fmt::format("{} ({}{}; its slowest link, {}, would allow {})", connection_in_words(pace, protocol),
                       estimate(pace.edge), assumed_mark(pace.is_assumed), elide(pace.link, 40),
                       estimate(pace.capacity / static_cast<double>(pace.crossed)));
  }
  std::string others;
  if (pace.alike > 1)
    others = fmt::format("; {} equally slow",
                         count(pace.alike - 1, "other link") + (pace.alike == 2 ? " is" : " are"));
  return fmt::format("{} ({}{}{})", elide(pace.link, 40), estimate(pace.capacity),
                     assumed_mark(pace.is_assumed), others);
}

std::string why_longer(const Run& run, const CollectiveRow& row) {
  const bool is_shared = !run.experiment.settings.background.empty() ||
                         !run.experiment.settings.neighbours.empty() || overlaps_another(run, row);
  const bool has_changes = !run.experiment.settings.events.empty();
  if (is_shared && has_changes) return " (concurrent traffic, changing links)";
  if (is_shared) return " (concurrent traffic)";
  return has_changes ? " (changing links)" : "";
}

std::string how_obtained(const Run& run, GapPart part) {
  const auto& names = config::Names<GapPart>::table;
  const std::string_view doc = std::ranges::find(names, part, &config::Name<GapPart>::value)->doc;
  const bool decodes = run.input && run.input->loading.kernels > Seconds{};
  if (part == GapPart::input && decodes) return "waiting for samples, and kernels that decode them";
  if (part != GapPart::network) return std::string(doc);
  const Experiment& settings = run.experiment.settings;
  std::vector<std::string> causes;
  const auto add_if = [&](bool is_so, std::string cause) {
    if (is_so) causes.push_back(std::move(cause));
  };
  add_if(!settings.events.empty(), "changing links");
  add_if(!settings.background.empty(), "background traffic");
  add_if(!settings.neighbours.empty(), "other jobs");
  add_if(std::ranges::any_of(step_of(run).collectives,
                             [&](const CollectiveRow& row) { return overlaps_another(run, row); }),
         "collectives that share links");
  add_if(settings.fidelity != Fidelity::flow,
         "simulation of single messages, fidelity " + std::string(config::name_of(settings.fidelity)));
  if (causes.empty()) return std::string(doc);
  return fmt::format("added by {}", fmt::join(causes, ", "));
}

}  // namespace trainyard
