#pragma once
// A sweep as YAML (workloads/sweeps/*.yaml): one experiment and its varied keys. sweep.hpp makes points of
// it.

#include "config/document.hpp"
#include "config/fields.hpp"
#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The values of one key, as texts: "25 Gbps", or a range of several, "1..64 times 2".
using KeyValues = config::Ordered<std::vector<std::string>>;

/// Condition on a point: varied keys with their values: "bert_base | bert_large", "> 64".
using PointPattern = std::map<std::string, std::string>;

/// A published value at a point.
struct PublishedValue {
  PointPattern at;   ///< meets one point of the file
  double value = 0;  ///< in the unit of its figure; a ratio if it is relative to another point
};

/// Published values of a figure of run/figures.hpp, from one source.
struct PublishedFigure {
  std::string figure;
  /// If not empty, values are ratios to the figure of another point: the one that meets this pattern and has
  /// the value's point's own values of all other keys.
  PointPattern relative_to;
  std::string source;
  std::vector<PublishedValue> rows;
};

/// Points that a machine or its software cannot do.
struct LeftOutPattern {
  PointPattern at;
  std::string reason;
};

/// Tables of the page: a section for each value of a key, in it for each combination of the other keys a
/// table per compared figure, with the values of a second key next to each other, and one with all figures.
struct ReportTables {
  std::string section, rows, columns;  ///< varied keys
  std::vector<std::string> compared = {"throughput_samples_per_s", "speedup"};
  std::vector<std::string> figures;
  std::map<std::string, std::string> names;  ///< of values, for people
};

/// A value's name for people: itself if it has none.
inline const std::string& name_in(const ReportTables& report, const std::string& value) {
  const auto known = report.names.find(value);
  return known == report.names.end() ? value : known->second;
}

/// Limits for the best point, and the length of its training.
struct Goal {
  std::optional<double> epochs;       ///< default: 1
  std::optional<std::string> target;  ///< in place of epochs
  std::optional<Seconds> deadline;    ///< for all epochs, or to the target
  std::optional<Dollars> budget;      ///< for the same length
  std::optional<int> gpus_max;
  std::optional<double> efficiency_min;
  std::optional<double> accuracy_min;  ///< at the end of a fixed number of epochs, as a share
  /// Bounds of columns of sweep.csv: "<= 0.9" by "cpu_utilization".
  std::map<std::string, std::string> figures;
};

struct SweepFile {
  std::string title;
  std::string experiment;                  ///< name or path
  std::map<std::string, std::string> set;  ///< for every point
  KeyValues vary;                     ///< every value combined with every other; the last key changes fastest
  std::vector<KeyValues> zip;         ///< lists of equal length, taken in parallel
  std::vector<PointPattern> only;     ///< if not empty, points must match one
  std::vector<PointPattern> exclude;  ///< points that match one are left out
  std::vector<LeftOutPattern> left_out;  ///< likewise, with a reason that is shown
  std::vector<PublishedFigure> published;
  std::optional<ReportTables> report;
  Goal goal;
};

/// Whether the key has a list, under vary or zip.
bool is_varied(const SweepFile& file, const std::string& key);

/// Throws one InputError with all errors of the file itself; errors of the experiment's keys appear when a
/// point is read.
SweepFile load_sweep(const config::Document& document);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<Goal> {
  static auto table() {
    return keys(
        optional("epochs", &Goal::epochs, "epochs of a training; default: 1").above(0).at_most(1e6),
        optional("target", &Goal::target,
                 "in place of epochs: every point trains until this target of the model's convergence is "
                 "reached"),
        optional("deadline", &Goal::deadline, "longest time of all epochs of a chosen point").above(0),
        optional("budget", &Goal::budget, "highest cost of all epochs of a chosen point").above(0),
        optional("gpus_max", &Goal::gpus_max, "most GPUs of a chosen point").at_least(1),
        optional(
            "efficiency_min", &Goal::efficiency_min,
            "lowest scaling efficiency of a chosen point; with global_batch, relative to the smallest run")
            .above(0)
            .at_most(1),
        optional("accuracy_min", &Goal::accuracy_min,
                 "lowest accuracy of a chosen point, as a share; needs points with a job, and a model with "
                 "fixed_epochs")
            .above(0)
            .at_most(1),
        optional("figures", &Goal::figures,
                 "bounds of figures of a chosen point, such as {gpu_utilization: \">= 0.8\", "
                 "storage_utilization: \"<= 0.5\"}: columns of sweep.csv, in the unit of their names"));
  }
};

