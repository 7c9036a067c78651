#include "published/kernel_times.hpp"

#include "published/child_json.hpp"
#include "published/predict_cases.hpp"
#include "run/child_processes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace trainyard {

static void to_json(nlohmann::json& to, const ByOpGroup& seconds) { to = seconds.values; }
static void from_json(const nlohmann::json& from, ByOpGroup& seconds) { from.get_to(seconds.values); }
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelTimes, of, kernels, ops, rest, measured, rounding)

namespace {

/// Runs that one child reads, so that it reads the files they share once.
constexpr std::size_t runs_per_child = 40;

}  // namespace

std::vector<KernelTimes> kernel_times(const config::Catalogue& catalogue,
                                      const std::shared_ptr<const PublishedData>& data,
                                      const std::vector<PublishedRow>& rows, int parallel) {
  std::vector<Case> runs;
  for (const PublishedRow& row : rows) {
    if (row.gpus_total != 1 || row.split != "calibrate" || row.clean == "no") continue;
    auto run = case_of(data, row);
    if (auto* found = std::get_if<Case>(&run)) runs.push_back(std::move(*found));
  }
  const auto part = [&](std::size_t child) {
    const std::size_t first = child * runs_per_child;
    return std::span(runs).subspan(first, std::min(runs_per_child, runs.size() - first));
  };
  const auto children = static_cast<int>((runs.size() + runs_per_child - 1) / runs_per_child);
  const std::vector<std::string> results = in_children(children, parallel, [&](int child) {
    nlohmann::json all = nlohmann::json::array();
    for (const auto& times : kernel_times_of(catalogue, part(at(child)))) all.push_back(times);
    return all.dump();
  });
  std::vector<KernelTimes> times;
  for (std::size_t child = 0; child < results.size(); ++child) {
    const nlohmann::json all = nlohmann::json::parse(results[child]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].is_null()) continue;
      const Case& run = part(child)[i];
      KernelTimes& of_run = times.emplace_back(KernelTimes{.row = run.row, .series = run.series});
      all[i].get_to(of_run);
    }
  }
  return times;
}

}  // namespace trainyard
