#include "imports/sqlite_rows.hpp"

#include "config/diagnostic.hpp"
#include "imports/byte_stream.hpp"
#include "interchange/input_text.hpp"
#include "units/shell_word.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sqlite3.h>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

/// The file's name as a URI that forbids changes: https://sqlite.org/uri.html.
std::string uri_of(const std::string& file) {
  std::string uri = "file:";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '/' || c == '.' || c == '_' || c == '-';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?mode=ro&immutable=1";
}

/// A name in SQL.
std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

void require_database(const std::string& file) {
  ByteStream(file).read({});  // throws if there is no such file
  std::array<char, 16> head{};
  std::ifstream(file, std::ios::binary).read(head.data(), head.size());
  const std::string_view bytes(head.data(), head.size());
  if (bytes.starts_with("SQLite format 3")) return;
  if (bytes.starts_with("\x1f\x8b"))
    throw input_error(file, 0, "the database is compressed by gzip", "gunzip " + shell_word(file));
  throw input_error(
      file, 0, "no SQLite database",
      fmt::format("a report of Nsight Systems: nsys export --type sqlite --include-json true --output "
                  "report.sqlite {}",
                  shell_word(file)));
}

}  // namespace

SqliteFile::SqliteFile(std::string file) : file_(std::move(file)) {
  require_database(file_);
  std::error_code error;
  bytes_ = std::filesystem::file_size(file_, error);
  if (error) throw FileError(fmt::format("{}: {}", file_, error.message()));
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  const int code = sqlite3_open_v2(uri_of(file_).c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw FileError(fmt::format("{}: {}", file_, why));
  }
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr int longest_value = 64 << 20;
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, longest_value);
}

SqliteFile::~SqliteFile() { sqlite3_close(handle_); }

void SqliteFile::fail() const {
  const int code = sqlite3_errcode(handle_);
  const std::string why = sqlite3_errmsg(handle_);
  if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_NOMEM)
    throw FileError(fmt::format("{}: {}", file_, why));
  throw input_error(file_, 0, fmt::format("the database is damaged: {}", why), "export it again");
}

bool SqliteFile::has_table(std::string_view name) const { return !columns_of(name).empty(); }

std::vector<std::string> SqliteFile::columns_of(std::string_view table) const {
  sqlite3_stmt* statement = nullptr;
  constexpr const char* sql =
      "SELECT c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c "
      "WHERE t.schema = 'main' AND t.type = 'table' AND t.name = ?1 ORDER BY c.cid";
  if (sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) != SQLITE_OK) fail();
  std::vector<std::string> names;
  int code = sqlite3_bind_text(statement, 1, table.data(), static_cast<int>(table.size()), SQLITE_TRANSIENT);
  if (code == SQLITE_OK) {
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      const unsigned char* const text = sqlite3_column_text(statement, 0);
      if (text != nullptr) names.emplace_back(reinterpret_cast<const char*>(text));
    }
  }
  sqlite3_finalize(statement);
  if (code != SQLITE_DONE) fail();
  return names;
}

SqliteRows::SqliteRows(const SqliteFile& file, std::string_view table,
                       std::initializer_list<std::string_view> needed,
                       std::initializer_list<std::string_view> optional)
    : file_(file), table_(table) {
  const std::vector<std::string> there = file.columns_of(table);
  std::string sql = "SELECT ";
  const auto add = [&](std::string_view column, bool is_needed) {
    const bool is_there = std::ranges::find(there, column) != there.end();
    if (!is_there && is_needed)
      throw input_error(file.name(), 0, fmt::format("table {} has no column {}", table, column),
                        "export the report again with a newer nsys");
    sql += (columns_.empty() ? "" : ", ") + (is_there ? quoted_name(column) : std::string("NULL"));
    columns_.emplace_back(column);
  };
  for (const std::string_view column : needed) add(column, true);
  for (const std::string_view column : optional) add(column, false);
  const std::string from = " FROM main." + quoted_name(table) + " NOT INDEXED";
  const auto prepare = [&](const std::string& text) {
    return sqlite3_prepare_v2(file.handle(), text.c_str(), -1, &handle_, nullptr) == SQLITE_OK;
  };
  is_numbered_ = prepare(sql + ", _rowid_" + from);  // tables WITHOUT ROWID are not
  if (!is_numbered_ && !prepare(sql + from)) file.fail();
}

SqliteRows::~SqliteRows() { sqlite3_finalize(handle_); }

bool SqliteRows::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) {
    ++row_;
    constexpr std::uint64_t smallest_row = 4;  // bytes: a place in the page, a length and a header
    if (row_ > file_.bytes() / smallest_row) refuse_damage("has more rows than fit the file");
    if (is_numbered_) {
      const std::int64_t number = sqlite3_column_int64(handle_, static_cast<int>(columns_.size()));
      if (number_ && number <= *number_) refuse_damage("has rows that are out of order");
      number_ = number;
    }
    return true;
  }
  if (code != SQLITE_DONE) file_.fail();
  return false;
}

void SqliteRows::refuse(int column, std::string_view expected) const {
  throw input_error(file_.name(), 0,
                    fmt::format("'{}' in row {} of {} is no {}", columns_[static_cast<std::size_t>(column)],
                                row_, table_, expected),
                    "export the report again");
}

void SqliteRows::refuse_damage(std::string_view what) const {
  throw input_error(file_.name(), 0, fmt::format("the database is damaged: table {} {}", table_, what),
                    "export it again");
}

std::int64_t SqliteRows::integer(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER) refuse(column, "whole number");
  return sqlite3_column_int64(handle_, column);
}

std::optional<std::int64_t> SqliteRows::integer_or_null(int column) const {
  if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
  return integer(column);
}

std::optional<std::string_view> SqliteRows::text_or_null(int column) {
  const int type = sqlite3_column_type(handle_, column);
  if (type == SQLITE_NULL) return std::nullopt;
  if (type != SQLITE_TEXT) refuse(column, "text");
  const unsigned char* const text = sqlite3_column_text(handle_, column);
  if (text == nullptr) file_.fail();
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  text_bytes_ += length;
  constexpr std::uint64_t most_reads = 4;  // of a text by one reader; UTF-16 grows by half
  if (text_bytes_ / most_reads > file_.bytes()) refuse_damage("has more text than fits the file");
  return std::string_view(reinterpret_cast<const char*>(text), length);
}

}  // namespace trainyard
