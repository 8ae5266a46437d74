// For programs written for LibTorch: its namespaces, the names of c10 and ATen that Tenon has no use for, and its
// macros. Such a program includes this in place of <torch/torch.h> and is compiled as it stands.
//
//   #include <tenon/compat.h>
//   torch::Tensor x = torch::rand({2, 3});
//   TORCH_CHECK(x.dim() == 2, "expected a matrix, got ", x.sizes());
#pragma once

// What LibTorch's header brings of the standard library: programs use it without an include of their own.
#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/data/chunk.h"               // IWYU pragma: export
#include "tenon/data/queue.h"               // IWYU pragma: export
#include "tenon/native.h"                   // IWYU pragma: export
#include "tenon/nn/multi_head_attention.h"  // IWYU pragma: export
#include "tenon/out_forms.h"                // IWYU pragma: export
#include "tenon/tenon.h"                    // IWYU pragma: export

namespace tenon {

// --- c10/util

// The parts as one text.
template <typename... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

// 0, 1, ... below `end`, or from `begin`; none if that is not below `end`.
template <typename T>
class IntegerRange {
 public:
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = T;
    using pointer = const T*;
    using reference = T;
    using iterator_category = std::input_iterator_tag;
    explicit Iterator(T value) : value_(value) {}
    T operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++value_;
      return before;
    }
    friend bool operator==(Iterator a, Iterator b) { return a.value_ == b.value_; }

   private:
    T value_;
  };
  IntegerRange(T begin, T end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  T begin_, end_;
};
template <typename Integer>
requires std::is_integral_v<Integer> IntegerRange<Integer> irange(Integer end) { return {Integer(0), end}; }
template <typename First, typename Integer>
requires(std::is_integral_v<First>&& std::is_integral_v<Integer>) IntegerRange<Integer> irange(First begin, Integer end) {
  return {static_cast<Integer>(begin), end};
}

using Storage = StorageHandle;
template <typename T>
struct CppTypeToScalarType : std::integral_constant<ScalarType, scalar_type_of<T>()> {};

template <typename T, typename... Arguments>
std::shared_ptr<T> make_shared(Arguments&&... arguments) {
  return std::make_shared<T>(std::forward<Arguments>(arguments)...);
}

using std::make_optional;

inline std::ostream& operator<<(std::ostream& out, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Preserve: return out << "Preserve";
    case MemoryFormat::ChannelsLast: return out << "ChannelsLast";
    case MemoryFormat::ChannelsLast3d: return out << "ChannelsLast3d";
    default: return out << "Contiguous";
  }
}

// Calls f(first, last) for parts of begin to end, side by side, as many as there are threads for kernels and none of fewer than grain_size
// elements but the last. What a part throws is thrown when all have ended.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  if (begin >= end) return;
  const int64_t grain = std::max<int64_t>(grain_size, 1), count = end - begin;
  const int64_t parts = std::min<int64_t>(get_num_threads(), (count + grain - 1) / grain), size = (count + parts - 1) / parts;
  if (parts <= 1) return static_cast<void>(f(begin, end));
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto call = [&](int64_t first) {
    try {
      f(first, std::min(first + size, end));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int64_t first = begin + size; first < end; first += size) threads.emplace_back(call, first);
  call(begin);
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

namespace detail {

// What TORCH_CHECK says: the parts, or else the condition.
template <typename... Parts>
std::string check_message(const char* condition, const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 0)
    return str("Expected ", condition,
               " to be true, but got false.  (Could this error message be improved?  If so, please report an "
               "enhancement request to PyTorch.)");
  else return str(parts...);
}

template <ScalarType type>
struct CppType;
#define TENON_CPP_TYPE(name, T)      \
  template <>                        \
  struct CppType<ScalarType::name> { \
    using type = T;                  \
  };
TENON_CPP_TYPE(Bool, bool)
TENON_CPP_TYPE(Byte, uint8_t)
TENON_CPP_TYPE(Char, int8_t)
TENON_CPP_TYPE(Short, int16_t)
TENON_CPP_TYPE(Int, int32_t)
TENON_CPP_TYPE(Long, int64_t)
TENON_CPP_TYPE(Half, tenon::Half)
TENON_CPP_TYPE(BFloat16, tenon::BFloat16)
TENON_CPP_TYPE(Float, float)
TENON_CPP_TYPE(Double, double)
#undef TENON_CPP_TYPE

// What AT_DISPATCH_... does: calls f with a value of the C++ type, if the types have it.
template <ScalarType... types, typename F>
auto dispatch(ScalarType type, const char* name, F&& f) {
  using Result = decltype((f(typename CppType<types>::type{}), ...));
  if constexpr (std::is_void_v<Result>) {
    if (((type == types && (f(typename CppType<types>::type{}), true)) || ...)) return;
  } else {
    optional<Result> result;
    if (((type == types && (result = f(typename CppType<types>::type{}), true)) || ...)) return *result;
  }
  throw Error(str('"', name, "\" not implemented for '", type, "'"));
}

// What c10 prints of a container: a hundred elements at most.
template <typename Container>
std::ostream& print_elements(std::ostream& out, const Container& elements) {
  int count = 0;
  for (const auto& element : elements) {
    if (count == 100) return out << " ...";
    out << (count++ ? " " : "") << element;
  }
  return out;
}

}  // namespace detail
}  // namespace tenon

