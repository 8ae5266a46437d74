// NumPy's .npy files. Layout: "\x93NUMPY", version, header length, a Python dict as text, then the elements.
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

#include "frontend/src/io/file.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written in memory order");

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr int64_t kMaxDims = 64;  // NumPy's limit

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

struct TypeCode {
  const char* code;  // without the byte order
  ScalarType type;
};
constexpr TypeCode kTypeCodes[] = {{"b1", kBool},  {"u1", kUInt8},   {"i1", kInt8},    {"i2", kInt16},  {"i4", kInt32},
                                   {"i8", kInt64}, {"f2", kFloat16}, {"f4", kFloat32}, {"f8", kFloat64}};

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
      if (key == "descr") take(seen[0], key), descr();
      else if (key == "fortran_order") take(seen[1], key), header_.fortran_order = boolean();
      else if (key == "shape") take(seen[2], key), shape();
      else fail("unknown field '" + shown(key) + "'");
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
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("expected a string at position " + std::to_string(at_));
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string::npos) fail("a string does not end");
    std::string result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }
  void descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') fail("field 'descr': structured types are not supported");
    header_.descr = quoted();
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
        if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, text_[at_] - '0', &size)) {
          fail("field 'shape': a size is too large");
        }
      }
      if (at_ == start) fail("field 'shape': expected a size at position " + std::to_string(at_));
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      if (header_.shape.size() == kMaxDims) fail("field 'shape': more than 64 dims");
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

ScalarType type_of(const std::string& name, const std::string& descr) {
  for (const TypeCode& known : kTypeCodes) {
    if (descr.size() != 3 || descr.compare(1, 2, known.code) != 0) continue;
    const bool one_byte = elementSize(known.type) == 1;
    const char order = descr[0];
    if (order == '<' || order == '>' || order == '=' || (order == '|' && one_byte)) return known.type;
  }
  throw TypeError(name + ": npy header: field 'descr': type '" + shown(descr) + "' is not supported");
}

Header read_header(Source& in) {
  unsigned char prefix[8];
  in.read(prefix, sizeof prefix, "npy magic");
  check(std::memcmp(prefix, kMagic, kMagicBytes) == 0, in.name(), ": not an npy file: wrong magic");
  const int major = prefix[6];
  check(major >= 1 && major <= 3, in.name(), ": npy version ", major, " is not supported");
  unsigned char length[4] = {};
  in.read(length, major == 1 ? 2 : 4, "npy header length");
  uint32_t bytes;
  std::memcpy(&bytes, length, sizeof bytes);
  check(bytes <= (1u << 20), in.name(), ": npy header length ", bytes, " is too large");
  return HeaderParser(in.name(), in.read_text(bytes, "npy header")).parse();
}

void swap_bytes(unsigned char* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i, data += size) std::reverse(data, data + size);
}

}  // namespace

Tensor read_npy(Source& in) {
  const Header header = read_header(in);
  const ScalarType type = type_of(in.name(), header.descr);
  const size_t size = elementSize(type);
  int64_t count = 1;
  for (int64_t s : header.shape) {
    check(!__builtin_mul_overflow(count, s, &count) && count < int64_t{1} << 58, in.name(), ": npy header: field 'shape' overflows");
  }
  // Compare with the file before allocating: a header may claim anything.
  const size_t bytes = static_cast<size_t>(count) * size;
  check(in.remaining() >= bytes, in.name(), ": npy data: field 'shape' ", IntArrayRef(header.shape), " needs ", bytes,
        " bytes, the file has ", in.remaining());
  auto buffer = in.read_elements(type, bytes, "npy data");
  if (header.descr[0] == '>') swap_bytes(static_cast<unsigned char*>(buffer->data()), static_cast<size_t>(count), size);
  if (!header.fortran_order) return tensor_from_buffer(ir_type(type), header.shape, std::move(buffer));
  const std::vector<int64_t> reversed(header.shape.rbegin(), header.shape.rend());
  std::vector<int64_t> order(reversed.size());
  std::iota(order.rbegin(), order.rend(), int64_t{0});
  return tensor_from_buffer(ir_type(type), reversed, std::move(buffer)).permute(order);
}

Tensor load_npy(const std::string& path) {
  FileSource in(path);
  return read_npy(in);
}

std::string npy_header(const std::string& where, const Tensor& tensor) {
  const TypeCode* code = nullptr;
  for (const TypeCode& known : kTypeCodes) {
    if (known.type == tensor.scalar_type()) code = &known;
  }
  check<TypeError>(code != nullptr, where, ": npy has no type for ", tensor.scalar_type());
  check(tensor.dim() <= kMaxDims, where, ": npy has no room for ", tensor.dim(), " dims");
  std::string dict = text("{'descr': '", tensor.element_size() == 1 ? '|' : '<', code->code, "', 'fortran_order': False, 'shape': (");
  for (int64_t size : tensor.sizes()) dict += std::to_string(size) + ",";
  dict += "), }";
  const size_t before = kMagicBytes + 4;
  dict.append(63 - (before + dict.size()) % 64, ' ');  // data starts at a multiple of 64
  dict += '\n';
  const auto length = static_cast<uint16_t>(dict.size());
  const char version[] = {1, 0, static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return std::string(kMagic, kMagicBytes) + std::string(version, sizeof version) + dict;
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = npy_header(path, tensor);
  const Tensor dense = tensor.contiguous();
  const HostView view = host_view(dense);
  OutputFile out(path);
  out.write(header.data(), header.size());
  out.write(view.data, static_cast<size_t>(tensor.nbytes()));
  out.close();
}

}  // namespace tenon::io
