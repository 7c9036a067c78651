#include "config/yaml.hpp"

#include "config/positions.hpp"
#include "config/utf8.hpp"
#include "config/yaml_errors.hpp"
#include "units/control_characters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <yaml.h>

namespace trainyard::config {

namespace {

/// Ends parsing; the error has been recorded.
struct Stop {};

/// One event of libyaml, freed at the end.
class Event {
public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* get() { return &event_; }

private:
  yaml_event_t event_{};
};

/// libyaml's parser of a text that outlives it.
class Parser {
public:
  explicit Parser(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { yaml_parser_delete(&parser_); }
  /// False after an error.
  bool next(Event& event) { return yaml_parser_parse(&parser_, event.get()) != 0; }
  [[nodiscard]] const yaml_parser_t& state() const { return parser_; }

private:
  yaml_parser_t parser_{};
};

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

/// Of a value without quotes.
bool is_null(std::string_view text) {
  constexpr std::array<std::string_view, 5> nulls{"", "~", "null", "Null", "NULL"};
  return std::ranges::find(nulls, text) != nulls.end();
}

/// A mapping or list while it is read.
struct Frame {
  Node node;
  std::string anchor = {};
  std::size_t values = 1;  ///< number of nodes, itself included
  std::size_t bytes = 0;   ///< of all texts in it, keys included
  int height = 1;          ///< levels of nesting, itself included
  std::optional<Node> key = {};
  bool keep = true;  ///< false: the key is wrong, so the value is dropped
};

/// A finished node with its size.
struct Part {
  Node node;
  std::size_t values = 1;
  std::size_t bytes = 0;  ///< of its texts
  int height = 0;
};

/// Builds our tree from libyaml's events. Events keep positions, show repeated keys and allow stopping before
/// the tree gets too deep.
class Builder {
public:
  Builder(const Document& document, const std::string& text) : document_(document), positions_(text) {}

  void take(const yaml_event_t& event) {
    const auto& data = event.data;
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(started_, true)) stop_at_second_document(event.start_mark);
        return;
      case YAML_ALIAS_EVENT:
        return add_alias(position(event.start_mark), text_of(data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return add_scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(Node::Kind::sequence, event.start_mark, data.sequence_start.tag,
                    data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT:
        return open(Node::Kind::mapping, event.start_mark, data.mapping_start.tag, data.mapping_start.anchor);
      case YAML_MAPPING_END_EVENT:
        report_repeated_keys(frames_.back().node);
        return close();
      case YAML_SEQUENCE_END_EVENT:
        return close();
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
      case YAML_STREAM_END_EVENT:
      case YAML_DOCUMENT_END_EVENT:
        return;
    }
  }

  /// Records libyaml's error.
  void syntax_error(const yaml_parser_t& parser) {
    is_whole_ = false;
    if (parser.error == YAML_READER_ERROR) {
      const Mark mark = positions_.at_byte(parser.problem_offset);
      errors_.push_back(diagnostic_at(
          document_, mark, 1, fmt::format("character U+{:04X} is not allowed", parser.problem_value), ""));
      return;
    }
    const SyntaxError explained =
        explain(parser.problem == nullptr ? "not YAML" : parser.problem, position(parser.problem_mark),
                position(parser.context_mark), document_.lines);
    errors_.push_back(diagnostic_at(document_, explained.mark, 1, explained.message, explained.hint));
  }

  void error(Mark mark, std::string message, std::string hint = {}, int width = 1) {
    constexpr std::size_t most_errors = 100;
    errors_.push_back(diagnostic_at(document_, mark, width, std::move(message), std::move(hint)));
    if (errors_.size() < most_errors) return;
    is_whole_ = false;
    throw Stop{};
  }

  YamlResult result() && { return {std::move(root_), std::move(errors_), is_whole_}; }

private:
  [[noreturn]] void fail(Mark mark, std::string message, std::string hint = {}) {
    error(mark, std::move(message), std::move(hint));
    is_whole_ = false;
    throw Stop{};
  }

  void add_scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    check_tag(event.start_mark, scalar.tag);
    Part part{make_node(Node::Kind::scalar, position(event.start_mark))};
    part.node.scalar.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    part.node.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
    // libyaml refuses them as they are, not written as escapes
    if (const auto control = find_control(part.node.scalar)) {
      error(part.node.mark, fmt::format("character U+{:04X} is not allowed", control->code));
      part.node.scalar = without_controls(part.node.scalar);
    }
    if (!part.node.quoted && is_null(part.node.scalar)) {
      part.node = make_node(Node::Kind::null, mark_of_null(event));
    }
    part.bytes = part.node.scalar.size();
    add(std::move(part), text_of(scalar.anchor));
  }

  /// An empty value has no text of its own: its key's mark, or its dash's.
  Mark mark_of_null(const yaml_event_t& event) {
    if (!frames_.empty() && frames_.back().key.has_value()) return frames_.back().key->mark;
    const bool is_empty = event.data.scalar.length == 0;
    const bool is_item = !frames_.empty() && frames_.back().node.kind == Node::Kind::sequence;
    const std::size_t at = event.start_mark.index;
    return positions_.at(is_empty && is_item && at > 0 ? at - 1 : at);
  }

  void add_alias(Mark here, const std::string& anchor) {
    const auto is_open = [&](const Frame& frame) { return frame.anchor == anchor; };
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() && std::ranges::any_of(frames_, is_open))
      fail(here, "this alias refers to a value it is part of");
    if (found == anchors_.end()) {
      fail(here, "this alias refers to no anchor",
           "define it above with '&name', or quote a text that starts with '*'");
    }
    if (at_key()) error(here, "an alias cannot be a key", "write the key out");
    check_depth(here, found->second.height);
    count(here, found->second.values);
    count_copied(here, found->second.bytes);
    Part copy = found->second;
    copy.node.mark = here;
    add(std::move(copy), {});
  }

