#pragma once
// Signals that end the program. Ctrl-C: it ends at once with exit code 130. While results are written the
// signal waits (io/out_files.hpp), so nothing remains half-written; while a sweep runs it is noted, and
// the sweep ends in good order.

#include <csignal>

namespace trainyard {

/// From now on SIGINT and SIGTERM end the program with a message on stderr.
void end_on_interrupt();

/// From now on a failed assert ends the program with the exit code of a bug.
void end_on_abort();

/// While it exists, the first SIGINT or SIGTERM is only noted; the second ends the program as usual.
class InterruptNoted {
public:
  InterruptNoted();
  ~InterruptNoted();
  InterruptNoted(const InterruptNoted&) = delete;
  InterruptNoted& operator=(const InterruptNoted&) = delete;

  [[nodiscard]] static bool is_asked();
};

}  // namespace trainyard
