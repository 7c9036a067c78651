#include "platform/ring_search.hpp"

#include "platform/machines.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <rapidcheck.h>
#include <utility>

using namespace trainyard;

namespace {

LaneGraph first_of_mesh(int gpus) {
  LaneGraph lanes{gpus, cube_mesh(), {}};
  lanes.direct.resize(static_cast<std::size_t>(gpus));
  for (std::vector<int>& row : lanes.direct) row.resize(static_cast<std::size_t>(gpus));
  return lanes;
}

LaneGraph crossbar(int gpus, int lanes_per_gpu) {
  const auto count = static_cast<std::size_t>(gpus);
  return {gpus, std::vector(count, std::vector<int>(count, 0)), {std::vector<int>(count, lanes_per_gpu)}};
}

LaneGraph unlinked(int gpus) {
  const auto count = static_cast<std::size_t>(gpus);
  return {gpus, std::vector(count, std::vector<int>(count, 0)), {}};
}

/// Whether every ring visits each GPU once and no lane between two GPUs is used more often than it exists.
bool fits(const LaneGraph& lanes, const std::vector<GpuOrder>& rings) {
  std::map<std::pair<int, int>, int> used;
  for (const GpuOrder& ring : rings) {
    GpuOrder sorted = ring;
    std::ranges::sort(sorted);
    GpuOrder all(static_cast<std::size_t>(lanes.gpus));
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) return false;
    for (std::size_t i = 0; i < ring.size(); ++i) ++used[{ring[i], ring[(i + 1) % ring.size()]}];
  }
  return std::ranges::all_of(used, [&](const auto& entry) {
    const auto& [hop, count] = entry;
    return count <= lanes.direct[static_cast<std::size_t>(hop.first)][static_cast<std::size_t>(hop.second)];
  });
}

/// The same of paths, which do not close.
bool fits_as_paths(const LaneGraph& lanes, const std::vector<GpuOrder>& paths) {
  std::vector<std::vector<int>> left = lanes.direct;
  for (const GpuOrder& path : paths) {
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
      --left[static_cast<std::size_t>(path[i])][static_cast<std::size_t>(path[i + 1])];
  }
  return std::ranges::all_of(left, [](const std::vector<int>& row) {
    return std::ranges::all_of(row, [](int n) { return n >= 0; });
  });
}

/// The most rings by trying every set of rings, for graphs of a few GPUs.
int most_rings_from(const std::vector<GpuOrder>& rings, std::size_t from,
                    std::vector<std::vector<int>>& lanes) {
  int best = 0;
  for (std::size_t r = from; r < rings.size(); ++r) {
    const GpuOrder& ring = rings[r];
    const auto lane = [&](std::size_t i) -> int& {
      return lanes[static_cast<std::size_t>(ring[i])][static_cast<std::size_t>(ring[(i + 1) % ring.size()])];
    };
    bool free = true;
    for (std::size_t i = 0; i < ring.size(); ++i) free = free && lane(i) > 0;
    if (!free) continue;
    for (std::size_t i = 0; i < ring.size(); ++i) --lane(i);
    best = std::max(best, 1 + most_rings_from(rings, r, lanes));
    for (std::size_t i = 0; i < ring.size(); ++i) ++lane(i);
  }
  return best;
}

int most_rings(const LaneGraph& lanes) {
  GpuOrder order(static_cast<std::size_t>(lanes.gpus));
  std::iota(order.begin(), order.end(), 0);
  std::vector<GpuOrder> rings;
  do {
    rings.push_back(order);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  std::vector<std::vector<int>> left = lanes.direct;
  return most_rings_from(rings, 0, left);
}

}  // namespace

TEST_CASE(
    "2 to 8 GPUs of the cube mesh hold 1, 2, 4, 0, 2, 4 and 6 rings, as their measured bus bandwidths show") {
  constexpr std::array<std::size_t, 7> expected{1, 2, 4, 0, 2, 4, 6};
  for (int gpus = 2; gpus <= 8; ++gpus) {
    CAPTURE(gpus);
    const LaneGraph lanes = first_of_mesh(gpus);
    const RingSearch found = find_rings(lanes);
    CHECK(found.rings.size() == expected[static_cast<std::size_t>(gpus - 2)]);
    CHECK(found.is_exact);
    CHECK(fits(lanes, found.rings));
  }
}

