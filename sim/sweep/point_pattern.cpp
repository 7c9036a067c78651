#include "sweep/point_pattern.hpp"

#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

/// A number in SI base units, and the dimension of its unit.
struct Amount {
  double si = 0;
  std::string_view of;
};

template <class... Qs>
std::optional<Amount> amount_in(std::string_view text) {
  std::optional<Amount> amount;
  const auto try_as = [&]<class Q>(const Q&) {
    if (const Parsed<Q> quantity = parse_quantity<Q>(text)) amount = {quantity->si(), quantity_name<Q>()};
    return amount.has_value();
  };
  (void)(try_as(Qs{}) || ...);
  return amount;
}

std::optional<Amount> amount_of(std::string_view text) {
  if (const Parsed<double> plain = parse_number(text)) return Amount{*plain, ""};
  return amount_in<Seconds, Bytes, Bandwidth, FlopRate, Watts, Dollars>(text);
}

/// "<=" and "64" for "<= 64"; the sign is empty if there is none.
std::pair<std::string_view, std::string_view> sign_and_bound(std::string_view condition) {
  for (const std::string_view sign : {"<=", ">=", "<", ">"}) {
    if (condition.starts_with(sign))
      return {condition.substr(0, sign.size()), trimmed(condition.substr(sign.size()))};
  }
  return {{}, condition};
}

bool is_same(std::string_view text, std::string_view value) {
  if (text == value) return true;
  const std::optional<Amount> left = amount_of(text);
  const std::optional<Amount> right = amount_of(value);
  return left && right && left->of == right->of && left->si == right->si;
}

bool compares(std::string_view sign, double value, double bound) {
  if (sign == "<") return value < bound;
  if (sign == "<=") return value <= bound;
  if (sign == ">") return value > bound;
  return value >= bound;
}

}  // namespace

bool meets(std::string_view condition, std::string_view value) {
  const auto [sign, bound] = sign_and_bound(trimmed(condition));
  if (!sign.empty()) {
    const std::optional<Amount> amount = amount_of(value);
    const std::optional<Amount> limit = amount_of(bound);
    return amount && limit && amount->of == limit->of && compares(sign, amount->si, limit->si);
  }
  std::string_view rest = condition;
  while (true) {
    const std::size_t bar = rest.find('|');
    if (is_same(trimmed(rest.substr(0, bar)), value)) return true;
    if (bar == std::string_view::npos) return false;
    rest.remove_prefix(bar + 1);
  }
}

bool is_bound(std::string_view condition) { return !sign_and_bound(trimmed(condition)).first.empty(); }

std::string wrong_condition(std::string_view condition) {
  const auto [sign, bound] = sign_and_bound(trimmed(condition));
  if (trimmed(condition).empty()) return "the condition is empty";
  if (!sign.empty() && !amount_of(bound)) return in_quotes(bound) + " is not a number to compare with";
  return {};
}

bool meets(const PointPattern& pattern, const std::function<std::string_view(const std::string&)>& value_of) {
  return std::ranges::all_of(pattern,
                             [&](const auto& entry) { return meets(entry.second, value_of(entry.first)); });
}

}  // namespace trainyard
