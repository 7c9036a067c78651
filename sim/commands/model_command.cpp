#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "config/catalogue.hpp"
#include "config/write.hpp"
#include "io/out_files.hpp"
#include "workload/hugging_face.hpp"
#include "workload/model_file.hpp"
#include "workload/model_table.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace trainyard {

namespace {

struct ModelOptions {
  std::string model;
  std::string batch = "1";
  std::string out;
  bool force = false;
};

/// Writes the model as a file of ours, with the name that such a file has to have.
void write_model(config::Document document, const ModelOptions& options) {
  const std::string name = std::filesystem::path(options.out).stem().string();
  for (config::Node::Entry& entry : document.root.entries) {
    if (entry.key == "name") entry.value = config::text_node(name);
  }
  write_out_file(options.out, config::emit(document.root), options.force);
  print_message("wrote " + options.out);
}

void show_model(const ModelOptions& options) {
  const int batch = whole_number("--batch", options.batch, 1);
  const auto file = config::find(config::find_catalogue(), config::Kind::model, options.model);
  std::vector<Diagnostic> warnings;
  const config::Document document = load_document(file);
  const Model model = load_model(document, &warnings);
  print_diagnostics(warnings);
  if (!options.out.empty()) {
    write_model(document, options);
    return;
  }
  print_result(model_table(model, batch, print_style()));
}

}  // namespace

void add_model(CLI::App& program) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App& command =
      *program.add_subcommand("model", "print a model's layers: shapes, parameters, multiply-accumulates");
  command
      .add_option("MODEL", options->model,
                  "name of a shipped model, or the path of a model file or of a config.json of Hugging Face")
      ->required();
  add_value(command, "--batch", options->batch, "B", "batch size in samples");
  add_value(command, "-o,--out", options->out, "FILE", "write the model as a YAML file instead");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard model resnet50 --batch 128", "trainyard model config.json",
                         "trainyard model config.json -o my_model.yaml"});
  command.callback([options] { show_model(*options); });
}

}  // namespace trainyard
