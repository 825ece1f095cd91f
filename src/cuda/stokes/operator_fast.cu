/*
  y = y0 + alpha A x for Stokes in RT_k, DGQ_k: all fields of a tile of cells in one pass.

  Masses in directions where cells share no nodes stay in their cells.  Without them the component c of the velocity is

    y_c = M_e M_f ( A_c u + M_c (B_e + B_f) u + g_c G' p ),   B_e = M_e^{-1} A_e (dg/dg.cuh),

  where A_c and M_c, stiffness and mass in its own direction, and G' couple a vertex's node to the cells above and below.  G' = D' M with D
  the derivative at the pressure's nodes, and y_p = M M M sum_c q_c D_c u_c.  Cells of all meshes differ by a few numbers, which are zero
  for cells that do not exist: ends of the box and graded meshes need nothing else.  Inner tiles, all of whose cells are alike and away
  from the ends, have these numbers as operands from the constant bank, and do not ask which nodes exist.

  Mapping: a block of threads takes a tile of PX x PY cells of one layer, and writes the nodes that these cells own, of a shared node's
  cells the upper one; what it needs of the cells beside it is computed twice.  A thread takes a line of a cell, n = k + 1 nodes; between
  the stages numbers are in shared memory: U the component with the cells beside the tile, W what becomes y, P the pressure with the cells
  below, Q the divergence.

    c = 0, 1   z  U = u, W = B_z u                     from global memory, and on the lines that 'own' reads beside the tile
               beside  W += B_e u                      e the other one of x and y
               own     W = A_c u + M_c W + g G' p, Q += q D u
               beside  W = M_e W
               z       y = M_z W
    c = 2      z  U = M_z u, W = A_z u + g G' p, Q += q D u        (the operators of different directions commute)
               y  W += B_y U          and Q = M_x Q
               x  W = M_x (W + B_x U) and Q = M_y Q
               y  y = M_y W           and y_p = M_z Q

  In 2D the layers of cells are one node thick, without the stages in z.  Lanes follow x, in x-lines y: rows have an odd pitch, there are no
  bank conflicts.

  Floors an unknown in 3D, double, H200: memory 24 B with y0, 5.7 ps; L2 about 4 words, 4 ps; 27 n + 45 products in four unknowns, 2 ps at
  k = 2, 3 at k = 5; shared memory about 17 words, 4 ps.
*/
#include "stokes/lines.cuh"

namespace patchfd
{

/* ---- columns of cells from global memory ---- */

/* a z-line of x, nodes counted from the cell's first */
template <typename T, bool INNER>
struct StokesColumn {
  const T *x;
  int      plane, lo, hi; /* nodes that exist */

  template <typename S>
  __device__ __forceinline__ StokesColumn(const StokesField &f, const StokesPlace<S> &place, const T *__restrict__ all, int i, int j)
  {
    const bool line = Inside(f.read, 0, place.node[0] + i) && Inside(f.read, 1, place.node[1] + j);

    x     = all + f.xl.at(place.node[0], place.node[1], place.node[2]) + (i + j * (int)f.xl.row);
    plane = (int)f.xl.plane;
    lo    = f.read.lo[2] - place.node[2];
    hi    = line ? f.read.hi[2] - place.node[2] : lo;
  }
  __device__ __forceinline__ T operator()(int l) const { return INNER || (l >= lo && l < hi) ? x[l * plane] : T(0); }
};

/* y = y0 + scale w on N nodes in direction D from a node of the tile on */
template <int D, int N, bool INNER, typename S, typename T>
__device__ __forceinline__ void StokesStore(const StokesField &f, const StokesPlace<S> &place, int i, int j, int k, T scale, const T w[N],
                                            const T *y0, T *y)
{
  constexpr int a = D == 0, b = D == 2 ? 1 : 2;
  const int     node[3] = {place.node[0] + i, place.node[1] + j, place.node[2] + k},
            stride      = D == 0 ? 1 : (int)(D == 1 ? f.yl.row : f.yl.plane);
  const bool      rows  = Inside(f.write, a, node[a]) && Inside(f.write, b, node[b]);
  const ptrdiff_t at    = f.yl.at(place.node[0], place.node[1], place.node[2]) + (i + j * (int)f.yl.row + k * (int)f.yl.plane);
  auto            has   = [&](int l) { return INNER || Inside(f.store, D, node[D] + l); };
  T               old[N];

  if (!INNER && (!Inside(f.store, a, node[a]) || !Inside(f.store, b, node[b]))) return;
#pragma unroll
  for (int l = 0; l < N; l++) old[l] = y0 && has(l) ? y0[at + l * stride] : T(0);
#pragma unroll
  for (int l = 0; l < N; l++) {
    if (has(l)) y[at + l * stride] = old[l] + (INNER || (rows && Inside(f.write, D, node[D] + l)) ? scale * w[l] : T(0));
  }
}

/* ---- a block of threads ---- */

/* INNER: an inner tile */
template <typename T, int K, int DIM, bool INNER>
struct StokesBlock {
  using S                = StokesTile<T, K, DIM>;
  static constexpr int n = S::n, NZ = S::NZ, X = S::X, Y = S::Y;
  using TileQ = typename S::Q;
  using PartU = typename S::U;
  using PartW = typename S::W;
  using PartP = typename S::P;

