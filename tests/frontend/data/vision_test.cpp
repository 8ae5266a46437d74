// Splits, image transforms, image files and the readers of data sets, against what PyTorch, torchvision,
// scikit-learn and Pillow give (tests/data/loading/make_golden.py), and against damaged files.
#include <tenon/tenon.h>
#include <zlib.h>

#include <doctest/doctest.h>
#include <filesystem>

#include "frontend/golden.h"

using namespace tenon;
namespace fs = std::filesystem;
namespace vision = data::transforms::vision;
using data::datasets::CIFAR10, data::datasets::CIFAR100, data::datasets::FashionMNIST, data::datasets::ImageFolder, data::datasets::MNIST,
    data::datasets::Mode;

namespace {

const nlohmann::json& golden_of_loading() {
  static const nlohmann::json golden = golden::load("loading/golden.json");
  return golden;
}
const std::string kFiles = data_folder() + "/loading/";

template <typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.msg();
  }
  return "nothing";
}
bool has(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) MESSAGE("'" << text << "' has no '" << part << "'");
  return text.find(part) != std::string::npos;
}

std::vector<int64_t> list(const Tensor& t) {
  const Tensor flat = t.to(kLong).flatten().contiguous();
  const int64_t* data = flat.const_data_ptr<int64_t>();
  return {data, data + flat.numel()};
}

Tensor image(int64_t channels, int64_t height, int64_t width) {  // as make_golden.py has it
  const Tensor c = arange(channels).reshape({-1, 1, 1}), y = arange(height).reshape({-1, 1}), x = arange(width);
  return (37 * c + 11 * y + 23 * x + 5 * x * y).remainder(256).to(kByte);
}

// A folder that is empty at first and gone at the end.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("tenon_vision_" + std::to_string(::getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
  std::string root() const { return path.string(); }
  fs::path path;
};

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8), static_cast<char>(value)};
}
std::string idx_images(uint32_t count, uint32_t height, uint32_t width) {
  std::string file = big_endian(2051) + big_endian(count) + big_endian(height) + big_endian(width);
  for (uint32_t i = 0; i < count * height * width; ++i) file += static_cast<char>(i * 7);
  return file;
}
std::string idx_labels(uint32_t count) {
  std::string file = big_endian(2049) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) file += static_cast<char>(i % 10);
  return file;
}
std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
std::string cifar(int labels, int records, int classes) {
  std::string file;
  for (int i = 0; i < records; ++i) {
    if (labels == 2) file += static_cast<char>(i % 20);
    file += static_cast<char>(i % classes);
    for (int j = 0; j < 3072; ++j) file += static_cast<char>(i + j);
  }
  return file;
}

}  // namespace

TEST_CASE("data: train_test_split has scikit-learn's order") {
  for (const auto& c : golden_of_loading()["splits"]) {
    const auto& o = c["options"];
    data::TrainTestSplitOptions options;
    const auto size_of = [](const nlohmann::json& size) {
      return size.is_number_integer() ? Scalar(size.get<int64_t>()) : Scalar(size.get<double>());
    };
    if (o.contains("test_size")) options.test_size(size_of(o["test_size"]));
    if (o.contains("train_size")) options.train_size(size_of(o["train_size"]));
    if (o.contains("random_state")) options.random_state(o["random_state"].get<uint32_t>());
    if (o.contains("shuffle")) options.shuffle(o["shuffle"].get<bool>());
    if (!c["labels"].empty()) options.stratify(tensor(c["labels"].get<std::vector<int64_t>>(), TensorOptions(kLong)));
    CAPTURE(c.dump().substr(0, 120));
    const auto [train, test] = data::train_test_indices(c["size"].get<int64_t>(), options);
    CHECK(list(train) == c["train"].get<std::vector<int64_t>>());
    CHECK(list(test) == c["test"].get<std::vector<int64_t>>());
  }
  const Tensor x = rand({10, 4}), y = arange(10);
  const auto [x_train, x_test, y_train, y_test] = data::train_test_split(x, y, data::TrainTestSplitOptions(0.2).random_state(33));
  CHECK(x_test.size(0) == 2);
  CHECK(equal(x_train, x.index_select(0, y_train)));
  CHECK(equal(x_test, x.index_select(0, y_test)));
  manual_seed(1);
  const auto [a, b] = data::train_test_split(y);
  manual_seed(1);
  CHECK(equal(b, data::train_test_split(y).second));
  CHECK(a.size(0) == 7);
  CHECK(message_of([&] { data::train_test_split(x, arange(9)); }) == "Found input variables with inconsistent numbers of samples: [10, 9]");
  CHECK_THROWS_AS(data::train_test_split(x, 1.5), ValueError);
  CHECK_THROWS_AS(data::train_test_split(x, 10), ValueError);
  CHECK_THROWS_AS(data::train_test_split(x, data::TrainTestSplitOptions(0.6).train_size(0.6)), ValueError);
  CHECK_THROWS_AS(data::train_test_split(x, data::TrainTestSplitOptions(0.5).stratify(arange(10))), ValueError);
  CHECK_THROWS_AS(data::train_test_split(x, data::TrainTestSplitOptions(0.5).stratify(arange(10)).shuffle(false)), ValueError);
}

