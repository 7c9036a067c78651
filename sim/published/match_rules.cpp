#include "published/match_rules.hpp"

#include "units/letters.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

using Texts = std::vector<std::string> RowPattern::*;
using Column = std::string PublishedRow::*;

constexpr std::pair<Texts, Column> text_columns[] = {
    {&RowPattern::gpu, &PublishedRow::gpu},
    {&RowPattern::interconnect_intra, &PublishedRow::interconnect_intra},
    {&RowPattern::interconnect_inter, &PublishedRow::interconnect_inter},
    {&RowPattern::framework, &PublishedRow::framework},
    {&RowPattern::year, &PublishedRow::year},
    {&RowPattern::metric, &PublishedRow::metric},
    {&RowPattern::model, &PublishedRow::model},
    {&RowPattern::precision, &PublishedRow::precision},
    {&RowPattern::notes, &PublishedRow::notes},
    {&RowPattern::unit, &PublishedRow::unit},
    {&RowPattern::seq_len, &PublishedRow::seq_len},
    {&RowPattern::clean, &PublishedRow::clean},
    {&RowPattern::update, &PublishedRow::update}};

bool states(const PublishedRow& row, SizeColumn size) {
  const LayoutColumns sizes = row.layout.value_or(LayoutColumns{});
  switch (size) {
    case SizeColumn::layers:
      return sizes.layers > 0;
    case SizeColumn::hidden:
      return sizes.hidden > 0;
    case SizeColumn::heads:
      return sizes.heads > 0;
    case SizeColumn::vocabulary:
      return sizes.vocabulary > 0;
  }
  return false;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool matches(const std::vector<std::string>& texts, const std::string& column) {
  const std::string searched = small_letters(column);
  bool is_asked = false;
  bool is_met = false;
  for (const std::string& text : texts) {
    const bool is_forbidden = text.starts_with('!');
    const std::string sought = small_letters(std::string_view(text).substr(is_forbidden ? 1 : 0));
    const bool has = searched.find(sought) != std::string::npos;
    if (is_forbidden && has) return false;
    if (is_forbidden) continue;
    is_asked = true;
    is_met = is_met || has;
  }
  return is_met || !is_asked;
}

bool matches(const RowPattern& pattern, const PublishedRow& row) {
  if (pattern.several_nodes && *pattern.several_nodes != (row.nodes > 1)) return false;
  const auto& numbers = pattern.gpus_per_node;
  if (!numbers.empty() && std::ranges::find(numbers, row.gpus_per_node) == numbers.end()) return false;
  if (!std::ranges::all_of(pattern.states, [&](SizeColumn size) { return states(row, size); })) return false;
  return std::ranges::all_of(text_columns, [&](const auto& pair) {
    const std::vector<std::string>& texts = pattern.*pair.first;
    return texts.empty() || matches(texts, row.*pair.second);
  });
}

double stated_memory(std::string_view gpu) {
  const std::string text = small_letters(gpu);
  for (std::size_t unit = text.find("gb"); unit != std::string::npos; unit = text.find("gb", unit + 1)) {
    std::size_t end = unit;
    if (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '-')) --end;
    std::size_t begin = end;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    if (begin < end && end - begin <= 4) return std::stod(text.substr(begin, end - begin));
  }
  return 0;
}

const MachineRule* machine_of(const std::vector<MachineRule>& rules, const PublishedRow& row) {
  constexpr double same = 0.1;
  const double stated = stated_memory(row.gpu);
  for (const MachineRule& rule : rules) {
    if (stated > 0 && rule.memory > 0 && std::abs(stated - rule.memory) > same * rule.memory) continue;
    if (matches(rule.when, row)) return &rule;
  }
  return nullptr;
}

}  // namespace trainyard
