#pragma once
// Finds the number with the least key, among numbers whose keys change. Equal keys: the least number.

#include <cstddef>
#include <utility>
#include <vector>

namespace trainyard::engine {

class IndexedHeap {
public:
  /// Numbers are from 0 to `numbers` - 1; none has a key.
  explicit IndexedHeap(std::size_t numbers) : places_(numbers, none) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// The number with the least key, and the key. Not if empty.
  [[nodiscard]] int first() const { return heap_.front().second; }
  [[nodiscard]] double least() const { return heap_.front().first; }

  void set(int number, double key) {
    std::size_t place = places_[static_cast<std::size_t>(number)];
    if (place == none) {
      place = heap_.size();
      heap_.emplace_back();
    }
    move(place, {key, number});
  }

  /// Removes a number and its key; without effect on a number that has no key.
  void remove(int number) {
    const std::size_t place = std::exchange(places_[static_cast<std::size_t>(number)], none);
    if (place == none) return;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size()) move(place, last);
  }

private:
  using Entry = std::pair<double, int>;
  static constexpr auto none = static_cast<std::size_t>(-1);

  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[static_cast<std::size_t>(entry.second)] = place;
  }

  /// Puts an entry where it belongs; the entry at `place` may be overwritten.
  void move(std::size_t place, Entry entry) {
    while (place > 0 && entry < heap_[(place - 1) / 2]) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < entry)) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::size_t> places_;  ///< by number: in heap_
};

}  // namespace trainyard::engine
