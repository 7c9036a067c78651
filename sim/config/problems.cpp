#include "config/problems.hpp"

#include "config/file_format.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace trainyard::config {

namespace {

/// A file with more errors than this is of another kind altogether, and nobody reads more warnings.
constexpr std::size_t most_kept = 100;

/// True if `whole` is `part` or contains it.
bool contains(std::string_view whole, std::string_view part) {
  if (!part.starts_with(whole)) return false;
  return whole.empty() || part.size() == whole.size() || part[whole.size()] == '.' ||
         part[whole.size()] == '[';
}

/// The keys at the top of a file, without those of --set.
struct TopKeys {
  int known = 0;
  int right = 0;  ///< and of those the ones whose value could be read
  int unknown = 0;
};

/// An error at a key itself, not at its value, says that the key is unknown. With a proposal it is a key of
/// ours, mistyped or by another name, and counts for neither side.
TopKeys top_keys(const Node& root, const auto& found, const auto& is_readable) {
  TopKeys keys;
  for (const Node::Entry& entry : root.entries) {
    if (entry.mark.source != 0) continue;
    const std::string path = join({}, entry.key);
    const auto error = std::ranges::find_if(
        found, [&](const auto& one) { return one.mark == entry.mark && one.diagnostic.key_path == path; });
    if (error == found.end()) {
      ++keys.known;
      keys.right += is_readable(path) ? 1 : 0;
    } else if (!error->diagnostic.hint.starts_with("did you mean")) {
      ++keys.unknown;
    }
  }
  return keys;
}

}  // namespace

Problems::Problems(const Document& document) : document_(document) {
  for (const Diagnostic& error : document.errors) add(error, {error.line, error.column});
  for (const Diagnostic& warning : document.warnings) {
    if (!is_set(warning.key_path)) add(warning, {warning.line, warning.column});
  }
}

void Problems::check_name(std::string_view name) {
  const std::string stem =
      document_.called.empty() ? std::filesystem::path(document_.name).stem().string() : document_.called;
  if (name == stem) return;
  error("name", "the name is " + in_quotes(name) + ", the file is " + stem + ".yaml", "name: " + stem);
}

bool Problems::readable(std::string_view key_path) const {
  return std::none_of(unreadable_.begin(), unreadable_.end(), [&](const std::string& path) {
    return contains(path, key_path) || contains(key_path, path);
  });
}

const Node* Problems::find(std::string_view key_path) const {
  const Node* node = &document_.root;
  while (node != nullptr && !key_path.empty()) {
    const std::size_t end = std::min(key_path.find('.'), key_path.size());
    node = node->find(key_path.substr(0, end));
    key_path.remove_prefix(std::min(end + 1, key_path.size()));
  }
  return node;
}

bool Problems::written(std::string_view key_path) const { return find(key_path) != nullptr; }

bool Problems::is_set(std::string_view key_path) const {
  const Node* const node = find(key_path);
  return node != nullptr && node->mark.source != 0;
}

void Problems::add(Diagnostic diagnostic, Mark mark) {
  std::size_t& found = diagnostic.severity == Severity::error ? errors_ : warnings_;
  if (++found > most_kept) return;
  found_.push_back({mark, std::move(diagnostic)});
}

void Problems::unreadable(std::string_view key_path, Mark mark, int width, std::string message,
                          std::string hint) {
  Diagnostic diagnostic = diagnostic_at(document_, mark, width, std::move(message), std::move(hint));
  diagnostic.key_path = key_path;
  // A value may be that of several keys (Keys::short_form).
  const bool is_known =
      !found_.empty() && found_.back().mark == mark && found_.back().diagnostic.message == diagnostic.message;
  if (!is_known) add(std::move(diagnostic), mark);
  if (unreadable_.size() < most_kept) unreadable_.emplace_back(key_path);
}

void Problems::error(std::string_view key_path, std::string message, std::string hint) {
  report(Severity::error, key_path, std::move(message), std::move(hint));
}

void Problems::warning(std::string_view key_path, std::string message, std::string hint) {
  report(Severity::warning, key_path, std::move(message), std::move(hint));
}

void Problems::report(Severity severity, std::string_view key_path, std::string message, std::string hint) {
  if (!readable(key_path)) return;
  const Node& node = document_.nearest(key_path);
  Diagnostic diagnostic =
      diagnostic_at(document_, node.mark, width_of(document_, node), std::move(message), std::move(hint));
  diagnostic.key_path = key_path;
  diagnostic.severity = severity;
  add(std::move(diagnostic), node.mark);
}

void Problems::finish(std::vector<Diagnostic>* warnings) {
  std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
    return std::tie(a.mark.source, a.mark.line, a.mark.column) <
           std::tie(b.mark.source, b.mark.line, b.mark.column);
  });
  const TopKeys keys =
      top_keys(document_.root, found_, [&](const std::string& key) { return readable(key); });
  // A file of another tool may share a few keys with ours, seldom with values that we can read.
  const bool may_be_foreign = errors_ > most_kept || keys.known == 0 || keys.unknown > keys.right;
  std::vector<Diagnostic> diagnostics;
  diagnostics.reserve(found_.size());
  for (Found& found : found_) diagnostics.push_back(std::move(found.diagnostic));
  const auto add_left_out = [&](std::size_t found, Severity severity, const char* what) {
    if (found <= most_kept) return;
    Diagnostic more = diagnostic_at(document_, {}, 1, fmt::format("and {} more {}", found - most_kept, what));
    more.severity = severity;
    diagnostics.push_back(std::move(more));
  };
  add_left_out(warnings_, Severity::warning, "warnings");
  add_left_out(errors_, Severity::error, "errors");
  if (errors_ > 0) {
    if (may_be_foreign) refuse_job(document_.name, document_.lines);  // one error in place of unknown keys
    throw InputError(std::move(diagnostics));
  }
  if (warnings != nullptr) warnings->insert(warnings->end(), diagnostics.begin(), diagnostics.end());
}

}  // namespace trainyard::config
