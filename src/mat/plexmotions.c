/* The rigid motions of a solid on a DMPLEX: null spaces, and near null spaces for PCGAMG */
#include <patchfd/private/bakeoffimpl.h>
#include <petscblaslapack.h>

enum {
  MAX_MOTIONS = 6
};

/* of all nodes, with their fixed components: translations, and, if they are wanted, and the mesh is not periodic, rotations */
static PetscErrorCode Motions(Mat A, const Mat_Bakeoff *m, PetscBool rotations, MatNullSpace *motions)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  const PetscInt n    = m->cells.ncomp;
  const Vec     *v;
  PetscScalar   *place;
  PetscBool      periodic;
  MatNullSpace   all;
  Vec            x;

  PetscFunctionBegin;
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
  PetscCall(DMGetCoordinatesLocalized(m->dm, &periodic));
  if (rotations && !periodic) PetscFunctionReturn(PETSC_SUCCESS);
  all = *motions;
  PetscCall(MatNullSpaceGetVecs(all, NULL, NULL, &v));
  PetscCall(MatNullSpaceCreate(comm, PETSC_FALSE, n, v, motions));
  PetscCall(MatNullSpaceDestroy(&all));
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

/* the unknowns among numbers of nodes */
static PetscErrorCode ToUnknowns(Mat A, const Mat_Bakeoff *m, Vec nodes, Vec *unknowns)
{
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), A->rmap->n, A->rmap->N, unknowns));
  PetscCall(VecGetArrayRead(nodes, &from));
  PetscCall(VecGetArrayWrite(*unknowns, &to));
  BakeoffUnknowns(m, from, to);
  PetscCall(VecRestoreArrayWrite(*unknowns, &to));
  PetscCall(VecRestoreArrayRead(nodes, &from));
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
  for (PetscInt i = 0; i < count; i++) PetscCall(ToUnknowns(A, m, v[i], &own[i]));
  PetscCall(MatNullSpaceDestroy(motions));
  n = count;
  PetscCall(Orthonormalize(&n, own));
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, n, own, motions));
  for (PetscInt i = 0; i < count; i++) PetscCall(VecDestroy(&own[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to = from at the nodes of a body, otherwise zero */
static PetscErrorCode CopyBody(const Mat_Bakeoff *m, const PetscInt body[], PetscInt which, Vec from, Vec to)
{
  const PetscInt     n = m->cells.ncomp;
  const PetscScalar *a;
  PetscScalar       *b;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(from, &a));
  PetscCall(VecGetArrayWrite(to, &b));
  for (PetscInt i = 0; i < m->cells.nodes->n * n; i++) b[i] = body[i / n] == which ? a[i] : 0;
  PetscCall(VecRestoreArrayWrite(to, &b));
  PetscCall(VecRestoreArrayRead(from, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Of n orthonormal motions, how many combinations are zero wherever components have Dirichlet conditions: the null space of the matrix of
  products of what they are there.  mix[combination][motion]
*/
static PetscErrorCode FindFree(MPI_Comm comm, const Mat_Bakeoff *m, PetscInt *n, const Vec v[], PetscScalar mix[])
{
  const PetscReal    small = 1e-12; /* a node of a thousand million holds a body, too */
  const PetscInt     size  = *n;
  const PetscScalar *a[MAX_MOTIONS];
  PetscReal          value[MAX_MOTIONS];
  PetscScalar        work[8 * MAX_MOTIONS];
  PetscBLASInt       order, most = PETSC_STATIC_ARRAY_LENGTH(work), info;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(mix, size * size));
  for (PetscInt k = 0; k < size; k++) PetscCall(VecGetArrayRead(v[k], &a[k]));
  for (size_t i = 0; i < m->nowned; i++) {
    for (PetscInt k = 0; k < size * size && m->cells.dirichlet[i]; k++) mix[k] += a[k / size][i] * a[k % size][i];
  }
  for (PetscInt k = 0; k < size; k++) PetscCall(VecRestoreArrayRead(v[k], &a[k]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, mix, size * size, MPIU_SCALAR, MPIU_SUM, comm));
  PetscCall(PetscBLASIntCast(size, &order));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("V", "U", &order, mix, &order, value, work, &most, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's syev returned %d", (int)info);
  for (*n = 0; *n < size && value[*n] <= small * value[size - 1];) (*n)++;
  if (!(value[size - 1] > 0)) *n = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* own[]: the motions of a body; what is left of them, as vectors of the matrix */
static PetscErrorCode MotionsOfBody(Mat A, const Mat_Bakeoff *m, PetscInt n, Vec own[], PetscInt *nz, Vec z[])
{
  PetscScalar mix[MAX_MOTIONS * MAX_MOTIONS];
  PetscInt    nfree;
  Vec         nodes, unknowns;

  PetscFunctionBegin;
  PetscCall(Orthonormalize(&n, own));
  nfree = n;
  PetscCall(VecDuplicate(own[0], &nodes));
  if (m->expand) PetscCall(FindFree(PetscObjectComm((PetscObject)A), m, &nfree, own, mix));
  for (PetscInt i = 0; i < nfree; i++) {
    if (m->expand) {
      PetscCall(VecZeroEntries(nodes));
      PetscCall(VecMAXPY(nodes, n, mix + i * n, own));
    } else PetscCall(VecCopy(own[i], nodes));
    PetscCall(ToUnknowns(A, m, nodes, &unknowns));
    PetscCall(MatCreateVecs(A, &z[*nz], NULL));
    PetscCall(VecSingleConvert(unknowns, 1, z[(*nz)++]));
    PetscCall(VecDestroy(&unknowns));
  }
  PetscCall(VecDestroy(&nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BakeoffMotionsOfBodies(Mat A, const Mat_Bakeoff *m, PetscInt nbody, const PetscInt body[], PetscInt *n, Vec **z)
{
  MatNullSpace motions;
  const Vec   *v;
  Vec         *own;
  PetscInt     count;

  PetscFunctionBegin;
  PetscCall(Motions(A, m, (PetscBool)(m->values.nkappa == 2), &motions)); /* a stressed body resists rotations */
  PetscCall(MatNullSpaceGetVecs(motions, NULL, &count, &v));
  PetscCall(VecDuplicateVecs(v[0], count, &own));
  PetscCall(PetscMalloc1(nbody * count, z));
  *n = 0;
  for (PetscInt i = 0; i < nbody; i++) {
    for (PetscInt k = 0; k < count; k++) PetscCall(CopyBody(m, body, i, v[k], own[k]));
    PetscCall(MotionsOfBody(A, m, count, own, n, *z));
  }
  PetscCall(VecDestroyVecs(count, &own));
  PetscCall(MatNullSpaceDestroy(&motions));
  PetscFunctionReturn(PETSC_SUCCESS);
}
