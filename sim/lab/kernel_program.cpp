#include "lab/kernel_program.hpp"

#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

// Exit codes of the program, documented in sim/cuda/README.md.
constexpr int plan_is_done = 0;
constexpr int wrong_input = 3;
constexpr int no_gpu = 4;
constexpr int cannot_write = 5;
constexpr int wrong_results = 70;
constexpr int rows_are_left = 75;
constexpr int interrupted = 130;

volatile std::sig_atomic_t running_child = 0;

extern "C" void pass_on(int signal) {
  if (running_child > 0) ::kill(static_cast<pid_t>(running_child), signal);
}

void set_handler(int signal, void (*handler)(int), struct sigaction* former) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, former);
}

/// While it exists, the child decides how to end: it finishes the current row first. A terminal sends Ctrl-C
/// to both processes, so it is ignored here; SIGTERM arrives only here and is passed on.
class LeaveSignalsToChild {
public:
  LeaveSignalsToChild() {
    set_handler(SIGINT, SIG_IGN, &interrupt_);
    set_handler(SIGTERM, pass_on, &terminate_);
  }
  ~LeaveSignalsToChild() {
    running_child = 0;
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }
  LeaveSignalsToChild(const LeaveSignalsToChild&) = delete;
  LeaveSignalsToChild& operator=(const LeaveSignalsToChild&) = delete;

private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

/// The exit code of the child; as in a shell, 128 + signal if a signal ended it.
int run_and_wait(const std::filesystem::path& program, std::vector<std::string> words) {
  std::vector<char*> arguments;
  words.insert(words.begin(), program.string());
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const LeaveSignalsToChild leave;
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
  running_child = child;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

}  // namespace

std::filesystem::path find_kernel_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path program = self.parent_path() / "trainyard_gpu_kernels";
  if (error || !std::filesystem::exists(program, error)) {
    throw JobImpossible(
        "this trainyard was built without CUDA and cannot measure kernels\n"
        "  build it where nvcc is found, or give a recording: trainyard calibrate gpu FILE.csv");
  }
  return program;
}

bool run_kernel_program(const std::filesystem::path& program, const std::filesystem::path& plan,
                        const std::filesystem::path& recording, std::optional<int> seconds) {
  std::vector<std::string> words{plan.string(), recording.string()};
  if (seconds) words.insert(words.end(), {"--seconds", std::to_string(*seconds)});
  int code = rows_are_left;
  for (auto size = size_of(recording); code == rows_are_left;) {
    code = run_and_wait(program, words);
    const auto former = std::exchange(size, size_of(recording));
    if (seconds || size <= former) break;  // otherwise chunks without progress would go on forever
  }

  switch (code) {
    case plan_is_done:
      return true;
    case wrong_results:
      print_message(
          "trainyard: warning: some kernels computed wrong results (see above) and were not recorded");
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
      std::raise(SIGINT);  // as if it had arrived here: its handler ends the program
      return false;
    default:
      throw JobImpossible(fmt::format("trainyard_gpu_kernels ended with code {}; its measurements are in {}",
                                      code, recording.string()));
  }
}

}  // namespace trainyard
