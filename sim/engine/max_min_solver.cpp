#include "engine/max_min_solver.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

// Progressive filling from the lowest rate that may change. Classes whose number of flows changed are
// unfixed: they have no rate. The fair share of a link with unfixed classes is the rate that its unfixed and
// its bottlenecked classes would have if they shared the rest of its capacity. The lowest fair share of all
// links is final, since every other link offers its classes more: the link is saturated, the bottleneck of
// its unfixed classes. Two kinds of classes are unfixed before: those bottlenecked at a link whose fair share
// has changed, and those with another bottleneck that are faster than the fair share. All other rates stay.

namespace trainyard::engine {

namespace {

/// A relative change of a fair share that counts as rounding: the link keeps its share. Errors do not add up,
/// since a share is always computed from the rates of the other classes.
constexpr double rounding = 1e-13;

/// A crossing may exceed the fair share of its link by this part.
constexpr double tolerated_excess = 1e-12;

}  // namespace

MaxMinSolver::MaxMinSolver(std::span<const Bandwidth> capacities)
    : links_(capacities.size()), queue_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i].si();
}

int MaxMinSolver::add_class(std::span<const Use> uses, double cap) {
  FlowClass& flow_class = classes_.emplace_back();
  flow_class.first_hop = hops_.size();
  for (const Use& use : uses) hops_.push_back({.link = use.link, .times = use.times});
  flow_class.last_hop = hops_.size();
  flow_class.cap = cap;
  if (uses.empty()) flow_class.rate = cap;
  return static_cast<int>(classes_.size()) - 1;
}

void MaxMinSolver::set_flows(int number, int flows) {
  FlowClass& flow_class = classes_[at(number)];
  if (flow_class.first_hop == flow_class.last_hop) return;
  if (flow_class.flows == 0) join(number);
  unfix(number);
  for (const Hop& hop : hops_of(flow_class))
    links_[at(hop.link)].unfixed += (flows - flow_class.flows) * hop.times;
  flow_class.flows = flows;
  if (flows == 0) leave(number);
}

const std::vector<int>& MaxMinSolver::solve() {
  changed_.clear();
  ++round_;
  for (queue_touched(); !queue_.empty(); queue_touched()) visit(queue_.first());
  exceeding_.clear();
  for (const int number : to_check_) {
    links_[at(number)].is_to_check = false;
    check(links_[at(number)]);
  }
  to_check_.clear();
  return changed_;
}

void MaxMinSolver::touch(int number) {
  Link& link = links_[at(number)];
  if (!link.crossings.empty() && !std::exchange(link.is_to_check, true)) to_check_.push_back(number);
  if (!std::exchange(link.is_touched, true)) touched_.push_back(number);
}

int MaxMinSolver::add_crossing(const Use& use) {
  crossings_.push_back({.use = use});
  return static_cast<int>(crossings_.size()) - 1;
}

void MaxMinSolver::assign(int number, int flow_class) {
  Crossing& crossing = crossings_[at(number)];
  if (crossing.flow_class == flow_class) return;
  Link& link = links_[at(crossing.use.link)];
  const auto remove = [&](std::vector<int>& crossings, std::size_t Crossing::*place) {
    crossings_[at(crossings.back())].*place = crossing.*place;
    crossings[crossing.*place] = crossings.back();
    crossings.pop_back();
  };
  const auto append = [&](std::vector<int>& crossings, std::size_t Crossing::*place) {
    crossing.*place = crossings.size();
    crossings.push_back(number);
  };
  if (crossing.flow_class != none) {
    if (classes_[at(crossing.flow_class)].is_unfixed)
      link.unfixed -= crossing.use.times;
    else
      take_rate(crossing);
    remove(link.crossings, &Crossing::place_on_link);
    remove(classes_[at(crossing.flow_class)].crossings, &Crossing::place_in_class);
  }
  crossing.flow_class = flow_class;
  if (flow_class != none) {
    append(link.crossings, &Crossing::place_on_link);
    append(classes_[at(flow_class)].crossings, &Crossing::place_in_class);
    if (classes_[at(flow_class)].is_unfixed)
      link.unfixed += crossing.use.times;
    else
      add_rate(crossing);
  }
  touch(crossing.use.link);
}

