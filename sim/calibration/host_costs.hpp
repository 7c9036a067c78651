#pragma once
// How fast a host launches kernels: from the host times of some PyTorch operations to the key
// node.host.launch of platform files.

#include <string>
#include <string_view>

namespace trainyard {

/// The geometric mean over eight operations of a host's time and that of the reference host. `text`: CSV rows
/// of an operation and seconds, with or without the header name,seconds; other operations are left out.
/// `name` of the file is for messages. Throws InputError.
double host_launch_factor(const std::string& name, std::string_view text);

/// The line of a platform's block `node`: "host: {launch: {value: 0.79, measured: "costs.csv, ..."}}".
std::string host_launch_line(const std::string& name, double factor);

/// The program that measures the operations, with the costs of the reference host: `script` is the shipped
/// one (workloads/lowering/host_costs.py), which has none.
std::string host_script(std::string script);

}  // namespace trainyard
