// Names as people say them: GPUs, parallelism, optimizers, files in place of experiments, totals of a job.

#include "process.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Json summary_of(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  words.emplace_back("--json");
  const Ended ended = run_program(words);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

/// The refused command's message.
std::string refusal(const std::vector<std::string>& words, int code = 3) {
  const Ended ended = run_program(words);
  CAPTURE(ended.err);
  CHECK(ended.code == code);
  return ended.err;
}

const std::vector<std::string> layout{"--model", "gpt3_13b", "--platform",  "dgx_a100",
                                      "--gpus",  "16",       "--precision", "bf16",
                                      "--batch", "1",        "--set",       "memory=ignore"};

Json laid_out(const std::vector<std::string>& set) {
  std::vector<std::string> words = layout;
  for (const std::string& one : set) words.insert(words.end(), {"--set", one});
  return summary_of(words);
}

}  // namespace

TEST_CASE("a GPU as nvidia-smi prints it is the same wherever a GPU is named") {
  const std::vector<std::string> job{"--model", "resnet50", "--platform", "server_a6000", "--batch", "32"};
  const auto step = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = job;
    words.insert(words.end(), more.begin(), more.end());
    const Json run = summary_of(words);
    CHECK(run["resolved_experiment"]["platform.node.gpus.profile"] == "l40s_48gb");
    return run["step_time_s"].get<double>();
  };
  const double expected = step({"--set", "platform.node.gpus.profile=l40s_48gb"});
  CHECK(step({"--gpu", "NVIDIA L40S"}) == expected);
  CHECK(step({"--gpu", "l40s"}) == expected);
  CHECK(step({"--set", "gpu=L40S"}) == expected);
  const Ended swept = run_program({"sweep", "--model", "resnet50", "--platform", "server_a6000", "--batch",
                                   "32", "--gpu", "NVIDIA L40S,Tesla T4", "--json"});
  REQUIRE(swept.code == 0);
  CHECK(Json::parse(swept.out)["rows"][0]["step_time_s"].get<double>() == doctest::Approx(expected));
  const Scratch scratch;
  REQUIRE(run_program({"init", "platform", "--gpus", "8", "--gpu", "NVIDIA L40S", "-o", scratch / "own.yaml"})
              .code == 0);
  CHECK(has(content(scratch / "own.yaml"), "l40s_48gb"));
  const std::string file = scratch.put(
      "drawn.yaml",
      "name: drawn\nnode:\n  gpus: {count: 2, profile: NVIDIA L40S}\n  devices: {cpu: {count: 1}}\n"
      "  links:\n    - {between: [\"gpu[0-1]\", cpu0], kind: pcie4, lanes: 16, bandwidth: 31.5 GB/s, "
      "latency: 1 us}\n");
  const Ended on_file = run_program({"run", "--model", "resnet50", "--platform", file, "--batch", "32"});
  CAPTURE(on_file.err);
  CHECK(on_file.code == 0);
}

TEST_CASE("abbreviations of parallelism are keys of --set, at the top and in the block") {
  const Json expected = laid_out({"parallelism.tensor=4", "parallelism.pipeline=2", "accumulation=8"});
  for (const auto& set : std::vector<std::vector<std::string>>{
           {"tp=4", "pp=2", "gradient_accumulation=8"},
           {"parallelism.tp=4", "parallelism.pp=2", "accumulation=8"},
           {"tensor_model_parallel_size=4", "pipeline-model-parallel-size=2", "num_microbatches=8"},
           {"TP=4", "PP=2", "gbs=16"}}) {
    CAPTURE(set.front());
    const Json run = laid_out(set);
    CHECK(run["step_time_s"] == expected["step_time_s"]);
    CHECK(run["layout"] == expected["layout"]);
  }
  for (const std::string zero :
       {"zero=3", "fsdp=true", "zero_stage=3", "parallelism.shard=zero3", "shard=FULL_SHARD"}) {
    CAPTURE(zero);
    CHECK(laid_out({zero})["layout"]["shard"] == "parameters");
  }
  CHECK(laid_out({"tp=4", "ep=1", "recompute=true", "sequence_parallel=true"})["layout"]["recompute"] ==
        "full");
}

