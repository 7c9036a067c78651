// --max-time and --max-memory from the outside.
#include "process.hpp"
#include "sanitized.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("ops that the memory does not hold, and steps that never end, are not begun") {
  const Ended large =
      run_program({"run", "resnet50_dgx2", "--set", "accumulation=65536", "--max-memory", "8GB"});
  CHECK(large.code == 4);
  CHECK(large.out.empty());
  CHECK(has(large.err, "not begun: "));
  CHECK(has(large.err, "--max-memory 8 GB"));
  const Ended endless =
      run_program({"run", "resnet50_dgx2", "--set", "random.step.kind=log_normal", "--set",
                   "random.step.sd=0.1", "--set", "steps.measured=10000000", "--set", "steps.repeats=1000"});
  CHECK(endless.code == 4);
  CHECK(has(endless.err, "more than a week"));
  CHECK(has(endless.err, "steps.measured"));
}

TEST_CASE("a command that exceeds a limit ends") {
  const Ended slow = run_program({"run", "gpt3_175b_dgx_a100", "--fidelity", "closed", "--set",
                                  "accumulation=3072", "--max-time", "1ms"});
  CHECK(slow.code == 4);
  CHECK(slow.err == "trainyard: error: stopped after --max-time 1 ms\n");
  const Ended messages = run_program({"collective", "all_reduce", "--platform", "dgx2", "--nodes", "64",
                                      "--fidelity", "messages", "--max-time", "300ms"});
  CHECK(messages.code == 4);
  CHECK(has(messages.err, "stopped after --max-time 300 ms"));
  CHECK(run_program({"validate", "-j", "1", "--max-time", "100ms"}).code == 4);
  const Ended large = run_program({"run", "resnet50_dgx2", "--max-memory", "1MB"});
  CHECK(large.code == 4);
  CHECK(large.err == "trainyard: error: stopped at --max-memory 1 MB\n");
}

TEST_CASE("every command that lists ops or writes bars knows what memory they take") {
  const Scratch scratch;
  const auto refused = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--max-memory", "4 GB"});
    const Ended ended = run_program(words);
    CAPTURE(ended.err);
    CHECK(ended.code == 4);
    CHECK(has(ended.err, "not begun: "));
    CHECK(has(ended.err, "--max-memory 4 GB"));
  };
  const std::vector<std::string> many{"resnet50_dgx2", "--set", "accumulation=65536"};
  refused({"memory"}, many);
  refused({"trace", "-o", scratch / "trace.csv"}, many);
  refused({"export", "hta", "-o", scratch / "hta"}, many);
  // 16 ranks of some 400 thousand ops are 6 million bars of trace.json.
  refused({"run", "--out", scratch / "bars"}, {"resnet50_dgx2", "--set", "accumulation=1024"});
  CHECK(run_program({"validate-trace", scratch / "none.json", "--max-time", "soon"}).code == 2);
}

TEST_CASE("memory and trace list ops but simulate none, which takes a tenth of the memory") {
  const std::vector<std::string> many{"memory",           "resnet50_dgx2", "--set",
                                      "accumulation=512", "--max-memory",  "200MB"};
  if (!testing::is_sanitized) CHECK(run_program(many).code == 0);
  CHECK(run_program({"run", "resnet50_dgx2", "--set", "accumulation=512", "--max-memory", "200MB"}).code ==
        4);
}

TEST_CASE("limits that are not exceeded change nothing, and wrong ones are refused") {
  const std::vector<std::string> run{"run", "resnet50_dgx2"};
  const Ended limited = run_program({"run", "resnet50_dgx2", "--max-time", "1 h", "--max-memory", "8 GB"});
  CHECK(limited.code == 0);
  CHECK(limited.err.empty());
  CHECK(limited.out == run_program(run).out);
  for (const char* const text : {"10", "-1 s", "0 s", "soon"}) {
    CAPTURE(text);
    CHECK(run_program({"run", "resnet50_dgx2", "--max-time", text}).code == 2);
  }
}

TEST_CASE("a point beyond a limit is a failure that --resume tries again") {
  const Scratch scratch;
  const std::vector<std::string> sweep{"sweep", "resnet50_dgx2", "--set", "accumulation=1,512",
                                       "--out", scratch / "out", "-j",    "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), sweep.begin(), sweep.end());
    return run_program(words);
  };
  CHECK(with({"--max-memory", "500MB"}).code == 4);
  const std::string failures = content(scratch / "out/failures.csv");
  CHECK(has(failures, "512,4,"));
  CHECK(has(failures, "not begun: "));
  CHECK_FALSE(has(content(scratch / "out/sweep.csv"), "1,512,"));
  if (testing::is_sanitized) return;
  CHECK(with({"--resume"}).code == 0);
  CHECK(has(content(scratch / "out/sweep.csv"), "1,512,"));
}
