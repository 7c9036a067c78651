// A FlowNetwork without SimGrid. Flows of a flow class have equal rates at every moment. The class counts the
// bytes that one flow would have been sent so far, its service: a flow ends once that has grown by its bytes.

#include "engine/flow_network.hpp"
#include "engine/indexed_heap.hpp"
#include "engine/max_min_solver.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

/// Dates that differ by less are one date: sums of times that would be equal without rounding.
double rounding_of(double date) { return 1e-15 + date * 1e-15; }

using Use = MaxMinSolver::Use;

class FairNetwork final : public FlowNetwork {
public:
  explicit FairNetwork(const std::vector<Bandwidth>& links) : links_(links), access_(links.size()) {}

  int add_route(const std::vector<int>& links) override;
  void start(int route, Bytes bytes, std::uint64_t tag) override;
  void run(Calendar& calendar, Listener& listener) override;
  [[nodiscard]] std::uint64_t flows() const override { return started_; }

private:
  static constexpr int none = -1;
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// A route and its flow, if it has one.
  struct Route {
    std::vector<Use> access = {};     ///< access links that other routes use too
    std::vector<int> crossings = {};  ///< by access link: numbers of the flow's crossings
    int joint_class = 0;              ///< class of the flow while its bottleneck is no access link
    int own_class = 0;                ///< class of the flow otherwise
    int flow_class = none;            ///< class of the flow now
    std::uint64_t number = 0;         ///< of the flow, in order of start
    std::uint64_t tag = 0;
    std::uint64_t entry = 0;  ///< number of the flow's entry into the class
    double end = 0;           ///< service of the class when the flow has delivered its last byte
  };
  /// A link of a worker: a small part of all routes cross it. It is no bottleneck as long as all flows over
  /// it are slower than an equal share of its capacity.
  struct AccessLink {
    std::vector<int> routes = {};  ///< with a flow
    double times = 0;              ///< how often these flows cross it
    bool may_limit = false;
  };
  struct Flow {
    double end = 0;            ///< service of the class when the flow has delivered its last byte
    std::uint64_t number = 0;  ///< in order of start
    std::uint64_t entry = 0;
    int route = 0;
    bool operator>(const Flow& other) const {
      return end > other.end || (end == other.end && number > other.number);
    }
  };
  struct FlowClass {
    double service = 0;  ///< bytes that a flow of the class would have been sent by `since`
    double since = 0;
    double rate = 0;
    double cap = 0;
    double least_share = never;    ///< no access link with several flows has a lower equal share
    int count = 0;                 ///< flows
    int gone = 0;                  ///< entries of `flows` that are in another class now
    std::vector<Flow> flows = {};  ///< heap
    int solved = 0;                ///< number of flows that the rates were computed for
    bool is_own = false;           ///< for flows whose bottleneck is an access link
    bool is_stale = false;         ///< the first flow may end at another date
  };
  struct Ended {
    std::uint64_t number = 0;
    int route = 0;
  };

  void make_classes();
  int class_of(const std::vector<Use>& uses, double cap);
  void serve(FlowClass& flow_class) const;
  void mark_stale(int flow_class);
  [[nodiscard]] bool may_have_access_bottleneck(const Route& route) const;
  [[nodiscard]] bool has_access_bottleneck(const Route& route) const;
  [[nodiscard]] int first_class(const Route& route) const;
  [[nodiscard]] double share_of(int link) const;
  [[nodiscard]] double expected_rate(const Route& route) const;
  void watch(int link);
  void enter_access_links(int route);
  void leave_access_links(int route);
  void enter(int route, int flow_class, double bytes);
  void assign_crossings(const Route& route);
  void move(int route, int flow_class);
  bool separate_exceeding();
  void rejoin_joint_classes();
  void note_to_rejoin(const FlowClass& flow_class);
  void leave(Route& route);
  void reassign_flows(int link);
  [[nodiscard]] bool is_gone(const Flow& flow) const;
  static void pop(FlowClass& flow_class);
  void drop_gone(FlowClass& flow_class);
  bool split(int flow_class);
  void compute_rates();
  void set_end(int flow_class);
  void take_ended(int flow_class);
  void deliver(Listener& listener);

