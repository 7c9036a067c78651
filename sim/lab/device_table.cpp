#include "config/keys.hpp"
#include "lab/calibration_tables.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using Line = std::pair<std::string, std::string>;  // label, value

/// The same kernel alone; null if it was not recorded.
const RecordedKernel* find_alone(const Recording& recording, const RecordedKernel& overlapped) {
  const bool is_gemm = overlapped.variant.starts_with("gemm");
  const auto found = std::ranges::find_if(recording.rows, [&](const RecordedKernel& row) {
    return row.op == (is_gemm ? "gemm" : "elementwise") && (is_gemm || row.variant == "add") &&
           row.dtype == overlapped.dtype && row.shape == overlapped.shape;
  });
  return found == recording.rows.end() ? nullptr : &*found;
}

std::string launch_meaning(const std::string& variant) {
  return variant == "latency" ? "launch and end of an empty kernel"
         : variant == "rate"  ? "per empty kernel, back to back"
                              : "per empty kernel in a CUDA graph";
}

/// "gemm h2d": "gemm with concurrent h2d copies".
std::string beside(const std::string& variant) {
  const std::size_t blank = variant.find(' ');
  return variant.substr(0, blank) + " with concurrent" + variant.substr(std::min(blank, variant.size())) +
         " copies";
}

/// A transfer's rate; only the largest of each kind is listed.
void add_largest_transfers(std::vector<Line>& lines, const Recording& recording) {
  std::map<std::string, const RecordedKernel*> largest;
  for (const RecordedKernel& row : recording.rows) {
    if (row.op != "copy" && row.op != "all_reduce") continue;
    const RecordedKernel*& best = largest[row.op + " " + row.variant];
    if (best == nullptr || best->bytes < row.bytes) best = &row;
  }
  for (const auto& [what, row] : largest) {
    lines.emplace_back(what, fmt::format("{} ({})", estimate(row->bytes / row->time), exact(row->bytes)));
  }
}

}  // namespace

std::string device_table(const Recording& recording, const PrintStyle& style) {
  std::vector<Line> lines;
  for (const RecordedKernel& row : recording.rows) {
    if (row.op == "launch") lines.emplace_back(launch_meaning(row.variant), estimate(row.time));
  }
  add_largest_transfers(lines, recording);
  for (const RecordedKernel& row : recording.rows) {
    if (row.op == "overlap") {
      if (const RecordedKernel* alone = find_alone(recording, row)) {
        const std::string dtype = row.dtype ? std::string(config::name_of(*row.dtype)) : std::string();
        lines.emplace_back(fmt::format("{} {}", dtype, beside(row.variant)),
                           fmt::format("{:.2f} times as long", row.time / alone->time));
      }
    }
    if (row.op == "power" && row.power) lines.emplace_back("power, " + row.variant, estimate(*row.power));
  }
  if (lines.empty()) return {};
  Table table({text_column().wraps(20), text_column()}, {.indent = 0, .gap = 2});
  for (const auto& [what, value] : lines) table.row(what, value);
  return "Other measurements (profiles do not use them yet):\n\n" + table.text(style.width) + "\n";
}

}  // namespace trainyard
