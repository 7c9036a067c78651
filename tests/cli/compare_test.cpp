// `trainyard compare` from the outside: its three forms, and how bad comparisons end.

#include "process.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("saved runs, experiments and one with --set compare to the same bytes") {
  const Scratch scratch;
  const std::string a = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  std::filesystem::create_directory(scratch.path() / "b");
  const std::string b = scratch.put("b/tiny.yaml", experiment_with("gpus: 2\nprecision: amp\n"));
  REQUIRE(run_program({"run", a, "--out", scratch / "run_a"}).code == 0);
  REQUIRE(run_program({"run", b, "--out", scratch / "run_b"}).code == 0);
  const Ended set = run_program({"compare", a, "--set", "precision=amp"});
  CAPTURE(set.err);
  REQUIRE(set.code == 0);
  CHECK(set.err.empty());
  CHECK(contains(set.out, "  precision: fp32 -> amp\n"));
  CHECK(contains(set.out, "\nB "));
  // the heads name the keys of --set
  const auto answer = [](const std::string& out) {
    return out.substr(out.find("\ndifferences in the input"));
  };
  const auto of = [&](const std::string& one, const std::string& other) {
    return answer(run_program({"compare", one, other}).out);
  };
  CHECK(of(a, b) == answer(set.out));
  CHECK(of(scratch / "run_a", scratch / "run_b") == answer(set.out));
  CHECK(of(scratch / "run_a/summary.json", b) == answer(set.out));

  const Ended json = run_program({"compare", scratch / "run_a", scratch / "run_b", "--json"});
  REQUIRE(json.code == 0);
  CHECK(json.out == run_program({"compare", a, "--set", "precision=amp", "--json"}).out);
  const Json compared = Json::parse(json.out);
  CHECK(compared["step_time"]["ratio"].get<double>() < 1);
  CHECK(compared["experiment_differences"] == Json{{{"key", "precision"}, {"a", "fp32"}, {"b", "amp"}}});
}

TEST_CASE("a comparison says how far off its change may be, also of saved runs, or why that is unknown") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const auto error_of = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    arguments.emplace_back("--json");
    const Ended ended = run_program(arguments);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out)["ratio_error"];
  };
  const Json more = error_of({tiny, "--set", "gpus=8"});
  CHECK(more["kind"] == "gpus");
  CHECK(more["verdict"] == "beyond");
  CHECK(more["pairs"] == 15);
  CHECK(more["throughput_ratio_low"].get<double>() > 1);
  CHECK(more["throughput_ratio_high"].get<double>() < 5);
  CHECK(error_of({tiny, "--set", "sync.algorithm=tree"})["kind"] == "settings");
  CHECK(error_of({tiny, "--set", "precision=amp", "--set", "batch_per_gpu=64"})["differ"] ==
        Json{"batch", "precision"});
  CHECK(error_of({tiny, tiny})["reason"] == "the experiments are the same");
  CHECK(contains(error_of({tiny, "--set", "software=ideal"})["reason"].get<std::string>(), "A: software"));

  REQUIRE(run_program({"run", tiny, "--out", scratch / "saved"}).code == 0);
  CHECK(error_of({scratch / "saved", tiny})["verdict"].is_null());
  Json summary = Json::parse(content(scratch / "saved/summary.json"));
  summary.erase("comparable_by");
  const std::string old = scratch.put("old.json", summary.dump());
  const Json unknown = error_of({tiny, old});
  CHECK(unknown["verdict"].is_null());
  CHECK(contains(unknown["reason"].get<std::string>(), "older trainyard"));
}

TEST_CASE("--fail-above ends with 1 when B's step is slower than allowed, and prints all the same") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const auto compare = [&](const std::string& set, const std::string& limit) {
    return run_program({"compare", tiny, "--set", set, "--fail-above", limit});
  };
  const Ended missed = compare("batch_per_gpu=64", "20");
  CHECK(missed.code == 1);
  CHECK(contains(missed.out, "side by side"));
  CHECK(contains(missed.err, "above the limit of 20.0 %"));
  CHECK(compare("batch_per_gpu=64", "200").code == 0);
  CHECK(compare("batch_per_gpu=32", "0").code == 0);
}

