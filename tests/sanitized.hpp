#pragma once

namespace trainyard::testing {

/// Whether sanitizers watch, with which simulations take ten times as long. What is skipped there runs in
/// Release.
#ifdef TRAINYARD_SANITIZED
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace trainyard::testing
