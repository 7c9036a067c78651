#pragma once
// Compares two runs, A and B: their differences, and the causes of the change of the step time. Takes and
// returns values only.

#include "accuracy/ratio_error.hpp"
#include "run/run_summary.hpp"
#include "units/known.hpp"

#include <optional>
#include <string>
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

/// A key whose values differ between the experiments; none: not set.
struct ComparedKey {
  std::string path;
  std::optional<std::string> a, b;
};

struct Comparison {
  RunSummary a, b;
  std::vector<ComparedKey> keys;
  std::vector<ComparedFigure> figures;  ///< those that A or B has
  ComparedTime step;
  std::vector<ComparedPart> parts;    ///< add up to `step`, A, B and the difference
  std::vector<ComparedGroup> groups;  ///< add up to the part `communication`
  double step_ratio = 1;              ///< B's step time over A's
  double throughput_ratio = 1;        ///< B's samples per second over A's
  /// Of throughput_ratio (comparison_error.hpp), or why it is unknown.
  Known<RatioError> ratio_error = unknown("no published runs were read");
};

/// Throws InputError if the parts of a run do not add up to its step time.
Comparison compare(RunSummary a, RunSummary b);

/// b / a; none where either is missing or a is 0.
std::optional<double> ratio_of(std::optional<double> a, std::optional<double> b);

}  // namespace trainyard
