/*
  Coefficients at the points of the cells of a DMPLEX: numbers of cells, functions of the user's, or the pointwise functions of the Jacobian
  of its PetscDS.  Those of a solid are lambda and mu.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/celldata.h>
#include <patchfd/private/compat.h>
#include <patchfd/private/plexpoints.h>
#include <petscds.h>

typedef void PointJacobian(PetscInt, PetscInt, PetscInt, const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                           const PetscScalar[], const PetscInt[], const PetscInt[], const PetscScalar[], const PetscScalar[],
                           const PetscScalar[], PetscReal, PetscReal, const PetscReal[], PetscInt, const PetscScalar[], PetscScalar[]);

/* ---- coefficients of a cell ---- */

/* numbers of a point; of a solid two, or its tangent, if that comes from a PetscDS */
static PetscInt Numbers(const PlexCoefficients *c, PetscInt dim, PetscBool solid)
{
  if (!solid) return dim * (dim + 1) / 2;
  return c->n ? 2 : PatchFDTangentSize(dim);
}

/* lambda and mu from Young's modulus and Poisson's ratio, mu < 0 where these are bad */
static void FillLame(PetscReal missing, const PetscReal moduli[2], PetscReal K[2])
{
  const PetscReal *const none[2] = {NULL, NULL}, one[2] = {1, 1};
  PetscReal              largest = 0;
  PetscCount             bad     = 1;

  PatchFDHostLame(1, missing, moduli, none, one, K, &largest, &bad);
  if (bad < 1) K[1] = -1;
}

/* the upper triangle of K from n numbers: one, those of a diagonal, or all; or what a solid has in place of it */
static void FillNumbers(const PlexCoefficients *c, PetscInt dim, const PetscReal k[], PetscReal K[])
{
  if (c->solid) FillLame(c->missing, k, K);
  for (PetscInt a = 0, next = 0; a < dim && !c->solid; a++)
    for (PetscInt b = a; b < dim; b++, next++) K[next] = c->n > dim ? k[next] : (a == b ? k[c->n == 1 ? 0 : a] : 0);
}

