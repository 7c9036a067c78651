// Links of a node as entries of a platform file.

#include "config/fields.hpp"
#include "interchange/make_platform.hpp"
#include "platform/names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

using Ends = std::pair<int, int>;

}  // namespace

std::string list_text(std::string_view word, const std::vector<int>& numbers) {
  if (numbers.size() == 1) return fmt::format("{}{}", word, numbers.front());
  std::vector<std::string> runs;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - begin > 1) {
      runs.push_back(fmt::format("{}-{}", numbers[begin], numbers[end - 1]));
    } else {
      runs.push_back(fmt::format("{}", numbers[begin]));
    }
    begin = end;
  }
  return fmt::format("{}[{}]", word, fmt::join(runs, ","));
}

namespace {

std::vector<int> sorted_unique(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// The pairs that one entry with `in_order` gives for these lists.
std::vector<Ends> in_order(const std::vector<int>& first, const std::vector<int>& second) {
  const std::size_t count = std::max(first.size(), second.size());
  std::vector<Ends> pairs;
  if (count % first.size() != 0 || count % second.size() != 0) return pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.emplace_back(first[i / (count / first.size())], second[i / (count / second.size())]);
  }
  return pairs;
}

class Grouping {
public:
  Grouping(DeviceKind one, DeviceKind other, const LinkFile& figures, std::vector<Ends> ends)
      : one_(one), other_(other), figures_(figures), ends_(std::move(ends)) {
    std::ranges::sort(ends_);
  }

  std::vector<LinkFile> entries() {
    if (!try_all() && !try_in_order()) {
      if (one_ == other_)
        add_matchings();
      else
        add_by_other();
    }
    return std::move(entries_);
  }

private:
  void add(const std::vector<int>& first, const std::vector<int>& second, Pairing pairing) {
    LinkFile entry = figures_;
    entry.between = {list_text(config::name_of(one_), first), list_text(config::name_of(other_), second)};
    entry.pairing = pairing;
    entries_.push_back(std::move(entry));
  }

  [[nodiscard]] std::vector<int> first_ends() const {
    std::vector<int> all;
    for (const Ends& ends : ends_) all.push_back(ends.first);
    return sorted_unique(all);
  }
  [[nodiscard]] std::vector<int> second_ends() const {
    std::vector<int> all;
    for (const Ends& ends : ends_) all.push_back(ends.second);
    return sorted_unique(all);
  }

  bool try_all() {
    if (one_ != other_) {
      const auto left = first_ends();
      const auto right = second_ends();
      if (left.size() * right.size() != ends_.size()) return false;
      add(left, right, Pairing::all);
      return true;
    }
    std::vector<int> members = first_ends();
    std::ranges::copy(second_ends(), std::back_inserter(members));
    members = sorted_unique(members);
    if (members.size() * (members.size() - 1) / 2 != ends_.size()) return false;
    if (members.size() == 2)
      add({members[0]}, {members[1]}, Pairing::all);
    else
      add(members, members, Pairing::all);
    return true;
  }

  bool try_in_order() {
    const auto left = first_ends();
    const auto right = second_ends();
    std::vector<Ends> pairs = in_order(left, right);
    std::ranges::sort(pairs);
    if (pairs != ends_) return false;
    add(left, right, Pairing::in_order);
    return true;
  }

  /// Several entries of pairs, in which each device stands once.
  void add_matchings() {
    std::vector<Ends> left = ends_;
    while (!left.empty()) {
      std::set<int> used;
      std::vector<int> first, second;
      std::vector<Ends> rest;
      for (const Ends& ends : left) {
        if (used.contains(ends.first) || used.contains(ends.second)) {
          rest.push_back(ends);
          continue;
        }
        used.insert({ends.first, ends.second});
        first.push_back(ends.first);
        second.push_back(ends.second);
      }
      add(first, second, first.size() == 1 ? Pairing::all : Pairing::in_order);
      left = std::move(rest);
    }
  }

  void add_by_other() {
    std::map<int, std::vector<int>> by_other;
    for (const Ends& ends : ends_) by_other[ends.second].push_back(ends.first);
    for (const auto& [other, ones] : by_other) add(ones, {other}, Pairing::all);
  }

  DeviceKind one_, other_;
  const LinkFile& figures_;
  std::vector<Ends> ends_;
  std::vector<LinkFile> entries_;
};

/// Equal for links with the same kinds of ends and the same figures.
std::string figures_key(const NodeLink& link) {
  const auto figure = [](const auto& value) {
    return fmt::format("{:a}/{}/{}", value.value.si(), static_cast<int>(value.provenance), value.source);
  };
  const LinkFile& figures = link.figures;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", static_cast<int>(link.kind_one),
                     static_cast<int>(link.kind_other), static_cast<int>(figures.kind), figures.lanes,
                     figure(figures.bandwidth),
                     figures.effective ? figure(*figures.effective) : std::string(), figure(figures.latency));
}

}  // namespace

std::vector<LinkFile> grouped(const std::vector<NodeLink>& links) {
  struct Group {
    const NodeLink* first;
    std::vector<Ends> ends;
  };
  std::vector<Group> groups;  // in the order of their first links
  std::map<std::string, std::size_t> places;
  for (const NodeLink& link : links) {
    const auto [place, is_new] = places.emplace(figures_key(link), groups.size());
    if (is_new) groups.push_back({&link, {}});
    groups[place->second].ends.emplace_back(link.one, link.other);
  }
  std::vector<LinkFile> entries;
  for (const Group& group : groups) {
    const NodeLink& first = *group.first;
    for (LinkFile& entry : Grouping(first.kind_one, first.kind_other, first.figures, group.ends).entries())
      entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace trainyard
