/*
  What coarse meshes are chosen by and made of, from factors and coefficients at points (points.cuh): kernels that run in set-up, in double
  precision.  Factors are made for parts of the mesh at a time, so that they need little memory:

    f[cell][z][number][y][x]

  of the points x, y, z of a cell.
*/
#include "base/reduce.cuh"
#include "points/plan.cuh"
#include <patchfd/private/assembly.h>
#include <climits>

namespace patchfd
{

static constexpr size_t part_numbers = (size_t)1 << 25; /* of a part of the mesh, about */

static unsigned RestrictBlocks(size_t size)
{
  return (unsigned)PetscMin(size / 256 + 1, (size_t)1 << 20);
}

/* some cells of a mesh */
struct PointsCells {
  const PatchFDPoints *points;
  PatchFDRule          rule = {};
  PointsMap            map  = {};
  PointsLayout         layout;
  int                  npoint, n[3]; /* points of a cell, cells in a direction */
  PointsBad           *bad;
  PoolMemory           memory;
};

/* nodes: NULL where nobody wants factors, but the coefficients */
static PetscErrorCode PointsCellsCreate(const PatchFDPoints *points, const PatchFDBox *nodes, const PatchFDRange cells, PointsCells *p)
{
  const int     dim = (int)points->dim;
  PatchFDPoints own = *points;
  PointsNodes   box = {};
  int           c, first[3];

  PetscFunctionBegin;
  p->points = points;
  box.n     = (int)points->degree + 1;
  box.dim   = dim;
  for (int d = 0; d < 3; d++) {
    p->n[d] = box.count[d] = (int)PetscMax(0, cells[d][1] - cells[d][0]);
    first[d]               = d < dim ? (int)(cells[d][0] * points->degree) : 0;
  }
  if (nodes) box.x = PointsBox(*nodes, Range::none(), first);
  else own.given = PETSC_TRUE;
  PetscCall(PatchFDRuleCreate(points->degree, points->gauss, &p->rule));
  PetscCall(PointsMapCreate(&own, &p->rule, box, (int)points->ncells, &p->memory, &p->map));
  PetscCall(p->memory.borrow(1, &p->bad));
  c         = p->map.c;
  p->npoint = PointsPower(c, dim);
  p->layout = {c, 2, 0, 1, c * c, dim == 3 ? c : 1, (points->nkappa ? dim * (dim + 1) / 2 : 0) + (points->shift ? 1 : 0)};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsCellsDestroy(PointsCells *p)
{
  PetscFunctionBegin;
  PetscCall(PatchFDRuleDestroy(&p->rule));
  PetscCall(p->memory.free());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the factors of the cells first .. first + count - 1, and what is wrong with them */
static PetscErrorCode PointsCellsFactors(const PointsCells *p, size_t first, int count, double *factors, PointsBad *found)
{
  const PointsBad none  = {INT_MAX, INT_MAX};
  const size_t    point = first * (size_t)p->npoint;
  PointsMap       part  = p->map;
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (part.index) part.index += first * (size_t)PointsPower(part.m, part.dim);
  if (part.kappa && !part.kappaconstant) part.kappa += point * (size_t)part.nkappa;
  if (part.shift && !part.shiftconstant) part.shift += point;
  PetscCall(Stream(&stream));
  PetscCall(ToDevice(sizeof(none), &none, p->bad));
  PetscCall(PointsFactorsLaunch(part, p->layout, p->points->given, count, factors, p->bad));
  PetscCallCUDA(cudaMemcpyAsync(found, p->bad, sizeof(*found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  From fine points of direction d to coarse ones: out(g) = sum over the points x of the fine cells that a coarse one consists of, of
  length^power L_g(x) in(x), all else as it is; power: how many of the two derivatives of a number are those of direction d
*/
struct PointsPass {
  int           d, numbers, full;    /* full: those of K */
  int           fine, from;          /* cells and points of direction d that come in */
  int           cells[3], points[3]; /* that go out */
  int           power[7], base;      /* base: of `first`, at the beginning of the part */
  const int    *first;               /* [cells[d] + 1] the first fine cell of a coarse one */
  const double *length, *L;          /* [fine], [fine][points[d]][from] */
};

__device__ static size_t PointsPassPlace(const int cells[3], const int points[3], int numbers, const int cell[3], const int at[3],
                                         int number)
{
  const size_t c = ((size_t)cell[2] * cells[1] + cell[1]) * cells[0] + cell[0];

  return (((c * points[2] + at[2]) * numbers + number) * points[1] + at[1]) * points[0] + at[0];
}

/* a thread a number.  With kappa or shift the result goes there, [cell][point][full] and [cell][point] */
static __global__ void PointsPassKernel(const __grid_constant__ PointsPass p, size_t size, const double *in, double *out, double *kappa,
                                        double *shift)
{
  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < size; e += (size_t)gridDim.x * blockDim.x) {
    size_t rest = e;
    int    cells[3], points[3], cell[3], at[3], number;
    double sum = 0;

    at[0] = (int)(rest % p.points[0]);
    rest /= p.points[0];
    at[1] = (int)(rest % p.points[1]);
    rest /= p.points[1];
    number = (int)(rest % p.numbers);
    rest /= p.numbers;
    at[2] = (int)(rest % p.points[2]);
    rest /= p.points[2];
    for (int d = 0; d < 3; rest /= p.cells[d++]) {
      cell[d]   = (int)(rest % p.cells[d]);
      cells[d]  = d == p.d ? p.fine : p.cells[d];
      points[d] = d == p.d ? p.from : p.points[d];
    }
    const int g = at[p.d], coarse = cell[p.d];

    for (int f = p.first[coarse] - p.base; f < p.first[coarse + 1] - p.base; f++) {
      const double *L = p.L + ((size_t)f * p.points[p.d] + g) * p.from, length = p.length[f];
      double        part = 0;

      cell[p.d] = f;
      for (int x = 0; x < p.from; x++) {
        at[p.d] = x;
        part += L[x] * in[PointsPassPlace(cells, points, p.numbers, cell, at, number)];
      }
      sum += p.power[number] == 0 ? part : (p.power[number] == 1 ? length * part : length * length * part);
    }
    if (!kappa && !shift) out[e] = sum;
    else {
      at[p.d]            = g;
      cell[p.d]          = coarse;
      const size_t point = PointsPassPlace(p.cells, p.points, 1, cell, at, 0);

      if (number < p.full && kappa) kappa[point * p.full + number] = sum;
      if (number == p.full && shift) shift[point] = sum;
    }
  }
}

/* what the passes of all directions need; `first` stays on the host, too */
struct PointsPasses {
  PointsPass       pass[3] = {};
  std::vector<int> first[3];
};

static PetscErrorCode PointsPassesCreate(PointsCells *p, const PatchFDRange cells, const PatchFDUnion u[3], const PatchFDRange coarse,
                                         PetscInt degree, PointsPasses *all)
{
  const int   dim = p->map.dim, from = p->map.c;
  PatchFDRule rule;

  PetscFunctionBegin;
  PetscCall(PatchFDRuleCreate(degree, 2 * degree + 1, &rule));
  for (int d = 0; d < dim; d++) {
    const size_t        matrix = (size_t)(from * rule.points);
    PointsPass         &pass   = all->pass[d];
    std::vector<double> length(p->n[d]), L(p->n[d] * matrix);
    double             *v;
    int                *first, next = 0;

    pass.d       = d;
    pass.numbers = p->layout.numbers;
    pass.full    = p->map.kappa ? dim * (dim + 1) / 2 : 0;
    pass.fine    = p->n[d];
    pass.from    = from;
    PetscCall(PatchFDRestrictionLine(&u[d], cells[d][0], p->n[d], &p->rule, &rule, length.data(), L.data()));
    for (PetscInt c = coarse[d][0]; c <= coarse[d][1]; c++) all->first[d].push_back((int)(PatchFDUnionFirst(&u[d], c) - cells[d][0]));
    PetscCall(p->memory.send(all->first[d].size(), all->first[d].data(), &first));
    pass.first = first;
    PetscCall(p->memory.send(length.size(), length.data(), &v));
    pass.length = v;
    PetscCall(p->memory.send(L.size(), L.data(), &v));
    pass.L = v;
    for (int e = 0; e < 3; e++) {
      pass.cells[e]  = e <= d ? (int)PetscMax(0, coarse[e][1] - coarse[e][0]) : p->n[e];
      pass.points[e] = e >= dim ? 1 : (e <= d ? (int)rule.points : from);
    }
    for (int a = 0; a < dim && pass.full; a++)
      for (int b = a; b < dim; b++) pass.power[next++] = (a == d) + (b == d);
  }
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the coarse cells from..end - 1 of the last direction, with room in a[2] */
static PetscErrorCode PointsRestrictPart(const PointsCells *p, const PointsPasses *all, int from, int end, double *const a[2],
                                         double *kappa, double *shift)
{
  const int    last = p->map.dim - 1, base = all->first[last][from], fine = all->first[last][end] - base;
  const size_t layer  = last == 2 ? (size_t)p->n[0] * p->n[1] : (size_t)p->n[0];
  size_t       before = (size_t)from;
  PointsBad    found;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(PointsCellsFactors(p, layer * base, (int)layer * fine, a[0], &found));
  PetscCall(PointsCheckBad(p->points->dim, p->points->nkappa, (int)layer * base, found));
  for (int d = 0; d <= last; d++) {
    PointsPass pass = all->pass[d];
    size_t     size = (size_t)pass.numbers;

    pass.cells[last] = d == last ? end - from : fine;
    if (d == last) {
      pass.first += from;
      pass.base = base;
      pass.fine = fine;
      pass.length += base;
      pass.L += (size_t)base * pass.points[d] * pass.from;
    }
    for (int e = 0; e < 3; e++) size *= (size_t)pass.cells[e] * pass.points[e];
    for (int e = 0; e < 3 && d == last; e++) before *= e == last ? pass.points[e] : (size_t)pass.cells[e] * pass.points[e];
    PointsPassKernel<<<RestrictBlocks(size), 256, 0, stream>>>(pass, size, a[d % 2], a[1 - d % 2],
                                                               d == last && kappa ? kappa + before * pass.full : NULL,
                                                               d == last && shift ? shift + before : NULL);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsRestrict(const PatchFDPoints *fine, const PatchFDBox *nodes, const PatchFDRange cells, const PatchFDUnion u[3],
                              const PatchFDRange coarse, PetscInt degree, PetscReal kappa[], PetscReal shift[])
{
  const int    last = (int)fine->dim - 1, layers = (int)(coarse[last][1] - coarse[last][0]);
  PointsCells  p;
  PointsPasses all;
  size_t       layer; /* no more numbers than this belong to a coarse layer, before and after any pass */
  int          step;
  double      *a[2];

  PetscFunctionBegin;
  if (!fine->ncells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PointsCellsCreate(fine, nodes, cells, &p));
  PetscCall(PointsPassesCreate(&p, cells, u, coarse, degree, &all));
  layer = (size_t)u[last].ratio * p.n[0] * (last == 2 ? p.n[1] : 1) * p.layout.numbers *
          PointsPower(PetscMax(p.map.c, (int)(2 * degree + 1)), p.map.dim);
  step = (int)PetscMin((size_t)layers, PetscMax((size_t)1, part_numbers / layer));
  for (int i = 0; i < 2; i++) PetscCall(p.memory.borrow(step * layer, &a[i]));
  for (int c = 0; c < layers; c += step) PetscCall(PointsRestrictPart(&p, &all, c, PetscMin(c + step, layers), a, kappa, shift));
  PetscCall(PointsCellsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- contrasts ---- */

struct PointsUnions {
  int        dim, c, nkappa, fine[3], coarse[3]; /* cells in a direction */
  const int *first[3];                           /* [coarse + 1] */
};

/* sum over the points of a cell, of the trace of K with their weights */
__device__ static double PointsMeanTrace(const PointsUnions &u, const double *w, const double *k)
{
  double sum = 0;

  for (int q = 0; q < PointsPower(u.c, u.dim); q++, k += u.nkappa) {
    const double weight = w[q % u.c] * w[q / u.c % u.c] * (u.dim == 3 ? w[q / u.c / u.c] : 1);

    sum += weight * (u.nkappa == 1 ? k[0] : (u.dim == 2 ? k[0] + k[2] : k[0] + k[3] + k[5]));
  }
  return sum;
}

/* a thread a coarse cell; *largest: the bits of the largest ratio, which are in its order, since it is positive */
static __global__ void PointsContrastKernel(const __grid_constant__ PointsUnions u, const double *w, const double *kappa,
                                            unsigned long long *largest)
{
  const int    size = PointsPower(u.c, u.dim) * u.nkappa;
  const size_t n    = (size_t)u.coarse[0] * u.coarse[1] * u.coarse[2];

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < n; e += (size_t)gridDim.x * blockDim.x) {
    const int c[3] = {(int)(e % u.coarse[0]), (int)(e / u.coarse[0] % u.coarse[1]), (int)(e / u.coarse[0] / u.coarse[1])};
    double    lo = PETSC_MAX_REAL, hi = 0;

    for (int z = u.first[2][c[2]]; z < u.first[2][c[2] + 1]; z++)
      for (int y = u.first[1][c[1]]; y < u.first[1][c[1] + 1]; y++)
        for (int x = u.first[0][c[0]]; x < u.first[0][c[0] + 1]; x++) {
          const double mean = PointsMeanTrace(u, w, kappa + (((size_t)z * u.fine[1] + y) * u.fine[0] + x) * size);

          lo = fmin(lo, mean);
          hi = fmax(hi, mean);
        }
    if (hi > lo) atomicMax(largest, (unsigned long long)__double_as_longlong(hi / lo));
  }
}

PetscErrorCode PointsContrast(const PatchFDPoints *fine, const PatchFDRange cells, const PatchFDUnion u[3], const PatchFDRange coarse,
                              PetscReal *contrast)
{
  PointsCells         p;
  PointsUnions        unions = {};
  unsigned long long *largest;
  double              found;
  cudaStream_t        stream;

  PetscFunctionBegin;
  if (!fine->ncells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PointsCellsCreate(fine, NULL, cells, &p));
  unions.dim    = p.map.dim;
  unions.c      = p.map.c;
  unions.nkappa = p.map.nkappa;
  for (int d = 0; d < 3; d++) {
    std::vector<int> first;
    int             *v;

    unions.fine[d]   = p.n[d];
    unions.coarse[d] = (int)(coarse[d][1] - coarse[d][0]);
    for (PetscInt c = coarse[d][0]; c <= coarse[d][1]; c++) first.push_back((int)(PatchFDUnionFirst(&u[d], c) - cells[d][0]));
    PetscCall(p.memory.send(first.size(), first.data(), &v));
    unions.first[d] = v;
  }
  PetscCall(p.memory.borrow(1, &largest));
  PetscCall(ToDevice(sizeof(*contrast), contrast, largest));
  PointsContrastKernel<<<RestrictBlocks((size_t)unions.coarse[0] * unions.coarse[1] * unions.coarse[2]), 256, 0, stream>>>(unions, p.map.w,
                                                                                                                           p.map.kappa,
                                                                                                                           largest);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&found, largest, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *contrast = found;
  PetscCall(PointsCellsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- means ---- */

struct PointsLogs {
  int           dim, n[2];
  const double *h[3], *w; /* lengths of the cells of a direction, weights of the points of a unit cell */
};

/*
  Sums over the points of the cells `first` and so on, of w log G_d, for each direction d, and w: with G the factors without weights, by the
  coordinates of the box
*/
static __global__ void PointsLogsKernel(const __grid_constant__ PointsLogs a, const PointsLayout layout, size_t first, int cells,
                                        const double *factors, Sums<4> *partial, unsigned *ticket, Sums<4> *all)
{
  const unsigned points = PointsPower(layout.c, a.dim);
  Sums<4>        s      = Sums<4>::none();

  for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < (size_t)cells * points; e += (size_t)gridDim.x * blockDim.x) {
    const int     cell = (int)(e / points), point = (int)(e % points), c = layout.c, q[3] = {point % c, point / c % c, point / c / c};
    const size_t  number = first + cell, x[3] = {number % a.n[0], number / a.n[0] % a.n[1], number / a.n[0] / a.n[1]};
    const double *f      = factors + layout.at(cell, point);
    double        weight = 1, volume = 1;

    for (int d = 0; d < a.dim; d++) {
      weight *= a.w[q[d]];
      volume *= a.h[d][x[d]];
    }
    for (int d = 0; d < a.dim; d++) {
      const double h = a.h[d][x[d]], factor = f[(ptrdiff_t)PointsEntry(a.dim, d, d) * layout.lanes];

      s.s[d] += weight * volume * log(factor / weight * h * h / volume);
    }
    s.s[3] += weight * volume;
  }
  if (JoinGrid(s, partial, ticket)) *all = s;
}

/* the first of the bad cells of a part */
static void PointsDefect(const PointsCells *p, const PatchFDRange cells, size_t first, const PointsBad &found, PatchFDMetric *m)
{
  const bool   inverted = found.inverted < INT_MAX;
  const size_t cell     = first + (size_t)(inverted ? found.inverted : found.kappa);

  if (!inverted && found.kappa == INT_MAX) return;
  m->defect  = inverted ? PATCHFD_DEFECT_INVERTED : PATCHFD_DEFECT_KAPPA;
  m->cell[0] = cells[0][0] + (PetscInt)(cell % p->n[0]);
  m->cell[1] = cells[1][0] + (PetscInt)(cell / p->n[0] % p->n[1]);
  m->cell[2] = cells[2][0] + (PetscInt)(cell / p->n[0] / p->n[1]);
}

PetscErrorCode PointsMetric(PetscInt dim, const PatchFDFieldPoints *field, const PatchFDRange cells, const PatchFDPoints *points,
                            PatchFDMetric *m)
{
  const size_t size = (size_t)points->ncells;
  PointsCells  p;
  PointsLogs   logs = {};
  size_t       step;
  double      *factors;
  Sums<4>     *partial, sums;
  unsigned    *ticket;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(PointsCellsCreate(points, &field->shape->box, cells, &p));
  step     = PetscMin(size, PetscMax((size_t)1, part_numbers / ((size_t)p.npoint * p.layout.numbers)));
  logs.dim = (int)dim;
  for (int d = 0; d < 2; d++) logs.n[d] = p.n[d];
  for (PetscInt d = 0; d < dim; d++) {
    double *h;

    PetscCall(p.memory.send((size_t)p.n[d], field->q[d].h + cells[d][0], &h));
    logs.h[d] = h;
  }
  logs.w = p.map.w;
  PetscCall(p.memory.borrow(step * p.npoint * p.layout.numbers, &factors));
  PetscCall(p.memory.borrow(MAX_BLOCKS + 1, &partial));
  PetscCall(p.memory.borrow(1, &ticket));
  PetscCallCUDA(cudaMemsetAsync(ticket, 0, sizeof(*ticket), stream));
  for (size_t c = 0; c < size && !m->defect; c += step) {
    const int count = (int)PetscMin(step, size - c);
    PointsBad found;

    PetscCall(PointsCellsFactors(&p, c, count, factors, &found));
    PointsDefect(&p, cells, c, found, m);
    PointsLogsKernel<<<Blocks((PetscCount)count * p.npoint, 1, MAX_BLOCKS), THREADS, 0, stream>>>(logs, p.layout, c, count, factors,
                                                                                                  partial, ticket, partial + MAX_BLOCKS);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(&sums, partial + MAX_BLOCKS, sizeof(sums), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    for (PetscInt d = 0; d < dim; d++) m->log[d] += sums.s[d];
    m->weight += sums.s[3];
  }
  PetscCall(PointsCellsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
