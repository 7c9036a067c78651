#pragma once
// The finished points of a sweep in an SQLite file: each is committed when it arrives, so that no finished
// point is lost however the program ends. Tables, for users' own queries:
//   sweep(name, value)          the sweep and the program's version
//   files(path, hash)           every file that was read for it
//   points(point, status, reason, one column for each varied key, one for each figure, checksum)

#include "sweep/sweep.hpp"
#include "sweep/sweep_row.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// The common properties of a store's points; two stores with the same are parts of one sweep.
struct StoredSweep {
  Sweep sweep;
  std::vector<std::string> figures;  ///< their names
  std::string version;               ///< of the program
};

/// Which other processes may read a store while one process uses it. SQLite's journal is shared through
/// memory, which is not shared between machines: a store on a file system of several machines must be used by
/// one process alone, and is locked.
enum class Readers { of_this_machine, none };

class SweepStore {
public:
  /// A store in memory, lost at the end of the process.
  explicit SweepStore(const StoredSweep& what);
  /// A store in a file, which is created if missing. Throws FileError if it cannot be opened, is not a store
  /// or is damaged; InputError if it holds another sweep, or a file that was read for it has changed since.
  SweepStore(const std::filesystem::path& file, const StoredSweep& what,
             Readers readers = Readers::of_this_machine);
  ~SweepStore();
  SweepStore(SweepStore&&) noexcept;
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  /// Commits a row, and the files read for it that are not yet known. Replaces an existing row. Throws
  /// FileError, and then the row is not stored.
  void add(const SweepRow& row, const std::vector<std::string>& files);

  /// All rows, by point: points exist in the sweep, figures are finite. Throws FileError if one of them has
  /// changed since it was written.
  [[nodiscard]] std::vector<SweepRow> rows() const;
  [[nodiscard]] std::vector<std::string> files() const;

  /// Writes everything into one file, without a journal unless another process is reading it. Throws
  /// FileError.
  void close();

private:
  struct Database;
  std::unique_ptr<Database> database_;
};

/// Tells versions of a file apart; empty for an unreadable file.
std::string hash_or_nothing(const std::string& path);

/// Removes a store and SQLite's files next to it. No error if there is none.
void remove_store(const std::filesystem::path& file);

}  // namespace trainyard
