#include "collectives/ring.hpp"

#include "collectives/all_reduce_time.hpp"
#include "collectives/bounds.hpp"
#include "config/document.hpp"
#include "platform/load.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

Cluster dgx2(int nodes, int gpus = 0) {
  return make_cluster(load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/dgx2.yaml")), nodes, gpus);
}

}  // namespace

TEST_CASE("the textbook formula: two ranks exchange their halves twice") {
  const Seconds time = ring_all_reduce_time(2, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6});
  CHECK(time.si() == doctest::Approx(0.1 + 2e-6).epsilon(1e-12));
}

TEST_CASE("ring all-reduce on one rank costs nothing") {
  CHECK(ring_all_reduce_time(1, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6}) == Seconds{});
  CHECK(all_reduce_busbw(1, Bytes{1e9}, Seconds{1}) == Bandwidth{});
}

TEST_CASE("every rank of a ring sends 2(n-1)/n of its buffer") {
  rc::check("bytes sent", [] {
    const int ranks = *rc::gen::inRange(2, 200);
    const int channels = *rc::gen::inRange(1, 12);
    const double size = *rc::gen::inRange(1, 1 << 30);
    Pattern pattern;
    for (int channel = 0; channel < channels; ++channel) {
      for (int rank = 0; rank < ranks; ++rank)
        pattern.add_edge({Rank{rank}, Rank{(rank + 1) % ranks}, -1}, {});
    }
    const Collective collective = ring_all_reduce(Bytes{size}, ranks, channels, 0, Seconds{}, Seconds{});
    const double per_rank = bytes_sent(collective, pattern).si() / ranks;
    RC_ASSERT(std::abs(per_rank - size * 2 * (ranks - 1) / ranks) < 1e-6 * size);
  });
}

TEST_CASE("each edge of a ring passes on what the edge before it delivered") {
  const Cluster cluster = dgx2(2);
  const std::vector<Channel> channels = ring_channels(cluster);
  const Pattern pattern = ring_pattern(cluster, channels);
  REQUIRE(pattern.edges.size() == channels.size() * 32);
  for (const Pattern::Edge& edge : pattern.edges) {
    CHECK(pattern.edges[static_cast<std::size_t>(edge.previous)].to == edge.from);
  }
}

TEST_CASE("links used several times in a round are counted so") {
  Pattern pattern;
  const LinkId route[] = {LinkId{4}, LinkId{2}};
  pattern.add_edge({Rank{0}, Rank{1}, -1}, route);
  pattern.add_edge({Rank{1}, Rank{2}, -1}, std::span(route).first(1));
  const std::vector<LinkUse> uses = link_uses(pattern);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].link == LinkId{2});
  CHECK(uses[0].times == 1);
  CHECK(uses[1].times == 2);
  const std::vector<Bandwidth> capacities(5, Bandwidth{10e9});
  CHECK(lockstep_rate(pattern, uses, capacities) == Bandwidth{5e9});
  pattern.limit = Bandwidth{3e9};
  CHECK(lockstep_rate(pattern, uses, capacities) == Bandwidth{3e9});
}

TEST_CASE("DGX-2, 12 GPUs: within 4 % of the measured bus bandwidth at 128 MiB and 1 GiB") {
  // nccl-tests on a DGX-2, jgwohlbier's fork, README; 12 of 16 GPUs.
  const std::pair<double, double> measured[] = {{134217728, 120.17}, {1073741824, 123.14}};
  const Cluster cluster = dgx2(1, 12);
  for (const auto& [size, busbw] : measured) {
    const Seconds time = all_reduce_time(cluster, Bytes{size});
    CHECK(all_reduce_busbw(12, Bytes{size}, time).si() / 1e9 == doctest::Approx(busbw).epsilon(0.04));
  }
}

TEST_CASE("a chunk crosses the network 2N(n-1)/n times in a ring over N nodes") {
  const Cluster cluster = dgx2(4);
  const RingCosts costs{
      .base = Seconds{}, .nvlink = Seconds{1e-3}, .pcie = Seconds{1e-3}, .network = Seconds{2.0}};
  const double total = ring_step_latency(cluster, ring_channels(cluster), costs).si() * 2 * 63;
  const double wire = cluster.platform.fabric.latency.value.si();
  const double crossings = 2.0 * 4 * 63 / 64;
  CHECK(total == doctest::Approx(crossings * 2.0 + (126 - crossings) * 1e-3).epsilon(1e-4 + wire));
}

TEST_CASE("no all-reduce beats its bound, and more ranks never lower it") {
  for (const int gpus : {2, 3, 8, 12, 16}) {
    const Cluster cluster = dgx2(1, gpus);
    for (const double size : {8.0, 1e6, 1e9}) {
      CHECK(all_reduce_time(cluster, Bytes{size}) > all_reduce_bound(cluster, Bytes{size}));
    }
  }
  CHECK(all_reduce_bound(dgx2(1, 1), Bytes{1e9}) == Seconds{});
  CHECK(all_reduce_bound(dgx2(1, 2), Bytes{1e9}) < all_reduce_bound(dgx2(1, 16), Bytes{1e9}));
  // One rank on each of two nodes: eight 100 Gb/s NICs are slower than a GPU's own links.
  const Platform platform = load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/dgx2.yaml"));
  CHECK(all_reduce_bound(make_cluster(platform, 2, 2, 1), Bytes{1e9}).si() ==
        doctest::Approx(1e9 / 100e9).epsilon(1e-9));
}
