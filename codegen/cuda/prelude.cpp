// The text that every generated CUDA program starts with. It includes nothing and stays in the common subset of CUDA
// C++ and C99: NVRTC takes the first branch, a plain C compiler (the simulator that tests run kernels on) the second.
#include "codegen/cuda/emit.h"

namespace tenon::codegen::cuda {

const char* prelude() {
  return R"(// Tenon's prelude: names that mean the same to NVRTC and to a C compiler.
#ifdef __CUDACC__
#pragma nv_diag_suppress 177  // functions of the prelude that a program does not use
#define TENON_KERNEL extern "C" __global__
#ifdef TENON_ALL_REGISTERS  // where what several blocks a multiprocessor leave a thread was too few
#define TENON_LAUNCH(threads, ...) __launch_bounds__(threads, 1)
#else
#define TENON_LAUNCH(...) __launch_bounds__(__VA_ARGS__)
#endif
#define TENON_DEVICE static __device__ __forceinline__
#define TENON_RESTRICT __restrict__
#define TENON_UNROLL _Pragma("unroll")
#define TENON_SHARED(type, name, count, offset) __shared__ __align__(16) type name[count]
extern __shared__ __align__(16) unsigned char tenon_dynamic_shared[];
#define TENON_DYNAMIC_SHARED(type, name, count, offset) type* const name = (type*)(tenon_dynamic_shared + (offset))
#define TENON_BARRIER() __syncthreads()
#define TENON_THREAD threadIdx.x
#define TENON_BLOCK blockIdx.x
#define TENON_CHECK_ALIGNED(pointer, bytes)
typedef bool tenon_bool;
#else
#define TENON_KERNEL
#define TENON_LAUNCH(...)
#define TENON_DEVICE static inline
#define TENON_RESTRICT restrict
#define TENON_UNROLL
#define TENON_SHARED(type, name, count, offset) type* const name = (type*)(tenon_machine.shared + (offset))
#define TENON_DYNAMIC_SHARED(type, name, count, offset) TENON_SHARED(type, name, count, offset)
#define TENON_BARRIER() tenon_machine.barrier(__LINE__)
#define TENON_THREAD tenon_machine.thread
#define TENON_BLOCK tenon_machine.block
#define TENON_CHECK_ALIGNED(pointer, bytes) \
  if ((unsigned long long)(pointer) % (bytes) != 0) tenon_machine.fault("a vector access is not aligned")
typedef _Bool tenon_bool;
// What a simulator provides. `shuffle` gives the bits that thread `source` of the warp passes to the same call, `ballot`
// a bit of each lane's predicate; `load_tile` and `mma` are those of ir/looptree/looptree.h; `copy_async` to `wait` are too: 16 bytes,
// or zeros; `fault`, of a misaligned access, does not return.
struct {
  unsigned thread, block;
  char* shared;
  void (*barrier)(int line);
  unsigned long long (*shuffle)(unsigned long long bits, int source);
  unsigned (*ballot)(int predicate);
  void (*load_tile)(const unsigned short* eight, int transposed, unsigned* pairs);
  void (*mma)(float* sums, const unsigned* left, const unsigned* right, int bf16);
  void (*copy_async)(void* to, const void* from, int whole);
  void (*commit)(void);
  void (*wait)(int groups);
  void (*fault)(const char* reason);
} tenon_machine;
float fabsf(float), floorf(float), ceilf(float), truncf(float), rintf(float), sqrtf(float), exp2f(float), fmaf(float, float, float);
double fabs(double), floor(double), ceil(double), trunc(double), rint(double), sqrt(double), fma(double, double, double);
#endif

// --- bits of numbers
TENON_DEVICE float tenon_f32_from_bits(unsigned bits) {
  union { unsigned u; float f; } x; x.u = bits; return x.f;
}
TENON_DEVICE unsigned tenon_f32_bits(float value) {
  union { unsigned u; float f; } x; x.f = value; return x.u;
}
TENON_DEVICE double tenon_f64_from_bits(unsigned long long bits) {
  union { unsigned long long u; double f; } x; x.u = bits; return x.f;
}
TENON_DEVICE unsigned long long tenon_f64_bits(double value) {
  union { unsigned long long u; double f; } x; x.f = value; return x.u;
}

// --- half and bfloat16, kept as unsigned short
#ifdef __CUDACC__
TENON_DEVICE float tenon_f16_to_f32(unsigned short h) {
  float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f;
}
TENON_DEVICE unsigned short tenon_f32_to_f16(float f) {  // any nan becomes the type's own
  unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;
}
#else
TENON_DEVICE float tenon_f16_to_f32(unsigned short h) {
  const unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
  if (exponent == 31) return tenon_f32_from_bits(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return tenon_f32_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  return tenon_f32_from_bits(sign | tenon_f32_bits((float)mantissa * 0x1p-24f));
}
TENON_DEVICE unsigned short tenon_f32_to_f16(float f) {
  const unsigned bits = tenon_f32_bits(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (unsigned short)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // a subnormal half: let the addition round at its last place
    const unsigned sum = tenon_f32_bits(tenon_f32_from_bits(magnitude) + 0.5f);
    return (unsigned short)(sign | (sum - 0x3f000000u));
  }
  return (unsigned short)(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13);
}
#endif
TENON_DEVICE float tenon_bf16_to_f32(unsigned short h) { return tenon_f32_from_bits((unsigned)h << 16); }
#if defined __CUDACC__ && __CUDA_ARCH__ >= 800
TENON_DEVICE unsigned short tenon_f32_to_bf16(float f) {
  unsigned short h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;
}
#else
TENON_DEVICE unsigned short tenon_f32_to_bf16(float f) {
  const unsigned bits = tenon_f32_bits(f);
  if (f != f) return (unsigned short)(bits >> 16 | 0x40u);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
#endif

// --- float to integer: toward zero; what does not fit, and nan, gives the least integer
TENON_DEVICE int tenon_f32_to_i32(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? (int)x : -2147483647 - 1;
}
TENON_DEVICE int tenon_f64_to_i32(double x) {
  return x > -2147483649.0 && x < 2147483648.0 ? (int)x : -2147483647 - 1;
}
TENON_DEVICE long long tenon_f64_to_i64(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (long long)x : -9223372036854775807LL - 1;
}
TENON_DEVICE long long tenon_f32_to_i64(float x) { return tenon_f64_to_i64((double)x); }

// --- maximum and minimum of floats: the first operand if it is nan
#define TENON_FLOAT(name, type) \
  TENON_DEVICE type tenon_max_##name(type a, type b) { return a > b || a != a ? a : b; } \
  TENON_DEVICE type tenon_min_##name(type a, type b) { return a < b || a != a ? a : b; }
TENON_FLOAT(f32, float)
TENON_FLOAT(f64, double)
// NVRTC takes a minus into a choice of constants, as that of a sign: -(c ? -1 : 0) becomes c ? 1 : -0. Its assembler (CUDA 13.0)
// then makes of that a comparison whose result is 1 or 0, and loses the -0. The compiler leaves an instruction of its own where it is.
#ifdef __CUDACC__
TENON_DEVICE float tenon_neg_f32(float a) {
  float x; asm("neg.f32 %0, %1;" : "=f"(x) : "f"(a)); return x;
}
#else
TENON_DEVICE float tenon_neg_f32(float a) { return -a; }
#endif
TENON_DEVICE double tenon_neg_f64(double a) { return -a; }
// One instruction, for where no zeros of different signs meet or either will do: it takes 0 for more than -0, and any nan becomes its
// own. A power of two within 2^-22; below 2^-126 it is 0.
#if defined __CUDACC__ && __CUDA_ARCH__ >= 800
#define TENON_EXTREME(op) \
  TENON_DEVICE float tenon_fast_##op##_f32(float a, float b) { \
    float x; asm(#op ".NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b)); return x; \
  }
TENON_EXTREME(max)
TENON_EXTREME(min)
#else
#define tenon_fast_max_f32 tenon_max_f32
#define tenon_fast_min_f32 tenon_min_f32
#endif
#ifdef __CUDACC__
TENON_DEVICE float tenon_fast_exp2_f32(float x) {
  float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
}
#else
TENON_DEVICE float tenon_fast_exp2_f32(float x) { return x < -126.0f ? 0.0f : exp2f(x); }
#endif

// --- integers wrap; a zero divisor gives 0; a shift count out of range gives 0, or the sign
// Upper halves of products without sign.
#ifdef __CUDACC__
#define tenon_upper_u32(a, b) __umulhi(a, b)
#define tenon_upper_u64(a, b) __umul64hi(a, b)
#else
TENON_DEVICE unsigned tenon_upper_u32(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
TENON_DEVICE unsigned long long tenon_upper_u64(unsigned long long a, unsigned long long b) {
  const unsigned long long low = (a & 0xffffffffu) * (b & 0xffffffffu), across = (a >> 32) * (b & 0xffffffffu) + (low >> 32);
  const unsigned long long other = (a & 0xffffffffu) * (b >> 32) + (across & 0xffffffffu);
  return (a >> 32) * (b >> 32) + (across >> 32) + (other >> 32);
}
#endif
TENON_DEVICE unsigned char tenon_mulhi_u8(unsigned char a, unsigned char b) { return (unsigned char)((unsigned)a * b >> 8); }
TENON_DEVICE signed char tenon_mulhi_i8(signed char a, signed char b) {
  return (signed char)tenon_mulhi_u8((unsigned char)a, (unsigned char)b);
}
TENON_DEVICE short tenon_mulhi_i16(short a, short b) { return (short)((unsigned)(unsigned short)a * (unsigned short)b >> 16); }
TENON_DEVICE int tenon_mulhi_i32(int a, int b) { return (int)tenon_upper_u32((unsigned)a, (unsigned)b); }
TENON_DEVICE long long tenon_mulhi_i64(long long a, long long b) {
  return (long long)tenon_upper_u64((unsigned long long)a, (unsigned long long)b);
}
#define TENON_BELOW_ZERO(x) ((x) < 0)
#define TENON_NEVER(x) 0
#define TENON_INTEGER(name, type, wide, bits, negative) \
  TENON_DEVICE type tenon_add_##name(type a, type b) { return (type)((wide)a + (wide)b); } \
  TENON_DEVICE type tenon_sub_##name(type a, type b) { return (type)((wide)a - (wide)b); } \
  TENON_DEVICE type tenon_mul_##name(type a, type b) { return (type)((wide)a * (wide)b); } \
  TENON_DEVICE type tenon_neg_##name(type a) { return (type)(0 - (wide)a); } \
  TENON_DEVICE type tenon_abs_##name(type a) { return negative(a) ? tenon_neg_##name(a) : a; } \
  TENON_DEVICE type tenon_div_##name(type a, type b) { \
    if (b == 0) return 0; \
    return negative(b) && b == (type)-1 ? tenon_neg_##name(a) : (type)(a / b); \
  } \
  TENON_DEVICE type tenon_rem_##name(type a, type b) { \
    return b == 0 || (negative(b) && b == (type)-1) ? (type)0 : (type)(a % b); \
  } \
  TENON_DEVICE type tenon_gcd_##name(type a, type b) { \
    wide x = negative(a) ? 0 - (wide)a : (wide)a, y = negative(b) ? 0 - (wide)b : (wide)b; \
    while (x != 0) { const wide rest = y % x; y = x; x = rest; } \
    return (type)y; \
  } \
  TENON_DEVICE type tenon_shl_##name(type a, type b) { \
    return !negative(b) && b < bits ? (type)((wide)a << b) : (type)0; \
  } \
  TENON_DEVICE type tenon_shr_##name(type a, type b) { \
    return !negative(b) && b < bits ? (type)(a >> b) : (type)(negative(a) ? -1 : 0); \
  }
