#include "config/document.hpp"
#include "shipped_model.hpp"
#include "strategy/buckets.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/make_trace.hpp"
#include "workload/model_file.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

/// A bucket as a row of ddp_buckets.csv without its model and number.
struct BucketRow {
  std::string bytes, tensors, first, last;
};

std::vector<BucketRow> reference_buckets(const std::string& model) {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/strategy/ddp_buckets.csv");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  CsvProblems problems("ddp_buckets.csv", text);
  const CsvFile csv = parse_csv(text, problems);
  REQUIRE(problems.empty());
  std::vector<BucketRow> rows;
  for (const CsvRow& row : csv.rows) {
    const auto cell = [&](std::size_t column) { return std::string(row.cells[column].text); };
    if (cell(0) == model) rows.push_back({cell(2), cell(3), cell(4), cell(5)});
  }
  return rows;
}

Trace trace_of(const std::string& model) {
  return make_trace(testing::shipped_model(model), 32, Precision::fp32, Optimizer::momentum);
}

/// The table leaves out ".weight" if a layer has no other tensor.
bool is_tensor(const std::string& tensor, const std::string& written) {
  return tensor == written || tensor == written + ".weight";
}

}  // namespace

TEST_CASE("the buckets of every family are PyTorch's") {
  const std::vector<std::pair<std::string, std::string>> models{{"resnet50_v15", "resnet50"},
                                                                {"vgg16", "vgg16"},
                                                                {"bert_base_s128", "bert_base"},
                                                                {"bert_large_s128", "bert_large"},
                                                                {"gpt2_117M", "gpt2_small"}};
  const std::vector<std::size_t> counts{5, 6, 14, 38, 13};
  for (std::size_t m = 0; m < models.size(); ++m) {
    const auto& [row, model] = models[m];
    const std::vector<BucketRow> expected = reference_buckets(row);
    const auto buckets = ddp_buckets(ready_gradients(trace_of(model)), Stack{}, Bytes{4});
    REQUIRE(expected.size() == counts[m]);
    REQUIRE(buckets.size() == expected.size());
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      INFO(model, ", bucket ", b);
      CHECK(shortest(buckets[b].bytes.si()) == expected[b].bytes);
      CHECK(std::to_string(buckets[b].gradients.size()) == expected[b].tensors);
      CHECK(is_tensor(buckets[b].gradients.front().tensor, expected[b].first));
      CHECK(is_tensor(buckets[b].gradients.back().tensor, expected[b].last));
    }
  }
}

TEST_CASE("the bucket that holds a tied embedding is ready when backward ends") {
  const Trace trace = trace_of("gpt2_small");
  const auto buckets = ddp_buckets(ready_gradients(trace), Stack{}, Bytes{4});
  CHECK(buckets.back().gradients.back().tensor == "wte.weight");
  CHECK(trace.ops[static_cast<std::size_t>(buckets.back().ready_after) + 1].phase == Phase::optimizer);
}
