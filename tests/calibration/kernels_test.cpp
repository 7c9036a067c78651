#include "calibration/kernels.hpp"

#include "calibration/shipped_gpus.hpp"
#include "calibration/synthetic.hpp"
#include "config/diagnostic.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

const MeasuredKernels& deepbench() {
  static const MeasuredKernels kernels =
      gather({shipped_recording("v100_kernels.csv"), shipped_recording("v100_vector.csv")});
  return kernels;
}

template <class Kernel>
std::array<int, folds> counts_by_fold(const std::vector<Kernel>& kernels) {
  std::array<int, folds> counts{};
  for (const Kernel& kernel : kernels) ++counts.at(static_cast<std::size_t>(fold_of(kernel)));
  return counts;
}

}  // namespace

TEST_CASE("a convolution's fold depends on its shape but for the batch, and on nothing else") {
  const ConvShape shape{8, 64, 56, 56, 256, 1, 1, 1, 0, 0};
  const int fold = fold_of(ConvKernel{OpKind::conv_forward, Dtype::fp32, Layout::nchw, shape, Seconds(1)});
  for (const int batch : {1, 7, 256}) {
    for (const OpKind pass : {OpKind::conv_forward, OpKind::conv_dgrad, OpKind::conv_wgrad}) {
      for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
          ConvShape other = shape;
          other.batch = batch;
          CHECK(fold_of(ConvKernel{pass, dtype, layout, other, Seconds(batch)}) == fold);
        }
      }
    }
  }
  std::set<int> seen;
  for (int channels = 1; channels <= 64; ++channels) {
    ConvShape other = shape;
    other.in_channels = channels;
    seen.insert(fold_of(ConvKernel{OpKind::conv_forward, Dtype::fp32, Layout::nchw, other, Seconds(1)}));
  }
  CHECK(seen == std::set<int>{0, 1, 2, 3, 4});
}

TEST_CASE("a product's fold depends on its sizes, a vector op's on its bytes") {
  const int fold = fold_of(GemmKernel{Dtype::fp32, {1, 512, 16, 512, false, false}, Seconds(1)});
  CHECK(fold_of(GemmKernel{Dtype::fp16, {1, 512, 16, 512, true, false}, Seconds(2)}) == fold);
  CHECK(fold_of(GemmKernel{Dtype::fp16, {1, 512, 16, 512, false, true}, Seconds(2)}) == fold);
  const int of_bytes = fold_of(VectorKernel{OpKind::softmax, Bytes(4096), Seconds(1)});
  CHECK(fold_of(VectorKernel{OpKind::elementwise, Bytes(4096), Seconds(2)}) == of_bytes);
  CHECK(fold_of(DispatchedKernel{{OpKind::elementwise, Bytes(4096), Seconds(2)}, "relu"}) == of_bytes);
}

TEST_CASE("every fold holds out kernels of every part of DeepBench's table") {
  for (const int count : counts_by_fold(deepbench().kernels.convs)) CHECK(count > 20);
  for (const int count : counts_by_fold(deepbench().kernels.gemms)) CHECK(count > 20);
  for (const int count : counts_by_fold(deepbench().dispatched)) CHECK(count > 20);
}

TEST_CASE("every kernel is held out in one fold and seen in all others") {
  const MeasuredKernels& all = deepbench();
  CHECK(all.kernels.convs.size() == 520);
  CHECK(all.kernels.gemms.size() == 320);
  CHECK(all.kernels.vectors.empty());
  CHECK(all.dispatched.size() == 240);
  std::size_t convs = 0;
  std::size_t gemms = 0;
  std::size_t calls = 0;
  for (int fold = 0; fold < folds; ++fold) {
    CAPTURE(fold);
    const MeasuredKernels held_out = part_of(all, fold, true);
    const MeasuredKernels seen = part_of(all, fold, false);
    CHECK(held_out.kernels.convs.size() + seen.kernels.convs.size() == 520);
    CHECK(held_out.kernels.gemms.size() + seen.kernels.gemms.size() == 320);
    CHECK(held_out.dispatched.size() + seen.dispatched.size() == 240);
    convs += held_out.kernels.convs.size();
    gemms += held_out.kernels.gemms.size();
    calls += held_out.dispatched.size();
    std::set<GemmShape> sizes;
    for (GemmKernel kernel : held_out.kernels.gemms) {
      kernel.shape.transpose_a = kernel.shape.transpose_b = false;
      sizes.insert(kernel.shape);
    }
    const auto was_held_out = [&](GemmKernel kernel) {
      kernel.shape.transpose_a = kernel.shape.transpose_b = false;
      return sizes.contains(kernel.shape);
    };
    CHECK(std::ranges::none_of(seen.kernels.gemms, was_held_out));
    std::set<ConvShape> shapes;
    for (ConvKernel kernel : held_out.kernels.convs) {
      kernel.shape.batch = 1;
      shapes.insert(kernel.shape);
    }
    const auto shape_was_held_out = [&](ConvKernel kernel) {
      kernel.shape.batch = 1;
      return shapes.contains(kernel.shape);
    };
    CHECK(std::ranges::none_of(seen.kernels.convs, shape_was_held_out));
  }
  CHECK(convs == 520);
  CHECK(gemms == 320);
  CHECK(calls == 240);
}

