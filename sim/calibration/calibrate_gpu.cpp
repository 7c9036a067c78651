#include "calibration/calibrate_gpu.hpp"

#include "calibration/fit_curves.hpp"
#include "calibration/fit_profile.hpp"
#include "config/diagnostic.hpp"
#include "config/write.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

/// "a.csv and b.csv": the recordings with kernels of a group.
std::string files_with(const std::string& group, const std::vector<Recording>& recordings) {
  std::string files;
  for (const Recording& recording : recordings) {
    const KernelTable table = kernel_table(recording);
    const auto is_of_group = [&](const auto& kernel) { return group_of(kernel) == group; };
    const auto is_call_of_group = [&](const RecordedKernel& row) {
      return (has_cast(row) && group_of(GemmKernel{*row.dtype, {}, {}}) == group) ||
             (row.kind == OpKind::attention && group_of(AttentionPass{*row.dtype, {}, {}, {}}) == group);
    };
    if (std::ranges::any_of(recording.rows, is_call_of_group) ||
        std::ranges::any_of(table.convs, is_of_group) || std::ranges::any_of(table.gemms, is_of_group) ||
        std::ranges::any_of(table.vectors, is_of_group)) {
      files += (files.empty() ? "" : " and ") + recording.name;
    }
  }
  return files;
}

/// Groups of products that are fitted in detail and held out by whole (n, k).
std::set<std::string> detailed_groups(const MeasuredKernels& measured) {
  std::set<std::string> groups;
  for (const Dtype dtype : measured.detailed) groups.insert(group_of(GemmKernel{dtype, {}, {}}));
  return groups;
}

/// The source of a group's fit, for the profile. `held_out`: "shapes" or "(n, k)".
std::string source_of(const HeldOutError& error, int count, const std::vector<Recording>& recordings,
                      std::string_view held_out) {
  std::string text = fmt::format("{} of {}; mean error on held-out {} {}", plural(count, "kernel"),
                                 files_with(error.kernels, recordings), held_out, percent(error.mape));
  if (error.count != count)
    text += fmt::format(" (the {} longer than the framework's dispatch)", error.count);
  if (error.curve_mape != error.mape) text += ", of the curve alone " + percent(error.curve_mape);
  return text;
}