TEST_CASE("keys, and the words of other software for them, are options of commands with --set") {
  const std::vector<std::string> base{"gpt2_small_dgx2", "--stack", "megatron_lm", "--no-usage"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return summary_of(more).dump();
  };
  const std::string by_set = with({"--set", "parallelism.tensor=2", "--set", "accumulation=4"});
  CHECK(with({"--tensor-model-parallel-size", "2", "--gradient-accumulation-steps", "4"}) == by_set);
  CHECK(with({"--tp=2", "--accumulation=4"}) == by_set);
  CHECK(with({"--parallelism.tensor", "2", "--grad_accum", "4"}) == by_set);
  const Ended swept = run_program({"sweep", "gpt2_small_dgx2", "--grad-accum", "1,2", "--json"});
  CHECK(Json::parse(swept.out)["rows"].size() == 2);
  CHECK(run_program({"memory", "gpt2_small_dgx2", "--seq-len", "512"}).code == 0);
  CHECK(run_program({"topology", "dgx2", "--nics", "4"}).code == 0);

  const auto refused = [](const std::vector<std::string>& options) {
    std::vector<std::string> all{"run", "gpt2_small_dgx2"};
    all.insert(all.end(), options.begin(), options.end());
    const Ended ended = run_program(all);
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK(has(refused({"--train-batch-size", "64"}), "global_batch, as in DeepSpeed"));
  CHECK(has(refused({"--sequence-parallel"}), "needs a value: --set parallelism.sequence=VALUE"));
  CHECK(has(refused({"--gradient-acumulation-steps", "4"}), "did you mean '--gradient-accumulation-steps'?"));
  CHECK(has(refused({"--batch", "4", "--micro-batch-size", "8"}), "give one of them"));
  CHECK(has(refused({"--cfg", "4"}), "unknown option '--cfg'"));
}

TEST_CASE("two values of one key are refused, by whatever words, and equal ones are one") {
  const auto ended = [](std::vector<std::string> more) {
    std::vector<std::string> all{"memory",  "--model", "gpt2_small",  "--platform", "dgx_a100",
                                 "--stack", "pytorch", "--precision", "bf16"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  };
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--batch", "8", "--tp", "2", "--tensor", "4"},
                                             {"--batch", "8", "--tp", "2", "--set", "parallelism.tensor=4"},
                                             {"--batch", "8", "--set", "tp=2", "--set", "tensor=4"},
                                             {"--batch", "8", "--set", "batch_per_gpu=16"},
                                             {"--batch", "8", "--set", "stack=megatron_lm"}}) {
    const Ended refused = ended(more);
    CAPTURE(refused.err);
    CHECK(refused.code == 2);
    CHECK(has(refused.err, "give one of them"));
    CHECK(has(refused.err, more.back().substr(more.back().find('=') + 1)));
  }
  const Ended one = ended({"--batch", "8", "--tp", "2"});
  REQUIRE(one.code == 0);
  CHECK(ended({"--batch", "8", "--tp", "2", "--tensor", "2", "--set", "batch_per_gpu=8"}).out == one.out);
  const auto peak_of = [](const std::string& out) { return out.substr(out.find("peak ")); };
  CHECK(peak_of(ended({"--batch", "8", "--set", "tp=4", "--set", "tp=2"}).out) ==
        peak_of(one.out));  // scripts add options
  const auto of_run = [](const std::vector<std::string>& more) {
    std::vector<std::string> all{"run", "resnet50_dgx2"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all).code;
  };
  CHECK(of_run({"--fidelity", "closed", "--set", "fidelity=flow"}) == 2);
  CHECK(of_run({"--epochs", "3", "--set", "job.epochs=4"}) == 2);
  CHECK(of_run({"--epochs", "3", "--set", "job.epochs=3"}) == 0);
  CHECK(run_program({"plan", "gpt2_small", "--on", "dgx_a100", "--set", "platform=dgx_h100"}).code == 2);
}

