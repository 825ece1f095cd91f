/* The operator on a lattice (lattice.cuh): plans, and the kernel that gathers simplex by simplex */
#include "lattice/lattice.cuh"
#include "base/patches.cuh"

namespace patchfd
{

/* what the gathering kernel does */
enum LatticeTask {
  LATTICE_ROWS,    /* y = y0 + alpha A x */
  LATTICE_DIAGONAL /* y = the diagonal of A */
};

/* simplices by the order of their path's directions, [dim - 1] */
static __constant__ int lattice_count[3]      = {1, 2, 6};
static __constant__ int lattice_path[3][6][3] = {{{0}},
                                                 {{0, 1}, {1, 0}},
                                                 {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}, {1, 2, 0}, {2, 1, 0}}};

template <typename T>
struct LatticeGather {
  LatticeGeometry    g;
  LatticeMaterial<T> m;
  LatticeVectors<T>  v;
  Shell              nodes;
  int                dim, n[3];
};

/* a node of a simplex, seen from the node whose row is gathered */
template <typename T>
struct LatticeCorner {
  T c, k[3], x;
};

template <typename T, LatticeTask TASK>
static __device__ LatticeCorner<T> Corner(const LatticeGather<T> &p, const int node[3], int from, int to)
{
  LatticeCorner<T> r;
  int              at[3];

  for (int d = 0; d < 3; d++) at[d] = node[d] + (to >> d & 1) - (from >> d & 1);
  const ptrdiff_t where = p.g.xl.at(at[0], at[1], at[2]);

  r.c = p.m.c ? p.m.c[where] : p.m.constc;
  for (int d = 0; d < 3; d++) r.k[d] = p.m.k[d] ? p.m.k[d][where] : p.m.constk[d];
  if (TASK == LATTICE_DIAGONAL) r.x = from == to;
  else r.x = p.g.read.contains(at[0], at[1], at[2]) ? p.v.x[where] : T(0);
  return r;
}

/* does the cube exist whose corner `from` the node is? */
template <typename T>
static __device__ bool HasCube(const LatticeGather<T> &p, const int node[3], int from)
{
  const int i = node[0] - (from & 1), j = node[1] - (from >> 1 & 1), k = node[2] - (from >> 2 & 1);

  return p.g.cubes.contains(i, j, k) && (!p.g.body || p.g.body[p.g.xl.at(i, j, k)] & LATTICE_CUBE);
}

/* the row of the node in the matrices of a simplex, of which it is corner t of the path */
template <typename T, LatticeTask TASK>
static __device__ T SimplexRow(const LatticeGather<T> &p, const int node[3], const int path[3], int t, int from)
{
  const int  dim = p.dim, all = (1 << dim) - 1, first = path[0], last = path[dim - 1];
  const bool low = t < dim && !(from >> last & 1) && node[last] == 0, high = t > 0 && (from >> first & 1) && node[first] == p.n[first];
  LatticeCorner<T> v[4];
  T                c = 0, k[3] = {0}, x = 0, y;

  for (int s = 0, corner = 0; s <= dim; corner |= s < dim ? 1 << path[s] : all, s++) {
    v[s] = Corner<T, TASK>(p, node, from, corner);
    c += v[s].c;
    x += v[s].x;
    for (int d = 0; d < dim; d++) k[d] += v[s].k[d];
  }
  const T mine = v[t].x;

  y = p.m.mass * c * (x + mine);
  if (t > 0) y += p.m.stiffness[path[t - 1]] * k[path[t - 1]] * (mine - v[t - 1].x);
  if (t < dim) y += p.m.stiffness[path[t]] * k[path[t]] * (mine - v[t + 1].x);
  /* sides of the box: all corners but the last one, or but the first one */
  if (low) y += p.m.side[2 * last] * (x - v[dim].x + mine);
  if (high) y += p.m.side[2 * first + 1] * (x - v[0].x + mine);
  return y;
}

