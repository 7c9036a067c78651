// Commands of the other programs: `trainyard` starts them from its own folder, as git does.

#include "cli/other_commands.hpp"

#include "convert/commands.hpp"
#include "lab/commands.hpp"
#include "process.hpp"

#include <algorithm>
#include <csignal>

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

/// `trainyard` alone in a folder of its own, and a stand-in for trainyard-lab beside it if a script is given.
class Alone {
public:
  explicit Alone(const std::string& script = {}) {
    fs::create_directories(scratch_.path() / "bin");
    link_program(tested_program(), scratch_ / "bin");
    installation_.program = scratch_ / "bin/trainyard";
    if (script.empty()) return;
    fs::permissions(scratch_.put("bin/trainyard-lab", "#!/bin/sh\n" + script), fs::perms::owner_all);
  }

  [[nodiscard]] Process started(const std::vector<std::string>& arguments) const {
    return Process(arguments, {}, installation_);
  }
  [[nodiscard]] Ended run(const std::vector<std::string>& arguments) const {
    return started(arguments).wait();
  }
  /// A line of a shell, in the folder above bin/.
  [[nodiscard]] Ended shell(const std::string& line) const {
    const std::string from = "cd '" + scratch_.path().string() + "' && " + line;
    return Process({"-c", from}, {}, {.program = "/bin/sh"}).wait();
  }
  [[nodiscard]] const fs::path& folder() const { return scratch_.path(); }

private:
  Scratch scratch_;
  Installation installation_;
};

constexpr const char* echo = "echo \"$0: $@\"\n";

}  // namespace

TEST_CASE("every command of another program is one of that program") {
  for (const OtherCommand& command : other_commands) {
    CAPTURE(command.words);
    const auto commands = command.program == "trainyard-lab" ? lab_commands() : convert_commands();
    const std::string_view first = command.words.substr(0, command.words.find(' '));
    CHECK(std::ranges::find(commands, first, &Command::name) != commands.end());
  }
}

TEST_CASE("a missing program is an error that names its file; what needs no other program works") {
  const Alone alone;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"validate"},
                                                {"import", "kineto", "x.json"},
                                                {"init", "platform"},
                                                {"manual"}}) {
    const Ended ended = alone.run(words);
    CAPTURE(ended.err);
    CHECK(ended.code == 5);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, "No such file or directory"));
    CHECK(contains(ended.err, (alone.folder() / "bin/trainyard-").string()));
    CHECK(contains(ended.err, "install or build all programs"));
  }
  CHECK(contains(alone.run({"--help"}).out, "\n  validate "));
  CHECK(contains(alone.run({"init", "--help"}).out, "\n  platform "));
  CHECK(alone.run({"list", "stacks"}).code == 0);
}

TEST_CASE("a link to trainyard in place of the other program is refused, and does not start itself") {
  const Alone alone;
  fs::create_symlink("trainyard", alone.folder() / "bin/trainyard-lab");
  const Ended ended = alone.run({"validate"});
  CHECK(ended.code == 5);
  CHECK(contains(ended.err, "it is 'trainyard' itself"));
}

TEST_CASE("arguments, input, output and exit code are those of the other program") {
  const Alone alone(std::string(echo) + "cat\necho oops >&2\nexit 37\n");
  const Ended ended = alone.shell("printf 'from a pipe' | bin/trainyard validate 'a b' --json");
  CHECK(ended.code == 37);
  CHECK(ended.out == (alone.folder() / "bin/trainyard-lab").string() + ": validate a b --json\nfrom a pipe");
  CHECK(ended.err == "oops\n");
}

TEST_CASE("signals reach the other program, and how it ends is seen") {
  const Alone alone("trap 'exit 9' TERM\necho ready >&2\nwhile :; do sleep 0.01; done\n");
  Process process = alone.started({"calibrate", "gpu"});
  REQUIRE(process.says_something());
  process.send(SIGTERM);
  CHECK(process.wait().code == 9);
  CHECK(Alone("kill -KILL $$\n").run({"validate"}).code == 1000 + SIGKILL);
}

TEST_CASE("the other program is found through links, PATH and relative paths") {
  const Alone alone(echo);
  fs::create_directories(alone.folder() / "elsewhere");
  fs::create_symlink("../bin/trainyard", alone.folder() / "elsewhere/trainyard");
  const std::string printed = (alone.folder() / "bin/trainyard-lab").string() + ": validate x\n";
  for (const char* line :
       {"bin/trainyard validate x", "cd bin && ./trainyard validate x", "elsewhere/trainyard validate x",
        "PATH=\"$PWD/elsewhere:$PATH\" trainyard validate x", "PATH=bin:$PATH; trainyard validate x"}) {
    CAPTURE(line);
    const Ended ended = alone.shell(line);
    CHECK(ended.code == 0);
    CHECK(ended.out == printed);
  }
}

TEST_CASE("only a command's own place on the line starts another program, and completion behind it") {
  const Alone alone(echo);
  CHECK(contains(alone.run({"--help", "validate"}).out, "trainyard-lab: --help validate\n"));
  CHECK(contains(alone.run({"__complete", "validate", "--js"}).out,
                 "trainyard-lab: __complete validate --js\n"));
  CHECK(contains(alone.run({"__complete", "vali"}).out, "none\nvalidate\t"));
  CHECK(contains(alone.run({"__complete", "validate"}).out, "none\nvalidate\t"));
  CHECK(contains(alone.run({"__complete", "init", "pla"}).out, "none\nplatform\t"));
  CHECK(alone.run({"list", "validate"}).code == 3);
  CHECK(alone.run({"validat"}).code == 2);
}
