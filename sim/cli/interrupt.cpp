#include "cli/interrupt.hpp"

#include "cli/cli.hpp"

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace trainyard {

namespace {

/// Calls only functions that POSIX allows in a signal handler.
extern "C" void end(int) {
  constexpr std::string_view text = "trainyard: interrupted\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(exit_interrupted);
}

/// The failed assert has printed its text.
extern "C" void end_as_bug(int) {
  constexpr std::string_view text =
      "trainyard: error: an assumption of the program does not hold\n"
      "  this is a bug in trainyard: please report it with the command and its files\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(exit_bug);
}

volatile std::sig_atomic_t is_noted = 0;

extern "C" void note(int signal) {
  if (is_noted != 0) end(signal);
  is_noted = 1;
  constexpr std::string_view text =
      "trainyard: interrupted; finishing the points that run (interrupt again to stop at once)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void on_interrupt(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // Also if a shell started the program with SIGINT ignored, as for background jobs: a signal sent to this
  // process is intended for it.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void end_on_interrupt() { on_interrupt(end); }

void end_on_abort() { std::signal(SIGABRT, end_as_bug); }

InterruptNoted::InterruptNoted() {
  is_noted = 0;
  on_interrupt(note);
}

InterruptNoted::~InterruptNoted() { on_interrupt(end); }

bool InterruptNoted::is_asked() { return is_noted != 0; }

}  // namespace trainyard
