/*
  Fourth-order forms (operator.cuh) by blocks of threads that march, with products of common prefixes: 12 in 3D, 5 in 2D.  In 3D, with
  the bands of direction 0 (x), 1 (y) and 2 (z),

    y-lines   P_M = M1 u            P_K = K1 u            P_B = B1 u
    x-lines   Q_M = B0 P_M + M0 P_B + K0 P_K              Q_K = M0 P_K + K0 P_M             Q_B = M0 P_M
    z-lines   y   = M2 Q_M + K2 Q_K + B2 Q_B

  each product with its coefficient.  In 2D the march is in y and there are no lines before those in x: P_M = u.

  A block owns the nodes of Q cells in x and R cells in y, but those at the upper ends, and marches in z by layers of cells.  Nodes have
  one owner: no atomics, and two runs agree to the last bit.  So the cells below the own ones are computed as well, for what they add to
  the lowest nodes; and these take two numbers a line, of P_M (x, stage 2), of u (y) and of Q_B (z), from one cell more on either side.
  Step c is over layer c: the planes c K + 1 .. (c + 1) K.

    1. a thread a y-line (a column and a plane), all cells of it:  P_M, P_K, P_B to shared memory; in the outermost columns P_M is enough.
       x of the next step is loaded here, long before it is needed (or just before, if LATE).
    2. a thread an x-line of a cell, C = Q + 1 lanes for the own cells and the one below.  Neighbours in x are neighbouring lanes: shuffles
    bring
       the numbers of the cells beside, and add up shared nodes.  In place.
    3. a thread a z-line (a node of the tile), a cell at a time, the node shared with the cell before in registers.  What the layer after a
    cell adds
       to it is known one step later: it goes to y then; consecutive lanes are consecutive in x.

  The residual that the patches of one colour need is cheaper (COLOR): tiles are whole patches, whose boundaries' rows nobody reads, so
  that no cells below the own ones are computed, nor lines on these boundaries.

  Lines are split by mirror symmetry (base/march.cuh), the reference matrices are kernel parameters: operands from the constant bank.  The
  numbers of cells are zero where cells are not visited or do not exist, so that ends of lines, ends of ranks and graded meshes need no
  other code.
*/
#include "bands/stages.cuh"