TENON_INTEGER(u8, unsigned char, unsigned, 8, TENON_NEVER)
TENON_INTEGER(i8, signed char, unsigned, 8, TENON_BELOW_ZERO)
TENON_INTEGER(i16, short, unsigned, 16, TENON_BELOW_ZERO)
TENON_INTEGER(i32, int, unsigned, 32, TENON_BELOW_ZERO)
TENON_INTEGER(i64, long long, unsigned long long, 64, TENON_BELOW_ZERO)

// --- an index that is outside is noted for the host, and the first element takes its place
TENON_DEVICE long long tenon_check(long long index, long long size, long long note) {
  if (index >= 0 && index < size) return index;
  *(volatile long long*)note = index;
  return 0;
}

// --- neighbours in memory as one access, at an address that is a multiple of its size: four elements of up to 32 bits, eight of 16
// bits; four of 64 bits are two accesses. NVRTC moves as one only what has one of its own vector types: a struct falls apart
#ifndef __CUDACC__
#define TENON_FOUR(type, name, bytes) typedef struct { type x, y, z, w; } __attribute__((aligned(bytes))) name
#define TENON_TWO(type, name) typedef struct { type x, y; } __attribute__((aligned(16))) name
TENON_FOUR(unsigned char, uchar4, 4);
TENON_FOUR(signed char, char4, 4);
TENON_FOUR(unsigned short, ushort4, 8);
TENON_FOUR(short, short4, 8);
TENON_FOUR(int, int4, 16);
TENON_FOUR(unsigned, uint4, 16);
TENON_FOUR(float, float4, 16);
TENON_TWO(long long, longlong2);
TENON_TWO(double, double2);
#endif
#define TENON_VECTOR(name, type, load, store) \
  typedef struct { type lane[4]; } tenon_##name##x4; \
  TENON_DEVICE tenon_##name##x4 tenon_load_##name##x4(const type* p) { tenon_##name##x4 v; load return v; } \
  TENON_DEVICE void tenon_store_##name##x4(type* p, tenon_##name##x4 v) { store } \
  TENON_DEVICE tenon_##name##x4 tenon_pack_##name##x4(const type* p) { \
    tenon_##name##x4 v; v.lane[0] = p[0]; v.lane[1] = p[1]; v.lane[2] = p[2]; v.lane[3] = p[3]; return v; \
  }
