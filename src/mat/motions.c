/* Null spaces of solids on a DMBOX, and of matrices on a DMPLEX: rigid motions, which are near null spaces for PCGAMG, too; constants */
#include <patchfd/private/bakeoffimpl.h>
#include <petscblaslapack.h>
#include "elasticity.h"

/* translations, and, if they are wanted, and the mesh is not periodic, rotations, for which there are the places of nodes */
static PetscErrorCode GetMotions(DM dm, PetscInt ncomp, PetscBool rotations, PatchFDMotions *motions)
{
  PetscReal low[3] = {0}, high[3] = {0}, size = 0;
  PetscBool periodic;

  PetscFunctionBegin;
  *motions = (PatchFDMotions){.n = ncomp, .ncomp = ncomp};
  PetscCall(DMGetCoordinatesLocalized(dm, &periodic));
  if (!rotations || periodic) PetscFunctionReturn(PETSC_SUCCESS);
  motions->n += ncomp * (ncomp - 1) / 2;
  PetscCall(DMGetBoundingBox(dm, low, high));
  for (int d = 0; d < 3; d++) {
    motions->middle[d] = (low[d] + high[d]) / 2;
    size               = PetscMax(size, high[d] - low[d]);
  }
  motions->rate = 1 / size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* orthonormal vectors from n ones, of which those are destroyed that depend on others but for rounding */
static PetscErrorCode Orthonormalize(PetscInt *n, Vec v[])
{
  const PetscReal small = 1e-8;
  PetscInt        count = 0;
  PetscScalar     dot[PATCHFD_MAX_MOTIONS];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < *n; i++) {
    PetscReal norm, rest;

    PetscCall(VecNorm(v[i], NORM_2, &norm));
    for (int twice = 0; twice < 2; twice++) {
      PetscCall(VecMDot(v[i], count, v, dot));
      for (PetscInt j = 0; j < count; j++) dot[j] = -dot[j];
      PetscCall(VecMAXPY(v[i], count, dot, v));
    }
    PetscCall(VecNorm(v[i], NORM_2, &rest));
    if (!(rest > small * norm)) continue;
    PetscCall(VecScale(v[i], 1 / rest));
    if (i > count) PetscCall(VecSwap(v[i], v[count]));
    count++;
  }
  for (PetscInt i = count; i < *n; i++) PetscCall(VecDestroy(&v[i]));
  *n = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The combinations of `size` motions that are zero wherever conditions fix them: the null space of the matrix of products of what they are
  there, which becomes product[combination][motion], the first n of which are free
*/
static PetscErrorCode FindFree(PetscInt size, PetscReal product[], PetscInt *n)
{
  const PetscReal small = 1e-12; /* a node of a thousand million holds a body, too */
  PetscReal       value[PATCHFD_MAX_MOTIONS];
  PetscScalar     work[8 * PATCHFD_MAX_MOTIONS];
  PetscBLASInt    order, most = PETSC_STATIC_ARRAY_LENGTH(work), info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(size, &order));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("V", "U", &order, product, &order, value, work, &most, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's syev returned %d", (int)info);
  for (*n = 0; *n < size && value[*n] <= small * value[size - 1];) (*n)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- on a DMBOX ---- */

/* product[motion][motion] of a component; or a combination of motions, one row of it */
typedef struct {
  PatchFDMotions motions;
  PetscInt       component;
  PetscReal     *product;
} BoxMotions;

static PetscErrorCode AddProducts(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[],
                                  PETSC_UNUSED PetscInt Nc, PETSC_UNUSED PetscScalar u[], void *ctx)
{
  const BoxMotions *m = (const BoxMotions *)ctx;

  PetscFunctionBegin;
  PatchFDMotionsAddProducts(&m->motions, m->component, n, x, m->product);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Evaluate(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[],
                               PETSC_UNUSED PetscInt Nc, PetscScalar u[], void *ctx)
{
  const BoxMotions *m = (const BoxMotions *)ctx;

  PetscFunctionBegin;
  PatchFDHostMotion(&m->motions, m->product, n, x, NULL, 0, u);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those that are the same at both ends of rings, all, or those that are zero at nodes of fixed sides */
PetscErrorCode MatBoxMotions(const Mat_Box *A, PetscBool all, MatNullSpace *space)
{
  const DM_Box *box                                                = (const DM_Box *)A->dm->data;
  PetscReal     product[PATCHFD_MAX_MOTIONS * PATCHFD_MAX_MOTIONS] = {0};
  BoxMotions    m                                                  = {.product = product};
  PetscInt      dim                                                = A->dm->dim, size, n;
  Vec           v[PATCHFD_MAX_MOTIONS];

  PetscFunctionBegin;
  *space = NULL;
  if (!all && A->c.operator[SHIFT] != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetMotions(A->dm, dim, PETSC_TRUE, &m.motions));
  size = m.motions.n;
  for (m.component = 0; m.component < dim && !all; m.component++)
    for (PetscInt s = 0; s < 2 * dim; s++)
      if (PatchFDLineFixed(&box->field[m.component].line[s / 2], s % 2))
        PetscCall(DMBoxVisitNodes(A->dm, m.component, s, 0, AddProducts, &m, NULL));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, product, PetscSqr(size), MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A->dm)));
  for (PetscInt i = dim; i < size; i++) product[i * size + i] += DMBoxIsRing(box, i - dim) || DMBoxIsRing(box, (i + 1) % dim);
  PetscCall(FindFree(size, product, &n));
  for (PetscInt i = 0; i < n; i++, m.product += size) {
    PetscCall(DMCreateGlobalVector(A->dm, &v[i]));
    PetscCall(DMBoxInterpolateFunctionBatch(A->dm, 0, Evaluate, &m, v[i]));
  }
  PetscCall(Orthonormalize(&n, v));
  if (n) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A->dm), PETSC_FALSE, n, v, space));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- on a DMPLEX ---- */

