#include "sweep/sweep_store.hpp"

#include "config/file_paths.hpp"
#include "config/read_file.hpp"
#include "config/utf8.hpp"
#include "sweep/sqlite.hpp"
#include "units/control_characters.hpp"
#include "units/fnv1a.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

namespace trainyard {
namespace {

/// Suffixes of the files that SQLite keeps for a database, the database itself first.
constexpr std::array<const char*, 4> journals{"", "-wal", "-shm", "-journal"};

/// Increased when the tables change.
constexpr int layout = 2;

/// No reader of inputs takes a larger file; the list of files may be forged.
constexpr std::uintmax_t largest_hashed = std::uintmax_t{1} << 30U;

/// Hash of several texts and numbers of texts: only needs to detect edited files.
class Hash {
public:
  void add(std::string_view text) {
    hash_.add(text);
    hash_.add("\xff");  // not part of any UTF-8 text: "ab", "c" differs from "a", "bc"
  }
  /// Adds a file as one text.
  void add_file(const std::string& path) {
    config::read_in_pieces(path, largest_hashed, [&](std::string_view piece) { hash_.add(piece); });
    add("");
  }
  /// The number of texts that follow: distinguishes keys that are set from varied ones.
  void add(std::size_t count) { add(std::to_string(count)); }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_.value()); }

private:
  Fnv1a hash_;
};

std::string hash_of_file(const std::string& path) {
  Hash hash;
  hash.add_file(path);
  return hash.text();
}

/// Hash of everything that points depend on, except files.
std::string hash_of(const StoredSweep& what) {
  Hash hash;
  hash.add(what.sweep.experiment);
  hash.add(what.sweep.set.size());
  for (const auto& [key, value] : what.sweep.set) {
    hash.add(key);
    hash.add(value);
  }
  hash.add(what.sweep.keys.size());
  for (const std::string& key : what.sweep.keys) hash.add(key);
  hash.add(what.sweep.points.size());
  for (const PointValues& values : what.sweep.points) {
    for (const std::string& value : values) hash.add(value);
  }
  for (const std::string& figure : what.figures) hash.add(figure);
  return hash.text();
}

std::string name_in_sql(const std::string& name) {
  std::string text = "\"";
  for (const char letter : name) text += letter == '"' ? "\"\"" : std::string(1, letter);
  return text + '"';
}

/// The columns of `points` between reason and checksum: keys that are not figures, then figures. SQLite
/// ignores the case of names, and users may vary keys of any name: a key whose name is taken gets the prefix
/// key_.
std::vector<std::string> columns_of(const StoredSweep& what) {
  std::set<std::string> taken{"point", "status", "reason", "checksum"};
  for (const std::string& figure : what.figures) taken.insert(boost::algorithm::to_lower_copy(figure));
  std::vector<std::string> columns;
  for (std::string key : what.sweep.keys) {
    if (std::ranges::find(what.figures, key) != what.figures.end()) continue;
    while (!taken.insert(boost::algorithm::to_lower_copy(key)).second) key.insert(0, "key_");
    // Stored as a number if it is one: a query for gpus > 8 should find 16, not every text.
    columns.push_back(name_in_sql(key) + " NUMERIC");
  }
  for (const std::string& figure : what.figures) columns.push_back(name_in_sql(figure));
  return columns;
}

constexpr const char* definition_of_sweep =
    "CREATE TABLE sweep(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID";
constexpr const char* definition_of_files =
    "CREATE TABLE files(path TEXT PRIMARY KEY, hash TEXT) WITHOUT ROWID";

/// Over all values of a row: a disk, or a user with another program, may have changed it since.
std::string checksum_of(const SweepRow& row) {
  Hash hash;
  hash.add(row.point);
  hash.add(name_of(row.status));
  hash.add(row.reason);
  for (const std::optional<double>& figure : row.figures) {
    std::array<char, sizeof(double)> bytes{};
    const double number = figure.value_or(0) + 0.0;  // SQLite need not keep the sign of 0
    std::memcpy(bytes.data(), &number, sizeof number);
    hash.add(figure ? std::string_view(bytes.data(), bytes.size()) : std::string_view());
  }
  return hash.text();
}

}  // namespace

std::string hash_or_nothing(const std::string& path) {
  try {
    return hash_of_file(path);
  } catch (const FileError&) {
    return {};  // a point may have failed because of it
  }
}

/// Whether it is too short for an SQLite file. SQLite takes one of a single byte for an empty file and writes
/// to it. A file of no bytes is an empty store.
bool is_too_short(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  constexpr std::uintmax_t smallest_page = 512;
  return !error && size > 0 && size < smallest_page;
}