#define TENON_VECTOR_OF_FOUR(name, type, four) \
  TENON_VECTOR(name, type, \
               TENON_CHECK_ALIGNED(p, sizeof(four)); const four t = *(const four*)p; \
               v.lane[0] = t.x; v.lane[1] = t.y; v.lane[2] = t.z; v.lane[3] = t.w;, \
               TENON_CHECK_ALIGNED(p, sizeof(four)); four t; \
               t.x = v.lane[0]; t.y = v.lane[1]; t.z = v.lane[2]; t.w = v.lane[3]; *(four*)p = t;)
#define TENON_VECTOR_OF_PAIRS(name, type, two) \
  TENON_VECTOR(name, type, \
               TENON_CHECK_ALIGNED(p, 16); const two t = ((const two*)p)[0]; const two u = ((const two*)p)[1]; \
               v.lane[0] = t.x; v.lane[1] = t.y; v.lane[2] = u.x; v.lane[3] = u.y;, \
               TENON_CHECK_ALIGNED(p, 16); two t; two u; \
               t.x = v.lane[0]; t.y = v.lane[1]; u.x = v.lane[2]; u.y = v.lane[3]; ((two*)p)[0] = t; ((two*)p)[1] = u;)
TENON_VECTOR_OF_FOUR(u8, unsigned char, uchar4)
TENON_VECTOR_OF_FOUR(i8, signed char, char4)
TENON_VECTOR_OF_FOUR(u16, unsigned short, ushort4)
TENON_VECTOR_OF_FOUR(i16, short, short4)
TENON_VECTOR_OF_FOUR(i32, int, int4)
TENON_VECTOR_OF_FOUR(f32, float, float4)
TENON_VECTOR_OF_PAIRS(i64, long long, longlong2)
TENON_VECTOR_OF_PAIRS(f64, double, double2)
typedef struct { unsigned pair[4]; } tenon_u16x8;
TENON_DEVICE tenon_u16x8 tenon_load_u16x8(const unsigned short* p) {
  tenon_u16x8 v;
  TENON_CHECK_ALIGNED(p, 16);
  const uint4 t = *(const uint4*)p;
  v.pair[0] = t.x; v.pair[1] = t.y; v.pair[2] = t.z; v.pair[3] = t.w;
  return v;
}
TENON_DEVICE void tenon_store_u16x8(unsigned short* p, tenon_u16x8 v) {
  uint4 t;
  TENON_CHECK_ALIGNED(p, 16);
  t.x = v.pair[0]; t.y = v.pair[1]; t.z = v.pair[2]; t.w = v.pair[3];
  *(uint4*)p = t;
}
TENON_DEVICE tenon_u16x8 tenon_pack_u16x8(const unsigned short* p) {
  tenon_u16x8 v;
  TENON_UNROLL
  for (int i = 0; i < 4; ++i) v.pair[i] = p[2 * i] | (unsigned)p[2 * i + 1] << 16;
  return v;
}
TENON_DEVICE unsigned short tenon_lane_u16x8(tenon_u16x8 v, int i) { return (unsigned short)(v.pair[i / 2] >> i % 2 * 16); }

