#include "units/text_pattern.hpp"

#include <regex>

namespace trainyard {

namespace {

TextPattern::Match texts_of(const std::smatch& found) {
  TextPattern::Match texts;
  for (const std::ssub_match& group : found) texts.push_back(group.str());
  return texts;
}

}  // namespace

struct TextPattern::Compiled {
  std::regex expression;
};

TextPattern::TextPattern(const std::string& expression)
    : compiled_(std::make_unique<Compiled>(Compiled{std::regex(expression)})) {}

TextPattern::TextPattern(TextPattern&&) noexcept = default;
TextPattern& TextPattern::operator=(TextPattern&&) noexcept = default;
TextPattern::~TextPattern() = default;

std::optional<TextPattern::Match> TextPattern::whole(const std::string& text) const {
  std::smatch found;
  if (!std::regex_match(text, found, compiled_->expression)) return std::nullopt;
  return texts_of(found);
}

std::optional<TextPattern::Match> TextPattern::first(const std::string& text) const {
  std::smatch found;
  if (!std::regex_search(text, found, compiled_->expression)) return std::nullopt;
  return texts_of(found);
}

std::vector<TextPattern::Match> TextPattern::all(const std::string& text) const {
  std::vector<Match> matches;
  for (std::sregex_iterator found(text.begin(), text.end(), compiled_->expression), end; found != end;
       ++found)
    matches.push_back(texts_of(*found));
  return matches;
}

std::string TextPattern::replaced(const std::string& text, const std::string& by) const {
  return std::regex_replace(text, compiled_->expression, by);
}

}  // namespace trainyard
