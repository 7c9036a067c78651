#pragma once
// What `trainyard list` says of a file besides its name: facts of the file itself, and how far predictions of
// published runs on that machine, or of that model, were off.

#include "config/catalogue.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainyard {

struct ListEntry {
  std::string name;
  std::string title;               ///< "(not a valid file)" of a file that cannot be read
  std::string gpu;                 ///< the profile of a platform's GPUs; empty for other kinds
  std::vector<std::string> cells;  ///< in the order of ListTable::columns; "-" where a fact is unknown
  std::string note;                ///< a paragraph of its own; usually empty
  nlohmann::ordered_json facts;    ///< the same as numbers; an empty object if there are none
};

struct ListTable {
  std::vector<std::string> columns;  ///< headings between name and title; empty if a kind has only these two
  std::vector<ListEntry> entries;    ///< sorted by name
};

/// All files of a kind. A file that does not parse is listed nevertheless: `trainyard check` reports its
/// errors.
ListTable list_entries(const config::Catalogue& catalogue, config::Kind kind);

}  // namespace trainyard