// --- 16 bytes from global to shared memory that no register holds (PTX ISA, cp.async); before compute capability 8.0 the thread moves them
#if defined __CUDACC__ && __CUDA_ARCH__ >= 800
TENON_DEVICE void tenon_copy_async(void* to, const void* from, tenon_bool whole) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(place), "l"(from), "r"(whole ? 16 : 0) : "memory");
}
#define TENON_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define TENON_WAIT(groups) asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory")
#elif defined __CUDACC__
TENON_DEVICE void tenon_copy_async(void* to, const void* from, tenon_bool whole) {
  const uint4 zero = {0, 0, 0, 0};
  *(uint4*)to = whole ? *(const uint4*)from : zero;
}
#define TENON_COMMIT()
#define TENON_WAIT(groups)
#else
TENON_DEVICE void tenon_copy_async(void* to, const void* from, tenon_bool whole) {
  TENON_CHECK_ALIGNED(to, 16);
  TENON_CHECK_ALIGNED(from, 16);
  tenon_machine.copy_async(to, from, whole);
}
#define TENON_COMMIT() tenon_machine.commit()
#define TENON_WAIT(groups) tenon_machine.wait(groups)
#endif

// --- values of other threads of the warp
#ifdef __CUDACC__
#define TENON_SHUFFLE(name, type, moved) \
  TENON_DEVICE type tenon_shuffle_##name(type x, int source) { \
    return (type)__shfl_sync(0xffffffffu, (moved)x, source); \
  } \
  TENON_DEVICE type tenon_shuffle_down_##name(type x, int distance) { \
    return (type)__shfl_down_sync(0xffffffffu, (moved)x, distance); \
  }
