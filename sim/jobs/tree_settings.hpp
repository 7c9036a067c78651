#pragma once
// The values of a YAML, JSON or TOML file as settings: nested keys are joined by '.'.

#include "config/document.hpp"
#include "jobs/setting.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

/// Every scalar below `node`. A list of scalars is one value, [a, b]; other lists have keys with numbers:
/// "models.0.name". Characters '-' in keys become '_'. `first_line`: of the node's text in its file.
std::vector<Setting> settings_of(const config::Node& node, const std::string& file, int first_line = 1);

/// A TOML file as such a tree. Throws InputError with the place of a syntax error.
config::Document parse_toml(const std::string& file, std::string_view text);

}  // namespace trainyard::jobs
