#pragma once
// Values of options: as strict as the YAML files; a wrong one is a wrong command line (exit code 2).

#include "config/diagnostic.hpp"
#include "config/fields.hpp"
#include "config/suggest.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// A whole number from `minimum` to `maximum`. `option` ("--gpus") is for the message. Throws
/// CLI::ValidationError.
int whole_number(const std::string& option, const std::string& text, int minimum,
                 int maximum = 1'000'000'000);

/// A number above 0 and at most `most`, nothing if the text is empty. Throws CLI::ValidationError.
std::optional<double> positive_number(const std::string& option, const std::string& text, double most);

/// A quantity with its unit above 0, nothing if the text is empty. Throws CLI::ValidationError.
template <class Q>
std::optional<Q> positive_quantity(const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  if (!parsed) throw CLI::ValidationError(option, parsed.error().message + ": " + parsed.error().hint);
  if (*parsed <= Q{}) throw CLI::ValidationError(option, in_quotes(text) + " is not above 0");
  return *parsed;
}

/// A percentage of at least 0 as a ratio: "15" is 0.15. Throws CLI::ValidationError.
double percentage(const std::string& option, const std::string& text);

/// A size in nccl-tests' format: 8, 64K, 1M, 2G, also 1MB; K, M and G are powers of 1,024. Throws
/// CLI::ValidationError.
Bytes nccl_size(const std::string& option, const std::string& text);

/// The NAME=VALUE texts of an option, in order. `form`: how its help writes them, for the error. Throws
/// CLI::ValidationError.
std::vector<std::pair<std::string, std::string>> name_values(const std::string& option,
                                                             const std::vector<std::string>& texts,
                                                             const std::string& form);

/// The KEY=VALUE texts of --set or a similar option, in order, with other words for keys replaced by the
/// keys. Throws CLI::ValidationError, also if two words give a key two values.
std::vector<std::pair<std::string, std::string>> overrides_of(const std::vector<std::string>& texts,
                                                              const std::string& option = "--set");

/// The overrides, for commands that answer for one value of each key. Throws CLI::ValidationError if a value
/// is a range.
std::vector<std::pair<std::string, std::string>> single_values(
    std::vector<std::pair<std::string, std::string>> overrides);

/// The value named `text`. An unknown name is the same error as in a file: throws InputError.
template <class E>
E choice(const std::string& text) {
  static constexpr auto names = config::texts_of<E>();
  if (const auto known = config::value_named<E>(text)) return *known;
  throw InputError("unknown " + std::string(config::Names<E>::what) + " '" + text + "'",
                   config::suggest(text, names));
}

/// The names of an enum for a help text: "closed, flow, rounds, steps".
template <class E>
std::string names_of() {
  std::string all;
  for (const std::string_view text : config::texts_of<E>())
    all += (all.empty() ? "" : ", ") + std::string(text);
  return all;
}

}  // namespace trainyard