TENON_SHUFFLE(f32, float, float)
TENON_SHUFFLE(f64, double, double)
#else
#define TENON_SHUFFLE(name, type, moved) \
  TENON_DEVICE type tenon_shuffle_##name(type x, int source) { \
    return (type)tenon_machine.shuffle((unsigned long long)x, source); \
  } \
  TENON_DEVICE type tenon_shuffle_down_##name(type x, int distance) { \
    const int lane = (int)(TENON_THREAD % 32u); \
    return (type)tenon_machine.shuffle((unsigned long long)x, lane + distance < 32 ? lane + distance : lane); \
  }
#define TENON_SHUFFLE_FLOAT(name, type, bits) \
  TENON_DEVICE type tenon_shuffle_##name(type x, int source) { \
    return tenon_##name##_from_bits(tenon_shuffle_##bits(tenon_##name##_bits(x), source)); \
  } \
  TENON_DEVICE type tenon_shuffle_down_##name(type x, int distance) { \
    return tenon_##name##_from_bits(tenon_shuffle_down_##bits(tenon_##name##_bits(x), distance)); \
  }
TENON_SHUFFLE(u32, unsigned, unsigned)
TENON_SHUFFLE(u64, unsigned long long, unsigned long long)
TENON_SHUFFLE_FLOAT(f32, float, u32)
TENON_SHUFFLE_FLOAT(f64, double, u64)
#endif
TENON_SHUFFLE(bool, tenon_bool, int)
TENON_SHUFFLE(u8, unsigned char, int)
TENON_SHUFFLE(i8, signed char, int)
TENON_SHUFFLE(u16, unsigned short, int)
TENON_SHUFFLE(i16, short, int)
TENON_SHUFFLE(i32, int, int)
TENON_SHUFFLE(i64, long long, long long)

