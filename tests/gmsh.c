static char help[] =
  "Meshes of Gmsh files: formats 2.2 and 4.1, text and binary, cells of first and second order, physical groups as materials and as sides\n\
with Dirichlet conditions, cells that are folded or numbered the other way round.  The files are written here.  The energy of a function\n\
with a known gradient tells whether places and materials are right.\n\
\n\
  gmsh -dim 3 -order 2 -format 4 -binary\n\n";

#include <petscpatchfd.h>
#include <petscdmplex.h>
#include <stdio.h>
#include "catch.h"
#include "runtest.h"

enum {
  NX     = 4, /* even: each half is a material */
  NY     = 2,
  NZ     = 3,
  BLOCKS = 4 /* the left and the right side, the left and the right half of the cells */
};
static const PetscReal bend          = 0.2;
static const PetscInt  group[BLOCKS] = {10, 11, 1, 2};

typedef struct {
  PetscInt  dim, order, format, degree;
  PetscBool binary;
  PetscInt  flipped; /* the cell that has its corners in the order of the other way round, or -1 */
  PetscBool folded;  /* a node lies beyond the next one: cell 3 is folded */
} Case;

/* ---- the mesh: the unit square or cube, bent by x = r (1 + bend s^2), s the second coordinate ---- */

/* the nodes of a cell in Gmsh's order, in halves of its sides */
static const int hex[27][3] = {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}, {0, 0, 2}, {2, 0, 2}, {2, 2, 2}, {0, 2, 2}, {1, 0, 0},
                               {0, 1, 0}, {0, 0, 1}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {2, 2, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 2},
                               {2, 1, 2}, {1, 2, 2}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1}};
static const int quad[9][2] = {{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 0}, {2, 1}, {1, 2}, {0, 1}, {1, 1}};
static const int line[3]    = {0, 2, 1};

static PetscInt DimOf(const Case *c, int block)
{
  return block < 2 ? c->dim - 1 : c->dim;
}

static PetscInt CountOf(const Case *c, int block)
{
  return NY * (c->dim == 3 ? NZ : 1) * (block < 2 ? 1 : NX / 2);
}

/* node i of an element of a block: its number in the lattice of halves of cells */
static size_t NodeOf(const Case *c, int block, PetscInt element, PetscInt i)
{
  static const int flip[8] = {0, 3, 2, 1, 4, 7, 6, 5};
  const PetscInt   cell = element + (block - 2) * CountOf(c, block), columns = block < 2 ? 1 : NX / 2, first = block % 2 * NX / 2;
  PetscInt         at[3] = {2 * (first + element % columns), 2 * (element / columns % NY), 2 * (element / columns / NY)};

  if (block < 2) {
    at[0] = block * 2 * NX;
    at[1] += c->dim == 3 ? quad[i][0] : line[i];
    if (c->dim == 3) at[2] += quad[i][1];
  } else {
    if (cell == c->flipped) i = flip[i];
    for (int d = 0; d < c->dim; d++) at[d] += c->dim == 3 ? hex[i][d] : quad[i][d];
  }
  return (size_t)(1 + at[0] + (2 * NX + 1) * (at[1] + (2 * NY + 1) * at[2]));
}

/* ---- files ---- */

static void PutInt(FILE *f, const Case *c, PetscInt n)
{
  const int i = (int)n;

  if (c->binary) (void)fwrite(&i, sizeof(i), 1, f);
  else fprintf(f, "%d ", i);
}

static void PutSize(FILE *f, const Case *c, size_t n)
{
  if (c->binary) (void)fwrite(&n, sizeof(n), 1, f);
  else fprintf(f, "%zu ", n);
}

static void PutReal(FILE *f, const Case *c, double x)
{
  if (c->binary) (void)fwrite(&x, sizeof(x), 1, f);
  else fprintf(f, "%.17g ", x);
}

static void EndLine(FILE *f, const Case *c)
{
  if (!c->binary) fputc('\n', f);
}

/* of cells of first order there is every other node of the lattice: numbers of nodes have gaps */
static void PutNodes(FILE *f, const Case *c, PetscBool numbers, PetscBool places)
{
  const PetscInt step = c->order == 1 ? 2 : 1;

  for (PetscInt k = 0; k <= (c->dim == 3 ? 2 * NZ : 0); k += step) {
    for (PetscInt j = 0; j <= 2 * NY; j += step) {
      for (PetscInt i = 0; i <= 2 * NX; i += step) {
        const PetscInt number = 1 + i + (2 * NX + 1) * (j + (2 * NY + 1) * k);
        const double   s      = (double)j / (2 * NY);

        if (numbers && c->format == 2) PutInt(f, c, number);
        if (numbers && c->format == 4) PutSize(f, c, (size_t)number);
        if (places) {
          PutReal(f, c, (double)(c->folded && i == 2 && j == 2 && k == 0 ? 5 : i) / (2 * NX) * (1 + (double)bend * s * s));
          PutReal(f, c, s);
          PutReal(f, c, (double)k / (2 * NZ));
        }
        EndLine(f, c);
      }
    }
  }
}

