#include "commands/assertion.hpp"

#include "commands/commands.hpp"
#include "commands/figure_names.hpp"
#include "config/suggest.hpp"
#include "report/figure_text.hpp"
#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace trainyard {
namespace {

[[noreturn]] void wrong(const std::string& why) { throw CLI::ValidationError("--assert", why); }

const Figure& figure_named(std::string_view name) {
  std::vector<std::string_view> fields;
  for (const Figure& figure : figures()) {
    if (figure.unit == FigureUnit::text) continue;
    if (is_name_of(name, figure.field)) return figure;
    fields.push_back(without_unit(figure.field));
  }
  for (const ShortName& known : short_names) fields.push_back(known.name);
  const std::string hint = config::suggest(name, fields);
  wrong(fmt::format("'{}' is not a numeric field of summary.json{}{}", name, hint.empty() ? "" : "; ", hint));
}

template <class Q>
double quantity(std::string_view text) {
  const Parsed<Q> value = parse_quantity<Q>(text);
  if (!value) wrong(fmt::format("{}: {}", value.error().message, value.error().hint));
  return value->si();
}

double number(std::string_view text, const Figure& figure) {
  const bool is_percent = text.ends_with('%');
  if (is_percent && figure.unit != FigureUnit::share)
    wrong(fmt::format("{} is no share: leave out the %", figure.field));
  if (is_percent) text = trimmed(text.substr(0, text.size() - 1));
  for (const std::string_view unit : {"samples/s", "tokens/s", "x"}) {
    if (text.ends_with(unit)) text = trimmed(text.substr(0, text.size() - unit.size()));
  }
  const Parsed<double> value = parse_number(text);
  if (!value) wrong(value.error().message);
  return is_percent ? *value / 100 : *value;
}

double value_of(std::string_view text, const Figure& figure) {
  switch (figure.unit) {
    case FigureUnit::time:
      return quantity<Seconds>(text);
    case FigureUnit::bytes:
      return quantity<Bytes>(text);
    case FigureUnit::energy:
      return quantity<Joules>(text);
    case FigureUnit::power:
      return quantity<Watts>(text);
    case FigureUnit::flops:
      return quantity<Flops>(text);
    case FigureUnit::flop_rate:
      return quantity<FlopRate>(text);
    case FigureUnit::usd:
      return quantity<Dollars>(text);
    default:
      return number(text, figure);
  }
}

bool holds(const Assertion& assertion, double value) {
  if (assertion.sign == "<") return value < assertion.limit;
  if (assertion.sign == "<=") return value <= assertion.limit;
  return assertion.sign == ">" ? value > assertion.limit : value >= assertion.limit;
}

/// What is wrong; empty if the assertion holds.
std::string problem_of(const Assertion& assertion, const Run& run) {
  const Known<FigureValue> value = assertion.figure->of(run);
  if (!value) {
    return fmt::format("{} has no value{}{}", assertion.figure->field, value.error().empty() ? "" : ": ",
                       value.error());
  }
  if (holds(assertion, std::get<double>(*value))) return {};
  return fmt::format("{} is {}", assertion.figure->field, in_unit(*value, assertion.figure->unit));
}

}  // namespace

Assertion read_assertion(const std::string& text) {
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string::npos) wrong(fmt::format("'{}' is not FIGURE < VALUE (or <=, >, >=)", text));
  Assertion assertion;
  assertion.text = text;
  assertion.sign = text.substr(at, text.substr(at + 1).starts_with('=') ? 2 : 1);
  assertion.figure = &figure_named(trimmed(std::string_view(text).substr(0, at)));
  assertion.limit =
      value_of(trimmed(std::string_view(text).substr(at + assertion.sign.size())), *assertion.figure);
  return assertion;
}

void require(const std::vector<Assertion>& assertions, const Run& run) {
  std::string problems;
  for (const Assertion& assertion : assertions) {
    const std::string problem = problem_of(assertion, run);
    if (problem.empty()) continue;
    problems +=
        fmt::format("{}'{}' does not hold: {}", problems.empty() ? "" : "\n  ", assertion.text, problem);
  }
  if (!problems.empty()) throw LimitMissed(problems);
}

void require_within(const Known<Verification>& verified) {
  if (!verified || verified->is_within()) return;
  throw LimitMissed(fmt::format(
      "--verify: {} differs from its messages by {:.2g} of the step, more than {:.2g}; please report this",
      verified->where, verified->difference, verified->limit));
}

}  // namespace trainyard
