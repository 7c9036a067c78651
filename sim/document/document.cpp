#include "document/document.hpp"

#include "document/parts.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <type_traits>
#include <utility>

namespace trainyard::doc {

Column texts(std::string head, std::string key, Shown shown) {
  return {.key = std::move(key), .head = std::move(head), .shown = shown};
}

Column numbers(std::string head, std::string key, int dropped, Shown shown) {
  return {.key = std::move(key),
          .head = std::move(head),
          .layout = number_column().drops(dropped),
          .shown = shown};
}

Section& Document::section(std::string key, std::string heading, std::string remark) {
  return sections.emplace_back(
      Section{.key = std::move(key), .title = std::move(heading), .remark = std::move(remark)});
}

Section& Document::account(std::string key, std::string heading, std::size_t label_width) {
  Section& added = section(std::move(key), std::move(heading));
  added.is_untitled_in_text = true;
  added.label_width = label_width;
  return added;
}

Shown shown_of(const Part& part) {
  return std::visit(
      [](const auto& one) {
        using P = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<P, Bars> || std::is_same_v<P, Chart> || std::is_same_v<P, Lanes> ||
                      std::is_same_v<P, Points> || std::is_same_v<P, Drawing>)
          return Shown::browser;
        else if constexpr (std::is_same_v<P, Letters>)
          return Shown::text;
        else
          return one.shown;
      },
      part);
}

std::vector<const Part*> parts_of_page(const Section& section) {
  std::vector<const Part*> parts;
  for (const Part& part : section.parts)
    if (is_on_pages(shown_of(part))) parts.push_back(&part);
  return parts;
}

std::vector<const Section*> sections_of_page(const Document& document) {
  std::vector<const Section*> sections;
  for (const Section& section : document.sections)
    if (is_on_pages(section.shown) && (section.is_answer || !parts_of_page(section).empty()))
      sections.push_back(&section);
  // first the sentence that sums up, which the terminal prints at its end
  std::ranges::stable_sort(sections, {}, [](const Section* section) {
    return !section->is_answer ? 2 : section->is_untitled_in_text ? 0 : 1;
  });
  return sections;
}

std::string capitalised(std::string_view title) {
  std::string text(title);
  const bool is_key =
      title.substr(0, title.find(' ')).find('=') != std::string_view::npos;  // "nodes=1: 2 points"
  if (!text.empty() && !is_key)
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

namespace {

std::vector<double> numbers_of(const Chart& chart, double PlotPoint::*number, bool is_upright) {
  std::vector<double> numbers;
  for (const Chart::Series& one : chart.series)
    for (const PlotPoint& point : one.points) numbers.push_back(point.*number);
  for (const Chart::Rule& rule : chart.rules)
    if (rule.is_upright == is_upright) numbers.push_back(rule.at);
  return numbers;
}

}  // namespace

std::vector<double> numbers_across(const Chart& chart) { return numbers_of(chart, &PlotPoint::x, true); }
std::vector<double> numbers_upwards(const Chart& chart) { return numbers_of(chart, &PlotPoint::y, false); }

std::string in_one_line(const Labelled& labelled) {
  return labelled.label.empty() ? labelled.text : fmt::format("{}: {}", labelled.label, labelled.text);
}

}  // namespace trainyard::doc
