/*
  Operators by quadrature (points.cuh): plans, and the choice of kernels.
*/
#include "base/dispatch.cuh"
#include "points/plan.cuh"
#include <climits>

namespace patchfd
{

/* Measured on an H200: computing factors is faster than reading them, but for masses of degree 1 and 2 and, in single precision, for
   stiffnesses with Gauss points */
template <typename T>
static bool PointsIsComputed(const PatchFDPoints *points)
{
  if (points->factors != PATCHFD_FACTORS_AUTO) return points->factors == PATCHFD_FACTORS_COMPUTED;
  if (PatchFDPointsAreFew(points->degree, points->gauss) || points->gauss > points->degree + 2) return false;
  return points->dim == 3 && PatchFDPointsCanCompute(points) && (points->nkappa ? sizeof(T) == 8 || !points->gauss : points->degree > 2);
}

/* numbers of the nodes with what kernels want to know, and the nodes of no cell */
template <typename T>
static PetscErrorCode PointsIndex(const PatchFDPoints *points, PointsPlan<T> *p, std::vector<int> &rest)
{
  const size_t n = (size_t)p->arg.nodes.n, nodes = (size_t)PointsPower((int)n, p->arg.nodes.dim), size = (size_t)points->ncells * nodes;
  const unsigned char        owned = 4;
  std::vector<unsigned char> cells(points->nnodes, 0); /* how many have it, at most 3 */
  std::vector<unsigned>      index(size);
  unsigned                  *device;

  PetscFunctionBegin;
  PetscCheck(points->nnodes <= (PetscCount)points_node, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscCount_FMT " nodes; on GPUs there can be up to %u on a rank", points->nnodes, points_node);
  for (size_t i = 0; i < size; i++) {
    const PetscInt v = points->index[i];

    PetscCheck(v >= -1 && v < (PetscInt)points->nnodes, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Node %" PetscInt_FMT " in a cell; there are 0 to %" PetscCount_FMT ", and -1 for none", v, points->nnodes - 1);
    if (v >= 0 && cells[v] < 3) cells[v]++;
  }
  for (size_t i = 0; i < size; i++) {
    const PetscInt v = points->index[i];

    index[i] = v < 0 ? points_none : (unsigned)v | (cells[v] > 1 ? points_shared : 0) | (cells[v] & owned ? 0 : points_own);
    if (v >= 0) cells[v] |= owned;
  }
  for (size_t i = 0; i + nodes < size; i += n) {
    const size_t other = i + nodes, last = i + n - 1;

    if (points->index[last] < 0 || points->index[last] != points->index[other]) continue;
    for (const size_t j : {last, other}) {
      index[j] |= points_joined;
      if (cells[points->index[last]] == (2 | owned)) index[j] &= ~points_shared;
    }
  }
  for (PetscCount v = 0; v < points->nnodes; v++) {
    if (!cells[v]) rest.push_back((int)v);
    if (cells[v] == (1 | owned) && p->alone == (size_t)(v * points->ncomp)) p->alone += (size_t)points->ncomp;
  }
  PetscCall(p->memory.send(size, index.data(), &device));
  p->arg.nodes.index = device;
  p->size            = (size_t)(points->nnodes * points->ncomp);
  p->square          = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cells `cells` on a box of nodes */
template <typename T>
static PetscErrorCode PointsBoxCreate(const PatchFDOperatorDesc *desc, PointsPlan<T> *p, std::vector<int> &rest)
{
  const PatchFDField *f     = desc->field;
  PointsNodes        &nodes = p->arg.nodes;
  Range               rows  = f->write;
  int                 first[3];

  PetscFunctionBegin;
  PetscCheck(desc->nfield == 1 && desc->points->ncomp == 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscInt_FMT " fields with %" PetscInt_FMT " components; operators by quadrature on a box of nodes have 1 of 1",
             desc->nfield, desc->points->ncomp);
  PetscCheck(!f->x0 && !f->y0, PETSC_COMM_SELF, PETSC_ERR_SUP, "Operators by quadrature begin where their arrays begin");
  p->size   = PatchFDBoxSize(&f->ybox);
  p->square = true;
  for (int d = 0; d < 3; d++) {
    const int step = d < desc->points->dim ? (int)desc->points->degree : 0;

    first[d]       = (int)desc->cells[d][0] * step;
    nodes.count[d] = (int)PetscMax(0, desc->cells[d][1] - desc->cells[d][0]);
    rows.lo[d]     = PetscMax(rows.lo[d], first[d]);
    rows.hi[d]     = PetscMin(rows.hi[d], first[d] + nodes.count[d] * step + 1);
    p->square      = p->square && f->xbox.lo[d] == f->ybox.lo[d] && f->xbox.n[d] == f->ybox.n[d];
  }
  nodes.x     = PointsBox(f->xbox, f->read, first);
  nodes.y     = PointsBox(f->ybox, f->write, first);
  nodes.row   = PointsDivisor(PetscMax(1, nodes.count[0]));
  nodes.plane = PointsDivisor(PetscMax(1, nodes.count[0] * nodes.count[1]));
  PetscCheck(PatchFDBoxSize(&f->xbox) <= UINT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%zu nodes; on GPUs an operator by quadrature has up to %u on a rank", PatchFDBoxSize(&f->xbox), UINT_MAX);
  if (p->size > INT_MAX || !p->square) p->square = false;
  if (!p->square) PetscFunctionReturn(PETSC_SUCCESS); /* no sweeps */
  PointsRest(f->ybox, rows, rest);
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
  nodes.ncomp = (unsigned)points->ncomp;
  if (points->nodes == PATCHFD_NODES_BOX) {
    PetscCall(PointsBoxCreate(desc, p, rest));
    cells = (PetscCount)nodes.count[0] * nodes.count[1] * nodes.count[2];
  } else if (points->nodes == PATCHFD_NODES_INDEX && (points->index || !cells)) PetscCall(PointsIndex(points, p, rest));
  else if (points->nodes == PATCHFD_NODES_INDEX) p->size = (size_t)points->nnodes; /* whoever makes the plan numbers them */
  else {
    p->square = true;
    p->size = p->alone = (size_t)(cells * points->ncomp) * (size_t)PointsPower(nodes.n, nodes.dim);
  }
  PetscCheck(cells < INT_MAX / 8, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " cells; on GPUs there can be up to %d on a rank",
             cells, (int)(INT_MAX / 8));
  PetscCheck(p->size <= UINT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%zu numbers in a vector; on GPUs an operator by quadrature has up to %u on a rank", p->size, UINT_MAX);
  p->arg.cells = (int)cells;
  p->nrest     = (int)rest.size();
  PetscCall(p->memory.send(rest.size(), rest.data(), &p->rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where the nodes of the cells are: on the device, or, without numbers (patchfd/private/boximpl.h), already there, on the box of nodes */
static PetscErrorCode PointsCoordinates(const PatchFDPoints *points, const PointsNodes &nodes, int cells, PoolMemory *setup, PointsMap *map)
{
  const size_t size     = (size_t)cells * (size_t)PointsPower(map->m, map->dim);
  PetscInt     vertices = 0;
  double      *x;
  int         *index;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (points->geoindex) {
    for (size_t i = 0; i < size; i++) vertices = PetscMax(vertices, points->geoindex[i] + 1);
    PetscCall(setup->send((size_t)(vertices * points->dim), points->coordinate, &x));
    PetscCall(setup->send(size, points->geoindex, &index));
    map->coordinate = x;
  } else {
    PetscCall(Stream(&stream));
    PetscCall(setup->borrow(size, &index));
    if (size)
      PointsBoxIndexKernel<<<(unsigned)PetscMin(size / 256 + 1, (size_t)1 << 20), 256, 0, stream>>>(nodes, cells, map->m,
                                                                                                    (int)(points->degree /
                                                                                                          points->geodegree),
                                                                                                    index);
    PetscCallCUDA(cudaGetLastError());
    map->coordinate = points->coordinate;
  }
  map->index = index;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n numbers at each of `count` points, or everywhere; these are on the host in any case */
static PetscErrorCode PointsCoefficient(const PatchFDPoints *points, size_t n, size_t count, bool constant, const PetscReal *from,
                                        PoolMemory *setup, const double **to)
{
  double *a;

  PetscFunctionBegin;
  *to = from;
  if (!from || (!constant && !points->geoindex)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(setup->send(n * (constant ? 1 : count), from, &a));
  *to = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsMapCreate(const PatchFDPoints *points, const PatchFDRule *rule, const PointsNodes &nodes, int cells, PoolMemory *setup,
                               PointsMap *map)
{
  const size_t m = (size_t)points->geodegree + 1, c = (size_t)rule->points,
               all = (size_t)cells * (size_t)PointsPower((int)c, (int)points->dim);
  std::vector<PetscReal> B(c * m), D(c * m);
  double                *a[3];

  PetscFunctionBegin;
  map->dim           = (int)points->dim;
  map->c             = (int)c;
  map->m             = (int)m;
  map->nkappa        = (int)points->nkappa;
  map->kappaconstant = points->kappaconstant;
  map->shiftconstant = points->shiftconstant;
  PetscCall(PatchFDBasis(points->geodegree, rule->points, rule->x, B.data(), D.data(), NULL));
  PetscCall(setup->send(c * m, B.data(), &a[0]));
  PetscCall(setup->send(c * m, D.data(), &a[1]));
  PetscCall(setup->send(c, rule->w, &a[2]));
  map->B = a[0];
  map->D = a[1];
  map->w = a[2];
  if (!points->given) PetscCall(PointsCoordinates(points, nodes, cells, setup, map));
  PetscCall(PointsCoefficient(points, (size_t)points->nkappa, all, points->kappaconstant, points->nkappa ? points->kappa : NULL, setup,
                              &map->kappa));
  PetscCall(PointsCoefficient(points, 1, all, points->shiftconstant, points->shift, setup, &map->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the kernel computes factors from */
template <typename T>
static PetscErrorCode PointsGeometryCreate(int blocks, PointsPlan<T> *p, cudaStream_t stream)
{
  const int    cells = p->arg.cells;
  const bool   mass  = p->fast.geometry == points_determinant;
  const size_t size  = (size_t)cells * points_geometry;
  double      *map;
  T           *numbers;

  PetscFunctionBegin;
  PetscCall(p->memory.borrow((size_t)cells * p->fast.geometry, &numbers));
  if (mass) {
    PetscCall(p->setup.borrow(size, &map));
    PointsGeometryKernel<double><<<blocks, 128, 0, stream>>>(p->generic.map, cells, map);
    PointsDeterminantKernel<T><<<blocks, 128, 0, stream>>>(cells, (double)p->arg.s, map, numbers);
  } else PointsGeometryKernel<T><<<blocks, 128, 0, stream>>>(p->generic.map, cells, numbers);
  PetscCallCUDA(cudaGetLastError());
  p->arg.factors = numbers;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PointsCheckBad(PetscInt dim, PetscInt nkappa, int first, const PointsBad &found)
{
  PetscFunctionBegin;
  PetscCheck(found.inverted == INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Cell %d is inverted or degenerate: the determinant of its map from the unit %s has to be positive at all of its points",
             first + found.inverted, dim == 3 ? "cube" : "square");
  PetscCheck(found.kappa == INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "The coefficient of the stiffness in cell %d has to be positive%s", first + found.kappa, nkappa == 1 ? "" : " definite");
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsFactorsLaunch(const PointsMap &map, const PointsLayout &layout, bool given, int cells, T *factors, PointsBad *bad)
{
  const int    points = PointsPower(map.c, map.dim), blocks = (int)PetscMin((size_t)cells * points / 128 + 1, (size_t)1 << 20);
  const size_t cubes = (size_t)PointsCubes(map.c, map.m).size * sizeof(double);
  const int    team  = points <= 64 ? 32 : (points <= 256 ? 64 : 128),
            teams    = PetscMax(1, PetscMin(256 / team, 48 * 1024 / PetscMax(1, (int)cubes))),
            grid     = PetscMin((cells + teams - 1) / teams, 1 << 20);
  bool         fits;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  PetscCall(SharedFits(PointsCubeFactorsKernel<T>, teams * cubes, &fits));
  if (given) PointsGivenKernel<T><<<blocks, 128, 0, stream>>>(map, layout, cells, factors);
  else if (map.dim == 3 && fits) {
    PetscCall(AllowShared(PointsCubeFactorsKernel<T>, teams * cubes));
    PointsCubeFactorsKernel<T><<<grid, dim3(team, teams), teams * cubes, stream>>>(map, layout, cells, factors, bad);
  } else if (map.dim == 3) PointsFactorsKernel<T, 3><<<blocks, 128, 0, stream>>>(map, layout, cells, factors, bad);
  else PointsFactorsKernel<T, 2><<<blocks, 128, 0, stream>>>(map, layout, cells, factors, bad);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode PointsFactorsLaunch(const PointsMap &, const PointsLayout &, bool, int, double *, PointsBad *);

/* factors, or maps for computing them; all cells are checked */
template <typename T>
static PetscErrorCode PointsFactorsCreate(const PatchFDPoints *points, bool computed, PointsPlan<T> *p)
{
  const int       cells = p->arg.cells, blocks = (int)PetscMin((size_t)cells * p->generic.size / 128 + 1, (size_t)1 << 20);
  const PointsBad none = {INT_MAX, INT_MAX};
  PointsBad       found, *bad;
  T              *factors = NULL;
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!cells) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Stream(&stream));
  PetscCall(p->setup.send(1, &none, &bad));
  if (!computed) PetscCall(p->memory.borrow(p->generic.layout.size((size_t)cells), &factors));
  PetscCall(PointsFactorsLaunch(p->generic.map, p->generic.layout, points->given, cells, factors, bad));
  p->generic.factors = p->arg.factors = factors;
  if (computed && p->fast.kernel) PetscCall(PointsGeometryCreate(blocks, p, stream));
  PetscCallCUDA(cudaMemcpyAsync(&found, bad, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PointsCheckBad(points->dim, points->nkappa, 0, found));
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
  for (int i = 0; i < c * n; i++) product[i] = rule->B[i] * (p->fast.geometry == points_determinant ? PetscSqrtReal(rule->w[i / n]) : 1);
  arg.B.set(c, n, false, product.data());
  arg.C.set(c, c, true, rule->C);
  for (int i = 0; i < c; i++) {
    arg.point[i]  = (T)rule->x[i];
    arg.weight[i] = (T)rule->w[i];
  }
  PetscCall(p->memory.send((size_t)(c * n), rule->B, &a));
  g.B = a;
  PetscCall(p->memory.send((size_t)(c * c), rule->C, &a));
  g.C = a;
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < c * n; i++) product[i] = (d > 0 ? rule->D : rule->B)[i] * (d > 1 ? rule->D : rule->B)[i];
    PetscCall(p->memory.send(product.size(), product.data(), &a));
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
    if (!points->gauss) PetscCall((PointsFind<T, POINTS_COLLOCATED>(points->degree, (int)points->nodes, computed, &p->fast)));
    else if (PatchFDPointsAreFew(points->degree, points->gauss))
      PetscCall((PointsFind<T, POINTS_FEW>(points->degree, (int)points->nodes, false, &p->fast)));
    else if (points->gauss > points->degree + 2)
      PetscCall((PointsFind<T, POINTS_MANY>(points->degree, (int)points->nodes, false, &p->fast)));
    else if (points->nkappa) PetscCall((PointsFind<T, POINTS_GAUSS>(points->degree, (int)points->nodes, computed, &p->fast)));
    else PetscCall((PointsFind<T, POINTS_MASS>(points->degree, (int)points->nodes, computed, &p->fast)));
    g.layout = p->fast.layout;
  } else g.layout = {g.c, 2, 0, 1, g.c * g.c, 1, 0};
  if (!p->fast.kernel) {
    PetscCall(g.team.create((int)cube, (size_t)(2 + g.dim) * cube, &p->memory));
    PetscCall(AllowShared(PointsGenericKernel<T>, g.team.shared));
  }
  g.layout.numbers = p->arg.numbers = (points->nkappa ? g.dim * (g.dim + 1) / 2 : 0) + (points->shift ? 1 : 0);
  g.size                            = cube;
  PetscCall(p->diagonal.create((int)cube, PointsDiagonalSize(g), &p->memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as Swirydowicz, Chalmers, Karakus and Warburton count, sums along whole lines */
static PetscLogDouble PointsFlops(const PatchFDPoints *points, int n, int c)
{
  const PetscLogDouble N = n, C = c, third = points->dim == 3 ? C : 1;
  PetscLogDouble       flops = 0;

  if (points->nkappa) flops += (points->dim == 3 ? 12 * C + 15 : 8 * C + 6) * third * C * C;
  if (points->shift) flops += (points->nkappa ? 2 : 1) * third * C * C;
  if (points->gauss) flops += 4 * (points->dim == 3 ? C * N * N * N + C * C * N * N + C * C * C * N : C * N * N + C * C * N);
  return flops;
}

template <typename T>
PetscErrorCode PointsPlanBegin(const PatchFDOperatorDesc *desc, const PatchFDRule *rule, bool computed, PointsPlan<T> *p)
{
  const PatchFDPoints *points = desc->points;
  PointsArguments<T>  &arg    = p->arg;
  PointsGeneric<T>    &g      = p->generic;

  PetscFunctionBegin;
  PetscCall(PointsNodesCreate(desc, p));
  arg.stiff = g.stiff = points->nkappa > 0;
  arg.shift = g.shift = points->shift != NULL;
  arg.tensor          = points->nkappa > 1;
  for (PetscInt i = 0; i < points->nkappa && computed; i++) arg.K[i] = (T)points->kappa[i];
  if (arg.shift && computed) arg.s = (T)points->shift[0];
  g.gauss = points->gauss > 0;
  g.n     = (int)rule->nodes;
  g.c     = (int)rule->points;
  g.dim   = (int)points->dim;
  g.cells = arg.cells;
  g.ncomp = (int)points->ncomp;
  PetscCall(p->memory.borrow(points_sums, &arg.sums));
  PetscCall(PointsChoose(points, computed, p));
  PetscCall(PointsMatrices(rule, p));
  p->flops = PointsFlops(points, g.n, g.c) * arg.cells * g.ncomp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode PointsPlanBegin(const PatchFDOperatorDesc *, const PatchFDRule *, bool, PointsPlan<double> *);
template PetscErrorCode PointsPlanBegin(const PatchFDOperatorDesc *, const PatchFDRule *, bool, PointsPlan<float> *);

template <typename T>
static PetscErrorCode PointsPlanCreate(const PatchFDOperatorDesc *desc, const PatchFDRule *rule, PointsPlan<T> *p)
{
  const bool computed = PointsIsComputed<T>(desc->points);

  PetscFunctionBegin;
  PetscCall(PointsPlanBegin(desc, rule, computed, p));
  PetscCall(PointsMapCreate(desc->points, rule, p->arg.nodes, p->arg.cells, &p->setup, &p->generic.map));
  PetscCall(PointsFactorsCreate(desc->points, computed, p));
  PetscCall(PointsSidesCreate(desc->points, p->generic, &p->memory, &p->sides));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::create(const PatchFDOperatorDesc *desc, void **plan)
{
  PointsPlan<T> *p = new PointsPlan<T>;
  PatchFDRule    rule;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *plan = p;
  PetscCall(PatchFDPointsCheck(desc->points));
  PetscCheck(desc->points->dim == 2 || !PatchFDPointsAreFew(desc->points->degree, desc->points->gauss) ||
               desc->points->factors != PATCHFD_FACTORS_COMPUTED,
             PETSC_COMM_SELF, PETSC_ERR_SUP, "Factors are stored on GPUs where there are degree + 1 Gauss points");
  PetscCall(PatchFDRuleCreate(desc->points->degree, desc->points->gauss, &rule));
  ierr = PointsPlanCreate(desc, &rule, p);
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
const PointsGeneric<T> &PointsOperator<T>::generic(void *plan)
{
  return ((PointsPlan<T> *)plan)->generic;
}

template <typename T>
const PointsSides<T> &PointsOperator<T>::sides(void *plan)
{
  return ((PointsPlan<T> *)plan)->sides;
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
  if (p->fast.kernel)
    p->fast.kernel<<<(unsigned)PetscMin((arg.cells + p->fast.cells - 1) / p->fast.cells, p->fast.blocks), p->fast.threads, p->fast.shared,
                     stream>>>(arg);
  else
    PointsGenericKernel<T>
      <<<p->generic.team.grid((size_t)arg.cells * arg.nodes.ncomp), p->generic.team.block(), p->generic.team.shared, stream>>>(p->generic,
                                                                                                                               arg);
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
  PetscCall(StartSum<T>(p->size - p->alone, y0 ? (const T *)y0 + p->alone : NULL, (T *)y + p->alone, stream)); /* where sums go to */
  PetscCall(PointsLaunch(p, arg, stream));
  PetscCall(PointsSidesApply<false>(p->generic, arg, p->sides, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode PointsOperator<T>::sweep(void *plan, const void *d, const void *r, const void *q, void *dir, void *w, PatchFDSweep *sweep)
{
  PointsPlan<T>     *p   = (PointsPlan<T> *)plan;
  PointsArguments<T> arg = p->arg, product;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCheck(p->square && !p->sides.count, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "A sweep of conjugate gradients wants the same box for what is read and what is written, and no conditions on sides");
  PetscCall(Stream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCallCUDA(cudaMemsetAsync(arg.sums, 0, points_sums * sizeof(*arg.sums), stream));
  arg.alpha = 1;
  arg.d     = (const T *)d;
  arg.x     = (const T *)r;
  arg.q     = (const T *)q;
  arg.p     = (T *)dir;
  arg.y     = (T *)w;
  arg.sweep = sweep;
  product   = arg;
  if (p->fast.direction) PetscCall(StartSum<T>(p->size - p->alone, NULL, arg.y + p->alone, stream));
  else {
    product.x = arg.p;
    if (p->size) PointsDirectionKernel<T><<<(unsigned)((p->size + 255) / 256), 256, 0, stream>>>(arg, p->size, p->alone);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(PointsLaunch(p, product, stream));
  if (p->nrest) PointsRestKernel<T><<<(p->nrest + 255) / 256, 256, 0, stream>>>(arg, p->nrest, p->rest);
  PointsTotalKernel<<<1, 1024, 0, stream>>>(arg.sums, sweep);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static constexpr int points_diagonal_cubes = 8; /* degrees of kernels that know the sizes of cubes */

template <typename T, int CUBE, int EXTRA>
static PetscErrorCode PointsDiagonalLaunch(const PointsGeneric<T> &g, const PointsArguments<T> &arg, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AllowShared(PointsDiagonalKernel<T, CUBE, EXTRA>, g.team.shared));
  if (g.cells) PointsDiagonalKernel<T, CUBE, EXTRA><<<g.team.grid((size_t)g.cells), g.team.block(), g.team.shared, stream>>>(g, arg);
  PetscCallCUDA(cudaGetLastError());
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
  if (g.dim == 3 && g.n <= points_diagonal_cubes + 1 && g.c - g.n <= 1) {
    PetscCall((ForDegree<1, points_diagonal_cubes>(g.n - 1, [&](auto k) {
      constexpr int n = decltype(k)::value + 1;

      return g.c == n ? PointsDiagonalLaunch<T, n, 0>(g, arg, stream) : PointsDiagonalLaunch<T, n, 1>(g, arg, stream);
    })));
  } else PetscCall((PointsDiagonalLaunch<T, 0, 0>(g, arg, stream)));
  PetscCall(PointsSidesApply<true>(g, arg, p->sides, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct PointsOperator<double>;
template struct PointsOperator<float>;

} // namespace patchfd
