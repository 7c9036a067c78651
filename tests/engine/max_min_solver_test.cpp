// The solver against plain progressive filling, and the network that uses it against SimGrid.

#include "engine/max_min_solver.hpp"

#include "engine/flow_network.hpp"
#include "engine/in_child.hpp"
#include "engine/progressive_filling.hpp"
#include "units/ids.hpp"

#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <rapidcheck.h>

using namespace trainyard;
using engine::MaxMinSolver;
using trainyard::testing::in_child;
using trainyard::testing::Routes;

namespace {

/// Random links, and routes over a few of them each.
struct Net {
  std::vector<Bandwidth> links;
  Routes routes;
};

/// With `kinds` capacities many links are equal, and so are many fair shares.
Net random_net(std::mt19937& random, int links, int routes, int kinds) {
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  Net net;
  for (int i = 0; i < links; ++i) net.links.emplace_back(3e9 + 7e9 / 3 * below(kinds));
  for (int i = 0; i < routes; ++i) {
    std::vector<int>& route = net.routes.emplace_back();
    for (int k = 1 + below(5); k > 0; --k) route.push_back(below(links));
  }
  return net;
}

/// The largest relative error of rates while flows of random classes come and go.
double worst_rate(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const Net net = random_net(random, 1 + below(12), 1 + below(20), 1 + below(6));
  MaxMinSolver solver(net.links);
  std::vector<double> caps;
  for (const std::vector<int>& links : net.routes) {
    std::map<int, double> times;
    for (const int link : links) ++times[link];
    std::vector<MaxMinSolver::Use> uses;
    for (const auto& [link, count] : times) uses.push_back({link, count});
    caps.push_back(below(3) == 0 ? 1e9 * (1 + below(4)) : std::numeric_limits<double>::infinity());
    solver.add_class(uses, caps.back());
  }
  std::vector<int> flows(net.routes.size(), 0);
  double worst = 0;
  for (int step = 0; step < 40; ++step) {
    for (int changes = 1 + below(3); changes > 0; --changes) {
      const int flow_class = below(static_cast<int>(net.routes.size()));
      flows[at(flow_class)] = below(4);
      solver.set_flows(flow_class, flows[at(flow_class)]);
    }
    solver.solve();
    std::vector<Bandwidth> links = net.links;  // and a private link for each flow with a cap
    Routes all;
    std::vector<int> class_of;
    for (std::size_t flow_class = 0; flow_class < flows.size(); ++flow_class) {
      for (int flow = 0; flow < flows[flow_class]; ++flow) {
        all.push_back(net.routes[flow_class]);
        class_of.push_back(static_cast<int>(flow_class));
        if (std::isinf(caps[flow_class])) continue;
        all.back().push_back(static_cast<int>(links.size()));
        links.emplace_back(caps[flow_class]);
      }
    }
    const std::vector<double> expected = testing::rates(links, all);
    for (std::size_t flow = 0; flow < all.size(); ++flow)
      worst = std::max(worst, std::abs(solver.rate(class_of[flow]) / expected[flow] - 1));
  }
  return worst;
}

constexpr std::size_t most_routes = 16;
constexpr std::size_t messages_each = 6;
using Dates = std::array<double, most_routes * messages_each>;

/// Sends messages over each route, one after the other, at once or after a pause. Nothing depends on the
/// order of what happens at one date.
class Sender final : public engine::Listener {
public:
  Sender(engine::FlowNetwork& network, engine::Calendar& calendar, unsigned seed, std::size_t routes)
      : network_(network), calendar_(calendar) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < routes * messages_each; ++i) {
      sizes_.emplace_back(1e9 + 250e6 * static_cast<double>(random() % 64));
      pauses_.push_back(0.02 * static_cast<double>(random() % 4));
    }
    for (std::size_t route = 0; route < routes; ++route) go_on(route * messages_each, 0);
  }

  void on_event(const engine::Event& event) override { send(at(event.target)); }

  void on_delivered(std::uint64_t tag, double date) override {
    dates[tag] = date;
    if ((tag + 1) % messages_each == 0) return;
    if (pauses_[tag + 1] == 0)
      send(tag + 1);
    else
      go_on(tag + 1, date);
  }

  Dates dates{};  ///< of deliveries

private:
  void go_on(std::size_t message, double date) {
    calendar_.enter(date + pauses_[message], engine::EventKind::wake, static_cast<int>(message));
  }
  void send(std::size_t message) {
    network_.start(static_cast<int>(message / messages_each), sizes_[message], message);
  }

  engine::FlowNetwork& network_;
  engine::Calendar& calendar_;
  std::vector<Bytes> sizes_;
  std::vector<double> pauses_;
};

Dates delivery_dates(engine::FlowNetwork& network, const Net& net, unsigned seed) {
  for (const std::vector<int>& links : net.routes) network.add_route(links);
  engine::Calendar calendar;
  Sender sender(network, calendar, seed, net.routes.size());
  network.run(calendar, sender);
  return sender.dates;
}

/// Whether the network's flows end when SimGrid's do.
void check_on_simgrid(const Net& net, unsigned seed) {
  const auto own = delivery_dates(*engine::make_fair_network(net.links), net, seed);
  const auto simgrid =
      in_child<Dates>([&] { return delivery_dates(*engine::make_simgrid_network(net.links), net, seed); });
  for (std::size_t flow = 0; flow < own.size(); ++flow)
    CHECK(own[flow] == doctest::Approx(simgrid[flow]).epsilon(1e-9));
}

/// From each worker to each server over a link of both. Links of workers limit some of their flows, which
/// others share the servers' links with.
Net workers_and_servers(std::mt19937& random, int workers, int servers) {
  Net net;
  for (int i = 0; i < workers + servers; ++i) {
    const double most = i < workers ? 10 : 30;
    net.links.emplace_back(1e9 * (1 + static_cast<double>(random() % 8) / 8 * most));
  }
  for (int worker = 0; worker < workers; ++worker) {
    for (int server = 0; server < servers; ++server) net.routes.push_back({worker, workers + server});
  }
  return net;
}

}  // namespace

TEST_CASE("max-min rates are those of progressive filling, whichever flows came and went before") {
  CHECK(rc::check("of any classes", [] { RC_ASSERT(worst_rate(*rc::gen::arbitrary<unsigned>()) < 1e-9); }));
}

TEST_CASE("flows on random networks end when SimGrid's do") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const int links = 1 + static_cast<int>(random() % 10);
    const int routes = 1 + static_cast<int>(random() % most_routes);
    const Net net = random_net(random, links, routes, 1 + static_cast<int>(random() % 6));
    check_on_simgrid(net, seed);
  }
}

TEST_CASE("flows between workers and servers end when SimGrid's do, whichever links limit them") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    check_on_simgrid(workers_and_servers(random, 8, 2), seed);
    check_on_simgrid(workers_and_servers(random, 5, 3), seed);
  }
}
