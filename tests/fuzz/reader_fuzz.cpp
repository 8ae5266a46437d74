// Feeds damaged input to every reader of foreign data: npy, npz, safetensors, CSV, IDX, CIFAR, PNG, JPEG, DLPack. A reader may
// accept it or throw tenon::Error with a message of one line; it may not crash, hang, leak, allocate more
// than its input can justify, or throw anything else. The same arguments give the same inputs.
//
//   reader_fuzz [INPUTS a reader] [SEED] [READER] [the one INPUT to repeat]
#include <tenon/tenon.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>
#include <set>

#include <zlib.h>

#include "frontend/src/data/image_files.h"
#include "frontend/src/io/file.h"
#include "frontend/src/io/image_bytes.h"
#include "frontend/src/tensor/impl.h"

namespace {
size_t largest_request = 0;  // of memory, since it was last set to 0
}

void* operator new(size_t bytes) {
  largest_request = std::max(largest_request, bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

using namespace tenon;

namespace {

using Random = std::mt19937_64;

uint64_t below(Random& random, uint64_t end) { return end == 0 ? 0 : random() % end; }
bool one_in(Random& random, uint64_t n) { return below(random, n) == 0; }

constexpr uint64_t kExtremes[] = {0,           1,
                                  2,           3,
                                  7,           8,
                                  63,          64,
                                  65,          127,
                                  128,         255,
                                  256,         32767,
                                  32768,       65535,
                                  65536,       100'000'000,
                                  100'000'001, (1ull << 31) - 1,
                                  1ull << 31,  (1ull << 32) - 1,
                                  1ull << 32,  (1ull << 58) - 1,
                                  1ull << 58,  1ull << 61,
                                  1ull << 62,  (1ull << 63) - 1,
                                  1ull << 63,  ~0ull - 1,
                                  ~0ull};
uint64_t extreme(Random& random) { return kExtremes[below(random, std::size(kExtremes))]; }

// --- damage

// Fragments that mean something to some reader.
constexpr const char* kWords[] = {"'descr'",
                                  "'shape'",
                                  "'fortran_order'",
                                  "True",
                                  "False",
                                  "'<f4'",
                                  "'>f8'",
                                  "'|b1'",
                                  "'|O'",
                                  "(",
                                  ")",
                                  ",",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  ":",
                                  "\"",
                                  "'",
                                  "L",
                                  "\\u0000",
                                  "\\",
                                  "\"dtype\"",
                                  "\"shape\"",
                                  "\"data_offsets\"",
                                  "\"__metadata__\"",
                                  "\"F32\"",
                                  "\"BF16\"",
                                  "null",
                                  "1e999",
                                  "-1",
                                  "1.5",
                                  "[[[[[[[[",
                                  "{\"a\":{\"a\":",
                                  "\n",
                                  "\r",
                                  "\r\n",
                                  "nan",
                                  "true",
                                  "\"\"",
                                  ";",
                                  "\xef\xbb\xbf",
                                  "PK\1\2",
                                  "PK\3\4",
                                  "PK\5\6",
                                  "PK\6\6",
                                  "PK\6\7"};

void replace_number(std::string& bytes, Random& random) {  // digits of a text by an extreme
  size_t at = below(random, bytes.size());
  const auto is_digit = [&](size_t i) { return i < bytes.size() && bytes[i] >= '0' && bytes[i] <= '9'; };
  while (at < bytes.size() && !is_digit(at)) ++at;
  size_t end = at;
  while (is_digit(end)) ++end;
  bytes.replace(at, end - at, (one_in(random, 8) ? "-" : "") + std::to_string(extreme(random)));
}

void splice(std::string& bytes, const std::string& other, Random& random) {
  const size_t from = below(random, other.size()), length = below(random, std::min<size_t>(other.size() - from, 64) + 1);
  const size_t at = below(random, bytes.size() + 1);
  const size_t replaced = one_in(random, 2) ? std::min(length, bytes.size() - at) : 0;
  bytes.replace(at, replaced, other.substr(from, length));
}

void damage(std::string& bytes, const std::string& other, Random& random) {
  if (bytes.empty()) bytes = "x";
  const size_t at = below(random, bytes.size());
  switch (below(random, 9)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8))); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: bytes.resize(at); break;
    case 3: bytes.erase(at, below(random, 16)); break;
    case 4: splice(bytes, other, random); break;
    case 5: splice(bytes, bytes, random); break;
    case 6: {
      const uint64_t value = extreme(random);
      const size_t width = size_t{1} << below(random, 4);
      std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
      break;
    }
    case 7: replace_number(bytes, random); break;
    case 8: bytes.insert(at, kWords[below(random, std::size(kWords))]); break;
  }
}

