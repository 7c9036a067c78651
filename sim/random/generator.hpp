#pragma once
// Random numbers that depend on nothing but a seed and on what they are for: the draw of worker 3 for its
// 17th step is the same whatever else was drawn before, so that two update rules see the same run.
//
// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

#include <cstdint>
#include <initializer_list>

namespace trainyard::random {

/// Spreads every bit of a number over all of them.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

class Generator {
public:
  /// A stream of its own for each list of keys: {purpose, worker, step}.
  constexpr Generator(std::uint64_t seed, std::initializer_list<std::uint64_t> keys)
      : state_(mixed(seed + golden)) {
    for (const std::uint64_t key : keys) *this = of(key);
  }

  /// The stream of this one's keys and one more. Only of a stream that nothing was drawn from.
  [[nodiscard]] constexpr Generator of(std::uint64_t key) const {
    Generator longer = *this;
    longer.state_ = mixed(state_ ^ mixed(key + golden)) + golden;
    return longer;
  }

  constexpr std::uint64_t next() { return mixed(state_ += golden); }

  /// Above 0 and below 1, evenly spread: 53 random bits and a half.
  constexpr double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  std::uint64_t state_;
};

}  // namespace trainyard::random
