#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "config/catalogue.hpp"
#include "document/json_text.hpp"
#include "experiment/collective_errors.hpp"
#include "experiment/collective_software.hpp"
#include "io/out_files.hpp"
#include "platform/load.hpp"
#include "report/collective_table.hpp"
#include "report/csv.hpp"
#include "run/collective_sweep.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

struct CollectiveOptions {
  std::string operation;
  std::string platform;
  std::string nodes = "1";
  std::string gpus;
  std::string gpus_per_node;
  std::string begin = "8";
  std::string end = "1G";
  std::string factor = "2";
  std::string step;
  std::string algorithm = "auto";
  std::optional<std::string> grid;
  std::string protocol;
  std::string nccl;
  std::string library;
  std::string root = "0";
  std::string gpus_per_process = "1";
  std::vector<std::string> groups;
  std::vector<std::string> set;
  std::string links;
  std::string csv;
  std::string iterations = "20";
  std::string warmup = "5";
  std::string fidelity = "flow";
  PageOptions page{.html = {}, .has_other_files = true};
  LimitOptions limits;
};

/// More ranks than any cluster here has: certainly a mistake, and a list too long for memory.
constexpr int most_ranks = 10'000'000;

[[noreturn]] void wrong_group(const std::string& message) { throw CLI::ValidationError("--group", message); }

void add_range(std::string_view item, std::vector<Rank>& ranks) {
  const std::size_t dash = item.find('-');
  const auto number = [](std::string_view text) {
    return whole_number("--group", std::string(text), 0, most_ranks);
  };
  const int first = number(item.substr(0, dash));
  const int last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
  if (last < first) wrong_group(fmt::format("'{}' counts down; write the smaller rank first", item));
  for (int rank = first; rank <= last; ++rank) ranks.push_back(Rank{rank});
}

/// A group of ranks in the format of --group: "0-7,9" and, after an @, the time when it begins: "8-15@1ms".
/// Throws CLI::ValidationError for any other text.
CollectiveGroup rank_group(const std::string& text) {
  CollectiveGroup group;
  const std::size_t at_sign = text.find('@');
  const std::string_view list = std::string_view(text).substr(0, at_sign);
  for (const auto part : std::views::split(list, ',')) add_range({part.begin(), part.end()}, group.ranks);
  std::ranges::sort(group.ranks);
  if (const auto twice = std::ranges::adjacent_find(group.ranks); twice != group.ranks.end())
    wrong_group(fmt::format("'{}' names rank {} twice", text, index(*twice)));
  if (at_sign == std::string::npos) return group;
  const Parsed<Seconds> start = parse_quantity<Seconds>(std::string_view(text).substr(at_sign + 1));
  if (!start) wrong_group(fmt::format("'{}': {}; {}", text, start.error().message, start.error().hint));
  group.start = *start;
  if (group.start < Seconds{}) wrong_group(fmt::format("'{}' has a negative start time", text));
  return group;
}

/// Whole elements of 4 bytes, from the first size on, each `factor` times the previous size or `step` larger.
std::vector<Bytes> sizes_of(const CollectiveOptions& options) {
  const Bytes begin = nccl_size("-b", options.begin);
  const Bytes end = nccl_size("-e", options.end);
  const int factor = whole_number("-f", options.factor, 2);
  if (end < begin) throw CLI::ValidationError("-e", "'" + options.end + "' is less than -b");
  std::vector<Bytes> sizes;
  const bool adds = !options.step.empty();
  const Bytes step = adds ? nccl_size("-i", options.step) : Bytes{};
  constexpr double most_sizes = 10'000;
  if (adds && (end - begin) / step > most_sizes) {
    throw CLI::ValidationError("-i", "'" + options.step + "' makes more than 10000 sizes");
  }
  for (Bytes size = begin; size <= end; size = adds ? size + step : size * factor)
    sizes.push_back(Bytes(4 * std::floor(size.si() / 4)));
  return sizes;
}

/// The columns and rows of --grid: "16x8". Throws CLI::ValidationError for any other text.
TorusGrid grid_of(const std::string& text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    throw CLI::ValidationError("--grid",
                               fmt::format("'{}' has no x; write columns and rows like this: 16x8", text));
  }
  const auto side = [](const std::string& number) { return whole_number("--grid", number, 2, most_ranks); };
  return {side(text.substr(0, cross)), side(text.substr(cross + 1))};
}

int count_or_all(const std::string& option, const std::string& text) {
  return text.empty() ? 0 : whole_number(option, text, 1);
}