TEST_CASE("completion offers the words of other software where none of ours begins so") {
  const auto completed = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "run", "gpt2_small_dgx2"});
    return run_program(words).out;
  };
  CHECK(has(completed({"--grad"}), "--gradient-accumulation-steps\tthe key accumulation\n"));
  CHECK(!has(completed({"--pre"}), "--pretrained"));  // --precision is ours
  CHECK(!has(completed({"--"}), "--grad"));
  CHECK(has(completed({"--set", "grad_acc"}), "grad_accum=\taccumulation\n"));
  CHECK(has(completed({"--set", "remat=fu"}), "remat=full\n"));
  CHECK(has(completed({"--remat", "fu"}), "\nfull\n"));
  CHECK(completed({"--remat", "full", "--fid"}) ==
        "none\n--fidelity\tlevel of detail of collectives, "
        "cheapest first: closed, flow, rounds, messages (default: the experiment's, else flow)\n");
}

TEST_CASE("optimizers and precisions have the names that frameworks give them") {
  const auto optimizer = [](const std::string& name) {
    return summary_of({"resnet50_dgx2", "--optimizer", name})["optimizer"].get<std::string>();
  };
  for (const char* const name : {"adam", "AdamW", "adamw", "fused_adam", "FusedAdam", "adamw_torch_fused"})
    CHECK(optimizer(name) == "adam");
  for (const char* const name : {"SGDM", "nesterov", "sgd-momentum"}) CHECK(optimizer(name) == "momentum");
  CHECK(optimizer("SGD") == "sgd");
  CHECK(optimizer("NVLAMB") == "lamb");
  CHECK(has(refusal({"run", "resnet50_dgx2", "--optimizer", "adafactor"}), "'adam', the nearest"));
  CHECK(has(refusal({"run", "resnet50_dgx2", "--optimizer", "lion"}), "'momentum' keeps as much state"));
  for (const auto& [name, meant] : {std::pair("BF16", "bf16"), std::pair("bfloat16", "bf16"),
                                    std::pair("half", "fp16"), std::pair("bf16-mixed", "amp_bf16")})
    CHECK(summary_of({"resnet50_dgx2", "--platform", "dgx_a100", "--precision", name})["precision"] == meant);
}

TEST_CASE("frameworks and ways to share a model are stacks, or say what to write") {
  const auto stack = [](const std::string& name) {
    return summary_of({"resnet50_dgx2", "--stack", name})["stack"].get<std::string>();
  };
  CHECK(stack("ddp") == "pytorch_ddp");
  CHECK(stack("PyTorch") == "pytorch");
  CHECK(stack("fsdp") == "pytorch_fsdp");
  CHECK(stack("FSDP2") == "torchtitan");
  CHECK(stack("Horovod") == "horovod");
  const std::string zero = refusal({"run", "resnet50_dgx2", "--stack", "zero3"});
  CHECK(has(zero, "--stack deepspeed --set parallelism.shard=parameters"));
  CHECK(run_program({"run", "resnet50_dgx2", "--stack", "deepspeed", "--set", "parallelism.shard=parameters"})
            .code == 0);
}

TEST_CASE("files and names of another kind are answered with a command that works") {
  const Scratch scratch;
  const std::string json =
      scratch.put("job.json",
                  "{\n\t\"platform\": \"dgx2\",\n\t\"model\": \"resnet50\",\n\t\"stack\": "
                  "\"pytorch_ddp\",\n\t\"batch_per_gpu\": 128\n}\n");
  CHECK(run_program({"run", json}).code == 0);
  CHECK(has(refusal({"run", scratch.path().string()}), "it is a folder"));
  const std::string shipped = std::string(TRAINYARD_SOURCE_DIR) + "/platforms/dgx2.yaml";
  CHECK(has(refusal({"run", shipped}), "--platform " + shipped + " --model resnet50"));
  CHECK(has(refusal({"run", std::string(TRAINYARD_SOURCE_DIR) + "/workloads/sweeps/layouts.yaml"}),
            "trainyard sweep"));
  CHECK(has(refusal({"run", "tianshu_stacks"}), "trainyard sweep tianshu_stacks"));
  CHECK(has(refusal({"run", "l40s"}), "l40s is a GPU"));
  const std::string h100 = refusal({"run", "--model", "resnet50", "--platform", "h100"});
  CHECK(has(h100, "h100 is a GPU: --platform dgx_h100"));
  CHECK(run_program({"run", "--model", "resnet50", "--platform", "dgx_h100"}).code == 0);
  CHECK(run_program({"run", "--model", "ResNet-50", "--platform", "DGX H100"}).code == 0);
  CHECK(has(refusal({"run", "resnet50_dgx2", "--gpu", "h100"}),
            "one of h100_96gb_500w, h100_measured, h100_nvl_94gb, h100_pcie_80gb"));
}