struct SweepStore::Database {
  StoredSweep what;
  sqlite::Database file;
  std::set<std::string> known_files = {};     ///< by absolute path
  std::set<std::string> seen_names = {};      ///< as they were named
  std::vector<std::size_t> key_columns = {};  ///< indices of the sweep's keys that have a column
  std::optional<sqlite::Statement> begin = {}, insert = {}, commit = {};

  Database(StoredSweep stored, const std::string& path, Readers readers)
      : what(std::move(stored)), file(path) {
    if (readers == Readers::none) file.run("PRAGMA locking_mode=EXCLUSIVE");
    // A commit is a line appended to the journal. It survives the end of the process at once, and a power
    // failure after the next checkpoint: work lost in a power failure is simulated again, never half-written.
    file.run("PRAGMA journal_mode=WAL");
    file.run("PRAGMA synchronous=NORMAL");
    make_tables();
    if (const std::string fault = file.fault(); !fault.empty()) throw sqlite::Damaged(file.name(), fault);
    check_table("sweep", definition_of_sweep);
    check_table("files", definition_of_files);
    check_sweep();
    check_files();
    check_table("points", definition_of_points());
    prepare();
  }

  [[nodiscard]] std::string definition_of_points() const {
    std::string columns;
    for (const std::string& column : columns_of(what)) columns += ", " + column;
    return fmt::format(
        "CREATE TABLE points(point INTEGER PRIMARY KEY, status TEXT, reason TEXT{}, checksum TEXT)", columns);
  }

  /// Users may have added indices, but a table of another form was not written by us.
  void check_table(const std::string& name, const std::string& definition) {
    sqlite::Statement ask(file, "SELECT sql FROM sqlite_schema WHERE name = ?");
    ask.bind(1, name);
    if (!ask.step() || ask.text(0) != definition)
      throw sqlite::Damaged(file.name(), fmt::format("its table '{}' has another form", name));
  }

  void make_tables() {
    file.run("BEGIN IMMEDIATE");  // two processes may begin at the same time
    if (file.texts("SELECT name FROM sqlite_schema").empty()) {
      file.run(definition_of_sweep);
      file.run(definition_of_files);
      file.run(definition_of_points());
      note("layout", std::to_string(layout));
      note("hash", hash_of(what));
      note("name", what.sweep.name);
      note("points", std::to_string(what.sweep.points.size()));
      note("version", what.version);
    }
    file.run("COMMIT");
  }

  void note(const std::string& name, const std::string& value) {
    sqlite::Statement add(file, "INSERT INTO sweep VALUES(?, ?)");
    add.bind(1, name);
    add.bind(2, value);
    add.run();
  }

  [[nodiscard]] std::string noted(const std::string& name) {
    sqlite::Statement ask(file, "SELECT value FROM sweep WHERE name = ?");
    ask.bind(1, name);
    std::string value = ask.step() ? ask.text(0) : std::string();
    config::replace_invalid_utf8(value);
    return value;
  }

  static constexpr const char* hint = "replace it with --force, or choose another --out";

  void check_sweep() {
    if (noted("layout") != std::to_string(layout))
      throw InputError(in_quotes(file.name()) + " was written by a trainyard with another storage format",
                       hint);
    if (noted("version") != what.version) {
      throw InputError(fmt::format("{} was written by version {} of trainyard, this is {}",
                                   in_quotes(file.name()), noted("version"), what.version),
                       hint);
    }
    if (noted("hash") != hash_of(what)) {
      throw InputError(fmt::format("{} belongs to another sweep: the points of {} were different",
                                   in_quotes(file.name()), in_quotes(noted("name"))),
                       hint);
    }
  }

  void check_files() {
    sqlite::Statement ask(file, "SELECT path, hash FROM files");
    while (ask.step()) {
      const std::string was = ask.text(1);
      if (was.empty() && !hash_or_nothing(ask.text(0)).empty())
        throw InputError(in_quotes(ask.text(0)) + " can be read now, but points failed because it could not",
                         hint);
      if (!was.empty() && hash_of_file(ask.text(0)) != was) {
        throw InputError(
            fmt::format("{} has changed since points were simulated with it", in_quotes(ask.text(0))), hint);
      }
      known_files.insert(ask.text(0));
    }
  }

  void prepare() {
    for (std::size_t i = 0; i < what.sweep.keys.size(); ++i) {
      if (std::ranges::find(what.figures, what.sweep.keys[i]) == what.figures.end()) key_columns.push_back(i);
    }
    std::string marks = "?, ?, ?, ?";
    for (std::size_t i = 0; i < columns_of(what).size(); ++i) marks += ", ?";
    begin.emplace(file, "BEGIN IMMEDIATE");
    commit.emplace(file, "COMMIT");
    insert.emplace(file, fmt::format("INSERT OR REPLACE INTO points VALUES({})", marks));
  }

