#pragma once
// SQLite with exceptions: what goes wrong is a FileError that names the file. The only header that speaks for
// SQLite; its own is included by sqlite.cpp alone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace trainyard::sqlite {

class Database {
public:
  /// Opens or makes a file; ":memory:" is none. Waits up to ten seconds for another process that writes.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql);
  /// False, and nothing done, while another process has the file open in a way that forbids it.
  bool run_unless_busy(const std::string& sql);
  /// The first column of all rows.
  std::vector<std::string> texts(const std::string& sql);
  /// Ends a transaction that failed; that there is none is no error.
  void roll_back() noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[noreturn]] void fail() const;

private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. Parameters count from 1, columns from 0.
class Statement {
public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void reset();  ///< parameters are NULL again
  void bind(int parameter, const std::string& text);
  void bind(int parameter, std::int64_t number);
  void bind(int parameter, const std::optional<double>& number);  ///< NULL where there is none
  /// The next row; false at the end.
  bool step();
  /// To its end; resets it then, so that a transaction can be committed.
  void run();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::optional<double> number(int column) const;

private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace trainyard::sqlite
