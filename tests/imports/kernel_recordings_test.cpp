// Kernels of a profile as a recording.

#include "imports/kernel_recordings.hpp"

#include "errors_of.hpp"
#include "imports/kineto_text.hpp"
#include "imports/read_kineto.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

using namespace trainyard;
using testing::host_event;

namespace {

KernelRecordings recorded(const std::vector<std::string>& events) {
  const Profile profile = read_kineto(testing::ProfileFile(testing::kineto_text(events)).path());
  return kernel_recordings(profile, join_launches(profile));
}

/// An operator and its kernel, which begins 3 us behind it.
void add_op(std::vector<std::string>& events, std::string_view op, double at, double duration,
            std::string_view operands, std::string_view kernel = "kernel") {
  const int correlation = static_cast<int>(events.size()) + 1;
  events.push_back(host_event("cpu_op", op, at, 2, operands));
  const auto its = testing::kernel(kernel, at + 0.5, at + 3, duration, correlation);
  events.insert(events.end(), its.begin(), its.end());
}

constexpr std::string_view product =
    R"("Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"], "Input Strides": [[16, 1], [1, 16]])";

}  // namespace

TEST_CASE("runs of one shape are one kernel with the median of their times; strides say what is transposed") {
  std::vector<std::string> events;
  for (const double duration : {5.0, 9.0, 6.0, 5.5, 7.0})
    add_op(events, "aten::mm", 100.0 * static_cast<double>(events.size() + 1), duration, product);
  const KernelRecordings its = recorded(events);
  REQUIRE(its.ops.size() == 1);
  const RecordedOp& one = its.ops.front();
  CHECK(one.kernel.op == "gemm");
  CHECK(one.kernel.dtype == Dtype::fp32);
  CHECK(one.kernel.shape == Shape{GemmShape{.m = 8, .n = 4, .k = 16, .transpose_b = true}});
  CHECK(one.kernel.time.si() == doctest::Approx(6e-6));
  CHECK(one.spread.si() == doctest::Approx(1.5e-6));
  CHECK(one.repetitions == 5);
  CHECK(its.facts.gpu == "NVIDIA A100-SXM4-40GB");
  CHECK(its.facts.sm_count == 108);
  const Recording back = read_recording("r.csv", recordings_text(its));
  REQUIRE(back.rows.size() == 1);
  CHECK(back.rows.front().time.si() == doctest::Approx(6e-6));
  CHECK(back.facts.gpu == "NVIDIA A100-SXM4-40GB");
}

TEST_CASE("types and layouts are those of operands and kernels") {
  std::vector<std::string> events;
  add_op(events, "aten::mm", 100, 5, product, "ampere_sgemm");
  add_op(events, "aten::mm", 200, 5, product, "cutlass_80_tensorop_tf32_gemm");
  constexpr std::string_view image =
      R"("Input Dims": [[8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], []], "Input type": ["c10::Half", "c10::Half"],
         "Concrete Inputs": ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1"])";
  add_op(events, "aten::conv2d", 300, 5, image, "xmma_fprop_nhwckrsc_nhwc");
  add_op(events, "aten::conv2d", 400, 5,
         std::string(image) + R"(, "Input Strides": [[200704, 3136, 56, 1], [576, 9, 3, 1]])", "fprop_nhwc");
  add_op(events, "aten::add", 500, 5,
         R"("Input Dims": [[4096], [4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"])");
  add_op(events, "aten::add", 600, 5, R"("Input Dims": [[4096], [1]], "Input type": ["float", "float"])");
  const std::string text = recordings_text(recorded(events));
  CAPTURE(text);
  const auto has = [&](std::string_view row) { return text.find(row) != std::string::npos; };
  CHECK(has("gemm,-,fp32,m8 n4 k16 nt,"));
  CHECK(has("gemm,-,tf32,m8 n4 k16 nt,"));
  CHECK(has("conv_forward,nhwc,fp16,"));
  CHECK(has("conv_forward,nchw,fp16,"));
  CHECK(has("elementwise,add,bf16,e4096,24576,5,0,1\n"));
  CHECK_FALSE(has("elementwise,add,fp32"));  // it reads fewer values
}

TEST_CASE("runs beside a collective and those of unknown shape are counted") {
  std::vector<std::string> events;
  add_op(events, "aten::mm", 100, 5, product);
  add_op(events, "aten::mm", 200, 9, product);
  add_op(events, "aten::mm", 300, 5, R"("Sequence number": 4)");
  const auto beside = testing::kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 190, 205, 20, 900, 1, 20);
  events.insert(events.end(), beside.begin(), beside.end());
  const KernelRecordings its = recorded(events);
  REQUIRE(its.ops.size() == 1);
  CHECK(its.ops.front().repetitions == 1);
  CHECK(its.beside == 1);
  CHECK(its.unknown == 1);
  CHECK(errors_of([] { (void)recorded({testing::gpu_event("kernel", "k", 1, 1, 1)}); }).front().message ==
        "no kernel's shape is known");
}
