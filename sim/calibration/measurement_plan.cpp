#include "calibration/measurement_plan.hpp"

#include "compute/work.hpp"
#include "config/keys.hpp"
#include "units/text.hpp"
#include "workload/make_trace.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

constexpr double mib = 1024.0 * 1024.0;

/// The rows so far, without repeats.
class Plan {
public:
  void add(Measurement row) {
    const std::string dtype = row.dtype ? std::string(config::name_of(*row.dtype)) : std::string();
    if (seen_.emplace(row.op, row.variant, dtype, row.shape, row.bytes.si()).second) {
      rows_.push_back(std::move(row));
    }
  }

  void add(const GemmShape& shape, Dtype dtype) {
    add({"gemm", "", dtype, to_string(Shape(shape)), work_of(shape, dtype).bytes});
  }

  void add(OpKind pass, const ConvShape& shape, Dtype dtype, Layout layout) {
    add({std::string(config::name_of(pass)), std::string(config::name_of(layout)), dtype,
         to_string(Shape(shape)), work_of(shape, dtype).bytes});
  }

  /// A measurement that is not a kernel of a trace.
  void add(std::string op, std::string variant, Bytes bytes = {}) {
    add({std::move(op), std::move(variant), std::nullopt, "", bytes});
  }

  [[nodiscard]] std::vector<Measurement> take() { return std::move(rows_); }

private:
  std::vector<Measurement> rows_;
  std::set<std::tuple<std::string, std::string, std::string, std::string, double>> seen_;
};

constexpr std::array half_types{Dtype::bf16, Dtype::fp16};
constexpr std::array all_types{Dtype::bf16, Dtype::tf32, Dtype::fp32, Dtype::fp16};

/// A kernel of our own: the values of its type that it moves per value.
struct VectorOp {
  std::string_view op, variant;
  double passes = 0;
  int row = 1;  ///< values must be a multiple of it
};

/// One for each way to use memory bandwidth: a stream, a gather, a reduction. Passes as workload/layer.cpp
/// counts them. A framework's own vector ops are timed in the framework (tests/validation/gpu).
constexpr std::array vector_ops{VectorOp{"elementwise", "add", 3},
                                VectorOp{"embedding", "forward w768", 2, 768},
                                VectorOp{"reduction", "sum", 1}};

/// About `size` bytes of every vector op.
void add_vector_ops(Plan& plan, Bytes size, Dtype dtype) {
  for (const VectorOp& op : vector_ops) {
    const Bytes value = op.passes * size_of(dtype);
    const auto rows = static_cast<long long>(size / value) / op.row;
    const auto values = static_cast<double>(rows * op.row);
    plan.add({std::string(op.op), std::string(op.variant), dtype, to_string(Shape(VectorShape{values})),
              values * value});
  }
}

void add_copies(Plan& plan, std::span<const double> sizes) {
  for (const double size : sizes) {
    for (const char* way : {"h2d_pinned", "d2h_pinned", "d2d", "h2d_pageable", "d2h_pageable", "peer"}) {
      plan.add("copy", way, Bytes(size));
    }
    plan.add({"all_reduce", "nccl", Dtype::fp32, "", Bytes(size)});
  }
}

void add_overlap(Plan& plan) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp32}) {
    const GemmShape shape{1, 4096, 4096, 4096, false, true};
    plan.add(shape, dtype);
    for (const char* copy : {"gemm h2d", "gemm d2h"}) {
      plan.add({"overlap", copy, dtype, to_string(Shape(shape)), work_of(shape, dtype).bytes});
    }
  }
  const double values = 64 * mib;
  const Bytes bytes = 3 * values * size_of(Dtype::fp32);
  plan.add({"elementwise", "add", Dtype::fp32, to_string(Shape(VectorShape{values})), bytes});
  for (const char* copy : {"vector h2d", "vector d2d"}) {
    plan.add({"overlap", copy, Dtype::fp32, to_string(Shape(VectorShape{values})), bytes});
  }
}

void add_gemm_grid(Plan& plan, std::span<const int> sizes, std::span<const Dtype> types) {
  constexpr std::array transposes{std::pair(false, true), std::pair(false, false), std::pair(true, false)};
  for (const Dtype dtype : types) {
    for (const auto& [transpose_a, transpose_b] : transposes) {
      for (const int m : sizes) {
        for (const int n : sizes) {
          for (const int k : sizes) plan.add({1, m, n, k, transpose_a, transpose_b}, dtype);
        }
      }
    }
  }
}

/// Products per head, as in attention: scores [s x s] from width d, and back.
void add_batched_grid(Plan& plan, std::span<const Dtype> types) {
  for (const Dtype dtype : types) {
    for (const int batch : {12, 96, 384}) {
      for (const int sequence : {128, 512, 1024}) {
        for (const int width : {64, 128}) {
          plan.add({batch, sequence, sequence, width, false, true}, dtype);
          plan.add({batch, sequence, width, sequence, false, false}, dtype);
          plan.add({batch, sequence, width, sequence, true, false}, dtype);
        }
      }
    }
  }
}

