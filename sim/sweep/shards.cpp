#include "sweep/shards.hpp"

#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"
#include "sweep/sqlite.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

/// The shard of a file's name; nothing for other files.
std::optional<Shard> shard_named(std::string_view name) {
  constexpr std::string_view first = "shard-", middle = "-of-", last = ".db";
  if (!name.starts_with(first) || !name.ends_with(last)) return std::nullopt;
  name = name.substr(first.size(), name.size() - first.size() - last.size());
  const std::size_t of = name.find(middle);
  if (of == std::string_view::npos) return std::nullopt;
  Shard shard;
  const auto read = [](std::string_view text, int& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number > 0;
  };
  if (!read(name.substr(0, of), shard.number) || !read(name.substr(of + middle.size()), shard.of))
    return std::nullopt;
  return shard;
}

/// The total number of shards, according to the names in the folder.
int shards_in(const fs::path& dir) {
  std::optional<int> of;
  for (const fs::path& file : shard_files(dir)) {
    const std::optional<Shard> shard = shard_named(file.filename().string());
    if (of && *of != shard->of) {
      throw InputError(
          fmt::format("{} has shards of a division into {} and of one into {}", in_quotes(dir.string()),
                      std::min(*of, shard->of), std::max(*of, shard->of)),
          "remove the shards of one division");
    }
    of = shard->of;
  }
  if (!of) throw FileError(fmt::format("{} has no shards of a sweep", in_quotes(dir.string())));
  return *of;
}

}  // namespace

fs::path shard_file(const fs::path& dir, const Shard& shard) {
  return dir / fmt::format("shard-{}-of-{}.db", shard.number, shard.of);
}

std::vector<fs::path> shard_files(const fs::path& dir) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::path& file : config::entries(dir, error)) {
    if (shard_named(file.filename().string())) files.push_back(file);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw FileError(fmt::format("cannot read {}: {}", in_quotes(dir.string()), error.message()));
  std::ranges::sort(files);
  return files;
}

MergedShards merged(const fs::path& dir, const StoredSweep& what) {
  const int shards = shards_in(dir);
  MergedShards merged;
  std::set<std::string> files;
  for (int number = 1; number <= shards; ++number) {
    const Shard shard{number, shards};
    const fs::path file = shard_file(dir, shard);
    const std::string again = fmt::format("run it again with --shard {}/{} --resume", number, shards);
    if (std::error_code ignored; !fs::exists(file, ignored))
      throw FileError(fmt::format("shard {} of {} is missing: {}", number, shards, again));
    std::vector<SweepRow> of_shard;
    try {
      const SweepStore store(file, what, Readers::none);
      of_shard = store.rows();
      for (std::string& path : store.files()) files.insert(std::move(path));
    } catch (const sqlite::Damaged& error) {
      throw FileError(
          fmt::format("{}; --shard {}/{} --force simulates its points again", error.fault(), number, shards));
    }
    std::size_t expected = 0;
    for (std::size_t point = 0; point < what.sweep.points.size(); ++point)
      expected += is_in_shard(point, number, shards) ? 1 : 0;
    const auto is_other = [&](const SweepRow& row) { return !is_in_shard(row.point, number, shards); };
    if (std::ranges::any_of(of_shard, is_other)) {
      throw InputError(fmt::format("{} contains points of another shard", in_quotes(file.string())), again);
    }
    if (of_shard.size() != expected) {
      throw FileError(fmt::format("shard {} of {} has finished {} of its {} points: {}", number, shards,
                                  of_shard.size(), expected, again));
    }
    std::ranges::move(of_shard, std::back_inserter(merged.rows));
  }
  std::ranges::sort(merged.rows, {}, &SweepRow::point);
  merged.files.assign(files.begin(), files.end());
  return merged;
}

}  // namespace trainyard
