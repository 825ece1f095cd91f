static char help[] = "The pressure of a channel flow: the projection step of a flow code, by a direct solve without a matrix.\n\
Velocities are at the faces of cells, pressures at their centres; x and y are periodic, and cells are narrow at the walls, in z.\n\
The velocity u becomes u - grad p with div grad p = div u, many times, as in time steps.\n\
  -da_grid_x, -da_grid_y, -da_grid_z : cells (default 32 x 24 x 40)\n\
  -dm_vec_type cuda                  : solves on a GPU\n\
  -steps                             : how often (default 10)\n\
  -log_view :times.txt               : events PatchFDSetUp and PatchFDBoxSolve\n\n";

#include "pressure.h"
#include "staggered.h"

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

/* z in [-1, 1], with cells that are narrow at both walls */
static void Stretch(const Flow *f)
{
  const PetscReal stretch = 2;

  for (PetscInt k = 0; k < f->n[2]; k++) {
    const PetscReal below = 2 * (PetscReal)k / (PetscReal)f->n[2] - 1, above = 2 * (PetscReal)(k + 1) / (PetscReal)f->n[2] - 1;

    f->h[2][k] = (PetscTanhReal(stretch * above) - PetscTanhReal(stretch * below)) / PetscTanhReal(stretch);
  }
}

int main(int argc, char **argv)
{
  const PetscInt n[3]  = {32, 24, 40};
  PetscInt       steps = 10, stride[3];
  PetscReal     *p, before, after, most = 0;
  Flow           flow;
  Pressure       pressure;
  Vec            velocity;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(FlowCreate(n, PETSC_TRUE, &flow));
  Stretch(&flow);
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
  PetscCall(FlowDestroy(&flow));
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