static PetscErrorCode GetPlaces(const Mat_Bakeoff *m, PetscScalar **place)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(m->nlocal, place));
  PetscCall(PlexCellsGetPlaces(m->dm, &m->cells, *place));
  if (m->sf) { /* those of nodes whose cells are on other ranks */
    PetscCall(PetscSFReduceBegin(m->sf, MPIU_SCALAR, *place + m->nowned, *place, MPI_REPLACE));
    PetscCall(PetscSFReduceEnd(m->sf, MPIU_SCALAR, *place + m->nowned, *place, MPI_REPLACE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n orthonormal vectors of unknowns, combinations mix[n][motion] of the motions of a body, or, if that is NULL, of all nodes */
static PetscErrorCode Combine(Mat A, const Mat_Bakeoff *m, const PatchFDMotions *motions, const PetscScalar place[], const PetscInt body[],
                              PetscInt which, const PetscReal mix[], PetscInt *n, Vec v[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  Vec            nodes;
  PetscScalar   *a;

  PetscFunctionBegin;
  PetscCall(VecCreateMPI(comm, (PetscInt)m->nowned, PETSC_DETERMINE, &nodes));
  for (PetscInt i = 0; i < *n; i++) {
    PetscCall(VecCreateMPI(comm, (PetscInt)m->nfree, PETSC_DETERMINE, &v[i]));
    PetscCall(VecGetArrayWrite(nodes, &a));
    PatchFDHostMotion(motions, mix + i * motions->n, m->cells.nodes->n, place, body, which, a);
    PetscCall(VecRestoreArrayWrite(nodes, &a));
    PetscCall(BakeoffGetUnknowns(m, nodes, v[i]));
  }
  PetscCall(VecDestroy(&nodes));
  PetscCall(Orthonormalize(n, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffMotions(Mat A, const Mat_Bakeoff *m, MatNullSpace *space)
{
  PetscReal      unit[PATCHFD_MAX_MOTIONS * PATCHFD_MAX_MOTIONS] = {0};
  PatchFDMotions motions;
  PetscScalar   *place;
  PetscInt       n;
  Vec            v[PATCHFD_MAX_MOTIONS];

  PetscFunctionBegin;
  PetscCall(GetMotions(m->dm, m->cells.ncomp, PETSC_TRUE, &motions));
  PetscCall(GetPlaces(m, &place));
  n = motions.n;
  for (PetscInt i = 0; i < n; i++) unit[i * n + i] = 1;
  PetscCall(Combine(A, m, &motions, place, NULL, 0, unit, &n, v));
  PetscCall(PetscFree(place));
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, n, v, space));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of each body that make no stresses, or its constants, that Dirichlet conditions leave: n orthonormal vectors of unknowns */
static PetscErrorCode MotionsOfBodies(Mat A, const Mat_Bakeoff *m, PetscInt *n, Vec **z)
{
  const PetscBool rotations = (PetscBool)(m->values.solid && m->values.nkappa == 2); /* a stressed body resists them */
  PatchFDMotions  motions;
  PetscScalar    *place = NULL;
  PetscReal      *product;
  PetscInt        nbody, *body, nfree;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PlexCellsFindBodies(PetscObjectComm((PetscObject)A), &m->cells, &m->sides, &nbody, &body));
  PetscCall(GetMotions(m->dm, m->cells.ncomp, rotations, &motions));
  PetscCall(PetscCalloc1(nbody * PetscSqr(motions.n), &product));
  PetscCall(PetscMalloc1(nbody * motions.n, z));
  PetscCall(PlexCellsGetFixed(m->dm, &m->cells, body, &motions, product));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, product, nbody * PetscSqr(motions.n), MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
  for (PetscInt i = 0; i < nbody; i++) {
    PetscReal *mix = product + i * PetscSqr(motions.n);

    PetscCall(FindFree(motions.n, mix, &nfree));
    if (nfree && !place && motions.n > motions.ncomp) PetscCall(GetPlaces(m, &place));
    PetscCall(Combine(A, m, &motions, place, body, i, mix, &nfree, *z + *n));
    *n += nfree;
  }
  PetscCall(PetscFree(place));
  PetscCall(PetscFree(product));
  PetscCall(PetscFree(body));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a vector of the matrix, of norm one, in place of a global one on the host */
static PetscErrorCode Convert(Mat A, const Mat_Bakeoff *m, Vec *v)
{
  Vec from = *v, global;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, v, NULL));
  if (m->layout == MAT_BAKEOFF_LAYOUT_ELEMENT) {
    PetscCall(DMCreateGlobalVector(m->dm, &global));
    PetscCall(VecSingleConvert(from, 1, global));
    PetscCall(MatBakeoffGlobalToElement(A, global, *v));
    PetscCall(VecDestroy(&global));
  } else PetscCall(VecSingleConvert(from, 1, *v));
  PetscCall(VecNormalize(*v, NULL));
  PetscCall(VecDestroy(&from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetNullSpace_Bakeoff(Mat A, const Mat_Bakeoff *m)
{
  MatNullSpace motions = NULL;
  PetscInt     n       = 0;
  Vec         *z       = NULL;

  PetscFunctionBegin;
  if (!BakeoffIsMass(m) && m->lambda == 0 && !m->values.shift) PetscCall(MotionsOfBodies(A, m, &n, &z));
  for (PetscInt i = 0; i < n; i++) PetscCall(Convert(A, m, &z[i]));
  if (n) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, n, z, &motions));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&z[i]));
  PetscCall(PetscFree(z));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetNullSpace(A, motions)); /* and the transpose's */
  PetscCall(MatNullSpaceDestroy(&motions));
  /* in the layout element definite on consistent vectors only */
  if ((!m->values.shift || m->values.leastshift >= 0) && m->sides.least >= 0)
    PetscCall(MatSetOption(A, MAT_SPD, (PetscBool)(!n && m->layout == MAT_BAKEOFF_LAYOUT_GLOBAL)));
  else A->spd = PETSC_BOOL3_UNKNOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}
