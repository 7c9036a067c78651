#include "run/timeline_tracks.hpp"

#include "run/layout_parts.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::string kernel_title(const OpRow& row) {
  if (row.phase != Phase::backward) return row.layer;
  if (row.kind == OpKind::conv_dgrad) return row.layer + " dgrad";
  if (row.kind == OpKind::conv_wgrad) return row.layer + " wgrad";
  return row.layer + " backward";
}

/// "backward, virtual stage 1, micro-batch 3".
std::string pass_title(const Run& run, const TimelineEvent& pass) {
  const std::vector<PassOps>& passes = run.experiment.classes.at(at(pass.rank_class)).passes;
  const auto found = std::ranges::find(passes, pass.op, &PassOps::first);
  std::string title = pass.category;
  if (found != passes.end()) {
    if (found->kind == PassKind::weights) title = "weight gradients";
    if (run.experiment.layout->parallelism.virtual_stages > 1)
      title += fmt::format(", virtual stage {}", found->chunk);
  }
  return fmt::format("{}, micro-batch {}", title, pass.micro_batch);
}

}  // namespace

std::int64_t nanoseconds(Seconds time) { return std::llround(time.si() * 1e9); }

std::vector<Track> tracks(const Run& run) {
  std::vector<Track> all;
  for (const TimelineEvent& event : timeline_of(run)) {
    auto track = std::find_if(all.begin(), all.end(), [&](const Track& t) { return t.rank == event.rank; });
    if (track == all.end()) track = all.insert(all.end(), Track{.rank = event.rank, .streams = {}});
    track->streams[static_cast<int>(event.stream)].push_back(&event);
  }
  std::sort(all.begin(), all.end(), [](const Track& a, const Track& b) { return a.rank < b.rank; });
  for (Track& track : all) {
    for (auto& stream : track.streams) {
      std::stable_sort(stream.begin(), stream.end(),
                       [](const TimelineEvent* a, const TimelineEvent* b) { return a->start < b->start; });
    }
  }
  return all;
}

std::string track_name(const Run& run, Rank rank) {
  std::string name = fmt::format("rank {}", index(rank));
  if (has_bubbles(run.experiment) && run.experiment.classes.size() > 1)
    name = fmt::format("{}: {}", class_of(run.experiment, rank).name, name);
  const auto row = std::ranges::find(run.rank_rows, rank, &RankRow::rank);
  if (row != run.rank_rows.end()) name += fmt::format(" (node {}, {})", index(row->node), row->gpu);
  return name;
}

std::string_view stream_name(const Run& run, int stream) {
  constexpr std::string_view of_training[usual_streams] = {"rank", "", "cancelled compute"};
  return updates_of(run) != nullptr ? of_training[stream] : config::name_of(static_cast<Stream>(stream));
}

std::string event_title(const Run& run, const TimelineEvent& event) {
  if (has_no_task(event)) return event.category;
  if (is_pass(event)) return pass_title(run, event);
  if (event.op >= 0) return kernel_title(op_of(step_of(run), event));
  const CollectiveRow& row = step_of(run).collectives.at(at(event.collective));
  if (event.category == "copy") return fmt::format("fusion copy ({})", row.name);
  if (event.category == "cycle") return fmt::format("wait for the cycle ({})", row.name);
  if (!event.is_collective) return fmt::format("{} ({})", event.category, row.name);
  return fmt::format("{} {} ({})", config::name_of(row.operation), human(row.size), row.name);
}

std::span<const OpRow> ops_of_pass(const Run& run, const TimelineEvent& pass) {
  const std::vector<OpRow>& ops = step_of(run).classes.at(at(pass.rank_class)).ops;
  return std::span(ops).subspan(at(pass.op), at(pass.ops));
}

}  // namespace trainyard
