#include "cli/large_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <sys/mman.h>
#include <vector>

namespace trainyard {

void use_large_pages() {
#ifndef TRAINYARD_SANITIZED  // these have a heap of their own
  constexpr std::uintptr_t page = 2U << 20U;
  constexpr std::size_t first_heap = 8 * page;  // untouched pages take no memory
  mallopt(M_MMAP_THRESHOLD, 2 * int{first_heap});
  mallopt(M_TRIM_THRESHOLD, 256 << 20);  // more than this is given back
  std::vector<std::byte> heap;
  heap.reserve(first_heap);
  const auto place = reinterpret_cast<std::uintptr_t>(heap.data());
  const std::uintptr_t begin = (place + page - 1) / page * page;
  const std::uintptr_t end = (place + first_heap) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // refused: small pages, as without it
#endif
}

}  // namespace trainyard
