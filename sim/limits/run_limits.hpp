#pragma once
// Time and memory that the user allows a command: --max-time and --max-memory. Work that would exceed them
// is refused before it begins; a process that exceeds them anyway is ended.

#include "limits/forecast.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

struct RunLimits {
  std::optional<Seconds> time = {};  ///< of the command; of a sweep, of each point
  std::optional<Bytes> memory = {};  ///< resident memory of each process
  bool are_of_points = false;        ///< a sweep: time begins anew with every point
  bool simulates = true;  ///< false: of ops the command only makes a list, `Work::simulated_ops` cost nothing
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

/// Says that this work is about to begin. Announces it once all work so far makes more than 10 s or 1 GB,
/// and again at more than three times what was announced.
/// `instead`: what would be quicker, or empty. Throws JobImpossible if it exceeds a limit; without a limit,
/// if it would take more than this computer's memory or more than a week. Without LimitsKept it does nothing.
void expect(Work work, std::string_view instead = {});

/// From now on expect() announces and refuses nothing, and the watch alone keeps the limits: for commands
/// that have said what all of their parts cost, and whose parts may fail, so that a refused part would be
/// taken for a result.
void expect_no_more();

/// From now on the command itself ends long work and answers with its results so far: expect() keeps no time,
/// and the watch only the memory of child processes.
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
