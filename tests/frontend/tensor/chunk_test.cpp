// Datasets in chunks: every sample once an epoch, in an order that the threads do not change.
#include <tenon/compat.h>

#include <doctest/doctest.h>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

using namespace tenon;
using data::datasets::ChunkDataset, data::datasets::ChunkDatasetOptions;
using data::samplers::RandomSampler, data::samplers::SequentialSampler;

namespace {

// Chunk c holds 10 c, 10 c + 1, ...: `sizes[c]` of them.
struct Reader : data::datasets::ChunkDataReader<int> {
  using BatchType = std::vector<int>;
  explicit Reader(std::vector<int> s) : sizes(std::move(s)) {}
  std::vector<int> read_chunk(size_t chunk) override {
    std::this_thread::sleep_for(std::chrono::microseconds((chunk * 7) % 3 * 500));
    if (sizes[chunk] < 0) throw std::runtime_error("chunk " + std::to_string(chunk) + " is bad");
    std::vector<int> samples;
    for (int i = 0; i < sizes[chunk]; ++i) samples.push_back(static_cast<int>(chunk) * 10 + i);
    return samples;
  }
  size_t chunk_count() override { return sizes.size(); }
  void reset() override { ++resets; }
  std::vector<int> sizes;
  int resets = 0;
};

template <typename Sampler>
auto make(std::vector<int> sizes, ChunkDatasetOptions options) {
  return data::datasets::make_shared_dataset<ChunkDataset<Reader, Sampler, Sampler>>(Reader(std::move(sizes)), Sampler(0), Sampler(0),
                                                                                     std::move(options));
}

template <typename Set>
std::vector<std::vector<int>> epoch(Set& set) {
  std::vector<std::vector<int>> batches;
  set->reset();
  while (auto batch = set->get_batch()) batches.push_back(*batch);
  return batches;
}

std::string message_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.msg();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("chunks: batches run across chunks, in one order for any number of threads") {
  const std::vector<std::vector<int>> wanted = {{0, 1, 2, 20}, {21, 22, 23, 24}, {30}};
  for (const size_t threads : {1, 2, 4}) {
    for (const size_t cache : {4, 100}) {
      auto set = make<SequentialSampler>({3, 0, 5, 1}, ChunkDatasetOptions(threads, 4, cache));
      for (int i = 0; i < 3; ++i) CHECK(epoch(set) == wanted);
    }
  }
}

TEST_CASE("chunks: random orders depend on the seed alone") {
  const auto run = [](size_t threads, size_t mixed) {
    manual_seed(4);
    auto set = make<RandomSampler>({9, 8, 7, 6, 5}, ChunkDatasetOptions(threads, 6, 30, mixed));
    std::vector<std::vector<int>> both = epoch(set);
    for (auto& batch : epoch(set)) both.push_back(batch);
    return both;
  };
  for (const size_t mixed : {1, 2, 5}) {
    const auto one = run(1, mixed);
    CHECK(one == run(3, mixed));
    std::multiset<int> seen;
    for (const auto& batch : one) seen.insert(batch.begin(), batch.end());
    CHECK(seen.size() == 70);
    CHECK(seen.count(48) == 0);
    CHECK(seen.count(44) == 2);
    CHECK(std::vector(one.begin(), one.begin() + 6) != std::vector(one.begin() + 6, one.end()));
  }
}

TEST_CASE("chunks: a loader with workers, errors of a chunk, and the end in the middle") {
  auto set = make<SequentialSampler>({4, 4, 4}, ChunkDatasetOptions(2, 3));
  auto loader = data::make_data_loader(set, data::DataLoaderOptions(3).workers(2));
  for (int i = 0; i < 2; ++i) {
    std::multiset<int> seen;
    for (auto& batch : *loader) seen.insert(batch.begin(), batch.end());
    CHECK(seen.size() == 12);
  }
  auto bad = make<SequentialSampler>({2, -1, 2}, ChunkDatasetOptions(2, 2));
  bad->reset();
  CHECK(*bad->get_batch() == std::vector<int>{0, 1});
  CHECK(message_of([&] { bad->get_batch(); }) == "Caught exception in DataLoader worker thread. Original message: chunk 1 is bad");
  CHECK(*bad->get_batch() == std::vector<int>{20, 21});
  CHECK_FALSE(bad->get_batch().has_value());
  auto left = make<RandomSampler>(std::vector<int>(50, 9), ChunkDatasetOptions(3, 2, 4));
  left->reset();
  CHECK(left->get_batch()->size() == 2);
  CHECK(message_of([&] { left->get_batch(3); }).starts_with("The requested batch size does not match"));
  auto never = make<RandomSampler>({1}, ChunkDatasetOptions(1, 1));
  CHECK(message_of([&] { never->get_batch(); }) == "Dataset needs to call reset() before calling get_batch().");
  CHECK(message_of([] { ChunkDatasetOptions(0, 1); }) == "Preloader count is 0. At least one preloader needs to be specified.");
  CHECK(message_of([] { ChunkDatasetOptions(1, 9, 8); }).starts_with("Cache size is less than batch size."));
}

namespace {

// Gives two orders, then fails as its kind says.
struct Failing : SequentialSampler {
  enum class Kind { Throws, GivesNothing, GivesTooLarge } kind;
  int left = 2;
  explicit Failing(Kind k = Kind::Throws) : SequentialSampler(0), kind(k) {}
  optional<std::vector<size_t>> next(size_t batch_size) override {
    if (left-- > 0) return SequentialSampler::next(batch_size);
    if (kind == Kind::Throws) throw 7;
    if (kind == Kind::GivesNothing) return nullopt;
    return std::vector<size_t>{1000};
  }
};

// All samples of an epoch in which errors may come instead; how many came.
template <typename Set>
std::pair<int, int> samples_and_errors(Set& set) {
  std::pair<int, int> count;
  set.reset();
  for (int tries = 0; tries < 100; ++tries) {
    try {
      const auto batch = set.get_batch();
      if (!batch) return count;
      count.first += static_cast<int>(batch->size());
    } catch (const data::WorkerException&) {
      ++count.second;
    }
  }
  return {-1, -1};
}

}  // namespace

TEST_CASE("chunks: what samplers throw or give wrongly in a thread is the program's exception, and nothing hangs") {
  for (const size_t threads : {1, 3}) {
    CAPTURE(threads);
    for (const auto kind : {Failing::Kind::Throws, Failing::Kind::GivesNothing, Failing::Kind::GivesTooLarge}) {
      CAPTURE(static_cast<int>(kind));
      ChunkDataset<Reader, SequentialSampler, Failing> set(Reader({3, 3, 3, 3}), SequentialSampler(0), Failing(kind),
                                                           ChunkDatasetOptions(threads, 2, 4));
      CHECK(samples_and_errors(set) == std::pair(6, 2));  // of two chunks
    }
    ChunkDataset<Reader, Failing, SequentialSampler> set(Reader({3, 3, 3, 3}), Failing(), SequentialSampler(0),
                                                         ChunkDatasetOptions(threads, 2, 4));
    CHECK(samples_and_errors(set) == std::pair(6, static_cast<int>(threads)));  // each thread asks, and ends
  }
}
