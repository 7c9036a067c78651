#pragma once
// Classes of kernels that a framework launches besides matrix products: each reaches a share of a rate of the
// GPU. Keys of a lowering (lowering_rules.hpp).

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <array>
#include <string>
#include <string_view>

namespace trainyard {

/// A class of kernels: copies of one type, sums of rows, dropout.
struct KernelClass {
  std::string name;   ///< "vector", "mixed"
  std::string title;  ///< the work of its kernels
  OpKind kind = OpKind::elementwise;
  KernelRate rate;
  bool is_part = false;  ///< of another operation's launch, without host time of its own
  double columns = 0;    ///< columns that are worked on at once, row after row; 0: all
  std::string source = {};
};

namespace config {

template <>
struct Keys<KernelRate> {
  static auto table() {
    return keys(
        optional("share", &KernelRate::share, "share of the memory bandwidth that the bytes move at")
            .positive(2),
        optional("limit", &KernelRate::limit, "what bounds the kernels"),
        optional("fixed", &KernelRate::fixed, "time of a kernel without bytes").at_least(0).at_most(1e-3),
        optional("per_row", &KernelRate::per_row,
                 "time per row of the values, if longer than that of the bytes")
            .at_least(0)
            .at_most(1e-6),
        optional("first", &KernelRate::first, "bytes that move at first_share").at_least(0).at_most(1e12),
        optional("first_share", &KernelRate::first_share, "share of the bandwidth of these bytes")
            .positive(2));
  }
};

template <>
struct Names<KernelLimit> {
  static constexpr std::string_view what = "limit of a class of kernels";
  static constexpr std::array table{
      Name{"memory", KernelLimit::memory, "memory bandwidth"},
      Name{"multiprocessors", KernelLimit::multiprocessors,
           "multiprocessors and their clock; shares are of an H100's bandwidth"},
      Name{"matrix", KernelLimit::matrix, "peak of the matrix units in the type of products"},
      Name{"single", KernelLimit::single, "peak in fp32"}};
};

template <>
struct Keys<KernelClass> {
  static auto table() {
    return keys(required("name", &KernelClass::name, "name in the rules of layers"),
                optional("title", &KernelClass::title, "what its kernels do"),
                optional("kind", &KernelClass::kind, "kind of op in traces and reports"),
                optional("rate", &KernelClass::rate, "rate of its kernels"),
                optional("is_part", &KernelClass::is_part,
                         "true: part of another operation's launch, without host time of its own"),
                optional("columns", &KernelClass::columns,
                         "columns of the values that are worked on at once, row after row; default: all")
                    .at_least(0)
                    .at_most(1e6),
                optional("source", &KernelClass::source, "measurement or documentation"));
  }
};

}  // namespace config
}  // namespace trainyard
