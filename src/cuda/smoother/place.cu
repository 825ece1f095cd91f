/*
  Patches with matrices of their own (a class by place): graded meshes, patches that reach free ends, degrees that have no kernel of their
  own, coefficients that differ.  Sizes are known at run time.

  Formula, notation and the order of directions are those of fast.cuh, without parity: the faces below and above (s = 0, 1) enter
  one by one, with alpha_s and mu_s of their own.  All patches of a block have the same place in y and z, and so the same matrices there;
  in x each of its P patches has others.  Products with a matrix are in place_line.cuh: on tensor instructions in blocks of 8 x 8,
  a warp's tile of 16 lines at a time, or, for patches of few unknowns, which blocks of 8 would fill badly, by a thread a line.  Matrices
  come from L1: blocks beside each other want the same ones.

  Patches of a colour lie side by side in x, with one node between two.  Column c of the volume is the node first_0 + c, the ones between
  patches are carried along; node e of faces is first_0 - 1 + e.  Plane q in x is below patch q, and above patch q - 1.  Stages, with a
  barrier between each two:

    1. b: z-lines to modes; x-planes and y-faces, z-lines to modes                                 X[q][k][j], G[s][k][e]
       z-faces, y-lines times M; FZ: z-faces themselves                                            Z[s][j][e], in place
    2. x-planes, y-lines to modes, in place; x-lines of y- and z-faces times M                     HY[s][k][c], Z in place
    3. y-lines: alpha_z Z, to modes, alpha_y HY
    4. x-lines, patch by patch: to modes, alpha_x X, 1 / D, mu_x X, to nodes
    5. y-lines: mu_y G, to nodes
    6. z-lines: mu_z FZ, to nodes, and to x

  In 2D (FLAT) directions 1 and 2 change places, y is the point, and what there is to do along y is left out; alpha_z Z is subtracted from
  x-lines.

  Where there are few patches beside each other in x, as at a free end, rows are along another direction (`turned`).
*/
#include "smoother/place_patch.cuh"

namespace patchfd
{

/* ---- volume ---- */

/* lines along z (or y) of the volume, by column and the other direction: before(c, a, v), the product, after(c, a, own, i, w) with its
   entries, to the lines if STORE */
template <int D, bool STORE, class W, typename Before, typename After>
static __device__ __forceinline__ int PlaceVolume(const PlaceBlock<W> &me, TileMatrix which, Before before, After after)
{
  using T                    = typename W::REAL;
  const PlaceClass<W>     &m = D == 2 ? me.z : me.y;
  const typename W::Matrix matrix(m, which);
  const int                stride = D == 2 ? me.g.plane : me.g.row;

  return EachTile<W>(threadIdx.x / 32, me.width * (D == 2 ? me.y.n : me.z.n), [&](const int l[], const bool own[]) {
    int                a[W::LINES], c[W::LINES]; /* y, or mode in z; column */
    T                 *line[W::LINES];
    typename W::Values v;

#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      a[h]    = me.columns.quotient(l[h]);
      c[h]    = l[h] - a[h] * me.width;
      line[h] = D == 2 ? me.V(c[h], a[h], 0) : me.V(c[h], 0, a[h]);
    }
    v.load(line, stride, m.n);
    before(c, a, v);
    W::wait();
    matrix.apply(v, m.n, [&](int i, T w[]) {
      after(c, a, own, i, w);
      if (STORE) PlaceStore<W>(line, own, stride, m.n, i, w);
    });
  });
}

/* v -= what the faces in z give, where z is in modes (k): lines in a z-face from h[] on */
template <class W>
static __device__ __forceinline__ void PlaceZFaces(const PlaceBlock<W> &me, const int k[], const typename W::REAL *const h[][W::LINES],
                                                   int stride, int n, typename W::Values &v)
{
  using T = typename W::REAL;

#pragma unroll
  for (int s = 0; s < 2; s++) {
    T alpha[W::LINES];

#pragma unroll
    for (int q = 0; q < W::LINES; q++) alpha[q] = me.z.weight(ALPHA + s, k[q]);
    v.each([&](int i, T a[]) {
      const int at = min(i, n - 1) * stride;

#pragma unroll
      for (int q = 0; q < W::LINES; q++) a[q] -= alpha[q] * h[s][q][at];
    });
  }
}

