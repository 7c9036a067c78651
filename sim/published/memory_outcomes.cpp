#include "published/memory_outcomes.hpp"

#include "config/read_file.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

constexpr std::array outcome_columns{PublishedColumn{"source", &PublishedRow::source},
                                     PublishedColumn{"source_detail", &PublishedRow::source_detail},
                                     PublishedColumn{"year", &PublishedRow::year},
                                     PublishedColumn{"gpu", &PublishedRow::gpu},
                                     PublishedColumn{"interconnect_intra", &PublishedRow::interconnect_intra},
                                     PublishedColumn{"framework", &PublishedRow::framework},
                                     PublishedColumn{"model", &PublishedRow::model},
                                     PublishedColumn{"precision", &PublishedRow::precision},
                                     PublishedColumn{"batch_per_gpu", &PublishedRow::batch_per_gpu},
                                     PublishedColumn{"seq_len", &PublishedRow::seq_len},
                                     PublishedColumn{"notes", &PublishedRow::notes}};

constexpr std::string_view outcome_column = "outcome";
constexpr std::string_view gpus_column = "gpus_per_node";
constexpr int most_gpus_of_a_node = 64;

std::optional<std::size_t> place_of(const CsvRow& header, std::string_view column) {
  const auto found = std::ranges::find(header.cells, column, &CsvCell::text);
  if (found == header.cells.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.cells.begin());
}

/// The framework's name without version and wrapper; the whole text if none of the names is in it.
std::string framework_of(const PublishedRow& row) {
  for (const std::string_view name :
       {"PyTorch", "MXNet", "PaddlePaddle", "OneFlow", "MindSpore", "Caffe2", "Megatron", "Chainer"}) {
    if (row.framework.find(name) != std::string::npos) return std::string(name);
  }
  if (row.framework.find("MxNet") != std::string::npos || row.framework.find("mxnet") != std::string::npos)
    return "MXNet";
  if (row.framework.find("ensor") != std::string::npos || row.framework.starts_with("tf_"))
    return "TensorFlow";
  return row.framework;
}

/// Whether a run on `gpus` GPUs stands for its series better than one on `others`: on several, which need
/// buffers, but on few, since further GPUs need no more memory.
bool stands_better(int gpus, int others) { return others == 1 ? gpus > 1 : gpus > 1 && gpus < others; }

/// One run for each series.
std::vector<Case> runs_of_series(const std::shared_ptr<const PublishedData>& data) {
  std::map<std::string, std::size_t> places;
  std::vector<Case> runs;
  for (const PublishedRow& row : data->rows) {
    if (row.clean == "no" || row.split == "context") continue;
    auto read = case_of(data, row, false);
    auto* run = std::get_if<Case>(&read);
    if (run == nullptr) continue;
    const auto [known, is_new] = places.emplace(run->series, runs.size());
    if (is_new)
      runs.push_back(std::move(*run));
    else if (stands_better(row.gpus_total, runs[known->second].row->gpus_total))
      runs[known->second] = std::move(*run);
  }
  return runs;
}

}  // namespace

std::vector<PublishedOutcome> read_memory_outcomes(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const CsvFile file = parse_csv(text, problems);
  problems.finish();
  std::vector<std::pair<PublishedColumn, std::size_t>> places;
  for (const PublishedColumn& column : outcome_columns) {
    if (const auto place = place_of(file.header, column.name))
      places.emplace_back(column, *place);
    else
      problems.error(file.header.line, "the column '" + std::string(column.name) + "' is missing");
  }
  const auto outcome = place_of(file.header, outcome_column);
  if (!outcome) problems.error(file.header.line, "the column 'outcome' is missing");
  const auto gpus = place_of(file.header, gpus_column);
  if (!gpus) problems.error(file.header.line, "the column 'gpus_per_node' is missing");
  problems.finish();
  std::vector<PublishedOutcome> outcomes;
  for (const CsvRow& csv : file.rows) {
    PublishedOutcome& read = outcomes.emplace_back();
    read.row.file = name;
    read.row.line = csv.line;
    for (const auto& [column, place] : places) read.row.*column.text = csv.cells[place].text;
    read.row.nodes = 1;
    const Parsed<long long> count = parse_integer(csv.cells[*gpus].text);
    if (count && *count >= 1 && *count <= most_gpus_of_a_node)
      read.row.gpus_per_node = read.row.gpus_total = static_cast<int>(*count);
    else
      problems.error(csv.line, csv.cells[*gpus], gpus_column,
                     "a whole number of GPUs from 1 to 64 is needed");
    // The rules of published runs ask for a measured figure, which a failed batch does not have.
    read.row.metric = "throughput";
    read.row.unit = "samples/s";
    read.row.value = 1;
    const CsvCell& cell = csv.cells[*outcome];
    read.ran = cell.text == "ran";
    if (!read.ran && cell.text != "failed")
      problems.error(csv.line, cell, outcome_column,
                     "the outcome is 'ran' or 'failed', not '" + cell.text + "'");
  }
  problems.finish();
  return outcomes;
}

std::vector<PublishedOutcome> shipped_memory_outcomes(const config::Catalogue& catalogue) {
  for (const std::filesystem::path& root : catalogue.roots) {
    const std::filesystem::path file = root / "workloads/published/memory/memory_outcomes.csv";
    std::error_code ignored;  // a file that cannot be looked at is not there
    if (std::filesystem::exists(file, ignored))
      return read_memory_outcomes(file.string(), config::read_file(file, largest_csv));
  }
  return {};
}

MemoryValidation validate_memory(const config::Catalogue& catalogue,
                                 const std::shared_ptr<const PublishedData>& data,
                                 const std::vector<PublishedOutcome>& outcomes, int parallel) {
  MemoryValidation validation;
  std::vector<Case> runs = runs_of_series(data);
  std::vector<bool> ran(runs.size(), true);
  auto stated = std::make_shared<PublishedData>(
      PublishedData{.machine_rules = data->machine_rules, .run_rules = data->run_rules, .rows = {}});
  for (const PublishedOutcome& outcome : outcomes) stated->rows.push_back(outcome.row);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto run = case_of(stated, stated->rows[i], false);
    if (const auto* reason = std::get_if<std::string>(&run)) {
      ++validation.excluded[*reason];
      continue;
    }
    runs.push_back(std::get<Case>(std::move(run)));
    ran.push_back(outcomes[i].ran);
  }
  std::vector<AskedCase> asked;
  for (Case& run : runs) {
    run.micro_batches = 1;  // one micro-batch is in memory, and steps can have thousands
    run.figure = CaseFigure::out_of_memory;
    asked.push_back({.of = &run});
  }
  const auto predicted = predict_cases(catalogue, asked, parallel, {.fits = {Fit::nothing}});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (predicted[i].memory)
      validation.outcomes.push_back({.of = runs[i],
                                     .ran = ran[i],
                                     .framework = framework_of(*runs[i].row),
                                     .memory = *predicted[i].memory});
    else
      ++validation.excluded[predicted[i].by_fit[Fit::nothing].reason];
  }
  return validation;
}

}  // namespace trainyard
