#pragma once
// How an entry of the table of figures (figures.hpp) states where its value comes from: functions that turn a
// member or a function of a run, or of a part of it, into Figure::of. Getters for one group of figures are in
// the file of that group.

#include "config/keys.hpp"
#include "run/figures.hpp"
#include "run/run.hpp"

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace trainyard::figure_groups {

using enum FigureUnit;

using Value = Known<FigureValue>;
using Getter = std::function<Value(const Run&)>;

/// The value of figures that this kind of run does not have.
inline tl::unexpected<std::string> none() { return unknown({}); }

inline Value to_value(double number) { return FigureValue(number); }
Value to_value(std::integral auto number) { return FigureValue(static_cast<double>(number)); }
inline Value to_value(std::string_view text) { return FigureValue(std::string(text)); }
template <int S, int B, int F, int J, int D>
Value to_value(Quantity<S, B, F, J, D> quantity) {
  return FigureValue(quantity.si());
}
template <class T>
Value to_value(const Known<T>& known) {
  return known ? to_value(*known) : Value(unknown(known.error()));
}
inline Value to_value(const Value& value) { return value; }
template <class E>
requires std::is_enum_v<E> Value to_value(E name) { return to_value(config::name_of(name)); }

/// A figure of every run. `get`, a function or a member, gives a quantity, a number, a text, or a Known one
/// of them.
template <class Get>
Getter of(Get get) {
  return [get](const Run& run) { return to_value(std::invoke(get, run)); };
}

/// A member of a part of the run that may be unknown.
template <class Part, class T>
Getter of_part(Known<Part> Run::*part, T Part::*member) {
  return [=](const Run& run) -> Value {
    const Known<Part>& known = run.*part;
    return known ? to_value((*known).*member) : Value(unknown(known.error()));
  };
}

/// A figure of whole jobs.
template <class Get>
Getter of_job(Get get) {
  return [get](const Run& run) { return run.job ? to_value(std::invoke(get, *run.job)) : Value(none()); };
}

}  // namespace trainyard::figure_groups
