#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "imports/byte_stream.hpp"
#include "imports/nccl_rows.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

struct NcclTestsOptions {
  std::vector<std::string> files;
  std::string out, source = "own measurement", split = "validate";
  std::optional<std::string> operation, gpus, nodes, system, gpu, intra, inter;
  bool force = false;
};

void print_left_out(int count, std::string_view what) {
  if (count > 0) print_message(fmt::format("left out: {} {}", plural(count, "row"), what));
}

/// "operation (--operation ...), number of nodes (--nodes N)": fields that some rows lack.
std::string what_lacks(const NcclRows& rows) {
  std::string text;
  const auto add = [&](bool lacks, const char* what) {
    if (lacks) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(rows.lacks_operation, "operation (--operation all_reduce, all_gather, send_recv ...)");
  add(rows.lacks_gpus, "number of GPUs (--gpus N)");
  add(rows.lacks_nodes, "number of nodes (--nodes N)");
  return text;
}

/// Prints the conclusion from a list of GPUs with gaps.
void note_gaps(const NcclTestsLog& log, const NcclTestsAnswers& answers) {
  if (answers.nodes) return;
  for (const NcclTestsTable& table : log.tables) {
    if (table.is_list_whole || table.ranks == 0 || table.nodes == 0) continue;
    print_message(fmt::format("note: line {}: GPUs are not all listed; {} on {} assumed (--gpus, --nodes)",
                              table.line, plural(table.ranks, "GPU"), plural(table.nodes, "node")));
  }
}

void import_nccl_tests(const NcclTestsOptions& options) {
  NcclTestsAnswers answers;
  if (options.operation) answers.operation = choice<Operation>(*options.operation);
  if (options.gpus) answers.ranks = whole_number("--gpus", *options.gpus, 2, 1'000'000);
  if (options.nodes) answers.nodes = whole_number("--nodes", *options.nodes, 1, 1'000'000);
  if (options.split != "validate" && options.split != "calibrate")
    throw CLI::ValidationError("--split", "validate or calibrate");
  check_out_file(options.out, options.force);
  NcclTestsLog all;
  for (const std::string& file : options.files) {
    NcclTestsLog log =
        read_as(file, {config::FileFormat::nccl_tests, config::FileFormat::nccl_tests_json}, [&] {
          return read_nccl_tests(plain_input(file, all_bytes(file, largest_interchange_file)), answers);
        });
    note_gaps(log, answers);
    all.cut_rows += log.cut_rows;
    all.contradictory_rows += log.contradictory_rows;
    for (NcclTestsTable& table : log.tables) all.tables.push_back(std::move(table));
  }
  const NcclRows rows = nccl_rows(all, {.source = options.source,
                                        .system = options.system,
                                        .gpu = options.gpu,
                                        .intra = options.intra,
                                        .inter = options.inter,
                                        .split = options.split});
  const std::string lacking = what_lacks(rows);
  print_left_out(rows.untold, "with unknown " + lacking);
  print_left_out(rows.empty, "of size 0 or without a time");
  print_left_out(all.cut_rows, "broken by other output");
  print_left_out(all.contradictory_rows,
                 "whose bus bandwidth contradicts their operation and number of GPUs");
  if (rows.wrong > 0)
    print_message(fmt::format("warning: {} with wrong values are not scored", plural(rows.wrong, "row")));
  if (rows.rows == 0)
    throw input_error(options.files.front(), 0, "no row is complete",
                      lacking.empty() ? std::string() : "the log does not say the " + lacking);
  write_out_file(options.out, rows.csv, options.force);
  print_message(fmt::format("wrote {}: {}\nnext:  trainyard validate {}", options.out,
                            plural(rows.rows, "row"), shell_word(options.out)));
}

}  // namespace

void add_import_nccl_tests(CLI::App& import) {
  auto options = std::make_shared<NcclTestsOptions>();
  CLI::App& command = *import.add_subcommand(
      "nccl-tests", "convert the output of nccl-tests or rccl-tests into rows for validate and calibrate");
  command
      .add_option("files", options->files,
                  "logs, or the JSON of -J (rccl-tests: -Z json), plain or compressed by gzip")
      ->required()
      ->type_name("FILE");
  add_output_file(command, options->out, "write the rows to this file");
  add_value(command, "--operation", options->operation, "NAME", "operation, where the log does not tell it");
  add_value(command, "--gpus", options->gpus, "N", "GPUs in all, in place of the number in the log");
  add_value(command, "--nodes", options->nodes, "N", "nodes, in place of the number in the log");
  add_value(command, "--gpu", options->gpu, "NAME", "name of the GPU, as published rows have it");
  add_value(command, "--system", options->system, "TEXT", "name of the machine, by which rules recognise it");
  add_value(command, "--intra", options->intra, "TEXT",
            "links inside a node, by which rules recognise the machine");
  add_value(command, "--inter", options->inter, "TEXT", "network between nodes");
  add_value(command, "--source", options->source, "TEXT", "source of the rows");
  add_value(command, "--split", options->split, "SPLIT",
            "validate, or calibrate for rows that constants may be fitted to");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command,
               {"trainyard import nccl-tests all_reduce.log -o rows.csv --intra \"NVSwitch, NVLink3\"",
                "trainyard import nccl-tests all_reduce.log -o more.csv --operation all_reduce --gpus 8"});
  command.callback([options] { import_nccl_tests(*options); });
}

}  // namespace trainyard
