#include "config/yaml.hpp"

#include "config/positions.hpp"
#include "config/utf8.hpp"
#include "config/yaml_errors.hpp"
#include "units/control_characters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <string_view>
#include <utility>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace trainyard::config {

namespace {

/// Ends parsing; the error has been recorded.
struct Stop {};

/// A mapping or list while it is read.
struct Frame {
  Node node;
  std::size_t at = 0;  ///< where it begins in the text
  bool is_block = false;
  int depth = 1;  ///< levels of nesting that it is in, itself included
  YAML::anchor_t anchor = YAML::NullAnchor;
  std::size_t values = 1;  ///< number of nodes, itself included
  std::size_t bytes = 0;   ///< of all texts in it, keys included
  int height = 1;          ///< levels of nesting, itself included
  std::optional<Node> key = {};
  std::size_t key_at = 0;
  bool keep = true;  ///< false: the key is wrong, so the value is dropped
};

/// A finished node with its size.
struct Part {
  Node node;
  std::size_t values = 1;
  std::size_t bytes = 0;  ///< of its texts
  int height = 0;
};

/// Builds our tree from yaml-cpp's events. Events keep positions, show repeated keys and allow stopping
/// before the tree gets too deep.
class Builder : public YAML::EventHandler {
public:
  Builder(const Document& document, std::string_view text)
      : document_(document), text_(text), positions_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) stop_at_second_document(offset_of(mark));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::sequence, offset_of(mark), tag, anchor, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::mapping, offset_of(mark), tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    report_repeated_keys(frames_.back().node);
    close();
  }

  /// Whether the text has only characters that YAML allows; the first other one is recorded.
  bool check_characters() {
    const auto control = find_control(text_);
    if (control) forbid(positions_.at(control->at), *control);
    is_whole_ = !control;
    return is_whole_;
  }

  /// Records an error of yaml-cpp.
  void syntax_error(const YAML::Exception& exception) {
    is_whole_ = false;
    const auto is_flow = [](const Frame& frame) { return !frame.is_block; };
    const auto open = std::ranges::find_if(frames_.rbegin(), frames_.rend(), is_flow);
    const SyntaxError found = explain(
        exception.msg,
        {.text = text_,
         .at = offset_of(exception.mark),
         .read = last_,
         .flow = open == frames_.rend() ? last_ : open->at,
         .column =
             is_in(Node::Kind::mapping) && frames_.back().is_block ? frames_.back().node.mark.column : 0},
        positions_);
    // yaml-cpp takes parts of a bracket that is never closed for keys.
    std::erase_if(errors_, [&](const Diagnostic& error) {
      return std::pair(error.line, error.column) > std::pair(found.mark.line, found.mark.column);
    });
    errors_.push_back(diagnostic_at(document_, found.mark, 1, found.message, found.hint));
  }

  /// yaml-cpp has read a piece of the text. It may read a whole mapping or list in brackets before it
  /// delivers the first value: separators are counted, so that a hostile file does not fill the memory.
  void read_ahead(std::string_view piece) {
    constexpr std::string_view separators = "[{,";
    ahead_ += static_cast<std::size_t>(
        std::ranges::count_if(piece, [&](char c) { return separators.find(c) != std::string_view::npos; }));
    if (ahead_ > 2 * most_values) count(positions_.at(last_), most_values + 1);
  }

  void check_last_quote() {
    if (const std::size_t quote = unclosed_at(text_, last_); quote != std::string_view::npos)
      fail(positions_.at(quote), std::string(unclosed_quote));
  }

  /// yaml-cpp ignores directives that nothing follows.
  [[noreturn]] void stop_at_directive() { stop_at_second_document(start_of_directive(text_)); }

  void error(Mark mark, std::string message, std::string hint = {}, int width = 1) {
    constexpr std::size_t most_errors = 100;
    errors_.push_back(diagnostic_at(document_, mark, width, std::move(message), std::move(hint)));
    if (errors_.size() < most_errors) return;
    is_whole_ = false;
    throw Stop{};
  }

  YamlResult result() && { return {std::move(root_), std::move(errors_), is_whole_}; }

