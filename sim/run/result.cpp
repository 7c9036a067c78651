#include "run/result.hpp"

namespace trainyard {

WorkerRow sum_of(const std::vector<WorkerRow>& workers) {
  WorkerRow sum;
  for (const WorkerRow& worker : workers) {
    sum.computing += worker.computing;
    sum.communicating += worker.communicating;
    sum.waiting += worker.waiting;
    sum.loading += worker.loading;
    sum.wasted += worker.wasted;
    sum.gradients += worker.gradients;
  }
  return sum;
}

void leave_out(Result& result, std::initializer_list<const char*> fields, const std::string& reason) {
  for (const char* field : fields) result.unmodelled[field] = reason;
}

void set_links(Result& result, std::vector<LinkRow> rows) {
  result.links = std::move(rows);
  result.network_utilization = 0;
  result.link_utilization_max = 0;
  result.busiest_link.clear();
  const LinkRow* most = busiest(result.links);
  if (most == nullptr) return;
  double sum = 0;
  for (const LinkRow& link : result.links) sum += link.utilization;
  result.link_utilization_max = most->utilization;
  result.busiest_link = most->name;
  result.network_utilization = sum / static_cast<double>(result.links.size());
}

void stretch_links(Result& result, double slower) {
  result.network_utilization /= slower;
  result.link_utilization_max /= slower;
  for (LinkRow& link : result.links) link.utilization /= slower;
}

}  // namespace trainyard
