#include "calibration/fit_constants.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr double us = 1e-6;
constexpr double nvlink_ll_step = 0.6;  // us
constexpr double pcie_ll_step = 1;
constexpr std::string_view tables = "NVIDIA/nccl src/graph/tuning.cc, v2.30.7-1";
constexpr std::string_view halves = "half of what LL sends are flags; NVIDIA/nccl src/include/device.h";
constexpr std::string_view flags = "120 of 128 bytes are data; NVIDIA/nccl src/include/device.h";
constexpr std::string_view whole = "the platform's effective rate is that of protocol Simple";

template <class T>
Sourced<T> assumed(T value, std::string_view why) {
  return {.value = value, .provenance = Provenance::assumed, .source = std::string(why)};
}

Sourced<double> specified(double value, std::string_view why) {
  return {.value = value, .provenance = Provenance::specified, .source = std::string(why)};
}

/// By protocol, in microseconds.
using Times = std::array<double, 3>;
constexpr Times usual_bases{6.6, 14, 8.4};
// NCCL has no figures of point-to-point channels: this is the rate of a ring's channel on newer GPUs in its
// tables, a quarter of it with LL.
constexpr Bandwidth usual_channel{20e9};
constexpr Bandwidth usual_ll_channel{5e9};
constexpr double usual_of_links = 0.9;
constexpr double usual_pair_startup = 0.5;
constexpr Times usual_nvlink_steps{nvlink_ll_step, 1.9, 3.4};
constexpr Times usual_ring_steps{2.7, 4, 14};
constexpr Times usual_tree_steps{5, 8.5, 14};
// A few of NCCL's network overheads (1 us, three times as much with Simple) on each channel.
constexpr Times usual_turns{3, 6, 20};
constexpr double usual_peer = 2;  // us

SourcedByProtocol<Seconds> assumed_times(const Times& times, std::string_view why) {
  const auto time = [&](double microseconds) {
    return assumed(Seconds{rounded_constant(microseconds * us, resolution_of<Seconds>())}, why);
  };
  return {time(times[0]), time(times[1]), time(times[2])};
}

MediumOverheads assumed_medium(const Times& times, std::string_view why) {
  return {.step = assumed_times(times, why),
          .efficiency = {specified(0.5, halves), specified(0.9375, flags), specified(1, whole)},
          .startup = assumed(0.0, "no published curve shows one")};
}

using Media = std::vector<MediumOverheads*>;
using PickMedia = Media (*)(Protocols&);

/// Few small sizes are published on these that are longer than the start of their kernels.
Media older_nvlinks(Protocols& all) { return {&all.paths.nvlink2, &all.paths.nvlink3}; }
Media nvlink2(Protocols& all) { return {&all.paths.nvlink2}; }
Media nvlink3(Protocols& all) { return {&all.paths.nvlink3}; }
Media nvlink4(Protocols& all) { return {&all.paths.nvlink4}; }
Media nvlink5(Protocols& all) { return {&all.paths.nvlink5}; }
Media pcies(Protocols& all) { return {&all.paths.pix, &all.paths.pxb, &all.paths.phb, &all.paths.sys}; }
Media pcies_and_staged(Protocols& all) {
  Media media = pcies(all);
  media.push_back(&all.paths.staged);
  return media;
}

template <class T>
void put(Sourced<T>& place, double value, Provenance provenance, const std::string& source) {
  place = {.value = T{value}, .provenance = provenance, .source = source};
}

/// `pick` returns the figures of the file that have this constant's value.
template <class Pick>
FitConstant constant(std::string name, double prior, Pick pick) {
  using Places = std::invoke_result_t<Pick, Protocols&>;
  using Figure = std::remove_pointer_t<typename Places::value_type>;
  return {.name = std::move(name),
          .prior = prior,
          .resolution = resolution_of<decltype(Figure::value)>(),
          .set = [pick](Protocols& all, double value, Provenance provenance, const std::string& source) {
            for (auto* figure : pick(all)) put(*figure, value, provenance, source);
          }};
}

FitConstant base(Protocol protocol, const std::string& name, double prior) {
  return constant("base." + name, prior * us,
                  [=](Protocols& all) { return std::array{&all.base.of(protocol)}; });
}

