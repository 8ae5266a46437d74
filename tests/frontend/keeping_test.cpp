// Keeping: archives, checkpoints that go on bit for bit, files that are whole whatever happens while they are written.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "values.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::values;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_keeping_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path), {})); }
};

struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(3, 5));
    norm = register_module("norm", nn::BatchNorm1d(5));
    last = register_module("last", nn::Linear(5, 2));
  }
  Tensor forward(const Tensor& x) { return last(relu(norm(first(x)))); }
  nn::Linear first{nullptr}, last{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TENON_MODULE(Net);

// One training whose state all lies in what a checkpoint holds.
struct Training {
  explicit Training(const std::string& path)
      : optimizer(net->parameters(), optim::AdamOptions(0.01).amsgrad(true)), schedule(optimizer, 7),
        plateau(optimizer, optim::ReduceLROnPlateau::min, 0.5, 1), checkpoint(path) {
    checkpoint.add("model", *net).add("optimizer", optimizer).add("schedule", schedule).add("plateau", plateau);
    checkpoint.add("epoch", epoch).add("average", average).add("best", best).add("note", note);
  }
  void run_epoch() {
    const NoGradGuard no_grad;
    const Tensor x = randn({8, 3}), out = net(x);
    for (const Tensor& p : net->parameters()) p.mutable_grad() = randn(p.sizes()) + out.mean();
    optimizer.step();
    schedule.step();
    plateau.step(static_cast<float>(epoch % 3));
    average = average.defined() ? average * 0.9 + out.mean() : out.mean();
    best = 1.0 / 3 + static_cast<double>(++epoch);
    note = "epoch \"" + std::to_string(epoch) + "\"\n";
  }
  Net net;
  optim::Adam optimizer;
  optim::CosineAnnealingLR schedule;
  optim::ReduceLROnPlateau plateau;
  int64_t epoch = 0;
  double best = INFINITY;
  Tensor average;
  std::string note;
  io::Checkpoint checkpoint;
};

bool same_state(const Training& a, const Training& b) {
  const auto x = a.net->state_dict(), y = b.net->state_dict();
  for (const auto& item : x) {
    if (!equal(item.value(), y[item.key()])) return false;
  }
  return equal(a.average, b.average) && a.best == b.best && a.epoch == b.epoch && a.note == b.note &&
         a.schedule.get_last_lr() == b.schedule.get_last_lr();
}

}  // namespace

TEST_CASE("archives hold tensors, values and archives, also in a file") {
  const Folder folder;
  serialize::OutputArchive out, inner;
  inner.write("x", arange(4));
  inner.write("n", IValue(-3));
  out.write("inner", inner);
  out.write("y", tensor({0.5, 2.0}));
  const std::vector<IValue> kept = {true, false, 7, 0.1, 1e300, -INFINITY, 3.0, "a \"b\"\n\xc3\xa9", std::vector<double>{0.9, 1}, {}};
  for (size_t i = 0; i < kept.size(); ++i) out.write("v" + std::to_string(i), kept[i]);
  CHECK(error_of([&] { out.write("y", zeros({1})); }) == "the archive has a tensor 'y' already");
  CHECK(error_of([&] { out.write("z", Tensor()); }) == "cannot write 'z' to an archive: the tensor is undefined");
  const std::string file = folder / "a.safetensors";
  out.save_to(file);
  serialize::InputArchive in, nested;
  in.load_from(file);
  for (size_t i = 0; i < kept.size(); ++i) {
    IValue value;
    in.read("v" + std::to_string(i), value);
    CHECK(value.to_text() == kept[i].to_text());
    CHECK(value.isDouble() == kept[i].isDouble());
  }
  in.read("inner", nested);
  Tensor x;
  nested.read("x", x);
  CHECK(equal(x, arange(4)));
  IValue n;
  nested.read("n", n);
  CHECK(n.toInt() == -3);
  CHECK(nested.keys() == std::vector<std::string>{"x", "n"});
  Tensor y = zeros({2}, kDouble), alias = y;
  in.read("y", y);
  CHECK(values(alias) == std::vector<double>{0.5, 2});
  Tensor none;
  CHECK(!in.try_read("none", none));
  CHECK(error_of([&] { nested.read("weight", none); }) == file + ": No such serialized tensor 'inner.weight'");
  CHECK(error_of([&] { in.read("none", nested); }) == file + ": No such serialized submodule: 'none'");
  CHECK(error_of([&] { n.toDouble(); }) == "expected a float, but the value is -3");
  CHECK(IValue::from_text("[0.9, 1, inf ]").toDoubleVector() == std::vector<double>{0.9, 1, INFINITY});  // as Python's json
  for (const char* text : {"[0.9 1]", "[,]", "[1", "nul", ""}) CHECK(error_of([&] { IValue::from_text(text); }) != "no error");
}

