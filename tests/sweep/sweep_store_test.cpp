#include "sweep/sweep_store.hpp"

#include "errors_of.hpp"
#include "sweep/shards.hpp"
#include "sweep/sqlite.hpp"
#include "sweep/store_lock.hpp"
#include "temporary_folder.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace trainyard;

namespace {

namespace fs = std::filesystem;

/// `points` values of one key.
StoredSweep what_of(int points, const std::string& key = "nodes") {
  StoredSweep what{.sweep = {}, .figures = {"step_time_s", "ranks"}, .version = "1"};
  what.sweep.name = "made";
  what.sweep.experiment = "some";
  what.sweep.keys = {key};
  for (int i = 0; i < points; ++i) what.sweep.points.push_back({std::to_string(i)});
  return what;
}

SweepRow done(std::size_t point) {
  return {.point = point,
          .status = PointStatus::done,
          .reason = {},
          .figures = {0.1 * static_cast<double>(point), std::nullopt}};
}

SweepRow failed(std::size_t point) {
  return {.point = point, .status = PointStatus::impossible, .reason = "no \"room\"; o'clock", .figures = {}};
}

bool same(const SweepRow& a, const SweepRow& b) {
  return a.point == b.point && a.status == b.status && a.reason == b.reason && a.figures == b.figures;
}

std::string put(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
  return file.string();
}

template <class Made>
std::string problem_of(Made made) {
  try {
    made();
  } catch (const InputError& error) {
    return error.diagnostics().front().message;
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

std::string opening(const fs::path& file, const StoredSweep& what) {
  return problem_of([&] { const SweepStore store(file, what); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("rows come back as they were, by point, from memory, and from a file that is opened again") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  const StoredSweep what = what_of(10);
  const auto check = [](const SweepStore& store) {
    const std::vector<SweepRow> rows = store.rows();
    REQUIRE(rows.size() == 3);
    CHECK(same(rows[0], done(1)));
    CHECK(same(rows[1], failed(4)));
    CHECK(same(rows[2], done(7)));
  };
  for (const bool in_memory : {true, false}) {
    SweepStore store = in_memory ? SweepStore(what) : SweepStore(file, what);
    store.add(done(7), {});
    store.add(failed(4), {});
    store.add(done(1), {});
    store.add(done(7), {});  // again: replaced
    check(store);
    if (!in_memory) store.close();
  }
  check(SweepStore(file, what));
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("people's queries: numbers compare as numbers, a failed point has no figures") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "sweep.db").string();
  SweepStore store(file, what_of(20));
  store.add(done(2), {});
  store.add(failed(16), {});
  store.add(done(19), {});
  store.close();
  sqlite::Database database(file);
  CHECK(database.texts("SELECT point FROM points WHERE nodes > 9") == std::vector<std::string>{"16", "19"});
  CHECK(database.texts("SELECT point FROM points WHERE step_time_s IS NULL") ==
        std::vector<std::string>{"16"});
  CHECK(database.texts("SELECT reason FROM points WHERE status = 'impossible'") ==
        std::vector<std::string>{"no \"room\"; o'clock"});
  CHECK(database.texts("SELECT value FROM sweep WHERE name = 'name'") == std::vector<std::string>{"made"});
}

TEST_CASE("who looks at the rows of a sweep that goes on keeps it from nothing") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "sweep.db").string();
  SweepStore store(file, what_of(2));
  store.add(done(0), {});
  sqlite::Database other(file);
  other.run("BEGIN");
  CHECK(other.texts("SELECT point FROM points") == std::vector<std::string>{"0"});
  store.add(done(1), {});
  store.close();
  CHECK(other.texts("SELECT point FROM points") == std::vector<std::string>{"0"});  // as it began to look
  other.run("COMMIT");
  CHECK(other.texts("SELECT point FROM points") == std::vector<std::string>{"0", "1"});
}

TEST_CASE("whatever a user varies has a column of its own") {
  for (const std::string key :
       {"point", "Status", "RANKS", "a\"b", "platform.fabric.nic", "1; DROP TABLE x"}) {
    CAPTURE(key);
    SweepStore store(what_of(2, key));
    store.add(done(1), {});
    CHECK(same(store.rows().front(), done(1)));
  }
  StoredSweep what = what_of(1);
  what.sweep.keys = {"ranks", "Model", "model", "MODEL"};  // the first is a figure and has its column
  what.sweep.points = {{"1", "a", "b", "c"}};
  SweepStore store(what);
  store.add(done(0), {});
  CHECK(same(store.rows().front(), done(0)));
}

TEST_CASE("a store of another sweep, or of another version, is refused") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  SweepStore(file, what_of(3)).add(done(0), {});
  CHECK(opening(file, what_of(3)).empty());
  CHECK(contains(opening(file, what_of(4)), "sweep.db' belongs to another sweep: the points of 'made'"));
  CHECK(contains(opening(file, what_of(3, "gpus")), "belongs to another sweep"));
  StoredSweep other = what_of(3);
  other.sweep.set = {{"precision", "amp"}};
  CHECK(contains(opening(file, other), "belongs to another sweep"));
  other = what_of(3);
  other.sweep.experiment = "another";
  CHECK(contains(opening(file, other), "belongs to another sweep"));
  other = what_of(3);
  other.figures = {"step_time_s"};
  CHECK(contains(opening(file, other), "belongs to another sweep"));
  other = what_of(3);
  other.version = "2";
  CHECK(contains(opening(file, other), "was written by version 1 of trainyard, this is 2"));
  other = what_of(3);
  other.sweep.goal.epochs = 90;  // is asked of the rows, and changes none
  CHECK(opening(file, other).empty());
}

TEST_CASE("a key that is set is not a key that is varied") {
  const TemporaryFolder folder;
  StoredSweep set = what_of(0);
  set.sweep.keys = {};
  set.sweep.set = {{"precision", "amp"}};
  set.sweep.points = {{}};
  StoredSweep varied = what_of(0, "precision");
  varied.sweep.points = {{"amp"}};
  SweepStore(folder.path / "sweep.db", set).add(done(0), {});
  CHECK(contains(opening(folder.path / "sweep.db", varied), "belongs to another sweep"));
}

TEST_CASE("a file that was read for finished points and has changed since is named") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  const std::string model = put(folder.path / "model.yaml", "layers: 50\n");
  const std::string stack = put(folder.path / "stack.yaml", "name: x\n");
  SweepStore(file, what_of(3)).add(done(0), {model, stack});
  {
    const SweepStore store(file, what_of(3));
    CHECK(store.files() == std::vector<std::string>{model, stack});
  }
  put(model, "layers: 51\n");
  CHECK(contains(opening(file, what_of(3)), "model.yaml' has changed since points were simulated with it"));
  put(model, "layers: 50\n");
  CHECK(opening(file, what_of(3)).empty());
  fs::remove(stack);
  CHECK(contains(opening(file, what_of(3)), "stack.yaml"));
}

