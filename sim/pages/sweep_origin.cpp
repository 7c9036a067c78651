#include "pages/sweep_origin.hpp"

#include "config/diagnostic.hpp"
#include "config/write.hpp"
#include "sweep/read_point.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {

namespace {

/// Keys that name files. All other keys change values inside them, and sources belong to files.
constexpr std::array<std::string_view, 6> file_keys = {"experiment", "platform", "platform.node.gpus.profile",
                                                       "model",      "trace",    "stack"};

/// A point's values for the keys that name files.
std::vector<std::string> files_named(const Sweep& sweep, const PointValues& point) {
  std::vector<std::string> named;
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    if (std::ranges::find(file_keys, sweep.keys[key]) != file_keys.end()) named.push_back(point[key]);
  }
  return named;
}

void add_new(std::vector<PageSource>& sources, const std::vector<PageSource>& more) {
  for (const PageSource& source : more) {
    if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
  }
}

}  // namespace

SweepOrigin sweep_origin(const config::Catalogue& catalogue, const SweepResult& result, std::string sweep,
                         std::string version) {
  SweepOrigin origin{.version = std::move(version), .sweep = std::move(sweep)};
  InputFiles files;
  std::set<std::vector<std::string>> known;
  for (const SweepRow& row : result.rows) {
    const PointValues& values = result.sweep.points[row.point];
    if (row.status != PointStatus::done || !known.insert(files_named(result.sweep, values)).second) continue;
    try {
      const ResolvedExperiment resolved = read_point(catalogue, result.sweep, values, files);
      add_new(origin.sources, page_origin(resolved, origin.version).sources);
      if (!origin.experiment.empty()) continue;
      origin.point = row.point;
      origin.experiment = config::write(resolved.settings);
    } catch (const InputError& error) {  // finished rows must not be lost because a file has moved since
      origin.unread = error.diagnostics().front().message;
    } catch (const FileError& error) {
      origin.unread = error.what();
    }
  }
  return origin;
}

void add_origin(doc::Document& page, const SweepOrigin& origin) {
  if (origin.experiment.empty() && origin.unread.empty()) return;
  doc::Section& section = page.section("trust", "sources of the numbers");
  section.add(doc::Sentence{
      "The page of a single point shows the sources of its compute times, its notes and what is not "
      "modelled: `trainyard run` with the point's keys as --set, and --out."});
  if (!origin.unread.empty())
    section.add(doc::Sentence{"Files could not be read again for this page: " + origin.unread});
  if (!origin.sources.empty()) section.add(sources_table(origin.sources));
  if (origin.experiment.empty()) return;
  section.add(
      doc::Heading{fmt::format("experiment of point {}", grouped(static_cast<std::int64_t>(origin.point)))});
  section.add(doc::Sentence{"All keys with their values, defaults included."});
  section.add(doc::Listing{.key = "experiment", .text = origin.experiment});
}

}  // namespace trainyard
