#pragma once
// Results kept by everything they depend on, for processes that compute the same ones again and again: the
// points of a sweep, the runs of a fit. Their number is bounded, so that long processes do not grow.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

namespace trainyard {

template <class Key, class Value, class Hash = std::hash<Key>>
class Memo {
public:
  /// Forgets all values when it would keep more than `most`.
  explicit Memo(std::size_t most) : most_(most) {}

  /// The value of `key`: `make()`, on the first call. Exceptions of `make` are not kept: they occur again.
  /// The reference holds until the next call.
  template <class Make>
  const Value& get(const Key& key, const Make& make) {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    Value value = make();
    if (values_.size() >= most_) values_.clear();
    return values_.emplace(key, std::move(value)).first->second;
  }

private:
  std::size_t most_;
  std::unordered_map<Key, Value, Hash> values_;
};

/// Hash of several values of which each has one.
template <class... Values>
std::size_t hash_of_all(const Values&... values) {
  std::uint64_t hash = 0;
  const auto add = [&](std::size_t one) {
    hash = (hash ^ one) * 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
    hash ^= hash >> 32U;
  };
  (add(std::hash<Values>()(values)), ...);
  return hash;
}

}  // namespace trainyard