private:
  /// yaml-cpp counts on at the end of the text.
  [[nodiscard]] std::size_t offset_of(const YAML::Mark& mark) const {
    return std::min(static_cast<std::size_t>(std::max(0, mark.pos)), text_.size());
  }

  [[noreturn]] void fail(Mark mark, std::string message, std::string hint = {}) {
    error(mark, std::move(message), std::move(hint));
    is_whole_ = false;
    throw Stop{};
  }

  void forbid(Mark mark, const ControlCharacter& control) {
    error(mark, fmt::format("character U+{:04X} is not allowed", control.code));
  }

  /// An empty value has no text of its own: its key's mark, or its dash's.
  Mark mark_of_null(std::size_t at) {
    if (frames_.empty()) return positions_.at(at);
    const Frame& parent = frames_.back();
    if (parent.key) return parent.key->mark;
    return positions_.at(parent.is_block && parent.node.kind == Node::Kind::sequence ? item_start(text_, at)
                                                                                     : at);
  }

  [[noreturn]] void stop_at_second_document(std::size_t at) {
    const Mark here = positions_.at(at);
    if (!text_.substr(at).starts_with("---"))
      fail(here, "this text belongs to nothing above", "check the indentation");
    error(here, "a second document starts here", "one file holds one document");
    throw Stop{};  // the first document is complete
  }

  [[nodiscard]] bool is_in(Node::Kind kind) const {
    return !frames_.empty() && frames_.back().node.kind == kind;
  }

  [[nodiscard]] bool at_key() const { return is_in(Node::Kind::mapping) && !frames_.back().key; }

  /// yaml-cpp's tags of values without one are "?" and, in quotes, "!".
  void check_tag(std::size_t at, const std::string& tag) {
    if ((tag == "?" || tag == "!") && !text_.substr(at).starts_with('!')) return;
    error(positions_.at(at), "tags ('!') are not supported", "write the value without '!'");
  }

  /// A value or key is delivered.
  void reach(std::size_t at) {
    last_ = at;
    ahead_ = 0;
  }

  void check_depth(Mark mark, int depth) {
    if (depth <= deepest_nesting) return;
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

  void open(Node::Kind kind, std::size_t at, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    reach(at);
    check_tag(at, tag);
    Frame frame{.node = make_node(kind, positions_.at(at)),
                .at = at,
                .is_block = style == YAML::EmitterStyle::Block,
                .anchor = anchor};
    // A mapping that begins where its first key does is no level: yaml-cpp makes one of each bracket that is
    // never closed.
    if (!frames_.empty()) frame.depth = frames_.back().depth + (frames_.back().at == at ? 0 : 1);
    check_depth(frame.node.mark, frame.depth);
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    add(Part{std::move(frame.node), frame.values, frame.bytes, frame.height}, frame.anchor, frame.at);
  }

  /// Adds a finished node to its parent.
  void add(Part part, YAML::anchor_t anchor, std::size_t at) {
    const Mark mark = part.node.mark;
    count(mark, 1);
    if (anchor != YAML::NullAnchor) {
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
      parent.key_at = at;
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
  std::string_view text_;
  Positions positions_;
  std::size_t last_ = 0;   ///< where the last value or key that was delivered begins
  std::size_t ahead_ = 0;  ///< separators read since
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Part> anchors_;
  Node root_;
  std::vector<Diagnostic> errors_;
  std::size_t values_ = 0;
  std::size_t copied_bytes_ = 0;
  bool started_ = false;
  bool is_whole_ = true;
};

void Builder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const std::size_t at = offset_of(mark);
  if (is_in(Node::Kind::mapping) && frames_.back().is_block && frames_.back().key &&
      frames_.back().key_at == at)
    fail(frames_.back().key->mark, std::string(missing_colon));
  const bool may_be_empty = frames_.empty() || frames_.back().is_block || frames_.back().key;
  if (!may_be_empty && text_.substr(at).starts_with(','))
    fail(positions_.at(at), std::string(does_not_fit), std::string(what_to_check));
  add(Part{make_node(Node::Kind::null, mark_of_null(at))}, anchor, at);
}

void Builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  reach(offset_of(mark));
  const Mark here = positions_.at(last_);
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) fail(here, "this alias refers to a value it is part of");
  if (at_key()) error(here, "an alias cannot be a key", "write the key out");
  check_depth(here, (frames_.empty() ? 0 : frames_.back().depth) + found->second.height);
  count(here, found->second.values);
  count_copied(here, found->second.bytes);
  Part copy = found->second;
  copy.node.mark = here;
  add(std::move(copy), YAML::NullAnchor, last_);
}

void Builder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       const std::string& value) {
  reach(offset_of(mark));
  check_tag(last_, tag);
  Part part{make_node(Node::Kind::scalar, positions_.at(last_))};
  part.node.quoted = tag == "!";
  part.node.scalar = part.node.quoted ? mended_escapes(value) : value;
  if (part.node.quoted) {
    if (const auto control = find_control(part.node.scalar)) {
      forbid(part.node.mark, *control);
      part.node.scalar = without_controls(part.node.scalar);
    }
  }
  part.bytes = part.node.scalar.size();
  add(std::move(part), anchor, last_);
}

/// The text as a stream that says how far it was read.
class Source : public std::streambuf {
public:
  Source(const std::string& text, Builder& builder) : builder_(builder) {
    char* const begin = const_cast<char*>(text.data());  // a stream that is only read
    setg(begin, begin, begin + text.size());
  }

private:
  std::streamsize xsgetn(char* piece, std::streamsize size) override {
    const std::streamsize read = std::streambuf::xsgetn(piece, size);
    builder_.read_ahead({piece, static_cast<std::size_t>(read)});
    return read;
  }

  Builder& builder_;
};

}  // namespace

YamlResult read_yaml(const Document& document, const std::string& text) {
  Builder builder(document, text);
  Source source(text, builder);
  std::istream stream(&source);
  try {
    YAML::Parser parser(stream);
    for (bool has_more = builder.check_characters(); has_more;) {
      const bool has_text = static_cast<bool>(parser);
      has_more = parser.HandleNextDocument(builder);
      if (has_text && !has_more) builder.stop_at_directive();
    }
    builder.check_last_quote();
  } catch (const YAML::Exception& exception) {
    builder.syntax_error(exception);
  } catch (const Stop&) {  // recorded
  }
  return std::move(builder).result();
}

}  // namespace trainyard::config
