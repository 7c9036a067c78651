// `trainyard collective` from the outside: operations, algorithms, groups, contention, bad requests.

#include "process.hpp"

#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

const std::string flat = TRAINYARD_SOURCE_DIR "/tests/bench/platforms/flat.yaml";

Json collective_json(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "collective");
  arguments.emplace_back("--json");
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

Ended collective_on_dgx2(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"collective", "all_reduce", "--platform", "dgx2", "-b", "1M", "-e", "1M"});
  return run_program(arguments);
}

double time_of_group(const Json& report, int group) {
  for (const Json& row : report["rows"]) {
    if (row["group"] == group) return row["time_s"];
  }
  return -1;
}

}  // namespace

TEST_CASE("a ring all-reduce on 1,024 ranks of the wire alone is the textbook's") {
  // 50 GB/s, 500 ns
  for (const auto& [text, size] : {std::pair{"64M", 64.0 * 1048576}, std::pair{"1G", 1073741824.0}}) {
    const Json report = collective_json({"all_reduce", "--platform", flat, "--nodes", "1024", "--nccl",
                                         "none", "--algorithm", "ring", "-b", text, "-e", text});
    const double formula = 2 * 1023.0 / 1024 * size / 50e9 + 2 * 1023 * 500e-9;
    CHECK(report["rows"][0]["time_s"].get<double>() == doctest::Approx(formula).epsilon(1e-9));
  }
}