static PetscErrorCode CellFunction(const PlexCoefficients *c, const PlexPoints *p, PetscReal kappa[], PetscReal shift[])
{
  const PetscInt full = Numbers(c, p->dim, c->solid);

  PetscFunctionBegin;
  for (PetscInt q = 0; q < p->npoint; q++) {
    PetscReal x[3], k[6] = {c->number[0], c->number[1]}, s = c->number[2];

    PlexPointsPlace(p, q, x, NULL);
    if (c->K) PetscCall((*c->K)(p->dim, 0, x, c->n, k, c->ctx));
    if (c->shift) PetscCall((*c->shift)(p->dim, 0, x, 1, &s, c->ctx));
    FillNumbers(c, p->dim, k, kappa + q * full);
    shift[q] = s;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of all cells */
static PetscErrorCode CellNumbers(const PlexCoefficients *c, const PlexCells *cells, PetscInt npoint, PlexPointValues *v)
{
  const PetscInt     full  = Numbers(c, cells->dim, c->solid);
  const PetscScalar *shift = NULL, *K;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(c->cellK, &K));
  if (c->cellshift) PetscCall(VecGetArrayRead(c->cellshift, &shift));
  for (PetscCount i = 0; i < cells->ncells * npoint; i++) {
    FillNumbers(c, cells->dim, K + i / npoint * c->n, v->kappa + i * full);
    v->shift[i] = shift ? shift[i / npoint] : 0;
  }
  if (c->cellshift) PetscCall(VecRestoreArrayRead(c->cellshift, &shift));
  PetscCall(VecRestoreArrayRead(c->cellK, &K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexPointsCheckBlocks(PetscInt cell, PetscInt nc, PetscInt size, const PetscScalar x[])
{
  const PetscReal tolerance = 1e-10, largest = PatchFDHostLargest(nc * nc * size, x);

  PetscFunctionBegin;
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

/* the upper triangle of the symmetric matrix of (component, direction) pairs from g3[component][component][dim][dim] */
static PetscErrorCode GetTangent(PetscInt cell, PetscInt dim, const PetscScalar g[], PetscReal A[])
{
  const PetscInt  n         = dim * dim;
  const PetscReal tolerance = 1e-10, largest = PatchFDHostLargest(n * n, g);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = i; j < n; j++) {
      const PetscReal up  = PetscRealPart(g[((i / dim * dim + j / dim) * dim + i % dim) * dim + j % dim]);
      const PetscReal low = PetscRealPart(g[((j / dim * dim + i / dim) * dim + j % dim) * dim + i % dim]);

      PetscCheck(PetscAbsReal(up - low) <= tolerance * largest, PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "g3 of the Jacobian of the PetscDS couples components, and is not symmetric in cell %" PetscInt_FMT ": entries %g and %g",
                 cell, (double)up, (double)low);
      *A++ = (up + low) / 2;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* lambda and mu in place of tangents, where these are such everywhere */
static PetscErrorCode SimplifyTangents(MPI_Comm comm, PetscInt dim, PetscCount n, PlexPointValues *v)
{
  PetscBool  all;
  PetscReal *lame;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * n, &lame));
  all = PatchFDHostTangentsToLame(n, dim, v->kappa, lame);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, PATCHFD_MPI_BOOL, MPI_LAND, comm));
  if (all) PetscCall(PetscArraycpy(v->kappa, lame, 2 * n));
  if (all) v->nkappa = 2;
  PetscCall(PetscFree(lame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g0 and g3, and the g0 of what is multiplied with the derivative in time; and what they are called with */
typedef struct {
  PointJacobian     *g0, *g3, *g0t;
  PetscInt          *uoff, *uoffx, nconstant;
  const PetscScalar *constants;
} Jacobian;

static PetscErrorCode GetJacobian(const PlexCoefficients *c, PetscInt cell, Jacobian *j)
{
  PetscBool      own;
  PointJacobian *g1 = NULL, *g2 = NULL, *more[3] = {NULL};
  PetscDS        ds;

  PetscFunctionBegin;
  PetscCall(DMGetCellDS(c->dm, cell, &ds, NULL));
  PetscCall(PetscDSHasJacobianPreconditioner(ds, &own));
  if (own && !c->exact) PetscCall(PetscDSGetJacobianPreconditioner(ds, 0, 0, &j->g0, &g1, &g2, &j->g3));
  else PetscCall(PetscDSGetJacobian(ds, 0, 0, &j->g0, &g1, &g2, &j->g3));
  PetscCall(PetscDSGetDynamicJacobian(ds, 0, 0, &j->g0t, &more[0], &more[1], &more[2]));
  PetscCall(PetscDSGetConstants(ds, &j->nconstant, &j->constants));
  PetscCall(PetscDSGetComponentOffsets(ds, &j->uoff));
  PetscCall(PetscDSGetComponentDerivativeOffsets(ds, &j->uoffx));
  PetscCheck(j->g3, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The PetscDS of cell %" PetscInt_FMT " has no g3, the derivative of fluxes by gradients: PetscDSSetJacobian()", cell);
  if (!c->exact) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 3; i++)
    PetscCheck(!g1 && !g2 && !more[i], PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The Jacobian of the PetscDS has more than g0 and g3: terms with first derivatives, which the matrix-free operator "
               "does not have.  Assemble it, or use -snes_mf_operator");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g3 and g0 at a point of a cell, where the fields are known */
typedef struct {
  PetscScalar g3[PLEX_MAX_COMPONENTS * PLEX_MAX_COMPONENTS * 9], g0[PLEX_MAX_COMPONENTS * PLEX_MAX_COMPONENTS];
} PointValues;

static void JacobianAt(const PlexCoefficients *c, const Jacobian *j, PlexPoints *p, PetscInt q, PointValues *v)
{
  const PetscInt       nc       = p->solution.copies;
  PointJacobian *const call[3]  = {j->g3, j->g0, j->g0t};
  PointValues          dynamic  = {{0}, {0}};
  PetscScalar         *value[3] = {v->g3, v->g0, dynamic.g0};
  PetscReal            x[3], invJ[3][3];

  *v = dynamic;
  PlexPointsEvaluate(p, q, x, invJ);
  for (int i = 0; i < 3; i++)
    if (call[i])
      (*call[i])(p->dim, 1, p->naux, j->uoff, j->uoffx, p->u, p->zero, p->u + nc, p->aoff, p->aoffx, p->a, NULL, p->ax, c->time, c->shift_t,
                 x, j->nconstant, j->constants, value[i]);
  for (PetscInt k = 0; k < nc * nc; k++) v->g0[k] += c->shift_t * dynamic.g0[k];
}

static PetscErrorCode CellJacobian(const PlexCoefficients *c, const PlexCells *cells, PetscCount i, PetscBool solid, PlexPoints *p,
                                   PetscReal kappa[], PetscReal shift[])
{
  const PetscInt dim = p->dim, full = Numbers(c, dim, solid), nc = p->solution.copies, cell = cells->cell[i];
  PointValues    v;
  Jacobian       j;

  PetscFunctionBegin;
  PetscCall(GetJacobian(c, cell, &j));
  PetscCall(PlexPointsGetFields(c, cells, i, p));
  for (PetscInt q = 0; q < p->npoint; q++) {
    JacobianAt(c, &j, p, q, &v);
    PetscCall(PlexPointsCheckBlocks(cell, nc, 1, v.g0));
    if (solid) PetscCall(GetTangent(cell, dim, v.g3, kappa + q * full));
    else {
      PetscCall(PlexPointsCheckBlocks(cell, nc, dim * dim, v.g3));
      PetscCall(CheckTensor(cell, dim, v.g3, kappa + q * full));
    }
    shift[q] = PetscRealPart(v.g0[0]);
  }
  PetscCall(PlexPointsRestoreFields(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are components of g3 coupled, as those of a solid are?  At one point of any rank */
static PetscErrorCode IsSolid(const PlexCoefficients *c, const PlexCells *cells, PlexPoints *p, PetscBool *solid)
{
  const PetscInt dim = p->dim, nc = p->solution.copies;
  PointValues    v;
  Jacobian       j;

  PetscFunctionBegin;
  *solid = c->solid;
  if (c->n || nc != dim) PetscFunctionReturn(PETSC_SUCCESS);
  if (cells->ncells) {
    PetscCall(PlexPointsGoTo(cells, 0, p));
    PetscCall(GetJacobian(c, cells->cell[0], &j));
    PetscCall(PlexPointsGetFields(c, cells, 0, p));
    JacobianAt(c, &j, p, 0, &v);
    PetscCall(PlexPointsRestoreFields(p));
    for (PetscInt i = dim * dim; i < 2 * dim * dim; i++) *solid = (PetscBool)(*solid || v.g3[i] != 0);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, solid, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)c->dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all cells ---- */

static PetscErrorCode Raise(MPI_Comm comm, PetscInt dim, PetscCount n, PetscReal floor, PetscReal kappa[])
{
  PetscReal largest = PatchFDHostLargest(n * dim * (dim + 1) / 2, kappa);

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPI_MAX, comm));
  if (largest > 0) PatchFDHostRaiseTensors(n, dim, floor * largest, kappa);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all K are positive definite, of tangents those of each component, and lambda and mu are some of a material; or an error, before which the
   values are freed */
static PetscErrorCode CheckPositive(const PlexCells *cells, PetscInt npoint, PlexPointValues *v)
{
  const PetscInt   dim = cells->dim, full = dim * (dim + 1) / 2;
  const PetscCount n   = cells->ncells * npoint;
  PetscCount       bad = n;
  PetscReal       *K, found;
  PetscInt         cell;

  PetscFunctionBegin;
  if (v->solid) v->largest = -1;
  if (!v->solid) bad = PatchFDHostFirstIndefinite(n, dim, full, v->kappa);
  else if (v->nkappa == 2) bad = PatchFDHostFirstNoMaterial(n, dim, v->kappa, &v->largest);
  else {
    PetscCall(PetscMalloc1(n * full, &K));
    for (PetscInt c = 0; c < dim; c++) {
      PatchFDHostComponentTensors(n, dim, c, v->nkappa, v->kappa, K);
      bad = PetscMin(bad, PatchFDHostFirstIndefinite(n, dim, full, K));
    }
    PetscCall(PetscFree(K));
  }
  if (bad == n) PetscFunctionReturn(PETSC_SUCCESS);
  found = v->kappa[bad * v->nkappa];
  cell  = cells->cell[bad / npoint];
  PetscCall(PlexPointValuesDestroy(v));
  PetscCheck(v->solid, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "K is %g, ... in cell %" PetscInt_FMT " of the DMPLEX; it has to be positive definite", (double)found, cell);
  PetscCheck(v->nkappa == 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "g3 of the Jacobian of the PetscDS, the tangent of a solid, is not positive definite in cell %" PetscInt_FMT
             " of the DMPLEX for a single component",
             cell);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
          "The material of the solid is none in cell %" PetscInt_FMT
          " of the DMPLEX: Young's modulus has to be positive and finite, Poisson's ratio more than -1 and less than 0.5",
          cell);
}

/* is K one number at all points, and is it, and the shift, the same at all of them?  Then that is what there is of them */
static PetscErrorCode Simplify(MPI_Comm comm, PetscInt dim, PetscCount n, PlexPointValues *v)
{
  const PetscInt full     = v->nkappa;
  PetscInt       is[4]    = {!v->solid, full <= 6, 1, 1}; /* see PatchFDHostFindConstants() */
  PetscReal      first[7] = {0}, most[7];

  PetscFunctionBegin;
  v->leastshift = PETSC_MAX_REAL;
  PatchFDHostFindConstants(n, dim, full, v->kappa, v->shift, is, &v->leastshift);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 4, MPIU_INT, MPI_MIN, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &v->leastshift, 1, MPIU_REAL, MPI_MIN, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &v->largest, 1, MPIU_REAL, MPI_MAX, comm));
  /* ranks without cells have no numbers of their own: the largest of all ranks' are everybody's, if they are constants */
  for (PetscInt k = 0; k < 7; k++) first[k] = n ? (k < full && k < 6 ? v->kappa[k] : (k == 6 ? v->shift[0] : 0)) : PETSC_MIN_REAL;
  PetscCallMPI(MPIU_Allreduce(first, most, 7, MPIU_REAL, MPI_MAX, comm));
  for (PetscInt k = 0; k < 7 && n; k++) {
    if (first[k] != most[k] && k < 6) is[1] = 0;
    if (first[k] != most[k] && k == 6) is[2] = 0;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 3, MPIU_INT, MPI_MIN, comm));
  v->nkappa        = is[0] ? 1 : full;
  v->kappaconstant = (PetscBool)is[1];
  v->shiftconstant = (PetscBool)is[2];
  if (is[0]) PatchFDHostGetComponent(n, full, 0, v->kappa, v->kappa);
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
  PetscInt   full;
  PlexPoints p;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(v, sizeof(*v)));
  PetscCall(PlexPointsCreate(c, cells, gauss, -1, &p));
  PetscCall(IsSolid(c, cells, &p, &v->solid));
  full = v->nkappa = Numbers(c, cells->dim, v->solid);
  PetscCall(PetscMalloc1(cells->ncells * p.npoint * full + full, &v->kappa));
  PetscCall(PetscMalloc1(cells->ncells * p.npoint + 1, &v->shift));
  if (c->cellK) PetscCall(CellNumbers(c, cells, p.npoint, v));
  for (PetscCount i = 0; i < cells->ncells && !c->cellK; i++) {
    PetscReal *kappa = v->kappa + i * p.npoint * full, *shift = v->shift + i * p.npoint;

    PetscCall(PlexPointsGoTo(cells, i, &p));
    if (c->n) PetscCall(CellFunction(c, &p, kappa, shift));
    else PetscCall(CellJacobian(c, cells, i, v->solid, &p, kappa, shift));
  }
  if (c->floor > 0 && !v->solid)
    PetscCall(Raise(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, c->floor, v->kappa));
  PetscCall(PlexPointsDestroy(&p));
  if (v->solid && !c->n) PetscCall(SimplifyTangents(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, v));
  PetscCall(CheckPositive(cells, p.npoint, v));
  PetscCall(Simplify(PetscObjectComm((PetscObject)c->dm), cells->dim, cells->ncells * p.npoint, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Between(PetscReal a, PetscReal b, PetscReal t)
{
  return a + t * (b - a);
}

PetscErrorCode PlexCellsAddValues(DM dm, const PlexCells *cells, DMBoxFunctionFn *f, void *ctx, PetscScalar u[])
{
  const PetscInt corners = 1 << cells->dim, k = cells->ncomp, N = cells->degree;
  PlexPoints     p;

  PetscFunctionBegin;
  PetscCall(PlexPointsCreate(&(PlexCoefficients){.dm = dm, .n = 1}, cells, 0, -1, &p));
  for (PetscCount i = 0; i < cells->ncells; i++) {
    const PetscInt *node = cells->index + i * cells->size;
    PetscReal       x[3], value[8][PLEX_MAX_COMPONENTS], end[2][PLEX_MAX_COMPONENTS];

    PetscCall(PlexPointsGoTo(cells, i, &p));
    for (PetscInt c = 0; c < corners; c++) {
      PlexPointsPlace(&p, (c & 1) * N + ((c >> 1 & 1) + (c >> 2 & 1) * (N + 1)) * N * (N + 1), x, NULL);
      PetscCall((*f)(p.dim, 0, x, k, value[c], ctx));
    }
    for (PetscInt q = 0; q < cells->size; q++) {
      const PetscInt  at[3] = {q % (N + 1), q / (N + 1) % (N + 1), q / (N + 1) / (N + 1)};
      const PetscReal t[3]  = {(PetscReal)at[0] / N, (PetscReal)at[1] / N, (PetscReal)at[2] / N};

      for (PetscInt a = 0; a < k; a++) {
        for (PetscInt c = 0; c < 2 && !at[0]; c++) { /* the ends of a line of nodes */
          end[c][a] = Between(value[c][a], value[c + 2][a], t[1]);
          if (cells->dim == 3) end[c][a] = Between(end[c][a], Between(value[c + 4][a], value[c + 6][a], t[1]), t[2]);
        }
        if (node[q] >= 0) u[node[q] * k + a] += Between(end[0][a], end[1][a], t[0]);
      }
    }
  }
  PetscCall(PlexPointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsGetPlaces(DM dm, const PlexCells *cells, PetscScalar x[])
{
  PlexPoints p;

  PetscFunctionBegin;
  PetscCall(PlexPointsCreate(&(PlexCoefficients){.dm = dm, .n = 1}, cells, 0, -1, &p));
  for (PetscCount i = 0; i < cells->ncells; i++) {
    const PetscInt *node = cells->index + i * cells->size;

    PetscCall(PlexPointsGoTo(cells, i, &p));
    for (PetscInt q = 0; q < cells->size; q++) {
      PetscReal place[3];

      PlexPointsPlace(&p, q, place, NULL);
      for (PetscInt d = 0; d < p.dim && node[q] >= 0; d++) x[node[q] * p.dim + d] = place[d];
    }
  }
  PetscCall(PlexPointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
