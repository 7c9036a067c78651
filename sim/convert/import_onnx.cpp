#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/document.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "convert/onnx_script.hpp"
#include "document/json_text.hpp"
#include "interchange/input_text.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "units/text_pattern.hpp"
#include "workload/model_file.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <sys/wait.h>

namespace trainyard {
namespace {

struct OnnxCommandOptions {
  std::string file, out;
  std::optional<std::string> sample;
  bool json = false, force = false;
};

void check_sample(const std::string& text) {
  if (!TextPattern("0*[1-9][0-9]{0,7}(x0*[1-9][0-9]{0,7}){0,2}").whole(text))
    throw CLI::ValidationError("--sample",
                               "up to three sizes are expected, as 3x224x224, not '" + text + "'");
}

/// The script's account of the model, with the model file. Throws InputError for a model that is no list of
/// layers, FileError if the script cannot run.
nlohmann::json account_of(const OnnxCommandOptions& options) {
  // -P: no modules of the current folder. The shell says nothing by itself.
  std::string command = "command -v python3 >/dev/null || exit 1; exec python3 -P -X utf8 -W ignore -c";
  for (const std::string& word :
       {std::string(onnx_layers_py), options.file, std::filesystem::path(options.out).stem().string(),
        options.sample.value_or("")})
    command += " " + in_shell_quotes(word);
  std::FILE* const answer = ::popen(command.c_str(), "r");
  nlohmann::json account =
      answer == nullptr ? nlohmann::json() : nlohmann::json::parse(answer, nullptr, false);
  const int status = answer == nullptr ? 1 : ::pclose(answer);
  if (WIFSIGNALED(status))
    throw input_error(options.file, 0, "the package onnx ended while it read the model",
                      "onnx.checker.check_model may say what is wrong with it");
  if (status != 0 || !account.is_object())
    throw FileError("python3 (3.11 or later), which reads ONNX models, is missing or ended with an error");
  if (account.empty())
    throw FileError(
        "ONNX models are read with the package 'onnx' of python3, which is missing: pip install onnx, "
        "or apt-get install python3-onnx");
  if (account.contains("error")) throw input_error(options.file, 0, account["error"], account["hint"]);
  if (!account.contains("yaml") || !account.contains("parameters"))
    throw FileError("python3 gave no account of the ONNX model");
  return account;
}

/// The model that the file describes, as every command will read it. An error of the model file is one of
/// the ONNX model: the output is not written yet.
Model checked_model(const nlohmann::json& onnx, const OnnxCommandOptions& options) {
  try {
    Model model = load_model(config::parse(options.out, onnx["yaml"].get<std::string>()));
    double parameters = 0;
    for (const Layer& layer : model.layers) parameters += parameter_elements(layer);
    if (parameters != onnx["parameters"].get<double>())
      throw input_error(options.file, 0,
                        fmt::format("its layers have {} parameters, and its weights {} values", parameters,
                                    onnx["parameters"].get<double>()));
    return model;
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    if (first.file == options.file) throw;
    throw input_error(options.file, 0, "as a list of layers: " + first.message, first.hint);
  }
}

void import_onnx(const OnnxCommandOptions& options) {
  const std::filesystem::path out(options.out);
  if (out.extension() != ".yaml") throw CLI::ValidationError("--output", "a model file ends in .yaml");
  if (options.sample) check_sample(*options.sample);
  check_out_file(options.out, options.force);
  const nlohmann::json onnx =
      read_as(options.file, {config::FileFormat::onnx}, [&] { return account_of(options); });
  const Model model = checked_model(onnx, options);
  double macs = 0;
  for (const Layer& layer : model.layers) macs += layer.forward_macs;
  int nodes = 0;
  for (const nlohmann::json& count : onnx["operators"]) nodes += count.get<int>();
  for (const nlohmann::json& note : onnx["notes"]) print_message("note: " + note.get<std::string>());
  for (const nlohmann::json& one : onnx["warnings"]) print_message("warning: " + one.get<std::string>());
  write_out_file(options.out, onnx["yaml"].get<std::string>(), options.force);
  if (options.json) {
    nlohmann::ordered_json json{{"file", base_name(options.file)}, {"nodes", nodes}};
    for (const char* const field : {"operators", "layers", "parameters", "running_values"})
      json[field] = onnx[field];
    json["forward_macs_per_sample"] = macs;
    for (const char* const field : {"notes", "warnings"}) json[field] = onnx[field];
    print_result(json_text(json));
    return;
  }
  print_result(
      fmt::format("nodes       {}\n"
                  "layers      {}\n"
                  "parameters  {}\n"
                  "forward     {} MACs of matrix work per sample\n",
                  grouped(nodes), grouped(onnx["layers"]), grouped(onnx["parameters"]),
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
  add_input_file(command, options->file, "the model; weights in other files are not needed");
  add_output_file(command, options->out, "write the model file: NAME.yaml, for the model NAME");
  add_value(command, "--sample", options->sample, "SIZES",
            "sizes of a sample, where the model leaves them open: 3x224x224, or a number of tokens");
  command.add_flag("--json", options->json, "print the account as JSON");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard import onnx net.onnx -o net.yaml",
                         "trainyard import onnx net.onnx -o net64.yaml --sample 3x64x64 --json"});
  command.callback([options] { import_onnx(*options); });
}

}  // namespace trainyard
