// A stand-in for libcublas: matrix products, column-major, as work on a stream. Each element sums over k in
// order with fma (float for half and bfloat16), in chains and a total beyond 256, so that results have the
// bits of Tenon's own contractions, unless the setting "library" draws another order of k.
//
// As the real one it makes more nodes of a graph for some operands than for others, and takes memory for a product with a large k from the
// stream if it was given no workspace.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cuda_sim/shared.h"
#include "ir/op/sum_order.h"

#define TENON_SIM_API extern "C" __attribute__((visibility("default")))

using namespace tenon::cuda_sim;
using tenon::ir::DType, tenon::ir::kProductChain;

namespace {

enum Status : int {  // cuBLAS's
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};
enum DataType : int { kF32 = 0, kF64 = 1, kF16 = 2, kBf16 = 14 };
enum ComputeType : int { kCompute32 = 68, kCompute32Pedantic = 69, kCompute64 = 70, kCompute64Pedantic = 71, kComputeTf32 = 77 };
constexpr int kTf32Math = 3, kHostPointers = 0;

struct Handle {
  void* stream = nullptr;
  int math_mode = 0;
  bool has_workspace = false;  // of the program's
};

struct Handles {
  std::mutex mutex;
  std::set<Handle*> live;
};
Handles& handles() {
  static Handles& all = *new Handles;
  return all;
}
bool is_handle(Handle* handle) {
  const std::lock_guard lock(handles().mutex);
  return handles().live.count(handle) > 0;
}

// --- elements

float from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
uint32_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float half_to_float(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, mantissa = h & 1023u;
  if (exponent == 31) return from_bits(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) return from_bits(sign | to_bits(static_cast<float>(mantissa) * 0x1p-24f));
  return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t float_to_half(float value) {  // to the nearest, ties to even
  const uint32_t bits = to_bits(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7fffu);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) return static_cast<uint16_t>(sign | (to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u));
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13);
}

float load(int type, const void* data, int64_t i) {
  switch (type) {
    case kF16: return half_to_float(static_cast<const uint16_t*>(data)[i]);
    case kBf16: return from_bits(static_cast<uint32_t>(static_cast<const uint16_t*>(data)[i]) << 16);
    default: return static_cast<const float*>(data)[i];
  }
}

void store(int type, void* data, int64_t i, float value) {
  const uint32_t bits = to_bits(value);
  switch (type) {
    case kF16: static_cast<uint16_t*>(data)[i] = float_to_half(value); return;
    case kBf16:
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value != value ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
      return;
    default: static_cast<float*>(data)[i] = value;
  }
}

size_t size_of(int type) { return type == kF64 ? 8 : type == kF32 ? 4 : 2; }

// What tensor cores keep of a float: 10 bits of mantissa, to the nearest, ties away from zero.
float to_tf32(float value) { return value != value ? value : from_bits((to_bits(value) + 0x1000u) & ~0x1fffu); }

// --- the product

struct Gemm {
  bool transpose_a, transpose_b;
  int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batches;
  const void *a, *b;
  void* c;
  int a_type, b_type, c_type;
  double alpha, beta;
  bool tf32;
};

// The thread sanitizer is not ready when a resolver of clones runs.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define TENON_SIM_CLONES
#else
#define TENON_SIM_CLONES __attribute__((target_clones("arch=haswell", "default")))
#endif

// One column of C += a * b over k: the compiler makes vectors of it.
template <typename T>
TENON_SIM_CLONES void add_column(T* sums, const T* a, T b, int64_t m) {
  for (int64_t i = 0; i < m; ++i) sums[i] = std::fma(a[i], b, sums[i]);
}

template <typename T>
struct Scratch {
  std::vector<T> a, chains;    // op(A), column-major; for one column of C, a column for each chain of k
  std::vector<int64_t> order;  // of k
};

uint64_t mixed(std::initializer_list<int64_t> values) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const int64_t value : values) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

// From the first to the last, the other way, or its even places before its odd ones.
std::vector<int64_t> order_of_k(const Gemm& g, long seed) {
  const uint64_t drawn = seed == 0 ? 0 : mixed({seed, g.m, g.n, g.k}) % 3;
  std::vector<int64_t> order(static_cast<size_t>(g.k));
  const int64_t even = (g.k + 1) / 2;
  for (int64_t q = 0; q < g.k; ++q) {
    const int64_t halves = q < even ? 2 * q : 2 * (q - even) + 1;
    order[static_cast<size_t>(q)] = drawn == 0 ? q : drawn == 1 ? g.k - 1 - q : halves;
  }
  return order;
}

