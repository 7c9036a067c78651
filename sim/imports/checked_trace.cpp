#include "imports/checked_trace.hpp"

#include "config/keys.hpp"
#include "interchange/input_text.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

namespace trainyard {
namespace {

/// The line of the first op, below comments and the header.
int first_op_line(std::string_view text) {
  int line = 1;
  while (text.starts_with('#')) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    ++line;
  }
  return line + 1;
}

}  // namespace

std::vector<Diagnostic> about_ops(std::vector<Diagnostic> diagnostics, const std::string& file,
                                  std::string_view text, const Trace& trace, const std::string& source) {
  const int first = first_op_line(text);
  for (Diagnostic& one : diagnostics) {
    if (one.file != file) continue;
    one.file = source;
    const int op = one.line - first;
    if (op >= 0 && op < static_cast<int>(trace.ops.size())) {
      const Op& blamed = trace.ops[static_cast<std::size_t>(op)];
      one.message =
          fmt::format("op {} of {}: {}", shown(blamed.layer, 60), config::name_of(blamed.phase), one.message);
    }
    one.line = 0;
    one.column = 0;
    one.source_line.clear();
  }
  return diagnostics;
}

std::string checked_trace_text(const std::string& source, const Trace& trace) {
  const std::string file = "trace of " + source;
  std::string text = write_trace(trace);
  try {
    if (read_trace(file, text) != trace)
      throw std::logic_error("an imported trace reads back as another one");
  } catch (const InputError& error) {
    throw InputError(about_ops(error.diagnostics(), file, text, trace, source));
  }
  return text;
}

}  // namespace trainyard
