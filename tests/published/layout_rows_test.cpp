#include "published/layout_rows.hpp"

#include "published/layout_text.hpp"
#include "published/match_rules.hpp"
#include "shipped_catalogue.hpp"

#include <doctest/doctest.h>
#include <numeric>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

std::string reason_for(const std::string& line) {
  const auto run = layout_case_of(line);
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

TEST_CASE("a block that predicts a further token is one of the pipeline's blocks") {
  const auto run = layout_case_of(
      "a1,a test,Deepseek V3,,,,4096,,GB200,256,64,,1,4,4,64,,64,,,,1,2048,fp8,NeMo (recipe release "
      "v25.05.05),"
      "step_time,5,s,\n");
  REQUIRE(std::holds_alternative<Case>(run));
  const std::vector<int>& stages = std::get<Case>(run).layout->parallelism.stages;
  CHECK(stages.size() == 16);
  CHECK(std::accumulate(stages.begin(), stages.end(), 0) == 62);
}

TEST_CASE("ranks that share tokens are no replicas") {
  const auto run = layout_case_of(layout_line("2,2,,1,2,,,,full", "step_time,0.5,s"));
  REQUIRE(std::holds_alternative<Case>(run));
  CHECK(std::get<Case>(run).layout->parallelism.context == 2);
  CHECK(std::get<Case>(run).layout->replicas == 1);
}

TEST_CASE("unknown words about divided state are a reason, not the division of the optimizer") {
  const auto shard = [](const std::string& zero) {
    return std::get<Case>(layout_case_of(layout_line("2,2,,2,,," + zero + ",,full", "step_time,0.5,s")))
        .layout->parallelism.shard;
  };
  CHECK(shard("") == Sharded::none);
  CHECK(shard("zero1 over all ranks") == Sharded::optimizer);
  CHECK(shard("distributed_optimizer") == Sharded::optimizer);
  CHECK(shard("zero2") == Sharded::gradients);
  CHECK(shard("megatron_fsdp") == Sharded::parameters);
  CHECK(reason_for(layout_line("2,2,,2,,,quux,,full", "step_time,0.5,s")).find("'quux'") !=
        std::string::npos);
}

TEST_CASE("what is not simulated is left out with its reason") {
  CHECK(
      reason_for("a1,a test,MoE layer,1,1024,16,1024,50257,H100-80GB,8,1,,1,1,,8,,8,,,,4,32,bf16,Megatron-LM,"
                 "step_time,0.5,s,\n")
          .find("one layer") != std::string::npos);
}

TEST_CASE("experts are divided as the row says") {
  const auto read = layout_case_of(
      "a1,a test,GPT OSS 120B,,,,4096,,H100-80GB,64,,,1,4,,16,1,8,,,,1,1280,bf16,Megatron-Bridge "
      "26.04,throughput,"
      "5810,tokens/s/GPU,\n");
  REQUIRE(std::holds_alternative<Case>(read));
  const auto& run = std::get<Case>(read);
  CHECK(run.layout->parallelism.expert == 8);
  CHECK(run.layout->replicas == 16);
  CHECK(run.micro_batches == 80);
  CHECK(run.measured == doctest::Approx(5810.0 * 64 / 4096));
  InputFiles files;
  files.wants_published_errors = false;
  const ResolvedExperiment resolved = inputs_of(testing::shipped_catalogue(), run, run.machine, files);
  CHECK(resolved.layout->grid.expert == 8);
}

TEST_CASE("a stage may hold the embedding or the last projection alone") {
  const auto read = layout_case_of(
      "a1,a test,Llama 3.1 405b,30,,,8192,,H100-80GB,64,,,8,4,8,1,2,,,,,1,64,bf16,NeMo (recipe release "
      "v25.04.02),step_time,10.1,s,\n");
  REQUIRE(std::holds_alternative<Case>(read));
  std::vector<int> chunks(32, 1);
  chunks.front() = chunks.back() = 0;
  CHECK(std::get<Case>(read).layout->parallelism.stages == chunks);
}

TEST_CASE("rows in 8 and 4 bits have the precision that their way to scale tensors names") {
  const auto precision_of_row = [](const std::string& precision) {
    const auto run = layout_case_of("a1,a test,GPT-2,8,1024,16,1024,50257,H100-80GB,8,1,,1,1,,8,,,,,,4,32," +
                                    precision + ",llm-foundry/Composer FSDP,step_time,0.5,s,\n");
    const auto* read = std::get_if<Case>(&run);
    return read == nullptr ? std::string("none") : std::string(config::name_of(read->precision));
  };
  CHECK(precision_of_row("fp8") == "fp8");
  CHECK(precision_of_row("fp8-cs") == "fp8");
  CHECK(precision_of_row("bf16") == "bf16");
  CHECK(precision_of_row("fp8-mx") == "mxfp8");
  CHECK(precision_of_row("mxfp8") == "mxfp8");
  CHECK(precision_of_row("nvfp4") == "nvfp4");
  CHECK(precision_of_row("mxfp4") == "none");
  CHECK(precision_of_row("fp8 or nvfp4") == "none");
}

TEST_CASE("a row whose launch file is one of two with different precisions says so") {
  const auto reason_with = [](const std::string& precision) {
    return reason_for("a1,a test,GPT-2,8,1024,16,1024,50257,H100-80GB,8,1,,1,1,,8,,,,,,4,32," + precision +
                      ",llm-foundry/Composer FSDP,step_time,0.5,s,\n");
  };
  CHECK(reason_with("fp8 or nvfp4").find("two precisions") != std::string::npos);
  CHECK(reason_with("mxfp4").find("MXFP4") != std::string::npos);
}

TEST_CASE("a run whose notes deny that activations are kept on the host is predicted") {
  const auto with_notes = [](const std::string& notes) {
    return reason_for(
        "a1,a test,MPT-7b,32,4096,32,2048,50368,H100-80GB,8,1,,1,1,,8,,,fsdp_full_shard,,full,8,64,"
        "bf16,llm-foundry/Composer FSDP,throughput,11000,tokens/s/GPU," +
        notes + "\n");
  };
  CHECK(with_notes("activation CPU offload False").empty());
  CHECK(with_notes("activation CPU offload True").find("host") != std::string::npos);
  CHECK(with_notes("ZeRO with CPU offload").find("host") != std::string::npos);
}

TEST_CASE("the length of samples that a row omits is that of the rule for its model") {
  const auto run = layout_case_of(
      "a1,a test,Llama-2-7b,,,,,,A100-80GB,128,16,,1,1,,128,,,fsdp_full_shard,,none,2,,bf16,"
      "PyTorch FSDP (fms),throughput,4000,tokens/s/GPU,torch.compile\n");
  REQUIRE(std::holds_alternative<Case>(run));
  CHECK(std::get<Case>(run).measured == doctest::Approx(4000.0 * 128 / 4096));
  CHECK(std::get<Case>(run).micro_batches == 1);
}

TEST_CASE("ranks of a tensor group share tokens only where there is one") {
  const auto keys = [](const std::string& layout) {
    const auto run = layout_case_of("a1,a test,LLAMA3_70B,,,,8192,,GB200,64,,," + layout +
                                    ",,1,256,fp8-mx,Megatron-Bridge 26.02,throughput,3600,tokens/s/GPU,\n");
    return std::get<Case>(run).settings.contains("parallelism.sequence");
  };
  CHECK(keys("2,4,5,8,1,,,"));
  CHECK_FALSE(keys("1,4,5,16,1,,,"));
}

TEST_CASE("a job on racks takes equal parts of as few racks as it can") {
  const auto nodes = [](const std::string& gpus, const std::string& data) {
    const auto run = std::get<Case>(
        layout_case_of("a1,a test,LLAMA3_8B,,,,8192,,GB200," + gpus + ",,,1,1,," + data + ",1,,,,,1," + gpus +
                       ",fp8,Megatron-Bridge 26.02,throughput,9000,tokens/s/GPU,\n"));
    const std::string text = identity_of(run, run.machine);
    const std::size_t begin = text.find("nodes: ");
    return text.substr(begin, text.find("model: ") - begin);
  };
  CHECK(nodes("64", "64") == "nodes: 1\ngpus: 64\n");
  CHECK(nodes("72", "72") == "nodes: 1\ngpus: 72\n");
  CHECK(nodes("256", "256") == "nodes: 4\ngpus: 256\ngpus_per_node: 64\n");
  CHECK(nodes("144", "144") == "nodes: 2\ngpus: 144\ngpus_per_node: 72\n");
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
    const auto run = layout_case_of(layout_line("1,1,,8,,," + zero + ",,full", "step_time,0.5,s"));
    REQUIRE(std::holds_alternative<Case>(run));
    CHECK(std::get<Case>(run).layout->parallelism.shard == expected.first);
    CHECK(std::get<Case>(run).layout->parallelism.shard_over == expected.second);
  }
}

