/* The rigid motions of a solid on a DMPLEX: null spaces, and near null spaces for PCGAMG */
#include <patchfd/private/bakeoffimpl.h>

PetscErrorCode BakeoffMotions(Mat A, const Mat_Bakeoff *m, PetscBool rotations, MatNullSpace *motions)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
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
  PetscCall(VecCreateMPIWithArray(comm, m->cells.ncomp, A->rmap->n, A->rmap->N, place, &x));
  PetscCall(MatNullSpaceCreateRigidBody(x, motions));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscFree(place));
  PetscCall(DMGetCoordinatesLocalized(m->dm, &periodic));
  if (rotations && !periodic) PetscFunctionReturn(PETSC_SUCCESS);
  all = *motions;
  PetscCall(MatNullSpaceGetVecs(all, NULL, NULL, &v));
  PetscCall(MatNullSpaceCreate(comm, PETSC_FALSE, m->cells.ncomp, v, motions));
  PetscCall(MatNullSpaceDestroy(&all));
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

PetscErrorCode BakeoffMotionsOfBodies(Mat A, const Mat_Bakeoff *m, PetscInt nbody, const PetscInt body[], PetscInt *n, Vec **z)
{
  MatNullSpace motions;
  const Vec   *v;
  Vec         *own;
  PetscInt     count;
  PetscScalar  dot[6];

  PetscFunctionBegin;
  PetscCall(BakeoffMotions(A, m, (PetscBool)(m->values.nkappa == 2), &motions)); /* a stressed body resists rotations */
  PetscCall(MatNullSpaceGetVecs(motions, NULL, &count, &v));
  PetscCall(VecDuplicateVecs(v[0], count, &own));
  *n = nbody * count;
  PetscCall(PetscMalloc1(*n, z));
  for (PetscInt i = 0; i < *n; i++) {
    const PetscInt k = i % count;

    PetscCall(CopyBody(m, body, i / count, v[k], own[k]));
    PetscCall(VecMDot(own[k], k, own, dot));
    for (PetscInt j = 0; j < k; j++) dot[j] = -dot[j];
    PetscCall(VecMAXPY(own[k], k, dot, own));
    PetscCall(VecNormalize(own[k], NULL));
    PetscCall(MatCreateVecs(A, &(*z)[i], NULL));
    PetscCall(VecSingleConvert(own[k], 1, (*z)[i]));
  }
  PetscCall(VecDestroyVecs(count, &own));
  PetscCall(MatNullSpaceDestroy(&motions));
  PetscFunctionReturn(PETSC_SUCCESS);
}
