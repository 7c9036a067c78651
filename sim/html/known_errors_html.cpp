#include "html/known_errors_html.hpp"

#include "document/writers.hpp"
#include "report/known_errors.hpp"

namespace trainyard {

Html known_errors_html(const std::string& of_this) {
  doc::Document page;
  add_known_errors(page, of_this);
  return doc::content_html(page.sections.front());
}

}  // namespace trainyard
