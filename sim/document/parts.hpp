#pragma once
// What the writers share.

#include "document/document.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard::doc {

/// Whether a page, or else the terminal, prints a part, column or row.
inline bool is_on_pages(Shown shown) { return shown != Shown::text; }
inline bool is_in_text(Shown shown) { return shown == Shown::everywhere || shown == Shown::text; }

/// Charts are on pages alone.
Shown shown_of(const Part& part);

/// The sections that a page has, those with the answer first, and the parts of one.
std::vector<const Section*> sections_of_page(const Document& document);
std::vector<const Part*> parts_of_page(const Section& section);

/// "Side by side" of "side by side".
std::string capitalised(std::string_view title);

/// For the script of pages, and for the JSON of a document: {"key", "title", "end": ns, "kinds": [[fill,
/// name]], "items": [[title, details, flops, bytes, ns alone]], "tracks": [[name, [[lane, [gap, length, kind,
/// item, gap, ...]]]]]}. A gap is the distance to the previous bar, in ns.
nlohmann::ordered_json lanes_json(const Lanes& part);
Html lanes_html(const Lanes& part);

/// Lists the parts of one type that follow each other from `begin` on, and moves `begin` to the last of them.
template <class P>
std::vector<const P*> same_parts(const std::vector<const Part*>& parts, std::size_t& begin) {
  std::vector<const P*> same;
  while (begin < parts.size() && std::holds_alternative<P>(*parts[begin]))
    same.push_back(&std::get<P>(*parts[begin++]));
  --begin;
  return same;
}

}  // namespace trainyard::doc
