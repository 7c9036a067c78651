#pragma once
// Rows that state the memory of a run: a size, or that it ran out.

#include "published/case.hpp"

#include <string>

namespace trainyard {

/// A row about memory that states a ratio, or a size in an unknown unit.
inline constexpr std::string_view no_size = "a figure of memory that is no size";

/// Whether the row's figure is a size or a verdict of memory.
bool is_about_memory(const PublishedRow& row);

/// Whether it only says that a batch fitted into memory, or did not.
bool is_memory_verdict(const PublishedRow& row);

/// Fills in the figure; returns the reason if that is impossible, or an empty text. "whole GPU" in the notes:
/// the size is all memory in use, otherwise the memory that the framework's allocator has handed out.
std::string read_memory_figure(Case& run);

}  // namespace trainyard
