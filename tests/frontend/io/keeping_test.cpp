// Keeping: archives, checkpoints that go on bit for bit, files that are whole whatever happens while they are written.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <thread>

#include "frontend/values.h"

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
      : optimizer(net->parameters(), optim::AdamOptions(0.01).amsgrad(true)),
        schedule(optimizer, 7),
        plateau(optimizer, optim::ReduceLROnPlateau::min, 0.5, 1),
        checkpoint(path) {
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

namespace {

// A module whose child reads something of its own, and so may fail when its parent has loaded half of it.
struct CountedImpl : nn::Module {
  CountedImpl() { fc = register_module("fc", nn::Linear(2, 2)); }
  void save(serialize::OutputArchive& archive) const override {
    nn::Module::save(archive);
    archive.write("count", IValue(count));
  }
  void load(serialize::InputArchive& archive) override {
    nn::Module::load(archive);
    IValue found;
    archive.read("count", found);
    count = found.toInt();
  }
  nn::Linear fc{nullptr};
  int64_t count = 1;
};
TENON_MODULE(Counted);
struct WholeImpl : nn::Module {
  WholeImpl() {
    first = register_module("first", nn::Linear(3, 2));
    norm = register_module("norm", nn::BatchNorm1d(2));
    counted = register_module("counted", Counted());
    last = register_module("last", nn::Linear(2, 4));
  }
  nn::Linear first{nullptr}, last{nullptr};
  nn::BatchNorm1d norm{nullptr};
  Counted counted{nullptr};
};
TENON_MODULE(Whole);

// What a module and its optimizer are, as one list.
std::vector<Tensor> state_of(const Whole& net, optim::Optimizer& optimizer) {
  std::vector<Tensor> state;
  for (const auto& item : net->state_dict()) state.push_back(item->clone());
  for (const Tensor& p : net->parameters()) {
    const auto found = optimizer.state().find(p.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    for (const Tensor& tensor : found->second->tensors()) state.push_back(tensor.clone());
  }
  return state;
}

// A file's tensors and values, one of them changed, and what the error says then.
struct Fault {
  std::string what, error;
  std::function<void(io::NamedTensors& tensors, io::Metadata& values)> change;
};
template <typename Items, typename Change>
Items changed(const Items& items, const std::string& name, Change change) {
  Items result;
  for (const auto& [key, value] : items) {
    if constexpr (std::is_same_v<Items, io::NamedTensors>) {
      if (key != name) result.insert(key, value);
      else if (const auto other = change(value)) result.insert(key, *other);
    } else {
      if (key != name) result.emplace_back(key, value);
      else if (const auto other = change(value)) result.emplace_back(key, *other);
    }
  }
  return result;
}
Fault without(const std::string& name) {
  return {name, name.starts_with("generator") ? "no 'generator'" : name.substr(name.rfind('.') + 1),
          [name](io::NamedTensors& tensors, io::Metadata& values) {
            tensors = changed(tensors, name, [](const Tensor&) { return optional<Tensor>(); });
            values = changed(values, name, [](const std::string&) { return optional<std::string>(); });
          }};
}
Fault reshaped(const std::string& name) {
  return {name, name.starts_with("generator") ? "state" : "shape", [name](io::NamedTensors& tensors, io::Metadata&) {
            tensors = changed(tensors, name, [](const Tensor& x) { return optional<Tensor>(stack({x, x})); });
          }};
}
Fault valued(const std::string& name, const char* value, const char* error) {
  return {name, error, [name, value](io::NamedTensors&, io::Metadata& values) {
            values = changed(values, name, [value](const std::string&) { return optional<std::string>(value); });
          }};
}

}  // namespace

TEST_CASE("streams, buffers and functions take and give what files do; a module's own save and load are used") {
  const Folder folder;
  manual_seed(4);
  Whole net, other;
  net->counted->count = 7;
  const auto trained = [](Whole& whole) {
    auto adam = std::make_unique<optim::Adam>(whole->parameters(), optim::AdamOptions(0.01));
    for (const Tensor& p : whole->parameters()) p.mutable_grad() = ones_like(p);
    adam->step();
    return adam;
  };
  const auto adam = trained(net), other_adam = trained(other);
  const std::vector<Tensor> list = {arange(3), randn({2, 2}), full({}, true)};

  // Each way to write, as text, and each way to read it.
  const auto written = [](const auto& value, int way) {
    std::ostringstream stream;
    std::string collected;
    if (way == 0) save(value, stream);
    else save(value, [&](const void* data, size_t bytes) { return collected.append(static_cast<const char*>(data), bytes), bytes; });
    return way == 0 ? stream.str() : collected;
  };
  const auto read = [](auto& value, const std::string& bytes, int way) {
    if (way == 0) {
      std::istringstream stream("before" + bytes);
      stream.ignore(6);
      load(value, stream);
    } else if (way == 1) {
      load(value, bytes.data(), bytes.size());
    } else {
      load(
          value, [&](uint64_t at, void* to, size_t count) { return bytes.copy(static_cast<char*>(to), std::min<size_t>(count, 100), at); },
          [&] { return bytes.size(); }, Device(kCPU));
    }
  };
  save(net, folder / "net");
  std::ifstream file(folder / "net", std::ios::binary);
  const std::string on_disk{std::istreambuf_iterator<char>(file), {}};
  for (int out = 0; out < 2; ++out) {
    CHECK(written(net, out) == on_disk);
    for (int in = 0; in < 3; ++in) {
      CAPTURE(out);
      CAPTURE(in);
      other->counted->count = 1;
      for (const Tensor& p : other->parameters()) p.data().zero_();
      read(other, written(net, out), in);
      read(*other_adam, written(*adam, out), in);
      CHECK(other->counted->count == 7);
      const auto wanted = state_of(net, *adam), got = state_of(other, *other_adam);
      REQUIRE(wanted.size() == got.size());
      for (size_t i = 0; i < wanted.size(); ++i) CHECK(equal(wanted[i], got[i]));
      std::vector<Tensor> tensors;
      read(tensors, written(list, out), in);
      REQUIRE(tensors.size() == 3);
      for (size_t i = 0; i < 3; ++i) CHECK(equal(tensors[i], list[i]));
      Tensor tensor;
      read(tensor, written(list[1], out), in);
      CHECK(equal(tensor, list[1]));
    }
  }
  const auto before = state_of(net, *adam);
  const std::string bytes = written(net, 0);
  for (const size_t cut : {size_t{0}, size_t{7}, size_t{60}, bytes.size() - 1}) {
    for (int in = 0; in < 3; ++in)
      CHECK(error_of([&] { read(net, bytes.substr(0, cut), in); }).starts_with(in == 1 ? "buffer: " : "stream: "));
  }
  std::istringstream ended;
  ended.setstate(std::ios::failbit);
  CHECK(error_of([&] { load(net, ended); }) == "stream: cannot read");
  CHECK(error_of([&] {
          load(
              net, [](uint64_t, void*, size_t) { return size_t{0}; }, [] { return size_t{9}; });
        }) == "stream: cannot read 9 bytes at 0");
  std::ostringstream full;
  full.setstate(std::ios::badbit);
  CHECK(error_of([&] { save(net, full); }) == "stream: cannot write");
  CHECK(error_of([&] { save(net, [](const void*, size_t count) { return count / 2; }); }) == "stream: cannot write");
  const auto after = state_of(net, *adam);
  for (size_t i = 0; i < before.size(); ++i) CHECK(equal(before[i], after[i]));

  // All keys that do not fit are in the message, not the first only; what a file has beyond the module is passed over.
  nn::Sequential smaller(nn::Linear(3, 2)), larger(nn::Linear(3, 2), nn::Linear(2, 2)), wider(nn::Linear(4, 2), nn::Linear(2, 2));
  save(larger, folder / "larger");
  load(smaller, folder / "larger");
  CHECK(equal(smaller->parameters()[0], larger->parameters()[0]));
  const std::string all = error_of([&] { save(smaller, folder / "smaller"), load(wider, folder / "smaller"); });
  for (const char* part : {"Missing key(s)", "\"1.weight\", \"1.bias\"", "size mismatch for 0.weight"})
    CHECK(all.find(part) != std::string::npos);
}

TEST_CASE("what cannot be loaded changes nothing: modules, optimizers, checkpoints with one fault, and cut off anywhere") {
  const Folder folder;
  const std::string file = folder / "a.safetensors", bad = folder / "bad.safetensors";
  manual_seed(1);
  const auto make = [] {
    Whole net;
    auto adam = std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(0.01).amsgrad(true));
    for (const Tensor& p : net->parameters()) p.mutable_grad() = randn(p.sizes());
    adam->step();
    return std::make_pair(net, std::move(adam));
  };
  auto [net, adam] = make();
  auto [other, other_adam] = make();
  other->counted->count = 5;
  struct Kind {
    const char* what;
    std::function<void()> save;
    std::function<void(const std::string&)> load;
    std::vector<Fault> faults;
  };
  const Kind kinds[] = {
      {"archive of a module",
       [&] {
         serialize::OutputArchive archive;
         other->save(archive);
         archive.save_to(file);
       },
       [&](const std::string& path) {
         serialize::InputArchive archive;
         archive.load_from(path);
         net->load(archive);
       },
       {reshaped("last.bias"), without("last.weight"), without("norm.running_var"), reshaped("counted.fc.weight"), without("counted.count"),
        valued("counted.count", "0.5", "expected a whole number"), valued("counted.count", "five", "'counted.count': 'five'")}},
      {"module by name",
       [&] { save(other, file); },
       [&](const std::string& path) { load(net, path); },
       {reshaped("last.bias"), without("last.weight"), reshaped("norm.num_batches_tracked")}},
      {"optimizer",
       [&] { save(*other_adam, file); },
       [&](const std::string& path) { load(*adam, path); },
       {reshaped("state.7.exp_avg"), reshaped("state.0.max_exp_avg_sq"), without("state.7.step"), without("group.0.lr"), without("groups"),
        valued("group.0.params", "3", "3 parameters, and the optimizer's has 8"),
        valued("group.0.betas", "[0.9]", "'group.0.betas': expected two numbers"), valued("group.0.amsgrad", "1", "expected a bool")}},
      {"checkpoint",
       [&] {
         io::Checkpoint checkpoint(file);
         checkpoint.add("net", *other).add("adam", *other_adam).save();
       },
       [&](const std::string& path) {
         io::Checkpoint checkpoint(path);
         checkpoint.add("net", *net).add("adam", *adam).load();
       },
       {reshaped("net.last.bias"), without("net.first.weight"), reshaped("adam.state.7.exp_avg"), without("adam.state.7.step"),
        without("generator.state"), reshaped("generator.state")}}};
  const Tensor generator = get_rng_state();
  const std::vector<Tensor> before = state_of(net, *adam);
  eval(before);
  const auto check_unchanged = [&] {
    const std::vector<Tensor> after = state_of(net, *adam);
    REQUIRE(after.size() == before.size());
    for (size_t i = 0; i < after.size(); ++i) CHECK(equal(after[i], before[i]));
    CHECK(adam->options().lr() == 0.01);
    CHECK(equal(get_rng_state(), generator));
  };
  for (const Kind& kind : kinds) {
    CAPTURE(std::string(kind.what));
    kind.save();
    io::Metadata values;
    const io::NamedTensors tensors = io::load_safetensors(file, &values);
    for (const Fault& fault : kind.faults) {
      CAPTURE(fault.what);
      io::NamedTensors some = tensors;
      io::Metadata others = values;
      fault.change(some, others);
      io::save_safetensors(bad, some, others);
      const std::string error = error_of([&] { kind.load(bad); });
      CAPTURE(error);
      CHECK(error.find(fault.error) != std::string::npos);
      check_unchanged();
    }
    for (uintmax_t size = 0; size < fs::file_size(file); size += 97) {
      fs::copy_file(file, bad, fs::copy_options::overwrite_existing);
      fs::resize_file(bad, size);
      CHECK(error_of([&] { kind.load(bad); }).starts_with(bad + ": "));
    }
    check_unchanged();
  }
  kinds[0].save();  // and a good one does
  kinds[0].load(file);
  CHECK(net->counted->count == 5);
  CHECK(equal(net->last->bias, other->last->bias));
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
    const bool right = error_of([&] { save(big, tensors); }).starts_with(tensors + full) && error_of([&] {
                                                                                              io::save_npz(archive, {{"x", big}});
                                                                                            }).starts_with(archive + full) &&
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
  constexpr int64_t kSize = 50000;
  for (const bool whole_training : {false, true}) {
    CAPTURE(whole_training);
    const Folder folder;
    const std::string file = folder / "a.safetensors";
    int64_t number = 0;
    Tensor tensor;
    io::Checkpoint checkpoint(file);
    checkpoint.add("number", number).add("tensor", tensor);
    const auto save_number = [&](int64_t k) {
      number = k;
      tensor = full({kSize}, static_cast<double>(k), kDouble);
      whole_training ? checkpoint.save() : save(tensor, file);
    };
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
      whole_training ? checkpoint.load() : load(tensor, file);
      REQUIRE(tensor.numel() == kSize);
      const double first = tensor[0].item<double>();
      REQUIRE(tensor.eq(first).all().item<bool>());
      REQUIRE(first >= last);
      if (whole_training) REQUIRE(static_cast<double>(number) == first);
      grown += first > last;
      last = first;
    }
    CHECK(grown > 10);  // some were killed late enough
  }
}

}  // namespace tenon
