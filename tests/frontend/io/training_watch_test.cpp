// Watching a training: event files, read back by a reader of the test's own and byte for byte; the progress bar; curves.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "frontend/values.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using test::error_of;

struct LogFolder {
  fs::path path = fs::temp_directory_path() / ("tenon_events_" + std::to_string(::getpid()));
  ~LogFolder() { fs::remove_all(path); }
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The checksum bit by bit, from its definition.
uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}
uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

template <typename T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.substr(at).data(), sizeof value);
  return value;
}

std::vector<std::string> records(const std::string& file) {
  std::vector<std::string> result;
  for (size_t at = 0; at < file.size();) {
    REQUIRE(at + 12 <= file.size());
    const auto length = number_at<uint64_t>(file, at);
    REQUIRE(number_at<uint32_t>(file, at + 8) == masked(crc32c(std::string_view(file).substr(at, 8))));
    REQUIRE(at + 16 + length <= file.size());
    result.push_back(file.substr(at + 12, length));
    REQUIRE(number_at<uint32_t>(file, at + 12 + length) == masked(crc32c(result.back())));
    at += 16 + length;
  }
  return result;
}

// The fields of a message, by number; numbers as they stand.
using Fields = std::multimap<int, std::string>;
Fields fields(std::string_view m) {
  Fields result;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(m.at(at++));
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  };
  while (at < m.size()) {
    const uint64_t tag = varint();
    const int field = static_cast<int>(tag >> 3), wire = static_cast<int>(tag & 7);
    if (wire == 0) {
      result.emplace(field, std::to_string(varint()));
      continue;
    }
    const size_t size = wire == 1 ? 8 : wire == 5 ? 4 : varint();
    result.emplace(field, std::string(m.substr(at, size)));
    at += size;
  }
  return result;
}
const std::string& one(const Fields& f, int field) {
  REQUIRE(f.count(field) == 1);
  return f.find(field)->second;
}
Fields value_of(const std::string& event) { return fields(one(fields(one(fields(event), 5)), 1)); }

}  // namespace

TEST_CASE("event files: scalars, histograms, images, texts and graphs") {
  const LogFolder folder;
  tensorboard::SummaryWriter writer((folder.path / "run").string());
  writer.add_scalar("loss/train", 0.25, 3);
  writer.add_histogram("w", tensor({0.0, 1.0, 1.0, 4.0, double{NAN}}), 300, 4);
  Tensor image = zeros({3, 2, 4});
  image.index_put_({0, 1, 2}, 1.0);
  writer.add_image("picture", image, 1);
  writer.add_text("note", "*hello*", 2);
  Tensor x = rand({4, 3}), w = rand({3, 2});
  eval(x, w);
  writer.add_graph(x.mm(w).relu());
  writer.add_scalars("both", {{"train", 1.0}, {"test", 2.0}}, 5);
  writer.close();
  CHECK(error_of([&] { writer.add_scalar("late", 1); }) == writer.path() + ": the writer is closed");

  const std::vector<std::string> all = records(read_file(writer.path()));
  REQUIRE(all.size() == 6);
  CHECK(one(fields(all[0]), 3) == "brain.Event:2");
  CHECK(number_at<double>(one(fields(all[0]), 1), 0) > 1.6e9);
  CHECK(one(fields(all[1]), 2) == "3");
  CHECK(one(value_of(all[1]), 1) == "loss/train");
  CHECK(number_at<float>(one(value_of(all[1]), 2), 0) == 0.25f);

  CHECK(one(fields(all[2]), 2) == "300");
  const Fields histogram = fields(one(value_of(all[2]), 5));
  const double want[] = {0, 4, 4, 6, 18};
  for (int i = 0; i < 5; ++i) CHECK(number_at<double>(one(histogram, i + 1), 0) == want[i]);
  const double limits[] = {1, 2, 3, 4}, counts[] = {1, 2, 0, 1};
  CHECK(one(histogram, 6) == std::string(reinterpret_cast<const char*>(limits), sizeof limits));
  CHECK(one(histogram, 7) == std::string(reinterpret_cast<const char*>(counts), sizeof counts));

  const Fields picture = fields(one(value_of(all[3]), 4));
  CHECK(one(picture, 1) == "2");
  CHECK(one(picture, 2) == "4");
  CHECK(one(picture, 3) == "3");
  const std::string& png = one(picture, 4);
  CHECK(png.starts_with("\x89PNG\r\n\x1a\n"));
  const size_t data = png.find("IDAT");
  std::string rows(2 * 13, '?');
  uLongf size = rows.size();
  REQUIRE(::uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(png.data() + data + 4),
                       png.size() - data - 4 - 16) == Z_OK);
  CHECK(rows == std::string(13 + 1 + 6, '\0') + '\xff' + std::string(5, '\0'));

  CHECK(one(value_of(all[4]), 1) == "note/text_summary");
  CHECK(one(fields(one(value_of(all[4]), 8)), 8) == "*hello*");

  const Fields graph = fields(one(fields(all[5]), 4));
  std::map<std::string, Fields> nodes;
  for (auto [at, end] = graph.equal_range(1); at != end; ++at) {
    const Fields node = fields(at->second);
    nodes[one(node, 2)] = node;
  }
  CHECK(nodes.size() == 4);
  CHECK(nodes.at("dot").count(3) == 2);
  CHECK(one(fields(all[5]), 4).find("_output_shapes") != std::string::npos);

  for (const char* name : {"both_train", "both_test"}) {
    const fs::path inside = folder.path / "run" / name;
    REQUIRE(fs::exists(inside));
    CHECK(records(read_file(fs::directory_iterator(inside)->path())).size() == 2);
  }
  CHECK(error_of([&] { writer.add_histogram("empty", zeros({0})); }) == "add_histogram: 'empty' has no finite element");
  CHECK(error_of([&] {
          writer.add_image("bad", zeros({2, 3, 3}));
        }) == "add_image: 'bad' has shape [2, 3, 3], and an image has [C, H, W] with 1, 3 or 4 channels");
  CHECK(error_of([] { tensorboard::SummaryWriter("/proc/none/here"); }).find("/proc/none/here: cannot make the folder: ") == 0);
}

