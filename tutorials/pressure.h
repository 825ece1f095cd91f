#pragma once
/* The pressure of a flow code on a staggered lattice, by a direct solve without a matrix */
#include <petscpatchfd.h>
#include <petscdmda.h>
#include <petscksp.h>

/*
  What a flow code needs are three routines: PressureCreate(), PressureSolve() and PressureDestroy().  The arrays are the code's own: cell
  (i, j, k) of those of this process is at i stride[0] + j stride[1] + k stride[2], so that there may be ghost cells around them.
*/
typedef struct {
  DM  da;
  Mat A;
  KSP ksp;
  Vec b, x;
} Pressure;

/* da: a DMDA of the cells, whose boundary types say which directions are periodic; h: n_x lengths, then n_y, then n_z */
static inline PetscErrorCode PressureCreate(DM da, const PetscReal h[], Pressure *p)
{
  PetscInt       n[3], at = 0;
  PetscReal     *coupling;
  DMBoundaryType boundary[3];
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectReference((PetscObject)da));
  p->da = da;
  PetscCall(DMDAGetInfo(da, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, &boundary[0], &boundary[1], &boundary[2], NULL));
  PetscCall(PetscMalloc1(n[0] + n[1] + n[2], &coupling));
  for (int d = 0; d < 3; at += n[d++]) /* inverse distances of centres; walls are Neumann sides: nothing */
    for (PetscInt i = 0; i < n[d]; i++) coupling[at + i] = 2 / (h[at + i] + h[at + (i + 1) % n[d]]);
  PetscCall(MatCreateKroneckerSum(da, h, coupling, NULL, &p->A));
  PetscCall(PetscFree(coupling));
  PetscCall(MatCreateVecs(p->A, &p->x, &p->b));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)da), &p->ksp));
  PetscCall(KSPSetOperators(p->ksp, p->A, p->A));
  PetscCall(KSPSetType(p->ksp, KSPPREONLY));
  PetscCall(KSPGetPC(p->ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(KSPSetFromOptions(p->ksp));
  PetscCall(KSPSetUp(p->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* between a Vec, on the host or on a GPU, and the array */
static inline PetscErrorCode PressureCopy(const Pressure *p, Vec v, PetscBool back, PetscReal array[], const PetscInt stride[3])
{
  PetscInt     n[3];
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(p->da, NULL, NULL, NULL, &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      PetscScalar *line = a + (k * n[1] + j) * n[0];
      PetscReal   *row  = array + k * stride[2] + j * stride[1];

      for (PetscInt i = 0; i < n[0]; i++) {
        if (back) row[i * stride[0]] = line[i];
        else line[i] = row[i * stride[0]];
      }
    }
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* array: minus what flows out of each cell, which becomes p */
static inline PetscErrorCode PressureSolve(const Pressure *p, PetscReal array[], const PetscInt stride[3])
{
  PetscFunctionBeginUser;
  PetscCall(PressureCopy(p, p->b, PETSC_FALSE, array, stride));
  PetscCall(KSPSolve(p->ksp, p->b, p->x));
  PetscCall(PressureCopy(p, p->x, PETSC_TRUE, array, stride));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode PressureDestroy(Pressure *p)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->x));
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