// --- tiles of 16x16 elements, eight of them in each thread of a warp; of 16-bit ones two neighbours together. Two products by 8
// columns make one by 16 (PTX ISA, "Warp-level matrix instructions": mma.m16n8k16, ldmatrix)
typedef struct { float lane[8]; } tenon_f32x8;
TENON_DEVICE tenon_u16x8 tenon_splat_u16x8(unsigned short x) {
  tenon_u16x8 v;
  v.pair[0] = v.pair[1] = v.pair[2] = v.pair[3] = x | (unsigned)x << 16;
  return v;
}
TENON_DEVICE tenon_f32x8 tenon_pack_f32x8(const float* p) {
  tenon_f32x8 v;
  TENON_UNROLL
  for (int i = 0; i < 8; ++i) v.lane[i] = p[i];
  return v;
}
TENON_DEVICE void tenon_unpack_f32x8(float* p, tenon_f32x8 v) {
  TENON_UNROLL
  for (int i = 0; i < 8; ++i) p[i] = v.lane[i];
}
TENON_DEVICE tenon_f32x8 tenon_splat_f32x8(float x) {
  tenon_f32x8 v;
  v.lane[0] = v.lane[1] = v.lane[2] = v.lane[3] = v.lane[4] = v.lane[5] = v.lane[6] = v.lane[7] = x;
  return v;
}
#ifdef __CUDACC__
// Each thread names a row of a quarter: of that which goes to the first register, to the second, ...
#define TENON_LOAD_TILE(name, kind) \
  TENON_DEVICE tenon_u16x8 name(const unsigned short* eight) { \
    const unsigned row = (unsigned)__cvta_generic_to_shared(eight); \
    tenon_u16x8 v; \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" kind ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(v.pair[0]), "=r"(v.pair[1]), "=r"(v.pair[2]), "=r"(v.pair[3]) : "r"(row) : "memory"); \
    return v; \
  }
TENON_LOAD_TILE(tenon_load_tile, "")
TENON_LOAD_TILE(tenon_load_turned_tile, ".trans")
#define TENON_MMA_HALF(type, n) \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(c.lane[4 * n]), "+f"(c.lane[4 * n + 1]), "+f"(c.lane[4 * n + 2]), "+f"(c.lane[4 * n + 3]) \
      : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[2 * n]), "r"(b.pair[2 * n + 1]))
// Rounds to nearest; any nan becomes the type's own.
#define TENON_TILE_TO(type) \
  TENON_DEVICE tenon_u16x8 tenon_tile_to_##type(tenon_f32x8 x) { \
    tenon_u16x8 v; \
    TENON_UNROLL \
    for (int i = 0; i < 4; ++i) \
      asm("cvt.rn." #type "x2.f32 %0, %1, %2;" : "=r"(v.pair[i]) : "f"(x.lane[2 * i + 1]), "f"(x.lane[2 * i])); \
    return v; \
  }
TENON_TILE_TO(f16)
TENON_TILE_TO(bf16)
#define TENON_MMA(type) \
  TENON_DEVICE tenon_f32x8 tenon_mma_##type(tenon_u16x8 a, tenon_u16x8 b, tenon_f32x8 c) { \
    TENON_MMA_HALF(#type, 0); \
    TENON_MMA_HALF(#type, 1); \
    return c; \
  }
TENON_MMA(f16)
TENON_MMA(bf16)
#else
#define TENON_LOAD_TILE(name, transposed) \
  TENON_DEVICE tenon_u16x8 name(const unsigned short* eight) { \
    tenon_u16x8 v; \
    TENON_CHECK_ALIGNED(eight, 16); \
    tenon_machine.load_tile(eight, transposed, v.pair); \
    return v; \
  }
TENON_LOAD_TILE(tenon_load_tile, 0)
TENON_LOAD_TILE(tenon_load_turned_tile, 1)
#define TENON_TILE_TO(type) \
  TENON_DEVICE tenon_u16x8 tenon_tile_to_##type(tenon_f32x8 x) { \
    tenon_u16x8 v; \
    for (int i = 0; i < 4; ++i) v.pair[i] = tenon_f32_to_##type(x.lane[2 * i]) | (unsigned)tenon_f32_to_##type(x.lane[2 * i + 1]) << 16; \
    return v; \
  }
TENON_TILE_TO(f16)
TENON_TILE_TO(bf16)
TENON_DEVICE tenon_f32x8 tenon_mma_f16(tenon_u16x8 a, tenon_u16x8 b, tenon_f32x8 c) {
  tenon_machine.mma(c.lane, a.pair, b.pair, 0);
  return c;
}
TENON_DEVICE tenon_f32x8 tenon_mma_bf16(tenon_u16x8 a, tenon_u16x8 b, tenon_f32x8 c) {
  tenon_machine.mma(c.lane, a.pair, b.pair, 1);
  return c;
}
#endif

)";
}

}  // namespace tenon::codegen::cuda
