#include "cli/interrupt.hpp"

#include "cli/cli.hpp"

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace trainyard {

namespace {

/// Calls nothing but what POSIX allows in a signal handler.
extern "C" void end(int) {
  constexpr std::string_view text = "trainyard: interrupted\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(exit_interrupted);
}

}  // namespace

void end_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = end;
  sigemptyset(&action.sa_mask);
  // Also where a shell started the program with SIGINT ignored, as it does for background jobs: who sends the
  // signal to this process means it.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace trainyard
