#pragma once
// GPUs with two shipped profiles: one of the data sheet with fitted kernels, one with recorded ops of PyTorch
// (its key outside_pytorch names the other). And the shipped platforms with a GPU.

#include "config/catalogue.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// The profile with recorded ops of the same GPU, which shipped platforms have; the name itself if there is
/// none.
std::string_view recorded_profile(std::string_view profile);

/// The profile of the data sheet of the same GPU; the name itself if there is none.
std::string_view data_sheet_profile(std::string_view profile);

/// The profile that a text names where figures of a data sheet are asked for: for a product the one of its
/// data sheet; the text itself if it is a path or a profile's own name. Throws InputError if there is none.
std::string data_sheet_named(const Catalogue& catalogue, const std::string& text);

/// Whether both profiles are of one GPU.
bool is_same_gpu(std::string_view a, std::string_view b);

/// The names of the shipped platforms with the GPU of this profile: those of its maker (DGX) first, then
/// sorted. Files with errors have none.
std::vector<std::string> platforms_with_gpu(const Catalogue& catalogue, std::string_view profile);

}  // namespace trainyard::config
