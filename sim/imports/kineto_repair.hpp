#pragma once
// The text of one event of a Kineto file, before it is parsed: parts that need no parsing, and text that is
// no JSON.

#include "imports/profile.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The value of `"cat"` where it stands before `"args"`, as in all files of PyTorch; empty if it does not.
std::string_view quick_category(std::string_view event);

/// The kind of events of a category, whatever their names; nothing for those that no importer uses.
std::optional<EventKind> event_kind_of(std::string_view category);

/// Whether no importer uses an event of this category.
bool is_needless(std::string_view category, std::string_view event);

/// The event with blanks for control characters in strings, question marks for bytes that are no UTF-8, and
/// escapes before quotes and backslashes in the name, which ends before the process.
std::string repaired(std::string_view event);

}  // namespace trainyard
