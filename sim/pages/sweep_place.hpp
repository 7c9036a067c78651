#pragma once
// The place of a topic on a sweep's page.

#include "document/document.hpp"
#include "pages/sweep_page.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace trainyard {

// Points in a list in the terminal, and on a page.
inline constexpr std::size_t most_in_text = 24;
inline constexpr std::size_t most_on_page = 200;

/// Where the topics of a result stand: in sections of their own, or below headings in that of a group.
struct Place {
  doc::Document& page;
  const SweepOrigin* origin = nullptr;  ///< of a page for a browser
  doc::Section* group = nullptr;
  bool is_close = false;  ///< the group's first heading follows its title

  [[nodiscard]] doc::Section& topic(const char* key, std::string title, std::string remark = {}) const {
    if (group == nullptr) return page.section(key, std::move(title), std::move(remark));
    group->add(doc::Heading{std::move(title), std::move(remark), doc::Shown::everywhere,
                            is_close && group->parts.empty()});
    return *group;
  }
  /// A topic without a title in the terminal, where a blank line separates it.
  [[nodiscard]] doc::Section& untitled(const char* key, const char* title) const {
    if (group == nullptr) {
      doc::Section& section = page.section(key, title);
      section.is_untitled_in_text = true;
      return section;
    }
    if (!group->parts.empty()) group->add(doc::gap());
    return *group;
  }
};

}  // namespace trainyard
