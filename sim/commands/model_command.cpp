#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "config/catalogue.hpp"
#include "workload/model_file.hpp"
#include "workload/model_table.hpp"

#include <memory>
#include <string>

namespace trainyard {

namespace {

struct ModelOptions {
  std::string model;
  std::string batch = "1";
};

void show_model(const ModelOptions& options) {
  const int batch = whole_number("--batch", options.batch, 1);
  const auto file = config::find(config::find_catalogue(), config::Kind::model, options.model);
  std::vector<Diagnostic> warnings;
  const Model model = load_model(config::load(file), &warnings);
  print_diagnostics(warnings);
  print_result(model_table(model, batch, print_style()));
}

}  // namespace

void add_model(CLI::App& program) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App& command =
      *program.add_subcommand("model", "print a model's layers: shapes, parameters, multiply-accumulates");
  command.add_option("MODEL", options->model, "name of a shipped model, or the path of a YAML file")
      ->required();
  add_value(command, "--batch", options->batch, "B", "batch size in samples");
  add_examples(command, {"trainyard model resnet50 --batch 128", "trainyard model bert_base"});
  command.callback([options] { show_model(*options); });
}

}  // namespace trainyard
