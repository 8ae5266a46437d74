// Tensors to and from others: archives, safetensors, DLPack, memory of others, element access. Files of other
// programs (NumPy's, and those of the safetensors package) read as they should; what is damaged gives an
// error that names the field.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <unistd.h>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "frontend/src/io/file.h"
#include "runtime/memory/buffer.h"
#include "support/data_folder.h"

using namespace tenon;

namespace {

struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / ("tenon_exchange_test_" + std::to_string(::getpid()))).string();
  ~TemporaryFile() { std::filesystem::remove(path); }
};

std::string data_file(const std::string& name) { return data_folder() + "/exchange/" + name; }

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.msg();
  }
  return "no error";
}

bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && equal(a, b); }

std::string safetensors(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + std::string(data_bytes, '\0');
}

std::string safetensors_error(const std::string& file) {
  io::MemorySource in("f", file);
  return error_of([&] { io::read_safetensors(in, nullptr); });
}

std::string npz_error(const std::string& file) {
  return error_of([&] { io::parse_npz("f", file); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to, size_t nth = 0) {
  size_t at = text.find(from);
  while (nth-- > 0) at = text.find(from, at + 1);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

// --- files

TEST_CASE("npy: files that NumPy wrote") {
  CHECK(same(io::load_npy(data_file("f4.npy")), tensor({{0.0, 0.25, 0.5}, {0.75, 1.0, 1.25}}, kFloat)));
  CHECK(same(io::load_npy(data_file("f8_big_fortran.npy")), tensor({{0.0, 1.5, 3.0}, {4.5, 6.0, 7.5}}, kDouble)));
  const Tensor halves = io::load_npy(data_file("f2.npy"));
  CHECK(halves.dtype() == kHalf);
  CHECK(same(halves.to(kFloat), tensor({0.5, -2.0, std::numeric_limits<double>::infinity(), 65504.0}, kFloat)));
  CHECK(same(io::load_npy(data_file("i8_scalar.npy")), tensor(-7)));
  CHECK(same(io::load_npy(data_file("bool.npy")), tensor({{true, false}, {false, true}})));
  CHECK(same(io::load_npy(data_file("i2_version2.npy")), tensor({1, -2, 300}, kShort)));
  CHECK(io::load_npy(data_file("empty.npy")).sizes() == IntArrayRef({0, 3}));
}

TEST_CASE("npy: the same bytes as NumPy's") {
  const TemporaryFile file;
  io::save_npy(file.path, tensor({{0.0, 0.25, 0.5}, {0.75, 1.0, 1.25}}, kFloat));
  const std::string ours = contents(file.path), theirs = contents(data_file("f4.npy"));
  CHECK(ours.size() == theirs.size());
  CHECK(ours.substr(ours.size() - 24) == theirs.substr(theirs.size() - 24));
}

TEST_CASE("npz: files that NumPy wrote") {
  const io::NamedTensors stored = io::load_npz(data_file("stored.npz"));
  CHECK(stored.size() == 2);
  CHECK(same(stored["x"], tensor({0, 1, 2}, kInt)));
  CHECK(same(stored["y"], tensor({{1.5}}, kDouble)));
  const io::NamedTensors deflated = io::load_npz(data_file("deflated.npz"));
  CHECK(same(deflated["x"], tensor({0, 1, 2}, kInt)));
  CHECK(same(deflated["y"], zeros({20, 10})));
  CHECK(same(deflated.at("x"), deflated["x"]));
  CHECK_THROWS_WITH_AS(deflated["z"], "no tensor 'z'; the names are 'x', 'y'", IndexError);
  CHECK_THROWS_WITH_AS(io::NamedTensors().at("z"), "no tensor 'z': there are none", IndexError);
}

TEST_CASE("npz: what is written reads back, in order") {
  const TemporaryFile file;
  for (bool compressed : {false, true}) {
    const Tensor noise = arange(5000).to(kInt);
    io::save_npz(file.path, {{"b", noise}, {"a/ü", tensor({true, false})}, {"none", zeros({0, 2})}, {"", tensor(1.5)}}, compressed);
    CHECK((std::filesystem::file_size(file.path) < 20000) == compressed);
    const io::NamedTensors back = io::load_npz(file.path);
    std::vector<std::string> names;
    for (const auto& [name, value] : back) names.push_back(name);
    CHECK(names == std::vector<std::string>{"b", "a/ü", "none", ""});
    CHECK(same(back["b"], noise));
    CHECK(same(back["a/ü"], tensor({true, false})));
    CHECK(back["none"].sizes() == IntArrayRef({0, 2}));
    CHECK(same(back[""], tensor(1.5)));
  }
  const std::string first = contents(file.path);
  io::save_npz(file.path, {});
  CHECK(io::load_npz(file.path).empty());
  CHECK(error_of([&] { io::save_npz(file.path, {{"a", ones({1})}, {"a", ones({1})}}); }) == file.path + ": npz entry 'a' appears twice");
  CHECK_THROWS_AS(io::save_npz(file.path, {{"a", ones({1}, kBFloat16)}}), TypeError);
  CHECK_THROWS_AS(io::save_npz("/nonexistent/x.npz", {{"a", ones({1})}}), Error);
  CHECK_THROWS_AS(io::save_npz("/nonexistent/x.npz", {}), Error);
  for (bool compressed : {false, true}) {
    CHECK(error_of([&] {
            io::save_npz("/dev/full", {{"a", rand({100000})}}, compressed);
          }) == "/dev/full: cannot write: No space left on device");
    CHECK_THROWS_AS(io::save_npz("/dev/full", {}, compressed), Error);
  }
  CHECK_THROWS_AS(io::save_npz(file.path, {{std::string(70000, 'n'), ones({1})}}), Error);
  CHECK(error_of([&] { io::load_npz("/nonexistent/x.npz"); }) == "/nonexistent/x.npz: cannot open: No such file or directory");
}

TEST_CASE("npz: damage is named") {
  const std::string good = contents(data_file("stored.npz"));
  CHECK(npz_error(good) == "no error");
  CHECK(npz_error("") == "f: not an npz file: too short for a zip archive");
  CHECK(npz_error(std::string(100, 'x')) == "f: not an npz file: not a zip archive, or cut off");
  CHECK(npz_error(good.substr(0, good.size() - 30)).starts_with("f: not an npz file: "));
  CHECK(npz_error(replaced(good, "<i4", "<u4")) == "f: npz entry 'x.npy': npy header: field 'descr': type '<u4' is not supported");
  CHECK(npz_error(replaced(good, "(3,)", "(9,)")) == "f: npz entry 'x.npy': npy data: field 'shape' [9] needs 36 bytes, the file has 12");
  CHECK(npz_error(replaced(good, "(3,)", "(2,)")) == "f: npz entry 'x.npy': bytes follow its data");
  CHECK(npz_error(replaced(good, std::string("\2\0\0\0PK", 6), std::string("\3\0\0\0PK", 6))) ==
        "f: npz entry 'x.npy': cannot read: CRC error");
  CHECK(npz_error(replaced(replaced(good, "y.npy", "x.npy", 1), "y.npy", "x.npy")) == "f: npz entry 'x.npy' appears twice");
  CHECK(npz_error(replaced(replaced(good, "y.npy", "y.txt", 1), "y.npy", "y.txt")) == "f: npz entry 'y.txt': not an .npy file");

  // The central directory claims other sizes and methods: bytes 10 (method), 20 (compressed) and 24 (size) of
  // an entry.
  const std::string deflated = contents(data_file("deflated.npz"));
  const size_t entry = deflated.find("PK\1\2");
  auto with = [&](size_t offset, uint32_t value, size_t bytes) {
    std::string bad = deflated;
    std::memcpy(bad.data() + entry + offset, &value, bytes);
    return npz_error(bad);
  };
  CHECK(with(10, 12, 2) == "f: npz entry 'x.npy': compression method 12 is neither stored (0) nor deflated (8)");
  CHECK(with(20, 100000, 4) == "f: npz entry 'x.npy': compressed size 100000 lies outside the archive of " +
                                   std::to_string(deflated.size()) + " bytes, or entries overlap");
  CHECK(with(24, 4000000000, 4).starts_with("f: npz entry 'x.npy': size 4000000000 cannot come from "));
  CHECK(with(24, 139, 4) != "no error");
  CHECK(with(8, 1, 2) == "f: npz entry 'x.npy': is encrypted");
  CHECK(with(42, 7, 4) == "f: npz entry 'x.npy': cannot read: the entry's headers are damaged");
  CHECK(with(0, 0, 4) == "f: npz entry 0: the archive's directory is damaged");
  std::string bad = deflated;
  bad[deflated.find("x.npy") + 30] ^= 0x55;
  CHECK(npz_error(bad).starts_with("f: npz entry 'x.npy': "));
}

TEST_CASE("safetensors: a file of the reference implementation") {
  io::Metadata metadata;
  const io::NamedTensors tensors = io::load_safetensors(data_file("reference.safetensors"), &metadata);
  CHECK(metadata == io::Metadata{{"format", "np"}, {"note", "a \"b\""}});
  CHECK(tensors.size() == 5);
  CHECK(same(tensors["w"], arange(6).to(kFloat).reshape({2, 3})));
  CHECK(same(tensors["b"], tensor({true, false})));
  CHECK(same(tensors["n"], tensor(-3)));
  CHECK(same(tensors["h"], tensor({0.5, 2.0}, kHalf)));
  CHECK(tensors["none"].sizes() == IntArrayRef({0, 4}));
}

TEST_CASE("safetensors: every type round-trips, aligned") {
  const TemporaryFile file;
  io::NamedTensors all;
  for (ScalarType type : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kHalf, kBFloat16, kFloat, kDouble})
    all.insert(toString(type), arange(7).to(type));
  all.insert("transposed", arange(6).reshape({2, 3}).t());
  all.insert("none", zeros({3, 0}));
  all.insert("läyer \"1\"\n", tensor(2.5));
  io::save_safetensors(file.path, all, {{"format", "pt"}});
  io::Metadata metadata;
  const io::NamedTensors back = io::load_safetensors(file.path, &metadata);
  CHECK(metadata == io::Metadata{{"format", "pt"}});
  CHECK(back.size() == all.size());
  for (const auto& [name, value] : all) CHECK(same(back[name], value));
  uint64_t header = 0;
  std::memcpy(&header, contents(file.path).data(), sizeof header);
  CHECK(header % 8 == 0);
  io::save_safetensors(file.path, {});
  CHECK(io::load_safetensors(file.path).empty());

  CHECK(error_of([&] {
          io::save_safetensors(file.path, {{"a", ones({1})}, {"a", ones({1})}});
        }) == file.path + ": safetensors: tensor 'a' appears twice");
  CHECK(error_of([&] {
          io::save_safetensors(file.path, {{"__metadata__", ones({1})}});
        }).ends_with("a tensor cannot be named '__metadata__'"));
  CHECK_THROWS_AS(io::save_safetensors(file.path, {{"\xff", ones({1})}}), Error);
}

TEST_CASE("safetensors: damage is named") {
  auto error = [](const std::string& header, size_t bytes) {
    const std::string message = safetensors_error(safetensors(header, bytes));
    return message.starts_with("f: safetensors: ") ? message.substr(16) : message;
  };
  auto tensor = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  CHECK(error(tensor("F32", "[2,3]", "[0,24]"), 24) == "no error");
  CHECK(error(tensor("F32", "[2,3]", "[0,24]") + "   ", 24) == "no error");
  CHECK(error("{}", 0) == "no error");

  CHECK(safetensors_error("1234567") == "f: ends within its safetensors header length");
  CHECK(safetensors_error(std::string(8, '\xff')) ==
        "f: safetensors: header length 18446744073709551615 is larger than the limit of 100000000");
  CHECK(safetensors_error(std::string("\x40\0\0\0\0\0\0\0{}", 10)) == "f: safetensors: header length 64 lies outside the file of 10 bytes");
  CHECK(safetensors_error("PK\x03\x04 and what torch.save writes") ==
        "f: a zip archive (torch.save or numpy.savez), not safetensors: write it with safetensors.torch.save_file, or read an .npz "
        "with io::load_npz");
  CHECK(error("", 0) == "the header does not begin with '{'");
  CHECK(error(" {}", 0) == "the header does not begin with '{'");
  CHECK(error("{", 0).starts_with("header: "));
  CHECK(error("{\"a\xff\":1}", 0).starts_with("header: "));
  CHECK(error(R"({"w":{"dtype":"F32","dtype":"F32"}})", 0) == "header: 'dtype' appears twice");
  CHECK(error(R"({"w":{},"w":{}})", 0) == "header: 'w' appears twice");
  CHECK(error(R"({"w":3})", 0) == "tensor 'w': not an object");
  CHECK(error(R"({"w":{"shape":[],"data_offsets":[0,4]}})", 4) == "tensor 'w': no field 'dtype'");
  CHECK(error(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4) == "tensor 'w': no field 'shape'");
  CHECK(error(R"({"w":{"dtype":"F32","shape":[]}})", 4) == "tensor 'w': no field 'data_offsets'");
  CHECK(error(tensor("F8_E5M2", "[]", "[0,1]"), 1) == "tensor 'w': dtype 'F8_E5M2' is not supported");
  CHECK(error(tensor("F32", "[2,-3]", "[0,24]"), 24) == "tensor 'w': field 'shape': a size is not a whole number");
  CHECK(error(tensor("F32", "[1.5]", "[0,24]"), 24) == "tensor 'w': field 'shape': a size is not a whole number");
  CHECK(error(tensor("F32", "6", "[0,24]"), 24) == "tensor 'w': field 'shape' is not an array");
  CHECK(error(tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0) == "tensor 'w': field 'shape' overflows");
  CHECK(error(tensor("F32", "[18446744073709551615]", "[0,0]"), 0) == "tensor 'w': field 'shape' overflows");
  CHECK(error(tensor("F32", "[2,3]", "[0]"), 24) == "tensor 'w': field 'data_offsets' is not two whole numbers");
  CHECK(error(tensor("F32", "[2,3]", "[-1,23]"), 24) == "tensor 'w': field 'data_offsets' is not two whole numbers");
  CHECK(error(tensor("F32", "[2,3]", "[24,0]"), 24) == "tensor 'w': data_offsets [24, 0] end before they begin");
  CHECK(error(tensor("F32", "[16]", "[0,64]"), 40) == "tensor 'w': data_offsets [0, 64] lie outside the file, which has 40 bytes of data");
  CHECK(error(tensor("F32", "[2,3]", "[0,20]"), 20) ==
        "tensor 'w': data_offsets [0, 20] hold 20 bytes, dtype F32 and shape [2, 3] need 24");
  CHECK(error(tensor("F32", "[1]", "[4,8]"), 8) == "tensor 'w': data_offsets [4, 8] leave a gap after 0");
  CHECK(error(tensor("F32", "[1]", "[0,4]"), 8) == "the tensors need 4 bytes of data, the file has 8");
  const std::string two = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})";
  CHECK(error(two, 6) == "tensor 'b': data_offsets [2, 6] overlap the data before 4");
  CHECK(error(R"({"__metadata__":{"a":1}})", 0) == "field '__metadata__': 'a' is not a string");
  CHECK(error(R"({"__metadata__":[]})", 0) == "field '__metadata__' is not an object");
  CHECK(error(std::string("{\"a\":") + std::string(100000, '['), 0).starts_with("header: "));
}

