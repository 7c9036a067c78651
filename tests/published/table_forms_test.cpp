// Tables in the columns of others: how a form turns lines into published rows, and what the shipped forms
// and rules make of such tables. All numbers are invented.

#include "published/table_forms.hpp"

#include "errors_of.hpp"
#include "published/case.hpp"
#include "published/case_intervals.hpp"
#include "published/collective_rows.hpp"
#include "published/match_rules.hpp"
#include "published/missing_rules.hpp"
#include "published/published_text.hpp"
#include "published/scores.hpp"
#include "published/validation.hpp"
#include "shipped_catalogue.hpp"
#include "workload/model.hpp"
#include "workload/readme_keys.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

using namespace trainyard;

namespace {

const TableForms& own_forms() {
  static const TableForms forms = load_table_forms(config::parse("own.yaml", R"(name: own
forms:
  - title: "narrow"
    columns: [net, ms, extra]
    rows:
      - cells: {gpu: none, model: all_reduce 8 B, metric: all_reduce_time, value: "{ms}", unit: ms, gpus_total: "1"}
  - title: "wide"
    columns: [net, ms]
    words:
      prec: {half: amp}
    known:
      prec: [half]
    rows:
      - when: {net: ["!skip"], prec: ["", amp]}
        cells: &step
          gpu: "{#gpu|V100}"
          gpus_total: "1"
          framework: "torch {#torch}"
          model: "a {net} of {layers|no} layers"
          precision: "{prec|fp32}"
          batch_per_gpu: "8"
          metric: step_time
          value: "{ms}"
          unit: ms
        also:
          - {metric: peak_memory, value: "{mb}", unit: MB}
      - when: {net: [twice]}
        cells: *step
)"));
  return forms;
}

std::vector<PublishedRow> table_rows(const std::string& text) {
  return read_published_rows("t.csv", text, own_forms());
}

const TableForms& shipped_forms() {
  static const TableForms forms = shipped_table_forms(testing::shipped_catalogue());
  return forms;
}

/// The rows of a table in one of the shipped forms, with the shipped rules.
std::shared_ptr<const PublishedData> shipped_data(const std::string& text, const std::string& rules) {
  const ShippedRules& shipped = rules_shipped_as(rules);
  return data_of(read_published_rows("t.csv", text, shipped_forms()), shipped.machines, shipped.runs);
}

Validation validated_steps(const std::string& text, Fit fit = Fit::nothing) {
  return validate_rows(testing::shipped_catalogue(), RowKind::training, shipped_data(text, "published"), 1,
                       {.fits = {fit}});
}

/// The experiment of the row, or why there is none.
std::variant<ResolvedExperiment, std::string> experiment_of(const std::shared_ptr<const PublishedData>& data,
                                                            std::size_t row) {
  auto read = case_of(data, data->rows.at(row));
  if (auto* reason = std::get_if<std::string>(&read)) return std::move(*reason);
  const auto& run = std::get<Case>(read);
  InputFiles files;
  return inputs_of(testing::shipped_catalogue(), run, run.machine, files);
}

constexpr const char* step_columns =
    "id,model,batch,seq,prec,attn,mode,opt,fmt,accum,ckpt,layers,step_time_s,host_time_s\n";

/// A line of a table with these columns.
std::string step_line(const std::string& model, const std::string& seq = "", const std::string& layers = "",
                      const std::string& prec = "amp_bf16", const std::string& rest = "sdpa,eager,fused",
                      const std::string& fmt = "contiguous", const std::string& ckpt = "False") {
  return fmt::format("x,{},4,{},{},{},{},2,{},{},0.1,0.01\n", model, seq, prec, rest, fmt, ckpt, layers);
}

ResolvedExperiment step_of(const std::string& line, const std::string& comments = {}) {
  return std::get<ResolvedExperiment>(
      experiment_of(shipped_data(comments + step_columns + line, "published"), 0));
}

}  // namespace

TEST_CASE("a table is recognised by its columns, and the first form that has them counts") {
  const auto wide = table_rows("prec,ms,net\nhalf,5,small\n");
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].model == "a small of no layers");
  CHECK(wide[0].value == 5);
  CHECK(wide[0].nodes == 1);
  CHECK(table_rows("net,ms,extra\nsmall,5,1\n").front().model == "all_reduce 8 B");
  CHECK(errors_of([] { table_rows("net,seconds\nsmall,5\n"); }).size() >
        1);  // no form: its columns are missing
}

