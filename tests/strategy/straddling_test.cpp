// The warning about groups that straddle nodes which could hold them.

#include "strategy/straddling.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Grid grid_of(int ranks, int tensor, int expert) {
  Parallelism parallelism;
  parallelism.tensor = tensor;
  parallelism.expert = expert;
  return make_grid(parallelism, ranks);
}

}  // namespace

TEST_CASE("groups of 64 straddle nodes of 72, and 64 ranks a node keep them whole") {
  const auto warning = straddling_warning(grid_of(256, 1, 64), 72);
  REQUIRE(warning);
  CHECK(warning->key_path == "gpus_per_node");
  CHECK(warning->message.find("3 of 4 expert groups of 64 ranks") != std::string::npos);
  CHECK(warning->hint.find("gpus_per_node=64 --nodes 4") != std::string::npos);
  CHECK(ranks_per_node_of_whole_groups(grid_of(256, 1, 64), 72) == 64);
  CHECK(!ranks_per_node_of_whole_groups(grid_of(256, 1, 64), 64));
}

TEST_CASE("the number of ranks per node keeps the groups of all axes whole") {
  const auto warning = straddling_warning(grid_of(192, 8, 3), 20);
  REQUIRE(warning);
  CHECK(warning->message.find("tensor groups of 8 ranks") != std::string::npos);
  CHECK(warning->hint.find("gpus_per_node=16 ") != std::string::npos);  // three experts' ranks lie in 24
  CHECK(!straddling_warning(grid_of(256, 8, 8), 64));
  CHECK(!straddling_warning(grid_of(256, 1, 64), 64));
  CHECK(!straddling_warning(grid_of(64, 1, 64), 72));
}

TEST_CASE("the job with the number of ranks per node that is proposed has as many ranks") {
  const auto warning = straddling_warning(grid_of(288, 16, 1), 72);
  REQUIRE(warning);
  CHECK(warning->hint.find("gpus_per_node=64 --gpus 288 --nodes 5 ") != std::string::npos);
}

TEST_CASE("groups are kept whole on as few nodes as hold them, of which the last may be partly filled") {
  CHECK(ranks_per_node_of_whole_groups(grid_of(112, 16, 1), 72) == 64);  // 64 and 48, not 7 nodes of 16
  CHECK(ranks_per_node_of_whole_groups(grid_of(144, 16, 1), 72) == 48);  // 3 nodes, as with 64, but all alike
  CHECK(ranks_per_node_of_whole_groups(grid_of(176, 16, 1), 72) == 64);
}

TEST_CASE("groups that are larger than a node, or spread by their order, have no better number") {
  CHECK(!straddling_warning(grid_of(256, 1, 64), 8));
  Parallelism spread;
  spread.tensor = 2;
  spread.order = {Axis::data, Axis::tensor, Axis::context, Axis::pipeline};
  CHECK(!straddling_warning(make_grid(spread, 64), 8));
}
