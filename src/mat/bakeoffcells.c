/* The cells of a matrix on a DMPLEX for local solvers on closed cells (patchfd/private/cellspace.h).  Each component of a solid has a fit
   of its own, to -div(K grad u) with K = mu I + (lambda + mu) e e', and each component where nodes have Dirichlet conditions for some of
   theirs */
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/celldata.h>
#include <patchfd/private/cellspace.h>

static PetscErrorCode Describe(const CellSpace *s, PETSC_UNUSED PatchFDKernels kern, PatchFDCellsDesc *desc)
{
  const Mat_Bakeoff *m = (const Mat_Bakeoff *)s->ctx;

  PetscFunctionBegin;
  *desc = (PatchFDCellsDesc){.nside = m->sides.n, .side = m->sides.side, .mean = m->sides.mean};
  BakeoffDescribe(m, &desc->points);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetMetric(const CellSpace *s, PatchFDKernels kern, PetscInt fit, void **plan)
{
  Mat_Bakeoff        *m = (Mat_Bakeoff *)s->ctx;
  BakeoffKernels     *k;
  PatchFDPoints       points;
  PatchFDOperatorDesc desc = {.points = &points};
  PetscReal          *K;
  PetscCount          n;

  PetscFunctionBegin;
  if (!m->values.solid) {
    PetscCall(BakeoffGetKernels(m, kern, &k));
    *plan = k->plan;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  BakeoffDescribe(m, &points);
  n            = points.kappaconstant ? 1 : points.ncells * PetscPowInt(points.gauss, s->dim);
  points.solid = PETSC_FALSE;
  PetscCall(PetscMalloc1(n * s->dim * (s->dim + 1) / 2, &K));
  PatchFDHostComponentTensors(n, s->dim, fit, points.nkappa, points.kappa, K);
  points.kappa  = K;
  points.nkappa = s->dim * (s->dim + 1) / 2;
  PetscCall((*kern->operatorcreate)(&desc, plan));
  PetscCall(PetscFree(K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreMetric(const CellSpace *s, PatchFDKernels kern, void **plan)
{
  PetscFunctionBegin;
  if (((const Mat_Bakeoff *)s->ctx)->values.solid) PetscCall((*kern->operatordestroy)(plan));
  *plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToLocal(const CellSpace *s, PatchFDKernels kern, const void *global, const void **local)
{
  return MatBakeoffGlobalToLocal((Mat_Bakeoff *)s->ctx, kern, global, local);
}

static PetscErrorCode SumBegin(const CellSpace *s, PatchFDKernels kern, void *global, void **local)
{
  return MatBakeoffSumBegin((Mat_Bakeoff *)s->ctx, kern, global, local);
}

static PetscErrorCode SumEnd(const CellSpace *s, PatchFDKernels kern, void *global, void **local)
{
  return MatBakeoffSumEnd((Mat_Bakeoff *)s->ctx, kern, global, local);
}

static PetscErrorCode SumAll(const CellSpace *s, PatchFDKernels kern, void *local)
{
  Mat_Bakeoff *m = (Mat_Bakeoff *)s->ctx;

  PetscFunctionBegin;
  if (!m->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BakeoffSum(m, kern, BakeoffGhosts(m, kern, local), local));
  PetscCall(BakeoffBroadcast(m, kern, local, BakeoffGhosts(m, kern, local)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* at x, for meshes of size *ctx: waves that no mesh resolves */
static PetscErrorCode Waves(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscReal u[], void *ctx)
{
  const PetscReal wave[3] = {7919, 10007, 12553};
  PetscReal       phase   = 0;

  for (PetscInt d = 0; d < dim; d++) phase += wave[d] * x[d] / *(const PetscReal *)ctx;
  for (PetscInt c = 0; c < n; c++) u[c] = PetscSinReal(phase + (PetscReal)c);
  return PETSC_SUCCESS;
}

static PetscErrorCode Noise(const CellSpace *s, Vec v)
{
  const Mat_Bakeoff *m      = (const Mat_Bakeoff *)s->ctx;
  PetscReal          low[3] = {0}, high[3] = {0}, size = 0;
  PetscScalar       *a;
  Vec                nodes;

  PetscFunctionBegin;
  PetscCall(DMGetBoundingBox(m->dm, low, high));
  for (int d = 0; d < 3; d++) size = PetscMax(size, high[d] - low[d]);
  PetscCall(PetscCalloc1(m->nlocal, &a));
  PetscCall(PlexCellsAddValues(m->dm, &m->cells, Waves, &size, a));
  if (m->sf) {
    PetscCall(PetscSFReduceBegin(m->sf, MPIU_SCALAR, a + m->nowned, a, MPI_SUM));
    PetscCall(PetscSFReduceEnd(m->sf, MPIU_SCALAR, a + m->nowned, a, MPI_SUM));
  }
  PetscCall(VecCreateMPIWithArray(PetscObjectComm((PetscObject)v), 1, (PetscInt)m->nowned, PETSC_DETERMINE, a, &nodes));
  PetscCall(BakeoffGetUnknowns(m, nodes, v));
  PetscCall(VecDestroy(&nodes));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetCellSpace_Bakeoff(Mat A, CellSpace *space)
{
  Mat_Bakeoff *m;

  PetscFunctionBegin;
  PetscCall(MatBakeoffFind(A, &m));
  PetscCheck(m, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCPATCHFD needs the layout MAT_BAKEOFF_LAYOUT_GLOBAL of a matrix of MatCreateBakeoff()");
  *space = (CellSpace){.ctx           = m,
                       .dim           = m->cells.dim,
                       .degree        = m->cells.degree,
                       .ncomp         = m->cells.ncomp,
                       .nfit          = m->values.solid || m->cells.dirichlet ? m->cells.ncomp : 1,
                       .ncells        = m->cells.ncells,
                       .nlocal        = m->nlocal,
                       .dirichlet     = m->cells.dirichlet,
                       .describe      = Describe,
                       .getmetric     = GetMetric,
                       .restoremetric = RestoreMetric,
                       .tolocal       = ToLocal,
                       .sumbegin      = SumBegin,
                       .sumend        = SumEnd,
                       .sumall        = SumAll,
                       .noise         = Noise};
  PetscFunctionReturn(PETSC_SUCCESS);
}
