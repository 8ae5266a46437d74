// Huge pages, and the pieces of those that several blocks share.
#include "runtime/cpu/system_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "ir/base/fork.h"
#include "ir/base/spare_memory.h"

namespace tenon::runtime {
namespace {

constexpr size_t kUnit = 64;
constexpr size_t kLeastShared = size_t{32} << 10;
constexpr size_t kHugePage = size_t{2} << 20;

// A mapping on a 2 MB boundary: maps one huge page too much, then trims both ends.
void* map_huge(size_t bytes) {
  size_t span = bytes + kHugePage;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto address = reinterpret_cast<uintptr_t>(raw);
  uintptr_t begin = (address + kHugePage - 1) & ~uintptr_t{kHugePage - 1};
  if (begin > address) munmap(raw, begin - address);
  uintptr_t end = begin + bytes;
  if (address + span > end) munmap(reinterpret_cast<void*>(end), address + span - end);
  void* block = reinterpret_cast<void*>(begin);
  madvise(block, bytes, MADV_HUGEPAGE);  // a hint; a kernel without huge pages refuses it and nothing is lost
  return block;
}

// A free part of a shared page; it lives in its own first bytes.
struct Gap {
  Gap* next;  // at a higher address of the same page
  size_t bytes;
  std::byte* begin() { return reinterpret_cast<std::byte*>(this); }
  std::byte* end() { return begin() + bytes; }
};
static_assert(sizeof(Gap) <= kUnit);

// The first bytes of a shared page.
struct alignas(kUnit) Page {
  Page *previous, *next;
  Gap* gaps;
  static constexpr size_t kRoom = kHugePage - kUnit;
  static Page* of(void* block) { return reinterpret_cast<Page*>(reinterpret_cast<uintptr_t>(block) & ~uintptr_t{kHugePage - 1}); }
};
static_assert(sizeof(Page) == kUnit);

std::mutex& pages_mutex() {
  static auto* mutex = new std::mutex;  // buffers in static objects may outlive every static of ours
  return *mutex;
}
[[maybe_unused]] const bool pages_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Pages, ir::fork_lock<pages_mutex>());
Page* pages = nullptr;

Page* map_page() {
  void* memory = map_huge(kHugePage);
  if (!memory) return nullptr;
  auto* page = new (memory) Page{nullptr, pages, nullptr};
  page->gaps = new (page + 1) Gap{nullptr, Page::kRoom};
  if (pages) pages->previous = page;
  return pages = page;
}

void unmap_page(Page* page) {
  (page->previous ? page->previous->next : pages) = page->next;
  if (page->next) page->next->previous = page->previous;
  munmap(page, kHugePage);
}

void* acquire_piece(size_t bytes) {
  std::lock_guard lock(pages_mutex());
  Gap** best = nullptr;
  for (Page* page = pages; page; page = page->next) {
    for (Gap** gap = &page->gaps; *gap; gap = &(*gap)->next) {
      if ((*gap)->bytes >= bytes && (!best || (*gap)->bytes < (*best)->bytes)) best = gap;
    }
  }
  if (!best) {
    Page* page = map_page();
    if (!page) return nullptr;
    best = &page->gaps;
  }
  Gap *gap = *best, *rest = gap->next;
  if (gap->bytes > bytes) rest = new (gap->begin() + bytes) Gap{gap->next, gap->bytes - bytes};
  *best = rest;
  return gap;
}

void release_piece(void* block, size_t bytes) {
  std::lock_guard lock(pages_mutex());
  Page* page = Page::of(block);
  Gap *before = nullptr, *after = page->gaps;
  for (; after && after < block; after = after->next) before = after;
  auto* gap = new (block) Gap{after, bytes};
  if (after && gap->end() == after->begin()) *gap = {after->next, bytes + after->bytes};
  if (before && before->end() == gap->begin()) {
    *before = {gap->next, before->bytes + gap->bytes};
  } else {
    (before ? before->next : page->gaps) = gap;
  }
  if (page->gaps->bytes == Page::kRoom) unmap_page(page);
}

size_t rounded(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }
// Pieces of one size would begin at the same place of their 4 KB pages, and loads of one would wait for stores to another.
size_t apart(size_t bytes) { return rounded(bytes) + 10 * kUnit; }

// Sanitizers know the bounds of malloc's blocks.
bool is_shared(size_t bytes) { return TENON_SPARE_MEMORY && bytes >= kLeastShared && bytes < kHugePage && apart(bytes) <= Page::kRoom; }

}  // namespace

void* acquire_from_system(size_t bytes) noexcept {
  if (is_shared(bytes)) return acquire_piece(apart(bytes));
  return bytes >= kHugePage ? map_huge(bytes) : std::aligned_alloc(kUnit, rounded(bytes));
}

void release_to_system(void* block, size_t bytes) noexcept {
  if (is_shared(bytes)) release_piece(block, apart(bytes));
  else if (bytes >= kHugePage) munmap(block, bytes);
  else std::free(block);
}

}  // namespace tenon::runtime
