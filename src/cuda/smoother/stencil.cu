/*
  Patches of one unknown (degree 1), if they are equal, are a stencil with symmetric weights,

    x_i = (1 - omega) x_i + omega s (b_i - sum over j != i of w_{j - i} x_j),  s = 1 / w_0,

  of which a pass over memory takes two colours or four: those of the rows of one parity, or of all rows, in the planes of one parity.
  The planes below and above do not change meanwhile.  A colour alone is a pass in which the second colour in x stays as it is.

  A block has a thread a node of a row and marches in y.  A thread keeps, of its nodes in the last rows, the value c and the sum q of the
  values below and above.  The row's update needs P = c + c of the two rows beside it, Q = q, D = q + q of the rows beside it, and from the
  neighbours in x only the one number u = w_{110} P + w_{101} Q + w_{111} D + w_{100} c, through shared memory.  The first colour takes the
  old u of the second, the second the new u of the first.  With four colours row y + 1 of the second parity waits until row y + 2 is done.

  No block reads what another one writes.  Blocks of different planes only share planes of the other parity.  Where a plane is cut in y,
  the first row above the cut belongs to the first parity: it depends on old values only, and is updated by a pass of its own
  beforehand.  Then the rows of a cut's two sides depend on it alone, and nobody writes it.  Rows that are too long for a block are cut
  in the same way, at nodes of the first colour; for two colours only, as four would depend on more than a node.

  By place (graded meshes), with M and A of each node in each direction, a thread keeps two sums of the values below and above in place of
  q, with M_z and A_z, and hands two numbers to its neighbours in x: m = M_y M_z x and a = (A_y M_z + M_y A_z) x, of which they take A_x m
  + M_x a.
*/
#include "base/plan.cuh"
#include "base/reciprocal.cuh"
#include "smoother/smoother.cuh"

namespace patchfd
{

/* Blocks of a pass: [x, y] nodes and pairs of rows; number n begins at base + n * stride and has this length */
template <typename T>
struct StencilPass {
  T                      w[2][2][2];   /* by distance in x, y, z */
  T                      factor, keep; /* omega s, 1 - omega */
  Layout                 l;
  Range                  read;
  int                    lo[2], hi[2]; /* the nodes to be updated */
  int                    base[2];      /* of the first colour, at or just before the first of these */
  int                    stride[2], length[2];
  bool                   cut[2];   /* has the first node or row of every block but the first been updated before? */
  bool                   second;   /* the second colour in x, too? */
  int                    plane;    /* the first one */
  int                    first[3]; /* the first node with */
  const StencilPlace<T> *place[3]; /* such numbers, by place; from there on */
};

/* a node: its value, the sum of those below and above (by place two), and b */
template <typename T, bool PLACE>
struct StencilNode {
  T c, q, b;
};
template <typename T>
struct StencilNode<T, true> {
  T c, m, a, b;
};

/* what is loaded of a node */
template <typename T>
struct StencilLoad {
  T c, below, above, b;
};

/* what a thread's node is; bits, since registers are few */
enum StencilFlag {
  FIRST = 1, /* of the first colour */
  MINE  = 2, /* in the rows of this pass it is updated by this thread */
  THERE = 4, /* it may be read */
  BELOW = 8, /* so may those below */
  ABOVE = 16 /* and above */
};

template <typename T, bool PLACE>
struct StencilThread {
  StencilPlace<T> px, pz; /* by place */
  int             flags;
  T              *x; /* the nodes of row y0; those in the planes below and above; of b */
  const T        *below, *above, *b;
  T              *u; /* shared memory; those of the neighbours in x lie beside it */

