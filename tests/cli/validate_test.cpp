// validate and calibrate collectives from the outside.

#include "process.hpp"

#include <nlohmann/json.hpp>

using namespace trainyard;

namespace {

const std::string columns_line =
    "source,source_detail,year,system,gpu,gpus_per_node,nodes,gpus_total,interconnect_intra,"
    "interconnect_inter,framework,model,precision,batch_per_gpu,global_batch,seq_len,metric,value,unit,"
    "speedup_reported,clean,split,notes\n";

/// An all-reduce on eight V100 of a cube mesh, its time in microseconds.
std::string measured_line(const std::string& size, const std::string& time, const std::string& split) {
  return "mine,,2022,box,V100-SXM2-16GB,8,1,8,NVLink2 hybrid cube mesh,,NCCL,allreduce " + size +
         " B,,,,,allreduce_time," + time + ",us,,yes," + split + ",\n";
}

/// Sizes enough to fit constants to.
std::string curve_to_fit() {
  std::string lines = columns_line;
  for (const auto& [size, time] :
       {std::pair{"8", "30"}, {"65536", "40"}, {"67108864", "950"}, {"1073741824", "13900"}})
    lines += measured_line(size, time, "calibrate");
  return lines;
}

/// A shipped file of measurements.
std::string shipped_csv(const std::string& name) {
  return (std::filesystem::path(TRAINYARD_SOURCE_DIR) / "workloads/published" / name).string();
}

/// ResNet-50 on V100 of a cube mesh, in images per second.
std::string trained_line(const std::string& gpus, const std::string& rate, const std::string& split) {
  return "mine,,2023,box,V100-SXM2-16GB,8,1," + gpus + ",NVLink2 hybrid cube mesh,,PyTorch 1.13 DDP," +
         "ResNet-50 v1.5,fp32,64,,,throughput," + rate + ",img/s,,yes," + split + ",\n";
}

}  // namespace

TEST_CASE("rows of a user are predicted, a limit that is missed ends with 1") {
  const Scratch scratch;
  const std::string rows =
      scratch.put("mine.csv", columns_line + measured_line("1073741824", "13870", "validate") +
                                  measured_line("67108864", "300", "validate"));
  const Ended done = run_program({"validate", rows});
  CAPTURE(done.err);
  CHECK(done.code == 0);
  CHECK(contains(done.out, "8 V100-SXM2-16GB, all_reduce: mine"));
  CHECK(contains(done.out, "2 scored, 0 left out"));
  CHECK(run_program({"validate", rows, "--limit", "300"}).code == 0);
  const Ended missed = run_program({"validate", rows, "--limit", "5"});
  CHECK(missed.code == 1);
  CHECK(contains(missed.out, "2 scored"));
  CHECK(contains(missed.err, "5.0 %"));
}

TEST_CASE("a short file is enough, and what no rule recognises is named with its place") {
  const Scratch scratch;
  const std::string columns =
      "gpu,gpus_per_node,nodes,interconnect_intra,framework,model,precision,batch_per_gpu,value,unit\n";
  const std::string known =
      "V100-SXM2-16GB,8,1,NVLink2 hybrid cube mesh,PyTorch 1.13 DDP,ResNet-50,fp32,64,2800,img/s\n";
  const Ended done =
      run_program({"validate", scratch.put("short.csv", columns + known), "--fit", "nothing", "--json"});
  CAPTURE(done.err);
  CHECK(done.code == 0);
  CHECK(done.err.empty());
  CHECK(nlohmann::json::parse(done.out)["rows"].size() == 1);
  const std::string strange =
      "B900,8,1,NVLink9,PyTorch 1.13 DDP,ResNet-50,fp32,64,2800,img/s\n"
      "V100-SXM2-16GB,8,1,NVLink2 hybrid cube mesh,JAX 0.4,ResNet-50,fp32,64,2800,img/s\n"
      "V100-SXM2-16GB,8,1,NVLink2 hybrid cube mesh,JAX 0.4,ResNet-50,fp32,32,2800,img/s\n";
  const std::string machine =
      "no rule recognises the machine: gpu 'B900', gpus_per_node 8, interconnect_intra 'NVLink9'";
  const std::string framework = "no rule recognises the framework 'JAX 0.4' (2 rows)";
  const Ended some = run_program(
      {"validate", scratch.put("some.csv", columns + known + strange), "--fit", "nothing", "--json"});
  CHECK(some.code == 0);
  CHECK(nlohmann::json::parse(some.out)["rows"].size() == 1);
  CHECK(contains(some.err, "some.csv:3:1: warning: " + machine));
  CHECK(contains(some.err, "some.csv:4:1: warning: " + framework));
  const Ended none =
      run_program({"validate", scratch.put("none.csv", columns + strange), "--fit", "nothing"});
  CHECK(none.code == 3);
  CHECK(contains(none.err, "none.csv:2:1: error: " + machine));
  CHECK(contains(none.err, "none.csv:3:1: error: " + framework));

  const std::string model =
      "V100-SXM2-16GB,8,1,NVLink2 hybrid cube mesh,PyTorch 1.13 DDP,ResNot-50,fp32,64,2800,img/s\n";
  const Ended unknown =
      run_program({"validate", scratch.put("model.csv", columns + model), "--fit", "nothing"});
  CHECK(unknown.code == 3);
  CHECK(contains(unknown.err, "model.csv:2:1: error: no rule recognises the model 'ResNot-50'"));
}

