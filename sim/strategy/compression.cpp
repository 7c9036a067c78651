#include "strategy/compression.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

namespace {

constexpr Bytes half{2};
constexpr Bytes sent_index{4};
constexpr Bytes made_index{8};  // torch.topk returns 64-bit indices
constexpr Bytes sector{32};
constexpr double bits_per_pass = 8;

PeerUpdate top_k(double values, Bytes value, double ranks, double keep) {
  const Bytes all = values * value;
  const double kept = std::max(1.0, std::round(keep * values));
  const Bytes scattered = std::min(kept * sector, all);
  PeerUpdate update{.bytes = kept * (value + sent_index), .before = {3 * all, 2 * all}, .after = {}};
  const auto passes = static_cast<std::size_t>(std::ceil(8 * value.si() / bits_per_pass));
  update.before.insert(update.before.end(), passes, all);
  update.before.push_back(all + kept * (value + made_index));
  update.before.push_back(kept * made_index + 2 * scattered + update.bytes);
  update.after = {all, ranks * (update.bytes + 2 * scattered)};
  return update;
}

}  // namespace

PeerUpdate peer_update(double values, Bytes value, int ranks, Compression compression, double keep) {
  const Bytes all = values * value;
  const Bytes halved = values * half;
  switch (compression) {
    case Compression::none:
      break;
    case Compression::fp16:
      return {.bytes = halved, .before = {all + halved}, .after = {ranks * halved + all}};
    case Compression::top_k:
      return top_k(values, value, ranks, keep);
  }
  return {.bytes = all, .before = {}, .after = {ranks * all + all}};
}

}  // namespace trainyard