  /* The compiler does not look into an asm: what comes out of it it cannot compute again at each use, but keeps in registers */
  __device__ __forceinline__ void keep()
  {
    asm("" : "+r"(flags), "+l"(x), "+l"(below), "+l"(above), "+l"(b), "+l"(u));
    __builtin_assume(__isGlobal(x));
    __builtin_assume(__isGlobal(below));
    __builtin_assume(__isGlobal(above));
    __builtin_assume(__isGlobal(b));
    __builtin_assume(__isShared(u));
  }
  __device__ __forceinline__ bool is(int flag) const { return (flags & flag) != 0; }
  __device__ __forceinline__ StencilNode<T, PLACE> node(const StencilLoad<T> &v) const
  {
    if constexpr (PLACE) return {v.c, pz.M[0] * v.below + pz.M[2] * v.above, pz.A[0] * v.below + pz.A[2] * v.above, v.b};
    else return {v.c, v.below + v.above, v.b};
  }
};

/* is row y updated in this pass? */
template <typename T>
static __device__ __forceinline__ bool Updated(const StencilPass<T> &p, int y)
{
  return y >= p.lo[1] && y < p.hi[1];
}

/* row y, which is `at` numbers from y0; zero if it is not wanted */
template <typename T, bool PLACE>
static __device__ __forceinline__ StencilLoad<T> LoadNode(const StencilPass<T> &p, const StencilThread<T, PLACE> &me, int y, int at,
                                                          bool wanted)
{
  const bool on = wanted && y >= p.read.lo[1] && y < p.read.hi[1]; /* Inside() costs registers here */

  return {on && me.is(THERE) ? me.x[at] : T(0), on && me.is(BELOW) ? me.below[at] : T(0), on && me.is(ABOVE) ? me.above[at] : T(0),
          on && me.is(MINE) && Updated(p, y) ? me.b[at] : T(0)};
}

/* What the nodes of the same x but the one in the middle give to its neighbours in x, and b without what they give to it: row n between the
   rows v and w */
template <typename T, bool PLACE>
struct StencilSums {
  T side, rest;

  __device__ __forceinline__ StencilSums(const StencilPass<T> &p, const StencilThread<T, PLACE> &, int, const StencilNode<T, PLACE> &n,
                                         const StencilNode<T, PLACE> &v, const StencilNode<T, PLACE> &w)
  {
    const T P = v.c + w.c, D = v.q + w.q;

    side = p.w[1][1][0] * P + p.w[1][0][1] * n.q + p.w[1][1][1] * D;
    rest = n.b - p.w[0][1][0] * P - p.w[0][0][1] * n.q - p.w[0][1][1] * D;
  }
  /* to the neighbours, with c in the middle */
  __device__ __forceinline__ void give(const StencilPass<T> &p, const StencilThread<T, PLACE> &me, T c) const
  {
    *me.u = side + p.w[1][0][0] * c;
  }
  __device__ __forceinline__ T relax(const StencilPass<T> &p, const StencilThread<T, PLACE> &me, T c) const
  {
    return p.keep * c + p.factor * (rest - me.u[-1] - me.u[1]);
  }
};
template <typename T>
struct StencilSums<T, true> {
  T m, a, mm, aa, rest; /* mm, aa: of the middle itself */

