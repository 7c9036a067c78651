#pragma once
// The forms in which a command prints its page: text, Markdown, and a file for a browser.

#include "document/document.hpp"

#include <CLI/App.hpp>
#include <optional>
#include <string>

namespace trainyard {

struct PageOptions {
  std::optional<std::string> html;
  bool force = false;
  bool has_other_files = false;  ///< that --force replaces, too
  bool markdown = false;
  bool json = false;
};

/// Adds --markdown and, with a help, --json; they exclude each other.
void add_form_options(CLI::App& command, PageOptions& options, const std::string& json_help);

/// Adds these, --html and --force.
void add_page_options(CLI::App& command, PageOptions& options, const std::string& json_help = {});

/// Throws CLI::ValidationError for --force without a file, FileError if --html cannot be written.
void check_page_options(const PageOptions& options);

/// Writes the file of --html, and returns the page as Markdown or as text.
std::string printed_page(const PageOptions& options, const doc::Document& page);

}  // namespace trainyard
