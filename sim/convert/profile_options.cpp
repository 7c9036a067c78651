#include "convert/profile_options.hpp"

#include "cli/values.hpp"

namespace trainyard {

void add_profile_trace_options(CLI::App& command, ProfileTraceOptions& options) {
  command.add_option("-o,--output", options.out, "write the trace to this file")->type_name("FILE");
  command
      .add_option("--batch", options.batch, "samples of a rank and micro-batch, where shapes do not say it")
      ->type_name("N");
  command.add_flag("--host-gaps", options.host_gaps,
                   "keep the times in which the GPU waited for its host, and copies from and to it");
  command.add_flag("--without-collectives", options.without_collectives,
                   "leave out collectives: the stack makes buckets of the gradients");
  add_page_options(command, options.page, "print the account as JSON");
}

ImportOptions import_options(const ProfileTraceOptions& options,
                             const std::optional<std::string>& step_range) {
  check_page_options(options.page);
  ImportOptions how{.step_range = step_range,
                    .batch = {},
                    .host_gaps = options.host_gaps,
                    .collectives = !options.without_collectives};
  if (options.batch) how.batch = whole_number("--batch", *options.batch, 1, 10'000'000);
  return how;
}

}  // namespace trainyard
