#include "cli/help.hpp"
#include "cli/page_options.hpp"
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
  PageOptions page;
};

void import_horovod(const HorovodCommandOptions& options) {
  check_page_options(options.page);
  const HorovodTimeline timeline = read_as(
      options.file,
      {config::FileFormat::horovod_timeline, config::FileFormat::chrome_trace, config::FileFormat::json},
      [&] { return read_horovod_timeline(options.file); });
  const std::string page = printed_page(options.page, horovod_document(timeline));
  print_result(options.page.json ? json_text(horovod_json(timeline)) : page);
}

}  // namespace

void add_import_horovod(CLI::App& import) {
  auto options = std::make_shared<HorovodCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "horovod", "print fusion, negotiation and waiting times of a Horovod timeline (no trace is written)");
  add_input_file(command, options->file, "the timeline, plain or compressed by gzip");
  add_page_options(command, options->page, "print it as JSON");
  add_examples(command,
               {"trainyard import horovod timeline.json", "trainyard import horovod timeline.json --json"});
  command.callback([options] { import_horovod(*options); });
}

}  // namespace trainyard
