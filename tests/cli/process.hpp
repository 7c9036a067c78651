#pragma once
// Runs the built program as users do: as a separate process with arguments, an environment and redirections.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace trainyard {

inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The text with its line breaks, and the indents behind them, as single blanks.
inline std::string unwrapped(const std::string& text) {
  std::string line;
  bool is_indent = false;
  for (const char c : text) {
    if (c == '\n') line += ' ';
    is_indent = c == '\n' || (is_indent && c == ' ');
    if (!is_indent) line += c;
  }
  return line;
}

/// Whether a part is in the text, wherever the program has wrapped it.
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos || unwrapped(text).find(part) != std::string::npos;
}

/// A folder of its own for each test, removed at its end.
class Scratch {
public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return *this / name;
  }
  [[nodiscard]] std::set<std::string> names(const std::string& folder = ".") const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_ / folder)) {
      all.insert(entry.path().filename().string());
    }
    return all;
  }

private:
  std::filesystem::path path_;
};

struct Ended {
  int code = 0;  ///< exit code, or 1000 + the signal that ended the process
  std::string out;
  std::string err;
};

/// The program under test: the one built with the tests, or the build of it that the environment names.
inline std::string tested_program() {
  const char* other = std::getenv("TRAINYARD_PROGRAM");
  return other != nullptr ? other : TRAINYARD_PROGRAM;
}

/// Puts a program into another folder, which is then its own: a link if the file system allows it.
inline void link_program(const std::filesystem::path& program, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_hard_link(program, folder / program.filename(), error);
  if (error) std::filesystem::copy_file(program, folder / program.filename());
}

/// The program that tests start, and the folder in which it finds platforms and workloads.
struct Installation {
  std::string program = tested_program();
  std::string data = TRAINYARD_SOURCE_DIR;
  std::string columns = "100";  ///< the width of pages
};

/// A started program; wait() collects it.
class Process {
public:
  /// `out`: the file for stdout; by default a temporary one.
  explicit Process(const std::vector<std::string>& arguments, const std::string& out = {},
                   const Installation& installation = {})
      : out_(out) {
    std::vector<char*> argv;
    std::vector<std::string> words{installation.program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (out_.empty()) out_ = files_ / "out";
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    ::setenv("TRAINYARD_DATA", installation.data.c_str(), 1);
    ::setenv("COLUMNS", installation.columns.c_str(), 1);
    const int to = ::open(out_.c_str(), O_WRONLY | O_CREAT, 0600);
    const int errors = ::open((files_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(to, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  void send(int signal) const { ::kill(pid_, signal); }

  [[nodiscard]] bool is_running() {
    if (!is_collected_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) is_collected_ = true;
    return !is_collected_;
  }

  /// Waits for the first words on stderr, however busy the computer is; false if the program ends without
  /// any.
  [[nodiscard]] bool says_something() {
    while (content(files_ / "err").empty()) {
      if (!is_running()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  Ended wait() {
    if (!is_collected_) ::waitpid(pid_, &status_, 0);
    is_collected_ = true;
    const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 1000 + WTERMSIG(status_);
    return {code, content(files_ / "out"), content(files_ / "err")};
  }

private:
  Scratch files_;
  std::string out_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool is_collected_ = false;
};

inline Ended run_program(const std::vector<std::string>& arguments) { return Process(arguments).wait(); }

inline bool contains(const std::string& text, const std::string& part) { return has(text, part); }

/// Checks that the program ends with this code and message, and prints no result.
inline void check_refused(const std::vector<std::string>& arguments, int code, const std::string& message) {
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  CHECK(ended.code == code);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, message));
}

/// An experiment on the shipped machine, model and stack.
inline std::string experiment_with(const std::string& lines) {
  return "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n" + lines;
}

}  // namespace trainyard