  __device__ __forceinline__ StencilSums(const StencilPass<T> &p, const StencilThread<T, true> &me, int y, const StencilNode<T, true> &n,
                                         const StencilNode<T, true> &v, const StencilNode<T, true> &w)
  {
    const StencilPlace<T> *py = p.place[1] + (y - p.first[1]), &z = me.pz;
    const T M[3] = {__ldg(&py->M[0]), __ldg(&py->M[1]), __ldg(&py->M[2])}, A[3] = {__ldg(&py->A[0]), __ldg(&py->A[1]), __ldg(&py->A[2])};
    const T mv = v.m + z.M[1] * v.c, mw = w.m + z.M[1] * w.c, av = v.a + z.A[1] * v.c, aw = w.a + z.A[1] * w.c;

    m    = M[0] * mv + M[1] * n.m + M[2] * mw;
    a    = A[0] * mv + A[1] * n.m + A[2] * mw + M[0] * av + M[1] * n.a + M[2] * aw;
    mm   = M[1] * z.M[1];
    aa   = A[1] * z.M[1] + M[1] * z.A[1];
    rest = n.b - me.px.A[1] * m - me.px.M[1] * a;
  }
  __device__ __forceinline__ void give(const StencilPass<T> &, const StencilThread<T, true> &me, T c) const
  {
    me.u[0]          = m + mm * c;
    me.u[blockDim.x] = a + aa * c;
  }
  __device__ __forceinline__ T relax(const StencilPass<T> &p, const StencilThread<T, true> &me, T c) const
  {
    const T *um = me.u, *ua = me.u + blockDim.x;
    const T  neighbours = me.px.A[0] * um[-1] + me.px.A[2] * um[1] + me.px.M[0] * ua[-1] + me.px.M[2] * ua[1];

    return p.keep * c + p.factor * (rest - neighbours) * ReciprocalOrZero(me.px.A[1] * mm + me.px.M[1] * aa);
  }
};

/*
  Row n between the rows v and w.  All threads of a block are here for the same rows: it depends on y and the block only.  Barriers:

    1. before it the second colour writes its u, after it the first one reads them
    2. before it the first colour writes its u, after it the second one reads them

  Nothing is written while it is read: the second colour's u are written before barrier 1 and read between 1 and 2, the first colour's are
  written between 1 and 2 and read between 2 and barrier 1 of the next row.
*/
template <typename T, bool PLACE>
static __device__ __forceinline__ void UpdateRow(const StencilPass<T> &p, const StencilThread<T, PLACE> &me, int y, int at,
                                                 StencilNode<T, PLACE> &n, const StencilNode<T, PLACE> &v, const StencilNode<T, PLACE> &w)
{
  const StencilSums<T, PLACE> sums(p, me, y, n, v, w);

  if (!me.is(FIRST)) sums.give(p, me, n.c);
  __syncthreads();
  if (me.is(FIRST)) {
    if (me.is(MINE)) n.c = sums.relax(p, me, n.c);
    sums.give(p, me, n.c);
  }
  __syncthreads();
  if (!me.is(FIRST) && me.is(MINE)) n.c = sums.relax(p, me, n.c);
  if (me.is(MINE)) me.x[at] = n.c;
}

/* BOTH: the rows of both parities */
template <typename T, bool BOTH, bool PLACE>
__maxnreg__(sizeof(T) == 4 ? (PLACE ? 64 : 40) : (PLACE ? 96 : 64)) static __global__
  void StencilKernel(const __grid_constant__ StencilPass<T> p, T *x, const T *__restrict__ b)
{
  extern __shared__ double shared_memory[];
  const int                t = threadIdx.x, i = p.base[0] + (int)blockIdx.z * p.stride[0] + t - 1, k = p.plane + 2 * (int)blockIdx.x;
  const int                y0 = p.base[1] + (int)blockIdx.y * p.stride[1], pairs = p.length[1], row = (int)p.l.row;
  const bool               first = t % 2, donex = p.cut[0] && blockIdx.z, doney = p.cut[1] && blockIdx.y;
  const bool               mine  = t > donex && t <= p.length[0] && i >= p.lo[0] && i < p.hi[0] && (first || p.second);
  const bool               there = t >= donex && t <= p.length[0] + p.second && i >= p.read.lo[0] && i < p.read.hi[0];
  const bool               below = there && k > p.read.lo[2], above = there && k + 1 < p.read.hi[2];
  T                       *xk = x + p.l.at(i, y0, k);

  const int flags = (first ? FIRST : 0) + (mine ? MINE : 0) + (there ? THERE : 0) + (below ? BELOW : 0) + (above ? ABOVE : 0);

  StencilThread<T, PLACE> me = {{}, {}, flags, xk, xk - p.l.plane, xk + p.l.plane, b + p.l.at(i, y0, k), (T *)shared_memory + t};

  me.keep();
  if (PLACE && mine) me.px = p.place[0][i - p.first[0]];
  if (PLACE) me.pz = p.place[2][k - p.first[2]];

  /* rows y - 2 .. y + 1 */
  StencilNode<T, PLACE> v = {}, before = me.node(LoadNode(p, me, y0 - 1, -row, !doney)), n = me.node(LoadNode(p, me, y0, 0, true)),
                        after = me.node(LoadNode(p, me, y0 + 1, row, true));

  for (int s = 0, y = y0, at = 0;; s++, y += 2, at += 2 * row) {
    const bool more = BOTH ? s < pairs && y + 2 <= p.hi[1] : s + 1 < pairs && y + 2 < p.hi[1];
    /* on their way meanwhile */
    const StencilLoad<T> next0 = LoadNode(p, me, y + 2, at + 2 * row, more),
                         next1 = LoadNode(p, me, y + 3, at + 3 * row, more && s + 1 < pairs);

    if ((s || !doney) && s < pairs && Updated(p, y)) UpdateRow(p, me, y, at, n, before, after);
    if (BOTH && s && Updated(p, y - 1)) UpdateRow(p, me, y - 1, at - row, before, v, n);
    if (!more) break;
    v      = n;
    before = after;
    n      = me.node(next0);
    after  = me.node(next1);
  }
}

/* do the patches p[0] .. p[1] - 1 lie side by side, and are they all alike, and the same from both ends? */
static bool SideBySide(const PatchFDPatches *pd, const int p[2])
{
  for (int i = p[0]; i < p[1]; i++)
    if (pd->first[i] - i != pd->first[p[0]] - p[0]) return false;
  return p[0] < p[1];
}
static bool Alike(const PatchFDPatches *pd, const int p[2])
{
  const PatchFDEigen *e = &pd->eigen[pd->cls[p[0]]];

  return pd->cls[p[0]] == pd->cls[p[1] - 1] && e->MI[0] == e->MI[2] && e->AI[0] == e->AI[2];
}

/* a row has to fit a block, by place one with the registers that this takes, and to be worth one */
static constexpr int longest_row = 1022, longest_row_place = 510, shortest_row = 16;
/* threads of a block that has so many nodes of a row */
static int RowThreads(int length)
{
  return RoundUp(length + 2, 32);
}

/* of the blocks that rows of the run may take */
template <typename T>
PetscErrorCode Stencil<T>::occupancy()
{
  const auto one     = byplace ? StencilKernel<T, false, true> : StencilKernel<T, false, false>,
             both    = byplace ? StencilKernel<T, true, true> : StencilKernel<T, true, false>;
  const size_t bytes = (byplace ? 2 : 1) * sizeof(T); /* of shared memory, a thread */
  const int    most  = RowThreads(PetscMin(run[0][1] - run[0][0] + 2, byplace ? longest_row_place : longest_row));

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&multiprocessors));
  for (int threads = 32; threads <= most; threads += 32) {
    PetscCall(Resident(one, threads, threads * bytes, &resident[0][threads / 32]));
    PetscCall(Resident(both, threads, threads * bytes, &resident[1][threads / 32]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Stencil<T>::create(const PatchFDLocalDesc *desc, const int ones[3][2], bool *exists)
{
  PetscReal M[3][2], A[3][2], D = 0, S = 1;

  PetscFunctionBegin;
  *exists = byplace = false;
  for (int d = 0; d < 3; d++) {
    if (!SideBySide(desc->field->dir[d], ones[d])) PetscFunctionReturn(PETSC_SUCCESS);
    byplace = byplace || !Alike(desc->field->dir[d], ones[d]);
  }
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->field->dir[d];
    const PatchFDEigen   *e  = &pd->eigen[pd->cls[ones[d][0]]];

    for (int i = 0; i < 2; i++) {
      run[d][i] = ones[d][i];
      M[d][i]   = e->MI[1 + i];
      A[d][i]   = e->AI[1 + i];
    }
    first[d] = (int)pd->first[ones[d][0]] - ones[d][0];
    S *= e->S[0] * e->S[0];
    D += e->lambda[0];
    if (byplace) PetscCall(upload(pd, d));
  }
  if ((D == 0 && !byplace) || !GridFits((run[0][1] - run[0][0]) / (longest_row_place / 2) + 1)) PetscFunctionReturn(PETSC_SUCCESS);
  scale = byplace ? 1 : S / D;
  l     = Layout(desc->field->box);
  read  = ReadInBox(desc->field);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 2; k++) w[i][j][k] = (T)(A[0][i] * M[1][j] * M[2][k] + M[0][i] * (A[1][j] * M[2][k] + M[1][j] * A[2][k]));
  PetscCall(occupancy());
  *exists = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the numbers of the run's nodes */
template <typename T>
PetscErrorCode Stencil<T>::upload(const PatchFDPatches *pd, int d)
{
  std::vector<StencilPlace<T>> numbers;

  PetscFunctionBegin;
  for (int p = run[d][0]; p < run[d][1]; p++) {
    const PatchFDEigen *e = &pd->eigen[pd->cls[p]];

    numbers.push_back({{(T)e->MI[0], (T)e->MI[1], (T)e->MI[2]}, {(T)e->AI[0], (T)e->AI[1], (T)e->AI[2]}});
  }
  PetscCall(memory.upload(numbers.size(), numbers.data(), &place[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nodes of direction d in these patches, and the first of them that has the colour (or the one before) */
template <typename T>
void Stencil<T>::nodes(int d, const PatchFDRange patches, const PetscInt color[3], int *lo, int *hi, int *base) const
{
  *lo   = PetscMax(first[d] + PetscMax((int)patches[d][0], run[d][0]), read.lo[d]);
  *hi   = PetscMin(first[d] + PetscMin((int)patches[d][1], run[d][1]), read.hi[d]);
  *base = *lo - PetscAbs(*lo - first[d] - (int)color[d]) % 2;
}

/* four colours at once pay if each multiprocessor has so many blocks with so many pairs of rows: each costs a cut.  For two long pieces do
   not pay */
static constexpr int many_blocks = 8, fewest_pairs = 8, most_pairs = 16;
/*
  Into how many pieces shall the pairs of rows be cut, so that all pieces, `blocks` beside each other, make full waves on the device?
  A piece costs its steps and some for the start.
*/
static int Pieces(int resident, int blocks, int pairs, int fewest, int most)
{
  long long best   = 0;
  int       pieces = 1;

  while (!GridFits((pairs + most - 1) / most)) most *= 2;
  for (int length = PetscMin(fewest, pairs); length <= PetscMin(most, pairs); length++) {
    const int       n    = (pairs + length - 1) / length;
    const long long cost = ((long long)blocks * n + resident - 1) / resident * (length + 3);

    if (!GridFits(n) || (best && cost >= best)) continue;
    best   = cost;
    pieces = n;
  }
  return pieces;
}

template <typename T>
PetscInt Stencil<T>::colors(PetscInt n, const PatchFDColor colors[], const PatchFDRange patches) const
{
  auto at = [&](int i) { return colors[i].parity; };
  int  lo[3], hi[3], base[3];

  for (int d = 0; d < 3; d++) nodes(d, patches, colors[0].parity, &lo[d], &hi[d], &base[d]);
  if (hi[0] - lo[0] < shortest_row) return 0;
  for (int i = 1; i < 4; i++) {
    if (i < n && at(i)[0] == (at(0)[0] + i) % 2 && at(i)[1] == (at(0)[1] + i / 2) % 2 && at(i)[2] == at(0)[2]) continue;
    return i == 1 ? 1 : 2;
  }
  return hi[0] - base[0] <= (byplace ? longest_row_place : longest_row) &&
             (double)(hi[1] - base[1]) * (hi[2] - base[2]) >= 4. * fewest_pairs * many_blocks * multiprocessors
         ? 4
         : 2;
}

template <typename T>
PetscErrorCode Stencil<T>::apply(PetscInt n, const PetscInt color[3], const PatchFDRange patches, PetscReal omega, void *x, const void *b,
                                 cudaStream_t stream) const
{
  StencilPass<T> p;
  int            lo[3], hi[3], base[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) nodes(d, patches, color, &lo[d], &hi[d], &base[d]);
  if (base[2] < lo[2]) base[2] += 2;

  const int planes = (hi[2] - base[2] + 1) / 2, pairs = (hi[1] - base[1] + 1) / 2, row = hi[0] - base[0],
            longest = byplace ? longest_row_place : longest_row;

  if (planes <= 0 || pairs <= 0 || row <= 0) PetscFunctionReturn(PETSC_SUCCESS);

  const int segments = row <= longest ? 1 : (row + longest / 2 - 1) / (longest / 2), length = RoundUp((row + segments - 1) / segments, 2);
  const size_t bytes = (byplace ? 2 : 1) * sizeof(T); /* of shared memory, a thread */
  const auto   one   = byplace ? StencilKernel<T, false, true> : StencilKernel<T, false, false>,
             both    = byplace ? StencilKernel<T, true, true> : StencilKernel<T, true, false>;
  auto launch        = [&](auto kernel, const StencilPass<T> &q, int ny, int nx) {
    kernel<<<dim3(planes, ny, nx), RowThreads(q.length[0]), RowThreads(q.length[0]) * bytes, stream>>>(q, (T *)x, (const T *)b);
  };

  const int pieces = Pieces(resident[n == 4][RowThreads(length) / 32] * multiprocessors, planes * segments, pairs,
                            n == 4 ? fewest_pairs : 1, n == 4 ? pairs : most_pairs);

  for (int i = 0; i < 8; i++) p.w[i / 4][i / 2 % 2][i % 2] = w[i / 4][i / 2 % 2][i % 2];
  p.factor = (T)(omega * scale);
  p.keep   = (T)(1 - omega);
  p.l      = l;
  p.read   = read;
  p.plane  = base[2];
  p.second = n > 1;
  for (int d = 0; d < 3; d++) {
    p.first[d] = first[d] + run[d][0];
    p.place[d] = place[d];
  }
  for (int d = 0; d < 2; d++) {
    p.lo[d]   = lo[d];
    p.hi[d]   = hi[d];
    p.base[d] = base[d];
  }
  p.length[0] = p.stride[0] = length;
  p.length[1]               = (pairs + pieces - 1) / pieces;
  p.stride[1]               = 2 * p.length[1];
  p.cut[0]                  = n == 2;
  p.cut[1]                  = n == 4;

  StencilPass<T> q = p; /* what comes first at the cuts */
  const int      d = n == 4 ? 1 : 0;

  q.cut[0] = q.cut[1] = false;
  q.base[d] += q.stride[d];
  q.length[d] = 1;
  if (n == 4 && pieces > 1) launch(one, q, pieces - 1, 1);
  if (n == 2 && segments > 1) launch(one, q, pieces, segments - 1);
  if (n == 4) launch(both, p, pieces, 1);
  else launch(one, p, pieces, segments);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(28. / 4 * n * planes * (hi[0] - lo[0]) * (hi[1] - lo[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Stencil<double>;
template struct Stencil<float>;

} // namespace patchfd