TEST_CASE("a limit is missed where nothing was scored that could keep it") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", columns_line + measured_line("1024", "30", "validate") +
                                                       measured_line("1073741824", "0", "validate"));
  const Ended none = run_program({"validate", rows, "--limit", "300"});
  CHECK(none.code == 1);
  CHECK(contains(none.out, "1 scored, 1 left out"));
  CHECK(contains(none.out, "no value above 0"));
  CHECK(contains(none.err, "1 MiB"));
  CHECK(run_program({"validate", rows}).code == 0);
}

TEST_CASE("a limit holds for training runs too, under the protocol that is asked for") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", columns_line + trained_line("1", "350", "calibrate") +
                                                       trained_line("8", "2500", "validate"));
  CHECK(run_program({"validate", rows, "--summary", "--fit", "nothing", "--limit", "60"}).code == 0);
  const Ended missed = run_program({"validate", rows, "--summary", "--fit", "1gpu", "--limit", "0.01"});
  CHECK(missed.code == 1);
  CHECK(contains(missed.err, "1gpu"));
  CHECK(contains(missed.err, "0.0 %"));
  const Ended none = run_program({"validate", rows, "--summary", "--fit", "1node", "--limit", "60"});
  CHECK(none.code == 1);
  CHECK(contains(none.err, "1node"));
  CHECK_FALSE(contains(none.err, "1 MiB"));  // there are no collectives
  const std::string both = scratch.put("both.csv", columns_line + trained_line("1", "350", "calibrate") +
                                                       trained_line("8", "2500", "validate") +
                                                       measured_line("67108864", "300", "validate"));
  const Ended two = run_program({"validate", both, "--summary", "--fit", "1gpu", "--limit", "0.01"});
  CHECK(two.code == 1);
  CHECK(contains(two.err, "1 MiB"));
  CHECK(contains(two.err, "1gpu"));
}

TEST_CASE("check refuses machine rules that name a platform nobody has") {
  const Scratch scratch;
  const std::string rules =
      scratch.put("mine.yaml", "name: mine\nmachines:\n  - {when: {}, platform: dgx_a10}\n");
  const Ended done = run_program({"check", rules});
  CHECK(done.code == 3);
  CHECK(contains(done.err, "mine.yaml:3:26: error: unknown platform 'dgx_a10'"));
  CHECK(contains(done.err, "dgx_a100"));
}

TEST_CASE("validate prints JSON and overwrites nothing without --force") {
  const Scratch scratch;
  const std::string rows =
      scratch.put("mine.csv", columns_line + measured_line("1073741824", "13870", "validate") +
                                  measured_line("1024", "30", "validate"));
  const Ended done = run_program({"validate", rows, "--json", "--csv", scratch / "p.csv"});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  CHECK(json["overall"]["rows"] == 2);
  CHECK(json["rows"][0]["platform"] == "dgx1v");
  CHECK(run_program({"validate", rows, "--csv", scratch / "p.csv"}).code == 5);
  CHECK(run_program({"validate", rows, "--csv", scratch / "p.csv", "--force"}).code == 0);
}

TEST_CASE("measurements that cannot be read are errors with their place") {
  const Scratch scratch;
  const std::string rows = scratch.put("bad.csv", columns_line + measured_line("8", "soon", "validate"));
  const Ended done = run_program({"validate", rows});
  CHECK(done.code == 3);
  CHECK(contains(done.err, "bad.csv:2:"));
  CHECK(run_program({"validate", scratch / "none.csv"}).code == 5);
  const Ended empty = run_program({"validate", scratch.put("empty.csv", columns_line)});
  CHECK(empty.code == 3);
  CHECK(contains(empty.err, "empty.csv"));
  CHECK(run_program({"validate", "--limit", "low"}).code == 2);
  CHECK(run_program({"validate", "--machines", "published2"}).code == 3);
}