TEST_CASE("state is divided inside nodes if the group's replicas fill a node") {
  const std::string four_nodes =
      "a1,a test,GPT-2,8,1024,16,1024,50257,V100-SXM2-16GB,32,4,1x InfiniBand EDR,";
  const auto sharded = [&](const std::string& layout) {
    return layout_case_of(four_nodes + layout + ",full,4,128,fp16,Megatron-LM,step_time,0.5,s,\n");
  };
  for (const std::string layout :
       {"1,1,,32,,,zero1 within 8,", "2,1,,16,,,zero1 within 4,", "1,1,,32,,,hsdp,"}) {
    CAPTURE(layout);
    const auto run = sharded(layout);
    REQUIRE(std::holds_alternative<Case>(run));
    CHECK(std::get<Case>(run).layout->parallelism.shard_over == ShardOver::node);
  }
  const auto run = sharded("1,1,,32,,,zero1 within 4,");
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
    const auto run = layout_case_of(layout_line(four_by_two, figure));
    REQUIRE(std::holds_alternative<Case>(run));
    CHECK(std::get<Case>(run).measured == doctest::Approx(rate));
  }
}

TEST_CASE("FLOP/s count a repeated forward pass where only the rule states it") {
  // Narayanan et al. 2021, table 2: 153 TFLOP/s on 384 GPUs, 300 billion tokens in 84 days
  const auto run = layout_case_of(
      "a1,a test,GPT 174.6B,,,,2048,,A100-80GB,384,48,8x HDR 200 Gb/s InfiniBand per node,8,12,,4,,,,,,,"
      "1536,fp16,Megatron-LM,hardware_flops,153,TFLOP/s/GPU,\n");
  REQUIRE(std::holds_alternative<Case>(run));
  CHECK(std::get<Case>(run).measured == doctest::Approx(300e9 / (84 * 86400) / 2048).epsilon(0.02));
}

TEST_CASE("the operations of a sample are those of equation 3 of Narayanan et al.") {
  // 1,536 samples of GPT-3 175B with recomputation: 4.511e18
  const LayoutColumns gpt3{.layers = 96, .hidden = 12288, .heads = 96, .vocabulary = 51200};
  CHECK(1536 * flops_of_sample(gpt3, 2048, true) == doctest::Approx(4.511e18).epsilon(1e-3));
}

}  // namespace
}  // namespace trainyard