// Lengths that stand before a header are made true again, or nothing behind them would ever be read.
void repair_npy(std::string& bytes) {
  const size_t end = bytes.find('\n');
  if (bytes.size() < 10 || end == std::string::npos || end < 10) return;
  const auto length = static_cast<uint16_t>(end + 1 - 10);
  std::memcpy(bytes.data() + 8, &length, sizeof length);
}
void repair_safetensors(std::string& bytes) {
  const size_t end = bytes.rfind("}}");
  if (bytes.size() < 8 || end == std::string::npos || end < 8) return;
  const uint64_t length = end + 2 - 8;
  std::memcpy(bytes.data(), &length, sizeof length);
}
void repair_nothing(std::string&) {}

// --- readers

volatile unsigned char touched;
void touch(const Tensor& tensor) {  // reads every byte
  const HostView view = host_view(tensor);
  unsigned char sum = 0;
  for (int64_t i = 0; i < tensor.nbytes(); ++i) sum = static_cast<unsigned char>(sum + view.data[i]);
  touched = sum;
}
void touch(const io::NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) touch(tensor);
}

constexpr const char* kName = "input";

void read_npy(const std::string& bytes) {
  io::MemorySource in(kName, bytes);
  touch(io::read_npy(in));
}
void read_npz(const std::string& bytes) { touch(io::parse_npz(kName, bytes)); }
void read_safetensors(const std::string& bytes) {
  io::MemorySource in(kName, bytes);
  io::Metadata metadata;
  touch(io::read_safetensors(in, &metadata));
}
void read_csv(const std::string& bytes) {
  const bool odd = bytes.size() % 2;
  const io::Csv csv = io::parse_csv(kName, bytes, {.delimiter = odd ? ';' : ',', .header = bytes.size() % 3 > 0});
  for (const Tensor& column : csv.columns) touch(column);
}

void read_idx(const std::string& bytes) {  // as images or as labels
  io::MemorySource in(kName, bytes);
  touch(data::datasets::detail::read_idx(in, bytes.size() % 3 ? 3 : 1, 10));
}
void read_cifar(const std::string& bytes) {
  io::MemorySource in(kName, bytes);
  data::datasets::detail::CifarRecords records;
  data::datasets::detail::read_cifar_file(in, 1 + bytes.size() % 2, 10, records);
}
void read_image(const std::string& bytes) { touch(io::decode_image_bytes(kName, bytes, static_cast<io::ImageMode>(bytes.size() % 5))); }

// The checksums of a PNG's chunks, most of the time.
void repair_png(std::string& bytes) {
  if (bytes.size() % 8 == 0) return;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const size_t length = size_t{data[at]} << 24 | size_t{data[at + 1]} << 16 | size_t{data[at + 2]} << 8 | data[at + 3];
    if (length > bytes.size() - at - 12) return;
    const uLong sum = ::crc32(0, data + at + 4, static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
    at += 12 + length;
  }
}

struct FileReader {
  const char* name;
  void (*read)(const std::string& bytes);
  void (*repair)(std::string& bytes);
  size_t expansion;  // bytes of memory that a byte of input may justify
  std::vector<std::string> seeds;
};