// --- DLPack

namespace {

// A producer's struct over memory of its own, which counts the calls of its deleter.
struct Producer {
  std::vector<int64_t> shape = {2, 3}, strides;
  std::array<float, 8> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  int deleted = 0;
  DLManagedTensor managed{};

  Producer() {
    managed.dl_tensor = {memory.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
  }
  std::string error() {
    return error_of([this] { fromDLPack(&managed); });
  }
};

}  // namespace

TEST_CASE("DLPack: both ways, in the same memory") {
  Tensor x = arange(6).to(kFloat).reshape({2, 3});
  DLManagedTensor* managed = toDLPack(x.t());
  const DLTensor& given = managed->dl_tensor;
  CHECK(given.data == x.data_ptr());
  CHECK(given.device.device_type == kDLCPU);
  CHECK(given.ndim == 2);
  CHECK((given.shape[0] == 3 && given.shape[1] == 2 && given.strides[0] == 1 && given.strides[1] == 3));
  CHECK((given.dtype.code == kDLFloat && given.dtype.bits == 32 && given.dtype.lanes == 1));

  Tensor y = fromDLPack(managed);
  CHECK(y.data_ptr() == x.data_ptr());
  CHECK(y.strides() == IntArrayRef({1, 3}));
  CHECK(same(y, x.t()));
  x.data_ptr<float>()[1] = 50;  // seen through either
  CHECK(y[1][0].item<float>() == 50);
  y.data_ptr<float>()[5] = 70;
  CHECK(x[1][2].item<float>() == 70);
  float* memory = x.data_ptr<float>();
  x += 1;  // a write by an operation, too: at once, into the same memory
  CHECK(memory[1] == 51);
  y.select(0, 1).fill_(8);
  CHECK((memory[1] == 8 && memory[4] == 8 && memory[5] == 71));
  x -= 1;
  CHECK(x.data_ptr() == memory);
  x = Tensor();  // the memory lives on
  CHECK(same(y, tensor({{0.0, 3.0}, {7.0, 7.0}, {2.0, 70.0}}, kFloat)));
}

TEST_CASE("DLPack: every type and odd shapes") {
  for (ScalarType type : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kHalf, kBFloat16, kFloat, kDouble}) {
    const Tensor x = arange(4).to(type);
    const Tensor y = fromDLPack(toDLPack(x));
    CHECK(same(x, y));
    CHECK(x.data_ptr() == y.data_ptr());
  }
  for (const Tensor& x : {tensor(2.5), zeros({0, 3}), ones({1, 4}).expand({3, 4}), arange(10).slice(0, 3, 9, 2)})
    CHECK(same(fromDLPack(toDLPack(x)), x));
  CHECK_THROWS_AS(toDLPack(Tensor()), Error);
  DLManagedTensor* unused = toDLPack(ones({3}));
  unused->deleter(unused);  // a consumer that changed its mind
}

