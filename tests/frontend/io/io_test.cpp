// Files: what is written reads back the same; what is damaged gives an error that names the file and the
// place.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <random>

using namespace tenon;

namespace {

struct FileToWrite {
  std::string path = (std::filesystem::temp_directory_path() / ("tenon_io_test_" + std::to_string(::getpid()))).string();
  explicit FileToWrite(const std::string& content = "") { write(content); }
  ~FileToWrite() { std::filesystem::remove(path); }
  void write(const std::string& content) const {
    std::filesystem::remove(path);  // some file systems flush a file that is truncated and rewritten
    std::ofstream(path, std::ios::binary) << content;
  }
  std::string read() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

std::string npy(const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY";
  out += std::string("\x01\x00", 2);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

std::string error_of(const std::string& path) {
  try {
    io::load_npy(path);
  } catch (const Error& e) {
    const std::string message = e.msg();
    CHECK(message.starts_with(path));
    return message.substr(path.size());
  }
  return "no error";
}

std::string csv_error(const std::string& path, const io::CsvOptions& options = {}) {
  try {
    io::read_csv(path, options);
  } catch (const Error& e) {
    return e.msg().substr(path.size());
  }
  return "no error";
}

}  // namespace

TEST_CASE("npy: every type round-trips") {
  const FileToWrite file;
  for (ScalarType type : {kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kFloat32, kFloat64}) {
    const Tensor x = arange(12).reshape({3, 4}).to(type);
    io::save_npy(file.path, x);
    CHECK(file.read().size() % 64 == static_cast<size_t>(x.nbytes()) % 64);
    CHECK(equal(io::load_npy(file.path), x));
    io::save_npy(file.path, x.t());
    CHECK(equal(io::load_npy(file.path), x.t()));
  }
  for (const Tensor& x : {tensor(2.5), zeros({0, 3}), zeros({2, 0, 3}, kInt64), ones({1, 1, 1})}) {
    io::save_npy(file.path, x);
    CHECK(equal(io::load_npy(file.path), x));
    CHECK(io::load_npy(file.path).sizes() == x.sizes());
  }
  CHECK_THROWS_AS(io::save_npy(file.path, ones({2}, kBFloat16)), TypeError);
}

TEST_CASE("npy: Fortran order and big-endian elements") {
  const FileToWrite file;
  file.write(npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", std::string("\0\1\0\4\0\2\0\5\0\3\1\0", 12)));
  CHECK(equal(io::load_npy(file.path), tensor({{1, 2, 3}, {4, 5, 256}}, kInt16)));
  file.write(npy("{\"shape\": (2,), \"fortran_order\": False, \"descr\": \"|b1\"}", std::string("\2\0", 2)));
  CHECK(equal(io::load_npy(file.path), tensor({true, false})));
}

TEST_CASE("npy: damaged files") {
  const FileToWrite file;
  CHECK(error_of("/nonexistent/x.npy").find("cannot open") != std::string::npos);
  auto check = [&](const std::string& content, const std::string& reason) {
    file.write(content);
    const std::string message = error_of(file.path);
    CAPTURE(message);
    CHECK(message.find(reason) != std::string::npos);
  };
  check("", "ends within its npy magic");
  check("hello world", "wrong magic");
  check(std::string("\x93NUMPY\x09\x00\x00\x00", 10), "version 9");
  check(std::string("\x93NUMPY\x01\x00\xff\x00{", 11), "ends within its npy header");
  check(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "header length");
  const std::string tail = "'fortran_order': False, 'shape': (2,)}";
  check(npy("{'descr': '<f4', " + tail, "1234567"), "needs 8 bytes, the file has 7");
  check(npy("{'descr': '<U4', " + tail, ""), "field 'descr'");
  check(npy("{'descr': '<c8', " + tail, ""), "field 'descr'");
  check(npy("{'descr': '<f4', 'descr': '<f4', " + tail, ""), "appears twice");
  check(npy("{" + tail, ""), "no field 'descr'");
  check(npy("{'descr': '<f4', 'shape': (2,)}", ""), "no field 'fortran_order'");
  check(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", ""), "fortran_order");
  check(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", ""), "field 'shape'");
  check(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", ""), "overflows");
  check(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""), "too large");
  check(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (200000000000000000,)}", ""), "needs");
  check(npy("[1, 2]", ""), "expected '{'");
}

TEST_CASE("npy: random damage never crashes") {
  const FileToWrite file;
  io::save_npy(file.path, arange(6.0).reshape({2, 3}));
  const std::string good = file.read();
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (uint32_t k = 0; k < 1 + random() % 4; ++k) bad[random() % 90] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    file.write(bad);
    try {
      io::load_npy(file.path);
    } catch (const Error&) {
    }
  }
}

TEST_CASE("csv: types, missing values, quotes") {
  const FileToWrite file(
      "\xef\xbb\xbf"
      "a, b,\"c,\"\"d\"\"\"\r\n1,2.5, 3\r\n\r\n-4,,+5\n\"6\",1e3,nan\n");
  const io::Csv csv = io::read_csv(file.path);
  CHECK(csv.names == std::vector<std::string>{"a", "b", "c,\"d\""});
  CHECK(csv.rows() == 3);
  CHECK(equal(csv["a"], tensor({1, -4, 6})));
  CHECK(csv["b"].dtype() == kDouble);
  CHECK(csv["b"][1].isnan().item<bool>());
  CHECK(csv["b"][2].item<double>() == 1000);
  CHECK(csv["c,\"d\""][2].isnan().item<bool>());
  CHECK(csv.matrix().sizes() == IntArrayRef({3, 3}));
  CHECK(csv.matrix({"b", "a"}).dtype() == kDouble);
  CHECK_THROWS_WITH_AS(csv["x"], "no column 'x'", IndexError);
  file.write("1;2\n3;4");
  const io::Csv plain = io::read_csv(file.path, {.delimiter = ';', .header = false, .dtype = kFloat});
  CHECK(equal(plain.matrix(), tensor({{1.0, 2.0}, {3.0, 4.0}})));
  CHECK(plain.names == std::vector<std::string>{"0", "1"});
}

TEST_CASE("csv: bools, texts and line ends") {
  const FileToWrite file("id,ok,species,size\r1,True,setosa,1\r2,false,\"virginica, wild\",\r\r3,TRUE,setosa,3\r4,True,,4");
  const io::Csv csv = io::read_csv(file.path);
  CHECK(csv.rows() == 4);
  CHECK(equal(csv["id"], tensor({1, 2, 3, 4})));
  CHECK(equal(csv["ok"], tensor({true, false, true, true})));
  CHECK(equal(csv["species"], tensor({0, 1, 0, -1})));
  CHECK(csv.categories_of("species") == std::vector<std::string>{"setosa", "virginica, wild"});
  CHECK(csv.categories_of("size").empty());
  CHECK(csv["size"].dtype() == kDouble);

  const io::Csv rest = csv.drop({"species", "ok"});  // as df.drop('target', axis=1)
  CHECK(rest.names == std::vector<std::string>{"id", "size"});
  CHECK(rest.matrix().sizes() == IntArrayRef({4, 2}));
  CHECK(csv.select({"size", "id"}).names == std::vector<std::string>{"size", "id"});
  CHECK_THROWS_WITH_AS(csv.drop({"x"}), "no column 'x'", IndexError);

  // Sorted, not in the order of appearance; also numbers where asked.
  file.write("c,n\nzebra,10\nant,9\n");
  const io::Csv texts = io::read_csv(file.path, {.categories = {"n"}});
  CHECK(equal(texts["c"], tensor({1, 0})));
  CHECK(texts.categories_of("n") == std::vector<std::string>{"10", "9"});
  file.write("a,a\n1,2\n");
  CHECK_THROWS_WITH_AS(io::read_csv(file.path)["a"], "several columns are named 'a'", IndexError);
  // A missing bool makes numbers; all missing are float64; a quoted field keeps its line end.
  file.write("b,m,q\ntrue,NA,\"x\ny\"\n,null,z\n");
  const io::Csv odd = io::read_csv(file.path);
  CHECK(odd["b"].dtype() == kDouble);
  CHECK(odd["b"][0].item<double>() == 1);
  CHECK(odd["m"].isnan().all().item<bool>());
  CHECK(odd.categories_of("q") == std::vector<std::string>{"x\ny", "z"});
}

TEST_CASE("csv: mistakes name file, line and reason") {
  const FileToWrite file("a,b\n1,2\n\n3\n");
  CHECK(csv_error(file.path) == ":4: expected 2 fields, got 1");
  file.write("a,b\n1,2\r\n1,x2\n");
  CHECK(csv_error(file.path) == ":3: column 'b': 'x2' is not a number");
  file.write("a,b\n1,\"2\n3\n");
  CHECK(csv_error(file.path) == ":2: a quoted field does not end");
  file.write("a,b\n\"1\"x,2\n");
  CHECK(csv_error(file.path) == ":2: unexpected 'x' after a quoted field");
  const io::CsvOptions numbers{.dtype = kDouble};
  file.write("a\n+-5\n");
  CHECK(csv_error(file.path, numbers) == ":2: column 'a': '+-5' is not a number");
  file.write(std::string("a\n1\0002\n", 6));
  CHECK(csv_error(file.path, numbers) == ":2: column 'a': '1\\x002' is not a number");
  file.write("a\n" + std::string(100000, 'x') + "\n");
  CHECK(csv_error(file.path, numbers) == ":2: column 'a': '" + std::string(80, 'x') + "...' is not a number");
  file.write("a\nTrue\r1\r");
  CHECK(csv_error(file.path) == ":3: column 'a': '1' is neither true nor false");
  file.write("a\nred\n1\n");
  CHECK(csv_error(file.path) == ":3: column 'a': '1' is not a text, as those before it");
  CHECK(csv_error(file.path, {.categories = {"b"}}) == ": no column 'b'");
  file.write("");
  CHECK(csv_error(file.path) == ": the file is empty");
  CHECK_THROWS_WITH_AS(io::read_csv("/"), "/: cannot read: not a regular file", Error);
  CHECK_THROWS_AS(io::read_csv("/nonexistent.csv"), Error);
}
