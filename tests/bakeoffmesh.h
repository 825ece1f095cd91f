#pragma once
/* Meshes and spaces of the bake-off problems, as DMPLEXes, and functions on them */
#include <petscdmplex.h>
#include <petscds.h>
#include <petscfe.h>
#include "ceed.h"

/* ---- meshes ---- */

typedef struct {
  PetscInt  dim, n[3], degree, ncomp;
  PetscInt  points; /* of the PetscFE's quadrature: Gauss points in a direction; 0: the Gauss-Lobatto points that are the nodes */
  PetscBool turn, dirichlet, simplex;
  void (*move)(PetscInt dim, PetscReal x[]);
} Mesh;

/* the corner, with its coordinates as bits, that corner i of a turned cell is: quarter turns around z, x and z once more.  64 turns are all
   24 of a cube, the first 4 those of a square */
static PetscInt Turn(PetscInt turn, PetscInt corner)
{
  PetscInt bit[3] = {corner & 1, corner >> 1 & 1, corner >> 2 & 1};

  for (int step = 0; turn; turn /= 4, step++) {
    PetscInt *x = bit + step % 2;

    for (PetscInt quarter = turn % 4; quarter; quarter--) {
      const PetscInt keep = x[0];

      x[0] = 1 - x[1];
      x[1] = keep;
    }
  }
  return bit[0] + 2 * bit[1] + 4 * bit[2];
}