TEST_CASE("event files: a full disk is an error, and no event is lost when there is space again") {
  const LogFolder folder;
  constexpr int kEvents = 5000;  // more than is kept back before it is written
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    tensorboard::SummaryWriter writer(folder.path.string());
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t most = limit.rlim_cur;
    limit.rlim_cur = 30001;  // in the middle of a record
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int failed = 0;
    for (int i = 1; i <= kEvents; ++i)
      failed += error_of([&] { writer.add_scalar("loss", i, i); }) == writer.path() + ": cannot write: File too large";
    limit.rlim_cur = most;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    writer.close();
    ::_exit(failed > 0 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  const std::vector<std::string> all = records(read_file(fs::directory_iterator(folder.path)->path()));
  REQUIRE(all.size() == kEvents + 1);
  for (int i = 1; i <= kEvents; ++i) CHECK(one(fields(all[static_cast<size_t>(i)]), 2) == std::to_string(i));
}

TEST_CASE("the checksum is the one of the standard") { CHECK(crc32c("123456789") == 0xe3069283u); }

TEST_CASE("a progress bar is one line on a terminal, ten lines elsewhere") {
  std::ostringstream plain, terminal;
  {
    ProgressBar bar("train", 40, plain, false);
    for (int i = 0; i < 40; ++i) bar.advance({{"loss", 1.0 / (i + 1)}});
    CHECK(bar.done() == 40);
    ProgressBar quiet("never", 10, plain, false);
  }
  const std::string lines = plain.str();
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 10);
  CHECK(lines.find("train  10% 4/40 [") == 0);
  CHECK(lines.find("train 100% 40/40 [") != std::string::npos);
  CHECK(lines.find("loss 0.025\n") != std::string::npos);
  CHECK(lines.find('\r') == std::string::npos);
  {
    ProgressBar bar("train", 4, terminal, true, 80);
    bar.advance(2);
    CHECK(bar.line(10) == "train  50% [###############...............] 2/4 [0:10<0:10, 5.0 s each]");
    CHECK(bar.line(1, {{"loss", 0.5}}) == "train  50% [###############...............] 2/4 [0:01<0:01, 2.0/s] loss 0.5");
    bar.advance(2);
  }
  CHECK(terminal.str().starts_with("\rtrain  50% ["));
  CHECK(terminal.str().ends_with("\x1b[K\n"));
  ProgressBar narrow("a long title", 4, terminal, true, 20);
  CHECK(narrow.line(1).size() < 20);
  ProgressBar empty("", 0, plain, false);
  CHECK(empty.line(0).find("100%") == 0);
}

TEST_CASE("curves as SVG") {
  const std::string svg = io::draw_curve({{"train <a>", {4, 3, 2, 1}}, {"test", {5, NAN, 1, INFINITY}}}, io::CurveOptions("loss & more"));
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("train &lt;a>") != std::string::npos);
  CHECK(svg.find("loss &amp; more") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(svg.find("points=\"64.0,116.0 250.7,196.0 437.3,276.0 624.0,356.0 \"") != std::string::npos);
  CHECK(io::draw_curve({{"flat", {0, 0}}}).find("<polyline") != std::string::npos);
  std::vector<double> many(100000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = std::sin(static_cast<double>(i));
  CHECK(io::draw_curve({{"many", many}}).size() < 40000);
  CHECK(error_of([] { io::draw_curve({{"none", {NAN}}}); }) == "there is nothing to draw: no curve has a finite value");
  CHECK(error_of([] {
          io::draw_curve({{"log", {-1, 0}}}, io::CurveOptions().log_y(true));
        }) == "there is nothing to draw: no curve has a finite value");
}

}  // namespace tenon
