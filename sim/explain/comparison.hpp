#pragma once
// Compares runs: the differences of each from the first, A, and the causes of the change of the step time.
// Takes and returns values only.

#include "accuracy/ratio_error.hpp"
#include "run/run_summary.hpp"
#include "units/known.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

struct ComparedFigure {
  const Figure* figure = nullptr;  ///< from the table
  std::optional<double> a, b;
  std::optional<double> difference;  ///< b - a
  std::optional<double> ratio;       ///< b / a; none if a is 0
};

/// Times of A and B in whole units of the twelfth digit of the longer step, so that sums are exact.
struct ComparedTime {
  Seconds a, b, difference;  ///< b - a
};

struct ComparedPart {
  StepPart part{};
  ComparedTime time;
};

struct ComparedCollective {
  std::string name;
  ComparedTime time;
};

/// The exposed collectives with one operation and purpose.
struct ComparedGroup {
  std::string operation;  ///< empty if a run does not list its collectives separately
  std::string purpose;    ///< "gradients", "parameters"
  ComparedTime time;      ///< their sum
  std::vector<ComparedCollective> collectives;
};

/// A key whose values differ between the experiments; none: nothing gives it a value.
struct ComparedKey {
  std::string path;
  std::optional<std::string> a, b;
};

/// Two runs; `b` is any other than the first.
struct Comparison {
  std::string letter = "B";  ///< of the other run, in reports
  RunSummary a, b;
  std::vector<ComparedKey> keys;
  std::vector<ComparedFigure> figures;  ///< those that A or B has
  ComparedTime step;
  std::vector<ComparedPart> parts;    ///< add up to `step`, A, B and the difference
  std::vector<ComparedGroup> groups;  ///< add up to the part `communication`
  double step_ratio = 1;              ///< B's step time over A's
  double throughput_ratio = 1;        ///< B's samples per second over A's
  /// The error of throughput_ratio (comparison_error.hpp), or why it is unknown.
  Known<RatioError> ratio_error = unknown("no published runs were read");
};

/// Throws InputError if the parts of a run do not add up to its step time. If one of them is of many updates,
/// kernels and collectives of both are one part each.
Comparison compare(RunSummary a, RunSummary b);

/// Letters name the runs of a comparison.
inline constexpr std::size_t most_compared_runs = 26;

/// The first of the runs, of which there are two to most_compared_runs, with each of the others. All have the
/// same parts: few if one of the runs is of many updates.
std::vector<Comparison> compare_with_first(const std::vector<RunSummary>& runs);

/// "A" for 0.
std::string letter_of(std::size_t run);

/// b / a; none where either is missing or a is 0.
std::optional<double> ratio_of(std::optional<double> a, std::optional<double> b);

}  // namespace trainyard
