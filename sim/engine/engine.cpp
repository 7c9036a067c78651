#include "engine/engine.hpp"

#include "engine/executors.hpp"
#include "engine/expected_events.hpp"
#include "limits/run_limits.hpp"

namespace trainyard {

namespace engine {

void add_link_bytes(Bytes bytes, const LinkUses& uses, std::vector<double>& bytes_by_link) {
  add_link_bytes(bytes, uses.listed, bytes_by_link);
  if (uses.counted == nullptr) return;
  uses.counted->for_each_part([&](std::uint32_t link, std::span<const int> block, std::uint32_t repeats) {
    for (std::uint32_t i = 0; i < repeats; ++i) {
      for (const int times : block) bytes_by_link[link++] += bytes.si() * times;
    }
  });
}

void add_link_bytes(Bytes bytes, const LinkUses& uses, LinkValues<double>& bytes_by_link) {
  if (uses.counted == nullptr) {
    std::vector<double> listed = bytes_by_link.listed();
    add_link_bytes(bytes, uses, listed);
    bytes_by_link = std::move(listed);
    return;
  }
  LinkValues<double> sums;
  std::vector<double> block;
  bytes_by_link.for_each_part_with(*uses.counted, [&](std::uint32_t, std::span<const double> so_far,
                                                      std::span<const int> times, std::uint32_t repeats) {
    block.clear();
    for (std::size_t i = 0; i < so_far.size(); ++i) block.push_back(so_far[i] + bytes.si() * times[i]);
    sums.append(block, repeats);
  });
  bytes_by_link = std::move(sums);
}

}  // namespace engine

namespace {

Timeline on_simgrid(Timeline timeline) {
  timeline.network = NetworkEngine::simgrid;
  return timeline;
}

}  // namespace

Timeline run(const TaskGraph& graph, const EngineOptions& options) {
  const std::vector<Seconds>& given = options.variant.collectives;
  if (!given.empty() && given.size() != graph.collectives.size())
    throw EngineError("not every collective has a time");
  if (options.fidelity != Fidelity::closed && (!given.empty() || options.variant.slowed_by != SlowedBy::all))
    throw EngineError("variants of a step need fidelity closed");
  switch (options.fidelity) {
    case Fidelity::closed:
      return engine::run_closed(graph, options);
    case Fidelity::flow:
      if (options.formulas) {
        if (std::optional<Timeline> timeline = engine::run_undisturbed(graph, options))
          return *std::move(timeline);
      }
      [[fallthrough]];
    case Fidelity::rounds:
      expect(engine::expected_events(graph, options.fidelity), "rounds of messages", {},
             "fidelity closed is quicker");
      return on_simgrid(engine::run_macro(graph, options));
    case Fidelity::messages:
      expect(engine::expected_events(graph, options.fidelity), "messages", {}, "fidelity flow is quicker");
      return on_simgrid(engine::run_messages(graph, options));
  }
  throw EngineError("unknown fidelity");
}

}  // namespace trainyard
