#pragma once
// A published run whose ranks share a model: its layout, batch and speed, and the experiment that reproduces
// it. Runs whose ranks all hold the whole model: published_run.hpp.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "published/published_data.hpp"
#include "strategy/parallelism.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace trainyard {

/// Another row gives the time of the same run.
inline constexpr std::string_view given_as_time = "another row gives the time of the same run";

struct LayoutRun {
  std::shared_ptr<const PublishedData> data;  ///< holds the row and the rules
  const PublishedRow* row = nullptr;
  const MachineRule* machine = nullptr;
  const ModelRule* model = nullptr;
  const StackRule* stack = nullptr;
  RowSettings settings;  ///< of both rules, with the row's numbers filled in
  Precision precision = Precision::fp16;
  Parallelism parallelism;
  int replicas = 1;
  int micro_batch = 1;    ///< samples of a micro-batch of one replica
  int micro_batches = 1;  ///< of a step, for each replica
  double measured = 0;    ///< samples per second of all GPUs
  std::string series;  ///< runs with the same text have source, model, GPU, framework and precision in common
};

/// The run of a row with layout columns, or why it cannot be predicted. Settings of the rules for
/// batch_per_gpu, precision and keys of `parallelism` take the place of the row's columns.
std::variant<LayoutRun, std::string> layout_run(const std::shared_ptr<const PublishedData>& data,
                                                const PublishedRow& row);

/// The same without the speed, for figures of memory.
std::variant<LayoutRun, std::string> untimed_layout_run(const std::shared_ptr<const PublishedData>& data,
                                                        const PublishedRow& row);

/// Everything that the prediction of a run depends on: runs with the same text are predicted alike.
std::string identity_of(const LayoutRun& run);

/// What makes rows figures of one run: everything but metric, value and notes.
std::string identity_of(const PublishedRow& row);

/// Whether the row's figure is a size or a verdict of memory.
bool is_about_memory(const PublishedRow& row);

/// Whether the row states how long a step takes, directly or as a throughput.
bool is_time(const PublishedRow& row);

/// The experiment of the run. `files`: files already read. Throws InputError.
ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const LayoutRun& run, InputFiles& files);

/// Operations of one sample in forward and backward passes of a decoder as in GPT-2 or GPT-3: 72 s L h^2 (1 +
/// s/(6h) + V/(12 L h)), and with `repeats_forward` 96 s L h^2 (1 + s/(6h) + V/(16 L h)). Source: Narayanan
/// et al. 2021, arXiv 2104.04473, equation 3 (with repetition).
double flops_of_sample(const LayoutColumns& sizes, double sequence, bool repeats_forward);

}  // namespace trainyard
