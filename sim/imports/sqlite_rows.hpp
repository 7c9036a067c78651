#pragma once
// Reads tables of an SQLite database that another program wrote. The file is opened for reading only and as
// one that nobody changes, so no file is written next to it. Its contents are not trusted: every value is
// checked for its type. SQLite's own header is included by sqlite_rows.cpp alone.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace trainyard {

class SqliteFile {
public:
  /// Throws FileError if the file cannot be read, InputError if it is no SQLite database.
  explicit SqliteFile(std::string file);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// Whether there is a table of this name; views and virtual tables are none.
  [[nodiscard]] bool has_table(std::string_view name) const;
  /// Names of a table's columns; empty if there is no such table.
  [[nodiscard]] std::vector<std::string> columns_of(std::string_view table) const;

  [[nodiscard]] const std::string& name() const { return file_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  ///< of the file
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  /// Throws the error of the last call: InputError for a damaged database, else FileError.
  [[noreturn]] void fail() const;

private:
  std::string file_;
  std::uint64_t bytes_ = 0;
  sqlite3* handle_ = nullptr;
};

/// Some columns of all rows of a table, in the order in which they are stored. Columns count from 0.
class SqliteRows {
public:
  /// Columns of `optional` that the table does not have are empty in every row; one of `needed` that is
  /// missing is an InputError. The table exists. Optional ones count on behind the needed ones.
  SqliteRows(const SqliteFile& file, std::string_view table, std::initializer_list<std::string_view> needed,
             std::initializer_list<std::string_view> optional = {});
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  /// The next row; false at the end. Throws InputError if the table is damaged: pages that stand in it
  /// several times would give rows, and texts, without end.
  bool next();
  /// Throws InputError, with the row, if the value is no whole number.
  [[nodiscard]] std::int64_t integer(int column) const;
  /// Nothing for NULL.
  [[nodiscard]] std::optional<std::int64_t> integer_or_null(int column) const;
  /// Valid until the next row. Nothing for NULL; throws InputError if the value is no text.
  [[nodiscard]] std::optional<std::string_view> text_or_null(int column);

private:
  [[noreturn]] void refuse(int column, std::string_view expected) const;
  [[noreturn]] void refuse_damage(std::string_view what) const;

  const SqliteFile& file_;
  std::string table_;
  std::vector<std::string> columns_;
  sqlite3_stmt* handle_ = nullptr;
  std::uint64_t row_ = 0;
  std::uint64_t text_bytes_ = 0;             // that were read
  bool is_numbered_ = true;                  // the number of a row is behind the columns
  std::optional<std::int64_t> number_ = {};  // of this row
};

}  // namespace trainyard
