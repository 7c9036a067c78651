#include "collectives/turns.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

namespace {

constexpr double kib = 1024;

/// The longer of two times, and a little more if both are similar: the fourth-power mean.
Seconds longer_of(Seconds one, Seconds other) {
  const Seconds longer = std::max(one, other);
  if (longer <= Seconds{}) return longer;
  const double ratio = std::min(one, other) / longer;
  const double power = ratio * ratio * ratio * ratio;
  return longer * std::sqrt(std::sqrt(1 + power));
}

/// LL128 on RoCE takes half the turn up to 4 KiB of a channel and all of it from 16 KiB on.
double part_of_turn(const RingTurns& turns, Bytes of_channel) {
  if (!turns.is_ll128) return 1;
  const double octaves = std::log2(std::max(of_channel.si(), 1.0) / (4 * kib));
  return 0.5 + 0.5 * std::clamp(octaves / 2, 0.0, 1.0);
}

}  // namespace

Seconds beyond_latency(const RingTurns& turns, Seconds latency, Bytes message) {
  const Seconds transfer = message / turns.rate;
  const Seconds turn = turns.turn * part_of_turn(turns, message / turns.channels) + transfer / turns.channels;
  const Seconds mean = std::max(latency + transfer * turns.part, transfer);
  return longer_of(mean, turn) - transfer - latency;
}

Bytes tree_chunk(const TreeTurns& turns, Bytes size) {
  // LL128's buffer of 120 x 640 words of 8 bytes in each of 8 slots, 15 of 16 of them data; Simple's slots.
  constexpr double slot_ll128 = 120.0 * 640 * 8 * 15 / 16;
  constexpr double slot_simple = 512 * kib;
  if (!turns.is_ll128) return Bytes{slot_simple};
  double chunk = slot_ll128;
  const double steps = 1 + std::floor(std::log2(turns.nodes)) + 0.1 * turns.per_node;
  const auto halve = [&](double chunks_per_step, double least) {
    while (std::floor(size.si() / (turns.all_channels * chunk)) < steps * chunks_per_step / turns.per_node &&
           chunk > least)
      chunk /= 2;
  };
  halve(64, 128 * kib);
  halve(16, 32 * kib);
  return Bytes{chunk};
}

Bandwidth rate_with_turns(const TreeTurns& turns, Bytes size, Bandwidth rate) {
  const Bytes chunk = tree_chunk(turns, size);
  const Seconds bytes = chunk / turns.rate;
  const double ratio = turns.chunk / bytes;
  const Seconds turn = bytes * std::sqrt(1 + ratio * ratio);
  // one chunk of every channel that shares the edge
  const Bytes all = chunk * turns.channels;
  return all / longer_of(turn, all / rate);
}

SearchedChannels channels_between(int rings, double nic, int compute_capability) {
  constexpr int most = 32;
  constexpr int few = 4;
  const bool is_new = compute_capability > 80;
  double each = nic;
  int planned = rings;
  const bool is_divided = each >= 25 && (!is_new || each >= 50 || planned <= few);
  if (is_divided) {
    planned = std::min(2 * planned, std::max(planned, most / 2));
    each *= static_cast<double>(rings) / planned;
  }
  int started = std::min(2 * planned, most);
  if (is_new && each > 45 && started < most / 2) started *= 2;
  return {planned, started};
}

}  // namespace trainyard
