#include "report/run_page.hpp"
#include "run/layout_parts.hpp"
#include "run/timeline_tracks.hpp"
#include "run/updates.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard {

namespace {

std::string details(const OpRow& row) {
  return fmt::format("{}{}{}; time {}", config::name_of(row.kind), row.shape.empty() ? "" : " ", row.shape,
                     config::name_of(row.source));
}

/// The kernels of a pass, and the layers at its ends.
std::string details(std::span<const OpRow> ops) {
  return fmt::format("{}, {} to {}", count(std::ssize(ops), "kernel"), ops.front().layer, ops.back().layer);
}

std::string details(const CollectiveRow& row) {
  return fmt::format("{}, {}, {} channels; {} tensors{}{}; bound {}, busbw {}", row.algorithm, row.protocol,
                     row.channels, row.tensors, row.ready_after.empty() ? "" : ", complete after ",
                     row.ready_after, estimate(row.bound), estimate(row.busbw));
}

/// A fill for bars of this category.
std::string_view fill_of_category(std::string_view category) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {{"forward", "forward"},
                                                                     {"backward", "backward"},
                                                                     {"optimizer", "optimizer"},
                                                                     {"communication", "communication"},
                                                                     {"computing", "compute"},
                                                                     {"communicating", "communication"},
                                                                     {"waiting", "waiting"},
                                                                     {"cycle", "waiting"},
                                                                     {"decoding", "compute"},
                                                                     {"loading", "input"},
                                                                     {"wasted", "wasted-compute"},
                                                                     {"bubble", "bubble"},
                                                                     {"recomputation", "recomputation"}};
  const auto* const found = std::ranges::find(known, category, [](const auto& one) { return one.first; });
  return found == std::end(known) ? "framework" : found->second;
}

/// Numbers kinds and items in order of first appearance.
class LanesOfRun {
public:
  explicit LanesOfRun(const Run& run, const std::vector<Track>& all) : run_(run) {
    std::vector<std::vector<Rank>> ranks;
    for (const Track& track : all) {
      std::vector<doc::Lanes::Lane> lanes = lanes_of(track);
      if (has_bubbles(run.experiment) && !track.streams[static_cast<int>(Stream::compute)].empty()) {
        if (is_first_of_class(track.rank)) {
          lanes_.still.push_back(with_gaps(lanes, true));
          lanes_.still.back().name = class_of(run.experiment, track.rank).name;
        }
        lanes.front() = with_gaps(lanes, false);
      }
      const auto same = std::ranges::find(lanes_.tracks, lanes, &doc::Lanes::Track::lanes);
      if (same == lanes_.tracks.end()) {
        lanes_.tracks.push_back({{}, std::move(lanes)});
        ranks.push_back({track.rank});
      } else {
        ranks[static_cast<std::size_t>(same - lanes_.tracks.begin())].push_back(track.rank);
      }
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) lanes_.tracks[i].name = name_of_ranks(ranks[i]);
    const bool has_stages = !lanes_.still.empty();
    if (!has_stages) lanes_.still = lanes_.tracks.front().lanes;
    lanes_.caption = has_stages ? fmt::format("the first rank of each {}",
                                              run.experiment.layout ? "stage" : "class of ranks")
                                : track_name(run, all.front().rank);
  }

  doc::Lanes lanes() && { return std::move(lanes_); }

private:
  [[nodiscard]] bool is_first_of_class(Rank rank) const {
    return has_bubbles(run_.experiment) && run_.experiment.classes.size() > 1 &&
           class_of(run_.experiment, rank).ranks.front() == rank;
  }