/* x-lines patch by patch, with the planes below and above */
template <bool BOUNDARY, bool FLAT, class W>
static __device__ __forceinline__ void PlaceSolve(const PlaceBlock<W> &me)
{
  using T = typename W::REAL;
  const Divisor y(me.y.n);

  EachPatchTile(me, threadIdx.x / 32, me.y.n * me.z.n, [&](int p, const int l[], const bool own[]) {
    const PlaceClass<W> m = me.x(p);
    int                 k[W::LINES];
    T                  *line[W::LINES], shift[W::LINES], face[2][W::LINES];
    typename W::Values  v;

#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      k[h] = y.quotient(l[h]);

      const int j = l[h] - k[h] * me.y.n;

      line[h]  = me.V(me.column(p), j, k[h]);
      shift[h] = me.y.weight(LAMBDA, j) + me.z.weight(LAMBDA, k[h]);
      for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) face[s][h] = -*me.X(p + s, k[h], j);
    }
    v.load(line, 1, m.n);
    if (BOUNDARY && FLAT) {
      const T *faces[2][W::LINES];

#pragma unroll
      for (int h = 0; h < 2 * W::LINES; h++) faces[h / W::LINES][h % W::LINES] = me.Z(h / W::LINES, 0, me.column(p) + 1);
      PlaceZFaces<W>(me, k, faces, 1, m.n, v);
    }
    W::wait();
    typename W::Matrix(m, TO_MODES).replace(v, line, own, 1, m.n, [&](int i, T w[]) {
      const T lambda = m.weight(LAMBDA, i);

#pragma unroll
      for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) AddWeight(m, ALPHA + s, i, face[s], w);
#pragma unroll
      for (int h = 0; h < W::LINES; h++) w[h] *= ReciprocalOrZero(lambda + shift[h]);
#pragma unroll
      for (int s = 0; s < (BOUNDARY ? 2 : 0); s++) AddWeight(m, MU_PLACE + s, i, face[s], w);
    });
    typename W::Matrix(m, TO_NODES).apply(v, m.n, [&](int i, T w[]) { PlaceStore<W>(line, own, 1, m.n, i, w); });
  });
}

/* where z-lines go in x, if they are unknowns that exist */
template <class W>
struct PlaceTarget {
  bool      here[W::LINES];
  ptrdiff_t at[W::LINES];

  __device__ __forceinline__ PlaceTarget(const PlaceBlock<W> &me, unsigned long long between, const int c[], const int j[],
                                         const bool own[])
  {
#pragma unroll
    for (int h = 0; h < W::LINES; h++) {
      here[h] = own[h] && !(between >> c[h] & 1) && Inside(me.g.read, 0, me.first[0] + c[h]) && Inside(me.g.read, 1, me.first[1] + j[h]);
      at[h]   = me.g.at(me.first[0] + c[h], me.first[1] + j[h], me.first[2]);
    }
  }
};

