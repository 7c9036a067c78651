#include "cli/kernel_program.hpp"

#include "config/diagnostic.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace trainyard {
namespace {

// Exit codes of the program, as sim/cuda/README.md documents them.
constexpr int plan_is_done = 0;
constexpr int wrong_input = 3;
constexpr int no_gpu = 4;
constexpr int cannot_write = 5;
constexpr int wrong_results = 70;
constexpr int rows_are_left = 75;
constexpr int interrupted = 130;

/// While it lives, Ctrl-C is the child's affair: it finishes the row it measures and ends.
class LeaveInterruptsToChild {
public:
  LeaveInterruptsToChild() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    ::sigaction(SIGINT, &ignore, &former_);
  }
  ~LeaveInterruptsToChild() { ::sigaction(SIGINT, &former_, nullptr); }
  LeaveInterruptsToChild(const LeaveInterruptsToChild&) = delete;
  LeaveInterruptsToChild& operator=(const LeaveInterruptsToChild&) = delete;

private:
  struct sigaction former_ {};
};

std::filesystem::path program_path() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path program = self.parent_path() / "trainyard_gpu_kernels";
  if (error || !std::filesystem::exists(program, error)) {
    throw JobImpossible(
        "this trainyard was built without CUDA and cannot measure kernels\n"
        "  build it where nvcc is found, or give a recording: trainyard calibrate gpu FILE.csv");
  }
  return program;
}

/// The exit code of the child; that of a shell, 128 + signal, if a signal ended it.
int run_and_wait(const std::filesystem::path& program, std::vector<std::string> words) {
  std::vector<char*> arguments;
  words.insert(words.begin(), program.string());
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const LeaveInterruptsToChild leave;
  posix_spawnattr_t attributes;
  sigset_t restored;
  sigemptyset(&restored);
  sigaddset(&restored, SIGINT);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &restored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw FileError(
        fmt::format("cannot start '{}': {}", program.string(), std::generic_category().message(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

bool run_kernel_program(const std::filesystem::path& plan, const std::filesystem::path& recording,
                        std::optional<int> seconds) {
  const std::filesystem::path program = program_path();
  std::vector<std::string> words{plan.string(), recording.string()};
  if (seconds) words.insert(words.end(), {"--seconds", std::to_string(*seconds)});
  int code = rows_are_left;
  do {
    code = run_and_wait(program, words);
  } while (code == rows_are_left && !seconds);

  switch (code) {
    case plan_is_done:
    case wrong_results:  // said by the program; what was right is recorded
      return true;
    case rows_are_left:
      return false;
    case wrong_input:
      throw InputError("the kernels were not measured", "see above");
    case no_gpu:
      throw JobImpossible("no kernel was measured: see above");
    case cannot_write:
      throw FileError("the kernels were not measured: see above");
    case interrupted:
      std::raise(SIGINT);  // as if it had reached us: its handler ends the program
      return false;
    default:
      throw JobImpossible(fmt::format("trainyard_gpu_kernels ended with code {}; what it measured is in {}",
                                      code, recording.string()));
  }
}

}  // namespace trainyard
