#include "calibration/measurement_plan.hpp"

#include "calibration/fit_curves.hpp"
#include "calibration/kernels.hpp"
#include "calibration/shipped_gpus.hpp"
#include "compute/recording.hpp"
#include "cuda/input_error.hpp"
#include "cuda/plan.hpp"
#include "units/text.hpp"
#include "workload/make_trace.hpp"
#include "workload/model_file.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

using namespace trainyard;

namespace {

const std::vector<Model>& planned() {
  static const std::vector<Model> models = [] {
    std::vector<Model> all;
    for (const std::string_view name : planned_models) {
      all.push_back(load_model(
          config::load(config::find(shipped_catalogue(), config::Kind::model, std::string(name)))));
    }
    return all;
  }();
  return models;
}

const std::vector<Measurement>& full_plan() {
  static const std::vector<Measurement> plan = measurement_plan(planned(), PlanSize::full);
  return plan;
}

using RowKey = std::tuple<std::string, std::string, std::optional<Dtype>, std::string>;
RowKey key_of(const Measurement& row) { return {row.op, row.variant, row.dtype, row.shape}; }

/// The bytes of every row that has a shape.
const std::map<RowKey, Bytes>& bytes_by_row() {
  static const std::map<RowKey, Bytes> rows = [] {
    std::map<RowKey, Bytes> all;
    for (const Measurement& row : full_plan()) {
      if (!row.shape.empty()) all.emplace(key_of(row), row.bytes);
    }
    return all;
  }();
  return rows;
}

/// A plan as a recording in which every row took a microsecond.
std::string recorded_text(const std::vector<Measurement>& plan) {
  std::istringstream lines(plan_text(plan));
  std::string text;
  std::string line;
  std::getline(lines, line);
  text = line + ",time_us\n";
  while (std::getline(lines, line)) text += line + ",1\n";
  return text;
}

}  // namespace

TEST_CASE("each measurement is planned once") {
  std::set<std::pair<RowKey, double>> seen;
  for (const Measurement& row : full_plan()) {
    CAPTURE(row.op + " " + row.variant + " " + row.shape);
    CHECK(seen.emplace(key_of(row), row.bytes.si()).second);
  }
}

TEST_CASE("the quick plan is the beginning of the full one, and short") {
  const auto quick = measurement_plan(planned(), PlanSize::quick);
  CHECK(quick.size() <= 400);
  CHECK(quick.size() > 100);
  REQUIRE(full_plan().size() > quick.size());
  for (std::size_t i = 0; i < quick.size(); ++i) {
    CAPTURE(i);
    CHECK(key_of(quick[i]) == key_of(full_plan()[i]));
    CHECK(quick[i].bytes == full_plan()[i].bytes);
  }
}

TEST_CASE("a plan starts with launches and power, then the shapes of ResNet-50, BERT and GPT-2 come first") {
  const auto& plan = full_plan();
  CHECK(plan[0].op == "launch");
  CHECK(plan[1].op == "launch");
  CHECK(plan[2].op == "launch");
  CHECK(plan[3].op == "power");
  const std::size_t after_quick = measurement_plan(planned(), PlanSize::quick).size();
  CHECK(plan[after_quick].op == "conv_forward");
  CHECK(plan[after_quick].variant == "nhwc");
  CHECK(plan[after_quick].dtype == Dtype::bf16);
  const auto position = [&](const std::string& op, Dtype dtype, const std::string& shape) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (plan[i].op == op && plan[i].dtype == dtype && plan[i].shape == shape) return i;
    }
    return plan.size();
  };
  // the first product of a transformer layer at batch 8, 512 tokens and 128 for BERT, 1024 for GPT-2
  const std::size_t bert = position("gemm", Dtype::bf16, "m4096 n768 k768 nt");
  const std::size_t gpt2 = position("gemm", Dtype::bf16, "m8192 n2304 k768 nt");
  const std::size_t vgg = position("conv_forward", Dtype::bf16, "n32 c64 h224 w224 k64 r3x3 s1 p1x1");
  CHECK(after_quick < bert);
  CHECK(bert < vgg);
  CHECK(gpt2 < vgg);
  CHECK(vgg < plan.size());
}

TEST_CASE("every convolution of ResNet-50 at batch 128 is measured in bf16 and nhwc") {
  int convolutions = 0;
  for (const Op& op : make_trace(planned()[0], 128, Precision::bf16, Optimizer::momentum).ops) {
    if (!std::holds_alternative<ConvShape>(op.shape)) continue;
    const RowKey key{std::string(config::name_of(op.kind)), "nhwc", Dtype::bf16, to_string(op.shape)};
    CAPTURE(op.layer);
    REQUIRE(bytes_by_row().contains(key));
    CHECK(bytes_by_row().at(key) == op.bytes);
    ++convolutions;
  }
  CHECK(convolutions == 53 * 3 - 1);
}

