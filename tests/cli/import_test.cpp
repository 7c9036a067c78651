// `trainyard import`, as users run it.

#include "cli/process.hpp"
#include "imports/nsys_file.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

using namespace trainyard;

namespace {

const std::string profile = TRAINYARD_SOURCE_DIR "/tests/imports/worker0.pt.trace.json";

}  // namespace

TEST_CASE("import job refuses what a run refuses, after its lists") {
  const Scratch scratch;
  const auto import = [&](const std::string& text, const std::string& name = "train.sh") {
    return run_program({"import", "job", scratch.put(name, text)});
  };
  const std::string job =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --bf16 "
      "--micro-batch-size 2 --global-batch-size 64 ";
  CHECK(import(job + "\n").code == 0);
  for (const char* const more :
       {"--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4", "--micro-batch-size 3",
        "--pipeline-model-parallel-size 8 --num-layers-per-virtual-pipeline-stage 1 --micro-batch-size 64",
        "--context-parallel-size 8 --seq-length 2049"}) {
    const Ended refused = import(job + more + "\n");
    CAPTURE(refused.err);
    CHECK(refused.code == 3);
    CHECK(contains(refused.out, "taken"));
    CHECK(contains(refused.err, "error:"));
  }
  // what the job leaves open may be right on the machine
  CHECK(import("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
               "[parallelism]\ntensor_parallel_degree = 16\n",
               "job.toml")
            .code == 0);
}

TEST_CASE("import kineto writes a trace that runs on any machine, and an account that adds up") {
  const Scratch scratch;
  const std::string out = scratch / "step.csv";
  const Ended text = run_program({"import", "kineto", profile, "-o", out});
  CAPTURE(text.err);
  REQUIRE(text.code == 0);
  CHECK(contains(text.out, "3 in the file; used: 3, 4, 5"));
  CHECK(contains(text.out, "1 all_reduce of 16,793,600 B in all"));
  CHECK(contains(text.err, "5 ops"));
  CHECK(run_program({"import", "kineto", profile, "-o", out}).code == 5);
  const Ended done =
      run_program({"import", "kineto", profile, "-o", out, "--batch", "512", "--force", "--json"});
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  const auto& step = json["step"];
  const double sum = step["computing_s"].get<double>() + step["exposed_communication_s"].get<double>() +
                     step["host_copies_s"].get<double>() + step["idle_s"].get<double>();
  CHECK(step["period_s"].get<double>() == doctest::Approx(sum));
  CHECK(json["steps"].size() == 3);
  CHECK(json["steps"][1]["collectives"]["allreduce"]["bytes"] == 16'793'600);
  CHECK(json["gradients"] == 2);
  CHECK_FALSE(contains(done.out, "/tests/"));  // no path of the user's
  const Ended run =
      run_program({"run", "--platform", "dgx_a100", "--gpus", "2", "--set", "trace=" + out, "--json"});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(contains(run.err, "batch 512 per GPU, as in the trace"));
  CHECK(nlohmann::json::parse(run.out)["step_time_s"].get<double>() ==
        doctest::Approx(step["computing_s"].get<double>()).epsilon(0.2));
}

TEST_CASE("import kineto refuses what it cannot read, with the code of what is wrong") {
  const Scratch scratch;
  const std::string out = scratch / "step.csv";
  CHECK(run_program({"import", "kineto", scratch / "none.json", "-o", out}).code == 5);
  const std::string chart = scratch.put("chart.json", R"({"nodes": []})");
  const Ended other = run_program({"import", "kineto", chart, "-o", out});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "no array of events"));
  CHECK(run_program({"import", "kineto", profile}).code == 2);
  CHECK(run_program({"import", "kineto", profile, "-o", out, "--batch", "0"}).code == 2);
  CHECK(run_program({"import"}).code == 2);
  const std::string cut = scratch.put("cut.json", content(profile).substr(0, 9000));
  const Ended part = run_program({"import", "kineto", cut, "-o", out});
  CHECK(part.code == 3);
  CHECK(contains(part.err, "cut off after byte"));
  const Ended allowed = run_program({"import", "kineto", cut, "-o", out, "--allow-truncated"});
  CHECK(allowed.code == 0);
  CHECK(contains(allowed.err, "its last step is left out"));
}

