#pragma once
// The pages of an SQLite file that SQLite itself refuses to open: what `salvage` (sweep_store.hpp) repairs in
// a copy of a damaged store before SQLite reads its rows. Source: SQLite, "Database File Format"
// (sqlite.org/fileformat2.html), sections 1.3 and 1.6. Errors are FileErrors.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A database file's pages, read and written in place. They count from 1.
class StorePages {
public:
  static constexpr std::size_t smallest_page = 512;

  /// If no size of a page is given, it is that of the file's header, or 4096 bytes, SQLite's default, where
  /// the header is damaged.
  explicit StorePages(const std::filesystem::path& file, std::optional<std::size_t> page_size = {});

  [[nodiscard]] std::size_t page_size() const { return page_size_; }
  /// How many the file has; the last may be cut.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// How many it should have by its header.
  [[nodiscard]] std::uint32_t count_in_header() const { return count_in_header_; }

  /// A page's bytes; zeros where the file ends.
  std::string read(std::uint32_t page);
  void write(std::uint32_t page, const std::string& bytes);
  /// Sets the two numbers of the header to 0 that are the program's own.
  void forget_numbers();
  /// Makes SQLite take the number of pages from the size of the file.
  void forget_count();
  /// The pages that may hold rows of a table: leaves of its tree.
  std::vector<std::uint32_t> leaves();

private:
  std::string path_;
  std::fstream stream_;
  std::size_t page_size_ = 4096;
  std::uint32_t count_ = 0;
  std::uint32_t count_in_header_ = 0;
};

}  // namespace trainyard