TEST_CASE("modules and optimizers are saved and loaded, by name") {
  const Folder folder;
  Net a, b;
  a->norm->running_mean.fill_(3);
  serialize::OutputArchive out;
  a->save(out);
  serialize::InputArchive in(out);
  b->load(in);
  for (const auto& item : a->state_dict()) CHECK(equal(item.value(), b->state_dict()[item.key()]));
  save(a, folder / "net.safetensors");  // the same names
  serialize::InputArchive file;
  file.load_from(folder / "net.safetensors");
  b->load(file);
  nn::Linear other(3, 4);
  serialize::InputArchive first;
  file.read("first", first);
  CHECK(error_of([&] { other->load(first); }) ==
        (folder / "net.safetensors") + ": 'first.weight': has shape [5, 3], and the module's is [4, 3]");
  optim::SGD one(a->parameters(), optim::SGDOptions(0.1).momentum(0.9)), two(b->parameters(), optim::SGDOptions(0.5));
  for (const Tensor& p : a->parameters()) p.mutable_grad() = ones_like(p);
  one.step();
  save(one, folder / "sgd.safetensors");
  load(two, folder / "sgd.safetensors");
  CHECK(two.options() == one.options());
  const auto& state = static_cast<optim::SGDParamState&>(*two.state().at(b->parameters()[0].unsafeGetTensorImpl()));
  CHECK(values(state.momentum_buffer())[0] == 1);
}

TEST_CASE("a training that is resumed goes on bit for bit") {
  const Folder folder;
  const std::string file = folder / "run.safetensors";
  manual_seed(11);
  Training one(file);
  CHECK(!one.checkpoint.load_if_there());
  for (int i = 0; i < 5; ++i) one.run_epoch();
  one.net->eval();
  one.checkpoint.save();
  for (int i = 0; i < 6; ++i) one.run_epoch();

  manual_seed(99);
  Training two(file);
  two.run_epoch();
  CHECK(two.checkpoint.load_if_there());
  CHECK(two.epoch == 5);
  CHECK(!two.net->is_training());
  for (int i = 0; i < 6; ++i) two.run_epoch();
  CHECK(same_state(one, two));
}

TEST_CASE("a checkpoint is loaded all or not at all") {
  const Folder folder;
  const std::string file = folder / "run.safetensors";
  manual_seed(3);
  Training one(file);
  one.run_epoch();
  one.checkpoint.save();
  manual_seed(4);
  Training two(file), as_it_was(file);
  two.run_epoch();
  manual_seed(4);
  Training again(file);
  Training unused(file);
  again.net->load_state_dict(two.net->state_dict());
  int64_t more = 0;
  two.checkpoint.add("more", more);
  const auto before = two.net->state_dict();
  std::vector<Tensor> copies;
  for (const auto& item : before) copies.push_back(item->clone());
  const int64_t epoch = two.epoch;
  CHECK(error_of([&] { two.checkpoint.load(); }) == file + ": this checkpoint has no 'more'");
  size_t i = 0;
  for (const auto& item : two.net->state_dict()) CHECK(equal(item.value(), copies[i++]));
  CHECK(two.epoch == epoch);
  int64_t number = 0;
  io::Checkpoint wrong(file);
  wrong.add("note", number);
  CHECK(error_of([&] { wrong.load(); }).find("expected a whole number, but the value is") != std::string::npos);
  CHECK(error_of([&] { wrong.add("a.b", number); }) == "Checkpoint: 'a.b' is no name: it is empty or has a dot");
  fs::resize_file(file, fs::file_size(file) - 3);
  CHECK(error_of([&] { one.checkpoint.load(); }).find(file + ": safetensors: ") == 0);
}

TEST_CASE("what replaces a file keeps its rights, and follows a link") {
  const Folder folder;
  const std::string file = folder / "a.npy", link = folder / "link.npy";
  io::save_npy(file, zeros({2}));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a.npy", link);
  io::save_npy(link, ones({3}));
  CHECK(fs::is_symlink(link));
  CHECK(io::load_npy(file).size(0) == 3);
  CHECK((fs::status(file).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(folder.files() == 2);
  CHECK(error_of([&] { io::save_npy((folder / "no") + "/a.npy", ones({1})); }) ==
        (folder / "no") + "/a.npy: cannot write: No such file or directory");
}

TEST_CASE("a full disk leaves the old file, and nothing else") {
  const Folder folder;
  const std::string tensors = folder / "a.safetensors", archive = folder / "a.npz", single = folder / "a.npy";
  const Tensor small = full({16}, 5.0), big = zeros({100000});
  eval(small, big);
  save(small, tensors);
  io::save_npz(archive, {{"x", small}});
  io::save_npy(single, small);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20000, 20000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string full = ": cannot write: ";
    const bool right = error_of([&] { save(big, tensors); }).starts_with(tensors + full) &&
                       error_of([&] { io::save_npz(archive, {{"x", big}}); }).starts_with(archive + full) &&
                       error_of([&] { io::save_npy(single, big); }).starts_with(single + full);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  Tensor loaded;
  load(loaded, tensors);
  CHECK(equal(loaded, small));
  CHECK(equal(io::load_npz(archive)["x"], small));
  CHECK(equal(io::load_npy(single), small));
  CHECK(folder.files() == 3);
}

TEST_CASE("a save that is killed leaves the old file or the new one, whole") {
  const Folder folder;
  const std::string file = folder / "a.safetensors";
  constexpr int64_t kSize = 50000;
  const auto save_number = [&](int64_t k) { save(full({kSize}, static_cast<double>(k), kDouble), file); };
  save_number(0);
  std::mt19937 random(5);
  int grown = 0;
  double last = 0;
  for (int round = 0; round < 100; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int64_t k = static_cast<int64_t>(last) + 1;; ++k) save_number(k);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 12000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Tensor found;
    load(found, file);
    REQUIRE(found.numel() == kSize);
    const double first = found[0].item<double>();
    REQUIRE(found.eq(first).all().item<bool>());
    REQUIRE(first >= last);
    grown += first > last;
    last = first;
  }
  CHECK(grown > 10);  // some were killed late enough
}

}  // namespace tenon
