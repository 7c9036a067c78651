// SimGrid as a ChangingNetwork, and as the reader of its own platforms: the module that flow_network.cpp
// loads. README.md lists the settings that make it exact.

#include "engine/simgrid_module.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <xbt/log.h>
#if SIMGRID_VERSION < 33300
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

namespace trainyard::engine {

namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;

// SimGrid counts whole bytes, and a ring's chunk is rarely a whole number. Counting in 2^-16 bytes
// (bandwidths too) keeps the error below 1e-5 byte and allows sizes up to 2^47 bytes.
constexpr double grains_per_byte = 65536;

// SimGrid ignores a link of capacity 0 (its flows would not be held up at all). A failed link therefore gets
// a capacity so small that no flow ends before this date.
constexpr double failed_capacity = 1e-20;  // grains per second
constexpr double never = 1e15;             // seconds

// Replaces a route's latency, 1 / (flows it stands for): SimGrid takes a latency of exactly 0 for 1.
constexpr double weightless = 1e-30;

/// Routes composed beforehand, by the number of their source host: no route table, no graph search.
class RouteZone final : public simgrid::kernel::routing::NetZoneImpl {
public:
  RouteZone() : NetZoneImpl("network") {}

  void get_local_route(const simgrid::kernel::routing::NetPoint* source,
                       const simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::Route* into,
                       double* latency) override {
    const auto& route = routes[source->id() - 1];
    into->link_list_.insert(into->link_list_.end(), route.begin(), route.end());
    // CM02 shares bandwidth in inverse proportion to latency, so this value sets how many flows one stands
    // for. The latency factor then removes the latency itself: real latencies pass on the calendar.
    if (latency != nullptr) *latency += weights[source->id() - 1];
  }

  std::vector<std::vector<StandardLinkImpl*>> routes;
  std::vector<double> weights;
};

// Names that differ between releases: 3.32 is Debian 12's, 3.35 Ubuntu 24.04's, 4.0 Debian 13's.

#if SIMGRID_VERSION >= 40000
using AnyComm = s4u::Comm;
s4u::Host* add_host(s4u::NetZone& zone, const std::string& name) { return zone.add_host(name, 1.0); }
s4u::Link* add_link(s4u::NetZone& zone, const std::string& name, double capacity) {
  return zone.add_link(name, capacity);
}
#else
using AnyComm = std::conditional_t<SIMGRID_VERSION >= 33300, s4u::Comm, s4u::Activity>;
s4u::Host* add_host(s4u::NetZone& zone, const std::string& name) { return zone.create_host(name, 1.0); }
s4u::Link* add_link(s4u::NetZone& zone, const std::string& name, double capacity) {
  return zone.create_link(name, capacity);
}
#endif

/// The engine deletes the zone. Before 4.0 its first zone becomes the root, since then it has one.
void give_to_engine(s4u::Engine& engine, RouteZone& zone) {
#if SIMGRID_VERSION >= 40000
  zone.set_parent(engine.get_netzone_root()->get_impl());
#else
  (void)engine;
  (void)zone;
#endif
}

template <typename Factor>
void set_latency_factor(s4u::NetZone& zone, const Factor& factor) {
#if SIMGRID_VERSION >= 33300
  zone.set_latency_factor_cb(factor);
#else
  zone.get_network_model()->set_lat_factor_cb(factor);
#endif
}

/// Our calendar as a SimGrid model: SimGrid's clock stops at its next event.
class CalendarModel final : public simgrid::kernel::resource::Model {
public:
  CalendarModel() : Model("calendar") {}

  double next_occurring_event(double now) override {
    if (calendar == nullptr || calendar->empty()) return -1.0;
    return std::max(0.0, calendar->next().date - now);
  }

  void update_actions_state(double now, double) override {
    // The clock reaches a date by adding differences, so it may stop short by a rounding error.
    const double due = now + 1e-12 + now * 1e-15;
    while (calendar != nullptr && !calendar->empty() && calendar->next().date <= due) {
      listener->on_event(calendar->pop());
    }
  }

