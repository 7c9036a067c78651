#pragma once
// A drafted platform, and a short GPU profile, as YAML for people: comments at the head, links in short
// lists, figures with their sources. Unlike config/write.hpp, nothing that has its default.

#include "interchange/make_platform.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Reads back to the same platform, to the bit. `schema`: path of the JSON Schema for editors, or empty.
std::string platform_text(const PlatformDraft& draft, const std::string& schema = {});

/// The figures of a GPU in its data sheet.
struct DataSheet {
  std::string name;   ///< of the profile
  std::string title;  ///< the product
  Bytes memory;
  std::optional<Bandwidth> bandwidth;
  std::vector<std::pair<std::string, FlopRate>> peaks;  ///< by data type: fp16, fp32 ...
  std::string like;  ///< profile that the rest is scaled from; empty: the default
  std::optional<Watts> tdp;
  std::optional<Bytes> usable;  ///< of the memory, as nvidia-smi shows it
};

/// Makers write GB for the GiB of a GPU's memory: whole GB become as many GiB, other sizes stay.
Bytes as_sold(Bytes memory);

/// A short GPU profile, which compute/short_profile.hpp completes.
std::string short_profile_text(const DataSheet& sheet, const std::string& schema = {});

/// "RTX 4090" as a name of a file: "rtx_4090".
std::string file_name_of(std::string_view product);

}  // namespace trainyard