TEST_CASE("DLPack: the deleter runs once, after the last user") {
  Producer p;
  p.strides = {4, 1};
  p.managed.dl_tensor.strides = p.strides.data();
  p.managed.dl_tensor.byte_offset = 4;
  {
    Tensor sum, row;
    {
      const Tensor x = fromDLPack(&p.managed);
      CHECK(x.data_ptr() == p.memory.data() + 1);
      CHECK(same(x, tensor({{1.0, 2.0, 3.0}, {5.0, 6.0, 7.0}}, kFloat)));
      p.memory[1] = 10;
      CHECK(x[0][0].item<float>() == 10);
      sum = x.sum();  // pending
      row = x[1];
    }
    CHECK(p.deleted == 0);
    CHECK(sum.item<float>() == 33);
    CHECK(row[0].item<float>() == 5);
    CHECK(p.deleted == 0);
  }
  CHECK(p.deleted == 1);
}

TEST_CASE("DLPack: bad input is named, and stays the caller's") {
  Producer p;
  DLTensor& t = p.managed.dl_tensor;
  const DLTensor good = t;
  auto check = [&](auto change, const std::string& reason) {
    t = good;
    change();
    CHECK(p.error() == "DLPack: " + reason);
  };
  CHECK(error_of([] { fromDLPack(nullptr); }) == "DLPack: no tensor, null");
  check([&] { t.device.device_type = static_cast<DLDeviceType>(4); }, "field 'device': type 4 is not supported");
  check([&] { t.dtype.lanes = 4; }, "field 'dtype': 4 lanes are not supported");
  check([&] { t.dtype = {kDLUInt, 16, 1}; }, "field 'dtype': code 1 with 16 bits is not supported");
  check([&] { t.dtype = {kDLComplex, 64, 1}; }, "field 'dtype': code 5 with 64 bits is not supported");
  check([&] { t.ndim = -1; }, "field 'ndim': -1 is not in 0..64");
  check([&] { t.ndim = 1 << 30; }, "field 'ndim': 1073741824 is not in 0..64");
  check([&] { t.shape = nullptr; }, "field 'shape' is null");
  check([&] { t.data = nullptr; }, "data is null");
  check([&] { t.byte_offset = 2; }, "fields 'data' and 'byte_offset': not aligned to elements of 4 bytes");
  check([&] { t.byte_offset = ~uint64_t{0}; }, "field 'byte_offset': 18446744073709551615 overflows");
  p.shape = {2, -3};
  check([&] { t.shape = p.shape.data(); }, "field 'shape': -3 is negative");
  p.shape = {int64_t{1} << 40, int64_t{1} << 40};
  check([&] { t.shape = p.shape.data(); }, "field 'shape' overflows");
  p.shape = {2, 3};
  p.strides = {-3, 1};
  check([&] { t.shape = p.shape.data(), t.strides = p.strides.data(); }, "stride -3 is negative");
  p.strides = {int64_t{1} << 62, int64_t{1} << 62};
  check([&] { t.shape = p.shape.data(), t.strides = p.strides.data(); }, "the strides overflow");
  CHECK(p.deleted == 0);
}

