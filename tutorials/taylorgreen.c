static char help[] = "Taylor-Green vortices decay in a periodic cube of length 2 pi: the energy against time.\n\
Velocities are at the faces of cells and pressures at their centres; differences of second order that keep the energy but for viscosity,\n\
three Runge-Kutta stages a step, each projected onto velocities without divergence by one direct solve (tutorials/pressure.h).\n\
  -dim 2 | 3                         : the plane vortices, which are known, or those that become turbulent (default 2)\n\
  -da_grid_x, -da_grid_y, -da_grid_z : cells (default 32 a direction, 4 in z for the plane vortices)\n\
  -reynolds re, -end_time t          : one over the viscosity (default 100), and when to stop (default 5)\n\
  -time_step dt                      : (default 0.05)\n\
  -dm_vec_type cuda                  : pressures on a GPU\n\
  -view_velocity vtk:vortices.vts    : write the velocities at the faces, at the end, for ParaView\n\n";

#include "pressure.h"
#include "staggered.h"

/* v = a u0 + b (u + dt (nu laplace u - div u u)), at the faces */
static PetscErrorCode Stage(const Flow *f, PetscReal nu, PetscReal dt, const PetscReal a, Vec u0, PetscReal b, Vec u, Vec v)
{
  Vec      local;
  Faces ***w, ***out;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(f->faces, &local));
  PetscCall(DMGlobalToLocal(f->faces, u, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(f->faces, local, &w));
  PetscCall(DMDAVecGetArrayWrite(f->faces, v, &out));
  for (PetscInt k = f->first[2]; k < f->end[2]; k++) {
    for (PetscInt j = f->first[1]; j < f->end[1]; j++) {
      for (PetscInt i = f->first[0]; i < f->end[0]; i++) {
        for (int c = 0; c < 3; c++) {
          const int x = c == 0, y = c == 1, z = c == 2; /* to the neighbour in the component's direction */
          PetscReal rate = 0;

          for (int d = 0; d < 3; d++) {
            const int       X = d == 0, Y = d == 1, Z = d == 2;
            const PetscReal h = f->h[d][0], here = w[k][j][i].u[c], above = w[k + Z][j + Y][i + X].u[c],
                            below     = w[k - Z][j - Y][i - X].u[c],
                            across[2] = {w[k][j][i].u[d] + w[k - z][j - y][i - x].u[d],
                                         w[k + Z][j + Y][i + X].u[d] + w[k + Z - z][j + Y - y][i + X - x].u[d]};

            rate += nu * (above - 2 * here + below) / (h * h) - ((here + above) * across[1] - (below + here) * across[0]) / (4 * h);
          }
          out[k][j][i].u[c] = b * (w[k][j][i].u[c] + dt * rate);
        }
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayWrite(f->faces, v, &out));
  PetscCall(DMDAVecRestoreArrayRead(f->faces, local, &w));
  PetscCall(DMRestoreLocalVector(f->faces, &local));
  if (a != 0) PetscCall(VecAXPY(v, a, u0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v becomes the nearest velocity without divergence */
static PetscErrorCode Project(const Flow *f, const Pressure *pressure, PetscReal p[], Vec v)
{
  const PetscInt stride[3] = {1, f->end[0] - f->first[0], (f->end[0] - f->first[0]) * (f->end[1] - f->first[1])};
  PetscReal      most;

  PetscFunctionBeginUser;
  PetscCall(Outflow(f, v, p, &most));
  PetscCall(PressureSolve(pressure, p, stride));
  PetscCall(Correct(f, p, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a step of the method of Shu and Osher; u[0] is the velocity, the others are places to work in */
static PetscErrorCode Step(const Flow *f, const Pressure *pressure, PetscReal nu, PetscReal dt, PetscReal p[], Vec u[3])
{
  PetscFunctionBeginUser;
  PetscCall(Stage(f, nu, dt, 0, NULL, 1, u[0], u[1]));
  PetscCall(Project(f, pressure, p, u[1]));
  PetscCall(Stage(f, nu, dt, 3. / 4, u[0], 1. / 4, u[1], u[2]));
  PetscCall(Project(f, pressure, p, u[2]));
  PetscCall(Stage(f, nu, dt, 1. / 3, u[0], 2. / 3, u[2], u[1]));
  PetscCall(Project(f, pressure, p, u[1]));
  PetscCall(VecCopy(u[1], u[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u = (sin x cos y, -cos x sin y, 0), in three dimensions times cos z */
static PetscErrorCode Start(const Flow *f, PetscInt dim, Vec u)
{
  Faces ***v;

  PetscFunctionBeginUser;
  PetscCall(DMDAVecGetArrayWrite(f->faces, u, &v));
  for (PetscInt k = f->first[2]; k < f->end[2]; k++) {
    for (PetscInt j = f->first[1]; j < f->end[1]; j++) {
      for (PetscInt i = f->first[0]; i < f->end[0]; i++) {
        const PetscReal x = f->h[0][0] * (PetscReal)i, y = f->h[1][0] * (PetscReal)j, X = x + f->h[0][0] / 2, Y = y + f->h[1][0] / 2,
                        z = dim == 3 ? PetscCosReal(f->h[2][0] * ((PetscReal)k + 0.5)) : 1;

        v[k][j][i] = (Faces){{PetscSinReal(x) * PetscCosReal(Y) * z, -PetscCosReal(X) * PetscSinReal(y) * z, 0}};
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayWrite(f->faces, u, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    n[3] = {32, 32, 32}, dim = 2, size;
  PetscReal   re = 100, end = 5, dt = 0.05, *p, before = 0;
  PetscScalar energy;
  Flow        flow;
  Pressure    pressure;
  Vec         u[3];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-dim is %" PetscInt_FMT "; it must be 2 or 3", dim);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-reynolds", &re, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-end_time", &end, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time_step", &dt, NULL));
  if (dim == 2) n[2] = 4;
  PetscCall(FlowCreate(n, PETSC_FALSE, &flow));
  PetscCall(PressureCreate(flow.da, flow.h[0], &pressure));
  for (int i = 0; i < 3; i++) PetscCall(DMCreateGlobalVector(flow.faces, &u[i]));
  PetscCall(VecGetLocalSize(u[0], &size));
  PetscCall(PetscMalloc1(size / 3, &p));
  PetscCall(VecGetSize(u[0], &size));
  PetscCall(Start(&flow, dim, u[0]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time   energy    %s\n", dim == 2 ? "exact" : "dissipation"));
  for (PetscInt step = 0; (PetscReal)step * dt < end * (1 + 1e-12); step++) {
    const PetscReal t = (PetscReal)step * dt;

    if (step) PetscCall(Step(&flow, &pressure, 1 / re, dt, p, u));
    PetscCall(VecDot(u[0], u[0], &energy));
    energy *= 1.5 / (PetscReal)size; /* half the mean of the square */
    if (dim == 3 && !step) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%4.1f  %.6f\n", (double)t, (double)energy));
    else if (step % 10 == 0)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%4.1f  %.6f  %.6f\n", (double)t, (double)energy,
                            (double)(dim == 2 ? PetscExpReal(-4 * t / re) / 4 : (before - energy) / dt)));
    before = energy;
  }
  PetscCall(VecViewFromOptions(u[0], NULL, "-view_velocity"));
  for (int i = 0; i < 3; i++) PetscCall(VecDestroy(&u[i]));
  PetscCall(PetscFree(p));
  PetscCall(PressureDestroy(&pressure));
  PetscCall(FlowDestroy(&flow));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: 1
     nsize: {{1 2 4}}
     output_file: output/taylorgreen_1.out
   test:
     suffix: 3d
     nsize: {{1 3}}
     output_file: output/taylorgreen_3d.out
     args: -dim 3 -da_grid_x 16 -da_grid_y 16 -da_grid_z 16 -end_time 2
   test:
     suffix: cuda
     requires: cuda gpu
     output_file: output/taylorgreen_3d.out
     args: -dim 3 -da_grid_x 16 -da_grid_y 16 -da_grid_z 16 -end_time 2 -dm_vec_type cuda

TEST*/
