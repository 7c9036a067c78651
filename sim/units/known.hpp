#pragma once
// A value, or the reason why there is none: what is not known is never 0.

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace trainyard {

/// std::expected's interface (C++23) with a sentence for people as the error.
template <class T>
using Known = tl::expected<T, std::string>;

/// "return unknown("the model does not state ...")" of a function that returns a Known.
inline tl::unexpected<std::string> unknown(std::string reason) {
  return tl::unexpected<std::string>(std::move(reason));
}

}  // namespace trainyard
