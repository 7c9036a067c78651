#include "imports/horovod_timeline.hpp"

#include "imports/byte_stream.hpp"
#include "imports/event_cutter.hpp"
#include "imports/operands.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

using TimelineJson = nlohmann::json;

constexpr std::string_view negotiation = "NEGOTIATE_";
constexpr const char* timeline_hint = "horovodrun --timeline-filename timeline.json writes one";

std::optional<int> rank_in(std::string_view name) {
  int rank = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), rank);
  const bool is_rank = problem == std::errc() && end == name.data() + name.size() && rank >= 0;
  return is_rank ? std::optional(rank) : std::nullopt;
}

/// "float32" has 4 bytes; also the names that PyTorch gives.
std::optional<double> bytes_of_numpy_type(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0) return bytes_of_type(type);
  const auto bits = rank_in(type.substr(digits));
  return bits && *bits % 8 == 0 && *bits <= 128 ? std::optional(*bits / 8.0) : bytes_of_type(type);
}

/// Whether a span is the work of a library for a collective: NCCL_ALLREDUCE or MPI_ALLREDUCE for ALLREDUCE,
/// MPI_ALLGATHERV for ALLGATHER, MPI_ADASUM_ALLREDUCE for ALLREDUCE.
bool carries_out(std::string_view name, std::string_view kind) {
  if (name.starts_with("MEMCPY") || name.starts_with(negotiation)) return false;
  const std::size_t library = name.find('_');
  if (library == std::string_view::npos || library == 0) return false;
  const std::string_view rest = name.substr(library + 1);
  const auto has = [&](std::string_view part) { return rest.find(part) != std::string_view::npos; };
  return has(kind) || (kind == "BROADCAST" && has("BCAST"));
}

class TimelineReader {
public:
  explicit TimelineReader(const std::filesystem::path& file)
      : stream_(file, true), cutter_(stream_, file.string(), 0, timeline_hint) {
    timeline_.file = file.string();
  }

  HorovodTimeline read() {
    while (const auto text = cutter_.next()) {
      ++timeline_.events;
      const auto event = TimelineJson::parse(*text, nullptr, false);
      if (!event.is_object()) {
        ++timeline_.odd;
      } else {
        add(event);
      }
    }
    timeline_.is_closed = !cutter_.is_cut_off();
    if (timeline_.activities.empty())
      throw input_error(timeline_.file, 0, "no timeline of Horovod: nothing is negotiated or carried out",
                        timeline_hint);
    finish();
    return std::move(timeline_);
  }

private:
  struct Span {
    std::string name;
    std::int64_t start = 0;
    std::map<int, std::int64_t> arrivals = {};  // of ranks, in a negotiation
  };
  /// A collective that has begun, with the tensors that it carries.
  struct Running {
    std::string kind, carrier;
    std::set<std::string> lanes;
    std::int64_t start = 0;
  };

  static std::string text_in(const TimelineJson& event, const char* name) {
    const auto found = event.find(name);
    return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
  }

  static std::optional<std::int64_t> time_in(const TimelineJson& event) {
    const auto found = event.find("ts");
    constexpr double latest = 4e15;
    if (found == event.end() || !found->is_number() || std::abs(found->get<double>()) > latest)
      return std::nullopt;
    return std::llround(found->get<double>());
  }

  void add(const TimelineJson& event) {
    const std::string phase = text_in(event, "ph");
    const std::string name = text_in(event, "name");
    const auto lane = event.find("pid");
    if (phase == "M") {
      timeline_.tensors += name == "process_name" ? 1 : 0;
      return;
    }
    const auto time = time_in(event);
    if (!time) {
      ++timeline_.odd;
      return;
    }
    first_ = std::min(first_, *time);
    last_ = std::max(last_, *time);
    if (name == "CYCLE_START") {
      cycles_.push_back(*time);
      return;
    }
    if (lane == event.end() || !lane->is_number()) {
      ++timeline_.odd;
      return;
    }
    const std::string of = lane->dump();
    if (phase == "B") {
      begin(of, name, *time);
    } else if (phase == "E") {
      end(of, *time, event);
    } else if (const auto rank = rank_in(name)) {
      arrive(of, *rank, *time);
    } else {
      ++timeline_.odd;
    }
  }

  void begin(const std::string& lane, const std::string& name, std::int64_t time) {
    constexpr std::size_t deepest = 64;
    std::vector<Span>& open = open_[lane];
    if (name.empty() || open.size() >= deepest) {
      ++timeline_.odd;
      return;
    }
    if (open.size() == 1 && carries_out(name, open.front().name)) carry(lane, open.front().name, name, time);
    open.push_back({.name = name, .start = time});
  }

