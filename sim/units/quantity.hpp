#pragma once
// Physical quantities as distinct types over a double in SI base units, included by every other folder.
// `Bytes / Bandwidth` is `Seconds`; `Bytes + Seconds` does not compile. A bare double in a signature is a
// ratio.

#include <compare>
#include <type_traits>

namespace trainyard {

/// A value in second^S * byte^B * FLOP^F * joule^J * dollar^D.
template <int S, int B, int F, int J, int D>
class Quantity {
public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double si) : si_(si) {}

  /// The number in SI base units (seconds, bytes, FLOP, joules, dollars and their ratios).
  [[nodiscard]] constexpr double si() const { return si_; }

  constexpr Quantity& operator+=(Quantity other) {
    si_ += other.si_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    si_ -= other.si_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.si_ + b.si_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.si_ - b.si_); }
  friend constexpr Quantity operator*(Quantity a, double ratio) { return Quantity(a.si_ * ratio); }
  friend constexpr Quantity operator*(double ratio, Quantity a) { return Quantity(ratio * a.si_); }
  friend constexpr Quantity operator/(Quantity a, double ratio) { return Quantity(a.si_ / ratio); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

private:
  double si_ = 0;
};

using Seconds = Quantity<1, 0, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0, 0>;
using Bandwidth = Quantity<-1, 1, 0, 0, 0>;
using Flops = Quantity<0, 0, 1, 0, 0>;
using FlopRate = Quantity<-1, 0, 1, 0, 0>;
using Joules = Quantity<0, 0, 0, 1, 0>;
using Watts = Quantity<-1, 0, 0, 1, 0>;
using Dollars = Quantity<0, 0, 0, 0, 1>;

template <int S1, int B1, int F1, int J1, int D1, int S2, int B2, int F2, int J2, int D2>
constexpr auto operator*(Quantity<S1, B1, F1, J1, D1> a, Quantity<S2, B2, F2, J2, D2> b) {
  using Product = Quantity<S1 + S2, B1 + B2, F1 + F2, J1 + J2, D1 + D2>;
  if constexpr (std::is_same_v<Product, Quantity<0, 0, 0, 0, 0>>) {
    return a.si() * b.si();
  } else {
    return Product(a.si() * b.si());
  }
}

template <int S1, int B1, int F1, int J1, int D1, int S2, int B2, int F2, int J2, int D2>
constexpr auto operator/(Quantity<S1, B1, F1, J1, D1> a, Quantity<S2, B2, F2, J2, D2> b) {
  using Ratio = Quantity<S1 - S2, B1 - B2, F1 - F2, J1 - J2, D1 - D2>;
  if constexpr (std::is_same_v<Ratio, Quantity<0, 0, 0, 0, 0>>) {
    return a.si() / b.si();
  } else {
    return Ratio(a.si() / b.si());
  }
}

}  // namespace trainyard
