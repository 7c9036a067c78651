// `trainyard export`, and the imports that read what it wrote, as users run them.

#include "cli/process.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using namespace trainyard;

TEST_CASE("export hta writes a profile of each rank, which import kineto reads back with the run's figures") {
  const Scratch scratch;
  const std::string out = scratch / "profiles";
  const std::string without = "stack.broadcast_buffers=false";  // whose copies compute, for a profile
  const Ended done =
      run_program({"export", "hta", "resnet50_dgx2", "--gpus", "2", "--set", without, "-o", out});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.err, "2 files"));
  CHECK(run_program({"export", "hta", "resnet50_dgx2", "--gpus", "2", "--set", without, "-o", out}).code ==
        5);
  CHECK(run_program({"export", "hta", "resnet50_dgx2", "--gpus", "2", "--set", without, "-o", out, "--ranks",
                     "1", "--gz", "--force"})
            .code == 0);
  CHECK_FALSE(std::filesystem::exists(out + "/rank_0.json"));
  const std::string csv = scratch / "step.csv";
  const Ended back = run_program({"import", "kineto", out + "/rank_1.json.gz", "-o", csv, "--json"});
  CAPTURE(back.err);
  REQUIRE(back.code == 0);
  const auto step = nlohmann::json::parse(back.out)["step"];
  const auto run = nlohmann::json::parse(
      run_program({"run", "resnet50_dgx2", "--gpus", "2", "--set", without, "--json"}).out);
  constexpr double few_ns = 1e-8;
  const auto is_near = [&](const char* figure, const char* of_run) {
    CHECK(std::abs(step[figure].get<double>() - run[of_run].get<double>()) < few_ns);
  };
  is_near("period_s", "step_time_s");
  is_near("computing_s", "compute_time_s");
  is_near("exposed_communication_s", "exposed_communication_s");
}

TEST_CASE("export chakra writes what its import reads") {
  const Scratch scratch;
  const std::string name = scratch / "resnet50";
  REQUIRE(run_program({"export", "chakra", "resnet50_dgx2", "--gpus", "2", "-o", name}).code == 0);
  CHECK(scratch.names() == std::set<std::string>{"resnet50.0.et", "resnet50.1.et"});
  CHECK(run_program({"export", "chakra", "resnet50_dgx2", "--gpus", "2", "-o", name}).code == 5);
  const Ended chakra = run_program({"import", "chakra", name + ".1.et", "-o", scratch / "chakra.csv"});
  CAPTURE(chakra.err);
  CHECK(chakra.code == 0);
  CHECK(contains(chakra.out, "7 of 102,441,032 B in all"));
}

TEST_CASE("import astra-sim writes a trace that runs") {
  const Scratch scratch;
  const std::string text = scratch.put("workload.txt",
                                       "DATA\n2\nconv1 -1 1200 NONE 0 900 NONE 0 1100 ALLREDUCE 37632 10\n"
                                       "fc -1 300 NONE 0 280 NONE 0 310 ALLREDUCE 8196000 20\n");
  const std::string csv = scratch / "layers.csv";
  CHECK(run_program({"import", "astra-sim", text, "-o", csv}).code == 2);  // the unit is required
  CHECK(run_program({"import", "astra-sim", text, "--time-unit", "hour", "-o", csv}).code == 3);
  CHECK(
      run_program({"import", "astra-sim", text, "--time-unit", "us", "--gradients", "int", "-o", csv}).code ==
      2);
  const Ended imported =
      run_program({"import", "astra-sim", text, "--time-unit", "us", "--gradients", "fp32", "-o", csv});
  CAPTURE(imported.err);
  REQUIRE(imported.code == 0);
  CHECK(contains(imported.out, "4.12 ms in 8 ops of 2 layers"));
  CHECK(contains(imported.out, "2 all_reduce: 8,233,632 B"));
  const Ended run = run_program(
      {"run", "--platform", "dgx2", "--gpus", "2", "--batch", "128", "--set", "trace=" + csv, "--json"});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(nlohmann::json::parse(run.out)["compute_time_s"].get<double>() ==
        doctest::Approx(4.12e-3).epsilon(0.01));
}

