#pragma once
// Time and memory that the user allows a command: --max-time and --max-memory. A process that exceeds them is
// ended. Plain counts say before work begins where it takes minutes or gigabytes.

#include "units/quantity.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

struct RunLimits {
  std::optional<Seconds> time = {};  ///< of the command; of a sweep, of each point
  std::optional<Bytes> memory = {};  ///< resident memory of each process
  bool are_of_points = false;        ///< a sweep: time begins anew with every point
  bool simulates = true;             ///< false: the command only lists ops
};

/// From now on this process keeps the limits and announces long work, until the returned object ends. One at
/// a time.
class LimitsKept {
public:
  /// `announce` gets the text of a note. Empty: nothing is announced.
  LimitsKept(const RunLimits& limits, std::function<void(const std::string&)> announce);
  ~LimitsKept();
  LimitsKept(const LimitsKept&) = delete;
  LimitsKept& operator=(const LimitsKept&) = delete;
};

/// Announces `count` things that are about to be simulated one by one: "messages". A note tells if they take
/// minutes (30 million of them) or gigabytes (`each`: bytes that the process keeps for each). `instead`: a
/// quicker way, or empty. Throws JobImpossible if they take more than --max-memory or, without it, more than
/// this computer has; or, without --max-time, more than about a week (100 billion). Without LimitsKept it
/// does nothing.
void expect(double count, std::string_view things, Bytes each, std::string_view instead);

/// As expect(), for the ops of a step in all micro-batches: 220 bytes each to list, 3,100 to simulate
/// with their rows and bars. Measured in November 2026 over `accumulation` 1,024 to 16,384.
void expect_ops(double count, std::string_view instead);

/// From now on the command itself ends long work and answers with its results so far: the watch keeps only
/// the memory of child processes.
void leave_limits_to_children();

/// Exit codes of a child process that exceeded a limit: nobody else sees them.
inline constexpr int exit_over_time = 124;
inline constexpr int exit_over_memory = 125;

/// In a child process that has just been forked: its parent announces, and tells of its end.
void keep_limits_in_child();

/// In such a child, before each part of its work.
void begin_part();

/// Whether this is the reason of a job that exceeded a limit, or would have.
bool is_limit_reason(std::string_view reason);

/// The reason for the end of a child with this exit code; empty for another code.
std::string limit_exceeded(int exit_code);

}  // namespace trainyard
