// A FlowNetwork of our own. Flows of a group have equal rates at every moment, so each is served as much as
// any other from its start on: it ends once the group's service has grown by its bytes.

#include "engine/fair_shares.hpp"
#include "engine/flow_network.hpp"
#include "engine/indexed_heap.hpp"
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

/// Dates that are nearer are one date: sums of times that are equal without rounding.
double rounding_of(double date) { return 1e-15 + date * 1e-15; }

using Use = FairShares::Use;

class FairNetwork final : public FlowNetwork {
public:
  explicit FairNetwork(const std::vector<Bandwidth>& links) : links_(links), near_(links.size()) {}

  int add_route(const std::vector<int>& links) override;
  void start(int route, Bytes bytes, std::uint64_t tag) override;
  void run(Calendar& calendar, Listener& listener) override;
  [[nodiscard]] std::uint64_t flows() const override { return started_; }

private:
  static constexpr int none = -1;
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// A route and its flow, if it has one.
  struct Route {
    std::vector<Use> near = {};    ///< links near to it that others use too
    std::vector<int> guests = {};  ///< by link near to it: numbers of its flow as a guest
    int with_others = 0;           ///< group of its flow while no link near to it limits it
    int alone = 0;                 ///< group of its flow otherwise
    int group = none;              ///< group of its flow
    std::uint64_t number = 0;      ///< of its flow, in order of start
    std::uint64_t tag = 0;
    std::uint64_t entry = 0;  ///< number of its entry in the group
    double end = 0;           ///< service of the group when it has delivered its last byte
  };
  /// A link near to its routes. As long as all their flows are slower than its level, its capacity divided
  /// among them equally, it limits none of them, however far they are from that.
  struct Near {
    std::vector<int> routes = {};  ///< with a flow
    double times = 0;              ///< that these flows cross it
    bool may_limit = false;
  };
  struct Flow {
    double end = 0;            ///< service of the group when it has delivered its last byte
    std::uint64_t number = 0;  ///< in order of start
    std::uint64_t entry = 0;
    int route = 0;
    bool operator>(const Flow& other) const {
      return end > other.end || (end == other.end && number > other.number);
    }
  };
  struct Group {
    double served = 0;  ///< bytes that a flow of the group would have been sent by `since`
    double since = 0;
    double rate = 0;
    double most = 0;
    double least_level = never;    ///< no link near to its flows, if it has several, has a lower level
    int count = 0;                 ///< flows
    int gone = 0;                  ///< entries of `flows` that are in another group now
    std::vector<Flow> flows = {};  ///< heap
    int shared = 0;                ///< flows that the rates were computed for
    bool is_alone = false;         ///< of flows that links near to them limit
    bool is_stale = false;         ///< its first flow may end at another date
  };
  struct Ended {
    std::uint64_t number = 0;
    int route = 0;
  };

  void make_groups();
  int group_of(const std::vector<Use>& uses, double most);
  void serve(Group& group) const;
  void mark_stale(int group);
  [[nodiscard]] bool may_be_limited(const Route& route) const;
  [[nodiscard]] bool is_limited_near(const Route& route) const;
  [[nodiscard]] int first_group(const Route& route) const;
  [[nodiscard]] double level_of(int link) const;
  [[nodiscard]] double rate_to_expect(const Route& route) const;
  void watch(int link);
  void add_to_near(int route);
  void take_from_near(int route);
  void enter(int route, int group, double bytes);
  void seat(const Route& route);
  void move(int route, int group);
  bool move_crowded();
  void move_back();
  void note_slow(const Group& group);
  void leave(Route& route);
  void move_flows(int link);
  [[nodiscard]] bool is_gone(const Flow& flow) const;
  static void pop(Group& group);
  void drop_gone(Group& group);
  bool split(int group);
  void share();
  void set_end(int group);
  void take_ended(int group);
  void deliver(Listener& listener);

  const std::vector<Bandwidth> links_;
  std::vector<std::vector<int>> ways_;  ///< by route, until run()
  std::vector<Route> routes_;
  std::vector<Near> near_;  ///< by link
  std::map<std::pair<std::vector<Use>, double>, int> number_of_group_;
  std::vector<Group> groups_;
  std::unique_ptr<FairShares> shares_;
  std::unique_ptr<IndexedHeap> ends_;  ///< groups by the date at which their first flow ends
  std::vector<int> stale_;
  std::vector<int> route_of_guest_;
  std::vector<int> slow_;  ///< routes whose flows are alone though no link near to them limits them
  std::vector<Ended> ended_;
  std::uint64_t started_ = 0;
  std::uint64_t entered_ = 0;
  double now_ = 0;
};

