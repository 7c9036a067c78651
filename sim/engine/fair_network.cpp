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
    std::vector<Use> near = {};  ///< links near to it that others use too
    int with_others = 0;         ///< group of its flow while no link near to it can limit it
    int alone = 0;               ///< group of its flow otherwise
    int group = none;            ///< group of its flow
    std::uint64_t number = 0;    ///< of its flow, in order of start
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
  [[nodiscard]] int right_group(const Route& route) const;
  [[nodiscard]] double level_of(int link) const;
  [[nodiscard]] double rate_to_expect(const Route& route) const;
  void watch(int link);
  void add_to_near(int route);
  void take_from_near(int route);
  void enter(int route, double bytes);
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
    route.with_others = group_of(far, most_with_others);
    route.alone = route.near.empty() ? route.with_others : group_of(shared, most_alone);
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

int FairNetwork::right_group(const Route& route) const {
  const bool is_limited =
      std::ranges::any_of(route.near, [&](const Use& use) { return near_[at(use.link)].may_limit; });
  return is_limited ? route.alone : route.with_others;
}

double FairNetwork::level_of(int link) const { return links_[at(link)].si() / near_[at(link)].times; }

/// An estimate of the rate of its flow in the group with others: too high rather than too low.
double FairNetwork::rate_to_expect(const Route& route) const {
  if (groups_[at(route.with_others)].shared > 0) return shares_->rate(route.with_others);
  if (route.group == route.alone && groups_[at(route.alone)].shared > 0) return shares_->rate(route.alone);
  return groups_[at(route.with_others)].most;
}

/// Finds out whether the link may limit a flow. Groups change less often if it must have some room before it
/// no longer may.
void FairNetwork::watch(int number) {
  Near& link = near_[at(number)];
  const double level = level_of(number) * (link.may_limit ? 0.9 : 1);
  link.may_limit = link.routes.size() > 1 && std::ranges::any_of(link.routes, [&](int route) {
                     return rate_to_expect(routes_[at(route)]) > level;
                   });
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

/// Puts the route's flow, with so many bytes left, into its group.
void FairNetwork::enter(int number, double bytes) {
  Route& route = routes_[at(number)];
  route.group = right_group(route);
  Group& group = groups_[at(route.group)];
  serve(group);
  ++group.count;
  route.entry = ++entered_;
  route.end = group.served + bytes;
  group.flows.push_back({route.end, route.number, route.entry, number});
  std::push_heap(group.flows.begin(), group.flows.end(), std::greater<>());
  for (const Use& use : route.near) {
    if (near_[at(use.link)].routes.size() > 1)
      group.least_level = std::min(group.least_level, level_of(use.link));
  }
  mark_stale(route.group);
}

void FairNetwork::leave(Route& route) {
  --groups_[at(route.group)].count;
  mark_stale(route.group);
  route.group = none;
}

/// Moves the flows over a link to the groups where they belong now.
void FairNetwork::move_flows(int link) {
  for (const int number : near_[at(link)].routes) {
    Route& route = routes_[at(number)];
    if (route.group == none || route.group == right_group(route)) continue;
    Group& group = groups_[at(route.group)];
    serve(group);
    ++group.gone;
    const double left = std::max(0.0, route.end - group.served);
    leave(route);
    enter(number, left);
  }
}

void FairNetwork::start(int number, Bytes bytes, std::uint64_t tag) {
  Route& route = routes_[at(number)];
  assert(route.group == none);
  route.number = ++started_;
  route.tag = tag;
  add_to_near(number);
  enter(number, bytes.si());
  for (const Use& use : route.near) move_flows(use.link);
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

/// After new rates: if links near to flows of a group may limit them now, they form groups with the other
/// flows over these links. Returns whether there are any.
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
  bool has_split = true;
  while (has_split) {
    for (std::size_t i = 0; i < stale_.size(); ++i) {
      Group& group = groups_[at(stale_[i])];
      if (group.count != group.shared) shares_->set_flows(stale_[i], group.count);
      group.shared = group.count;
    }
    has_split = false;
    for (const int number : shares_->share()) {
      serve(groups_[at(number)]);
      mark_stale(number);
    }
    for (std::size_t i = 0; i < stale_.size(); ++i) has_split = split(stale_[i]) || has_split;
  }
  for (const int number : stale_) set_end(number);
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
  for (const Ended& flow : ended_) {  // others move only now, since they may end now too
    take_from_near(flow.route);
    for (const Use& use : routes_[at(flow.route)].near) move_flows(use.link);
  }
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
