#include "platform/fabric_network.hpp"

namespace trainyard {

namespace {

class ListingCounter final : public RouteCounter {
public:
  explicit ListingCounter(const FabricNetwork& network) : network_(network), counts_(network.links(), 0) {}

  std::optional<Seconds> add(Port from, Port to) override {
    links_.clear();
    const std::optional<Seconds> latency = network_.append_route(from, to, 0, links_);
    for (const LinkId link : links_) ++counts_[index(link)];
    return latency;
  }
  [[nodiscard]] std::vector<int> counts() const override { return counts_; }

private:
  const FabricNetwork& network_;
  std::vector<int> counts_;  ///< by link
  std::vector<LinkId> links_;
};

}  // namespace

std::unique_ptr<RouteCounter> FabricNetwork::route_counter() const {
  return std::make_unique<ListingCounter>(*this);
}

}  // namespace trainyard
