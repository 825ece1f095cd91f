/* Points of the cells of a DMPLEX: places, and fields from PETSc's own tabulations and closures */
#include <patchfd/private/plexpoints.h>
#include <petscblaslapack.h>
#include <petscds.h>

static PetscErrorCode FieldCreate(PetscFE fe, const PlexPoints *p, PlexField *f)
{
  PetscFunctionBegin;
  f->copies = 1;
  PetscCall(PetscFEGetDimension(fe, &f->nb));
  PetscCall(PetscFEGetNumComponents(fe, &f->nc));
  PetscCall(PetscFECreateTabulation(fe, 1, p->npoint, p->point, 1, &f->tabulation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's own tabulations of high degrees take longer than all that is done with them */
static PetscErrorCode FieldCreateLagrange(PetscInt degree, PetscInt ncomp, const PlexPoints *p, PlexField *f)
{
  const PetscInt n = degree + 1, dim = p->dim, size = n * p->rule.points;
  PetscReal     *B, *D;

  PetscFunctionBegin;
  *f = (PlexField){.nb = PetscPowInt(n, dim), .nc = 1, .copies = ncomp, .npoint = p->npoint};
  PetscCall(PetscMalloc2(dim * size, &B, dim * size, &D)); /* [direction][point][node] */
  for (PetscInt d = 0; d < dim; d++) PetscCall(PatchFDBasis(degree, p->c[d], p->x[d], B + d * size, D + d * size, NULL));
  PetscCall(PetscMalloc2((1 + dim) * p->npoint * f->nb, &f->M, (1 + dim) * p->npoint * ncomp, &f->at));
  for (PetscInt i = 0; i < (1 + dim) * p->npoint * f->nb; i++) {
    const PetscInt d = i / f->nb / p->npoint - 1, q = i / f->nb % p->npoint, b = i % f->nb;
    const PetscInt at[3] = {q % p->c[0] * n + b % n, size + q / p->c[0] % p->c[1] * n + b / n % n,
                            2 * size + q / p->c[0] / p->c[1] * n + b / n / n};

    f->M[i] = d < 0 ? 1 : 0.5; /* the reference cell is [-1, 1]^dim */
    for (PetscInt e = 0; e < dim; e++) f->M[i] *= e == d ? D[at[e]] : B[at[e]];
  }
  PetscCall(PetscFree2(B, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FieldDestroy(PlexField *f)
{
  PetscFunctionBegin;
  PetscCall(PetscTabulationDestroy(&f->tabulation));
  PetscCall(PetscFree2(f->M, f->at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all points of a Lagrange space, from the numbers of the nodes of a cell */
static PetscErrorCode FieldEvaluate(PlexField *f, PetscInt dim, const PetscScalar node[])
{
  const PetscScalar  one = 1, zero = 0;
  const PetscBLASInt step = 1;
  PetscBLASInt       rows, nb, copies;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast((1 + dim) * f->npoint, &rows));
  PetscCall(PetscBLASIntCast(f->nb, &nb));
  PetscCall(PetscBLASIntCast(f->copies, &copies));
  if (copies == 1) PetscCallBLAS("BLASgemv", BLASgemv_("T", &nb, &rows, &one, f->M, &nb, node, &step, &zero, f->at, &step));
  else PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &copies, &rows, &nb, &one, node, &copies, f->M, &nb, &zero, f->at, &copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* values u[components] and derivatives du[components][dim] at a point: those evaluated, or from a closure */
static void FieldAt(const PlexField *f, PetscInt dim, PetscInt q, const PetscScalar closure[], PetscScalar u[], PetscScalar du[])
{
  for (PetscInt c = 0; c < f->nc * f->copies; c++) {
    PetscScalar sum[4] = {0};

    for (PetscInt d = 0; d <= dim && f->at; d++) sum[d] = f->at[(d * f->npoint + q) * f->copies + c];
    for (PetscInt b = 0; b < f->nb && !f->at; b++) {
      const PetscInt at = (q * f->nb + b) * f->nc + c;

      sum[0] += f->tabulation->T[0][at] * closure[b];
      for (PetscInt d = 0; d < dim; d++) sum[1 + d] += f->tabulation->T[1][at * dim + d] * closure[b];
    }
    u[c] = sum[0];
    for (PetscInt d = 0; d < dim; d++) du[c * dim + d] = sum[1 + d];
  }
}

/* derivatives in space from those in the reference cell, where invJ = d(reference) / dx */
static void FieldTurn(PetscInt nc, PetscInt dim, const PetscReal invJ[3][3], PetscScalar du[])
{
  for (PetscInt c = 0; c < nc; c++) {
    PetscScalar r[3];

    for (PetscInt d = 0; d < dim; d++) r[d] = du[c * dim + d];
    for (PetscInt d = 0; d < dim; d++) {
      du[c * dim + d] = 0;
      for (PetscInt e = 0; e < dim; e++) du[c * dim + d] += invJ[e][d] * r[e];
    }
  }
}

PetscErrorCode PlexPointsGoTo(const PlexCells *cells, PetscCount i, PlexPoints *p)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < p->geometry.nb; j++)
    for (PetscInt d = 0; d < p->dim; d++)
      p->place[j * p->dim + d] = cells->coordinate[(size_t)cells->geoindex[i * p->geometry.nb + j] * p->dim + d];
  PetscCall(FieldEvaluate(&p->geometry, p->dim, p->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PlexPointsPlace(const PlexPoints *p, PetscInt q, PetscReal x[3], PetscReal invJ[3][3])
{
  PetscScalar u[3], du[9];
  PetscReal   J[3][3] = {{0}}, det = 0;

  FieldAt(&p->geometry, p->dim, q, NULL, u, du);
  for (PetscInt a = 0; a < p->dim; a++) x[a] = PetscRealPart(u[a]);
  if (!invJ) return;
  for (PetscInt a = 0; a < p->dim; a++)
    for (PetscInt b = 0; b < p->dim; b++) J[a][b] = PetscRealPart(du[a * p->dim + b]);
  if (p->dim == 2) J[2][2] = 1;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      invJ[b][a] = J[(a + 1) % 3][(b + 1) % 3] * J[(a + 2) % 3][(b + 2) % 3] - J[(a + 1) % 3][(b + 2) % 3] * J[(a + 2) % 3][(b + 1) % 3];
  for (int b = 0; b < 3; b++) det += J[0][b] * invJ[b][0];
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) invJ[a][b] /= det;
}

/* ---- what all cells have in common ---- */

static PetscErrorCode CreateAux(DM dm, PlexPoints *p)
{
  PetscDS  ds;
  PetscInt total;

  PetscFunctionBegin;
  PetscCall(DMGetAuxiliaryVec(dm, NULL, 0, 0, &p->auxvec));
  if (!p->auxvec) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetDM(p->auxvec, &p->dmaux));
  PetscCall(DMGetDS(p->dmaux, &ds));
  PetscCall(PetscDSGetNumFields(ds, &p->naux));
  PetscCall(PetscDSGetTotalComponents(ds, &total));
  PetscCall(PetscDSGetComponentOffsets(ds, &p->aoff));
  PetscCall(PetscDSGetComponentDerivativeOffsets(ds, &p->aoffx));
  PetscCall(PetscCalloc3(p->naux, &p->aux, total, &p->a, total * p->dim, &p->ax));
  for (PetscInt f = 0; f < p->naux; f++) {
    PetscObject  fe;
    PetscClassId id;

    PetscCall(PetscDSGetDiscretization(ds, f, &fe));
    PetscCall(PetscObjectGetClassId(fe, &id));
    PetscCheck(id == PETSCFE_CLASSID, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
               "Auxiliary field %" PetscInt_FMT " of the DMPLEX is no PetscFE", f);
    PetscCall(FieldCreate((PetscFE)fe, p, &p->aux[f]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolution(DM dm, PlexPoints *p)
{
  PetscSection section;
  PetscObject  fe;
  PetscInt     degree, nc;

  PetscFunctionBegin;
  PetscCall(DMGetLocalSection(dm, &section));
  PetscCall(PlexCellsCreateSection(dm, section, &p->section));
  PetscCall(DMGetField(dm, 0, NULL, &fe));
  PetscCall(PlexCellsGetTensorDegree((PetscFE)fe, "field", &degree, &nc));
  PetscCall(FieldCreateLagrange(degree, nc, p, &p->solution));
  PetscCall(PetscCalloc2(nc * (1 + p->dim), &p->u, nc, &p->zero));
  PetscCall(CreateAux(dm, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointsCreate(const PlexCoefficients *c, const PlexCells *cells, PetscInt gauss, PetscInt side, PlexPoints *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(PatchFDRuleCreate(cells->degree, gauss, &p->rule));
  p->dim    = cells->dim;
  p->end    = side % 2;
  p->npoint = 1;
  for (PetscInt d = 0; d < 3; d++) {
    const PetscBool all = (PetscBool)(d < p->dim && (side < 0 || d != side / 2));

    p->c[d] = all ? p->rule.points : 1;
    p->x[d] = all ? p->rule.x : &p->end;
    p->npoint *= p->c[d];
  }
  PetscCall(PetscMalloc1(p->npoint * p->dim, &p->point));
  for (PetscInt q = 0; q < p->npoint; q++) {
    const PetscInt at[3] = {q % p->c[0], q / p->c[0] % p->c[1], q / p->c[0] / p->c[1]};

    for (PetscInt d = 0; d < p->dim; d++) p->point[q * p->dim + d] = 2 * p->x[d][at[d]] - 1;
  }
  PetscCall(FieldCreateLagrange(cells->geodegree, p->dim, p, &p->geometry));
  PetscCall(PetscMalloc1(p->geometry.nb * p->dim, &p->place));
  if (!c->n) PetscCall(CreateSolution(c->dm, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointsDestroy(PlexPoints *p)
{
  PetscFunctionBegin;
  for (PetscInt f = 0; f < p->naux; f++) PetscCall(FieldDestroy(&p->aux[f]));
  PetscCall(PetscFree3(p->aux, p->a, p->ax));
  PetscCall(PetscFree2(p->u, p->zero));
  PetscCall(FieldDestroy(&p->solution));
  PetscCall(FieldDestroy(&p->geometry));
  PetscCall(PetscSectionDestroy(&p->section));
  PetscCall(PetscFree(p->place));
  PetscCall(PetscFree(p->point));
  PetscCall(PatchFDRuleDestroy(&p->rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- fields of a cell ---- */

PetscErrorCode PlexPointsGetFields(const PlexCoefficients *c, const PlexCells *cells, PetscCount i, PlexPoints *p)
{
  const PetscInt  cell = cells->cell[i];
  PetscScalar    *u    = NULL;
  DMEnclosureType enclosure;

  PetscFunctionBegin;
  PetscCall(DMPlexVecGetClosure(c->dm, p->section, c->local, cell, NULL, &u));
  PetscCall(FieldEvaluate(&p->solution, p->dim, u));
  PetscCall(DMPlexVecRestoreClosure(c->dm, p->section, c->local, cell, NULL, &u));
  if (!p->naux) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetEnclosureRelation(p->dmaux, c->dm, &enclosure));
  PetscCall(DMGetEnclosurePoint(p->dmaux, c->dm, enclosure, cell, &p->auxcell));
  PetscCall(DMPlexVecGetClosure(p->dmaux, NULL, p->auxvec, p->auxcell, NULL, &p->closure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointsRestoreFields(PlexPoints *p)
{
  PetscFunctionBegin;
  if (p->naux) PetscCall(DMPlexVecRestoreClosure(p->dmaux, NULL, p->auxvec, p->auxcell, NULL, &p->closure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PlexPointsEvaluate(PlexPoints *p, PetscInt q, PetscReal x[3], PetscReal invJ[3][3])
{
  const PetscInt     nc      = p->solution.copies;
  const PetscScalar *closure = p->closure;

  PlexPointsPlace(p, q, x, invJ);
  FieldAt(&p->solution, p->dim, q, NULL, p->u, p->u + nc);
  FieldTurn(nc, p->dim, (const PetscReal(*)[3])invJ, p->u + nc);
  for (PetscInt f = 0; f < p->naux; f++) {
    const PlexField *aux = &p->aux[f];

    FieldAt(aux, p->dim, q, closure, p->a + p->aoff[f], p->ax + p->aoffx[f]);
    FieldTurn(aux->nc, p->dim, (const PetscReal(*)[3])invJ, p->ax + p->aoffx[f]);
    closure += aux->nb;
  }
}