  const StokesMatrices<T, K> &m;
  const StokesData<T>        &d;
  const StokesPlace<S>        place;
  const T                    *x, *y0;
  T                          *y, *U, *W, *P, *Q, alpha;

  __device__ StokesBlock(const StokesMatrices<T, K> &m, const StokesData<T> &d, const StokesPlace<S> &place, T alpha, const T *x,
                         const T *y0, T *y, T *shared) :
    m(m),
    d(d), place(place), x(x), y0(y0), y(y), U(shared), W(U + PartU::SIZE), P(W + PartW::SIZE), Q(P + PartP::SIZE), alpha(alpha)
  {
  }

  __device__ __forceinline__ T length(int e, int i) const { return e < DIM ? StokesLength<INNER>(d, e, place.at(e, i)) : T(1); }
  /* the product of the lengths of a node's cell, but for direction c */
  __device__ __forceinline__ T lengths(int c, int i, int j) const
  {
    return (c == 0 ? T(1) : length(0, i)) * (c == 1 ? T(1) : length(1, j)) * (c == 2 ? T(1) : length(2, 0));
  }

  /* no row of the tile but zero rows */
  __device__ void zero()
  {
    const T w[n] = {};

    for (int f = 0; f <= DIM; f++)
      StokesLines<S, 2, TileQ>::each([&](int i, int j, int k) { StokesStore<2, NZ, INNER>(d.field[f], place, i, j, k, T(0), w, y0, y); });
  }
  __device__ __forceinline__ void all()
  {
    fetchP();
    fetchU<0>();
    __pipeline_commit();
    component<0>();
    component<1>();
    if constexpr (DIM == 3) last();
  }

  /* pressure of the tile and of the cells below it, whose corner nobody needs */
  __device__ __forceinline__ void fetchP()
  {
    StokesFetch<S, INNER, PartP, -n, X, 0, Y>(d.field[DIM], place, x, P);
    StokesFetch<S, INNER, PartP, 0, X, -n, 0>(d.field[DIM], place, x, P);
  }
  /* component c beside the tile; in 2D also in it */
  template <int C>
  __device__ __forceinline__ void fetchU()
  {
    if constexpr (DIM == 2) {
      if (C == 0) StokesFetch<S, INNER, PartU, -n, X + 1, -n, Y + n>(d.field[C], place, x, U);
      else StokesFetch<S, INNER, PartU, -n, X + n, -n, Y + 1>(d.field[C], place, x, U);
    } else if (C == 0) {
      StokesFetch<S, INNER, PartU, -n, X + 1, -n, 0>(d.field[C], place, x, U);
      StokesFetch<S, INNER, PartU, -n, X + 1, Y, Y + n>(d.field[C], place, x, U);
    } else {
      StokesFetch<S, INNER, PartU, -n, 0, -n, Y + 1>(d.field[C], place, x, U);
      StokesFetch<S, INNER, PartU, X, X + n, -n, Y + 1>(d.field[C], place, x, U);
    }
  }

  /* the part of the tile that has what component C needs in its own direction */
  template <int C>
  using Own = typename S::template Part<C == 0 ? -n : 0, X + (C == 0), C == 1 ? -n : 0, Y + (C == 1)>;

