#include "report/limits.hpp"

#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {

namespace {

/// Exposed communication below this fraction of the step does not limit it: removing all of it gains less.
constexpr double negligible = 0.05;
/// Collectives are limited by bandwidth if the busiest link is at least this busy, otherwise by latency.
constexpr double saturated = 0.5;

std::string compute_in_words(const Run& run) {
  const double share = run.pace.time.si() > 0 ? compute_time(run) / run.pace.time : 1;
  if (run.ranks == 1) {
    return fmt::format("Compute: one GPU, nothing to communicate; its kernels fill {} of the step.",
                       percent(share));
  }
  if (communication_time(run) > Seconds() && overlap(run).hidden == Seconds()) {
    return fmt::format(
        "Compute: kernels fill {} of the step. All {} of communication are exposed. A faster network would "
        "gain at most {}.",
        percent(share), human(communication_time(run)), percent(step_of(run).network_gain / run.pace.time));
  }
  return fmt::format(
      "Compute: kernels fill {} of the step. Of {} of communication only {} is exposed: the rest "
      "runs behind the backward pass. A faster network would gain at most {}.",
      percent(share), human(communication_time(run)),
      human(std::min(exposed_communication(run), communication_time(run))),
      percent(step_of(run).network_gain / run.pace.time));
}

/// Work of a step besides computing and sending.
std::string_view overhead_in_words(const Run& run) {
  if (run.experiment.settings.sync.kind == SyncKind::peer_to_peer)
    return "compressing updates and adding up those of all ranks";
  if (run.experiment.settings.sync.kind == SyncKind::dataparallel_gpu0) return "copying tensors into buffers";
  return "waiting for the stack's cycle or negotiation and copying or scaling gradients";
}

/// Whether that is most of the exposed time.
bool is_framework(const Run& run) { return step_of(run).network_gain < 0.5 * exposed_communication(run); }

std::string framework_in_words(const Run& run) {
  return fmt::format(
      "Framework: of the {} in which no kernel runs, {} go by {}. A faster network would gain at most {}.",
      human(exposed_communication(run)), human(exposed_communication(run) - step_of(run).network_gain),
      overhead_in_words(run), percent(step_of(run).network_gain / run.pace.time));
}

std::string cause_in_words(const Run& run) {
  const double busy = busy_while_communicating(run);
  if (run.links.busiest.empty()) return {};
  if (busy >= saturated) {
    return fmt::format(" It is bandwidth: {} carries {} of its capacity while collectives run.",
                       elide(run.links.busiest, 60), percent(busy));
  }
  return fmt::format(
      " It is latency more than bandwidth: the busiest link, {}, carries {} of its capacity while "
      "collectives run.",
      elide(run.links.busiest, 60), percent(busy));
}

std::string communication_in_words(const Run& run) {
  const Overlap times = overlap(run);
  const Seconds tail = times.communication_end - times.backward_end;
  std::string text =
      fmt::format("Communication: {} of it is exposed, {} of the step.", human(exposed_communication(run)),
                  percent(exposed_communication(run) / run.pace.time));
  if (tail.si() > 0) {
    text += fmt::format(" The last collective ends {} after the last gradient is ready.", human(tail));
  }
  return text + cause_in_words(run);
}

/// "24 of 40 cores of a node decode 6,000 samples/s".
std::string loading_in_words(const DataLoading& input) {
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

/// `share`: fraction of the time for which GPUs wait for samples.
std::string waiting_in_words(const InputReport& input, double share) {
  const std::string text =
      fmt::format("Input: limited by the input pipeline: {}", loading_in_words(input.loading));
  if (!input.is_prefetched)
    return fmt::format("{}, and every step waits for its own. Prefetching would gain up to {}.", text,
                       percent(share));
  return fmt::format("{}. GPUs wait for samples for {} of the time.", text, percent(share));
}

/// Empty if the host is fast.
std::string host_in_words(const Run& run) {
  Seconds host;
  for (const OpRow& layer : step_of(run).ops) host += layer.kind == OpKind::host ? layer.duration : Seconds();
  if (host <= negligible * run.pace.time) return {};
  return fmt::format(" The GPU waits for the host during {} of the step.", percent(host / run.pace.time));
}

std::string updates_limit_in_words(const Run& run) {
  const Updates& updates = *updates_of(run);
  Seconds computing, communicating, waiting, loading;
  for (const WorkerRow& worker : updates.workers) {
    computing += worker.computing - worker.wasted;
    communicating += worker.communicating;
    waiting += worker.waiting + worker.wasted;
    loading += worker.loading;
  }
  // Other causes of waiting would not matter if samples still came this late.
  if (run.input && loading >= std::max({negligible * computing, communicating, waiting})) {
    const Seconds all = static_cast<double>(updates.workers.size()) * updates.measured;
    return waiting_in_words(*run.input, loading / all);
  }
  if (computing >= communicating && computing >= waiting)
    return "Compute: that is what the ranks do most of the time.";
  if (waiting > communicating) {
    return "Waiting: the update rule holds ranks back, or throws away what they compute, longer than "
           "anything else "
           "takes.";
  }
  const auto server = std::ranges::max_element(updates.servers, {}, &ServerRow::utilization);
  const bool is_server = server != updates.servers.end() && server->utilization > run.links.most;
  return fmt::format(
      "Communication: gradients and parameters are under way most of the time. The busiest is {}.",
      is_server ? "the " + server->name : elide(run.links.busiest, 60));
}

std::string step_in_words(const Run& run) {
  const bool is_compute = run.ranks == 1 || exposed_communication(run) < negligible * run.pace.time;
  if (is_compute) return compute_in_words(run);
  return is_framework(run) ? framework_in_words(run) : communication_in_words(run);
}

}  // namespace

Overlap overlap(const Run& run) {
  Overlap times;
  for (const OpRow& row : step_of(run).ops) {
    if (row.phase == Phase::backward) times.backward_end = std::max(times.backward_end, row.end);
  }
  for (const CollectiveRow& row : step_of(run).collectives) {
    times.communication_end = std::max(times.communication_end, row.end);
  }
  times.hidden = communication_time(run) - exposed_communication(run);
  constexpr double rounding = 1e-9;
  if (times.hidden < rounding * communication_time(run)) times.hidden = Seconds();
  return times;
}

double busy_while_communicating(const Run& run) {
  if (communication_time(run).si() <= 0) return 0;
  return std::min(1.0, run.links.most * (run.pace.time / communication_time(run)));
}

std::string limit_in_words(const Run& run) {
  if (updates_of(run)) return updates_limit_in_words(run);
  if (run.input && run.input->exposed > negligible * run.pace.time)
    return waiting_in_words(*run.input, run.input->exposed / run.pace.time);
  return step_in_words(run) + host_in_words(run);
}

const LinkRow* busiest_link(const Run& run) {
  const auto link = std::ranges::find(run.links.rows, run.links.busiest, &LinkRow::name);
  return link == run.links.rows.end() ? nullptr : &*link;
}

std::string above_peak_in_words(const Run& run) {
  if (!run.matrix || run.matrix->utilization <= 1) return {};
  return "; counted as direct convolutions, of which Winograd's algorithm needs fewer";
}

}  // namespace trainyard
