// Small blocks of memory that come and go with every operation and every plan. What a thread frees it takes again, without a call of
// malloc. All code of the library allocates this way (frontend/src/tensor/foreign_errors.cpp).
//
// Blocks are kept by their exact size: one that the program has allocated, and the library frees, is no larger than was asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace tenon::ir {

// Sanitizers are to see every use after the end: under them there is no spare memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_SPARE_MEMORY 0
#elif defined(__has_feature)
#define TENON_SPARE_MEMORY (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define TENON_SPARE_MEMORY 1
#endif

class SpareMemory {
 public:
  // Null if there is no such block.
  static void* take(size_t bytes) {
    if (!has_list(bytes)) return nullptr;
    Block*& list = spare_.lists[bytes / kUnit];
    Block* block = list;
    if (!block) return nullptr;
    list = block->next;
    spare_.bytes -= static_cast<uint32_t>(bytes);
    return block;
  }
  // False if the block is not kept.
  static bool keep(void* memory, size_t bytes) {
    if (!has_list(bytes) || !memory || spare_.bytes >= kMostBytes) return false;
    if (!spare_.freed_at_end) free_at_end();
    Block*& list = spare_.lists[bytes / kUnit];
    list = new (memory) Block{list};
    spare_.bytes += static_cast<uint32_t>(bytes);
    return true;
  }

 private:
  static constexpr size_t kUnit = 8, kLargest = 512;         // bytes of a block
  static constexpr uint32_t kMostBytes = uint32_t{1} << 20;  // of a thread: what the plan of a small step takes

  struct Block {
    Block* next;
  };
  struct Spare {
    std::array<Block*, kLargest / kUnit + 1> lists;  // by size
    uint32_t bytes;
    bool freed_at_end;
  };
  struct AtEnd {  // of the thread, after which nothing is kept
    ~AtEnd() {
      for (Block*& list : spare_.lists) {
        while (list) {
          Block* block = list;
          list = block->next;
          ::operator delete(block);
        }
      }
      spare_.bytes = kMostBytes;
    }
  };

  static bool has_list(size_t bytes) { return bytes % kUnit == 0 && bytes != 0 && bytes <= kLargest; }
  static void free_at_end() {
    static thread_local AtEnd at_end;
    static_cast<void>(at_end);
    spare_.freed_at_end = true;
  }

  // In the space that the loader reserves: reaching it takes no call.
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local Spare spare_{};
};

}  // namespace tenon::ir
