// The loop tree: a kernel after scheduling. Loops, vectors, registers, scratch memory and, on a GPU, threads,
// shared memory and barriers are explicit. Both emitters print it statement by statement.
//
//   looptree @softmax cpu lanes=16 {
//     params x: f32 in, y: f32 out, row: f32 local[s1], a0: f32 scalar, sizes 2
//     phase rows: parallel %0 in 0..s0 {
//       %1 = size s1 : i64
//       %2 = const -inf : f32x16
//       var %3 = %2
//       %4 = const 0 : i64
//       for %5 in %4..%1 step 16 unroll {
//         %6 = load x[%5] : f32x16                  # x[%5 stride %9] is strided, x[%vector] gathers,
//         %7 = get %3 : f32x16                      # `mask %8` after the bracket masks; stores alike
//         %8 = max %6, %7 : f32x16
//         set %3, %8
//         store y[%5], %8
//       }
//     }
//   }
//
// Sizes (extents, strides, offsets, tile counts) are parameters s0, s1, ..., so that a tree serves every
// shape that needs the same code; printed without its name, it is the key of the kernel cache.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op/ops.h"
#include "ir/op/target.h"

namespace tenon::ir {

struct VType {
  DType dtype = DType::I64;
  int16_t lanes = 1;
  friend bool operator==(const VType&, const VType&) = default;
};

// In, Out: kernel arguments. Global: scratch shared by all phases of a launch, an argument too. Local:
// private to one CPU worker or GPU thread (registers if `count` is a small constant). Shared: private to one
// GPU block.
enum class Space : uint8_t { In, Out, Global, Local, Shared };

struct TreeBuffer {
  std::string name;
  DType dtype;
  Space space;
  int32_t size_param = -1;  // Global, Local: number of elements is sizes[size_param] ...
  int64_t count = 0;        // ... or this constant if size_param < 0
  bool aliased = false;     // In, Out: another argument may be the same memory
  int32_t stages = 1;       // Shared: equal parts, which asynchronous copies fill in turn
};

using ValueId = int32_t;

constexpr int kTileExtent = 16, kTileLanes = 8;  // rows and columns of a warp's tile; elements that each thread has of it

enum class StmtKind : uint8_t {
  Let,        // result = op(args) with `bits` (Const) or `slot` (Scalar)
  Size,       // result = size parameter `slot` (index type)
  Load,       // result = buffer[args[0]]: `lanes` consecutive elements from a scalar index; with `strided`,
              // element l is at
              //   args[0] + l*args[1]; a vector index gathers. With `mask`, lanes whose mask is false read nothing
              //   and give 0.
  LoadTile,   // result = the thread's eight elements of a tile of 16 rows by 16 elements of shared memory; `transposed`: of the tile
              // turned over. Each thread names the place of a piece of eight, at args[0], a multiple of 16 bytes; see below
  Mma,        // result = args[2] plus args[0] times the transposed args[1], tiles of a warp; see below
  Store,      // buffer[args[0]] = args.back(), addressed and masked in the same ways (args[1] is the stride if
              // `strided`)
  CopyAsync,  // shared buffer[args[0]] = the 16 bytes of buffer `slot` at args[1], zeros where the mask is false: begins here, and has
              // happened after a Wait
  Commit,     // the thread's copies since its last Commit are a group
  Wait,       // until at most `slot` of the thread's last groups are under way; other threads see its copies after a barrier
  Prefetch,   // buffer[args[0]] will be read soon: a CPU's hint; the place may lie past the buffer's end
  For,        // for result in args[0]..args[1] step `step` { body }; runs while result < args[1]; `unroll` is a
              // hint
  If,         // if args[0] { body } else { orelse }; a vector on a CPU: if any lane is true
  Var,        // a mutable register `result`, starting as args[0]; read it with Let Get
  Set,        // register args[0] = args[1]
  Barrier,    // __syncthreads
};

// Tiles of a warp: 16x16 elements, eight of them in each of its 32 threads, as PTX has the fragments of mma.m16n8k16. Element e of
// the thread with lane = thread mod 32 is
//
//   row lane / 4 + 8 * (e / 2 mod 2), column 2 * (lane mod 4) + e mod 2 + 8 * (e / 4), and of a right factor of mma, whose
//   quarters of 8x8 come in another order, row lane / 4 + 8 * (e / 4), column 2 * (lane mod 4) + e mod 2 + 8 * (e / 2 mod 2)
//
// load_tile reads four quarters: elements 2 q and 2 q + 1 are of that whose row i, eight neighbours anywhere in shared memory, thread
// 8 q + i names; `transposed`: of that quarter turned over.
// `mma a, b, c` is c[i][j] + the sum of a[i][k] * b[j][k] over k: a and b are tiles of f16 or bf16, c and the result of f32. The
// order of its sums, and how each is rounded, are the hardware's. Like a shuffle, all threads of a warp come to it, and to a
// load_tile, together.
//
// `fast`: one instruction, whose bits are the machine's. max and min: of zeros of different signs either may come. exp2: within
// 2^-22 of the value; 0 where that is below 2^-126. Nan of nan.
struct Stmt {
  StmtKind kind;
  Op op = Op::Get;
  bool strided = false;
  bool unroll = false;
  bool transposed = false;
  bool fast = false;  // Let max, min, exp2 of f32 on a GPU: as the machine has it, see below
  int32_t buffer = -1;
  int32_t slot = -1;  // of Deal and Weave: which one of the n; of CopyAsync: the buffer it reads; of Wait: groups
  ValueId result = -1;
  ValueId mask = -1;
  int64_t step = 1;
  uint64_t bits = 0;
  SmallVector<ValueId, 3> args = {};
  std::vector<Stmt> body = {}, orelse = {};
};

// One parallel loop over independent indices. Phases run one after another with a barrier between them: on a
// CPU the pool splits [0, sizes[extent]), on a GPU each is one launch with that many blocks.
struct Phase {
  std::string name;
  ValueId index;   // the loop variable: tile on a CPU, blockIdx.x on a GPU
  int32_t extent;  // size parameter holding the count
  std::vector<Stmt> body;
};

struct LoopTree {
  std::string name = "kernel";
  TargetKind target = TargetKind::Cpu;
  int lanes = 1;                    // CPU: vector width of full-level values
  int threads = 1;                  // GPU: threads a block
  int resident = 1;                 // GPU: blocks that a multiprocessor shall have registers for at the same time
  DType index_type = DType::I64;    // I32 only where every address provably fits
  std::vector<TreeBuffer> buffers;  // In and Out and Global in argument order
  std::vector<DType> scalars;
  int32_t size_count = 0;
  std::vector<VType> values;  // type of each ValueId; bool with lanes > 1 is a mask
  std::vector<Phase> phases;
};

using KnownTrees = std::span<const std::shared_ptr<const LoopTree>>;

// A tree's code as bytes: buffers, sizes, scalars and statements, no names. Two trees have the same bytes exactly if they have the same
// code. A statement takes about 15.
std::string code_bytes(const LoopTree& tree);
bool same_code(const LoopTree& a, const LoopTree& b);  // names alone may differ

// Walks along known trees while a builder makes statements, as long as these are those of one of them. Each step says whether that is
// so; after the first for which it is not, `copy_to` has the statements that were passed.
class TreeFollower {
 public:
  explicit TreeFollower(KnownTrees known) : known_(known) {}

