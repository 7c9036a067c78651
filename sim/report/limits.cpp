#include "report/limits.hpp"

#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {

namespace {

/// Below this share of the step exposed communication is not what limits it: removing it all gains less.
constexpr double negligible = 0.05;
/// A link this busy during the collectives limits them by its bandwidth; a less busy one by latency.
constexpr double saturated = 0.5;

std::string compute_in_words(const Result& result) {
  const double share = result.step_time.si() > 0 ? result.compute_time / result.step_time : 1;
  if (result.ranks == 1) {
    return fmt::format("Compute: one GPU, nothing to communicate; its kernels fill {} of the step.",
                       percent(share));
  }
  if (result.communication_time > Seconds() && overlap(result).hidden == Seconds()) {
    return fmt::format(
        "Compute: kernels fill {} of the step. All {} of communication are exposed. A faster network would "
        "gain at most {}.",
        percent(share), human(result.communication_time), percent(result.network_gain / result.step_time));
  }
  return fmt::format(
      "Compute: kernels fill {} of the step. Of {} of communication only {} is exposed: the rest "
      "runs behind the backward pass. A faster network would gain at most {}.",
      percent(share), human(result.communication_time),
      human(std::min(result.exposed_communication, result.communication_time)),
      percent(result.network_gain / result.step_time));
}

/// What a step does besides computing and sending.
std::string_view overhead_in_words(const Result& result) {
  if (result.resolved.sync.kind == SyncKind::peer_to_peer)
    return "compressing updates and adding up those of all ranks";
  if (result.resolved.sync.kind == SyncKind::dataparallel_gpu0) return "copying tensors into buffers";
  return "waiting for the stack's cycle or negotiation and copying or scaling gradients";
}

/// That is most of what is exposed.
bool is_framework(const Result& result) { return result.network_gain < 0.5 * result.exposed_communication; }

std::string framework_in_words(const Result& result) {
  return fmt::format(
      "Framework: of the {} in which no kernel runs, {} go by {}. A faster network would gain at most {}.",
      human(result.exposed_communication), human(result.exposed_communication - result.network_gain),
      overhead_in_words(result), percent(result.network_gain / result.step_time));
}

std::string cause_in_words(const Result& result) {
  const double busy = busy_while_communicating(result);
  if (result.busiest_link.empty()) return {};
  if (busy >= saturated) {
    return fmt::format(" It is bandwidth: {} carries {} of its capacity while collectives run.",
                       elide(result.busiest_link, 60), percent(busy));
  }
  return fmt::format(
      " It is latency more than bandwidth: the busiest link, {}, carries {} of its capacity while "
      "collectives run.",
      elide(result.busiest_link, 60), percent(busy));
}

std::string communication_in_words(const Result& result) {
  const Overlap times = overlap(result);
  const Seconds tail = times.communication_end - times.backward_end;
  std::string text =
      fmt::format("Communication: {} of it is exposed, {} of the step.", human(result.exposed_communication),
                  percent(result.exposed_communication / result.step_time));
  if (tail.si() > 0) {
    text += fmt::format(" The last collective ends {} after the last gradient is ready.", human(tail));
  }
  return text + cause_in_words(result);
}

/// "24 of 40 cores of a node decode 6,000 samples/s".
std::string pipeline_in_words(const InputPipeline& input) {
  const std::string rate = rounded(input.samples / input.time.si()) + " samples/s";
  switch (input.limit) {
    case InputLimit::cores:
      return fmt::format("{} of {} cores of a node decode {}", input.cores, input.cores_of_node, rate);
    case InputLimit::storage:
      return fmt::format("a node reads {} from its storage", rate);
    case InputLimit::memory:
      return fmt::format("the memory of a node's CPUs lets {} through", rate);
    case InputLimit::decoder:
      break;
  }
  return fmt::format("the decoders of a node's GPUs decode {}", rate);
}

/// `share`: of the time, in which GPUs wait for samples.
std::string waiting_in_words(const InputReport& input, double share) {
  const std::string text =
      fmt::format("Input: limited by the input pipeline: {}", pipeline_in_words(input.pipeline));
  if (!input.is_prefetched)
    return fmt::format("{}, and every step waits for its own. Prefetching would gain up to {}.", text,
                       percent(share));
  return fmt::format("{}. GPUs wait for samples for {} of the time.", text, percent(share));
}

/// Nothing where the host is quick.
std::string host_in_words(const Result& result) {
  Seconds host;
  for (const LayerRow& layer : result.layers) host += layer.kind == OpKind::host ? layer.duration : Seconds();
  if (host <= negligible * result.step_time) return {};
  return fmt::format(" The GPU waits for the host during {} of the step.", percent(host / result.step_time));
}

std::string training_in_words(const Result& result) {
  const TrainingReport& training = *result.training;
  Seconds computing, communicating, waiting, loading;
  for (const WorkerRow& worker : training.workers) {
    computing += worker.computing - worker.wasted;
    communicating += worker.communicating;
    waiting += worker.waiting + worker.wasted;
    loading += worker.loading;
  }
  // What makes GPUs wait for anything else would not count if samples came as late as they do.
  if (result.input && loading >= std::max({negligible * computing, communicating, waiting})) {
    const Seconds all = static_cast<double>(training.workers.size()) * training.measured;
    return waiting_in_words(*result.input, loading / all);
  }
  if (computing >= communicating && computing >= waiting)
    return "Compute: that is what the ranks do most of the time.";
  if (waiting > communicating) {
    return "Waiting: the update rule holds ranks back, or throws away what they compute, longer than "
           "anything else "
           "takes.";
  }
  const auto server = std::ranges::max_element(training.servers, {}, &ServerRow::utilization);
  const bool is_server =
      server != training.servers.end() && server->utilization > result.link_utilization_max;
  return fmt::format(
      "Communication: gradients and parameters are under way most of the time. The busiest is {}.",
      is_server ? "the " + server->name : elide(result.busiest_link, 60));
}

std::string step_in_words(const Result& result) {
  const bool is_compute = result.ranks == 1 || result.exposed_communication < negligible * result.step_time;
  if (is_compute) return compute_in_words(result);
  return is_framework(result) ? framework_in_words(result) : communication_in_words(result);
}

}  // namespace

Overlap overlap(const Result& result) {
  Overlap times;
  for (const LayerRow& row : result.layers) {
    if (row.phase == Phase::backward) times.backward_end = std::max(times.backward_end, row.end);
  }
  for (const CollectiveRow& row : result.collectives) {
    times.communication_end = std::max(times.communication_end, row.end);
  }
  times.hidden = result.communication_time - result.exposed_communication;
  constexpr double rounding = 1e-9;
  if (times.hidden < rounding * result.communication_time) times.hidden = Seconds();
  return times;
}

double busy_while_communicating(const Result& result) {
  if (result.communication_time.si() <= 0) return 0;
  return std::min(1.0, result.link_utilization_max * (result.step_time / result.communication_time));
}

std::string limit_in_words(const Result& result) {
  if (result.training) return training_in_words(result);
  if (result.input && result.input->exposed > negligible * result.step_time)
    return waiting_in_words(*result.input, result.input->exposed / result.step_time);
  return step_in_words(result) + host_in_words(result);
}

const LinkRow* busiest_link(const Result& result) {
  const auto link = std::ranges::find(result.links, result.busiest_link, &LinkRow::name);
  return link == result.links.end() ? nullptr : &*link;
}

std::string above_peak_in_words(const Result& result) {
  if (result.model_flops_utilization.value_or(0) <= 1) return {};
  return "; counted as direct convolutions, of which Winograd's algorithm needs fewer";
}

}  // namespace trainyard