  const std::vector<Bandwidth> links_;
  std::vector<std::vector<int>> route_links_;  ///< by route, until run()
  std::vector<Route> routes_;
  std::vector<AccessLink> access_;  ///< by link
  std::map<std::pair<std::vector<Use>, double>, int> number_of_class_;
  std::vector<FlowClass> classes_;
  std::unique_ptr<MaxMinSolver> solver_;
  std::unique_ptr<IndexedHeap> ends_;  ///< classes by the date at which their first flow ends
  std::vector<int> stale_;
  std::vector<int> route_of_crossing_;
  std::vector<int> to_rejoin_;  ///< routes with flows in their own class whose bottleneck is no access link
  std::vector<Ended> ended_;
  std::uint64_t started_ = 0;
  std::uint64_t entered_ = 0;
  double now_ = 0;
};

int FairNetwork::add_route(const std::vector<int>& links) {
  route_links_.push_back(links);
  return static_cast<int>(route_links_.size()) - 1;
}

/// Routes over the same links form a flow class. A link that only a small part of all routes cross is an
/// access link, a worker's; servers' links are crossed by many. Flows of all workers to a server form a joint
/// class while no access link is their bottleneck.
void FairNetwork::make_classes() {
  std::vector<std::vector<Use>> uses;
  std::vector<int> users(links_.size(), 0);
  for (const std::vector<int>& links : route_links_) {
    std::map<int, double> times;
    for (const int link : links) ++times[link];
    std::vector<Use>& of_route = uses.emplace_back();
    for (const auto& [link, count] : times) {
      of_route.push_back({link, count});
      ++users[at(link)];
    }
  }
  solver_ = std::make_unique<MaxMinSolver>(links_);
  for (const std::vector<Use>& all : uses) {
    Route& route = routes_.emplace_back();
    double own_cap = never;
    double joint_cap = never;
    std::vector<Use> shared;
    std::vector<Use> far;
    for (const Use& use : all) {
      const double cap = links_[at(use.link)].si() / use.times;
      const auto routes_over_link = static_cast<std::size_t>(users[at(use.link)]);
      const bool is_own = routes_over_link == 1;
      const bool is_access = is_own || routes_over_link * routes_over_link <= route_links_.size();
      if (is_own) own_cap = std::min(own_cap, cap);
      if (is_access) joint_cap = std::min(joint_cap, cap);
      if (!is_own) shared.push_back(use);
      if (!is_access) far.push_back(use);
      if (is_access && !is_own) route.access.push_back(use);
    }
    for (const Use& use : route.access) {
      route.crossings.push_back(solver_->add_crossing(use));
      route_of_crossing_.push_back(static_cast<int>(routes_.size()) - 1);
    }
    route.joint_class = class_of(far, joint_cap);
    route.own_class = route.access.empty() ? route.joint_class : class_of(shared, own_cap);
    if (!route.access.empty()) classes_[at(route.own_class)].is_own = true;
  }
  route_links_.clear();
  number_of_class_.clear();
  ends_ = std::make_unique<IndexedHeap>(classes_.size());
}

int FairNetwork::class_of(const std::vector<Use>& uses, double cap) {
  const auto [found, is_new] = number_of_class_.try_emplace({uses, cap}, static_cast<int>(classes_.size()));
  if (is_new) {
    solver_->add_class(uses, cap);
    classes_.emplace_back().cap = cap;
  }
  return found->second;
}

void FairNetwork::serve(FlowClass& flow_class) const {
  flow_class.service += flow_class.rate * (now_ - flow_class.since);
  flow_class.since = now_;
}

void FairNetwork::mark_stale(int number) {
  if (!std::exchange(classes_[at(number)].is_stale, true)) stale_.push_back(number);
}