TEST_CASE("vision: resize") {
  for (const auto& c : golden_of_loading()["resized"]) {
    const auto mode = c["mode"] == "nearest" ? vision::Interpolation::Nearest : vision::Interpolation::Bilinear;
    const Tensor x = image(3, c["height"].get<int64_t>(), c["width"].get<int64_t>());
    const auto size = c["size"].get<std::vector<int64_t>>(), shape = c["shape"].get<std::vector<int64_t>>();
    const bool antialias = c["antialias"].get<bool>();
    CAPTURE(c.dump().substr(0, 100));
    const Tensor bytes = vision::resize(x, size, mode, antialias);
    REQUIRE(bytes.sizes() == IntArrayRef(shape));
    CHECK(list(bytes) == c["bytes"].get<std::vector<int64_t>>());
    const Tensor floats = vision::Resize(size, mode, antialias)(vision::to_tensor(x));
    const Tensor wanted = tensor(c["floats"].get<std::vector<double>>(), TensorOptions(kFloat)).reshape(shape);
    CHECK(allclose(floats, wanted, 0, 5e-7));
  }
}

TEST_CASE("vision: crops, flips and padding draw what torchvision draws") {
  using namespace vision;
  const std::vector<std::pair<std::string, Compose>> transforms = {
      {"crop", Compose(RandomCrop(5))},
      {"padded crop", Compose(RandomCrop(8, 2))},
      {"crop and flip", Compose(RandomCrop({4, 6}, {1, 2}), RandomHorizontalFlip())},
      {"flips", Compose(RandomHorizontalFlip(0.3), RandomVerticalFlip())},
      {"resized crop", Compose(RandomResizedCrop(6))},
      {"wide resized crop", Compose(RandomResizedCrop({4, 5}, {0.5, 0.6}, {3.0, 4.0}))},
      {"center crop", Compose(CenterCrop({5, 12}))},
      {"odd center crop", Compose(CenterCrop(3))},
      {"pad", Compose(Pad({1, 0, 2, 3}, 9))}};
  for (const auto& c : golden_of_loading()["augmented"]) {
    const auto found = std::find_if(transforms.begin(), transforms.end(), [&](const auto& t) { return t.first == c["name"]; });
    REQUIRE(found != transforms.end());
    CAPTURE(found->first);
    manual_seed(11);
    for (const auto& wanted : c["results"]) {
      const Tensor result = found->second(image(3, 8, 10));
      CHECK(result.sizes().vec() == c["shape"].get<std::vector<int64_t>>());
      CHECK(list(result) == wanted.get<std::vector<int64_t>>());
    }
  }
}