LibraryNodes nodes_of(const Gemm& g, long seed, bool has_workspace) {
  constexpr int64_t kSplit = 512;
  const auto place = [](const void* p) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) % 16); };
  return {1 + static_cast<int>(mixed({seed, place(g.a), place(g.b), place(g.c)}) % 3), g.k >= kSplit && !has_workspace};
}

template <typename T>
T element(int type, const void* data, int64_t i, bool tf32) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<const double*>(data)[i];
  } else {
    const float value = load(type, data, i);
    return tf32 && type == kF32 ? to_tf32(value) : value;
  }
}

template <typename T>
void run_one(const Gemm& g, Scratch<T>& scratch, const char* a, const char* b, char* c) {
  for (int64_t p = 0; p < g.k; ++p) {
    for (int64_t i = 0; i < g.m; ++i) {
      scratch.a[static_cast<size_t>(p * g.m + i)] = element<T>(g.a_type, a, g.transpose_a ? i * g.lda + p : p * g.lda + i, g.tf32);
    }
  }
  for (int64_t j = 0; j < g.n; ++j) {
    std::fill(scratch.chains.begin(), scratch.chains.end(), T{0});
    for (int64_t q = 0; q < g.k; ++q) {
      const int64_t p = scratch.order[static_cast<size_t>(q)];
      const T right = element<T>(g.b_type, b, g.transpose_b ? p * g.ldb + j : j * g.ldb + p, g.tf32);
      add_column(scratch.chains.data() + q / kProductChain * g.m, scratch.a.data() + p * g.m, right, g.m);
    }
    for (int64_t i = 0; i < g.m; ++i) {
      const int64_t at = j * g.ldc + i;
      const auto chain = [&](int64_t begin, int64_t) { return scratch.chains[static_cast<size_t>(begin / kProductChain * g.m + i)]; };
      T value = static_cast<T>(g.alpha) * tenon::ir::add_product(sizeof(T) == 8 ? DType::F64 : DType::F32, g.k, T{0}, chain);
      if (g.beta != 0) value += static_cast<T>(g.beta) * element<T>(g.c_type, c, at, false);  // else C is not read
      if constexpr (sizeof(T) == 8) {
        reinterpret_cast<double*>(c)[at] = value;
      } else {
        store(g.c_type, c, at, value);
      }
    }
  }
}

template <typename T>
std::function<void()> work(const Gemm& g, long seed) {
  const auto scratch = std::make_shared<Scratch<T>>();
  scratch->a.resize(static_cast<size_t>(g.m * g.k));
  scratch->order = order_of_k(g, seed);
  scratch->chains.resize(static_cast<size_t>((g.k + kProductChain) / kProductChain * g.m));
  return [g, scratch] {
    for (int64_t batch = 0; batch < g.batches; ++batch) {
      run_one<T>(g, *scratch, static_cast<const char*>(g.a) + batch * g.stride_a * static_cast<int64_t>(size_of(g.a_type)),
                 static_cast<const char*>(g.b) + batch * g.stride_b * static_cast<int64_t>(size_of(g.b_type)),
                 static_cast<char*>(g.c) + batch * g.stride_c * static_cast<int64_t>(size_of(g.c_type)));
    }
  };
}

bool is_half(int type) { return type == kF16 || type == kBf16; }

// Combinations that the real library takes: all of one type, or float results of 16-bit operands.
bool supported(const Gemm& g, int compute) {
  if (g.a_type != g.b_type) return false;
  if (compute == kCompute64 || compute == kCompute64Pedantic) return g.a_type == kF64 && g.c_type == kF64;
  if (compute != kCompute32 && compute != kCompute32Pedantic && compute != kComputeTf32) return false;
  if (compute == kComputeTf32) return g.a_type == kF32 && g.c_type == kF32;
  if (is_half(g.a_type)) return g.c_type == g.a_type || g.c_type == kF32;
  return g.a_type == kF32 && g.c_type == kF32;
}

int start(Handle* handle, Gemm g, const void* alpha, const void* beta, int compute) {
  if (!is_handle(handle)) return kNotInitialized;
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batches < 0 || !alpha || !beta) return kInvalidValue;
  const int64_t one = 1;
  if (g.lda < std::max(one, g.transpose_a ? g.k : g.m) || g.ldb < std::max(one, g.transpose_b ? g.n : g.k) || g.ldc < std::max(one, g.m)) {
    return kInvalidValue;
  }
  if (!supported(g, compute)) return kNotSupported;
  if (g.m == 0 || g.n == 0 || g.batches == 0) return kSuccess;
  if ((g.k > 0 && (!g.a || !g.b)) || !g.c) return kInvalidValue;
  const bool wide = compute == kCompute64 || compute == kCompute64Pedantic;
  g.alpha = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  g.beta = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  g.tf32 = compute == kComputeTf32 || (compute == kCompute32 && handle->math_mode == kTf32Math);
  const long seed = library_seed();
  const int code = submit_library_call(handle->stream, "matrix product", wide ? work<double>(g, seed) : work<float>(g, seed),
                                       nodes_of(g, seed, handle->has_workspace));
  return code == 0 ? kSuccess : kExecutionFailed;
}

