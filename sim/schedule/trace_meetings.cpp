#include "schedule/trace_meetings.hpp"

#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

/// The ranks' places in the groups of an axis.
class AxisPlaces {
public:
  AxisPlaces(const Grid& grid, Axis axis)
      : groups_(trainyard::groups(grid, axis)), group_of_(at(rank_count(grid))), place_of_(group_of_.size()) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      for (std::size_t place = 0; place < groups_[group].size(); ++place) {
        group_of_[at(index(groups_[group][place]))] = group;
        place_of_[at(index(groups_[group][place]))] = static_cast<int>(place);
      }
    }
  }

  [[nodiscard]] const RankGroups& all() const { return groups_; }
  [[nodiscard]] std::size_t group_of(int rank) const { return group_of_[at(rank)]; }
  [[nodiscard]] int place_of(int rank) const { return place_of_[at(rank)]; }
  [[nodiscard]] const std::vector<Rank>& members(int rank) const { return groups_[group_of(rank)]; }

  /// Empty if the group has no such place.
  [[nodiscard]] std::optional<int> peer_of(int rank, const Peer& peer) const {
    const auto size = static_cast<int>(members(rank).size());
    int place = peer.place;
    if (peer.is_relative)
      place = ((place_of(rank) + place) % size + size) % size;
    else if (place < 0 || place >= size)
      return std::nullopt;
    return index(members(rank)[at(place)]);
  }

private:
  RankGroups groups_;
  std::vector<std::size_t> group_of_;
  std::vector<int> place_of_;
};

/// Ends of messages of a class that have the same peer.
struct Relation {
  bool sends = true;
  Axis axis{};
  Peer peer;
  friend bool operator==(const Relation&, const Relation&) = default;
};

/// The relations of a rank that have the same peer, ascending.
struct RelationsTo {
  std::vector<int> sent, received;
};

/// "send of 1000 B", "all_reduce of 1000 B".
std::string what_of(const Launch& launch) {
  const std::string name = launch.message ? (launch.message->sends ? "send" : "recv")
                                          : std::string(config::name_of(launch.operation));
  return fmt::format("{} of {} B", name, shortest(launch.size.si()));
}

class Matching {
public:
  Matching(std::span<const RankClass> classes, std::span<const std::vector<Launch>> launches,
           const Grid& grid)
      : classes_(classes), launches_(launches), class_of_(at(rank_count(grid))), places_on_(classes.size()) {
    for (std::size_t i = 0; i < classes.size(); ++i) {
      for (const Rank rank : classes[i].ranks) class_of_[at(index(rank))] = static_cast<int>(i);
      add_relations(i, grid);
    }
    find_peers();
  }

  TraceMeetings found() {
    do {
      refine();
    } while (has_messages_among_alike());
    make_kinds();
    match_collectives();
    match_messages();
    if (!errors_.empty()) throw InputError(std::move(errors_));
    number_in_order();
    return std::move(made_);
  }

private:
  static constexpr std::size_t most_errors = 10;

  void add_relations(std::size_t number, const Grid& grid) {
    relations_.emplace_back();
    relation_of_.emplace_back();
    axes_.emplace_back();
    for (const Launch& launch : launches_[number]) {
      axis_places_.try_emplace(launch.axis, grid, launch.axis);
      if (!launch.message) {
        axes_.back().insert(launch.axis);
        if (has_root(launch.operation)) places_on_[number].insert(launch.axis);
        relation_of_.back().push_back(-1);
        continue;
      }
      const Relation relation{launch.message->sends, launch.axis, launch.message->peer};
      const auto known = std::ranges::find(relations_.back(), relation);
      relation_of_.back().push_back(static_cast<int>(known - relations_.back().begin()));
      if (known == relations_.back().end()) relations_.back().push_back(relation);
    }
  }

  [[nodiscard]] const AxisPlaces& places(Axis axis) const { return axis_places_.at(axis); }

