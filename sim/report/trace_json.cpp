#include "report/trace_json.hpp"

#include "document/json_text.hpp"
#include "report/horovod_rows.hpp"
#include "run/power_over_step.hpp"
#include "run/timeline_tracks.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// Nanoseconds in the format's microseconds, exactly.
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::string number(double si) { return digits12(si); }

std::string op_args(const OpRow& row) {
  return fmt::format(R"({{"kind":"{}","shape":{},"flops":{},"bytes":{},"parameter_bytes":{},"source":"{}"}})",
                     config::name_of(row.kind), json_quoted(row.shape), number(row.flops.si()),
                     number(row.bytes.si()), number(row.parameter_bytes.si()), config::name_of(row.source));
}

std::string pass_args(std::span<const OpRow> ops) {
  Flops flops;
  for (const OpRow& row : ops) flops += row.flops;
  return fmt::format(R"({{"first_layer":{},"last_layer":{},"ops":{},"flops":{}}})",
                     json_quoted(ops.front().layer), json_quoted(ops.back().layer), ops.size(),
                     number(flops.si()));
}

std::string collective_args(const CollectiveRow& row) {
  return fmt::format(
      R"({{"operation":"{}","algorithm":{},"protocol":{},"channels":{},"size_bytes":{},"tensors":{},"ready_after":{},)"
      R"("ready_s":{},"bound_s":{},"algbw_bytes_per_s":{},"busbw_bytes_per_s":{}}})",
      config::name_of(row.operation), json_quoted(row.algorithm), json_quoted(row.protocol), row.channels,
      number(row.size.si()), row.tensors, json_quoted(row.ready_after), number(row.ready.si()),
      number(row.bound.si()), number(row.algbw.si()), number(row.busbw.si()));
}

// Viewers regard a thread with the number of its process as the main thread and sort it first, and regard
// process 0 as no process, so processes count from 1 and threads from 1001.
int process_of(Rank rank) { return index(rank) + 1; }
int thread_of(Stream stream) { return 1001 + static_cast<int>(stream); }
int thread_of_horovod(int lane) { return 1001 + stream_count + lane; }

/// From a whole nanosecond to the start of the next one.
struct CounterStep {
  std::int64_t begin = 0, end = 0;
  Joules energy;
};

/// The energy between whole nanoseconds; of spans that are shorter it belongs to a neighbour.
std::vector<CounterStep> in_whole_nanoseconds(const std::vector<PowerSpan>& spans) {
  std::vector<CounterStep> steps;
  Joules early;
  for (const PowerSpan& span : spans) {
    const std::int64_t begin = steps.empty() ? 0 : steps.back().end;
    const std::int64_t end = nanoseconds(span.end);
    const Joules energy = span.power * (span.end - span.start);
    if (end > begin) {
      steps.push_back({begin, end, early + energy});
      early = Joules{};
    } else {
      (steps.empty() ? early : steps.back().energy) += energy;
    }
  }
  return steps;
}

class TraceWriter {
public:
  explicit TraceWriter(const Run& run) : run_(run) {
    for (const ClassStep& one : step_of(run).classes) {
      std::vector<std::string>& of_class = op_args_.emplace_back();
      for (const OpRow& row : one.ops) of_class.push_back(op_args(row));
    }
    for (const CollectiveRow& row : step_of(run).collectives)
      collective_args_.push_back(collective_args(row));
  }

  std::string write() {
    const std::vector<Track> all = tracks(run_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      write_names(all[i]);
      write_phases(all[i]);
      for (const auto& stream : all[i].streams) {
        for (const TimelineEvent* event : stream) write_event(*event);
      }
      write_horovod(all[i]);
      write_flows(all[i], i);
      write_power(all[i].rank);
    }
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"experiment\":{},\"fidelity\":{}}},\n"
        "\"traceEvents\":[\n{}\n]}}\n",
        json_quoted(run_.experiment.name), json_quoted(config::name_of(run_.experiment.settings.fidelity)),
        fmt::to_string(events_));
  }

