#include "engine/bottleneck_links.hpp"

#include "engine/progressive_filling.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <rapidcheck.h>

using namespace trainyard;
using engine::bottleneck_links;
using engine::BottleneckLinks;

namespace {

using trainyard::testing::rates;
using trainyard::testing::Routes;

BottleneckLinks kept(const std::vector<Bandwidth>& links, const Routes& routes) {
  return bottleneck_links(links, std::vector<std::span<const int>>(routes.begin(), routes.end()));
}

}  // namespace

TEST_CASE("the slowest of links in series is kept, and one of equal links in parallel") {
  const std::vector<Bandwidth> links{Bandwidth{10}, Bandwidth{4}, Bandwidth{6}, Bandwidth{6}, Bandwidth{20}};
  // two workers, each with a link and a slower one; both send to two servers, and through the last link twice
  const BottleneckLinks found = kept(links, {{0, 1, 2, 3, 4, 4}, {2, 3, 4, 4}});
  REQUIRE(found.links.size() == 2);
  CHECK(found.routes[0].size() == 2);
  CHECK(found.routes[1].size() == 1);
  CHECK(found.links[static_cast<std::size_t>(found.routes[1][0])] == Bandwidth{6});
}

TEST_CASE("a link that its routes cannot fill is left out, the slowest of a route is not") {
  const std::vector<Bandwidth> links{Bandwidth{4}, Bandwidth{3}, Bandwidth{8}, Bandwidth{5}};
  const BottleneckLinks found = kept(links, {{0, 2}, {1, 2, 3}});
  CHECK(found.links == std::vector<Bandwidth>{Bandwidth{4}, Bandwidth{3}});
  CHECK(kept({links[0], links[1], Bandwidth{6}}, {{0, 2}, {1, 2}}).links.size() == 3);
}

TEST_CASE("a link that others keep from being filled is left out") {
  // a server's memory carries pushes four times and pulls once; its NIC lets 10 of each through
  const std::vector<Bandwidth> links{Bandwidth{10}, Bandwidth{10}, Bandwidth{50}, Bandwidth{49}};
  const auto routes = [](int memory) -> Routes {
    return {
        {0, memory, memory, memory, memory}, {0, memory, memory, memory, memory}, {1, memory}, {1, memory}};
  };
  CHECK(kept(links, routes(2)).links == std::vector<Bandwidth>{Bandwidth{10}, Bandwidth{10}});
  CHECK(kept(links, routes(3)).links.size() == 3);
}

TEST_CASE("rates are those of all links") {
  CHECK(rc::check("of any routes", [] {
    std::vector<Bandwidth> links;
    const int fastest = *rc::gen::element(20, 100);  // links that may be left out are seldom among equals
    for (int i = 0; i < 8; ++i) links.emplace_back(static_cast<double>(*rc::gen::inRange(1, fastest)));
    Routes routes(static_cast<std::size_t>(*rc::gen::inRange(1, 5)));
    for (std::vector<int>& route : routes) {
      const int count = *rc::gen::inRange(1, 10);
      for (int i = 0; i < count; ++i) route.push_back(*rc::gen::inRange(0, 8));
    }
    const BottleneckLinks found = kept(links, routes);
    RC_ASSERT(found.links.size() <= links.size());
    const std::vector<double> all = rates(links, routes);
    const std::vector<double> few = rates(found.links, found.routes);
    for (std::size_t route = 0; route < routes.size(); ++route)
      RC_ASSERT(std::abs(all[route] - few[route]) < 1e-9);
  }));
}