TEST_CASE("what is no database, or cannot be opened, is an error of files that names it") {
  const TemporaryFolder folder;
  const std::string text = put(folder.path / "sweep.db", "point,nodes\n" + std::string(5000, 'x'));
  CHECK(contains(opening(text, what_of(1)), "sweep.db' is damaged: file is not a database"));
  CHECK_THROWS_AS(SweepStore(folder.path / "none" / "sweep.db", what_of(1)), FileError);
  CHECK_THROWS_AS(SweepStore(folder.path, what_of(1)), FileError);
}

TEST_CASE("a row that is not as it was written is an error of files, whatever was changed in it") {
  const TemporaryFolder folder;
  const StoredSweep what = what_of(4);
  for (const std::string change : {"UPDATE points SET point = 102 WHERE point = 2",
                                   "UPDATE points SET point = -1 WHERE point = 2",
                                   "UPDATE points SET point = 3 WHERE point = 2",
                                   "UPDATE points SET status = NULL",
                                   "UPDATE points SET status = 'gone'",
                                   "UPDATE points SET status = 'done' WHERE status = 'impossible'",
                                   "UPDATE points SET status = 'impossible' WHERE status = 'done'",
                                   "UPDATE points SET reason = 'another' WHERE point = 0",
                                   "UPDATE points SET step_time_s = NULL",
                                   "UPDATE points SET step_time_s = 1e999",
                                   "UPDATE points SET step_time_s = -1e999",
                                   "UPDATE points SET step_time_s = 'soon'",
                                   "UPDATE points SET step_time_s = x'00'",
                                   "UPDATE points SET step_time_s = 0.21",
                                   "UPDATE points SET ranks = 0",
                                   "UPDATE points SET checksum = NULL",
                                   "UPDATE points SET checksum = upper(checksum || 'x')",
                                   "INSERT INTO points(point) VALUES(3)",
                                   "INSERT INTO points(point, status) VALUES(3, 'done')",
                                   "ALTER TABLE points DROP COLUMN ranks",
                                   "ALTER TABLE points ADD COLUMN more"}) {
    CAPTURE(change);
    const fs::path file = folder.path / "shard-1-of-1.db";
    {
      SweepStore store(file, what);
      store.add(failed(0), {});
      store.add(done(2), {});
      store.close();
      CHECK(store.rows().size() == 2);
    }
    sqlite::Database(file.string()).run(change);
    CHECK_THROWS_AS(static_cast<void>(SweepStore(file, what).rows()), FileError);
    const std::string problem = problem_of([&] { merged(folder.path, what); });
    CHECK(contains(problem, "shard-1-of-1.db' is damaged: "));
    CHECK(contains(problem, "--shard 1/1 --force"));
    remove_store(file);
  }
}