/// A step time (`prior` in us) or an efficiency that several media share.
template <class T>
FitConstant shared(std::string name, PickMedia media, SourcedByProtocol<T> MediumOverheads::*figures,
                   Protocol protocol, double prior) {
  constexpr bool is_time = std::is_same_v<T, Seconds>;
  return constant(std::move(name), is_time ? prior * us : prior, [=](Protocols& all) {
    std::vector<Sourced<T>*> picked;
    for (MediumOverheads* medium : media(all)) picked.push_back(&(medium->*figures).of(protocol));
    return picked;
  });
}

/// Links whose GPUs have times and efficiencies of their own; `shares_ll_step`: but for the step of LL.
void add_generation(std::vector<FitConstant>& constants, const std::string& name, PickMedia media,
                    bool shares_ll_step = false) {
  const auto step = &MediumOverheads::step;
  const auto efficiency = &MediumOverheads::efficiency;
  constexpr std::array<std::pair<Protocol, std::string_view>, 3> names{
      {{Protocol::ll, "ll"}, {Protocol::ll128, "ll128"}, {Protocol::simple, "simple"}}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [protocol, text] = names.at(i);
    constants.push_back(
        constant(fmt::format("{}.base.{}", name, text), usual_bases.at(i) * us, [=](Protocols& all) {
          std::vector<Sourced<Seconds>*> picked;
          for (MediumOverheads* medium : media(all)) picked.push_back(&medium->base.value().of(protocol));
          return picked;
        }));
    if (protocol == Protocol::ll && shares_ll_step) continue;
    constants.push_back(
        shared(fmt::format("{}.step.{}", name, text), media, step, protocol, usual_nvlink_steps.at(i)));
  }
  constants.push_back(shared(name + ".efficiency.ll", media, efficiency, Protocol::ll, 0.5));
  constants.push_back(shared(name + ".efficiency.ll128", media, efficiency, Protocol::ll128, 0.92));
  constants.push_back(constant(name + ".startup", 0.5, [=](Protocols& all) {
    std::vector<Sourced<double>*> picked;
    for (MediumOverheads* medium : media(all)) picked.push_back(&medium->startup);
    return picked;
  }));
}

/// The costs of switches that add.
void add_switches(std::vector<FitConstant>& constants, const std::string& name, PickMedia media) {
  constants.push_back(constant(name + ".nvls.step", 1 * us, [=](Protocols& all) {
    std::vector<Sourced<Seconds>*> picked;
    for (MediumOverheads* medium : media(all)) picked.push_back(&medium->nvls.value().step);
    return picked;
  }));
  constants.push_back(constant(name + ".nvls.efficiency", 0.9, [=](Protocols& all) {
    std::vector<Sourced<double>*> picked;
    for (MediumOverheads* medium : media(all)) picked.push_back(&medium->nvls.value().efficiency);
    return picked;
  }));
}

using TurnTimes = SourcedByProtocol<Seconds> TurnCosts::*;

FitConstant of_turns(std::string name, TurnTimes times, Protocol protocol, double prior) {
  return constant(std::move(name), prior * us, [=](Protocols& all) {
    return std::array{&(all.networks.roce.turns.value().*times).of(protocol)};
  });
}

template <class T>
FitConstant of_turns(std::string name, Sourced<T> TurnCosts::*figure, double prior) {
  return constant(std::move(name), prior,
                  [=](Protocols& all) { return std::array{&(all.networks.roce.turns.value().*figure)}; });
}

