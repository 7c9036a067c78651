// `trainyard compare` from the outside: its three forms, and how bad comparisons end.

#include "process.hpp"

#include <nlohmann/json.hpp>

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
  CHECK(contains(set.out, "\nB is "));
  CHECK(run_program({"compare", a, b}).out == set.out);
  CHECK(run_program({"compare", scratch / "run_a", scratch / "run_b"}).out == set.out);
  CHECK(run_program({"compare", scratch / "run_a/summary.json", b}).out == set.out);

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
