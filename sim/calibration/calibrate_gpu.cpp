#include "calibration/calibrate_gpu.hpp"

#include "calibration/fit_curves.hpp"
#include "calibration/fit_profile.hpp"
#include "config/diagnostic.hpp"
#include "config/write.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace trainyard {
namespace {

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

/// "a.csv and b.csv": the recordings with kernels of a group.
std::string files_with(const std::string& group, const std::vector<Recording>& recordings) {
  std::string files;
  for (const Recording& recording : recordings) {
    const KernelTable table = kernel_table(recording);
    const auto is_of_group = [&](const auto& kernel) { return group_of(kernel) == group; };
    if (std::ranges::any_of(table.convs, is_of_group) || std::ranges::any_of(table.gemms, is_of_group) ||
        std::ranges::any_of(table.vectors, is_of_group)) {
      files += (files.empty() ? "" : " and ") + recording.name;
    }
  }
  return files;
}

/// What the fit of a group rests on, for the profile.
std::string source_of(const HeldOutError& error, int count, const std::vector<Recording>& recordings) {
  std::string text = fmt::format("{} kernels of {}; mean error on held-out shapes {}", count,
                                 files_with(error.kernels, recordings), percent(error.mape));
  if (error.count != count)
    text += fmt::format(" (the {} longer than the framework's dispatch)", error.count);
  if (error.curve_mape != error.mape) text += ", of the curve alone " + percent(error.curve_mape);
  return text;
}

/// "v100_kernels.csv: Tesla V100-SXM2, driver 418.67, CUDA 10.1.243, cuDNN 7.6.2; Baidu DeepBench, ..."
std::string conditions_of(const Recording& recording) {
  const RecordingFacts& facts = recording.facts;
  std::string text = recording.name + ": " + (facts.gpu.empty() ? "unnamed GPU" : facts.gpu);
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format(", {}{}", what, value);
  };
  add("driver ", facts.driver);
  add("CUDA ", facts.cuda);
  add("cuBLASLt ", facts.cublaslt);
  add("cuDNN ", facts.cudnn);
  add("NCCL ", facts.nccl);
  add("", facts.date);
  return facts.source.empty() ? text : text + "; " + facts.source;
}

std::vector<const Recording*> of_kernels_alone(const std::vector<Recording>& recordings) {
  std::vector<const Recording*> alone;
  for (const Recording& recording : recordings) {
    if (!recording.facts.is_framework_timing) alone.push_back(&recording);
  }
  return alone;
}

/// The board's power in a state as a part of its TDP, if the recordings have it.
void set_power(GpuProfile& gpu, const std::vector<Recording>& recordings) {
  std::map<std::string, Watts> drawn;
  for (const Recording& recording : recordings) {
    for (const RecordedKernel& row : recording.rows) {
      if (row.op == "power" && row.power) drawn[row.variant] = *row.power;
    }
  }
  if (!drawn.contains("idle") || !drawn.contains("vector") || !drawn.contains("gemm")) return;
  if (gpu.tdp.value <= Watts()) return;
  const auto part = [&](const std::string& state) {
    return Sourced<double>{four_digits(drawn.at(state) / gpu.tdp.value), Provenance::measured,
                           fmt::format("{:.1f} W over some seconds, by NVML", drawn.at(state).si())};
  };
  gpu.power = {part("idle"), part("vector"), part("gemm")};
}

void check_each_once(const std::vector<Recording>& recordings) {
  std::set<std::string> names;
  for (const Recording& recording : recordings) {
    if (!names.insert(recording.name).second) {
      throw InputError("the recording '" + recording.name + "' is given twice", "give it once");
    }
  }
}

/// What was known before and is not replaced, and what is new.
Calibration merged(Calibration known, const std::map<std::string, int>& fitted,
                   const std::vector<HeldOutError>& errors, const std::vector<Recording>& recordings) {
  std::erase_if(known.held_out, [&](const HeldOutError& error) { return fitted.contains(error.kernels); });
  known.held_out.insert(known.held_out.end(), errors.begin(), errors.end());
  std::ranges::stable_sort(known.held_out, {}, &HeldOutError::kernels);
  for (const Recording& recording : recordings) {
    std::erase(known.recordings, recording.name);
    std::erase_if(known.measured_with,
                  [&](const std::string& text) { return text.starts_with(recording.name + ": "); });
    known.recordings.push_back(recording.name);
    known.measured_with.push_back(conditions_of(recording));
  }
  return known;
}

}  // namespace

GpuProfile calibrate(const GpuProfile& specification, const std::vector<Recording>& recordings) {
  check_each_once(recordings);
  const auto tables = of_kernels_alone(recordings);
  if (tables.size() > 1) {
    throw InputError(fmt::format("'{}' and '{}' both time kernels: a profile has one table of them",
                                 tables[0]->name, tables[1]->name),
                     "put the rows into one recording");
  }
  const MeasuredKernels measured = gather(recordings);
  const std::map<std::string, int> fitted = fit_profile(specification, measured).fitted;
  if (fitted.empty()) {
    throw InputError("the recordings hold too few kernels of every group",
                     fmt::format("a group needs {} for a fit", fewest_kernels));
  }
  const std::vector<HeldOutError> errors = held_out_errors(specification, measured);
  std::map<std::string, std::string> sources;
  for (const auto& [group, count] : fitted) {
    sources[group] =
        fmt::format("{} kernels of {}, too few to hold some out", count, files_with(group, recordings));
  }
  for (const HeldOutError& error : errors) {
    sources[error.kernels] = source_of(error, fitted.at(error.kernels), recordings);
  }

  GpuProfile gpu = fit_profile(specification, measured, sources).gpu;
  set_power(gpu, recordings);
  if (tables.empty()) {
    gpu.kernel_table = specification.kernel_table;
  } else {
    gpu.kernels = tables[0]->name;
  }
  gpu.calibration = merged(specification.calibration.value_or(Calibration()), fitted, errors, recordings);
  return gpu;
}

std::string profile_text(const GpuProfile& gpu) {
  return "# yaml-language-server: $schema=../schema/gpu.json\n"
         "# Written by `trainyard calibrate gpu`. Change memory, peaks, TDP, power and what is `assumed` "
         "here and run\n"
         "# it again with this file as --specification; what is `fitted` it replaces.\n"
         "# time = max(FLOPs / (efficiency x peak), bytes / (bandwidth_fraction x memory bandwidth)) + t0, "
         "corrected\n"
         "# by the nearest kernels of `kernels`; platforms/README.md explains every key. held_out: errors as "
         "ratios.\n" +
         config::write(gpu);
}

}  // namespace trainyard
