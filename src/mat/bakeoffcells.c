/* The cells of a matrix on a DMPLEX for local solvers on closed cells (patchfd/private/cellspace.h) */
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/cellspace.h>

static PetscErrorCode GetPoints(const CellSpace *s, PatchFDPoints *p)
{
  PetscFunctionBegin;
  BakeoffDescribe((const Mat_Bakeoff *)s->ctx, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestorePoints(PETSC_UNUSED const CellSpace *s, PETSC_UNUSED PatchFDPoints *p)
{
  return PETSC_SUCCESS;
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

static PetscErrorCode SumAll(const CellSpace *s, PetscReal local[])
{
  Mat_Bakeoff         *m    = (Mat_Bakeoff *)s->ctx;
  const PatchFDKernels host = &PatchFDKernelsHostDouble;
  const size_t         n    = (size_t)m->cells.ncomp;
  PetscReal           *all;

  PetscFunctionBegin;
  if (!m->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(m->nlocal, &all));
  for (size_t i = 0; i < m->nlocal; i += n) all[i] = local[i / n];
  PetscCall(BakeoffSum(m, host, BakeoffGhosts(m, host, all), all));
  PetscCall(BakeoffBroadcast(m, host, all, BakeoffGhosts(m, host, all)));
  for (size_t i = 0; i < m->nlocal; i += n) local[i / n] = all[i];
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ranks that own nodes of which they have no cells have zeros there */
static PetscErrorCode Noise(const CellSpace *s, Vec v)
{
  const Mat_Bakeoff *m      = (const Mat_Bakeoff *)s->ctx;
  PetscReal          low[3] = {0}, high[3] = {0}, size = 0;
  PetscInt           n, N;
  PetscScalar       *a;
  Vec                u;

  PetscFunctionBegin;
  PetscCall(DMGetBoundingBox(m->dm, low, high));
  for (int d = 0; d < 3; d++) size = PetscMax(size, high[d] - low[d]);
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetSize(v, &N));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)v), n, N, &u));
  PetscCall(VecGetArray(u, &a));
  PetscCall(PlexCellsInterpolate(m->dm, &m->cells, PatchFDNoise, &size, a));
  PetscCall(VecRestoreArray(u, &a));
  PetscCall(VecSingleConvert(u, 1, v));
  PetscCall(VecDestroy(&u));
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
                       .sides         = &m->sides,
                       .cells         = &m->cells,
                       .nlocal        = m->nlocal,
                       .getpoints     = GetPoints,
                       .restorepoints = RestorePoints,
                       .tolocal       = ToLocal,
                       .sumbegin      = SumBegin,
                       .sumend        = SumEnd,
                       .sumall        = SumAll,
                       .noise         = Noise};
  PetscFunctionReturn(PETSC_SUCCESS);
}