  /* U = u, W = B_z u */
  template <int C>
  __device__ __forceinline__ void penaltyZ()
  {
    StokesLines<S, 2, Own<C>>::each([&](int i, int j, int) {
      const StokesColumn<T, INNER> node(d.field[C], place, x, i, j);
      T                            u[n], w[n] = {};

#pragma unroll
      for (int l = 0; l < n; l++) u[l] = node(l);
      DGCellLine<T, K>(
        m.d, StokesNumbers<INNER>(d, C, 2, place.cell[2]), u, [&](int l) { return node(l - n); }, [&](int l) { return node(l + n); }, w);
#pragma unroll
      for (int l = 0; l < n; l++) {
        U[PartU::at(i, j, l)] = u[l];
        W[PartW::at(i, j, l)] = w[l];
      }
    });
  }

  /* W += B_E U, or W = M_E (W + B_E U), or, where there was nothing in W, W = B_E U */
  template <int C, int E, typename Part, bool NEW, bool MASS>
  __device__ __forceinline__ void penalty()
  {
    constexpr int su = PartU::template stride<E>, sw = PartW::template stride<E>;

    StokesLines<S, E, Part>::each([&](int i, int j, int k) {
      const T *from = U + PartU::at(i, j, k);
      T       *to   = W + PartW::at(i, j, k), u[n], w[n], v[n];

#pragma unroll
      for (int l = 0; l < n; l++) {
        u[l] = from[l * su];
        w[l] = NEW ? T(0) : to[l * sw];
      }
      DGCellLine<T, K>(
        m.d, StokesNumbers<INNER>(d, C, E, place.at(E, E ? j : i)), u, [=](int l) { return from[(l - n) * su]; },
        [=](int l) { return from[(l + n) * su]; }, w);
      if (MASS) DGMassLine<T, n>(m.d.M, w, v);
#pragma unroll
      for (int l = 0; l < n; l++) to[l * sw] = MASS ? v[l] : w[l];
    });
  }

  /* W = A u + M W + g G' p, Q += q D u, C < 2.  The next component's nodes are asked for when nobody reads this one's any more */
  template <int C>
  __device__ __forceinline__ void own()
  {
    using Lines      = StokesLines<S, C, TileQ>;
    constexpr int su = PartU::template stride<C>, sw = PartW::template stride<C>, sp = PartP::template stride<C>,
                  sq = TileQ::template stride<C>;
    const bool mine  = threadIdx.x < Lines::COUNT;
    T          w[n], *to = NULL;

    static_assert(Lines::COUNT <= S::THREADS, "a line a thread");
    if (mine) {
      Lines::at(threadIdx.x, [&](int i, int j, int k) {
        const T *u = U + PartU::at(i, j, k), *p = P + PartP::at(i, j, k);
        T       *q    = Q + TileQ::at(i, j, k), div[n];
        auto     line = [=](int l) { return u[l * su]; };

        to                = W + PartW::at(i, j, k);
        const T *t        = to;
        auto     sum      = [=](int l) { return t[l * sw]; };
        auto     pressure = [=](int l) { return p[l * sp]; };

        StokesOwnLine<INNER, T, K>(m, d, C, place.at(C, C ? j : i),
                                   StokesLine<decltype(line), decltype(sum), decltype(pressure)>{line, sum, pressure}, w);
        StokesDivergence<T, K>(m, d.divergence[C] * lengths(C, i, j), line, div);
#pragma unroll
        for (int l = 0; l < n; l++) q[l * sq] = (C ? q[l * sq] : T(0)) + div[l];
      });
    }
    __syncthreads();
    if constexpr (C == 0) {
      fetchU<1>();
      __pipeline_commit();
    }
    if (mine) {
#pragma unroll
      for (int l = 0; l < n; l++) to[l * sw] = w[l];
    }
  }

  /* V = M_E V on the tile, V in shared memory of shape Part */
  template <int E, typename Part>
  __device__ __forceinline__ void mass(T *V)
  {
    constexpr int s = Part::template stride<E>;

    StokesLines<S, E, TileQ>::each([&](int i, int j, int k) {
      T *at = V + Part::at(i, j, k), w[n], v[n];

#pragma unroll
      for (int l = 0; l < n; l++) w[l] = at[l * s];
      DGMassLine<T, n>(m.d.M, w, v);
#pragma unroll
      for (int l = 0; l < n; l++) at[l * s] = v[l];
    });
  }