/// The only network with curves of newer versions.
void add_turns(std::vector<FitConstant>& constants) {
  const auto roce = [](Protocols& all) { return Media{&all.networks.roce}; };
  constexpr std::array<std::pair<Protocol, std::string_view>, 3> names{
      {{Protocol::ll, "ll"}, {Protocol::ll128, "ll128"}, {Protocol::simple, "simple"}}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [protocol, text] = names.at(i);
    const std::string of_roce = "networks.roce.";
    constants.push_back(shared(of_roce + "step." + std::string(text), roce, &MediumOverheads::step, protocol,
                               usual_ring_steps.at(i)));
    constants.push_back(
        of_turns(of_roce + "turns.ring." + std::string(text), &TurnCosts::ring, protocol, usual_turns.at(i)));
    constants.push_back(of_turns(of_roce + "turns.tree_step." + std::string(text), &TurnCosts::tree_step,
                                 protocol, usual_tree_steps.at(i)));
  }
  constants.push_back(
      of_turns("networks.roce.turns.chunk_ll128", &TurnCosts::chunk_ll128, usual_turns[1] * us));
  constants.push_back(
      of_turns("networks.roce.turns.chunk_simple", &TurnCosts::chunk_simple, usual_turns[2] * us));
  constants.push_back(
      of_turns("networks.roce.turns.channel_ll128", &TurnCosts::channel_ll128, usual_channel.si()));
  constants.push_back(
      of_turns("networks.roce.turns.channel_simple", &TurnCosts::channel_simple, usual_channel.si()));
  constants.push_back(of_turns("networks.roce.turns.of_two", &TurnCosts::of_two, 0.5));
  constants.push_back(
      of_turns("networks.roce.turns.message_base", &TurnCosts::message_base, usual_tree_steps[2] * us));
  constants.push_back(
      of_turns("networks.roce.turns.message_peer", &TurnCosts::message_peer, usual_peer * us));
  constants.push_back(
      of_turns("networks.roce.turns.message_efficiency", &TurnCosts::message_efficiency, usual_of_links));
}

template <class T>
FitConstant of_pairs(std::string name, PickMedia media, Sourced<T> PairCosts::*figure, double prior) {
  return constant(std::move(name), prior, [=](Protocols& all) {
    std::vector<Sourced<T>*> picked;
    for (MediumOverheads* medium : media(all)) picked.push_back(&(medium->pairs.value().*figure));
    return picked;
  });
}

/// The costs of messages between all pairs; `part`: of the usual rate of a channel.
void add_pairs(std::vector<FitConstant>& constants, const std::string& name, PickMedia media,
               double part = 1) {
  constants.push_back(of_pairs(name + ".pairs.base_ll", media, &PairCosts::base_ll, usual_bases[0] * us));
  constants.push_back(
      of_pairs(name + ".pairs.base_simple", media, &PairCosts::base_simple, usual_bases[2] * us));
  constants.push_back(
      of_pairs(name + ".pairs.channel_ll", media, &PairCosts::channel_ll, part * usual_ll_channel.si()));
  constants.push_back(
      of_pairs(name + ".pairs.channel_simple", media, &PairCosts::channel_simple, part * usual_channel.si()));
  constants.push_back(of_pairs(name + ".pairs.efficiency", media, &PairCosts::efficiency, usual_of_links));
  constants.push_back(of_pairs(name + ".pairs.startup", media, &PairCosts::startup, usual_pair_startup));
}

/// RCCL over xGMI. Its curves are not among the measurements of this command: tests/collectives has them.
MediumOverheads rccl_medium() {
  const std::string tuning =
      "RCCL's own figure, no published row determines it; ROCm/rccl src/graph/tuning.cc 0cbce2a7";
  const std::string curve =
      "rccl-tests all-reduces of 1 KiB to 16 GiB on eight MI300X, one process per GPU (AMD, "
      "Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X, 2025-03-02)";
  const auto fitted = [&](auto value) {
    return Sourced<decltype(value)>{.value = value, .provenance = Provenance::fitted, .source = curve};
  };
  MediumOverheads medium = assumed_medium({0.8, 1.4, 3.03}, tuning);
  medium.step.simple = fitted(Seconds{3.03 * us});
  medium.efficiency.ll = assumed(0.08, tuning);
  medium.base = assumed_times({12, 12, 17}, tuning);
  medium.all_pairs = AllPairsCosts{.step_ll = fitted(Seconds{6.54 * us}),
                                   .step_simple = fitted(Seconds{9.89 * us}),
                                   .efficiency_ll = fitted(0.436),
                                   .efficiency_simple = fitted(0.728)};
  return medium;
}

/// Gives a medium without measurements the overheads of a similar one.
void as_relative(MediumOverheads& place, const MediumOverheads& relative, const std::string& why) {
  place = relative;
  for (Sourced<Seconds>* figure : {&place.step.ll, &place.step.ll128, &place.step.simple})
    *figure = assumed(figure->value, why);
  for (Sourced<double>* figure :
       {&place.efficiency.ll, &place.efficiency.ll128, &place.efficiency.simple, &place.startup})
    *figure = assumed(figure->value, why);
}