TEST_CASE("a fold's part is a table that kernels are found in") {
  const MeasuredKernels& all = deepbench();
  const MeasuredKernels seen = part_of(all, 2, false);
  for (const ConvKernel& kernel : all.kernels.convs) {
    const auto found = find_kernel(seen.kernels, kernel.pass, kernel.dtype, kernel.layout, kernel.shape);
    CHECK(found.duration.has_value() == (fold_of(kernel) != 2));
  }
}

TEST_CASE("kernels are judged in groups of what is fitted together") {
  CHECK(group_of(ConvKernel{OpKind::conv_dgrad, Dtype::fp32, Layout::nchw, {}, {}}) == "conv_dgrad fp32");
  CHECK(group_of(ConvKernel{OpKind::conv_wgrad, Dtype::bf16, Layout::nhwc, {}, {}}) ==
        "conv_wgrad bf16 nhwc");
  CHECK(group_of(GemmKernel{Dtype::tf32, {}, {}}) == "gemm tf32");
  CHECK(group_of(VectorKernel{OpKind::batch_norm_forward, {}, {}}) == "batch_norm");
  CHECK(group_of(VectorKernel{OpKind::batch_norm_backward, {}, {}}) == "batch_norm");
  CHECK(group_of(VectorKernel{OpKind::layer_norm, {}, {}}) == "layer_norm");
  CHECK(group_of(DispatchedKernel{{OpKind::softmax, {}, {}}, "forward"}) == "softmax");
}

TEST_CASE("a framework's vector ops are kept by the call, apart from kernels alone") {
  Recording framework = read_recording("f.csv",
                                       "# timing: framework\nop,variant,dtype,shape,bytes,time_us\n"
                                       "softmax,backward w512,fp32,e1024,12288,30\n"
                                       "elementwise,relu,fp32,e1024,8192,31\n"
                                       "gemm,-,fp32,m64 n64 k64 nn,49152,32\n"
                                       "launch,rate,-,-,0,5\n");
  const MeasuredKernels measured =
      gather({framework, vector_recording(OpKind::elementwise, 0.8, Seconds(1e-6), 3)});
  REQUIRE(measured.dispatched.size() == 2);
  CHECK(measured.dispatched[0].call == "backward");
  CHECK(measured.dispatched[0].kernel.bytes == Bytes(12288));
  CHECK(measured.dispatched[1].call == "relu");
  CHECK(measured.kernels.vectors.size() == 3);
  CHECK(measured.kernels.gemms.empty());
}

TEST_CASE("a kernel that two recordings have is an error that names both") {
  Recording first = gemm_recording(Dtype::fp32, {0.5, 0.5, Seconds(1e-6)});
  Recording second = first;
  first.name = "a.csv";
  second.name = "b.csv";
  try {
    gather({first, second});
    FAIL("no error");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().at(0).message.starts_with("a.csv, b.csv: a kernel is listed twice: m4 n4 k4 "));
  }
}

TEST_CASE("many products of many (n, k) are held out by whole (n, k), few by shape") {
  const GemmCurve curve{0.8, 0.7, Seconds(3e-6), 2.5, 150, Seconds(2e-6)};
  const MeasuredKernels many = gather(
      {together(many_products(Dtype::bf16, curve), gemm_recording(Dtype::fp32, {0.6, 0.5, Seconds(8e-6)}))});
  CHECK(many.detailed == std::set<Dtype>{Dtype::bf16});
  std::set<int> used;
  for (int fold = 0; fold < folds; ++fold) {
    const MeasuredKernels held_out = part_of(many, fold, true);
    CHECK(held_out.detailed == many.detailed);
    std::map<std::pair<int, int>, int> rows;
    for (const GemmKernel& kernel : held_out.kernels.gemms) {
      if (kernel.dtype != Dtype::bf16) {
        CHECK(fold_of(kernel) == fold);
        continue;
      }
      ++rows[{kernel.shape.n, kernel.shape.k}];
      used.insert(fold);
    }
    for (const auto& [weights, count] : rows) CHECK(count == 7);
  }
  CHECK(used.size() == folds);
}

TEST_CASE("many products of few (n, k), or few of many, count as few") {
  const GemmCurve curve{0.8, 0.7, Seconds(3e-6), 2.5, 150, Seconds(2e-6)};
  Recording few = many_products(Dtype::bf16, curve);
  few.rows.resize(fewest_detailed_products - 1);
  CHECK(gather({few}).detailed.empty());
  Recording of_few_weights;
  for (int m = 1; m <= 600; ++m) {
    of_few_weights.rows.push_back(recorded_product({1, m, 512, 512, false, true}, Dtype::bf16, curve));
  }
  CHECK(gather({of_few_weights}).detailed.empty());
  CHECK(deepbench().detailed.empty());
}