#ifndef TENON_NO_COMPAT_NAMES
#include "tenon/compat_names.h"  // IWYU pragma: export
// c10's operators for the standard containers, which stand where it has them: programs print vectors of strings and of shapes.
namespace std {
template <typename... Types>
ostream& operator<<(ostream& out, const vector<Types...>& elements) {
  return ::tenon::detail::print_elements(out, elements);
}
template <typename... Types>
ostream& operator<<(ostream& out, const map<Types...>& elements) {
  return ::tenon::detail::print_elements(out, elements);
}
template <typename... Types>
ostream& operator<<(ostream& out, const set<Types...>& elements) {
  return ::tenon::detail::print_elements(out, elements);
}
template <typename First, typename Second>
ostream& operator<<(ostream& out, const pair<First, Second>& p) {
  return out << '(' << p.first << ", " << p.second << ')';
}
}  // namespace std
// LibTorch's lower floors. A program may reopen them too.
namespace at {
using namespace torch;
}
namespace c10 {
using namespace torch;
}
namespace caffe2 {
using namespace torch;
}
#endif

// --- checks and warnings

#define C10_THROW_ERROR(Exception, message) throw ::tenon::Exception(message)
#define TENON_CHECK_WITH(Exception, condition, ...)                                                        \
  do {                                                                                                     \
    if (!(condition)) throw ::tenon::Exception(::tenon::detail::check_message(#condition, ##__VA_ARGS__)); \
  } while (false)
#define TORCH_CHECK(condition, ...) TENON_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TENON_CHECK_WITH(IndexError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TENON_CHECK_WITH(ValueError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TENON_CHECK_WITH(TypeError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TENON_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TENON_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) TENON_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define AT_ASSERT(condition) TENON_CHECK_WITH(Error, condition)
#define AT_ASSERTM(condition, ...) TENON_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define AT_ERROR(...) throw ::tenon::Error(::tenon::str(__VA_ARGS__))
#define TENON_CHECK_PAIR(a, sign, b) \
  TENON_CHECK_WITH(Error, (a)sign(b), "Check failed: " #a " " #sign " " #b " (", (a), " vs. ", (b), "). ")
#define TORCH_CHECK_EQ(a, b) TENON_CHECK_PAIR(a, ==, b)
#define TORCH_CHECK_NE(a, b) TENON_CHECK_PAIR(a, !=, b)
#define TORCH_CHECK_LT(a, b) TENON_CHECK_PAIR(a, <, b)
#define TORCH_CHECK_LE(a, b) TENON_CHECK_PAIR(a, <=, b)
#define TORCH_CHECK_GT(a, b) TENON_CHECK_PAIR(a, >, b)
#define TORCH_CHECK_GE(a, b) TENON_CHECK_PAIR(a, >=, b)

#define TENON_WARN_AS(Type, ...) \
  ::tenon::warn(::tenon::Warning(::tenon::Type{}, {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, ::tenon::str(__VA_ARGS__)))
#define TORCH_WARN(...) TENON_WARN_AS(UserWarning, ##__VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TENON_WARN_AS(DeprecationWarning, ##__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                  \
  do {                                                        \
    if (::tenon::WarningUtils::get_warnAlways()) {            \
      TORCH_WARN(__VA_ARGS__);                                \
    } else {                                                  \
      [[maybe_unused]] static const bool tenon_warned = [&] { \
        TORCH_WARN(__VA_ARGS__);                              \
        return true;                                          \
      }();                                                    \
    }                                                         \
  } while (false)

// --- options, and code for each element type

#define TORCH_ARG(T, name) TENON_ARG(T, name)
// LibTorch has to be told forward()'s default arguments; AnyModule and Sequential leave them to the compiler here.
#define FORWARD_HAS_DEFAULT_ARGS(...)

#define TENON_DISPATCH(TYPE, NAME, BODY, ...)                                  \
  ::tenon::detail::dispatch<__VA_ARGS__>(TYPE, NAME, [&](auto tenon_element) { \
    using scalar_t [[maybe_unused]] = decltype(tenon_element);                 \
    return BODY();                                                             \
  })
#define TENON_FLOATING ::tenon::kDouble, ::tenon::kFloat
#define TENON_INTEGRAL ::tenon::kByte, ::tenon::kChar, ::tenon::kInt, ::tenon::kLong, ::tenon::kShort
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, ::tenon::kHalf)
#define AT_DISPATCH_FLOATING_TYPES_AND(EXTRA, TYPE, NAME, ...) TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, EXTRA)
#define AT_DISPATCH_FLOATING_TYPES_AND2(EXTRA1, EXTRA2, TYPE, NAME, ...) \
  TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, EXTRA1, EXTRA2)
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_INTEGRAL)
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, TENON_INTEGRAL)
#define AT_DISPATCH_ALL_TYPES_AND(EXTRA, TYPE, NAME, ...) TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, TENON_INTEGRAL, EXTRA)
#define AT_DISPATCH_ALL_TYPES_AND2(EXTRA1, EXTRA2, TYPE, NAME, ...) \
  TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, TENON_INTEGRAL, EXTRA1, EXTRA2)
#define AT_DISPATCH_ALL_TYPES_AND3(EXTRA1, EXTRA2, EXTRA3, TYPE, NAME, ...) \
  TENON_DISPATCH(TYPE, NAME, (__VA_ARGS__), TENON_FLOATING, TENON_INTEGRAL, EXTRA1, EXTRA2, EXTRA3)