template <>
struct Keys<LeftOutPattern> {
  static auto table() {
    return keys(required("at", &LeftOutPattern::at, "pattern of the points"),
                required("reason", &LeftOutPattern::reason, "shown next to their number"));
  }
};

template <>
struct Keys<ReportTables> {
  static auto table() {
    return keys(
        required("section", &ReportTables::section, "varied key: a section of the page for each value"),
        required("rows", &ReportTables::rows, "varied key: a row of each table for each value"),
        required("columns", &ReportTables::columns,
                 "varied key: its values are columns of the tables of compared figures"),
        optional("compared", &ReportTables::compared,
                 "figures with a table each, as columns of sweep.csv; default: throughput_samples_per_s and "
                 "speedup"),
        required("figures", &ReportTables::figures, "figures of the table with all values, likewise"),
        optional("names", &ReportTables::names, "names of values for people: {horovod: TensorFlow}"));
  }
};

template <>
struct Keys<PublishedValue> {
  static auto table() {
    return keys(required("at", &PublishedValue::at, "pattern of varied keys that meets one point"),
                required("value", &PublishedValue::value,
                         "published figure of this point, in the unit of its name; with relative_to a ratio")
                    .above(0));
  }
};

template <>
struct Keys<PublishedFigure> {
  static auto table() {
    return keys(
        required("figure", &PublishedFigure::figure,
                 "column of sweep.csv that was published, any figure of summary.json: "
                 "throughput_samples_per_s, scaling_efficiency, epoch_time_s"),
        optional("relative_to", &PublishedFigure::relative_to,
                 "values are ratios to another point: the one with these values of these keys and the same "
                 "values of all others"),
        required("source", &PublishedFigure::source, "publication, and place in it"),
        required("rows", &PublishedFigure::rows, "published values, each at one point"));
  }
};

template <>
struct Keys<SweepFile> {
  static auto table() {
    return keys(
        optional("title", &SweepFile::title, "one line for people"),
        optional("experiment", &SweepFile::experiment,
                 "experiment to vary: a name, or a path relative to this file; default: 'set' and 'vary' say "
                 "everything"),
        optional("set", &SweepFile::set, "keys of the experiment or of files it names, for every point"),
        optional("vary", &SweepFile::vary,
                 "keys with their values or ranges (1..64 times 2); points are all combinations, the last "
                 "key changes fastest"),
        optional(
            "zip", &SweepFile::zip,
            "keys whose lists, of equal lengths, are varied in parallel; each mapping counts as one "
            "more key after those of vary; the value default leaves a key unchanged; the key group names "
            "the values of the others, and the result summarises the points of each name"),
        optional("only", &SweepFile::only, "patterns; if given, points must match one of them"),
        optional("exclude", &SweepFile::exclude, "patterns of points that are left out"),
        optional("left_out", &SweepFile::left_out,
                 "patterns of points that are left out since they cannot be had, with the reason, which the "
                 "result names"),
        optional("report", &SweepFile::report,
                 "tables of the page of --out, as reports of benchmarks have them"),
        optional("published", &SweepFile::published, "published figures, shown next to those of the points"),
        optional("goal", &SweepFile::goal, "limits of the best point"));
  }
};

}  // namespace trainyard::config