  void stop_at_second_document(const yaml_mark_t& mark) {
    const Mark here = position(mark);
    const std::string_view line = line_at(here);
    if (!line.starts_with("---")) fail(here, "this text belongs to nothing above", "check the indentation");
    error(here, "a second document starts here", "one file holds one document");
    throw Stop{};  // the first document is complete
  }

  Mark position(const yaml_mark_t& mark) { return positions_.at(mark.index); }

  [[nodiscard]] std::string_view line_at(Mark mark) const {
    if (mark.line < 1) return {};
    return document_.lines[static_cast<std::size_t>(mark.line - 1)];
  }

  [[nodiscard]] bool at_key() const {
    return !frames_.empty() && frames_.back().node.kind == Node::Kind::mapping && !frames_.back().key;
  }

  void check_tag(const yaml_mark_t& mark, const yaml_char_t* tag) {
    if (tag == nullptr) return;
    error(position(mark), "tags ('!') are not supported", "write the value without '!'");
  }

  void check_depth(Mark mark, int added) {
    if (static_cast<int>(frames_.size()) + added <= deepest_nesting) return;
    fail(mark, "nested deeper than " + std::to_string(deepest_nesting) + " levels");
  }

  void count(Mark mark, std::size_t values) {
    values_ += values;
    if (values_ <= most_values) return;
    fail(mark, "the document has more than " + std::to_string(most_values) + " values",
         "aliases count as often as they are used");
  }

  /// Few values may be long texts.
  void count_copied(Mark mark, std::size_t bytes) {
    copied_bytes_ += bytes;
    if (copied_bytes_ <= most_copied_bytes) return;
    fail(mark,
         fmt::format("the aliases of the document copy more than {} MiB of text", most_copied_bytes >> 20U),
         "each alias is a copy of its value: shorten the value, or use fewer aliases");
  }

  void open(Node::Kind kind, const yaml_mark_t& mark, const yaml_char_t* tag, const yaml_char_t* anchor) {
    check_tag(mark, tag);
    Frame frame{.node = make_node(kind, position(mark)), .anchor = text_of(anchor)};
    check_depth(frame.node.mark, 1);
    anchors_.erase(frame.anchor);  // an alias means the last value of its name
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    add(Part{std::move(frame.node), frame.values, frame.bytes, frame.height}, frame.anchor);
  }

  /// Adds a finished node to its parent.
  void add(Part part, const std::string& anchor) {
    const Mark mark = part.node.mark;
    count(mark, 1);
    if (!anchor.empty()) {
      count(mark, part.values);  // the copy costs as much as the original
      count_copied(mark, part.bytes);
      anchors_[anchor] = part;
    }
    if (frames_.empty()) {
      root_ = std::move(part.node);
      return;
    }
    Frame& parent = frames_.back();
    parent.values += part.values;
    parent.bytes += part.bytes;
    parent.height = std::max(parent.height, part.height + 1);
    if (parent.node.kind == Node::Kind::sequence) {
      parent.node.items.push_back(std::move(part.node));
    } else if (!parent.key) {
      parent.keep = is_usable_key(part.node);
      parent.key = std::move(part.node);
    } else {
      if (parent.keep) {
        parent.node.entries.push_back(
            {std::move(parent.key->scalar), parent.key->mark, std::move(part.node)});
      }
      parent.key.reset();
    }
  }

  bool is_usable_key(const Node& key) {
    if (key.kind != Node::Kind::scalar) {
      const std::string kind = key.kind == Node::Kind::null       ? "nothing"
                               : key.kind == Node::Kind::sequence ? "a list"
                                                                  : "a mapping";
      error(key.mark, "a key must be a word, not " + kind,
            key.kind == Node::Kind::mapping ? "'{{...}}' is not expanded here" : "");
      return false;
    }
    if (key.scalar == "<<" && !key.quoted) {
      error(key.mark, "merge keys ('<<') are not supported", "write the keys out", 2);
      return false;
    }
    return true;
  }

  void report_repeated_keys(const Node& mapping) {
    std::map<std::string_view, Mark> seen;
    for (const Node::Entry& entry : mapping.entries) {
      const auto [first, is_new] = seen.emplace(entry.key, entry.mark);
      if (is_new) continue;
      error(entry.mark, "key " + in_quotes(entry.key) + " is repeated",
            "first on line " + std::to_string(first->second.line), std::max(1, count_characters(entry.key)));
    }
  }

  const Document& document_;
  Positions positions_;
  std::vector<Frame> frames_;
  std::map<std::string, Part> anchors_;
  Node root_;
  std::vector<Diagnostic> errors_;
  std::size_t values_ = 0;
  std::size_t copied_bytes_ = 0;
  bool started_ = false;
  bool is_whole_ = true;
};

}  // namespace

YamlResult read_yaml(const Document& document, const std::string& text) {
  Builder builder(document, text);
  Parser parser(text);
  try {
    while (true) {
      Event event;
      if (!parser.next(event)) {
        builder.syntax_error(parser.state());
        break;
      }
      if (event.get()->type == YAML_STREAM_END_EVENT) break;
      builder.take(*event.get());
    }
  } catch (const Stop&) {  // recorded
  }
  return std::move(builder).result();
}

}  // namespace trainyard::config
