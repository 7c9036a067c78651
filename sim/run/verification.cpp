#include "run/verification.hpp"

#include "collectives/collective.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace trainyard {

namespace {

/// A job that may be simulated, and how much that is.
struct Part {
  Overrides set;
  ResolvedExperiment resolved;
  double messages = 0;

  [[nodiscard]] int ranks() const { return resolved.cluster->ranks(); }
};

bool fits(const Part& part) {
  if (part.ranks() > most_verified_ranks) return false;
  if (has_servers(part.resolved.settings.sync)) return part.messages <= most_server_messages;
  return part.messages <= (part.ranks() > many_verified_ranks ? most_messages_of_many_ranks : most_messages);
}

/// Only the step remains.
Part steps_of(Overrides set, ResolvedExperiment resolved) {
  Experiment& settings = resolved.settings;
  settings.faults.reset();
  settings.job.reset();
  settings.learn.reset();
  settings.fidelity = Fidelity::flow;
  if (is_multi_update(settings))
    settings.steps = {.warmup = verified_warmup, .measured = verified_steps, .repeats = 1};
  const double messages = expected_messages(resolved, most_messages_at_once);
  return {std::move(set), std::move(resolved), messages};
}

Overrides replaced(Overrides overrides, const Overrides& set) {
  for (const auto& [key, value] : set)
    std::erase_if(overrides, [&name = key](const auto& one) { return one.first == name; });
  overrides.insert(overrides.end(), set.begin(), set.end());
  return overrides;
}

/// Looks for the largest part of a job: fewer nodes, then fewer GPUs of a node, then fewer micro-batches.
class PartSearch {
public:
  PartSearch(const config::Catalogue& catalogue, const std::string& experiment, const Overrides& overrides,
             const ResolvedExperiment& resolved, InputFiles& files)
      : catalogue_(catalogue),
        experiment_(experiment),
        overrides_(overrides),
        resolved_(resolved),
        files_(files) {}

  std::optional<Part> largest() {
    if (Part whole = steps_of({}, resolved_); fits(whole)) return whole;
    const std::vector<int>& gpus = resolved_.cluster->gpus_on_node;
    for (const int nodes : fractions(resolved_.cluster->nodes)) {
      int sum = 0;
      for (const int on_node : std::span(gpus).first(at(nodes))) sum += on_node;
      if (sum > most_verified_ranks) continue;
      Overrides set{{"nodes", std::to_string(nodes)}};
      if (resolved_.settings.gpus) set.emplace_back("gpus", std::to_string(sum));
      if (is_part(std::move(set))) return last_;
    }
    for (const int few : fractions(gpus.front())) {
      if (few > 1 && is_part({{"nodes", "1"}, {"gpus", std::to_string(few)}})) return last_;
    }
    const Overrides smallest = last_ ? last_->set : Overrides();
    for (const int few : fractions(resolved_.settings.accumulation)) {
      if (is_part(replaced(smallest, {{"accumulation", std::to_string(few)}}))) return last_;
    }
    return std::nullopt;
  }

private:
  /// A half, a third, a quarter of the number and so on, rounded down, each once.
  static std::vector<int> fractions(int number) {
    std::vector<int> all;
    for (int divisor = 2; divisor <= number; ++divisor) {
      if (all.empty() || all.back() != number / divisor) all.push_back(number / divisor);
    }
    return all;
  }

  /// Whether the job with these keys exists and fits. The last one that exists is kept.
  bool is_part(Overrides set) {
    Overrides all = replaced(overrides_, set);
    all = replaced(std::move(all), {{"memory", "ignore"}});
    try {
      last_ = steps_of(std::move(set), resolve(catalogue_, experiment_, all, files_));
    } catch (const InputError&) {
      return false;  // the layout or the neighbours need more
    } catch (const JobImpossible&) {
      return false;
    }
    return fits(*last_);
  }

  const config::Catalogue& catalogue_;
  const std::string& experiment_;
  const Overrides& overrides_;
  const ResolvedExperiment& resolved_;
  InputFiles& files_;
  std::optional<Part> last_ = {};
};

/// The times of one simulation that are compared.
struct ComparedTimes {
  double step = 0;
  std::vector<double> late;  ///< by collective: how much later than the first its last rank arrived
  std::vector<double> ends;  ///< by collective
  std::vector<double> ranks;
};

ComparedTimes times_of(const Run& run) {
  ComparedTimes times{.step = run.pace.time.si(), .late = {}, .ends = {}, .ranks = {}};
  if (const Updates* const updates = updates_of(run); updates != nullptr && updates->network) {
    for (const WorkerRow& worker : updates->workers)
      times.ranks.push_back(worker.communicating.si() / static_cast<double>(updates->measured_updates));
    return times;
  }
  const Timeline& timeline = step_of(run).timeline;
  for (const CollectiveSpan& span : timeline.collectives) {
    times.late.push_back((span.start - span.first_arrival).si());
    times.ends.push_back(span.end.si());
  }
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank)
    times.ranks.push_back(timeline.ranks[rank].end.si());
  return times;
}

