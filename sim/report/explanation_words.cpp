// The sentences of an explanation.

#include "document/page.hpp"
#include "report/explanation.hpp"
#include "report/limits.hpp"
#include "run/step_parts.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// Smaller fractions of the step appear only in the tables.
constexpr double least_said = 5e-4;

std::string and_share(Seconds time, Seconds whole) {
  return fmt::format("{} ({})", estimate(time), percent(time / whole));
}

/// "an all_reduce", "a broadcast".
std::string with_article(std::string_view word) {
  const bool is_vowel = std::string_view("aeiou").find(word.front()) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", word);
}

std::string_view noun_of(PathKind kind) {
  switch (kind) {
    case PathKind::optimizer:
      return "the optimizer";
    case PathKind::host:
      return "waiting for the host";
    case PathKind::framework:
      return "cycles and copies around collectives";
    case PathKind::input:
      return "data loading";
    case PathKind::collective:
      return "collectives";
    case PathKind::layers:
      return "tensor-parallel collectives";
    case PathKind::messages:
      return "messages between stages";
    default:
      return config::name_of(kind);
  }
}

/// The last layer of backward before the path finally changes to a collective.
std::string turning_point(const std::vector<PathSegment>& path) {
  std::string layer;
  std::string found;
  for (const PathSegment& segment : path) {
    if (segment.kind == PathKind::backward) layer = layer_shown(segment.last);
    if (segment.kind == PathKind::collective && !layer.empty() && found.empty()) found = layer;
    if (segment.kind == PathKind::backward) found.clear();
  }
  return found;
}

/// "forward 81.32 ms (38.1 %), backward 124.7 ms (58.4 %) as far as conv1, ...".
std::string parts_in_words(const Run& run, const Explanation& why) {
  const std::vector<PathSegment>& path = why.path;
  std::vector<PathKind> order;
  std::map<PathKind, Seconds> times;
  int collectives = 0;
  for (const PathSegment& segment : path) {
    if (!times.contains(segment.kind)) order.push_back(segment.kind);
    times[segment.kind] += segment.length;
    collectives += segment.kind == PathKind::collective ? segment.times : 0;
  }
  const std::string turn = run.experiment.layout ? std::string() : turning_point(path);
  std::string text;
  for (const PathKind kind : order) {
    const Seconds time = times[kind];
    const bool is_pass = kind == PathKind::forward || kind == PathKind::backward;
    if (!is_pass && time < least_said * run.pace.time) continue;
    text += text.empty() ? "" : ", ";
    text += kind == PathKind::collective ? count(collectives, "collective") : std::string(noun_of(kind));
    text += " " + and_share(time, run.pace.time);
    if (kind == PathKind::backward && !turn.empty()) text += " until the gradients of " + turn + " are ready";
  }
  return text;
}

/// If the ranks share a model: the kind of communication that takes most of the path on a stage, and its
/// cause.
std::string most_communication_in_words(const Run& run, const Explanation& why) {
  const PathSegment* longest = nullptr;
  const CollectivePace* pace = nullptr;
  std::size_t number = 0;
  for (const PathSegment& segment : why.path) {
    if (!is_communication(segment.kind)) continue;
    const CollectivePace& its = why.paces.at(number++);
    if (longest != nullptr && segment.length <= longest->length) continue;
    longest = &segment;
    pace = &its;
  }
  if (longest == nullptr || longest->length < least_said * run.pace.time) return {};
  const CollectiveRow& row = step_of(run).collectives.at(at(longest->collective));
  return fmt::format(
      " Most communication on it: {} of {} ({}), {}. The longest of them is {}, {} of {} (algorithm {}, "
      "protocol {}), limited by {}. Alone on the network it takes {}, {} of this for its bytes.",
      noun_of(longest->kind), longest->what, grouped(longest->times),
      and_share(longest->length, run.pace.time), row.name, with_article(config::name_of(row.operation)),
      human(row.size), row.algorithm, row.protocol, limit_in_words(*pace, row.protocol),
      estimate(pace->alone()), percent(pace->transfer / pace->alone()));
}

/// The bubble of the stage that ends last, and the largest.
std::string bubble_in_words(const Run& run) {
  const Step& step = step_of(run);
  const auto bubble_of = [&](const ClassStep& one) {
    const StepParts parts = step_parts(run, one);
    const auto part = std::ranges::find(parts.parts, StepPart::bubble, &PartTime::part);
    return part == parts.parts.end() ? Seconds{} : part->time;
  };
  if (step.classes.size() == 1) return {};
  const ClassStep& last = slowest_class(step);
  const ClassStep& most = *std::ranges::max_element(step.classes, {}, bubble_of);
  std::string text = fmt::format(" {} ends last; its bubble, in which it waits for other stages, takes {}.",
                                 last.name, and_share(bubble_of(last), run.pace.time));
  text[1] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[1])));
  if (&most != &last)
    text += fmt::format(" The largest bubble is that of {}, {}.", most.name,
                        and_share(bubble_of(most), run.pace.time));
  return text;
}

