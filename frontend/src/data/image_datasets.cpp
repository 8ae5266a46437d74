// Readers of MNIST's and CIFAR's files, and folders of images.
//
//   IDX     0 0 8 dims, then the size of each dim (big endian, 4 bytes), then the bytes
//   CIFAR   label (CIFAR-100: coarse label, fine label), 1024 red, 1024 green, 1024 blue; again and again
#include "tenon/data/image_datasets.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "frontend/src/data/elements.h"
#include "frontend/src/data/image_files.h"
#include "frontend/src/io/gzip.h"
#include "ir/base/text.h"
#include "tenon/creation.h"
#include "tenon/image.h"

namespace tenon::data::datasets {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCifarPixels = 3 * 32 * 32;
constexpr int64_t kMostElements = int64_t{1} << 40;

// The file among these names in these folders that is there; Error that names them all.
std::string find_file(const std::vector<std::string>& folders, const std::vector<std::string>& names) {
  std::string tried;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const std::string path = (fs::path(folder) / name).string();
      std::error_code error;
      if (fs::exists(path, error)) return path;
      tried += (tried.empty() ? "" : ", ") + path;
    }
  }
  throw Error("no such file: " + tried);
}

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

const char* content_of(int dims) { return dims == 1 ? "labels" : dims == 3 ? "images" : "neither labels nor images"; }

// The sizes behind the magic number, which has been read, checked against what the source can hold.
Dims idx_sizes(io::Source& source, const unsigned char* magic_bytes, int dims) {
  const uint32_t magic = big_endian(magic_bytes), wanted = 0x800 + static_cast<uint32_t>(dims);
  check(magic == wanted, source.name(), ": byte 0: the magic number is ", magic, " (",
        content_of(magic >> 8 == 8 ? static_cast<int>(magic & 255) : 0), ") instead of ", wanted, " (", content_of(dims), ")");
  Dims sizes;
  int64_t elements = 1;
  for (int d = 0; d < dims; ++d) {
    unsigned char word[4];
    source.read(word, 4, "sizes");
    const int64_t size = big_endian(word);
    check(size == 0 || elements <= kMostElements / size, source.name(), ": byte ", 4 + 4 * d, ": the size ", size, " is too large");
    elements *= size;
    sizes.push_back(size);
  }
  check(static_cast<uint64_t>(elements) <= source.remaining(), source.name(), ": byte ", 4 + 4 * dims, ": ", elements, " bytes of ",
        content_of(dims), " are said to follow, but no more than ", source.remaining(), " do");
  return sizes;
}

Tensor labels_of(const io::Source& source, const unsigned char* labels, int64_t count, int classes, size_t first, size_t step) {
  NewTensor targets(kLong, {count});
  for (int64_t i = 0; i < count; ++i) {
    check(labels[i] < classes, source.name(), ": byte ", first + at(i) * step, ": the label ", int{labels[i]}, " is not below ", classes);
    targets.as<int64_t>()[i] = labels[i];
  }
  return std::move(targets).done();
}

Tensor read_idx_body(io::Source& source, const unsigned char* magic, int dims, int classes) {
  const Dims sizes = idx_sizes(source, magic, dims);
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  const auto buffer = source.read_elements(kByte, at(count), content_of(dims));
  if (dims == 1) return labels_of(source, static_cast<const unsigned char*>(buffer->data()), count, classes, 8, 1);
  return tensor_from_buffer(DType::U8, ref(sizes), buffer);
}

}  // namespace