bool FairNetwork::may_have_access_bottleneck(const Route& route) const {
  return std::ranges::any_of(route.access, [&](const Use& use) { return access_[at(use.link)].may_limit; });
}

/// Whether an access link is the bottleneck of the flow, which is in its own class.
bool FairNetwork::has_access_bottleneck(const Route& route) const {
  const int bottleneck = solver_->bottleneck(route.own_class);
  return std::ranges::any_of(route.access, [&](const Use& use) { return use.link == bottleneck; });
}

/// The class of a new flow: its own if an access link seems to be its bottleneck.
int FairNetwork::first_class(const Route& route) const {
  for (std::size_t i = 0; i < route.access.size(); ++i) {
    if (access_[at(route.access[i].link)].may_limit &&
        solver_->would_exceed_share(route.crossings[i], expected_rate(route)))
      return route.own_class;
  }
  return route.joint_class;
}

double FairNetwork::share_of(int link) const { return links_[at(link)].si() / access_[at(link)].times; }

/// An estimate of the flow's rate in the joint class: too high rather than too low.
double FairNetwork::expected_rate(const Route& route) const {
  if (classes_[at(route.joint_class)].solved > 0) return solver_->rate(route.joint_class);
  if (route.flow_class == route.own_class && classes_[at(route.own_class)].solved > 0)
    return solver_->rate(route.own_class);
  return classes_[at(route.joint_class)].cap;
}

/// Finds out whether the link may be a bottleneck, and moves flows over it if this has changed. A margin
/// keeps flows from changing classes often.
void FairNetwork::watch(int number) {
  AccessLink& link = access_[at(number)];
  const bool could_limit = link.may_limit;
  const double share = share_of(number) * (could_limit ? 0.9 : 1);
  link.may_limit = link.routes.size() > 1 && std::ranges::any_of(link.routes, [&](int route) {
                     return expected_rate(routes_[at(route)]) > share;
                   });
  if (link.may_limit != could_limit) reassign_flows(number);
  if (link.routes.size() < 2 || link.may_limit) return;
  for (const int route : link.routes) {
    const int entered = routes_[at(route)].flow_class;
    if (entered == none) continue;  // the flow is about to enter one
    FlowClass& flow_class = classes_[at(entered)];
    flow_class.least_share = std::min(flow_class.least_share, share_of(number));
  }
}

void FairNetwork::enter_access_links(int number) {
  for (const Use& use : routes_[at(number)].access) {
    access_[at(use.link)].routes.push_back(number);
    access_[at(use.link)].times += use.times;
    watch(use.link);
  }
}

void FairNetwork::leave_access_links(int number) {
  for (const Use& use : routes_[at(number)].access) {
    std::erase(access_[at(use.link)].routes, number);
    access_[at(use.link)].times -= use.times;
    watch(use.link);
  }
}

/// A flow in a joint class counts towards the load of access links that may be its bottleneck.
void FairNetwork::assign_crossings(const Route& route) {
  for (std::size_t i = 0; i < route.access.size(); ++i) {
    const bool counts = route.flow_class == route.joint_class && access_[at(route.access[i].link)].may_limit;
    solver_->assign(route.crossings[i], counts ? route.flow_class : MaxMinSolver::none);
  }
}

/// Puts the route's flow, with this many bytes left, into a class.
void FairNetwork::enter(int number, int to, double bytes) {
  Route& route = routes_[at(number)];
  route.flow_class = to;
  assign_crossings(route);
  FlowClass& flow_class = classes_[at(route.flow_class)];
  serve(flow_class);
  ++flow_class.count;
  route.entry = ++entered_;
  route.end = flow_class.service + bytes;
  flow_class.flows.push_back({route.end, route.number, route.entry, number});
  std::push_heap(flow_class.flows.begin(), flow_class.flows.end(), std::greater<>());
  for (const Use& use : route.access) {
    if (access_[at(use.link)].routes.size() > 1 && !access_[at(use.link)].may_limit)
      flow_class.least_share = std::min(flow_class.least_share, share_of(use.link));
  }
  mark_stale(route.flow_class);
}