namespace patchfd
{

/* ---- the kernel ---- */

/* of the cells of a direction from geometry.number0 on: [MIX_CELL] in direction 0, [BAND_CELL] in the others; zero where there is no cell
   */
template <typename T>
struct BandNumbers {
  const T *dir[3];
};

/* the numbers of the block's cells in x and y, to shared memory */
template <typename S, typename T>
__device__ __forceinline__ void FetchNumbers(const BandGeometry &g, const BandPlace<S> &place, const BandNumbers<T> &numbers, T *shared)
{
  const T *x = numbers.dir[0] + (place.c[0] - S::LOW - g.number0[0]) * MIX_CELL,
          *y = numbers.dir[1] + (place.c[1] - S::LOW - g.number0[1]) * BAND_CELL;

  for (int i = threadIdx.x; i < S::NUMBERS; i += S::THREADS) shared[i] = i < S::C * MIX_CELL ? x[i] : y[i - S::C * MIX_CELL];
}

/* has the tile rows that are not zero? */
template <typename S, int DIM>
__device__ __forceinline__ bool HasRows(const BandGeometry &g, const BandPlace<S> &place)
{
  constexpr int K = S::N - 1, KY = DIM == 3 ? K : 1;

  return place.c[0] * K < g.write.hi[0] && (place.c[0] + S::Q) * K > g.write.lo[0] && place.c[1] * KY < g.write.hi[1] &&
         (place.c[1] + S::R) * KY > g.write.lo[1];
}

template <typename T, int K, int DIM, bool COLOR>
__launch_bounds__(BandSizes<T, K, DIM, COLOR>::THREADS, BandTile<T, K, DIM, COLOR>::B) static __global__
  void BandKernel(const __grid_constant__ BandMatrices<T, K> m, const __grid_constant__ BandGeometry g,
                  const __grid_constant__ BandNumbers<T> numbers, T alpha, const T *__restrict__ x, const T *y0, T *y)
{
  using S                           = BandSizes<T, K, DIM, COLOR>;
  constexpr int             BUFFERS = BandTile<T, K, DIM, COLOR>::BUFFERS;
  extern __shared__ double2 band_shared[];
  T *const mix = (T *)band_shared, *const ynumbers = mix + S::C * MIX_CELL, *const steps = mix + S::NUMBERS;
  const BandPlace<S>            place(g);
  const bool                    rows = HasRows<S, DIM>(g, place);
  BandY<T, K, DIM, COLOR>       liney(g, place);
  const BandX<T, K, DIM, COLOR> linex;
  BandZ<T, K, DIM, COLOR>       linez(g, place, alpha);
  int                           first = place.c[2] - 1 - S::LOW; /* the first layer that has a part in the own nodes */

  while (first < place.c[2] && (first + 1) * K < g.read.lo[2]) first++;
  FetchNumbers(g, place, numbers, mix);
  __syncthreads();
  if (!S::LATE && rows) liney.fetch(g, x, first - 1, true);
  for (int c = first - 1; c <= place.end; c++) {
    const bool           only = c < first, some = rows && c * K + 1 < g.read.hi[2] && (c + 1) * K >= g.read.lo[2]; /* has x such planes? */
    const BandStep<S, T> step(steps + (BUFFERS == 2 && (c & 1) ? S::STEP : 0));

    if (some) {
      if (S::LATE) liney.fetch(g, x, c, only);
      liney.apply(m, ynumbers, only, step);
    }
    if (!S::LATE && rows && c < place.end) liney.fetch(g, x, c + 1, false);
    if (some) {
      __syncthreads(); /* P is there */
      linex.apply(m, mix, only, step);
    }
    if (c > place.c[2]) linez.fetch(g, c - 1, y0);
    /* Q is there; with two buffers until the step after the next: all threads have passed the next step's barriers then */
    if (some) __syncthreads();
    if (threadIdx.x < S::LINES3) {
      if (!only) linez.apply(m, g, numbers.dir[2] + (size_t)(c - g.number0[2]) * BAND_CELL, c, some, c > place.c[2], step, y);
      else if (some) linez.begin(step);
    }
    if (BUFFERS == 1 && some) __syncthreads();
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, int DIM>
struct BandOperatorDegree : BandOperatorFast {
  /* directions of the form; in 2D the march is in direction 1, and one node takes its place */
  static constexpr int dir[3] = {0, DIM == 3 ? 1 : -1, DIM - 1};
  BandMatrices<T, K>   m;
  BandGeometry         g;
  BandNumbers<T>       numbers;
  PlanMemory           memory;
  int                  chunk[2]; /* layers of a march: of the operator, of a colour's residual */

  template <bool COLOR>
  struct Cut {
    using S                    = BandSizes<T, K, DIM, COLOR>;
    static constexpr int layer = COLOR ? 2 : 1, size[3] = {S::Q, S::R, layer};

    static __host__ int tiles(const BandGeometry &g, int d)
    {
      return dir[d] < 0 ? 1 : PetscMax(0, (g.store.hi[d] + K - 1) / K - g.cell0[d] + size[d] - 1) / size[d];
    }
    static PetscErrorCode march(const BandGeometry &g, int *chunk)
    {
      unsigned parts;

      PetscFunctionBegin;
      PetscCall(CutMarches(BandKernel<T, K, DIM, COLOR>, S::THREADS, S::SHARED, (size_t)tiles(g, 0) * tiles(g, 1), tiles(g, 2),
                           COLOR ? 1 : 3, chunk, &parts));
      *chunk *= layer;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  };

  /* for plans of such tiles */
  static PetscErrorCode fits(const BandForm *f, bool *yes)
  {
    bool color;

    PetscFunctionBegin;
    PetscCall(SharedFits(BandKernel<T, K, DIM, false>, BandSizes<T, K, DIM, false>::SHARED, yes));
    PetscCall(SharedFits(BandKernel<T, K, DIM, true>, BandSizes<T, K, DIM, true>::SHARED, &color));
    *yes = *yes && color && (dir[1] < 0 || GridFits(f->ybox.n[dir[1]] / (K * PetscMin(Cut<false>::size[1], Cut<true>::size[1])) + 2));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode create(const BandForm *f)
  {
    const Layout    xl(f->xbox), yl(f->ybox);
    const ptrdiff_t point = DIM == 2 ? f->ybox.lo[2] : 0;

    PetscFunctionBegin;
    m.create(f->reference);
    g.xl = xl;
    g.yl = yl;
    if (DIM == 2) {
      g.xl.offset += point * xl.plane;
      g.yl.offset += point * yl.plane;
      g.xl.plane = xl.row;
      g.yl.plane = yl.row;
    }
    for (int d = 0; d < 3; d++) {
      const int e = dir[d];

      g.read.lo[d] = g.write.lo[d] = g.store.lo[d] = g.cell0[d] = g.number0[d] = 0;
      g.read.hi[d] = g.write.hi[d] = g.store.hi[d] = 1;
      if (e < 0) continue;
      g.store.lo[d] = (int)f->ybox.lo[e];
      g.store.hi[d] = (int)(f->ybox.lo[e] + f->ybox.n[e]);
      g.read.lo[d]  = (int)PetscMax(f->read[e][0], f->xbox.lo[e]);
      g.read.hi[d]  = (int)PetscMin(f->read[e][1], f->xbox.lo[e] + f->xbox.n[e]);
      g.write.lo[d] = (int)PetscMax(f->write[e][0], f->cells[e][0] * K);
      g.write.hi[d] = (int)(f->cells[e][1] > f->cells[e][0] ? PetscMin(f->write[e][1], f->cells[e][1] * K + 1) : g.write.lo[d]);
      g.cell0[d]    = g.store.lo[d] / K;
      g.number0[d]  = g.cell0[d] - 3;
      /* tiles may begin one cell before or after cell0, and end one tile and a few cells after the last one */
      PetscCall(
        upload(f, e, d, g.number0[d], (g.store.hi[d] + K - 1) / K - g.number0[d] + PetscMax(Cut<false>::size[d], Cut<true>::size[d]) + 3));
    }
    if (DIM == 2) numbers.dir[1] = numbers.dir[2]; /* there is no such direction */
    PetscCall(Cut<false>::march(g, &chunk[false]));
    PetscCall(Cut<true>::march(g, &chunk[true]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* the numbers of `count` cells from `first` on, of direction e of the form and d of the kernel; zero where there are none or they are not
     to be visited */
  PetscErrorCode upload(const BandForm *f, int e, int d, int first, int count)
  {
    const int              n = d == 0 ? (int)MIX_CELL : (int)BAND_CELL, ncells = (int)f->numbers[e].size() / BAND_CELL;
    std::vector<PetscReal> v((size_t)count * n);

    PetscFunctionBegin;
    for (int c = PetscMax(0, -first); c < count && first + c < ncells; c++) {
      if (first + c < f->cells[e][0] || first + c >= f->cells[e][1]) continue;
      const PetscReal *from = f->numbers[e].data() + (size_t)(first + c) * BAND_CELL;
      PetscReal       *cell = v.data() + (size_t)c * n;

      if (d == 0) mix(f, from, cell);
      else std::copy(from, from + n, cell);
    }
    PetscCall(memory.upload(v.size(), v.data(), &numbers.dir[d]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* coefficients of the terms go into the numbers of the x-lines, each of whose products belongs to one term: roles of directions 0, 1, 2
     of the kernel */
  static void mix(const BandForm *f, const PetscReal from[], PetscReal to[])
  {
    auto coef = [&](int r0, int r1, int r2) { return DIM == 3 ? f->coef[r0][r1][r2] : (r1 == ROLE_M ? f->coef[r0][r2][ROLE_M] : 0.0); };
    const PetscReal b = coef(ROLE_B, ROLE_M, ROLE_M);

    to[MIX_MB] = coef(ROLE_M, ROLE_B, ROLE_M) * from[BAND_M];
    to[MIX_MM] = b * from[BAND_S];
    to[MIX_HM] = b * from[BAND_A];
    to[MIX_KK] = coef(ROLE_K, ROLE_K, ROLE_M) * from[BAND_K];
    to[MIX_MK] = coef(ROLE_M, ROLE_K, ROLE_K) * from[BAND_M];
    to[MIX_KM] = coef(ROLE_K, ROLE_M, ROLE_K) * from[BAND_K];
    to[MIX_B]  = coef(ROLE_M, ROLE_M, ROLE_B) * from[BAND_M];
    for (int i = 0; i < 2 * BAND_PER_END; i++) to[MIX_END + i] = b * from[BAND_END + i];
  }

  /* tiles from cell0 of `from` on */
  template <bool COLOR>
  PetscErrorCode launch(const BandGeometry &from, PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const
  {
    using S               = BandSizes<T, K, DIM, COLOR>;
    BandGeometry geometry = from;
    dim3         grid;

    PetscFunctionBegin;
    geometry.layers = Cut<COLOR>::layer * Cut<COLOR>::tiles(from, 2);
    geometry.chunk  = chunk[COLOR];
    grid.x          = (unsigned)Cut<COLOR>::tiles(from, 0);
    grid.y          = (unsigned)Cut<COLOR>::tiles(from, 1);
    grid.z          = (unsigned)((geometry.layers + geometry.chunk - 1) / geometry.chunk);
    if (!grid.x || !grid.y || !grid.z) PetscFunctionReturn(PETSC_SUCCESS); /* no nodes here */
    BandKernel<T, K, DIM, COLOR>
      <<<grid, S::THREADS, S::SHARED, stream>>>(m, geometry, numbers, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    return launch<false>(g, alpha, x, y0, y, stream);
  }

  /* The first patch is the one that has the first node, or, where the mesh begins, the first of its parity */
  PetscErrorCode residual(const PatchFDColor &color, const void *x, const void *b, void *r, cudaStream_t stream) const override
  {
    BandGeometry from = g;

    PetscFunctionBegin;
    for (int d = 0; d < 3; d++)
      if (dir[d] >= 0 && (g.cell0[d] + (int)color.parity[dir[d]]) % 2) from.cell0[d] += g.cell0[d] ? -1 : 1;
    PetscCall(launch<true>(from, -1, x, b, r, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int DIM>
PetscErrorCode BandOperatorFastCreate(const BandForm *form, BandOperatorFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<2, band_fast_degrees>(form->degree, [&](auto degree) {
    BandOperatorDegree<T, degree, DIM> *p;
    bool                                fits;

    PetscFunctionBegin;
    PetscCall((BandOperatorDegree<T, degree, DIM>::fits(form, &fits)));
    if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
    p     = new BandOperatorDegree<T, degree, DIM>();
    *fast = p;
    PetscCall(p->create(form));
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::BandOperatorFastCreate<INSTANCE_T, INSTANCE_DIM>(const BandForm *, BandOperatorFast **);