namespace detail {

Tensor read_idx(io::Source& source, int dims, int classes) {
  std::string magic = source.read_text(4, "magic number");
  const auto bytes = [&] { return reinterpret_cast<const unsigned char*>(magic.data()); };
  if (magic.starts_with("\x1f\x8b")) {
    io::GzipSource plain(source, magic);
    magic = plain.read_text(4, "magic number");
    Tensor result = read_idx_body(plain, bytes(), dims, classes);
    plain.finish();
    return result;
  }
  Tensor result = read_idx_body(source, bytes(), dims, classes);
  check(source.remaining() == 0, source.name(), ": byte ", source.size() - source.remaining(), ": holds more than it says");
  return result;
}

LabelledImages read_mnist(const std::string& root, const char* name, Mode mode) {
  const std::string start = mode == Mode::kTrain ? "train-" : "t10k-";
  const std::vector<std::string> folders = {root, (fs::path(root) / name / "raw").string()};
  const auto open = [&](const char* rest) { return find_file(folders, {start + rest, start + rest + ".gz"}); };
  io::FileSource image_file(open("images-idx3-ubyte")), label_file(open("labels-idx1-ubyte"));
  const Tensor pixels = read_idx(image_file, 3, 0), targets = read_idx(label_file, 1, 10);
  check(pixels.size(0) == targets.size(0), image_file.name(), " has ", pixels.size(0), " images, but ", label_file.name(), " has ",
        targets.size(0), " labels");
  return {pixels.unsqueeze(1), targets};
}

void read_cifar_file(io::Source& source, int labels, int classes, CifarRecords& out) {
  const size_t record = static_cast<size_t>(labels) + kCifarPixels;
  const uint64_t count = source.remaining() / record;
  check(source.remaining() % record == 0, source.name(), ": byte ", source.remaining(), ": ends within record ", count, "; a record has ",
        record, " bytes");
  check(count > 0, source.name(), ": is empty");
  for (uint64_t i = 0; i < count; ++i) {
    unsigned char label[2];
    source.read(label, static_cast<size_t>(labels), "labels");
    const int target = label[labels - 1];
    check(target < classes, source.name(), ": byte ", i * record + static_cast<size_t>(labels) - 1, ": the label ", target,
          " is not below ", classes);
    out.targets.push_back(target);
    out.pixels += source.read_text(kCifarPixels, "pixels");
  }
}

LabelledImages read_cifar(const std::string& root, Mode mode, int labels, int classes) {
  const bool ten = classes == 10;
  const std::vector<std::string> folders = {root, (fs::path(root) / (ten ? "cifar-10-batches-bin" : "cifar-100-binary")).string()};
  CifarRecords records;
  size_t in_first = 0;
  const auto read = [&](const std::string& path) {
    io::FileSource source(path);
    const size_t before = records.targets.size();
    read_cifar_file(source, labels, classes, records);
    const size_t count = records.targets.size() - before;
    if (before == 0) in_first = count;
    check(count == in_first, path, ": byte ", source.size(), ": has ", count, " records where the first file has ", in_first);
  };
  if (mode == Mode::kTest || !ten) {
    read(find_file(folders, {mode == Mode::kTrain ? "train.bin" : ten ? "test_batch.bin" : "test.bin"}));
  } else {
    const fs::path folder = fs::path(find_file(folders, {"data_batch_1.bin"})).parent_path();
    int last = 1;
    for (int i = 1; i <= 5; ++i) {
      if (fs::exists(folder / text("data_batch_", i, ".bin"))) last = i;
    }
    for (int i = 1; i <= last; ++i) read((folder / text("data_batch_", i, ".bin")).string());
  }
  NewTensor pixels(kByte, {static_cast<int64_t>(records.targets.size()), 3, 32, 32});
  std::memcpy(pixels.as<char>(), records.pixels.data(), records.pixels.size());
  return {std::move(pixels).done(), tensor(records.targets, TensorOptions(kLong))};
}

Example<> sample_of(const LabelledImages& images, size_t index) {
  const Tensor& pixels = images.pixels;
  check<IndexError>(index < at(pixels.size(0)), "index ", index, " is out of range for a dataset of ", pixels.size(0), " samples");
  const std::vector<int64_t> sizes = {pixels.size(1), pixels.size(2), pixels.size(3)};
  NewTensor image(kFloat, sizes), target(kLong, {});
  const int64_t count = sizes[0] * sizes[1] * sizes[2];
  const HostElementsOf bytes(pixels), targets(images.targets);
  const unsigned char* in = bytes.as<unsigned char>() + index * at(count);
  auto* out = image.as<float>();
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) / 255.0f;
  *target.as<int64_t>() = targets.as<int64_t>()[index];
  return {std::move(image).done(), std::move(target).done()};
}

}  // namespace detail

MNIST::MNIST(const std::string& root, Mode mode) : ImageDataset(detail::read_mnist(root, "MNIST", mode), mode) {}
FashionMNIST::FashionMNIST(const std::string& root, Mode mode) : ImageDataset(detail::read_mnist(root, "FashionMNIST", mode), mode) {}
FashionMNIST::FashionMNIST(Mode mode) : FashionMNIST("/usr/share/datasets/fashion-mnist", mode) {}
CIFAR10::CIFAR10(const std::string& root, Mode mode) : ImageDataset(detail::read_cifar(root, mode, 1, 10), mode) {}
CIFAR100::CIFAR100(const std::string& root, Mode mode) : ImageDataset(detail::read_cifar(root, mode, 2, 100), mode) {}

namespace {

bool is_image(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = ir::to_lower(c);
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

// The images below a folder: folder after folder in the order of their paths, and in each in the order of
// names.
std::vector<std::string> images_below(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> found;  // folder, path
  const auto options = fs::directory_options::follow_directory_symlink;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, options)) {
    if (entry.is_regular_file() && is_image(entry.path())) found.emplace_back(entry.path().parent_path().string(), entry.path().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [parent, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace

ImageFolder::ImageFolder(const std::string& root) try {
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.is_directory()) classes_.push_back(entry.path().filename().string());
  }
  std::sort(classes_.begin(), classes_.end());
  check(!classes_.empty(), "Couldn't find any class folder in ", root, ".");
  std::string empty;
  for (size_t c = 0; c < classes_.size(); ++c) {
    const std::vector<std::string> paths = images_below(fs::path(root) / classes_[c]);
    if (paths.empty()) empty += (empty.empty() ? "" : ", ") + classes_[c];
    for (const std::string& path : paths) samples_.emplace_back(path, static_cast<int64_t>(c));
  }
  check(empty.empty(), "Found no valid file for the classes ", empty, ". Supported extensions are: .jpg, .jpeg, .png");
} catch (const fs::filesystem_error& e) {
  throw Error(e.path1().string() + ": cannot read: " + error_text(e.code().value()));
}

Example<> ImageFolder::get(size_t index) {
  check<IndexError>(index < samples_.size(), "index ", index, " is out of range for a dataset of ", samples_.size(), " samples");
  const auto& [path, label] = samples_[index];
  return {io::read_image(path, io::ImageMode::RGB), tensor(label)};
}

}  // namespace tenon::data::datasets