void MaxMinSolver::add_rate(const Crossing& crossing) {
  Link& link = links_[at(crossing.use.link)];
  link.elsewhere += crossing.use.times * classes_[at(crossing.flow_class)].rate;
  ++link.elsewhere_count;
}

void MaxMinSolver::take_rate(const Crossing& crossing) {
  Link& link = links_[at(crossing.use.link)];
  link.elsewhere = --link.elsewhere_count == 0
                       ? 0
                       : link.elsewhere - crossing.use.times * classes_[at(crossing.flow_class)].rate;
}

void MaxMinSolver::unfix_crossings(const FlowClass& flow_class) {
  for (const int number : flow_class.crossings) {
    const Crossing& crossing = crossings_[at(number)];
    take_rate(crossing);
    links_[at(crossing.use.link)].unfixed += crossing.use.times;
    touch(crossing.use.link);
  }
}

/// Notes crossings that exceed the link's fair share. If the link is no bottleneck, notes only the fastest:
/// the rest may be slow enough once it is one.
void MaxMinSolver::check(const Link& link) {
  if (link.crossings.empty()) return;
  if (link.bottlenecked > 0) {
    for (const int crossing : link.crossings) {
      if (rate_of_crossing(crossing) > link.share * (1 + tolerated_excess)) exceeding_.push_back(crossing);
    }
  } else if (link.elsewhere > link.capacity * (1 + tolerated_excess)) {
    exceeding_.push_back(*std::ranges::max_element(link.crossings, {},
                                                   [&](int crossing) { return rate_of_crossing(crossing); }));
  }
}

bool MaxMinSolver::would_exceed_share(int number, double rate) const {
  const Crossing& crossing = crossings_[at(number)];
  const Link& link = links_[at(crossing.use.link)];
  if (link.bottlenecked > 0) return rate > link.share;
  return link.elsewhere + crossing.use.times * rate > link.capacity;
}

void MaxMinSolver::queue_touched() {
  for (const int number : touched_) {
    Link& link = links_[at(number)];
    link.is_touched = false;
    if (link.bottlenecked > 0)
      queue_.set(number, std::min(link.share, share_of(link)));
    else if (link.unfixed > 0 && !link.members.empty())
      queue_.set(number, share_of(link));
    else
      queue_.remove(number);
  }
  touched_.clear();
}

/// The class gets its first flow.
void MaxMinSolver::join(int number) {
  FlowClass& flow_class = classes_[at(number)];
  for (std::size_t i = flow_class.first_hop; i < flow_class.last_hop; ++i) {
    std::vector<Member>& members = links_[at(hops_[i].link)].members;
    hops_[i].place = members.size();
    members.push_back({number, i});
    touch(hops_[i].link);
  }
  unfix_crossings(flow_class);
  flow_class.is_unfixed = true;
}

void MaxMinSolver::leave(int number) {
  FlowClass& flow_class = classes_[at(number)];
  for (const Hop& hop : hops_of(flow_class)) {
    Link& link = links_[at(hop.link)];
    exchange(link, hop.place, link.members.size() - 1);
    link.members.pop_back();
  }
  flow_class.is_unfixed = false;
  flow_class.rate = 0;
}

void MaxMinSolver::exchange(Link& link, std::size_t place, std::size_t other) {
  std::swap(link.members[place], link.members[other]);
  hops_[link.members[place].hop].place = place;
  hops_[link.members[other].hop].place = other;
}

void MaxMinSolver::unfix(int number) {
  FlowClass& flow_class = classes_[at(number)];
  if (std::exchange(flow_class.is_unfixed, true)) return;
  for (const Hop& hop : hops_of(flow_class)) {
    Link& link = links_[at(hop.link)];
    const double weight = flow_class.flows * hop.times;
    if (hop.link == flow_class.bottleneck) {
      link.bottlenecked -= weight;
      exchange(link, hop.place, --link.bottlenecked_members);
    } else {
      link.elsewhere = --link.elsewhere_count == 0 ? 0 : link.elsewhere - weight * flow_class.rate;
    }
    link.unfixed += weight;
    touch(hop.link);
  }
  unfix_crossings(flow_class);
}

