#include "config/read.hpp"

#include "config/assumed_values.hpp"
#include "config/suggest.hpp"
#include "units/range_text.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>
#include <variant>

namespace trainyard::config {

namespace {

void report(Reader& reader, const Node& node, std::string message, std::string hint = {}) {
  reader.problems.unreadable(reader.path, node.mark, width_of(reader.document, node), std::move(message),
                             std::move(hint));
}

std::string_view word_of(Node::Kind kind) {
  static constexpr std::array<std::string_view, 4> words{"nothing", "a single value", "a list", "a mapping"};
  return words.at(static_cast<std::size_t>(kind));
}

/// Reports a node of the wrong kind; `expected` is "a list", `hint` the correction.
bool expect(Reader& reader, const Node& node, Node::Kind kind, std::string_view expected,
            std::string hint = {}) {
  if (node.kind == kind) return true;
  if (node.kind == Node::Kind::null) {
    report(reader, node, "value is missing: expected " + std::string(expected), std::move(hint));
  } else {
    report(reader, node, "expected " + std::string(expected) + ", not " + std::string(word_of(node.kind)),
           std::move(hint));
  }
  return false;
}

/// "must be above 0 B/s and at most 100 TB/s"; `show` prints a bound.
template <class Show>
std::string range_hint(const Range& range, Show show) {
  std::string text = "must be ";
  if (range.minimum) text += (range.minimum_excluded ? "above " : "at least ") + show(*range.minimum);
  if (range.minimum && range.maximum) text += " and ";
  if (range.maximum) text += "at most " + show(*range.maximum);
  return text;
}

/// "1000000", not "1e+06".
std::string plain(double bound) {
  constexpr double most = 1e15;
  return std::abs(bound) < most && bound == std::trunc(bound) ? std::to_string(static_cast<long long>(bound))
                                                              : shortest(bound);
}

bool inside(const Range& range, double value) {
  if (range.minimum && value < *range.minimum) return false;
  if (range.minimum_excluded && range.minimum && value == *range.minimum) return false;
  return !range.maximum || value <= *range.maximum;
}

/// Nothing real is smaller, in SI units: a quotient with a number near the end of doubles overflows.
constexpr double smallest = 1e-15;

/// `least`: of a value that is not 0.
template <class Show>
bool check_range(Reader& reader, const Node& node, const Range& range, double value, Show show,
                 double least = smallest) {
  if (inside(range, value) && value != 0 && std::abs(value) < least) {
    report(reader, node, in_quotes(node.scalar) + " is implausibly small",
           fmt::format("must be at least {}{}", show(least), inside(range, 0) ? ", or 0" : ""));
    return false;
  }
  if (inside(range, value)) return true;
  report(reader, node, in_quotes(node.scalar) + " is out of range", range_hint(range, show));
  return false;
}

/// A number must not be text in quotes.
bool expect_plain(Reader& reader, const Node& node, std::string_view expected) {
  if (!expect(reader, node, Node::Kind::scalar, expected)) return false;
  if (!node.quoted) return true;
  report(reader, node, in_quotes(node.scalar) + " is text: expected " + std::string(expected),
         "write it without quotes");
  return false;
}

/// The value of a text; empty if it has none, which is reported.
template <class T>
std::optional<T> parsed(Reader& reader, const Node& node, const Parsed<T>& result) {
  if (result) return *result;
  report(reader, node, result.error().message,
         plain_range(node.scalar) ? "one value: only 'trainyard run' takes a range, of experiments' keys"
                                  : result.error().hint);
  return std::nullopt;
}

template <class Integer>
void read_integer(Reader& reader, const Node& node, const Range& range, Integer& value) {
  if (!expect_plain(reader, node, "a whole number")) return;
  const auto read = parsed(reader, node, parse_integer(node.scalar));
  if (!read) return;
  const long long number = *read;
  if (number > std::numeric_limits<Integer>::max() || number < std::numeric_limits<Integer>::min()) {
    report(reader, node, in_quotes(node.scalar) + " is too large",
           "at most " + std::to_string(std::numeric_limits<Integer>::max()));
    return;
  }
  if (check_range(reader, node, range, static_cast<double>(number), plain)) {
    value = static_cast<Integer>(number);
  }
}

}  // namespace

std::string choice_hint(std::string_view word, std::span<const std::string_view> names,
                        std::span<const OtherWord> other_words) {
  const auto is_it = [&](const OtherWord& other) { return is_same_word(other.word, word); };
  const auto known = std::ranges::find_if(other_words, is_it);
  return known == other_words.end() ? suggest(word, names) : std::string(known->key);
}

std::string key_hint(std::string_view word, std::string_view path, std::span<const std::string_view> names,
                     std::span<const OtherWord> other_words) {
  const auto is_it = [&](const OtherWord& other) { return is_same_word(other.word, word); };
  const auto known = std::ranges::find_if(other_words, is_it);
  if (known == other_words.end()) return suggest(word, names);
  std::string_view key = known->key;
  if (!path.empty() && key.starts_with(path) && key.substr(path.size()).starts_with('.'))
    key.remove_prefix(path.size() + 1);
  if (key.find(' ') != std::string_view::npos) return std::string(key);
  return "did you mean '" + std::string(key) + "'?";
}

Step::Step(Reader& reader, std::string_view key) : reader_(reader), length_(reader.path.size()) {
  reader.path = join(reader.path, key);
}

Step::Step(Reader& reader, std::size_t index) : reader_(reader), length_(reader.path.size()) {
  reader.path = join(reader.path, index);
}

void read_scalar(Reader& reader, const Node& node, const Range&, bool& value) {
  if (!expect_plain(reader, node, "true or false")) return;
  if (node.scalar == "true" || node.scalar == "false") {
    value = node.scalar == "true";
    return;
  }
  report(reader, node, in_quotes(node.scalar) + " is neither true nor false", "true or false");
}

void read_scalar(Reader& reader, const Node& node, const Range& range, int& value) {
  read_integer(reader, node, range, value);
}

void read_scalar(Reader& reader, const Node& node, const Range& range, long long& value) {
  read_integer(reader, node, range, value);
}

void read_scalar(Reader& reader, const Node& node, const Range& range, double& value) {
  if (!expect_plain(reader, node, "a number")) return;
  const auto number = parsed(reader, node, parse_number(node.scalar));
  if (number && check_range(reader, node, range, *number, plain)) value = *number;
}

void read_scalar(Reader& reader, const Node& node, const Range&, std::string& value) {
  if (expect(reader, node, Node::Kind::scalar, "text")) value = node.scalar;
}

template <class Q>
requires is_quantity<Q>
void read_scalar(Reader& reader, const Node& node, const Range& range, Q& value) {
  const std::string expected = "a number with a unit (" + std::string(quantity_name<Q>()) + ")";
  const std::string example = "for example " + std::string(quantity_example<Q>());
  if (!expect(reader, node, Node::Kind::scalar, expected, example)) return;
  const auto quantity = parsed(reader, node, parse_quantity<Q>(node.scalar));
  const auto show = [](double bound) { return exact(Q(bound)); };
  constexpr double least = std::is_same_v<Q, Bandwidth> ? 1 : smallest;
  if (quantity && check_range(reader, node, range, quantity->si(), show, least)) value = *quantity;
}
template void read_scalar(Reader&, const Node&, const Range&, Seconds&);
template void read_scalar(Reader&, const Node&, const Range&, Bytes&);
template void read_scalar(Reader&, const Node&, const Range&, Bandwidth&);
template void read_scalar(Reader&, const Node&, const Range&, Flops&);
template void read_scalar(Reader&, const Node&, const Range&, FlopRate&);
template void read_scalar(Reader&, const Node&, const Range&, Joules&);
template void read_scalar(Reader&, const Node&, const Range&, Watts&);
template void read_scalar(Reader&, const Node&, const Range&, Dollars&);

void refuse_choice(Reader& reader, const Node& node, std::span<const std::string_view> names,
                   std::string_view what, std::span<const OtherWord> other_words) {
  const std::string hint = choice_hint(node.scalar, names, other_words);
  if (expect(reader, node, Node::Kind::scalar, "a name", hint))
    report(reader, node, "unknown " + std::string(what) + " " + in_quotes(node.scalar), hint);
}

bool open_mapping(Reader& reader, const Node& node, std::span<const KeyInfo> keys,
                  std::span<const OtherWord> other_words) {
  if (!expect(reader, node, Node::Kind::mapping, "a mapping (key: value)")) return false;
  std::vector<std::string_view> names;
  for (const KeyInfo& key : keys) names.push_back(key.name);
  const std::string path = reader.path;
  for (const Node::Entry& entry : node.entries) {
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    const Step step(reader, entry.key);
    const Node as_written = make_node(Node::Kind::null, entry.mark);
    reader.problems.unreadable(reader.path, entry.mark, width_of(reader.document, as_written),
                               "unknown key " + in_quotes(entry.key),
                               key_hint(entry.key, path, names, other_words));
  }
  for (const KeyInfo& key : keys) {
    if (!key.is_required || node.find(key.name) != nullptr) continue;
    const Step step(reader, key.name);
    reader.problems.unreadable(reader.path, node.mark, 1, "key " + in_quotes(key.name) + " is missing");
  }
  return true;
}

bool open_map(Reader& reader, const Node& node) {
  return expect(reader, node, Node::Kind::mapping, "a mapping (key: value)");
}

Node written_out(const Node& node, std::span<const std::string_view> keys) {
  const bool one_each =
      keys.size() > 1 && node.kind == Node::Kind::sequence && node.items.size() == keys.size();
  Node mapping = make_node(Node::Kind::mapping, node.mark);
  for (std::size_t i = 0; i < keys.size(); ++i)
    mapping.entries.push_back({std::string(keys[i]), node.mark, one_each ? node.items[i] : node});
  return mapping;
}

Node key_alone(const Node& node) {
  Node mapping = make_node(Node::Kind::mapping, node.mark);
  mapping.entries.push_back({node.scalar, node.mark, make_node(Node::Kind::mapping, node.mark)});
  return mapping;
}

bool open_list(Reader& reader, const Node& node) {
  return expect(reader, node, Node::Kind::sequence, "a list",
                node.kind == Node::Kind::scalar ? "[" + node.scalar + "]" : "");
}

namespace {

/// The range in which an assumed value may lie.
void check_assumed_range(Reader& reader, const Node& sourced, const Node& range) {
  if (!expect(reader, range, Node::Kind::scalar, "a range such as 5..20 GB/s")) return;
  if (sourced.find("assumed") == nullptr)
    return report(reader, range, "only an assumed value has a range", "assumed: why it is this value");
  const std::optional<RangeEnds> ends = plain_range(range.scalar);
  if (!ends)
    return report(reader, range, in_quotes(range.scalar) + " is not a range",
                  "two numbers, the lower one first, and their unit: 5..20 GB/s");
  const Node* const value = sourced.find("value");
  if (value != nullptr && (value->kind != Node::Kind::scalar || !lies_in(value->scalar, *ends)))
    report(reader, range, "the value does not lie in its range",
           "a range around the value, in units of the same kind");
}

}  // namespace

const Node* open_sourced(Reader& reader, const Node& node, Provenance& provenance, std::string& source) {
  constexpr std::string_view hint = "one of measured, fitted, specified, assumed";
  std::vector<KeyInfo> keys{{"value", true}};
  for (const std::string_view name : provenance_keys) {
    if (!name.empty()) keys.push_back({name});
  }
  keys.push_back({assumed_range_key});
  open_mapping(reader, node, keys);
  std::vector<std::size_t> stated;
  for (std::size_t i = 1; i < provenance_keys.size(); ++i) {
    if (node.find(provenance_keys[i]) != nullptr) stated.push_back(i);
  }
  if (stated.empty()) {
    reader.problems.unreadable(reader.path, node.mark, 1, "the source of this value is missing",
                               "add " + std::string(hint));
  } else if (stated.size() > 1) {
    const Node& second = *node.find(provenance_keys[stated[1]]);
    report(reader, second,
           "the value cannot be both " + std::string(provenance_keys[stated[0]]) + " and " +
               std::string(provenance_keys[stated[1]]),
           std::string(hint));
  } else {
    const std::string_view key = provenance_keys[stated[0]];
    const Node& text = *node.find(key);
    const Step step(reader, key);
    if (expect(reader, text, Node::Kind::scalar, "a source in words")) {
      if (text.scalar.empty()) report(reader, text, "the source is empty");
      provenance = static_cast<Provenance>(stated[0]);
      source = text.scalar;
    }
  }
  if (const Node* const range = node.find(assumed_range_key)) {
    const Step step(reader, assumed_range_key);
    check_assumed_range(reader, node, *range);
  }
  return node.find("value");
}

}  // namespace trainyard::config
