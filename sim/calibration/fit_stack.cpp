#include "calibration/fit_stack.hpp"

#include "published/predict_cases.hpp"
#include "run/child_processes.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace trainyard {
namespace {

/// The reason why the row cannot be fitted to; empty if it can.
std::string reason_against(const PublishedRow& row) {
  if (row.gpus_total > 1) return "several GPUs (only runs on one GPU are fitted)";
  if (row.split != "calibrate") return "kept for validation (column split)";
  if (row.clean == "no") return "incomplete or contradictory source (column clean)";
  return {};
}

/// "one_gpu.csv lines 3, 4": where the rows are.
std::string rows_text(const std::vector<FittedRun>& runs) {
  std::map<std::string, std::string> lines;
  for (const FittedRun& fitted : runs) {
    std::string& numbers = lines[std::filesystem::path(fitted.run.row->file).filename().string()];
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(fitted.run.row->line);
  }
  std::string text;
  for (const auto& [file, numbers] : lines)
    text += (text.empty() ? "" : "; ") +
            fmt::format("{} line{} {}", file, numbers.find(',') == std::string::npos ? "" : "s", numbers);
  return text;
}

}  // namespace

StackFit fit_stack(const config::Catalogue& catalogue, const std::shared_ptr<const PublishedData>& data,
                   const std::string& stack, int parallel) {
  if (config::is_path(stack))
    throw InputError("the rules know stacks by name, not by path",
                     "write 'calibrate stack " + std::filesystem::path(stack).stem().string() + "'");
  StackFit fit{.stack = load_stack(config::load(config::find(catalogue, config::Kind::stack, stack))),
               .runs = {},
               .excluded = {}};
  std::vector<Case> runs;
  for (const PublishedRow& row : data->rows) {
    if (const std::string reason = reason_against(row); !reason.empty()) {
      ++fit.excluded[reason];
      continue;
    }
    auto run = case_of(data, row);
    if (const auto* reason = std::get_if<std::string>(&run)) {
      ++fit.excluded[*reason];
    } else if (std::get<Case>(run).stack->stack != fit.stack.name) {
      ++fit.excluded["another stack"];
    } else {
      runs.push_back(std::get<Case>(std::move(run)));
    }
  }
  const auto solve = [&](int i) {
    try {
      const OneRun solved = solve_one_run(catalogue, runs[at(i)]);
      return packed({solved.measured, solved.predicted, solved.scale.value_or(0)});
    } catch (const InputError&) {
      return packed({0, 0, 0});
    } catch (const JobImpossible&) {
      return packed({0, 0, 0});
    }
  };
  const std::vector<std::string> solved = in_children(static_cast<int>(runs.size()), parallel, solve);
  std::vector<double> scales;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<double> numbers = unpacked(solved[i]);
    if (numbers[2] <= 0) {
      ++fit.excluded["no compute scale reproduces the run, or it cannot be simulated"];
      continue;
    }
    fit.runs.push_back(
        {.run = runs[i], .measured = numbers[0], .predicted = numbers[1], .scale = numbers[2]});
    scales.push_back(numbers[2]);
  }
  if (fit.runs.empty()) {
    throw InputError(fmt::format("no published one-GPU run of {} can be fitted to", fit.stack.name),
                     "needed are runs with split 'calibrate' and gpus_total 1 that the rules in "
                     "workloads/published/runs cover");
  }
  const double scale = geometric_mean(scales);
  for (FittedRun& fitted : fit.runs) fitted.error = fitted.scale / scale - 1;
  Sourced<double>& fitted = fit.stack.compute_scale;
  fitted.value *= scale;
  fitted.provenance = Provenance::fitted;
  fitted.source = fmt::format("trainyard calibrate stack: {} run{} on one GPU, {}", fit.runs.size(),
                              fit.runs.size() == 1 ? "" : "s", rows_text(fit.runs));
  return fit;
}

}  // namespace trainyard
