#include "experiment/decoding.hpp"

#include "compute/op_time.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

void check_dali(const ResolvedExperiment& resolved) {
  if (!is_dali(resolved.settings.input) || resolved.model->input->dali) return;
  throw InputError(
      fmt::format("{} does not state the cost of a sample with DALI (input.dali)", resolved.model->name),
      "loader: framework, or --set 'model.input.dali={decode: 3.8 ms, huffman: 2.6 ms, coefficients: 545 KB, "
      "kernels: 24 MB, resize: 16 MB}'");
}

void check_gpu_decoding(const ResolvedExperiment& resolved) {
  const InputSettings& input = resolved.settings.input;
  if (resolved.gpu.image_decoder) {
    if (input.workers)
      throw InputError("'workers' applies only to decoding on CPUs", "decode: cpu, or leave out 'workers'");
  } else if (resolved.platform.ranks_on_processors) {
    throw InputError(fmt::format("{} states no hardware decoder (image_decoder)", resolved.gpu.name),
                     "decode: cpu");
  } else if (!is_dali(input)) {
    throw InputError(fmt::format("{} states no hardware decoder (image_decoder)", resolved.gpu.name),
                     "loader: dali decodes in kernels and on CPUs; or decode: cpu");
  }
  if (is_dali(input) && is_multi_update(resolved.settings)) {
    throw InputError("decoding in kernels of GPUs is not simulated for runs of many updates",
                     "decode: cpu, or update: sync without servers and randomness");
  }
}

}  // namespace

bool is_hybrid(const ResolvedExperiment& resolved) {
  return decodes_on_gpu(resolved.settings.input) && !resolved.gpu.image_decoder;
}

DecodingCost decoding_cost(const ResolvedExperiment& resolved) {
  const InputSettings& input = resolved.settings.input;
  const SampleInput& sample = *resolved.model->input;
  DecodingCost cost;
  if (!sample.decode) return cost;
  if (!decodes_on_gpu(input)) {
    cost.core = is_dali(input) ? &sample.dali->decode : &*sample.decode;
  } else if (is_hybrid(resolved)) {
    cost.core = &sample.dali->huffman;
    cost.coefficients = &sample.dali->coefficients;
    cost.kernels = &sample.dali->kernels;
  } else {
    cost.decoder = &*resolved.gpu.image_decoder;
    if (is_dali(input)) cost.kernels = &sample.dali->resize;
  }
  return cost;
}

Seconds decoding_kernels(const ResolvedExperiment& resolved) {
  const DecodingCost cost = decoding_cost(resolved);
  if (cost.kernels == nullptr) return {};
  const Experiment& experiment = resolved.settings;
  Op op;
  op.kind = OpKind::elementwise;
  op.bytes = experiment.batch_per_gpu * cost.kernels->value;
  return experiment.accumulation * op_time(resolved.gpu, experiment.precision, op).duration;
}

void check_decoding(const ResolvedExperiment& resolved) {
  const InputSettings& input = resolved.settings.input;
  if (!resolved.model->input->decode) {
    const char* const key = decodes_on_gpu(input) ? "decode"
                            : input.loader        ? "loader"
                            : input.workers       ? "workers"
                                                  : nullptr;
    if (key != nullptr) {
      throw InputError(fmt::format("samples of {} need no decoding", resolved.model->name),
                       fmt::format("leave out '{}'", key));
    }
    return;
  }
  check_dali(resolved);
  if (decodes_on_gpu(input)) check_gpu_decoding(resolved);
}

}  // namespace trainyard