TEST_CASE("cells of a form are words, cells and comments of the table, and texts where these are empty") {
  const auto rows = table_rows("# gpu: A100\n# torch: 2.1\nnet,ms,prec,layers\nsmall,5,half,3\nlarge,6,,\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].gpu == "A100");
  CHECK(rows[0].framework == "torch 2.1");
  CHECK(rows[0].precision == "amp");
  CHECK(rows[0].model == "a small of 3 layers");
  CHECK(rows[1].precision == "fp32");
  CHECK(rows[1].model == "a large of no layers");
  CHECK(table_rows("net,ms\nsmall,5\n").front().gpu == "V100");
}

TEST_CASE("a line becomes every row whose conditions it meets, in the order of the lines") {
  const auto rows = table_rows("net,ms\ntwice,1\nskip,2\nsmall,3\n");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].line == 2);
  CHECK(rows[1].line == 2);
  CHECK(rows[2].line == 4);
  CHECK(rows[2].file == "t.csv");
}

TEST_CASE("a line with an unknown word is one row, left out, also where conditions ask for the word") {
  const auto rows = table_rows("net,ms,prec\ntwice,1,halve\nsmall,3,half\n");
  REQUIRE(rows.size() == 2);
  const auto words = missing_rules(rows, {}, {}, false);
  REQUIRE(words.size() == 1);
  CHECK(words[0].line == 2);
  CHECK(words[0].key_path == "prec");
}

TEST_CASE("other figures of a line are rows of their own, where the line states them") {
  const auto rows = table_rows("net,ms,mb\na,1,\nb,2,300\n");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].metric == "step_time");
  CHECK(rows[1].metric == "step_time");
  CHECK(rows[2].metric == "peak_memory");
  CHECK(rows[2].line == rows[1].line);
  CHECK(rows[2].value == 300);
  CHECK(rows[2].model == rows[1].model);
}

TEST_CASE("an error in a cell points to its place in the table") {
  const Diagnostic error =
      only_error([] { table_rows("# a comment\nnet,prec,ms\nsmall,half,5\nlarge,half,fast\n"); });
  CHECK(error.file == "t.csv");
  CHECK(error.line == 4);
  CHECK(error.column == 12);
}

TEST_CASE("a form with a column that published rows do not have, or a bad bound, is an error") {
  const std::string form = "name: own\nforms: [{title: t, columns: [a], rows: [{";
  check_errors({{form + "cells: {valu: '{a}'}}]}]\n", "forms[0].rows[0].cells.valu"},
                {form + "when: {a: [<=x]}, cells: {value: '{a}'}}]}]\n", "forms[0].rows[0].when.a"}},
               [](const std::string& text) { load_table_forms(config::parse("own.yaml", text)); });
}

TEST_CASE("a word that a form does not know leaves its row out, with its place and the known words") {
  const auto data = shipped_data(
      step_columns + step_line("resnet50") + step_line("resnet50", "", "", "tf32", "sdpa,blah,fused") +
          step_line("gpt2_small", "512", "", "bf16", "quick,eager,fused") +
          step_line("resnet50", "", "", "tf32", "sdpa,eager,fused", "channel_last") +
          step_line("gpt2_small", "512", "", "bf16", "sdpa,eager,fused", "contiguous", "perhaps") +
          step_line("resnet50", "", "", "tf32", ",,fused", ""),  // nothing is stated
      "published");
  CHECK(std::holds_alternative<ResolvedExperiment>(experiment_of(data, 0)));
  CHECK(std::get<std::string>(experiment_of(data, 1)) == "unknown word 'blah' in the column mode");
  const auto words = missing_rules(data->rows, {}, {}, false);
  REQUIRE(words.size() == 4);
  CHECK(words[0].file == "t.csv");
  CHECK(words[0].line == 3);
  CHECK(words[0].column == 25);
  CHECK(words[0].key_path == "mode");
  CHECK(words[0].hint == "one of eager, compile, cudagraph");
  CHECK(words[1].key_path == "attn");
  CHECK(words[2].hint == "did you mean 'channels_last'?");
  CHECK(words[3].key_path == "ckpt");
  CHECK(std::holds_alternative<ResolvedExperiment>(experiment_of(data, 5)));
}

