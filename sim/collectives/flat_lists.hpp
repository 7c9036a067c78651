#pragma once
// A list of numbers for each of n items, stored flat: one allocation for the edges of thousands of ranks.

#include "units/ids.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace trainyard {

class FlatLists {
public:
  /// `pairs`: (item, number), in the order of the lists.
  FlatLists(std::size_t items, std::span<const std::pair<int, int>> pairs)
      : begins_(items + 1, 0), numbers_(pairs.size()) {
    for (const auto& [item, number] : pairs) ++begins_[at(item) + 1];
    for (std::size_t i = 0; i < items; ++i) begins_[i + 1] += begins_[i];
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (const auto& [item, number] : pairs) numbers_[next[at(item)]++] = number;
  }

  [[nodiscard]] std::span<const int> of(int item) const {
    return std::span(numbers_).subspan(begins_[at(item)], begins_[at(item) + 1] - begins_[at(item)]);
  }

private:
  std::vector<std::uint32_t> begins_;
  std::vector<int> numbers_;
};

}  // namespace trainyard
