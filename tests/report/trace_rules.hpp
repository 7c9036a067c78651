#pragma once
// The rules a trace file must keep for Perfetto to show it as meant, checked on the parsed file.

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Sentences about what is broken: complete events of a track nest (in whole nanoseconds), every track is
/// named, every flow starts inside an event and ends inside one that does not end before, the values of a
/// counter have rising dates. Empty for a good file. No thread has a process's number: Perfetto would take it
/// for that process's main thread.
inline std::vector<std::string> broken_trace_rules(const nlohmann::json& trace) {
  struct Span {
    long long begin, end;
  };
  using LaneOfRank = std::pair<int, int>;
  std::vector<std::string> broken;
  std::map<LaneOfRank, std::vector<Span>> spans;
  std::map<LaneOfRank, int> names;
  std::map<int, long long> counters;
  std::map<long long, std::pair<nlohmann::json, nlohmann::json>> flows;
  const auto ns = [](const nlohmann::json& us) { return std::llround(us.get<double>() * 1e3); };
  const auto track_of = [](const nlohmann::json& event) {
    return LaneOfRank{event.at("pid").get<int>(), event.at("tid").get<int>()};
  };

  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph").get<std::string>();
    if (phase == "M") {
      if (event.at("name") == "thread_name") ++names[track_of(event)];
    } else if (phase == "X") {
      const long long begin = ns(event.at("ts"));
      if (event.at("dur").get<double>() < 0) broken.push_back("an event ends before it begins");
      spans[track_of(event)].push_back({begin, begin + ns(event.at("dur"))});
    } else if (phase == "s") {
      flows[event.at("id").get<long long>()].first = event;
    } else if (phase == "f") {
      if (event.value("bp", "") != "e") broken.push_back("a flow's end does not bind to the enclosing event");
      flows[event.at("id").get<long long>()].second = event;
    } else if (phase == "C") {
      const auto last = counters.find(event.at("pid").get<int>());
      if (last != counters.end() && ns(event.at("ts")) <= last->second)
        broken.push_back("a counter with two values at one time");
      counters[event.at("pid").get<int>()] = ns(event.at("ts"));
      if (event.contains("tid")) broken.push_back("a counter of a thread: viewers show those of processes");
    } else {
      broken.push_back("unknown event phase " + phase);
    }
  }
  for (const auto& [track, list] : spans) {
    if (names[track] != 1) broken.push_back("a track without exactly one name");
    for (const auto& [other, unused] : spans) {
      if (track.second == other.first) broken.push_back("a thread with a process's number");
    }
    std::vector<Span> open;  // a parent comes before its children in the file
    auto sorted = list;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    for (const Span& span : sorted) {
      while (!open.empty() && open.back().end <= span.begin) open.pop_back();
      if (!open.empty() && span.end > open.back().end) broken.push_back("two events of a track overlap");
      open.push_back(span);
    }
  }
  const auto is_inside = [&](const nlohmann::json& event) {
    const long long time = ns(event.at("ts"));
    for (const Span& span : spans[track_of(event)]) {
      if (span.begin <= time && (time < span.end || (time == span.end && span.begin == span.end)))
        return true;
    }
    return false;
  };
  for (const auto& [id, flow] : flows) {
    if (flow.first.is_null() || flow.second.is_null()) {
      broken.push_back("a flow with one end");
    } else if (!is_inside(flow.first) || !is_inside(flow.second)) {
      broken.push_back("a flow that binds to no event");
    } else if (ns(flow.first.at("ts")) > ns(flow.second.at("ts"))) {
      broken.push_back("a flow that runs backwards");
    }
  }
  return broken;
}

}  // namespace trainyard
