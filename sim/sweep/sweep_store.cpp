#include "sweep/sweep_store.hpp"

#include "config/file_paths.hpp"
#include "config/read_file.hpp"
#include "config/utf8.hpp"
#include "sweep/sqlite.hpp"
#include "sweep/store_pages.hpp"
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

/// What SQLite appends to the name of a file for those next to it; and the file itself.
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
  [[nodiscard]] std::uint64_t value() const { return hash_.value(); }

private:
  Fnv1a hash_;
};

std::string hash_of_file(const std::string& path) {
  Hash hash;
  hash.add_file(path);
  return hash.text();
}

/// Of everything that points depend on, but files.
Hash hash_over(const StoredSweep& what) {
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
  return hash;
}

std::string hash_of(const StoredSweep& what) { return hash_over(what).text(); }

/// SQLite keeps two numbers of ours in the header of a file: with them a store whose table `sweep` is damaged
/// still tells whose it is.
struct HeaderNumbers {
  std::int32_t application = 0;
  std::int32_t user = 0;
  bool operator==(const HeaderNumbers&) const = default;
};

HeaderNumbers header_numbers(const StoredSweep& what) {
  Hash hash = hash_over(what);
  hash.add(what.version);
  hash.add(static_cast<std::size_t>(layout));
  return {.application = static_cast<std::int32_t>(hash.value() >> 32U),
          .user = static_cast<std::int32_t>(hash.value() & 0xFFFFFFFFU)};
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
  return !error && size > 0 && size < StorePages::smallest_page;
}

/// What to do with a file that is damaged.
enum class Damage { refused, tolerated };

struct SweepStore::Database {
  StoredSweep what;
  sqlite::Database file;
  bool has_all_files = true;                  ///< false: a part of the list of files is damaged
  std::set<std::string> known_files = {};     ///< by absolute path
  std::set<std::string> seen_names = {};      ///< as they were named
  std::vector<std::size_t> key_columns = {};  ///< indices of the sweep's keys that have a column
  std::optional<sqlite::Statement> begin = {}, insert = {}, commit = {};

