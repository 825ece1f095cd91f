/*
  Operators by quadrature (points.cuh): plans, factors, and the kernels that need not be fast.
*/
#include "lines.cuh"
#include "points.cuh"

namespace patchfd
{

/* ---- the geometry and the factors at the points ---- */

/* maps of the cells and coefficients, always in double precision; c points in a direction, m nodes of the map */
struct PointsMap {
  int           dim, c, m, nkappa;
  bool          kappaconstant, shiftconstant;
  const double *B, *D, *w; /* [c][m], [c][m], [c] */
  const int    *index;     /* [cells][m^dim] */
  const double *coordinate, *kappa, *shift; /* NULL: no such term */
};

/* which cell is not as it should be */
struct PointsBad {
  int inverted, kappa; /* the first such cells */
};

__host__ __device__ static int PointsPower(int n, int dim)
{
  return dim == 3 ? n * n * n : n * n;
}

/* J[b] = dx / d(reference direction b) at a point of a cell */
__device__ static void PointsJacobian(const PointsMap &map, int cell, const int q[3], double J[3][3])
{
  const int m = map.m, mz = map.dim == 3 ? m : 1, *node = map.index + (ptrdiff_t)cell * PointsPower(m, map.dim);

  for (int b = 0; b < 3; b++) J[b][0] = J[b][1] = J[b][2] = 0;
  for (int k = 0; k < mz; k++) {
    const double Bk = mz > 1 ? map.B[q[2] * m + k] : 1, Dk = mz > 1 ? map.D[q[2] * m + k] : 0;

    for (int j = 0; j < m; j++) {
      const double Bj = map.B[q[1] * m + j], Dj = map.D[q[1] * m + j];

      for (int i = 0; i < m; i++) {
        const double  Bi = map.B[q[0] * m + i], Di = map.D[q[0] * m + i], weight[3] = {Di * Bj * Bk, Bi * Dj * Bk, Bi * Bj * Dk};
        const double *x = map.coordinate + (ptrdiff_t)node[(k * m + j) * m + i] * map.dim;

        for (int b = 0; b < map.dim; b++)
          for (int a = 0; a < map.dim; a++) J[b][a] += weight[b] * x[a];
      }
    }
  }
}

/* cofactors C[b] and determinant of a matrix whose rows are M[b] */
__device__ static double PointsCofactors(int dim, const double M[3][3], double C[3][3])
{
  if (dim == 2) {
    C[0][0] = M[1][1];
    C[0][1] = -M[1][0];
    C[1][0] = -M[0][1];
    C[1][1] = M[0][0];
    return M[0][0] * C[0][0] + M[0][1] * C[0][1];
  }
  for (int b = 0; b < 3; b++) {
    const double *u = M[(b + 1) % 3], *v = M[(b + 2) % 3];

    for (int a = 0; a < 3; a++) C[b][a] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
  }
  return M[0][0] * C[0][0] + M[0][1] * C[0][1] + M[0][2] * C[0][2];
}

/* K at a point as a matrix; is it positive definite (Sylvester's criterion)? */
__device__ static bool PointsTensor(int dim, int nkappa, const double *k, double K[3][3])
{
  double C[3][3], det;

  for (int a = 0, i = 0; a < dim; a++)
    for (int b = a; b < dim; b++) K[a][b] = K[b][a] = nkappa == 1 ? (a == b ? k[0] : 0) : k[i++];
  det = PointsCofactors(dim, K, C);
  return K[0][0] > 0 && det > 0 && (dim == 2 || C[2][2] > 0) && isfinite(det);
}

/* f = w / |J| C' K C (rr rs rt ss st tt, or rr rs ss) and w |J| shift at a point; *bad may be lowered to the cell */
__device__ static void PointsFactorsAt(const PointsMap &map, int cell, int point, double f[7], PointsBad *bad)
{
  const int       c = map.c, dim = map.dim, q[3] = {point % c, point / c % c, point / c / c};
  const ptrdiff_t at     = (ptrdiff_t)cell * PointsPower(c, dim) + point;
  const double    weight = map.w[q[0]] * map.w[q[1]] * (dim == 3 ? map.w[q[2]] : 1);
  double          J[3][3], C[3][3], K[3][3], det;

  PointsJacobian(map, cell, q, J);
  det = PointsCofactors(dim, J, C);
  if (bad && !(det > 0 && isfinite(det))) atomicMin(&bad->inverted, cell);
  if (map.kappa) {
    if (!PointsTensor(dim, map.nkappa, map.kappa + (map.kappaconstant ? 0 : at * map.nkappa), K) && bad) atomicMin(&bad->kappa, cell);
    for (int l = 0; l < dim; l++) {
      for (int m = l; m < dim; m++) {
        double sum = 0;

        for (int a = 0; a < dim; a++)
          for (int b = 0; b < dim; b++) sum += C[l][a] * K[a][b] * C[m][b];
        *f++ = weight / det * sum;
      }
    }
  }
  if (map.shift) *f = weight * det * map.shift[map.shiftconstant ? 0 : at];
}

/* a thread a point.  factors NULL: nothing but the check */
template <typename T>
static __global__ void PointsFactorsKernel(const PointsMap map, const PointsLayout layout, int cells, T *factors, PointsBad *bad)
{
  const int points = PointsPower(map.c, map.dim);

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * points; e += (size_t)gridDim.x * blockDim.x) {
    const int cell = (int)(e / points), point = (int)(e % points);
    double    f[7];

    PointsFactorsAt(map, cell, point, f, bad);
    if (!factors) continue;
    for (int m = 0; m < layout.numbers; m++) factors[layout.at(cell, point) + (ptrdiff_t)m * layout.lanes] = (T)f[m];
  }
}

