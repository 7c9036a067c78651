#include "strategy/compression.hpp"

#include <doctest/doctest.h>
#include <numeric>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

Bytes sum_of(const std::vector<Bytes>& kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), Bytes());
}

}  // namespace

TEST_CASE("without compression the gradients go as they are, and one pass adds them up") {
  const PeerUpdate update = peer_update(1000, Bytes(4), 8, Compression::none, 1);
  CHECK(update.bytes == Bytes(4000));
  CHECK(update.before.empty());
  CHECK(update.after == std::vector<Bytes>{Bytes(36000)});
}

TEST_CASE("fp16 halves what is sent and reads the gradients once more") {
  const PeerUpdate update = peer_update(1000, Bytes(4), 8, Compression::fp16, 1);
  CHECK(update.bytes == Bytes(2000));
  CHECK(update.before == std::vector<Bytes>{Bytes(6000)});
  CHECK(update.after == std::vector<Bytes>{Bytes(20000)});
}

TEST_CASE("top_k takes a pass for each byte of a value, and 4 bytes more for each value it sends") {
  const PeerUpdate update = peer_update(1000, Bytes(4), 8, Compression::top_k, 0.01);
  CHECK(update.bytes == Bytes(80));
  // error feedback, magnitudes, four passes, collecting 10 indices of 8 bytes, taking the values out
  CHECK(update.before == std::vector<Bytes>{Bytes(12000), Bytes(8000), Bytes(4000), Bytes(4000), Bytes(4000),
                                            Bytes(4000), Bytes(4120), Bytes(80 + 640 + 80)});
  CHECK(update.after == std::vector<Bytes>{Bytes(4000), Bytes(8 * (80 + 640))});
  CHECK(peer_update(1000, Bytes(2), 8, Compression::top_k, 0.01).before.size() == 6);
}

TEST_CASE("top_k sends whole values, at least one, and touches no more than there are") {
  CHECK(peer_update(10, Bytes(4), 2, Compression::top_k, 0.001).bytes == Bytes(8));
  CHECK(peer_update(100, Bytes(4), 2, Compression::top_k, 0.29).bytes == Bytes(29 * 8));
  const PeerUpdate all = peer_update(100, Bytes(4), 2, Compression::top_k, 1);
  CHECK(all.bytes == Bytes(800));
  CHECK(all.after.back() == Bytes(2 * (800 + 800)));
}

TEST_CASE("keeping more is never less to send or to do, of any number of values") {
  CHECK(rc::check([] {
    const double values = *rc::gen::inRange(1, 1'000'000);
    const int ranks = *rc::gen::inRange(2, 64);
    const double less = *rc::gen::inRange(1, 100) / 100.0;
    const double more = *rc::gen::inRange(1, 100) / 100.0;
    const auto of = [&](double keep) {
      return peer_update(values, Bytes(4), ranks, Compression::top_k, keep);
    };
    const PeerUpdate a = of(std::min(less, more));
    const PeerUpdate b = of(std::max(less, more));
    RC_ASSERT(a.bytes <= b.bytes);
    RC_ASSERT(sum_of(a.before) <= sum_of(b.before));
    RC_ASSERT(sum_of(a.after) <= sum_of(b.after));
    RC_ASSERT(a.bytes >= Bytes(8));
    RC_ASSERT(b.bytes <= values * Bytes(8));
  }));
}
