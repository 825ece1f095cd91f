static char help[] = "The pressure of a channel flow: the projection step of a flow code, by a direct solve without a matrix.\n\
Velocities are at the faces of cells, pressures at their centres; x and y are periodic, and cells are narrow at the walls, in z.\n\
The velocity u becomes u - grad p with div grad p = div u, many times, as in time steps.\n\
  -da_grid_x, -da_grid_y, -da_grid_z : cells (default 32 x 24 x 40)\n\
  -dm_vec_type cuda                  : solves on a GPU\n\
  -steps                             : how often (default 10)\n\
  -log_view :times.txt               : events PatchFDSetUp and PatchFDBoxSolve\n\n";

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
static PetscErrorCode PressureCreate(DM da, const PetscReal h[], Pressure *p)
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
static PetscErrorCode PressureCopy(const Pressure *p, Vec v, PetscBool back, PetscReal array[], const PetscInt stride[3])
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
static PetscErrorCode PressureSolve(const Pressure *p, PetscReal array[], const PetscInt stride[3])
{
  PetscFunctionBeginUser;
  PetscCall(PressureCopy(p, p->b, PETSC_FALSE, array, stride));
  PetscCall(KSPSolve(p->ksp, p->b, p->x));
  PetscCall(PressureCopy(p, p->x, PETSC_TRUE, array, stride));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PressureDestroy(Pressure *p)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->x));
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a flow code, as far as it is needed here ---- */

typedef struct {
  PetscScalar u[3]; /* velocities at the lower faces of a cell; zero at the walls */
} Faces;

typedef struct {
  DM         da, faces; /* one number a cell, and three */
  PetscInt   first[3], end[3], n[3];
  PetscReal *h[3];
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
        const PetscReal x = f->h[0][i], y = f->h[1][j], z = f->h[2][k], top = k + 1 < f->n[2] ? v[k + 1][j][i].u[2] : 0;

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
        const PetscReal x = f->h[0][i] + f->h[0][(i + f->n[0] - 1) % f->n[0]], y = f->h[1][j] + f->h[1][(j + f->n[1] - 1) % f->n[1]];

        v[k][j][i].u[0] -= 2 * (p[k][j][i] - p[k][j][i - 1]) / x;
        v[k][j][i].u[1] -= 2 * (p[k][j][i] - p[k][j - 1][i]) / y;
        if (k > 0) v[k][j][i].u[2] -= 2 * (p[k][j][i] - p[k - 1][j][i]) / (f->h[2][k] + f->h[2][k - 1]);
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(f->faces, velocity, &v));
  PetscCall(DMDAVecRestoreArrayRead(f->da, local, &p));
  PetscCall(DMRestoreLocalVector(f->da, &local));
  PetscCall(DMRestoreGlobalVector(f->da, &global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a time step might have left: a velocity that is not free of divergence, with new parts in each step */
static PetscErrorCode Advance(const Flow *f, PetscInt step, Vec velocity)
{
  Faces ***v;

  PetscFunctionBeginUser;
  PetscCall(DMDAVecGetArray(f->faces, velocity, &v));
  for (PetscInt k = f->first[2]; k < f->end[2]; k++) {
    for (PetscInt j = f->first[1]; j < f->end[1]; j++) {
      for (PetscInt i = f->first[0]; i < f->end[0]; i++) {
        for (PetscInt d = 0; d < 3; d++)
          if (d < 2 || k > 0) v[k][j][i].u[d] += PetscSinReal((PetscReal)(step + 1 + 3 * i + 5 * j * (d + 1) + 7 * k * k));
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(f->faces, velocity, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x and y of equal cells, z in [-1, 1] with cells that are narrow at both walls */
static PetscErrorCode FlowCreate(Flow *f)
{
  const PetscReal stretch = 2;
  PetscReal      *h;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 32, 24, 40,
                         PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &f->da));
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
  for (PetscInt k = 0; k < f->n[2]; k++) {
    const PetscReal below = 2 * (PetscReal)k / (PetscReal)f->n[2] - 1, above = 2 * (PetscReal)(k + 1) / (PetscReal)f->n[2] - 1;

    f->h[2][k] = (PetscTanhReal(stretch * above) - PetscTanhReal(stretch * below)) / PetscTanhReal(stretch);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt   steps = 10, stride[3];
  PetscReal *p, before, after, most = 0;
  Flow       flow;
  Pressure   pressure;
  Vec        velocity;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(FlowCreate(&flow));
  PetscCall(PressureCreate(flow.da, flow.h[0], &pressure));
  stride[0] = 1;
  stride[1] = flow.end[0] - flow.first[0];
  stride[2] = stride[1] * (flow.end[1] - flow.first[1]);
  PetscCall(PetscMalloc1(stride[2] * (flow.end[2] - flow.first[2]), &p));
  PetscCall(DMCreateGlobalVector(flow.faces, &velocity));
  for (PetscInt step = 0; step < steps; step++) {
    PetscCall(Advance(&flow, step, velocity));
    PetscCall(Outflow(&flow, velocity, p, &before));
    PetscCall(PressureSolve(&pressure, p, stride));
    PetscCall(Correct(&flow, p, velocity));
    PetscCall(Outflow(&flow, velocity, p, &after));
    most = PetscMax(most, after / before);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells, %" PetscInt_FMT " steps: ",
                        flow.n[0], flow.n[1], flow.n[2], steps));
  if (most < 1e-9) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the divergence is less than 1e-9 of what it was\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the divergence is %g of what it was\n", (double)most));
  PetscCall(VecDestroy(&velocity));
  PetscCall(PetscFree(p));
  PetscCall(PressureDestroy(&pressure));
  PetscCall(PetscFree(flow.h[0]));
  PetscCall(DMDestroy(&flow.faces));
  PetscCall(DMDestroy(&flow.da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     output_file: output/pressure_1.out

     test:
       suffix: 1
       nsize: {{1 2 3 4}}
     test:
       suffix: slabs
       nsize: 4
       args: -da_processors_x 1 -da_processors_y 1
     test:
       suffix: cuda
       requires: cuda gpu
       nsize: {{1 2}}
       args: -dm_vec_type cuda

   test:
     suffix: sizes
     nsize: {{1 2}}
     args: -da_grid_x 9 -da_grid_y 5 -da_grid_z 31 -steps 3

TEST*/
