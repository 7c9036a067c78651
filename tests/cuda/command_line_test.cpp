#include "cuda/command_line.hpp"

#include <doctest/doctest.h>

using namespace trainyard::cuda;

TEST_CASE("two files are enough") {
  const CommandLine line = parse_command_line({"plan.csv", "recording.csv"});
  CHECK(line.plan == "plan.csv");
  CHECK(line.recording == "recording.csv");
  CHECK(line.seconds == 520);
  CHECK(line.device == 0);
  CHECK(line.left_out.empty());
}

TEST_CASE("options may stand anywhere and take their value in two ways") {
  const CommandLine line = parse_command_line(
      {"--seconds", "60", "plan.csv", "--device=1", "recording.csv", "--skip", "3,5", "--skip=9"});
  CHECK(line.seconds == 60);
  CHECK(line.device == 1);
  CHECK(line.left_out == std::set<int>{3, 5, 9});
  CHECK(parse_command_line({"plan.csv", "--help"}).help);
}

TEST_CASE("a wrong command line says what is wrong") {
  CHECK_THROWS_WITH_AS((void)parse_command_line({"plan.csv"}),
                       "it takes two files, PLAN and RECORDING, not 1", UsageError);
  CHECK_THROWS_WITH_AS((void)parse_command_line({"a", "b", "--quick"}), "unknown option '--quick'",
                       UsageError);
  CHECK_THROWS_WITH_AS((void)parse_command_line({"a", "b", "--seconds"}), "--seconds needs a value",
                       UsageError);
  CHECK_THROWS_WITH_AS((void)parse_command_line({"a", "b", "--seconds=0"}),
                       "--seconds needs a number above 0, not '0'", UsageError);
  CHECK_THROWS_WITH_AS((void)parse_command_line({"a", "b", "--device", "x"}),
                       "--device needs a whole number of at least 0, not 'x'", UsageError);
  CHECK_THROWS_WITH_AS((void)parse_command_line({"a", "b", "--skip", "3,"}),
                       "--skip needs a whole number of at least 1, not ''", UsageError);
}

TEST_CASE("help names every op") {
  for (const char* op : {"gemm", "conv_wgrad", "embedding", "all_reduce", "power"}) {
    CHECK(help_text().find(op) != std::string::npos);
  }
}
