#pragma once
// Max-min fair rates by progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): no rate
// can grow without lowering a smaller one. Flows over the same links form a flow class and have equal rates.
// Every flow below its cap has a bottleneck link, which is saturated and where no flow is faster. After a
// change, only the classes whose rates may change are computed again.

#include "engine/indexed_heap.hpp"
#include "units/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::engine {

class MaxMinSolver {
public:
  /// A flow crosses a link `times` times.
  struct Use {
    int link = 0;
    double times = 1;
    auto operator<=>(const Use&) const = default;
  };

  explicit MaxMinSolver(std::span<const Bandwidth> capacities);

  /// Adds a class without flows, whose rates are at most `cap` bytes per second each. Names each link once.
  /// Classes are numbered from 0 on.
  int add_class(std::span<const Use> uses, double cap);

  /// The class has this number of flows from the next solve() on.
  void set_flows(int flow_class, int flows);

  /// A crossing, numbered from 0 on: a single flow of a class crosses a link that its class does not name.
  /// The flow counts towards the link's load, but the link cannot be its bottleneck.
  int add_crossing(const Use& use);

  /// The crossing's flow belongs to this class from now on, or to `none`.
  void assign(int crossing, int flow_class);

  /// Computes the rates. Returns the classes whose rates have changed, valid until the next call.
  const std::vector<int>& solve();

  /// Crossings that exceed the fair share of their link: the rates are right once their flows are in classes
  /// that name the link. Holds some of them, and only for links with changes. Valid until the next solve().
  [[nodiscard]] const std::vector<int>& exceeding() const { return exceeding_; }

  /// Whether the crossing would exceed the link's fair share at this rate, as far as the last solve() knows.
  [[nodiscard]] bool would_exceed_share(int crossing, double rate) const;

  /// The bottleneck link of the class, or `none`.
  [[nodiscard]] int bottleneck(int flow_class) const {
    return classes_[static_cast<std::size_t>(flow_class)].bottleneck;
  }

  /// Bytes per second of one flow of the class.
  [[nodiscard]] double rate(int flow_class) const {
    return classes_[static_cast<std::size_t>(flow_class)].rate;
  }

  static constexpr int none = -1;

private:
  /// A class with flows on a link. Members with their bottleneck here come first.
  struct Member {
    int flow_class = 0;
    std::size_t hop = 0;
  };
  struct Hop {
    int link = 0;
    double times = 1;
    std::size_t place = 0;  ///< among the link's members
  };
  struct FlowClass {
    std::size_t first_hop = 0, last_hop = 0;
    double cap = 0;
    double rate = 0;
    int flows = 0;
    int bottleneck = none;    ///< none: the cap limits the rate
    bool is_unfixed = false;  ///< the rate is not known yet
    std::uint64_t round = 0;  ///< number of the solve() that fixed the rate
    std::vector<int> crossings = {};
  };
  struct Crossing {
    Use use;
    int flow_class = none;
    std::size_t place_on_link = 0, place_in_class = 0;
  };
  /// Weights are sums of flows * times over classes and crossings.
  struct Link {
    double capacity = 0;
    double share = 0;                      ///< fair share: rate of the flows with their bottleneck here
    double bottlenecked = 0;               ///< weight of classes with their bottleneck here
    double unfixed = 0;                    ///< weight of unfixed classes
    double elsewhere = 0;                  ///< bytes per second of classes with another bottleneck
    double fastest_elsewhere = 0;          ///< no class with another bottleneck is faster
    int elsewhere_count = 0;               ///< classes and crossings with another bottleneck
    std::size_t bottlenecked_members = 0;  ///< members with their bottleneck here
    bool is_touched = false;
    bool is_to_check = false;
    std::vector<Member> members;
    std::vector<int> crossings;
  };

  [[nodiscard]] static double share_of(const Link& link) {
    return (link.capacity - link.elsewhere) / (link.bottlenecked + link.unfixed);
  }
  [[nodiscard]] std::span<Hop> hops_of(const FlowClass& flow_class) {
    return {hops_.data() + flow_class.first_hop, flow_class.last_hop - flow_class.first_hop};
  }
  [[nodiscard]] FlowClass& class_of(const Member& member) {
    return classes_[static_cast<std::size_t>(member.flow_class)];
  }
  [[nodiscard]] double rate_of_crossing(int crossing) const {
    return rate(crossings_[static_cast<std::size_t>(crossing)].flow_class);
  }
  [[nodiscard]] bool may_unfix(const FlowClass& flow_class) const {
    return !flow_class.is_unfixed && flow_class.round != round_;
  }

  void touch(int link);
  void queue_touched();
  void join(int flow_class);
  void leave(int flow_class);
  void add_rate(const Crossing& crossing);
  void take_rate(const Crossing& crossing);
  void unfix_crossings(const FlowClass& flow_class);
  void check(const Link& link);
  void unfix(int flow_class);
  void fix(int flow_class, double rate, int bottleneck);
  void visit(int link);
  bool unfix_bottlenecked(Link& link);
  bool unfix_faster(Link& link, double share);
  bool fix_capped(Link& link, double share);
  void fix_at_share(int link, double share);
  void exchange(Link& link, std::size_t place, std::size_t other);

  std::vector<Link> links_;
  std::vector<FlowClass> classes_;
  std::vector<Hop> hops_;
  std::vector<int> touched_;
  std::vector<int> changed_;
  std::vector<Crossing> crossings_;
  std::vector<int> to_check_;  ///< links
  std::vector<int> exceeding_;
  IndexedHeap queue_;  ///< links whose flows may get other rates, by the lowest rate that may be given next
  std::uint64_t round_ = 0;
};

}  // namespace trainyard::engine
