#pragma once
// What the build puts into the program of the files beside this one.

#include <string_view>

namespace trainyard {

extern const std::string_view report_css;
extern const std::string_view report_js;
extern const std::string_view known_errors_csv;

}  // namespace trainyard