// --- memory of others, element access

TEST_CASE("from_blob: shared, freed once after the last user, not freed if it throws") {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5};
  int deleted = 0;
  auto deleter = [&](void* data) {
    CHECK(data == memory.data());
    ++deleted;
  };
  {
    const Tensor x = from_blob(memory.data(), {2, 3}, deleter, kFloat);
    const Tensor columns = from_blob(
        memory.data(), {3, 2}, {1, 3}, [](void*) {}, kFloat);
    CHECK(x.data_ptr() == memory.data());
    CHECK(same(columns, x.t()));
    x.data_ptr<float>()[2] = 20;
    CHECK(memory[2] == 20);
    CHECK(columns[2][0].item<float>() == 20);
  }
  CHECK(deleted == 1);
  // Windows that overlap, and one element many times.
  CHECK(same(from_blob(memory.data(), {3, 2}, {1, 1}, kFloat), tensor({{0.0, 1.0}, {1.0, 20.0}, {20.0, 3.0}}, kFloat)));
  CHECK(same(from_blob(memory.data() + 4, {2, 2}, {0, 0}, kFloat), full({2, 2}, 4.0)));
  CHECK(from_blob(nullptr, {0, 3}, kFloat).numel() == 0);
  CHECK(error_of([&] { from_blob(memory.data(), {2, 3}, {3}, deleter, kFloat); }) == "from_blob: got 2 sizes but 1 strides");
  CHECK(error_of([&] { from_blob(memory.data(), {2, 3}, {-3, 1}, deleter, kFloat); }) == "from_blob: stride -3 is negative");
  CHECK(error_of([&] { from_blob(nullptr, {2, 3}, deleter, kFloat); }) == "from_blob: data is null");
  auto* odd = reinterpret_cast<char*>(memory.data()) + 1;
  CHECK(error_of([&] { from_blob(odd, {2}, kFloat); }) == "from_blob: data is not aligned to elements of 4 bytes");
  CHECK(deleted == 1);
}

