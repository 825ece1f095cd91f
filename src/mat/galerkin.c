/*
  The operator diffusion on coarse meshes whose coefficients are those of a finer one: element-wise Galerkin operators
  (src/host/restrict.c).  Each mesh takes the factors of the next finer one to its own points, and keeps
  them as coefficients that are given by data, so that ranks get those of cells beside their own as they get users' data.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/vecimpl.h>
#include "diffusion.h"

/* how a coarsening unites cells, the coarse ones that this rank has, and the fine ones that they consist of */
typedef struct {
  PatchFDUnion dir[3];
  PatchFDRange coarse, fine;
} Coarsening;

static void CoarseningFind(const DM_Box *fine, const PetscBool halve[3], Coarsening *c)
{
  for (PetscInt d = 0; d < 3; d++) {
    c->dir[d] = DMBoxUniteCells(fine, d, halve[d]);
    for (int e = 0; e < 2; e++) { /* a coarse cell belongs to the rank of its first fine cell */
      c->coarse[d][e] = PatchFDUnionBegin(&c->dir[d], fine->owncells[d][e]);
      c->fine[d][e]   = PatchFDUnionFirst(&c->dir[d], c->coarse[d][e]);
    }
  }
}

/* the factors of the form with these coefficients, those of stiffnesses and of masses, as data of the coarse mesh; where they are asked for
   */
static PetscErrorCode RestrictForm(DM fine, DM coarse, const Coarsening *c, const PetscReal coefficient[], DMBoxCellData **stiffness,
                                   DMBoxCellData **mass)
{
  const DM_Box         *box     = (const DM_Box *)fine->data;
  const DMBoxOperator   op      = box->op;
  const PetscInt        full    = fine->dim * (fine->dim + 1) / 2;
  DMBoxCellData **const data[2] = {stiffness, mass};
  PatchFDKernels        kern;
  PatchFDPoints         points;
  Vec                   v[2];
  PetscScalar          *array[2] = {NULL, NULL};

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    if (!data[i]) continue;
    PetscCall(DMBoxCreateDiffusionVec(coarse, PETSC_TRUE, i ? 1 : full, &v[i]));
    PetscCall(VecGetArrayWriteAndMemType(v[i], &array[i], NULL));
  }
  PetscCall(PatchFDVecTypeGetKernels(fine->vectype, &kern));
  PetscCall((*op->ops.points)(fine, op, coefficient, (const PetscInt(*)[2])c->fine, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
  PetscCall(kern->pointsrestrict(&points, &box->shape->nodes.box, (const PetscInt(*)[2])c->fine, c->dir, (const PetscInt(*)[2])c->coarse,
                                 ((const DM_Box *)coarse->data)->degree, array[0], array[1]));
  PetscCall((*op->ops.pointsdestroy)(&points));
  for (int i = 0; i < 2; i++) {
    if (!data[i]) continue;
    PetscCall(VecRestoreArrayWriteAndMemType(v[i], &array[i]));
    PetscCall(DMBoxCellDataCreate(coarse, i ? 1 : full, v[i], "DMCoarsen()", data[i]));
    PetscCall(VecDestroy(&v[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxDiffusionRestrict(DM fine, DM coarse, PetscReal largest)
{
  const DM_Box          *f = (const DM_Box *)fine->data, *box = (const DM_Box *)coarse->data;
  const DiffusionMedium *from               = DMBoxDiffusionGetMedium(f->op);
  const PetscBool        varies             = (PetscBool)(from->shiftfunction || from->shiftdata);
  const PetscReal        mass[COEFFICIENTS] = {[MASS] = 1};
  PetscReal              form[COEFFICIENTS];
  DiffusionMedium        m = {.nK        = fine->dim * (fine->dim + 1) / 2,
                              .nconstant = 1,
                              .K         = {1},
                              .shift     = varies ? 0 : from->shift,
                              .largest   = largest};
  PetscBool              halve[3];
  Coarsening             c;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) halve[d] = (PetscBool)(f->cells[d] != box->cells[d]);
  CoarseningFind(f, halve, &c);
  DMBoxDiffusionCoefficients(f->op, 1, 0, form);
  PetscCall(RestrictForm(fine, coarse, &c, form, &m.Kdata, varies ? &m.shiftdata : NULL));
  PetscCall(RestrictForm(fine, coarse, &c, mass, NULL, &m.massdata));
  m.fine = from->fine ? from->fine : (DiffusionMedium *)from;
  m.fine->refct++;
  PetscCall(DMBoxDiffusionSetMedium(box->op, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxDiffusionContrast(DM dm, DMBoxOperator op, const PetscBool halve[3], PetscReal *contrast)
{
  const DiffusionMedium *medium = DMBoxDiffusionGetMedium(op);
  PetscReal              form[COEFFICIENTS];
  PatchFDKernels         kern;
  PatchFDPoints          points;
  Coarsening             c;

  PetscFunctionBegin;
  *contrast = 1;
  if (!medium->Kfunction && !medium->Kdata) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  CoarseningFind((const DM_Box *)dm->data, halve, &c);
  DMBoxDiffusionCoefficients(op, 1, 0, form);
  PetscCall((*op->ops.points)(dm, op, form, (const PetscInt(*)[2])c.fine, (PetscBool)PetscMemTypeDevice(kern->memtype), &points));
  PetscCall(kern->pointscontrast(&points, (const PetscInt(*)[2])c.fine, c.dir, (const PetscInt(*)[2])c.coarse, contrast));
  PetscCall((*op->ops.pointsdestroy)(&points));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, contrast, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