/* format 4.1: the parts of the geometry, of which only the groups are of interest */
static void PutEntities(FILE *f, const Case *c)
{
  fprintf(f, "$Entities\n");
  for (PetscInt d = 0; d < 4; d++) PutSize(f, c, d == c->dim || d == c->dim - 1 ? 2 : 0);
  EndLine(f, c);
  for (int b = 0; b < BLOCKS; b++) {
    PutInt(f, c, 1 + b % 2);
    for (int i = 0; i < 6; i++) PutReal(f, c, i < 3 ? 0 : 2);
    PutSize(f, c, 1);
    PutInt(f, c, group[b]);
    PutSize(f, c, 0);
    EndLine(f, c);
  }
  fprintf(f, "\n$EndEntities\n");
}

static void PutElements(FILE *f, const Case *c)
{
  static const int type[2][3] = {{1, 3, 5}, {8, 10, 12}};
  PetscInt         number     = 0;

  for (int b = 0; b < BLOCKS; b++) {
    const PetscInt dim = DimOf(c, b), count = CountOf(c, b), size = PetscPowInt(c->order + 1, dim), what = type[c->order - 1][dim - 1];

    if (c->format == 4) {
      PutInt(f, c, dim);
      PutInt(f, c, 1 + b % 2);
      PutInt(f, c, what);
      PutSize(f, c, (size_t)count);
      EndLine(f, c);
    } else if (c->binary) {
      PutInt(f, c, what);
      PutInt(f, c, count);
      PutInt(f, c, 2);
    }
    for (PetscInt e = 0; e < count; e++) {
      number++;
      if (c->format == 4) PutSize(f, c, (size_t)number);
      else {
        PutInt(f, c, number);
        if (!c->binary) {
          PutInt(f, c, what);
          PutInt(f, c, 2);
        }
        PutInt(f, c, group[b]);
        PutInt(f, c, 1 + b % 2);
      }
      for (PetscInt i = 0; i < size; i++) {
        if (c->format == 4) PutSize(f, c, NodeOf(c, b, e, i));
        else PutInt(f, c, (PetscInt)NodeOf(c, b, e, i));
      }
      EndLine(f, c);
    }
  }
}