TEST_CASE("every operation is timed, and none beats its bound") {
  for (const char* operation :
       {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"}) {
    CAPTURE(operation);
    const Json report = collective_json({operation, "--platform", "dgx2", "-b", "64M", "-e", "64M"});
    const Json& row = report["rows"][0];
    CHECK(row["bound_share"] > 0);
    CHECK(row["bound_share"] <= 1);
    CHECK(report["link_utilization_max"] > 0);
    const bool has_root = std::string(operation) == "broadcast" || std::string(operation) == "reduce";
    CHECK(report["root"].is_null() == !has_root);
  }
}

TEST_CASE("groups that share no link take what each takes alone, and groups that do take longer") {
  const std::vector<std::string> common{"all_reduce",
                                        "--platform",
                                        "dgx1v",
                                        "--nodes",
                                        "4",
                                        "--set",
                                        "platform.fabric.nodes_per_leaf=1",
                                        "--set",
                                        "platform.fabric.oversubscription=8",
                                        "-b",
                                        "64M",
                                        "-e",
                                        "64M"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = common;
    all.insert(all.end(), more.begin(), more.end());
    return collective_json(all);
  };
  const double alone = time_of_group(with({"--group", "0-15"}), 0);
  const Json apart = with({"--group", "0-15", "--group", "16-31"});
  CHECK(time_of_group(apart, 0) == doctest::Approx(alone).epsilon(1e-9));
  CHECK(time_of_group(apart, 1) == doctest::Approx(alone).epsilon(1e-9));
  // half of the GPUs of all nodes each: both need every leaf's uplink
  const std::string low = "0-3,8-11,16-19,24-27";
  const std::string high = "4-7,12-15,20-23,28-31";
  const double low_alone = time_of_group(with({"--group", low}), 0);
  const Json together = with({"--group", low, "--group", high});
  CHECK(time_of_group(together, 0) > 1.2 * low_alone);
  const Json late = with({"--group", low, "--group", high + "@1 s"});
  CHECK(time_of_group(late, 0) == doctest::Approx(low_alone).epsilon(1e-9));
}

TEST_CASE("--csv writes the rows of the table, and the iterations of nccl-tests change nothing") {
  const Scratch scratch;
  const std::vector<std::string> few{"collective", "all_reduce", "--platform", "dgx2", "--gpus",
                                     "4",          "-b",         "1M",         "-e",   "4M"};
  std::vector<std::string> many = few;
  many.insert(many.end(), {"-n", "100", "-w", "0", "--csv", scratch / "rows.csv"});
  const Ended ended = run_program(many);
  REQUIRE(ended.code == 0);
  CHECK(ended.out == run_program(few).out);
  const std::string rows = content(scratch / "rows.csv");
  CHECK(rows.starts_with("size_bytes,elements,group,algorithm,protocol,channels,time_s,"));
  CHECK(std::ranges::count(rows, '\n') == 4);
  CHECK(rows.find("\n1048576,262144,0,") != std::string::npos);
  CHECK(run_program(many).code == 5);  // it is not overwritten
  std::vector<std::string> wrong = few;
  wrong.insert(wrong.end(), {"-n", "none"});
  CHECK(run_program(wrong).code == 2);
}

TEST_CASE("--links writes what every link carried, and does not overwrite") {
  const Scratch scratch;
  const std::vector<std::string> command{"collective", "send_recv", "--platform", flat,
                                         "--nodes",    "2",         "-b",         "1M",
                                         "-e",         "1M",        "--links",    scratch / "l.csv"};
  REQUIRE(run_program(command).code == 0);
  const std::string links = content(scratch / "l.csv");
  CHECK(links.starts_with("link,capacity_bytes_per_s,bytes,utilization\n"));
  CHECK(links.find("node0.nic0->fabric,50000000000,1048576,") != std::string::npos);
  CHECK(run_program(command).code == 5);
}

TEST_CASE("an algorithm that cannot run on a shape ends with 3 and names what could") {
  const Ended six = run_program({"collective", "all_gather", "--platform", "dgx2", "--gpus", "6",
                                 "--algorithm", "recursive_doubling", "-b", "1M", "-e", "1M"});
  CHECK(six.code == 3);
  CHECK(six.err.find("ring") != std::string::npos);
  CHECK(collective_on_dgx2({"--algorithm", "hierarchical"}).code == 3);  // one node
}

TEST_CASE("--grid shapes the torus, and is refused without one and where ranks are missing or left over") {
  const auto time = [](std::vector<std::string> more) {
    std::vector<std::string> all{"all_reduce",  "--platform", flat, "--nodes", "128", "--nccl", "none",
                                 "--algorithm", "torus2d",    "-b", "64M",     "-e",  "64M"};
    all.insert(all.end(), more.begin(), more.end());
    return collective_json(all)["rows"][0]["time_s"].get<double>();
  };
  // 50 GB/s, 500 ns, as in the textbook: the data shrinks to a row's share before it goes along the columns
  const auto formula = [](int columns, int rows) {
    const double size = 64.0 * 1048576;
    return 2 * (columns - 1.0) * (500e-9 + size / columns / 50e9) +
           2 * (rows - 1.0) * (500e-9 + size / columns / rows / 50e9);
  };
  CHECK(time({"--grid", "8x16"}) == doctest::Approx(formula(8, 16)).epsilon(1e-9));
  CHECK(time({"--grid", "32x4"}) == doctest::Approx(formula(32, 4)).epsilon(1e-9));
  CHECK(time({}) == time({"--grid", "16x8"}));
  CHECK(collective_on_dgx2({"--algorithm", "torus2d", "--grid", "8x2"}).code == 0);
  CHECK(collective_on_dgx2({"--grid", "8x2"}).code == 2);
  CHECK(collective_on_dgx2({"--algorithm", "ring", "--grid", "8x2"}).code == 2);
  for (const char* wrong : {"16x1", "8", "8x", "x2", "8x2x1", "8*2"}) {
    CAPTURE(wrong);
    CHECK(collective_on_dgx2({"--algorithm", "torus2d", "--grid", wrong}).code == 2);
  }
  const Ended places = collective_on_dgx2({"--algorithm", "torus2d", "--grid", "8x4"});
  CHECK(places.code == 3);
  CHECK(has(places.err, "32 places"));
}

TEST_CASE("groups and roots that make no sense are a wrong command line or name the rank") {
  CHECK(collective_on_dgx2({"--group", "3-1"}).code == 2);
  CHECK(collective_on_dgx2({"--group", "0,0"}).code == 2);
  CHECK(collective_on_dgx2({"--group", "0-3@5"}).code == 2);
  CHECK(collective_on_dgx2({"--group", "0-3@-5 ms"}).code == 2);
  CHECK(collective_on_dgx2({"--set", "nodes=2"}).code == 2);
  const Ended none = run_program({"run", "resnet50_dgx2", "--set", "nodes=0"});
  CHECK(none.code == 3);
  CHECK(none.err.find("at most 1048576") != std::string::npos);
  const Ended beyond = collective_on_dgx2({"--group", "0-16"});
  CHECK(beyond.code == 3);
  CHECK(beyond.err.find("rank 16 ") != std::string::npos);
  CHECK(collective_on_dgx2({"--group", "0-3", "--group", "3-5"}).code == 3);
  CHECK(collective_on_dgx2({"--group", "4"}).code == 3);
  CHECK(collective_on_dgx2({"--root", "16"}).code == 3);
}

TEST_CASE("one process that starts many GPUs is a floor of small sizes and nothing to large ones") {
  const auto time = [](const char* size, const char* gpus) {
    return collective_json(
               {"all_reduce", "--platform", "dgx2", "-b", size, "-e", size, "-g", gpus})["rows"][0]["time_s"]
        .get<double>();
  };
  CHECK(time("8", "16") > 1.1 * time("8", "1"));
  CHECK(time("1G", "16") == doctest::Approx(time("1G", "1")).epsilon(1e-3));
}

TEST_CASE("counts are nccl-tests': of one rank's part where the buffer has parts") {
  const auto elements = [](const char* operation) {
    const Json row = collective_json({operation, "--platform", "dgx1v", "-b", "1M", "-e", "1M"})["rows"][0];
    return row["elements"].get<int>();
  };
  for (const char* operation : {"reduce_scatter", "all_gather", "all_to_all"})
    CHECK(elements(operation) == 32768);
  for (const char* operation : {"all_reduce", "broadcast", "reduce", "send_recv"})
    CHECK(elements(operation) == 262144);
  const Json six =
      collective_json({"all_gather", "--platform", "dgx1v", "--gpus", "6", "-b", "1M", "-e", "1M"});
  CHECK(six["rows"][0]["size_bytes"] == 6 * 4 * 43690);
}

TEST_CASE("an algorithm that NCCL does not have moves whole chunks") {
  const Json report = collective_json({"all_reduce", "--platform", "dgx1v", "--nodes", "2", "--algorithm",
                                       "halving_doubling", "-b", "1K", "-e", "1K"});
  CHECK(report["rows"][0]["protocol"] == "Simple");
}

TEST_CASE("--library times MPI's choices, also between processors, and refuses NCCL's options") {
  const Ended mpi = run_program({"collective", "all_reduce", "--platform", "theta", "--nodes", "4", "-b",
                                 "1K", "-e", "1M", "-f", "1024"});
  CHECK(mpi.code == 0);
  CHECK(mpi.out.find("# kink: MPICH switches from recursive_doubling to halving_doubling") !=
        std::string::npos);
  const Ended gloo = run_program({"collective", "all_reduce", "--platform", "xeon_cluster", "--nodes", "2",
                                  "--library", "gloo", "-b", "1M", "-e", "1M"});
  CHECK(gloo.out.find("ring/none/1") != std::string::npos);
  for (const auto& [option, value] : {std::pair("--nccl", "2.12"), std::pair("--protocol", "LL")}) {
    const Ended refused = run_program({"collective", "all_reduce", "--platform", "theta", "--nodes", "4",
                                       "--library", "mpich", option, value});
    CAPTURE(option);
    CHECK(refused.code != 0);
    CHECK(refused.out.empty());
  }
  CHECK(run_program({"collective", "all_reduce", "--platform", "theta", "--nodes", "4", "--library", "nccl"})
            .code == 3);
  CHECK(run_program({"collective", "all_reduce", "--platform", "theta", "--nodes", "4", "--nccl", "none",
                     "-b", "1M", "-e", "1M"})
            .code == 0);
}

TEST_CASE("a collective has an expected error where published curves are like it, otherwise a reason") {
  const Json known =
      collective_json({"all_reduce", "--platform", "dgx_h100", "-b", "64K", "-e", "64M", "-f", "1024"});
  const Json& error = known["expected_error"];
  CHECK(error["share"] == 0.8);
  CHECK(error["reason"].is_null());
  for (const char* range : {"from_1_mib", "below_1_mib"}) {
    CAPTURE(range);
    CHECK(error[range]["low"].get<double>() < error[range]["high"].get<double>());
    CHECK(error[range]["nearest"]["operation"] == "all_reduce");
  }
  const Json large = collective_json({"all_reduce", "--platform", "dgx_h100", "-b", "64M", "-e", "64M"});
  CHECK(large["expected_error"]["below_1_mib"].is_null());
  CHECK(large["expected_error"]["from_1_mib"] == error["from_1_mib"]);
  const std::vector<std::vector<std::string>> unlike{
      {"--nccl", "none"}, {"--algorithm", "ring"}, {"--protocol", "LL"}, {"--group", "0-3"}};
  for (const std::vector<std::string>& options : unlike) {
    CAPTURE(options.front());
    std::vector<std::string> arguments{"all_reduce", "--platform", "dgx_h100", "-b", "64M", "-e", "64M"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Json unknown = collective_json(arguments)["expected_error"];
    CHECK(unknown["from_1_mib"].is_null());
    CHECK_FALSE(unknown["reason"].get<std::string>().empty());
  }
}
