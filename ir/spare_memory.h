// The memory of objects that come and go with every operation. What dies on a thread is made again there, without a call of
// malloc.
//
//   class Storage {
//    public:
//     static void* operator new(size_t) { return ir::SpareMemory<Storage>::take(); }
//     static void operator delete(void* memory) { ir::SpareMemory<Storage>::give_back(memory); }
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace tenon::ir {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif

template <typename T>
class SpareMemory {
 public:
  static void* take() {
    Place* place = spare_.first;
    if (!place) return ::operator new(sizeof(T));
    spare_.first = place->next;
    --spare_.count;
    return place;
  }
  static void give_back(void* memory) {
    if (!kReuses || spare_.count >= kMost) return ::operator delete(memory);
    if (!spare_.freed_at_end) free_at_end();
    spare_.first = new (memory) Place{spare_.first};
    ++spare_.count;
  }

 private:
  static constexpr bool kReuses = !kAddressSanitizer;  // it is to see every use after the end
  static constexpr uint32_t kMost = 64;

  struct Place {
    Place* next;
  };
  struct Spare {
    Place* first;
    uint32_t count;
    bool freed_at_end;
  };
  struct AtEnd {  // of the thread, after which nothing is kept
    ~AtEnd() {
      while (spare_.first) {
        Place* place = spare_.first;
        spare_.first = place->next;
        ::operator delete(place);
      }
      spare_.count = kMost;
    }
  };
  static void free_at_end() {
    static thread_local AtEnd at_end;
    static_cast<void>(at_end);
    spare_.freed_at_end = true;
  }

  // In the space that the loader reserves: reaching it takes no call.
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local Spare spare_{};
};

}  // namespace tenon::ir
