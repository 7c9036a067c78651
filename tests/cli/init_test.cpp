// trainyard init: platforms and experiments that run as written.

#include "process.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

const char* const matrix =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tPIX\tSYS\tSYS\t0-15\t0\n"
    "GPU1\tPIX\t X \tSYS\tSYS\t0-15\t0\n"
    "GPU2\tSYS\tSYS\t X \tPIX\t16-31\t1\n"
    "GPU3\tSYS\tSYS\tPIX\t X \t16-31\t1\n";

}  // namespace

TEST_CASE("a matrix and a data sheet give a platform, a short GPU profile, a collective and a run") {
  const Scratch scratch;
  const std::string topo = scratch.put("topo.txt", matrix);
  const Ended init = run_program({"init", "platform", topo, "--gpu", "RTX 4080", "--gpu-memory", "16 GB",
                                  "--gpu-peak", "97.5 TFLOP/s", "--gpu-bandwidth", "717 GB/s", "--nics", "1",
                                  "--nic", "100 Gbps", "--nodes", "2", "-o", scratch / "own.yaml"});
  CAPTURE(init.err);
  REQUIRE(init.code == 0);
  CHECK(init.out.empty());
  CHECK(scratch.names() == std::set<std::string>{"own.yaml", "rtx_4080.yaml", "topo.txt"});
  CHECK(run_program({"check", scratch / "own.yaml", scratch / "rtx_4080.yaml"}).code == 0);
  CHECK(run_program({"topology", scratch / "own.yaml"}).code == 0);
  const Ended collective = run_program({"collective", "all_reduce", "--platform", scratch / "own.yaml",
                                        "--nodes", "2", "-b", "64M", "-e", "64M"});
  CAPTURE(collective.err);
  CHECK(collective.code == 0);

  const Ended experiment =
      run_program({"init", "experiment", "--platform", scratch / "own.yaml", "-o", scratch / "job.yaml"});
  CAPTURE(experiment.err);
  REQUIRE(experiment.code == 0);
  const Ended run = run_program({"run", scratch / "job.yaml", "--set", "nodes=2", "--json"});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  const Json json = Json::parse(run.out);
  CHECK(json["ranks"] == 8);
  CHECK(json["compute_source_shares"]["measured"] == 0);
  bool says_assumed = false;
  for (const auto& note : json["notes"])
    says_assumed = says_assumed || contains(note.get<std::string>(), "scaled from a100_sxm4_80gb");
  CHECK(says_assumed);
}

TEST_CASE("an experiment has the model's own optimizer, as a run without a file") {
  CHECK(contains(run_program({"init", "experiment", "--model", "gpt2_small"}).out, "\noptimizer: adam "));
  CHECK(contains(run_program({"init", "experiment", "--model", "resnet50"}).out, "\noptimizer: momentum "));
}

TEST_CASE("without -o a platform goes to stdout, and answers alone are enough") {
  const Ended ended = run_program({"init", "platform", "--gpus", "8", "--gpu", "h100_sxm_80gb", "--nvlink",
                                   "18", "--nics", "8", "--nic", "400 Gbps", "--name", "mine"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const Scratch scratch;
  const std::string file = scratch.put("mine.yaml", ended.out);
  const Ended check = run_program({"check", file});
  CAPTURE(check.err);
  CHECK(check.code == 0);
  CHECK(check.err.empty());
}

TEST_CASE("nothing is overwritten without --force") {
  const Scratch scratch;
  const std::string file = scratch.put("own.yaml", "mine");
  const std::vector<std::string> init{"init", "platform", "--gpus", "2", "--gpu", "t4", "-o", file};
  CHECK(run_program(init).code == 5);
  CHECK(content(file) == "mine");
  std::vector<std::string> forced = init;
  forced.emplace_back("--force");
  CHECK(run_program(forced).code == 0);
  CHECK(content(file) != "mine");
  const std::string gpu = scratch.put("rtx_4080.yaml", "mine");
  CHECK(run_program({"init", "platform", "--gpus", "2", "--gpu", "RTX 4080", "--gpu-memory", "16 GB",
                     "--gpu-peak", "97.5 TFLOP/s", "-o", scratch / "other.yaml"})
            .code == 5);
  CHECK_FALSE(std::filesystem::exists(scratch / "other.yaml"));
  CHECK(run_program({"init", "experiment", "-o", file}).code == 5);
}

TEST_CASE("wrong files end with 3, wrong options with 2, missing files with 5") {
  const Scratch scratch;
  check_refused({"init", "platform", scratch.put("x", "hello"), "--gpu", "t4"}, 3,
                "no description of a node");
  check_refused({"init", "platform", scratch.put("g.xml", "<graphs/>"), "--gpu", "t4"}, 3,
                "graph dump of NCCL");
  check_refused({"init", "platform", scratch.put("n.yml", "npus_count: [ 8 ]\n"), "--gpu", "t4"}, 3,
                "configuration of ASTRA-sim");
  check_refused({"init", "platform", scratch / "none", "--gpu", "t4"}, 5, "none");
  const std::string topo = scratch.put("topo.txt", matrix);
  check_refused({"init", "platform", topo}, 2, "--gpu PROFILE");
  for (const std::string gpu : {"NVIDIA H100 80GB HBM3", "h100_measured"}) {
    const std::string text =
        run_program({"init", "platform", "--gpus", "8", "--gpu", gpu, "--nvlink", "18"}).out;
    CHECK(contains(text, "profile: h100_measured"));
    CHECK(contains(text, "pcie5"));  // the links are known for both profiles
  }
  check_refused({"init", "platform", topo, "--gpu", "t5"}, 3, "t4");
  check_refused({"init", "platform", topo, "--gpu", "t4", "--gpus", "4"}, 2, "the files say");
  check_refused({"init", "platform", topo, "--gpu", "new", "--gpu-memory", "24 GB"}, 2, "--gpu-peak");
  check_refused({"init", "platform", topo, "--gpu", "t4", "--gpu-memory", "24 GB", "--gpu-peak", "9 TFLOP/s"},
                2, "another name");
  check_refused({"init", "platform", topo, "--gpu", "t4", "--nic", "100"}, 2, "unit");
  check_refused({"init", "platform", topo, "--gpu", "t4", "--nodes", "2"}, 3, "network cards");
  check_refused({"init", "platform", topo, "--gpu", "t4", "--gpu-like", "k80"}, 2, "--gpu-memory");
  check_refused({"init", "experiment", "--model", "resnet51"}, 3, "resnet50");
}

TEST_CASE("the skeleton of an experiment runs as it stands") {
  const Scratch scratch;
  const Ended text = run_program({"init", "experiment"});
  REQUIRE(text.code == 0);
  CHECK(text.out.starts_with("# yaml-language-server: $schema="));
  const Ended run = run_program({"run", scratch.put("job.yaml", text.out), "--json"});
  CAPTURE(run.err);
  CHECK(run.code == 0);
  const Ended bert = run_program({"init", "experiment", "--model", "bert_base", "--platform", "dgx_h100"});
  CHECK(run_program({"run", scratch.put("bert.yaml", bert.out)}).code == 0);
}
