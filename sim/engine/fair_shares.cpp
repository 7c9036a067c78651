#include "engine/fair_shares.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

// Progressive filling, begun at the lowest rate that may change. The groups of a changed number of flows are
// open: without a rate. A link with open groups has a level, the rate if it shared what others leave among
// its open groups and those that it limits. The lowest level of all links is final, since every other link
// offers its groups more. Before, a link that limits groups at a lower rate than its new level has its turn,
// when it opens them: they may be limited elsewhere now. Nor may groups that are limited elsewhere be faster
// than the level; they are opened too. Links none of whose groups are opened keep their groups' rates.

namespace trainyard::engine {

namespace {

/// A link whose level changes by no more, relatively, keeps it: the difference is rounding. It does not add
/// up, since the level is always computed from the rates of the other groups.
constexpr double rounding = 1e-13;

/// A guest may be faster than its link allows by this part.
constexpr double overfull = 1e-12;

}  // namespace

FairShares::FairShares(std::span<const Bandwidth> capacities)
    : links_(capacities.size()), queue_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i].si();
}

int FairShares::add_group(std::span<const Use> uses, double most) {
  Group& group = groups_.emplace_back();
  group.first_road = roads_.size();
  for (const Use& use : uses) roads_.push_back({.link = use.link, .times = use.times});
  group.last_road = roads_.size();
  group.most = most;
  if (uses.empty()) group.rate = most;
  return static_cast<int>(groups_.size()) - 1;
}

void FairShares::set_flows(int number, int flows) {
  Group& group = groups_[at(number)];
  if (group.first_road == group.last_road) return;
  if (group.flows == 0) join(number);
  open(number);
  for (const Road& road : roads_of(group)) links_[at(road.link)].open += (flows - group.flows) * road.times;
  group.flows = flows;
  if (flows == 0) leave(number);
}

const std::vector<int>& FairShares::share() {
  changed_.clear();
  ++round_;
  for (queue_touched(); !queue_.empty(); queue_touched()) visit(queue_.first());
  crowded_.clear();
  for (const int number : to_check_) {
    links_[at(number)].is_to_check = false;
    check(links_[at(number)]);
  }
  to_check_.clear();
  return changed_;
}

void FairShares::touch(int number) {
  Link& link = links_[at(number)];
  if (!link.guests.empty() && !std::exchange(link.is_to_check, true)) to_check_.push_back(number);
  if (!std::exchange(link.is_touched, true)) touched_.push_back(number);
}

int FairShares::add_guest(const Use& use) {
  guests_.push_back({.use = use});
  return static_cast<int>(guests_.size()) - 1;
}

void FairShares::seat(int number, int group) {
  Guest& guest = guests_[at(number)];
  if (guest.group == group) return;
  Link& link = links_[at(guest.use.link)];
  const auto remove = [&](std::vector<int>& guests, std::size_t Guest::*place) {
    guests_[at(guests.back())].*place = guest.*place;
    guests[guest.*place] = guests.back();
    guests.pop_back();
  };
  const auto append = [&](std::vector<int>& guests, std::size_t Guest::*place) {
    guest.*place = guests.size();
    guests.push_back(number);
  };
  if (guest.group != nowhere) {
    if (groups_[at(guest.group)].is_open)
      link.open -= guest.use.times;
    else
      take_rate(guest);
    remove(link.guests, &Guest::place_on_link);
    remove(groups_[at(guest.group)].guests, &Guest::place_in_group);
  }
  guest.group = group;
  if (group != nowhere) {
    append(link.guests, &Guest::place_on_link);
    append(groups_[at(group)].guests, &Guest::place_in_group);
    if (groups_[at(group)].is_open)
      link.open += guest.use.times;
    else
      add_rate(guest);
  }
  touch(guest.use.link);
}

void FairShares::add_rate(const Guest& guest) {
  Link& link = links_[at(guest.use.link)];
  link.elsewhere += guest.use.times * groups_[at(guest.group)].rate;
  ++link.others;
}

void FairShares::take_rate(const Guest& guest) {
  Link& link = links_[at(guest.use.link)];
  link.elsewhere = --link.others == 0 ? 0 : link.elsewhere - guest.use.times * groups_[at(guest.group)].rate;
}

void FairShares::open_guests(const Group& group) {
  for (const int number : group.guests) {
    const Guest& guest = guests_[at(number)];
    take_rate(guest);
    links_[at(guest.use.link)].open += guest.use.times;
    touch(guest.use.link);
  }
}

/// Notes guests that are too fast. If the link has no level, only the fastest: others may be slow enough once
/// it has one.
void FairShares::check(const Link& link) {
  if (link.guests.empty()) return;
  if (link.limited > 0) {
    for (const int guest : link.guests) {
      if (rate_of_guest(guest) > link.level * (1 + overfull)) crowded_.push_back(guest);
    }
  } else if (link.elsewhere > link.capacity * (1 + overfull)) {
    crowded_.push_back(
        *std::ranges::max_element(link.guests, {}, [&](int guest) { return rate_of_guest(guest); }));
  }
}

bool FairShares::would_crowd(int number, double rate) const {
  const Guest& guest = guests_[at(number)];
  const Link& link = links_[at(guest.use.link)];
  if (link.limited > 0) return rate > link.level;
  return link.elsewhere + guest.use.times * rate > link.capacity;
}