private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (events_.size() > 0) events_.append(std::string_view(",\n"));
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
  }

  void write_thread(int pid, int tid, std::string_view name, int place) {
    add(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", pid, tid, name);
    add(R"({{"name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid, tid,
        place);
  }

  void write_names(const Track& track) {
    const int pid = process_of(track.rank);
    add(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", pid,
        json_quoted(track_name(run_, track.rank)));
    add(R"({{"name":"process_sort_index","ph":"M","pid":{},"args":{{"sort_index":{}}}}})", pid, pid);
    for (int stream = 0; stream < stream_count; ++stream) {
      if (track.streams[stream].empty()) continue;
      write_thread(pid, thread_of(static_cast<Stream>(stream)), stream_name(run_, stream), stream);
    }
  }

  void write_complete(std::string_view name, std::string_view category, Rank rank, int thread, Seconds start,
                      Seconds end, std::string_view args) {
    const std::int64_t begin = nanoseconds(start);
    add(R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})", json_quoted(name),
        json_quoted(category), process_of(rank), thread, microseconds(begin),
        microseconds(nanoseconds(end) - begin), args);
  }

  /// The rank's collectives in Horovod's words, on threads of their own.
  void write_horovod(const Track& track) {
    int lanes = 0;
    for (const HorovodRow& row : horovod_rows(run_, track)) {
      for (; lanes <= row.lane; ++lanes)
        write_thread(process_of(track.rank), thread_of_horovod(lanes), "horovod", stream_count + lanes);
      write_complete(row.state, "horovod", track.rank, thread_of_horovod(row.lane), row.start, row.end,
                     collective_args_.at(at(row.collective)));
    }
  }

  /// One event around each run of ops of the same phase. A pass is an event of its own.
  void write_phases(const Track& track) {
    const auto& ops = track.streams[static_cast<int>(Stream::compute)];
    for (std::size_t first = 0; first < ops.size();) {
      std::size_t last = first;
      if (has_no_task(*ops[first])) return;
      if (is_pass(*ops[first])) {
        ++first;
        continue;
      }
      while (last + 1 < ops.size() && ops[last + 1]->category == ops[first]->category &&
             !is_pass(*ops[last + 1]))
        ++last;
      write_complete(ops[first]->category, "phase", track.rank, thread_of(Stream::compute), ops[first]->start,
                     ops[last]->end, fmt::format(R"({{"ops":{}}})", last - first + 1));
      first = last + 1;
    }
  }

  void write_event(const TimelineEvent& event) {
    const std::string name = event_title(run_, event);
    const std::string args = has_no_task(event) ? "{}"
                             : is_pass(event)   ? pass_args(ops_of_pass(run_, event))
                             : event.op >= 0    ? op_args_.at(at(event.rank_class)).at(at(event.op))
                                                : collective_args_.at(at(event.collective));
    write_complete(name, event.category, event.rank, thread_of(event.stream), event.start, event.end, args);
  }

  /// The op of this rank that completed the collective's bucket: the last one of that layer that ended before
  /// it.
  const TimelineEvent* completing_op(const Track& track, const TimelineEvent& communication) const {
    const std::string& layer =
        step_of(run_).collectives.at(static_cast<std::size_t>(communication.collective)).ready_after;
    if (layer.empty()) return nullptr;
    const TimelineEvent* found = nullptr;
    for (const TimelineEvent* op : track.streams[static_cast<int>(Stream::compute)]) {
      if (op->end > communication.end) break;
      if (op->op < 0) continue;
      const OpRow& row = op_of(step_of(run_), *op);
      if (row.phase == Phase::backward && row.layer == layer) found = op;
    }
    return found;
  }

  /// A flow binds to the event that encloses its time: the last nanosecond of the op, the first of the
  /// collective.
  void write_flows(const Track& track, std::size_t track_number) {
    const int pid = process_of(track.rank);
    for (const TimelineEvent* event : track.streams[static_cast<int>(Stream::communication)]) {
      if (!event->is_collective) continue;
      const TimelineEvent* op = completing_op(track, *event);
      if (op == nullptr) continue;
      const std::size_t id =
          track_number * step_of(run_).collectives.size() + static_cast<std::size_t>(event->collective);
      const std::int64_t begin = nanoseconds(op->start);
      const std::int64_t leave = std::max(begin, nanoseconds(op->end) - 1);
      add(R"({{"name":"bucket","cat":"bucket","ph":"s","id":{},"pid":{},"tid":{},"ts":{}}})", id, pid,
          thread_of(Stream::compute), microseconds(leave));
      add(R"({{"name":"bucket","cat":"bucket","ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{}}})", id,
          pid, thread_of(Stream::communication), microseconds(nanoseconds(event->start)));
    }
  }

  /// A counter, whose integral over the step is the rank's energy. It ends where the next step begins.
  void write_power(Rank rank) {
    const auto add_value = [&](std::int64_t date, double watts) {
      add(R"({{"name":"power","ph":"C","pid":{},"ts":{},"args":{{"W":{}}}}})", process_of(rank),
          microseconds(date), number(watts));
    };
    const std::vector<CounterStep> steps = in_whole_nanoseconds(power_over_step(run_, rank));
    if (steps.empty()) return;
    const auto mean = [](const CounterStep& step) {
      return step.energy.si() / (1e-9 * static_cast<double>(step.end - step.begin));
    };
    for (const CounterStep& step : steps) add_value(step.begin, mean(step));
    add_value(steps.back().end, mean(steps.front()));
  }

  const Run& run_;
  std::vector<std::vector<std::string>> op_args_;  // by class of ranks
  std::vector<std::string> collective_args_;
  fmt::memory_buffer events_;
};

}  // namespace

std::string trace_json(const Run& run) { return TraceWriter(run).write(); }

}  // namespace trainyard
