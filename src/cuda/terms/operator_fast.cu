/*
  y = y0 + alpha A x, A a sum of products of bands between continuous fields of one degree on a uniform mesh, as the components of a
  displacement are: all terms from one block of x.

  Products of terms that begin in the same way are computed once (TermsLines): with X_d the matrices of direction d,

    stage 0   P = X_0 u          one for each field and matrix
    stage 1   Q = sum X_1 P      one for each row of terms and matrix of the last direction
    stage 2   y = sum X_2 Q      in 2D stage 1 makes y

  and all stages are one function: a list of sums of products of a matrix and lines.  A thread takes a line of a unit, in all sums, one
  after the other.  A unit are two cells, of which the rows of the nodes in the upper one are wanted, or, for the residual of a colour's
  patches (COLOR), of all nodes between the ends: a patch.  Nodes have one owner, there are no atomics.  Between stages numbers are in
  shared memory.  All threads have the same matrix at a time: an operand from the constant bank.

  The residual of one colour of solids in 3D takes 9 products in the directions 0 and 2 and 15 in direction 1, each 2 (k + 1)^2 products
  of numbers a line: 118, 102, 103 a number inside a patch (k = 2, 3, 4).  Inside are (2k - 1)^3 of (2k)^3 nodes.  A number of the mesh
  takes at least 3 ps of arithmetic (double, 33 Tflop/s) and 3 ps of memory (x, and b and r inside, 4.8 TB/s), and 5 ps of shared memory,
  which has 41 words a number inside (k = 2).
*/
#include "base/plan.cuh"
#include "terms/terms.cuh"
#include <cuda_pipeline.h>

