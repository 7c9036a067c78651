#include "csv_line.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace trainyard::cuda {

std::vector<std::string> split_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string exact_text(double value) {
  char text[32];
  const bool whole = std::abs(value) < 0x1p53 && value == std::floor(value);
  const auto [end, error] = whole ? std::to_chars(text, text + sizeof text, static_cast<long long>(value))
                                  : std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : std::string();
}

std::string six_digits(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return error == std::errc() ? std::string(text, end) : std::string();
}

std::string to_csv(const Request& request) {
  return request.op + ',' + request.variant + ',' + request.dtype + ',' + request.shape + ',' +
         exact_text(request.bytes);
}

std::string describe(const Request& request) {
  std::string text = request.op;
  for (const std::string& part : {request.variant, request.dtype, request.shape}) {
    if (part != "-" && !part.empty()) text += ' ' + part;
  }
  if (request.shape == "-" && request.bytes > 0) text += ' ' + exact_text(request.bytes) + " bytes";
  return text;
}

}  // namespace trainyard::cuda
