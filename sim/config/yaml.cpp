#include "config/yaml.hpp"

#include "config/positions.hpp"
#include "config/utf8.hpp"
#include "config/yaml_errors.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace trainyard::config {

namespace {

/// Ends parsing; the error has been recorded.
struct Stop {};

/// A mapping or list while it is read.
struct Frame {
  Node node;
  YAML::anchor_t anchor = 0;
  bool is_flow = false;
  std::size_t values = 1;  ///< number of nodes, itself included
  int height = 1;          ///< levels of nesting, itself included
  std::optional<Node> key = {};
  bool keep = true;  ///< false: the key is wrong, so the value is dropped
};

/// A finished node with its size.
struct Part {
  Node node;
  std::size_t values = 1;
  int height = 0;
};

/// Builds our tree from yaml-cpp's events. Events keep positions, show repeated keys and allow stopping
/// before the parser recurses too deep, unlike YAML::Node.
class Builder : public YAML::EventHandler {
public:
  Builder(const Document& document, const std::string& text)
      : document_(document), text_(text), positions_(document.lines, text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) stop_at_second_document(mark);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = make_node(Node::Kind::null, position(mark));
    // An empty value has no text, and yaml-cpp's mark is that of the next token.
    if (!frames_.empty() && frames_.back().key.has_value()) {
      node.mark = frames_.back().key->mark;
    } else if (!frames_.empty()) {
      node.mark = positions_.dash_before(mark.line, mark.pos).value_or(node.mark);
    }
    add(Part{std::move(node)}, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    Node node = make_node(Node::Kind::scalar, position(mark));
    node.scalar = value;
    node.quoted = tag == "!";
    if (node.quoted && !is_closed(text_, static_cast<std::size_t>(mark.pos))) {
      fail(node.mark, "this quote is never closed");
    }
    add(Part{std::move(node)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Mark here = position(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      fail(here, "this alias refers to a value it is part of");
    }
    if (at_key()) error(here, "an alias cannot be a key", "write the key out");
    check_depth(here, found->second.height);
    count(here, found->second.values);
    Part copy = found->second;
    copy.node.mark = here;
    add(std::move(copy), 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::sequence, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::mapping, mark, tag, anchor, style);
  }
  void OnMapEnd() override {
    report_repeated_keys(frames_.back().node);
    close();
  }

  /// Records yaml-cpp's error.
  void syntax_error(const YAML::ParserException& exception) {
    std::optional<Mark> bracket;
    for (const Frame& frame : frames_) {
      if (frame.is_flow) bracket = frame.node.mark;
    }
    const Mark mark = position(exception.mark);
    const SyntaxError explained = explain(exception.msg, mark, document_.lines, bracket);
    errors_.push_back(diagnostic_at(document_, explained.mark, 1, explained.message, explained.hint));
    is_whole_ = false;
  }

  void error(Mark mark, std::string message, std::string hint = {}, int width = 1) {
    constexpr std::size_t most_errors = 100;
    errors_.push_back(diagnostic_at(document_, mark, width, std::move(message), std::move(hint)));
    if (errors_.size() < most_errors) return;
    is_whole_ = false;
    throw Stop{};
  }

  void give_up() { is_whole_ = false; }

  YamlResult result() && { return {std::move(root_), std::move(errors_), is_whole_}; }

private:
  [[noreturn]] void fail(Mark mark, std::string message, std::string hint = {}) {
    error(mark, std::move(message), std::move(hint));
    is_whole_ = false;
    throw Stop{};
  }

  void stop_at_second_document(const YAML::Mark& mark) {
    const Mark here = position(mark);
    const std::string_view line = line_at(here);
    if (!line.starts_with("---")) fail(here, "this text belongs to nothing above", "check the indentation");
    error(here, "a second document starts here", "one file holds one document");
    throw Stop{};  // the first document is complete
  }

  Mark position(const YAML::Mark& mark) { return positions_.at(mark.line, mark.column); }

  [[nodiscard]] std::string_view line_at(Mark mark) const {
    if (mark.line < 1) return {};
    return document_.lines[static_cast<std::size_t>(mark.line - 1)];
  }

  [[nodiscard]] bool at_key() const {
    return !frames_.empty() && frames_.back().node.kind == Node::Kind::mapping && !frames_.back().key;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
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

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    check_tag(mark, tag);
    Frame frame{.node = make_node(kind, position(mark)), .anchor = anchor};
    frame.is_flow = style == YAML::EmitterStyle::Flow;
    check_depth(frame.node.mark, 1);
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    add(Part{std::move(frame.node), frame.values, frame.height}, frame.anchor);
  }

  /// Adds a finished node to its parent.
  void add(Part part, YAML::anchor_t anchor) {
    const Mark mark = part.node.mark;
    count(mark, 1);
    if (anchor != 0) {
      count(mark, part.values);  // the copy costs as much as the original
      anchors_[anchor] = part;
    }
    if (frames_.empty()) {
      root_ = std::move(part.node);
      return;
    }
    Frame& parent = frames_.back();
    parent.values += part.values;
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
  const std::string& text_;
  Positions positions_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Part> anchors_;
  Node root_;
  std::vector<Diagnostic> errors_;
  std::size_t values_ = 0;
  bool started_ = false;
  bool is_whole_ = true;
};

}  // namespace

YamlResult read_yaml(const Document& document, const std::string& text) {
  Builder builder(document, text);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    // A second call finds a second document, which would otherwise stay unread.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const Stop&) {
    // recorded
  } catch (const YAML::ParserException& exception) {
    builder.syntax_error(exception);
  } catch (const std::exception& exception) {
    builder.error({}, "cannot be read as YAML: " + std::string(exception.what()));
    builder.give_up();
  }
  return std::move(builder).result();
}

}  // namespace trainyard::config