TEST_CASE("import kineto joins the ranks of a job") {
  const Scratch scratch;
  const std::string text = content(profile);
  std::string other = text;
  const std::string rank = "\"rank\": 0";
  REQUIRE(other.find(rank) != std::string::npos);
  other.replace(other.find(rank), rank.size(), "\"rank\": 1");
  const std::string second = scratch.put("rank1.json", other);
  const std::string out = scratch / "job.csv";
  const Ended done = run_program({"import", "kineto", profile, second, "-o", out});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.out, "2 of 2 on one clock; the trace is of rank 0, which computes longest"));
  CHECK(contains(done.err, "next:  trainyard run --platform dgx_a100 --set trace="));
  const Ended again = run_program({"import", "kineto", profile, second, "-o", out, "--force"});
  CHECK(again.out == done.out);  // whichever thread read which file
  const std::string broken = scratch.put("broken.json", "{}");
  const std::string other_broken = scratch.put("other.json", "[]");
  const Ended refused =
      run_program({"import", "kineto", profile, broken, second, other_broken, "-o", out, "--force"});
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "broken.json"));  // the first of those that cannot be read
  const Ended json =
      run_program({"import", "kineto", second, profile, "-o", out, "--rank", "1", "--force", "--json"});
  REQUIRE(json.code == 0);
  const auto job = nlohmann::json::parse(json.out)["job"];
  CHECK(job["traced_rank"] == 1);
  REQUIRE(job["operations"].size() == 1);
  CHECK(job["operations"][0]["operation"] == "all_reduce");
  CHECK(job["operations"][0]["transfer_s"] == job["operations"][0]["kernels_s"]);  // both began at once
  CHECK(job["operations"][0]["waiting_s"] == 0);
  CHECK(run_program({"import", "kineto", profile, profile, "-o", out, "--force"}).code == 3);
  CHECK(run_program({"import", "kineto", profile, second, "-o", out, "--force", "--rank", "7"}).code == 3);
  CHECK(run_program({"import", "kineto", profile, "-o", out, "--force", "--rank", "0"}).code == 2);
}

TEST_CASE("a profile with gradient accumulation replays as long as it computed") {
  const Scratch scratch;
  const std::string file = TRAINYARD_SOURCE_DIR "/tests/imports/mlp_accumulated4.json.gz";  // on an H100
  const std::string out = scratch / "step.csv";
  const Ended done = run_program({"import", "kineto", file, "-o", out});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.out, "4 micro-batches in a step"));
  CHECK(contains(done.err, "accumulation=4"));
  const Ended run = run_program({"run", "--platform", "dgx_h100", "--gpus", "1", "--set", "trace=" + out,
                                 "--set", "accumulation=4", "--json"});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  // the median of the steps computes 8.284 ms; a step without the profiler took 8.517 ms
  CHECK(nlohmann::json::parse(run.out)["step_time_s"].get<double>() ==
        doctest::Approx(8.284e-3).epsilon(0.03));
}

TEST_CASE("kernels of a profile become a GPU profile") {
  const Scratch scratch;
  const std::string file = TRAINYARD_SOURCE_DIR "/tests/imports/mlp_accumulated4.json.gz";
  const std::string recording = scratch / "mlp.csv";
  const Ended done = run_program({"import", "kineto", file, "--recordings", recording});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.err, "calibrate gpu"));
  CHECK(contains(content(recording), "# compute_capability: 9.0\n"));
  CHECK(contains(content(recording), "m512 n4096 k4096 nt"));
  const Ended calibrated = run_program({"calibrate", "gpu", recording, "--name", "mine", "--specification",
                                        "h100_sxm_80gb", "--out", scratch / "mine"});
  CAPTURE(calibrated.err);
  CHECK(calibrated.code == 0);
  CHECK(run_program({"import", "kineto", file}).code == 2);
}