std::string bytes_of(const ComparedTimes& times) {
  std::vector<double> all{times.step, static_cast<double>(times.ends.size())};
  for (const auto* const list : {&times.late, &times.ends, &times.ranks})
    all.insert(all.end(), list->begin(), list->end());
  return packed(all);
}

ComparedTimes times_in(const std::string& bytes) {
  const std::vector<double> all = unpacked(bytes);
  const std::span<const double> rest = std::span(all).subspan(2);
  const auto collectives = static_cast<std::size_t>(all[1]);
  const auto list = [](std::span<const double> from) {
    return std::vector<double>(from.begin(), from.end());
  };
  return {.step = all[0],
          .late = list(rest.first(collectives)),
          .ends = list(rest.subspan(collectives, collectives)),
          .ranks = list(rest.subspan(2 * collectives))};
}

/// Compares a run with the times of its messages.
class Comparison {
public:
  Comparison(const Run& run, const ComparedTimes& messages)
      : run_(run), flow_(times_of(run)), messages_(messages) {
    if (flow_.ends.size() != messages.ends.size() || flow_.ranks.size() != messages.ranks.size())
      throw EngineError("a run and its messages have different collectives or ranks");
  }

  void fill(Verification& result) const {
    result.step_time = Seconds(flow_.step);
    result.step_time_by_messages = Seconds(messages_.step);
    result.where = is_of_servers() ? "time of an update" : "step time";
    const auto look = [&](double longer, const std::string& where) {
      const double part = std::abs(longer) / messages_.step;
      if (part <= result.difference) return;
      result.difference = part;
      result.where = where;
    };
    look(flow_.step - messages_.step, result.where);
    const std::vector<Collective>& collectives = step_of(run_).plan.graph.collectives;
    for (std::size_t i = 0; i < flow_.ends.size(); ++i)
      look(flow_.ends[i] - messages_.ends[i], "end of " + name_of(collectives, i));
    for (std::size_t rank = 0; rank < flow_.ranks.size(); ++rank) {
      const double longer = flow_.ranks[rank] - messages_.ranks[rank];
      if (is_of_servers())
        look(longer, fmt::format("communication of worker {}", rank));
      else if (longer < 0)
        look(longer, fmt::format("end of rank {}", rank));
      else
        result.early_rank = std::max(result.early_rank, longer / messages_.step);
    }
    add_causes(result);
  }

private:
  [[nodiscard]] bool is_of_servers() const {
    const Updates* const updates = updates_of(run_);
    return updates != nullptr && updates->network.has_value();
  }

  static std::string name_of(const std::vector<Collective>& collectives, std::size_t i) {
    if (i < collectives.size() && !collectives[i].label.name.empty()) return collectives[i].label.name;
    return fmt::format("collective {}", i);  // of other users of the network
  }

  void add_causes(Verification& result) const {
    result.limit = is_of_servers() ? server_limit : rounding_limit;
    if (is_of_servers()) return;
    const Step& step = step_of(run_);
    const auto of_any = [](Algorithm) { return true; };
    if (step.timeline.network != NetworkEngine::formulas)
      result.causes.emplace_back("collectives share links");
    const auto late = std::ranges::max_element(messages_.late);
    if (late != messages_.late.end() && *late > rounding_limit * messages_.step)
      result.causes.emplace_back("ranks arrive at a collective one after the other");
    if (!result.causes.empty()) result.limit += sharing_limit * share_of_collectives(of_any);
    const std::vector<std::string> uneven = uneven_algorithms(step.plan.graph);
    for (const std::string& algorithm : uneven)
      result.causes.push_back(fmt::format("edges of a round of {} share links unevenly", algorithm));
    const auto is_uneven = [&](Algorithm algorithm) {
      return std::ranges::find(uneven, config::name_of(algorithm)) != uneven.end();
    };
    result.limit += uneven_limit * share_of_collectives(is_uneven);
  }

  /// The part of the step in which collectives of these algorithms run, 1 at most: they end no later or
  /// earlier by more than a part of their own time.
  template <class Of>
  [[nodiscard]] double share_of_collectives(Of of) const {
    const Step& step = step_of(run_);
    const std::vector<Collective>& collectives = step.plan.graph.collectives;
    double sum = 0;
    for (std::size_t i = 0; i < step.timeline.collectives.size(); ++i) {
      const CollectiveSpan& span = step.timeline.collectives[i];
      // those beyond the graph's are of other users of the network
      if (i >= collectives.size() || of(collectives[i].label.algorithm)) sum += (span.end - span.start).si();
    }
    return std::min(1.0, sum / messages_.step);
  }

