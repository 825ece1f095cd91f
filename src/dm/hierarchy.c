/*
  DMs made from a DMBOX: finer, coarser and equal ones.  All of them carry what the user asked for, the types of Vecs and Mats,
  the options prefix and the operator, and keep each piece of the domain on its rank.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/

static PetscErrorCode DMBoxCopyReals(PetscInt n, const PetscReal from[], PetscReal *to[])
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*to));
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, to));
  PetscCall(PetscArraycpy(*to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* everything that precedes set-up, and the decomposition; `to` is an empty DMBOX */
static PetscErrorCode DMBoxCopy(DM from, DM to)
{
  DM_Box     *a = (DM_Box *)from->data, *b = (DM_Box *)to->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(DMSetDimension(to, from->dim));
  PetscCall(DMSetVecType(to, from->vectype));
  PetscCall(DMSetMatType(to, from->mattype));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)from, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)to, prefix));
  b->degree = a->degree;
  b->space  = a->space;
  b->halotype = a->halotype;
  b->refine = a->refine;
  PetscCall(DMBoxCopyMapping(from, to));
  PetscCall(DMBoxCopyOperator(from, to));
  PetscCall(PetscArraycpy(b->boundary, a->boundary, 6));
  for (PetscInt d = 0; d < 3; d++) {
    b->cells[d]     = a->cells[d];
    b->lower[d]     = a->lower[d];
    b->upper[d]     = a->upper[d];
    b->processes[d] = a->processes[d];
    b->nvertices[d] = a->nvertices[d];
    PetscCall(DMBoxCopyReals(a->nvertices[d], a->vertices[d], &b->vertices[d]));
    if (a->splits[d]) {
      PetscCall(PetscMalloc1(a->processes[d] + 1, &b->splits[d]));
      PetscCall(PetscArraycpy(b->splits[d], a->splits[d], a->processes[d] + 1));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMClone_Box(DM dm, DM *newdm)
{
  PetscFunctionBegin;
  PetscCall(DMSetType(*newdm, DMBOX));
  PetscCall(DMBoxCopy(dm, *newdm));
  if (dm->setupcalled) {
    DMBoxShape *shape = ((const DM_Box *)dm->data)->shape;

    ((DM_Box *)(*newdm)->data)->shape = shape;
    if (shape) shape->refct++;
    PetscCall(DMSetUp(*newdm));
    PetscCall(DMBoxCopyOperator(dm, *newdm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCreateRelative(DM dm, MPI_Comm comm, DM *newdm)
{
  PetscMPIInt flag = MPI_IDENT;
  DM_Box     *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  if (comm != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)dm), comm, &flag));
  PetscCheck(flag == MPI_IDENT || flag == MPI_CONGRUENT, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP, "A DMBOX cannot be refined or coarsened onto another communicator");
  PetscCall(DMCreate(PetscObjectComm((PetscObject)dm), newdm));
  PetscCall(DMSetType(*newdm, DMBOX));
  PetscCall(DMBoxCopy(dm, *newdm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxBisect(PetscInt *n, PetscReal **vertices)
{
  const PetscInt   nfine = 2 * (*n) - 1;
  const PetscReal *v     = *vertices;
  PetscReal       *fine;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nfine, &fine));
  for (PetscInt i = 0; i < nfine; i++) fine[i] = i % 2 ? 0.5 * (v[i / 2] + v[i / 2 + 1]) : v[i / 2];
  PetscCall(PetscFree(*vertices));
  *vertices = fine;
  *n        = nfine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMRefine_Box(DM dm, MPI_Comm comm, DM *fine)
{
  DM_Box *f;

  PetscFunctionBegin;
  PetscCall(DMBoxCreateRelative(dm, comm, fine));
  f = (DM_Box *)(*fine)->data;
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscCheck(f->cells[d] <= PETSC_INT_MAX / 2, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE, "Cannot refine %" PetscInt_FMT " cells in direction %" PetscInt_FMT ": too many",
               f->cells[d], d);
    f->cells[d] *= 2;
    for (PetscInt p = 0; p <= f->processes[d]; p++) f->splits[d][p] *= 2;
    if (f->nvertices[d]) PetscCall(DMBoxBisect(&f->nvertices[d], &f->vertices[d]));
  }
  PetscCall(DMSetUp(*fine));
  PetscCall(DMBoxCopyOperator(dm, *fine)); /* what needs the mesh */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coarse cell belongs to the rank of its first fine cell; ranks may be left with none. */
PetscErrorCode DMBoxCoarsen_Private(DM dm, MPI_Comm comm, PetscBool mayfold, DM *coarse)
{
  DM_Box *box, *c;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscCheck(box->cells[d] >= 4 && box->cells[d] % 2 == 0, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
               "Cannot coarsen %" PetscInt_FMT " cells in direction %" PetscInt_FMT ": the number must be even and at least 4.  "
               "DMBoxGetNumCoarsenings() tells how many coarser levels there are; multigrid has at most one level more than that (-pc_mg_levels)",
               box->cells[d], d);
  }
  PetscCall(DMBoxCreateRelative(dm, comm, coarse));
  c          = (DM_Box *)(*coarse)->data;
  c->mayfold = mayfold;
  for (PetscInt d = 0; d < dm->dim; d++) {
    c->cells[d] /= 2;
    for (PetscInt p = 0; p <= c->processes[d]; p++) c->splits[d][p] = (c->splits[d][p] + 1) / 2;
    if (c->nvertices[d]) {
      for (PetscInt i = 0; i <= c->cells[d]; i++) c->vertices[d][i] = c->vertices[d][2 * i];
      c->nvertices[d] = c->cells[d] + 1;
    }
  }
  PetscCall(DMSetUp(*coarse));
  PetscCall(DMBoxCopyOperator(dm, *coarse)); /* what needs the mesh */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMCoarsen_Box(DM dm, MPI_Comm comm, DM *coarse)
{
  PetscFunctionBegin;
  PetscCall(DMBoxCoarsen_Private(dm, comm, PETSC_FALSE, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients and coordinates changed on a fine DM reach the coarser ones whenever a solver restricts the problem. */
PetscErrorCode DMRestrictHook_Box(DM fine, PETSC_UNUSED Mat restrct, PETSC_UNUSED Vec rscale, PETSC_UNUSED Mat inject, DM coarse, PETSC_UNUSED void *ctx)
{
  PetscBool isbox;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)coarse, DMBOX, &isbox));
  if (!isbox) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxUpdateMapping(fine, coarse));
  PetscCall(DMBoxCopyOperator(fine, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetNumCoarsenings - Returns how many times a `DMBOX` can be coarsened

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. n - the number of times that `DMCoarsen()` works, one after the other

  Level: intermediate

  Notes:
  A `DMBOX` can be coarsened when every direction has an even number of cells and at least 4 of them.
  `PCMG` can have `n` + 1 levels.

  Before `DMSetUp()` the refinement asked for by `-dm_refine` is not counted.

.seealso: `DMBOX`, `DMCoarsen()`, `DMBoxSetCells()`, `PCMGSetLevels()`, `PCPATCHMG`
@*/
PetscErrorCode DMBoxGetNumCoarsenings(DM dm, PetscInt *n)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscAssertPointer(n, 2);
  PetscCall(DMBoxGetContext(dm, &box));
  *n = PETSC_INT_MAX;
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscInt cells = box->cells[d], count = 0;

    for (; cells >= 4 && cells % 2 == 0; cells /= 2) count++;
    *n = PetscMin(*n, count);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