int FairNetwork::add_route(const std::vector<int>& links) {
  ways_.push_back(links);
  return static_cast<int>(ways_.size()) - 1;
}

/// Routes over the same links are a group. A link is near to its routes if a small part of all routes use it:
/// it is a worker's, to which the links of servers are far. Flows that it does not limit form a group with
/// those of other workers.
void FairNetwork::make_groups() {
  std::vector<std::vector<Use>> uses;
  std::vector<int> users(links_.size(), 0);
  for (const std::vector<int>& way : ways_) {
    std::map<int, double> times;
    for (const int link : way) ++times[link];
    std::vector<Use>& its = uses.emplace_back();
    for (const auto& [link, count] : times) {
      its.push_back({link, count});
      ++users[at(link)];
    }
  }
  shares_ = std::make_unique<FairShares>(links_);
  for (const std::vector<Use>& all : uses) {
    Route& route = routes_.emplace_back();
    double most_alone = never;
    double most_with_others = never;
    std::vector<Use> shared;
    std::vector<Use> far;
    for (const Use& use : all) {
      const double most = links_[at(use.link)].si() / use.times;
      const auto its_users = static_cast<std::size_t>(users[at(use.link)]);
      const bool is_own = its_users == 1;
      const bool is_near = is_own || its_users * its_users <= ways_.size();
      if (is_own) most_alone = std::min(most_alone, most);
      if (is_near) most_with_others = std::min(most_with_others, most);
      if (!is_own) shared.push_back(use);
      if (!is_near) far.push_back(use);
      if (is_near && !is_own) route.near.push_back(use);
    }
    for (const Use& use : route.near) {
      route.guests.push_back(shares_->add_guest(use));
      route_of_guest_.push_back(static_cast<int>(routes_.size()) - 1);
    }
    route.with_others = group_of(far, most_with_others);
    route.alone = route.near.empty() ? route.with_others : group_of(shared, most_alone);
    if (!route.near.empty()) groups_[at(route.alone)].is_alone = true;
  }
  ways_.clear();
  number_of_group_.clear();
  ends_ = std::make_unique<IndexedHeap>(groups_.size());
}

int FairNetwork::group_of(const std::vector<Use>& uses, double most) {
  const auto [found, is_new] = number_of_group_.try_emplace({uses, most}, static_cast<int>(groups_.size()));
  if (is_new) {
    shares_->add_group(uses, most);
    groups_.emplace_back().most = most;
  }
  return found->second;
}

void FairNetwork::serve(Group& group) const {
  group.served += group.rate * (now_ - group.since);
  group.since = now_;
}

void FairNetwork::mark_stale(int number) {
  if (!std::exchange(groups_[at(number)].is_stale, true)) stale_.push_back(number);
}

bool FairNetwork::may_be_limited(const Route& route) const {
  return std::ranges::any_of(route.near, [&](const Use& use) { return near_[at(use.link)].may_limit; });
}

/// Whether a link near to it limits its flow, which is alone.
bool FairNetwork::is_limited_near(const Route& route) const {
  const int limit = shares_->limit(route.alone);
  return std::ranges::any_of(route.near, [&](const Use& use) { return use.link == limit; });
}

/// The group of a new flow: alone if a link near to it seems to limit it.
int FairNetwork::first_group(const Route& route) const {
  for (std::size_t i = 0; i < route.near.size(); ++i) {
    if (near_[at(route.near[i].link)].may_limit &&
        shares_->would_crowd(route.guests[i], rate_to_expect(route)))
      return route.alone;
  }
  return route.with_others;
}

double FairNetwork::level_of(int link) const { return links_[at(link)].si() / near_[at(link)].times; }

/// An estimate of the rate of its flow in the group with others: too high rather than too low.
double FairNetwork::rate_to_expect(const Route& route) const {
  if (groups_[at(route.with_others)].shared > 0) return shares_->rate(route.with_others);
  if (route.group == route.alone && groups_[at(route.alone)].shared > 0) return shares_->rate(route.alone);
  return groups_[at(route.with_others)].most;
}

