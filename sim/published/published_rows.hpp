#pragma once
// Published measurements as CSV: one row each, in the columns of workloads/published (defined in its
// README.md). Only numbers are interpreted here; collective_curves.hpp and training_rows.hpp interpret the
// rows.

#include "config/diagnostic.hpp"
#include "published/row_columns.hpp"
#include "published/table_forms.hpp"
#include "rules/machine_rules.hpp"
#include "rules/run_rules.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Larger numbers in a row are mistakes.
inline constexpr double most_gpus = 1e7;

struct PublishedRow {
  std::string file;
  int line = 0;
  std::string source, source_detail, year, system, gpu;
  int gpus_per_node = 0;  ///< number used on each node; 0: not given and not computable from the next two
  int nodes = 0;          ///< likewise
  int gpus_total = 0;     ///< likewise; on one node possibly fewer than gpus_per_node
  std::string interconnect_intra, interconnect_inter, framework, model, precision;
  std::string batch_per_gpu, global_batch, seq_len;
  std::string metric;
  double value = 0;       ///< in `unit`; 0: not given
  double last_digit = 0;  ///< value of one unit in the last printed digit: 0.1 for "20.0", 1 for "20"
  std::string unit, speedup_reported, clean, split, notes;
  int servers = 0;                      ///< total number of parameter servers; 0: not stated
  std::string update;                   ///< the framework's option for updating variables; usually not stated
  std::optional<LayoutColumns> layout;  ///< if the file has columns of layouts
  std::optional<TargetColumns> to_target = {};  ///< if the row is about a training to a target
  std::optional<ReportColumns> report = {};     ///< if the row is a report with an experiment of its own
  /// A word that the form of the table does not know: the row is left out.
  std::optional<Diagnostic> unknown = {};
};

/// A column and the member that holds its text or its whole number; `value` is read otherwise.
struct PublishedColumn {
  std::string_view name;
  std::string PublishedRow::*text = nullptr;
  int PublishedRow::*count = nullptr;
  bool is_required = false;
};

/// The columns, in the order of the shipped files. A file may omit those that are not required.
inline constexpr std::array published_columns{
    PublishedColumn{"source", &PublishedRow::source},
    PublishedColumn{"source_detail", &PublishedRow::source_detail},
    PublishedColumn{"year", &PublishedRow::year},
    PublishedColumn{"system", &PublishedRow::system},
    PublishedColumn{"gpu", &PublishedRow::gpu, nullptr, true},
    PublishedColumn{"gpus_per_node", nullptr, &PublishedRow::gpus_per_node},
    PublishedColumn{"nodes", nullptr, &PublishedRow::nodes},
    PublishedColumn{"gpus_total", nullptr, &PublishedRow::gpus_total},
    PublishedColumn{"interconnect_intra", &PublishedRow::interconnect_intra},
    PublishedColumn{"interconnect_inter", &PublishedRow::interconnect_inter},
    PublishedColumn{"framework", &PublishedRow::framework},
    PublishedColumn{"model", &PublishedRow::model, nullptr, true},
    PublishedColumn{"precision", &PublishedRow::precision},
    PublishedColumn{"batch_per_gpu", &PublishedRow::batch_per_gpu},
    PublishedColumn{"global_batch", &PublishedRow::global_batch},
    PublishedColumn{"seq_len", &PublishedRow::seq_len},
    PublishedColumn{"metric", &PublishedRow::metric},
    PublishedColumn{"value", nullptr, nullptr, true},
    PublishedColumn{"unit", &PublishedRow::unit, nullptr, true},
    PublishedColumn{"speedup_reported", &PublishedRow::speedup_reported},
    PublishedColumn{"clean", &PublishedRow::clean},
    PublishedColumn{"split", &PublishedRow::split},
    PublishedColumn{"notes", &PublishedRow::notes},
    PublishedColumn{"servers", nullptr, &PublishedRow::servers},
    PublishedColumn{"update", &PublishedRow::update}};

/// The rows of a file called `name`, which may have one of the forms. Tables of trainings to a target have
/// columns_of_targets and the names of target_aliases; their counts may be 0. In all files, columns may be in
/// any order; unknown ones are ignored. Without the column `metric`, a rate is a throughput and a time in ms
/// or us that of a step. With only one column of numbers of GPUs they are on one node. A row about a training
/// run needs a framework, a precision and a batch. A file with the columns of a layout has the names of
/// layout_aliases; without `nodes` its GPUs are on full nodes of eight. One with the columns of reports has
/// those of report_aliases. Throws one InputError with all errors: missing columns, counts and values that
/// are not numbers, and unknown words in `clean`.
std::vector<PublishedRow> read_published_rows(const std::string& name, std::string_view text,
                                              const TableForms& forms = {});

/// Rows with the rules for their machines, models and software: the input of every validation and fit. Runs
/// and curves point into this data, so each holds a share of it.
struct PublishedData {
  MachineRules machine_rules;
  RunRules run_rules = {};
  std::vector<PublishedRow> rows;
  std::vector<PublishedRow> lookup = {};  ///< further rows for runs to fit to, if `rows` have none
};

}  // namespace trainyard