  Database(StoredSweep stored, const std::string& path, Readers readers, Damage damage = Damage::refused,
           const std::string& name = {})
      : what(std::move(stored)), file(path, name) {
    if (readers == Readers::none) file.run("PRAGMA locking_mode=EXCLUSIVE");
    // A commit is a line appended to the journal. It survives the end of the process at once, and a power
    // failure after the next checkpoint: work lost in a power failure is simulated again, never half-written.
    file.run("PRAGMA journal_mode=WAL");
    file.run("PRAGMA synchronous=NORMAL");
    make_tables();
    if (const std::string fault = damage == Damage::refused ? file.fault() : ""; !fault.empty())
      throw sqlite::Damaged(file.name(), fault);
    check_table("sweep", definition_of_sweep);
    check_table("files", definition_of_files);
    if (damage == Damage::refused || header() != header_numbers(what)) check_sweep();
    check_files(damage);
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
      const HeaderNumbers numbers = header_numbers(what);
      file.run(fmt::format("PRAGMA application_id={}", numbers.application));
      file.run(fmt::format("PRAGMA user_version={}", numbers.user));
    }
    file.run("COMMIT");
  }

  HeaderNumbers header() {
    const auto number = [&](const char* pragma) {
      sqlite::Statement ask(file, pragma);
      return ask.step() ? static_cast<std::int32_t>(ask.integer(0)) : 0;
    };
    return {.application = number("PRAGMA application_id"), .user = number("PRAGMA user_version")};
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

  void check_files(Damage damage) {
    sqlite::Statement ask(file, "SELECT path, hash FROM files");
    while (has_next(ask, damage)) {
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

  /// Like step(); where damage is tolerated, the list ends there.
  bool has_next(sqlite::Statement& ask, Damage damage) {
    try {
      return ask.step();
    } catch (const sqlite::Damaged&) {
      if (damage == Damage::refused) throw;
      has_all_files = false;
      return false;
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

  /// The current row of `ask`; nothing unless add_row() wrote it: callers use a row's point as an index, its
  /// figures as numbers, and print its reason.
  [[nodiscard]] std::optional<SweepRow> whole_row(const sqlite::Statement& ask) const {
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
    if (!is_whole || ask.text(checksum_column()) != checksum_of(row)) return std::nullopt;
    return row;
  }

  /// Throws Damaged where there is no whole row.
  [[nodiscard]] SweepRow read_row(const sqlite::Statement& ask) const {
    std::optional<SweepRow> row = whole_row(ask);
    if (row) return std::move(*row);
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

/// The rows of a damaged store, from a copy in which damage of the file's form is repaired step by step.
struct SweepStore::Salvaging {
  const std::filesystem::path& original;
  const StoredSweep& what;
  static constexpr const char* new_file = ".new";
  std::string copy;
  std::optional<Database> store = {};
  Salvage saved = {};
  std::vector<bool> is_found = std::vector<bool>(what.sweep.points.size());

  Salvaging(const std::filesystem::path& file, const StoredSweep& stored)
      : original(file), what(stored), copy(file.string() + ".salvaging") {}
  Salvaging(const Salvaging&) = delete;
  Salvaging& operator=(const Salvaging&) = delete;
  ~Salvaging() {
    store.reset();
    remove_store(copy);
    remove_store(copy + new_file);
  }

  void copy_file() const {
    remove_store(copy);  // of a salvage that was cut off
    for (const std::string journal : journals) {
      const std::string from = original.string() + journal;
      std::error_code error;
      if (journal == "-shm" || !std::filesystem::exists(from, error)) continue;  // shared memory is made anew
      std::filesystem::copy_file(from, copy + journal, error);
      if (error) throw FileError(fmt::format("cannot copy {}: {}", in_quotes(from), error.message()));
    }
  }

  void begin_store() { store.emplace(what, copy, Readers::none, Damage::tolerated, original.string()); }

  bool opens() {
    try {
      begin_store();
      return true;
    } catch (const FileError&) {
      return false;
    }
  }

  void open() {
    // The journal beside it may hold all pages.
    std::error_code ignored;
    const bool is_stump = is_too_short(copy);
    if (is_stump) std::filesystem::resize_file(copy, StorePages::smallest_page, ignored);
    if (!is_stump && opens()) return;
    {
      StorePages pages(copy);
      saved.damage = pages.count() < pages.count_in_header()
                         ? fmt::format("it ends after page {} of {}", pages.count(), pages.count_in_header())
                         : "its first page, which describes the tables, is damaged";
      pages.forget_count();
    }
    if (opens()) return;
    write_schema();
    try {
      begin_store();
    } catch (const sqlite::Damaged&) {
      throw FileError(
          fmt::format("{} cannot be salvaged: {}, and which sweep its points belong to cannot be read; "
                      "replace it with --force",
                      in_quotes(original.string()), saved.damage));
    }
  }

  /// What the tables are is known: a new store of the same sweep has the same pages, but for the tables' own.
  void write_schema() {
    const std::string fresh = copy + new_file;
    remove_store(fresh);
    SweepStore(fresh, what).close();
    const std::vector<std::string> tables =
        sqlite::Database(fresh).texts("SELECT rootpage FROM sqlite_schema");
    StorePages from(fresh);
    StorePages to(copy, from.page_size());
    for (std::uint32_t page = 1; page <= from.count(); ++page) {
      if (std::ranges::find(tables, std::to_string(page)) == tables.end()) to.write(page, from.read(page));
    }
    to.forget_count();
    to.forget_numbers();  // they would say that the points are of `what`
  }

  void keep(const std::optional<SweepRow>& row) {
    if (!row || is_found[row->point]) return;
    is_found[row->point] = true;
    saved.rows.push_back(*row);
  }

  /// One by one: a page that cannot be read loses its own rows only.
  void read_points() {
    sqlite::Statement ask(store->file, "SELECT * FROM points WHERE point = ?");
    for (std::size_t point = 0; point < what.sweep.points.size(); ++point) {
      try {
        ask.reset();
        ask.bind(1, static_cast<std::int64_t>(point));
        if (ask.step()) keep(store->read_row(ask));
      } catch (const FileError&) {
        if (saved.damage.empty()) saved.damage = fmt::format("the row of point {} has changed", point);
      }
    }
  }

  std::int64_t root_of_points() {
    sqlite::Statement ask(store->file, "SELECT rootpage FROM sqlite_schema WHERE name = 'points'");
    return ask.step() ? ask.integer(0) : 0;
  }

  /// Rows to which the tree of the table no longer leads: SQLite reads each leaf as if it were the whole
  /// table. A page that held rows earlier holds rows of this sweep too, or none with a checksum.
  void read_leaves() {
    const std::int64_t root_page = root_of_points();
    store.reset();  // which leaves no journal
    StorePages pages(copy);
    if (root_page < 2 || root_page > pages.count()) return;
    const auto root = static_cast<std::uint32_t>(root_page);
    const Database decoder(what, ":memory:", Readers::none);
    for (const std::uint32_t leaf : pages.leaves()) {
      if (leaf == root) continue;
      pages.write(root, pages.read(leaf));
      try {
        sqlite::Database file(copy);
        sqlite::Statement ask(file, "SELECT * FROM points");
        while (ask.step()) keep(decoder.whole_row(ask));
      } catch (const FileError&) {  // NOLINT(bugprone-empty-catch): the rest of the page is lost
      }
    }
  }

  Salvage salvaged() {
    copy_file();
    open();
    saved.files.assign(store->known_files.begin(), store->known_files.end());
    saved.has_all_files = store->has_all_files;
    if (saved.damage.empty()) saved.damage = store->file.fault();
    read_points();
    if (!saved.damage.empty() && saved.rows.size() < what.sweep.points.size()) read_leaves();
    std::ranges::sort(saved.rows, {}, &SweepRow::point);
    return std::move(saved);
  }
};

Salvage salvage(const std::filesystem::path& file, const StoredSweep& what) {
  return SweepStore::Salvaging(file, what).salvaged();
}

std::filesystem::path replace_damaged(const std::filesystem::path& file, const StoredSweep& what,
                                      const Salvage& saved) {
  const std::filesystem::path whole = file.string() + ".salvaged";
  remove_store(whole);  // of a salvage that was cut off
  {
    SweepStore store(whole, what);
    for (const SweepRow& row : saved.rows) store.add(row, saved.files);
    store.close();
  }
  std::string name = file.string() + ".damaged";
  std::error_code error;
  for (int number = 2; std::filesystem::exists(name, error); ++number)
    name = fmt::format("{}.damaged-{}", file.string(), number);
  const auto rename = [&](const std::string& from, const std::string& to) {
    std::filesystem::rename(from, to, error);
    if (error) throw FileError(fmt::format("cannot rename {}: {}", in_quotes(from), error.message()));
  };
  for (const char* const journal : journals) {
    if (*journal != '\0' && std::filesystem::exists(file.string() + journal, error))
      rename(file.string() + journal, name + journal);
  }
  rename(file.string(), name);
  rename(whole.string(), file.string());
  return name;
}

void remove_store(const std::filesystem::path& file) {
  std::error_code ignored;  // files that cannot be removed are found when the store is opened
  for (const char* const journal : journals) std::filesystem::remove(file.string() + journal, ignored);
}

}  // namespace trainyard
