// Loaders, datasets, samplers and transforms: LibTorch's behaviour, the same batches for any number of
// workers, and what happens when workers fail, are slow, or are no longer wanted.
#include <tenon/tenon.h>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "frontend/golden.h"

using namespace tenon;
using namespace std::chrono_literals;
using data::DataLoaderOptions, data::Example, data::TensorExample;
using data::datasets::PairDataset, data::datasets::TensorDataset;
using data::samplers::RandomSampler, data::samplers::SequentialSampler;
using data::transforms::Stack;

namespace {

using Indices = std::vector<size_t>;
using Batch = std::vector<int>;

template <typename Sampler>
std::vector<Indices> rest(Sampler& sampler, size_t batch_size) {
  std::vector<Indices> batches;
  while (auto batch = sampler.next(batch_size)) batches.push_back(*batch);
  return batches;
}

template <typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.msg();
  }
  return "nothing";
}

// The numbers 0..19; what happens on the way depends on `Behaviour`.
template <typename Behaviour>
struct Numbers : data::datasets::Dataset<Numbers<Behaviour>, int> {
  explicit Numbers(Behaviour b) : behaviour(b) {}
  int get(size_t index) override {
    behaviour(index);
    return static_cast<int>(index);
  }
  optional<size_t> size() const override { return 20; }
  Behaviour behaviour;
};

template <typename Loader>
std::vector<Batch> all(Loader& loader) {
  std::vector<Batch> batches;
  for (auto& batch : loader) batches.push_back(batch);
  return batches;
}

std::vector<Batch> in_order(int size, int batch_size) {
  std::vector<Batch> batches;
  for (int i = 0; i < size; i += batch_size) {
    batches.emplace_back();
    for (int j = i; j < std::min(size, i + batch_size); ++j) batches.back().push_back(j);
  }
  return batches;
}

auto sleepy = [](size_t index) { std::this_thread::sleep_for(std::chrono::microseconds((index * 7919) % 5 * 300)); };

}  // namespace

TEST_CASE("data: a loader gives every sample once, in the sampler's order, for any number of workers") {
  for (const size_t workers : {0, 1, 2, 4}) {
    for (const size_t max_jobs : {1, 3, 8}) {
      CAPTURE(workers);
      CAPTURE(max_jobs);
      auto loader = data::make_data_loader<SequentialSampler>(Numbers(sleepy), DataLoaderOptions(3).workers(workers).max_jobs(max_jobs));
      for (int epoch = 0; epoch < 2; ++epoch) CHECK(all(*loader) == in_order(20, 3));
    }
  }
  auto dropping = data::make_data_loader<SequentialSampler>(Numbers(sleepy), DataLoaderOptions(3).workers(2).drop_last(true));
  CHECK(all(*dropping) == in_order(18, 3));
  auto random = data::make_data_loader(Numbers(sleepy), DataLoaderOptions(4).workers(3).enforce_ordering(false));
  std::multiset<int> seen;
  for (auto& batch : *random) seen.insert(batch.begin(), batch.end());
  CHECK(seen.size() == 20);
  CHECK(std::set<int>(seen.begin(), seen.end()).size() == 20);
}

TEST_CASE("data: without an order the first batch that is ready comes first") {
  std::atomic<bool> release{false};
  const auto first_waits = [&](size_t index) {
    while (index == 0 && !release) std::this_thread::sleep_for(1ms);
  };
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(first_waits), DataLoaderOptions(5).workers(2).enforce_ordering(false));
  auto at = loader->begin();
  CHECK((*at)[0] == 5);
  release = true;
  int more = 0;
  for (++at; at != loader->end(); ++at) ++more;
  CHECK(more == 3);
}

TEST_CASE("data: random numbers of datasets and transforms do not depend on the workers") {
  const auto run = [](size_t workers) {
    manual_seed(5);
    const Tensor x = arange(24, TensorOptions(kFloat)).reshape({12, 2});
    auto noisy = TensorDataset(x)
                     .map(data::transforms::TensorLambda<void>([](Tensor t) { return t + rand({2}) * randint(1, 9, {1}); }))
                     .map(Stack<TensorExample>());
    auto loader = data::make_data_loader(std::move(noisy), DataLoaderOptions(5).workers(workers));
    std::vector<Tensor> batches;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : *loader) {
        batches.push_back(batch.data);
        batches.push_back(rand({1}));  // the program draws in between, as dropout would
      }
    }
    for (Tensor& batch : batches) batch = batch.flatten();
    return cat(batches);
  };
  const Tensor none = run(0);
  for (const size_t workers : {1, 2, 4}) CHECK(equal(run(workers), none));
  const Tensor first = none.slice(0, 0, 10), second = none.slice(0, 10 + 1, 20 + 1);
  CHECK_FALSE(allclose(first - first.floor(), second - second.floor()));  // each batch has numbers of its own
}

