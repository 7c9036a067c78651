#pragma once
// The finished points of a sweep in an SQLite file: every one is committed as it comes, so that nothing that
// is finished is lost whatever ends the program. Tables, for people's own queries:
//   sweep(name, value)          what was swept, by what version
//   files(path, hash)           every file that was read for it
//   points(point, status, reason, one column for each varied key, one for each figure, checksum)

#include "sweep/sweep.hpp"
#include "sweep/sweep_row.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// What the points of a store have in common; two stores of the same are parts of one sweep.
struct StoredSweep {
  Sweep sweep;
  std::vector<std::string> figures;  ///< their names
  std::string version;               ///< of the program
};

/// Who else may read a store while a process has it. SQLite's journal is shared through memory, which ends at
/// the machine: a file on a file system of several machines must be its process's own, and is locked.
enum class Readers { of_this_machine, none };

class SweepStore {
public:
  /// In memory: gone with the process.
  explicit SweepStore(const StoredSweep& what);
  /// In a file, made if it is not there. Throws FileError if it cannot be opened, or is no store; InputError
  /// if it holds another sweep, or a file that was read for it has changed since.
  SweepStore(const std::filesystem::path& file, const StoredSweep& what,
             Readers readers = Readers::of_this_machine);
  ~SweepStore();
  SweepStore(SweepStore&&) noexcept;
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  /// Commits a row, and the files that were read for it beyond those known. One that is there already is
  /// replaced. Throws FileError, and then the row is not there.
  void add(const SweepRow& row, const std::vector<std::string>& files);

  /// All rows, by point: of points of the sweep, with figures that are finite. Throws FileError if one of
  /// them is not as it was written.
  [[nodiscard]] std::vector<SweepRow> rows() const;
  [[nodiscard]] std::vector<std::string> files() const;

  /// Everything into one file, without a journal beside it unless another process reads there. Throws
  /// FileError.
  void close();

private:
  struct Database;
  std::unique_ptr<Database> database_;
};

/// Removes a store, and what SQLite keeps beside it. That there is none is no error.
void remove_store(const std::filesystem::path& file);

}  // namespace trainyard