  bool active() const { return !known_.empty(); }
  bool begin_phase();
  bool end_phase();
  bool statement(const Stmt& stmt);
  // The same of an operation on values, which is most of them: before there is a statement. False may also mean that it must be asked.
  bool operation(Op op, std::span<const ValueId> args, ValueId result);
  bool begin(const Stmt& header);  // of a For or an If
  bool begin_else();
  bool end();
  bool finish(const LoopTree& tree);  // the rest of the tree
  const std::shared_ptr<const LoopTree>& known() const { return known_[0]; }
  // Into the phases of the tree, its open blocks and the statements around these; no longer active then.
  void copy_to(LoopTree& tree, std::vector<std::vector<Stmt>>& open, std::vector<Stmt>& headers);

 private:
  // How many statements of a block were passed. The next one is the header of the block within.
  struct Place {
    const std::vector<Stmt>* block;
    size_t passed;
    bool at_end() const { return passed == block->size(); }
    const Stmt& next() const { return (*block)[passed]; }
  };
  // Takes up known trees that begin as the first one does, until `matches` is true.
  template <typename Matches>
  bool goes_on(const Matches& matches);
  bool take_up(const LoopTree& other);
  bool next_is(const Stmt& stmt) const;

  KnownTrees known_;         // the first is the one that is followed
  size_t phases_ = 0;        // that were passed whole
  std::vector<Place> path_;  // of the open blocks, innermost last
};

// The type of an elementwise result by the op table; `to` is the element type of Cast and Bitcast. Throws
// IrError if the operands break the op's rule: wrong number, dtypes outside the domain or unequal, lanes
// unequal.
VType elementwise_type(Op op, std::span<const VType> args, DType to);

// Builds statements into the innermost open block.
class TreeBuilder {
 public:
  // Where all statements turn out to be those of a known tree, none of them is stored.
  explicit TreeBuilder(LoopTree& tree, KnownTrees known = {}) : tree_(tree), follower_(known) {}

  // After the last phase: the known tree that has the same code; the tree that was built has no statements then. Null if there is none.
  std::shared_ptr<const LoopTree> finish();

