#pragma once
// The stored result of a finished point, or of a failed one.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// How a point ended: with figures; wrong on any hardware; valid but impossible on its machine; or a file
/// could not be read.
enum class PointStatus { done, wrong, impossible, unreadable };

/// By status: its name in sweep.db and before reasons, and the exit code of a run of the point alone.
inline constexpr std::array<std::string_view, 4> status_names{"done", "wrong", "impossible", "unreadable"};
inline constexpr std::array<int, 4> status_exit_codes{0, 3, 4, 5};

constexpr std::string_view name_of(PointStatus status) {
  return status_names[static_cast<std::size_t>(status)];
}
constexpr int exit_code_of(PointStatus status) { return status_exit_codes[static_cast<std::size_t>(status)]; }

struct SweepRow {
  std::size_t point = 0;
  PointStatus status = PointStatus::done;
  std::string reason;                          ///< reason of a failure, on one line
  std::vector<std::optional<double>> figures;  ///< for a point that is done, in the order of their names
};

}  // namespace trainyard
