#pragma once
// Quantities and numbers as text: users' input ("25 GB/s", "100 Gbps", "1.2 us") and output for people. Bits
// and bytes are different words; GB is 1e9 bytes, GiB is 2^30. Independent of the locale.

#include "units/quantity.hpp"

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace trainyard {

/// Why a text is not a quantity, with a hint for correction.
struct UnitError {
  std::string message;  ///< e.g. "bandwidth needs a unit"
  std::string hint;     ///< e.g. "100 Gbps (bits) or 100 GB/s (bytes)?"
};

template <class Q>
using Parsed = tl::expected<Q, UnitError>;

/// Reads a number and its unit; a blank between them is optional. Rejects NaN, infinities, overflow,
/// underflow, hexadecimal, leading zeros, digit separators and trailing text. Instantiated for every type of
/// quantity.hpp.
template <class Q>
Parsed<Q> parse_quantity(std::string_view text);

/// A training throughput, as somebody measured it.
struct SampleRate {
  double per_second = 0;
  bool is_of_tokens = false;  ///< otherwise of samples, which images, sequences and sentences are
};

/// Reads "803 samples/s" as strictly as parse_quantity.
Parsed<SampleRate> parse_sample_rate(std::string_view text);

/// Reads a plain decimal number without a unit, as strictly as parse_quantity.
Parsed<double> parse_number(std::string_view text);

/// Reads a whole number; "1e3" is 1000, "1.5" and "0x10" are errors.
Parsed<long long> parse_integer(std::string_view text);

/// The kind of quantity in words ("bandwidth", "time", "size", "FLOP rate" ...), for messages and schemas.
template <class Q>
std::string_view quantity_name();

/// An example with a unit ("25 GB/s"), for hints and schemas.
template <class Q>
std::string_view quantity_example();

/// A regular expression (ECMA) that every accepted text matches, for JSON Schema.
template <class Q>
std::string quantity_pattern();

/// For people: at most four significant digits and a fitting prefix, "3.74 ms", "122.4 GB/s", "25.56 MB";
/// times from a minute on as "24 min 05 s" or "2 h 05 min". For quantities that somebody states, sizes and
/// counts.
template <class Q>
std::string human(Q quantity);

/// As human(), with three significant digits, zeros included: "37.0 ms", "1.25 kJ". For predictions, whose
/// error bears no more.
template <class Q>
std::string estimate(Q quantity);

/// In the unit of `largest` and with the decimals that give `largest` four digits, so that all numbers of a
/// column have the same: "3.1 ms" below "213.5 ms". Never "-0.0". Beside a time of minutes or hours each time
/// has its own unit: "6 min 22 s" and "424 ms" below "2 h 05 min".
template <class Q>
std::string human_like(Q quantity, Q largest);

/// Memory of a GPU as its maker counts it, in GB of 2^30 bytes: "40 GB"; three digits unless it is a whole
/// number of GB, and at most two decimals: "12.9 GB", "0.37 GB".
std::string gpu_memory(Bytes bytes);

/// As gpu_memory(), with two decimals: "40.00 GB".
std::string gpu_memory_in_column(Bytes bytes);

/// The shortest decimal that reads back to the same bits, with a fitting prefix: "3.740016 ms", "150 GB/s";
/// sizes use binary units if they are whole numbers of them and that is shorter: "16 GiB". parse_quantity
/// moves the decimal point of the text before it converts, so the prefix costs no accuracy.
template <class Q>
std::string exact(Q quantity);

/// The shortest decimal form that reads back to the same bits, for traces and resolved experiments.
std::string shortest(double number);

/// `number` rounded to four significant digits.
double four_digits(double number);

/// A user's text for messages: in single quotes, at most 60 characters, no control characters.
std::string in_quotes(std::string_view text);

/// Twelve significant digits without trailing zeros, for reports (CSV and JSON).
std::string digits12(double number);

}  // namespace trainyard