/// Finds out whether the link may limit a flow, and moves flows over it if this has changed. Groups change
/// less often if it must have some room before it no longer may.
void FairNetwork::watch(int number) {
  Near& link = near_[at(number)];
  const bool could_limit = link.may_limit;
  const double level = level_of(number) * (could_limit ? 0.9 : 1);
  link.may_limit = link.routes.size() > 1 && std::ranges::any_of(link.routes, [&](int route) {
                     return rate_to_expect(routes_[at(route)]) > level;
                   });
  if (link.may_limit != could_limit) move_flows(number);
  if (link.routes.size() < 2 || link.may_limit) return;
  for (const int route : link.routes) {
    const int its_group = routes_[at(route)].group;
    if (its_group == none) continue;  // it is about to enter one
    Group& group = groups_[at(its_group)];
    group.least_level = std::min(group.least_level, level_of(number));
  }
}

void FairNetwork::add_to_near(int number) {
  for (const Use& use : routes_[at(number)].near) {
    near_[at(use.link)].routes.push_back(number);
    near_[at(use.link)].times += use.times;
    watch(use.link);
  }
}

void FairNetwork::take_from_near(int number) {
  for (const Use& use : routes_[at(number)].near) {
    std::erase(near_[at(use.link)].routes, number);
    near_[at(use.link)].times -= use.times;
    watch(use.link);
  }
}

/// A flow with others is a guest of links that may limit it.
void FairNetwork::seat(const Route& route) {
  for (std::size_t i = 0; i < route.near.size(); ++i) {
    const bool is_guest = route.group == route.with_others && near_[at(route.near[i].link)].may_limit;
    shares_->seat(route.guests[i], is_guest ? route.group : FairShares::nowhere);
  }
}

/// Puts the route's flow, with so many bytes left, into a group.
void FairNetwork::enter(int number, int to, double bytes) {
  Route& route = routes_[at(number)];
  route.group = to;
  seat(route);
  Group& group = groups_[at(route.group)];
  serve(group);
  ++group.count;
  route.entry = ++entered_;
  route.end = group.served + bytes;
  group.flows.push_back({route.end, route.number, route.entry, number});
  std::push_heap(group.flows.begin(), group.flows.end(), std::greater<>());
  for (const Use& use : route.near) {
    if (near_[at(use.link)].routes.size() > 1 && !near_[at(use.link)].may_limit)
      group.least_level = std::min(group.least_level, level_of(use.link));
  }
  mark_stale(route.group);
}

void FairNetwork::leave(Route& route) {
  --groups_[at(route.group)].count;
  mark_stale(route.group);
  route.group = none;
  seat(route);
}

void FairNetwork::move(int number, int to) {
  Route& route = routes_[at(number)];
  Group& group = groups_[at(route.group)];
  serve(group);
  ++group.gone;
  const double left = std::max(0.0, route.end - group.served);
  leave(route);
  enter(number, to, left);
}

/// Makes flows over a link its guests or, if no link near to them may limit them now, moves them to others.
void FairNetwork::move_flows(int link) {
  for (const int number : near_[at(link)].routes) {
    const Route& route = routes_[at(number)];
    if (route.group == none) continue;
    if (route.group == route.alone && !may_be_limited(route)) move(number, route.with_others);
    seat(route);
  }
}

/// Moves guests that are faster than their link allows. Returns whether there are any.
bool FairNetwork::move_crowded() {
  bool has_moved = false;
  for (const int guest : shares_->crowded()) {
    const int number = route_of_guest_[at(guest)];
    const Route& route = routes_[at(number)];
    if (route.group != route.with_others) continue;
    move(number, route.alone);
    has_moved = true;
  }
  return has_moved;
}

/// Notes flows that are alone for no reason, to be moved when rates are computed again.
void FairNetwork::note_slow(const Group& group) {
  for (const Flow& flow : group.flows) {
    const Route& route = routes_[at(flow.route)];
    if (is_gone(flow) || route.near.empty() || route.group != route.alone) continue;
    if (!is_limited_near(route)) slow_.push_back(flow.route);
  }
}

void FairNetwork::move_back() {
  for (const int number : slow_) {
    const Route& route = routes_[at(number)];
    if (route.group == route.alone && groups_[at(route.alone)].shared > 0 && !is_limited_near(route))
      move(number, route.with_others);
  }
  slow_.clear();
}

void FairNetwork::start(int number, Bytes bytes, std::uint64_t tag) {
  Route& route = routes_[at(number)];
  assert(route.group == none);
  route.number = ++started_;
  route.tag = tag;
  add_to_near(number);
  enter(number, first_group(route), bytes.si());
}