void FairNetwork::leave(Route& route) {
  --classes_[at(route.flow_class)].count;
  mark_stale(route.flow_class);
  route.flow_class = none;
  assign_crossings(route);
}

void FairNetwork::move(int number, int to) {
  Route& route = routes_[at(number)];
  FlowClass& flow_class = classes_[at(route.flow_class)];
  serve(flow_class);
  ++flow_class.gone;
  const double left = std::max(0.0, route.end - flow_class.service);
  leave(route);
  enter(number, to, left);
}

/// Counts flows over a link towards its load. Moves those that no access link may limit now to joint classes.
void FairNetwork::reassign_flows(int link) {
  for (const int number : access_[at(link)].routes) {
    const Route& route = routes_[at(number)];
    if (route.flow_class == none) continue;
    if (route.flow_class == route.own_class && !may_have_access_bottleneck(route))
      move(number, route.joint_class);
    assign_crossings(route);
  }
}

/// Moves flows that exceed an access link's fair share to their own classes. Returns whether there are any.
bool FairNetwork::separate_exceeding() {
  bool has_moved = false;
  for (const int crossing : solver_->exceeding()) {
    const int number = route_of_crossing_[at(crossing)];
    const Route& route = routes_[at(number)];
    if (route.flow_class != route.joint_class) continue;
    move(number, route.own_class);
    has_moved = true;
  }
  return has_moved;
}

/// Notes flows in their own class without an access bottleneck. They move when rates are computed again.
void FairNetwork::note_to_rejoin(const FlowClass& flow_class) {
  for (const Flow& flow : flow_class.flows) {
    const Route& route = routes_[at(flow.route)];
    if (is_gone(flow) || route.access.empty() || route.flow_class != route.own_class) continue;
    if (!has_access_bottleneck(route)) to_rejoin_.push_back(flow.route);
  }
}

void FairNetwork::rejoin_joint_classes() {
  for (const int number : to_rejoin_) {
    const Route& route = routes_[at(number)];
    if (route.flow_class == route.own_class && classes_[at(route.own_class)].solved > 0 &&
        !has_access_bottleneck(route))
      move(number, route.joint_class);
  }
  to_rejoin_.clear();
}

void FairNetwork::start(int number, Bytes bytes, std::uint64_t tag) {
  Route& route = routes_[at(number)];
  assert(route.flow_class == none);
  route.number = ++started_;
  route.tag = tag;
  enter_access_links(number);
  enter(number, first_class(route), bytes.si());
}

bool FairNetwork::is_gone(const Flow& flow) const {
  const Route& route = routes_[at(flow.route)];
  return route.flow_class == none || route.entry != flow.entry;
}

void FairNetwork::pop(FlowClass& flow_class) {
  std::pop_heap(flow_class.flows.begin(), flow_class.flows.end(), std::greater<>());
  flow_class.flows.pop_back();
}

/// Drops flows that are in another class now, until the first one is in this class.
void FairNetwork::drop_gone(FlowClass& flow_class) {
  while (flow_class.gone > 0 && !flow_class.flows.empty() && is_gone(flow_class.flows.front())) {
    pop(flow_class);
    --flow_class.gone;
  }
}

/// After new rates: counts flows towards the load of access links that may limit a flow of the class now.
/// Returns whether there are any such links.
bool FairNetwork::split(int number) {
  FlowClass& flow_class = classes_[at(number)];
  const double rate = solver_->rate(number);
  if (rate <= flow_class.least_share) return false;
  flow_class.least_share = never;
  std::vector<int> limits;
  for (const Flow& flow : flow_class.flows) {
    if (is_gone(flow)) continue;
    for (const Use& use : routes_[at(flow.route)].access) {
      if (access_[at(use.link)].routes.size() < 2 || access_[at(use.link)].may_limit) continue;
      const double share = share_of(use.link);
      if (rate > share) {
        access_[at(use.link)].may_limit = true;
        limits.push_back(use.link);
      } else {
        flow_class.least_share = std::min(flow_class.least_share, share);
      }
    }
  }
  for (const int link : limits) reassign_flows(link);
  return !limits.empty();
}

