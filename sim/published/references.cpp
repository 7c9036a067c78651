#include "published/references.hpp"

#include "published/training_rows.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

std::map<std::string, std::vector<Case>> cases_by_series(const std::shared_ptr<const PublishedData>& data,
                                                         const std::vector<PublishedRow>& rows) {
  std::map<std::string, std::vector<Case>> all;
  for (const PublishedRow& row : rows) {
    if (row.clean == "no" || row.split == "context") continue;
    auto run = case_of(data, row);
    if (auto* known = std::get_if<Case>(&run)) all[known->series].push_back(std::move(*known));
  }
  return all;
}

template <class Test>
std::vector<const Case*> those_of(const std::map<std::string, std::vector<Case>>& all, const Case& target,
                                  const Test& test) {
  std::vector<const Case*> found;
  const auto series = all.find(target.series);
  if (series == all.end()) return found;
  for (const Case& run : series->second) {
    if (test(run)) found.push_back(&run);
  }
  return found;
}

bool is_full_node_of(const PublishedRow& row, const PublishedRow& target) {
  return row.nodes == 1 && row.gpus_total == row.gpus_per_node && row.gpus_per_node == target.gpus_per_node;
}

/// The series of a row, whatever its batch.
std::string series_of_any_batch(const Case& of) {
  SeriesKey key = series_of(*of.row, of.data->run_rules.series);
  key.batch_per_gpu.clear();
  return series_text(key);
}

/// Whether both figures are of one result.
bool is_of_result(const PublishedRow& row, const PublishedRow& result) {
  const TargetColumns& target = *row.to_target;
  const TargetColumns& of = *result.to_target;
  const std::string& submitter = target.result_submitter.empty() ? target.submitter : target.result_submitter;
  return row.system == result.system && target.round == of.round && target.benchmark == of.benchmark &&
         submitter == of.submitter && row.global_batch == result.global_batch && row.nodes == result.nodes;
}

std::map<std::string, std::vector<std::size_t>> by_series(const std::vector<ScoredCase>& cases) {
  std::map<std::string, std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < cases.size(); ++i) all[cases[i].of.series].push_back(i);
  return all;
}

}  // namespace

References::References(const std::shared_ptr<const PublishedData>& data)
    : given_(cases_by_series(data, data->rows)), lookup_(cases_by_series(data, data->lookup)) {}

std::vector<const Case*> References::smallest_of(const Runs& runs, const Case& target) const {
  std::vector<const Case*> found;
  const std::string series = series_of_any_batch(target);
  for (const auto& [key, series_runs] : runs) {
    if (series_of_any_batch(series_runs.front()) != series) continue;
    for (const Case& run : series_runs) {
      const int gpus = run.row->gpus_total;
      if (gpus >= target.row->gpus_total) continue;
      if (!found.empty() && gpus < found.front()->row->gpus_total) found.clear();
      if (found.empty() || gpus == found.front()->row->gpus_total) found.push_back(&run);
    }
  }
  return found;
}

AskedCase References::asked(const Case& of) const {
  AskedCase asked{.of = &of};
  if (is_memory(of.figure)) return asked;
  const auto seek = [&](const auto& test) {
    auto found = those_of(given_, of, test);
    return found.empty() ? those_of(lookup_, of, test) : found;
  };
  std::vector<const Case*>& one_gpu = asked.references[Fit::one_gpu];
  std::vector<const Case*>& one_node = asked.references[Fit::one_node];
  if (of.row->gpus_total > 1) one_gpu = seek([](const Case& run) { return run.row->gpus_total == 1; });
  if (of.row->nodes == 1) return asked;
  one_node = seek([&](const Case& run) { return is_full_node_of(*run.row, *of.row); });
  if (!one_node.empty() || !one_gpu.empty()) return asked;
  // the smallest of both lists: a run that is used for fitting is never scored
  one_node = smallest_of(given_, of);
  std::vector<const Case*> from_lookup = smallest_of(lookup_, of);
  const auto gpus_of = [](const std::vector<const Case*>& runs) { return runs.front()->row->gpus_total; };
  if (one_node.empty() || (!from_lookup.empty() && gpus_of(from_lookup) < gpus_of(one_node)))
    one_node = std::move(from_lookup);
  return asked;
}

std::vector<AskedCase> asked_layouts(const std::vector<ScoredCase>& cases) {
  constexpr std::size_t most = 7;
  std::vector<AskedCase> asked(cases.size());
  const auto gpus = [&](std::size_t i) { return cases[i].of.row->gpus_total; };
  const auto identity = [&](std::size_t i) { return identity_of(cases[i].of, cases[i].of.machine); };
  for (const auto& [series, members] : by_series(cases)) {
    std::vector<std::size_t> timed;
    for (const std::size_t i : members) {
      asked[i].of = &cases[i].of;
      if (!is_memory(cases[i].of.figure)) timed.push_back(i);
    }
    if (timed.empty()) continue;
    const int fewest = gpus(*std::ranges::min_element(timed, {}, gpus));
    std::vector<std::size_t> smallest;
    for (const std::size_t i : timed) {
      if (gpus(i) == fewest) smallest.push_back(i);
    }
    std::vector<std::pair<std::size_t, std::string>> some;
    const std::size_t count = std::min(most, smallest.size());
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = smallest[k * smallest.size() / count];
      some.emplace_back(i, identity(i));
    }
    for (const std::size_t i : timed) {
      const std::string own = identity(i);
      for (const auto& [other, other_identity] : some) {
        if (other_identity != own) asked[i].references[Fit::one_layout].push_back(&cases[other].of);
      }
    }
  }
  return asked;
}

std::vector<AskedCase> asked_targets(const std::vector<ScoredCase>& cases, std::deque<Case>& kept) {
  std::vector<AskedCase> asked(cases.size());
  const auto order = [&](std::size_t i) {
    const PublishedRow& row = *cases[i].of.row;
    return std::tuple(row.gpus_total, row.year);
  };
  for (const auto& [series, members] : by_series(cases)) {
    std::vector<std::size_t> times;
    for (const std::size_t i : members) {
      asked[i].of = &cases[i].of;
      if (cases[i].of.figure == CaseFigure::time_to_train) times.push_back(i);
    }
    if (times.empty()) continue;
    const std::size_t first = *std::ranges::min_element(times, {}, order);
    Case& reference = kept.emplace_back(cases[first].of);
    // The factor is of steps: how many the row took is known, however well its samples are predicted.
    if (CaseTarget& target = *reference.target; target.trained > 0) {
      target.evaluations *= target.trained / target.samples;
      target.samples = target.trained;
    }
    for (const std::size_t i : members) {
      const Case& of = cases[i].of;
      const bool is_its_result =
          i == first || (of.figure != CaseFigure::time_to_train && is_of_result(*of.row, *reference.row));
      if (!is_its_result) asked[i].references[Fit::one_system].push_back(&reference);
    }
  }
  return asked;
}

}  // namespace trainyard
