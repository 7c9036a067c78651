#pragma once
// Ctrl-C: the program ends at once with exit code 130. Only while results are written does the signal wait
// (report/out_files.hpp), so nothing is left half-written.

namespace trainyard {

/// From now on SIGINT and SIGTERM end the program with a word on stderr.
void end_on_interrupt();

}  // namespace trainyard