  void find_peers() {
    peers_.resize(class_of_.size());
    relations_to_.resize(class_of_.size());
    for (int rank = 0; at(rank) < class_of_.size(); ++rank) {
      const auto number = at(class_of_[at(rank)]);
      for (std::size_t i = 0; i < relations_[number].size(); ++i) add_peer(rank, number, static_cast<int>(i));
    }
  }

  void add_peer(int rank, std::size_t number, int relation) {
    const int peer = checked_peer(rank, number, relation);
    peers_[at(rank)].push_back(peer);
    RelationsTo& to = relations_to_[at(rank)][peer];
    (relations_[number][at(relation)].sends ? to.sent : to.received).push_back(relation);
  }

  int checked_peer(int rank, std::size_t number, int relation) {
    const Relation& chosen = relations_[number][at(relation)];
    const auto found = places(chosen.axis).peer_of(rank, chosen.peer);
    if (found && *found != rank) return *found;
    const auto first = std::ranges::find(relation_of_[number], relation) - relation_of_[number].begin();
    Diagnostic error = place_of(classes_[number], launches_[number][at(static_cast<int>(first))]);
    const std::size_t size = places(chosen.axis).members(rank).size();
    error.key_path = "peer";
    error.message =
        found ? fmt::format("the peer of rank {} is the rank itself", rank)
              : fmt::format("the group of rank {} has {}, but none at place {}", rank,
                            plural(std::ssize(places(chosen.axis).members(rank)), "rank"), chosen.peer.place);
    error.hint = class_of_.size() == 1 ? "gpus: 2 or more, or a trace without messages"
                 : size == 1 ? fmt::format("groups '{}' have one rank: name other groups in column 'group'",
                                           config::name_of(chosen.axis))
                             : fmt::format("peer: 0 to {}, or +1", size - 1);
    throw InputError({std::move(error)});
  }

  /// The relations by which `rank` does this with messages of `other`.
  [[nodiscard]] const std::vector<int>& relations_to(int rank, int other, bool sends) const {
    static const std::vector<int> none;
    const auto found = relations_to_[at(rank)].find(other);
    if (found == relations_to_[at(rank)].end()) return none;
    return sends ? found->second.sent : found->second.received;
  }

  /// Divides ranks until those of one kind meet the same kinds: the usual refinement of colours of a graph.
  void refine() {
    kind_of_ = class_of_;
    for (std::size_t count = 0;;) {
      std::map<std::vector<int>, int> kinds;
      std::vector<int> next;
      const std::map<Axis, std::vector<int>> groups = kinds_of_groups();
      for (int rank = 0; at(rank) < class_of_.size(); ++rank) {
        const auto number = static_cast<int>(kinds.size());
        next.push_back(kinds.try_emplace(signature(rank, groups), number).first->second);
      }
      kind_of_ = std::move(next);
      if (kinds.size() == count) return;
      count = kinds.size();
    }
  }

