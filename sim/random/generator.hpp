#pragma once
// Random numbers that depend only on a seed and their purpose: the draw of worker 3 for its 17th step does
// not depend on earlier draws, so that two update rules see the same run.
//
// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

#include <cstdint>
#include <initializer_list>

namespace trainyard::random {

/// Spreads every bit of a number over all bits.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

class Generator {
public:
  /// A separate stream for each list of keys: {purpose, worker, step}.
  constexpr Generator(std::uint64_t seed, std::initializer_list<std::uint64_t> keys)
      : state_(mixed(seed + golden)) {
    for (const std::uint64_t key : keys) *this = of(key);
  }

  /// The stream with this one's keys and one more. Only for a stream without draws so far.
  [[nodiscard]] constexpr Generator of(std::uint64_t key) const {
    Generator longer = *this;
    longer.state_ = mixed(state_ ^ mixed(key + golden)) + golden;
    return longer;
  }

  constexpr std::uint64_t next() { return mixed(state_ += golden); }

  /// Uniform between 0 and 1, both excluded: 53 random bits and a half.
  constexpr double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  std::uint64_t state_;
};

}  // namespace trainyard::random
