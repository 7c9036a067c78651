#pragma once
// Exports of Nsight Systems, made by SQL.

#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <sqlite3.h>
#include <string>

namespace trainyard::testing {

/// Three steps of a layer with a ReLU.
inline std::string nsys_report() {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/imports/report.sql");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A database in a folder that vanishes with it.
class NsysFile {
public:
  explicit NsysFile(const std::string& sql) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path().c_str(), &database) == SQLITE_OK);
    const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
    const std::string problem = sqlite3_errmsg(database);
    sqlite3_close(database);
    CAPTURE(problem);
    REQUIRE(code == SQLITE_OK);
  }
  [[nodiscard]] std::string path() const { return (folder_.path / "report ?#%.sqlite").string(); }

private:
  TemporaryFolder folder_;
};

}  // namespace trainyard::testing
