#include "compute/work.hpp"

#include "compute/pointwise.hpp"
#include "workload/make_trace.hpp"
#include "workload/resnet.hpp"

#include <doctest/doctest.h>
#include <string>
#include <variant>

using namespace trainyard;

TEST_CASE("a convolution's output has the size its stride, padding and window leave") {
  const auto size = [](int height, int window, int stride, int pad) {
    ConvShape shape = pointwise;
    shape.height = height;
    shape.width = 2 * height;
    shape.kernel_h = window;
    shape.kernel_w = 1;
    shape.stride = stride;
    shape.pad_h = pad;
    return output_size(shape);
  };
  CHECK(size(56, 1, 1, 0).height == 56);
  CHECK(size(56, 1, 1, 0).width == 112);
  CHECK(size(56, 3, 1, 1).height == 56);
  CHECK(size(56, 3, 2, 1).height == 28);
  CHECK(size(224, 7, 2, 3).height == 112);
  CHECK(size(7, 7, 1, 0).height == 1);
}

TEST_CASE("a product's work is 2mnk operations and each operand and the result once") {
  const Work single = work_of(GemmShape{1, 3, 5, 7, false, true}, Dtype::fp32);
  CHECK(single.flops == Flops(2 * 3 * 5 * 7));
  CHECK(single.bytes == Bytes(4 * (3 * 7 + 7 * 5 + 3 * 5)));
  const Work batched = work_of(GemmShape{10, 3, 5, 7, false, true}, Dtype::fp16);
  CHECK(batched.flops == Flops(10 * 2 * 3 * 5 * 7));
  CHECK(batched.bytes == Bytes(10 * 2 * (3 * 7 + 7 * 5 + 3 * 5)));
  CHECK(work_of(GemmShape{1, 3, 5, 7}, Dtype::tf32).bytes == single.bytes);
  CHECK(work_of(GemmShape{10, 3, 5, 7}, Dtype::bf16).bytes == batched.bytes);
}

TEST_CASE("a product whose sizes overflow an int is counted all the same") {
  const Work huge = work_of(GemmShape{100, 100'000, 100'000, 100'000, false, false}, Dtype::fp32);
  CHECK(huge.flops == Flops(2e17));
  CHECK(huge.bytes == Bytes(1.2e13));
}

TEST_CASE("a convolution's work counts input, output and weights once, and groups divide the weights") {
  ConvShape shape{.batch = 2,
                  .in_channels = 8,
                  .height = 10,
                  .width = 12,
                  .out_channels = 16,
                  .kernel_h = 3,
                  .kernel_w = 5,
                  .stride = 2,
                  .pad_h = 1,
                  .pad_w = 2};
  const double pixels = 2.0 * 5 * 6;
  CHECK(work_of(shape, Dtype::fp32).flops == Flops(2 * pixels * 16 * 8 * 15));
  CHECK(work_of(shape, Dtype::fp32).bytes == Bytes(4 * (2.0 * 8 * 10 * 12 + pixels * 16 + 16 * 8 * 15)));
  shape.groups = 4;
  CHECK(work_of(shape, Dtype::fp16).flops == Flops(2 * pixels * 16 * 2 * 15));
  CHECK(work_of(shape, Dtype::fp16).bytes == Bytes(2 * (2.0 * 8 * 10 * 12 + pixels * 16 + 16 * 2 * 15)));
}

TEST_CASE("the work of a shape is what a trace counts for it") {
  const Model model{"resnet50", "", resnet_layers({.blocks = {3, 4, 6, 3}}), std::nullopt};
  int compared = 0;
  for (const Op& op : make_trace(model, 32, Precision::fp32, Optimizer::sgd).ops) {
    const auto* shape = std::get_if<ConvShape>(&op.shape);
    if (shape == nullptr) continue;
    CAPTURE(op.layer);
    CHECK(work_of(*shape, Dtype::fp32).flops == op.flops);
    CHECK(work_of(*shape, Dtype::fp32).bytes == op.bytes);
    ++compared;
  }
  CHECK(compared == 53 * 3 - 1);  // the first layer has no gradient of its input
}