TEST_CASE("import nccl-tests writes rows that validate predicts") {
  const Scratch scratch;
  const std::string log = TRAINYARD_SOURCE_DIR "/tests/imports/all_reduce.log";
  const std::string out = scratch / "rows.csv";
  const std::vector<std::string> words{"import",  "nccl-tests",       log, "-o", out,
                                       "--intra", "NVSwitch, NVLink3"};
  const Ended done = run_program(words);
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.err, "6 rows"));
  CHECK(run_program(words).code == 5);
  const Ended validated = run_program({"validate", out, "--json"});
  CAPTURE(validated.err);
  REQUIRE(validated.code == 0);
  CHECK(contains(validated.out, "all_reduce"));
  const std::string other = scratch.put("other.log", "no table\n");
  CHECK(run_program({"import", "nccl-tests", other, "-o", scratch / "x.csv"}).code == 3);
  CHECK(run_program({"import", "nccl-tests", log, "-o", scratch / "x.csv", "--gpus", "1"}).code == 2);
}

TEST_CASE("import nsys writes a trace of a report, and says what a report without a database is") {
  const Scratch scratch;
  const testing::NsysFile report(testing::nsys_report());
  const std::string out = scratch / "step.csv";
  const Ended done =
      run_program({"import", "nsys", report.path(), "--step-range", "step", "-o", out, "--json"});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  CHECK(json["steps"].size() == 3);
  CHECK(json["gpu"] == "NVIDIA A100-SXM4-40GB");
  CHECK(json["schema"] == "3.25.0");
  CHECK(json["bytes"] == std::filesystem::file_size(report.path()));
  CHECK(json["step"]["period_s"].get<double>() == doctest::Approx(3e-3));
  CHECK(json["whole"]["collectives"]["ncclAllReduce"]["bytes"] == 3 * 67'125'248);
  const Ended run = run_program({"run", "--platform", "dgx_a100", "--gpus", "2", "--set", "trace=" + out});
  CAPTURE(run.err);
  CHECK(run.code == 0);
  CHECK(run_program({"import", "nsys", report.path(), "-o", out, "--force", "--device", "3"}).code == 3);
  CHECK(run_program({"import", "nsys", report.path(), "-o", out, "--force", "--gpus", "0"}).code == 2);
  const Ended other = run_program({"import", "nsys", profile, "-o", out, "--force"});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "trainyard import kineto"));
  const Ended database = run_program({"import", "kineto", report.path(), "-o", out, "--force"});
  CHECK(database.code == 3);
  CHECK(contains(database.err, "trainyard import nsys"));
}

