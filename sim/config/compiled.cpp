#include "config/compiled.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

// Defined in the source that the build writes; null in a program that is linked without it.
extern "C" {
[[gnu::weak]] extern const char trainyard_shipped_files[];
}

namespace trainyard::config {

namespace {

// An index of the texts, ordered by size, in front of the texts and trees. A tree is a node: kind and quotes,
// position, text, and the number of items or entries, which follow. All numbers have 32 bits and stand in the
// byte order of the machine that builds the program and runs it.
using Number = std::uint32_t;

struct IndexedFile {
  Number size = 0;  ///< of the text
  Number text = 0;  ///< its offset
  Number tree = 0;
};

class Writer {
public:
  void number(std::size_t value) {
    const auto written = static_cast<Number>(value);
    bytes_.append(reinterpret_cast<const char*>(&written), sizeof written);
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }
  void mark(Mark mark) {
    number(static_cast<std::size_t>(mark.line));
    number(static_cast<std::size_t>(mark.column));
  }
  void node(const Node& node) {
    number(static_cast<std::size_t>(node.kind) * 2 + (node.quoted ? 1 : 0));
    mark(node.mark);
    text(node.scalar);
    number(node.items.size() + node.entries.size());
    for (const Node& item : node.items) this->node(item);
    for (const Node::Entry& entry : node.entries) {
      text(entry.key);
      mark(entry.mark);
      this->node(entry.value);
    }
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

class Tree {
public:
  explicit Tree(const char* at) : at_(at) {}

  void read(Node& node) {
    const Number kind = number();
    node.kind = static_cast<Node::Kind>(kind / 2);
    node.quoted = kind % 2 == 1;
    node.mark = mark();
    node.scalar = text();
    const Number count = number();
    if (node.kind == Node::Kind::sequence) {
      node.items.resize(count);
      for (Node& item : node.items) read(item);
    } else {
      node.entries.resize(count);
      for (Node::Entry& entry : node.entries) {
        entry.key = text();
        entry.mark = mark();
        read(entry.value);
      }
    }
  }

private:
  Number number() {
    Number value = 0;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Mark mark() {
    const auto line = static_cast<int>(number());
    return {line, static_cast<int>(number())};
  }
  std::string_view text() {
    const Number size = number();
    return {std::exchange(at_, at_ + size), size};
  }

  const char* at_;
};

}  // namespace

std::optional<Node> compiled_tree(std::string_view text) {
  const char* const bytes = trainyard_shipped_files;
  if (bytes == nullptr) return std::nullopt;
  Number count = 0;
  std::memcpy(&count, bytes, sizeof count);
  const auto* const index = reinterpret_cast<const IndexedFile*>(bytes + sizeof count);
  for (const IndexedFile& file :
       std::ranges::equal_range(index, index + count, text.size(), {}, &IndexedFile::size)) {
    if (std::memcmp(bytes + file.text, text.data(), text.size()) != 0) continue;
    std::optional<Node> root(std::in_place);
    Tree(bytes + file.tree).read(*root);
    return root;
  }
  return std::nullopt;
}

std::string compile(std::vector<ReadText> files) {
  std::ranges::sort(files, {}, [](const ReadText& file) { return std::pair(file.text.size(), file.text); });
  Writer head;
  Writer body;
  head.number(files.size());
  const std::size_t begin = sizeof(Number) + files.size() * sizeof(IndexedFile);
  for (const ReadText& file : files) {
    head.number(file.text.size());
    head.number(begin + body.bytes().size() + sizeof(Number));
    body.text(file.text);
    head.number(begin + body.bytes().size());
    body.node(file.root);
  }
  return head.bytes() + body.bytes();
}

}  // namespace trainyard::config
