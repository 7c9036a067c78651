#include "io/out_files.hpp"

#include "config/diagnostic.hpp"

#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test, removed at its end.
class Scratch {
public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "trainyard-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] fs::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(path_)) all.insert(entry.path().filename().string());
    return all;
  }

private:
  fs::path path_;
};

std::string content(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

using Files = std::map<std::string, std::string>;
const Files two_files{{"a.csv", "1\n"}, {"b.json", "{}\n"}};
const std::set<std::string> two_names{"a.csv", "b.json"};

std::string message_of(auto&& function) {
  try {
    function();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

/// Runs `body` in a child process. Returns its exit code, or 1000 + the signal that ended it.
int in_child(auto&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Waits until a child sleeps in a system call; false if it never does. A child that is not there yet, or
/// runs, is looked at again.
bool is_asleep(pid_t child) {
  for (int look = 0; look < 1000; ++look) {
    ::usleep(10'000);
    const std::string stat = content("/proc/" + std::to_string(child) + "/stat");
    if (const auto end = stat.rfind(')'); end != std::string::npos && stat.compare(end, 3, ") S") == 0)
      return true;
  }
  return false;
}

/// The exit code of a child that ends in time; otherwise it is killed, and the result is -1.
int ended_within_seconds(pid_t child, int seconds) {
  int status = 0;
  for (int look = 0; look < seconds * 100; ++look) {
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ::usleep(10'000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return -1;
}

}  // namespace

TEST_CASE("a folder is written with all its files, and the folders above it") {
  const Scratch scratch;
  write_out_dir(scratch / "deep/er/out", two_files, two_names, false);
  CHECK(content(scratch / "deep/er/out/a.csv") == "1\n");
  CHECK(content(scratch / "deep/er/out/b.json") == "{}\n");
  CHECK(scratch.names() == std::set<std::string>{"deep"});
}

TEST_CASE("a trailing slash means the same folder") {
  const Scratch scratch;
  write_out_dir(scratch / "out/", two_files, two_names, false);
  CHECK(content(scratch / "out/a.csv") == "1\n");
}

TEST_CASE("nothing is overwritten without force") {
  const Scratch scratch;
  fs::create_directory(scratch / "out");
  put(scratch / "out/a.csv", "old");
  const std::string message =
      message_of([&] { write_out_dir(scratch / "out", two_files, two_names, false); });
  CHECK(message == "cannot write '" + (scratch / "out").string() +
                       "': the folder exists and is not empty; --force replaces it");
  CHECK(message_of([&] { check_out_dir(scratch / "out", two_names, false); }) == message);
  CHECK(content(scratch / "out/a.csv") == "old");
  CHECK(scratch.names() == std::set<std::string>{"out"});
}

TEST_CASE("an empty folder may be filled") {
  const Scratch scratch;
  fs::create_directory(scratch / "out");
  write_out_dir(scratch / "out", two_files, two_names, false);
  CHECK(content(scratch / "out/a.csv") == "1\n");
  CHECK(scratch.names() == std::set<std::string>{"out"});
}

TEST_CASE("force replaces an earlier result and leaves no trace of it") {
  const Scratch scratch;
  fs::create_directory(scratch / "out");
  put(scratch / "out/a.csv", "old");
  write_out_dir(scratch / "out", two_files, two_names, true);
  CHECK(content(scratch / "out/a.csv") == "1\n");
  CHECK(scratch.names() == std::set<std::string>{"out"});
}

TEST_CASE("force never replaces a folder that holds anything else") {
  const Scratch scratch;
  fs::create_directory(scratch / "home");
  put(scratch / "home/thesis.tex", "years of work");
  CHECK(message_of([&] { write_out_dir(scratch / "home", two_files, two_names, true); }) ==
        "cannot write '" + (scratch / "home").string() +
            "': it holds 'thesis.tex', which trainyard did not write; choose another folder");
  CHECK(content(scratch / "home/thesis.tex") == "years of work");
}

TEST_CASE("force replaces regular files alone: a folder or a link that is called like one of them stays") {
  const Scratch scratch;
  const auto refuses = [&](const std::string& name) {
    const std::string message =
        message_of([&] { write_out_dir(scratch / name, two_files, two_names, true); });
    CHECK(message_of([&] { check_out_dir(scratch / name, two_names, true); }) == message);
    return message.find("'a.csv'") != std::string::npos;
  };
  fs::create_directories(scratch / "tree/a.csv/years");
  put(scratch / "tree/a.csv/years/thesis.tex", "of work");
  CHECK(refuses("tree"));
  CHECK(content(scratch / "tree/a.csv/years/thesis.tex") == "of work");
  fs::create_directory(scratch / "empty");
  fs::create_directory(scratch / "empty/a.csv");
  CHECK(refuses("empty"));
  CHECK(fs::is_directory(scratch / "empty/a.csv"));
  fs::create_directory(scratch / "link");
  fs::create_symlink("../tree/a.csv/years/thesis.tex", scratch / "link/a.csv");
  CHECK(refuses("link"));
  CHECK(content(scratch / "link/a.csv") == "of work");
  fs::create_directory(scratch / "pipe");
  REQUIRE(::mkfifo((scratch / "pipe/a.csv").c_str(), 0600) == 0);
  CHECK(refuses("pipe"));
  CHECK(scratch.names() == std::set<std::string>{"tree", "empty", "link", "pipe"});
}

TEST_CASE("a file in the place of the folder or of one above it is an error") {
  const Scratch scratch;
  put(scratch / "file", "text");
  CHECK(message_of([&] { write_out_dir(scratch / "file", two_files, two_names, true); }) ==
        "cannot write '" + (scratch / "file").string() + "': it exists and is not a folder");
  const std::string below =
      message_of([&] { write_out_dir(scratch / "file/out", two_files, two_names, false); });
  CHECK(below == "cannot write '" + (scratch / "file/out").string() + "': Not a directory");
  CHECK(message_of([&] { check_out_dir(scratch / "file/out", two_names, false); }) == below);
  CHECK(content(scratch / "file") == "text");
}

TEST_CASE("a place that cannot be written to is told before anything is simulated") {
  CHECK(message_of([] { check_out_dir("/proc/trainyard-out", two_names, false); }) != "no error");
  CHECK(message_of([] { write_out_dir("/proc/trainyard-out", two_files, two_names, false); }) != "no error");
}

TEST_CASE("a limit on file sizes leaves nothing half-written") {
  const Scratch scratch;
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    try {
      write_out_dir(scratch / "new/out", {{"a", "small"}, {"b", std::string(5000, 'x')}}, {"a", "b"}, false);
    } catch (const FileError& error) {
      ::_exit(std::string(error.what()).ends_with("b': File too large") ? 5 : 6);
    }
  });
  CHECK(code == 5);
  CHECK(scratch.names().empty());
}

TEST_CASE("a full disk leaves nothing half-written and keeps the earlier result") {
  const Scratch scratch;
  const fs::path disk = scratch / "disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    MESSAGE("not allowed to mount a small disk; the limit on file sizes is tested instead");
    return;
  }
  write_out_dir(disk / "out", two_files, two_names, false);
  const std::string message = message_of([&] {
    write_out_dir(disk / "out", {{"a.csv", "2\n"}, {"b.json", std::string(100000, 'x')}}, two_names, true);
  });
  const std::string kept = content(disk / "out/a.csv");
  const auto names = std::distance(fs::directory_iterator(disk), fs::directory_iterator());
  ::umount2(disk.c_str(), MNT_DETACH);
  CHECK(message.ends_with("b.json': No space left on device"));
  CHECK(kept == "1\n");
  CHECK(names == 1);
}

TEST_CASE("what killed writes left is removed, and nothing else") {
  const Scratch scratch;
  const std::vector<std::string> others{"a.csv", "a.csv.partial-", "a.csv.partial-12x", "b.csv.partial-12"};
  for (const std::string& name : others) put(scratch / name, "text");
  put(scratch / "a.csv.partial-12", "half");
  fs::create_directory(scratch / "a.csv.partial-13");
  const char* const names[] = {"a.csv", "c.csv"};
  remove_unfinished(scratch / "", names);
  std::set<std::string> left(others.begin(), others.end());
  left.insert("a.csv.partial-13");
  CHECK(scratch.names() == left);
  remove_unfinished(scratch / "missing", names);
}

TEST_CASE("a signal while writing arrives when nothing is half-written") {
  const Scratch scratch;
  const int code = in_child([&] {
    std::signal(SIGINT, [](int) { ::_exit(130); });
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
    ::raise(SIGINT);  // pending now, as if it came while the first file is written
    try {
      write_out_dir(scratch / "out", two_files, two_names, false);
    } catch (const FileError&) {
      ::pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
      ::_exit(1);
    }
  });
  CHECK(code == 130);
  CHECK(scratch.names().empty());
}

TEST_CASE("a single file is written whole, and replaced only with force") {
  const Scratch scratch;
  write_out_file(scratch / "t.csv", "one", false);
  CHECK(content(scratch / "t.csv") == "one");
  const std::string message = message_of([&] { write_out_file(scratch / "t.csv", "two", false); });
  CHECK(message ==
        "cannot write '" + (scratch / "t.csv").string() + "': the file exists; --force replaces it");
  CHECK(message_of([&] { check_out_file(scratch / "t.csv", false); }) == message);
  CHECK(content(scratch / "t.csv") == "one");
  write_out_file(scratch / "t.csv", "three", true);
  CHECK(content(scratch / "t.csv") == "three");
  CHECK(scratch.names() == std::set<std::string>{"t.csv"});
}

TEST_CASE("a device is written to and not replaced") {
  write_out_file("/dev/null", "text", false);
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(message_of([] { write_out_file("/dev/full", "text", false); }) ==
        "cannot write '/dev/full': No space left on device");
}

TEST_CASE("a signal ends what writes into a pipe, whether its reader stalls or never comes") {
  const Scratch scratch;
  const std::string pipe = scratch / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string more_than_a_pipe_holds(1 << 22, 'x');
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const bool has_reader : {true, false}) {
      CAPTURE(signal);
      CAPTURE(has_reader);
      const pid_t child = ::fork();
      if (child == 0) {
        std::signal(signal, [](int) { ::_exit(130); });
        write_out_file(pipe, more_than_a_pipe_holds, true);
        ::_exit(0);
      }
      const int reader =
          has_reader ? ::open(pipe.c_str(), O_RDONLY) : -1;  // returns when the child has it open
      if (has_reader) {
        pollfd ready{.fd = reader, .events = POLLIN, .revents = 0};
        CHECK(::poll(&ready, 1, 10'000) == 1);  // it is writing
      } else {
        CHECK(is_asleep(child));  // in open
      }
      ::kill(child, signal);
      CHECK(ended_within_seconds(child, 10) == 130);
      if (has_reader) ::close(reader);
    }
  }
}
