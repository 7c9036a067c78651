#include "accuracy/published_pairs.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

/// The circumstances without the property that changes: runs with the same differ in nothing else.
Circumstances without(RunChange change, Circumstances of) {
  switch (change) {
    case RunChange::gpus:
      of.gpus = of.nodes = 1;
      break;
    case RunChange::batch:
      of.batch_per_gpu = 1;
      break;
    case RunChange::precision:
      of.use.precision.clear();
      break;
    case RunChange::software:
      of.use.framework.clear();
      of.use.stack.clear();
      break;
    case RunChange::model:
      of.use.model.clear();
      break;
    case RunChange::machine:
      of.platform.clear();
      of.use.gpu.clear();
      of.use.generation.clear();
      break;
    case RunChange::settings:
    case RunChange::several:
      break;
  }
  return of;
}

/// A text that two runs share if nothing but the property differs.
std::string group_of(RunChange change, const PublishedError& run) {
  const Circumstances of = without(change, run.of);
  std::string text =
      change == RunChange::gpus ? std::to_string(run.series) : std::string(publication_of(run));
  for (const SoftwareColumn& column : software_columns) {
    text += ',';
    text += of.use.*column.text;
  }
  return text + fmt::format(",{},{},{},{}", of.platform, of.gpus, of.nodes, of.batch_per_gpu);
}

/// The runs on one GPU that a fit to them predicts exactly.
void add_runs_on_one_gpu(std::vector<PublishedError>& runs) {
  std::set<std::pair<int, std::string>> known;
  const std::size_t published = runs.size();
  for (std::size_t i = 0; i < published; ++i) {
    PublishedError one = runs[i];
    const std::string group = group_of(RunChange::gpus, one);
    if (one.of.gpus == 1 || !known.emplace(one.series, group).second) continue;
    one.predicted = one.measured /= one.of.gpus;
    one.of.gpus = one.of.nodes = 1;
    runs.push_back(std::move(one));
  }
}

bool is_pair_of(RunChange change, const Circumstances& a, const Circumstances& b) {
  const std::vector<RunChange> changes = changes_between(a, b);
  return change == RunChange::settings ? changes.empty() : changes == std::vector{change};
}

}  // namespace

std::string_view publication_of(const PublishedError& run) {
  return std::string_view(run.place).substr(0, run.place.find(':'));
}

double octaves_between(RunChange change, const Circumstances& a, const Circumstances& b) {
  if (change == RunChange::gpus) return std::log2(1.0 * b.gpus / a.gpus);
  if (change == RunChange::batch) return std::log2(1.0 * b.batch_per_gpu / a.batch_per_gpu);
  return 0;
}

bool is_reversed(RunChange change, const Circumstances& a, const Circumstances& b) {
  if (change == RunChange::gpus) return std::tie(b.gpus, b.nodes) < std::tie(a.gpus, a.nodes);
  return change == RunChange::batch && b.batch_per_gpu < a.batch_per_gpu;
}

RunPair run_pair(const PublishedPairs& pairs, RunChange change, std::size_t a, std::size_t b) {
  if (is_reversed(change, pairs.runs[a].of, pairs.runs[b].of)) std::swap(a, b);
  const PublishedError& x = pairs.runs[a];
  const PublishedError& y = pairs.runs[b];
  return {.a = a,
          .b = b,
          .error = std::log(y.measured / y.predicted) - std::log(x.measured / x.predicted),
          .octaves = octaves_between(change, x.of, y.of)};
}

PublishedPairs published_pairs(const PublishedErrors& errors, const std::vector<RunChange>& changes) {
  PublishedPairs pairs{.runs = errors.runs,
                       .by_change = {},
                       .widening = errors.ratio_widening,
                       .fit = errors.fit,
                       .new_circumstances = errors.new_circumstances};
  const std::size_t published = errors.runs.size();
  if (errors.fit == one_gpu_fit) add_runs_on_one_gpu(pairs.runs);
  for (const RunChange change : changes) {
    const std::size_t runs = change == RunChange::gpus ? pairs.runs.size() : published;
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < runs; ++i) groups[group_of(change, pairs.runs[i])].push_back(i);
    for (const auto& [group, members] : groups) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = i + 1; j < members.size(); ++j) {
          if (is_pair_of(change, pairs.runs[members[i]].of, pairs.runs[members[j]].of))
            pairs.by_change[index_of(change)].push_back(run_pair(pairs, change, members[i], members[j]));
        }
      }
    }
  }
  return pairs;
}

}  // namespace trainyard
