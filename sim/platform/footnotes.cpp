#include "platform/footnotes.hpp"

#include "config/fields.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

std::string Footnotes::mark(Provenance provenance, const std::string& source) {
  const std::string text =
      provenance == Provenance::unstated
          ? "no source stated"
          : fmt::format("{}: {}", config::provenance_keys.at(static_cast<std::size_t>(provenance)), source);
  const auto known = std::ranges::find(texts_, text);
  const auto number = known - texts_.begin() + 1;
  if (known == texts_.end()) texts_.push_back(text);
  return fmt::format("[{}]", number);
}

std::vector<std::pair<std::string, std::string>> Footnotes::list() const {
  std::vector<std::pair<std::string, std::string>> list;
  for (std::size_t i = 0; i < texts_.size(); ++i) list.emplace_back(fmt::format("[{}]", i + 1), texts_[i]);
  return list;
}

}  // namespace trainyard
