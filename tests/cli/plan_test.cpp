// `trainyard plan` from the outside: the best plan is what `run` says of it, a search goes on where it ended,
// and how bad requests end.

#include "process.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

using Words = std::vector<std::string>;

/// A small GPT on two nodes, whose space is small too.
Words small_plan(const Words& more = {}) {
  Words words{"plan",           "gpt2_small",
              "--on",           "dgx1v",
              "--stack",        "megatron_lm",
              "--gpus",         "16",
              "--global-batch", "64",
              "--over",         "batch_per_gpu=1,4",
              "--over",         "parallelism.virtual_stages=1",
              "--over",         "parallelism.recompute=none"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json plan_json(const Words& more = {}) {
  Words words = small_plan(more);
  words.emplace_back("--json");
  const Ended ended = run_program(words);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

}  // namespace

TEST_CASE("the command of a plan, and its experiment, give the step that the plan says") {
  const Scratch scratch;
  const Json plan = plan_json({"--out", scratch / "p"});
  const Json& best = plan["best"];
  const auto step_of = [](const Words& words) { return Json::parse(run_program(words).out)["step_time_s"]; };
  CHECK(step_of({"run", scratch / "p/best.yaml", "--json"}) == best["step_time_s"]);
  Words words{"run", "--json"};
  for (const auto& [key, value] : best["keys"].items()) {
    words.emplace_back("--set");
    words.push_back(key + "=" + value.get<std::string>());
  }
  for (const char* const word :
       {"platform=dgx1v", "model=gpt2_small", "stack=megatron_lm", "precision=fp16"}) {
    words.emplace_back("--set");
    words.emplace_back(word);
  }
  CHECK(step_of(words) == best["step_time_s"]);
  CHECK(contains(plan["command"].get<std::string>(), "trainyard run --platform dgx1v --model gpt2_small"));
  CHECK(best["bound_s"].get<double>() <= best["step_time_s"].get<double>());
  for (const Json& other : plan["others"]) CHECK(other["step_time_s"] >= best["step_time_s"]);
  double longer = 0;
  for (const auto& [part, time] : plan["others"][0]["longer_by"].items()) longer += time.get<double>();
  CHECK(longer ==
        doctest::Approx(plan["others"][0]["step_time_s"].get<double>() - best["step_time_s"].get<double>()));
  for (const char* const file : {"p/plan.txt", "p/plan.json", "p/plan.csv", "p/plan.html"})
    CHECK(std::filesystem::file_size(scratch / file) > 0);
}

TEST_CASE("a plan is on the stack that run takes, on GPUs of today and before") {
  for (const char* const platform : {"dgx1v", "dgx_h100"}) {
    CAPTURE(platform);
    const Ended plan =
        run_program({"plan", "gpt2_small", "--on", platform, "--gpus", "2", "--global-batch", "8", "--over",
                     "batch_per_gpu=4", "--over", "parallelism.recompute=none", "--json", "--quick"});
    CAPTURE(plan.err);
    REQUIRE(plan.code == 0);
    const Json run = Json::parse(run_program({"run", "--model", "gpt2_small", "--platform", platform,
                                              "--gpus", "2", "--batch", "4", "--json"})
                                     .out);
    const auto stack = run["resolved_experiment"]["stack"].get<std::string>();
    CHECK(contains(Json::parse(plan.out)["command"].get<std::string>(), "--stack " + stack));
  }
}

TEST_CASE("a plan is printed as Markdown") {
  const Ended plan = run_program(small_plan({"--quick", "--markdown"}));
  CHECK(plan.code == 0);
  CHECK(plan.out.starts_with("### "));
  CHECK(contains(plan.out, "| --- |"));
  CHECK(run_program(small_plan({"--markdown", "--json"})).code == 2);
}

TEST_CASE("a plan for the least energy has its map and its next best in joules, and bounds below them") {
  const Json plan = plan_json({"--goal", "energy", "--quick"});
  const double best = plan["best"]["energy_per_step_j"];
  for (const Json& cell : plan["layouts"]) {
    if (cell["point"] == plan["best"]["point"]) CHECK(cell["energy_per_step_j"] == best);
    for (const char* const name : {"energy_per_step_j", "bound_j"})
      CHECK((cell[name].is_null() || cell[name] >= 0.95 * best));  // --quick: a gap of 5 %
  }
  for (const Json& other : plan["others"])
    CHECK(other["excess"].get<double>() ==
          doctest::Approx(other["energy_per_step_j"].get<double>() / best - 1));
  const std::string text = run_program(small_plan({"--goal", "energy", "--quick"})).out;
  CHECK(contains(text, "energy per step by tensor ranks and stages"));
  CHECK(contains(text, "energy is average power times step"));
}

TEST_CASE("a plan says what became of every layout") {
  const Json plan = plan_json();
  for (const Json& group : plan["groups"]) {
    long long impossible = 0;
    for (const auto& [reason, number] : group["impossible"].items()) impossible += number.get<long long>();
    CHECK(group["layouts"].get<long long>() == group["too_large"].get<long long>() + impossible +
                                                   group["simulated"].get<long long>() +
                                                   group["bounded"].get<long long>());
    CHECK(group["gap"] == 0);
  }
  const Ended text = run_program(small_plan());
  CHECK(contains(text.out, "the fastest plan  gpt2_small on dgx1v"));
  CHECK(contains(text.out, "the best of the space"));
}

TEST_CASE("the same plan has the same bytes, whatever the number of processes, also continued") {
  const Scratch scratch;
  const std::string whole = run_program(small_plan({"-j", "1", "--out", scratch / "a"})).out;
  CHECK(run_program(small_plan({"-j", "3"})).out == whole);
  CHECK(run_program(small_plan({"--out", scratch / "a"})).code == 5);
  const auto files = [&] { return content(scratch / "a/plan.html") + content(scratch / "a/plan.json"); };
  const std::string before = files();
  CHECK(run_program(small_plan({"--out", scratch / "a", "--resume"})).out == whole);
  CHECK(files() == before);
}

TEST_CASE("a plan for a quantile has the same bytes whatever the number of processes, also continued") {
  const Scratch scratch;
  const Words robust{"--quantile", "0.9", "--draws", "500", "--quick"};
  const auto words = [&](Words more) {
    more.insert(more.end(), robust.begin(), robust.end());
    return small_plan(more);
  };
  const std::string whole = run_program(words({"-j", "1", "--out", scratch / "a"})).out;
  CHECK(contains(whole, "in 90 % of 500 draws a step takes at most that"));
  const auto files = [&] { return content(scratch / "a/plan.html") + content(scratch / "a/plan.json"); };
  const std::string before = files();
  CHECK(run_program(words({"-j", "2", "--out", scratch / "a", "--resume"})).out == whole);
  CHECK(files() == before);
  CHECK(run_program(words({"-j", "2"})).out == whole);
  const Json plan = Json::parse(content(scratch / "a/plan.json"));
  CHECK(plan["robustness"]["draws"] == 500);
  CHECK(plan["robustness"]["nominal_best"].is_number());
  for (const Json& other : plan["others"])
    CHECK(other["quantile_step_time_s"] >= plan["best"]["quantile_step_time_s"]);
  CHECK(contains(content(scratch / "a/plan.csv"), ",quantile_step_time_s"));
  CHECK(contains(before, "0.9 quantile of the step time by tensor"));
}

TEST_CASE("a plan whose layouts cannot be judged in its time ends without an answer") {
  const Ended ended = run_program({"plan", "gpt2_xl", "--on", "dgx_a100", "--gpus", "1048576",
                                   "--global-batch", "1048576", "-j", "1", "--max-time", "1s"});
  CHECK(ended.code == 4);
  CHECK(contains(ended.err, "stopped after --max-time 1 s"));
  CHECK(ended.out.empty());
}

TEST_CASE("requests that cannot be answered are refused with what is missing") {
  check_refused({"plan", "gpt2_small", "--on", "dgx1v"}, 3, "--global-batch");
  check_refused(small_plan({"--goal", "beauty"}), 3, "unknown goal of a plan 'beauty'");
  check_refused(small_plan({"--over", "parallelism.tensor=many"}), 3, "parallelism.tensor is 'many'");
  check_refused(small_plan({"--set", "parallelism.unequal_stages=false"}), 3, "a plan gives");
  check_refused(small_plan({"--over", "parallelism.unequal_stages=true,false"}), 3, "a plan gives");
  check_refused(small_plan({"--deadline", "1 h"}), 3, "length of the training");
  check_refused(small_plan({"--goal", "time-to-target"}), 3, "no target is given");
  check_refused(small_plan({"--quantile", "1"}), 3, "quantile");
  check_refused(small_plan({"--quantile", "0.9", "--draws", "3"}), 3, "draws");
  check_refused({"plan", "alexnet", "--on", "dgx1v", "--global-batch", "64", "--quantile", "0.9", "--over",
                 "parallelism.shard=optimizer", "--set", "random.gpus=none"},
                3, "something that varies");
  check_refused({"plan", "gpt2_small", "--on", "dlperf", "--global-batch", "64", "--goal", "cost"}, 3,
                "states no price per hour");
  check_refused({"plan", "no_such_model", "--on", "dgx1v", "--global-batch", "8"}, 3, "no_such_model");
  check_refused({"plan", "resnet50_p2_16xlarge_async", "--global-batch", "64"}, 3, "cannot share a model");
}

TEST_CASE("a model without a machine, and other names in the wrong place, are told what a plan takes") {
  for (const Words& more : {Words{}, Words{"--gpus", "8", "--global-batch", "32"}}) {
    Words words{"plan", "llama3_8b"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run_program(words);
    CHECK(ended.code == 3);
    CHECK(contains(ended.err, "--on "));
    CHECK(contains(ended.err, "--global-batch") == more.empty());
    CHECK(!contains(ended.err, "--model"));
    CHECK(!contains(ended.err, "--platform"));
  }
  check_refused({"plan", "dgx2"}, 3, "--on dgx2");
  check_refused({"plan", "resnet50_dgx2", "--on", "dgx2", "--global-batch", "64"}, 3,
                "trainyard plan resnet50_dgx2");
}

TEST_CASE("prices are called assumed until the user gives one, and the answer turns where the plan says") {
  const auto plan = [](const Words& more) {
    Words words{"plan",           "gpt2_small",
                "--on",           "dgx1v",
                "--gpus",         "8",
                "--global-batch", "64",
                "--goal",         "cost",
                "--over",         "batch_per_gpu=1,4",
                "--over",         "platform=dgx1v,dgx_a100",
                "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run_program(words);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out);
  };
  const auto machine = [](const Json& its) { return its["best"]["keys"]["platform"].get<std::string>(); };
  const Json own = plan({});
  CHECK(own["best"]["assumed_rent_usd_per_h"] == own["best"]["rent_usd_per_h"]);
  const Json& turn = own["price_turn"];
  const auto price_of_best = [&](double factor) {
    return machine(own) + "=" + std::to_string(factor * turn["best_dearer_above_usd_per_h"].get<double>()) +
           " USD";
  };
  const Json below = plan({"--price", price_of_best(0.99)});
  CHECK(machine(below) == machine(own));
  CHECK(below["best"]["assumed_rent_usd_per_h"].is_null());
  CHECK(contains(below["command"].get<std::string>(), "platform.node.price.hour="));
  CHECK(machine(plan({"--price", price_of_best(1.01)})) != machine(own));
  const Words words = small_plan({"--goal", "cost"});
  CHECK(contains(run_program(words).out, "assumed"));
  check_refused(small_plan({"--price", "dgx2=30 USD"}), 3, "dgx2");
  check_refused(small_plan({"--price", "gpu=30 USD"}), 3, "'gpu'");  // no other word for a key here
  check_refused(small_plan({"--price", "dgx1v"}), 2, "--price: 'dgx1v' is not PLATFORM=USD");
  check_refused(small_plan({"--price", "dgx1v="}), 2, "--price");
  check_refused(small_plan({"--over", "foo"}), 2, "--over: 'foo'");
  CHECK(run_program(small_plan({"--price", "DGX-1V=30 USD", "--quick"})).code == 0);
  check_refused(small_plan({"--price", "dgx1v=30 USD", "--set", "platform.node.price.hour=20 USD"}), 3,
                "platform.node.price.hour");
}

TEST_CASE("an experiment says in its block plan what is asked for, and the command line may say otherwise") {
  const Scratch scratch;
  const std::string file =
      scratch.put("job.yaml",
                  "platform: dgx1v\nmodel: gpt2_small\nstack: megatron_lm\nprecision: fp16\n"
                  "batch_per_gpu: 1\noptimizer: adam\nplan:\n  gpus: 8\n  global_batch: 32\n"
                  "  over: {batch_per_gpu: [4], parallelism.pipeline: [1]}\n");
  const auto plan = [&](const Words& more) {
    Words words{"plan", file, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(run_program(words).out);
  };
  const Json own = plan({});
  CHECK(own["best"]["keys"]["gpus"] == "8");
  CHECK(own["best"]["keys"]["batch_per_gpu"] == "4");
  CHECK(plan({"--gpus", "4"})["best"]["keys"]["gpus"] == "4");
  CHECK(run_program({"run", file}).code == 0);  // which does not read it
}