  Calendar* calendar = nullptr;
  Listener* listener = nullptr;
};

struct Flow {
  s4u::CommPtr comm;
  std::uint64_t tag = 0;
  std::uint64_t number = 0;  ///< in order of start; 0: not running
  Bytes bytes;
};

s4u::Engine& silent_engine() {
  static std::string name = "trainyard";
  static char* arguments[] = {name.data(), nullptr};
  static int count = 1;
  xbt_log_control_set("root.thres:critical");
  // The constructor installs its own Ctrl-C handler; how the program ends is not SimGrid's to decide.
  struct sigaction interrupt {};
  ::sigaction(SIGINT, nullptr, &interrupt);
  static s4u::Engine engine(&count, arguments);
  ::sigaction(SIGINT, &interrupt, nullptr);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:1e30");
  // SimGrid merges dates closer than this into one event; its default (10 us) is longer than our latencies.
  s4u::Engine::set_config("surf/precision:1e-15");
  return engine;
}

class SimgridNetwork final : public ChangingNetwork {
public:
  explicit SimgridNetwork(const std::vector<Bandwidth>& links);

  int add_route(const std::vector<int>& links) override { return add_shared_route(links, 1); }
  int add_shared_route(const std::vector<int>& links, double units) override;
  void start(int route, Bytes bytes, std::uint64_t tag) override;
  void set_capacity(int link, Bandwidth capacity) override;
  void run(Calendar& calendar, Listener& listener) override;
  [[nodiscard]] std::vector<InFlight> in_flight() const override;
  [[nodiscard]] std::uint64_t flows() const override { return started_; }

private:
  void complete(Flow& flow);

  s4u::Engine& engine_ = silent_engine();
  RouteZone* zone_ = nullptr;  ///< owned by the engine
  s4u::Host* sink_ = nullptr;
  std::vector<s4u::Link*> links_;
  std::vector<s4u::Host*> sources_;  ///< one per route
  std::shared_ptr<CalendarModel> calendar_model_ = std::make_shared<CalendarModel>();
  Listener* listener_ = nullptr;
  // A flow must outlive its own completion callback: finished ones are kept until the clock advances.
  std::vector<std::unique_ptr<Flow>> flows_;
  std::vector<Flow*> idle_;
  std::vector<Flow*> finished_;
  std::uint64_t started_ = 0;
};

void SimgridNetwork::complete(Flow& flow) {
  // The few bytes that pass a failed link by then do not count as delivered.
  if (s4u::Engine::get_clock() >= never) return;
  flow.number = 0;
  finished_.push_back(&flow);
  listener_->on_delivered(flow.tag, s4u::Engine::get_clock());
}

SimgridNetwork::SimgridNetwork(const std::vector<Bandwidth>& links) {
  auto zone = std::make_unique<RouteZone>();
  zone_ = zone.release();
  give_to_engine(engine_, *zone_);
  s4u::NetZone& all = *zone_->get_iface();
  sink_ = add_host(all, "sink");
  for (std::size_t i = 0; i < links.size(); ++i) {
    links_.push_back(add_link(all, "link" + std::to_string(i), links[i].si() * grains_per_byte));
  }
  engine_.add_model(calendar_model_);
}

int SimgridNetwork::add_shared_route(const std::vector<int>& links, double units) {
  const auto route = static_cast<int>(sources_.size());
  sources_.push_back(add_host(*zone_->get_iface(), "route" + std::to_string(route)));
  zone_->weights.push_back(1 / units);
  std::vector<StandardLinkImpl*>& impl = zone_->routes.emplace_back();
  for (const int link : links) impl.push_back(links_[static_cast<std::size_t>(link)]->get_impl());
  return route;
}

void SimgridNetwork::start(int route, Bytes bytes, std::uint64_t tag) {
  if (idle_.empty()) {
    flows_.push_back(std::make_unique<Flow>());
    idle_.push_back(flows_.back().get());
  }
  Flow& flow = *idle_.back();
  idle_.pop_back();
  flow.tag = tag;
  flow.number = ++started_;
  flow.bytes = bytes;
  flow.comm = s4u::Comm::sendto_init();
  // A flow of 0 bytes would never start.
  const double grains = std::max(1.0, bytes.si() * grains_per_byte);
  flow.comm->set_payload_size(static_cast<std::uint64_t>(std::llround(grains)));
  flow.comm->set_data(&flow);
  flow.comm->set_source(sources_[static_cast<std::size_t>(route)]);
  flow.comm->set_destination(sink_);  // starts it
}

void SimgridNetwork::set_capacity(int link, Bandwidth capacity) {
  const double grains = std::max(failed_capacity, capacity.si() * grains_per_byte);
  links_[static_cast<std::size_t>(link)]->set_bandwidth(grains);
  // SimGrid limits a flow to the slowest link on its way at the time it started: without this, running flows
  // would not profit from a faster link.
  for (simgrid::kernel::resource::Model* model : engine_.get_all_models()) {
    for (simgrid::kernel::resource::Action& action : *model->get_started_action_set()) {
      if (action.get_variable() != nullptr) action.set_bound(-1);
    }
  }
}

void SimgridNetwork::run(Calendar& calendar, Listener& listener) {
  calendar_model_->calendar = &calendar;
  calendar_model_->listener = &listener;
  listener_ = &listener;
  set_latency_factor(*zone_->get_iface(),
                     [this](double, const s4u::Host* source, const s4u::Host*, const std::vector<s4u::Link*>&,
                            const std::unordered_set<s4u::NetZone*>&) {
                       return zone_->weights[source->get_netpoint()->id() - 1] == 1.0 ? 0.0 : weightless;
                     });
  zone_->get_iface()->seal();
  AnyComm::on_completion_cb([this](const AnyComm& comm) { complete(*comm.get_data<Flow>()); });
  s4u::Engine::on_time_advance_cb([this](double) {
    for (Flow* flow : finished_) {
      flow->comm = nullptr;
      idle_.push_back(flow);
    }
    finished_.clear();
  });
  engine_.run();
}

std::vector<ChangingNetwork::InFlight> SimgridNetwork::in_flight() const {
  std::vector<const Flow*> under_way;
  for (const auto& flow : flows_) {
    if (flow->number > 0) under_way.push_back(flow.get());
  }
  std::sort(under_way.begin(), under_way.end(),
            [](const Flow* a, const Flow* b) { return a->number < b->number; });
  std::vector<InFlight> result;
  for (const Flow* flow : under_way) {
    const Bytes left{flow->comm->get_remaining() / grains_per_byte};
    result.push_back({flow->tag, std::max(Bytes{}, flow->bytes - left)});
  }
  return result;
}

}  // namespace

}  // namespace trainyard::engine

