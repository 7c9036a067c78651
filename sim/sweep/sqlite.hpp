#pragma once
// SQLite with exceptions: errors are FileErrors that name the file. Only this header gives access to SQLite;
// SQLite's own header is included only by sqlite.cpp.

#include "config/diagnostic.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace trainyard::sqlite {

/// A file that is not as it was written.
class Damaged : public FileError {
public:
  Damaged(const std::string& file, const std::string& fault);
  /// Says which file and why, without advice.
  [[nodiscard]] const std::string& fault() const { return fault_; }

private:
  std::string fault_;
};

class Database {
public:
  /// Opens or creates a file; ":memory:" keeps everything in memory. Waits up to ten seconds for another
  /// process that writes. The file may come from anybody: neither its triggers nor its views run.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql);
  /// Returns false and does nothing if another process has the file open in a way that forbids it.
  bool run_unless_busy(const std::string& sql);
  /// The first fault that SQLite finds in the file; empty if there is none.
  std::string fault();
  /// The first column of all rows.
  std::vector<std::string> texts(const std::string& sql);
  /// Rolls a failed transaction back; no error if there is none.
  void roll_back() noexcept;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  /// Throws Damaged if that is why the last call failed, otherwise FileError.
  [[noreturn]] void fail() const;

private:
  std::string name_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. Parameters count from 1, columns from 0.
class Statement {
public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void reset();  ///< sets parameters to NULL
  void bind(int parameter, const std::string& text);
  void bind(int parameter, std::int64_t number);
  void bind(int parameter, const std::optional<double>& number);  ///< NULL if empty
  /// The next row; false at the end.
  bool step();
  /// Runs to the end, then resets, so that a transaction can be committed.
  void run();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::optional<double> number(int column) const;

private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace trainyard::sqlite
