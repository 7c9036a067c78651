#include "cli/large_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>

namespace trainyard {

void use_large_pages() {
#ifndef TRAINYARD_SANITIZED  // these have a heap of their own
  constexpr std::uintptr_t page = 2U << 20U;
  constexpr std::size_t first_heap = 8 * page;  // what a run does not touch is never there
  mallopt(M_MMAP_THRESHOLD, 2 * int{first_heap});
  mallopt(M_TRIM_THRESHOLD, 256 << 20);  // more than this is given back
  void* const heap = std::malloc(first_heap);
  if (heap == nullptr) return;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(heap) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(heap) + first_heap) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // refused: small pages, as without it
  std::free(heap);
#endif
}

}  // namespace trainyard
