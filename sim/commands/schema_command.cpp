#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace trainyard {

void add_schema(CLI::App& program) {
  auto kind = std::make_shared<std::string>();
  CLI::App& command =
      *program.add_subcommand("schema", "print the JSON Schema of a kind of file, for editors");
  offer(command
            .add_option("KIND", *kind,
                        "platform, gpu, protocols, machines, model, stack, experiment, sweep or runs")
            ->required(),
        kind_texts(&KindWord::word));
  add_examples(command, {"trainyard schema platform > platform.schema.json", "trainyard schema experiment"});
  command.callback([kind] { print_result(schema_of(kind_named(*kind)).dump(2) + "\n"); });
}

}  // namespace trainyard
