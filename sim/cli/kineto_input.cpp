#include "cli/kineto_input.hpp"

#include "cli/import_input.hpp"
#include "cli/values.hpp"
#include "imports/read_kineto.hpp"

#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

JoinedProfile read_profile(const KinetoInput& input, const std::string& file) {
  KinetoOptions how{.allow_truncated = input.allow_truncated};
  if (input.device) how.device = whole_number("--device", *input.device, 0, 1023);
  Profile profile = read_as(
      file, {config::FileFormat::pytorch_profile, config::FileFormat::chrome_trace, config::FileFormat::json},
      [&] { return read_kineto(file, how); });
  ProfileWork work = join_launches(profile, input.step_range);
  return {std::move(profile), std::move(work)};
}

/// Reads the ranks one after the other; besides the one at hand only the one that may be traced stays in
/// memory.
JobProfiles read_ranks(const KinetoInput& input, const std::optional<int>& chosen, const JoinOptions& how) {
  JobProfiles job;
  std::vector<RankProfile> ranks;
  std::int64_t longest = -1;
  int traced_rank = 0;
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    JoinedProfile one = read_profile(input, input.files[i]);
    ranks.push_back(rank_profile_of(one.profile, one.work));
    const int rank = one.profile.rank.value_or(static_cast<int>(i));  // as join_ranks() numbers them
    const bool is_wanted = chosen ? rank == *chosen : ranks.back().computing > longest;
    if (!is_wanted) continue;
    longest = ranks.back().computing;
    job.traced = std::move(one);
    traced_rank = rank;
  }
  if (longest < 0)
    throw InputError(fmt::format("no profile is of rank {}", *chosen), "--rank names one of the files");
  job.ranks = join_ranks(std::move(ranks), how);
  for (std::size_t i = 0; i < job.ranks->ranks.size(); ++i) {
    if (job.ranks->ranks[i].rank == traced_rank) job.place = i;
  }
  return job;
}

}  // namespace

void add_kineto_input(CLI::App& command, KinetoInput& input) {
  command.add_option("files", input.files, "the profiles, plain or compressed by gzip")
      ->required()
      ->type_name("FILE...");
  command
      .add_option(
          "--rank", input.rank,
          "of several profiles, the rank whose step is the trace (default: that which computes longest)")
      ->type_name("N");
  command
      .add_option("--ranks-per-node", input.ranks_per_node,
                  "ranks that share a clock; clocks are aligned (default: by the hosts in the files' names, "
                  "else all)")
      ->type_name("N");
  command.add_option("--device", input.device, "the GPU, of a file with the work of several")->type_name("N");
  command
      .add_option("--step-range", input.step_range,
                  "name of the ranges that are steps, if not ProfilerStep#N")
      ->type_name("NAME");
  command.add_flag("--allow-truncated", input.allow_truncated,
                   "use the whole steps of a file that is cut off");
}

JobProfiles read_job(const KinetoInput& input) {
  if (input.files.size() == 1) {
    for (const auto& [name, option] :
         {std::pair("--rank", &input.rank), std::pair("--ranks-per-node", &input.ranks_per_node)}) {
      if (*option) throw CLI::ValidationError(name, "needs the profiles of several ranks");
    }
    return {.traced = read_profile(input, input.files.front()), .ranks = {}};
  }
  std::optional<int> chosen;
  if (input.rank) chosen = whole_number("--rank", *input.rank, 0);
  JoinOptions how;
  if (input.ranks_per_node) how.ranks_per_node = whole_number("--ranks-per-node", *input.ranks_per_node, 1);
  return read_ranks(input, chosen, how);
}

}  // namespace trainyard