// What `write` puts into a file.
template <typename F>
std::string written(F write) {
  const auto path = std::filesystem::temp_directory_path() / ("tenon_reader_fuzz_" + std::to_string(::getpid()));
  write(path.string());
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  return bytes;
}

std::string compressed(const std::string& bytes) {  // by gzip
  return written([&](const std::string& path) {
    gzFile file = ::gzopen(path.c_str(), "wb");
    ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    ::gzclose(file);
  });
}

std::vector<FileReader> file_readers() {
  const Tensor f = arange(12).to(kFloat).reshape({3, 4}), b = tensor({true, false, true}), h = ones({2, 1, 2}, kHalf);
  std::vector<FileReader> readers = {{"npy", read_npy, repair_npy, 64, {}},
                                     {"npz", read_npz, repair_nothing, 1100, {}},
                                     {"safetensors", read_safetensors, repair_safetensors, 64, {}},
                                     {"csv", read_csv, repair_nothing, 64, {}},
                                     {"idx", read_idx, repair_nothing, 1100, {}},
                                     {"cifar", read_cifar, repair_nothing, 64, {}},
                                     {"png", read_image, repair_png, 8 * 1032 * 8, {}},
                                     {"jpeg", read_image, repair_nothing, 1024 * 7, {}}};
  for (const Tensor& t : {f, b, h, tensor(7), zeros({0, 3})}) {
    readers[0].seeds.push_back(written([&](const std::string& path) { io::save_npy(path, t); }));
  }
  std::string big_endian = readers[0].seeds[0];
  big_endian.replace(big_endian.find("'<f4'"), 5, "'>f4'");
  big_endian.replace(big_endian.find("False"), 5, "True ");
  readers[0].seeds.push_back(big_endian);
  for (bool compressed : {false, true}) {
    readers[1].seeds.push_back(written([&](const std::string& path) {
      io::save_npz(path, {{"weight", f}, {"b", b}, {"zeros", zeros({2000})}}, compressed);
    }));
    readers[1].seeds.push_back(written([&](const std::string& path) { io::save_npz(path, {{"h", h}}, compressed); }));
  }
  readers[1].seeds.push_back(written([&](const std::string& path) { io::save_npz(path, {}); }));
  readers[2].seeds.push_back(written([&](const std::string& path) {
    io::save_safetensors(path, {{"weight", f}, {"b", b}, {"half", h}, {"none", zeros({0, 3})}}, {{"format", "pt"}});
  }));
  readers[2].seeds.push_back(written([&](const std::string& path) { io::save_safetensors(path, {{"w", f}}); }));
  readers[3].seeds = {"a,b,c,d\n1,2.5,x,true\n-4,,\"y \"\"q\"\"\nz\",False\n6,1e3,x,\n", "a;b\r\n1;nan\r\n2;9223372036854775808\r\n",
                      "1,2\r3,4\r\r5,6", "one\nred\n\"green\"\nNA\n"};
  const std::string labels("\0\0\x8\1\0\0\0\3\1\2\3", 11), images("\0\0\x8\3\0\0\0\1\0\0\0\2\0\0\0\3abcdef", 22);
  readers[4].seeds = {labels, images, compressed(labels), compressed(images)};
  readers[5].seeds = {std::string(3073, '\1'), std::string(2 * 3074, '\2')};
  for (int64_t channels : {1, 3, 4}) {
    const Tensor image = arange(channels * 63).reshape({channels, 7, 9}).to(kByte);
    readers[6].seeds.push_back(written([&](const std::string& path) { io::write_png(image, path); }));
    if (channels == 4) continue;
    readers[7].seeds.push_back(written([&](const std::string& path) { io::write_jpeg(image, path); }));
  }
  return readers;
}

// --- running

const char* running_reader = "";
int64_t running_input = 0;
uint64_t running_seed = 0;

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "reader_fuzz: %s\nrepeat: reader_fuzz %lld %llu %s %lld\n", reason.c_str(),
               static_cast<long long>(running_input + 1), static_cast<unsigned long long>(running_seed), running_reader,
               static_cast<long long>(running_input));
  std::abort();
}
void on_alarm(int) { fail("no answer within a minute"); }

