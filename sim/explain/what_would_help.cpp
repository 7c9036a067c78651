#include "explain/what_would_help.hpp"

#include "explain/changes.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "units/shell_word.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace trainyard {

namespace {

/// Step time and throughput, as a child sends them.
std::string speed_with(ResolvedExperiment resolved) {
  // Faults cost the job time, but not a step.
  resolved.settings.faults.reset();
  const Run run = simulate(std::move(resolved), {.timeline = false, .rows = false, .learn = false});
  const bool fits = !run.memory || fullest(*run.memory).fits;
  return packed({run.pace.time.si(), run.pace.throughput, fits ? 1.0 : 0.0});
}

/// For layouts, whose memory differs: whether the change decides if the step fits, if that is not checked.
std::string remark_on_memory(const ResolvedExperiment& resolved, bool fits_then) {
  if (!resolved.layout || resolved.settings.memory == MemoryCheck::check) return {};
  const bool fits_now = fullest(memory_reports(resolved)).fits;
  if (fits_now == fits_then) return {};
  return fits_then ? "fits into memory" : "does not fit into memory";
}

void take_in(const ChildOutcome& outcome, const ResolvedExperiment& resolved, WhatIfRow& row) {
  if (outcome.kind == ChildOutcome::wrong_input || outcome.kind == ChildOutcome::job_impossible) {
    // "algorithm tree: tree cannot ..." would name it twice
    const auto& [key, value] = row.what.set.front();
    const bool is_named = key == "sync.algorithm" && outcome.text.starts_with(value + ' ');
    row.what.reason = outcome.text.substr(is_named ? value.size() + 1 : 0);
    return;
  }
  if (outcome.kind == ChildOutcome::failure)
    throw std::runtime_error(fmt::format("{}: {}", set_options(row.what.set), outcome.text));
  const std::vector<double> numbers = unpacked(value_of(outcome));
  row.step_time = Seconds{numbers.at(0)};
  row.throughput = numbers.at(1);
  if (const std::string remark = remark_on_memory(resolved, numbers.at(2) > 0); !remark.empty())
    row.what.remark += (row.what.remark.empty() ? "" : "; ") + remark;
}

}  // namespace

std::vector<WhatIf> what_ifs(const ResolvedExperiment& resolved) {
  std::vector<WhatIf> all = machine_changes(resolved);
  for (WhatIf& what : job_changes(resolved)) all.push_back(std::move(what));
  return all;
}

std::vector<WhatIf> stack_changes(const config::Catalogue& catalogue, const ResolvedExperiment& resolved) {
  const std::string compiled = "pytorch_compile";
  const std::vector<std::string> stacks = config::names(catalogue, config::Kind::stack);
  const bool has_compiler = resolved.lowering && resolved.lowering->name == "pytorch_2_11";
  if (!has_compiler || std::ranges::find(stacks, compiled) == stacks.end()) return {};
  std::vector<WhatIf> changes;
  if (resolved.stack.runtime == Runtime::eager) {
    changes.push_back({.change = "torch.compile",
                       .set = {{"stack", compiled}},
                       .remark = "fewer kernels to launch",
                       .reason = {}});
  }
  if (resolved.stack.runtime != Runtime::cuda_graph && !resolved.layout) {
    changes.push_back({.change = "CUDA graphs",
                       .set = {{"stack", compiled}, {"stack.runtime", "cuda_graph"}},
                       .remark = "compiled, and one launch for each pass",
                       .reason = {}});
  }
  return changes;
}

std::vector<WhatIfRow> what_would_help(const config::Catalogue& catalogue, const std::string& experiment,
                                       const Overrides& overrides, const ResolvedExperiment& resolved,
                                       InputFiles& files, int parallel) {
  std::vector<WhatIfRow> rows;
  for (std::vector<WhatIf>& changes : std::array{what_ifs(resolved), stack_changes(catalogue, resolved)}) {
    for (WhatIf& what : changes) rows.push_back({.what = std::move(what), .step_time = {}, .throughput = {}});
  }
  const auto simulated = [&](int row) {
    Overrides all = overrides;
    const Overrides& changes = rows[at(row)].what.set;
    all.insert(all.end(), changes.begin(), changes.end());
    return speed_with(resolve(catalogue, experiment, all, files));
  };
  std::size_t begun = 0;
  const auto next = [&]() -> std::optional<int> {
    while (begun < rows.size() && !rows[begun].what.reason.empty()) ++begun;
    return begun == rows.size() ? std::nullopt : std::optional(static_cast<int>(begun++));
  };
  for_each_in_workers(parallel, next, simulated, [&](int row, const ChildOutcome& outcome) {
    take_in(outcome, resolved, rows[at(row)]);
  });
  std::ranges::stable_sort(rows, std::greater{},
                           [](const WhatIfRow& row) { return row.throughput.value_or(-1); });
  return rows;
}

void drop_chosen(const Run& run, std::vector<WhatIfRow>& rows) {
  const auto is_chosen = [&](const WhatIfRow& row) {
    if (row.what.set.empty() || row.what.set.front().first != algorithm_key ||
        step_of(run).collectives.empty())
      return false;
    return std::ranges::all_of(step_of(run).collectives, [&](const CollectiveRow& collective) {
      if (run.experiment.layout && !traits(collective.axis).are_replicas())
        return true;  // not the experiment's choice
      return collective.algorithm == row.what.set.front().second;
    });
  };
  std::erase_if(rows, is_chosen);
}

void drop_needless_pairs(std::vector<WhatIfRow>& rows) {
  const auto is_part = [](const Overrides& part, const Overrides& several) {
    return part.size() < several.size() && std::ranges::all_of(part, [&](const auto& set) {
             return std::ranges::find(several, set) != several.end();
           });
  };
  // Ignores gains caused by the order of additions.
  constexpr double rounding = 1e-9;
  const auto is_needless = [&](const WhatIfRow& row) {
    if (!row.throughput) return false;
    return std::ranges::any_of(rows, [&](const WhatIfRow& other) {
      return other.throughput && is_part(other.what.set, row.what.set) &&
             *row.throughput <= (1 + rounding) * *other.throughput;
    });
  };
  std::vector<WhatIfRow> kept;
  std::ranges::copy_if(rows, std::back_inserter(kept), std::not_fn(is_needless));
  rows = std::move(kept);
}

std::string set_argument(const std::pair<std::string, std::string>& set) {
  const auto& [key, value] = set;
  return shell_word(key) == key ? key + '=' + shell_word(value) : shell_word(key + '=' + value);
}

std::string set_options(const Overrides& set) {
  std::string text;
  for (const auto& one : set) text += (text.empty() ? "--set " : " --set ") + set_argument(one);
  return text;
}

}  // namespace trainyard
