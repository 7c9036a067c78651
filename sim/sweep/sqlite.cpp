#include "sweep/sqlite.hpp"

#include "config/utf8.hpp"
#include "units/text.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <sqlite3.h>

namespace trainyard::sqlite {
namespace {

constexpr int patience_ms = 10'000;
constexpr int longest_value = 100'000'000;  // bytes

/// SQLite's messages quote the file, whose texts may be of any bytes.
std::string valid(std::string text) {
  config::replace_invalid_utf8(text);
  return text;
}

std::string in_words(const std::string& file, const std::string& fault) {
  return fmt::format("{} is damaged: {}", in_quotes(file), fault);
}

}  // namespace

Damaged::Damaged(const std::string& file, const std::string& fault)
    : FileError(in_words(file, fault) + "; --force simulates all of its points again"),
      fault_(in_words(file, fault)) {}

Database::Database(const std::string& path) : name_(path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    const std::string why = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw FileError(fmt::format("cannot open {}: {}", in_quotes(name_), why));
  }
  sqlite3_busy_timeout(handle_, patience_ms);
  // SQLite advises this for files from strangers (sqlite.org/security.html).
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, longest_value);
}

Database::~Database() { sqlite3_close(handle_); }

void Database::fail() const {
  const std::string why = valid(sqlite3_errmsg(handle_));
  const int code = sqlite3_errcode(handle_);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) throw Damaged(name_, why);
  throw FileError(fmt::format("cannot store the sweep in {}: {}", in_quotes(name_), why));
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

bool Database::run_unless_busy(const std::string& sql) {
  sqlite3_busy_timeout(handle_, 0);
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_busy_timeout(handle_, patience_ms);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return false;
  if (code != SQLITE_OK) fail();
  return true;
}

std::string Database::fault() {
  try {
    const std::vector<std::string> found = texts("PRAGMA integrity_check(1)");
    // "*** in database main ***\nPage 7: ..."
    return found.empty() || found.front() == "ok"
               ? ""
               : valid(found.front().substr(found.front().rfind('\n') + 1));
  } catch (const FileError&) {
    return valid(sqlite3_errmsg(handle_));
  }
}

std::vector<std::string> Database::texts(const std::string& sql) {
  std::vector<std::string> all;
  Statement ask(*this, sql);
  while (ask.step()) all.push_back(ask.text(0));
  return all;
}

void Database::roll_back() noexcept { sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr); }

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK) database.fail();
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);  // otherwise missing figures of the next row would keep this row's values
}

void Statement::bind(int parameter, const std::string& text) {
  if (sqlite3_bind_text(handle_, parameter, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT) !=
      SQLITE_OK)
    database_.fail();
}

void Statement::bind(int parameter, std::int64_t number) {
  if (sqlite3_bind_int64(handle_, parameter, number) != SQLITE_OK) database_.fail();
}

void Statement::bind(int parameter, const std::optional<double>& number) {
  const int code =
      number ? sqlite3_bind_double(handle_, parameter, *number) : sqlite3_bind_null(handle_, parameter);
  if (code != SQLITE_OK) database_.fail();
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail();
  return false;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

std::string Statement::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(handle_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(handle_, column);
}

}  // namespace trainyard::sqlite
