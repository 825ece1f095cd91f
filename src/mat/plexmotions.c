/* The null spaces of matrices on a DMPLEX: constants, and the rigid motions of solids, which are near null spaces for PCGAMG, too */
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/celldata.h>
#include <petscblaslapack.h>

enum {
  MAX_MOTIONS = 6
};

static PetscErrorCode Translations(MPI_Comm comm, const Mat_Bakeoff *m, MatNullSpace *translations)
{
  const PetscInt n = m->cells.ncomp;
  Vec            x, *v;

  PetscFunctionBegin;
  PetscCall(VecCreateMPI(comm, m->cells.nodes->n * n, m->cells.nodes->N * n, &x));
  PetscCall(VecSetBlockSize(x, n));
  PetscCall(VecDuplicateVecs(x, n, &v));
  for (PetscInt c = 0; c < n; c++) {
    PetscCall(VecStrideSet(v[c], c, 1));
    PetscCall(VecNormalize(v[c], NULL));
  }
  PetscCall(MatNullSpaceCreate(comm, PETSC_FALSE, n, v, translations));
  PetscCall(VecDestroyVecs(n, &v));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of all nodes, with their fixed components: translations, and, if they are wanted, and the mesh is not periodic, rotations */
static PetscErrorCode Motions(Mat A, const Mat_Bakeoff *m, PetscBool rotations, MatNullSpace *motions)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  const PetscInt n    = m->cells.ncomp;
  PetscScalar   *place;
  PetscBool      periodic;
  Vec            x;

  PetscFunctionBegin;
  PetscCall(DMGetCoordinatesLocalized(m->dm, &periodic));
  if (periodic || !rotations) {
    PetscCall(Translations(comm, m, motions));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCalloc1(m->nlocal, &place));
  PetscCall(PlexCellsGetPlaces(m->dm, &m->cells, place));
  if (m->sf) { /* those of nodes whose cells are on other ranks */
    PetscCall(PetscSFReduceBegin(m->sf, MPIU_SCALAR, place + m->nowned, place, MPI_REPLACE));
    PetscCall(PetscSFReduceEnd(m->sf, MPIU_SCALAR, place + m->nowned, place, MPI_REPLACE));
  }
  PetscCall(VecCreateMPIWithArray(comm, n, m->cells.nodes->n * n, m->cells.nodes->N * n, place, &x));
  PetscCall(MatNullSpaceCreateRigidBody(x, motions));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscFree(place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* orthonormal vectors from n ones, of which those are left out that depend on others but for rounding */
static PetscErrorCode Orthonormalize(PetscInt *n, Vec v[])
{
  const PetscReal small = 1e-8;
  PetscInt        count = 0;
  PetscScalar     dot[MAX_MOTIONS];

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
  *n = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffMotions(Mat A, const Mat_Bakeoff *m, MatNullSpace *motions)
{
  const Vec *v;
  Vec        own[MAX_MOTIONS];
  PetscInt   count, n;

  PetscFunctionBegin;
  PetscCall(Motions(A, m, PETSC_TRUE, motions));
  if (!m->expand) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNullSpaceGetVecs(*motions, NULL, &count, &v));
  for (PetscInt i = 0; i < count; i++) {
    PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->rmap->n, A->rmap->N, &own[i]));
    PetscCall(BakeoffGetUnknowns(m, v[i], own[i]));
  }
  PetscCall(MatNullSpaceDestroy(motions));
  n = count;
  PetscCall(Orthonormalize(&n, own));
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, n, own, motions));
  for (PetscInt i = 0; i < count; i++) PetscCall(VecDestroy(&own[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Of n orthonormal motions, how many combinations are zero wherever components have Dirichlet conditions: the null space of the matrix of
  products of what they are there.  mix[combination][motion]; fixed: room for one
*/
static PetscErrorCode FindFree(const Mat_Bakeoff *m, PetscInt *n, const Vec v[], Vec fixed, PetscScalar mix[])
{
  const PetscReal small = 1e-12; /* a node of a thousand million holds a body, too */
  const PetscInt  size  = *n;
  PetscReal       value[MAX_MOTIONS];
  PetscScalar     work[8 * MAX_MOTIONS], *zero, *a;
  PetscBLASInt    order, most = PETSC_STATIC_ARRAY_LENGTH(work), info;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(m->nfree, &zero));
  for (PetscInt k = 0; k < size; k++) {
    PetscCall(VecCopy(v[k], fixed));
    PetscCall(VecGetArray(fixed, &a));
    PetscCall(BakeoffToNodes(m, PatchFDKernelTables[PATCHFD_KERNELS_HOST_DOUBLE], zero, a));
    PetscCall(VecRestoreArray(fixed, &a));
    PetscCall(VecMDot(fixed, size, v, mix + k * size));
  }
  PetscCall(PetscFree(zero));
  PetscCall(PetscBLASIntCast(size, &order));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("V", "U", &order, mix, &order, value, work, &most, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's syev returned %d", (int)info);
  for (*n = 0; *n < size && value[*n] <= small * value[size - 1];) (*n)++;
  if (!(value[size - 1] > 0)) *n = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* own[]: the motions of a body; what is left of them, as vectors of the matrix, of norm one */
static PetscErrorCode MotionsOfBody(Mat A, const Mat_Bakeoff *m, PetscInt n, Vec own[], PetscInt *nz, Vec z[])
{
  PetscScalar mix[MAX_MOTIONS * MAX_MOTIONS];
  PetscInt    nfree;
  Vec         nodes, global;

  PetscFunctionBegin;
  PetscCall(Orthonormalize(&n, own));
  nfree = n;
  PetscCall(VecDuplicate(own[0], &nodes));
  if (m->expand) PetscCall(FindFree(m, &nfree, own, nodes, mix));
  for (PetscInt i = 0; i < nfree; i++, (*nz)++) {
    if (m->expand) {
      PetscCall(VecZeroEntries(nodes));
      PetscCall(VecMAXPY(nodes, n, mix + i * n, own));
    } else PetscCall(VecCopy(own[i], nodes));
    PetscCall(MatCreateVecs(A, &z[*nz], NULL));
    if (m->layout == MAT_BAKEOFF_LAYOUT_ELEMENT) {
      PetscCall(DMCreateGlobalVector(m->dm, &global));
      PetscCall(BakeoffGetUnknowns(m, nodes, global));
      PetscCall(MatBakeoffGlobalToElement(A, global, z[*nz]));
      PetscCall(VecDestroy(&global));
    } else PetscCall(BakeoffGetUnknowns(m, nodes, z[*nz]));
    PetscCall(VecNormalize(z[*nz], NULL)); /* which numbers in single precision are not yet */
  }
  PetscCall(VecDestroy(&nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of each body that make no stresses, and that Dirichlet conditions leave: n orthonormal vectors */
static PetscErrorCode MotionsOfBodies(Mat A, const Mat_Bakeoff *m, PetscInt nbody, const PetscInt body[], PetscInt *n, Vec **z)
{
  MatNullSpace       motions;
  const Vec         *v;
  const PetscScalar *from;
  PetscScalar       *to;
  Vec               *own;
  PetscInt           count, step;

  PetscFunctionBegin;
  PetscCall(Motions(A, m, (PetscBool)(m->values.solid && m->values.nkappa == 2), &motions)); /* a stressed body resists rotations */
  PetscCall(MatNullSpaceGetVecs(motions, NULL, &count, &v));
  step = m->values.solid ? count : 1; /* other components have nothing to do with each other */
  PetscCall(VecDuplicateVecs(v[0], step, &own));
  PetscCall(PetscMalloc1(nbody * count, z));
  for (PetscInt i = 0; i < nbody * count; i += step) {
    for (PetscInt k = 0; k < step; k++) {
      PetscCall(VecGetArrayRead(v[i % count + k], &from));
      PetscCall(VecGetArrayWrite(own[k], &to));
      PatchFDHostCopyBody(m->cells.nodes->n, m->cells.ncomp, body, i / count, from, to);
      PetscCall(VecRestoreArrayWrite(own[k], &to));
      PetscCall(VecRestoreArrayRead(v[i % count + k], &from));
    }
    PetscCall(MotionsOfBody(A, m, step, own, n, *z));
  }
  PetscCall(VecDestroyVecs(step, &own));
  PetscCall(MatNullSpaceDestroy(&motions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetNullSpace_Bakeoff(Mat A, const Mat_Bakeoff *m)
{
  MatNullSpace motions = NULL;
  PetscInt     nbody = 0, *body = NULL, n = 0;
  Vec         *z = NULL;

  PetscFunctionBegin;
  if (!BakeoffIsMass(m) && m->lambda == 0 && !m->values.shift)
    PetscCall(PlexCellsFindBodies(PetscObjectComm((PetscObject)A), &m->cells, &m->sides, &nbody, &body));
  if (nbody) PetscCall(MotionsOfBodies(A, m, nbody, body, &n, &z));
  if (n) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, n, z, &motions));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&z[i]));
  PetscCall(PetscFree(z));
  PetscCall(PetscFree(body));
  PetscCall(MatSetNullSpace(A, motions));
  PetscCall(MatSetTransposeNullSpace(A, motions));
  PetscCall(MatNullSpaceDestroy(&motions));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  /* in the layout element definite on consistent vectors only */
  if ((!m->values.shift || m->values.leastshift >= 0) && m->sides.least >= 0)
    PetscCall(MatSetOption(A, MAT_SPD, (PetscBool)(!n && m->layout == MAT_BAKEOFF_LAYOUT_GLOBAL)));
  else A->spd = PETSC_BOOL3_UNKNOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}
