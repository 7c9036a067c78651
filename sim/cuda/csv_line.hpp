#pragma once
// One line of the plan or the recording: cells between commas. No cell contains a comma or a quote, so none
// is quoted.

#include "measurement.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cuda {

/// The header of a plan.
inline constexpr std::string_view plan_header = "op,variant,dtype,shape,bytes";

std::vector<std::string> split_cells(std::string_view line);

/// The next line of `text` without its line break (LF or CRLF), which is removed from `text` with it.
std::string_view take_line(std::string_view& text);

/// A finite number that fills the whole text.
std::optional<double> parse_number(std::string_view text);

/// Whole numbers below 2^53 without exponent, so that sizes are easy to read; others in their shortest form.
/// Reads back to the same bits.
std::string exact_text(double value);

/// Six significant digits: more than the precision of any time.
std::string six_digits(double value);

/// The first five cells of a recorded row, which are also a plan's row: "gemm,-,fp32,m8 n8 k8 nn,768".
std::string to_csv(const Request& request);

/// A request for a message: "gemm fp32 m8 n8 k8 nn", with the bytes only if there is no shape.
std::string describe(const Request& request);

}  // namespace trainyard::cuda
