#include "published/layout_run.hpp"

#include "published/layout_error_table.hpp"
#include "published/layout_pairs.hpp"
#include "published/published_files.hpp"
#include "published/published_text.hpp"
#include "published/validate_layouts.hpp"
#include "sanitized.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>

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
  const ShippedRules& rules = rules_shipped_as("layouts");
  return data_of(read_published_rows("rows.csv", layout_header + lines), rules.machines, rules.runs);
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

TEST_CASE("ranks that share tokens are no replicas") {
  const auto data = shipped_layout_rules(layout_line("2,2,,1,2,,,,full", "step_time,0.5,s"));
  const auto run = layout_run(data, data->rows.front());
  REQUIRE(std::holds_alternative<LayoutRun>(run));
  CHECK(std::get<LayoutRun>(run).parallelism.context == 2);
  CHECK(std::get<LayoutRun>(run).replicas == 1);
}

TEST_CASE("what is not simulated is left out with its reason") {
  CHECK(
      reason_for("a1,a test,MoE layer,1,1024,16,1024,50257,H100-80GB,8,1,,1,1,,8,,8,,,,4,32,bf16,Megatron-LM,"
                 "step_time,0.5,s,\n")
          .find("one layer") != std::string::npos);
}

TEST_CASE("experts are divided as the row says") {
  const auto data = shipped_layout_rules(
      "a1,a test,GPT OSS 120B,,,,4096,,H100-80GB,64,,,1,4,,16,1,8,,,,1,1280,bf16,Megatron-Bridge "
      "26.04,throughput,"
      "5810,tokens/s/GPU,\n");
  const auto read = layout_run(data, data->rows.front());
  REQUIRE(std::holds_alternative<LayoutRun>(read));
  const auto& run = std::get<LayoutRun>(read);
  CHECK(run.parallelism.expert == 8);
  CHECK(run.replicas == 16);
  CHECK(run.micro_batches == 80);
  CHECK(run.measured == doctest::Approx(5810.0 * 64 / 4096));
  InputFiles files;
  files.wants_published_errors = false;
  const ResolvedExperiment resolved = inputs_of(layout_catalogue(), run, files);
  CHECK(resolved.layout->grid.expert == 8);
}

TEST_CASE("a stage may hold the embedding or the last projection alone") {
  const auto data = shipped_layout_rules(
      "a1,a test,Llama 3.1 405b,30,,,8192,,H100-80GB,64,,,8,4,8,1,2,,,,,1,64,bf16,NeMo (recipe release "
      "v25.04.02),step_time,10.1,s,\n");
  const auto read = layout_run(data, data->rows.front());
  REQUIRE(std::holds_alternative<LayoutRun>(read));
  std::vector<int> chunks(32, 1);
  chunks.front() = chunks.back() = 0;
  CHECK(std::get<LayoutRun>(read).parallelism.stages == chunks);
}

TEST_CASE("errors of layouts leave out families that do not count, and number the others") {
  const auto data = shipped_layout_rules(layout_line(four_by_two, "step_time,0.5,s") +
                                         layout_line(four_by_two, "step_time,0.6,s"));
  LayoutValidation validation{.data = data, .runs = {}, .memory = {}, .excluded = {}, .missed = {}};
  const auto& families = data->run_rules.families;
  const auto left_out =
      std::ranges::find_if(families, [](const FamilyRule& rule) { return !rule.not_in_totals.empty(); });
  const auto counted = std::ranges::find(families, "BLOOM prequel, Jean Zay", &FamilyRule::family);
  REQUIRE(left_out != families.end());
  REQUIRE(counted != families.end());
  for (const PublishedRow& row : data->rows) {
    ScoredLayout scored{.run = std::get<LayoutRun>(layout_run(data, row))};
    scored.of.layout = LayoutUse{};
    scored.family = &row == &data->rows.front() ? &*left_out : &*counted;
    scored.predictions[static_cast<std::size_t>(LayoutFit::software)].throughput = 40;
    validation.runs.push_back(scored);
  }
  const PublishedErrors errors = layout_errors(validation, LayoutFit::software);
  REQUIRE(errors.runs.size() == 1);
  CHECK(errors.fit == "software");
  CHECK(errors.runs.front().place == "rows.csv:3");
  CHECK(errors.runs.front().predicted == 40);
  CHECK(errors.runs.front().series > 1);
  CHECK(layout_errors(validation, LayoutFit::nothing).runs.empty());
  CHECK(layout_coverage(validation, LayoutFit::software).empty());  // no errors are shipped with it
}