extern "C" trainyard::engine::ChangingNetwork* trainyard_make_simgrid_network(
    const std::vector<trainyard::Bandwidth>& links) {
  return std::make_unique<trainyard::engine::SimgridNetwork>(links).release();
}

extern "C" void trainyard_read_simgrid_platform(const char* file, trainyard::engine::SimgridPlatform& into) {
  namespace s4u = simgrid::s4u;
  using Sharing = s4u::Link::SharingPolicy;
  try {
    const s4u::Engine& engine = trainyard::engine::silent_engine();
    engine.load_platform(file);
    engine.get_netzone_root()->seal();  // some zones compute their routes then
    std::vector<s4u::Host*> hosts = engine.get_all_hosts();
    std::sort(hosts.begin(), hosts.end(), [](const s4u::Host* one, const s4u::Host* other) {
      return ::strverscmp(one->get_cname(), other->get_cname()) < 0;
    });
    for (const s4u::Host* host : hosts)
      into.hosts.push_back({host->get_name(), host->get_speed(), host->get_core_count()});
    std::unordered_map<const s4u::Link*, int> numbers;
    for (const s4u::Link* link : engine.get_all_links()) {
      const Sharing sharing = link->get_sharing_policy();
      numbers.emplace(link, static_cast<int>(into.links.size()));
      into.links.push_back({link->get_name(), link->get_bandwidth(), sharing == Sharing::FATPIPE,
                            sharing == Sharing::FATPIPE || sharing == Sharing::SHARED});
    }
    if (hosts.size() > trainyard::engine::most_simgrid_hosts) return;
    std::vector<s4u::Link*> links;
    for (const s4u::Host* from : hosts) {
      for (const s4u::Host* to : hosts) {
        links.clear();
        auto& route = into.routes.emplace_back();
        if (from != to) from->route_to(to, links, &route.latency);
        for (const s4u::Link* link : links) route.links.push_back(numbers.at(link));
      }
    }
  } catch (const std::exception& error) {
    into.error = error.what();
  }
}
