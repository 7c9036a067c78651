#include "compute/gpu_profile.hpp"

#include "compute/gpu_speed.hpp"
#include "compute/short_profile.hpp"
#include "config/catalogue.hpp"
#include "config/read.hpp"
#include "config/read_file.hpp"
#include "config/same_gpu.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

void validate(const GpuProfile& gpu, config::Problems& problems) {
  problems.check_name(gpu.name);
  const auto require_beside = [&](const char* key, const std::optional<std::string>& file) {
    if (!file || file->find('/') == std::string::npos) return;
    problems.error(key, "'" + *file + "' is not in the profile's folder",
                   "copy the table into the profile's folder and write its name without a folder");
  };
  require_beside("kernels", gpu.kernels);
  require_beside("vector_kernels", gpu.vector_kernels);
  if (gpu.memory.usable && gpu.memory.usable->value > gpu.memory.capacity.value)
    problems.error(
        "memory.usable",
        fmt::format("{} usable of a capacity of {}", human(gpu.memory.usable->value),
                    human(gpu.memory.capacity.value)),
        "at most memory.capacity; with another capacity set both, or usable to none for all of it");
  const MatrixUnits& units = gpu.matrix;
  const bool has_peak = units.fp32.peak.value > FlopRate() || units.tf32 || units.fp16 || units.bf16 ||
                        units.fp8 || units.nvfp4;
  if (!has_peak && problems.readable("matrix"))
    problems.error("matrix", "no peak rate is stated", "fp16: {peak: 142 TFLOP/s}");
  if (units.fp16 && problems.readable("matrix") && units.fp16->peak.value < units.fp32.peak.value) {
    problems.warning("matrix.fp16.peak", "the fp16 peak is below the fp32 peak");
  }
}

/// The profile that a short one is scaled from: complete itself, so that figures are assumed once.
GpuProfile reference_of(const GpuProfile& gpu, const config::Document& document, std::string& file) {
  const config::Catalogue catalogue = config::find_catalogue();
  const std::string name =
      config::data_sheet_named(catalogue, gpu.like.value_or(std::string(usual_reference)));
  const auto path = config::find(catalogue, config::Kind::gpu, name, document.name);
  file = path.string();
  GpuProfile reference = config::read<GpuProfile>(config::load(path), validate);
  if (is_short(reference)) {
    throw InputError(
        fmt::format("{}: '{}', which 'like' names, is a short profile itself", document.name, name),
        "like: a100_sxm4_80gb, or another complete profile of `trainyard list gpus`");
  }
  return reference;
}

GpuProfile read_profile(const config::Document& document, std::vector<Diagnostic>* warnings) {
  GpuProfile gpu = config::read<GpuProfile>(document, validate, warnings);
  if (!is_short(gpu)) return gpu;
  std::string file;
  complete(gpu, reference_of(gpu, document, file));
  gpu.like_file = file;
  return gpu;
}

/// The kernels of a recording that the profile names under `key`.
KernelTable read_table(const config::Document& document, const std::string& key, const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(document.name).parent_path() / file;
  const Recording recording = read_recording(path.string(), config::read_file(path, largest_csv));
  if (recording.facts.is_framework_timing) {
    throw InputError(
        path.string() + ": its times include a framework's dispatch, so they are not times of kernels",
        "leave out '" + key + "'; `trainyard calibrate gpu` can fit to this recording");
  }
  if (std::ranges::any_of(recording.rows, has_cast)) {
    throw InputError(
        path.string() +
            ": its linear layers include the cast of their input, so they are not times of kernels",
        "`trainyard calibrate gpu` subtracts the cast and writes a table for '" + key + "'");
  }
  return kernel_table(recording);
}

GpuProfile with_speed_applied(GpuProfile gpu) {
  gpu.has_speed = gpu.speed.value_or(1);
  if (gpu.has_speed != 1) make_faster(gpu, gpu.has_speed);
  gpu.speed.reset();
  return gpu;
}

}  // namespace

GpuProfile load_gpu_profile(const config::Document& document, std::vector<Diagnostic>* warnings) {
  GpuProfile gpu = read_profile(document, warnings);
  if (gpu.kernels) gpu.kernel_table = read_table(document, "kernels", *gpu.kernels);
  if (gpu.vector_kernels) {
    gpu.kernel_table.vectors = read_table(document, "vector_kernels", *gpu.vector_kernels).vectors;
  }
  return with_speed_applied(std::move(gpu));
}

GpuProfile load_gpu_facts(const config::Document& document, std::vector<Diagnostic>* warnings) {
  return with_speed_applied(read_profile(document, warnings));
}

int compute_capability(const GpuProfile& gpu) {
  return static_cast<int>(std::lround(10 * gpu.compute_capability.value));
}

std::string_view generation(const GpuProfile& gpu) {
  struct Generation {
    int first;  // compute capability
    std::string_view name;
  };
  static constexpr Generation generations[] = {{100, "blackwell"}, {90, "hopper"},  {89, "ada"},
                                               {80, "ampere"},     {75, "turing"},  {70, "volta"},
                                               {60, "pascal"},     {50, "maxwell"}, {30, "kepler"}};
  const int capability = compute_capability(gpu);
  for (const Generation& generation : generations) {
    if (capability >= generation.first) return generation.name;
  }
  return {};
}

}  // namespace trainyard
