#include "published/memory_outcomes.hpp"

#include <utility>
#include <variant>

namespace trainyard {
namespace {

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
bool stands_better(int gpus, int other_gpus) {
  return other_gpus == 1 ? gpus > 1 : gpus > 1 && gpus < other_gpus;
}

/// One run for each series, and every row that states a verdict.
std::vector<Case> judged_runs(const std::shared_ptr<const PublishedData>& data,
                              std::map<std::string, int>& excluded) {
  std::map<std::string, std::size_t> places;
  std::vector<Case> runs;
  for (const PublishedRow& row : data->rows) {
    const bool is_verdict = is_memory_verdict(row);
    if (row.clean == "no" || row.split == "context" || (is_about_memory(row) && !is_verdict)) continue;
    auto read = case_of(data, row, false);
    auto* run = std::get_if<Case>(&read);
    if (run == nullptr) {
      if (is_verdict) ++excluded[std::get<std::string>(read)];
      continue;
    }
    if (is_verdict) {
      runs.push_back(std::move(*run));
      continue;
    }
    const auto [known, is_new] = places.emplace(run->series, runs.size());
    if (is_new)
      runs.push_back(std::move(*run));
    else if (stands_better(row.gpus_total, runs[known->second].row->gpus_total))
      runs[known->second] = std::move(*run);
  }
  return runs;
}

}  // namespace

MemoryValidation validate_memory(const config::Catalogue& catalogue,
                                 const std::shared_ptr<const PublishedData>& data, int parallel) {
  MemoryValidation validation;
  std::vector<Case> runs = judged_runs(data, validation.excluded);
  std::vector<AskedCase> asked;
  for (Case& run : runs) {
    run.figure = CaseFigure::within_memory;
    if (is_memory_verdict(*run.row)) read_memory_figure(run);
    run.micro_batches = 1;  // one micro-batch is in memory, and steps can have thousands
    asked.push_back({.of = &run});
  }
  const auto predicted = predict_cases(catalogue, asked, parallel, {.fits = {Fit::nothing}});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (predicted[i].memory)
      validation.outcomes.push_back({.of = runs[i],
                                     .ran = runs[i].figure == CaseFigure::within_memory,
                                     .framework = framework_of(*runs[i].row),
                                     .memory = *predicted[i].memory});
    else
      ++validation.excluded[predicted[i].by_fit[Fit::nothing].reason];
  }
  return validation;
}

}  // namespace trainyard