TEST_CASE("a store whose bytes are damaged, or that is cut short, is refused by name") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  constexpr int points = 500;
  constexpr std::size_t page = 4096;
  const StoredSweep what = what_of(points);
  {
    SweepStore store(file, what);
    for (std::size_t point = 0; point < points; ++point) store.add(done(point), {});
    store.close();
  }
  const std::string whole = bytes_of(file);
  REQUIRE(whole.size() > 8 * page);
  const auto check = [&](const std::string& bytes) {
    put(file, bytes);
    const std::string problem = opening(file, what);
    CHECK(contains(problem, "sweep.db' is damaged: "));
    CHECK(contains(problem, "--force"));
  };
  for (std::size_t at = 0; at < whole.size(); at += page) {
    CAPTURE(at);
    check(std::string(whole).replace(at, page, page, 'x'));
    if (at > 0) check(whole.substr(0, at));
    check(whole.substr(0, at + 1000));
  }
  put(file, whole);
  CHECK(SweepStore(file, what).rows().size() == points);
}

TEST_CASE("a file too short for a store is not an empty one") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  const StoredSweep what = what_of(3);
  for (const std::size_t bytes : {1, 99, 100, 511}) {
    CAPTURE(bytes);
    put(file, std::string(bytes, 'S'));
    CHECK(contains(opening(file, what), "is damaged: file is not a database"));
    CHECK(bytes_of(file) == std::string(bytes, 'S'));
  }
  put(file, "");  // as SQLite leaves it before the first commit
  CHECK(SweepStore(file, what).rows().empty());
}

TEST_CASE("what somebody defined in a store does not run") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  const StoredSweep what = what_of(3);
  SweepStore(file, what).add(done(0), {});
  sqlite::Database(file.string()).run("CREATE INDEX mine ON points(nodes)");
  sqlite::Database(file.string())
      .run("CREATE TRIGGER theirs AFTER INSERT ON points BEGIN UPDATE points SET reason = 'changed'; END");
  {
    SweepStore store(file, what);
    store.add(done(1), {});
    for (const SweepRow& row : store.rows()) CHECK(same(row, done(row.point)));
  }
  for (const std::string table : {"sweep", "files"}) {
    const fs::path other = folder.path / (table + ".db");
    SweepStore(other, what).close();
    sqlite::Database(other.string())
        .run(fmt::format(
            "ALTER TABLE {0} RENAME TO old; CREATE VIEW {0} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION "
            "ALL SELECT i + 1 FROM n) SELECT i, i FROM n",
            table));
    CHECK(contains(opening(other, what), "has another form"));
  }
}

TEST_CASE("a reason with a control character, or that is not UTF-8, is no reason of ours") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  for (const std::string reason :
       {"\x1b[2Jgone", "\xC2\x9B\x32Jgone", "\x9B\x32Jgone", "half \xE2\x82", "a\nb"}) {
    SweepRow row = failed(0);
    row.reason = reason;
    SweepStore(file, what_of(1)).add(row, {});
    CHECK_THROWS_AS(static_cast<void>(SweepStore(file, what_of(1)).rows()), FileError);
    remove_store(file);
  }
  SweepRow row = failed(0);
  row.reason = "Z\xC3\xBCrich";
  SweepStore(file, what_of(1)).add(row, {});
  CHECK(SweepStore(file, what_of(1)).rows().front().reason == row.reason);
}