/// Gives a network without measured turns those of a similar one.
void turns_as_relative(MediumOverheads& place, const MediumOverheads& relative, const std::string& why) {
  TurnCosts turns = relative.turns.value();
  for (SourcedByProtocol<Seconds>* times : {&turns.ring, &turns.tree_step}) {
    for (Sourced<Seconds>* figure : {&times->ll, &times->ll128, &times->simple})
      *figure = assumed(figure->value, why);
  }
  for (Sourced<Seconds>* figure :
       {&turns.chunk_ll128, &turns.chunk_simple, &turns.message_base, &turns.message_peer})
    *figure = assumed(figure->value, why);
  for (Sourced<Bandwidth>* figure : {&turns.channel_ll128, &turns.channel_simple})
    *figure = assumed(figure->value, why);
  for (Sourced<double>* figure : {&turns.of_two, &turns.message_efficiency})
    *figure = assumed(figure->value, why);
  place.turns = std::move(turns);
}

}  // namespace

Protocols assumed_protocols() {
  const std::string why = "NCCL's own figure, no published row determines it; " + std::string(tables);
  Protocols all;
  all.name = "nccl";
  all.title = "NCCL: costs of its protocols in addition to bytes over bandwidth";
  all.base = assumed_times(usual_bases, why);
  all.launch = assumed(Seconds{5 * us}, "one kernel launch");
  all.paths.nvlink2 = assumed_medium(usual_nvlink_steps, why);
  all.paths.nvlink3 = all.paths.nvlink4 = all.paths.nvlink5 = all.paths.nvlink2;
  for (MediumOverheads* medium : {&all.paths.nvlink3, &all.paths.nvlink4, &all.paths.nvlink5})
    medium->base = all.base;
  for (MediumOverheads* medium : {&all.paths.nvlink4, &all.paths.nvlink5}) {
    medium->nvls = NvlsCosts{.step = assumed(Seconds{1 * us}, "a flag to and from the switch"),
                             .efficiency = specified(1, whole)};
  }
  for (MediumOverheads* medium : {&all.paths.nvlink3, &all.paths.nvlink4, &all.paths.nvlink5}) {
    medium->pairs = PairCosts{.base_ll = all.base.ll,
                              .base_simple = all.base.simple,
                              .channel_ll = assumed(usual_ll_channel, "a quarter of Simple's"),
                              .channel_simple = assumed(usual_channel, "NCCL's figure of a ring's channel"),
                              .efficiency = assumed(usual_of_links, "no published row determines it"),
                              .startup = assumed(usual_pair_startup, "no published row determines it")};
  }
  all.paths.xgmi = rccl_medium();
  all.paths.pix = all.paths.pxb = all.paths.phb = all.paths.sys = all.paths.staged =
      assumed_medium({pcie_ll_step, 2.5, 5.7}, why);
  all.networks.infiniband = all.networks.roce = all.networks.aries = all.networks.omni_path =
      all.networks.efa = all.networks.tcp = assumed_medium(usual_ring_steps, why);
  const std::string unknown = "no published row determines it";
  all.networks.roce.turns = TurnCosts{.ring = assumed_times(usual_turns, unknown),
                                      .tree_step = assumed_times(usual_tree_steps, why),
                                      .chunk_ll128 = assumed(Seconds{usual_turns[1] * us}, unknown),
                                      .chunk_simple = assumed(Seconds{usual_turns[2] * us}, unknown),
                                      .channel_ll128 = assumed(usual_channel, unknown),
                                      .channel_simple = assumed(usual_channel, unknown),
                                      .of_two = assumed(0.5, "one of two messages of a channel"),
                                      .message_base = assumed(Seconds{usual_tree_steps[2] * us}, why),
                                      .message_peer = assumed(Seconds{usual_peer * us}, unknown),
                                      .message_efficiency = assumed(usual_of_links, unknown)};
  all.versions.v2_4.nvlink_simple_step = assumed(1.0, "no published row determines it");
  copy_to_relatives(all);
  return all;
}