TEST_CASE("data: a loader draws nothing from the program's generator but the sampler's order") {
  manual_seed(7);
  RandomSampler(6).reset();
  const Tensor after = rand({3});
  for (const size_t workers : {0, 2}) {
    manual_seed(7);
    auto loader = data::make_data_loader(
        TensorDataset(arange(6)).map(data::transforms::TensorLambda<void>([](Tensor t) { return t + randint(0, 5, {}); })),
        DataLoaderOptions(2).workers(workers));
    for (auto& batch : *loader) (void)batch;
    CHECK(equal(rand({3}), after));
  }
}

TEST_CASE("data: a worker that throws throws in the program, and the epoch goes on") {
  const auto fails = [](size_t index) {
    if (index == 7) throw std::runtime_error("sample 7 is bad");
    if (index == 12) throw 12;
  };
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(fails), DataLoaderOptions(5).workers(2));
  auto at = loader->begin();
  CHECK((*at)[0] == 0);
  CHECK(message_of([&] { ++at; }) == "Caught exception in DataLoader worker thread. Original message: sample 7 is bad");
  CHECK(message_of([&] { ++at; }) == "Caught exception in DataLoader worker thread.");
  ++at;
  CHECK((*at)[0] == 15);
  ++at;
  CHECK(at == loader->end());
  try {
    all(*loader);
    FAIL("no exception");
  } catch (const data::WorkerException& e) {
    CHECK_THROWS_WITH_AS(std::rethrow_exception(e.original_exception), "sample 7 is bad", std::runtime_error);
    CHECK(e.message == e.what());
  }
  auto here = data::make_data_loader<SequentialSampler>(Numbers(fails), 5);
  CHECK_THROWS_WITH_AS(all(*here), "sample 7 is bad", std::runtime_error);
}

TEST_CASE("data: a worker's own evaluation that fails is its exception") {
  auto set = TensorDataset(arange(6)).map(data::transforms::BatchLambda<std::vector<TensorExample>, Tensor>(
      [](std::vector<TensorExample> batch) { return batch[0].data.reshape({2}); }));
  auto loader = data::make_data_loader<SequentialSampler>(std::move(set), DataLoaderOptions(1).workers(2));
  CHECK_THROWS_AS(*loader->begin(), data::WorkerException);
}

TEST_CASE("data: waiting for a batch ends after the timeout") {
  std::atomic<bool> release{false};
  const auto waits = [&](size_t) {
    while (!release) std::this_thread::sleep_for(1ms);
  };
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(waits), DataLoaderOptions(10).workers(1).timeout(10ms));
  CHECK(loader->options().timeout == std::chrono::milliseconds(10));
  auto at = loader->begin();
  CHECK(message_of([&] { *at; }) == "Timeout in DataLoader queue while waiting for next batch (timeout was 10 ms)");
  release = true;
  for (int tries = 0; tries < 1000; ++tries) {
    if (message_of([&] { CHECK((*at)[0] == 0); }) == "nothing") break;
  }
  CHECK((*at)[9] == 9);
}

TEST_CASE("data: iterators past the end, two at a time, and after their loader") {
  for (const size_t workers : {0, 2}) {
    CAPTURE(workers);
    auto loader = data::make_data_loader<SequentialSampler>(Numbers(sleepy), DataLoaderOptions(7).workers(workers));
    CHECK(message_of([&] { ++loader->end(); }) == "Incrementing the DataLoader's past-the-end iterator is not allowed");
    CHECK(message_of([&] { *loader->end(); }) == "Dereferencing the DataLoader's past-the-end iterator is not allowed");
    auto at = loader->begin();
    CHECK(at == at);
    CHECK(at != loader->end());
    ++at, ++at, ++at;
    CHECK(at == loader->end());
    CHECK(loader->end() == loader->end());
    CHECK(message_of([&] { ++at; }) == "Attempted to increment iterator past the end");
    CHECK(message_of([&] { *at; }) == "Attempted to dereference iterator that was past the end");
    auto again = loader->begin();
    auto copy = again;
    CHECK((*again)[0] == 0);
    ++copy;
    CHECK((*again)[0] == 7);  // copies advance together
    if (workers > 0)
      CHECK(message_of([&] { loader->begin(); }) ==
            "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted");
    loader.reset();
    CHECK(message_of([&] { ++again; }) == "The DataLoader of this iterator is gone or has begun again");
  }
  // A loop that is left may be begun again: nobody can go on with its iterator.
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(sleepy), DataLoaderOptions(4).workers(2));
  for (int pass = 0; pass < 5; ++pass) {
    for (auto& batch : *loader) {
      CHECK(batch[0] == 0);
      break;
    }
  }
  CHECK(all(*loader) == in_order(20, 4));
  loader->join();
  loader->join();
  CHECK(message_of([&] { loader->begin(); }) == "the workers of this DataLoader have been joined");
}

