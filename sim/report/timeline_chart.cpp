#include "report/timeline_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace trainyard {

namespace {

/// The fraction of each column for which a stream is busy.
class Columns {
public:
  Columns(int width, Seconds whole)
      : busy_(static_cast<std::size_t>(width), 0.0), width_(width), whole_(whole) {}

  void add(Seconds start, Seconds end) {
    const double from = std::clamp(start / whole_, 0.0, 1.0) * width_;
    const double to = std::clamp(end / whole_, 0.0, 1.0) * width_;
    for (int column = static_cast<int>(from); column < width_ && column < to; ++column) {
      busy_[static_cast<std::size_t>(column)] += std::min(to, column + 1.0) - std::max(from, double(column));
    }
  }

  [[nodiscard]] double operator[](std::size_t column) const { return busy_[column]; }

private:
  std::vector<double> busy_;
  int width_;
  Seconds whole_;
};

/// Smaller fractions of a column are rounding errors.
constexpr double visible = 1e-6;

}  // namespace

TimelineChart timeline_chart(const Run& run, const ClassStep& one, int width) {
  const auto size = static_cast<std::size_t>(width);
  TimelineChart chart{.compute = std::string(size, ' '), .communication = std::string(size, ' ')};
  if (run.pace.time.si() <= 0) return chart;

  constexpr std::array letters{'f', 'b', 'o'};
  std::array<Columns, letters.size()> phases{Columns(width, run.pace.time), Columns(width, run.pace.time),
                                             Columns(width, run.pace.time)};
  for (const OpRow& row : one.ops) phases.at(static_cast<std::size_t>(row.phase)).add(row.start, row.end);
  Columns communication(width, run.pace.time);
  for (const CollectiveRow& row : step_of(run).collectives) communication.add(row.start, row.end);

  for (std::size_t column = 0; column < size; ++column) {
    std::size_t most = 0;
    double busy = 0;
    for (std::size_t phase = 0; phase < letters.size(); ++phase) {
      busy += phases.at(phase)[column];
      if (phases.at(phase)[column] > phases.at(most)[column]) most = phase;
    }
    chart.compute[column] = busy > 0.5 ? letters.at(most) : '.';
    if (communication[column] > visible)
      chart.communication[column] = communication[column] > 0.5 ? '=' : '-';
  }
  return chart;
}

}  // namespace trainyard