/* from modes to the nodes of x */
template <bool BOUNDARY, bool FLAT, class W>
static __device__ __forceinline__ void PlaceToNodes(const PlaceBlock<W> &me, unsigned long long between, typename W::REAL omega,
                                                    typename W::REAL beta, typename W::REAL *x)
{
  using T = typename W::REAL;

  if (!FLAT) {
    PlaceVolume<1, true>(
      me, TO_NODES,
      [&](const int c[], const int k[], typename W::Values &v) {
#pragma unroll
        for (int s = 0; s < (BOUNDARY ? 2 : 0); s++)
          v.each([&](int j, T a[]) {
            for (int h = 0; h < W::LINES; h++) a[h] -= me.y.weight(MU_PLACE + s, j) * *me.G(s, k[h], c[h] + 1);
          });
      },
      [](const int *, const int *, const bool *, int, T *) {});
    __syncthreads();
  }
  PlaceVolume<2, false>(
    me, TO_NODES,
    [&](const int c[], const int j[], typename W::Values &v) {
#pragma unroll
      for (int s = 0; s < (BOUNDARY ? 2 : 0); s++)
        v.each([&](int k, T a[]) {
          for (int h = 0; h < W::LINES; h++) a[h] -= me.z.weight(MU_PLACE + s, k) * *me.FZ(s, j[h], c[h]);
        });
    },
    [&](const int c[], const int j[], const bool own[], int k, T w[]) {
      const PlaceTarget<W> to(me, between, c, j, own);

      if (k >= me.z.n || !Inside(me.g.read, 2, me.first[2] + k)) return;
#pragma unroll
      for (int h = 0; h < W::LINES; h++) {
        T *const xk = x + to.at[h] + k * me.g.stride[2] + (me.g.ring ? me.g.shift(2, me.first[2] + k) - me.g.shift(2, me.first[2]) : 0);

        if (to.here[h]) *xk = beta == 0 ? omega * w[h] : beta * *xk + omega * w[h];
      }
    });
}

/* the block's row of patches */
template <bool BOUNDARY, bool FLAT, class W>
static __device__ __forceinline__ void PlaceRowOfPatches(const PlaceBlock<W> &me, typename W::REAL omega, typename W::REAL beta,
                                                         typename W::REAL *x, const typename W::REAL *__restrict__ b)
{
  using T                          = typename W::REAL;
  const PlaceData<T>      &g       = me.g;
  const unsigned long long between = PlaceBetween(me);
  const auto               nothing = [](const int *, const int *, typename W::Values &) {};
  const auto               as      = [](const int *, const int *, const bool *, int, T *) {};

  PlaceFetch<BOUNDARY, FLAT>(me, x, b);
  FetchWait();
  __syncthreads();
  const int tile = PlaceVolume<2, true>(me, TO_MODES, nothing, as);

  if (BOUNDARY) {
    PlaceFaces1<FLAT>(me, tile);
    __syncthreads();
    PlaceFaces2<FLAT>(me);
  }
  __syncthreads();
  if (!FLAT) {
    PlaceVolume<1, true>(
      me, TO_MODES,
      [&](const int c[], const int k[], typename W::Values &v) {
        const T *h[2][W::LINES];

#pragma unroll
        for (int q = 0; q < 2 * W::LINES; q++) h[q / W::LINES][q % W::LINES] = me.Z(q / W::LINES, 0, c[q % W::LINES] + 1);
        if (BOUNDARY) PlaceZFaces<W>(me, k, h, g.frow, me.y.n, v);
      },
      [&](const int c[], const int k[], const bool *, int j, T w[]) {
#pragma unroll
        for (int s = 0; s < (BOUNDARY ? 2 : 0); s++)
          for (int h = 0; h < W::LINES; h++) w[h] -= me.y.weight(ALPHA + s, j) * *me.HY(s, k[h], c[h]);
      });
    __syncthreads();
  }
  PlaceSolve<BOUNDARY, FLAT>(me);
  __syncthreads();
  PlaceToNodes<BOUNDARY, FLAT>(me, between, omega, beta, x);
}

template <class W, bool BOUNDARY, bool FLAT>
__launch_bounds__(W::THREADS, W::BLOCKS) static __global__
  void PlaceKernel(const __grid_constant__ PlaceData<typename W::REAL> g, const __grid_constant__ PlaceShell shell, typename W::REAL omega,
                   typename W::REAL beta, typename W::REAL *x, const typename W::REAL *__restrict__ b)
{
  extern __shared__ int4 place_memory[];
  __shared__ PlaceRow    row;

  PlaceFindRow(g, shell, row);
  PlaceRowOfPatches<BOUNDARY, FLAT>(PlaceBlock<W>(g, row, (typename W::REAL *)place_memory), omega, beta, x, b);
}

/* ---- launch ---- */