TEST_CASE(
    "a key that only one run sets is compared with the value that the other's file or default gives it") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const auto differences = [&](const std::vector<std::string>& set) {
    std::vector<std::string> arguments{"compare", tiny, "--json"};
    for (const std::string& one : set) arguments.insert(arguments.end(), {"--set", one});
    const Ended ended = run_program(arguments);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out)["experiment_differences"];
  };
  const auto one = [](const char* key, const char* a, const char* b) {
    return Json{{{"key", key}, {"a", a}, {"b", b}}};
  };
  CHECK(differences({"platform.fabric.nic=25 Gbps"}) == one("platform.fabric.nic", "100 Gbps", "25 Gbps"));
  CHECK(differences({"stack.bucket_cap=50 MiB"})[0]["a"] == "25 MiB");
  CHECK(differences({"parallelism.pipeline=2"}) == one("parallelism.pipeline", "1", "2"));
  CHECK(differences({"gpus_per_node=1", "nodes=2"})[0] ==
        Json{{"key", "gpus_per_node"}, {"a", "2"}, {"b", "1"}});
  CHECK(differences({"platform.fabric.nic=100 Gbps"}).empty());
  CHECK(differences({"sync.algorithm=tree", "job.epochs=2"})[0]["a"].is_null());
}

TEST_CASE("a saved run whose platform has gone is compared all the same") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  REQUIRE(run_program({"run", tiny, "--out", scratch / "saved"}).code == 0);
  Json summary = Json::parse(content(scratch / "saved/summary.json"));
  summary["resolved_experiment"]["platform"] = scratch / "gone.yaml";
  const std::string old = scratch.put("old.json", summary.dump());
  const std::string other =
      scratch.put("other.yaml", experiment_with("gpus: 2\nset: {platform.fabric.nic: 25 Gbps}\n"));
  const Ended ended = run_program({"compare", old, other});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "platform.fabric.nic: not set -> 25 Gbps\n"));
}

TEST_CASE("columns are headed by the values in which the runs differ") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const auto page = [&](const std::string& set) { return run_program({"compare", tiny, "--set", set}).out; };
  CHECK(contains(page("platform.fabric.nic=25 Gbps"), " A: 100 Gbps        B: 25 Gbps "));
  CHECK(contains(page("gpus=1"), " A: 2 GPUs          B: 1 GPU "));
  CHECK(contains(page("batch_per_gpu=64"), " A: batch 32       B: batch 64 "));
  CHECK(contains(run_program({"compare", tiny, tiny}).out, " A                 B "));
}

TEST_CASE("several runs are set side by side, relative to the first, and ranked") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const std::string amp = scratch.put("amp.yaml", experiment_with("gpus: 2\nprecision: amp\n"));
  const std::string more = scratch.put("more.yaml", experiment_with("gpus: 4\n"));
  const std::string wide = scratch.put("wide.yaml", experiment_with("gpus: 8\n"));
  const Ended page = run_program({"compare", tiny, amp, more, wide});
  CAPTURE(page.err);
  REQUIRE(page.code == 0);
  CHECK(contains(page.out, "  B: precision: fp32 -> amp\n"));
  CHECK(contains(page.out, "  D: gpus: 2 -> 8\n"));
  CHECK(contains(page.out, "\n  1. D"));
  CHECK(contains(page.out, "\n  4. A"));
  std::istringstream lines(page.out);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 100, line);
  const Ended text = run_program({"compare", tiny, amp, more, wide, "--json"});
  REQUIRE(text.code == 0);
  const Json json = Json::parse(text.out);
  CHECK(json["runs"].size() == 4);
  CHECK(json["ranking"][0] == "D");
  CHECK(json["comparisons"][1]["run"] == "C");
  const Json pair = Json::parse(run_program({"compare", tiny, more, "--json"}).out);
  CHECK(json["comparisons"][1]["figures"] == pair["figures"]);
  CHECK(json["trainyard_version"] == pair["trainyard_version"]);
}

