#include "jobs/shell_branches.hpp"

#include "jobs/shell_condition.hpp"

#include <algorithm>
#include <array>

namespace trainyard::jobs {

bool ShellBranches::take_word(std::string_view word) {
  constexpr std::array<std::string_view, 5> opening{"if", "case", "for", "while", "until"};
  constexpr std::array<std::string_view, 3> closing{"fi", "esac", "done"};
  if (std::ranges::find(opening, word) != opening.end()) {
    branches_.push_back({std::string(word), word != "if" && word != "case", word == "if"});
  } else if (std::ranges::find(closing, word) != closing.end()) {
    if (!branches_.empty()) branches_.pop_back();
  } else if (word == "then" || word == "else" || word == "elif") {
    if (!branches_.empty() && branches_.back().word == "if") continue_if(branches_.back(), word);
  } else {
    return word == "do" || word == "!";
  }
  return true;
}

void ShellBranches::continue_if(Branch& branch, std::string_view word) {
  branch.is_condition = word == "elif";
  branch.commands = 0;
  branch.skips = branch.was_taken;
  if (branch.is_condition || branch.was_taken) return;
  if (word == "then" && !branch.value) branch.is_unknown = true;
  branch.skips = word == "then" && branch.value == false;
  branch.was_taken = !branch.is_unknown && !branch.skips;
}

void ShellBranches::end_command(const std::vector<std::string>& words) {
  if (branches_.empty() || !branches_.back().is_condition || branches_.back().word != "if") return;
  Branch& branch = branches_.back();
  branch.value = ++branch.commands == 1 ? condition_value(words) : std::nullopt;
}

bool ShellBranches::take_pattern(char c, bool is_double, const std::vector<std::string>& words) {
  if (branches_.empty() || branches_.back().word != "case") return false;
  Branch& branch = branches_.back();
  if (!branch.subject) {  // "$NAME in"
    if (words.empty() || words.back() != "in") return false;
    branch.subject = words.front();
    branch.value = false;
    branch.is_condition = true;
    return true;
  }
  if (branch.is_condition) {
    if (c == '|' || c == ')') take_alternative(branch, c, words.empty() ? std::string_view() : words.back());
    return true;
  }
  branch.is_condition = c == ';' && is_double;
  if (branch.is_condition) branch.value = false;
  return false;
}

void ShellBranches::take_alternative(Branch& branch, char c, std::string_view pattern) {
  const std::optional<bool> fits = pattern_fits(pattern, *branch.subject);
  if (fits == true)
    branch.value = true;
  else if (!fits && branch.value == false)
    branch.value = std::nullopt;
  if (c == '|') return;
  branch.is_condition = false;
  if (!branch.value) branch.is_unknown = true;
  branch.skips = branch.was_taken || branch.value == false;
  branch.was_taken = branch.was_taken || branch.value == true;
}

bool ShellBranches::take_loop() {
  return !branches_.empty() && branches_.back().word == "for" && branches_.back().commands++ == 0;
}

bool ShellBranches::skips() const {
  return std::ranges::any_of(branches_, [](const Branch& branch) { return branch.skips; });
}

bool ShellBranches::is_unsure() const {
  return std::ranges::any_of(branches_, [](const Branch& branch) { return branch.is_unknown; });
}

bool ShellBranches::is_choice() const {
  return std::ranges::any_of(branches_, [](const Branch& branch) {
    return branch.is_unknown && (branch.word == "if" || branch.word == "case");
  });
}

}  // namespace trainyard::jobs
