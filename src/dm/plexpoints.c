/*
  Coefficients at the points of the cells of a DMPLEX: numbers, functions of the user's, or the pointwise functions of the Jacobian of its
  PetscDS, with the fields that they ask for from PETSc's own tabulations and closures.
*/
#include <patchfd/private/compat.h>
#include <patchfd/private/fe.h>
#include <patchfd/private/plexcells.h>
#include <petscblaslapack.h>
#include <petscds.h>
#include <petscfe.h>

enum {
  MAX_COMPONENTS = 3
};

typedef void PointJacobian(PetscInt, PetscInt, PetscInt, const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                           const PetscScalar[], const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                           const PetscScalar[], PetscReal, PetscReal, const PetscReal[], PetscInt, const PetscScalar[], PetscScalar[]);

/*
  A field at the points of a cell, with derivatives in PETSc's reference cell.  Of a PetscFE there are PETSc's tabulations, in the order of
  its closures.  A Lagrange space has `copies` of tensor products, x fastest, one component after another at each node: the matrix
  M[1 + dim][point][node] of values and derivatives, and what it makes of the nodes of a cell, at[1 + dim][point][copies].
*/
typedef struct {
  PetscTabulation tabulation;
  PetscInt        nb, nc, copies, npoint;
  PetscReal      *M;
  PetscScalar    *at;
} Field;

/* what all cells have in common */
typedef struct {
  PetscInt     dim, npoint, naux;
  PetscReal   *point; /* [npoint][dim] in PETSc's reference cell */
  Field        geometry, solution, *aux;
  PetscScalar *place; /* of the nodes of a cell's geometry */
  PetscSection section;
  DM           dmaux;
  Vec          auxvec;
  PetscInt    *aoff, *aoffx;
  PetscScalar *u, *zero, *a, *ax; /* at a point: of the solution Nc values, then derivatives; of the auxiliary fields */
} Points;