  [[nodiscard]] std::string name_of_ranks(const std::vector<Rank>& ranks) const {
    if (ranks.size() == 1) return track_name(run_, ranks.front());
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
      std::size_t last = i;
      while (last + 1 < ranks.size() && index(ranks[last + 1]) == index(ranks[last]) + 1) ++last;
      text += fmt::format("{}{}", text.empty() ? "" : ", ", index(ranks[i]));
      if (last > i) text += fmt::format(" to {}", index(ranks[last]));
      i = last + 1;
    }
    return fmt::format("ranks {}, identical to the nanosecond", text);
  }

  std::vector<doc::Lanes::Lane> lanes_of(const Track& track) {
    std::vector<doc::Lanes::Lane> lanes;
    for (int stream = 0; stream < stream_count; ++stream) {
      if (track.streams[stream].empty()) continue;
      doc::Lanes::Lane& lane = lanes.emplace_back(doc::Lanes::Lane{std::string(stream_name(run_, stream))});
      for (const TimelineEvent* event : track.streams[stream]) add_bars(lane, *event);
    }
    return lanes;
  }

  /// The lane of kernels with a bubble wherever no lane has a bar, and, if `has_exposed`, with the bars of
  /// other lanes where it has none itself.
  doc::Lanes::Lane with_gaps(const std::vector<doc::Lanes::Lane>& lanes, bool has_exposed) {
    std::vector<doc::Lanes::Bar> others;
    for (const doc::Lanes::Lane& lane : std::span(lanes).subspan(1))
      others.insert(others.end(), lane.bars.begin(), lane.bars.end());
    std::ranges::stable_sort(others, {}, &doc::Lanes::Bar::start);
    doc::Lanes::Lane filled{lanes.front().name};
    auto next = others.begin();
    std::int64_t at = 0;
    const auto fill_until = [&](std::int64_t end) {
      while (at < end) {
        while (next != others.end() && next->end <= at) ++next;
        const bool is_exposed = next != others.end() && next->start <= at;
        const std::int64_t change = is_exposed ? next->end : next != others.end() ? next->start : end;
        if (!is_exposed) filled.bars.push_back({at, std::min(change, end), kind_number("bubble")});
        if (is_exposed && has_exposed)
          filled.bars.push_back({at, std::min(change, end), next->kind, next->item});
        at = std::min(change, end);
      }
    };
    for (const doc::Lanes::Bar& bar : lanes.front().bars) {
      fill_until(bar.start);
      filled.bars.push_back(bar);
      at = std::max(at, bar.end);
    }
    // the rest is the wait for samples
    fill_until(nanoseconds(run_.input ? step_of(run_).timeline.makespan : run_.pace.time));
    return filled;
  }

  /// A bar, or two for a pass that computes activations again.
  void add_bars(doc::Lanes::Lane& lane, const TimelineEvent& event) {
    const std::int64_t start = nanoseconds(event.start);
    const std::int64_t end = nanoseconds(event.end);
    const std::int64_t item = item_number(event);
    const auto again = static_cast<std::int64_t>(recomputed_share(event) * static_cast<double>(end - start));
    if (again > 0) lane.bars.push_back({start, start + again, kind_number("recomputation"), item});
    lane.bars.push_back({start + again, end, kind_number(event.category), item});
  }

  /// The part of a pass that computes activations again.
  [[nodiscard]] double recomputed_share(const TimelineEvent& event) const {
    if (!is_pass(event)) return 0;
    const std::vector<Op>& ops = run_.experiment.classes[at(event.rank_class)].trace.ops;
    Seconds again;
    Seconds all;
    int op = event.op;
    for (const OpRow& row : ops_of_pass(run_, event)) {
      all += row.duration;
      if (ops.at(at(op++)).role == OpRole::recompute) again += row.duration;
    }
    return all > Seconds{} ? again / all : 0;
  }

  std::size_t kind_number(const std::string& category) {
    const auto [found, is_new] = kinds_.try_emplace(category, kinds_.size());
    if (is_new) lanes_.kinds.push_back({std::string(fill_of_category(category)), category});
    return found->second;
  }

  /// Identified by op, class and micro-batch, or collective and category: a collective and its copies are
  /// different items.
  std::int64_t item_number(const TimelineEvent& event) {
    if (has_no_task(event)) return -1;
    const auto key = event.op < 0
                         ? std::tuple(-1, event.collective, event.category)
                         : std::tuple(event.rank_class, event.op,
                                      is_pass(event) ? std::to_string(event.micro_batch) : std::string());
    const auto [found, is_new] = items_.try_emplace(key, static_cast<std::int64_t>(items_.size()));
    if (!is_new) return found->second;
    doc::Lanes::Item& item = lanes_.items.emplace_back(doc::Lanes::Item{event_title(run_, event)});
    if (event.op < 0) {
      const CollectiveRow& row = step_of(run_).collectives.at(at(event.collective));
      item.details = details(row);
      if (event.is_collective) item.bytes = row.size.si();
      return found->second;
    }
    const std::span<const OpRow> ops =
        is_pass(event) ? ops_of_pass(run_, event) : std::span(&op_of(step_of(run_), event), 1);
    item.details = is_pass(event) ? details(ops) : details(ops.front());
    Seconds alone;
    for (const OpRow& row : ops) {
      item.flops += row.flops.si();
      item.bytes += row.bytes.si();
      alone += row.duration;
    }
    item.alone = nanoseconds(alone);
    return found->second;
  }

  const Run& run_;
  doc::Lanes lanes_{.key = "timeline", .title = "timeline"};
  std::map<std::string, std::size_t> kinds_;
  std::map<std::tuple<int, int, std::string>, std::int64_t> items_;
};

}  // namespace

void add_timeline(doc::Document& page, const Run& run) {
  const std::vector<Track> all = tracks(run);
  const bool has_length =
      std::ranges::any_of(timeline_of(run), [](const TimelineEvent& one) { return one.end > Seconds{}; });
  if (!has_length) return;
  doc::Section& section = page.section("timeline", "timeline");
  const bool has_all = all.size() == static_cast<std::size_t>(run.ranks);
  std::string text = "All ranks, as in trace.json.";
  if (!has_all)
    text = run.experiment.layout
               ? fmt::format("The first rank of each stage, as in trace.json: {} of {} ranks.", all.size(),
                             grouped(run.ranks))
               : fmt::format("{} of {} ranks (the first ones and the first of each class), as in trace.json.",
                             all.size(), grouped(run.ranks));
  if (const auto until = updates_of(run) ? shown_until(*updates_of(run)) : std::nullopt)
    text += fmt::format(" The first {} of the measured {}.", estimate(*until),
                        estimate(updates_of(run)->measured));
  if (run.input && run.input->exposed > Seconds{})
    text += fmt::format(" Not shown: {} in which GPUs wait for samples, before or between steps.",
                        estimate(run.input->exposed));
  section.add(doc::Sentence{text});
  section.add(LanesOfRun(run, all).lanes());
}

}  // namespace trainyard
