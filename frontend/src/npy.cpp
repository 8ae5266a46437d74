// NumPy's .npy files. Layout: "\x93NUMPY", version, header length, a Python dict as text, then the elements.
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "impl.h"
#include "tenon/io.h"
#include "text.h"

namespace tenon::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written in memory order");

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

struct TypeCode {
  const char* code;  // without the byte order
  ScalarType type;
};
constexpr TypeCode kTypeCodes[] = {{"b1", kBool},    {"u1", kUInt8},   {"i1", kInt8},
                                   {"i2", kInt16},   {"i4", kInt32},   {"i8", kInt64},
                                   {"f2", kFloat16}, {"f4", kFloat32}, {"f8", kFloat64}};

// Reads the header's dict. Accepts exactly the three keys, in any order.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, std::string text) : path_(path), text_(std::move(text)) {}

  Header parse() {
    expect('{');
    bool seen[3] = {};
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr")
        take(seen[0], key), header_.descr = quoted();
      else if (key == "fortran_order")
        take(seen[1], key), header_.fortran_order = boolean();
      else if (key == "shape")
        take(seen[2], key), shape();
      else
        fail("unknown field '" + key + "'");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!seen[0]) fail("no field 'descr'");
    if (!seen[1]) fail("no field 'fortran_order'");
    if (!seen[2]) fail("no field 'shape'");
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Error(path_ + ": npy header: " + reason); }
  void take(bool& seen, const std::string& key) const {
    if (seen) fail("field '" + key + "' appears twice");
    seen = true;
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "' at position " + std::to_string(at_));
  }
  std::string quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      fail("expected a string at position " + std::to_string(at_));
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string::npos) fail("a string does not end");
    std::string result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.compare(at_, std::strlen(word), word) == 0) {
        at_ += std::strlen(word);
        return value;
      }
    }
    fail("field 'fortran_order' is neither True nor False");
  }
  void shape() {
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t size = 0;
      const size_t start = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (__builtin_mul_overflow(size, 10, &size) ||
            __builtin_add_overflow(size, text_[at_] - '0', &size)) {
          fail("field 'shape': a size is too large");
        }
      }
      if (at_ == start) fail("field 'shape': expected a size at position " + std::to_string(at_));
      if (header_.shape.size() == 64) fail("field 'shape': more than 64 dims");
      header_.shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  const std::string& path_;
  std::string text_;
  size_t at_ = 0;
  Header header_;
};

ScalarType type_of(const std::string& path, const std::string& descr) {
  for (const TypeCode& known : kTypeCodes) {
    if (descr.size() != 3 || descr.compare(1, 2, known.code) != 0) continue;
    const bool one_byte = elementSize(known.type) == 1;
    const char order = descr[0];
    if (order == '<' || order == '>' || order == '=' || (order == '|' && one_byte)) return known.type;
  }
  throw TypeError(path + ": npy header: field 'descr': type '" + descr + "' is not supported");
}

void read_exactly(std::ifstream& in, const std::string& path, void* data, size_t bytes, const char* what) {
  in.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  check(static_cast<size_t>(in.gcount()) == bytes, path, ": npy file ends within its ", what);
}

Header read_header(std::ifstream& in, const std::string& path) {
  unsigned char prefix[8];
  read_exactly(in, path, prefix, sizeof prefix, "magic");
  check(std::memcmp(prefix, kMagic, kMagicBytes) == 0, path, ": not an npy file: wrong magic");
  const int major = prefix[6];
  check(major >= 1 && major <= 3, path, ": npy version ", major, " is not supported");
  unsigned char length[4] = {};
  read_exactly(in, path, length, major == 1 ? 2 : 4, "header length");
  uint32_t bytes;
  std::memcpy(&bytes, length, sizeof bytes);
  check(bytes <= (1u << 20), path, ": npy header length ", bytes, " is too large");
  std::string header(bytes, '\0');
  read_exactly(in, path, header.data(), bytes, "header");
  return HeaderParser(path, std::move(header)).parse();
}

void swap_bytes(unsigned char* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i, data += size) {
    for (size_t b = 0; b < size / 2; ++b) std::swap(data[b], data[size - 1 - b]);
  }
}

}  // namespace

Tensor load_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  check(in.good(), path, ": cannot open: ", std::strerror(errno));
  Header header = read_header(in, path);
  const ScalarType type = type_of(path, header.descr);
  const auto size = static_cast<size_t>(elementSize(type));
  int64_t count = 1;
  for (int64_t s : header.shape) {
    check(!__builtin_mul_overflow(count, s, &count) && count < int64_t{1} << 58, path,
          ": npy header: field 'shape' overflows");
  }
  // Compare with the file before allocating: a header may claim anything.
  const auto start = in.tellg();
  in.seekg(0, std::ios::end);
  const auto available = static_cast<uint64_t>(in.tellg() - start);
  in.seekg(start);
  const size_t bytes = static_cast<size_t>(count) * size;
  check(available >= bytes, path, ": npy data: field 'shape' ", IntArrayRef(header.shape), " needs ", bytes,
        " bytes, the file has ", available);

  auto buffer = allocate_buffer(bytes);
  auto* data = static_cast<unsigned char*>(buffer->data());
  read_exactly(in, path, data, bytes, "data");
  if (header.descr[0] == '>') swap_bytes(data, static_cast<size_t>(count), size);
  if (type == kBool) {  // any other byte would be an invalid bool
    for (size_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
  }
  if (!header.fortran_order) return tensor_from_buffer(ir_type(type), header.shape, std::move(buffer));
  const std::vector<int64_t> reversed(header.shape.rbegin(), header.shape.rend());
  return tensor_from_buffer(ir_type(type), reversed, std::move(buffer)).numpy_T();
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const TypeCode* code = nullptr;
  for (const TypeCode& known : kTypeCodes) {
    if (known.type == tensor.scalar_type()) code = &known;
  }
  check<TypeError>(code != nullptr, path, ": npy has no type for ", tensor.scalar_type());
  const Tensor dense = tensor.contiguous();
  const HostView view = host_view(dense);

  std::string header = text("{'descr': '", tensor.element_size() == 1 ? '|' : '<', code->code,
                            "', 'fortran_order': False, 'shape': (");
  for (int64_t size : tensor.sizes()) header += std::to_string(size) + ",";
  header += "), }";
  const size_t before = kMagicBytes + 4;
  header.append(63 - (before + header.size()) % 64, ' ');  // data starts at a multiple of 64
  header += '\n';

  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  check(out.good(), path, ": cannot write: ", std::strerror(errno));
  out.write(kMagic, kMagicBytes);
  const auto length = static_cast<uint16_t>(header.size());
  const char version[] = {1, 0, static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  out.write(version, sizeof version);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  out.write(reinterpret_cast<const char*>(view.data), static_cast<std::streamsize>(tensor.nbytes()));
  out.close();
  check(out.good(), path, ": cannot write: ", std::strerror(errno));
}

}  // namespace tenon::io