TEST_CASE("an unknown word of a table in other columns is a warning beside other rows, alone an error") {
  const Scratch scratch;
  const std::string columns = "op,gpu,nodes,gpus,bytes,busbw_GBps,algorithm,nvls,tool\n";
  const std::string known = "all_reduce,A100 SXM,1,8,1073741824,230,Ring,,nccl-tests\n";
  const std::string strange = "all_reduce,A100 SXM,1,8,1073741824,230,Star,,nccl-tests\n";
  const std::string message = "unknown word 'Star' in the column algorithm";
  const Ended both = run_program({"validate", scratch.put("both.csv", columns + known + strange), "--json"});
  CHECK(both.code == 0);
  CHECK(contains(both.err, "both.csv:3:40: warning: " + message));
  const auto json = nlohmann::json::parse(both.out);
  CHECK(json["schema_version"] == 4);  // as of training runs
  CHECK(json["excluded"][message] == 1);
  const Ended alone = run_program({"validate", scratch.put("alone.csv", columns + strange)});
  CHECK(alone.code == 3);
  CHECK(contains(alone.err, "alone.csv:2:40: error: " + message));
}

TEST_CASE("validate names ranges of reports that are not used") {
  const Scratch scratch;
  (void)scratch.put("bert.yaml",
                    "platform: dgx1v\nnodes: 1\nmodel: bert_base\nstack: pytorch_ddp\nprecision: amp\n"
                    "batch_per_gpu: 8\noptimizer: adam\n");
  const std::string rows = scratch.put("reports.csv",
                                       "gpu,gpus,model,metric,value,unit,experiment,ranges\n"
                                       "V100,8,BERT,step_ms,60,ms,bert.yaml,gpus=4..8\n"
                                       "V100,8,BERT,step_ms,61,ms,bert.yaml,gpus=4..8\n"
                                       "V100,8,BERT,step_ms,62,ms,bert.yaml,batch_per_gpu=4..8\n");
  const Ended done = run_program({"validate", rows});
  CAPTURE(done.out);
  CHECK(done.code == 0);
  CHECK(contains(done.out, "reports whose ranges are not used"));
  CHECK(contains(done.out, "       2  the experiment has another number of GPUs"));
}

TEST_CASE("--errors refuses a file whose name would break the tables") {
  const Scratch scratch;
  const std::string rows =
      scratch.put("a,b.csv", columns_line + measured_line("1073741824", "13870", "validate"));
  const Ended done = run_program({"validate", rows, "--errors", scratch / "errors"});
  CHECK(done.code == 3);
  CHECK(contains(done.err, "a,b.csv"));
  CHECK(run_program({"validate", rows}).code == 0);
}

TEST_CASE("training runs of a user are predicted, by families and in JSON, whatever the processes") {
  const Scratch scratch;
  const std::string rows =
      scratch.put("mine.csv", columns_line + trained_line("1", "350", "calibrate") +
                                  trained_line("4", "1300", "validate") + trained_line("8", "2500", "new"));
  const Ended text = run_program({"validate", rows, "-j", "2"});
  CAPTURE(text.err);
  REQUIRE(text.code == 0);
  for (const std::string part :
       {"mine.csv:3", "dgx1v", "fit nothing", "fit 1gpu", "fit 1node", "all runs  ", "1  calibration run"})
    CHECK_MESSAGE(contains(text.out, part), part);
  CHECK_FALSE(contains(text.out, "busbw"));  // nothing is said of collectives
  const Ended one = run_program({"validate", rows, "--json", "--fit", "1gpu", "-j", "1"});
  REQUIRE(one.code == 0);
  CHECK(run_program({"validate", rows, "--json", "--fit", "1gpu", "-j", "4"}).out == one.out);
  const auto json = nlohmann::json::parse(one.out);
  CHECK(json["fit"] == "1gpu");
  CHECK(json["overall"]["rows"] == 2);
  CHECK(json["overall"]["coverage"] == 1);
  CHECK(json["rows"][0]["linear_from_one_gpu"].get<double>() == doctest::Approx(1400));
  CHECK(json["baselines"]["linear_from_one_gpu"]["rows"] == 2);
  const auto spec =
      nlohmann::json::parse(run_program({"validate", rows, "--json", "--fit", "nothing", "--summary"}).out);
  CHECK(spec["fit"] == "nothing");
  CHECK(run_program({"validate", rows, "--fit", "2gpu"}).code == 3);
  CHECK(run_program({"validate", rows, "-j", "0"}).code == 2);
}