std::string text_of(const CastFit& cast) {
  std::string text =
      fmt::format(". Without the cast of their input, which is fitted separately: {} + 3 bytes a value at {}",
                  human(cast.fixed), human(cast.rate));
  if (cast.per_row > Seconds()) text += fmt::format(" + {} a row", human(cast.per_row));
  if (cast.per_column > Seconds()) text += fmt::format(" + {} a column", human(cast.per_column));
  return text + ". t0 and t_sum as in bf16; errors of whole calls";
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

/// Whether the row belongs to the table: attention has only curves.
bool is_matrix_kernel(const RecordedKernel& row) {
  return row.kind && is_matrix(*row.kind) && *row.kind != OpKind::attention;
}
bool is_vector_kernel(const RecordedKernel& row) { return row.kind && !is_matrix(*row.kind); }

/// The recordings that a profile's table of kernels is made of; null where there is none.
struct Tables {
  const Recording* kernels = nullptr;         ///< with matrix products or convolutions
  const Recording* vector_kernels = nullptr;  ///< with vector ops alone
};

Tables tables_of(const std::vector<Recording>& recordings) {
  Tables tables;
  for (const Recording& recording : recordings) {
    if (recording.facts.is_framework_timing) continue;
    const bool has_matrix = std::ranges::any_of(recording.rows, is_matrix_kernel);
    if (!has_matrix && std::ranges::none_of(recording.rows, is_vector_kernel)) continue;
    const Recording*& table = has_matrix ? tables.kernels : tables.vector_kernels;
    if (table != nullptr) {
      throw InputError(fmt::format("'{}' and '{}' both time {}, but a profile has only one table of them",
                                   table->name, recording.name, has_matrix ? "kernels" : "vector ops"),
                       "put the rows into one recording");
    }
    table = &recording;
  }
  return tables;
}

/// The recordings without the vector ops in whose place others stand.
std::vector<Recording> without_replaced(std::vector<Recording> recordings, const Tables& tables) {
  if (tables.kernels == nullptr || tables.vector_kernels == nullptr) return recordings;
  for (Recording& recording : recordings) {
    if (recording.name == tables.kernels->name) std::erase_if(recording.rows, is_vector_kernel);
  }
  return recordings;
}

/// Kernels that are new take the place of the specification's, matrix work and vector ops apart.
/// `products`: all of them, without casts.
void set_kernels(GpuProfile& gpu, const MeasuredKernels& measured, const std::vector<GemmKernel>& products,
                 const Tables& tables, std::size_t keep) {
  KernelTable& table = gpu.kernel_table;  // still that of the specification
  const bool has_vectors = !measured.kernels.vectors.empty();
  const bool keeps_vectors = !has_vectors && (gpu.vector_kernels || tables.kernels == nullptr);
  if (tables.kernels != nullptr) {
    gpu.kernels = tables.kernels->name;
    table.convs = measured.kernels.convs;
    table.gemms = spread(products, keep);
    const bool is_part = table.gemms.size() < products.size();
    if (is_part || !measured.calls.empty()) gpu.kernels = part_name(*tables.kernels);
  }
  if (!keeps_vectors) table.vectors = measured.kernels.vectors;
  if (has_vectors) gpu.vector_kernels.reset();
  if (tables.vector_kernels != nullptr) gpu.vector_kernels = tables.vector_kernels->name;
}

/// Sets the board's power in each state as a fraction of its TDP, if the recordings have it.
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

/// Calls with a cast are of no use without a fit of the cast.
void check_calls_fitted(const MeasuredKernels& measured, const FittedProfile& fitted) {
  if (measured.calls.empty() || fitted.cast) return;
  throw InputError(
      fmt::format("{} of linear layers with the cast of their input cannot be told apart from the cast",
                  plural(static_cast<long long>(measured.calls.size()), "call")),
      fmt::format("record at least {} of {} (n, k), on a GPU whose specification has an fp8 peak",
                  fewest_detailed_products, fewest_detailed_weights));
}

/// The known entries that are not replaced, and the new ones.
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

GpuProfile calibrate(const GpuProfile& specification, const std::vector<Recording>& recordings,
                     std::size_t keep) {
  check_each_once(recordings);
  const Tables tables = tables_of(recordings);
  const std::vector<Recording> counted = without_replaced(recordings, tables);
  const MeasuredKernels measured = gather(counted);
  const FittedProfile first = fit_profile(specification, measured);
  check_calls_fitted(measured, first);
  const std::map<std::string, int>& fitted = first.fitted;
  if (fitted.empty()) {
    throw InputError("the recordings have too few kernels of every group",
                     fmt::format("record at least {} kernels of a group", fewest_kernels));
  }
  const std::vector<HeldOutError> errors = held_out_errors(specification, measured, keep);
  const std::set<std::string> detailed = detailed_groups(measured);
  std::map<std::string, std::string> sources;
  for (const auto& [group, count] : fitted) {
    sources[group] = fmt::format("{} of {}, too few to hold some out", plural(count, "kernel"),
                                 files_with(group, counted));
  }
  for (const HeldOutError& error : errors) {
    sources[error.kernels] = source_of(error, fitted.at(error.kernels), counted,
                                       detailed.contains(error.kernels) ? "(n, k)" : "shapes");
  }
  for (auto& [group, text] : sources) {
    if (!group.starts_with("attention ")) continue;
    text += fmt::format(". Of forward passes; times {:.2f} with backward, as on a100_sxm4_80gb",
                        attention_of_step);
  }
  if (first.cast) sources[group_of(measured.calls.front())] += text_of(*first.cast);

  GpuProfile gpu = fit_profile(specification, measured, sources).gpu;
  set_power(gpu, recordings);
  const std::vector<GemmKernel> products = std::move(gpu.kernel_table.gemms);
  gpu.kernel_table = specification.kernel_table;
  set_kernels(gpu, measured, products, tables, keep);
  gpu.calibration = merged(specification.calibration.value_or(Calibration()), fitted, errors, recordings);
  return gpu;
}

std::string part_name(const Recording& recording) {
  return std::filesystem::path(recording.name).stem().string() + "_kernels.csv";
}

std::optional<Recording> table_beside(const GpuProfile& gpu, const std::vector<Recording>& recordings) {
  const Tables tables = tables_of(recordings);
  if (tables.kernels == nullptr || !gpu.kernels || gpu.kernels == tables.kernels->name) return std::nullopt;
  Recording part{*gpu.kernels, tables.kernels->facts, {}};
  for (const RecordedKernel& row : tables.kernels->rows) {
    if (!row.kind || row.kind == OpKind::attention || (is_vector_kernel(row) && gpu.vector_kernels)) continue;
    part.rows.push_back(row);
    const auto* shape = std::get_if<GemmShape>(&row.shape);
    if (shape == nullptr) continue;
    const GemmKernel* product = find_product(gpu.kernel_table, *row.dtype, *shape);
    if (product == nullptr) {
      part.rows.pop_back();
    } else if (has_cast(row)) {
      part.rows.back().variant.clear();
      part.rows.back().time = product->duration;
      part.rows.back().is_derived = true;
    }
  }
  return part;
}

std::string profile_text(const GpuProfile& gpu) {
  const bool has_recordings = gpu.calibration && !gpu.calibration->recordings.empty();
  const char* const origin =
      has_recordings ? ". Change memory, peaks, TDP, power and `assumed` figures here and run\n"
                       "# it again with this file as --specification; it replaces the `fitted` figures."
                     : " from a specification, published figures or another GPU's profile:\n"
                       "# no recording of this GPU was used.";
  return fmt::format(
      "# yaml-language-server: $schema=../schema/gpu.json\n# Written by `trainyard calibrate gpu`{}\n"
      "# docs/gpus.md explains how kernel times follow from them. held_out: errors as ratios.\n{}",
      origin, config::write(gpu));
}

}  // namespace trainyard