/* the coefficients of trilinear maps, a thread a coordinate of a cell */
template <typename T>
static __global__ void PointsGeometryKernel(const PointsMap map, int cells, T *geometry)
{
  const int order[] = {1, 2, 4, 3, 6, 5, 7}; /* bits of the reference coordinates in a term, as in points_geometry */

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * 3; e += (size_t)gridDim.x * blockDim.x) {
    const size_t cell = e / 3, a = e % 3;
    double       x[8];

    for (int i = 0; i < 8; i++) x[i] = map.coordinate[(ptrdiff_t)map.index[cell * 8 + i] * 3 + a];
    for (int bit = 1; bit < 8; bit *= 2)
      for (int i = 0; i < 8; i++)
        if (i & bit) x[i] -= x[i ^ bit];
    for (int i = 0; i < 7; i++) geometry[cell * points_geometry + 3 * i + a] = (T)x[order[i]];
  }
}

/* ---- the generic kernels: a team of threads a cell, squares or cubes ---- */

template <typename T>
struct PointsGeneric {
  PointsLayout layout;
  PointsMap    map;
  const T     *factors;      /* NULL: from the map */
  const T     *B, *C;        /* [c][n], [c][c] */
  const T     *product[3];   /* [c][n]: B B, B D, D D entry by entry, for the diagonal */
  bool         stiff, shift;
  int          n, c, dim, cells, ncomp;
  Team<T>      team;
  size_t       size;         /* of a block of numbers */

  /* factors of a point */
  __device__ void at(int cell, int point, T f[7]) const
  {
    double g[7];

    if (!factors) PointsFactorsAt(map, cell, point, g, NULL);
    for (int m = 0; m < layout.numbers; m++) f[m] = factors ? factors[layout.at(cell, point) + (ptrdiff_t)m * layout.lanes] : (T)g[m];
  }
  /* the place of the number e of a cell */
  __device__ PointsColumn::Place place(const PointsNodes &nodes, int cell, int e, bool write) const
  {
    return PointsPlace(nodes, n, dim, cell, e % n, e / n % n, write).place(n, e / n / n);
  }
};

/* from[] becomes the product with X or X' in all directions; returns where it is: one of the two blocks */
template <typename T>
static __device__ T *PointsAll(int dim, int rows, int cols, const T *X, bool transposed, T *from, T *to)
{
  int n[3] = {cols, cols, dim == 3 ? cols : 1};

  for (int d = 0; d < dim; d++) {
    T *in = from;

    Contract(d, n, rows, transposed ? Matrix<T>{X, 1, rows} : Matrix<T>{X, cols, 1}, in, to, false);
    n[d] = rows;
    from = to;
    to   = in;
    __syncthreads();
  }
  return from;
}