/// Computes rates, again if flows had to change classes. A flow that follows another one over the same route
/// changes none.
void FairNetwork::compute_rates() {
  rejoin_joint_classes();
  bool has_split = true;
  while (has_split) {
    for (std::size_t i = 0; i < stale_.size(); ++i) {
      FlowClass& flow_class = classes_[at(stale_[i])];
      if (flow_class.count != flow_class.solved) solver_->set_flows(stale_[i], flow_class.count);
      flow_class.solved = flow_class.count;
    }
    for (const int number : solver_->solve()) {
      serve(classes_[at(number)]);
      mark_stale(number);
    }
    has_split = separate_exceeding();
    for (std::size_t i = 0; i < stale_.size(); ++i) has_split = split(stale_[i]) || has_split;
  }
  for (const int number : stale_) {
    set_end(number);
    if (classes_[at(number)].is_own) note_to_rejoin(classes_[at(number)]);
  }
  stale_.clear();
}

void FairNetwork::set_end(int number) {
  FlowClass& flow_class = classes_[at(number)];
  flow_class.is_stale = false;
  if (flow_class.count == 0) {
    flow_class.flows.clear();
    flow_class.gone = 0;
    flow_class.least_share = never;
    flow_class.service = 0;  // small numbers round least
    flow_class.rate = 0;
    ends_->remove(number);
    return;
  }
  drop_gone(flow_class);
  flow_class.rate = solver_->rate(number);
  ends_->set(number, flow_class.since +
                         std::max(0.0, flow_class.flows.front().end - flow_class.service) / flow_class.rate);
}

/// Takes the flows that end now.
void FairNetwork::take_ended(int number) {
  FlowClass& flow_class = classes_[at(number)];
  serve(flow_class);
  const double last = flow_class.service + flow_class.rate * rounding_of(now_);
  for (drop_gone(flow_class); !flow_class.flows.empty() && flow_class.flows.front().end <= last;
       drop_gone(flow_class)) {
    const Flow flow = flow_class.flows.front();
    pop(flow_class);
    ended_.push_back({flow.number, flow.route});
    leave(routes_[at(flow.route)]);
  }
  ends_->remove(number);
  mark_stale(number);
}

void FairNetwork::deliver(Listener& listener) {
  while (!ends_->empty() && ends_->least() <= now_ + rounding_of(now_)) take_ended(ends_->first());
  std::ranges::sort(ended_, {}, &Ended::number);
  for (const Ended& flow : ended_)
    leave_access_links(flow.route);  // only now: flows that move may end now too
  for (const Ended& flow : ended_) listener.on_delivered(routes_[at(flow.route)].tag, now_);
  ended_.clear();
}

void FairNetwork::run(Calendar& calendar, Listener& listener) {
  make_classes();
  // Events are as early as with SimGrid, whose clock reaches dates by adding differences.
  const auto is_due = [&] {
    return !calendar.empty() && calendar.next().date <= now_ + 1e-12 + now_ * 1e-15;
  };
  while (true) {
    while (is_due()) listener.on_event(calendar.pop());
    deliver(listener);
    if (is_due()) continue;
    compute_rates();
    const double next = std::min(calendar.empty() ? never : calendar.next().date,  // an event or an end
                                 ends_->empty() ? never : ends_->least());
    if (next == never) return;
    now_ = std::max(now_, next);
  }
}

}  // namespace

std::unique_ptr<FlowNetwork> make_fair_network(const std::vector<Bandwidth>& links) {
  return std::make_unique<FairNetwork>(links);
}

}  // namespace trainyard::engine