  const Run& run_;
  ComparedTimes flow_;
  const ComparedTimes& messages_;
};

Run simulated(const Part& part, Fidelity fidelity) {
  ResolvedExperiment resolved = part.resolved;
  resolved.settings.fidelity = fidelity;
  return simulate(std::move(resolved), {.timeline = false, .rows = false, .learn = false});
}

/// The numbers of a comparison, then its words, so that a child can send them.
std::string sent(const Verification& result) {
  std::string bytes = packed({result.step_time.si(), result.step_time_by_messages.si(), result.difference,
                              result.early_rank, result.limit});
  bytes += result.where;
  for (const std::string& cause : result.causes) bytes += '\n' + cause;
  return bytes;
}

void receive(const std::string& bytes, Verification& result) {
  constexpr std::size_t numbers_size = 5 * sizeof(double);
  const std::vector<double> numbers = unpacked(bytes.substr(0, numbers_size));
  result.step_time = Seconds(numbers[0]);
  result.step_time_by_messages = Seconds(numbers[1]);
  result.difference = numbers[2];
  result.early_rank = numbers[3];
  result.limit = numbers[4];
  const std::string words = bytes.substr(numbers_size);
  std::size_t end = words.find('\n');
  result.where = words.substr(0, end);
  while (end != std::string::npos) {
    const std::size_t begin = end + 1;
    end = words.find('\n', begin);
    result.causes.push_back(words.substr(begin, end == std::string::npos ? end : end - begin));
  }
}

}  // namespace

bool shares_links_unevenly(const Pattern& asked, const LinkValues<Bandwidth>& capacities) {
  const Pattern& pattern = with_edges(asked);
  std::vector<Bandwidth> shares(capacities.size(), Bandwidth(std::numeric_limits<double>::infinity()));
  for (const LinkUse& use : link_uses(pattern))
    shares[index(use.link)] = capacities[index(use.link)] / static_cast<double>(use.times);
  std::optional<Bandwidth> slowest, fastest;
  for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
    Bandwidth rate(std::numeric_limits<double>::infinity());
    for (const LinkId link : pattern.route(edge)) rate = std::min(rate, shares[index(link)]);
    slowest = slowest ? std::min(*slowest, rate) : rate;
    fastest = fastest ? std::max(*fastest, rate) : rate;
  }
  constexpr double rounding = 1e-12;
  return slowest && *fastest > (1 + rounding) * *slowest;
}

std::vector<std::string> uneven_algorithms(const TaskGraph& graph) {
  std::vector<std::string> names;
  for (const Collective& collective : graph.collectives) {
    const Algorithm algorithm = collective.label.algorithm;
    // Data passes along all edges of these, so the slowest decides message by message, too.
    if (algorithm == Algorithm::ring || algorithm == Algorithm::tree || algorithm == Algorithm::chain)
      continue;
    const std::string name(config::name_of(algorithm));
    if (std::ranges::find(names, name) != names.end()) continue;
    if (std::ranges::any_of(collective.phases, [&](const CollectivePhase& phase) {
          return phase.messages > 0 && shares_links_unevenly(graph.patterns[at(phase.pattern)], graph.links);
        }))
      names.push_back(name);
  }
  return names;
}

Known<Verification> verify(const config::Catalogue& catalogue, const std::string& experiment,
                           const Overrides& overrides, const ResolvedExperiment& resolved,
                           InputFiles& files) {
  const std::optional<Part> part = PartSearch(catalogue, experiment, overrides, resolved, files).largest();
  if (!part)
    return unknown("every part of the job has too many messages, or layouts that no fewer GPUs have");
  if (part->messages <= 0) return unknown("nothing is sent over a network");
  Verification result{.part = part->set,
                      .nodes = part->resolved.cluster->nodes,
                      .ranks = part->ranks(),
                      .messages = part->messages,
                      .step_time = {},
                      .step_time_by_messages = {},
                      .where = {},
                      .causes = {}};
  const std::string bytes = in_children(1, 1, [&](int) {
                              return bytes_of(times_of(simulated(*part, Fidelity::messages)));
                            }).front();
  const ComparedTimes messages = times_in(bytes);
  const std::string compared = in_children(1, 1, [&](int) {
                                 const Run run = simulated(*part, Fidelity::flow);
                                 Verification found;
                                 Comparison(run, messages).fill(found);
                                 return sent(found);
                               }).front();
  receive(compared, result);
  return result;
}

}  // namespace trainyard