TEST_CASE("tensor: of a vector, an array, a span") {
  const std::vector<double> vector = {1, 2, 3};
  const std::array<int, 3> array = {1, 2, 3};
  CHECK(same(tensor(vector), tensor({1.0, 2.0, 3.0})));
  CHECK(same(tensor(std::span<const double>(vector).subspan(1)), tensor({2.0, 3.0})));
  CHECK(same(tensor(array), tensor({1, 2, 3})));
  CHECK(same(tensor(std::span<const int, 3>(array), kHalf), tensor({1, 2, 3}, kHalf)));
  CHECK(same(tensor({std::span<const int>(array), std::span<const int>(array)}), tensor({{1, 2, 3}, {1, 2, 3}})));
  CHECK(same(tensor(std::vector<bool>{true, false}), tensor({true, false})));
}

TEST_CASE("data_ptr is where the elements are: it copies them only from another holder") {
  const Tensor x = rand({1000, 1000}), kept = x;
  eval({x});
  runtime::reset_peak_memory_stats();
  const int64_t before = runtime::memory_stats().allocated;
  x.data_ptr<float>()[1] = 4;
  CHECK(runtime::memory_stats().peak_allocated == before);
  const Tensor y = rand({1000}), pending = y * 2, same = y.clone();
  eval({y});
  y.data_ptr<float>()[0] = 9;
  CHECK(equal(pending, same * 2));
  CHECK(kept[0][1].item<float>() == 4);
}

