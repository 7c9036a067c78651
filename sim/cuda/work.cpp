#include "work.hpp"

#include "csv_line.hpp"
#include "exit_code.hpp"

#include <map>
#include <string>

namespace trainyard::cuda {
namespace {

/// Expected times of rows, by op, from the measured ones: a convolution takes far longer than a launch.
class RowTimes {
public:
  void add(const std::string& op, double seconds) {
    by_op_[op].add(seconds);
    all_.add(seconds);
  }

  /// 0 before the first row.
  [[nodiscard]] double of(const std::string& op) const {
    const auto found = by_op_.find(op);
    return found == by_op_.end() ? all_.mean() : found->second.mean();
  }

  [[nodiscard]] bool known() const { return all_.count > 0; }

private:
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
    [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / count; }
  };
  std::map<std::string, Mean> by_op_;
  Mean all_;
};

/// One pass over the plan.
class Work {
public:
  /// `before`: rows of the plan already recorded.
  Work(Recording& recording, const WorkOptions& options, Progress& progress, std::vector<const PlanRow*> rows,
       std::size_t before)
      : recording_(recording),
        options_(options),
        progress_(progress),
        rows_(std::move(rows)),
        before_(before) {}

  WorkResult run() {
    for (; next_ < rows_.size(); ++next_) {
      const PlanRow& row = *rows_[next_];
      if (options_.interrupted()) return end(WorkEnd::interrupted);
      const double began = options_.now();
      if (began + times_.of(row.request.op) > options_.seconds) return end(WorkEnd::time_up);
      show(times_.known() ? seconds_left() : -1, describe(row.request));
      if (!measure(row)) return end(WorkEnd::gpu_lost);
      times_.add(row.request.op, options_.now() - began);
    }
    show(0, "");
    return end(WorkEnd::done);
  }

private:
  void show(double seconds_left, const std::string& current) {
    progress_.update(before_ + next_, before_ + rows_.size(), seconds_left, current);
  }

  /// False if the GPU is lost.
  bool measure(const PlanRow& row) {
    const std::string name = describe(row.request);
    const std::string place = " (line " + std::to_string(row.line) + " of the plan)";
    try {
      const Outcome outcome = options_.measure(row.request);
      if (const auto* skipped = std::get_if<Skipped>(&outcome)) {
        progress_.message("skipped: " + name + ": " + skipped->reason);
        ++result_.skipped;
      } else {
        recording_.append(row.request, std::get<Measurement>(outcome));
        ++result_.measured;
      }
    } catch (const WrongResult& error) {
      progress_.message("wrong result: " + name + ": " + error.what() + "; not recorded" + place);
      ++result_.wrong;
    } catch (const MeasurementFailed& error) {
      progress_.message("failed: " + name + ": " + error.what() + "; not recorded" + place);
      ++result_.wrong;
    } catch (const GpuLost& error) {
      progress_.message("failed, and the GPU with it: " + name + ": " + error.what());
      progress_.message("to go on with the other rows, repeat the command with --skip " +
                        std::to_string(row.line));
      ++result_.wrong;
      return false;
    }
    return true;
  }

  [[nodiscard]] double seconds_left() const {
    double seconds = 0;
    for (std::size_t i = next_; i < rows_.size(); ++i) seconds += times_.of(rows_[i]->request.op);
    return seconds;
  }

  WorkResult end(WorkEnd how) {
    result_.end = how;
    result_.left = static_cast<int>(rows_.size() - next_) - (how == WorkEnd::gpu_lost ? 1 : 0);
    return result_;
  }

  Recording& recording_;
  const WorkOptions& options_;
  Progress& progress_;
  std::vector<const PlanRow*> rows_;
  std::size_t before_;
  std::size_t next_ = 0;
  RowTimes times_;
  WorkResult result_;
};

std::string rows_text(int count) { return std::to_string(count) + (count == 1 ? " row" : " rows"); }

}  // namespace

WorkResult work_through(const std::vector<PlanRow>& plan, Recording& recording, const WorkOptions& options,
                        Progress& progress) {
  std::vector<const PlanRow*> rows;
  std::set<std::string> seen;  // a plan may name a row twice, once for each model that uses it
  int recorded_before = 0;
  int left_out = 0;
  for (const PlanRow& row : plan) {
    if (!seen.insert(to_csv(row.request)).second) continue;
    if (recording.has(row.request)) {
      ++recorded_before;
    } else if (options.left_out.count(row.line) > 0) {
      ++left_out;
    } else {
      rows.push_back(&row);
    }
  }
  WorkResult result =
      Work(recording, options, progress, std::move(rows), static_cast<std::size_t>(recorded_before)).run();
  result.recorded_before = recorded_before;
  result.skipped += left_out;
  return result;
}

std::string summary(const WorkResult& result) {
  std::string text = rows_text(result.measured) + " measured";
  if (result.recorded_before > 0) text += ", " + std::to_string(result.recorded_before) + " recorded before";
  if (result.skipped > 0) text += ", " + std::to_string(result.skipped) + " skipped";
  if (result.wrong > 0) text += ", " + std::to_string(result.wrong) + " wrong";
  if (result.left == 0) return text;
  const std::string left = rows_text(result.left) + (result.left == 1 ? " is left" : " are left");
  switch (result.end) {
    case WorkEnd::done:
      return text;
    case WorkEnd::time_up:
      return text + "; time is up and " + left + ": the same command goes on";
    case WorkEnd::interrupted:
      return text + "; interrupted and " + left + ": the same command goes on";
    case WorkEnd::gpu_lost:
      return text + "; " + left;
  }
  return text;
}

int exit_code(const WorkResult& result) {
  switch (result.end) {
    case WorkEnd::interrupted:
      return exit_interrupted;
    case WorkEnd::time_up:
      return exit_rows_left;
    case WorkEnd::gpu_lost:
      return exit_wrong_result;
    case WorkEnd::done:
      break;
  }
  return result.wrong > 0 ? exit_wrong_result : exit_done;
}

}  // namespace trainyard::cuda