  /* y = M_E V for the rows of field F, scaled by the lengths of the cells but in direction C (-1: those that the divergence has are in it)
     */
  template <int E, int F, typename Part>
  __device__ __forceinline__ void store(const T *V)
  {
    constexpr int s = Part::template stride<E>, N = E == 2 ? NZ : n;

    StokesLines<S, E, TileQ>::each([&](int i, int j, int k) {
      const T *at = V + Part::at(i, j, k);
      T        w[n], v[n];

#pragma unroll
      for (int l = 0; l < N; l++) w[l] = at[l * s];
      if (N > 1) DGMassLine<T, n>(m.d.M, w, v);
      StokesStore<E, N, INNER>(d.field[F], place, i, j, k, F == DIM ? alpha : alpha * lengths(F, i, j), N > 1 ? v : w, y0, y);
    });
  }

  /* the components 0 and 1 */
  template <int C>
  __device__ __forceinline__ void component()
  {
    if constexpr (DIM == 3) penaltyZ<C>();
    __pipeline_wait_prior(0);
    __syncthreads();
    penalty<C, 1 - C, Own<C>, DIM == 2, false>();
    __syncthreads();
    own<C>();
    __syncthreads();
    mass<1 - C, PartW>(W);
    if constexpr (DIM == 2 && C == 1) mass<0, TileQ>(Q);
    __syncthreads();
    store<2, C, PartW>(W);
    if constexpr (DIM == 2 && C == 1) store<1, 2, TileQ>(Q);
    else __syncthreads();
  }

  /* U = M_z u, W = A_z u + g G' p, Q += q D u, and U beside the tile */
  __device__ __forceinline__ void ownZ()
  {
    auto nothing = [](int) { return T(0); };

    StokesLines<S, 2, TileQ>::each([&](int i, int j, int) {
      const StokesColumn<T, INNER> node(d.field[2], place, x, i, j), p(d.field[3], place, x, i, j);
      T                            u[2 * n + 1], v[n], w[n], div[n];

#pragma unroll
      for (int l = 0; l <= 2 * n; l++) u[l] = node(l - n);
      auto line = [&](int l) { return u[l + n]; };
      StokesOwnLine<INNER, T, K>(m, d, 2, place.cell[2],
                                 StokesLine<decltype(line), decltype(nothing), StokesColumn<T, INNER>>{line, nothing, p}, w);
      StokesMassLine<INNER, T, K>(m, d, 2, place.cell[2], line, v);
      StokesDivergence<T, K>(m, d.divergence[2] * lengths(2, i, j), line, div);
#pragma unroll
      for (int l = 0; l < n; l++) {
        U[PartU::at(i, j, l)] = v[l];
        W[PartW::at(i, j, l)] = w[l];
        Q[TileQ::at(i, j, l)] += div[l];
      }
    });
    besideZ<typename S::template Part<-n, 0, 0, Y>>();
    besideZ<typename S::template Part<X, X + n, 0, Y>>();
    besideZ<typename S::template Part<0, X, -n, 0>>();
    besideZ<typename S::template Part<0, X, Y, Y + n>>();
  }
  template <typename Part>
  __device__ __forceinline__ void besideZ()
  {
    StokesLines<S, 2, Part>::each([&](int i, int j, int) {
      const StokesColumn<T, INNER> node(d.field[2], place, x, i, j);
      T                            v[n];

      StokesMassLine<INNER, T, K>(m, d, 2, place.cell[2], node, v);
#pragma unroll
      for (int l = 0; l < n; l++) U[PartU::at(i, j, l)] = v[l];
    });
  }

