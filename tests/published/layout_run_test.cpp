#include "published/layout_run.hpp"

#include "published/published_files.hpp"
#include "published/validate_layouts.hpp"

#include <doctest/doctest.h>

namespace trainyard {
namespace {

const config::Catalogue& layout_catalogue() {
  static const config::Catalogue catalogue{.roots = {TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

const std::string layout_header =
    "id,source,model,layers,hidden,heads,seq,vocab,gpu,gpus,nodes,nic,tp,pp,vpp,dp,cp,ep,zero,"
    "sequence_parallel,recompute,micro_batch,global_batch,precision,framework,metric,value,unit,notes\n";

/// GPT with eight layers on eight V100 of one node.
std::string layout_line(const std::string& layout, const std::string& figure,
                        const std::string& sizes = "8,1024,16,1024,50257") {
  return "a1,a test,GPT-2," + sizes + ",V100-SXM2-16GB,8,1,1x InfiniBand EDR," + layout +
         ",4,32,fp16,Megatron-LM," + figure + ",\n";
}

constexpr auto four_by_two = "2,2,,2,,,,,full";

std::shared_ptr<const PublishedData> shipped_layout_rules(const std::string& lines) {
  const config::Catalogue& catalogue = layout_catalogue();
  return std::make_shared<const PublishedData>(
      PublishedData{.machine_rules = read_machine_rules(catalogue, "layouts"),
                    .run_rules = read_run_rules(catalogue, "layouts"),
                    .rows = read_published_rows("rows.csv", layout_header + lines)});
}

std::string reason_for(const std::string& line) {
  const auto data = shipped_layout_rules(line);
  const auto run = layout_run(data, data->rows.front());
  const auto* reason = std::get_if<std::string>(&run);
  return reason == nullptr ? std::string() : *reason;
}

TEST_CASE("a header with tp and pp makes rows of layouts") {
  const auto rows =
      read_published_rows("rows.csv", layout_header + layout_line(four_by_two, "step_time,0.5,s"));
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].layout);
  CHECK(rows[0].gpus_total == 8);
  CHECK(rows[0].gpus_per_node == 8);
  CHECK(rows[0].seq_len == "1024");
  CHECK(rows[0].batch_per_gpu == "4");
  CHECK(rows[0].layout->tensor == 2);
  CHECK(rows[0].layout->context == 0);
  CHECK(rows[0].layout->recompute == "full");
}

TEST_CASE("a vocabulary may be given in thousands") {
  const auto rows = read_published_rows(
      "rows.csv", layout_header + layout_line(four_by_two, "step_time,0.5,s", "8,1024,16,1024,250k"));
  CHECK(rows[0].layout->vocabulary == 250'000);
}

TEST_CASE("a layout that does not multiply to the number of GPUs is left out") {
  CHECK(reason_for(layout_line("2,3,,2,,,,,full", "step_time,0.5,s")).find("multiply") != std::string::npos);
  CHECK(reason_for(layout_line("2,2,,4,,,,,full", "step_time,0.5,s")).find("multiply") != std::string::npos);
}

TEST_CASE("what is not simulated is left out with its reason") {
  CHECK(reason_for(layout_line("2,2,,1,2,,,,full", "step_time,0.5,s")).find("context") != std::string::npos);
  CHECK(reason_for(layout_line("1,1,,8,,8,,,full", "step_time,0.5,s")).find("expert") != std::string::npos);
  CHECK(reason_for(layout_line("1,1,,8,,,fsdp,,full", "step_time,0.5,s")).find("FSDP") != std::string::npos);
}

TEST_CASE("times and throughputs of a run are samples per second of all GPUs") {
  for (const auto& [figure, rate] : {std::pair("step_time,0.5,s", 64.0),
                                     {"throughput,8,samples/s/GPU", 64.0},
                                     {"throughput,65536,tokens/s", 64.0}}) {
    const auto data = shipped_layout_rules(layout_line(four_by_two, figure));
    const auto run = layout_run(data, data->rows.front());
    REQUIRE(std::holds_alternative<LayoutRun>(run));
    CHECK(std::get<LayoutRun>(run).measured == doctest::Approx(rate));
  }
}

TEST_CASE("the operations of a sample are those of equation 3 of Narayanan et al.") {
  // 1,536 samples of GPT-3 175B with recomputation: 4.511e18
  const LayoutColumns gpt3{.layers = 96, .hidden = 12288, .heads = 96, .vocabulary = 51200};
  CHECK(1536 * flops_of_sample(gpt3, 2048, true) == doctest::Approx(4.511e18).epsilon(1e-3));
}

TEST_CASE("the run that a series is fitted to is not scored with that fit") {
  const auto data = shipped_layout_rules(layout_line("1,1,,8,,,,,full", "step_time,0.5,s") +
                                         layout_line("8,1,,1,,,,,full", "step_time,0.9,s"));
  const LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  REQUIRE(validation.runs.size() == 2);
  CHECK(validation.runs[0].is_fitted);
  CHECK_FALSE(validation.runs[0].error(LayoutFit::one_layout));
  CHECK(validation.runs[0].error(LayoutFit::software));
  CHECK(validation.runs[1].error(LayoutFit::one_layout));
}

TEST_CASE("FLOP/s count only where no row gives the time of the same run") {
  const auto data = shipped_layout_rules(layout_line(four_by_two, "step_time,0.5,s") +
                                         layout_line(four_by_two, "hardware_flops,70,TFLOP/s/GPU"));
  const LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  CHECK(validation.runs.size() == 1);
  CHECK(validation.excluded.at(std::string(given_as_time)) == 1);
}

}  // namespace
}  // namespace trainyard