/// Convolutions of every class and image size, including all of ResNet-50's; enough of each pass for a fit
/// while a fold is held out.
void add_typical_convs(Plan& plan) {
  constexpr std::array shapes{
      ConvShape{32, 3, 224, 224, 64, 7, 7, 2, 3, 3},  ConvShape{32, 64, 56, 56, 256, 1, 1, 1, 0, 0},
      ConvShape{32, 64, 56, 56, 64, 3, 3, 1, 1, 1},   ConvShape{32, 256, 56, 56, 512, 1, 1, 2, 0, 0},
      ConvShape{32, 128, 56, 56, 128, 3, 3, 2, 1, 1}, ConvShape{32, 1024, 14, 14, 256, 1, 1, 1, 0, 0},
      ConvShape{32, 512, 7, 7, 512, 3, 3, 1, 1, 1},   ConvShape{32, 256, 56, 56, 64, 1, 1, 1, 0, 0},
      ConvShape{32, 128, 28, 28, 128, 3, 3, 1, 1, 1}, ConvShape{32, 512, 28, 28, 1024, 1, 1, 2, 0, 0},
      ConvShape{32, 256, 28, 28, 256, 3, 3, 2, 1, 1}, ConvShape{32, 256, 14, 14, 256, 3, 3, 1, 1, 1},
      ConvShape{32, 512, 7, 7, 2048, 1, 1, 1, 0, 0}};
  constexpr std::array kinds{std::pair(Dtype::bf16, Layout::nhwc), std::pair(Dtype::fp32, Layout::nchw),
                             std::pair(Dtype::tf32, Layout::nchw)};
  for (const auto& [dtype, layout] : kinds) {
    for (const ConvShape& shape : shapes) {
      plan.add(OpKind::conv_forward, shape, dtype, layout);
      if (shape.in_channels > 3) plan.add(OpKind::conv_dgrad, shape, dtype, layout);
      plan.add(OpKind::conv_wgrad, shape, dtype, layout);
    }
  }
}

/// The matrix work of a model's step.
void add_model(Plan& plan, const Model& model, int batch, Dtype dtype, Layout layout) {
  for (const Op& op : make_trace(model, batch, Precision::fp32, Optimizer::sgd).ops) {
    if (const auto* conv = std::get_if<ConvShape>(&op.shape)) plan.add(op.kind, *conv, dtype, layout);
    if (const auto* gemm = std::get_if<GemmShape>(&op.shape)) plan.add(*gemm, dtype);
  }
}

bool has_convolutions(const Model& model) { return std::ranges::any_of(model.layers, is_convolution); }

/// The data types and layouts most used in training come first.
void add_models(Plan& plan, std::span<const Model> models, std::span<const int> conv_batches,
                std::span<const int> sequence_batches) {
  constexpr std::array usual{std::pair(Dtype::bf16, Layout::nhwc), std::pair(Dtype::tf32, Layout::nchw),
                             std::pair(Dtype::fp32, Layout::nchw)};
  constexpr std::array unusual{std::pair(Dtype::fp16, Layout::nhwc), std::pair(Dtype::tf32, Layout::nhwc),
                               std::pair(Dtype::bf16, Layout::nchw), std::pair(Dtype::fp32, Layout::nhwc),
                               std::pair(Dtype::fp16, Layout::nchw)};
  const auto add_all = [&](auto kinds) {
    for (const auto& [dtype, layout] : kinds) {
      for (const Model& model : models) {
        for (const int batch : has_convolutions(model) ? conv_batches : sequence_batches) {
          add_model(plan, model, batch, dtype, layout);
        }
      }
    }
  };
  add_all(usual);
  add_all(unusual);
}

}  // namespace

std::vector<Measurement> measurement_plan(const std::vector<Model>& models, PlanSize size) {
  Plan plan;
  for (const char* way : {"latency", "rate", "graph"}) plan.add("launch", way);
  for (const char* state : {"idle", "vector", "gemm"}) plan.add("power", state);
  add_copies(plan, std::array{mib, 256 * mib});
  add_overlap(plan);
  for (const double bytes : {1.0, 16.0, 256.0, 1.0 / 16, 1.0 / 4, 4.0, 64.0, 1024.0}) {
    add_vector_ops(plan, Bytes(bytes * mib), Dtype::fp32);  // enough for a fit of each
  }
  add_gemm_grid(plan, std::array{512, 4096}, all_types);
  add_typical_convs(plan);
  if (size == PlanSize::quick) return plan.take();

  const std::span<const Model> all(models);
  const auto first = all.first(std::min<std::size_t>(3, all.size()));
  add_models(plan, first, std::array{32, 128}, std::array{8, 32});
  for (const Dtype dtype : half_types) {
    for (const double bytes : {mib / 4, 4 * mib, 64 * mib, 512 * mib}) {
      add_vector_ops(plan, Bytes(bytes), dtype);
    }
  }
  add_gemm_grid(plan, std::array{64, 256, 1024, 4096}, all_types);
  add_batched_grid(plan, all_types);
  add_models(plan, first, std::array{256, 8, 1}, std::array{1, 64});
  add_models(plan, all.subspan(first.size()), std::array{32, 128, 256, 8, 1}, std::array{8, 32, 1});
  add_gemm_grid(plan, std::array{128, 512, 2048, 8192}, all_types);
  add_copies(plan, std::array{4096.0, 64 * 1024.0, 16 * mib, 1024 * mib});
  return plan.take();
}

std::string plan_text(const std::vector<Measurement>& plan) {
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  std::string text = "op,variant,dtype,shape,bytes\n";
  for (const Measurement& row : plan) {
    text += row.op + "," + or_dash(row.variant) + "," +
            (row.dtype ? std::string(config::name_of(*row.dtype)) : std::string("-")) + "," +
            or_dash(row.shape) + "," + shortest(row.bytes.si()) + "\n";
  }
  return text;
}

}  // namespace trainyard