TEST_CASE("accessors: packed, const, and their checks") {
  const Tensor x = arange(6).reshape({2, 3}).t();
  auto packed = x.packed_accessor64<int64_t, 2>();
  auto copy = x.packed_accessor32<int64_t, 2>();
  CHECK(packed[2][1] == 5);
  CHECK((copy.size(0) == 3 && copy.stride(0) == 1));
  copy[1][1] = 40;
  CHECK((x.accessor<const int64_t, 2>()[1][1]) == 40);
  static_assert(std::is_same_v<decltype(x.accessor<const int64_t, 2>()[0][0]), const int64_t&>);
  static_assert(std::is_same_v<decltype(x.packed_accessor32<int64_t, 2>()[0].size(0)), int32_t>);
  CHECK(x.const_data_ptr<int64_t>() == x.data_ptr());
  CHECK(x.mutable_data_ptr() == x.data_ptr<const int64_t>());
  CHECK_THROWS_WITH_AS((x.packed_accessor64<int64_t, 1>()), "TensorAccessor expected 1 dims but tensor has 2", Error);
  CHECK_THROWS_WITH_AS((x.const_data_ptr<float>()), "expected scalar type Float but found Long", Error);
  const Tensor wide = ones({1}, kByte).expand({int64_t{1} << 31});
  CHECK_THROWS_WITH_AS((wide.packed_accessor32<uint8_t, 1>()),
                       "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64", Error);
}

