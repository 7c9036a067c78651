#pragma once
// A result's timeline rank by rank and stream by stream, with the names that trace.json and report.html show.

#include "run/run.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// One rank's part of the timeline, each stream in the order of time.
struct Track {
  Rank rank{};
  std::vector<const TimelineEvent*> streams[stream_count];
};

/// By rank. Points into the result.
std::vector<Track> tracks(const Run& run);

/// "rank 3 (node 0, gpu3)".
std::string track_name(const Run& run, Rank rank);

/// "compute"; of a run of many updates "rank".
std::string_view stream_name(const Run& run, int stream);

/// Names tell events apart in a viewer's totals: "conv1", "conv1 wgrad", "fc backward", "all_reduce 31.5 MB
/// (bucket 1)", "fusion copy (bucket 1)".
std::string event_title(const Run& run, const TimelineEvent& event);

/// What a rank does in a run of many updates, which is of no op and no collective.
inline bool is_of_training(const TimelineEvent& event) { return event.op < 0 && event.collective < 0; }

/// The time resolution of trace.json, which Perfetto keeps, and of report.html.
std::int64_t nanoseconds(Seconds time);

}  // namespace trainyard