void FairShares::queue_touched() {
  for (const int number : touched_) {
    Link& link = links_[at(number)];
    link.is_touched = false;
    if (link.limited > 0)
      queue_.set(number, std::min(link.level, level_of(link)));
    else if (link.open > 0 && !link.members.empty())
      queue_.set(number, level_of(link));
    else
      queue_.remove(number);
  }
  touched_.clear();
}

/// The group has flows.
void FairShares::join(int number) {
  Group& group = groups_[at(number)];
  for (std::size_t i = group.first_road; i < group.last_road; ++i) {
    std::vector<Member>& members = links_[at(roads_[i].link)].members;
    roads_[i].place = members.size();
    members.push_back({number, i});
    touch(roads_[i].link);
  }
  open_guests(group);
  group.is_open = true;
}

void FairShares::leave(int number) {
  Group& group = groups_[at(number)];
  for (const Road& road : roads_of(group)) {
    Link& link = links_[at(road.link)];
    exchange(link, road.place, link.members.size() - 1);
    link.members.pop_back();
  }
  group.is_open = false;
  group.rate = 0;
}

void FairShares::exchange(Link& link, std::size_t place, std::size_t other) {
  std::swap(link.members[place], link.members[other]);
  roads_[link.members[place].road].place = place;
  roads_[link.members[other].road].place = other;
}

void FairShares::open(int number) {
  Group& group = groups_[at(number)];
  if (std::exchange(group.is_open, true)) return;
  for (const Road& road : roads_of(group)) {
    Link& link = links_[at(road.link)];
    const double weight = group.flows * road.times;
    if (road.link == group.limit) {
      link.limited -= weight;
      exchange(link, road.place, --link.limits);
    } else {
      link.elsewhere = --link.others == 0 ? 0 : link.elsewhere - weight * group.rate;
    }
    link.open += weight;
    touch(road.link);
  }
  open_guests(group);
}

void FairShares::settle(int number, double rate, int limit) {
  Group& group = groups_[at(number)];
  for (const Road& road : roads_of(group)) {
    Link& link = links_[at(road.link)];
    const double weight = group.flows * road.times;
    link.open -= weight;
    if (road.link == limit) {
      link.limited += weight;
      exchange(link, road.place, link.limits++);
    } else {
      link.elsewhere += weight * rate;
      link.fastest = link.others++ == 0 ? rate : std::max(link.fastest, rate);
      touch(road.link);
    }
  }
  group.limit = limit;
  group.is_open = false;
  group.settled = round_;
  if (rate != group.rate) changed_.push_back(number);
  group.rate = rate;
  for (const int its : group.guests) {
    const Guest& guest = guests_[at(its)];
    links_[at(guest.use.link)].open -= guest.use.times;
    add_rate(guest);
    touch(guest.use.link);
  }
}

/// The link with the lowest rate to be given: gives it, or opens groups that have too low or high a rate.
void FairShares::visit(int number) {
  Link& link = links_[at(number)];
  queue_.remove(number);
  const double level = level_of(link);
  if (link.limited > 0 && std::abs(level - link.level) > rounding * link.level && open_limited(link)) return;
  if (link.open == 0) return;
  const double rate = link.limited > 0 ? link.level : level;
  if (settle_slow(link, rate) || open_faster(link, rate)) return;
  settle_open(number, rate);
}

/// Returns whether there were groups to open.
bool FairShares::open_limited(Link& link) {
  bool has_opened = false;
  for (std::size_t i = link.limits; i-- > 0;) {
    if (!may_open(group_of(link.members[i]))) continue;
    open(link.members[i].group);
    has_opened = true;
  }
  return has_opened;
}

/// Opens the groups limited elsewhere that are faster than the level. Returns whether there were any.
bool FairShares::open_faster(Link& link, double level) {
  if (link.others == 0 || link.fastest <= level) return false;
  bool has_opened = false;
  double fastest = 0;
  for (std::size_t i = link.limits; i < link.members.size(); ++i) {
    const Group& group = group_of(link.members[i]);
    if (group.is_open) continue;
    if (group.rate > level * (1 + rounding) && may_open(group)) {
      open(link.members[i].group);
      has_opened = true;
    } else {
      fastest = std::max(fastest, group.rate);
    }
  }
  link.fastest = fastest;
  return has_opened;
}

/// Settles the open groups whose own limit is below the level. Returns whether there were any.
bool FairShares::settle_slow(Link& link, double level) {
  bool has_settled = false;
  for (std::size_t i = link.limits; i < link.members.size(); ++i) {
    const Group& group = group_of(link.members[i]);
    if (!group.is_open || group.most > level) continue;
    settle(link.members[i].group, group.most, nowhere);
    has_settled = true;
  }
  return has_settled;
}

void FairShares::settle_open(int number, double level) {
  Link& link = links_[at(number)];
  link.level = level;
  for (std::size_t i = link.limits; i < link.members.size(); ++i) {
    // a member that it limits changes places with the first that it does not, which has been seen
    if (group_of(link.members[i]).is_open) settle(link.members[i].group, level, number);
  }
}

}  // namespace trainyard::engine
