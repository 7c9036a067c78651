#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/document.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "document/json_text.hpp"
#include "imports/onnx_layers.hpp"
#include "interchange/input_text.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "workload/model_file.hpp"

#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

struct OnnxCommandOptions {
  std::string file, out;
  std::optional<std::string> sample;
  bool json = false, force = false;
};

/// "3x224x224" as its numbers.
std::vector<std::int64_t> sizes_of_sample(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::string_view rest = text;
  while (sizes.size() < 3) {
    std::int64_t size = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (problem != std::errc() || size < 1 || size > 10'000'000) break;
    sizes.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return sizes;
    if (rest.front() != 'x') break;
    rest.remove_prefix(1);
  }
  throw CLI::ValidationError("--sample", "up to three sizes are expected, as 3x224x224, not '" + text + "'");
}

/// The model that the file describes, as every command will read it. An error of the model file is one of
/// the ONNX model: the output is not written yet.
Model checked_model(const OnnxModel& onnx, const OnnxCommandOptions& options) {
  try {
    Model model = load_model(config::parse(options.out, onnx.yaml));
    double parameters = 0;
    for (const Layer& layer : model.layers) parameters += parameter_elements(layer);
    if (parameters != onnx.parameters)
      throw input_error(options.file, 0,
                        fmt::format("its layers have {} parameters, and its weights {} values", parameters,
                                    onnx.parameters));
    return model;
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    if (first.file == options.file) throw;
    throw input_error(options.file, 0, "as a list of layers: " + first.message, first.hint);
  }
}

/// Prints the assumptions, and writes the model file.
void write_onnx_model(const OnnxModel& onnx, const OnnxCommandOptions& options) {
  for (const std::string& note : onnx.notes) print_message("note: " + note);
  for (const std::string& warning : onnx.warnings) print_message("warning: " + warning);
  write_out_file(options.out, onnx.yaml, options.force);
}

nlohmann::ordered_json onnx_json(const OnnxModel& onnx, const OnnxCommandOptions& options, double macs) {
  int nodes = 0;
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (const auto& [kind, count] : onnx.kinds) {
    kinds[kind] = count;
    nodes += count;
  }
  return {{"file", base_name(options.file)}, {"nodes", nodes},
          {"operators", std::move(kinds)},   {"layers", onnx.layers},
          {"parameters", onnx.parameters},   {"running_values", onnx.running_values},
          {"forward_macs_per_sample", macs}, {"notes", onnx.notes},
          {"warnings", onnx.warnings}};
}

void import_onnx(const OnnxCommandOptions& options) {
  const std::filesystem::path out(options.out);
  if (out.extension() != ".yaml") throw CLI::ValidationError("--output", "a model file ends in .yaml");
  OnnxOptions how{.name = out.stem().string()};
  if (options.sample) how.sample = sizes_of_sample(*options.sample);
  check_out_file(options.out, options.force);
  const OnnxModel onnx = read_as(options.file, {config::FileFormat::onnx},
                                 [&] { return onnx_layers(read_onnx(options.file), how); });
  const Model model = checked_model(onnx, options);
  double macs = 0;
  for (const Layer& layer : model.layers) macs += layer.forward_macs;
  int nodes = 0;
  for (const auto& [kind, count] : onnx.kinds) nodes += count;
  write_onnx_model(onnx, options);
  if (options.json) {
    print_result(json_text(onnx_json(onnx, options, macs)));
    return;
  }
  print_result(
      fmt::format("nodes       {}\n"
                  "layers      {}\n"
                  "parameters  {}\n"
                  "forward     {} MACs of matrix work per sample\n",
                  grouped(nodes), grouped(onnx.layers), grouped(static_cast<std::int64_t>(onnx.parameters)),
                  grouped(static_cast<std::int64_t>(macs))));
  print_message(fmt::format(
      "wrote {}\nnext:  trainyard run --model {} --platform dgx_a100 --batch 32", options.out,
      shell_word(out.is_absolute() || options.out.find('/') != std::string::npos ? options.out
                                                                                 : "./" + options.out)));
}

}  // namespace

void add_import_onnx(CLI::App& import) {
  auto options = std::make_shared<OnnxCommandOptions>();
  CLI::App& command =
      *import.add_subcommand("onnx", "convert an ONNX model into a model file with a list of layers");
  command.add_option("file", options->file, "the model; weights in other files are not needed")
      ->required()
      ->type_name("FILE");
  command.add_option("-o,--output", options->out, "write the model file: NAME.yaml, for the model NAME")
      ->required()
      ->type_name("FILE");
  add_value(command, "--sample", options->sample, "SIZES",
            "sizes of a sample, where the model leaves them open: 3x224x224, or a number of tokens");
  command.add_flag("--json", options->json, "print the account as JSON");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard import onnx net.onnx -o net.yaml",
                         "trainyard import onnx net.onnx -o net64.yaml --sample 3x64x64 --json"});
  command.callback([options] { import_onnx(*options); });
}

}  // namespace trainyard
