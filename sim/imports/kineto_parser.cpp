#include "imports/kineto_parser.hpp"

#include "config/utf8.hpp"
#include "imports/group_layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <simdjson.h>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

namespace ondemand = simdjson::ondemand;

std::uint64_t number_in(std::string_view token) {
  if (token.starts_with('"')) token.remove_prefix(1);
  std::uint64_t number = ProfileEvent::no_number;
  const auto [end, problem] = std::from_chars(token.data(), token.data() + token.size(), number);
  return problem == std::errc() ? number : ProfileEvent::no_number;
}

/// The key of a field. Without a backslash it stands in the text as it is; only others are copied.
std::string_view key_of(simdjson::simdjson_result<ondemand::field>& field) {
  const char* const raw = field.key().raw();
  const char* end = raw;
  while (*end != '"' && *end != '\\') ++end;
  if (*end == '"') return {raw, static_cast<std::size_t>(end - raw)};
  return std::string_view(field.unescaped_key());
}

std::string_view trimmed_token(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

/// Whether importers need the strides of an operator's operands: for transposed matrices, the layout of
/// images.
bool needs_strides(std::string_view op) {
  return find_text(op, "mm") != std::string_view::npos || find_text(op, "onv") != std::string_view::npos ||
         find_text(op, "matmul") != std::string_view::npos;
}

/// A number of values; nothing for a text or a number below 0.
std::optional<double> count_in(ondemand::value value) {
  if (value.type() != ondemand::json_type::number) return std::nullopt;
  const double read = value.get_double();
  constexpr double most = 9007199254740992;  // 2^53: whole numbers up to there are exact
  return read >= 0 && read <= most ? std::optional(read) : std::nullopt;
}

void read_arguments(ondemand::object arguments, KinetoFields& fields) {
  for (auto field : arguments) {
    const std::string_view key = key_of(field);
    const auto token = [&] { return trimmed_token(field.value().raw_json_token()); };
    const auto raw = [&]() -> std::string_view {
      ondemand::value value = field.value();
      if (value.type() != ondemand::json_type::array) return {};
      ondemand::array array = value.get_array();
      return array.raw_json();
    };
    const auto number = [&] { return count_in(field.value()); };
    const auto text = [&]() -> std::string {
      ondemand::value value = field.value();
      if (value.type() != ondemand::json_type::string) return {};
      return std::string(std::string_view(value.get_string()));
    };
    if (key == "correlation") {
      fields.correlation = number_in(token());
    } else if (key == "stream") {
      fields.stream = token();
    } else if (key == "device") {
      fields.device = token();
    } else if (key == "Sequence number" || key == "Sequence Number") {
      fields.sequence = number_in(token());
    } else if (key == "Record function id") {
      fields.record = number_in(token());
    } else if (key == "Fwd thread id") {
      const std::uint64_t thread = number_in(token());
      fields.is_backward = thread > 0 && thread != ProfileEvent::no_number;
    } else if (key == "Input Dims" || key == "Input dims") {
      fields.dims = raw();
    } else if (key == "Input type") {
      fields.types = raw();
    } else if (key == "Input Strides" && needs_strides(fields.name)) {
      fields.strides = raw();
    } else if (key == "Concrete Inputs") {
      fields.values = raw();
    } else if (key == "Collective name") {
      fields.collective = text();
    } else if (key == "In msg nelems") {
      fields.in_values = number();
    } else if (key == "Out msg nelems") {
      fields.out_values = number();
    } else if (key == "dtype") {
      fields.dtype = text();
    } else if (key == "Group size") {
      fields.group_size = number();
    } else if (key == "Process Group Name") {
      fields.group = text();
    } else if (key == "Process Group Ranks") {
      fields.members = text();
    } else if (key == "Process Group Description") {
      fields.description = text();
    }
  }
}

/// The text of a field; a value of another type makes the event odd.
template <class Text>
void read_text(ondemand::value value, Text& text, bool& is_odd) {
  if (value.type() == ondemand::json_type::string) {
    text = std::string_view(value.get_string());
  } else {
    is_odd = true;
  }
}

void read_event(ondemand::object event, KinetoFields& fields) {
  for (auto field : event) {
    const std::string_view key = key_of(field);
    if (key == "ph") {
      read_text(field.value(), fields.phase, fields.is_odd);
    } else if (key == "cat") {
      read_text(field.value(), fields.category, fields.is_odd);
    } else if (key == "name") {
      read_text(field.value(), fields.name, fields.is_odd);
    } else if (key == "pid") {
      fields.process = trimmed_token(field.value().raw_json_token());
    } else if (key == "tid") {
      fields.thread = trimmed_token(field.value().raw_json_token());
    } else if (key == "ts") {
      fields.start = trimmed_token(field.value().raw_json_token());
    } else if (key == "dur") {
      fields.duration = trimmed_token(field.value().raw_json_token());
    } else if (key == "args") {
      ondemand::value value = field.value();
      if (value.type() == ondemand::json_type::object) read_arguments(value.get_object(), fields);
    }
  }
}

std::optional<double> number_of(ondemand::value value) {
  if (value.type() != ondemand::json_type::number) return std::nullopt;
  const double number = value.get_double();
  return number >= 0 && number <= 1e18 ? std::optional(number) : std::nullopt;
}

/// A number of ranks, or a rank.
std::optional<int> count_of(ondemand::value value) {
  const auto number = number_of(value);
  return number && *number <= 1e9 ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// The groups that the rank of the profile is in.
void read_groups(ondemand::array groups, KinetoFacts& facts) {
  for (auto group : groups) {
    std::string name;
    RankGroup known;
    for (auto field : group.get_object()) {
      const std::string_view key = std::string_view(field.unescaped_key());
      ondemand::value value = field.value();
      bool is_odd = false;
      if (key == "pg_name") {
        read_text(value, name, is_odd);
      } else if (key == "pg_desc") {
        read_text(value, known.description, is_odd);
      } else if (key == "pg_size") {
        known.size = count_of(value).value_or(0);
      } else if (key == "ranks" && value.type() == ondemand::json_type::array) {
        ondemand::array ranks = value.get_array();
        known.ranks = listed_ranks(std::string_view(ranks.raw_json())).value_or(std::vector<int>());
      }
    }
    facts.groups[name] = std::move(known);
  }
}

void read_ranks(ondemand::object info, KinetoFacts& facts) {
  for (auto field : info) {
    const std::string_view key = std::string_view(field.unescaped_key());
    ondemand::value value = field.value();
    if (key == "pg_config" && value.type() == ondemand::json_type::array)
      read_groups(value.get_array(), facts);
    if (key != "rank" && key != "world_size") continue;
    const auto number = count_of(value);
    if (number) (key == "rank" ? facts.rank : facts.ranks) = *number;
  }
}

void read_devices(ondemand::array devices, KinetoFacts& facts) {
  for (auto device : devices) {
    KinetoDevice& known = facts.devices.emplace_back();
    for (auto field : device.get_object()) {
      const std::string_view key = std::string_view(field.unescaped_key());
      ondemand::value value = field.value();
      bool is_odd = false;
      if (key == "name") {
        read_text(value, known.name, is_odd);
      } else if (key == "id") {
        known.id = number_of(value);
      } else if (key == "computeMajor") {
        known.major = number_of(value);
      } else if (key == "computeMinor") {
        known.minor = number_of(value);
      } else if (key == "numSms") {
        known.sms = number_of(value);
      } else if (key == "totalGlobalMem") {
        known.memory_bytes = number_of(value);
      }
    }
  }
}

}  // namespace

const std::size_t KinetoParser::padding = simdjson::SIMDJSON_PADDING;

struct KinetoParser::State {
  ondemand::parser parser;
  KinetoFields fields;
};

KinetoParser::KinetoParser() : state_(std::make_unique<State>()) {}
KinetoParser::~KinetoParser() = default;

const KinetoFields* KinetoParser::read(std::string_view event) {
  KinetoFields& fields = state_->fields;
  fields = KinetoFields{};
  try {
    ondemand::document document = state_->parser.iterate(
        simdjson::padded_string_view(event.data(), event.size(), event.size() + padding));
    read_event(document.get_object(), fields);
    return &fields;
  } catch (const simdjson::simdjson_error&) {
    return nullptr;
  }
}

KinetoFacts KinetoParser::facts(std::string text) {
  KinetoFacts facts;
  if (text.starts_with('[')) return facts;
  const std::size_t size = text.size();
  text.append(padding, ' ');
  try {
    ondemand::document document =
        state_->parser.iterate(simdjson::padded_string_view(text.data(), size, text.size()));
    for (auto field : document.get_object()) {
      const std::string_view key = std::string_view(field.unescaped_key());
      ondemand::value value = field.value();
      if (key == "distributedInfo" && value.type() == ondemand::json_type::object) {
        read_ranks(value.get_object(), facts);
      } else if (key == "deviceProperties" && value.type() == ondemand::json_type::array) {
        read_devices(value.get_array(), facts);
      }
    }
  } catch (const simdjson::simdjson_error&) {
    return facts;  // the events are whole; later facts stay unknown
  }
  return facts;
}

std::string_view quick_category(std::string_view event) {
  constexpr std::size_t key_length = 6;
  const std::size_t found = find_text(event, "\"cat\":");
  if (found == std::string_view::npos) return {};
  const std::size_t args = find_text(event.substr(0, found), "\"args\"");
  if (args != std::string_view::npos) return {};
  std::size_t begin = found + key_length;
  while (begin < event.size() && event[begin] == ' ') ++begin;
  if (begin >= event.size() || event[begin] != '"') return {};
  const std::size_t end = event.find('"', begin + 1);
  return end == std::string_view::npos ? std::string_view{} : event.substr(begin + 1, end - begin - 1);
}

std::optional<EventKind> event_kind_of(std::string_view category) {
  // since 2022; before, with a capital letter
  constexpr std::array<std::pair<std::string_view, EventKind>, 14> kinds_of_events{
      {{"cpu_op", EventKind::op},
       {"cuda_runtime", EventKind::launch},
       {"kernel", EventKind::kernel},
       {"user_annotation", EventKind::range},
       {"cuda_driver", EventKind::launch},
       {"gpu_memcpy", EventKind::copy},
       {"gpu_memset", EventKind::set},
       {"python_function", EventKind::module},
       {"hip_runtime", EventKind::launch},
       {"Operator", EventKind::op},
       {"Runtime", EventKind::launch},
       {"Kernel", EventKind::kernel},
       {"Memcpy", EventKind::copy},
       {"Memset", EventKind::set}}};
  const auto* const found =
      std::ranges::find(kinds_of_events, category, &std::pair<std::string_view, EventKind>::first);
  return found == kinds_of_events.end() ? std::nullopt : std::optional(found->second);
}

bool is_needless(std::string_view category, std::string_view event) {
  if (category == "python_function") return find_text(event, "nn.Module: ") == std::string_view::npos;
  return category.find('\\') == std::string_view::npos && !event_kind_of(category);
}

std::string repaired(std::string_view event) {
  std::string text;
  constexpr std::string_view key = "\"name\": \"";
  constexpr std::string_view behind = "\", \"pid\":";
  const std::size_t name = event.find(key);
  const std::size_t end = name == std::string_view::npos ? name : event.find(behind, name);
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (std::size_t i = 0; i < event.size(); ++i) {
    const char c = event[i];
    const bool is_in_name = end != std::string_view::npos && i >= name + key.size() && i < end;
    if (is_in_name && (c == '"' || c == '\\')) {
      const std::string_view next = event.substr(i + 1, 5);
      const bool is_escape =
          c == '\\' && i + 1 < end &&
          (std::string_view("\"\\/bfnrt").find(next.front()) != std::string_view::npos ||
           (next.size() == 5 && next.front() == 'u' && std::ranges::all_of(next.substr(1), is_hex)));
      if (is_escape) {
        text += c;
        text += event[++i];
        continue;
      }
      text += '\\';
    }
    text += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    if (is_in_name && c == '\n') text.back() = ' ';
  }
  config::replace_invalid_utf8(text);
  return text;
}

namespace {

constexpr double latest_ns = 4.6e18;

std::optional<std::int64_t> rounded_double(std::string_view text) {
  double us = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (problem != std::errc() || end != text.data() + text.size() || !(std::abs(us) < latest_ns / 1000))
    return std::nullopt;
  return std::llround(us * 1000);
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of_us(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const bool is_negative = text.starts_with('-');
  std::string_view digits = text.substr(is_negative ? 1 : 0);
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  if (digits.find_first_of("eE") != std::string_view::npos) return rounded_double(text);
  const std::size_t point = digits.find('.');
  std::int64_t whole = 0;
  const std::string_view integer = digits.substr(0, point);
  const auto [end, problem] = std::from_chars(integer.data(), integer.data() + integer.size(), whole);
  if (problem != std::errc() || end != integer.data() + integer.size()) return std::nullopt;
  constexpr std::int64_t most_whole = 4'600'000'000'000'000;
  if (whole > most_whole) return std::nullopt;
  std::int64_t ns = whole * 1000;
  if (point != std::string_view::npos) {
    std::int64_t weight = 100;
    bool is_first_beyond = true;
    for (const char c : digits.substr(point + 1)) {
      if (c < '0' || c > '9') return std::nullopt;
      if (weight > 0) {
        ns += (c - '0') * weight;
        weight /= 10;
      } else if (is_first_beyond) {
        is_first_beyond = false;
        if (c >= '5') ++ns;
      }
    }
  }
  return is_negative ? -ns : ns;
}

}  // namespace trainyard