void check_message(const std::string& message, const char* start) {
  if (!message.starts_with(start)) fail("a message without its input: " + message);
  for (char c : message) {
    if (static_cast<unsigned char>(c) < ' ') fail("a message of more than one line: " + message);
  }
}

struct Outcome {
  int64_t accepted = 0, rejected = 0;
  std::set<std::string> messages;  // without their numbers
  size_t largest = 0;              // bytes, of one request or of all buffers
};

std::string without_numbers(std::string message) {
  std::erase_if(message, [](char c) { return c >= '0' && c <= '9'; });
  return message.substr(0, 48);
}

// Runs one input; `start` opens each message that may come.
template <typename F>
bool accepted(F read, const char* start, size_t memory_bound, Outcome& outcome) {
  const runtime::MemoryStats before = runtime::memory_stats();
  runtime::reset_peak_memory_stats();
  largest_request = 0;
  ::alarm(60);
  bool result = true;
  try {
    read();
  } catch (const Error& e) {
    result = false;
    check_message(e.what(), start);
    outcome.messages.insert(without_numbers(e.what()));
  } catch (const std::exception& e) {
    fail(std::string("not an Error: ") + e.what());
  }
  const runtime::MemoryStats after = runtime::memory_stats();
  if (after.live_buffers != before.live_buffers) fail("a buffer is left over");
  const size_t largest = std::max(largest_request, static_cast<size_t>(after.peak_allocated - before.allocated));
  if (largest > memory_bound) fail("took " + std::to_string(largest) + " bytes, more than " + std::to_string(memory_bound));
  outcome.largest = std::max(outcome.largest, largest);
  ++(result ? outcome.accepted : outcome.rejected);
  return result;
}

void report(const char* name, const Outcome& outcome) {
  std::printf("%-12s %lld inputs: %lld accepted, %lld rejected with %zu kinds of message, at most %zu bytes taken\n", name,
              static_cast<long long>(outcome.accepted + outcome.rejected), static_cast<long long>(outcome.accepted),
              static_cast<long long>(outcome.rejected), outcome.messages.size(), outcome.largest);
  std::fflush(stdout);
}

Random generator(int64_t input) {
  std::seed_seq seed{running_seed, static_cast<uint64_t>(running_reader[0] * 256 + running_reader[2]), static_cast<uint64_t>(input)};
  return Random(seed);
}

void fuzz_file(const FileReader& reader, int64_t first, int64_t end) {
  running_reader = reader.name;
  Outcome outcome;
  for (running_input = first; running_input < end; ++running_input) {
    Random random = generator(running_input);
    std::string bytes = reader.seeds[below(random, reader.seeds.size())];
    const std::string& other = reader.seeds[below(random, reader.seeds.size())];
    for (uint64_t n = 1 + below(random, 4); n > 0; --n) damage(bytes, other, random);
    if (!one_in(random, 3)) reader.repair(bytes);
    accepted([&] { reader.read(bytes); }, kName, (size_t{1} << 16) + reader.expansion * bytes.size(), outcome);
  }
  report(reader.name, outcome);
}

// A producer's struct with some fields at extremes.
struct Producer {
  std::array<double, 64> memory{};
  std::vector<int64_t> shape = std::vector<int64_t>(64, 1), strides = std::vector<int64_t>(64, 1);
  DLManagedTensor managed{};
  int deleted = 0;