/* a choice of the directions in the kernels, and where arrays lie in shared memory */
template <class W, bool FLAT>
struct PlaceOrder {
  using T = typename W::REAL;
  int          dir[3]; /* of the mesh */
  PlaceData<T> data;
  size_t       bytes, bytes_solve, bytes_residual; /* of shared memory; without faces; of the residual */
  int          patches, threads;                   /* of a block */

  void create(const PatchFDLocalDesc *desc, const PlaceLine<T> line[3])
  {
    const Layout    l(desc->field->box);
    const Range     read(desc->field->read);
    const Rings     rings(desc->field->box, desc->field->read);
    const ptrdiff_t stride[3] = {1, l.row, l.plane};

    data.offset = l.offset;
    for (int d = 0; d < 3; d++) {
      data.d[d]       = line[dir[d]];
      data.stride[d]  = stride[dir[d]];
      data.read.lo[d] = read.lo[dir[d]];
      data.read.hi[d] = read.hi[dir[d]];

      data.rings.lo[d]   = rings.lo[dir[d]];
      data.rings.hi[d]   = rings.hi[dir[d]];
      data.rings.turn[d] = rings.turn[dir[d]];
    }
    data.ring = rings.any();
  }

  /* for patches of at most n[] unknowns in the directions of the mesh, in this order of directions */
  void places(const int n[3], const int order[3], size_t limit)
  {
    for (int d = 0; d < 3; d++) dir[d] = order[d];
    places(n[dir[0]], n[dir[1]], n[dir[2]], limit);
  }

private:
  /* Tiles have their lines beside each other, or a row apart: rows of 4 mod 8 numbers have no bank conflicts.  With a thread a line odd
     ones have none */
  static int pad(int m) { return W::TILES ? m + (12 - m % 8) % 8 : m | 1; }
  /* of faces, for which the largest patches leave no room to pad */
  static int facepad(int m) { return W::N > 24 && !FLAT ? m | 1 : pad(m); }

  void places(int nx, int ny, int nz, size_t limit)
  {
    /* rows of about 32 nodes; in 2D, where there is less to do for each, of 64, the bits of a mask */
    patches = W::TILES && W::N > 8 && !FLAT ? 1 : PetscMin(PLACE_ROW, PetscMax(1, (FLAT ? 64 : 32) / (nx + 1)));
    while (!W::TILES && patches > 1 && (nx + 1) * patches * ny > PLACE_THREADS) patches--;

    const int width = (nx + 1) * patches - 1, lines = width * ny, rounds = (lines + PLACE_THREADS - 1) / PLACE_THREADS;

    data.row        = W::TILES && patches > 1 ? pad(width) : width | 1;
    data.plane      = W::TILES ? pad(ny * data.row) : ny * data.row;
    data.xrow       = facepad(ny + 2);
    data.frow       = facepad(width + 2);
    data.closure[0] = nx + 2;
    data.closure[1] = ny + 2;
    data.closure[2] = nz + 2;
    data.X          = nz * data.plane;
    data.G          = data.X + (patches + 1) * data.closure[2] * data.xrow;
    data.Z          = data.G + 2 * data.closure[2] * data.frow;
    data.HY         = data.Z + 2 * data.closure[1] * data.frow;
    data.FZ         = data.HY + 2 * data.closure[2] * data.row;
    bytes           = (data.FZ + 2 * data.closure[1] * data.row) * sizeof(T);
    bytes_solve     = data.X * sizeof(T);
    data.rows       = FLAT ? 1 : ny + 2;
    bytes_residual  = (size_t)(data.closure[2] + nz) * data.rows * data.frow * sizeof(T);
    /* a warp has two tiles in a stage, or three of a block that has a multiprocessor for itself; a thread a line, or a few */
    if (W::TILES) {
      const int tiles = (lines + 15) / 16, most = 2 * bytes > limit ? W::THREADS / 32 : PLACE_WARPS, two = (tiles + 1) / 2;

      threads = 32 * (two <= most ? PetscMax(2, two) : most > PLACE_WARPS ? (tiles + 2) / 3 : most);
    } else threads = PetscMax(64, RoundUp((lines + rounds - 1) / rounds, 32));
  }
};

