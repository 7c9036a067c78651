#include "workload/list_names.hpp"

#include "config/document.hpp"
#include "workload/layer_graph.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace trainyard {

namespace {

/// Whether traces can hold the name and rules can match it: other signs separate or stand for others there.
bool is_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && std::ranges::all_of(name, is_allowed);
}

}  // namespace

void ListNames::open(const std::vector<ListedLayer>& list, const std::string& path, std::string prefix) {
  Scope scope{.prefix = std::move(prefix), .values = {}, .numbers = {}};
  reserve(list, path, scope);
  scopes_.push_back(std::move(scope));
}

/// Names that the user gives are not given to other layers.
void ListNames::reserve(const std::vector<ListedLayer>& list, const std::string& path, Scope& scope) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].name) continue;
    const std::string& name = *list[i].name;
    const std::string at = config::join(config::join(path, i), "name");
    if (name == input || name == previous)
      refuse_key(at, fmt::format("'{}' always has another meaning", name), "use another name");
    if (!is_name(name))
      refuse_key(at, fmt::format("'{}' cannot be a name", name), "use letters, digits, '_' and '-'");
    if (!seen.insert(name).second)
      refuse_key(at, fmt::format("two layers of this list are called '{}'", name), "use another name");
    scope.numbers.insert({name, 0});
  }
}

std::string ListNames::next(std::string_view kind) {
  Scope& scope = scopes_.back();
  int& number = scope.numbers[std::string(kind)];
  std::string name;
  do {
    name = fmt::format("{}{}", kind, ++number);
  } while (scope.numbers.contains(name));
  return name;
}

void ListNames::set(std::string_view name, ListedValues values) {
  scopes_.back().values.insert_or_assign(std::string(name), std::move(values));
}

const ListedValues& ListNames::find(std::string_view name, const std::string& path) const {
  if (name == previous) return previous_;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
  }
  refuse_key(path, fmt::format("no earlier layer is called '{}'", name),
             "name a layer above, in this list or around it; 'input' is what enters the list");
}

}  // namespace trainyard