  /// By axis and group: a number of the kinds of its ranks.
  [[nodiscard]] std::map<Axis, std::vector<int>> kinds_of_groups() const {
    std::map<Axis, std::vector<int>> all;
    for (const auto& [axis, places] : axis_places_) {
      std::map<std::vector<int>, int> known;
      for (const std::vector<Rank>& group : places.all()) {
        const auto number = static_cast<int>(known.size());
        all[axis].push_back(known.try_emplace(kinds_in(group), number).first->second);
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<int> kinds_in(const std::vector<Rank>& group) const {
    std::vector<int> kinds;
    for (const Rank rank : group) kinds.push_back(kind_of_[at(index(rank))]);
    std::ranges::sort(kinds);
    return kinds;
  }

  [[nodiscard]] std::vector<int> signature(int rank, const std::map<Axis, std::vector<int>>& groups) const {
    constexpr int end = -1;
    const auto number = at(class_of_[at(rank)]);
    std::vector<int> all{kind_of_[at(rank)]};
    for (const Axis axis : axes_[number]) all.push_back(groups.at(axis)[places(axis).group_of(rank)]);
    for (const Axis axis : places_on_[number]) all.push_back(places(axis).place_of(rank));
    const std::vector<Relation>& relations = relations_[number];
    for (std::size_t i = 0; i < relations.size(); ++i) {
      const int peer = peers_[at(rank)][i];
      all.push_back(kind_of_[at(peer)]);
      for (const std::vector<int>* some :
           {&relations_to(peer, rank, !relations[i].sends), &relations_to(rank, peer, relations[i].sends)}) {
        all.insert(all.end(), some->begin(), some->end());
        all.push_back(end);
      }
    }
    return all;
  }

  /// A rank cannot be both ends of a family of messages: such ranks are told apart by their places.
  bool has_messages_among_alike() {
    bool found = false;
    for (int rank = 0; at(rank) < class_of_.size(); ++rank) {
      const auto number = at(class_of_[at(rank)]);
      for (std::size_t i = 0; i < relations_[number].size(); ++i) {
        if (kind_of_[at(peers_[at(rank)][i])] != kind_of_[at(rank)]) continue;
        found = places_on_[number].insert(relations_[number][i].axis).second || found;
      }
    }
    return found;
  }

  void make_kinds() {
    made_.kinds.resize(at(1 + *std::ranges::max_element(kind_of_)));
    for (int rank = 0; at(rank) < class_of_.size(); ++rank) {
      ReplayKind& kind = made_.kinds[at(kind_of_[at(rank)])];
      kind.rank_class = class_of_[at(rank)];
      kind.ranks.push_back(Rank{rank});
      kind.meeting.assign(launches_[at(kind.rank_class)].size(), -1);
      if (kind.ranks.size() > 1) continue;
      for (const Launch& launch : launches_[at(kind.rank_class)])
        kind.places_ahead.push_back(places_ahead(rank, launch));
    }
  }

  [[nodiscard]] int places_ahead(int rank, const Launch& launch) const {
    if (!launch.message) return 0;
    const Peer& peer = launch.message->peer;
    return peer.is_relative ? peer.place : peer.place - places(launch.axis).place_of(rank);
  }

  [[nodiscard]] const RankClass& class_of(int kind) const {
    return classes_[at(made_.kinds[at(kind)].rank_class)];
  }
  [[nodiscard]] const std::vector<Launch>& launches_of(int kind) const {
    return launches_[at(made_.kinds[at(kind)].rank_class)];
  }
  [[nodiscard]] const Launch& launch_of(MeetingMember member) const {
    return launches_of(member.kind)[at(member.launch)];
  }
  [[nodiscard]] int first_rank(int kind) const { return index(made_.kinds[at(kind)].ranks.front()); }

  void report(MeetingMember where, std::string message, std::string hint) {
    if (errors_.size() >= most_errors) return;
    Diagnostic error = place_of(class_of(where.kind), launch_of(where));
    error.key_path = "communication";
    error.message = std::move(message);
    error.hint = std::move(hint);
    errors_.push_back(std::move(error));
  }

  void add_meeting(int family, bool one_way, std::vector<MeetingMember> members) {
    for (const MeetingMember member : members)
      made_.kinds[at(member.kind)].meeting[at(member.launch)] = static_cast<int>(made_.meetings.size());
    made_.meetings.push_back({family, one_way, std::move(members)});
  }

  void match_collectives() {
    for (const auto& [axis, places] : axis_places_) {
      std::map<std::vector<int>, RankGroups> families;
      for (const std::vector<Rank>& group : places.all()) {
        if (group.size() > 1) families[kinds_in(group)].push_back(group);
      }
      for (auto& [kinds, groups] : families) match_family(axis, kinds, std::move(groups));
    }
  }

  /// The collectives on an axis that a kind launches.
  [[nodiscard]] std::vector<MeetingMember> collectives_of(int kind, Axis axis) const {
    std::vector<MeetingMember> found;
    for (int i = 0; at(i) < launches_of(kind).size(); ++i) {
      const Launch& launch = launches_of(kind)[at(i)];
      if (!launch.message && launch.axis == axis) found.push_back({kind, i});
    }
    return found;
  }

  void match_family(Axis axis, std::vector<int> kinds, RankGroups groups) {
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    std::vector<std::vector<MeetingMember>> sequences;
    for (const int kind : kinds) sequences.push_back(collectives_of(kind, axis));
    const auto longest =
        std::ranges::max_element(sequences, {}, [](const auto& sequence) { return sequence.size(); });
    const std::vector<MeetingMember>& first = *longest;
    if (first.empty()) return;
    const auto family = static_cast<int>(made_.families.size());
    made_.families.push_back(std::move(groups));
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::vector<MeetingMember> members;
      for (std::size_t k = 0; k < sequences.size(); ++k) {
        if (i >= sequences[k].size()) {
          report(first[i],
                 fmt::format("rank {} calls collective {} among the ranks of group '{}' ({}), but rank {} of "
                             "its group calls only {} ({})",
                             first_rank(first[i].kind), i + 1, config::name_of(axis),
                             what_of(launch_of(first[i])), first_rank(kinds[k]), sequences[k].size(),
                             class_of(kinds[k]).file),
                 "all ranks of a group call the same collectives in the same order");
          return;
        }
        if (!are_one(first[i], sequences[k][i])) {
          report(
              first[i],
              fmt::format("collective {} among the ranks of group '{}' is {} for rank {}, but {} for rank {} "
                          "({})",
                          i + 1, config::name_of(axis), what_of(launch_of(first[i])),
                          first_rank(first[i].kind), what_of(launch_of(sequences[k][i])),
                          first_rank(kinds[k]), place_text(class_of(kinds[k]), launch_of(sequences[k][i]))),
              "all ranks of a group call the same collectives in the same order");
          return;
        }
        members.push_back(sequences[k][i]);
      }
      add_meeting(family, false, std::move(members));
    }
  }

  [[nodiscard]] bool are_one(MeetingMember one, MeetingMember other) const {
    return launch_of(one).operation == launch_of(other).operation &&
           launch_of(one).size == launch_of(other).size;
  }

  void match_messages() {
    // by the kinds of sender and receiver, and the relations by which each has the other as a peer
    std::map<std::tuple<int, int, std::vector<int>, std::vector<int>>, RankGroups> families;
    for (int rank = 0; at(rank) < class_of_.size(); ++rank) {
      const std::vector<Relation>& relations = relations_[at(class_of_[at(rank)])];
      for (std::size_t i = 0; i < relations.size(); ++i) {
        const int peer = peers_[at(rank)][i];
        const auto [from, to] = relations[i].sends ? std::pair(rank, peer) : std::pair(peer, rank);
        const std::vector<int>& sent = relations_to(from, to, true);
        const std::vector<int>& received = relations_to(to, from, false);
        const int first = relations[i].sends ? sent.front() : received.front();
        const bool is_repeated = first != static_cast<int>(i) || (!relations[i].sends && !sent.empty());
        if (is_repeated) continue;
        families[{kind_of_[at(from)], kind_of_[at(to)], sent, received}].push_back({Rank{from}, Rank{to}});
      }
    }
    for (auto& [key, pairs] : families) {
      const auto& [from, to, sent, received] = key;
      match_pairs(messages_of(from, sent), messages_of(to, received), std::move(pairs));
    }
  }

  [[nodiscard]] std::vector<MeetingMember> messages_of(int kind, const std::vector<int>& relations) const {
    std::vector<MeetingMember> found;
    const std::vector<int>& own_relations = relation_of_[at(made_.kinds[at(kind)].rank_class)];
    for (int i = 0; at(i) < own_relations.size(); ++i) {
      if (own_relations[at(i)] >= 0 && std::ranges::find(relations, own_relations[at(i)]) != relations.end())
        found.push_back({kind, i});
    }
    return found;
  }

  void match_pairs(const std::vector<MeetingMember>& sent, const std::vector<MeetingMember>& received,
                   RankGroups pairs) {
    const int from = index(pairs.front()[0]);
    const int to = index(pairs.front()[1]);
    const std::size_t both = std::min(sent.size(), received.size());
    const auto family = static_cast<int>(made_.families.size());
    made_.families.push_back(std::move(pairs));
    for (std::size_t i = 0; i < both; ++i) {
      if (launch_of(sent[i]).size != launch_of(received[i]).size) {
        report(sent[i],
               fmt::format("message {} from rank {} to rank {} is a {}, but a {} ({})", i + 1, from, to,
                           what_of(launch_of(sent[i])), what_of(launch_of(received[i])),
                           place_text(class_of(received[i].kind), launch_of(received[i]))),
               "both ends of a message name the same bytes");
        return;
      }
      add_meeting(family, true, {sent[i], received[i]});
    }
    const auto file_of = [&](int rank) { return in_quotes(classes_[at(class_of_[at(rank)])].file); };
    if (sent.size() > both)
      report(sent[both],
             fmt::format("rank {} sends {} to rank {}, which receives {} from it ({})", from,
                         plural(std::ssize(sent), "message"), to, plural(both, "message"), file_of(to)),
             "every send needs a recv of its peer");
    if (received.size() > both)
      report(
          received[both],
          fmt::format("rank {} receives {} from rank {}, which sends {} to it ({})", to,
                      plural(std::ssize(received), "message"), from, plural(both, "message"), file_of(from)),
          "every recv needs a send of its peer");
  }

  /// Meetings are found family by family; readers see them in the order of the traces.
  void number_in_order() {
    std::vector<int> number(made_.meetings.size(), -1);
    std::vector<Meeting> ordered;
    for (ReplayKind& kind : made_.kinds) {
      for (int& meeting : kind.meeting) {
        if (meeting < 0) continue;
        int& new_number = number[at(meeting)];
        if (new_number < 0) {
          new_number = static_cast<int>(ordered.size());
          ordered.push_back(std::move(made_.meetings[at(meeting)]));
        }
        meeting = new_number;
      }
    }
    made_.meetings = std::move(ordered);
  }

  std::span<const RankClass> classes_;
  std::span<const std::vector<Launch>> launches_;
  std::vector<int> class_of_;                     ///< by rank
  std::vector<std::set<Axis>> places_on_;         ///< by class: axes on which ranks differ by their places
  std::vector<std::set<Axis>> axes_;              ///< by class: of its collectives
  std::vector<std::vector<Relation>> relations_;  ///< by class
  std::vector<std::vector<int>> relation_of_;     ///< by class and launch; -1: a collective
  std::map<Axis, AxisPlaces> axis_places_;
  std::vector<std::vector<int>> peers_;                   ///< by rank and relation of its class
  std::vector<std::map<int, RelationsTo>> relations_to_;  ///< by rank and peer
  std::vector<int> kind_of_;                              ///< by rank
  TraceMeetings made_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

TraceMeetings trace_meetings(std::span<const RankClass> classes,
                             std::span<const std::vector<Launch>> launches, const Grid& grid) {
  return Matching(classes, launches, grid).found();
}

Diagnostic place_of(const RankClass& one, const Launch& launch) {
  Diagnostic place;
  place.file = one.file;
  place.column = 1;
  place.line = launch.op < 0 ? 0 : one.trace.ops[at(launch.op)].line.number;
  return place;
}

std::string place_text(const RankClass& one, const Launch& launch) {
  const Diagnostic place = place_of(one, launch);
  return place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

}  // namespace trainyard
