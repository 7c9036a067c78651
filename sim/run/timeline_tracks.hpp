#pragma once
// A result's timeline by rank and stream, with the names in trace.json and report.html.

#include "run/run.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// One rank's part of the timeline, each stream in the order of time.
struct Track {
  Rank rank{};
  std::vector<const TimelineEvent*> streams[stream_count];
};

/// The tracks by rank. They point into the result.
std::vector<Track> tracks(const Run& run);

/// "rank 3 (node 0, gpu3)"; "stage 1: rank 8 (node 1, gpu0)" where there are several classes of ranks that
/// share a model.
std::string track_name(const Run& run, Rank rank);

/// "compute"; for a run of many updates "rank".
std::string_view stream_name(const Run& run, int stream);

/// Names that distinguish events in a viewer's totals: "conv1", "conv1 wgrad", "fc backward", "all_reduce
/// 31.5 MB (bucket 1)", "fusion copy (bucket 1)", "forward, chunk 1, micro-batch 3".
std::string event_title(const Run& run, const TimelineEvent& event);

/// True for a rank's activity in a run of many updates, which belongs to no op and no collective.
inline bool has_no_task(const TimelineEvent& event) { return event.op < 0 && event.collective < 0; }

/// The kernels of a pass of a micro-batch: consecutive ops of its class.
std::span<const OpRow> ops_of_pass(const Run& run, const TimelineEvent& pass);

/// True for a pass of a micro-batch, whose kernels are one bar.
inline bool is_pass(const TimelineEvent& event) { return event.segment >= 0; }

/// The time resolution of trace.json, which Perfetto keeps, and of report.html.
std::int64_t nanoseconds(Seconds time);

}  // namespace trainyard
