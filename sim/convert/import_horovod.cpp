#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "convert/commands.hpp"
#include "convert/horovod_report.hpp"
#include "convert/import_input.hpp"
#include "document/json_text.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace trainyard {
namespace {

struct HorovodCommandOptions {
  std::string file;
  bool json = false;
};

void import_horovod(const HorovodCommandOptions& options) {
  const HorovodTimeline timeline = read_as(
      options.file,
      {config::FileFormat::horovod_timeline, config::FileFormat::chrome_trace, config::FileFormat::json},
      [&] { return read_horovod_timeline(options.file); });
  print_result(options.json ? json_text(horovod_json(timeline)) : horovod_text(timeline, print_style()));
}

}  // namespace

void add_import_horovod(CLI::App& import) {
  auto options = std::make_shared<HorovodCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "horovod", "print fusion, negotiation and waiting times of a Horovod timeline (no trace is written)");
  command.add_option("file", options->file, "the timeline, plain or compressed by gzip")
      ->required()
      ->type_name("FILE");
  command.add_flag("--json", options->json, "print it as JSON");
  add_examples(command,
               {"trainyard import horovod timeline.json", "trainyard import horovod timeline.json --json"});
  command.callback([options] { import_horovod(*options); });
}

}  // namespace trainyard