void MaxMinSolver::fix(int number, double rate, int bottleneck) {
  FlowClass& flow_class = classes_[at(number)];
  for (const Hop& hop : hops_of(flow_class)) {
    Link& link = links_[at(hop.link)];
    const double weight = flow_class.flows * hop.times;
    link.unfixed -= weight;
    if (hop.link == bottleneck) {
      link.bottlenecked += weight;
      exchange(link, hop.place, link.bottlenecked_members++);
    } else {
      link.elsewhere += weight * rate;
      link.fastest_elsewhere = link.elsewhere_count++ == 0 ? rate : std::max(link.fastest_elsewhere, rate);
      touch(hop.link);
    }
  }
  flow_class.bottleneck = bottleneck;
  flow_class.is_unfixed = false;
  flow_class.round = round_;
  if (rate != flow_class.rate) changed_.push_back(number);
  flow_class.rate = rate;
  for (const int crossing_number : flow_class.crossings) {
    const Crossing& crossing = crossings_[at(crossing_number)];
    links_[at(crossing.use.link)].unfixed -= crossing.use.times;
    add_rate(crossing);
    touch(crossing.use.link);
  }
}

/// Visits the link with the lowest fair share: fixes its unfixed classes, or unfixes classes whose rates are
/// too low or too high.
void MaxMinSolver::visit(int number) {
  Link& link = links_[at(number)];
  queue_.remove(number);
  const double share = share_of(link);
  if (link.bottlenecked > 0 && std::abs(share - link.share) > rounding * link.share &&
      unfix_bottlenecked(link))
    return;
  if (link.unfixed == 0) return;
  const double rate = link.bottlenecked > 0 ? link.share : share;
  if (fix_capped(link, rate) || unfix_faster(link, rate)) return;
  fix_at_share(number, rate);
}

/// Returns whether there were classes to unfix.
bool MaxMinSolver::unfix_bottlenecked(Link& link) {
  bool has_unfixed = false;
  for (std::size_t i = link.bottlenecked_members; i-- > 0;) {
    if (!may_unfix(class_of(link.members[i]))) continue;
    unfix(link.members[i].flow_class);
    has_unfixed = true;
  }
  return has_unfixed;
}

/// Unfixes the classes with another bottleneck that are faster than the share. Returns whether there were
/// any.
bool MaxMinSolver::unfix_faster(Link& link, double share) {
  if (link.elsewhere_count == 0 || link.fastest_elsewhere <= share) return false;
  bool has_unfixed = false;
  double fastest = 0;
  for (std::size_t i = link.bottlenecked_members; i < link.members.size(); ++i) {
    const FlowClass& flow_class = class_of(link.members[i]);
    if (flow_class.is_unfixed) continue;
    if (flow_class.rate > share * (1 + rounding) && may_unfix(flow_class)) {
      unfix(link.members[i].flow_class);
      has_unfixed = true;
    } else {
      fastest = std::max(fastest, flow_class.rate);
    }
  }
  link.fastest_elsewhere = fastest;
  return has_unfixed;
}

/// Fixes the unfixed classes whose cap is not above the share. Returns whether there were any.
bool MaxMinSolver::fix_capped(Link& link, double share) {
  bool has_fixed = false;
  for (std::size_t i = link.bottlenecked_members; i < link.members.size(); ++i) {
    const FlowClass& flow_class = class_of(link.members[i]);
    if (!flow_class.is_unfixed || flow_class.cap > share) continue;
    fix(link.members[i].flow_class, flow_class.cap, none);
    has_fixed = true;
  }
  return has_fixed;
}

void MaxMinSolver::fix_at_share(int number, double share) {
  Link& link = links_[at(number)];
  link.share = share;
  for (std::size_t i = link.bottlenecked_members; i < link.members.size(); ++i) {
    // a fixed member changes places with the first member that has another bottleneck, which has been seen
    if (class_of(link.members[i]).is_unfixed) fix(link.members[i].flow_class, share, number);
  }
}

}  // namespace trainyard::engine