bool valid_operation(int operation) { return operation >= 0 && operation <= 2; }  // none, transposed, conjugate

}  // namespace

TENON_SIM_API int cublasCreate_v2(Handle** handle) {
  if (const int code = count_call("cublasCreate_v2")) return code;
  if (!handle) return kInvalidValue;
  if (check_context() != 0) return kNotInitialized;
  *handle = new Handle;
  const std::lock_guard lock(handles().mutex);
  handles().live.insert(*handle);
  return kSuccess;
}

TENON_SIM_API int cublasDestroy_v2(Handle* handle) {
  if (const int code = count_call("cublasDestroy_v2")) return code;
  if (!is_handle(handle)) return kNotInitialized;
  const std::lock_guard lock(handles().mutex);
  handles().live.erase(handle);
  delete handle;
  return kSuccess;
}

TENON_SIM_API int cublasGetVersion_v2(Handle*, int* version) {
  if (const int code = count_call("cublasGetVersion_v2")) return code;
  if (!version) return kInvalidValue;
  *version = 130100;
  return kSuccess;
}

TENON_SIM_API int cublasSetStream_v2(Handle* handle, void* stream) {
  if (const int code = count_call("cublasSetStream_v2")) return code;
  if (!is_handle(handle)) return kNotInitialized;
  handle->stream = stream;
  handle->has_workspace = false;
  return kSuccess;
}

// Its memory is left alone: the product needs none.
TENON_SIM_API int cublasSetWorkspace_v2(Handle* handle, void* memory, size_t bytes) {
  if (const int code = count_call("cublasSetWorkspace_v2")) return code;
  if (!is_handle(handle)) return kNotInitialized;
  const bool aligned = reinterpret_cast<uintptr_t>(memory) % 256 == 0;
  if ((!memory && bytes > 0) || !aligned) return kInvalidValue;
  handle->has_workspace = bytes >= (size_t{4} << 20);
  return kSuccess;
}

TENON_SIM_API int cublasSetMathMode(Handle* handle, int mode) {
  if (const int code = count_call("cublasSetMathMode")) return code;
  if (!is_handle(handle)) return kNotInitialized;
  handle->math_mode = mode;
  return kSuccess;
}

TENON_SIM_API int cublasSetPointerMode_v2(Handle* handle, int mode) {
  if (const int code = count_call("cublasSetPointerMode_v2")) return code;
  if (!is_handle(handle)) return kNotInitialized;
  return mode == kHostPointers ? kSuccess : kNotSupported;
}

TENON_SIM_API int cublasGemmEx(Handle* handle, int operation_a, int operation_b, int m, int n, int k, const void* alpha, const void* a,
                               int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                               int compute, int) {
  if (const int code = count_call("cublasGemmEx")) return code;
  if (!valid_operation(operation_a) || !valid_operation(operation_b)) return kInvalidValue;
  return start(handle,
               {operation_a != 0, operation_b != 0, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, a, b, c, a_type, b_type, c_type, 0, 0, false},
               alpha, beta, compute);
}

TENON_SIM_API int cublasGemmStridedBatchedEx(Handle* handle, int operation_a, int operation_b, int m, int n, int k, const void* alpha,
                                             const void* a, int a_type, int lda, long long stride_a, const void* b, int b_type, int ldb,
                                             long long stride_b, const void* beta, void* c, int c_type, int ldc, long long stride_c,
                                             int batches, int compute, int) {
  if (const int code = count_call("cublasGemmStridedBatchedEx")) return code;
  if (!valid_operation(operation_a) || !valid_operation(operation_b)) return kInvalidValue;
  return start(handle, {operation_a != 0, operation_b != 0, m,      n, k, lda,  ldb, ldc, stride_a, stride_b, stride_c, batches, a, b, c,
                        a_type,           b_type,           c_type, 0, 0, false},
               alpha, beta, compute);
}

TENON_SIM_API const char* cublasGetStatusString(int status) {
  switch (status) {
    case 0: return "CUBLAS_STATUS_SUCCESS";
    case 1: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7: return "CUBLAS_STATUS_INVALID_VALUE";
    case 8: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11: return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case 16: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return "unknown status";
  }
}
