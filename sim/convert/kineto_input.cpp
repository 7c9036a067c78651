#include "convert/kineto_input.hpp"

#include "cli/options.hpp"
#include "cli/values.hpp"
#include "convert/import_input.hpp"
#include "imports/read_kineto.hpp"
#include "run/child_processes.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace trainyard {
namespace {

JoinedProfile read_profile(const KinetoInput& input, const std::string& file, bool one_thread = false) {
  KinetoOptions how{.allow_truncated = input.allow_truncated, .one_thread = one_thread};
  if (input.device) how.device = whole_number("--device", *input.device, 0, 1023);
  Profile profile = read_as(
      file, {config::FileFormat::pytorch_profile, config::FileFormat::chrome_trace, config::FileFormat::json},
      [&] { return read_kineto(file, how); });
  ProfileWork work = join_launches(profile, input.step_range);
  return {std::move(profile), std::move(work)};
}

/// The ranks of a job, read by several threads, each of which has one profile at hand. Besides these only the
/// one that may be traced stays in memory. Which thread reads which file changes nothing in the result.
class RankReader {
public:
  RankReader(const KinetoInput& input, const std::optional<int>& chosen) : input_(input), chosen_(chosen) {}

  /// Rethrows the exception of the first file that cannot be read.
  void read_all() {
    ranks_.resize(input_.files.size());
    problems_.resize(input_.files.size());
    const auto threads = std::min<std::size_t>(input_.files.size(), static_cast<std::size_t>(processors()));
    {
      std::vector<std::jthread> working;
      try {
        for (std::size_t i = 1; i < threads; ++i) working.emplace_back([this] { read_more(); });
      } catch (const std::system_error&) {
        // no further threads: those that run read all
      }
      read_more();
    }
    for (const std::exception_ptr& problem : problems_) {
      if (problem) std::rethrow_exception(problem);
    }
    if (!best_)
      throw InputError(fmt::format("no profile of rank {}", *chosen_), "--rank names one of the files");
  }

  [[nodiscard]] std::vector<RankProfile> take_ranks() { return std::move(ranks_); }
  [[nodiscard]] JoinedProfile take_traced() { return std::move(traced_); }
  [[nodiscard]] int traced_rank() const { return rank_of(*best_); }

private:
  void read_more() {
    while (true) {
      const std::size_t file = next_++;
      if (file >= input_.files.size() || has_problem_) return;
      try {
        keep(file, read_profile(input_, input_.files[file], true));
      } catch (...) {
        problems_[file] = std::current_exception();
        has_problem_ = true;  // files before it are being read, and their problems count first
      }
    }
  }

  void keep(std::size_t file, JoinedProfile one) {
    RankProfile rank = rank_profile_of(one.profile, one.work);
    const std::lock_guard lock(mutex_);
    ranks_[file] = std::move(rank);
    const RankProfile& kept = ranks_[file];
    const bool is_wanted = chosen_ ? rank_of(file) == *chosen_
                                   : !best_ || kept.computing > ranks_[*best_].computing ||
                                         (kept.computing == ranks_[*best_].computing && file < *best_);
    if (!is_wanted) return;
    best_ = file;
    traced_ = std::move(one);
  }

  /// As join_ranks() numbers them.
  [[nodiscard]] int rank_of(std::size_t file) const {
    return ranks_[file].rank.value_or(static_cast<int>(file));
  }

  const KinetoInput& input_;
  const std::optional<int>& chosen_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> has_problem_ = false;
  std::mutex mutex_;  // of the members below, except problems_, which has one for each file
  std::vector<RankProfile> ranks_;
  std::optional<std::size_t> best_;  // index of the file that is traced
  JoinedProfile traced_;
  std::vector<std::exception_ptr> problems_;
};

JobProfiles read_ranks(const KinetoInput& input, const std::optional<int>& chosen, const JoinOptions& how) {
  RankReader reader(input, chosen);
  reader.read_all();
  const int traced_rank = reader.traced_rank();
  JobProfiles job{.traced = reader.take_traced()};
  job.ranks = join_ranks(reader.take_ranks(), how);
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
  add_value(command, "--rank", input.rank, "N",
            "with several profiles, the rank whose step becomes the trace (default: the one that "
            "computes longest)");
  add_value(command, "--ranks-per-node", input.ranks_per_node, "N",
            "ranks that share a clock; clocks are aligned (default: by the hosts in the files' names, "
            "else all)");
  add_value(command, "--device", input.device, "N", "the GPU, of a file with the work of several");
  add_value(command, "--step-range", input.step_range, "NAME",
            "name of the ranges that are steps, if not ProfilerStep#N");
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
