#include "report/timeline_chart.hpp"

#include "run/timeline_tracks.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
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

/// The bars of a rank in the order of their starts.
std::vector<const TimelineEvent*> bars_in_order(const Step& step, Rank rank) {
  std::vector<const TimelineEvent*> bars;
  for (const TimelineEvent& bar : step.bars) {
    if (bar.rank == rank && bar.stream != Stream::launch) bars.push_back(&bar);
  }
  std::ranges::stable_sort(bars, {}, [](const TimelineEvent* bar) { return bar->start; });
  return bars;
}

struct IdleTime {
  Seconds start, end;
};

/// When no pass and no kernel runs, in order.
std::vector<IdleTime> idle_times(const std::vector<const TimelineEvent*>& bars, Seconds end) {
  std::vector<IdleTime> idle;
  Seconds busy_until;
  for (const TimelineEvent* bar : bars) {
    if (bar->op < 0) continue;
    if (bar->start > busy_until) idle.push_back({busy_until, bar->start});
    busy_until = std::max(busy_until, bar->end);
  }
  if (end > busy_until) idle.push_back({busy_until, end});
  return idle;
}

/// The parts of the idle times during which a collective runs.
Columns exposed_columns(const std::vector<const TimelineEvent*>& bars, int width, Seconds whole) {
  Columns exposed(width, whole);
  const std::vector<IdleTime> idle = idle_times(bars, whole);
  auto next = idle.begin();
  Seconds counted;  // bars may overlap
  for (const TimelineEvent* bar : bars) {
    if (!bar->is_collective) continue;
    const Seconds start = std::max(bar->start, counted);
    counted = std::max(counted, bar->end);
    while (next != idle.end() && next->end <= start) ++next;
    for (auto one = next; one != idle.end() && one->start < bar->end; ++one)
      exposed.add(std::max(start, one->start), std::max(start, std::min(bar->end, one->end)));
  }
  return exposed;
}

/// Chooses one letter for each column so that their numbers are in proportion to the times.
class Letters {
public:
  static constexpr std::string_view all = "fbo-.";
  using Shares = std::array<double, all.size()>;

  /// `shares` of a column add up to 1.
  char next(const Shares& shares) {
    constexpr double least = 0.05;  // of a column, so that a letter stands where something happens
    std::size_t best = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      due_[i] += shares[i];
      const bool is_better = shares[best] < least || due_[i] > due_[best];
      if (shares[i] >= least && is_better) best = i;
    }
    due_[best] -= 1;
    return all[best];
  }

private:
  Shares due_{};
};

/// Of an op, or of a replayed pass.
Phase phase_of(const Step& step, const TimelineEvent& bar) {
  return is_pass(bar) ? step.plan.graph.segments[at(bar.segment)].phase : op_of(step, bar).phase;
}

}  // namespace

std::string stage_chart(const Run& run, const ClassStep& one, int width) {
  const auto size = static_cast<std::size_t>(width);
  std::string chart(size, ' ');
  const Seconds whole = run.pace.time;
  if (whole.si() <= 0) return chart;
  const std::vector<const TimelineEvent*> bars = bars_in_order(step_of(run), one.first);
  std::vector<Columns> phases(3, Columns(width, whole));
  for (const TimelineEvent* bar : bars) {
    if (bar->op >= 0)
      phases.at(static_cast<std::size_t>(phase_of(step_of(run), *bar))).add(bar->start, bar->end);
  }
  const Columns exposed = exposed_columns(bars, width, whole);
  Letters letters;
  for (std::size_t i = 0; i < size; ++i) {
    const double f = phases[0][i];
    const double b = phases[1][i];
    const double o = phases[2][i];
    chart[i] = letters.next({f, b, o, exposed[i], std::max(0.0, 1 - f - b - o - exposed[i])});
  }
  return chart;
}

TimelineChart timeline_chart(const Run& run, const ClassStep& one, int width) {
  const auto size = static_cast<std::size_t>(width);
  TimelineChart chart{.compute = std::string(size, ' '), .communication = std::string(size, ' ')};
  if (run.pace.time.si() <= 0) return chart;

  constexpr std::array letters{'f', 'b', 'o', 'd'};
  std::array<Columns, letters.size()> phases{Columns(width, run.pace.time), Columns(width, run.pace.time),
                                             Columns(width, run.pace.time), Columns(width, run.pace.time)};
  for (const OpRow& row : one.ops) phases.at(static_cast<std::size_t>(row.phase)).add(row.start, row.end);
  const Seconds own = step_of(run).timeline.makespan;
  if (run.input) phases.back().add(own, own + run.input->loading.kernels);
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
