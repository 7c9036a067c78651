#include "experiment/class_traces.hpp"

#include "config/error_at.hpp"
#include "platform/device_pattern.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>

namespace trainyard {

namespace {

[[noreturn]] void refuse(std::size_t trace, const char* key, std::string message, std::string hint) {
  throw error_at(fmt::format("traces[{}].{}", trace, key), std::move(message), std::move(hint));
}

constexpr int most_ranks = 1 << 20;  // that make_cluster() allows

/// The ranks that a list names.
std::vector<Rank> listed(const std::string& list, std::size_t trace, int count) {
  std::string text = list;
  std::erase(text, ' ');
  const auto numbers = numbers_in_list(text, most_ranks - 1);
  if (!numbers)
    refuse(trace, "ranks", in_quotes(list) + " is no list of ranks",
           fmt::format("ranks: 0-3,8, numbers below {}", most_ranks));
  std::vector<Rank> ranks;
  for (const int number : *numbers) {
    if (number >= count)
      refuse(trace, "ranks", fmt::format("rank {} does not exist", number),
             fmt::format("the job has ranks 0 to {}", count - 1));
    ranks.push_back(Rank{number});
  }
  std::ranges::sort(ranks);
  const auto twice = std::ranges::adjacent_find(ranks);
  if (twice != ranks.end())
    refuse(trace, "ranks", fmt::format("rank {} is named twice", index(*twice)), "name each rank once");
  return ranks;
}

void require_place(std::size_t trace, const char* axis, std::optional<int> place, int places) {
  if (!place || *place < places) return;
  refuse(trace, axis, fmt::format("place {} on the axis '{}', which has {}", *place, axis, places),
         places == 1 ? fmt::format("leave out '{}', or set parallelism.{}", axis, axis)
                     : fmt::format("{}: 0 to {}", axis, places - 1));
}

std::vector<Rank> placed(const ClassTrace& one, std::size_t trace, const Grid& grid) {
  require_place(trace, "pipeline", one.pipeline, grid.pipeline);
  require_place(trace, "tensor", one.tensor, grid.tensor);
  require_place(trace, "context", one.context, grid.context);
  require_place(trace, "data", one.data, grid.data);
  std::vector<Rank> ranks;
  for (int number = 0; number < rank_count(grid); ++number) {
    const Coordinates place = coordinates(grid, Rank{number});
    const auto is_at = [](std::optional<int> wanted, int actual) {
      return wanted.value_or(actual) == actual;
    };
    if (is_at(one.pipeline, place.pipeline) && is_at(one.tensor, place.tensor) &&
        is_at(one.context, place.context) && is_at(one.data, place.data))
      ranks.push_back(Rank{number});
  }
  return ranks;
}

/// Adds the first rank to the names of classes that have the same name.
void name_apart(std::vector<RankClass>& classes) {
  std::map<std::string, int> count;
  for (const RankClass& one : classes) ++count[one.name];
  for (RankClass& one : classes) {
    if (count[one.name] > 1) one.name += fmt::format("_rank{}", index(one.ranks.front()));
  }
}

}  // namespace

std::vector<std::vector<Rank>> ranks_of_traces(const std::vector<ClassTrace>& traces, const Grid& grid) {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> trace_of(at(rank_count(grid)), none);
  std::vector<std::vector<Rank>> all;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    all.push_back(traces[i].ranks ? listed(*traces[i].ranks, i, rank_count(grid))
                                  : placed(traces[i], i, grid));
    for (const Rank rank : all.back()) {
      std::size_t& trace = trace_of[at(index(rank))];
      if (trace != none)
        refuse(i, "trace",
               fmt::format("rank {} replays {} and {}", index(rank), in_quotes(traces[trace].trace),
                           in_quotes(traces[i].trace)),
               "every rank replays one trace");
      trace = i;
    }
  }
  const auto without = std::ranges::find(trace_of, none);
  if (without != trace_of.end())
    refuse(traces.size() - 1, "trace", fmt::format("rank {} has no trace", without - trace_of.begin()),
           "name the ranks of each trace: ranks: 0-3, or pipeline: 0");
  return all;
}

void place_classes(std::vector<RankClass>& classes, const std::vector<ClassTrace>& traces, const Grid& grid) {
  const std::vector<std::vector<Rank>> ranks = ranks_of_traces(traces, grid);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankClass& one = classes[i];
    one.ranks = ranks[i];
    one.stage = coordinates(grid, one.ranks.front()).pipeline;
  }
  std::ranges::sort(classes, {}, [](const RankClass& one) { return one.ranks.front(); });
  name_apart(classes);
}

}  // namespace trainyard
