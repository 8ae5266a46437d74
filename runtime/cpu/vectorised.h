// Runs a loop compiled twice: once for every machine, once for those with AVX2 and FMA, where the compiler
// vectorises it and std::fma is one instruction. The bits are the same: the library is built without
// contraction and std::fma rounds once everywhere.
//
//   vectorised([&]() TENON_INLINE { for (...) out[i] = std::fma(x[i], a, b); });
//
// What the loop calls must be TENON_INLINE too, or it is compiled once only.
#pragma once

#define TENON_INLINE __attribute__((always_inline))

namespace tenon {

#if defined(__x86_64__)
inline bool has_avx2_and_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

template <typename Loop>
__attribute__((target("avx2,fma"), noinline)) void run_on_avx2(Loop loop) {
  loop();
}

template <typename Loop>
void vectorised(Loop loop) {
  if (has_avx2_and_fma()) run_on_avx2(loop);
  else loop();
}
#else
template <typename Loop>
void vectorised(Loop loop) {
  loop();
}
#endif

}  // namespace tenon
