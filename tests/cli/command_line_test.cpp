// Wrong command lines, help and version: exit codes 0 and 2, and what is printed where.

#include "process.hpp"

using namespace trainyard;

TEST_CASE("the version is printed on stdout") {
  const Ended ended = run_program({"--version"});
  CHECK(ended.code == 0);
  CHECK(ended.out == "trainyard 0.1.0\n");
  CHECK(ended.err.empty());
}

TEST_CASE("help is printed on stdout, for the program and for every command") {
  const Ended whole = run_program({"--help"});
  CHECK(whole.code == 0);
  CHECK(whole.err.empty());
  for (const char* command : {"run", "trace", "model", "topology", "collective", "check", "schema"}) {
    CAPTURE(command);
    CHECK(contains(whole.out, "\n  " + std::string(command) + " "));
    const Ended ended = run_program({command, "--help"});
    CHECK(ended.code == 0);
    CHECK(ended.err.empty());
    CHECK(contains(ended.out, "trainyard " + std::string(command)));
    CHECK(contains(ended.out, "Example: trainyard " + std::string(command) + " "));
  }
}

TEST_CASE("help stays within 100 columns and ends with a line break") {
  CHECK(run_program({"--help"}).out.ends_with("interrupted.\n"));
  for (const char* command : {"-h", "run", "trace", "model", "topology", "collective", "check", "schema"}) {
    std::istringstream text(run_program({command, "--help"}).out);
    for (std::string line; std::getline(text, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
    }
  }
}

TEST_CASE("a command line without a command is wrong") {
  const Ended ended = run_program({});
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "a command is missing"));
  CHECK(contains(ended.err, "'trainyard --help'"));
}

TEST_CASE("an unknown command gets a suggestion") {
  const Ended ended = run_program({"rnu", "resnet50_dgx2"});
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(ended.err ==
        "trainyard: error: unknown command 'rnu'\n  did you mean 'run'?\n  'trainyard --help' says what can "
        "be asked "
        "for\n");
}

TEST_CASE("an unknown option gets a suggestion") {
  const Ended ended = run_program({"run", "resnet50_dgx2", "--fidelty=flow"});
  CHECK(ended.code == 2);
  CHECK(ended.err ==
        "trainyard: error: unknown option '--fidelty'\n  did you mean '--fidelity'?\n  'trainyard run "
        "--help' says "
        "what can be asked for\n");
}

TEST_CASE("options of the simulation library are unknown options") {
  const Ended ended = run_program({"run", "resnet50_dgx2", "--cfg=network/model:CM02"});
  CHECK(ended.code == 2);
  CHECK(contains(ended.err, "unknown option '--cfg'"));
}

TEST_CASE("options of later versions are not accepted and ignored") {
  CHECK(run_program({"run", "resnet50_dgx2", "-j", "4"}).code == 2);
  CHECK(run_program({"sweep", "x"}).code == 2);
}

TEST_CASE("a missing or an extra argument is wrong") {
  const Ended missing = run_program({"run"});
  CHECK(missing.code == 2);
  CHECK(contains(missing.err, "EXPERIMENT is required"));
  CHECK(contains(missing.err, "'trainyard run --help'"));
  const Ended both = run_program({"run", "--experiment=x"});
  CHECK(both.code == 2);
  CHECK(contains(both.err, "unknown option '--experiment'"));
  const Ended extra = run_program({"topology", "dgx2", "dgx1v"});
  CHECK(extra.code == 2);
  CHECK(contains(extra.err, "unexpected argument 'dgx1v'"));
  CHECK(run_program({"trace", "resnet50_dgx2"}).code == 2);
  CHECK(run_program({"collective", "all_reduce"}).code == 2);
}

TEST_CASE("numbers and sizes are read strictly") {
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const Ended ended = run_program(arguments);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(contains(error_of({"model", "resnet50", "--batch", "x"}), "--batch: 'x' is not a whole number"));
  CHECK(
      contains(error_of({"model", "resnet50", "--batch", "0x10"}), "--batch: '0x10' is not a whole number"));
  CHECK(contains(error_of({"model", "resnet50", "--batch", "0"}), "--batch: '0' is not at least 1"));
  const std::vector<std::string> collective{"collective", "all_reduce", "--platform", "dgx2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), collective.begin(), collective.end());
    return more;
  };
  CHECK(contains(error_of(with({"-b", "1Q"})), "-b: '1Q' is not a size like 8, 64K, 1M or 2G"));
  CHECK(contains(error_of(with({"-b", "2"})), "-b: '2' is not at least 4 bytes"));
  CHECK(contains(error_of(with({"-b", "2M", "-e", "1M"})), "-e: '1M' is less than -b"));
  CHECK(contains(error_of(with({"-f", "1"})), "-f: '1' is not at least 2"));
  CHECK(contains(error_of(with({"-i", "0"})), "-i: '0' is not at least 4 bytes"));
  CHECK(contains(error_of(with({"-i", "4"})), "-i: '4' makes more than 10000 sizes"));
  CHECK(contains(error_of(with({"-i", "1M", "-f", "2"})), "excludes"));
  CHECK(contains(error_of(with({"--gpus", "1.5"})), "--gpus: '1.5' is not a whole number"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "nodes"}), "--set: 'nodes' is not KEY=VALUE"));
}