template <class W, bool FLAT>
struct PlaceSmootherBlocks : PlaceSmoother {
  using T = typename W::REAL;
  /* turned: the first two directions of the mesh in place of each other, for patches of which there are few in x */
  PlaceOrder<W, FLAT> order, turned;
  PlanMemory          memory;
  size_t              limit; /* bytes of shared memory of a block of threads */

  /* for patches of at most n[] unknowns in the directions of the mesh */
  PlaceSmootherBlocks(const int n[3], size_t limit) : limit(limit)
  {
    static constexpr int dir[2][3] = {{0, FLAT ? 2 : 1, FLAT ? 1 : 2}, {1, FLAT ? 2 : 0, FLAT ? 0 : 2}};

    order.places(n, dir[0], limit);
    turned.places(n, dir[1], limit);
  }

  /* do the patches fit shared memory, and has the code been compiled for a GPU with these instructions? */
  PetscErrorCode supported(bool *yes) const
  {
    cudaFuncAttributes attributes;

    PetscFunctionBegin;
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, PlaceKernel<W, true, FLAT>));
    *yes = PetscMin(attributes.binaryVersion, attributes.ptxVersion) >= W::ARCH &&
           PetscMax(order.bytes, turned.bytes) + sizeof(PlaceRow) <= limit;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode create(const PatchFDLocalDesc *desc)
  {
    PlaceLine<T> line[3];

    PetscFunctionBegin;
    for (int d = 0; d < 3; d++) PetscCall(upload(desc->field->dir[d], &line[d]));
    order.create(desc, line);
    turned.create(desc, line);
    PetscCall(AllowShared(PlaceKernel<W, true, FLAT>, PetscMax(order.bytes, turned.bytes)));
    PetscCall(AllowShared(PlaceKernel<W, false, FLAT>, PetscMax(order.bytes_solve, turned.bytes_solve)));
    if (residuals()) PetscCall(AllowShared(PlaceResidualKernel<W, FLAT>, order.bytes_residual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode apply(const PatchShell &s, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b,
                       cudaStream_t stream) override
  {
    int inx = 0;

    for (int i = 0; i < 6; i++)
      if (!s.part[i].empty()) inx = PetscMax(inx, s.part[i].hi[0] - s.part[i].lo[0]);

    const PlaceOrder<W, FLAT> &o = 2 * inx <= order.patches ? turned : order;
    const PlaceShell           shell(s, o.patches, o.dir);

    PetscFunctionBegin;
    if (boundary)
      PlaceKernel<W, true, FLAT><<<shell.rows(), o.threads, o.bytes, stream>>>(o.data, shell, (T)omega, (T)beta, (T *)x, (const T *)b);
    else
      PlaceKernel<W, false, FLAT>
        <<<shell.rows(), o.threads, o.bytes_solve, stream>>>(o.data, shell, (T)omega, (T)beta, (T *)x, (const T *)b);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  bool           residuals() const override { return order.bytes_residual + sizeof(PlaceRow) <= limit; }
  PetscErrorCode residual(const PatchShell &s, const void *x, const void *b, void *r, cudaStream_t stream) override
  {
    const PlaceShell shell(s, order.patches, order.dir);

    PetscFunctionBegin;
    PlaceResidualKernel<W, FLAT>
      <<<shell.rows(), PetscMin(order.threads, PLACE_THREADS), order.bytes_residual, stream>>>(order.data, shell, (const T *)x,
                                                                                               (const T *)b, (T *)r);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  /* a class: the matrices as lanes want them, and weights; zero where there is nothing, but for eigenvalues, which are divided by */
  static void numbers(const PatchFDEigen *e, PetscReal *to)
  {
    const int  n = (int)e->n, c = n + 2;
    PetscReal *weight = to + 5 * W::MATRIX;

    for (int at = 0; at < W::MATRIX; at++) {
      int i, j;

      W::place(at, &i, &j);

      const bool in = i < n && j < n;

      to[TO_MODES * W::MATRIX + at]   = in ? e->S[j * n + i] : 0;
      to[TO_NODES * W::MATRIX + at]   = in ? e->S[i * n + j] : 0;
      to[FACE_MODES * W::MATRIX + at] = in ? e->T[i * n + j] : 0;
      to[MASS * W::MATRIX + at]       = in ? e->MI[i * c + 1 + j] : 0;
      to[STIFFNESS * W::MATRIX + at]  = in ? e->AI[i * c + 1 + j] : 0;
    }
    for (int i = 0; i < W::N; i++) {
      for (int s = 0; s < 2; s++) {
        weight[(ALPHA + s) * W::N + i]         = i < n ? e->alpha[s][i] : 0;
        weight[(MU_PLACE + s) * W::N + i]      = i < n ? e->mu[s][i] : 0;
        weight[(RIM_PLACE + s) * W::N + i]     = i < n ? e->MI[i * c + s * (n + 1)] : 0;
        weight[(RIM_STIFFNESS + s) * W::N + i] = i < n ? e->AI[i * c + s * (n + 1)] : 0;
      }
      weight[LAMBDA * W::N + i] = i < n ? e->lambda[i] : 1;
    }
  }

  PetscErrorCode upload(const PatchFDPatches *pd, PlaceLine<T> *line)
  {
    std::vector<PetscReal>  all((size_t)pd->nclass * PlaceClass<W>::SIZE);
    std::vector<PlacePatch> patch((size_t)pd->npatch);

    PetscFunctionBegin;
    for (PetscInt i = 0; i < pd->nclass; i++) numbers(&pd->eigen[i], &all[(size_t)i * PlaceClass<W>::SIZE]);
    for (PetscInt i = 0; i < pd->npatch; i++) patch[i] = {(int)pd->first[i], (int)pd->n[i], (int)pd->cls[i]};
    PetscCall(memory.upload(all.size(), all.data(), &line->numbers));
    PetscCall(memory.upload(patch.size(), patch.data(), &line->patch));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

template <class W, bool FLAT>
static PetscErrorCode PlaceSmootherNew(const PatchFDLocalDesc *desc, const int n[3], PlaceSmoother **place)
{
  bool   supported;
  size_t limit;

  PetscFunctionBegin;
  PetscCall(SharedLimit(&limit));
  const PlaceSmootherBlocks<W, FLAT> sized(n, limit);

  PetscCall(sized.supported(&supported));
  if (!supported) PetscFunctionReturn(PETSC_SUCCESS);
  PlaceSmootherBlocks<W, FLAT> *p = new PlaceSmootherBlocks<W, FLAT>(n, limit);

  *place = p; /* there before its arrays, so that it can be destroyed after an error */
  PetscCall(p->create(desc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T, bool FLAT>
PetscErrorCode SmootherPlaceCreate(const PatchFDLocalDesc *desc, PlaceSmoother **place)
{
  constexpr int threads = sizeof(T) == 4 || FLAT ? 6 : 4; /* unknowns of a direction up to which a thread a line is faster on an H200 */
  int           n[3] = {0, 0, 0}, most = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->field->dir[d];

    for (PetscInt i = 0; i < pd->npatch; i++) n[d] = PetscMax(n[d], (int)pd->n[i]);
    most = PetscMax(most, n[d]);
  }
  if (most <= 1 || most > place_most) PetscFunctionReturn(PETSC_SUCCESS);
  if (most <= threads)
    PetscCall((ForDegree<1, threads / 2>((most + 1) / 2,
                                         [&](auto half) { return PlaceSmootherNew<PlaceThreads<T, 2 * half>, FLAT>(desc, n, place); })));
  else
    PetscCall((ForDegree<1, place_most / 8>((most + 7) / 8,
                                            [&](auto blocks) { return PlaceSmootherNew<PlaceTiles<T, blocks>, FLAT>(desc, n, place); })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd

template PetscErrorCode patchfd::SmootherPlaceCreate<INSTANCE_T, INSTANCE_DIM == 2>(const PatchFDLocalDesc *, PlaceSmoother **);