/* fluxes g and rows u of the points of a cell; returns the sum of u'A u of the thread's points */
template <typename T>
static __device__ T PointsGenericFluxes(const PointsGeneric<T> &p, int cell, T *u, T *const g[3])
{
  const int dim = p.dim, at[2][3][3] = {{{0, 1}, {1, 2}}, {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}}};
  T         energy = 0;

  for (int q = threadIdx.x; q < PointsPower(p.c, dim); q += blockDim.x) {
    T f[7], in[3], mass;

    p.at(cell, q, f);
    mass = p.shift ? f[p.layout.numbers - 1] * u[q] : T(0);
    energy += u[q] * mass;
    u[q] = mass;
    if (!p.stiff) continue;
    for (int d = 0; d < dim; d++) in[d] = g[d][q];
    for (int d = 0; d < dim; d++) {
      T sum = 0;

      for (int b = 0; b < dim; b++) sum += f[at[dim - 2][d][b]] * in[b];
      energy += in[d] * sum;
      g[d][q] = sum;
    }
  }
  return energy;
}

/* y += alpha A x; blocks u and v, and one for each derivative */
template <typename T>
static __global__ void PointsGenericKernel(const __grid_constant__ PointsGeneric<T> p, const __grid_constant__ PointsArguments<T> arg)
{
  const int n = p.n, c = p.c, dim = p.dim, nodes = PointsPower(n, dim), points[3] = {c, c, dim == 3 ? c : 1};
  T        *u = TeamMemory<T>(p.team.global, p.team.size), *v = u + p.size, *g[3] = {v + p.size, v + 2 * p.size, v + 3 * p.size}, energy = 0;

  if (arg.sweep && arg.sweep->stop) return;
  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < (size_t)p.cells * p.ncomp; base += (size_t)gridDim.x * blockDim.y) {
    const size_t item = base + threadIdx.y;
    const int    cell = (int)(item / p.ncomp), comp = (int)(item % p.ncomp);
    const bool   active = cell < p.cells;
    T           *in, *rows;

    for (int e = threadIdx.x; e < nodes; e += blockDim.x) {
      const PointsColumn::Place place = active ? p.place(arg.nodes, cell, e, false) : PointsColumn::Place{-1, false, false};

      u[e] = place.at < 0 ? T(0) : PointsRead(arg, place.at * p.ncomp + comp);
    }
    __syncthreads();
    in   = c == n ? u : PointsAll(dim, c, n, p.B, false, u, v);
    rows = in == u ? v : u;
    for (int d = 0; d < dim && p.stiff; d++) Contract(d, points, c, Matrix<T>{p.C, c, 1}, in, g[d], false);
    __syncthreads();
    if (active) energy += PointsGenericFluxes(p, cell, in, g);
    __syncthreads();
    for (int d = 0; d < dim && p.stiff; d++) {
      Contract(d, points, c, Matrix<T>{p.C, 1, c}, g[d], in, true);
      __syncthreads();
    }
    if (c != n) in = PointsAll(dim, n, c, p.B, true, in, rows);
    for (int e = threadIdx.x; e < nodes && active; e += blockDim.x) PointsAdd(arg, p.place(arg.nodes, cell, e, true), comp, in[e]);
    __syncthreads();
  }
  if (arg.sweep) PointsSum(energy, &arg.sweep->pw);
}

/* y += the diagonal: for derivatives l and m, twice if they differ, the factor at the points times products of entries of B and D */
template <typename T>
static __global__ void PointsDiagonalKernel(const __grid_constant__ PointsGeneric<T> p, const __grid_constant__ PointsArguments<T> arg)
{
  const int n = p.n, c = p.c, dim = p.dim, nodes = PointsPower(n, dim);
  T        *sum = TeamMemory<T>(p.team.global, p.team.size), *u = sum + p.size, *v = u + p.size;

  for (size_t base = blockIdx.x * (size_t)blockDim.y; base < (size_t)p.cells; base += (size_t)gridDim.x * blockDim.y) {
    const int  cell   = (int)(base + threadIdx.y);
    const bool active = cell < p.cells;
    int        number = 0;

    for (int e = threadIdx.x; e < nodes; e += blockDim.x) sum[e] = 0;
    for (int l = 0; l <= dim; l++) {
      for (int m = l; m <= dim; m++) { /* dim: the value itself */
        int size[3] = {c, c, dim == 3 ? c : 1};
        T  *from = u, *to = v;

        if (l == dim ? !p.shift : (m == dim || !p.stiff)) continue;
        for (int q = threadIdx.x; q < PointsPower(c, dim) && active; q += blockDim.x) {
          T f[7];

          p.at(cell, q, f);
          u[q] = f[number];
        }
        __syncthreads();
        for (int d = 0; d < dim; d++) {
          T *out = to;

          Contract(d, size, n, Matrix<T>{p.product[(d == l) + (d == m)], 1, n}, from, out, false);
          size[d] = n;
          to      = from;
          from    = out;
          __syncthreads();
        }
        for (int e = threadIdx.x; e < nodes; e += blockDim.x) sum[e] += (l == m ? 1 : 2) * from[e];
        __syncthreads();
        number++;
      }
    }
    for (int e = threadIdx.x; e < nodes && active; e += blockDim.x)
      for (int comp = 0; comp < p.ncomp; comp++) PointsAdd(arg, p.place(arg.nodes, cell, e, true), comp, sum[e]);
    __syncthreads();
  }
}

