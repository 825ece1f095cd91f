#pragma once
/* A flow on a staggered lattice: velocities at the faces of cells, pressures at their centres; x and y are periodic */
#include <petscdmda.h>

typedef struct {
  PetscScalar u[3]; /* velocities at the lower faces of a cell; zero at walls */
} Faces;

typedef struct {
  DM         da, faces; /* one number a cell, and three */
  PetscInt   first[3], end[3], n[3];
  PetscReal *h[3];
  PetscBool  walls; /* at both sides of z; all other directions are periodic */
} Flow;

/* out[cell] = minus what flows out of it; most: of the divergence, its absolute value */
static PetscErrorCode Outflow(const Flow *f, Vec velocity, PetscReal out[], PetscReal *most)
{
  Vec      local;
  Faces ***v;

  PetscFunctionBeginUser;
  *most = 0;
  PetscCall(DMGetLocalVector(f->faces, &local));
  PetscCall(DMGlobalToLocal(f->faces, velocity, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(f->faces, local, &v));
  for (PetscInt k = f->first[2]; k < f->end[2]; k++) {
    for (PetscInt j = f->first[1]; j < f->end[1]; j++) {
      for (PetscInt i = f->first[0]; i < f->end[0]; i++) {
        const PetscReal x = f->h[0][i], y = f->h[1][j], z = f->h[2][k], top = f->walls && k + 1 == f->n[2] ? 0 : v[k + 1][j][i].u[2];

        *out = -(v[k][j][i + 1].u[0] - v[k][j][i].u[0]) * y * z - (v[k][j + 1][i].u[1] - v[k][j][i].u[1]) * x * z;
        *out -= (top - v[k][j][i].u[2]) * x * y;
        *most = PetscMax(*most, PetscAbsReal(*out) / (x * y * z));
        out++;
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(f->faces, local, &v));
  PetscCall(DMRestoreLocalVector(f->faces, &local));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 1, MPIU_REAL, MPI_MAX, PetscObjectComm((PetscObject)f->da)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* velocity -= grad pressure */
static PetscErrorCode Correct(const Flow *f, const PetscReal pressure[], Vec velocity)
{
  Vec            global, local;
  Faces       ***v;
  PetscScalar ***p, *a;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall(DMGetGlobalVector(f->da, &global));
  PetscCall(DMGetLocalVector(f->da, &local));
  PetscCall(VecGetLocalSize(global, &n));
  PetscCall(VecGetArrayWrite(global, &a));
  PetscCall(PetscArraycpy(a, pressure, n));
  PetscCall(VecRestoreArrayWrite(global, &a));
  PetscCall(DMGlobalToLocal(f->da, global, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(f->da, local, &p));
  PetscCall(DMDAVecGetArray(f->faces, velocity, &v));
  for (PetscInt k = f->first[2]; k < f->end[2]; k++) {
    for (PetscInt j = f->first[1]; j < f->end[1]; j++) {
      for (PetscInt i = f->first[0]; i < f->end[0]; i++) {
        const PetscReal x = f->h[0][i] + f->h[0][(i + f->n[0] - 1) % f->n[0]], y = f->h[1][j] + f->h[1][(j + f->n[1] - 1) % f->n[1]],
                        z = f->h[2][k] + f->h[2][(k + f->n[2] - 1) % f->n[2]];

        v[k][j][i].u[0] -= 2 * (p[k][j][i] - p[k][j][i - 1]) / x;
        v[k][j][i].u[1] -= 2 * (p[k][j][i] - p[k][j - 1][i]) / y;
        if (!f->walls || k > 0) v[k][j][i].u[2] -= 2 * (p[k][j][i] - p[k - 1][j][i]) / z;
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(f->faces, velocity, &v));
  PetscCall(DMDAVecRestoreArrayRead(f->da, local, &p));
  PetscCall(DMRestoreLocalVector(f->da, &local));
  PetscCall(DMRestoreGlobalVector(f->da, &global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n cells by default, equal ones of a direction of length 2 pi; z has walls, or is periodic, too */
static PetscErrorCode FlowCreate(const PetscInt n[3], PetscBool walls, Flow *f)
{
  PetscReal *h;

  PetscFunctionBeginUser;
  f->walls = walls;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, walls ? DM_BOUNDARY_NONE : DM_BOUNDARY_PERIODIC,
                         DMDA_STENCIL_BOX, n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &f->da));
  PetscCall(DMSetFromOptions(f->da));
  PetscCall(DMSetUp(f->da));
  PetscCall(DMDACreateCompatibleDMDA(f->da, 3, &f->faces));
  PetscCall(DMDAGetInfo(f->da, NULL, &f->n[0], &f->n[1], &f->n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(f->da, &f->first[0], &f->first[1], &f->first[2], &f->end[0], &f->end[1], &f->end[2]));
  PetscCall(PetscMalloc1(f->n[0] + f->n[1] + f->n[2], &h));
  for (int d = 0; d < 3; h += f->n[d++]) {
    f->h[d] = h;
    f->end[d] += f->first[d];
    for (PetscInt i = 0; i < f->n[d]; i++) h[i] = 2 * PETSC_PI / (PetscReal)f->n[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlowDestroy(Flow *f)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(f->h[0]));
  PetscCall(DMDestroy(&f->faces));
  PetscCall(DMDestroy(&f->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