TEST_CASE("totals of a job are keys of every command, and have to divide") {
  const Json by_batch = summary_of({"resnet50_dgx2", "--set", "global_batch=512"});
  CHECK(by_batch["batch_per_gpu"] == 32);
  CHECK(by_batch["step_time_s"] == summary_of({"resnet50_dgx2", "--batch", "32"})["step_time_s"]);
  CHECK(has(refusal({"run", "resnet50_dgx2", "--set", "global_batch=500"}),
            "cannot be split evenly into 16 parts"));
  CHECK(summary_of({"resnet50_dgx2", "--global-batch", "512", "--batch", "8"})["accumulation"] == 4);
  CHECK(has(
      refusal({"run", "resnet50_dgx2", "--global-batch", "512", "--batch", "8", "--set", "accumulation=2"}),
      "all given"));
  const auto memory_of = [](const std::string& layout) {
    return run_program({"memory", "--model", "gpt2_small", "--platform", "dgx2", "--set", layout, "--set",
                        "global_batch=512", "--json"});
  };
  const Ended as_block = memory_of("parallelism={tensor: 2}");
  CHECK(as_block.code == 0);
  CHECK(Json::parse(as_block.out)["peak_bytes"] == Json::parse(memory_of("tp=2").out)["peak_bytes"]);
  const Json placed = summary_of({"--model", "resnet50", "--platform", "dgx1v", "--set", "ranks=20"});
  CHECK(placed["nodes"] == 3);
  CHECK(placed["ranks"] == 20);
  CHECK(summary_of({"--model", "resnet50", "--platform", "dgx1v", "--gpus", "20"})["nodes"] == 3);
  const Json replicas = summary_of({"--model", "gpt3_13b", "--platform", "dgx_a100", "--precision", "bf16",
                                    "--batch", "1", "--set", "tp=4", "--set", "pp=2", "--set", "dp=4"});
  CHECK(replicas["ranks"] == 32);
  CHECK(replicas["layout"]["data"] == 4);
  const Json longer =
      summary_of({"--model", "gpt2_small", "--platform", "dgx2", "--batch", "2", "--set", "seq_len=512"});
  CHECK(longer["resolved_experiment"]["model.gpt2.sequence_length"] == "512");
  const Ended swept =
      run_program({"sweep", "--model", "resnet50", "--platform", "dgx2,dgx1v", "--gpus", "16", "--json"});
  CHECK(swept.code == 0);
}

TEST_CASE("fused attention of GPT-2 is faster and needs less memory") {
  const auto with_attention = [](const std::string& kernel) {
    return summary_of({"--model", "gpt2_small", "--platform", "dgx_a100", "--precision", "amp_bf16",
                       "--batch", "8", "--set", "attention=" + kernel});
  };
  const Json flash = with_attention("flash");
  const Json unfused = with_attention("unfused");
  CHECK(flash["step_time_s"].get<double>() < unfused["step_time_s"].get<double>());
  CHECK(flash["memory_peak_bytes"].get<double>() < unfused["memory_peak_bytes"].get<double>());
}

