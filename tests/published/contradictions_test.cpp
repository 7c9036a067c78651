#include "published/contradictions.hpp"

#include "config/read_file.hpp"
#include "published/layout_rows.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <regex>
#include <string>

namespace trainyard {
namespace {

const std::string contradictions_header =
    "source,model,layers,hidden,heads,seq,vocab,gpu,gpus,tp,pp,dp,micro_batch,global_batch,precision,"
    "framework,metric,"
    "value,unit,stated_flops\n";

PublishedRow row_with(double stated, int batch) {
  const LayoutColumns sizes{.layers = 24, .hidden = 2048, .heads = 16, .vocabulary = 51200};
  const double time = 64 * flops_of_sample(sizes, 1024, true) / 8 / 1e14;
  return read_published_rows(
             "rows.csv",
             contradictions_header +
                 fmt::format("a,GPT,24,2048,16,1024,51200,A100,8,8,1,1,4,{},fp16,x,step_time,{},s,{}\n",
                             batch, time, stated))
      .front();
}

TEST_CASE("a batch is believed if it gives the stated FLOP/s with or without a repeated forward pass") {
  CHECK(flops_contradiction(row_with(100, 64)).empty());
  CHECK(flops_contradiction(row_with(75, 64)).empty());
}

TEST_CASE("a batch that is four times that of the stated FLOP/s is not believed") {
  CHECK_FALSE(flops_contradiction(row_with(100, 256)).empty());
  CHECK_FALSE(flops_contradiction(row_with(100, 16)).empty());
}

std::string times(double added_by_replicas, double added_by_noise) {
  std::string lines;
  for (int m = 1; m <= 6; ++m) {
    for (const int replicas : {1, 2}) {
      const double time = 0.1 * m * m + (replicas - 1) * (added_by_replicas + m * added_by_noise);
      lines += fmt::format("a,GPT,24,2048,16,1024,51200,A100,{},1,4,{},1,{},fp16,x,step_time,{:.9f},s,\n",
                           4 * replicas, replicas, m * replicas, time);
    }
  }
  return lines;
}

TEST_CASE("times that grow by a constant with the replicas are computed; those of one replica are not") {
  const auto rows = read_published_rows("rows.csv", contradictions_header + times(0.0042, 0));
  const auto computed = rows_with_a_constant_added(rows);
  CHECK(computed.size() == 6);
  for (const PublishedRow* row : computed) CHECK(row->layout->data == 2);
}

TEST_CASE("times that grow by a constant give or take a microsecond are measured") {
  const auto rows = read_published_rows("rows.csv", contradictions_header + times(0.0042, 1e-6));
  CHECK(rows_with_a_constant_added(rows).empty());
}

TEST_CASE("four times that agree are not enough to call them computed") {
  std::string lines = times(0.0042, 0);
  for (int i = 0; i < 4; ++i) lines.erase(lines.rfind('\n', lines.size() - 2) + 1);
  const auto rows = read_published_rows("rows.csv", contradictions_header + lines);
  REQUIRE(rows.size() == 8);
  CHECK(rows_with_a_constant_added(rows).empty());
}

std::vector<PublishedRow> shipped_layouts(const std::string& name) {
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/workloads/published/" + name;
  return read_published_rows(path, config::read_file(path, largest_csv));
}

TEST_CASE("all shipped times of several replicas on one node of vTrain's are computed, and no others") {
  const auto rows = shipped_layouts("vtrain.csv");
  const auto computed = rows_with_a_constant_added(rows);
  CHECK(computed.size() == 500);
  for (const PublishedRow& row : rows) {
    const bool is_replicated = row.nodes == 1 && row.layout->data > 1;
    CHECK(computed.contains(&row) == is_replicated);
  }
  CHECK(rows_with_a_constant_added(shipped_layouts("parallel.csv")).empty());
}

TEST_CASE("the shipped rows whose FLOP/s contradict their batch are two of BLOOM's of one stage") {
  int contradictions = 0;
  for (const PublishedRow& row : shipped_layouts("parallel.csv")) {
    if (flops_contradiction(row).empty()) continue;
    ++contradictions;
    CHECK(row.model == "GPT 18B (BLOOM prequel)");
  }
  CHECK(contradictions == 2);
}

/// "config_GB300_128x4x72xtp2pp8cp2_cg.sh", as MLPerf's logs name the launch file: nodes, GPUs of a node,
/// samples of a replica in a step, degrees. The GPU does not count: boxes of GB300 use files of GB200.
struct LaunchFile {
  int nodes = 0, gpus_per_node = 0, samples = 0, tensor = 0, pipeline = 0, context = 0;
  bool is_in_4_bits = false;
};

std::optional<LaunchFile> launch_file_of(const PublishedRow& row) {
  static const std::regex name(R"(config_[A-Z]+\d+_(\d+)x(\d+)x(\d+)xtp(\d+)pp(\d+)cp(\d+)(\w*)\.sh)");
  std::smatch found;
  if (!std::regex_search(row.notes, found, name)) return std::nullopt;
  const auto number = [&](std::size_t i) { return std::stoi(found[i]); };
  return LaunchFile{.nodes = number(1),
                    .gpus_per_node = number(2),
                    .samples = number(3),
                    .tensor = number(4),
                    .pipeline = number(5),
                    .context = number(6),
                    .is_in_4_bits = found[7].str().find("fp4") != std::string::npos};
}

TEST_CASE("a shipped row has the layout and the precision of the launch file that it names") {
  int checked = 0;
  for (const PublishedRow& row : shipped_layouts("parallel.csv")) {
    const auto file = launch_file_of(row);
    if (!file) continue;
    CAPTURE(row.line);
    const LayoutColumns& its = *row.layout;
    CHECK(row.nodes == file->nodes);
    CHECK(row.gpus_total == file->nodes * file->gpus_per_node);
    CHECK(its.tensor == file->tensor);
    CHECK(its.pipeline == file->pipeline);
    CHECK(std::max(its.context, 1) == file->context);
    CHECK(its.data == row.gpus_total / (file->tensor * file->pipeline * file->context));
    CHECK(its.data * file->samples == std::stoi(row.global_batch));
    if (file->is_in_4_bits) CHECK(row.precision == "nvfp4");
    ++checked;
  }
  CHECK(checked == 21);
}

TEST_CASE("times of vTrain's single nodes are linear in the micro-batches to the last digit") {
  // why the family is not in the totals; runs/layouts.yaml
  std::map<std::string, std::map<double, double>> groups;
  for (const PublishedRow& row : shipped_layouts("vtrain.csv")) {
    if (row.nodes > 1) continue;
    const LayoutColumns& its = *row.layout;
    groups[fmt::format("{} {} {} {} {} {}", its.layers, its.hidden, its.tensor, its.pipeline, its.data,
                       row.batch_per_gpu)][std::stod(row.global_batch)] = row.value;
  }
  int checked = 0;
  for (const auto& [group, times] : groups) {
    if (times.size() < 3) continue;
    CAPTURE(group);
    const auto& [batch, time] = *times.begin();
    const auto& [next_batch, next_time] = *std::next(times.begin());
    const double slope = (next_time - time) / (next_batch - batch);
    for (const auto& [other_batch, other_time] : times)
      CHECK(other_time == doctest::Approx(time + slope * (other_batch - batch)).epsilon(2e-9));
    ++checked;
  }
  CHECK(checked > 100);
}

}  // namespace
}  // namespace trainyard