TEST_CASE("vision: bytes to floats, normalising, and the wrong images") {
  const Tensor x = vision::to_tensor(image(3, 4, 5));
  CHECK(equal(x, image(3, 4, 5).to(kFloat) / 255));
  const Tensor wanted = tensor(golden_of_loading()["normalized"].get<std::vector<double>>(), TensorOptions(kFloat)).reshape({3, 4, 5});
  const vision::Normalize normalize({0.5, 0.4, 0.3}, {0.25, 0.5, 0.125});
  CHECK(equal(normalize(x), wanted));
  CHECK(equal(normalize(x.to(kDouble)).to(kFloat), wanted.to(kFloat)) == false);      // computed in float64
  CHECK(equal(vision::hflip(x.permute({0, 2, 1})), x.permute({0, 2, 1}).flip({2})));  // strided
  CHECK(equal(vision::vflip(x), x.flip({1})));
  CHECK(equal(vision::crop(x, 1, 2, 2, 3), x.slice(1, 1, 3).slice(2, 2, 5)));
  CHECK(equal(vision::crop(image(1, 2, 2), -1, 1, 2, 2), tensor({0, 0, 23, 0}).reshape({1, 2, 2}).to(kByte)));
  CHECK_THROWS_WITH_AS(vision::to_tensor(image(32, 32, 3)), doctest::Contains("permute({2, 0, 1})"), ValueError);
  CHECK_THROWS_AS(normalize(image(3, 4, 5)), TypeError);
  CHECK_THROWS_AS(vision::normalize(x, {0.5}, {0.0}), ValueError);
  CHECK_THROWS_WITH_AS(vision::RandomCrop(6)(x), doctest::Contains("Required crop size (6, 6) is larger than input image size (4, 5)"),
                       ValueError);
  CHECK_THROWS_AS(vision::resize(x, {0, 1}), ValueError);
  CHECK_THROWS_AS(vision::resize(x, {1, 2, 3}), ValueError);
  CHECK_THROWS_AS(vision::resize(x.to(kDouble), {2, 2}), TypeError);
  CHECK_THROWS_AS(vision::hflip(x[0]), TypeError);
  CHECK_THROWS_AS(vision::pad(x, {-2, -2}), ValueError);
  CHECK_THROWS_AS(vision::pad(image(1, 2, 2), 1, 300), Error);
  const vision::Compose all(vision::Resize(6), vision::CenterCrop(5), vision::ToTensor(), normalize);
  auto set = data::datasets::PairDataset(stack({image(3, 8, 9), image(3, 8, 9)}), arange(2)).map(all).map(data::transforms::Stack<>());
  const std::vector<size_t> both = {0, 1};
  CHECK(set.get_batch(both).data.sizes() == IntArrayRef({2, 3, 5, 5}));
}

TEST_CASE("images: PNG and JPEG files have the pixels that Pillow reads") {
  for (const auto& c : golden_of_loading()["images"]["files"]) {
    const std::string name = c["name"];
    CAPTURE(name);
    const Tensor rgb = io::read_image(kFiles + name, io::ImageMode::RGB), as_is = io::read_image(kFiles + name);
    CHECK(rgb.sizes() == IntArrayRef({3, c["height"].get<int64_t>(), c["width"].get<int64_t>()}));
    CHECK(list(rgb) == c["rgb"].get<std::vector<int64_t>>());
    CHECK(as_is.size(0) == c["channels"]);
    CHECK(io::read_image(kFiles + name, io::ImageMode::RGBAlpha).size(0) == 4);
    CHECK(io::read_image(kFiles + name, io::ImageMode::GrayAlpha).size(0) == 2);
  }
  CHECK(list(io::read_image(kFiles + "rgb.png", io::ImageMode::Gray)) ==
        golden_of_loading()["images"]["gray_of_rgb"].get<std::vector<int64_t>>());
}

TEST_CASE("images: what is written is read again") {
  const Folder folder;
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor x = image(channels, 5, 7);
    CHECK(equal(io::decode_image(io::encode_png(x)), x));
    CHECK(equal(io::decode_image(io::encode_png(x.permute({0, 2, 1}))), x.permute({0, 2, 1})));
  }
  const std::string png = folder.write("x.png", ""), jpeg = folder.write("x.jpg", "");
  io::write_png(image(3, 6, 4), png);
  CHECK(equal(io::read_image(png), image(3, 6, 4)));
  const Tensor smooth = (arange(64).reshape({8, 8}) * 3).expand({3, 8, 8}).to(kByte);
  io::write_jpeg(smooth, jpeg, 100);
  CHECK((io::read_image(jpeg).to(kInt) - smooth.to(kInt)).abs().max().item<int>() <= 3);
  CHECK(io::decode_image(io::encode_jpeg(smooth.slice(0, 0, 1))).size(0) == 1);
  CHECK_THROWS_AS(io::encode_jpeg(image(4, 5, 7)), Error);
  CHECK_THROWS_AS(io::encode_jpeg(image(3, 5, 7), 0), Error);
  CHECK_THROWS_AS(io::encode_png(image(5, 5, 7)), Error);
  CHECK_THROWS_AS(io::encode_png(image(3, 5, 7).to(kFloat)), Error);
  CHECK_THROWS_AS(io::encode_png(image(3, 0, 7)), Error);
  CHECK_THROWS_AS(io::write_png(image(3, 5, 7), folder.root() + "/none/x.png"), Error);
}

