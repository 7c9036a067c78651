#include "imports/joined_ranks.hpp"

#include "imports/intervals.hpp"
#include "imports/rank_clocks.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

std::string described(const RankCollective& one) {
  return one.bytes > 0 ? fmt::format("{} of {:.0f} B", one.what, one.bytes) : one.what;
}

std::string step_in_words(const RankProfile& profile, int number) {
  return profile.has_steps ? fmt::format(" in step {}", number) : std::string();
}

/// Whether all ranks of a group give as many bytes.
bool is_of_equal_parts(const std::optional<Operation>& operation) {
  return operation == Operation::all_reduce || operation == Operation::all_gather ||
         operation == Operation::reduce_scatter || operation == Operation::broadcast;
}

class RankJoiner {
public:
  RankJoiner(std::vector<RankProfile> profiles, const JoinOptions& options)
      : profiles_(std::move(profiles)), options_(options) {}

  JoinedRanks join() {
    number_ranks();
    for (const RankProfile& one : profiles_) check_span(one);
    choose_common_steps();
    for (const int step : steps_) match(step);
    align();
    sum();
    add_notes();
    return std::move(result_);
  }

private:
  void number_ranks() {
    const auto known =
        std::ranges::count_if(profiles_, [](const RankProfile& one) { return one.rank.has_value(); });
    if (known != 0 && known != static_cast<std::ptrdiff_t>(profiles_.size())) {
      const auto without =
          std::ranges::find_if(profiles_, [](const RankProfile& one) { return !one.rank.has_value(); });
      throw input_error(without->file, 0, "the profile does not say its rank, others do",
                        "profile all ranks while torch.distributed is initialised");
    }
    if (known == 0) {
      for (std::size_t i = 0; i < profiles_.size(); ++i) profiles_[i].rank = static_cast<int>(i);
      result_.notes.emplace_back(
          "the profiles do not say their ranks: they are numbered in the order of the files");
    }
    std::ranges::stable_sort(profiles_, {}, [](const RankProfile& one) { return *one.rank; });
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      const RankProfile& one = profiles_[i];
      if (i > 0 && one.rank == profiles_[i - 1].rank)
        throw input_error(
            one.file, 0,
            fmt::format("it is of rank {}, as {} is", *one.rank, shown(profiles_[i - 1].file, 60)),
            "give one profile of each rank");
      if (one.ranks != profiles_.front().ranks)
        throw input_error(one.file, 0,
                          fmt::format("rank {} is one of {} ranks, rank {} one of {}", *one.rank, world(one),
                                      *profiles_.front().rank, world(profiles_.front())),
                          "give the profiles of one job");
      if (one.ranks && *one.rank >= *one.ranks)
        throw input_error(one.file, 0, fmt::format("rank {} is not one of {} ranks", *one.rank, *one.ranks));
      result_.ranks.push_back({.rank = *one.rank, .file = one.file, .computing = one.computing});
    }
    result_.world = profiles_.front().ranks;
    std::set<std::vector<int>> groups;
    for (const RankProfile& one : profiles_) groups.insert(one.groups.begin(), one.groups.end());
    result_.groups.assign(groups.begin(), groups.end());
  }

  /// Bounds that keep the differences of clocks in their type.
  static void check_span(const RankProfile& profile) {
    constexpr std::int64_t longest = 10'000'000'000'000'000;  // ns
    std::optional<Interval> span;
    for (const RankStep& step : profile.steps) {
      for (const RankCollective& one : step.collectives) {
        if (!span) span = Interval{one.start, one.end};
        span = Interval{std::min(span->start, one.start), std::max(span->end, one.end)};
      }
    }
    if (span && span->end - span->start > longest)
      throw input_error(profile.file, 0,
                        fmt::format("the collectives of rank {} are more than 115 days apart", *profile.rank),
                        "its times are wrong");
  }

  static std::string world(const RankProfile& one) {
    return one.ranks ? std::to_string(*one.ranks) : std::string("an unknown number");
  }

  void choose_common_steps() {
    std::map<int, std::size_t> counts;
    for (const RankProfile& profile : profiles_) {
      if (profile.has_steps != profiles_.front().has_steps)
        throw input_error(profile.file, 0,
                          fmt::format("rank {} has {} steps, rank {} has {}", *profile.rank,
                                      profile.has_steps ? "marked" : "no marked", *profiles_.front().rank,
                                      profiles_.front().has_steps ? "marked ones" : "none"),
                          "profile all ranks in the same way");
      for (const RankStep& step : profile.steps) ++counts[step.number];
    }
    for (const auto& [number, count] : counts) {
      if (count == profiles_.size()) steps_.push_back(number);
    }
    if (steps_.empty())
      throw input_error(profiles_.front().file, 0, "no step is in the profiles of all ranks",
                        "profile the same steps on all ranks");
    if (profiles_.front().has_steps) result_.steps = steps_;
    if (steps_.size() < counts.size())
      result_.notes.push_back(plural(static_cast<long long>(counts.size() - steps_.size()), "step") +
                              " left out, not in the profiles of all ranks");
  }

  using Sequence = std::vector<const RankCollective*>;

  /// Puts the collectives of a step together that are one.
  void match(int number) {
    std::map<std::string_view, std::vector<std::pair<std::size_t, Sequence>>> groups;  // by rank
    for (std::size_t r = 0; r < profiles_.size(); ++r) {
      const auto step = std::ranges::find(profiles_[r].steps, number, &RankStep::number);
      std::map<std::string_view, Sequence> of_group;
      for (const RankCollective& one : step->collectives) of_group[one.group].push_back(&one);
      for (auto& [group, sequence] : of_group) groups[group].emplace_back(r, std::move(sequence));
    }
    for (const auto& [group, members] : groups) {
      check_members(group, members, number);
      const Sequence& first = members.front().second;
      for (const auto& [r, sequence] : members) check_same(members.front().first, first, r, sequence, number);
      for (std::size_t i = 0; i < first.size(); ++i) {
        JointCollective& joint = joint_.emplace_back();
        for (const auto& [r, sequence] : members) joint.parts.emplace_back(r, sequence[i]);
      }
    }
  }

  /// Ranks that take no part in a group are members of another one, unless the group is all ranks.
  void check_members(std::string_view group, const std::vector<std::pair<std::size_t, Sequence>>& members,
                     int number) const {
    const int size = members.front().second.front()->group_size;
    const bool is_of_all = group.empty() || (result_.world && size == *result_.world);
    if (!is_of_all || members.size() == profiles_.size()) return;
    for (std::size_t r = 0; r < profiles_.size(); ++r) {
      const bool is_in = std::ranges::any_of(members, [&](const auto& one) { return one.first == r; });
      if (is_in) continue;
      throw input_error(
          profiles_[r].file, 0,
          fmt::format("rank {} has no collective{}{}, rank {} has {}: {}", *profiles_[r].rank,
                      group.empty() ? "" : " of group " + shown(group), step_in_words(profiles_[r], number),
                      *profiles_[members.front().first].rank, members.front().second.size(),
                      described(*members.front().second.front())),
          "give the profiles of one job, of the same steps");
    }
  }

  void check_same(std::size_t a, const Sequence& first, std::size_t b, const Sequence& second,
                  int number) const {
    const auto differ = [](const RankCollective* x, const RankCollective* y) {
      if (x->what != y->what) return true;
      return is_of_equal_parts(x->operation) && x->bytes > 0 && y->bytes > 0 && x->bytes != y->bytes;
    };
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
      if (i < first.size() && i < second.size() && !differ(first[i], second[i])) continue;
      const auto text = [&](const Sequence& sequence) {
        return i < sequence.size() ? described(*sequence[i]) : std::string("there is none");
      };
      const std::string& group = first.front()->group;
      throw input_error(
          profiles_[b].file, 0,
          fmt::format("collective {}{}{} differs: on rank {} {}, on rank {} {}", i + 1,
                      group.empty() ? "" : " of group " + shown(group), step_in_words(profiles_[b], number),
                      *profiles_[a].rank, text(first), *profiles_[b].rank, text(second)),
          "give the profiles of one job, of the same steps");
    }
  }

  void align() {
    std::vector<RankPlace> places;
    for (const RankProfile& profile : profiles_) places.push_back({*profile.rank, profile.host});
    const RankClocks clocks = align_clocks(joint_, places, options_.ranks_per_node);
    for (std::size_t r = 0; r < profiles_.size(); ++r) result_.ranks[r].shift = clocks.shifts[r];
    result_.clocks = clocks.count;
    result_.alignment_error = clocks.error;
    if (!clocks.contradiction.empty()) result_.notes.push_back(clocks.contradiction);
  }

  void sum() {
    struct Sums {
      double parts = 0, bytes = 0, kernels = 0, transfer = 0, waiting = 0;
      bool is_unsized = false;
      std::set<std::size_t> ranks;
    };
    std::map<std::string, Sums> sums;
    for (const JointCollective& joint : joint_) {
      std::int64_t last_start = 0;
      std::int64_t last_end = 0;
      bool is_first = true;
      for (const auto& [r, part] : joint.parts) {
        const std::int64_t shift = result_.ranks[r].shift;
        last_start = is_first ? part->start + shift : std::max(last_start, part->start + shift);
        last_end = is_first ? part->end + shift : std::max(last_end, part->end + shift);
        is_first = false;
      }
      Sums& sum = sums[joint.parts.front().second->what];
      for (const auto& [r, part] : joint.parts) {
        const std::int64_t waiting =
            std::max<std::int64_t>(0, last_start - part->start - result_.ranks[r].shift);
        sum.ranks.insert(r);
        sum.parts += 1;
        sum.bytes += part->bytes;
        sum.is_unsized = sum.is_unsized || part->bytes <= 0;
        sum.kernels += static_cast<double>(part->end - part->start);
        sum.waiting += static_cast<double>(std::min(waiting, part->end - part->start));
        sum.transfer += static_cast<double>(last_end - last_start);
        result_.ranks[r].kernels += part->end - part->start;
        result_.ranks[r].waiting += std::min(waiting, part->end - part->start);
      }
    }
    const auto steps = static_cast<double>(steps_.size());
    for (const auto& [what, sum] : sums) {
      const double of = steps * static_cast<double>(sum.ranks.size());  // rank-steps
      result_.operations.push_back({.what = what,
                                    .count = sum.parts / of,
                                    .bytes = sum.is_unsized ? 0 : sum.bytes / of,
                                    .kernels = std::llround(sum.kernels / of),
                                    .transfer = std::llround(sum.transfer / of),
                                    .waiting = std::llround(sum.waiting / of)});
    }
    for (JoinedRank& one : result_.ranks) {
      one.kernels /= static_cast<std::int64_t>(steps_.size());
      one.waiting /= static_cast<std::int64_t>(steps_.size());
    }
  }

  void add_notes() {
    int messages = 0;
    for (const RankProfile& one : profiles_) messages += one.messages;
    if (messages > 0)
      result_.notes.push_back(plural(messages, "message") + " between two ranks left out of this table");
    if (result_.world && static_cast<std::size_t>(*result_.world) > profiles_.size())
      result_.notes.push_back(fmt::format(
          "{} of {} ranks: where another one came last, transfer is too long and waiting too short",
          profiles_.size(), *result_.world));
  }

  std::vector<RankProfile> profiles_;
  JoinOptions options_;
  std::vector<int> steps_;
  std::vector<JointCollective> joint_;
  JoinedRanks result_;
};

}  // namespace

std::size_t JoinedRanks::slowest() const {
  return static_cast<std::size_t>(std::ranges::max_element(ranks, {}, &JoinedRank::computing) -
                                  ranks.begin());
}

JoinedRanks join_ranks(std::vector<RankProfile> profiles, const JoinOptions& options) {
  return RankJoiner(std::move(profiles), options).join();
}

}  // namespace trainyard