bool FairNetwork::is_gone(const Flow& flow) const {
  const Route& route = routes_[at(flow.route)];
  return route.group == none || route.entry != flow.entry;
}

void FairNetwork::pop(Group& group) {
  std::pop_heap(group.flows.begin(), group.flows.end(), std::greater<>());
  group.flows.pop_back();
}

/// Drops flows that are in another group now, until the first one is here.
void FairNetwork::drop_gone(Group& group) {
  while (group.gone > 0 && !group.flows.empty() && is_gone(group.flows.front())) {
    pop(group);
    --group.gone;
  }
}

/// After new rates: if links near to flows of a group may limit them now, all flows over these links become
/// their guests. Returns whether there are any.
bool FairNetwork::split(int number) {
  Group& group = groups_[at(number)];
  const double rate = shares_->rate(number);
  if (rate <= group.least_level) return false;
  group.least_level = never;
  std::vector<int> limits;
  for (const Flow& flow : group.flows) {
    if (is_gone(flow)) continue;
    for (const Use& use : routes_[at(flow.route)].near) {
      if (near_[at(use.link)].routes.size() < 2 || near_[at(use.link)].may_limit) continue;
      const double level = level_of(use.link);
      if (rate > level) {
        near_[at(use.link)].may_limit = true;
        limits.push_back(use.link);
      } else {
        group.least_level = std::min(group.least_level, level);
      }
    }
  }
  for (const int link : limits) move_flows(link);
  return !limits.empty();
}

/// Computes rates, again if flows had to change groups. A flow that follows another one over the same route
/// changes none.
void FairNetwork::share() {
  move_back();
  bool has_split = true;
  while (has_split) {
    for (std::size_t i = 0; i < stale_.size(); ++i) {
      Group& group = groups_[at(stale_[i])];
      if (group.count != group.shared) shares_->set_flows(stale_[i], group.count);
      group.shared = group.count;
    }
    for (const int number : shares_->share()) {
      serve(groups_[at(number)]);
      mark_stale(number);
    }
    has_split = move_crowded();
    for (std::size_t i = 0; i < stale_.size(); ++i) has_split = split(stale_[i]) || has_split;
  }
  for (const int number : stale_) {
    set_end(number);
    if (groups_[at(number)].is_alone) note_slow(groups_[at(number)]);
  }
  stale_.clear();
}

void FairNetwork::set_end(int number) {
  Group& group = groups_[at(number)];
  group.is_stale = false;
  if (group.count == 0) {
    group.flows.clear();
    group.gone = 0;
    group.least_level = never;
    group.served = 0;  // small numbers round least
    group.rate = 0;
    ends_->remove(number);
    return;
  }
  drop_gone(group);
  group.rate = shares_->rate(number);
  ends_->set(number, group.since + std::max(0.0, group.flows.front().end - group.served) / group.rate);
}

/// Takes the flows that end now.
void FairNetwork::take_ended(int number) {
  Group& group = groups_[at(number)];
  serve(group);
  const double last = group.served + group.rate * rounding_of(now_);
  for (drop_gone(group); !group.flows.empty() && group.flows.front().end <= last; drop_gone(group)) {
    const Flow flow = group.flows.front();
    pop(group);
    ended_.push_back({flow.number, flow.route});
    leave(routes_[at(flow.route)]);
  }
  ends_->remove(number);
  mark_stale(number);
}

void FairNetwork::deliver(Listener& listener) {
  while (!ends_->empty() && ends_->least() <= now_ + rounding_of(now_)) take_ended(ends_->first());
  std::ranges::sort(ended_, {}, &Ended::number);
  for (const Ended& flow : ended_) take_from_near(flow.route);  // only now: others that move may end now too
  for (const Ended& flow : ended_) listener.on_delivered(routes_[at(flow.route)].tag, now_);
  ended_.clear();
}

void FairNetwork::run(Calendar& calendar, Listener& listener) {
  make_groups();
  // Events as early as SimGrid's clock has them, which reaches dates by adding differences.
  const auto is_due = [&] {
    return !calendar.empty() && calendar.next().date <= now_ + 1e-12 + now_ * 1e-15;
  };
  while (true) {
    while (is_due()) listener.on_event(calendar.pop());
    deliver(listener);
    if (is_due()) continue;
    share();
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