TEST_CASE("images: files that are cut off, damaged, or something else, are errors that name them") {
  const Folder folder;
  for (const char* name : {"rgb.png", "palette.png", "rgb.jpg", "progressive.jpg"}) {
    const std::string whole = golden::read(std::string("loading/") + name);
    for (size_t length = 0; length < whole.size() - 12; length += 1 + whole.size() / 60) {
      CAPTURE(name);
      CAPTURE(length);
      const std::string path = folder.write("cut", whole.substr(0, length));
      CHECK(has(message_of([&] { io::read_image(path); }), path + ": "));
    }
  }
  std::string png = golden::read("loading/rgb.png");
  png[18] = '\x7f';  // a width of 8 million
  CHECK(has(message_of([&] { io::read_image(folder.write("wide.png", png)); }), "wide.png: "));
  CHECK(has(message_of([&] { io::read_image(folder.write("x.gif", "GIF89a")); }), "x.gif: byte 0: neither a PNG nor a JPEG"));
  CHECK(has(message_of([&] { io::read_image(folder.root() + "/none.png"); }), "none.png: cannot open"));
}

TEST_CASE("datasets: MNIST's files, plain and compressed") {
  const Folder folder;
  folder.write("train-images-idx3-ubyte", idx_images(12, 3, 4));
  folder.write("train-labels-idx1-ubyte", idx_labels(12));
  folder.write("MNIST/raw/t10k-images-idx3-ubyte.gz", gzip(idx_images(5, 3, 4)));
  folder.write("MNIST/raw/t10k-labels-idx1-ubyte.gz", gzip(idx_labels(5)));
  MNIST train(folder.root()), test(folder.root(), MNIST::Mode::kTest);
  CHECK(train.size() == 12u);
  CHECK(test.size() == 5u);
  CHECK(train.is_train());
  CHECK_FALSE(test.is_train());
  CHECK(train.pixels().sizes() == IntArrayRef({12, 1, 3, 4}));
  CHECK(equal(test.pixels(), train.pixels().slice(0, 0, 5)));
  CHECK(list(train.targets()) == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1});
  const auto sample = train.get(11);
  CHECK(equal(sample.data, train.images()[11]));
  CHECK(equal(sample.data, train.pixels()[11].to(kFloat).div(255)));
  CHECK(sample.target.dim() == 0);
  CHECK(sample.target.item<int64_t>() == 1);
  CHECK_THROWS_AS(train.get(12), IndexError);
  CHECK_THROWS_AS(test.get(5), IndexError);
}

TEST_CASE("datasets: damaged IDX files") {
  const std::string images = idx_images(4, 2, 2), labels = idx_labels(4);
  const auto error = [](const std::string& image_file, const std::string& label_file) {
    const Folder folder;
    folder.write("train-images-idx3-ubyte", image_file);
    folder.write("train-labels-idx1-ubyte", label_file);
    return message_of([&] { MNIST(folder.root()).size(); });
  };
  CHECK(error(images, labels) == "nothing");
  CHECK(error(gzip(images), gzip(labels)) == "nothing");  // told by their first bytes
  CHECK(has(error(labels, images), "train-images-idx3-ubyte: byte 0: the magic number is 2049 (labels) instead of 2051 (images)"));
  CHECK(has(error("\x89PNG...", labels), "neither labels nor images"));
  CHECK(has(error(images, idx_labels(3)), "train-images-idx3-ubyte has 4 images, but "));
  CHECK(has(error(images.substr(0, 2), labels), "train-images-idx3-ubyte: ends within its magic number"));
  CHECK(has(error(images.substr(0, 14), labels), "ends within its sizes"));
  CHECK(has(error(images.substr(0, 20), labels), "byte 16: 16 bytes of images are said to follow, but no more than 4 do"));
  CHECK(has(error(images + "x", labels), "byte 32: holds more than it says"));
  CHECK(has(error(big_endian(2051) + big_endian(~0u) + big_endian(~0u) + big_endian(~0u), labels), "is too large"));
  std::string wrong = labels;
  wrong[10] = 10;
  CHECK(has(error(images, wrong), "train-labels-idx1-ubyte: byte 10: the label 10 is not below 10"));
  CHECK(has(error(images, gzip(wrong)), "(decompressed): byte 10: the label 10"));
  CHECK(has(error(gzip(images).substr(0, 25), labels), "byte 25: the compressed data are cut off"));
  CHECK(has(error(gzip(images) + "x", labels), "holds more than it says"));
  std::string damaged = gzip(images);
  damaged[damaged.size() - 6] ^= 1;  // the checksum
  CHECK(has(error(damaged, labels), "incorrect data check"));
  CHECK(has(message_of([] { MNIST("/nowhere"); }),
            "no such file: /nowhere/train-images-idx3-ubyte, /nowhere/train-images-idx3-ubyte.gz, "
            "/nowhere/MNIST/raw/"));
}

