#include "workload/trace_row.hpp"

namespace trainyard {

std::optional<double> parse_part(const TraceRow& row, TraceColumn column, std::string_view text,
                                 double largest, std::string_view hint) {
  const Parsed<double> parsed = parse_number(text);
  if (!parsed) {
    const UnitError& error = parsed.error();
    row.error(column, error.message, error.hint.empty() ? std::string(hint) : error.hint);
    return std::nullopt;
  }
  const double value = *parsed;
  if (value < 0) {
    row.error(column, in_quotes(text) + " is negative");
    return std::nullopt;
  }
  if (value > largest) {
    row.error(column, in_quotes(text) + " is implausibly large", std::string(hint));
    return std::nullopt;
  }
  return value;
}

}  // namespace trainyard