/// The communication library of --library and --nccl.
CollectiveSoftware software_of(const CollectiveOptions& options, const config::Catalogue& catalogue,
                               const Platform& platform, const std::filesystem::path& platform_file) {
  std::optional<NcclVersion> version;
  if (!options.nccl.empty()) version = choice<NcclVersion>(options.nccl);
  std::optional<CommunicationLibrary> library;
  if (!options.library.empty()) library = choice<CommunicationLibrary>(options.library);
  if (library && is_of_hosts(*library) && !options.protocol.empty())
    throw CLI::ValidationError("--protocol",
                               "the protocols are NCCL's, and the library is " + options.library);
  return collective_software(catalogue, shipped_protocols(catalogue), version, platform, platform_file,
                             library);
}

/// The expected error of the report's bandwidths, or why it is unknown.
Known<CollectiveErrorsBySize> expected_error_of(const config::Catalogue& catalogue, const Cluster& cluster,
                                                const CollectiveSweep& sweep,
                                                const CollectiveReport& report) {
  if (sweep.software.library != CommunicationLibrary::nccl || sweep.software.version == NcclVersion::none)
    return unknown("published curves with known errors exist for NCCL only");
  if (sweep.algorithm != Algorithm::automatic || sweep.protocol)
    return unknown("published curves exist only for NCCL's own choice of algorithm and protocol");
  if (report.groups.size() > 1 || static_cast<int>(report.groups.front().ranks.size()) < report.ranks)
    return unknown("published curves exist only for one collective of all ranks");
  const auto errors = shipped_collective_errors(catalogue);
  if (!errors) return unknown("no errors of published curves are installed");
  const CurveSubject of{.operation = std::string(config::name_of(sweep.operation)),
                        .platform = report.platform,
                        .links = std::string(config::name_of(family_of(cluster))),
                        .compute_capability = sweep.software.compute_capability,
                        .gpus = report.ranks,
                        .nodes = report.nodes};
  CollectiveErrorsBySize by_size;
  for (const SizeRange range : size_ranges) {
    const auto has_it = [&](const CollectiveTiming& row) { return range_of(row.size) == range; };
    if (std::ranges::none_of(report.rows, has_it)) continue;
    (range == SizeRange::large ? by_size.large : by_size.small) = collective_error(*errors, of, range);
  }
  if (!by_size.large && !by_size.small) return unknown("too few published curves");
  return by_size;
}

void time_on_platform(const CollectiveOptions& options) {
  CollectiveSweep sweep;
  sweep.operation = choice<Operation>(options.operation);
  sweep.algorithm = choice<Algorithm>(options.algorithm);
  sweep.root = whole_number("--root", options.root, 0);
  sweep.sizes = sizes_of(options);
  sweep.gpus_per_process = whole_number("-g", options.gpus_per_process, 1);
  sweep.fidelity = choice<Fidelity>(options.fidelity);
  sweep.lists_links = !options.links.empty();
  if (options.grid) {
    if (sweep.algorithm != Algorithm::torus2d)
      throw CLI::ValidationError("--grid", "requires --algorithm torus2d");
    sweep.grid = grid_of(*options.grid);
  }
  if (!options.protocol.empty()) sweep.protocol = choice<Protocol>(options.protocol);
  for (const std::string& text : options.groups) sweep.groups.push_back(rank_group(text));
  whole_number("-n", options.iterations, 1);
  whole_number("-w", options.warmup, 0);
  check_page_options(options.page);
  for (const std::string& file : {options.links, options.csv}) {
    if (!file.empty()) check_out_file(file, options.page.force);
  }
  const int nodes = whole_number("--nodes", options.nodes, 1);
  const int gpus = count_or_all("--gpus", options.gpus);
  const int gpus_per_node = count_or_all("--gpus-per-node", options.gpus_per_node);

  const config::Catalogue catalogue = config::find_catalogue();
  const auto platform_file = config::find(catalogue, config::Kind::platform, options.platform);
  Platform platform = platform_with(platform_file, options.set);
  sweep.software = software_of(options, catalogue, platform, platform_file);
  require_ranks_on_all_nodes(platform, nodes, gpus, gpus_per_node);
  std::optional<LimitsKept> limits(std::in_place, limits_of(options.limits), announce_work);
  const Cluster cluster = make_cluster(std::move(platform), nodes, gpus, gpus_per_node);
  CollectiveReport report = time_collective(cluster, sweep);
  report.changed = fmt::format("{}", fmt::join(options.set, ", "));
  report.expected_error = expected_error_of(catalogue, cluster, sweep, report);
  limits.reset();  // what is finished gets written
  if (!options.links.empty()) write_out_file(options.links, links_csv(report.links), options.page.force);
  if (!options.csv.empty()) write_out_file(options.csv, timings_csv(report.rows), options.page.force);
  const doc::Document page = collective_document(report);
  const std::string printed = printed_page(options.page, page);
  print_result(options.page.json       ? json_text(collective_json(report))
               : options.page.markdown ? printed
                                       : nccl_tests_text(page, print_style()));
}

}  // namespace

