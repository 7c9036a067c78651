#include "cli/page_options.hpp"

#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "document/writers.hpp"
#include "io/out_files.hpp"

#include <CLI/Error.hpp>

namespace trainyard {

void add_form_options(CLI::App& command, PageOptions& options, const std::string& json_help) {
  CLI::Option* const markdown =
      command.add_flag("--markdown", options.markdown, "print Markdown, for a comment on a pull request");
  if (!json_help.empty()) markdown->excludes(command.add_flag("--json", options.json, json_help));
}

void add_page_options(CLI::App& command, PageOptions& options, const std::string& json_help) {
  add_form_options(command, options, json_help);
  add_value(command, "--html", options.html, "FILE", "also write a page for a browser to this file");
  command.add_flag("--force", options.force,
                   options.has_other_files ? "replace files that exist" : "replace the file if it exists");
}

void check_page_options(const PageOptions& options) {
  if (options.force && !options.html && !options.has_other_files)
    throw CLI::ValidationError("--force", "is for --html FILE");
  if (options.html) check_out_file(*options.html, options.force);
}

std::string printed_page(const PageOptions& options, const doc::Document& page) {
  if (options.html) write_out_file(*options.html, doc::html(page), options.force);
  return options.markdown ? doc::markdown(page) : doc::text(page, print_style());
}

}  // namespace trainyard