  /* the last component and the pressure, in 3D */
  __device__ __forceinline__ void last()
  {
    ownZ();
    __syncthreads();
    penalty<2, 1, TileQ, false, false>();
    mass<0, TileQ>(Q);
    __syncthreads();
    penalty<2, 0, TileQ, false, true>();
    mass<1, TileQ>(Q);
    __syncthreads();
    store<1, 2, PartW>(W);
    store<2, 3, TileQ>(Q);
  }
};

template <typename T, int K, int DIM>
__launch_bounds__(StokesTile<T, K, DIM>::THREADS, StokesTile<T, K, DIM>::BLOCKS) static __global__
  void StokesKernel(const __grid_constant__ StokesMatrices<T, K> m, const __grid_constant__ StokesData<T> d, T alpha,
                    const T *__restrict__ x, const T *y0, T *y)
{
  extern __shared__ double2                stokes_shared[];
  const StokesPlace<StokesTile<T, K, DIM>> place(d);
  bool                                     inner = true, empty = false;

  for (int e = 0; e < DIM; e++) {
    inner = inner && place.cell[e] >= d.inner[e][0] && place.cell[e] < d.inner[e][1];
    empty = empty || place.cell[e] > d.end[e] || (place.cell[e] == d.end[e] && !d.closing[e]);
  }
  if (inner) StokesBlock<T, K, DIM, true>(m, d, place, alpha, x, y0, y, (T *)stokes_shared).all();
  else {
    StokesBlock<T, K, DIM, false> block(m, d, place, alpha, x, y0, y, (T *)stokes_shared);

    if (empty) block.zero();
    else block.all();
  }
}

/* ---- how the generic part calls it ---- */

template <typename T, int K, int DIM>
struct StokesDegree : TermsOperatorFast {
  static constexpr bool CELLS = DIM == 2 && K == 1; /* a thread a cell */
  using S = typename std::conditional_t<CELLS, std::type_identity<StokesCells<T, K>>, std::type_identity<StokesTile<T, K, DIM>>>::type;
  StokesMatrices<T, K> m;
  StokesData<T>        d;
  dim3                 grid;
  PlanMemory           memory;

  static constexpr auto kernel()
  {
    if constexpr (CELLS) return StokesCellKernel<T, K>;
    else return StokesKernel<T, K, DIM>;
  }

