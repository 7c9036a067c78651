#include "calibration/kernels.hpp"

#include "compute/curves.hpp"
#include "compute/nearest.hpp"
#include "config/diagnostic.hpp"
#include "config/keys.hpp"
#include "units/fnv1a.hpp"
#include "units/text.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// The fold of a text, equal on every machine.
int fold_of_text(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return static_cast<int>((hash.value() >> 32U) % folds);
}

/// The kernels whose `its_fold` is `fold` (`is_held_out`), or all others.
template <class T, class Fold>
std::vector<T> part_of(const std::vector<T>& all, int fold, bool is_held_out, const Fold& fold_of) {
  std::vector<T> part;
  for (const T& kernel : all) {
    if ((fold_of(kernel) == fold) == is_held_out) part.push_back(kernel);
  }
  return part;
}

/// Calls that cast their input, in the order of their shapes. Throws InputError for one listed twice.
std::vector<CastingCall> casting_calls(const Recording& recording) {
  Recording products;
  products.name = recording.name;
  for (RecordedKernel row : recording.rows) {
    if (!has_cast(row)) continue;
    row.variant.clear();
    products.rows.push_back(std::move(row));
  }
  std::vector<CastingCall> calls;
  for (const GemmKernel& product : kernel_table(products).gemms) calls.push_back({product});
  return calls;
}

std::vector<AttentionPass> attention_passes(const Recording& recording) {
  std::vector<AttentionPass> passes;
  for (const RecordedKernel& row : recording.rows) {
    if (row.kind != OpKind::attention) continue;
    passes.push_back({*row.dtype, std::get<GemmShape>(row.shape), row.bytes, row.time});
  }
  return passes;
}

void check_casts_alike(const MeasuredKernels& measured) {
  const bool has_product = std::ranges::any_of(
      measured.kernels.gemms, [](const GemmKernel& kernel) { return kernel.dtype == Dtype::fp8; });
  if (measured.calls.empty() || !has_product) return;
  throw InputError("some products in fp8 include the cast of their input (with_cast), others do not",
                   "give recordings of one kind");
}

std::set<Dtype> detailed_types(const std::vector<GemmKernel>& products) {
  std::map<Dtype, std::size_t> counts;
  std::map<Dtype, std::set<std::pair<int, int>>> weights;
  for (const GemmKernel& kernel : products) {
    ++counts[kernel.dtype];
    weights[kernel.dtype].emplace(kernel.shape.n, kernel.shape.k);
  }
  std::set<Dtype> detailed;
  for (const auto& [dtype, count] : counts) {
    const bool is_detailed =
        count >= fewest_detailed_products && weights.at(dtype).size() >= fewest_detailed_weights;
    if (is_detailed) detailed.insert(dtype);
  }
  return detailed;
}

void append_kernels(Recording& all, const Recording& recording) {
  all.name += (all.name.empty() ? "" : ", ") + recording.name;
  all.rows.insert(all.rows.end(), recording.rows.begin(), recording.rows.end());
}

void append_dispatched(std::vector<DispatchedKernel>& all, const Recording& recording) {
  for (const RecordedKernel& row : recording.rows) {
    if (!row.kind || is_matrix(*row.kind)) continue;
    all.push_back({vector_kernel(row), row.variant.substr(0, row.variant.find(' '))});
  }
}

}  // namespace

MeasuredKernels gather(const std::vector<Recording>& recordings) {
  Recording alone;
  MeasuredKernels measured;
  for (const Recording& recording : recordings) {
    if (recording.facts.is_framework_timing) {
      append_dispatched(measured.dispatched, recording);
    } else {
      append_kernels(alone, recording);
    }
  }
  measured.kernels = kernel_table(alone);
  measured.calls = casting_calls(alone);
  check_casts_alike(measured);
  measured.attention = attention_passes(alone);
  std::vector<GemmKernel> products = measured.kernels.gemms;
  for (const CastingCall& call : measured.calls) products.push_back(call.product);
  measured.detailed = detailed_types(products);
  return measured;
}

std::string group_of(const ConvKernel& kernel) {
  const std::string pass_and_type =
      std::string(config::name_of(kernel.pass)) + " " + std::string(config::name_of(kernel.dtype));
  return kernel.layout == Layout::nhwc ? pass_and_type + " nhwc" : pass_and_type;
}

std::string group_of(const GemmKernel& kernel) {
  return "gemm " + std::string(config::name_of(kernel.dtype));
}

std::string group_of(const CastingCall& call) { return group_of(call.product); }

std::string group_of(const AttentionPass& pass) {
  return "attention " + std::string(config::name_of(pass.dtype));
}

int fold_of(const AttentionPass& pass) { return fold_of_text(to_string(Shape(pass.shape))); }

std::string group_of(const VectorKernel& kernel) {
  const bool is_batch_norm =
      kernel.kind == OpKind::batch_norm_forward || kernel.kind == OpKind::batch_norm_backward;
  if (is_wide_softmax(kernel.kind, kernel.row)) return "softmax_wide";
  return is_batch_norm ? "batch_norm" : std::string(config::name_of(kernel.kind));
}

int fold_of(const ConvKernel& kernel) {
  ConvShape family = kernel.shape;
  family.batch = 1;
  return fold_of_text(to_string(Shape(family)));
}

int fold_of(const GemmKernel& kernel, bool by_weights) {
  if (by_weights)
    return fold_of_text("n" + std::to_string(kernel.shape.n) + " k" + std::to_string(kernel.shape.k));
  GemmShape family = kernel.shape;
  family.transpose_a = family.transpose_b = false;
  return fold_of_text(to_string(Shape(family)));
}

std::string group_of(const DispatchedKernel& kernel) { return group_of(kernel.kernel); }

int fold_of(const DispatchedKernel& kernel) { return fold_of(kernel.kernel); }

int fold_of(const VectorKernel& kernel) {
  return fold_of_text(std::to_string(std::lround(rough_log2(kernel.bytes.si()))));
}

MeasuredKernels part_of(const MeasuredKernels& all, int fold, bool is_held_out) {
  const auto by_shape = [](const auto& kernel) { return fold_of(kernel); };
  const auto of_product = [&](const GemmKernel& kernel) {
    return fold_of(kernel, all.detailed.contains(kernel.dtype));
  };
  return {{part_of(all.kernels.convs, fold, is_held_out, by_shape),
           part_of(all.kernels.gemms, fold, is_held_out, of_product),
           part_of(all.kernels.vectors, fold, is_held_out, by_shape)},
          part_of(all.dispatched, fold, is_held_out, by_shape),
          part_of(all.calls, fold, is_held_out,
                  [&](const CastingCall& call) { return of_product(call.product); }),
          part_of(all.attention, fold, is_held_out, by_shape),
          all.detailed};
}

}  // namespace trainyard
