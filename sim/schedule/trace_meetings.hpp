#pragma once
// Which ranks meet in the collectives and messages that their traces name: the i-th collective of a group is
// the i-th that each of its ranks launches, the i-th message from one rank to another is the i-th that the
// one sends and the i-th that the other receives.

#include "schedule/launches.hpp"
#include "strategy/grid.hpp"
#include "strategy/rank_class.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// Ranks of one class that meet ranks of the same kinds everywhere: they do everything at the same dates.
struct ReplayKind {
  int rank_class = 0;       ///< index in the classes
  std::vector<Rank> ranks;  ///< ascending
  /// By launch of the class: index of the meeting; -1: the rank is alone in its group.
  std::vector<int> meeting;
  /// By launch: how many places the peer of a message is ahead in the group, below 0 if it is behind; 0: no
  /// message.
  std::vector<int> places_ahead;
};

/// The launch of a kind that takes part in a meeting.
struct MeetingMember {
  int kind = 0;
  int launch = 0;  ///< index in the launches of its class
};

struct Meeting {
  int family = 0;                      ///< index of its groups
  bool one_way = false;                ///< a message: each group is a sender and its receiver
  std::vector<MeetingMember> members;  ///< one for each kind that takes part; of a message the sender first
};

struct TraceMeetings {
  std::vector<ReplayKind> kinds;     ///< in the order of their first ranks
  std::vector<RankGroups> families;  ///< groups of the same kinds of ranks, which meet at the same time
  std::vector<Meeting> meetings;     ///< in the order of the launches of the first kind that takes part
};

/// `launches`: by class. Throws InputError, at the lines of the traces, for ranks of a group that launch
/// other collectives than the first of them (operation, size, or number), messages without a receiver or a
/// sender, ends of a message with different sizes, and peers that do not exist or are the rank itself.
TraceMeetings trace_meetings(std::span<const RankClass> classes,
                             std::span<const std::vector<Launch>> launches, const Grid& grid);

/// The place of a launch in its trace's file, for diagnostics: file and line.
Diagnostic place_of(const RankClass& one, const Launch& launch);

/// "a.csv:3".
std::string place_text(const RankClass& one, const Launch& launch);

}  // namespace trainyard