TEST_CASE("five GPUs of the cube mesh have a chain though they have no ring") {
  const std::optional<GpuOrder> chain = find_chain(first_of_mesh(5));
  REQUIRE(chain);
  REQUIRE(chain->size() == 5);
  for (std::size_t i = 0; i + 1 < 5; ++i) {
    CHECK(cube_mesh()[static_cast<std::size_t>((*chain)[i])][static_cast<std::size_t>((*chain)[i + 1])] > 0);
  }
}

TEST_CASE("GPUs on a crossbar have as many rings as lanes, found without trying twice") {
  for (const int gpus : {2, 3, 12, 16}) {
    CAPTURE(gpus);
    const RingSearch found = find_rings(crossbar(gpus, 6));
    CHECK(found.rings.size() == 6);
    CHECK(found.is_exact);
    CHECK(found.steps < 10'000);  // a tenth of a millisecond
  }
}

TEST_CASE("hundreds of rings through hundreds of GPUs need no deep stack") {
  const RingSearch found = find_rings(crossbar(200, 250));
  CHECK(found.rings.size() == 250);
  CHECK(found.is_exact);
}

TEST_CASE("the search for many rings gives up in time") {
  LaneGraph lanes = unlinked(48);
  for (std::size_t a = 0; a < 24; ++a) {
    for (std::size_t b = 24; b < 48; ++b) lanes.direct[a][b] = lanes.direct[b][a] = 6;
  }
  const RingSearch found = find_rings(lanes);  // 144 by the smallest cut
  CHECK(fits(lanes, found.rings));
  CHECK_FALSE(found.rings.empty());
  CHECK(found.steps < 28'000'000);
}

TEST_CASE("the GPU with the fewest lanes bounds the rings on a crossbar") {
  LaneGraph lanes = crossbar(4, 6);
  lanes.ports[0][2] = 5;
  CHECK(find_rings(lanes).rings.size() == 5);
}

TEST_CASE("two crossbars add their lanes and a ring may change between them") {
  LaneGraph lanes = crossbar(4, 2);
  lanes.ports.push_back({1, 1, 1, 1});
  CHECK(find_rings(lanes).rings.size() == 3);
  // GPU 0 and GPU 3 share only the second crossbar, the others only the first: one ring needs both
  lanes.ports = {{1, 1, 1, 0}, {1, 0, 1, 1}};
  const RingSearch found = find_rings(lanes);
  CHECK(found.rings.size() == 1);
  CHECK(found.is_exact);
}

TEST_CASE("16 GPUs on a torus, a hypercube or two bridged meshes take few steps") {
  const auto search = [](const LaneGraph& lanes, std::size_t rings) {
    const RingSearch found = find_rings(lanes);
    CHECK(found.rings.size() == rings);
    CHECK(found.is_exact);
    CHECK(fits(lanes, found.rings));
    CHECK(found.steps < 1'000'000);  // 10 ms
  };
  for (const int lanes : {1, 2}) {
    LaneGraph torus = unlinked(16);
    LaneGraph cube = unlinked(16);
    for (std::size_t gpu = 0; gpu < 16; ++gpu) {
      for (std::size_t bit = 1; bit < 16; bit *= 2) cube.direct[gpu][gpu ^ bit] = lanes;
      const std::size_t right = gpu / 4 * 4 + (gpu + 1) % 4;
      const std::size_t below = (gpu + 4) % 16;
      torus.direct[gpu][right] = torus.direct[right][gpu] = lanes;
      torus.direct[gpu][below] = torus.direct[below][gpu] = lanes;
    }
    search(torus, static_cast<std::size_t>(4 * lanes));
    search(cube, static_cast<std::size_t>(4 * lanes));
  }
  // a ring crosses to the other mesh and back, so two lanes between them are two rings
  LaneGraph meshes = unlinked(16);
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) meshes.direct[a][b] = meshes.direct[8 + a][8 + b] = cube_mesh()[a][b];
  }
  meshes.direct[0][8] = meshes.direct[8][0] = 1;
  meshes.direct[7][15] = meshes.direct[15][7] = 1;
  search(meshes, 2);
}

