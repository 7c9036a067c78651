#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "imports/chakra_trace.hpp"
#include "imports/checked_trace.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"
#include "workload/trace_csv.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

namespace trainyard {
namespace {

struct ImportChakraOptions {
  std::string file, out;
  std::optional<std::string> gpus;
  bool force = false;
};

void import_chakra(const ImportChakraOptions& options) {
  std::optional<int> ranks;
  if (options.gpus) ranks = whole_number("--gpus", *options.gpus, 2, 1'000'000);
  check_out_file(options.out, options.force);
  const ChakraGraph graph =
      read_as(options.file, {config::FileFormat::chakra, config::FileFormat::chakra_json},
              [&] { return read_chakra(options.file); });
  const ChakraImport imported = trace_of(graph, ranks);
  Seconds computing;
  for (const Op& op : imported.trace.ops) computing += *op.duration;
  print_result(
      fmt::format("nodes        {}; {} edges of data_deps, {} of ctrl_deps\n"
                  "computing    {} in {} ops\n"
                  "collectives  {} of {} B in all\n",
                  grouped(static_cast<std::int64_t>(graph.nodes.size())), grouped(imported.data_edges),
                  grouped(imported.control_edges), human(computing),
                  grouped(static_cast<std::int64_t>(imported.trace.ops.size())), imported.collectives,
                  grouped(static_cast<std::int64_t>(imported.collective_bytes.si()))));
  for (const LeftOut& one : imported.left_out)
    print_message(fmt::format("left out: {} {} ({})", grouped(one.count), one.what,
                              human(Seconds(static_cast<double>(one.time) * 1e-9))));
  for (const std::string& warning : imported.warnings) print_message("warning: " + warning);
  write_out_file(options.out, checked_trace_text(options.file, imported.trace), options.force);
  print_message(
      fmt::format("wrote {0}: {1}\nnext:  trainyard run --platform dgx_a100 --batch 32 --set trace={2}",
                  options.out, plural(std::ssize(imported.trace.ops), "op"), shell_word(options.out)));
}

}  // namespace

void add_import_chakra(CLI::App& import) {
  auto options = std::make_shared<ImportChakraOptions>();
  CLI::App& command = *import.add_subcommand(
      "chakra", "convert an execution trace of Chakra (one rank) into a trace of its training step");
  add_input_file(command, options->file, "NAME.0.et, plain or compressed by gzip");
  add_output_file(command, options->out, "write the trace to this file");
  add_value(command, "--gpus", options->gpus, "N",
            "ranks that take part in all-gathers and gathers, whose sizes are a rank's part");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard import chakra worker.0.et -o chakra.csv",
                         "trainyard import chakra worker.0.et -o chakra.csv --force"});
  command.callback([options] { import_chakra(*options); });
}

}  // namespace trainyard
