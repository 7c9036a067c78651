// Wrong command lines, help and version: exit codes 0 and 2, and what is printed where. What can come next on
// a line that is being typed.

#include "cli/complete.hpp"
#include "cli/help.hpp"
#include "commands/commands.hpp"
#include "convert/commands.hpp"
#include "lab/commands.hpp"
#include "process.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <csignal>
#include <span>
#include <sys/stat.h>

using namespace trainyard;

TEST_CASE("the version is printed on stdout") {
  const Ended ended = run_program({"--version"});
  CHECK(ended.code == 0);
  CHECK(ended.out == "trainyard 0.2.0\n");
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
    CHECK(contains(ended.out, "Examples:\n  trainyard " + std::string(command)));
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

TEST_CASE("no control character of an argument reaches the terminal") {
  for (const char* word : {"r\x1b[31mun",
                           "r\xC2\x9B"
                           "31mun"}) {
    for (const Ended& ended : {run_program({word}), run_program({"check", word}), run_program({"run", word}),
                               run_program({"run", "resnet50_dgx2", "--set", word}),
                               run_program({"topology", "dgx2", std::string("--") + word})}) {
      CHECK(ended.code != 0);
      CHECK_FALSE(contains(ended.err, "\x1b"));
      CHECK_FALSE(contains(ended.err, "\xC2\x9B"));
    }
  }
}

TEST_CASE("an unknown command gets a suggestion") {
  const Ended ended = run_program({"rnu", "resnet50_dgx2"});
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "unknown command 'rnu'"));
  CHECK(contains(ended.err, "did you mean 'run'?"));
  CHECK(contains(ended.err, "'trainyard --help'"));
}

TEST_CASE("an unknown option gets a suggestion") {
  const Ended ended = run_program({"run", "resnet50_dgx2", "--fidelty=flow"});
  CHECK(ended.code == 2);
  CHECK(contains(ended.err, "unknown option '--fidelty'"));
  CHECK(contains(ended.err, "did you mean '--fidelity'?"));
  CHECK(contains(ended.err, "'trainyard run --help'"));
}

TEST_CASE("options of the simulation library are unknown options") {
  const Ended ended = run_program({"run", "resnet50_dgx2", "--cfg=network/model:CM02"});
  CHECK(ended.code == 2);
  CHECK(contains(ended.err, "unknown option '--cfg'"));
}

TEST_CASE("options of later versions are not accepted and ignored") {
  CHECK(run_program({"run", "resnet50_dgx2", "-j", "4"}).code == 2);
  CHECK(run_program({"optimize", "x"}).code == 2);
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
  CHECK(contains(error_of({"model", "resnet50", "--batch", "0"}), "--batch: must be at least 1, not '0'"));
  const std::vector<std::string> collective{"collective", "all_reduce", "--platform", "dgx2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), collective.begin(), collective.end());
    return more;
  };
  CHECK(contains(error_of(with({"-b", "1Q"})), "-b: '1Q' is not a size like 8, 64K, 1M or 2G"));
  CHECK(contains(error_of(with({"-b", "2"})), "-b: '2' is not at least 4 bytes"));
  CHECK(contains(error_of(with({"-b", "2M", "-e", "1M"})), "-e: '1M' is less than -b"));
  CHECK(contains(error_of(with({"-f", "1"})), "-f: must be at least 2, not '1'"));
  CHECK(
      contains(error_of({"explain", "resnet50_dgx2", "--jobs", "0"}), "--jobs: must be at least 1, not '0'"));
  CHECK(contains(error_of(with({"-i", "0"})), "-i: '0' is not at least 4 bytes"));
  CHECK(contains(error_of(with({"-i", "4"})), "-i: '4' makes more than 10000 sizes"));
  CHECK(contains(error_of(with({"-i", "1M", "-f", "2"})), "excludes"));
  CHECK(contains(error_of(with({"--gpus", "1.5"})), "--gpus: '1.5' is not a whole number"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "nodes"}), "--set: 'nodes' is not KEY=VALUE"));
}

namespace {

/// The commands of the three programs, as users see them.
void add_all(CLI::App& app) {
  std::vector<Command> commands;
  for (Command command : all_commands()) {
    for (const std::span<const Command> others : {convert_commands(), lab_commands()}) {
      const auto same = std::ranges::find(others, command.name, &Command::name);
      if (same != others.end() && command.name != "init") command = *same;
    }
    commands.push_back(command);
  }
  add_commands(app, commands);
  CLI::App& init = *app.get_subcommand("init");
  init.remove_subcommand(init.get_subcommand("platform"));
  add_init_platform(init);
}

/// The program with all its commands. Parsing a right command line ends with CLI::Success instead of running
/// it.
struct IdleProgram {
  CLI::App app;
  IdleProgram() {
    add_all(app);
    app.parse_complete_callback([] { throw CLI::Success(); });
  }
};

/// The words behind the program's name, the last first, as CLI11 takes them. Up to a redirection.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words{""};
  bool is_quoted = false;
  for (const char c : line.substr(0, line.find_first_of(">|"))) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c != ' ' || is_quoted) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  words.erase(words.begin());
  std::ranges::reverse(words);
  return words;
}