TEST_CASE("keys and list find topics, other words and titles, from the beginning of a word") {
  const auto keys = [](const std::string& word) {
    const Ended ended = run_program({"keys", word});
    CAPTURE(word);
    CHECK(ended.code == 0);
    return ended.out;
  };
  CHECK(has(keys("straggler"), "random.slow\n"));
  CHECK(has(keys("jitter"), "random.step."));
  CHECK(has(keys("failure"), "faults."));
  CHECK(has(keys("bubble"), "parallelism.schedule\n"));
  CHECK(has(keys("fsdp"), "parallelism.shard\n"));
  CHECK(has(keys("zero"), "parallelism.shard\n"));
  CHECK(has(keys("gradient_accumulation"), "accumulation\n"));
  CHECK(has(keys("tp"), "parallelism.tensor\n"));
  CHECK(has(keys("adamw"), "\noptimizer\n"));
  CHECK(!has(keys("ring"), "during"));
  const auto listed = [](const std::string& word) { return run_program({"list", word}).out; };
  CHECK(has(listed("NVIDIA L40S"), "l40s_48gb"));
  CHECK(has(listed("h100"), "dgx_h100"));
  const std::string product = listed("NVIDIA H100 80GB HBM3");
  for (const char* const name : {"dgx_h100", "p5_48xlarge", "h100_measured", "h100_sxm_80gb"})
    CHECK(has(product, name));
  CHECK(has(listed("fsdp"), "pytorch_fsdp"));
  CHECK(has(listed("zero"), "deepspeed"));
  CHECK(has(run_program({"list", "GPU", "a100"}).out, "a100_sxm4_80gb"));
  CHECK(run_program({"list", "no_such_word"}).code == 3);
}

TEST_CASE("completion offers the names that files have, not other words for them") {
  const std::string stacks = run_program({"__complete", "run", "--stack", ""}).out;
  CHECK(has(stacks, "pytorch_fsdp\n"));
  CHECK(!has(stacks, "\nfsdp\n"));
  const std::string optimizers = run_program({"__complete", "run", "--optimizer", ""}).out;
  CHECK(has(optimizers, "adam\n"));
  CHECK(!has(optimizers, "adamw"));
  CHECK(has(run_program({"__complete", "run", "--gpu", "l40"}).out, "l40s_48gb\n"));
}

TEST_CASE("keys set on the command line stand under every title, and swapped GPUs in it") {
  const std::string words = "set on the command line: precision=amp";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", "resnet50_dgx2"},
                                             {"explain", "resnet50_dgx2", "-j", "1"},
                                             {"memory", "resnet50_dgx2"},
                                             {"sweep", "resnet50_dgx2"},
                                             {"compare", "resnet50_dgx2"}}) {
    std::vector<std::string> changed = command;
    changed.insert(changed.end(), {"--precision", "amp"});
    CAPTURE(command.front());
    CHECK(has(run_program(changed).out, words));
    std::vector<std::string> total = command;
    total.insert(total.end(), {"--set", "ranks=8"});
    CHECK(has(run_program(total).out, "set on the command line: ranks=8\n"));
    if (command.front() != "compare") CHECK(!has(run_program(command).out, "set on the command line"));
  }
  CHECK(summary_of({"resnet50_dgx2", "--batch", "64"})["changed_keys"] == "batch_per_gpu=64");
  CHECK(!summary_of({"resnet50_dgx2"}).contains("changed_keys"));
  const std::string kept =
      run_program({"compare", "resnet50_dgx2", "--one-gpu", "300 samples/s", "--precision", "amp"}).out;
  CHECK(has(kept, "kernels x"));
  CHECK(!has(kept, "one_gpu_scale"));
  const Scratch scratch;
  REQUIRE(run_program({"run", "resnet50_dgx2", "--precision", "amp", "--out", scratch / "r"}).code == 0);
  CHECK(has(content(scratch / "r/report.html"), words));
  const Ended markdown = run_program({"compare", "resnet50_dgx2", "--precision", "amp", "--markdown"});
  CHECK(has(markdown.out, words));
  const Ended swapped =
      run_program({"run", "--model", "resnet50", "--platform", "dgx_a100", "--gpu", "a100_sxm4_80gb"});
  CHECK(swapped.out.starts_with("ResNet-50 v1.5 on 1 node of dgx_a100 with 8 x a100_sxm4_80gb"));
}

TEST_CASE("sizes of collectives may end in a byte, as for nccl-tests") {
  const auto rows = [](const std::string& size) {
    return run_program({"collective", "all_reduce", "--platform", "dgx2", "-b", size, "-e", size, "--json"});
  };
  const Ended expected = rows("1M");
  REQUIRE(expected.code == 0);
  for (const char* const size : {"1MB", "1MiB", "1 MB", "1m", "1024KB"})
    CHECK(rows(size).out == expected.out);
  CHECK(rows("1TB").code == 2);
}