/* p = z + b q, w = p at nodes that no row has */
template <typename T>
static __global__ void PointsRestKernel(const __grid_constant__ PointsArguments<T> arg, int count, const int *rest)
{
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  T         energy = 0;

  if (arg.sweep->stop) return;
  for (int comp = 0; comp < arg.nodes.ncomp && e < count; comp++) {
    const ptrdiff_t at = (ptrdiff_t)rest[e] * arg.nodes.ncomp + comp;
    const T         p  = PointsRead(arg, at);

    arg.y[at] = p;
    energy += p * p;
  }
  PointsSum(energy, &arg.sweep->pw);
}

/* ---- plans ---- */

template <typename T>
struct PointsPlan {
  PointsArguments<T> arg     = {};
  PointsKernel<T>    fast    = {}; /* or no kernel: the generic one */
  PointsGeneric<T>   generic = {};
  Team<T>            diagonal = {};
  size_t             size    = 0; /* numbers of y */
  bool               own     = false; /* do the cells have all nodes for themselves? */
  bool               square  = false; /* are the boxes of x and y the same? */
  int                nrest   = 0, *rest = NULL; /* nodes that no row has */
  PetscLogDouble     flops   = 0;
  PlanMemory         memory = {}, setup = {}; /* setup: what factors are made from */

