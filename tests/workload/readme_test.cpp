#include "workload/model_file.hpp"
#include "workload/readme_keys.hpp"
#include "workload/trace_columns.hpp"
#include "workload/trace_csv.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

TEST_CASE("workloads/README.md names every key of a model and every column of a trace") {
  const std::string readme = readme_text("workloads/README.md");
  check_documented<ModelFile>(readme);
  check_documented<SampleInput>(readme);
  check_documented<Convergence>(readme);
  check_documented<ConvergencePoint>(readme);
  check_documented<TargetEvaluation>(readme);
  check_documented<FixedEpochs>(readme);
  check_documented<AccuracyPoint>(readme);
  check_documented<ResnetHyperparameters>(readme);
  check_documented<VggHyperparameters>(readme);
  check_documented<AlexnetHyperparameters>(readme);
  check_documented<InceptionV3Hyperparameters>(readme);
  check_documented<BertHyperparameters>(readme);
  check_documented<Gpt2Hyperparameters>(readme);
  check_documented<DecoderHyperparameters>(readme);
  check_documented<EncoderDecoderHyperparameters>(readme);
  check_documented<ListedLayer>(readme);
  check_documented<ListedConv>(readme);
  check_documented<ListedDepthwiseConv>(readme);
  check_documented<ListedConvTranspose>(readme);
  check_documented<ListedPool>(readme);
  check_documented<ListedLinear>(readme);
  check_documented<ListedBatchNorm>(readme);
  check_documented<ListedLayerNorm>(readme);
  check_documented<ListedEmbedding>(readme);
  check_documented<ListedTables>(readme);
  check_documented<ListedLstm>(readme);
  check_documented<ListedAdditiveAttention>(readme);
  check_documented<ListedPositions>(readme);
  check_documented<ListedAttention>(readme);
  check_documented<ListedJoin>(readme);
  check_documented<Extent>(readme);
  check_documented<Padding>(readme);
  for (const auto& column : trace_columns) {
    INFO("column ", column.text);
    CHECK(readme.find("| `" + std::string(column.text) + "` |") != std::string::npos);
  }
  for (const auto& kind : config::Names<OpKind>::table) {
    INFO("kind ", kind.text);
    CHECK(readme.find("`" + std::string(kind.text) + "`") != std::string::npos);
  }
}

TEST_CASE("the trace that workloads/README.md shows reads as it says") {
  const std::string readme = readme_text("workloads/README.md");
  const std::size_t begin = readme.find("    phase,layer,duration_s,parameter_bytes\n");
  REQUIRE(begin != std::string::npos);
  std::string text;
  for (std::size_t at = begin; readme.compare(at, 4, "    ") == 0;) {
    const std::size_t end = readme.find('\n', at);
    text += readme.substr(at + 4, end - at - 3);
    at = end + 1;
  }
  const Trace trace = read_trace("README.md", text);
  REQUIRE(trace.ops.size() == 4);
  CHECK(trace.ops[0].duration == Seconds(0.112));
  REQUIRE(trace.ops[2].gradients.size() == 1);
  CHECK(trace.ops[1].gradients[0].elements + trace.ops[2].gradients[0].elements == 25'557'032);
}