namespace patchfd
{

/* ---- shapes ---- */

/* units of a tile in each direction, by dimension and degree, for all nodes and for a colour's patches */
static constexpr int terms_tile[2][2][terms_lines_degrees][3] = {{{{16, 16, 1}, {8, 8, 1}, {8, 4, 1}, {4, 4, 1}, {4, 4, 1}, {4, 4, 1}},
                                                                  {{16, 8, 1}, {8, 4, 1}, {4, 4, 1}, {4, 2, 1}, {2, 2, 1}, {2, 2, 1}}},
                                                                 {{{8, 8, 4}, {4, 2, 2}, {2, 2, 1}, {2, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                                                                  {{8, 4, 2}, {4, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}}};

/* FIRST: wanted nodes of a unit are FIRST .. FIRST + OUT - 1; STEP: nodes from a unit to the next */
template <int K, int DIM, bool COLOR>
struct TermsLinesTile {
  static constexpr int n = K + 1, WIDTH = 2 * K + 1, FIRST = COLOR ? 1 : K, OUT = COLOR ? 2 * K - 1 : K, STEP = COLOR ? 2 * K : K;
  static constexpr int CELLS = COLOR ? 2 : 1, LOW = COLOR ? 0 : 1; /* of a unit's step, below its first own one */
  static constexpr int U0 = terms_tile[DIM - 2][COLOR][K - 1][0], U1 = terms_tile[DIM - 2][COLOR][K - 1][1],
                       U2 = terms_tile[DIM - 2][COLOR][K - 1][2];

  __host__ __device__ static constexpr int units(int d) { return d == 0 ? U0 : (d == 1 ? U1 : U2); }
  /* nodes of the array that stage s reads, in direction d; from one to the next; all */
  __host__ __device__ static constexpr int nodes(int s, int d)
  {
    return d >= DIM ? 1 : (d < s ? OUT * units(d) : STEP * (units(d) - 1) + WIDTH);
  }
  __host__ __device__ static constexpr int stride(int s, int d)
  {
    return d == 0 ? 1 : (d == 1 ? nodes(s, 0) | 1 : stride(s, 1) * nodes(s, 1));
  }
  __host__ __device__ static constexpr int size(int s) { return stride(s, 2) * nodes(s, 2); }
  /* of stage s */
  __host__ __device__ static constexpr int lines(int s) { return units(s) * nodes(s, s == 0 ? 1 : 0) * nodes(s, s == 2 ? 1 : 2); }

  static constexpr int max(int a, int b) { return a < b ? b : a; }
  static constexpr int THREADS = RoundUp(max(lines(0), max(lines(1), lines(DIM - 1))), 32) < 256
                                 ? RoundUp(max(lines(0), max(lines(1), lines(DIM - 1))), 32)
                                 : 256,
                       BLOCKS  = (K > 2 ? 512 : 1024) / THREADS; /* resident, so that registers suffice */
};

struct TermsLinesField {
  Layout xl, yl;
  Range  read, write, store; /* nodes of x that are not zero, rows that are not zero, all of y */
};

template <typename T, int K, int DIM>
struct TermsLinesData {
  T               X[DIM][terms_lines_matrices][(K + 1) * (K + 1)];
  TermsStage      stage[DIM];
  TermsLinesField field[PATCHFD_MAX_FIELDS];
  Range           cells;
  int             nfield, first[3]; /* the first cell of the first tile */
};

/* ---- the kernel ---- */

template <typename T, int n>
__device__ __forceinline__ void TermsRow(const T *X, const T *v, T &sum)
{
#pragma unroll
  for (int j = 0; j < n; j++) sum += X[j] * v[j];
}

/* sum += X v at the unit's wanted nodes.  Of all nodes the one between the cells is the only one that the cell below has a part in, which
   goes to sum[OUT]: that cell may not exist */
template <typename Tile, typename T>
__device__ __forceinline__ void TermsRows(const T *X, const T v[Tile::WIDTH], T sum[Tile::OUT + 1])
{
  constexpr int n = Tile::n, K = n - 1;

#pragma unroll
  for (int i = 0; i < Tile::OUT; i++) {
    const int r = Tile::FIRST + i;

    if (r <= K) TermsRow<T, n>(X + r * n, v, sum[Tile::LOW ? Tile::OUT : i]);
    if (r >= K) TermsRow<T, n>(X + (r - K) * n, v + K, sum[i]);
  }
}

/* f(number i) with a number that the compiler knows, LO <= i < HI, by halves */
template <int LO, int HI, typename F>
__device__ __forceinline__ void TermsForMatrix(int i, F f)
{
  constexpr int middle = (LO + HI) / 2;

  if constexpr (HI - LO == 1) f(std::integral_constant<int, LO>());
  else if (i < middle) TermsForMatrix<LO, middle>(i, f);
  else TermsForMatrix<middle, HI>(i, f);
}

/*
  emit(number of the sum, first place, its values) for all lines in direction D; places are counted in wanted nodes of direction D, and in
  nodes of the array `from` in the others
*/
template <typename Tile, int D, typename Data, typename T, typename Emit>
__device__ __forceinline__ void TermsLinesStage(const Data &s, const T *from, Emit emit)
{
  constexpr int     A = D == 0 ? 1 : 0, B = D == 2 ? 1 : 2, na = Tile::nodes(D, A), nb = Tile::nodes(D, B), stride = Tile::stride(D, D);
  const TermsStage &stage = s.stage[D];

#pragma unroll 1
  for (int line = threadIdx.x; line < Tile::lines(D); line += Tile::THREADS) {
    const int  unit = line / (na * nb), a = line % na, b = line / na % nb;
    const int  cell  = s.first[D] + (int)(D == 0 ? blockIdx.x : (D == 1 ? blockIdx.y : blockIdx.z)) * Tile::units(D) + unit;
    const bool above = Inside(s.cells, D, cell), below = Inside(s.cells, D, cell - 1);
    const T   *first = from + a * Tile::stride(D, A) + b * Tile::stride(D, B) + unit * Tile::STEP * stride;
    const int  at[3] = {D == 0 ? unit * Tile::OUT : a, D == 1 ? unit * Tile::OUT : (D == 0 ? a : b), D == 2 ? unit * Tile::OUT : b};
    T          v[Tile::WIDTH];
    int        known = -1; /* the array of v */

#pragma unroll 1
    for (int q = 0; q < stage.nsum; q++) {
      T sum[Tile::OUT + 1] = {};

#pragma unroll 1
      for (int t = stage.first[q]; t < stage.first[q + 1]; t++) {
        if (stage.from[t] != known) {
          const T *node = first + stage.from[t] * Tile::size(D);

#pragma unroll
          for (int j = 0; j < Tile::WIDTH; j++) v[j] = node[j * stride];
          known = stage.from[t];
        }
        TermsForMatrix<0, terms_lines_matrices>(stage.matrix[t], [&](auto i) { TermsRows<Tile>(s.X[D][decltype(i)::value], v, sum); });
      }
      if (Tile::LOW) {
#pragma unroll
        for (int i = 0; i < Tile::OUT; i++) sum[i] = above ? sum[i] : T(0);
        if (below) sum[0] += sum[Tile::OUT];
      }
      emit(q, at, sum);
    }
  }
}

/* all but the last stage: to shared memory */
template <typename Tile, int D, typename Data, typename T>
__device__ __forceinline__ void TermsLinesPass(const Data &s, const T *from, T *to)
{
  TermsLinesStage<Tile, D>(s, from, [=](int q, const int at[3], const T sum[]) {
    T *node = to + q * Tile::size(D + 1) + at[0] + at[1] * Tile::stride(D + 1, 1) + at[2] * Tile::stride(D + 1, 2);

#pragma unroll
    for (int i = 0; i < Tile::OUT; i++) node[i * Tile::stride(D + 1, D)] = sum[i];
  });
  __syncthreads();
}

template <typename T, int K, int DIM, bool COLOR>
__launch_bounds__(TermsLinesTile<K, DIM, COLOR>::THREADS, TermsLinesTile<K, DIM, COLOR>::BLOCKS) static __global__
  void TermsLinesKernel(const __grid_constant__ TermsLinesData<T, K, DIM> s, int between, T alpha, const T *__restrict__ x, const T *y0,
                        T *y)
{
  using Tile                   = TermsLinesTile<K, DIM, COLOR>;
  constexpr int             n0 = Tile::nodes(0, 0), n1 = Tile::nodes(0, 1), n2 = Tile::nodes(0, 2), LAST = DIM - 1, OTHER = 3 - LAST;
  const int                 tile[3] = {(int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z};
  extern __shared__ double2 terms_shared[];
  T                        *u = (T *)terms_shared, *P = u + between;
  int                       node[3]; /* the first one */

  for (int d = 0; d < 3; d++)
    node[d] = d < DIM ? (s.first[d] - Tile::LOW + tile[d] * Tile::units(d) * Tile::CELLS) * K : s.field[0].store.lo[d];
  for (int f = 0; f < s.nfield; f++) {
    const TermsLinesField &field = s.field[f];
    const T               *from  = x + field.xl.at(node[0], node[1], node[2]);
    const int              row = (int)field.xl.row, plane = (int)field.xl.plane;
    const bool             inner = field.read.contains(node[0], node[1], node[2]) &&
                       field.read.contains(node[0] + n0 - 1, node[1] + n1 - 1, node[2] + n2 - 1);

#pragma unroll 4
    for (int q = threadIdx.x; q < n0 * n1 * n2; q += Tile::THREADS) {
      const int i = q % n0, j = q / n0 % n1, k = q / (n0 * n1);
      T        *to = u + f * Tile::size(0) + i + j * Tile::stride(0, 1) + k * Tile::stride(0, 2);

      if (inner || field.read.contains(node[0] + i, node[1] + j, node[2] + k))
        __pipeline_memcpy_async(to, from + (i + j * row + k * plane), sizeof(T));
      else *to = 0;
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  TermsLinesPass<Tile, 0>(s, u, P);
  if constexpr (DIM == 3) TermsLinesPass<Tile, 1>(s, P, u);
  TermsLinesStage<Tile, LAST>(s, DIM == 3 ? u : P, [&](int f, const int at[3], const T sum[]) {
    const TermsLinesField &field = s.field[f];
    int                    to[3];
    T                      old[Tile::OUT];

    for (int d = 0; d < 3; d++) to[d] = node[d] + (d < DIM ? at[d] / Tile::OUT * Tile::STEP + at[d] % Tile::OUT + Tile::FIRST : 0);
    const ptrdiff_t there = field.yl.at(to[0], to[1], to[2]);
    const int       step  = LAST == 2 ? (int)field.yl.plane : (int)field.yl.row;
    const bool      row   = Inside(field.write, 0, to[0]) && Inside(field.write, OTHER, to[OTHER]);

    if (!Inside(field.store, 0, to[0]) || !Inside(field.store, OTHER, to[OTHER])) return;
#pragma unroll
    for (int i = 0; i < Tile::OUT; i++) old[i] = y0 && Inside(field.store, LAST, to[LAST] + i) ? y0[there + i * step] : T(0);
#pragma unroll
    for (int i = 0; i < Tile::OUT; i++)
      if (Inside(field.store, LAST, to[LAST] + i))
        y[there + i * step] = old[i] + (row && Inside(field.write, LAST, to[LAST] + i) ? alpha * sum[i] : T(0));
  });
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, int DIM, bool COLOR>
struct TermsLinesLaunch {
  using Tile = TermsLinesTile<K, DIM, COLOR>;
  TermsLinesData<T, K, DIM> data;
  int                       end[3];  /* behind the last node */
  int                       between; /* places of u, in which later are those of the last stage of 3D */
  size_t                    shared;

  static auto kernel() { return TermsLinesKernel<T, K, DIM, COLOR>; }

  PetscErrorCode create(const TermsLines &lines, bool *fits)
  {
    PetscFunctionBegin;
    data.nfield = (int)lines.nfield;
    data.cells  = Range(lines.cells);
    for (int d = 0; d < DIM; d++) {
      data.stage[d] = lines.stage[d];
      for (size_t i = 0; i < lines.X[d].size(); i++) std::copy(lines.X[d][i].begin(), lines.X[d][i].end(), data.X[d][i]);
    }
    for (int f = 0; f < data.nfield; f++) {
      const PatchFDField *from = &lines.field[f];
      TermsLinesField    *to   = &data.field[f];

      to->xl = Layout(from->xbox);
      to->yl = Layout(from->ybox);
      to->xl.offset += (ptrdiff_t)from->x0;
      to->yl.offset += (ptrdiff_t)from->y0;
      to->read  = Range(from->read, from->xbox);
      to->store = Range(from->ybox);
      to->write = Range(from->write);
      for (int d = 0; d < 3; d++) {
        data.first[d] = f ? PetscMin(data.first[d], to->store.lo[d] / K) : to->store.lo[d] / K;
        end[d]        = f ? PetscMax(end[d], to->store.hi[d]) : to->store.hi[d];
      }
    }
    between = PetscMax(data.nfield * Tile::size(0), DIM == 3 ? data.stage[1].nsum * Tile::size(2) : 0);
    shared  = sizeof(T) * (size_t)(between + data.stage[0].nsum * Tile::size(1));
    PetscCall(SharedFits(kernel(), shared, fits));
    *fits = *fits && GridFits(tiles(data.first, 1), tiles(data.first, 2));
    if (*fits) PetscCall(AllowShared(kernel(), shared));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* in direction d, from cell `first` on to the last node */
  unsigned tiles(const int first[3], int d) const
  {
    const int nodes = Tile::units(d) * Tile::STEP;

    return d < DIM ? (unsigned)PetscMax(0, (end[d] - first[d] * K + nodes - 1) / nodes) : 1;
  }

  /* from cell `first` on; with one tile only in direction `slab`, if there is such a direction */
  PetscErrorCode launch(const int first[3], int slab, PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const
  {
    TermsLinesData<T, K, DIM> from = data;
    const dim3                grid(slab == 0 ? 1 : tiles(first, 0), slab == 1 ? 1 : tiles(first, 1), slab == 2 ? 1 : tiles(first, 2));

    PetscFunctionBegin;
    if (!grid.x || !grid.y || !grid.z) PetscFunctionReturn(PETSC_SUCCESS); /* no nodes here */
    std::copy(first, first + 3, from.first);
    kernel()<<<grid, Tile::THREADS, shared, stream>>>(from, between, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int K, int DIM>
struct TermsLinesDegree : TermsOperatorFast {
  TermsLinesLaunch<T, K, DIM, false> all;
  TermsLinesLaunch<T, K, DIM, true>  color;
  int                                end[3][2]; /* the cell whose first node is at this end of the mesh, where there are rows; or -1 */
  bool                               patches;   /* are residuals those of patches? */

  /* launches for the rows at ends must not take longer than patches save */
  PetscErrorCode create(const TermsLines lines[2], bool *fits)
  {
    double slabs = 0;

    PetscFunctionBegin;
    PetscCall(all.create(lines[0], fits));
    PetscCall(color.create(lines[1], &patches));
    for (int d = 0; d < DIM; d++) {
      for (int e = 0; e < 2; e++) {
        end[d][e] = !lines->end[d][e] ? -1 : (e ? (int)lines->cells[d][1] : 0);
        if (end[d][e] >= 0) slabs += 1.0 / PetscMax(1, all.tiles(all.data.first, d));
      }
    }
    patches = patches && slabs < 0.5;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    return all.launch(all.data.first, -1, alpha, x, y0, y, stream);
  }
  /* the first patch has the first node; rows at the ends of the mesh come from tiles that have all nodes */
  PetscErrorCode residual(const PatchFDColor &c, const void *x, const void *b, void *r, cudaStream_t stream) const override
  {
    int first[3] = {0, 0, 0};

    PetscFunctionBegin;
    if (!patches) {
      PetscCall(apply(-1, x, b, r, stream));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    for (int d = 0; d < DIM; d++) first[d] = color.data.first[d] - (color.data.first[d] + (int)c.parity[d]) % 2;
    PetscCall(color.launch(first, -1, -1, x, b, r, stream));
    for (int d = 0; d < DIM; d++) {
      for (int e = 0; e < 2; e++) {
        if (end[d][e] < 0) continue;
        std::copy(all.data.first, all.data.first + 3, first);
        first[d] = end[d][e];
        PetscCall(all.launch(first, d, -1, x, b, r, stream));
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int DIM>
PetscErrorCode TermsLinesCreate(const TermsLines lines[2], TermsOperatorFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, terms_lines_degrees>(lines->degree, [&](auto degree) {
    TermsLinesDegree<T, degree, DIM> *p = new TermsLinesDegree<T, degree, DIM>();
    bool                              fits;

    PetscFunctionBegin;
    *fast = p;
    PetscCall(p->create(lines, &fits));
    if (fits) PetscFunctionReturn(PETSC_SUCCESS);
    delete p;
    *fast = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::TermsLinesCreate<INSTANCE_T, INSTANCE_DIM>(const TermsLines lines[2], TermsOperatorFast **);