/// Calls `use` with each command and its name, "calibrate gpu".
template <class Use>
void for_each_command(const CLI::App& parent, const std::string& before, const Use& use) {
  for (const CLI::App* command : commands_of(parent)) {
    const std::string name = before + command->get_name();
    use(*command, name);
    for_each_command(*command, name + ' ', use);
  }
}

std::vector<std::string> completion_of(const std::vector<std::string>& words) {
  CLI::App program;
  add_all(program);
  std::istringstream text(completions(program, words));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line.substr(0, line.find('\t')));
  return lines;
}

using Lines = std::vector<std::string>;

bool has_line(const Lines& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

}  // namespace

TEST_CASE("every command has a description and two examples, and they are right command lines") {
  const IdleProgram program;
  for_each_command(program.app, "", [](const CLI::App& command, const std::string& name) {
    CAPTURE(name);
    CHECK(!command.get_description().empty());
    const std::vector<std::string> examples = examples_of(command);
    CHECK(examples.size() >= 2);
    for (const std::string& example : examples) {
      CAPTURE(example);
      CHECK(example.size() <= 96);
      CHECK(example.starts_with("trainyard " + name));
      IdleProgram reader;
      CHECK_THROWS_AS(reader.app.parse(words_of(example)), CLI::Success);
    }
  });
}

TEST_CASE("the manual page has every command, option, example and exit code") {
  const std::string page = run_program({"manual"}).out;
  std::string plain;
  for (const char c : page) plain += c == '\\' ? "" : std::string(1, c);
  CHECK(std::ranges::all_of(page, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  const IdleProgram program;
  for_each_command(program.app, "", [&](const CLI::App& command, const std::string& name) {
    CAPTURE(name);
    CHECK(contains(plain, "\n.SS \"trainyard " + name));
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& word : option->get_lnames()) CHECK(contains(plain, "--" + word));
    }
    CHECK(contains(plain, "\n    trainyard " + name));
  });
  CHECK(contains(page, ".B \"130\"\ninterrupted\n"));
  CHECK(contains(page, ".B \"TRAINYARD_DATA\"\n"));
}

TEST_CASE("completion offers commands, then options that still fit") {
  CHECK(completion_of({"ru"}) == Lines{"none", "run"});
  CHECK(completion_of({"calibrate", "st"}) == Lines{"none", "stack"});
  CHECK(completion_of({"run", "x", "--fid"}) == Lines{"none", "--fidelity"});
  CHECK(has_line(completion_of({"run", "x", "--set", "a=b", "--s"}), "--set"));
  CHECK_FALSE(has_line(completion_of({"run", "x", "--json", "-"}), "--json"));
  CHECK_FALSE(has_line(completion_of({"collective", "all_reduce", "-i", "1M", "-"}), "--stepfactor"));
  CHECK(has_line(completion_of({"model", "x", ""}), "--batch"));
  CHECK(completion_of({"no_such_command", "x", "ru"}) == Lines{"none"});
}

TEST_CASE("completion offers the values of options and arguments") {
  CHECK(completion_of({"run", "x", "--fidelity", ""}) ==
        Lines{"none", "closed", "flow", "rounds", "messages"});
  CHECK(completion_of({"run", "--fidelity=fl"}) == Lines{"none", "--fidelity=flow"});
  CHECK(completion_of({"run", "--fidelity", "=", "fl"}) == Lines{"none", "flow"});
  CHECK(completion_of({"run", "--fidelity", "="}) == Lines{"none", "closed", "flow", "rounds", "messages"});
  CHECK(completion_of({"schema", "exp"}) == Lines{"none", "experiment"});
  CHECK(completion_of({"completion", ""}) == Lines{"none", "bash", "zsh", "fish"});
  CHECK(completion_of({"run", "x", "--set", "nod"}) == Lines{"none", "nodes="});
  CHECK(completion_of({"run", "x", "--out", ""}) == Lines{"folders"});
  CHECK(completion_of({"trace", "x", "-o", ""}) == Lines{"files"});
  CHECK(completion_of({"check", "a.yaml", "b"}) == Lines{"files"});
}

TEST_CASE("completion offers the names of the files shipped, and paths where no name fits") {
  const auto lines = [](const std::string& argument, const std::string& typed) {
    return run_program({"__complete", argument, typed}).out;
  };
  CHECK(lines("run", "resnet50_dl") == "none\nresnet50_dlperf\n");
  CHECK(lines("run", "./resnet50_dl") == "files\n");
  CHECK(lines("topology", "my_") == "files\n");
  CHECK(lines("model", "bert_b") == "none\nbert_base\nbert_base_squad\n");
}

TEST_CASE("asserts are on in this build") {
#ifdef NDEBUG
  FAIL("NDEBUG is defined");
#endif
}

TEST_CASE("a program that a failed assert aborts ends with 70 and asks for a report") {
  const Scratch scratch;
  const std::string pipe = scratch / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  Process process({"schema", "experiment"}, pipe);  // more than a pipe holds: it waits for its reader
  const int reader = ::open(pipe.c_str(), O_RDONLY);
  char first = 0;
  REQUIRE(::read(reader, &first, 1) == 1);
  process.send(SIGABRT);
  const Ended ended = process.wait();
  ::close(reader);
  CHECK(ended.code == 70);
  CHECK(has(ended.err, "this is a bug in trainyard"));
}
