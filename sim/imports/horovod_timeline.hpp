#pragma once
// A timeline of Horovod (HOROVOD_TIMELINE): how long collectives of tensors were negotiated, fused and
// carried out. It has nothing that computes, so it is no trace: its figures are for comparisons.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// All spans of one name. Times in us.
struct HorovodActivity {
  int count = 0;
  std::int64_t total = 0, longest = 0;
};

/// Time that a rank's tensors waited for other ranks in negotiations, us.
struct HorovodRank {
  int rank = 0;
  int negotiations = 0;  ///< in which it came
  int last = 0;          ///< of them, those in which it came last
  std::int64_t waiting = 0;
};

/// Collectives of one kind: ALLREDUCE, BROADCAST. A fused one carries several tensors.
struct HorovodCollective {
  int collectives = 0, tensors = 0;
  int largest = 0;              ///< tensors of one
  int sized = 0;                ///< tensors whose size is known
  double bytes = 0;             ///< of them
  int unsized = 0;              ///< tensors without a size
  int negotiations = 0;         ///< of a tensor each, also of collectives that are not recorded
  std::int64_t negotiated = 0;  ///< us, sum over negotiations
};

struct HorovodTimeline {
  std::string file;  ///< as the user named it
  std::uint64_t events = 0;
  bool is_closed = true;  ///< it ends with its bracket; Horovod leaves that out while it runs
  int tensors = 0;        ///< names
  std::int64_t span = 0;  ///< us, from the first to the last event
  std::map<std::string, HorovodActivity> activities;
  std::map<std::string, HorovodCollective> collectives;
  std::vector<HorovodRank> ranks;    ///< by number
  int cycles = 0;                    ///< marks (HOROVOD_TIMELINE_MARK_CYCLES)
  std::optional<double> cycle = {};  ///< us between two marks, median
  int still_open = 0;                ///< spans without an end
  int odd = 0;  ///< dropped: no time or name, an end without its beginning, a span of more than 7 days, or an
                ///< event that is no span and names no rank
};

/// Reads a timeline, plain or compressed by gzip. Throws FileError, or InputError if the file is no such
/// timeline.
HorovodTimeline read_horovod_timeline(const std::filesystem::path& file);

}  // namespace trainyard
