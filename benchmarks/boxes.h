#pragma once
/* The boxes of benchmarks that are not about one mesh: cells for a number of unknowns, sides and vertices by a name */
#include <petscpatchfd.h>

/* a power of 2 times at most 7 cells, for about so many unknowns */
static PetscInt Cells(PetscInt dim, PetscInt degree, PetscReal unknowns)
{
  const PetscReal n    = PetscPowReal(unknowns, 1. / dim) / degree;
  PetscInt        best = 2;

  for (PetscInt power = 2; power <= 1 << 20; power *= 2)
    for (PetscInt i = 1; i <= 7; i += 2)
      if (PetscAbsReal(power * i - n) < PetscAbsReal(best - n)) best = power * i;
  return best;
}

static PetscErrorCode CreateBox(PetscInt dim, PetscInt degree, PetscInt n, const char kind[], DM *dm)
{
  PetscInt          cells[] = {n, n, n};
  PetscMPIInt       size;
  DMBoxBoundaryType sides[6];
  PetscBool         neumann, graded, rings, channel;
  PetscReal        *v;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(kind, "neumann", &neumann));
  PetscCall(PetscStrcmp(kind, "graded", &graded));
  PetscCall(PetscStrbeginswith(kind, "ring", &rings)); /* "ringxy": the directions that are periodic */
  PetscCall(PetscStrcmp(kind, "channel", &channel));   /* rings but for the last direction, three quarters as long for each process */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (channel) cells[dim - 1] = (3 * n + 2) / 4 * size;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, dm));
  for (int i = 0; i < 6; i++)
    sides[i] = channel      ? (i / 2 < dim - 1 ? DMBOX_BOUNDARY_PERIODIC : DMBOX_BOUNDARY_NEUMANN)
             : neumann && i ? DMBOX_BOUNDARY_NEUMANN
                            : DMBOX_BOUNDARY_DIRICHLET;
  for (int d = 0; d < 3 && rings; d++)
    if (strchr(kind + 4, 'x' + d)) sides[2 * d] = sides[2 * d + 1] = DMBOX_BOUNDARY_PERIODIC;
  PetscCall(DMBoxSetBoundary(*dm, sides));
  for (PetscInt d = channel ? dim - 1 : 0; d < dim && (graded || channel); d++) {
    PetscCall(PetscMalloc1(cells[d] + 1, &v));
    for (PetscInt i = 0; i <= cells[d]; i++) {
      const PetscReal t = (PetscReal)i / cells[d];

      v[i] = channel ? PetscTanhReal(4 * t - 2) : t + 0.3 * PetscSqr(t); /* a channel has narrow cells at both walls */
    }
    PetscCall(DMBoxSetVertices(*dm, d, cells[d] + 1, v));
    PetscCall(PetscFree(v));
  }
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
