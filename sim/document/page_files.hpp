#pragma once
// The files of this folder that the build embeds into the program.

#include <string_view>

namespace trainyard {

extern const std::string_view report_css;
extern const std::string_view report_js;
extern const std::string_view points_js;

}  // namespace trainyard