TEST_CASE("data: a loader that dies in the middle ends its threads") {
  for (int pass = 0; pass < 20; ++pass) {
    auto loader = data::make_data_loader<SequentialSampler>(Numbers(sleepy), DataLoaderOptions(1).workers(3).max_jobs(10));
    auto at = loader->begin();
    for (int i = 0; i < pass % 4; ++i) ++at;
  }
  const auto never_begun = data::make_data_loader(Numbers(sleepy), DataLoaderOptions(1).workers(3));
}

TEST_CASE("data: a forked child says that the workers stayed behind, and ends") {
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(sleepy), DataLoaderOptions(2).workers(2));
  auto at = loader->begin();
  CHECK((*at)[0] == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool said = message_of([&] { ++at; }).find("not of a forked child") != std::string::npos;
    loader.reset();
    ::_exit(said ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  ++at;
  CHECK((*at)[0] == 2);
}

TEST_CASE("data: options that could never load anything are errors") {
  CHECK(message_of([] { data::make_data_loader(Numbers(sleepy), 0); }) ==
        "batch_size should be a positive integer value, but got batch_size=0");
  CHECK(message_of([] { data::make_data_loader(Numbers(sleepy), DataLoaderOptions(1).workers(2).max_jobs(0)); }) ==
        "max_jobs should be a positive integer value, but got max_jobs=0");
  const data::FullDataLoaderOptions full(DataLoaderOptions(3).workers(4).timeout(2s));
  CHECK(full.max_jobs == 8);
  CHECK(full.timeout == 2000ms);
}

TEST_CASE("data: each worker has its own copy of a dataset, and shares a shared one") {
  struct Counting : data::datasets::Dataset<Counting, int> {
    int get(size_t) override { return calls++; }
    optional<size_t> size() const override { return 8; }
    std::atomic<int> calls{0};
    Counting() = default;
    Counting(const Counting&) : Dataset() {}
  };
  auto shared = data::datasets::make_shared_dataset<Counting>();
  auto loader = data::make_data_loader(shared, DataLoaderOptions(1).workers(4));
  std::set<int> seen;
  for (auto& batch : *loader) seen.insert(batch[0]);
  CHECK(seen.size() == 8);
  CHECK(shared->calls == 8);
  CHECK((*shared).size() == 8u);
  Counting counting;
  auto copied = data::make_data_loader(counting, DataLoaderOptions(8).workers(1));
  CHECK(all(*copied)[0] == Batch{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(counting.calls == 0);
}

TEST_CASE("data: a dataset is copied once for each worker, and not at all without") {
  struct Numbered : data::datasets::Dataset<Numbered, int> {
    explicit Numbered(std::atomic<int>& c) : copies(c) {}
    Numbered(const Numbered& other) : Dataset(), copies(other.copies), id(copies++) {}
    Numbered(Numbered&&) noexcept = default;
    int get(size_t) override {
      std::this_thread::sleep_for(1ms);
      return id;
    }
    optional<size_t> size() const override { return 40; }
    std::atomic<int>& copies;
    int id = -1;
  };
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    std::atomic<int> copies{0};
    auto loader = data::make_data_loader<SequentialSampler>(Numbered(copies), DataLoaderOptions(1).workers(workers));
    CHECK(copies == workers);
    for (auto& batch : *loader) {
      CHECK(batch[0] >= (workers > 0 ? 0 : -1));  // no worker has the object that was given
      CHECK(batch[0] < std::max(workers, 0));
    }
  }
}

TEST_CASE("data: a worker that is stuck does not hold up the program beyond the timeout") {
  struct Gate {
    std::atomic<bool> open{false};
    std::atomic<int> inside{0}, left{0};
  };
  const auto gate = std::make_shared<Gate>();
  const auto stuck = [gate](size_t index) {
    if (index < 2) return;
    ++gate->inside;
    while (!gate->open) std::this_thread::sleep_for(1ms);
    ++gate->left;
  };
  {
    auto loader = data::make_data_loader<SequentialSampler>(Numbers(stuck), DataLoaderOptions(2).workers(1).timeout(20ms));
    {
      auto at = loader->begin();
      for (int tries = 0; tries < 1000 && message_of([&] { CHECK((*at)[1] == 1); }) != "nothing"; ++tries) {
      }
      while (gate->inside == 0) std::this_thread::sleep_for(1ms);
    }
    CHECK(message_of([&] { loader->begin(); }) ==
          "Timeout in DataLoader while waiting for a worker's last batch of the epoch before (timeout was 20 ms)");
  }
  CHECK(gate->left == 0);  // the loader is gone, and the worker still at it, with a dataset that lives
  gate->open = true;
  while (gate->left == 0) std::this_thread::sleep_for(1ms);
}

TEST_CASE("data: what a worker makes is computed when the program gets it") {
  const Tensor x = rand({16, 3});
  auto set = TensorDataset(x)
                 .map(data::transforms::Lambda<TensorExample, Example<>>(
                     [](TensorExample e) { return Example<>(e.data.exp().sin() * 2, e.data.sum()); }))
                 .map(Stack<>());
  auto loader = data::make_data_loader<SequentialSampler>(
      std::move(set), DataLoaderOptions(16).workers(2));  // one batch: no worker computes another one meanwhile
  int64_t row = 0;
  for (auto& batch : *loader) {
    clear_kernel_history();
    const bool there = batch.data.const_data_ptr<float>() != nullptr;
    CHECK(there);
    CHECK(kernel_history().empty());
    CHECK(equal(batch.data, x.slice(0, row, row + 16).exp().sin() * 2));
    row += 16;
  }
  CHECK(row == 16);
}

TEST_CASE("data: workers evaluate while an evaluation of the program runs") {
  std::atomic<int> computing{0}, inside{0};  // the step that the program evaluates, or 0
  std::atomic<bool> enough{false};
  auto set = TensorDataset(rand({2000, 8}))
                 .map(data::transforms::Lambda<TensorExample>([&](TensorExample e) {
                   int during = 0;
                   while (!enough && (during = computing) == 0) std::this_thread::sleep_for(10us);
                   e.data = e.data.exp();
                   eval(e.data);
                   if (during > 0 && during == computing) ++inside;
                   return e;
                 }))
                 .map(Stack<TensorExample>());
  auto loader = data::make_data_loader(std::move(set), DataLoaderOptions(1).workers(2).max_jobs(2000));
  const auto at = loader->begin();
  const Tensor w = rand({400, 400});
  // If workers waited for the step none would ever be inside; as they do not, one is as soon as the system lets it run.
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  for (int step = 1; inside == 0 && std::chrono::steady_clock::now() < deadline; ++step) {
    Tensor y = w;
    for (int i = 0; i < 20; ++i) y = y.mm(w) * 1e-3;
    computing = step;
    eval(y);
    computing = 0;
  }
  enough = true;
  CHECK(inside > 0);
}

TEST_CASE("data: batches of random rows are copied, and build no plan each") {
  const Tensor x = rand({200, 5}), y = arange(200);
  auto loader = data::make_data_loader(PairDataset(x, y).map(data::transforms::Normalize<>({0.5}, {2})).map(Stack<>()), 32);
  const auto epoch = [&] {
    for (auto& batch : *loader) eval(batch.data * 2, batch.target + 1);
  };
  epoch();
  const int64_t plans = counters().plans_built;
  epoch();
  CHECK(counters().plans_built == plans);
}

TEST_CASE("data: streams, and datasets that end by themselves") {
  struct Stream : data::datasets::StreamDataset<Stream, Batch> {
    Batch get_batch(size_t count) override {
      Batch batch(count);
      for (int& i : batch) i = next++;
      return batch;
    }
    optional<size_t> size() const override { return nullopt; }
    int next = 0;
  };
  auto loader = data::make_data_loader(Stream(), data::samplers::StreamSampler(8), 3);
  CHECK(all(*loader) == std::vector<Batch>{{0, 1, 2}, {3, 4, 5}, {6, 7}});
  CHECK(all(*loader)[0] == Batch{8, 9, 10});
  CHECK(message_of([] { data::make_data_loader<SequentialSampler>(Stream(), 3); }) ==
        "Expected the dataset to be sized in order to construct the Sampler");

  struct Stateful : data::datasets::StatefulDataset<Stateful, Batch> {
    explicit Stateful(int l) : length(l) {}
    Stateful(const Stateful& other) : StatefulDataset(), length(other.length) {}
    optional<Batch> get_batch(size_t count) override {
      const std::lock_guard guard(mutex);
      if (next >= length) return nullopt;
      Batch batch;
      for (; next < length && batch.size() < count; ++next) batch.push_back(next);
      return batch;
    }
    optional<size_t> size() const override { return nullopt; }
    void reset() override { next = 0; }
    std::mutex mutex;
    int length, next = 0;
  };
  for (const size_t workers : {0, 1, 4}) {
    auto doubled = Stateful(10).map(data::transforms::BatchLambda<Batch>([](Batch batch) {
      for (int& i : batch) i *= 2;
      return batch;
    }));
    auto stateful = data::make_data_loader(std::move(doubled), DataLoaderOptions(4).workers(workers));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::multiset<int> seen;
      for (auto& batch : *stateful) seen.insert(batch.begin(), batch.end());
      CHECK(seen == std::multiset<int>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18});
    }
  }
}