TEST_CASE("a number of a table in other columns that is none is an error at its cell") {
  const auto errors_with = [](const std::string& from, const std::string& to) {
    std::string line = step_line("llama3_8b", "2048", "4", "bf16");
    line.replace(line.find(from), from.size(), to);
    return errors_of([&] { shipped_data(step_columns + line, "published"); });
  };
  const std::tuple<const char*, const char*, const char*> wrong[] = {{",2048,", ",-3,", "seq"},
                                                                     {",4,2048", ",many,2048", "batch"},
                                                                     {",2,False", ",abc,False", "accum"},
                                                                     {",4,0.1", ",0,0.1", "layers"}};
  for (const auto& [from, to, column] : wrong) {
    CAPTURE(column);
    const auto errors = errors_with(from, to);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].line == 2);
    CHECK(errors[0].column > 1);
    CHECK(errors[0].key_path == column);
  }
}

TEST_CASE("workloads/published/README.md names every key of forms") {
  const std::string readme = readme_text("workloads/published/README.md");
  check_documented<TableForms>(readme);
  check_documented<TableForm>(readme);
  check_documented<FormRow>(readme);
}

TEST_CASE("a step of one GPU has the model, the size and the software that its columns say") {
  const ResolvedExperiment llama = step_of(step_line("llama3_8b", "2048", "4", "bf16"));
  CHECK(llama.platform.name == "dgx_h100");
  CHECK(llama.gpu.name == "h100_measured");
  CHECK(llama.settings.precision == Precision::pure_bf16);
  CHECK(llama.settings.batch_per_gpu == 4);
  CHECK(llama.settings.accumulation == 2);
  CHECK(llama.settings.optimizer == Optimizer::adam);
  CHECK(llama.model->sequence_length == 2048);
  const auto parameters = [](const std::string& line) {
    return totals(step_of(line).model->layers).parameters;
  };
  CHECK(totals(llama.model->layers).parameters == 1'923'125'248);
  CHECK(parameters(step_line("llama3_8b", "2048", "")) == 8'030'261'248);
  CHECK(parameters(step_line("llama32_1b", "2048")) == 1'235'814'400);
  CHECK(parameters(step_line("qwen3_06b", "2048")) == 596'049'920);
}

TEST_CASE("options of a step change its experiment: attention, memory layout, compilation, checkpoints") {
  const auto ops = [](const ResolvedExperiment& of) { return only_class(of).trace.ops.size(); };
  const ResolvedExperiment fused = step_of(step_line("gpt2_small", "1024"));
  const ResolvedExperiment apart =
      step_of(step_line("gpt2_small", "1024", "", "amp_bf16", "eager,eager,foreach"));
  CHECK(ops(apart) > ops(fused));
  CHECK(fused.stack.runtime == Runtime::eager);
  CHECK_FALSE(fused.recomputes);
  const ResolvedExperiment compiled =
      step_of(step_line("resnet50", "", "", "amp_fp16", "sdpa,compile,foreach", "channels_last"));
  CHECK(compiled.settings.precision == Precision::amp);
  CHECK(compiled.stack.layout == Layout::nhwc);
  CHECK(compiled.stack.runtime == Runtime::compiled);
  CHECK(compiled.stack.optimizer_kernels == OptimizerKernels::foreach_);
  CHECK(compiled.settings.optimizer == Optimizer::momentum);
  const ResolvedExperiment graph = step_of(step_line("resnet50", "", "", "tf32", "sdpa,cudagraph,foreach"));
  CHECK(graph.stack.runtime == Runtime::cuda_graph);
  CHECK(graph.stack.layout == Layout::nchw);
  const ResolvedExperiment again =
      step_of(step_line("gpt2_medium", "512", "", "bf16", "sdpa,eager,fused", "contiguous", "True"));
  CHECK(again.recomputes);
  CHECK(again.stack.optimizer_kernels == OptimizerKernels::fused);
  CHECK(again.model->sequence_length == 512);
}

TEST_CASE("a comment of a table of steps names its GPU") {
  const std::string line = step_line("resnet50");
  CHECK(step_of(line, "# gpu: NVIDIA H200\n").gpu.name == "h200_measured");
  CHECK(step_of(line, "# gpu: NVIDIA H100 80GB HBM3\n").gpu.name == "h100_measured");
  CHECK(step_of(line, "# gpu: NVIDIA A100-SXM4-80GB\n").gpu.name == "a100_sxm4_80gb");
  CHECK(step_of(line, "# gpu: NVIDIA A10\n").gpu.name == "a10_24gb");
  const auto other = experiment_of(
      shipped_data(std::string("# gpu: NVIDIA H100 NVL\n") + step_columns + line, "published"), 0);
  CHECK(std::get<std::string>(other) == "no rule matches the machine");
}

TEST_CASE("every model of the tables of steps is predicted, with an interval, and an unknown one is not") {
  std::string table = step_columns;
  for (const char* image :
       {"alexnet", "densenet121", "densenet201", "inception_v3", "mobilenet_v2", "resnet18", "resnet50",
        "resnet101", "squeezenet1_0", "vgg16", "vit_b_16", "vit_l_16"})
    table += step_line(image);
  for (const char* text : {"gpt2_small", "gpt2_medium", "gpt2_large", "bert_base", "bert_large", "t5_small",
                           "t5_base", "llama32_1b", "qwen3_06b"})
    table += step_line(text, "512");
  table += step_line("llama3_8b", "512", "2") + step_line("llama2_7b", "512", "2");
  constexpr std::size_t known = 23;
  table += step_line("wide_resnet50_2");
  const Validation validation = validated_steps(table);
  REQUIRE(validation.cases.size() == known);
  const auto intervals = case_intervals(validation, Fit::nothing);
  for (std::size_t i = 0; i < known; ++i) {
    CAPTURE(validation.cases[i].of.row->model);
    CHECK(validation.cases[i].is_scored(Fit::nothing));
    CHECK(intervals[i].has_value());
  }
  CHECK(validation.excluded == std::map<std::string, int>{{"no layer table for the model", 1}});
}

TEST_CASE("steps with and without checkpoints have intervals and stand in one table of errors") {
  const std::string plain = step_line("gpt2_small", "1024");
  const std::string checkpoints =
      step_line("gpt2_small", "1024", "", "amp_bf16", "sdpa,eager,fused", "contiguous", "True");
  for (const std::string& lines : {plain + checkpoints, checkpoints + plain}) {
    const Validation validation = validated_steps(step_columns + lines);
    REQUIRE(validation.cases.size() == 2);
    const auto intervals = case_intervals(validation, Fit::nothing);
    CHECK(intervals[0].has_value());
    CHECK(intervals[1].has_value());
    const PublishedErrors errors = error_table(validation, Fit::nothing);
    REQUIRE(errors.runs.size() == 2);
    CHECK(std::ranges::none_of(errors.runs,
                               [](const PublishedError& one) { return one.of.layout.has_value(); }));
    CHECK(read_published_errors("e.csv", published_errors_text(errors)).runs.size() == 2);
  }
}

TEST_CASE("a figure beyond all numbers is left out with the reason") {
  std::string line = step_line("gpt2_small", "1024");
  line.replace(line.find(",0.1,"), 5, ",1e-310,");
  const Validation validation = validated_steps(step_columns + line);
  REQUIRE(validation.cases.size() == 1);
  CHECK_FALSE(validation.cases[0].is_scored(Fit::nothing));
  CHECK(validation.cases[0].verdicts[Fit::nothing].excluded ==
        "the published figure is too large or too small");
}

TEST_CASE("steps in the columns of tests/validation/gpu: options that it does not count are context") {
  const auto data = shipped_data(
      "# gpu: NVIDIA H200\n# torch: 2.11\n"
      "model,precision,memory_format,variant,sequence_length,batch_per_gpu,optimizer,status,step_time_s\n"
      "vgg16,tf32,channels_last,default,,16,momentum,ok,0.1\n"
      "bert_base,amp_bf16,contiguous,all_tokens,128,16,adam,ok,0.1\n"
      "bert_base,amp_bf16,contiguous,sdpa,128,16,adam,ok,0.1\n"
      "bert_base,amp_bf16,contiguous,default,128,16,adam,oom,\n",
      "published");
  REQUIRE(data->rows.size() == 4);
  const auto vgg = std::get<ResolvedExperiment>(experiment_of(data, 0));
  CHECK(vgg.gpu.name == "h200_measured");
  CHECK(vgg.stack.layout == Layout::nhwc);
  CHECK(vgg.settings.precision == Precision::tf32);
  const auto of_tokens = [&](std::size_t row) {
    return std::get<Case>(case_of(data, data->rows[row])).settings.contains("model.bert.predictions.128");
  };
  CHECK(of_tokens(1));
  CHECK_FALSE(of_tokens(2));
  CHECK(data->rows[2].split == "context");
  CHECK(data->rows[3].metric == "out_of_memory");
}

TEST_CASE("timm's models are recognised by their whole names, with the size of their images") {
  const auto data = shipped_data(
      "model,gpu,gpus,precision,memory_format,framework,batch,image_size,train_samples_per_s\n"
      "tv_resnet50,RTX 3090 24GB,1,amp fp16,channels_last,PyTorch 1.12,8,288,100\n"
      "seresnet50,RTX 3090 24GB,1,amp fp16,contiguous,PyTorch 1.12,8,224,100\n"
      "vit_small_patch32_384,RTX 3090 24GB,1,amp fp16,contiguous,PyTorch 1.12,8,384,100\n",
      "published");
  const auto resnet = std::get<ResolvedExperiment>(experiment_of(data, 0));
  CHECK(resnet.gpu.name == "rtx3090");
  CHECK(resnet.settings.precision == Precision::amp);
  CHECK(resnet.stack.layout == Layout::nhwc);
  const auto run = std::get<Case>(case_of(data, data->rows[0]));
  CHECK(run.settings.at("model.resnet.image_size") == "288");
  CHECK(run.measured == 100);
  CHECK(std::get<std::string>(experiment_of(data, 1)) == "no layer table for the model");
  const auto vit = std::get<Case>(case_of(data, data->rows[2]));
  CHECK(vit.settings.at("model.vit.patch") == "32");
  CHECK(vit.settings.at("model.vit.hidden") == "384");
}

TEST_CASE("steps of MLPerf have the layout of their launch file; a rack is one node") {
  const std::string columns =
      "round,benchmark,model,accelerator,accelerators_per_node,nodes,accelerators,framework,global_batch,"
      "micro_batch,tp,pp,cp,dp,precision,config_file,seq_len,step_time_s\n";
  const auto data = shipped_data(
      columns +
          "v9,llama31_8b,Llama 3.1 8B,GB300,4,4,16,NeMo 25.09,32,1,1,1,2,8,fp8,config_a.sh,8192,0.5\n"
          "v9,llama31_8b,Llama 3.1 8B,GB300,4,128,512,NeMo 25.09,64,1,2,1,4,64,fp8,config_b.sh,8192,0.5\n"
          "v9,llama31_8b,Llama 3.1 8B,H100,8,2,16,NeMo 25.09,16,1,2,1,1,8,fp8,config_c.sh,8192,0.5\n"
          "v9,llama2_70b_lora,Llama 2 70B LoRA r16,H100,8,1,8,NeMo,8,1,1,1,1,8,fp8,config_d.sh,8192,0.5\n",
      "layouts");
  REQUIRE(data->rows.size() == 4);
  const auto rack = std::get<Case>(case_of(data, data->rows[0]));
  CHECK(rack.machine->platform == "gb300_nvl72");
  CHECK(rack.row->nodes == 1);
  CHECK(rack.layout->parallelism.context == 2);
  CHECK(rack.layout->parallelism.shard == Sharded::optimizer);
  CHECK(rack.micro_batches == 4);
  CHECK(rack.measured == 64);
  const auto racks_of_64 = std::get<Case>(case_of(data, data->rows[1]));
  CHECK(racks_of_64.machine->platform == "gb300_nvl72");
  CHECK(identity_of(racks_of_64, racks_of_64.machine).find("gpus_per_node: 64\n") != std::string::npos);
  const auto boxes = std::get<Case>(case_of(data, data->rows[2]));
  CHECK(boxes.machine->platform == "dgx_h100");
  CHECK(boxes.row->nodes == 2);
  CHECK(boxes.layout->replicas == 8);
  CHECK(std::get<std::string>(case_of(data, data->rows[3])).find("LoRA") != std::string::npos);
  const auto racks = shipped_data(
      columns +
          "v9,llama31_8b,Llama 3.1 8B,GB300,4,18,72,NeMo 25.09,72,1,1,1,1,72,fp8,config_a.sh,8192,0.5\n" +
          "v9,llama31_8b,Llama 3.1 8B,GB300,4,72,288,NeMo 25.09,288,1,1,1,1,288,fp8,config_b.sh,8192,0.5\n",
      "layouts");
  CHECK(racks->rows.at(0).nodes == 1);
  CHECK(racks->rows.at(1).nodes == 72);
}

TEST_CASE("fine-tuning of all parameters is a layout; adapters and samples of many lengths are left out") {
  const auto data = shipped_data(
      "model,gpu,gpus,method,framework_config,parallelism,dtype,batch_per_gpu,grad_accum,step_time_s,"
      "tokens_per_sample,outcome\n"
      "a/Mistral-7B-v0.1,A100 80GB,2,full,none,FSDP full shard,bfloat16,2,4,5,4095,ran\n"
      "a/Mistral-7B-v0.1,A100 80GB,1,lora,none,single GPU,bfloat16,2,4,5,4096,ran\n"
      "a/Mistral-7B-v0.1,A100 80GB,1,full,none,single GPU,float16,2,4,5,289,ran\n"
      "a/Mistral-7B-v0.1,A100 80GB,1,full,none,single GPU,bfloat16,64,1,,,no result (out of memory)\n"
      "a/Mistral-7B-v0.1,A100 80GB,2,full,none,quux,bfloat16,2,4,5,4096,ran\n",
      "layouts");
  const auto run = std::get<Case>(case_of(data, data->rows.at(0)));
  CHECK(run.machine->platform == "dgx_a100");
  CHECK(run.precision == Precision::pure_bf16);
  CHECK(run.layout->parallelism.shard == Sharded::parameters);
  CHECK(run.layout->parallelism.recompute == Recompute::full);
  CHECK(run.micro_batches == 4);
  CHECK(run.measured == doctest::Approx(2 * 2 * 4 / 5.0));
  CHECK(run.settings.at("model.decoder.sequence_length") == "4096");
  for (const auto& [row, reason] : {std::pair{1, "LoRA"},
                                    {2, "many lengths"},
                                    {3, "no result"},
                                    {4, "'quux' in the column parallelism"}}) {
    CAPTURE(row);
    const auto left_out = case_of(data, data->rows.at(static_cast<std::size_t>(row)));
    CHECK(std::get<std::string>(left_out).find(reason) != std::string::npos);
  }
}

TEST_CASE("collectives in the columns of others: only measured sizes, and the algorithm that is named") {
  const auto fitted = read_published_rows("t.csv",
                                          "op,nodes,gpus_per_node,gpus,bytes,time_us,fit,topology\n"
                                          "all_to_all,2,4,8,65536,50,sound,2x4\n"
                                          "all_reduce,2,4,8,65536,50,interpolated,2x4\n"
                                          "all_reduce,2,4,8,65536,50,superb,2x4\n"
                                          "permute,2,4,8,65536,50,sound,2x4\n",
                                          shipped_forms());
  REQUIRE(fitted.size() == 4);
  CHECK(std::get<std::string>(collective_measurement(fitted[2])) ==
        "unknown word 'superb' in the column fit");
  CHECK(is_about_a_collective(fitted[3]));
  CHECK(std::get<std::string>(collective_measurement(fitted[3]))
            .starts_with("unknown collective 'permute': none of all_reduce, "));
  const auto timed = std::get<CollectiveMeasurement>(collective_measurement(fitted[0]));
  CHECK(timed.operation == Operation::all_to_all);
  CHECK(timed.sizes == std::vector{Bytes{65536}});
  CHECK(timed.measured == doctest::Approx(50e-6));
  CHECK(machine_of(rules_shipped_as("published").machines.machines, fitted[0])->platform == "dgx_h100");
  CHECK(std::get<std::string>(collective_measurement(fitted[1])) == only_context);
  const auto box = read_published_rows("t.csv",
                                       "op,gpu,nodes,gpus,bytes,busbw_GBps,algorithm,nvls,tool\n"
                                       "all_reduce,H200 SXM,1,8,1048576,30,Ring,off,nccl-tests\n"
                                       "all_gather,A100 SXM,1,8,1048576,30,,,nccl-tests\n"
                                       "all_reduce,A100 SXM,1,8,1048576,30,Star,,nccl-tests\n",
                                       shipped_forms());
  const auto ring = std::get<CollectiveMeasurement>(collective_measurement(box.at(0)));
  CHECK(ring.algorithm == Algorithm::ring);
  CHECK(ring.measured == doctest::Approx(30e9));
  CHECK(std::get<CollectiveMeasurement>(collective_measurement(box.at(1))).algorithm == Algorithm::automatic);
  CHECK(std::get<std::string>(collective_measurement(box.at(2))) ==
        "unknown word 'Star' in the column algorithm");
  CHECK(machine_of(rules_shipped_as("published").machines.machines, box[1])->platform == "dgx_a100");
}

TEST_CASE("the memory of a step is a size of its own, which no error of speeds counts") {
  const std::string columns =
      "id,model,batch,seq,prec,attn,mode,opt,fmt,accum,ckpt,layers,step_time_s,peak_allocated_bytes\n";
  const std::string line = "x,bert_base,8,128,amp_bf16,eager,eager,fused,contiguous,1,False,,0.05,{}\n";
  const auto validated = [&](const std::string& bytes, Fit fit = Fit::software) {
    return validated_steps(columns + fmt::format(fmt::runtime(line), bytes), fit);
  };
  const Validation with = validated("3e9");
  REQUIRE(with.cases.size() == 2);
  CHECK(with.cases[1].of.figure == CaseFigure::memory_allocated);
  CHECK(with.cases[1].predicted.measured == 3e9);
  CHECK(with.cases[1].predicted.by_fit[Fit::software].value.value() ==
        with.cases[1].predicted.memory->allocated.si());
  CHECK(errors_of(with, Fit::software).rows == errors_of(validated(""), Fit::software).rows);
  const IntervalCoverages coverages = interval_coverage(with, Fit::software);
  REQUIRE(coverages.sizes);
  CHECK(coverages.sizes->rows == 1);
  CHECK(validated("").cases.size() == 1);
  // the measurement of a memory needs no reference, whatever the fit
  CHECK(validated("3e9", Fit::one_gpu).cases[1].is_scored(Fit::one_gpu));
  CHECK(validated("0").cases.size() == 1);
  // far from any prediction
  CHECK(interval_coverage(validated("9e10"), Fit::software).sizes->covered == 0);
}