  explicit Producer(Random& random) {
    const auto dims = static_cast<int32_t>(below(random, 4));
    constexpr DLDataType types[] = {{kDLFloat, 64, 1}, {kDLFloat, 32, 1}, {kDLInt, 64, 1}, {kDLUInt, 8, 1}, {kDLBool, 8, 1}};
    int64_t stride = 1;
    for (int32_t d = dims; d-- > 0;) {
      shape[static_cast<size_t>(d)] = static_cast<int64_t>(below(random, 4));
      strides[static_cast<size_t>(d)] = stride;
      stride *= std::max<int64_t>(shape[static_cast<size_t>(d)], 1);
    }
    managed.dl_tensor = {memory.data(),
                         {kDLCPU, 0},
                         dims,
                         types[below(random, std::size(types))],
                         shape.data(),
                         one_in(random, 2) ? strides.data() : nullptr,
                         0};
    managed.manager_ctx = this;
    if (!one_in(random, 16)) managed.deleter = [](DLManagedTensor* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
  }

  void damage(Random& random) {
    DLTensor& t = managed.dl_tensor;
    switch (below(random, 11)) {
      case 0: t.device.device_type = static_cast<DLDeviceType>(extreme(random)); break;
      case 1: t.device.device_id = static_cast<int32_t>(extreme(random)); break;
      case 2: t.ndim = static_cast<int32_t>(extreme(random)); break;
      case 3: t.dtype.code = static_cast<uint8_t>(below(random, 8)); break;
      case 4: t.dtype.bits = static_cast<uint8_t>(1u << below(random, 8)); break;
      case 5: t.dtype.lanes = static_cast<uint16_t>(extreme(random)); break;
      case 6: shape[below(random, 4)] = static_cast<int64_t>(extreme(random)); break;
      case 7: strides[below(random, 4)] = static_cast<int64_t>(extreme(random)); break;
      case 8: t.byte_offset = extreme(random); break;
      case 9: t.data = one_in(random, 2) ? nullptr : static_cast<char*>(t.data) + below(random, 9); break;
      case 10: t.shape = one_in(random, 2) ? nullptr : t.shape; break;
    }
  }

  // Does all that the tensor shows lie in our memory? Only then may it be read.
  bool covers(const Tensor& x) const {
    if (x.numel() == 0) return false;
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    const auto first = reinterpret_cast<uintptr_t>(managed.dl_tensor.data) + managed.dl_tensor.byte_offset;
    int64_t last = 0;
    for (int64_t d = 0; d < x.dim(); ++d) last += (x.size(d) - 1) * x.stride(d);
    return first >= begin && last < 64 && first + static_cast<uintptr_t>((last + 1) * x.element_size()) <= begin + sizeof memory;
  }
};

void read_dlpack(Producer& producer) {
  const Tensor x = fromDLPack(&producer.managed);
  const Tensor alias = x.dim() > 0 && x.size(0) > 0 ? x[0] : x.detach();
  if (producer.covers(x)) touched = *static_cast<unsigned char*>(x.data_ptr());
  if (producer.deleted != 0) fail("the deleter ran while a tensor was there");
}

void fuzz_dlpack(int64_t first, int64_t end) {
  running_reader = "dlpack";
  Outcome outcome;
  for (running_input = first; running_input < end; ++running_input) {
    Random random = generator(running_input);
    Producer producer(random);
    for (uint64_t n = below(random, 3); n > 0; --n) producer.damage(random);
    const bool taken = accepted([&] { read_dlpack(producer); }, "DLPack: ", 1 << 16, outcome);
    const int expected = taken && producer.managed.deleter ? 1 : 0;
    if (producer.deleted != expected) fail("the deleter ran " + std::to_string(producer.deleted) + " times");
  }
  report("dlpack", outcome);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t inputs = argc > 1 ? std::atoll(argv[1]) : 2000;
  running_seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::string only = argc > 3 ? argv[3] : "";
  const int64_t first = argc > 4 ? std::atoll(argv[4]) : 0, end = argc > 4 ? first + 1 : inputs;
  std::signal(SIGALRM, on_alarm);
  for (const FileReader& reader : file_readers()) {
    if (only.empty() || only == reader.name) fuzz_file(reader, first, end);
  }
  if (only.empty() || only == "dlpack") fuzz_dlpack(first, end);
}