TEST_CASE("datasets: CIFAR's files") {
  const Folder folder;
  for (int i = 1; i <= 3; ++i) folder.write("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", cifar(1, 4, 10));
  folder.write("cifar-10-batches-bin/test_batch.bin", cifar(1, 2, 10));
  const CIFAR10 train(folder.root()), test(folder.root(), Mode::kTest);
  CHECK(train.pixels().sizes() == IntArrayRef({12, 3, 32, 32}));
  CHECK(list(train.targets()) == std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(train.pixels()[5][2][0][7].item<int>() == (1 + 2048 + 7) % 256);
  CHECK(test.size() == 2u);
  CHECK(CIFAR10(folder.root() + "/cifar-10-batches-bin").size() == 12u);
  folder.write("cifar-100-binary/train.bin", cifar(2, 30, 100));
  CHECK(CIFAR100(folder.root()).targets()[29].item<int64_t>() == 29);

  const std::string second = "cifar-10-batches-bin/data_batch_2.bin";
  folder.write(second, cifar(1, 4, 10).substr(0, 4 * 3073 - 1));
  CHECK(
      has(message_of([&] { CIFAR10 set(folder.root()); }), "data_batch_2.bin: byte 12291: ends within record 3; a record has 3073 bytes"));
  folder.write(second, cifar(1, 3, 10));
  CHECK(has(message_of([&] { CIFAR10 set(folder.root()); }), "data_batch_2.bin: byte 9219: has 3 records where the first file has 4"));
  folder.write(second, "");
  CHECK(has(message_of([&] { CIFAR10 set(folder.root()); }), "data_batch_2.bin: is empty"));
  std::string wrong = cifar(1, 4, 10);
  wrong[3073] = 77;
  folder.write(second, wrong);
  CHECK(has(message_of([&] { CIFAR10 set(folder.root()); }), "data_batch_2.bin: byte 3073: the label 77 is not below 10"));
  fs::remove(folder.path / second);
  CHECK(has(message_of([&] { CIFAR10 set(folder.root()); }), "data_batch_2.bin: cannot open"));
  CHECK(has(message_of([&] { CIFAR100 set(folder.root(), Mode::kTest); }), "no such file: "));
}

TEST_CASE("datasets: folders of images") {
  const Folder folder;
  const std::string png = golden::read("loading/rgb.png"), jpeg = golden::read("loading/gray.jpg");
  folder.write("dog/b.png", png);
  folder.write("dog/A/z.JPG", jpeg);
  folder.write("dog/a.jpeg", jpeg);
  folder.write("cat/1.png", png);
  folder.write("cat/notes.txt", "no image");
  ImageFolder set(folder.root());
  CHECK(set.classes() == std::vector<std::string>{"cat", "dog"});
  std::vector<std::string> names;
  for (const auto& [path, label] : set.samples()) names.push_back(path.substr(folder.root().size() + 1) + "=" + std::to_string(label));
  CHECK(names == std::vector<std::string>{"cat/1.png=0", "dog/a.jpeg=1", "dog/b.png=1", "dog/A/z.JPG=1"});
  CHECK(set.get(1).data.sizes() == IntArrayRef({3, 9, 7}));
  CHECK(set.get(2).target.item<int64_t>() == 1);
  CHECK_THROWS_AS(set.get(4), IndexError);
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      std::move(set).map(vision::Compose(vision::Resize({4, 4}), vision::ToTensor())).map(data::transforms::Stack<>()),
      data::DataLoaderOptions(4).workers(2));
  CHECK((*loader->begin()).data.sizes() == IntArrayRef({4, 3, 4, 4}));
  fs::create_directories(folder.path / "empty");
  CHECK(has(message_of([&] { ImageFolder(folder.root()).size(); }), "Found no valid file for the classes empty."));
  CHECK(has(message_of([&] { ImageFolder(folder.root() + "/cat").size(); }), "Couldn't find any class folder in "));
  CHECK(has(message_of([&] { ImageFolder("/nowhere").size(); }), "/nowhere: cannot read: "));
}