TEST_CASE("exports refuse what their formats cannot hold before they simulate it") {
  const Scratch scratch;
  const std::string out = scratch / "out";
  for (const std::string kind : {"hta", "chakra"}) {
    const Ended servers = run_program({"export", kind, "inception_v3_dgx1_p100_server", "-o", out});
    CHECK(servers.code == 3);
    CHECK(contains(servers.err, "updates differ"));
  }
  const Ended stages = run_program({"export", "chakra", "gpt3_175b_dgx_a100", "-o", out});
  CHECK(stages.code == 3);
  CHECK(contains(stages.err, "'parallelism'"));
  CHECK(run_program({"export", "hta", "resnet50_dgx2", "--ranks", "16", "-o", out}).code == 2);
  CHECK(run_program({"export", "hta", "resnet50_dgx2", "--steps", "0", "-o", out}).code == 2);
  CHECK(run_program({"export"}).code == 2);
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("export simgrid writes a machine that init platform reads back") {
  const Scratch scratch;
  const std::string xml = scratch / "two.xml", yaml = scratch / "two.yaml";
  const Ended done = run_program({"export", "simgrid", "dlperf", "--nodes", "2", "-o", xml});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.err, "16 hosts of 2 nodes"));
  CHECK(run_program({"export", "simgrid", "dlperf", "-o", xml}).code == 5);
  CHECK(run_program({"export", "simgrid", "theta"}).code == 3);  // 4,608 hosts
  CHECK(contains(run_program({"export", "simgrid", "xeon_cluster"}).out, "<host id=\"node0.cpu1\""));

  CHECK(run_program({"init", "platform", xml, "-o", yaml}).code == 2);  // which GPU?
  CHECK(run_program({"init", "platform", xml, "--gpu-memory", "16 GB", "--nics", "2", "-o", yaml}).code == 2);
  const Ended read = run_program({"init", "platform", xml, "--gpu-memory", "16 GB", "-o", yaml});
  CAPTURE(read.err);
  REQUIRE(read.code == 0);
  CHECK(contains(read.err, "'config'"));
  CHECK(contains(content(scratch / "two_gpu.yaml"), "fp32: {peak: {value: 15.7 TFLOP/s"));
  CHECK(run_program({"collective", "all_reduce", "--platform", yaml, "--nodes", "16", "-b", "1M", "-e", "1M"})
            .code == 0);
  CHECK(run_program({"topology", yaml}).code == 0);
  CHECK(run_program({"topology", yaml, "--dot"}).code == 0);
}

TEST_CASE("a platform of SimGrid that SimGrid refuses, or that is refused before, is exit code 3") {
  const Scratch scratch;
  const std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n<zone id=\"w\" routing=\"ROUTING\">\n"
      "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"SPEED\"/>\n</zone></platform>\n";
  const auto refused = [&](const std::string& routing, const std::string& speed) {
    std::string bad = text;
    bad.replace(bad.find("ROUTING"), 7, routing);
    bad.replace(bad.find("SPEED"), 5, speed);
    return run_program(
        {"init", "platform", scratch.put("bad.xml", bad), "--gpu", "t4", "-o", scratch / "bad.yaml"});
  };
  const Ended number = refused("Full", "fast");
  CHECK(number.code == 3);
  CHECK(contains(number.err, "bad.xml:5:1: error: SimGrid refuses the file"));
  const Ended ends = refused("Best", "1Gf");
  CHECK(ends.code == 3);
  CHECK(contains(ends.err, "bad.xml:4:1: error: <zone> has routing='Best'"));
  CHECK(scratch.names() == std::set<std::string>{"bad.xml"});
}