TEST_CASE("a stack is calibrated with a user's run on one GPU, never with one on several") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", columns_line + trained_line("1", "350", "calibrate") +
                                                       trained_line("8", "2500", "calibrate"));
  const std::string out = scratch / "ours.yaml";
  const Ended fitted = run_program({"calibrate", "stack", "pytorch_ddp", "--rows", rows, "-o", out});
  CAPTURE(fitted.err);
  REQUIRE(fitted.code == 0);
  CHECK(contains(fitted.out, "mine.csv:2"));
  CHECK_FALSE(contains(fitted.out, "mine.csv:3"));
  CHECK(contains(fitted.out, "1  several GPUs"));
  CHECK(contains(content(out), "fitted: "));
  CHECK(run_program({"check", out}).code == 0);
  CHECK(run_program({"calibrate", "stack", "pytorch_ddp", "--rows", rows, "-o", out}).code == 5);
  const std::string many = scratch.put("many.csv", columns_line + trained_line("8", "2500", "calibrate"));
  const Ended refused = run_program({"calibrate", "stack", "pytorch_ddp", "--rows", many});
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "pytorch_ddp"));
}

TEST_CASE("constants fitted to a user's rows can be read and used") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", curve_to_fit());
  const std::string out = scratch / "ours.yaml";
  const Ended fitted = run_program({"calibrate", "collectives", rows, "-o", out, "--skip-left-out"});
  CAPTURE(fitted.err);
  REQUIRE(fitted.code == 0);
  CHECK(contains(fitted.out, "dgx1v"));
  CHECK(run_program({"check", out}).code == 0);
  CHECK(run_program({"calibrate", "collectives", rows, "-o", out}).code == 5);
  const Ended used = run_program({"validate", rows, "--protocols", out, "--json"});
  REQUIRE(used.code == 0);
  const auto errors = nlohmann::json::parse(used.out)["overall"];
  CHECK(errors["mape"].get<double>() < 0.1);
}

TEST_CASE("validate --markdown has a section for each kind and fit") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", columns_line + trained_line("1", "350", "calibrate") +
                                                       trained_line("8", "2500", "validate"));
  const Ended done = run_program({"validate", rows, "--markdown"});
  CAPTURE(done.out);
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  for (const std::string title :
       {"### Predictions and published measurements\n", "#### Training runs\n",
        "#### Training runs: every row\n", "#### Training runs: errors by family with fit 1gpu\n",
        "#### Training runs: errors by family with fit nothing\n"}) {
    CAPTURE(title);
    const std::size_t place = done.out.find(title);
    REQUIRE(place != std::string::npos);
    CHECK(done.out.find(title, place + 1) == std::string::npos);
  }
  CHECK_FALSE(contains(done.out, "\ntraining runs\n"));
}

TEST_CASE("calibrate collectives --markdown prints the page alone") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", curve_to_fit());
  const Ended fitted = run_program(
      {"calibrate", "collectives", rows, "-o", scratch / "ours.yaml", "--skip-left-out", "--markdown"});
  CAPTURE(fitted.err);
  REQUIRE(fitted.code == 0);
  CHECK(contains(fitted.out, "### Constants of NCCL's protocols\n"));
  CHECK(contains(fitted.out, "#### Fitted rates\n"));
  CHECK_FALSE(contains(fitted.out, "ours.yaml"));
  CHECK(contains(fitted.err, "ours.yaml"));
}

TEST_CASE("calibrate stack --markdown prints the page alone") {
  const Scratch scratch;
  const std::string rows = scratch.put("mine.csv", columns_line + trained_line("1", "350", "calibrate"));
  const Ended fitted = run_program(
      {"calibrate", "stack", "pytorch_ddp", "--rows", rows, "-o", scratch / "ours.yaml", "--markdown"});
  CAPTURE(fitted.err);
  REQUIRE(fitted.code == 0);
  CHECK(contains(fitted.out, "### Fit of a stack\n"));
  CHECK(contains(fitted.out, "#### Scale\n"));
  CHECK_FALSE(contains(fitted.out, "ours.yaml"));
  CHECK(contains(fitted.err, "ours.yaml"));
}

