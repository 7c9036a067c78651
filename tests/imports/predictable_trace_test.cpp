// A profile's trace with the work of its ops in place of their durations.

#include "imports/predictable_trace.hpp"

#include "imports/kineto_text.hpp"
#include "imports/op_work.hpp"
#include "imports/read_kineto.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <string_view>

using namespace trainyard;

namespace {

/// The work of an operator with these operands.
std::optional<OpWork> work_of_operator(std::string_view name, std::string_view dims, std::string_view types,
                                       OpKind kind, Phase phase = Phase::forward,
                                       const KernelHints& hints = {}) {
  Profile profile;
  profile.operands = {{.dims = profile.texts.id(dims), .types = profile.texts.id(types)}};
  ProfileEvent op{.kind = EventKind::op};
  op.name = profile.texts.id(name);
  op.operands = 0;
  return work_of(profile, op, kind, phase, hints);
}

}  // namespace

TEST_CASE("bytes of operators are those of a model's ops: operands and results, or passes over values") {
  const auto bytes = [](const std::optional<OpWork>& work) { return work ? work->bytes.si() : -1; };
  constexpr std::string_view one = R"(["float"])";
  constexpr std::string_view two = R"(["float","float"])";
  CHECK(bytes(work_of_operator("aten::relu", "[[8,4]]", one, OpKind::elementwise)) == 2 * 32 * 4);
  CHECK(bytes(work_of_operator("aten::add", "[[8,4],[8,4],[]]", R"(["float","float","Scalar"])",
                               OpKind::elementwise)) == 3 * 32 * 4);
  CHECK(bytes(work_of_operator("aten::add", "[[8,4],[4]]", two, OpKind::elementwise)) == (2 * 32 + 4) * 4);
  CHECK(bytes(work_of_operator("aten::copy_", "[[8,4],[8,4]]", R"(["c10::Half","float"])",
                               OpKind::elementwise)) == 32 * (2 + 4));
  CHECK(bytes(work_of_operator("aten::to", "[[8,4]]", one, OpKind::elementwise)) == -1);
  CHECK(bytes(work_of_operator("aten::batch_norm", "[[8,4,2,2],[4]]", two, OpKind::batch_norm_forward)) ==
        3 * 128 * 4);
  CHECK(bytes(work_of_operator("aten::native_batch_norm_backward", "[[8,4,2,2],[8,4,2,2]]", two,
                               OpKind::batch_norm_backward, Phase::backward)) == 5 * 128 * 4);
  CHECK(bytes(work_of_operator("aten::_softmax", "[[8,4]]", R"(["c10::Half"])", OpKind::softmax)) ==
        2 * 32 * 2);
  CHECK(bytes(work_of_operator("aten::max_pool2d", "[[8,4,2,2]]", one, OpKind::pooling)) == -1);
  CHECK(bytes(work_of_operator("aten::relu", "[[8,4]]", R"(["long int"])", OpKind::elementwise)) == -1);
}

TEST_CASE("matrix products have their shape, and the type that their kernels compute in") {
  const auto gemm = work_of_operator("aten::mm", "[[8,16],[16,4]]", R"(["float","float"])", OpKind::gemm);
  REQUIRE(gemm);
  CHECK(gemm->dtype == Dtype::fp32);
  CHECK(gemm->flops.si() == 2 * 8 * 16 * 4);
  CHECK(gemm->bytes.si() == (8 * 16 + 16 * 4 + 8 * 4) * 4);
  KernelHints hints;
  hints.add("ampere_sgemm_tf32_128x64");
  const auto rounded = work_of_operator("aten::mm", "[[8,16],[16,4]]", R"(["float","float"])", OpKind::gemm,
                                        Phase::forward, hints);
  REQUIRE(rounded);
  CHECK(rounded->dtype == Dtype::tf32);
}

TEST_CASE("ops with operands lose their durations, others and those of another type keep them") {
  const Profile profile = read_kineto(testing::ProfileFile(testing::three_steps()).path());
  const ImportedTrace imported = trace_of(profile, join_launches(profile), {.host_gaps = true});
  CHECK(matrix_format_of(profile, imported).precision == Precision::fp32);
  const PredictableTrace its = predictable_trace(profile, imported, Precision::fp32);
  REQUIRE(its.is_computed.size() == its.trace.ops.size());
  for (std::size_t i = 0; i < its.trace.ops.size(); ++i) {
    const Op& op = its.trace.ops[i];
    CHECK(op.duration.has_value() != its.is_computed[i]);
    if (its.is_computed[i]) CHECK(op.bytes.si() > 0);
  }
  // linear, relu and the product of backward; not the ReLU of backward, whose operands are not recorded
  CHECK(std::ranges::count(its.is_computed, true) == 3);
  const PredictableTrace half = predictable_trace(profile, imported, Precision::amp);
  CHECK(half.of_other_type == 2);
  CHECK(std::ranges::count(half.is_computed, true) == 1);
}