static PetscErrorCode WriteFile(const Case *c, const char name[])
{
  const PetscInt halves = c->order, z = c->dim == 3 ? halves * NZ + 1 : 1, one = 1;
  const size_t   nodes = (size_t)((halves * NX + 1) * (halves * NY + 1) * z), elements = (size_t)(2 * (CountOf(c, 0) + CountOf(c, 2)));
  FILE          *f = fopen(name, "wb");

  PetscFunctionBeginUser;
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s", name);
  fprintf(f, "$MeshFormat\n%s %d 8\n", c->format == 2 ? "2.2" : "4.1", (int)c->binary);
  if (c->binary) PutInt(f, c, one);
  fprintf(f, "%s$EndMeshFormat\n", c->binary ? "\n" : "");
  if (c->format == 4) PutEntities(f, c);
  fprintf(f, "$Nodes\n");
  if (c->format == 4) {
    const size_t sizes[4] = {1, nodes, 1, 100000};

    for (int i = 0; i < 4; i++) PutSize(f, c, sizes[i]);
    EndLine(f, c);
    PutInt(f, c, c->dim);
    PutInt(f, c, 1);
    PutInt(f, c, 0);
    PutSize(f, c, nodes);
    EndLine(f, c);
    PutNodes(f, c, PETSC_TRUE, PETSC_FALSE);
    PutNodes(f, c, PETSC_FALSE, PETSC_TRUE);
  } else {
    fprintf(f, "%zu\n", nodes);
    PutNodes(f, c, PETSC_TRUE, PETSC_TRUE);
  }
  fprintf(f, "\n$EndNodes\n$Elements\n");
  if (c->format == 4) {
    const size_t sizes[4] = {BLOCKS, elements, 1, elements};

    for (int i = 0; i < 4; i++) PutSize(f, c, sizes[i]);
    EndLine(f, c);
  } else fprintf(f, "%zu\n", elements);
  PutElements(f, c);
  fprintf(f, "\n$EndElements\n");
  PetscCheck(!fclose(f), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "%s", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operator ---- */

/* with Dirichlet conditions at the sides of the groups 10 and 11, or none */
static PetscErrorCode CreateMatrix(const Case *c, const char name[], PetscBool fixed, DM *dm, Mat *A)
{
  const PetscReal K[2] = {1, 1000};
  PetscMPIInt     rank;
  PetscInt        first, end;
  DMLabel         label;
  PetscFE         fe;
  PetscScalar    *a;
  Vec             v;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) PetscCall(WriteFile(c, name));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscOptionsSetValue(NULL, "-dm_plex_filename", name));
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, c->dim, 1, PETSC_FALSE, c->degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  PetscCall(DMGetLabel(*dm, "Face Sets", &label));
  if (fixed) {
    PetscCall(DMPlexLabelComplete(*dm, label));
    PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "sides", label, 2, group, 0, 0, NULL, NULL, NULL, NULL, NULL));
  }
  PetscCall(MatCreateDiffusionPlex(*dm, A));
  PetscCall(DMGetLabel(*dm, "Cell Sets", &label));
  PetscCall(DMPlexGetHeightStratum(*dm, 0, &first, &end));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, end - first, PETSC_DETERMINE, &v));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt cell = first; cell < end; cell++) {
    PetscInt material;

    PetscCall(DMLabelGetValue(label, cell, &material));
    a[cell - first] = K[material - group[2]];
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscCall(MatDiffusionPlexSetVec(*A, v, NULL));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode First(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                            PetscScalar u[], PETSC_UNUSED void *ctx)
{
  u[0] = x[0];
  return PETSC_SUCCESS;
}

/* x' A x = 1 |left half| + 1000 |right half|; chords instead of parabolas enclose a little more */
static PetscErrorCode TestEnergy(const Case *c)
{
  PetscErrorCode (*functions[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {First};
  const PetscReal square = c->order == 2 ? 1. / 3 : 1. / 3 + 1. / 6 / (NY * NY); /* the integral of s^2, or of what is linear in cells */
  const PetscReal wanted = 500.5 * (1 + bend * square);
  DM              dm;
  Mat             A;
  Vec             x, y;
  PetscScalar     energy;

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(c, "energy.msh", PETSC_FALSE, &dm, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(DMProjectFunction(dm, 0, functions, NULL, INSERT_ALL_VALUES, x));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDot(x, y, &energy));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "energy: %s\n", PetscAbsScalar(energy - wanted) <= 1e-11 * wanted ? "right" : "WRONG"));
  if (!(PetscAbsScalar(energy - wanted) <= 1e-11 * wanted))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.15g, not %.15g\n", (double)energy, (double)wanted));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolve(const Case *c)
{
  const PetscInt     N = c->degree, wanted = (NX * N - 1) * (NY * N + 1) * (c->dim == 3 ? NZ * N + 1 : 1);
  DM                 dm;
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  PetscInt           n, its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMatrix(c, "solve.msh", PETSC_TRUE, &dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetSize(x, &n));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "unknowns: %s\n", n == wanted ? "right" : "WRONG"));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-9, 0, PETSC_CURRENT, 20));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", reason > 0 && its <= 9 ? "solved" : "NOT SOLVED"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the message says which cell, and where it is */
static PetscErrorCode TestErrors(Case *c)
{
  PetscErrorCode ierr;
  DM             dm;
  Mat            A;

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    c->flipped = i == 0 ? 3 : -1;
    c->folded  = (PetscBool)(i == 1);
    CATCH(ierr, CreateMatrix(c, "errors.msh", PETSC_FALSE, &dm, &A));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", i ? "folded" : "flipped",
                          ierr && strstr(lastmessage, "Cell 3 is inverted or degenerate, with a corner at (0") ? "named" : lastmessage));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  Case      c      = {.dim = 2, .order = 1, .format = 2, .degree = 3, .flipped = -1};
  PetscBool errors = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &c.dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-order", &c.order, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-format", &c.format, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &c.degree, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-binary", &c.binary, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  if (errors) PetscCall(TestErrors(&c));
  else {
    PetscCall(TestEnergy(&c));
    PetscCall(TestSolve(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST
  test:
    suffix: 2d
    output_file: output/gmsh.out
    args: -each_order 1:2 -each_format 2:4 -each_binary 0:1
  test:
    suffix: 3d
    output_file: output/gmsh.out
    args: -dim 3 -each_order 1:2 -each_format 2:4 -each_binary 0:1
  test:
    suffix: ranks
    output_file: output/gmsh.out
    nsize: 3
    args: -each_dim 2:3 -each_order 1:2 -format 4
  test:
    suffix: errors
    args: -errors -malloc_dump 0 -each_dim 2:3
TEST*/