  int32_t new_size() { return tree_.size_count++; }  // a fresh size parameter
  int32_t add_buffer(TreeBuffer buffer);
  void begin_phase(std::string name, int32_t extent_size);
  ValueId phase_index() const;
  void end_phase();

  ValueId constant(Constant c, int lanes = 1);
  ValueId index_constant(int64_t value);
  ValueId size(int32_t slot);  // reads a size parameter
  ValueId scalar(int32_t slot);
  ValueId let(Op op, std::span<const ValueId> args, VType type);
  ValueId let(Op op, std::initializer_list<ValueId> args, VType type) {
    return let(op, std::span<const ValueId>(args.begin(), args.size()), type);
  }
  // Elementwise with the result type inferred from the op table and the operands; `to` for Cast and Bitcast.
  ValueId op(Op op, std::span<const ValueId> args, DType to = DType::F32);
  ValueId op(Op o, std::initializer_list<ValueId> args, DType to = DType::F32) {
    return op(o, std::span<const ValueId>(args.begin(), args.size()), to);
  }
  ValueId fast(Op op, std::initializer_list<ValueId> args);  // of f32 on a GPU: Max, Min, Exp2
  ValueId quotient(ValueId x, ValueId d);                    // of positions: x >= 0, d > 0
  ValueId splat(ValueId x, int lanes);                       // x itself if it already has that many lanes
  // Both take n vectors. deal: lane l is element n*l + which of the vectors one after another; weave is the other way round:
  // the vectors weave(v, 0) .. weave(v, n-1) are what deal(.., i) makes v[i] of.
  ValueId deal(std::span<const ValueId> vectors, int which) { return pick(Op::Deal, vectors, which); }
  ValueId weave(std::span<const ValueId> vectors, int which) { return pick(Op::Weave, vectors, which); }
  ValueId load(int32_t buffer, ValueId index, int lanes, ValueId mask = -1);
  ValueId load_strided(int32_t buffer, ValueId index, ValueId stride, int lanes, ValueId mask = -1);
  ValueId gather(int32_t buffer, ValueId indices, ValueId mask = -1);
  void store(int32_t buffer, ValueId index, ValueId value, ValueId mask = -1);
  void store_strided(int32_t buffer, ValueId index, ValueId stride, ValueId value, ValueId mask = -1);
  void scatter(int32_t buffer, ValueId indices, ValueId value, ValueId mask = -1);
  void copy_async(int32_t buffer, ValueId index, int32_t source, ValueId from, ValueId mask = -1);
  void commit();
  void wait(int groups);
  void prefetch(int32_t buffer, ValueId index);
  ValueId load_tile(int32_t buffer, ValueId index, bool transposed = false);
  ValueId mma(ValueId left, ValueId right, ValueId sums);
  ValueId begin_for(ValueId begin, ValueId end, int64_t step,
                    bool unroll = false);  // gives the loop variable
  void end_for();
  void begin_if(ValueId condition);
  void begin_else();
  void end_if();
  ValueId var(ValueId init);
  ValueId get(ValueId var);
  void set(ValueId var, ValueId value);
  void barrier();

  VType type(ValueId v) const { return tree_.values[v]; }
  LoopTree& tree() { return tree_; }

 private:
  // A constant or a size that the open block sees.
  struct Visible {
    StmtKind kind;
    VType type;
    int32_t slot;
    uint64_t bits;
    ValueId value;
  };

  ValueId fresh(VType type);
  ValueId append(Stmt&& stmt);
  ValueId once(Stmt&& stmt, VType type);  // the visible one, or a new statement
  void open(Stmt&& header);
  void open_block();
  std::vector<Stmt> close_block();
  void end_block();
  template <typename Step>
  bool follows(const Step& step);
  ValueId pick(Op op, std::span<const ValueId> vectors, int which);
  LoopTree& tree_;
  std::vector<std::vector<Stmt>> open_;  // statement lists of the open blocks, innermost last
  std::vector<Stmt> headers_;            // the For/If whose body is open
  std::vector<Visible> visible_;
  std::vector<size_t> visible_before_;  // by open block: how many of them stand before it
  TreeFollower follower_;
};

// Values are numbered in order of definition. `with_name` false leaves out every name (of the tree, its
// buffers and phases): the text is then the key of the kernel cache, and holds just what changes the code.
std::string print(const LoopTree& tree, bool with_name = true);
// Accepts what print writes and verifies it. Throws IrError "FILE:LINE:COLUMN: reason".
LoopTree parse_looptree(std::string_view text, std::string_view file = "<text>");
// For each value whether it is an index: one integer, made by sums, products, minima, quotients, bits and choices of loop variables, thread
// and block numbers, sizes, constants and registers of such alone. Schedules keep these within their type, where data wrap around.
std::vector<bool> index_values(const LoopTree& tree);
void verify(const LoopTree& tree);  // definitions before uses, types, lanes, buffers; throws IrError

}  // namespace tenon::ir
