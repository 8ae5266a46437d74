// Nothing but tenon::Error leaves the library: what the C++ standard library throws by itself, because memory
// has run out or a list would be too long, is thrown as an Error where it arises, so no function has to
// translate it.
//
// Code of the library, with all templates instantiated in it, calls the functions below in place of those of
// libstdc++: cmake/tenon.map keeps their names inside the shared object, and the program has its own. Memory
// still comes from the operator new of the program, so either side may free what the other has made. Small blocks that the library
// frees it keeps for itself (ir/base/spare_memory.h).
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>

#include "ir/base/spare_memory.h"
#include "tenon/error.h"

namespace {

[[noreturn]] void out_of_memory() { throw tenon::OutOfMemoryError("out of host memory"); }

void* checked(void* memory) {
  if (!memory) out_of_memory();
  return memory;
}

}  // namespace

#if TENON_SPARE_MEMORY
#pragma GCC diagnostic ignored "-Wsized-deallocation"  // the one without a size is the program's
void* operator new(std::size_t size) {
  void* spare = tenon::ir::SpareMemory::take(size);
  return spare ? spare : checked(::operator new(size, std::nothrow));
}
void operator delete(void* memory, std::size_t size) noexcept {
  if (!tenon::ir::SpareMemory::keep(memory, size)) ::operator delete(memory);
}
#else
void* operator new(std::size_t size) { return checked(::operator new(size, std::nothrow)); }
#endif
void* operator new[](std::size_t size) { return checked(::operator new[](size, std::nothrow)); }
void* operator new(std::size_t size, std::align_val_t alignment) { return checked(::operator new(size, alignment, std::nothrow)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return checked(::operator new[](size, alignment, std::nothrow)); }

#ifdef __GLIBCXX__
namespace std {

void __throw_bad_alloc() { out_of_memory(); }
void __throw_bad_array_new_length() { out_of_memory(); }
void __throw_length_error(const char*) { throw tenon::OutOfMemoryError("out of host memory: a list is too long"); }
void __throw_logic_error(const char* reason) { throw tenon::Error(reason); }
void __throw_invalid_argument(const char* reason) { throw tenon::Error(reason); }
void __throw_out_of_range(const char* reason) { throw tenon::IndexError(reason); }
void __throw_out_of_range_fmt(const char* format, ...) {
  char reason[256];
  va_list values;
  va_start(values, format);
  std::vsnprintf(reason, sizeof reason, format, values);  // its %zu are those of std::vector::at
  va_end(values);
  throw tenon::IndexError(reason);
}
void __throw_runtime_error(const char* reason) { throw tenon::Error(reason); }
void __throw_bad_function_call() { throw tenon::Error("a function that was called is empty"); }

}  // namespace std
#endif