TEST_CASE("import et writes ops that the machine times, or those of the profile of the same run") {
  const Scratch scratch;
  const std::string file = TRAINYARD_SOURCE_DIR "/tests/imports/execution_trace.json";
  const std::string out = scratch / "untimed.csv";
  const Ended done = run_program({"import", "et", file, "-o", out, "--batch", "512", "--json"});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  CHECK(json["nodes"] == 42);
  CHECK(json["whole"]["matrix_flops"] == 3 * 2 * 2.0 * 512 * 4096 * 1024);
  CHECK(json["whole"]["collectives"]["allreduce"]["bytes"] == 3 * 16'793'600);
  CHECK(json["gradient_values"] == 4'198'400);
  const Ended slow =
      run_program({"run", "--platform", "dgx1v", "--gpus", "2", "--set", "trace=" + out, "--json"});
  const Ended fast =
      run_program({"run", "--platform", "dgx_h100", "--gpus", "2", "--set", "trace=" + out, "--json"});
  CAPTURE(slow.err);
  REQUIRE(slow.code == 0);
  REQUIRE(fast.code == 0);
  CHECK(nlohmann::json::parse(slow.out)["step_time_s"] > nlohmann::json::parse(fast.out)["step_time_s"]);
  const std::string timed = scratch / "timed.csv";
  const Ended joined = run_program({"import", "et", file, "--kineto", profile, "-o", timed});
  CAPTURE(joined.err);
  REQUIRE(joined.code == 0);
  CHECK(contains(joined.err, "36 operators of the execution trace joined with the profile by the order"));
  const std::string plain = scratch / "plain.csv";
  CHECK(run_program({"import", "kineto", profile, "-o", plain}).code == 0);
  CHECK(contains(content(plain), "backward,relu.0,elementwise,,0,0,,,1.7e-05"));
  CHECK(contains(content(timed), "backward,relu.0,elementwise,e2097152,0,0,,,1.7e-05"));  // with its shape
  CHECK(run_program({"import", "et", file, "-o", out, "--force", "--device", "0"}).code == 2);
  CHECK(run_program({"import", "et", file, "-o", out, "--force", "--step-range", "ProfilerStep"}).code == 0);
  const Ended range = run_program({"import", "et", file, "-o", out, "--force", "--step-range", "epoch"});
  CHECK(range.code == 3);
  CHECK(contains(range.err, "no range has the name 'epoch'"));
  CHECK(run_program({"import", "et", profile, "-o", out, "--force"}).code == 3);
  const Ended other = run_program({"import", "kineto", file, "-o", out, "--force"});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "trainyard import et"));
}

TEST_CASE("the groups of a profile are replayed in its layout") {
  const Scratch scratch;
  const std::string folder = scratch / "profiles";
  REQUIRE(run_program({"export", "hta", "gpt2_small_dgx2", "--set", "parallelism.tensor=2", "--set", "gpus=8",
                       "--ranks", "0", "-o", folder})
              .code == 0);
  const std::string trace = scratch / "groups.csv";
  const Ended done = run_program({"import", "kineto", folder + "/rank_0.json", "-o", trace});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.out, "tensor 2 x data 4 = 8 ranks"));
  CHECK(contains(done.err, "--set parallelism.tensor=2"));
  CHECK_FALSE(contains(done.err, "all ranks take part"));
  CHECK(contains(done.err, "--gpus 8"));
  const Ended run = run_program({"run", "--platform", "dgx2", "--gpus", "8", "--set", "parallelism.tensor=2",
                                 "--set", "trace=" + trace});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "one optimizer update with 32 samples"));  // 8 of each of 4 replicas
}

TEST_CASE("import horovod prints a timeline") {
  const std::string file = TRAINYARD_SOURCE_DIR "/tests/imports/timeline.json";
  const Ended text = run_program({"import", "horovod", file});
  CAPTURE(text.err);
  REQUIRE(text.code == 0);
  CHECK(contains(text.out, "NCCL_ALLREDUCE"));
  const Ended done = run_program({"import", "horovod", file, "--json"});
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  CHECK(json["collectives"]["ALLREDUCE"]["collectives"] == 4);
  CHECK(json["collectives"]["ALLREDUCE"]["tensors"] == 6);
  CHECK(json["cycle_s"] == 0.005);
  const Scratch pages;
  const std::string page = pages / "timeline.html";
  const Ended markdown = run_program({"import", "horovod", file, "--markdown", "--html", page});
  CHECK(contains(markdown.out, "| collective | number |"));
  CHECK(contains(content(page), "negotiated"));
  CHECK(run_program({"import", "horovod", file, "--html", page}).code == 5);
  CHECK(run_program({"import", "horovod", file, "--markdown", "--json"}).code == 2);
  CHECK(run_program({"import", "horovod", profile}).code == 3);
}