template <typename T, LatticeTask TASK>
static __global__ void GatherKernel(const __grid_constant__ LatticeGather<T> p)
{
  for (size_t item = blockIdx.x * (size_t)blockDim.x + threadIdx.x; item < p.nodes.size(); item += (size_t)gridDim.x * blockDim.x) {
    int  node[3];
    T    sum     = 0;
    bool touched = false;

    p.nodes.template find<size_t>(item, node);
    const bool written = p.g.write.contains(node[0], node[1], node[2]);

    for (int s = 0; s < lattice_count[p.dim - 1] && written; s++) {
      const int *path = lattice_path[p.dim - 1][s];

      for (int t = 0, from = 0; t <= p.dim; from |= t < p.dim ? 1 << path[t] : 0, t++) {
        if (!HasCube(p, node, from)) continue;
        touched = true;
        sum += SimplexRow<T, TASK>(p, node, path, t, from);
      }
    }
    T *y = p.v.y + p.g.yl.at(node[0], node[1], node[2]);

    if (TASK == LATTICE_DIAGONAL) *y = touched ? sum : p.m.identity;
    else {
      if (written && !touched) sum = p.m.identity * Corner<T, TASK>(p, node, 0, 0).x;
      *y = (p.v.y0 ? p.v.y0[y - p.v.y] : T(0)) + p.v.alpha * sum;
    }
  }
}

