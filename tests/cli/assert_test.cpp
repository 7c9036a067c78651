// run --assert: conditions on figures, for continuous integration; and the limit of run --verify.

#include "cli/commands.hpp"
#include "commands/assertion.hpp"
#include "process.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Ended asserted(const std::vector<std::string>& conditions) {
  std::vector<std::string> words{"run", "resnet50_dgx2"};
  for (const std::string& condition : conditions) words.insert(words.end(), {"--assert", condition});
  return run_program(words);
}

}  // namespace

TEST_CASE("conditions that hold change nothing, one that does not ends with 1 after the result") {
  const Ended plain = run_program({"run", "resnet50_dgx2"});
  const Ended held =
      asserted({"step_time < 10 s", "step < 10 s", "step_time_s>1 us", "scaling_efficiency >= 50 %",
                "memory_peak <= 32 GiB", "throughput > 10 samples/s", "ranks >= 16", "speedup < 16.1 x"});
  CHECK(held.code == 0);
  CHECK(held.out == plain.out);
  const Ended missed = asserted({"step_time < 1 ms", "ranks > 16", "ranks >= 16"});
  CHECK(missed.code == 1);
  CHECK(missed.out == plain.out);
  CHECK(has(missed.err, "'step_time < 1 ms' does not hold: step_time_s is "));
  CHECK(has(missed.err, "'ranks > 16' does not hold: ranks is 16"));
  CHECK(!has(missed.err, ">= 16"));
}

TEST_CASE("a figure that this run does not have holds nothing") {
  const Ended ended = asserted({"staleness_mean < 100"});
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "staleness_mean has no value"));
}

TEST_CASE("wrong conditions are wrong command lines, found before anything is simulated") {
  for (const char* const wrong : {"step_time", "steptime < 1 s", "step_time < 1", "step_time < 1 GB",
                                  "ranks < 10 %", "ranks < x", "platform < 1"}) {
    CAPTURE(wrong);
    const Ended ended = asserted({wrong});
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
  }
  CHECK(has(asserted({"step_tme < 1 s"}).err, "did you mean 'step_time'?"));
}

TEST_CASE(
    "a verification beyond its limit misses it, as exit code 1; at the limit, or unknown, it does not") {
  Verification verified;
  verified.difference = 2e-9;
  verified.where = "end of bucket 3";
  verified.limit = 1e-9;
  CHECK_THROWS_WITH_AS(require_within(verified), doctest::Contains("end of bucket 3"), LimitMissed);
  verified.limit = verified.difference;
  CHECK_NOTHROW(require_within(verified));
  CHECK_NOTHROW(require_within(unknown("nothing is sent")));
}

TEST_CASE(
    "--verify goes with --out, --markdown and --set, with a saved experiment, and where nothing is sent") {
  const Scratch scratch;
  const std::string out = scratch / "out";
  REQUIRE(run_program({"run", "resnet50_ts4", "--gpus", "2", "--verify", "--out", out}).code == 0);
  CHECK(has(content(out + "/report.html"), "message by message on SimGrid"));
  CHECK(has(content(out + "/summary.json"), "\"largest_difference\""));
  const Ended again = run_program(
      {"run", out + "/experiment.resolved.yaml", "--verify", "--markdown", "--set", "batch_per_gpu=16"});
  CHECK(again.code == 0);
  CHECK(has(again.out, "- verified: message by message on SimGrid (2 ranks"));
  const Ended alone = run_program({"run", "resnet50_ts4", "--gpus", "1", "--verify"});
  CHECK(alone.code == 0);
  CHECK(has(alone.out, "--verify compared nothing"));
}