// --- what PyTorch wrote (scripts/check/check_readers.py --write), which reads in turn what Tenon writes

TEST_CASE("safetensors: every type as PyTorch writes it") {
  const io::NamedTensors all = io::load_safetensors(data_file("torch_types.safetensors"));
  CHECK(all.size() == 15);
  for (ScalarType type : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kHalf, kBFloat16, kFloat, kDouble})
    CHECK(same(all[toString(type)], (arange(6) - (type == kUInt8 ? 0 : 2)).to(type).reshape({2, 3})));
  CHECK(same(all["transposed"], arange(6, kFloat).reshape({2, 3}).t()));
  CHECK(same(all["sliced"], arange(3, 19, 4)));
  CHECK(same(all["scalar"], tensor(2.5f)));
  CHECK(all["none"].sizes() == IntArrayRef({3, 0}));
  const Tensor odd = all["läyer \"1\""];
  CHECK((odd[0].item<float>() == INFINITY && std::signbit(odd[1].item<float>()) && std::isnan(odd[2].item<float>())));
}

TEST_CASE("a training that PyTorch began goes on: network and Adam from its files") {
  const io::NamedTensors later = io::load_safetensors(data_file("torch_later.safetensors"));
  nn::Sequential net{nn::Linear(nn::LinearOptions(4, 8).bias(false)), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 3)};
  load(net, data_file("torch_net.safetensors"));
  optim::Adam adam(net->parameters(), 0.5);
  load(adam, data_file("torch_adam.safetensors"));
  CHECK(adam.options().lr() == 0.01);
  CHECK(static_cast<optim::AdamParamState&>(*adam.state().at(net->parameters()[0].unsafeGetTensorImpl())).step() == 5);
  for (int step = 0; step < 5; ++step) {
    adam.zero_grad();
    nn::functional::cross_entropy(net->forward(later["x"]), later["y"]).backward();
    adam.step();
  }
  net->eval();
  for (const auto& item : net->state_dict()) {
    CAPTURE(item.key());
    CHECK(allclose(item.value(), later[item.key()], 2e-5, 2e-6));
  }
  CHECK(allclose(net->forward(later["x"]), later["logits"], 2e-5, 2e-6));
}