TEST_CASE("what a store says of its version and name is printed as UTF-8") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  SweepStore(file, what_of(1)).close();
  sqlite::Database(file.string())
      .run("UPDATE sweep SET value = CAST(x'FF31' AS TEXT) WHERE name = 'version'");
  CHECK(contains(opening(file, what_of(1)), "version ?1 of trainyard"));
}

TEST_CASE("a list of files that names a huge file is refused before it is read to its end") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  const std::string model = put(folder.path / "model.yaml", "layers: 50\n");
  SweepStore(file, what_of(1)).add(done(0), {model});
  fs::resize_file(model, (std::uintmax_t{1} << 30U) + 1);  // a hole, which takes no space
  CHECK(contains(opening(file, what_of(1)), "has more than 1024 MiB"));
}

TEST_CASE("a process that is killed leaves every row it had committed") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    SweepStore store(file, what_of(100));
    for (std::size_t point = 0; point < 40; ++point) store.add(done(point), {});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  SweepStore store(file, what_of(100));
  const std::vector<SweepRow> rows = store.rows();
  REQUIRE(rows.size() == 40);
  for (std::size_t point = 0; point < rows.size(); ++point) CHECK(same(rows[point], done(point)));
  store.add(done(40), {});
  CHECK(store.rows().size() == 41);
}

TEST_CASE("shards merge to the whole, for any number of them") {
  const StoredSweep what = what_of(7);
  for (const int shards : {1, 3, 9}) {
    CAPTURE(shards);
    const TemporaryFolder folder;
    for (int number = 1; number <= shards; ++number) {
      SweepStore store(shard_file(folder.path, {number, shards}), what);
      for (std::size_t point = 0; point < what.sweep.points.size(); ++point) {
        if (is_in_shard(point, number, shards)) store.add(point % 3 == 0 ? failed(point) : done(point), {});
      }
      store.close();
    }
    const std::vector<SweepRow> rows = merged(folder.path, what).rows;
    REQUIRE(rows.size() == what.sweep.points.size());
    for (std::size_t point = 0; point < rows.size(); ++point)
      CHECK(same(rows[point], point % 3 == 0 ? failed(point) : done(point)));
  }
}

TEST_CASE("one process at a time works on a store") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "sweep.db";
  {
    const StoreLock first(file);
    CHECK(contains(problem_of([&] { const StoreLock second(file); }), "is using"));
  }
  CHECK(problem_of([&] { const StoreLock third(file); }).empty());
  CHECK(!fs::exists(file.string() + ".lock"));
}

TEST_CASE("shards that are missing, unfinished, of another sweep or in each other's place do not merge") {
  const TemporaryFolder folder;
  const StoredSweep what = what_of(4);
  const auto merging = [&] { return problem_of([&] { merged(folder.path, what); }); };
  CHECK(contains(merging(), "has no shards"));
  const fs::path first = shard_file(folder.path, {1, 2});
  const fs::path second = shard_file(folder.path, {2, 2});
  SweepStore(first, what).add(done(0), {});
  CHECK(merging() == "shard 1 of 2 has finished 1 of its 2 points: run it again with --shard 1/2 --resume");
  SweepStore(first, what).add(done(2), {});
  CHECK(merging() == "shard 2 of 2 is missing: run it again with --shard 2/2 --resume");
  fs::copy_file(first, second);
  CHECK(contains(merging(), "shard-2-of-2.db' "));
  fs::remove(second);
  SweepStore(second, what_of(5)).add(done(1), {});
  CHECK(contains(merging(), "belongs to another sweep"));
  fs::remove(second);
  {
    SweepStore store(second, what);
    store.add(done(1), {});
    store.add(failed(3), {});
  }
  CHECK(merged(folder.path, what).rows.size() == 4);
  SweepStore(shard_file(folder.path, {1, 3}), what).close();
  CHECK(contains(merging(), "into 2 and of one into 3"));
  CHECK_THROWS_AS(merged(folder.path / "none", what), FileError);
}
