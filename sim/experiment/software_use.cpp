#include "experiment/software_use.hpp"

#include "compute/op_time.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

std::string_view precision_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::tf32:
      return "tf32";
    case Dtype::fp16:
    case Dtype::bf16:
    case Dtype::fp8:  // all but the products in 8 bits are kernels of 16
    case Dtype::mxfp8:
    case Dtype::nvfp4:
      return "16bit";
  }
  return "";
}

}  // namespace

std::string model_configuration(const ResolvedExperiment& resolved) {
  const Trace& trace = resolved.classes.front().trace;
  if (const auto& model = resolved.model)  // the traces of a layout are made later
    return model->sequence_length ? fmt::format("{}@{}", model->name, *model->sequence_length) : model->name;
  return trace.sequence_length ? fmt::format("{}@{}", trace.model, *trace.sequence_length) : trace.model;
}

SoftwareUse software_use(const ResolvedExperiment& resolved) {
  return {.framework = resolved.stack.framework,
          .stack = resolved.stack.kernels_of.value_or(resolved.stack.name),
          .generation =
              std::string(resolved.platform.ranks_on_processors ? of_processors : generation(resolved.gpu)),
          .gpu = resolved.gpu.name,
          .model = model_configuration(resolved),
          .precision = std::string(precision_of(matrix_dtype(resolved.gpu, resolved.settings.precision)))};
}

OpSlowdown slowdown_of(const Software& software, const ResolvedExperiment& resolved) {
  OpSlowdown slowdown = slowdown_of(software, software_use(resolved));
  // The factors correct curves and tables of libraries of 2017 to 2023. A framework's recorded calls contain
  // these corrections already and would count them twice. Launches are the host's, whatever the kernels.
  if (resolved.gpu.vector_kernels) slowdown.factor = OpSlowdown{}.factor;
  return slowdown;
}

}  // namespace trainyard