TEST_CASE("one GPU has no ring, and two GPUs without a link have none either") {
  CHECK(find_rings({1, {{0}}, {}}).rings.empty());
  CHECK(find_rings({2, {{0, 0}, {0, 0}}, {}}).rings.empty());
  CHECK_FALSE(find_chain({2, {{0, 0}, {0, 0}}, {}}));
}

TEST_CASE("connectedness counts direct links and crossbars") {
  CHECK(is_connected(first_of_mesh(5)));
  CHECK(is_connected(crossbar(16, 6)));
  CHECK_FALSE(is_connected({3, {{0, 1, 0}, {1, 0, 0}, {0, 0, 0}}, {}}));
  CHECK(is_connected({3, {{0, 1, 0}, {1, 0, 0}, {0, 0, 0}}, {{0, 1, 1}}}));
}

TEST_CASE("paths keep their ends and share no lane") {
  const std::array<PathEnds, 4> ends{PathEnds{0, 1}, PathEnds{2, 3}, PathEnds{4, 5}, PathEnds{6, 7}};
  const auto paths = find_paths(first_of_mesh(8), ends);
  REQUIRE(paths);
  std::map<std::pair<int, int>, int> used;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    CHECK((*paths)[k].front() == ends[k].first);
    CHECK((*paths)[k].back() == ends[k].last);
    CHECK((*paths)[k].size() == 8);
    for (std::size_t i = 0; i + 1 < 8; ++i) ++used[{(*paths)[k][i], (*paths)[k][i + 1]}];
  }
  for (const auto& [hop, count] : used) {
    CHECK(count <= cube_mesh()[static_cast<std::size_t>(hop.first)][static_cast<std::size_t>(hop.second)]);
  }
}

TEST_CASE("the search finds as many rings as trying every set of rings") {
  CHECK(rc::check([] {
    const int gpus = *rc::gen::inRange(2, 6);
    const auto count = static_cast<std::size_t>(gpus);
    LaneGraph lanes{gpus, std::vector(count, std::vector<int>(count, 0)), {}};
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        lanes.direct[a][b] = lanes.direct[b][a] = *rc::gen::inRange(0, 3);
      }
    }
    const RingSearch found = find_rings(lanes);
    RC_ASSERT(found.is_exact);
    RC_ASSERT(fits(lanes, found.rings));
    RC_ASSERT(static_cast<int>(found.rings.size()) == most_rings(lanes));
  }));
}

TEST_CASE("paths share lanes only where they must, and then as few as can be") {
  const LaneGraph mesh = first_of_mesh(8);
  const std::vector<PathEnds> ends{{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  const auto alone = least_loaded_paths(mesh, ends);
  REQUIRE(alone);
  CHECK(fits_as_paths(mesh, *alone));
  // the same four twice: six lanes leave each GPU, and up to eight paths
  std::vector<PathEnds> twice = ends;
  twice.insert(twice.end(), ends.begin(), ends.end());
  CHECK_FALSE(find_paths(mesh, twice));
  const auto shared = least_loaded_paths(mesh, twice);
  REQUIRE(shared);
  LaneGraph doubled = mesh;
  for (std::vector<int>& row : doubled.direct) {
    for (int& count : row) count *= 2;
  }
  CHECK(fits_as_paths(doubled, *shared));
  // eight GPUs on a crossbar of six lanes each: seven paths leave most of them, found at once
  std::vector<PathEnds> rails;
  for (int gpu = 0; gpu < 8; ++gpu) rails.push_back({gpu, gpu ^ 1});
  CHECK(least_loaded_paths(crossbar(8, 6), rails)->size() == 8);
}