TEST_CASE(
    "rows in 8 bits are predicted, whatever way their tensors are scaled, but not with scales per block") {
  const auto precision_of_row = [](const std::string& precision) {
    const auto data =
        shipped_layout_rules("a1,a test,GPT-2,8,1024,16,1024,50257,H100-80GB,8,1,,1,1,,8,,,,,,4,32," +
                             precision + ",llm-foundry/Composer FSDP,step_time,0.5,s,\n");
    const auto run = layout_run(data, data->rows.front());
    const auto* read = std::get_if<LayoutRun>(&run);
    return read == nullptr ? std::string("none") : std::string(config::name_of(read->precision));
  };
  CHECK(precision_of_row("fp8") == "fp8");
  CHECK(precision_of_row("fp8-cs") == "fp8");
  CHECK(precision_of_row("bf16") == "bf16");
  CHECK(precision_of_row("fp8-mx") == "none");
  CHECK(precision_of_row("nvfp4") == "none");
  CHECK(precision_of_row("fp8 or nvfp4") == "none");
}

TEST_CASE("a row whose launch file is one of two with different precisions says so") {
  const auto reason_with = [](const std::string& precision) {
    return reason_for("a1,a test,GPT-2,8,1024,16,1024,50257,H100-80GB,8,1,,1,1,,8,,,,,,4,32," + precision +
                      ",llm-foundry/Composer FSDP,step_time,0.5,s,\n");
  };
  CHECK(reason_with("fp8 or nvfp4").find("two precisions") != std::string::npos);
  CHECK(reason_with("nvfp4").find("below 8 bits") != std::string::npos);
}

TEST_CASE("what replicas divide follows from the words of the column zero") {
  const std::pair<std::string, std::pair<Sharded, ShardOver>> cases[] = {
      {"zero1 over all ranks", {Sharded::optimizer, ShardOver::data}},
      {"distributed_optimizer", {Sharded::optimizer, ShardOver::data}},
      {"zero2", {Sharded::gradients, ShardOver::data}},
      {"fsdp_shard_grad_op", {Sharded::gradients, ShardOver::data}},
      {"zero3", {Sharded::parameters, ShardOver::data}},
      {"fsdp_full_shard", {Sharded::parameters, ShardOver::data}}};
  for (const auto& [zero, expected] : cases) {
    CAPTURE(zero);
    const auto data = shipped_layout_rules(layout_line("1,1,,8,,," + zero + ",,full", "step_time,0.5,s"));
    const auto run = layout_run(data, data->rows.front());
    REQUIRE(std::holds_alternative<LayoutRun>(run));
    CHECK(std::get<LayoutRun>(run).parallelism.shard == expected.first);
    CHECK(std::get<LayoutRun>(run).parallelism.shard_over == expected.second);
  }
}

TEST_CASE("state is divided inside nodes if the group's replicas fill a node") {
  const std::string four_nodes =
      "a1,a test,GPT-2,8,1024,16,1024,50257,V100-SXM2-16GB,32,4,1x InfiniBand EDR,";
  const auto sharded = [&](const std::string& layout) {
    return shipped_layout_rules(four_nodes + layout + ",full,4,128,fp16,Megatron-LM,step_time,0.5,s,\n");
  };
  for (const std::string layout :
       {"1,1,,32,,,zero1 within 8,", "2,1,,16,,,zero1 within 4,", "1,1,,32,,,hsdp,"}) {
    CAPTURE(layout);
    const auto data = sharded(layout);
    const auto run = layout_run(data, data->rows.front());
    REQUIRE(std::holds_alternative<LayoutRun>(run));
    CHECK(std::get<LayoutRun>(run).parallelism.shard_over == ShardOver::node);
  }
  const auto data = sharded("1,1,,32,,,zero1 within 4,");
  const auto run = layout_run(data, data->rows.front());
  REQUIRE(std::holds_alternative<std::string>(run));
  CHECK(std::get<std::string>(run).find("neither") != std::string::npos);
}