  PetscErrorCode free()
  {
    PetscFunctionBegin;
    PetscCall(generic.team.destroy());
    PetscCall(diagonal.destroy());
    PetscCall(setup.free());
    PetscCall(memory.free());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

static PetscErrorCode PointsCheck(const PatchFDPoints *points)
{
  const PetscInt dim = points->dim;
  const bool     can = points->geodegree == 1 && (!points->nkappa || points->kappaconstant) && (!points->shift || points->shiftconstant);

  PetscFunctionBegin;
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Operators by quadrature in %" PetscInt_FMT " dimensions; there have to be 2 or 3", dim);
  PetscCheck(points->degree >= 1 && points->degree <= points_degrees, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Degree %" PetscInt_FMT " of an operator by quadrature; it has to be 1 to %d", points->degree,
             points_degrees);
  PetscCheck(points->geodegree >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Degree %" PetscInt_FMT " of the geometry; it has to be 1 or more", points->geodegree);
  PetscCheck(points->ncomp >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " components; there have to be 1 or more", points->ncomp);
  PetscCheck(points->nkappa == 0 || points->nkappa == 1 || points->nkappa == dim * (dim + 1) / 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " numbers for the coefficient of the stiffness; there have to be 0, 1 or %" PetscInt_FMT, points->nkappa, dim * (dim + 1) / 2);
  PetscCheck(points->nkappa || points->shift, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "An operator by quadrature without stiffness and mass");
  PetscCheck(can || points->factors != PATCHFD_FACTORS_COMPUTED, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "Factors are to be computed in each product: that needs multilinear geometry, found degree %" PetscInt_FMT ", and constant coefficients", points->geodegree);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool PointsIsComputed(const PatchFDPoints *points)
{
  if (points->factors != PATCHFD_FACTORS_AUTO) return points->factors == PATCHFD_FACTORS_COMPUTED;
  return points->dim == 3 && points->geodegree == 1 && (!points->nkappa || points->kappaconstant) && (!points->shift || points->shiftconstant);
}

/* numbers of the nodes with what kernels want to know, and the nodes of no cell */
template <typename T>
static PetscErrorCode PointsIndex(const PatchFDPoints *points, PointsPlan<T> *p, std::vector<int> &rest)
{
  const size_t               size = (size_t)points->ncells * (size_t)PointsPower(p->arg.nodes.n, p->arg.nodes.dim);
  std::vector<unsigned char> cells(points->nnodes, 0);
  std::vector<unsigned>      index(size);
  unsigned                  *device;

  PetscFunctionBegin;
  PetscCheck(points->nnodes <= (PetscCount)points_node, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " nodes; on GPUs there can be up to %u on a rank", points->nnodes, points_node);
  for (size_t i = 0; i < size; i++) {
    const PetscInt v = points->index[i];

    PetscCheck(v >= -1 && v < (PetscInt)points->nnodes, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Node %" PetscInt_FMT " in a cell; there are 0 to %" PetscCount_FMT ", and -1 for none", v, points->nnodes - 1);
    if (v >= 0 && cells[v] < 2) cells[v]++;
  }
  for (size_t i = 0; i < size; i++) {
    const PetscInt v = points->index[i];

    index[i] = v < 0 ? points_none : (unsigned)v | (cells[v] > 1 ? points_shared : 0) | (cells[v] < 3 ? points_own : 0);
    if (v >= 0 && cells[v] > 1) cells[v] = 3; /* somebody owns it */
  }
  for (PetscCount v = 0; v < points->nnodes; v++)
    if (!cells[v]) rest.push_back((int)v);
  PetscCall(p->memory.upload(size, index.data(), &device));
  p->arg.nodes.index = device;
  p->size            = (size_t)(points->nnodes * points->ncomp);
  p->square          = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cells `cells` on a box of nodes */
template <typename T>
static PetscErrorCode PointsBox(const PatchFDOperatorDesc *desc, PointsPlan<T> *p, std::vector<int> &rest)
{
  const PatchFDField *f     = desc->field;
  PointsNodes        &nodes = p->arg.nodes;
  Range               rows;
  int                 at = 0;

  PetscFunctionBegin;
  PetscCheck(desc->nfield == 1 && desc->points->ncomp == 1, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscInt_FMT " fields with %" PetscInt_FMT " components; operators by quadrature on a box of nodes have 1 of 1",
             desc->nfield, desc->points->ncomp);
  PetscCheck(!f->x0 && !f->y0, PETSC_COMM_SELF, PETSC_ERR_SUP, "Operators by quadrature begin where their arrays begin");
  nodes.xl    = f->xbox;
  nodes.yl    = f->ybox;
  nodes.read  = f->read;
  nodes.write = rows = f->write;
  p->size            = PatchFDBoxSize(&f->ybox);
  p->square          = true;
  for (int d = 0; d < 3; d++) {
    const int step = d < desc->points->dim ? (int)desc->points->degree : 0;

    nodes.first[d] = (int)desc->cells[d][0];
    nodes.count[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    rows.lo[d]     = PetscMax(rows.lo[d], nodes.first[d] * step);
    rows.hi[d]     = PetscMin(rows.hi[d], (nodes.first[d] + nodes.count[d]) * step + 1);
    p->square      = p->square && f->xbox.lo[d] == f->ybox.lo[d] && f->xbox.n[d] == f->ybox.n[d];
  }
  if (p->size > PETSC_INT_MAX || !p->square) PetscFunctionReturn(PETSC_SUCCESS); /* no sweeps */
  for (int k = 0; k < f->ybox.n[2]; k++)
    for (int j = 0; j < f->ybox.n[1]; j++)
      for (int i = 0; i < f->ybox.n[0]; i++, at++)
        if (!rows.contains((int)f->ybox.lo[0] + i, (int)f->ybox.lo[1] + j, (int)f->ybox.lo[2] + k)) rest.push_back(at);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode PointsNodesCreate(const PatchFDOperatorDesc *desc, PointsPlan<T> *p)
{
  const PatchFDPoints *points = desc->points;
  PointsNodes         &nodes  = p->arg.nodes;
  PetscCount           cells  = points->ncells;
  std::vector<int>     rest;

  PetscFunctionBegin;
  nodes.kind  = points->nodes;
  nodes.n     = (int)points->degree + 1;
  nodes.dim   = (int)points->dim;
  nodes.ncomp = (int)points->ncomp;
  if (points->nodes == PATCHFD_NODES_BOX) {
    PetscCall(PointsBox(desc, p, rest));
    cells = (PetscCount)nodes.count[0] * nodes.count[1] * nodes.count[2];
  } else if (points->nodes == PATCHFD_NODES_INDEX) PetscCall(PointsIndex(points, p, rest));
  else {
    p->own    = true;
    p->square = true;
    p->size   = (size_t)(cells * points->ncomp) * (size_t)PointsPower(nodes.n, nodes.dim);
  }
  PetscCheck(cells < PETSC_INT_MAX / 8, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " cells; on GPUs there can be up to %d on a rank", cells, (int)(PETSC_INT_MAX / 8));
  p->arg.cells = (int)cells;
  p->nrest     = (int)rest.size();
  PetscCall(p->memory.upload(rest.size(), rest.data(), &p->rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* maps and coefficients go to the device */
template <typename T>
static PetscErrorCode PointsMapCreate(const PatchFDPoints *points, const PatchFDRule *rule, PointsPlan<T> *p)
{
  const size_t m = (size_t)points->geodegree + 1, c = (size_t)rule->points, cells = (size_t)p->arg.cells, nodes = cells * (size_t)PointsPower((int)m, (int)points->dim);
  const size_t all = cells * (size_t)PointsPower((int)c, (int)points->dim);
  PointsMap   &map = p->generic.map;
  PetscInt     vertices = 0;
  std::vector<PetscReal> B(c * m), D(c * m);
  double                *a[6];
  int                   *index;

  PetscFunctionBegin;
  map.dim           = (int)points->dim;
  map.c             = (int)c;
  map.m             = (int)m;
  map.nkappa        = (int)points->nkappa;
  map.kappaconstant = points->kappaconstant;
  map.shiftconstant = points->shiftconstant;
  for (size_t i = 0; i < nodes; i++) vertices = PetscMax(vertices, points->geoindex[i] + 1);
  PetscCall(PatchFDBasis(points->geodegree, rule->points, rule->x, B.data(), D.data(), NULL));
  PetscCall(p->setup.upload(c * m, B.data(), &a[0]));
  PetscCall(p->setup.upload(c * m, D.data(), &a[1]));
  PetscCall(p->setup.upload(c, rule->w, &a[2]));
  PetscCall(p->setup.upload((size_t)(vertices * points->dim), points->coordinate, &a[3]));
  PetscCall(p->setup.upload(points->nkappa ? (points->kappaconstant ? 1 : all) * (size_t)points->nkappa : 0, points->kappa, &a[4]));
  PetscCall(p->setup.upload(points->shift ? (points->shiftconstant ? 1 : all) : 0, points->shift, &a[5]));
  PetscCall(p->setup.upload(nodes, points->geoindex, &index));
  map.B          = a[0];
  map.D          = a[1];
  map.w          = a[2];
  map.coordinate = a[3];
  map.kappa      = a[4];
  map.shift      = a[5];
  map.index      = index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* factors, or maps for computing them; all cells are checked */
template <typename T>
static PetscErrorCode PointsFactorsCreate(const PatchFDPoints *points, bool computed, PointsPlan<T> *p)
{
  const int     cells = p->arg.cells;
  const size_t  threads = (size_t)cells * (size_t)PointsPower(p->generic.c, p->generic.dim);
  const int     blocks = (int)PetscMin(threads / 128 + 1, (size_t)1 << 20);
  const PointsBad none = {PETSC_INT_MAX, PETSC_INT_MAX};
  PointsBad      found, *bad;
  T             *factors = NULL;
  cudaStream_t   stream;

  PetscFunctionBegin;
  if (!cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(p->setup.upload(1, &none, &bad));
  if (!computed) PetscCall(p->memory.malloc(p->generic.layout.size((size_t)cells), &factors));
  PointsFactorsKernel<T><<<blocks, 128, 0, stream>>>(p->generic.map, p->generic.layout, cells, factors, bad);
  PetscCallCUDA(cudaGetLastError());
  p->generic.factors = p->arg.factors = factors;
  if (computed && p->fast.kernel) {
    PetscCall(p->memory.malloc((size_t)cells * points_geometry, &factors));
    PointsGeometryKernel<T><<<blocks, 128, 0, stream>>>(p->generic.map, cells, factors);
    PetscCallCUDA(cudaGetLastError());
    p->arg.factors = factors;
  }
  PetscCallCUDA(cudaMemcpyAsync(&found, bad, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCheck(found.inverted == none.inverted, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Cell %d is inverted or degenerate: the determinant of its map from the unit %s has to be positive at all of its points",
             found.inverted, points->dim == 3 ? "cube" : "square");
  PetscCheck(found.kappa == none.kappa, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The coefficient of the stiffness in cell %d has to be positive%s", found.kappa, points->nkappa == 1 ? "" : " definite");
  if (!computed) PetscCall(p->setup.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of a direction, as the fast kernels, the generic one and the diagonal want them */
template <typename T>
static PetscErrorCode PointsMatrices(const PatchFDRule *rule, PointsPlan<T> *p)
{
  const int              n = (int)rule->nodes, c = (int)rule->points;
  PointsArguments<T>    &arg = p->arg;
  PointsGeneric<T>      &g   = p->generic;
  std::vector<PetscReal> product(c * n);
  T                     *a;

  PetscFunctionBegin;
  arg.B.set(c, n, false, rule->B);
  arg.C.set(c, c, true, rule->C);
  for (int i = 0; i < c; i++) {
    arg.point[i]  = (T)rule->x[i];
    arg.weight[i] = (T)rule->w[i];
  }
  PetscCall(p->memory.upload((size_t)(c * n), rule->B, &a));
  g.B = a;
  PetscCall(p->memory.upload((size_t)(c * c), rule->C, &a));
  g.C = a;
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < c * n; i++) product[i] = (d > 0 ? rule->D : rule->B)[i] * (d > 1 ? rule->D : rule->B)[i];
    PetscCall(p->memory.upload(product.size(), product.data(), &a));
    g.product[d] = a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which kernel, and how the factors lie for it */
template <typename T>
static PetscErrorCode PointsChoose(const PatchFDPoints *points, bool computed, PointsPlan<T> *p)
{
  PointsGeneric<T> &g    = p->generic;
  const size_t      cube = (size_t)PointsPower(g.c, g.dim);

  PetscFunctionBegin;
  if (points->dim == 3) {
    if (!points->gauss) PetscCall((PointsFind<T, POINTS_COLLOCATED>(points->degree, computed, &p->fast)));
    else if (points->nkappa) PetscCall((PointsFind<T, POINTS_GAUSS>(points->degree, computed, &p->fast)));
    else PetscCall((PointsFind<T, POINTS_MASS>(points->degree, computed, &p->fast)));
    g.layout = p->fast.layout;
  } else {
    g.layout = {g.c, 2, 0, 1, g.c * g.c, 1, 0};
    PetscCall(g.team.create((int)cube, (size_t)(2 + g.dim) * cube));
    PetscCall(AllowShared(PointsGenericKernel<T>, g.team.shared));
  }
  g.layout.numbers = p->arg.numbers = (points->nkappa ? g.dim * (g.dim + 1) / 2 : 0) + (points->shift ? 1 : 0);
  g.size                            = cube;
  PetscCall(p->diagonal.create((int)cube, 3 * cube));
  PetscCall(AllowShared(PointsDiagonalKernel<T>, p->diagonal.shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as Swirydowicz, Chalmers, Karakus and Warburton count, sums along whole lines */
static PetscLogDouble PointsFlops(const PatchFDPoints *points, int n, int c)
{
  const PetscLogDouble N = n, C = c, third = points->dim == 3 ? C : 1;
  PetscLogDouble       flops = 0;

  if (points->nkappa) flops += (points->dim == 3 ? 12 * C + 15 : 8 * C + 6) * third * C * C;
  if (points->shift) flops += (points->nkappa ? 2 : 1) * third * C * C;
  if (c != n) flops += 4 * (points->dim == 3 ? C * N * N * N + C * C * N * N + C * C * C * N : C * N * N + C * C * N);
  return flops;
}

template <typename T>
static PetscErrorCode PointsPlanCreate(const PatchFDOperatorDesc *desc, const PatchFDRule *rule, PointsPlan<T> *p)
{
  const PatchFDPoints *points   = desc->points;
  const bool           computed = PointsIsComputed(points);
  PointsArguments<T>  &arg      = p->arg;
  PointsGeneric<T>    &g        = p->generic;

  PetscFunctionBegin;
  PetscCall(PointsNodesCreate(desc, p));
  arg.stiff  = g.stiff = points->nkappa > 0;
  arg.shift  = g.shift = points->shift != NULL;
  arg.tensor = points->nkappa > 1;
  for (PetscInt i = 0; i < points->nkappa && computed; i++) arg.K[i] = (T)points->kappa[i];
  if (arg.shift && computed) arg.s = (T)points->shift[0];
  g.n     = (int)rule->nodes;
  g.c     = (int)rule->points;
  g.dim   = (int)points->dim;
  g.cells = arg.cells;
  g.ncomp = (int)points->ncomp;
  PetscCall(PointsMatrices(rule, p));
  PetscCall(PointsChoose(points, computed, p));
  PetscCall(PointsMapCreate(points, rule, p));
  PetscCall(PointsFactorsCreate(points, computed, p));
  p->flops = PointsFlops(points, g.n, g.c) * arg.cells * g.ncomp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  PointsPlan<T> *p = new PointsPlan<T>;
  PatchFDRule    rule;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(PointsCheck(desc->points));
  PetscCall(PatchFDRuleCreate(desc->points->degree, desc->points->gauss, &rule));
  PetscCall(PointsPlanCreate(desc, &rule, p));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::destroy(void **plan)
{
  return DestroyPlan<PointsPlan<T>>(plan);
}

/* y += what the cells have; where they have all nodes for themselves, y = */
template <typename T>
static PetscErrorCode PointsLaunch(const PointsPlan<T> *p, const PointsArguments<T> &arg, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!arg.cells) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->fast.kernel) p->fast.kernel<<<(unsigned)p->fast.layout.blocks((size_t)arg.cells), p->fast.threads, p->fast.shared, stream>>>(arg);
  else PointsGenericKernel<T><<<p->generic.team.grid((size_t)arg.cells * arg.nodes.ncomp), p->generic.team.block(), p->generic.team.shared, stream>>>(p->generic, arg);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
{
  PointsPlan<T>     *p   = (PointsPlan<T> *)plan;
  PointsArguments<T> arg = p->arg;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  arg.alpha = (T)alpha;
  arg.x     = (const T *)x;
  arg.y0    = (const T *)y0;
  arg.y     = (T *)y;
  if (!p->own) PetscCall(StartSum<T>(p->size, y0, y, stream));
  PetscCall(PointsLaunch(p, arg, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::sweep(void *plan, const void *d, const void *r, const void *q, void *dir, void *w, PatchFDSweep *sweep)
{
  PointsPlan<T>     *p   = (PointsPlan<T> *)plan;
  PointsArguments<T> arg = p->arg;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCheck(p->square, PETSC_COMM_SELF, PETSC_ERR_SUP, "A sweep of conjugate gradients wants the same box for what is read and what is written");
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  arg.alpha = 1;
  arg.d     = (const T *)d;
  arg.x     = (const T *)r;
  arg.q     = (const T *)q;
  arg.p     = (T *)dir;
  arg.y     = (T *)w;
  arg.sweep = sweep;
  PetscCallCUDA(cudaMemsetAsync(&sweep->pw, 0, sizeof(sweep->pw), stream));
  if (!p->own) PetscCall(StartSum<T>(p->size, NULL, w, stream));
  PetscCall(PointsLaunch(p, arg, stream));
  if (p->nrest) PointsRestKernel<T><<<(p->nrest + 255) / 256, 256, 0, stream>>>(arg, p->nrest, p->rest);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::diagonal(void *plan, void *diagonal)
{
  PointsPlan<T>     *p   = (PointsPlan<T> *)plan;
  PointsArguments<T> arg = p->arg;
  PointsGeneric<T>   g   = p->generic;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  arg.alpha = 1;
  arg.y     = (T *)diagonal;
  g.team    = p->diagonal;
  PetscCall(StartSum<T>(p->size, NULL, diagonal, stream));
  if (g.cells) PointsDiagonalKernel<T><<<g.team.grid((size_t)g.cells), g.team.block(), g.team.shared, stream>>>(g, arg);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct PointsOperator<double>;
template struct PointsOperator<float>;

} // namespace patchfd