void add_collective(CLI::App& program) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App& command = *program.add_subcommand(
      "collective", "time a collective over a range of sizes, with the options and columns of nccl-tests");
  offer_names_of<Operation>(
      command.add_option("OP", options->operation, "the collective: " + names_of<Operation>())->required());
  command
      .add_option("--platform", options->platform, "name of a shipped platform, or the path of a YAML file")
      ->required()
      ->type_name("PLATFORM");
  add_value(command, "--nodes", options->nodes, "N", "nodes of the platform");
  add_value(command, "--gpus", options->gpus, "N",
            "total number of GPUs, taken in node order (default: all)");
  add_value(command, "--gpus-per-node", options->gpus_per_node, "N", "GPUs used per node (default: all)");
  add_value(command, "-b,--minbytes", options->begin, "SIZE",
            "smallest size of one rank's buffer in bytes; K, M and G are KiB, MiB and GiB");
  add_value(command, "-e,--maxbytes", options->end, "SIZE", "largest size");
  CLI::Option* factor =
      add_value(command, "-f,--stepfactor", options->factor, "N", "factor between consecutive sizes");
  add_value(command, "-i,--stepbytes", options->step, "SIZE", "difference between consecutive sizes")
      ->excludes(factor);
  add_choice<Algorithm>(command, "--algorithm", options->algorithm, "A", "algorithm: {}");
  add_value(command, "--grid", options->grid, "CxR",
            "columns and rows of torus2d's grid (default: the fabric's grid, or the squarest)");
  add_choice<Protocol>(command, "--protocol", options->protocol, "P",
                       "protocol: {} (default: NCCL's choice)");
  add_choice<NcclVersion>(
      command, "--nccl", options->nccl, "V",
      "NCCL version whose choices auto makes: {} (default: 2.7.8, for H100 and newer 2.30); none: only "
      "latency and bandwidth of the links count");
  add_choice<CommunicationLibrary>(command, "--library", options->library, "L",
                                   "communication library whose choices auto makes: {} (default: nccl; "
                                   "mpich if ranks are on processors)");
  add_value(command, "-r,--root", options->root, "N",
            "root of broadcast, reduce, gather and scatter: the position of a rank in its group");
  add_value(command, "-g,--ngpus", options->gpus_per_process, "N",
            "GPUs per process; starting them in turn limits the time of small sizes from below");
  add_repeatable(command, "--group", options->groups, "RANKS",
                 "RANKS[@TIME], repeatable: a group of ranks (0-7,9) with a collective of its own; all "
                 "groups start together, or TIME later");
  add_repeatable(command, "--set", options->set, "KEY=VALUE",
                 "KEY=VALUE, repeatable: overrides a key of the platform (platform.fabric.nic=\"25 Gbps\")");
  add_value(command, "-n,--iters", options->iterations, "N",
            "iterations, for scripts that call nccl-tests: simulated ones all take as long as the first");
  add_value(command, "-w,--warmup_iters", options->warmup, "N", "iterations before these, likewise");
  add_value(command, "--csv", options->csv, "FILE", "write the rows to this CSV file, in SI base units");
  add_value(command, "--links", options->links, "FILE", "write the traffic of every link to this CSV file");
  add_choice<Fidelity>(command, "--fidelity", options->fidelity, "F", "level of detail, cheapest first: {}");
  add_limit_options(command, options->limits);
  add_form_options(command, options->page, "print JSON in SI base units instead of the table");
  add_value(command, "--html", options->page.html, "FILE", "also write a page for a browser to this file");
  command.add_flag("--force", options->page.force,
                   "replace the files of --csv, --links and --html if they exist");
  add_examples(command,
               {"trainyard collective all_reduce --platform dgx2 --gpus 12 -b 1M -e 1G -f 2",
                "trainyard collective broadcast --platform dlperf --nodes 4 --root 8 --algorithm tree"});
  command.callback([options] { time_on_platform(*options); });
}

}  // namespace trainyard