TEST_CASE("without A the options of keys describe it, and --set makes B") {
  const Ended json = run_program({"compare", "--model", "resnet50", "--platform", "dgx2", "--gpus", "2",
                                  "--batch", "32", "--set", "gpus=4", "--json"});
  CAPTURE(json.err);
  REQUIRE(json.code == 0);
  const Json compared = Json::parse(json.out);
  CHECK(compared["a"]["ranks"] == 2);
  CHECK(compared["b"]["ranks"] == 4);
  CHECK(compared["b"]["batch_per_gpu"] == 32);
  CHECK(compared["experiment_differences"] == Json{{{"key", "gpus"}, {"a", "2"}, {"b", "4"}}});
  check_refused({"compare"}, 2, "A is required");
  check_refused({"compare", "--model", "resnet50", "--set", "gpus=4"}, 2, "--platform NAME is required");
  check_refused({"compare", "--model", "resnet50", "--platform", "dgx2"}, 2, "B: missing");
}

TEST_CASE("the value in force is read from a platform of the user's too, and heads have its file's name") {
  const Scratch scratch;
  const std::string own =
      scratch.put("own.yaml", std::regex_replace(content(TRAINYARD_SOURCE_DIR "/platforms/p3_16xlarge.yaml"),
                                                 std::regex("name: p3_16xlarge"), "name: own"));
  const auto compared = [&](const std::string& changed) {
    return run_program(
        {"compare", "--model", "resnet50", "--platform", own, "--batch", "32", "--set", changed});
  };
  const Ended slower = compared("platform.fabric.nic=10 Gbps");
  CAPTURE(slower.err);
  CHECK(contains(slower.out, "platform.fabric.nic: 25 Gbps -> 10 Gbps"));
  CHECK(contains(compared("platform=dgx2").out, "A: own.yaml"));
}

TEST_CASE("without A, B keeps the factor of --one-gpu") {
  const Ended json = run_program({"compare", "--model", "resnet50", "--platform", "dgx2", "--batch", "128",
                                  "--one-gpu", "366 samples/s", "--set", "precision=amp", "--json"});
  CAPTURE(json.err);
  REQUIRE(json.code == 0);
  // A factor of its own would give amp the rate that was measured in fp32.
  CHECK(Json::parse(json.out)["step_time"]["ratio"] < 0.5);
}

TEST_CASE("a comparison is printed as Markdown and written as a page") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const std::string file = scratch / "page.html";
  const std::vector<std::string> with_page{"compare", tiny, "--set", "gpus=4", "--markdown", "--html", file};
  const Ended markdown = run_program(with_page);
  CAPTURE(markdown.err);
  REQUIRE(markdown.code == 0);
  CHECK(contains(markdown.out, "**B "));
  CHECK(contains(markdown.out, "|  | A: 2 GPUs | B: 4 GPUs | B - A | B / A |\n| --- | ---: |"));
  CHECK(contains(markdown.out, "- gpus: 2 -> 4\n"));
  CHECK(contains(content(file), "<title>Comparison of 2 runs"));
  CHECK(run_program(with_page).code == 5);
  std::vector<std::string> forced = with_page;
  forced.emplace_back("--force");
  CHECK(run_program(forced).code == 0);
  check_refused({"compare", tiny, tiny, "--force"}, 2, "--force");
  check_refused({"compare", tiny, tiny, "--markdown", "--json"}, 2, "--markdown");
}