TEST_CASE("data: samplers") {
  SequentialSampler sequential(10);
  CHECK(rest(sequential, 4) == std::vector<Indices>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(sequential.index() == 10);
  sequential.reset(3);
  CHECK(rest(sequential, 10) == std::vector<Indices>{{0, 1, 2}});

  manual_seed(3);
  const Tensor first = randperm(7), second = randperm(7);
  manual_seed(3);
  RandomSampler random(7);
  for (const Tensor& expected : {first, second}) {  // one when it is made, one when the first epoch begins
    const Indices order = rest(random, 7)[0];
    CHECK(equal(tensor(std::vector<int64_t>(order.begin(), order.end()), TensorOptions(kLong)), expected));
    random.reset();
  }
  // torch.manual_seed(5), two epochs of DataLoader(range(11), batch_size=4, shuffle=True), torch.rand(1), in PyTorch 2.15
  manual_seed(5);
  data::samplers::SeededSampler seeded(11);
  seeded.reset();
  CHECK(rest(seeded, 4) == std::vector<Indices>{{4, 3, 1, 10}, {5, 2, 9, 7}, {0, 6, 8}});
  seeded.reset();
  CHECK(rest(seeded, 4) == std::vector<Indices>{{4, 8, 7, 3}, {10, 1, 6, 0}, {5, 2, 9}});
  CHECK(rand({1}).item<float>() == 0.0332646369934082f);

  data::samplers::StreamSampler stream(5);
  CHECK(stream.next(3)->size() == 3);
  CHECK(*stream.next(3) == 2);
  CHECK_FALSE(stream.next(3).has_value());
  stream.reset(1);
  CHECK(*stream.next(3) == 1);
}

TEST_CASE("data: distributed samplers have LibTorch's shares") {
  using data::samplers::DistributedRandomSampler, data::samplers::DistributedSequentialSampler;
  const auto epochs = [](auto sampler) {  // of LibTorch 2.15 itself: epoch 0 and, after a reset, epoch 2
    std::vector<Indices> found = rest(sampler, 100);
    sampler.set_epoch(2);
    sampler.reset();
    found.push_back(rest(sampler, 100)[0]);
    return found;
  };
  CHECK(epochs(DistributedRandomSampler(10, 3, 1)) == std::vector<Indices>{{9, 1, 4, 7}, {8, 1, 6, 2}});
  CHECK(epochs(DistributedRandomSampler(10, 3, 2, false)) == std::vector<Indices>{{8, 3, 7}, {0, 7, 1}});
  CHECK(epochs(DistributedRandomSampler(10)) == std::vector<Indices>{{0, 2, 1, 5, 9, 8, 4, 7, 6, 3}, {5, 0, 3, 1, 8, 4, 6, 2, 7, 9}});
  CHECK(epochs(DistributedSequentialSampler(10, 3, 2)) == std::vector<Indices>{{8, 9, 0, 1}, {8, 9, 0, 1}});
  CHECK(epochs(DistributedSequentialSampler(10, 4, 3, false)) == std::vector<Indices>{{6, 7}, {6, 7}});
  CHECK_THROWS_AS(DistributedSequentialSampler(10, 3, 3), ValueError);
}

TEST_CASE("data: weighted samplers and random splits have PyTorch's order for a seed") {
  const nlohmann::json golden = golden::load("loading/golden.json");
  for (const auto& c : golden["weighted"]) {
    manual_seed(c["seed"].get<uint64_t>());
    data::samplers::WeightedRandomSampler sampler(c["weights"].get<std::vector<double>>(), c["count"].get<size_t>(),
                                                  c["replacement"].get<bool>());
    for (const auto& epoch : c["epochs"]) {
      sampler.reset();
      CHECK(rest(sampler, 100)[0] == epoch.get<Indices>());
    }
  }
  for (const auto& c : golden["random_splits"]) {
    const auto generator = make_generator<CPUGeneratorImpl>(c["seed"].get<uint64_t>());
    const bool counts = c["lengths"][0].is_number_integer();
    const data::SplitLengths lengths =
        counts ? data::SplitLengths(c["lengths"].get<std::vector<int64_t>>()) : data::SplitLengths(c["lengths"].get<std::vector<double>>());
    const Tensor rows = arange(c["size"].get<int64_t>());
    const auto parts = data::random_split(TensorDataset(rows), lengths, generator);
    REQUIRE(parts.size() == c["parts"].size());
    for (size_t i = 0; i < parts.size(); ++i) CHECK(parts[i].indices() == c["parts"][i].get<Indices>());
    auto part = parts[0];
    CHECK(part.get(1).data.item<int64_t>() == c["parts"][0][1]);
    CHECK_THROWS_AS(part.get(100), IndexError);
  }
  CHECK(message_of([] { data::random_split(10, {3, 4}); }) == "Sum of input lengths does not equal the length of the input dataset!");
  CHECK_THROWS_AS(data::random_split(10, {0.5, 0.6}), ValueError);
  CHECK_THROWS_AS(data::random_split(10, {1.5, -0.5}), ValueError);
}

TEST_CASE("data: transforms of samples and of batches") {
  using namespace data::transforms;
  auto words = Numbers([](size_t) {})
                   .map(Lambda<int, std::string>([](int i) { return std::to_string(i); }))
                   .map(Collate<std::string>([](std::vector<std::string> all_words) {
                     std::string joined;
                     for (const std::string& word : all_words) joined += word + " ";
                     return joined;
                   }));
  CHECK(words.get_batch(Indices{3, 1, 12}) == "3 1 12 ");
  int calls = 0;
  Lambda<int> counting([calls](int i) mutable { return i + calls++; });
  Lambda<int> copy = counting;  // has its own state
  CHECK(counting.apply(1) + counting.apply(1) == 3);
  CHECK(copy.apply(1) == 1);

  const Tensor x = rand({4, 3, 2, 5});
  auto normal = TensorDataset(x).map(Normalize<void>({0.5, 0.25, 0.1}, {2, 3, 0.3})).map(Stack<TensorExample>());
  const Tensor mean = tensor({0.5, 0.25, 0.1}, TensorOptions(kFloat)).reshape({3, 1, 1});
  const Tensor stddev = tensor({2.0, 3.0, 0.3}, TensorOptions(kFloat)).reshape({3, 1, 1});
  CHECK(equal(normal.get_batch(Indices{0, 1, 2, 3}).data, (x - mean) / stddev));
  const Tensor strided = x.permute({0, 1, 3, 2});  // of views, of other types, and of what is not computed
  CHECK(equal(Stack<TensorExample>().apply_batch({strided[0], strided[2]}).data, strided.index_select(0, tensor({0, 2}))));
  CHECK(equal(Stack<TensorExample>().apply_batch({x[0] + 1, x[1] + 1}).data, x.slice(0, 0, 2) + 1));
  CHECK((Stack<TensorExample>().apply_batch({tensor(true), tensor(false)}).data.scalar_type() == kBool));
  CHECK_THROWS_WITH_AS(Stack<TensorExample>().apply_batch({x[0], x[1][0]}).data,
                       doctest::Contains("stack expects each tensor to be equal size"), Error);
  CHECK_THROWS_AS(TensorDataset(std::vector<Tensor>{x[0], x[1][0]}), Error);
  CHECK(TensorDataset(std::vector<Tensor>{x[0], x[1]}).size() == 2u);
  CHECK(message_of([&] { PairDataset(x, x.slice(0, 1)); }) == "Size mismatch between tensors");
}
