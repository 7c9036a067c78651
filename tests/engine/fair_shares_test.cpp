// Fair shares against progressive filling, and the network that uses them against SimGrid.

#include "engine/fair_shares.hpp"

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
using engine::FairShares;
using trainyard::testing::in_child;
using trainyard::testing::Ways;

namespace {

/// Random links, and ways over a few of them each.
struct Net {
  std::vector<Bandwidth> links;
  Ways ways;
};

/// With `kinds` capacities many links are equal, and so are many levels.
Net random_net(std::mt19937& random, int links, int ways, int kinds) {
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  Net net;
  for (int i = 0; i < links; ++i) net.links.emplace_back(3e9 + 7e9 / 3 * below(kinds));
  for (int i = 0; i < ways; ++i) {
    std::vector<int>& way = net.ways.emplace_back();
    for (int k = 1 + below(5); k > 0; --k) way.push_back(below(links));
  }
  return net;
}

/// The largest relative error of rates while flows of random groups come and go.
double worst_rate(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const Net net = random_net(random, 1 + below(12), 1 + below(20), 1 + below(6));
  FairShares shares(net.links);
  std::vector<double> most;
  for (const std::vector<int>& way : net.ways) {
    std::map<int, double> times;
    for (const int link : way) ++times[link];
    std::vector<FairShares::Use> uses;
    for (const auto& [link, count] : times) uses.push_back({link, count});
    most.push_back(below(3) == 0 ? 1e9 * (1 + below(4)) : std::numeric_limits<double>::infinity());
    shares.add_group(uses, most.back());
  }
  std::vector<int> flows(net.ways.size(), 0);
  double worst = 0;
  for (int step = 0; step < 40; ++step) {
    for (int changes = 1 + below(3); changes > 0; --changes) {
      const int group = below(static_cast<int>(net.ways.size()));
      flows[at(group)] = below(4);
      shares.set_flows(group, flows[at(group)]);
    }
    shares.share();
    std::vector<Bandwidth> links = net.links;  // and one of its own for each flow with a limit
    Ways all;
    std::vector<int> group_of;
    for (std::size_t group = 0; group < flows.size(); ++group) {
      for (int flow = 0; flow < flows[group]; ++flow) {
        all.push_back(net.ways[group]);
        group_of.push_back(static_cast<int>(group));
        if (std::isinf(most[group])) continue;
        all.back().push_back(static_cast<int>(links.size()));
        links.emplace_back(most[group]);
      }
    }
    const std::vector<double> expected = testing::rates(links, all);
    for (std::size_t flow = 0; flow < all.size(); ++flow)
      worst = std::max(worst, std::abs(shares.rate(group_of[flow]) / expected[flow] - 1));
  }
  return worst;
}

constexpr std::size_t most_ways = 16;
constexpr std::size_t messages_each = 6;
using Dates = std::array<double, most_ways * messages_each>;

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
  for (const std::vector<int>& way : net.ways) network.add_route(way);
  engine::Calendar calendar;
  Sender sender(network, calendar, seed, net.ways.size());
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
    for (int server = 0; server < servers; ++server) net.ways.push_back({worker, workers + server});
  }
  return net;
}

}  // namespace

TEST_CASE("fair shares are those of progressive filling, whatever flows came and went before") {
  CHECK(rc::check("of any groups", [] { RC_ASSERT(worst_rate(*rc::gen::arbitrary<unsigned>()) < 1e-9); }));
}

TEST_CASE("flows on random networks end when SimGrid's do") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const int links = 1 + static_cast<int>(random() % 10);
    const int ways = 1 + static_cast<int>(random() % most_ways);
    const Net net = random_net(random, links, ways, 1 + static_cast<int>(random() % 6));
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
