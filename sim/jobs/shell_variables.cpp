#include "jobs/shell_variables.hpp"

#include "jobs/shell_values.hpp"
#include "units/text.hpp"

#include <utility>

namespace trainyard::jobs {

void ShellVariables::assign(const std::string& name, Lined value, bool adds, int line,
                            const ShellBranches& branches) {
  const auto before = values_.find(name);
  if (before == values_.end() ? branches.is_choice()
                              : branches.is_unsure() && before->second.text != value.text)
    changed_in_branch_.insert(name);
  if (adds && before != values_.end()) {
    Lined sum = before->second;
    if (!value.text.starts_with(' ')) sum.add(' ', line);
    sum.add(value);
    value = std::move(sum);
  }
  values_[name] = std::move(value);
}

void ShellVariables::begin_loop(const std::string& name, Lined value, bool has_more) {
  values_[name] = std::move(value);
  if (has_more) changed_in_branch_.insert(name);
}

std::optional<std::string> ShellVariables::element(const std::string& name, std::string_view index) const {
  const auto found = elements_.find(name);
  if (found == elements_.end() || !index.ends_with(']')) return std::nullopt;
  index = index.substr(1, index.size() - 2);
  if (!jobs::is_digits(index) || index.size() > 6) return std::nullopt;
  const auto at = static_cast<std::size_t>(*parse_integer(index));
  return at < found->second.size() ? std::optional(found->second[at]) : std::nullopt;
}

const Lined* ShellVariables::value_of(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return nullptr;
  used_.insert(name);
  put_in_ += found->second.text.size();
  return are_too_long() ? nullptr : &found->second;
}

std::string ShellVariables::sum_of(std::string_view text) {
  std::string sum;
  for (std::size_t at = 0; at < text.size();) {
    if (!std::isalpha(static_cast<unsigned char>(text[at])) && text[at] != '_') {
      if (text[at] != '$' && text[at] != '{' && text[at] != '}') sum += text[at];
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string name(text.substr(at, end - at));
    const Lined* const value = value_of(name);
    const std::optional<long long> number = value == nullptr ? std::nullopt : integer_value(value->text);
    sum += number ? std::to_string(*number) : value != nullptr ? value->text : name;
    at = end;
  }
  return sum;
}

std::vector<std::string> ShellVariables::decided_by_conditions() const {
  std::vector<std::string> names;
  for (const std::string& name : used_) {
    if (changed_in_branch_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace trainyard::jobs
