#include "report/horovod_rows.hpp"

#include <algorithm>
#include <map>

namespace trainyard {
namespace {

/// The events of one collective on a rank.
struct Parts {
  const TimelineEvent* cycle = nullptr;  ///< the wait for its tick
  std::vector<const TimelineEvent*> sent = {};
};

std::map<int, Parts> parts_of(const Run& run, const Track& track) {
  std::map<int, Parts> parts;
  for (const TimelineEvent* event : track.streams[static_cast<int>(Stream::communication)])
    if (step_of(run).collectives.at(at(event->collective)).operation == Operation::all_reduce)
      parts[event->collective].sent.push_back(event);
  for (const TimelineEvent* event : track.streams[static_cast<int>(Stream::host)]) {
    const auto found = parts.find(event->collective);
    if (event->category == "cycle" && found != parts.end()) found->second.cycle = event;
  }
  return parts;
}

std::string_view state_of(const TimelineEvent& event, bool is_sent, bool is_of_hosts) {
  if (event.is_collective) return is_of_hosts ? "MPI_ALLREDUCE" : "NCCL_ALLREDUCE";
  return is_sent ? "MEMCPY_OUT_FUSION_BUFFER" : "MEMCPY_IN_FUSION_BUFFER";
}

void add_rows(int collective, const Parts& parts, Seconds ready, bool is_of_hosts,
              std::vector<HorovodRow>& rows) {
  const Seconds first = parts.sent.front()->start;
  const Seconds end_of_cycle = parts.cycle == nullptr ? ready : parts.cycle->end;
  const Seconds agreed = is_of_hosts ? first : std::min(first, end_of_cycle);
  const auto add = [&](std::string_view state, Seconds start, Seconds end) {
    if (end > start) rows.push_back({.state = state, .start = start, .end = end, .collective = collective});
  };
  add("NEGOTIATE_ALLREDUCE", parts.cycle == nullptr ? ready : parts.cycle->start, agreed);
  add("ALLREDUCE", agreed, parts.sent.back()->end);
  add("QUEUE", agreed, first);
  bool is_sent = false;
  for (const TimelineEvent* event : parts.sent) {
    add(state_of(*event, is_sent, is_of_hosts), event->start, event->end);
    is_sent = is_sent || event->is_collective;
  }
}

/// Gives the rows from `first` on, of one collective, the first lane that is free.
void place(std::vector<HorovodRow>& rows, std::size_t first, std::vector<Seconds>& free) {
  if (first == rows.size()) return;
  auto lane = std::ranges::find_if(free, [&](Seconds end) { return end <= rows[first].start; });
  if (lane == free.end()) lane = free.insert(free.end(), Seconds());
  for (std::size_t i = first; i < rows.size(); ++i) {
    rows[i].lane = static_cast<int>(lane - free.begin());
    *lane = std::max(*lane, rows[i].end);
  }
}

}  // namespace

std::vector<HorovodRow> horovod_rows(const Run& run, const Track& track) {
  std::vector<HorovodRow> rows;
  if (!run.experiment.stack.fusion || updates_of(run) != nullptr) return rows;
  const bool is_of_hosts = trainyard::is_of_hosts(run.experiment.library.library);
  std::vector<Seconds> free;  // by lane
  for (const auto& [collective, parts] : parts_of(run, track)) {
    const std::size_t first = rows.size();
    add_rows(collective, parts, step_of(run).collectives[at(collective)].ready, is_of_hosts, rows);
    place(rows, first, free);
  }
  return rows;
}

}  // namespace trainyard