  PetscErrorCode create(const StokesForm *form)
  {
    const int size[3] = {S::PX, S::PY, 1};
    int       tiles[3];

    PetscFunctionBegin;
    m.d.create(form->cell);
    std::copy(form->K.begin(), form->K.end(), m.K1);
    std::copy(form->M.begin(), form->M.end(), m.M1);
    std::copy(form->D.begin(), form->D.end(), m.D);
    std::copy(form->G.begin(), form->G.end(), m.G);
    for (int f = 0; f <= DIM; f++) fields(form, f);
    for (int e = 0; e < 3; e++) {
      const int n  = e < DIM ? S::n : 1;
      int       lo = d.field[0].store.lo[e], hi = d.field[0].store.hi[e];

      for (int f = 1; f <= DIM; f++) {
        lo = PetscMin(lo, d.field[f].store.lo[e]);
        hi = PetscMax(hi, d.field[f].store.hi[e]);
      }
      d.origin[e] = lo / n;
      tiles[e]    = ((hi + n - 1) / n - d.origin[e] + size[e] - 1) / size[e];
      d.end[e]    = (int)form->cells[e][1];
      if (e >= DIM) continue;
      d.closing[e]    = d.field[e].write.hi[e] > d.end[e] * n;
      d.gradient[e]   = (T)form->gradient[e];
      d.divergence[e] = (T)form->divergence[e];
      PetscCall(upload(form, e, form->h[e], 1, tiles[e] * size[e] + 1, &d.h[e]));
      for (int c = 0; c < DIM; c++)
        PetscCall(upload(form, e, form->numbers[c][e], c == e ? (int)STOKES_CELL : (int)DG_CELL, tiles[e] * size[e] + 1, &d.numbers[c][e]));
    }
    for (int e = 0; e < DIM; e++) inner(form, e, size[e]);
    grid = dim3(tiles[0], tiles[1], tiles[2]);
    PetscCall(AllowShared(kernel(), S::SHARED));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  /* inner tiles of `size` cells in direction e: the cells around the middle one that are like it, as far as all nodes exist in all fields
     */
  void inner(const StokesForm *form, int e, int size)
  {
    const int first = (int)form->cells[e][0], end = (int)form->cells[e][1], middle = (first + end) / 2;
    int       lo = middle, hi = middle;
    auto      same = [&](const std::vector<PetscReal> &v, int cell) {
      const size_t count = v.size() / form->h[e].size();

      return std::equal(v.begin() + cell * count, v.begin() + (cell + 1) * count, v.begin() + middle * count);
    };
    auto alike = [&](int cell) {
      bool is = same(form->h[e], cell);

      for (int c = 0; c < DIM; c++) is = is && same(form->numbers[c][e], cell);
      return is;
    };

    while (lo > first && alike(lo - 1)) lo--;
    while (hi < end && alike(hi)) hi++;
    lo++; /* what a tile needs begins a cell before it */
    hi -= size;
    for (int f = 0; f <= DIM; f++) {
      const StokesField &field = d.field[f];
      const int          has = PetscMax(field.write.lo[e], field.store.lo[e]), ends = PetscMin(field.write.hi[e], field.store.hi[e]);

      lo = PetscMax(lo, PetscMax((has + S::n - 1) / S::n, (field.read.lo[e] + S::n - 1) / S::n + 1));
      hi = PetscMin(hi, PetscMin(ends / S::n - size, field.read.hi[e] / S::n - size - 1));
    }
    d.inner[e][0] = lo;
    d.inner[e][1] = hi + 1;
    if (middle >= end) d.inner[e][1] = lo; /* no cells */
    else {
      d.length[e] = (T)form->h[e][middle];
      for (int c = 0; c < DIM; c++) {
        const int count = c == e ? (int)STOKES_CELL : (int)DG_CELL;

        std::copy_n(form->numbers[c][e].begin() + middle * count, count, d.number[c][e]);
      }
    }
  }

  void fields(const StokesForm *form, int f)
  {
    const PatchFDField *from = form->field + f;
    StokesField        *to   = d.field + f;

    to->xl = Layout(from->xbox);
    to->yl = Layout(from->ybox);
    to->xl.offset += (ptrdiff_t)from->x0;
    to->yl.offset += (ptrdiff_t)from->y0;
    for (int e = 0; e < 3; e++) {
      const int n = e < DIM ? S::n : 1;

      to->store.lo[e] = (int)from->ybox.lo[e];
      to->store.hi[e] = (int)(from->ybox.lo[e] + from->ybox.n[e]);
      to->read.lo[e]  = (int)PetscMax(from->read[e][0], from->xbox.lo[e]);
      to->read.hi[e]  = (int)PetscMin(from->read[e][1], from->xbox.lo[e] + from->xbox.n[e]);
      to->write.lo[e] = (int)PetscMax(from->write[e][0], form->cells[e][0] * n);
      to->write.hi[e] = (int)PetscMin(from->write[e][1], form->cells[e][1] * n + (f == e));
    }
  }

  /* `size` numbers of each of the cells from the one before the first tile to the one after the last, zero for those that are not to be
     visited */
  PetscErrorCode upload(const StokesForm *form, int e, const std::vector<PetscReal> &numbers, int size, int count, const T **to)
  {
    std::vector<PetscReal> v((size_t)(count + 1) * size);
    T                     *device;

    PetscFunctionBegin;
    for (int i = 0; i <= count; i++) {
      const int c = d.origin[e] - 1 + i;

      if (c >= form->cells[e][0] && c < form->cells[e][1])
        std::copy_n(numbers.begin() + (size_t)c * size, size, v.begin() + (size_t)i * size);
    }
    PetscCall(memory.upload(v.size(), v.data(), &device));
    *to = device;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t stream) const override
  {
    PetscFunctionBegin;
    if (!grid.x || !grid.y || !grid.z) PetscFunctionReturn(PETSC_SUCCESS); /* no nodes here */
    kernel()<<<grid, S::THREADS, S::SHARED, stream>>>(m, d, (T)alpha, (const T *)x, (const T *)y0, (T *)y);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <typename T, int DIM>
PetscErrorCode StokesFastCreate(const StokesForm *form, TermsOperatorFast **fast)
{
  PetscFunctionBegin;
  PetscCall((ForDegree<1, stokes_fast_degrees>(form->degree, [&](auto degree) {
    StokesDegree<T, degree, DIM> *p;
    bool                          fits;

    PetscFunctionBegin;
    PetscCall(SharedFits(StokesDegree<T, degree, DIM>::kernel(), StokesDegree<T, degree, DIM>::S::SHARED, &fits));
    if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
    p     = new StokesDegree<T, degree, DIM>();
    *fast = p;
    PetscCall(p->create(form));
    if (GridFits(p->grid.y, p->grid.z)) PetscFunctionReturn(PETSC_SUCCESS);
    delete p;
    *fast = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::StokesFastCreate<INSTANCE_T, INSTANCE_DIM>(const StokesForm *, TermsOperatorFast **);
