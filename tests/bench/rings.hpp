#pragma once
// Two contending rings on 256 hosts by every fidelity: too slow for a test, so `./dev bench` shows how far
// the fast ways are from the reference and what they save.

namespace trainyard::bench {

/// Prints the table; true if `rounds` is within 1e-6 and `flow` within 1 % of `steps`.
bool contending_rings();

}  // namespace trainyard::bench
