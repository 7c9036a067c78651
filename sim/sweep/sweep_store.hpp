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

struct Salvage;

class SweepStore {
public:
  /// In memory: lost at the end of the process.
  explicit SweepStore(const StoredSweep& what);
  /// In a file, which is created if missing. Throws FileError if it cannot be opened, is not a store or is
  /// damaged; InputError if it holds another sweep, or a file that was read for it has changed since.
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
  struct Salvaging;
  friend Salvage salvage(const std::filesystem::path& file, const StoredSweep& what);
  std::unique_ptr<Database> database_;
};

/// The whole rows of a store that may be damaged.
struct Salvage {
  std::vector<SweepRow> rows;      ///< by point
  std::vector<std::string> files;  ///< that were read for them
  bool has_all_files = true;       ///< false: more may have been read, which cannot be checked for changes
  std::string damage;              ///< the first fault; empty if the store is whole
};

/// Reads every row that is as it was written, also from a file that is cut short or whose first page is
/// damaged: works on a copy beside it, and leaves `file` as it is. Throws FileError if it is not known which
/// sweep the rows belong to, and as SweepStore if that is another sweep.
Salvage salvage(const std::filesystem::path& file, const StoredSweep& what);

/// Puts a store with these rows in place of `file`, which becomes `file`.damaged, or `file`.damaged-2 ... if
/// that exists. The new name. Throws FileError, and then `file` is as it was.
std::filesystem::path replace_damaged(const std::filesystem::path& file, const StoredSweep& what,
                                      const Salvage& saved);

/// Tells versions of a file apart; empty for an unreadable file.
std::string hash_or_nothing(const std::string& path);

/// Removes a store and SQLite's files next to it. No error if there is none.
void remove_store(const std::filesystem::path& file);

}  // namespace trainyard