TEST_CASE("validate: --fit and --limit hold for runs whose ranks share a model") {
  const Scratch scratch;
  const std::string header =
      "source,model,layers,hidden,heads,seq,vocab,gpu,gpus,nodes,nic,tp,pp,dp,recompute,micro_batch,global_"
      "batch,"
      "precision,framework,metric,value,unit\n";
  const std::string sizes = "mine,GPT-2,8,1024,16,1024,50257,V100-SXM2-16GB,8,1,1x InfiniBand EDR,";
  const std::string rest = ",full,4,32,fp16,Megatron-LM,step_time,";
  const std::string rows = scratch.put(
      "layouts.csv", header + sizes + "2,2,2" + rest + "0.5,s\n" + sizes + "8,1,1" + rest + "0.9,s\n");
  const Ended all = run_program({"validate", rows, "--summary"});
  CHECK(all.code == 0);
  CHECK(contains(all.out, "1layout"));
  const Ended one = run_program({"validate", rows, "--summary", "--fit", "nothing"});
  CHECK(one.code == 0);
  CHECK_FALSE(contains(one.out, "software "));
  CHECK(run_program({"validate", rows, "--fit", "software", "--limit", "10000"}).code == 0);
  CHECK(run_program({"validate", rows, "--fit", "software", "--limit", "0.01"}).code == 1);
  const Ended fitted = run_program({"validate", rows, "--fit", "1gpu", "--json"});
  CHECK(nlohmann::json::parse(fitted.out)["layouts"]["fit"] == "1layout");
}

TEST_CASE("validate --experiments: run predicts what validate does") {
  const Scratch scratch;
  const std::string shipped = content(shipped_csv("parallel.csv"));
  const std::string layouts =
      scratch.put("few.csv", shipped.substr(0, shipped.find('\n', shipped.find('\n') + 1)));
  const std::string rows = scratch.put("mine.csv", columns_line + trained_line("4", "1300", "validate"));
  const std::vector<std::string> write{"validate", layouts,         rows,           "--json", "--fit",
                                       "software", "--experiments", scratch / "out"};
  const Ended all = run_program(write);
  CAPTURE(all.err);
  REQUIRE(all.code == 0);
  const auto json = nlohmann::json::parse(all.out);
  const auto throughput = [&](const std::string& file) {
    const Ended ended = run_program({"run", scratch / ("out/" + file), "--json", "--fidelity", "closed"});
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return nlohmann::json::parse(ended.out)["throughput_samples_per_s"].get<double>();
  };
  REQUIRE(json["layouts"]["rows"].size() == 1);
  CHECK(throughput("few-2.yaml") ==
        doctest::Approx(json["layouts"]["rows"][0]["predicted"].get<double>()).epsilon(1e-6));
  // the shipped software is fitted to runs of this row's system too
  CHECK(throughput("mine-2.yaml") ==
        doctest::Approx(json["rows"][0]["predicted"].get<double>()).epsilon(0.01));
  CHECK(contains(content(scratch / "out/mine-2.yaml"),
                 "# Published: 1300 samples/s of all GPUs (mine.csv, line 2)"));
  CHECK(run_program({"validate", layouts, rows, "--fit", "nothing", "--experiments", scratch / "out"}).code ==
        5);
  std::filesystem::create_directory(scratch / "other");
  const std::string same =
      scratch.put("other/mine.csv", columns_line + trained_line("8", "2500", "validate"));
  const Ended twice =
      run_program({"validate", rows, same, "--fit", "nothing", "--experiments", scratch / "both"});
  CHECK(twice.code == 3);
  CHECK(contains(twice.err, "would both write mine-2.yaml"));
}

TEST_CASE("validate: --fit and --limit hold for trainings to a target") {
  const Scratch scratch;
  const std::string rows = scratch.put(
      "results.csv",
      "round,submitter,system,benchmark,accelerator,accelerators_per_node,nodes,accelerators,framework,"
      "accelerator_interconnect,global_batch,optimizer,samples_mean,time_to_train_score_s\n"
      "v2.0,me,box,resnet,A100-SXM4-80GB,8,1,8,MXNet,NVLink,3264,lars,45037948,1700\n"
      "v2.0,me,boxes,resnet,A100-SXM4-80GB,4,1,4,MXNet,NVLink,1632,lars,44840845,3300\n");
  const Ended all = run_program({"validate", rows, "--summary"});
  CHECK(all.code == 0);
  CHECK(contains(all.out, "1system"));
  CHECK(contains(all.out, "samples to target, ResNet-50"));
  CHECK(run_program({"validate", rows, "--fit", "software", "--limit", "100"}).code == 0);
  CHECK(run_program({"validate", rows, "--fit", "software", "--limit", "0.01"}).code == 1);
  const Ended fitted = run_program({"validate", rows, "--fit", "1gpu", "--json"});
  const auto targets = nlohmann::json::parse(fitted.out)["targets"];
  CHECK(targets["fit"] == "1system");
  CHECK(targets["families"]["time to train, ResNet-50"]["rows"] == 1);
}