std::vector<FitConstant> fit_constants() {
  const auto ll = Protocol::ll;
  const auto ll128 = Protocol::ll128;
  const auto simple = Protocol::simple;
  const auto step = &MediumOverheads::step;
  const auto efficiency = &MediumOverheads::efficiency;
  // Three constants would be equal within the error of one point each.
  const auto in_socket = [](Protocols& all) { return Media{&all.paths.pix, &all.paths.pxb, &all.paths.phb}; };
  const auto sys = [](Protocols& all) { return Media{&all.paths.sys}; };
  const auto staged = [](Protocols& all) { return Media{&all.paths.staged}; };
  const auto efa = [](Protocols& all) { return Media{&all.networks.efa}; };
  const auto tcp = [](Protocols& all) { return Media{&all.networks.tcp}; };
  std::vector<FitConstant> constants{
      base(ll, "ll", usual_bases[0]),
      base(ll128, "ll128", usual_bases[1]),
      base(simple, "simple", usual_bases[2]),
      constant("launch", 5 * us, [](Protocols& all) { return std::array{&all.launch}; }),
      // Collectives that end before their launches do tell the two apart from a launch by NCCL's ratio alone.
      {.name = "paths.step.ll",
       .prior = 1,
       .resolution = resolution_of<double>(),
       .set =
           [](Protocols& all, double value, Provenance provenance, const std::string& source) {
             for (MediumOverheads* medium : older_nvlinks(all))
               put(medium->step.ll, value * nvlink_ll_step * us, provenance, source);
             for (MediumOverheads* medium : pcies_and_staged(all))
               put(medium->step.ll, value * pcie_ll_step * us, provenance, source);
           }},
      shared("paths.nvlink2.step.ll128", nvlink2, step, ll128, 1.9),
      shared("paths.nvlink2.step.simple", nvlink2, step, simple, 3.4),
      shared("paths.nvlink2.efficiency.ll", nvlink2, efficiency, ll, 0.25),
      shared("paths.nvlink2.efficiency.ll128", nvlink2, efficiency, ll128, 0.92),
      shared("paths.socket.step.simple", in_socket, step, simple, 5.7),
      shared("paths.sys.step.simple", sys, step, simple, 5.7),
      shared("paths.staged.step.simple", staged, step, simple, 5.7),
      shared("paths.pcie.efficiency.ll", pcies, efficiency, ll, 0.5),
      shared("paths.staged.efficiency.ll", staged, efficiency, ll, 0.5),
      shared("networks.efa.step.ll", efa, step, ll, 2.7),
      shared("networks.efa.step.simple", efa, step, simple, 14),
      shared("networks.tcp.efficiency.ll", tcp, efficiency, ll, 0.5),
      shared("networks.tcp.step.ll", tcp, step, ll, 2.7),
      shared("networks.tcp.step.simple", tcp, step, simple, 14),
      constant("versions.2.4.nvlink_simple_step", 1,
               [](Protocols& all) { return std::array{&all.versions.v2_4.nvlink_simple_step}; }),
  };
  add_generation(constants, "paths.nvlink3", nvlink3, true);
  add_generation(constants, "paths.nvlink4", nvlink4);
  add_generation(constants, "paths.nvlink5", nvlink5);
  constexpr double of_a100 = 0.5;  // as its clock and memory are of newer GPUs'
  add_pairs(constants, "paths.nvlink3", nvlink3, of_a100);
  add_pairs(constants, "paths.nvlink4", nvlink4);
  add_pairs(constants, "paths.nvlink5", nvlink5);
  add_switches(constants, "paths.nvlink4", nvlink4);
  add_switches(constants, "paths.nvlink5", nvlink5);
  return constants;
}

std::vector<FitConstant> turn_constants() {
  std::vector<FitConstant> constants;
  add_turns(constants);
  return constants;
}

void copy_to_relatives(Protocols& constants) {
  as_relative(constants.paths.nvlink1, constants.paths.nvlink2, "as nvlink2: no curve is published");
  as_relative(constants.networks.through_host, constants.networks.efa,
              "as efa, whose rows were measured without GPUDirect");
  turns_as_relative(constants.networks.infiniband, constants.networks.roce,
                    "as roce, whose NICs are the same: no curve of new versions is published");
}

void round_shared_steps(Protocols& constants) {
  for (const Media& media : {older_nvlinks(constants), pcies_and_staged(constants)}) {
    for (MediumOverheads* medium : media)
      medium->step.ll.value = Seconds{rounded_constant(medium->step.ll.value.si(), resolution_of<Seconds>())};
  }
}

double rounded_constant(double value, double resolution) {
  return std::round(value * resolution) / resolution;
}

}  // namespace trainyard
