#pragma once
// The store of a command that keeps each result when it is finished: the folder it stands in, and whether it
// may be used.

#include <filesystem>

namespace trainyard {

/// Throws FileError.
void create_folder_of(const std::filesystem::path& store);

/// Throws the FileError of a store that exists although it is neither to be continued nor to be replaced.
[[noreturn]] void refuse_earlier_store(const std::filesystem::path& store);

}  // namespace trainyard