TEST_CASE("explanations, memory and runs are printed as Markdown, too") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const std::string file = scratch / "page.html";
  const Ended why = run_program({"explain", tiny, "--markdown", "--html", file});
  CAPTURE(why.err);
  REQUIRE(why.code == 0);
  CHECK(contains(why.out, "#### Critical path\n\n| "));
  CHECK(contains(why.out, "- step time: "));
  CHECK(contains(content(file), "<h2>Changes that help</h2>"));
  const Ended memory = run_program({"memory", tiny, "--markdown", "--html", file, "--force"});
  REQUIRE(memory.code == 0);
  CHECK(contains(memory.out, "| term | memory | share |  |\n| --- | ---: | ---: | --- |\n| parameters | "));
  CHECK(contains(content(file), "<h2>Memory by term</h2>"));
  check_refused({"memory", tiny, "--html", file}, 5, "page.html");
  const Ended run = run_program({"run", tiny, "--markdown"});
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "\n- throughput: "));
  CHECK(contains(run.out, "#### What limits it\n\n**"));
  check_refused({"run", tiny, "--markdown", "--json"}, 2, "--markdown");
}

TEST_CASE("runs with and without servers have the same parts") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const Ended ended = run_program(
      {"compare", tiny, "--set", "sync.kind=parameter_server", "--set", "sync.update=async", "--json"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const Json compared = Json::parse(ended.out);
  bool has_compute = false;
  for (const Json& part : compared["step_parts"]) {
    CHECK(part["part"] != "forward");
    if (part["part"] != "compute") continue;
    has_compute = true;
    CHECK(part["a_s"].get<double>() > 0);
    CHECK(part["b_s"].get<double>() > 0);
  }
  CHECK(has_compute);
}

TEST_CASE("--fail-above limits figures by name, and names each that is missed") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const auto compare = [&](const std::vector<std::string>& limits) {
    std::vector<std::string> arguments{"compare", tiny, "--set", "batch_per_gpu=64"};
    for (const std::string& limit : limits) arguments.insert(arguments.end(), {"--fail-above", limit});
    return run_program(arguments);
  };
  const Ended missed = compare({"step=20%", "memory=1", "throughput=0"});
  CHECK(missed.code == 1);
  CHECK(contains(missed.err, "B's step time"));
  CHECK(contains(missed.err, "B's memory per GPU"));
  CHECK(!contains(missed.err, "throughput"));
  CHECK(compare({"step_time=200%", "memory_peak_bytes=200%"}).code == 0);
  CHECK(compare({"job_time=5"}).code == 1);
  CHECK(contains(compare({"job_time=5"}).err, "job_time cannot be compared: A has no job_time_s"));
  const Ended slower =
      run_program({"compare", tiny, "--set", "stack.compute_scale=2", "--fail-above", "throughput=5"});
  CHECK(slower.code == 1);
  CHECK(contains(slower.err, "lower than A's"));
  check_refused({"compare", tiny, tiny, "--fail-above", "memori=1"}, 2, "did you mean 'memory'?");
  check_refused({"compare", tiny, tiny, "--fail-above", "step=1", "--fail-above", "2"}, 2,
                "limits step twice");
  check_refused({"compare", tiny, tiny, "--fail-above", "memory=much"}, 2, "is not a percentage");
}

TEST_CASE("comparisons that cannot be made end with the code of what is wrong") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  std::filesystem::create_directory(scratch.path() / "empty");
  const std::string text = scratch.put("text.json", "{");
  const auto ended = [](std::vector<std::string> arguments, int code, const std::string& message) {
    arguments.insert(arguments.begin(), "compare");
    check_refused(arguments, code, message);
  };
  ended({tiny}, 2, "B: ");
  ended({tiny, tiny, "--set", "gpus=4"}, 2, "--set: ");
  ended({tiny, tiny, "--fail-above", "a bit"}, 2, "is not a percentage");
  ended({scratch / "empty", "--set", "gpus=4"}, 5, "has no summary.json");
  ended({text, "--set", "gpus=4"}, 2, "is a saved run");
  ended({tiny, text}, 3, "this is not JSON");
  ended({tiny, "--set", "gqus=4"}, 3, "did you mean");
  ended({tiny, "resnet50_dgx3"}, 3, "did you mean");
  ended({tiny, "--set", "batch_per_gpu=4096"}, 4, "B (tiny): ");
  ended({tiny, scratch / "none.json"}, 5, "no such file");
}