template <typename T, LatticeTask TASK>
static PetscErrorCode Gather(const LatticeGather<T> &p, cudaStream_t stream)
{
  int blocks;

  PetscFunctionBegin;
  if (!p.nodes.size()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Multiprocessors(&blocks));
  GatherKernel<T, TASK><<<(unsigned)PetscMin((p.nodes.size() + 127) / 128, (size_t)blocks * 64), 128, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Robin terms, in 2D and 3D ---- */

/* x at the node, or zero */
template <typename T>
static __device__ T Read(const LatticeGather<T> &p, const int node[3], int d, int i, int e, int j)
{
  int at[3] = {node[0], node[1], node[2]};

  at[d] += i;
  at[e] += j;
  return p.g.read.contains(at[0], at[1], at[2]) ? p.v.x[p.g.xl.at(at[0], at[1], at[2])] : T(0);
}

/* y += alpha R x, and what that gives to p'y of a sweep: the mass matrices of the triangles (segments) around the node, on each side that
   it is on; in 2D the other direction e of a side is z, of one node */
template <typename T>
static __device__ T RobinRow(const LatticeGather<T> &p, size_t item)
{
  int node[3];
  T   sum = 0;

  if (item >= p.nodes.size()) return 0;
  p.nodes.template find<unsigned>(item, node);
  if (!p.g.write.contains(node[0], node[1], node[2])) return 0;
  const T x = Read(p, node, 0, 0, 1, 0);

  for (int side = 0; side < 2 * p.dim; side++) {
    const int s = side / 2, high = side % 2, d = s == 0 ? 1 : 0, e = s == 2 ? 1 : 2;
    T         part = 0;

    if (p.m.side[side] == 0 || node[s] != (high ? p.n[s] : 0)) continue;
    for (int a = 0; a < (p.dim == 3 ? 4 : 2); a++) { /* the square of which the node is corner a */
      const int i = a & 1, j = a >> 1;

      if (!HasCube(p, node, high << s | i << d | j << e)) continue;
      if (p.dim == 2) part += 2 * x + Read(p, node, d, i ? -1 : 1, e, 0);
      else if (i == j)
        part += 4 * x + Read(p, node, d, i ? -1 : 1, e, 0) + Read(p, node, d, 0, e, i ? -1 : 1) +
                2 * Read(p, node, d, i ? -1 : 1, e, i ? -1 : 1);
      else part += 2 * x + Read(p, node, d, i ? -1 : 1, e, 0) + Read(p, node, d, 0, e, j ? -1 : 1);
    }
    sum += p.m.side[side] * part;
  }
  p.v.y[p.g.yl.at(node[0], node[1], node[2])] += p.v.alpha * sum;
  return sum * x;
}

template <typename T>
static __global__ void RobinKernel(const __grid_constant__ LatticeGather<T> p)
{
  const T energy = RobinRow(p, blockIdx.x * (size_t)blockDim.x + threadIdx.x);

  if (p.v.sweep && p.dim == 3) AddEnergy(energy, p.v.sweep);
}

template <typename T>
static PetscErrorCode Robin(const LatticeGather<T> &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!p.nodes.size() || !p.m.robin) PetscFunctionReturn(PETSC_SUCCESS);
  RobinKernel<<<(unsigned)((p.nodes.size() + 127) / 128), 128, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

/* p = d r + b q, where d may be NULL for ones */
template <typename T>
static __global__ void DirectionKernel(size_t n, const PatchFDSweep *sweep, const T *d, const T *r, const T *q, T *p)
{
  const T b = (T)sweep->b;

  if (sweep->stop) return;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = (d ? d[i] : T(1)) * r[i] + (b == 0 ? T(0) : b * q[i]);
}

/* rows that are not written are those of the identity; what these nodes give to x'y */
template <typename T>
static __global__ void EnergyKernel(const __grid_constant__ LatticeGather<T> p)
{
  double energy = 0;

  for (size_t item = blockIdx.x * (size_t)blockDim.x + threadIdx.x; item < p.nodes.size(); item += (size_t)gridDim.x * blockDim.x) {
    int node[3];

    p.nodes.template find<size_t>(item, node);
    const ptrdiff_t at = p.g.yl.at(node[0], node[1], node[2]);

    const T x = p.v.x[p.g.xl.at(node[0], node[1], node[2])];

    if (!p.g.write.contains(node[0], node[1], node[2])) p.v.y[at] = x;
    energy += (double)x * p.v.y[at];
  }
  AddEnergy(energy, p.v.sweep);
}

template <typename T>
static PetscErrorCode Direction(size_t n, const PatchFDSweep *sweep, const T *d, const T *r, const T *q, T *p, cudaStream_t stream)
{
  int blocks;

  PetscFunctionBegin;
  PetscCall(Multiprocessors(&blocks));
  DirectionKernel<<<(unsigned)PetscMin((n + 255) / 256, (size_t)blocks * 64), 256, 0, stream>>>(n, sweep, d, r, q, p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode Energy(const LatticeGather<T> &p, cudaStream_t stream)
{
  int blocks;

  PetscFunctionBegin;
  if (!p.nodes.size()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Multiprocessors(&blocks));
  EnergyKernel<<<(unsigned)PetscMin((p.nodes.size() + 127) / 128, (size_t)blocks * 16), 128, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- plans ---- */

template <typename T>
struct LatticePlan : Plan {
  int             dim, n[3];
  PetscReal       h[3], robin[6];
  bool            equal; /* are the cubes cubes? */
  LatticeGeometry g;
  LatticeCut      march[LATTICE_KINDS][LATTICE_MODES], stencil[LATTICE_MODES];
  Shell           all, sides, outside; /* nodes: of y; with Robin terms, among others; that are not written */
  bool            square;              /* are all nodes that are written read? */
  PlanMemory      memory;
};

/* flags of the nodes of xbox from the list of its cubes */
static std::vector<unsigned char> BodyFlags(const PatchFDLatticeDesc *desc, const Range &cubes)
{
  const PatchFDBox          *b  = &desc->xbox;
  const PetscInt             n0 = b->n[0] - 1, n1 = desc->dim > 1 ? b->n[1] - 1 : 1;
  std::vector<unsigned char> flags(PatchFDBoxSize(b), LATTICE_VOID);

  for (int k = cubes.lo[2]; k < cubes.hi[2]; k++) {
    for (int j = cubes.lo[1]; j < cubes.hi[1]; j++) {
      for (int i = cubes.lo[0]; i < cubes.hi[0]; i++) {
        if (!desc->active[((k - b->lo[2]) * n1 + j - b->lo[1]) * n0 + i - b->lo[0]]) continue;
        flags[PatchFDBoxNode(b, i, j, k)] |= LATTICE_CUBE;
        for (int a = 0; a < 1 << desc->dim; a++)
          flags[PatchFDBoxNode(b, i + (a & 1), j + (a >> 1 & 1), k + (a >> 2 & 1))] &= (unsigned char)~LATTICE_VOID;
      }
    }
  }
  return flags;
}

template <typename T>
static void PlanGeometry(const PatchFDLatticeDesc *desc, LatticePlan<T> *p)
{
  LatticeGeometry &g = p->g;
  Range            inner;
  bool             robin = false;

  p->dim   = (int)desc->dim;
  p->equal = true;
  g.xl     = Layout(desc->xbox);
  g.yl     = Layout(desc->ybox);
  g.read   = Range(desc->read);
  g.write  = Range(desc->write);
  g.body   = NULL;
  for (int d = 0; d < 3; d++) {
    const bool exists = d < desc->dim;

    p->n[d]       = (int)desc->n[d];
    p->h[d]       = desc->h[d];
    p->equal      = p->equal && desc->h[d] == desc->h[0];
    g.store.lo[d] = (int)desc->ybox.lo[d];
    g.store.hi[d] = (int)(desc->ybox.lo[d] + desc->ybox.n[d]);
    g.box.lo[d]   = (int)desc->xbox.lo[d];
    g.box.hi[d]   = (int)(desc->xbox.lo[d] + desc->xbox.n[d]);
    g.read.lo[d]  = PetscMax(g.read.lo[d], g.box.lo[d]);
    g.read.hi[d]  = PetscMin(g.read.hi[d], g.box.hi[d]);
    g.cubes.lo[d] = exists ? PetscMax(0, g.box.lo[d]) : g.box.lo[d];
    g.cubes.hi[d] = exists ? PetscMin(p->n[d], g.box.hi[d] - 1) : g.box.hi[d];
    inner.lo[d]   = exists ? 1 : g.store.lo[d];
    inner.hi[d]   = exists ? p->n[d] : g.store.hi[d];
  }
  for (int s = 0; s < 6; s++) {
    p->robin[s] = s < 2 * p->dim ? desc->robin[s] : 0;
    robin       = robin || p->robin[s] != 0;
  }
  p->all     = Shell(g.store);
  p->sides   = robin ? Shell(g.store, inner) : Shell(Range::none());
  p->outside = Shell(g.store, g.write);
  p->square  = true;
  for (int d = 0; d < 3; d++) p->square = p->square && g.read.lo[d] <= g.write.lo[d] && g.read.hi[d] >= g.write.hi[d];
}

template <typename T>
PetscErrorCode Lattice<T>::create(const PatchFDLatticeDesc *desc, void **plan)
{
  LatticePlan<T>  *p = new LatticePlan<T>;
  LatticeGeometry &g = p->g;
  cudaStream_t     stream;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(Stream(&stream));
  PlanGeometry(desc, p);
  if (desc->active) {
    const std::vector<unsigned char> flags = BodyFlags(desc, g.cubes);

    PetscCall(p->memory.upload(flags.size(), flags.data(), &g.body));
  }
  if (g.store.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->dim < 3) PetscFunctionReturn(PETSC_SUCCESS);
  for (int mode = 0; mode < LATTICE_MODES; mode++) {
    for (int kind = 0; kind < LATTICE_KINDS; kind++)
      PetscCall(LatticeMarchCut<T>((LatticeKind)kind, (LatticeMode)mode, g, &p->march[kind][mode]));
    PetscCall(LatticeStencilCut<T>((LatticeMode)mode, g, &p->stencil[mode]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* materials with a factor of zero are not read */
template <typename T>
static LatticeMaterial<T> PrepareMaterial(const LatticePlan<T> *p, const PatchFDMaterial *m)
{
  const int          dim = p->dim;
  PetscReal          V   = 1; /* volume of a simplex */
  LatticeMaterial<T> r   = {};

  for (int d = 0; d < dim; d++) V *= p->h[d] / (d + 1);
  r.identity = (T)m->identity;
  r.mass     = (T)(m->mass * V / ((dim + 1) * (dim + 1) * (dim + 2)));
  r.c        = m->mass != 0 ? (const T *)m->capacity : NULL;
  r.constc   = m->mass != 0 ? (T)m->constcapacity : T(0);
  for (int d = 0; d < dim; d++) {
    const PetscReal area = V * dim / p->h[d]; /* of the side of a simplex */

    r.stiffness[d] = (T)(m->stiffness * V / (p->h[d] * p->h[d] * (dim + 1)));
    r.k[d]         = m->stiffness != 0 ? (const T *)m->conductivity[d] : NULL;
    r.constk[d]    = m->stiffness != 0 ? (T)m->constconductivity[d] : T(0);
    for (int e = 0; e < 2; e++) r.side[2 * d + e] = (T)(m->side * p->robin[2 * d + e] * area / (dim * (dim + 1)));
    r.robin = r.robin || r.side[2 * d] != 0 || r.side[2 * d + 1] != 0;
  }
  return r;
}

template <typename T>
static LatticeGather<T> PrepareGather(const LatticePlan<T> *p, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, const Shell &nodes)
{
  return {p->g, m, v, nodes, p->dim, {p->n[0], p->n[1], p->n[2]}};
}

template <typename T>
static LatticeKind Kind(const LatticePlan<T> *p, const LatticeMaterial<T> &m)
{
  for (int d = 1; d < 3; d++)
    if (m.k[d] != m.k[0] || (!m.k[d] && m.constk[d] != m.constk[0])) return LATTICE_TENSOR;
  return p->equal ? LATTICE_CUBES : LATTICE_SCALAR;
}

/* in 3D with the energy of rows that are written, if there is a sweep */
template <typename T>
static PetscErrorCode Multiply(const LatticePlan<T> *p, const LatticeMaterial<T> &m, const LatticeVectors<T> &v, cudaStream_t stream)
{
  const LatticeKind kind = Kind(p, m);
  const LatticeMode mode = Mode(v);

  PetscFunctionBegin;
  if (p->dim == 1) {
    PetscCall((Gather<T, LATTICE_ROWS>(PrepareGather(p, m, v, p->all), stream)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p->dim == 2) PetscCall(LatticePlaneApply(p->g, m, v, stream));
  else if (!p->g.body && !m.c && !m.k[0] && !m.k[1] && !m.k[2]) PetscCall(LatticeStencilApply(mode, p->stencil[mode], p->g, m, v, stream));
  else PetscCall(LatticeMarchApply(kind, mode, p->march[kind][mode], p->g, m, v, stream));
  PetscCall(Robin(PrepareGather(p, m, v, p->sides), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Lattice<T>::apply(void *plan, const PatchFDMaterial *material, PetscReal alpha, const void *x, const void *y0, void *y)
{
  LatticePlan<T>          *p = (LatticePlan<T> *)plan;
  const LatticeMaterial<T> m = PrepareMaterial(p, material);
  LatticeVectors<T>        v = {};
  cudaStream_t             stream;

  PetscFunctionBegin;
  if (p->g.store.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  v.alpha = (T)alpha;
  v.x     = (const T *)x;
  v.y0    = (const T *)y0;
  v.y     = (T *)y;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(Multiply(p, m, v, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(90. * (PetscLogDouble)p->all.size()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w = NULL: p only; r = NULL: p is there, with ghosts on several ranks, of which those without nodes have no arrays, but add zero */
template <typename T>
PetscErrorCode Lattice<T>::sweep(void *plan, const PatchFDMaterial *material, const void *d, const void *r, const void *q, void *dir,
                                 void *w, PatchFDSweep *sweep)
{
  LatticePlan<T>          *p = (LatticePlan<T> *)plan;
  const LatticeMaterial<T> m = PrepareMaterial(p, material);
  LatticeVectors<T>        v = {};
  cudaStream_t             stream;

  PetscFunctionBegin;
  PetscCheck(p->square, PETSC_COMM_SELF, PETSC_ERR_SUP, "A sweep of conjugate gradients wants to read all that it writes");
  v.alpha = T(1);
  v.x     = (const T *)dir;
  v.y     = (T *)w;
  v.sweep = sweep;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (r && !p->g.store.empty()) PetscCall(Direction(p->all.size(), sweep, (const T *)d, (const T *)r, (const T *)q, (T *)dir, stream));
  if (w || p->g.store.empty()) PetscCallCUDA(cudaMemsetAsync(&sweep->pw, 0, sizeof(sweep->pw), stream));
  if (w && !p->g.store.empty()) {
    PetscCall(Multiply(p, m, v, stream));
    PetscCall(Energy(PrepareGather(p, m, v, p->dim == 3 ? p->outside : p->all), stream));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(((r ? 4. : 0.) + (w ? 92. : 0.)) * (PetscLogDouble)p->all.size()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Lattice<T>::diagonal(void *plan, const PatchFDMaterial *material, void *diagonal)
{
  LatticePlan<T>          *p = (LatticePlan<T> *)plan;
  const LatticeMaterial<T> m = PrepareMaterial(p, material);
  LatticeVectors<T>        v = {};
  cudaStream_t             stream;

  PetscFunctionBegin;
  v.y = (T *)diagonal;
  PetscCall(Stream(&stream));
  PetscCall((Gather<T, LATTICE_DIAGONAL>(PrepareGather(p, m, v, p->all), stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Lattice<double>;
template struct Lattice<float>;

} // namespace patchfd
