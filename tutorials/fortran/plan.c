/*
  The three routines of ../pressure.h with types that Fortran has, for pressure.f90 on one process; a code on several passes its
  communicator, which MPI_Comm_f2c() converts.  They return PETSc's error codes, 0 if all is well.
*/
#include "../pressure.h"

/* n cells, periodic where that is not zero, walls elsewhere; h: n_x lengths, then n_y, then n_z */
int pressure_plan(const int n[3], const int periodic[3], const double h[], void **plan)
{
  DMBoundaryType boundary[3];
  PetscBool      initialized;
  Pressure      *p;
  DM             da;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialized(&initialized));
  if (!initialized) PetscCall(PetscInitializeNoArguments());
  for (int d = 0; d < 3; d++) boundary[d] = periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  PetscCall(PetscNew(&p));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, boundary[0], boundary[1], boundary[2], DMDA_STENCIL_STAR, n[0], n[1], n[2], 1, 1, 1, 1, 1, NULL,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(PressureCreate(da, h, p));
  PetscCall(DMDestroy(&da));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int pressure_solve(const void *plan, double array[], const int stride[3])
{
  const PetscInt s[3] = {stride[0], stride[1], stride[2]};

  PetscFunctionBeginUser;
  PetscCall(PressureSolve((const Pressure *)plan, array, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int pressure_destroy(void **plan)
{
  PetscFunctionBeginUser;
  PetscCall(PressureDestroy((Pressure *)*plan));
  PetscCall(PetscFree(*plan));
  PetscCall(PetscFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}
