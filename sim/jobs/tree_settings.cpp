#include "jobs/tree_settings.hpp"

#include <algorithm>

namespace trainyard::jobs {
namespace {

using config::Node;

bool is_list_of_scalars(const Node& node) {
  const auto is_scalar = [](const Node& item) { return item.kind == Node::Kind::scalar; };
  return std::ranges::all_of(node.items, is_scalar);
}

class Flattened {
public:
  Flattened(const std::string& file, int first_line) : file_(file), first_line_(first_line) {}

  void add(const std::string& key, const Node& node) {
    switch (node.kind) {
      case Node::Kind::mapping:
        if (node.entries.empty()) add_value(key, "{}", node);
        for (const Node::Entry& entry : node.entries)
          add(key.empty() ? as_key(entry.key) : key + "." + as_key(entry.key), entry.value);
        return;
      case Node::Kind::sequence:
        if (is_list_of_scalars(node)) {
          std::string list;
          for (const Node& item : node.items) list += (list.empty() ? "" : ", ") + item.scalar;
          add_value(key, "[" + list + "]", node);
          return;
        }
        for (std::size_t i = 0; i < node.items.size(); ++i) add(key + "." + std::to_string(i), node.items[i]);
        return;
      case Node::Kind::scalar:
        add_value(key, node.scalar, node);
        return;
      case Node::Kind::null:
        add_value(key, "null", node);
        return;
    }
  }

  std::vector<Setting> settings;

private:
  void add_value(const std::string& key, std::string value, const Node& node) {
    const bool is_number =
        std::ranges::all_of(value, [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
    if (is_number && !value.starts_with('_')) std::erase(value, '_');  // 70_000
    settings.push_back({key, std::move(value), file_, node.mark.line + first_line_ - 1, false});
  }

  const std::string& file_;
  int first_line_;
};

}  // namespace

std::vector<Setting> settings_of(const config::Node& node, const std::string& file, int first_line) {
  Flattened flattened(file, first_line);
  flattened.add("", node);
  return std::move(flattened.settings);
}

}  // namespace trainyard::jobs