static PetscErrorCode FieldCreate(PetscFE fe, const Points *p, Field *f)
{
  PetscFunctionBegin;
  f->copies = 1;
  PetscCall(PetscFEGetDimension(fe, &f->nb));
  PetscCall(PetscFEGetNumComponents(fe, &f->nc));
  PetscCall(PetscFECreateTabulation(fe, 1, p->npoint, p->point, 1, &f->tabulation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's own tabulations of high degrees take longer than all that is done with them */
static PetscErrorCode FieldCreateLagrange(PetscInt degree, PetscInt ncomp, const PatchFDRule *rule, const Points *p, Field *f)
{
  const PetscInt n = degree + 1, dim = p->dim, c = rule->points;
  PetscReal     *B, *D;

  PetscFunctionBegin;
  *f = (Field){.nb = PetscPowInt(n, dim), .nc = 1, .copies = ncomp, .npoint = p->npoint};
  PetscCall(PetscMalloc2(c * n, &B, c * n, &D));
  PetscCall(PatchFDBasis(degree, c, rule->x, B, D, NULL));
  PetscCall(PetscMalloc2((1 + dim) * p->npoint * f->nb, &f->M, (1 + dim) * p->npoint * ncomp, &f->at));
  for (PetscInt i = 0; i < (1 + dim) * p->npoint * f->nb; i++) {
    const PetscInt d = i / f->nb / p->npoint - 1, q = i / f->nb % p->npoint, b = i % f->nb;
    const PetscInt at[3] = {q % c * n + b % n, q / c % c * n + b / n % n, q / c / c * n + b / n / n};

    f->M[i] = d < 0 ? 1 : 0.5; /* the reference cell is [-1, 1]^dim */
    for (PetscInt e = 0; e < dim; e++) f->M[i] *= e == d ? D[at[e]] : B[at[e]];
  }
  PetscCall(PetscFree2(B, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FieldDestroy(Field *f)
{
  PetscFunctionBegin;
  PetscCall(PetscTabulationDestroy(&f->tabulation));
  PetscCall(PetscFree2(f->M, f->at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all points of a Lagrange space, from the numbers of the nodes of a cell */
static PetscErrorCode FieldEvaluate(Field *f, PetscInt dim, const PetscScalar node[])
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
static void FieldAt(const Field *f, PetscInt dim, PetscInt q, const PetscScalar closure[], PetscScalar u[], PetscScalar du[])
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

/* the geometry of cell i */
static PetscErrorCode GoTo(const PlexCells *cells, PetscCount i, Points *p)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < p->geometry.nb; j++)
    for (PetscInt d = 0; d < p->dim; d++)
      p->place[j * p->dim + d] = cells->coordinate[(size_t)cells->geoindex[i * p->geometry.nb + j] * p->dim + d];
  PetscCall(FieldEvaluate(&p->geometry, p->dim, p->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* place x of a point, and, unless invJ is NULL, the inverse of the Jacobian of the map */
static void PlaceAt(const Points *p, PetscInt q, PetscReal x[3], PetscReal invJ[3][3])
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

static PetscErrorCode CreateAux(DM dm, Points *p)
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

static PetscErrorCode CreateSolution(DM dm, const PatchFDRule *rule, Points *p)
{
  PetscSection section;
  PetscObject  fe;
  PetscInt     degree, nc;

  PetscFunctionBegin;
  PetscCall(DMGetLocalSection(dm, &section));
  PetscCall(PlexCellsCreateSection(dm, section, &p->section));
  PetscCall(DMGetField(dm, 0, NULL, &fe));
  PetscCall(PlexCellsGetTensorDegree((PetscFE)fe, "field", &degree, &nc));
  PetscCall(FieldCreateLagrange(degree, nc, rule, p, &p->solution));
  PetscCall(PetscCalloc2(nc * (1 + p->dim), &p->u, nc, &p->zero));
  PetscCall(CreateAux(dm, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsCreate(const PlexCoefficients *c, const PlexCells *cells, PetscInt gauss, Points *p)
{
  PatchFDRule rule;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(PatchFDRuleCreate(cells->degree, gauss, &rule));
  p->dim    = cells->dim;
  p->npoint = PetscPowInt(rule.points, p->dim);
  PetscCall(PetscMalloc1(p->npoint * p->dim, &p->point));
  for (PetscInt q = 0; q < p->npoint; q++) {
    const PetscInt at[3] = {q % rule.points, q / rule.points % rule.points, q / rule.points / rule.points};

    for (PetscInt d = 0; d < p->dim; d++) p->point[q * p->dim + d] = 2 * rule.x[at[d]] - 1;
  }
  PetscCall(FieldCreateLagrange(cells->geodegree, p->dim, &rule, p, &p->geometry));
  PetscCall(PetscMalloc1(p->geometry.nb * p->dim, &p->place));
  if (!c->n) PetscCall(CreateSolution(c->dm, &rule, p));
  PetscCall(PatchFDRuleDestroy(&rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsDestroy(Points *p)
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- coefficients of a cell ---- */

/* the upper triangle of K from n numbers: one, those of a diagonal, or all */
static void FillNumbers(PetscInt dim, PetscInt n, const PetscReal k[], PetscReal K[])
{
  for (PetscInt a = 0, next = 0; a < dim; a++)
    for (PetscInt b = a; b < dim; b++, next++) K[next] = n > dim ? k[next] : (a == b ? k[n == 1 ? 0 : a] : 0);
}

static PetscErrorCode CellFunction(const PlexCoefficients *c, const Points *p, PetscReal kappa[], PetscReal shift[])
{
  const PetscInt full = p->dim * (p->dim + 1) / 2;

  PetscFunctionBegin;
  for (PetscInt q = 0; q < p->npoint; q++) {
    PetscReal x[3], k[6] = {0}, s = 0;

    PlaceAt(p, q, x, NULL);
    PetscCall((*c->K)(p->dim, 0, x, c->n, k, c->ctx));
    if (c->shift) PetscCall((*c->shift)(p->dim, 0, x, 1, &s, c->ctx));
    FillNumbers(p->dim, c->n, k, kappa + q * full);
    shift[q] = s;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of all cells */
static PetscErrorCode CellNumbers(const PlexCoefficients *c, const PlexCells *cells, PetscInt npoint, PlexPointValues *v)
{
  const PetscInt     full  = cells->dim * (cells->dim + 1) / 2;
  const PetscScalar *shift = NULL, *K;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(c->cellK, &K));
  if (c->cellshift) PetscCall(VecGetArrayRead(c->cellshift, &shift));
  for (PetscCount i = 0; i < cells->ncells * npoint; i++) {
    FillNumbers(cells->dim, c->n, K + i / npoint * c->n, v->kappa + i * full);
    v->shift[i] = shift ? shift[i / npoint] : 0;
  }
  if (c->cellshift) PetscCall(VecRestoreArrayRead(c->cellshift, &shift));
  PetscCall(VecRestoreArrayRead(c->cellK, &K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g0 and g3 of a vector have to be one scalar operator for each component: of the blocks x[nc][nc][size] equal ones on the diagonal */
static PetscErrorCode CheckBlocks(PetscInt cell, PetscInt nc, PetscInt size, const PetscScalar x[])
{
  const PetscReal tolerance = 1e-10;
  PetscReal       largest   = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nc * nc * size; i++) largest = PetscMax(largest, PetscAbsScalar(x[i]));
  for (PetscInt i = 0; i < nc * nc * size; i++) {
    const PetscInt    row = i / size / nc, col = i / size % nc;
    const PetscScalar wanted = row == col ? x[i % size] : 0;

    PetscCheck(PetscAbsScalar(x[i] - wanted) <= tolerance * largest, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The Jacobian of the PetscDS couples components, in cell %" PetscInt_FMT
               "; it has to be the same for each of the %" PetscInt_FMT " components",
               cell, nc);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K[full] from g3[dim][dim] */
static PetscErrorCode CheckTensor(PetscInt cell, PetscInt dim, const PetscScalar g[], PetscReal K[])
{
  const PetscReal tolerance = 1e-10;

  PetscFunctionBegin;
  for (PetscInt a = 0, next = 0; a < dim; a++) {
    for (PetscInt b = a; b < dim; b++, next++) {
      const PetscReal up = PetscRealPart(g[a * dim + b]), low = PetscRealPart(g[b * dim + a]);

      PetscCheck(PetscAbsReal(up - low) <= tolerance * PetscMax(PetscAbsScalar(g[a * dim + a]), PetscAbsScalar(g[b * dim + b])),
                 PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "g3 of the Jacobian of the PetscDS is not symmetric in cell %" PetscInt_FMT ": entries %g and %g", cell, (double)up,
                 (double)low);
      K[next] = (up + low) / 2;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the pointwise functions are called with at a point, but for what they fill in */
#define JACOBIAN_AT(g, out) \
  (*g)(p->dim, 1, p->naux, uoff, uoffx, p->u, p->zero, p->u + nc, p->aoff, p->aoffx, p->a, NULL, p->ax, c->time, c->shift_t, x, nconstant, \
       constants, out)

/* the auxiliary fields at a point */
static void AuxAt(Points *p, PetscInt q, const PetscScalar closure[], const PetscReal invJ[3][3])
{
  for (PetscInt f = 0; f < p->naux; f++) {
    const Field *aux = &p->aux[f];

    FieldAt(aux, p->dim, q, closure, p->a + p->aoff[f], p->ax + p->aoffx[f]);
    FieldTurn(aux->nc, p->dim, invJ, p->ax + p->aoffx[f]);
    closure += aux->nb;
  }
}

/* g0 and g3, and the g0 of what is multiplied with the derivative in time */
typedef struct {
  PointJacobian *g0, *g3, *g0t;
} Jacobian;

static PetscErrorCode GetJacobian(const PlexCoefficients *c, PetscInt cell, PetscDS *ds, Jacobian *j)
{
  PetscBool      own, boundary;
  PointJacobian *g1 = NULL, *g2 = NULL, *more[3] = {NULL};

  PetscFunctionBegin;
  PetscCall(DMGetCellDS(c->dm, cell, ds, NULL));
  PetscCall(PetscDSHasJacobianPreconditioner(*ds, &own));
  if (own && !c->exact) PetscCall(PetscDSGetJacobianPreconditioner(*ds, 0, 0, &j->g0, &g1, &g2, &j->g3));
  else PetscCall(PetscDSGetJacobian(*ds, 0, 0, &j->g0, &g1, &g2, &j->g3));
  PetscCall(PetscDSGetDynamicJacobian(*ds, 0, 0, &j->g0t, &more[0], &more[1], &more[2]));
  PetscCheck(j->g3, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The PetscDS of cell %" PetscInt_FMT " has no g3, the derivative of fluxes by gradients: PetscDSSetJacobian()", cell);
  if (!c->exact) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDSHasBdJacobian(*ds, &boundary));
  for (int i = 0; i < 3; i++)
    PetscCheck(!g1 && !g2 && !more[i] && !boundary, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The Jacobian of the PetscDS has more than g0 and g3: terms with first derivatives or on the boundary, which the "
               "matrix-free operator does not have.  Assemble it, or use -snes_mf_operator");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CellJacobian(const PlexCoefficients *c, PetscInt cell, Points *p, PetscReal kappa[], PetscReal shift[])
{
  const PetscInt     dim = p->dim, full = dim * (dim + 1) / 2, nc = p->solution.copies;
  PetscScalar       *u = NULL, *a = NULL;
  PetscInt          *uoff, *uoffx, nconstant, at;
  const PetscScalar *constants;
  Jacobian           j;
  DMEnclosureType    enclosure;
  PetscDS            ds;

  PetscFunctionBegin;
  PetscCall(GetJacobian(c, cell, &ds, &j));
  PetscCall(PetscDSGetConstants(ds, &nconstant, &constants));
  PetscCall(PetscDSGetComponentOffsets(ds, &uoff));
  PetscCall(PetscDSGetComponentDerivativeOffsets(ds, &uoffx));
  PetscCall(DMPlexVecGetClosure(c->dm, p->section, c->local, cell, NULL, &u));
  PetscCall(FieldEvaluate(&p->solution, dim, u));
  PetscCall(DMPlexVecRestoreClosure(c->dm, p->section, c->local, cell, NULL, &u));
  if (p->naux) {
    PetscCall(DMGetEnclosureRelation(p->dmaux, c->dm, &enclosure));
    PetscCall(DMGetEnclosurePoint(p->dmaux, c->dm, enclosure, cell, &at));
    PetscCall(DMPlexVecGetClosure(p->dmaux, NULL, p->auxvec, at, NULL, &a));
  }
  for (PetscInt q = 0; q < p->npoint; q++) {
    PetscScalar g[MAX_COMPONENTS * MAX_COMPONENTS * 9] = {0}, s[MAX_COMPONENTS * MAX_COMPONENTS] = {0},
                                                    t[MAX_COMPONENTS * MAX_COMPONENTS] = {0};
    PetscReal x[3], invJ[3][3];

    PlaceAt(p, q, x, invJ);
    FieldAt(&p->solution, dim, q, NULL, p->u, p->u + nc);
    FieldTurn(nc, dim, (const PetscReal(*)[3])invJ, p->u + nc);
    AuxAt(p, q, a, (const PetscReal(*)[3])invJ);
    JACOBIAN_AT(j.g3, g);
    if (j.g0) JACOBIAN_AT(j.g0, s);
    if (j.g0t) {
      JACOBIAN_AT(j.g0t, t);
      for (PetscInt i = 0; i < nc * nc; i++) s[i] += c->shift_t * t[i];
    }
    PetscCall(CheckBlocks(cell, nc, dim * dim, g));
    PetscCall(CheckBlocks(cell, nc, 1, s));
    PetscCall(CheckTensor(cell, dim, g, kappa + q * full));
    shift[q] = PetscRealPart(s[0]);
  }
  if (p->naux) PetscCall(DMPlexVecRestoreClosure(p->dmaux, NULL, p->auxvec, at, NULL, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all cells ---- */

/* the leading minors of K / trace K, which do not overflow: K is positive definite where they, and the trace, are positive numbers */
static PetscReal Minors(PetscInt dim, const PetscReal k[], PetscReal minor[3])
{
  const PetscInt  yy    = dim == 2 ? 2 : 3;
  const PetscReal trace = k[0] + k[yy] + (dim == 3 ? k[5] : 0);
  PetscReal       K[6];

  for (PetscInt i = 0; i < dim * (dim + 1) / 2; i++) K[i] = k[i] / trace;
  minor[0] = K[0];
  minor[1] = minor[2] = K[0] * K[yy] - K[1] * K[1];
  if (dim == 3) minor[2] = K[2] * (K[1] * K[4] - K[yy] * K[2]) - K[4] * (K[0] * K[4] - K[1] * K[2]) + K[5] * minor[1];
  return trace;
}

static PetscBool IsPositive(PetscReal trace, const PetscReal minor[3])
{
  return (PetscBool)(trace > 0 && trace < PETSC_MAX_REAL && minor[0] > 0 && minor[1] > 0 && minor[2] > 0);
}

/* K + least I where K is not as large in all directions; a multiple of I where K is not positive, as at folds of an energy */
static void RaiseTensor(PetscInt dim, PetscReal least, PetscReal K[])
{
  const PetscInt diagonal[3] = {0, dim == 2 ? 2 : 3, 5};
  PetscReal      m[3], trace = Minors(dim, K, m);

  /* the smallest eigenvalue is at least det / (trace / (dim - 1))^(dim - 1) */
  if (IsPositive(trace, m)) {
    if (m[2] * trace * PetscPowRealInt((PetscReal)(dim - 1), dim - 1) > least) return;
  } else {
    for (PetscInt k = 0; k < dim * (dim + 1) / 2; k++) K[k] = 0;
    for (PetscInt d = 0; d < dim; d++) K[diagonal[d]] = PetscMax(0, trace) / (PetscReal)dim;
  }
  for (PetscInt d = 0; d < dim; d++) K[diagonal[d]] += least;
}

static PetscErrorCode Raise(MPI_Comm comm, PetscInt dim, PetscCount n, PetscReal floor, PetscReal kappa[])
{
  const PetscInt full    = dim * (dim + 1) / 2;
  PetscReal      largest = 0;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < n * full; i++) largest = PetscMax(largest, PetscAbsReal(kappa[i]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPI_MAX, comm));
  for (PetscCount i = 0; i < n && largest > 0; i++) RaiseTensor(dim, floor * largest, kappa + i * full);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all K positive definite, or an error, before which the values are freed */
static PetscErrorCode CheckPositive(const PlexCells *cells, PetscInt npoint, PlexPointValues *v)
{
  const PetscInt dim = cells->dim, full = dim * (dim + 1) / 2;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < cells->ncells * npoint; i++) {
    const PetscReal k = v->kappa[i * full];
    PetscReal       m[3];

    if (IsPositive(Minors(dim, v->kappa + i * full, m), m)) continue;
    PetscCall(PlexPointValuesDestroy(v));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
            "K is %g, ... in cell %" PetscInt_FMT " of the DMPLEX; it has to be positive definite", (double)k, cells->cell[i / npoint]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* is K one number at all points, and is it, and the shift, the same at all of them?  Then that is what there is of them */
static PetscErrorCode Simplify(MPI_Comm comm, PetscInt dim, PetscCount n, PlexPointValues *v)
{
  const PetscInt full     = dim * (dim + 1) / 2;
  PetscInt       is[4]    = {1, 1, 1, 1}; /* one number, constant K, constant shift, no shift */
  PetscReal      first[7] = {0}, most[7];

  PetscFunctionBegin;
  v->leastshift = PETSC_MAX_REAL;
  for (PetscCount i = 0; i < n; i++) {
    v->leastshift = PetscMin(v->leastshift, v->shift[i]);
    for (PetscInt a = 0, next = 0; a < dim; a++)
      for (PetscInt b = a; b < dim; b++, next++) is[0] &= v->kappa[i * full + next] == (a == b ? v->kappa[i * full] : 0);
    for (PetscInt k = 0; k < full; k++) is[1] &= v->kappa[i * full + k] == v->kappa[k];
    is[2] &= v->shift[i] == v->shift[0];
    is[3] &= v->shift[i] == 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 4, MPIU_INT, MPI_MIN, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &v->leastshift, 1, MPIU_REAL, MPI_MIN, comm));
  /* ranks without cells have no numbers of their own: the largest of all ranks' are everybody's, if they are constants */
  for (PetscInt k = 0; k < 7; k++) first[k] = n ? (k < full ? v->kappa[k] : (k == 6 ? v->shift[0] : 0)) : PETSC_MIN_REAL;
  PetscCallMPI(MPIU_Allreduce(first, most, 7, MPIU_REAL, MPI_MAX, comm));
  for (PetscInt k = 0; k < 7 && n; k++) {
    if (first[k] != most[k] && k < 6) is[1] = 0;
    if (first[k] != most[k] && k == 6) is[2] = 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 3, MPIU_INT, MPI_MIN, comm));
  v->nkappa        = is[0] ? 1 : full;
  v->kappaconstant = (PetscBool)is[1];
  v->shiftconstant = (PetscBool)is[2];
  for (PetscCount i = 0; i < n && is[0]; i++) v->kappa[i] = v->kappa[i * full];
  for (PetscInt k = 0; k < v->nkappa && is[1]; k++) v->kappa[k] = most[k];
  if (is[2]) v->shift[0] = most[6];
  PetscCall(PetscRealloc((size_t)(is[1] ? v->nkappa : n * v->nkappa + 1) * sizeof(PetscReal), &v->kappa));
  if (is[3]) PetscCall(PetscFree(v->shift));
  else if (is[2]) PetscCall(PetscRealloc(sizeof(PetscReal), &v->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCoefficientsDestroy(PlexCoefficients *c)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&c->local));
  PetscCall(VecDestroy(&c->cellK));
  PetscCall(VecDestroy(&c->cellshift));
  PetscCall(DMDestroy(&c->dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointValuesDestroy(PlexPointValues *v)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(v->kappa));
  PetscCall(PetscFree(v->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointValuesCreate(const PlexCoefficients *c, const PlexCells *cells, PetscInt gauss, PlexPointValues *v)
{
  const PetscInt full = cells->dim * (cells->dim + 1) / 2;
  Points         p;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(v, sizeof(*v)));
  PetscCall(PointsCreate(c, cells, gauss, &p));
  PetscCall(PetscMalloc1(cells->ncells * p.npoint * full + full, &v->kappa));
  PetscCall(PetscMalloc1(cells->ncells * p.npoint + 1, &v->shift));
  if (c->cellK) PetscCall(CellNumbers(c, cells, p.npoint, v));
  for (PetscCount i = 0; i < cells->ncells && !c->cellK; i++) {
    PetscReal *kappa = v->kappa + i * p.npoint * full, *shift = v->shift + i * p.npoint;

    PetscCall(GoTo(cells, i, &p));
    if (c->n) PetscCall(CellFunction(c, &p, kappa, shift));
    else PetscCall(CellJacobian(c, cells->cell[i], &p, kappa, shift));
  }
  if (c->floor > 0) PetscCall(Raise(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, c->floor, v->kappa));
  PetscCall(PointsDestroy(&p));
  PetscCall(CheckPositive(cells, p.npoint, v));
  PetscCall(Simplify(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsInterpolate(DM dm, const PlexCells *cells, DMBoxFunctionFn *f, void *ctx, PetscScalar u[])
{
  Points p;

  PetscFunctionBegin;
  PetscCall(PointsCreate(&(PlexCoefficients){.dm = dm, .n = 1}, cells, 0, &p));
  for (PetscCount i = 0; i < cells->ncells; i++) {
    const PetscInt *node = cells->index + i * cells->size;

    PetscCall(GoTo(cells, i, &p));
    for (PetscInt q = 0; q < cells->size; q++) {
      PetscReal x[3], value[MAX_COMPONENTS];

      if (node[q] < 0 || node[q] >= cells->nodes->n) continue;
      PlaceAt(&p, q, x, NULL);
      PetscCall((*f)(p.dim, 0, x, cells->ncomp, value, ctx));
      for (PetscInt k = 0; k < cells->ncomp; k++) u[node[q] * cells->ncomp + k] = value[k];
    }
  }
  PetscCall(PointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
