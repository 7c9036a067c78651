#include "experiment/sparse_gradients.hpp"

#include "errors_of.hpp"
#include "workload/feature_tables.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

std::vector<Layer> tables(bool is_sparse) {
  return {tables_layer("tables", {.entries = {100}, .features = 4, .is_sparse = is_sparse})};
}

Grid replicas(int count, int dividing) {
  Grid grid;
  grid.data = count;
  grid.layer = dividing;
  return grid;
}

}  // namespace

TEST_CASE("sparse gradients need a single rank, or ranks that divide the tables") {
  CHECK_NOTHROW(require_reducible_gradients(tables(true), replicas(1, 1)));
  CHECK_NOTHROW(require_reducible_gradients(tables(false), replicas(8, 8)));
  const auto errors = errors_of([] { require_reducible_gradients(tables(true), replicas(8, 8)); });
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message.find("8 ranks") != std::string::npos);
  CHECK(errors[0].message.find("'tables'") != std::string::npos);
  CHECK(errors[0].hint.find("match: tables") != std::string::npos);
  std::vector<Layer> divided = tables(true);
  divided[0].summed_over = std::nullopt;
  CHECK_NOTHROW(require_reducible_gradients(divided, replicas(8, 8)));
  divided[0].summed_over = Axis::layer_data;  // two groups of four hold a copy each
  CHECK(errors_of([&] { require_reducible_gradients(divided, replicas(8, 4)); })[0].message.find("2 ranks") !=
        std::string::npos);
}