/// The longest collective on the path, and its cause.
std::string longest_in_words(const Run& run, const Explanation& why) {
  const PathSegment* longest = nullptr;
  const CollectivePace* pace = nullptr;
  int index = 0;
  int collectives = 0;
  for (const PathSegment& segment : why.path) {
    if (segment.kind != PathKind::collective) continue;
    ++collectives;
    if (longest == nullptr || segment.length > longest->length) {
      longest = &segment;
      pace = &why.paces.at(static_cast<std::size_t>(index));
    }
    ++index;
  }
  if (longest == nullptr || longest->length < least_said * run.pace.time) return {};
  const CollectiveRow& row = step_of(run).collectives.at(static_cast<std::size_t>(longest->collective));
  const Seconds alone = pace->alone();
  std::string text = fmt::format(
      " The {} is {}, {} of {} (algorithm {}, protocol {}). It is limited by {}. Alone on the network it "
      "takes {}, {} of this for its bytes.",
      collectives > 1 ? "longest collective" : "collective", row.name,
      with_article(config::name_of(row.operation)), human(row.size), row.algorithm, row.protocol,
      limit_in_words(*pace, row.protocol), estimate(alone), percent(pace->transfer / alone));
  const Seconds whole = row.end - row.start;
  if (whole > (1 + least_gain) * alone) {
    text += fmt::format(" In this step it takes {}{}.", estimate(whole), why_longer(run, row));
  }
  return text;
}

/// The places where the path changes to another rank.
std::string ranks_in_words(const Explanation& why) {
  std::string text;
  int changes = 0;
  const PathSegment* before = nullptr;
  for (const PathSegment& segment : why.path) {
    if (segment.kind == PathKind::input) continue;  // belongs to no rank
    if (before != nullptr && before->rank != segment.rank && ++changes == 1) {
      text = fmt::format(" Until {} the path is on rank {}, and rank {} waits for it.",
                         estimate(segment.start), index(before->rank), index(segment.rank));
    }
    before = &segment;
  }
  if (changes > 1) {
    text += fmt::format(" After that it changes the rank {} and ends on rank {}.", count(changes - 1, "time"),
                        index(before->rank));
  }
  return text;
}

std::string slowed_in_words(const Run& run, const Explanation& why) {
  Seconds slowed;
  for (const PathSegment& segment : why.path) slowed += segment.slowed;
  if (slowed < least_said * run.pace.time) return {};
  return fmt::format(" Concurrent collectives slow kernels by {}.", and_share(slowed, run.pace.time));
}

std::string faults_in_words(const Run& run) {
  if (!run.faults) return {};
  return fmt::format(
      " This is a step without faults. Faults, checkpoints and restarts leave {} of the job's time for "
      "steps.",
      percent(run.faults->share));
}

}  // namespace

std::string path_in_words(const Run& run, const Explanation& why) {
  const std::vector<PathSegment>& path = why.path;
  std::string text = fmt::format("The step takes {}. ", estimate(run.pace.time));
  if (path.size() == 1 && path.front().kind == PathKind::input) {
    return text +
           fmt::format(
               "Data loading, limited by {}, is the whole critical path: the samples of a step take that "
               "long, and everything else runs at the same time.",
               path.front().what) +
           faults_in_words(run);
  }
  text += fmt::format("Its critical path, where each part waits for the previous one: {}.",
                      parts_in_words(run, why));
  if (run.experiment.layout)
    return text + most_communication_in_words(run, why) + network_limit_in_words(run) +
           costly_choice_in_words(run) + bubble_in_words(run) + slowed_in_words(run, why);
  if (run.ranks == 1) text += " A single GPU waits for no other.";
  return text + longest_in_words(run, why) + network_limit_in_words(run) + costly_choice_in_words(run) +
         ranks_in_words(why) + slowed_in_words(run, why) + faults_in_words(run);
}

std::string_view activity_in_words(StepPart part) {
  switch (part) {
    case StepPart::compute:
      return "computing";
    case StepPart::wasted_compute:
      return "computing gradients that are cancelled";
    case StepPart::communication:
      return "sending and receiving";
    case StepPart::waiting:
      return "waiting for others";
    case StepPart::input:
      return "waiting for samples";
    default:
      return "unfinished at the end";
  }
}

std::string layer_shown(const std::string& layer) {
  constexpr std::string_view cast = ".cast";
  return layer.ends_with(cast) ? layer.substr(0, layer.size() - cast.size()) : layer;
}

std::string updates_in_words(const Run& run) {
  const Updates& updates = *updates_of(run);
  std::string text = fmt::format(
      "An update takes {}. Updates differ or overlap, so there is no single critical path. On average a rank "
      "spends",
      estimate(run.pace.time));
  std::string parts;
  for (const PartTime& part : step_parts(run).parts) {
    if (part.time < least_said * run.pace.time) continue;
    parts += fmt::format("{} {} {}", parts.empty() ? "" : ",", and_share(part.time, run.pace.time),
                         activity_in_words(part.part));
  }
  text += parts + ".";
  const auto [fast, slow] = std::ranges::minmax_element(updates.workers, {}, &WorkerRow::computing);
  const bool is_locked = traits(updates.settings.rule).is_synchronous() && updates.servers.empty();
  if (is_locked && slow->computing > (1 + least_gain) * fast->computing) {
    text += fmt::format(
        " Rank {} (node {}) computes longest, {} per update; rank {} (node {}) computes shortest, {}.",
        index(slow->rank), index(slow->node),
        estimate(slow->computing / static_cast<double>(updates.measured_updates)), index(fast->rank),
        index(fast->node), estimate(fast->computing / static_cast<double>(updates.measured_updates)));
  }
  const ServerRow* const server = busiest_server(updates);
  if (server != nullptr)
    text += fmt::format(" The busiest resource of the parameter servers is the {}, {} of the time.",
                        server->name, percent(server->utilization));
  if (!run.links.busiest.empty()) {
    const LinkRow* const link = busiest(run.links);
    text += fmt::format(" The busiest link, {}{}, carries {} of its capacity.", elide(run.links.busiest, 50),
                        link != nullptr && link->is_assumed ? " (its rate is assumed)" : "",
                        percent(run.links.most));
  }
  return text + faults_in_words(run);
}

}  // namespace trainyard
