#include "published/kernel_times.hpp"

#include "accuracy/published_errors.hpp"
#include "published/predict_cases.hpp"
#include "run/child_processes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

/// Runs that one child reads, so that it reads the files they share once.
constexpr std::size_t runs_per_child = 40;

nlohmann::json json_of(const std::optional<KernelTimes>& times) {
  if (!times) return nullptr;
  return {{"of", circumstances_text(times->of)},
          {"kernels", times->kernels.values},
          {"ops", times->ops},
          {"rest", times->rest},
          {"measured", times->measured},
          {"rounding", times->rounding}};
}

KernelTimes times_of(const nlohmann::json& json, const Case& run) {
  KernelTimes times{.row = run.row,
                    .series = run.series,
                    .of = read_circumstances(json["of"]),
                    .ops = json["ops"],
                    .rest = json["rest"],
                    .measured = json["measured"],
                    .rounding = json["rounding"]};
  json["kernels"].get_to(times.kernels.values);
  return times;
}

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
    for (const auto& times : kernel_times_of(catalogue, part(at(child)))) all.push_back(json_of(times));
    return all.dump();
  });
  std::vector<KernelTimes> times;
  for (std::size_t child = 0; child < results.size(); ++child) {
    const nlohmann::json all = nlohmann::json::parse(results[child]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].is_null()) times.push_back(times_of(all[i], part(child)[i]));
    }
  }
  return times;
}

}  // namespace trainyard
