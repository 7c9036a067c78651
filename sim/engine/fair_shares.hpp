#pragma once
// Max-min fair rates of groups of flows over links: all rates are as large as they can be without lowering a
// smaller one. When numbers of flows change, only the groups whose rates may change are computed again. A
// single flow of a group may cross a link that the others do not: as its guest, as long as that link does not
// limit it.

#include "engine/indexed_heap.hpp"
#include "units/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::engine {

class FairShares {
public:
  /// A flow crosses a link `times` times.
  struct Use {
    int link = 0;
    double times = 1;
    auto operator<=>(const Use&) const = default;
  };

  explicit FairShares(std::span<const Bandwidth> capacities);

  /// A group of flows with equal rates, up to `most` bytes per second each; at first it has none. Names each
  /// link once. Groups are numbered from 0 on.
  int add_group(std::span<const Use> uses, double most);

  /// The group has this number of flows from the next share() on.
  void set_flows(int group, int flows);

  /// A guest, numbered from 0 on: one flow of a group that does not name this link but crosses it, once it
  /// has a group.
  int add_guest(const Use& use);

  /// The guest is a flow of this group from now on; `nowhere`: of none.
  void seat(int guest, int group);

  /// Computes the rates. Returns the groups whose rates have changed, valid until the next call.
  const std::vector<int>& share();

  /// The guests that are faster than their link allows: the rates are right once they are in groups that
  /// name it. Only those of links for which something has changed, and not all at once. Valid until the next
  /// share().
  [[nodiscard]] const std::vector<int>& crowded() const { return crowded_; }

  /// Whether the guest would be crowded at this rate, as far as the last share() knows.
  [[nodiscard]] bool would_crowd(int guest, double rate) const;

  /// The link that limits the group; nowhere: none does.
  [[nodiscard]] int limit(int group) const { return groups_[static_cast<std::size_t>(group)].limit; }

  /// Of one flow of the group, in bytes per second.
  [[nodiscard]] double rate(int group) const { return groups_[static_cast<std::size_t>(group)].rate; }

  static constexpr int nowhere = -1;

private:
  /// A group with flows on a link. The members of a link that it limits come first.
  struct Member {
    int group = 0;
    std::size_t road = 0;
  };
  struct Road {
    int link = 0;
    double times = 1;
    std::size_t place = 0;  ///< among the link's members
  };
  struct Group {
    std::size_t first_road = 0, last_road = 0;
    double most = 0;
    double rate = 0;
    int flows = 0;
    int limit = nowhere;        ///< the link that limits it; nowhere: `most` does
    bool is_open = false;       ///< its rate is not known yet
    std::uint64_t settled = 0;  ///< number of the share() that gave it its rate
    std::vector<int> guests = {};
  };
  struct Guest {
    Use use;
    int group = nowhere;
    std::size_t place_on_link = 0, place_in_group = 0;
  };
  /// Sums over groups and guests of flows * times, or of rate * flows * times for `elsewhere`.
  struct Link {
    double capacity = 0;
    double level = 0;        ///< rate of the flows that it limits
    double limited = 0;      ///< of groups that it limits
    double open = 0;         ///< of open groups
    double elsewhere = 0;    ///< bytes per second of groups limited elsewhere
    double fastest = 0;      ///< no group limited elsewhere is faster
    int others = 0;          ///< number of groups and guests limited elsewhere
    std::size_t limits = 0;  ///< number of members that it limits
    bool is_touched = false;
    bool is_to_check = false;
    std::vector<Member> members;
    std::vector<int> guests;
  };

  [[nodiscard]] static double level_of(const Link& link) {
    return (link.capacity - link.elsewhere) / (link.limited + link.open);
  }
  [[nodiscard]] std::span<Road> roads_of(const Group& group) {
    return {roads_.data() + group.first_road, group.last_road - group.first_road};
  }
  [[nodiscard]] Group& group_of(const Member& member) {
    return groups_[static_cast<std::size_t>(member.group)];
  }
  [[nodiscard]] double rate_of_guest(int guest) const {
    return rate(guests_[static_cast<std::size_t>(guest)].group);
  }
  [[nodiscard]] bool may_open(const Group& group) const { return !group.is_open && group.settled != round_; }

  void touch(int link);
  void queue_touched();
  void join(int group);
  void leave(int group);
  void add_rate(const Guest& guest);
  void take_rate(const Guest& guest);
  void open_guests(const Group& group);
  void check(const Link& link);
  void open(int group);
  void settle(int group, double rate, int limit);
  void visit(int link);
  bool open_limited(Link& link);
  bool open_faster(Link& link, double level);
  bool settle_slow(Link& link, double level);
  void settle_open(int link, double level);
  void exchange(Link& link, std::size_t place, std::size_t other);

  std::vector<Link> links_;
  std::vector<Group> groups_;
  std::vector<Road> roads_;
  std::vector<int> touched_;
  std::vector<int> changed_;
  std::vector<Guest> guests_;
  std::vector<int> to_check_;  ///< links
  std::vector<int> crowded_;
  IndexedHeap queue_;  ///< links whose flows may get other rates, by the lowest rate that may be given next
  std::uint64_t round_ = 0;
};

}  // namespace trainyard::engine
