#pragma once
// Reads rules of a lowering with those that they are like.

#include "lowering/lowering_rules.hpp"

#include <functional>
#include <string>

namespace trainyard {

/// The document of a lowering, by the name that another file gives it, and that file.
using LoweringNamed = std::function<config::Document(const std::string& name, const std::string& named_in)>;

/// The rules of a file, completed by those of the file that its key `like` names, and so on. Throws
/// InputError as load_lowering() and `find` do, and if files are like each other.
Lowering load_whole_lowering(const config::Document& document, const LoweringNamed& find);

}  // namespace trainyard