static PetscErrorCode QuadratureCreate(PetscInt dim, PetscInt degree, PetscInt points, PetscQuadrature *q)
{
  PetscReal *x1, *w1, *x, *w;
  PetscInt   n = degree + 1, all = dim == 3 ? n * n * n : n * n;

  PetscFunctionBeginUser;
  if (points) {
    PetscCall(PetscDTGaussTensorQuadrature(dim, 1, points, -1, 1, q));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc2(n, &x1, n, &w1));
  PetscCall(PetscMalloc1(all * dim, &x));
  PetscCall(PetscMalloc1(all, &w));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(n, PETSCGAUSSLOBATTOLEGENDRE_VIA_NEWTON, x1, w1));
  for (PetscInt i = 0; i < all; i++) {
    const PetscInt at[3] = {i % n, i / n % n, i / n / n};

    w[i] = 1;
    for (int d = 0; d < dim; d++) {
      x[i * dim + d] = x1[at[d]];
      w[i] *= w1[at[d]];
    }
  }
  PetscCall(PetscFree2(x1, w1));
  PetscCall(PetscQuadratureCreate(PETSC_COMM_SELF, q));
  PetscCall(PetscQuadratureSetOrder(*q, 2 * degree - 1));
  PetscCall(PetscQuadratureSetData(*q, dim, 1, all, x, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Zero(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, PETSC_UNUSED const PetscReal x[], PetscInt Nc,
                           PetscScalar *u, PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < Nc; c++) u[c] = 0;
  return PETSC_SUCCESS;
}

static PetscErrorCode SpaceCreate(DM dm, const Mesh *m)
{
  PetscFE         fe;
  PetscQuadrature q;

  PetscFunctionBeginUser;
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, m->dim, m->ncomp, m->simplex, m->degree, m->degree + 1, &fe));
  if (!m->simplex) {
    PetscCall(QuadratureCreate(m->dim, m->degree, m->points, &q));
    PetscCall(PetscFESetQuadrature(fe, q));
    PetscCall(PetscQuadratureDestroy(&q));
  }
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(DMCreateDS(dm));
  if (m->dirichlet) {
    const PetscInt id = 1;
    DMLabel        label;

    PetscCall(DMGetLabel(dm, "wall", &label));
    PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "wall", label, 1, &id, 0, 0, NULL, (PetscVoidFn *)Zero, NULL, NULL, NULL));
  }
  PetscCall(PetscFEDestroy(&fe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two bodies: the second layer of cells in x is left out */
static void Split(PetscInt dim, PetscReal x[])
{
  Sine(dim, x);
}

/* the cells and vertices of a box, on rank 0 */
static PetscErrorCode BoxCreate(const Mesh *m, DM *dm)
{
  static const PetscInt quad[4] = {0, 1, 3, 2}, hex[8] = {0, 2, 3, 1, 4, 5, 7, 6}; /* the corners of PETSc's cells, x fastest in each */
  const PetscInt        n[3] = {m->n[0], m->n[1], m->dim == 3 ? m->n[2] : 1}, corners = 1 << m->dim, third = m->dim == 3;
  PetscInt              ncells = n[0] * n[1] * n[2], nvertices = (n[0] + 1) * (n[1] + 1) * (n[2] * third + 1), used = 0, *cells;
  PetscReal            *x;
  PetscRandom           rnd;
  PetscMPIInt           rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc2(ncells * corners, &cells, nvertices * m->dim, &x));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (PetscInt c = 0; c < ncells; c++) {
    const PetscInt at[3] = {c % n[0], c / n[0] % n[1], c / n[0] / n[1]};
    PetscReal      r;

    if (m->move == Split && at[0] == 1) continue;
    PetscCall(PetscRandomGetValueReal(rnd, &r));
    for (PetscInt i = 0; i < corners; i++) {
      const PetscInt corner = Turn(m->turn ? (PetscInt)(r * (third ? 64 : 4)) : 0, third ? hex[i] : quad[i]);

      cells[used * corners + i] = ((at[2] + (corner >> 2 & 1)) * (n[1] + 1) + at[1] + (corner >> 1 & 1)) * (n[0] + 1) + at[0] +
                                  (corner & 1);
    }
    used++;
  }
  PetscCall(PetscRandomDestroy(&rnd));
  for (PetscInt v = 0; v < nvertices; v++) {
    const PetscInt at[3] = {v % (n[0] + 1), v / (n[0] + 1) % (n[1] + 1), v / (n[0] + 1) / (n[1] + 1)};

    for (int d = 0; d < m->dim; d++) x[v * m->dim + d] = (PetscReal)at[d] / n[d];
    if (m->move) (*m->move)(m->dim, x + v * m->dim);
  }
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, m->dim, rank ? 0 : used, rank ? 0 : nvertices, corners, PETSC_TRUE, cells,
                                          m->dim, x, dm));
  PetscCall(PetscFree2(cells, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshCreate(const Mesh *m, PetscInt refine, DM *dm)
{
  PetscPartitioner part;
  DMLabel          label;
  DM               other;

  PetscFunctionBeginUser;
  PetscCall(BoxCreate(m, dm));
  for (PetscInt i = 0; i < refine; i++) {
    PetscCall(DMPlexSetRefinementUniform(*dm, PETSC_TRUE));
    PetscCall(DMRefine(*dm, PETSC_COMM_WORLD, &other));
    PetscCall(DMDestroy(dm));
    *dm = other;
  }
  PetscCall(DMCreateLabel(*dm, "wall"));
  PetscCall(DMGetLabel(*dm, "wall", &label));
  PetscCall(DMPlexMarkBoundaryFaces(*dm, 1, label));
  PetscCall(DMPlexLabelComplete(*dm, label));
  PetscCall(DMPlexGetPartitioner(*dm, &part));
  PetscCall(PetscPartitionerSetFromOptions(part));
  {
    PetscInt overlap = 0;

    PetscCall(PetscOptionsGetInt(NULL, NULL, "-overlap", &overlap, NULL));
    PetscCall(DMPlexDistribute(*dm, overlap, NULL, &other));
  }
  if (other) {
    PetscCall(DMDestroy(dm));
    *dm = other;
  }
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(SpaceCreate(*dm, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- functions ---- */

static PetscErrorCode Wave(PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PetscInt Nc, PetscScalar *u, PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < Nc; c++) u[c] = PetscCosReal(2 * x[0] + 3 * x[1] + (dim == 3 ? 5 * x[2] : 0) + c);
  return PETSC_SUCCESS;
}

static PetscErrorCode Sines(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar *u, PETSC_UNUSED void *ctx)
{
  u[0] = PetscSinReal(PETSC_PI * x[0]) * PetscSinReal(PETSC_PI * x[1]) * PetscSinReal(PETSC_PI * x[2]);
  return PETSC_SUCCESS;
}

/* one at the vertex (1, 1, 2) of the mesh of 2 x 3 x 4 cells */
static PetscErrorCode AtVertex(PetscInt dim, PETSC_UNUSED PetscReal t, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar *u,
                               PETSC_UNUSED void *ctx)
{
  PetscReal v[3] = {0.5, 1. / 3, 0.5};

  Sine(dim, v);
  u[0] = PetscAbsReal(x[0] - v[0]) + PetscAbsReal(x[1] - v[1]) + PetscAbsReal(x[2] - v[2]) < 1e-9;
  return PETSC_SUCCESS;
}

typedef PetscErrorCode (*Function)(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *);

/* the values of a function at the nodes */
static PetscErrorCode Interpolate(DM dm, Function f, Vec *v)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, v));
  PetscCall(DMProjectFunction(dm, 0, &f, NULL, INSERT_VALUES, *v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's own finite elements ---- */

#define POINT \
  PetscInt dim, PetscInt Nf, PetscInt NfAux, const PetscInt uOff[], const PetscInt uOff_x[], const PetscScalar u[], \
    const PetscScalar u_t[], const PetscScalar u_x[], const PetscInt aOff[], const PetscInt aOff_x[], const PetscScalar a[], \
    const PetscScalar a_t[], const PetscScalar a_x[], PetscReal t
#define UNUSED \
  (void)Nf, (void)NfAux, (void)uOff, (void)uOff_x, (void)u, (void)u_t, (void)u_x, (void)aOff, (void)aOff_x, (void)a, (void)a_t, (void)a_x, \
    (void)t, (void)dim, (void)x, (void)numConstants, (void)constants

/* constants: coefficients of mass and stiffness, the number of components */
static void MassJacobian(POINT, PetscReal shift, const PetscReal x[], PetscInt numConstants, const PetscScalar constants[],
                         PetscScalar g0[])
{
  const PetscInt nc = (PetscInt)constants[2];

  (void)shift, UNUSED;
  for (PetscInt c = 0; c < nc; c++) g0[c * nc + c] = constants[0];
}
