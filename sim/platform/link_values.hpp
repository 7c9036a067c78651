#pragma once
// A value for each link of a cluster, by LinkId. Links are numbered node by node, and alike nodes have equal
// values, so blocks of values that repeat are stored once: a million nodes take as much memory as one.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace trainyard {

template <class T>
class LinkValues {
public:
  LinkValues() = default;
  /// One value per link.
  LinkValues(std::vector<T> values) : values_(std::move(values)) {  // NOLINT(google-explicit-constructor)
    const auto all = static_cast<std::uint32_t>(values_.size());
    if (all > 0) runs_.push_back({0, all, all, 0});
  }

  [[nodiscard]] std::size_t size() const { return runs_.empty() ? 0 : runs_.back().end; }
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  [[nodiscard]] const T& operator[](std::size_t link) const {
    const auto number = static_cast<std::uint32_t>(link);
    const Run& run =
        number < runs_.front().end ? runs_.front() : *std::ranges::upper_bound(runs_, number, {}, &Run::end);
    return values_[run.first_value + (number - run.begin) % run.block];
  }

  /// Appends a block of values `times` in a row; extends the last block if it is the same.
  void append(std::span<const T> block, std::uint32_t times = 1) {
    if (block.empty() || times == 0) return;
    const auto size = static_cast<std::uint32_t>(block.size());
    if (!runs_.empty()) {
      Run& last = runs_.back();
      if (last.block == size &&
          std::ranges::equal(block, std::span(values_).subspan(last.first_value, size))) {
        last.end += size * times;
        return;
      }
    }
    const auto begin = static_cast<std::uint32_t>(this->size());
    runs_.push_back({begin, begin + size * times, size, static_cast<std::uint32_t>(values_.size())});
    values_.insert(values_.end(), block.begin(), block.end());
  }

  /// Calls `act(first link, values of the block, repetitions)` for all parts in order of the links.
  template <class Act>
  void for_each_part(Act act) const {
    for (const Run& run : runs_)
      act(run.begin, std::span(values_).subspan(run.first_value, run.block),
          (run.end - run.begin) / run.block);
  }

  /// Calls `act(first link, block of these, block of the others, repetitions)` for the parts of both lists,
  /// of equal length.
  template <class U, class Act>
  void for_each_part_with(const LinkValues<U>& second, Act act) const {
    auto mine = runs_.begin();
    auto theirs = second.runs_.begin();
    std::vector<T> one;
    std::vector<U> other;
    for (std::uint32_t begin = 0; mine != runs_.end() && theirs != second.runs_.end();) {
      const std::uint32_t end = std::min(mine->end, theirs->end);
      const std::uint32_t block = common_block(mine->block, theirs->block, end - begin);
      const std::uint32_t whole = (end - begin) / block;
      const auto pass_on = [&](std::uint32_t first, std::uint32_t size, std::uint32_t times) {
        if (size == 0) return;
        copy(*mine, values_, first, size, one);
        copy(*theirs, second.values_, first, size, other);
        act(first, std::span<const T>(one), std::span<const U>(other), times);
      };
      pass_on(begin, block, whole);
      pass_on(begin + whole * block, end - begin - whole * block, 1);
      begin = end;
      if (mine->end == end) ++mine;
      if (theirs->end == end) ++theirs;
    }
  }

  /// All values in a row.
  [[nodiscard]] std::vector<T> listed() const {
    std::vector<T> all;
    all.reserve(size());
    for_each_part([&](std::uint32_t, std::span<const T> block, std::uint32_t times) {
      for (std::uint32_t i = 0; i < times; ++i) all.insert(all.end(), block.begin(), block.end());
    });
    return all;
  }

private:
  template <class U>
  friend class LinkValues;

  /// Links from `begin` to `end`: the `block` values from `first_value` on, again and again, as whole blocks.
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t block = 1;
    std::uint32_t first_value = 0;
  };

  /// A number of links after which both repeat, at most `length`.
  static std::uint32_t common_block(std::uint32_t one, std::uint32_t other, std::uint32_t length) {
    const auto [less, more] = std::minmax(one, other);
    return more % less == 0 ? std::min(more, length) : length;
  }

  template <class U>
  static void copy(const typename LinkValues<U>::Run& run, const std::vector<U>& values, std::uint32_t first,
                   std::uint32_t size, std::vector<U>& to) {
    to.clear();
    for (std::uint32_t link = first; link < first + size; ++link)
      to.push_back(values[run.first_value + (link - run.begin) % run.block]);
  }

  std::vector<Run> runs_;
  std::vector<T> values_;
};

}  // namespace trainyard
