#include "imports/checked_trace.hpp"

#include "workload/trace_csv.hpp"

#include <stdexcept>

namespace trainyard {

std::string checked_trace_text(const std::string& name, const Trace& trace) {
  std::string text = write_trace(trace);
  if (read_trace(name, text) != trace) throw std::logic_error("an imported trace reads back as another one");
  return text;
}

}  // namespace trainyard
