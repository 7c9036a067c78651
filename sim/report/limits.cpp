#include "report/limits.hpp"

#include "explain/library_choice.hpp"
#include "report/explanation.hpp"
#include "report/layout_summary.hpp"
#include "run/layout_parts.hpp"
#include "run/utilization.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace trainyard {

namespace {

/// A loss below this fraction of the time does not limit it: removing all of it gains hardly more.
constexpr double negligible = 0.05;

/// "gain at most 3.7 % more samples/s": relative to the throughput, as explain states the gain of a change.
std::string network_gain_in_words(const Run& run) {
  const Seconds gain = step_of(run).network_gain;
  return fmt::format("A faster network would gain at most {} more samples/s.",
                     percent(gain / (run.pace.time - gain)));
}

std::string compute_in_words(const Run& run) {
  const double share = run.pace.time.si() > 0 ? compute_time(run) / run.pace.time : 1;
  if (run.ranks == 1) {
    return fmt::format("Compute: kernels fill {} of the step. A single GPU does not communicate.",
                       percent(share));
  }
  constexpr double nearly_all = 0.9;
  const Seconds all = communication_time(run);
  const Seconds exposed = std::min(exposed_communication(run), all);
  std::string communication;
  if (all > Seconds() && overlap(run).hidden == Seconds())
    communication = fmt::format("All communication ({}) is exposed.", estimate(all));
  else if (exposed >= nearly_all * all)
    communication =
        fmt::format("Nearly all communication ({} of {}) is exposed.", estimate(exposed), estimate(all));
  else
    communication = fmt::format("{} of {} of communication is exposed; the rest overlaps with compute.",
                                estimate(exposed), estimate(all));
  return fmt::format("Compute: kernels fill {} of the step. {} {}", percent(share), communication,
                     network_gain_in_words(run));
}

/// Work of a step besides computing and sending.
std::string_view overhead_in_words(const Run& run) {
  if (run.experiment.settings.sync.kind == SyncKind::peer_to_peer)
    return "compressing updates and summing those of all ranks";
  if (run.experiment.settings.sync.kind == SyncKind::dataparallel_gpu0) return "copying tensors into buffers";
  return "cycles or negotiation of the stack and copying or scaling gradients";
}

/// Whether that is most of the exposed time.
bool is_framework(const Run& run) { return step_of(run).network_gain < 0.5 * exposed_communication(run); }

std::string framework_in_words(const Run& run) {
  return fmt::format("Framework: no kernel runs for {}; {} of this goes to {}. {}",
                     estimate(exposed_communication(run)),
                     estimate(exposed_communication(run) - step_of(run).network_gain), overhead_in_words(run),
                     network_gain_in_words(run));
}

/// Time in which ranks add received data to their own, of all collectives of a step.
Seconds time_of_sums(const Run& run) {
  Seconds time;
  for (const Collective& collective : step_of(run).plan.graph.collectives) {
    for (const CollectivePhase& phase : collective.phases) {
      if (phase.hops == 0) time += collective.rounds * phase.messages * phase.sums;
    }
  }
  return time;
}

/// Relative to the throughput, as explain states it.
std::string gain_of(const Run& run, Seconds shorter) { return percent(shorter / (run.pace.time - shorter)); }

/// "PCIe links twice as fast (--set platform.node.speed.pcie=2) would gain about 12.0 % more samples/s". With
/// that key NCCL may choose otherwise, and the gain is another.
std::string faster_in_words(const Run& run, const NetworkLimit& limit) {
  return fmt::format(
      "{} ({}) would gain about {} more samples/s if algorithms and routes stayed; 'explain' lists gains of "
      "simulated changes.",
      limit.faster->change, set_options(limit.faster->set), gain_of(run, limit.gain));
}

std::string communication_in_words(const Run& run) {
  const Overlap times = overlap(run);
  const Seconds tail = times.communication_end - times.backward_end;
  std::string text =
      fmt::format("Communication: {} is exposed, {} of the step.", estimate(exposed_communication(run)),
                  percent(exposed_communication(run) / run.pace.time));
  if (tail.si() > 0) {
    text += fmt::format(" The last collective ends {} after the last gradient is ready.", estimate(tail));
  }
  return text + network_limit_in_words(run) + ' ' + network_gain_in_words(run);
}

/// "24 of 40 cores of a node decode 6,000 samples/s".
std::string loading_in_words(const DataLoading& input, const InputSettings& settings) {
  const std::string rate = rounded(input.samples / input.time.si()) + " samples/s" +
                           (input.is_assumed ? " (rests on an assumed figure)" : "");
  switch (input.limit) {
    case InputLimit::cores:
      return fmt::format("{} of {} cores of a node{} decode {}", input.cores, input.cores_of_node,
                         settings.workers ? " (input.workers)" : "", rate);
    case InputLimit::storage:
      return fmt::format("a node reads {} from its storage", rate);
    case InputLimit::memory:
      return fmt::format("the memory bandwidth of a node's CPUs allows {}", rate);
    case InputLimit::decoder:
      return fmt::format("the decoders of a node's GPUs decode {}", rate);
    case InputLimit::kernels:
      break;
  }
  return fmt::format("kernels on a node's GPUs decode {}", rate);
}

/// `share`: fraction of the time for which GPUs wait for samples.
std::string waiting_in_words(const Run& run, double share) {
  const InputReport& input = *run.input;
  const std::string text = fmt::format("Input: data loading is the limit: {}",
                                       loading_in_words(input.loading, run.experiment.settings.input));
  if (!input.is_prefetched)
    return fmt::format("{}. Every step waits for its samples; prefetching would gain up to {}.", text,
                       percent(share));
  return fmt::format("{}. GPUs wait for samples for {} of the time.", text, percent(share));
}

/// Time in which the GPU waits for the host.
Seconds host_time(const Run& run) {
  const ClassStep& slowest = slowest_class(step_of(run));
  Seconds host = slowest.launch_waits;
  for (const OpRow& layer : slowest.ops) host += layer.kind == OpKind::host ? layer.duration : Seconds();
  return host;
}

/// The link or server that is busiest, and for how long: "node0.nic0->fabric, busy for 45.5 % of the time".
std::string busiest_in_words(const Run& run) {
  const ServerRow* const server = busiest_server(*updates_of(run));
  const bool is_server = server != nullptr && server->utilization > run.links.most;
  const LinkRow* const link = busiest(run.links);
  return fmt::format("{}, busy for {} of the time",
                     is_server ? "the " + server->name
                               : elide(run.links.busiest, 60) +
                                     (link != nullptr && link->is_assumed ? " (its rate is assumed)" : ""),
                     percent(is_server ? server->utilization : run.links.most));
}

/// The shard of the parameter servers that holds most, if the others hold much less.
std::string loaded_shard_in_words(const Updates& updates) {
  if (!updates.loaded_shard) return {};
  const LoadedShard& shard = *updates.loaded_shard;
  return fmt::format(
      " Parameter-server shard {} ({} in all, numbered from 0) holds {} of {} of gradients, {} times the "
      "mean: layer {} has {} of them. More shards do not help until large tensors are spread over them "
      "(stack.servers.spread_above).",
      shard.shard, shard.shards, human(shard.bytes), human(shard.all),
      rounded(shard.bytes * shard.shards / shard.all), shard.layer, human(shard.of_layer));
}

std::string updates_limit_in_words(const Run& run) {
  const Updates& updates = *updates_of(run);
  const WorkerRow sum = sum_of(updates.workers);
  const Seconds all = static_cast<double>(updates.workers.size()) * updates.measured;
  const Seconds computing = sum.computing - sum.wasted;
  const Seconds waiting = sum.waiting + sum.wasted;
  const auto share = [&](Seconds time) { return percent(time / all); };
  // Other causes of waiting would not matter if samples still came this late.
  if (run.input && sum.loading >= std::max({negligible * computing, sum.communicating, waiting}))
    return waiting_in_words(run, sum.loading / all);
  if (std::max(sum.communicating, waiting) < negligible * all) {
    return fmt::format(
        "Compute: it fills {} of the ranks' time; {} goes to transfers of gradients and parameters, {} to "
        "waits.",
        share(computing), share(sum.communicating), share(waiting));
  }
  if (waiting > sum.communicating) {
    return fmt::format(
        "Waiting: ranks spend {} of their time on waits{}; {} goes to compute, {} to transfers of gradients "
        "and parameters.",
        share(waiting), sum.wasted > Seconds() ? " and on gradients that the update rule discards" : "",
        share(computing), share(sum.communicating));
  }
  return fmt::format(
      "Communication: transfers of gradients and parameters take {} of the ranks' time, compute {}. The "
      "busiest resource is {}.{}",
      share(sum.communicating), share(computing), busiest_in_words(run), loaded_shard_in_words(updates));
}

std::string step_in_words(const Run& run) {
  const bool is_compute = run.ranks == 1 || exposed_communication(run) < negligible * run.pace.time;
  if (is_compute) return compute_in_words(run);
  return is_framework(run) ? framework_in_words(run) : communication_in_words(run);
}

void add_busiest_link(doc::Section& section, const Run& run) {
  const LinkRow* const link = busiest(run.links);
  std::string text = fmt::format("{}, busy for {} of the {}", elide(run.links.busiest, 50),
                                 percent(run.links.most), updates_of(run) ? "run" : "step");
  if (link != nullptr)
    text += fmt::format(" ({} at {}{})", estimate(link->bytes), estimate(link->capacity),
                        assumed_mark(link->is_assumed));
  section.fact("busiest link", text);
}

/// "prepared in 12.1 ms during the previous step".
std::string input_in_words(const InputReport& input) {
  std::string text = fmt::format("prepared in {} {}", estimate(input.loading.time),
                                 input.is_prefetched ? "during the previous step" : "before each step");
  if (input.loading.kernels > Seconds{})
    text += fmt::format("; kernels that decode take {} of each GPU", estimate(input.loading.kernels));
  return text;
}

/// "GPUs 91.0 %, CPU cores 62.0 %, host memory 3.1 % (assumed), storage 8.0 %, network 4.0 %".
std::string utilizations_in_words(const Run& run) {
  std::vector<std::string> parts;
  for (const Resource resource : all_resources) {
    const Known<Utilization> use = utilization(run, resource);
    const std::string share = use ? percent(use->share) + (use->is_assumed ? " (assumed)" : "") : "unknown";
    parts.push_back(fmt::format("{} {}", name_of(resource), share));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_matrix(doc::Section& section, const Run& run) {
  const bool recomputes =
      run.experiment.layout && run.experiment.layout->parallelism.recompute != Recompute::none;
  section.add(doc::Fact{
      .key = "model_flops_utilization",
      .label = "matrix FLOPs",
      .remark =
          fmt::format("{} per GPU, {} of the {} peak (model FLOPs utilization{}){}{}",
                      estimate(run.matrix->rate), percent(run.matrix->utilization), matrix_dtype_name(run),
                      recomputes ? ", without recomputation" : "", run.matrix->utilization > 1 ? "; " : "",
                      run.matrix->utilization > 1 ? above_peak_reason : std::string_view())});
}

Seconds hidden_part(Seconds communication, Seconds exposed) {
  constexpr double rounding = 1e-9;
  const Seconds hidden = communication - exposed;
  return hidden < rounding * communication ? Seconds() : hidden;
}

}  // namespace

Seconds hidden_communication(const ClassStep& one) { return hidden_part(one.communication, one.exposed); }

Overlap overlap(const Run& run) {
  Overlap times;
  for (const ClassStep& one : step_of(run).classes) {
    for (const OpRow& row : one.ops) {
      if (row.phase == Phase::backward) times.backward_end = std::max(times.backward_end, row.end);
    }
  }
  for (const CollectiveRow& row : step_of(run).collectives) {
    times.communication_end = std::max(times.communication_end, row.end);
  }
  times.hidden = hidden_part(communication_time(run), exposed_communication(run));
  return times;
}

std::string network_limit_in_words(const Run& run) {
  const std::optional<NetworkLimit> limit = network_limit(run);
  if (!limit) return {};
  if (const Seconds sums = time_of_sums(run); 2 * sums > communication_time(run)) {
    return fmt::format(
        " The limit is neither bandwidth nor latency: the thread of {} adds received data for {}.",
        title_of(run.experiment.library.library), estimate(sums));
  }
  if (limit->is_latency) {
    std::string text = fmt::format(
        " The limit is latency rather than bandwidth: half the latency of messages, and of the time before "
        "the first, would gain {} more samples/s.",
        gain_of(run, limit->latency_gain));
    return limit->faster ? text + ' ' + faster_in_words(run, *limit) : text;
  }
  const std::vector<CollectiveRow>& rows = step_of(run).collectives;
  const std::string protocol = rows.empty() ? std::string() : rows.at(at(limit->pace.collective)).protocol;
  std::string text = fmt::format(" The limit is bandwidth: {}.", limit_in_words(limit->pace, protocol));
  if (limit->faster) return text + ' ' + faster_in_words(run, *limit);
  return text + " No key makes the step shorter by making one part of the network, or two, twice as fast.";
}

std::string costly_choice_in_words(const Run& run) {
  const std::optional<CostlyChoice> found = costly_choice(run);
  if (!found) return {};
  const auto choice_text = [&](const NcclChoice& choice) {
    return fmt::format("{}/{}", config::name_of(choice.algorithm),
                       protocol_name(CommunicationLibrary::nccl, choice.protocol));
  };
  const Seconds time = run.pace.time;
  std::string text = fmt::format(
      " NCCL's choice of {} for {} of {} costs {}: with {} each would take {} instead of {}, and the step "
      "{}.",
      choice_text(found->chosen), config::name_of(found->operation), estimate(found->size),
      percent(found->gain / (time - found->gain)), choice_text(found->better), estimate(found->better_time),
      estimate(found->time), estimate(time - found->gain));
  switch (found->remedy) {
    case ChoiceRemedy::found:
      return fmt::format("{} The step takes {} with {}.", text, estimate(found->step_time_with_set),
                         set_options(found->set));
    case ChoiceRemedy::too_small:
      return fmt::format("{} No value of sync.algorithm makes the step {} shorter.", text,
                         percent(least_gain_of_choice));
    case ChoiceRemedy::no_key:
      return text + " No key makes NCCL choose that.";
    case ChoiceRemedy::untried:
      break;
  }
  return text;
}

std::string limit_in_words(const Run& run) {
  if (updates_of(run)) return updates_limit_in_words(run);
  if (run.input && run.input->exposed > negligible * run.pace.time)
    return waiting_in_words(run, run.input->exposed / run.pace.time);
  const std::string step = has_bubbles(run.experiment) ? layout_limit_in_words(run) : step_in_words(run);
  const Seconds host = host_time(run);
  if (host <= negligible * run.pace.time) return step;
  const std::string share = percent(host / run.pace.time);
  if (host <= exposed_communication(run))
    return fmt::format("{} The GPU waits for the host during {} of the step.", step, share);
  return fmt::format("Host: the GPU waits for the host during {} of the step; kernels fill {}.", share,
                     percent(compute_time(run) / run.pace.time));
}

void add_limits(doc::Document& page, const Run& run) {
  doc::Section& section = page.section("limits", "what limits it");
  section.is_answer = true;
  section.add(doc::Sentence{.text = limit_in_words(run) + costly_choice_in_words(run), .is_main = true});
  if (!run.links.busiest.empty()) add_busiest_link(section, run);
  if (run.input) {
    section.fact("input", input_in_words(*run.input));
    section.fact("utilization", utilizations_in_words(run));
  }
  if (run.ranks > 1 && updates_of(run) == nullptr)
    section.add(doc::Fact{"lower_bound_s",
                          "lower bound",
                          {estimate(step_of(run).lower_bound), step_of(run).lower_bound},
                          fmt::format("all collectives at their bound; the step {}",
                                      takes_longer(run.pace.time, step_of(run).lower_bound))});
  if (run.matrix) add_matrix(section, run);
}

}  // namespace trainyard
