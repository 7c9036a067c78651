#include "plan/layout_words.hpp"

#include "plan/plan_answer.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

int count_at(const PlanSpace& space, std::size_t point, std::string_view key) {
  if (std::ranges::find(space.sweep.keys, key) == space.sweep.keys.end()) return 1;
  const Parsed<long long> number = parse_integer(plan_value(space, point, key));
  return number ? static_cast<int>(*number) : 1;
}

std::string text_at(const PlanSpace& space, std::size_t point, std::string_view key,
                    std::string_view otherwise) {
  if (std::ranges::find(space.sweep.keys, key) == space.sweep.keys.end()) return std::string(otherwise);
  return plan_value(space, point, key);
}

}  // namespace

std::string layout_words(const PlanSpace& space, std::size_t point) {
  const int tensor = count_at(space, point, "parallelism.tensor");
  const int pipeline = count_at(space, point, "parallelism.pipeline");
  const int context = count_at(space, point, "parallelism.context");
  const int expert = count_at(space, point, "parallelism.expert");
  const int data = count_at(space, point, "gpus") / (tensor * pipeline * context);
  std::vector<std::string> axes;
  if (tensor > 1)
    axes.push_back(fmt::format(
        "tensor {}{}", tensor,
        text_at(space, point, "parallelism.sequence", "false") == "true" ? " with sequence" : ""));
  if (context > 1) axes.push_back(fmt::format("context {}", context));
  if (pipeline > 1) {
    const int chunks = count_at(space, point, "parallelism.virtual_stages");
    axes.push_back(fmt::format("pipeline {}{}", pipeline,
                               chunks > 1 ? fmt::format(" in {} virtual stages", chunks) : ""));
  }
  if (data > 1 || axes.empty()) axes.push_back(fmt::format("data {}", data));
  std::string words = fmt::format("{}", fmt::join(axes, " x "));
  if (expert > 1) words += fmt::format(", expert {}", expert);
  const std::string shard = text_at(space, point, "parallelism.shard", "none");
  if (shard != "none") words += ", " + shard + " sharded";
  const std::string recompute = text_at(space, point, "parallelism.recompute", "none");
  if (recompute != "none") words += ", " + recompute + " recomputation";
  const int micro_batches = count_at(space, point, "accumulation");
  words += fmt::format(", {} micro-batch{} of {}", grouped(micro_batches), micro_batches == 1 ? "" : "es",
                       count_at(space, point, "batch_per_gpu"));
  return words;
}

}  // namespace trainyard
