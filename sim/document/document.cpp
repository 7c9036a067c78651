#include "document/document.hpp"

#include "document/parts.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <type_traits>
#include <utility>

namespace trainyard::doc {

Section& Document::section(std::string key, std::string its_title, std::string remark) {
  return sections.emplace_back(
      Section{.key = std::move(key), .title = std::move(its_title), .remark = std::move(remark)});
}

Shown shown_of(const Part& part) {
  return std::visit(
      [](const auto& one) {
        using P = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<P, Bars> || std::is_same_v<P, Chart> || std::is_same_v<P, Drawing>)
          return Shown::browser;
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
  std::ranges::stable_partition(sections, [](const Section* section) { return section->is_answer; });
  return sections;
}

namespace {

/// Visits the texts of a part.
struct WordReplacer {
  const std::function<std::string(std::string_view)>& in_words;

  void all(auto&... texts) const { ((texts = in_words(texts)), ...); }

  void operator()(Sentence& part) const { all(part.text); }
  void operator()(Fact& part) const { all(part.label, part.value.text, part.remark); }
  void operator()(Share& part) const { all(part.label, part.meaning); }
  void operator()(Heading& part) const { all(part.title, part.remark); }
  void operator()(Drawing& part) const { all(part.html.markup); }
  void operator()(Command&) const {}
  void operator()(Listing&) const {}

  void operator()(List& part) const {
    for (Labelled& item : part.items) all(item.label, item.text);
  }

  void operator()(Table& part) const {
    all(part.title, part.folded);
    for (Column& column : part.columns) all(column.head);
    for (Row& row : part.rows) {
      all(row.rest);
      for (Cell& cell : row.cells) all(cell.value.text);
    }
  }

  void operator()(Bars& part) const {
    all(part.title);
    for (Bars::Bar& bar : part.bars) {
      all(bar.label);
      for (BarPart& one : bar.parts) all(one.name);
    }
  }

  void operator()(Chart& part) const {
    all(part.title, part.across_title, part.up_title);
    for (Chart::Series& one : part.series) all(one.name);
  }
};

}  // namespace

void replace_words(Section& section, const std::function<std::string(std::string_view)>& in_words) {
  section.title = in_words(section.title);
  section.remark = in_words(section.remark);
  for (Part& part : section.parts) std::visit(WordReplacer{in_words}, part);
}

std::string capitalised(std::string_view title) {
  std::string text(title);
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string in_one_line(const Labelled& labelled) {
  return labelled.label.empty() ? labelled.text : fmt::format("{}: {}", labelled.label, labelled.text);
}

}  // namespace trainyard::doc
