#pragma once
// The forms of a document.

#include "document/document.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard::doc {

/// For the terminal: the sections in order.
std::string text(const Document& document, const PrintStyle& style = {});

/// Whether the columns of a table that are never left out have room for whole words on a page of this width.
bool has_room(const Table& table, std::size_t width);

/// One file that loads nothing.
std::string html(const Document& document);

/// The content of a section below its title.
Html content_html(const Section& section);

/// GitHub-flavoured Markdown, without the charts.
std::string markdown(const Document& document);

/// {title, trainyard_version, sections: [{key, title, parts: [{kind, ...}]}]}. Numbers are in SI base units.
nlohmann::ordered_json json(const Document& document);
nlohmann::ordered_json json(const Part& part);

/// The rows of a table as objects by the keys of the columns: texts, numbers, null where a number is missing.
/// Columns without key and head are left out.
nlohmann::ordered_json rows_json(const Table& table);

}  // namespace trainyard::doc