TEST_CASE("a rule may ask for rows that state sizes") {
  RowPattern pattern;
  pattern.states = {SizeColumn::layers, SizeColumn::vocabulary};
  const auto rows =
      read_published_rows("rows.csv", layout_header + layout_line(four_by_two, "step_time,0.5,s") +
                                          layout_line(four_by_two, "step_time,0.5,s", "8,1024,16,1024,") +
                                          layout_line(four_by_two, "step_time,0.5,s", ",,,1024,50257"));
  CHECK(matches(pattern, rows[0]));
  CHECK_FALSE(matches(pattern, rows[1]));
  CHECK_FALSE(matches(pattern, rows[2]));
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

TEST_CASE("a run is predicted with the scale of other runs, and not at all if it is alone") {
  const std::string one = layout_line("1,1,,8,,,,,full", "step_time,0.5,s");
  const std::string other = layout_line("8,1,,1,,,,,full", "step_time,0.9,s");
  const LayoutValidation alone = validate_layouts(layout_catalogue(), shipped_layout_rules(one), 1);
  REQUIRE(alone.runs.size() == 1);
  CHECK(alone.runs[0].is_fitted);
  CHECK_FALSE(alone.runs[0].error(LayoutFit::one_layout));
  CHECK(alone.runs[0].error(LayoutFit::software));

  const LayoutValidation both = validate_layouts(layout_catalogue(), shipped_layout_rules(one + other), 1);
  REQUIRE(both.runs.size() == 2);
  CHECK_FALSE(both.runs[0].is_fitted);
  CHECK(both.runs[0].error(LayoutFit::one_layout));
  CHECK(both.runs[1].error(LayoutFit::one_layout));
  // each would be matched with the scale that the other one has
  CHECK(both.runs[0].scale != both.runs[1].scale);
  CHECK(std::abs(*both.runs[0].error(LayoutFit::one_layout)) > 0.01);
}

TEST_CASE("of several scales the median counts, however wrong one of them is" *
          doctest::skip(testing::is_sanitized)) {
  const auto scale = [](const std::string& third) {
    const auto data = shipped_layout_rules(layout_line("1,1,,8,,,,,full", "step_time,0.5,s") +
                                           layout_line("2,1,,4,,,,,full", "step_time,0.6,s") +
                                           layout_line("8,1,,1,,,,,full", "step_time," + third + ",s") +
                                           layout_line("4,1,,2,,,,,full", "step_time,0.7,s"));
    const LayoutValidation found = validate_layouts(layout_catalogue(), data, 1);
    REQUIRE(found.runs.size() == 4);
    return found.runs[0].scale;
  };
  CHECK(scale("90") == scale("9000"));
}

TEST_CASE("a throughput counts only where no row gives the time of the same run") {
  const auto data = shipped_layout_rules(layout_line(four_by_two, "step_time,0.5,s") +
                                         layout_line(four_by_two, "throughput,64,samples/s"));
  const LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  CHECK(validation.runs.size() == 1);
  CHECK(validation.excluded.at(std::string(given_as_time)) == 1);
}

TEST_CASE("runs of one experiment are predicted alike and judged once") {
  const auto data = shipped_layout_rules(layout_line(four_by_two, "step_time,0.5,s") +
                                         layout_line(four_by_two, "step_time,0.6,s"));
  const LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  REQUIRE(validation.runs.size() == 2);
  CHECK_FALSE(validation.runs[0].is_repeated);
  CHECK(validation.runs[1].is_repeated);
  CHECK(*validation.runs[0].prediction(LayoutFit::software).throughput ==
        *validation.runs[1].prediction(LayoutFit::software).throughput);
  CHECK(verdicts_of(validation).ran == 1);
}

TEST_CASE("figures of memory are compared with the memory of the run, and failed runs with its verdict") {
  const auto data = shipped_layout_rules(layout_line(four_by_two, "peak_memory,4,GiB") +
                                         layout_line(four_by_two, "out_of_memory,1,bool"));
  const LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  CHECK(validation.runs.empty());
  REQUIRE(validation.memory.size() == 2);
  CHECK(validation.memory[0].figure == MemoryFigure::allocated);
  CHECK(validation.memory[0].published == Bytes{4.0 * (1 << 30)});
  const LayoutMemory& its = *validation.memory[0].predicted;
  CHECK(its.allocated < its.whole);
  CHECK(its.state + its.activations <= its.allocated);
  CHECK(errors_of(validation, MemoryFigure::allocated).runs == 1);
  CHECK(*errors_of(validation, MemoryFigure::allocated).bias ==
        doctest::Approx(its.allocated / validation.memory[0].published - 1));
  CHECK(verdicts_of(validation).failed == 1);
  CHECK(verdicts_of(validation).refused == 0);
}

TEST_CASE(
    "runs of MLPerf that name their launch file have gradients of 2 bytes, fit, and are met within 15 %") {
  const auto line = [](const std::string& gpu, int gpus, int replicas, int batch, const std::string& time,
                       const std::string& framework) {
    return fmt::format(
        "m,a log,Llama 3.1 405B,,,,8192,,{},{},{},8x ConnectX-7,4,8,8,{},2,,distributed_optimizer,"
        ",,1,{},fp8,{},step_time,{},s,config config_DGX_8.sh\n",
        gpu, gpus, gpus / 8, replicas, batch, framework, time);
  };
  const auto data = shipped_layout_rules(
      line("H200-141GB", 1024, 16, 1152, "25.36", "NVIDIA NeMo Framework Release 25.01") +
      line("B200", 256, 4, 576, "27.64", "PyTorch NVIDIA Release 25.09"));
  const LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  REQUIRE(validation.runs.size() == 2);
  for (const ScoredLayout& scored : validation.runs) {
    CHECK(scored.run.stack->set.at("stack.gradient_dtype") == "bf16");
    const double predicted = *scored.prediction(LayoutFit::software).throughput;
    CHECK(predicted == doctest::Approx(scored.run.measured).epsilon(0.15));
  }
  const auto verdicts = verdicts_of(validation);
  CHECK(verdicts.ran == 2);
  CHECK(verdicts.accepted == 2);
}

TEST_CASE("pairs differ in one setting, and a common error of both runs cancels") {
  const auto data = shipped_layout_rules(
      "a1,a test,GPT 22B "
      "(Korthikanti),48,6144,64,2048,51200,A100-80GB,8,1,,8,1,,1,,,,0,none,4,4,fp16,Megatron-LM,step_time,1."
      "0,s,\n"
      "a1,a test,GPT 22B "
      "(Korthikanti),48,6144,64,2048,51200,A100-80GB,8,1,,8,1,,1,,,,0,full,4,4,fp16,Megatron-LM,step_time,1."
      "3,s,\n"
      "a1,a test,GPT 22B "
      "(Korthikanti),48,6144,64,2048,51200,A100-80GB,8,1,,8,1,,1,,,,0,full,4,8,fp16,Megatron-LM,step_time,2."
      "0,s,\n");
  LayoutValidation validation = validate_layouts(layout_catalogue(), data, 1);
  REQUIRE(validation.runs.size() == 3);
  auto predict = [](ScoredLayout& scored, double factor) {
    scored.predictions[static_cast<std::size_t>(LayoutFit::nothing)].throughput =
        factor * scored.run.measured;
  };
  for (ScoredLayout& scored : validation.runs) predict(scored, 1.5);
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  REQUIRE(pairs.size() == 2);
  const PairErrors recomputing = errors_of(pairs, PairSetting::activations, LayoutFit::nothing);
  CHECK(recomputing.pairs == 1);
  CHECK(recomputing.error == doctest::Approx(0));
  CHECK(errors_of(pairs, PairSetting::micro_batches, LayoutFit::nothing).pairs == 1);
  CHECK(errors_of(pairs, PairSetting::schedule, LayoutFit::nothing).pairs == 0);
  predict(validation.runs[1], 1);
  CHECK(errors_of(layout_pairs(validation), PairSetting::activations, LayoutFit::nothing).error ==
        doctest::Approx(1 / 1.3 * (1 - 1 / 1.5)));
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