  /// Tensors whose collectives begin within 1 ms, before one of them ends, are taken as one fused collective.
  void carry(const std::string& lane, const std::string& kind, const std::string& carrier,
             std::int64_t time) {
    constexpr std::int64_t together = 1000;  // us; assumed: the file does not name the fused tensors
    const bool is_same = running_ && running_->kind == kind && running_->carrier == carrier &&
                         time - running_->start <= together && !running_->lanes.contains(lane);
    if (!is_same) {
      finish_running();
      running_ = Running{.kind = kind, .carrier = carrier, .lanes = {}, .start = time};
    }
    running_->lanes.insert(lane);
  }

  void finish_running() {
    if (!running_) return;
    HorovodCollective& collective = timeline_.collectives[running_->kind];
    const int tensors = static_cast<int>(running_->lanes.size());
    ++collective.collectives;
    collective.tensors += tensors;
    collective.largest = std::max(collective.largest, tensors);
    running_.reset();
  }

  void end(const std::string& lane, std::int64_t time, const TimelineJson& event) {
    std::vector<Span>& open = open_[lane];
    if (open.empty() || time < open.back().start) {
      if (!open.empty()) open.pop_back();
      ++timeline_.odd;
      return;
    }
    const Span span = std::move(open.back());
    open.pop_back();
    if (running_ && span.name == running_->carrier && running_->lanes.contains(lane)) finish_running();
    const std::int64_t duration = time - span.start;
    constexpr std::int64_t longest = std::int64_t{7} * 24 * 3600 * 1'000'000;  // us
    if (duration > longest) {
      ++timeline_.odd;
      return;
    }
    HorovodActivity& activity = timeline_.activities[span.name];
    ++activity.count;
    add_to(activity.total, duration);
    activity.longest = std::max(activity.longest, duration);
    if (std::string_view(span.name).starts_with(negotiation)) {
      HorovodCollective& collective = timeline_.collectives[span.name.substr(negotiation.size())];
      ++collective.negotiations;
      add_to(collective.negotiated, duration);
      wait(span, time);
    } else if (open.empty()) {
      measure(span.name, event);
    }
  }

  void add_to(std::int64_t& sum, std::int64_t us) const {
    if (__builtin_add_overflow(sum, us, &sum))
      throw input_error(timeline_.file, 0, "its times add up to more than a clock can measure",
                        timeline_hint);
  }

  void arrive(const std::string& lane, int rank, std::int64_t time) {
    std::vector<Span>& open = open_[lane];
    if (open.empty() || time < open.back().start) {
      ++timeline_.odd;
      return;
    }
    open.back().arrivals.emplace(rank, time);
  }

  /// A tensor of each rank waits from its coming to the end of the negotiation.
  void wait(const Span& span, std::int64_t end) {
    int last = -1;
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const auto& [rank, time] : span.arrivals) {
      HorovodRank& waiting = ranks_[rank];
      waiting.rank = rank;
      ++waiting.negotiations;
      add_to(waiting.waiting, std::max<std::int64_t>(end - time, 0));
      if (time < latest) continue;
      latest = time;
      last = rank;
    }
    if (last >= 0) ++ranks_[last].last;
  }

  /// The size of a tensor, which newer versions write where its collective ends.
  void measure(const std::string& kind, const TimelineJson& event) {
    HorovodCollective& collective = timeline_.collectives[kind];
    const auto arguments = event.find("args");
    std::optional<double> bytes;
    if (arguments != event.end() && arguments->is_object()) {
      const auto shapes = operand_shapes("[" + text_in(*arguments, "shape") + "]");
      const auto size = bytes_of_numpy_type(text_in(*arguments, "dtype"));
      if (size && shapes && shapes->size() == 1 && shapes->front().size() == 1)
        bytes = values_of(shapes->front().front()) * *size;
    }
    if (bytes && *bytes >= 0 && *bytes <= 1e15) {
      ++collective.sized;
      collective.bytes += *bytes;
    } else {
      ++collective.unsized;
    }
  }

  void finish() {
    finish_running();
    for (const auto& [lane, open] : open_) timeline_.still_open += static_cast<int>(open.size());
    for (auto& [number, rank] : ranks_) timeline_.ranks.push_back(rank);
    timeline_.span = last_ - first_;
    timeline_.cycles = static_cast<int>(cycles_.size());
    std::ranges::sort(cycles_);
    std::vector<double> apart;
    for (std::size_t i = 1; i < cycles_.size(); ++i)
      apart.push_back(static_cast<double>(cycles_[i] - cycles_[i - 1]));
    if (apart.empty()) return;
    std::ranges::sort(apart);
    const std::size_t middle = apart.size() / 2;
    timeline_.cycle = apart.size() % 2 == 1 ? apart[middle] : (apart[middle - 1] + apart[middle]) / 2;
  }

  ByteStream stream_;
  EventCutter cutter_;
  std::map<std::string, std::vector<Span>> open_;  // of each tensor, outermost first
  std::optional<Running> running_;
  std::map<int, HorovodRank> ranks_;
  std::vector<std::int64_t> cycles_;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  HorovodTimeline timeline_;
};

}  // namespace

HorovodTimeline read_horovod_timeline(const std::filesystem::path& file) {
  return TimelineReader(file).read();
}

}  // namespace trainyard