TEST_CASE("a row in fp32 has the bytes that a trace counts, but for the bias that a product takes along") {
  int compared = 0;
  for (const std::size_t model : {0, 1, 2}) {
    const int batch = model == 0 ? 128 : 32;
    CAPTURE(planned()[model].name);
    for (const Op& op : make_trace(planned()[model], batch, Precision::fp32, Optimizer::sgd).ops) {
      if (!is_matrix(op.kind)) continue;
      const std::string variant = op.kind == OpKind::gemm ? "" : "nchw";
      const RowKey key{std::string(config::name_of(op.kind)), variant, Dtype::fp32, to_string(op.shape)};
      CAPTURE(op.layer);
      REQUIRE(bytes_by_row().contains(key));
      if (op.kind == OpKind::gemm) {
        CHECK(bytes_by_row().at(key) <= op.bytes);
        CHECK(bytes_by_row().at(key) >= 0.995 * op.bytes);
      } else {
        CHECK(bytes_by_row().at(key) == op.bytes);
      }
      ++compared;
    }
  }
  CHECK(compared > 500);
}

TEST_CASE("vector ops are measured at the bytes per value that traces count") {
  std::map<std::string, double> per_value;
  for (const Measurement& row : full_plan()) {
    const auto shape = parse_shape(row.shape);
    REQUIRE(shape);
    const auto* vector = std::get_if<VectorShape>(&*shape);
    if (vector == nullptr || row.dtype != Dtype::fp32 || row.op == "overlap") continue;
    const std::string what = row.op + " " + row.variant.substr(0, row.variant.find(' '));
    const double bytes = row.bytes.si() / vector->elements;
    CAPTURE(what);
    CHECK(per_value.emplace(what, bytes).first->second == bytes);
    CHECK(row.bytes <= Bytes(1024.0 * 1024 * 1024));
  }
  CHECK(per_value == std::map<std::string, double>{
                         {"elementwise add", 12}, {"embedding forward", 8}, {"reduction sum", 4}});
}

TEST_CASE("the program that measures accepts every row of the full plan") {
  std::vector<cuda::PlanRow> rows;
  try {
    rows = cuda::parse_plan("plan.csv", plan_text(full_plan()));
  } catch (const cuda::InputError& error) {
    FAIL(error.what());
  }
  REQUIRE(rows.size() == full_plan().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const cuda::Request& request = rows[i].request;
    const Measurement& row = full_plan()[i];
    CHECK(request.op == row.op);
    CHECK(request.variant == (row.variant.empty() ? "-" : row.variant));
    CHECK(request.shape == (row.shape.empty() ? "-" : row.shape));
    CHECK(request.bytes == row.bytes.si());
  }
}

TEST_CASE("what is recorded of the plan is read again with the same bytes") {
  const Recording recording = read_recording("r.csv", recorded_text(full_plan()));
  REQUIRE(recording.rows.size() == full_plan().size());
  for (std::size_t i = 0; i < recording.rows.size(); ++i) {
    const Measurement& row = full_plan()[i];
    CAPTURE(row.op + " " + row.variant + " " + row.shape);
    CHECK(recording.rows[i].op == row.op);
    CHECK(recording.rows[i].variant == row.variant);
    CHECK(recording.rows[i].dtype == row.dtype);
    CHECK(to_string(recording.rows[i].shape) == row.shape);
    CHECK(recording.rows[i].bytes.si() == doctest::Approx(row.bytes.si()).epsilon(1e-15));
  }
  const KernelTable table = kernel_table(recording);
  CHECK(table.convs.size() > 3000);
  CHECK(table.gemms.size() > 1000);
  CHECK(table.vectors.size() >= 32);
}

TEST_CASE("the quick plan has enough kernels of every group for a fit") {
  const auto quick = measurement_plan(planned(), PlanSize::quick);
  const KernelTable table = kernel_table(read_recording("r.csv", recorded_text(quick)));
  std::map<std::string, std::map<int, int>> by_group_and_fold;
  for (const ConvKernel& kernel : table.convs) ++by_group_and_fold[group_of(kernel)][fold_of(kernel)];
  for (const GemmKernel& kernel : table.gemms) ++by_group_and_fold[group_of(kernel)][fold_of(kernel)];
  for (const VectorKernel& kernel : table.vectors) ++by_group_and_fold[group_of(kernel)][fold_of(kernel)];
  CHECK(by_group_and_fold.contains("conv_dgrad bf16 nhwc"));
  CHECK(by_group_and_fold.contains("conv_wgrad fp32"));
  CHECK(by_group_and_fold.contains("gemm bf16"));
  CHECK(by_group_and_fold.contains("elementwise"));
  CHECK(by_group_and_fold.contains("embedding"));
  for (const auto& [group, by_fold] : by_group_and_fold) {
    CAPTURE(group);
    int all = 0;
    int most = 0;
    for (const auto& [fold, count] : by_fold) {
      all += count;
      most = std::max(most, count);
    }
    CAPTURE(all);
    CAPTURE(most);
    CHECK(all >= static_cast<int>(fewest_kernels));
    CHECK(all - most >= 3);  // enough for a fit while a fold is held out
  }
}

TEST_CASE("a plan's text has a dash for what a row lacks") {
  const std::vector<Measurement> plan{{"launch", "rate", std::nullopt, "", Bytes()},
                                      {"gemm", "", Dtype::bf16, "m1 n2 k3 nt", Bytes(22)},
                                      {"copy", "d2d", std::nullopt, "", Bytes(1073741824)}};
  CHECK(plan_text(plan) ==
        "op,variant,dtype,shape,bytes\n"
        "launch,rate,-,-,0\n"
        "gemm,-,bf16,m1 n2 k3 nt,22\n"
        "copy,d2d,-,-,1073741824\n");
}
