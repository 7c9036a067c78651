#include "html/timeline_data.hpp"

#include "document/json_text.hpp"
#include "document/page.hpp"
#include "run/timeline_tracks.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard {

namespace {

template <class... Args>
void put(fmt::memory_buffer& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

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

/// Numbers kinds and items in order of first appearance.
class TimelineWriter {
public:
  explicit TimelineWriter(const Run& run) : run_(run) {}

  std::string write() {
    std::vector<std::string> texts;
    std::vector<std::vector<Rank>> ranks;
    for (const Track& track : tracks(run_)) {
      const std::string text = streams_of(track);
      const auto same = std::ranges::find(texts, text);
      if (same == texts.end()) {
        texts.push_back(text);
        ranks.push_back({track.rank});
      } else {
        ranks[static_cast<std::size_t>(same - texts.begin())].push_back(track.rank);
      }
    }
    fmt::memory_buffer all;
    for (std::size_t i = 0; i < texts.size(); ++i)
      put(all, "{}\n[{},[{}]]", i == 0 ? "" : ",", json_quoted(name_of_ranks(ranks[i])), texts[i]);
    return fmt::format("{{\"end\":{},\"kinds\":[{}],\"items\":[{}\n],\"tracks\":[{}\n]}}\n", end_,
                       fmt::to_string(kinds_json_), fmt::to_string(items_json_), fmt::to_string(all));
  }

private:
  std::string name_of_ranks(const std::vector<Rank>& ranks) const {
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

  std::string streams_of(const Track& track) {
    fmt::memory_buffer text;
    for (int stream = 0; stream < stream_count; ++stream) {
      if (track.streams[stream].empty()) continue;
      put(text, "{}[{},[", text.size() == 0 ? "" : ",", json_quoted(stream_name(run_, stream)));
      std::int64_t before = 0;
      bool is_first = true;
      for (const TimelineEvent* event : track.streams[stream]) {
        const std::int64_t start = nanoseconds(event->start);
        const std::int64_t end = nanoseconds(event->end);
        put(text, "{}{},{},{},{}", is_first ? "" : ",", start - before, end - start,
            kind_number(event->category), item_number(*event));
        before = end;
        end_ = std::max(end_, end);
        is_first = false;
      }
      put(text, "]]");
    }
    return fmt::to_string(text);
  }

  std::size_t kind_number(const std::string& category) {
    const auto [found, is_new] = kinds_.try_emplace(category, kinds_.size());
    if (is_new) {
      put(kinds_json_, "{}[{},{}]", found->second == 0 ? "" : ",", json_quoted(kind_of_category(category)),
          json_quoted(category));
    }
    return found->second;
  }

  /// Identified by op, class and micro-batch, or collective and category: a collective and its copies are
  /// different items.
  std::int64_t item_number(const TimelineEvent& event) {
    if (is_of_training(event)) return -1;
    const auto key = event.op < 0
                         ? std::tuple(-1, event.collective, event.category)
                         : std::tuple(event.rank_class, event.op,
                                      is_pass(event) ? std::to_string(event.micro_batch) : std::string());
    const auto [found, is_new] = items_.try_emplace(key, static_cast<std::int64_t>(items_.size()));
    if (!is_new) return found->second;
    const char* const comma = found->second == 0 ? "\n" : ",\n";
    const std::string title = json_quoted(event_title(run_, event));
    if (is_pass(event)) {
      const std::span<const OpRow> ops = ops_of_pass(run_, event);
      OpRow sum;
      for (const OpRow& row : ops) {
        sum.flops += row.flops;
        sum.bytes += row.bytes;
        sum.duration += row.duration;
      }
      put(items_json_, "{}[{},{},{},{},{}]", comma, title, json_quoted(details(ops)),
          digits12(sum.flops.si()), digits12(sum.bytes.si()), nanoseconds(sum.duration));
    } else if (event.op >= 0) {
      const OpRow& row = op_of(step_of(run_), event);
      put(items_json_, "{}[{},{},{},{},{}]", comma, title, json_quoted(details(row)),
          digits12(row.flops.si()), digits12(row.bytes.si()), nanoseconds(row.duration));
    } else {
      const CollectiveRow& row = step_of(run_).collectives.at(at(event.collective));
      const bool is_sent = event.is_collective;
      put(items_json_, "{}[{},{},0,{},0]", comma, title, json_quoted(details(row)),
          is_sent ? digits12(row.size.si()) : "0");
    }
    return found->second;
  }

  const Run& run_;
  std::int64_t end_ = 0;
  std::map<std::string, std::size_t> kinds_;
  std::map<std::tuple<int, int, std::string>, std::int64_t> items_;
  fmt::memory_buffer kinds_json_, items_json_;
};

}  // namespace

std::string_view kind_of_category(std::string_view category) {
  struct KindOfBar {
    std::string_view category, kind;
  };
  constexpr KindOfBar known[] = {{"forward", "forward"},     {"backward", "backward"},
                                 {"optimizer", "optimizer"}, {"communication", "communication"},
                                 {"computing", "compute"},   {"communicating", "communication"},
                                 {"waiting", "waiting"},     {"cycle", "waiting"},
                                 {"loading", "input"},       {"wasted", "wasted-compute"}};
  const auto* const found = std::ranges::find(known, category, &KindOfBar::category);
  return found == std::end(known) ? "framework" : found->kind;
}

std::string timeline_json(const Run& run) {
  return timeline_of(run).empty() ? std::string() : TimelineWriter(run).write();
}

}  // namespace trainyard
