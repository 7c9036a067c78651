#include "interchange/grace_tray.hpp"

#include "interchange/link_rates.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard {

bool give_cards_to_sockets_with_gpus(NodeLayout& layout) {
  std::vector<int> sockets, empty_sockets;
  for (const int socket : layout.of_kind(DeviceKind::cpu)) {
    const bool has_gpu = std::ranges::any_of(layout.of_kind(DeviceKind::gpu),
                                             [&](int gpu) { return layout.socket_of(gpu) == socket; });
    (has_gpu ? sockets : empty_sockets).push_back(socket);
  }
  if (empty_sockets.empty() || sockets.empty()) return false;
  // a socket without GPUs goes on as a port of one with them
  std::map<int, int> place_of;
  for (std::size_t i = 0; i < empty_sockets.size(); ++i)
    place_of[empty_sockets[i]] = sockets[i * sockets.size() / empty_sockets.size()];
  std::vector<LayoutDevice> kept;
  std::vector<int> moved(layout.devices.size());
  for (std::size_t i = 0; i < layout.devices.size(); ++i) {
    if (place_of.contains(static_cast<int>(i))) continue;
    moved[i] = static_cast<int>(kept.size());
    kept.push_back(layout.devices[i]);
  }
  const auto new_place = [&](int place) {
    const auto socket = place_of.find(place);
    return moved[socket == place_of.end() ? place : socket->second];
  };
  for (LayoutDevice& device : kept) {
    if (device.parent >= 0) device.parent = new_place(device.parent);
  }
  for (GpuLink& link : layout.gpu_links) {
    link.one = new_place(link.one);
    if (link.other >= 0) link.other = new_place(link.other);
  }
  layout.devices = std::move(kept);
  return true;
}

bool join_gpus_to_grace(NodeLayout& layout) {
  if (!layout.socket_link) {
    layout.socket_link = LinkKind::upi;
    layout.socket_generation = grace;
  }
  const auto is_c2c = [](const GpuLink& link) { return link.c2c.si() > 0; };
  if (std::ranges::any_of(layout.gpu_links, is_c2c)) return false;
  constexpr double usual = 225e9;
  for (const int gpu : layout.of_kind(DeviceKind::gpu))
    layout.gpu_links.push_back({gpu, layout.socket_of(gpu), 1, Bandwidth(usual)});
  return true;
}

}  // namespace trainyard
