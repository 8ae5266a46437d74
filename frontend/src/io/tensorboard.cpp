// What TensorBoard shows, as its messages.
#include "tenon/tensorboard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include "frontend/src/io/event_file.h"
#include "frontend/src/io/png.h"
#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "ir/graph/graph.h"
#include "tenon/autograd.h"
#include "tenon/inspect.h"

namespace tenon::tensorboard {
namespace {

using io::Message;

// Fields of an Event.
constexpr int kGraph = 4, kSummary = 5;

// A Summary with one Value: the tag, and what the value's own field is.
Message summary_of(const Message& value) { return Message().message(1, value); }
Message tagged(const std::string& tag) { return Message().bytes(1, tag); }

std::string doubles(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::vector<double> finite_elements(const Tensor& x) {
  const Tensor flat = x.detach().to(kCPU).to(kDouble).contiguous();
  const auto* data = flat.data_ptr<double>();
  std::vector<double> values(data, data + flat.numel());
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values;
}

Message histogram(const std::vector<double>& values, int64_t bins) {
  const auto [least, most] = std::ranges::minmax(values);
  const double width = (most - least) / static_cast<double>(bins);
  std::vector<double> limits, counts(static_cast<size_t>(bins));
  for (int64_t i = 1; i <= bins; ++i) limits.push_back(i == bins ? most : least + width * static_cast<double>(i));
  double sum = 0, squares = 0;
  for (const double value : values) {
    const auto place = width > 0 ? static_cast<int64_t>((value - least) / width) : 0;
    ++counts[static_cast<size_t>(std::min(place, bins - 1))];
    sum += value;
    squares += value * value;
  }
  Message result;
  result.real(1, least).real(2, most).real(3, static_cast<double>(values.size())).real(4, sum).real(5, squares);
  return result.bytes(6, doubles(limits)).bytes(7, doubles(counts));
}

// [C, H, W] as bytes of pixels, row by row.
std::string pixels_of(const Tensor& image) {
  Tensor x = image.detach().to(kCPU);
  if (x.is_floating_point()) x = x.mul(255).clamp(0, 255);
  x = x.permute({1, 2, 0}).to(kByte).contiguous();
  return {reinterpret_cast<const char*>(x.data_ptr<uint8_t>()), static_cast<size_t>(x.numel())};
}

Message shape_of(const ir::Dims& shape) {
  Message result;
  for (const int64_t size : shape) result.message(2, Message().integer(1, size));
  return result;
}

// A GraphDef: one NodeDef for each node, with the shape of its output as TensorBoard looks for it.
Message graph_of(const ir::Graph& graph) {
  std::unordered_map<const ir::Node*, std::string> names;
  Message result;
  for (const ir::NodeRef& node : graph.nodes) {
    const std::string op(ir::info(node->op()).text);
    std::string kind = op;
    std::ranges::replace(kind, '.', '_');
    const std::string& name = names[node.get()] = text(kind, '_', names.size());
    Message def;
    def.bytes(1, name).bytes(2, op);
    for (const ir::Node* input : node->inputs()) def.bytes(3, names.at(input));
    const Message list = Message().message(7, shape_of(node->shape()));
    def.message(5, Message().bytes(1, "_output_shapes").message(2, Message().message(1, list)));
    def.message(5, Message().bytes(1, "dtype").message(2, Message().bytes(2, ir::name(node->dtype()))));
    result.message(1, def);
  }
  return result.message(4, Message().integer(1, 22));  // versions: the producer
}

}  // namespace

struct SummaryWriter::State {
  explicit State(const std::string& folder) : log_dir(folder), file(folder) {}
  std::string log_dir;
  io::EventFile file;
  std::map<std::string, std::unique_ptr<io::EventFile>> curves;  // of add_scalars, by folder
};

SummaryWriter::SummaryWriter(const std::string& log_dir) : state_(std::make_unique<State>(log_dir)) {}
SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t step) {
  state_->file.write(step, kSummary, summary_of(tagged(tag).single(2, static_cast<float>(value))));
}

void SummaryWriter::add_scalars(const std::string& tag, const std::vector<std::pair<std::string, double>>& values, int64_t step) {
  for (const auto& [name, value] : values) {
    std::string folder = tag + "_" + name;
    std::ranges::replace(folder, '/', '_');
    auto& file = state_->curves[folder];
    if (!file) file = std::make_unique<io::EventFile>(state_->log_dir + "/" + folder);
    file->write(step, kSummary, summary_of(tagged(tag).single(2, static_cast<float>(value))));
  }
}

void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t step, int64_t bins) {
  check<ValueError>(bins > 0, "add_histogram: ", bins, " bins");
  const std::vector<double> finite = finite_elements(values);
  check<ValueError>(!finite.empty(), "add_histogram: '", tag, "' has no finite element");
  state_->file.write(step, kSummary, summary_of(tagged(tag).message(5, histogram(finite, bins))));
}

void SummaryWriter::add_image(const std::string& tag, const Tensor& image, int64_t step) {
  const Tensor x = image.dim() == 2 ? image.unsqueeze(0) : image;
  check<ValueError>(x.dim() == 3 && (x.size(0) == 1 || x.size(0) == 3 || x.size(0) == 4) && x.numel() > 0, "add_image: '", tag,
                    "' has shape ", image.sizes(), ", and an image has [C, H, W] with 1, 3 or 4 channels");
  check<TypeError>(x.is_floating_point() || x.scalar_type() == kByte, "add_image: '", tag, "' is neither of floats nor of bytes");
  const std::string file = io::png(pixels_of(x), x.size(2), x.size(1), x.size(0));
  const Message picture = Message().integer(1, x.size(1)).integer(2, x.size(2)).integer(3, x.size(0)).bytes(4, file);
  state_->file.write(step, kSummary, summary_of(tagged(tag).message(4, picture)));
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, int64_t step) {
  constexpr int kString = 7;
  const Message one = Message().message(2, Message().integer(1, 1));  // a shape of [1]
  const Message tensor = Message().integer(1, kString).message(2, one).bytes(8, text);
  const Message plugin = Message().message(1, Message().bytes(1, "text"));
  state_->file.write(step, kSummary, summary_of(tagged(tag + "/text_summary").message(8, tensor).message(9, plugin)));
}

void SummaryWriter::add_graph(const Tensor& output) {
  // The text holds what the graph was at one moment, whatever other threads evaluate.
  std::string graph = dump(output, Stage::Graph);
  if (graph.starts_with("//")) graph.erase(0, graph.find('\n') + 1);
  state_->file.write(0, kGraph, graph_of(ir::parse_graph(graph)));
}

void SummaryWriter::flush() {
  state_->file.flush();
  for (const auto& [folder, file] : state_->curves) file->flush();
}
void SummaryWriter::close() {
  state_->file.close();
  for (const auto& [folder, file] : state_->curves) file->close();
}
const std::string& SummaryWriter::log_dir() const { return state_->log_dir; }
const std::string& SummaryWriter::path() const { return state_->file.path(); }

}  // namespace tenon::tensorboard