  /// For a failed row, whose figures begin at `column`: binds the requested values of figures that are also
  /// keys.
  void bind_asked(const SweepRow& row, int column) {
    for (std::size_t i = 0; i < what.sweep.keys.size(); ++i) {
      const auto figure = std::ranges::find(what.figures, what.sweep.keys[i]);
      if (figure != what.figures.end())
        insert->bind(column + static_cast<int>(figure - what.figures.begin()),
                     what.sweep.points[row.point][i]);
    }
  }

  void add_row(const SweepRow& row) {
    insert->reset();
    insert->bind(1, static_cast<std::int64_t>(row.point));
    insert->bind(2, std::string(name_of(row.status)));
    insert->bind(3, row.reason);
    int column = 4;
    for (const std::size_t key : key_columns) insert->bind(column++, what.sweep.points[row.point][key]);
    for (const std::optional<double>& figure : row.figures) insert->bind(column++, figure);
    if (row.figures.empty()) bind_asked(row, column);
    insert->bind(checksum_column() + 1, checksum_of(row));
    insert->run();
  }

  /// Counted from 0, like columns of a result.
  [[nodiscard]] int checksum_column() const {
    return static_cast<int>(3 + key_columns.size() + what.figures.size());
  }

  /// The current row of `ask`. Throws Damaged unless add_row() wrote it: callers use a row's point as an
  /// index, its figures as numbers, and print its reason.
  [[nodiscard]] SweepRow read_row(const sqlite::Statement& ask) const {
    SweepRow row;
    row.point = static_cast<std::size_t>(ask.integer(0));
    const auto status = std::ranges::find(status_names, ask.text(1));
    bool is_whole = row.point < what.sweep.points.size() && status != status_names.end();
    if (is_whole) row.status = static_cast<PointStatus>(status - status_names.begin());
    row.reason = ask.text(2);
    is_whole = is_whole && !find_control(row.reason) && !config::find_invalid_utf8(row.reason) &&
               row.reason.find('\n') == std::string::npos;
    for (std::size_t i = 0; i < what.figures.size() && row.status == PointStatus::done; ++i) {
      row.figures.push_back(ask.number(static_cast<int>(3 + key_columns.size() + i)));
      is_whole = is_whole && std::isfinite(row.figures.back().value_or(0));
    }
    if (is_whole && ask.text(checksum_column()) == checksum_of(row)) return row;
    throw sqlite::Damaged(
        file.name(), fmt::format("the row of point {} has changed since it was written", ask.integer(0)));
  }

  void add_files(const std::vector<std::string>& paths) {
    for (const std::string& name : paths) {
      if (!seen_names.insert(name).second) continue;
      const std::string path = config::absolute_path(name).string();
      if (!known_files.insert(path).second) continue;
      sqlite::Statement add(file, "INSERT OR IGNORE INTO files VALUES(?, ?)");
      add.bind(1, path);
      add.bind(2, hash_or_nothing(path));
      add.run();
    }
  }
};

SweepStore::SweepStore(const StoredSweep& what)
    : database_(std::make_unique<Database>(what, ":memory:", Readers::none)) {}

SweepStore::SweepStore(const std::filesystem::path& file, const StoredSweep& what, Readers readers) {
  if (is_too_short(file)) throw sqlite::Damaged(file.string(), "file is not a database");
  database_ = std::make_unique<Database>(what, file.string(), readers);
}

SweepStore::~SweepStore() = default;
SweepStore::SweepStore(SweepStore&&) noexcept = default;

void SweepStore::add(const SweepRow& row, const std::vector<std::string>& files) {
  database_->begin->reset();
  database_->begin->run();
  try {
    database_->add_files(files);
    database_->add_row(row);
    database_->commit->reset();
    database_->commit->run();
  } catch (...) {
    database_->file.roll_back();
    throw;
  }
}

std::vector<SweepRow> SweepStore::rows() const {
  std::vector<SweepRow> rows;
  sqlite::Statement ask(database_->file, "SELECT * FROM points ORDER BY point");
  while (ask.step()) rows.push_back(database_->read_row(ask));
  return rows;
}

std::vector<std::string> SweepStore::files() const {
  return {database_->known_files.begin(), database_->known_files.end()};
}

void SweepStore::close() {
  for (auto* const statement : {&database_->begin, &database_->insert, &database_->commit})
    statement->reset();
  // A process that is reading the rows holds the journal: it then remains next to the file, and both together
  // are the store.
  database_->file.run_unless_busy("PRAGMA journal_mode=DELETE");
}

void remove_store(const std::filesystem::path& file) {
  std::error_code ignored;  // files that cannot be removed are found when the store is opened
  for (const char* const journal : journals) std::filesystem::remove(file.string() + journal, ignored);
}

}  // namespace trainyard
