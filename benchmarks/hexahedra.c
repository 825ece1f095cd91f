static char help[] =
  "Iterations and times of multigrid over degrees on unstructured quadrilaterals or hexahedra: -div(K grad u) = 1, u = 0 on the boundary;\n\
  or a solid, clamped, with a force of 1 in each direction.\n\
  -degrees <k,...>    : polynomial degrees (default 2,4)\n\
  -mesh <ball>        : disc, ball or cylinder of blocks, a square or cube inside and one in each direction around it; plex, that of\n\
                        -dm_plex_filename, or of -dm_plex_*, for a box -dm_plex_simplex 0\n\
  -cells <n>          : in a direction of a block (default 2)\n\
  -K <kind>           : const, 1; smooth, a function of space; constant in a cell: jump, 1 or the contrast, by the parity of the label\n\
                        Cell Sets, or on a checkerboard of 3^d where there is none; random, log-uniform by the cell's centre\n\
  -walls <n,...>      : u = 0 on sides with these values of the label Face Sets alone (default: on all of the boundary)\n\
  -contrast <C>       : largest K by smallest K (default 1000)\n\
  -poisson_ratio <nu> : a solid, of Young's modulus 1\n\
  -smoothers <s,...>  : jacobi (three steps of Chebyshev's iteration of the first kind), c4 (closed cells, two steps of the fourth kind),\n\
                        c1 (closed cells, three steps of the first kind), options (what options say), gamg (PCGAMG on the assembled\n\
                        matrix); default jacobi,c4,c1\n\
  -mixed              : each but gamg also in single precision (PCSINGLE), in columns of their own\n\
  -ksp_type, -mg_*    : as for any solve; default cg, to 1e-9 in the residual; -dm_vec_type says where vectors live\n\
Columns: iterations for a reduction by 1e9 at the mean rate, seconds of set-up and of a solve, the better of two.\n\n";

#include <petscdmplex.h>
#include <petscds.h>
#include <petscpatchfd.h>
#include "now.h"

/* ---- meshes of blocks ---- */

typedef struct {
  PetscInt dim, round, n; /* directions of the disc or ball; cells in a direction of a block */
} Blocks;
static const char *const meshes[] = {"plex", "disc", "ball", "cylinder", "-mesh", "", NULL};
static const Blocks      blocks[] = {{0, 0, 0}, {2, 2, 2}, {3, 3, 2}, {3, 2, 2}};

/* The node at[] of the lattice of a block by a number that blocks share: the layer outside, then the node of the inner block, or that
   under it */
static PetscInt NodeKey(const Blocks *b, PetscInt block, const PetscInt at[])
{
  const PetscInt axis = (block - 1) / 2, side = (block - 1) % 2 * b->n;
  PetscInt       key = 0;

  if (block) key = side ? at[axis] : b->n - at[axis];
  for (PetscInt d = 0; d < b->dim; d++) key = key * (b->n + 1) + (block && d == axis ? side : at[d]);
  return key;
}

static void NodePlace(const Blocks *b, PetscInt key, PetscReal x[])
{
  const PetscReal inner = 0.4;
  PetscReal       t, length = 0, angle[3];

  for (PetscInt d = b->dim - 1; d >= 0; d--) {
    x[d] = 2. * (PetscReal)(key % (b->n + 1)) / (PetscReal)b->n - 1;
    key /= b->n + 1;
  }
  t = (PetscReal)key / (PetscReal)b->n;
  for (PetscInt d = 0; d < b->round; d++) {
    angle[d] = PetscTanReal(x[d] * PETSC_PI / 4);
    length += PetscSqr(angle[d]);
  }
  for (PetscInt d = 0; d < b->round; d++) x[d] = (1 - t) * inner * x[d] + (t > 0 ? t * angle[d] / PetscSqrtReal(length) : 0);
}

static PetscErrorCode CreateBlocks(const Blocks *b, DM *dm)
{
  static const PetscInt quad[4] = {0, 1, 3, 2}, hex[8] = {0, 2, 3, 1, 4, 5, 7, 6}; /* corners of a cell in PETSc's order */
  const PetscInt        corners = 1 << b->dim, size = PetscPowInt(b->n, b->dim);
  PetscInt              ncells = (2 * b->round + 1) * size, nnodes = ncells * corners, *cell, *key;
  PetscReal            *x;
  PetscMPIInt           rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank) ncells = nnodes = 0;
  PetscCall(PetscMalloc3(nnodes, &cell, nnodes, &key, nnodes * b->dim, &x));
  for (PetscInt i = 0; i < nnodes; i++) {
    const PetscInt c = i / corners, corner = b->dim == 3 ? hex[i % 8] : quad[i % 4];
    PetscInt       at[3];

    for (PetscInt d = 0, rest = c % size; d < b->dim; d++, rest /= b->n) at[d] = rest % b->n + (corner >> d & 1);
    key[i] = cell[i] = NodeKey(b, c / size, at);
  }
  PetscCall(PetscSortRemoveDupsInt(&nnodes, key));
  for (PetscInt i = 0; i < ncells * corners; i++) PetscCall(PetscFindInt(cell[i], nnodes, key, &cell[i]));
  for (PetscInt i = 0; i < nnodes; i++) NodePlace(b, key[i], x + i * b->dim);
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, b->dim, ncells, nnodes, corners, PETSC_TRUE, cell, b->dim, x, dm));
  PetscCall(DMCreateLabel(*dm, "Cell Sets"));
  for (PetscInt c = 0; c < ncells; c++) PetscCall(DMSetLabelValue(*dm, "Cell Sets", c, c / size));
  PetscCall(PetscFree3(cell, key, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(const Blocks *b, DM *dm)
{
  PetscFunctionBeginUser;
  if (b->dim) PetscCall(CreateBlocks(b, dm));
  else PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMSetFromOptions(*dm)); /* reads or makes what there is not yet; spreads it over ranks */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- K ---- */

static const char *const conductivities[] = {"const", "smooth", "jump", "random", "-K", "", NULL};

typedef struct {
  char      kind; /* the first letter */
  PetscReal contrast;
} Conductivity;

static PetscErrorCode FunctionOfSpace(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                      PetscScalar *K, void *ctx)
{
  const Conductivity *k    = (const Conductivity *)ctx;
  PetscReal           wave = PetscCosReal(PETSC_PI * x[0]);

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) wave *= PetscSinReal(2 * PETSC_PI * x[d]);
  *K = PetscPowReal(k->contrast, 0.5 * (1 + wave));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a cell with its centre at x, which is the same on any number of ranks; the centres of all are in a box */
static PetscReal CellValue(const Conductivity *k, PetscInt dim, const PetscReal x[], const PetscReal box[2][3], PetscInt block)
{
  const PetscReal frequency[3] = {12.9898, 78.233, 37.719};
  PetscReal       phase        = 0, sine;

  if (k->kind == 'r') {
    for (PetscInt d = 0; d < dim; d++) phase += frequency[d] * x[d];
    sine = 437.585453 * PetscSinReal(phase);
    return PetscPowReal(k->contrast, sine - PetscFloorReal(sine));
  }
  for (PetscInt d = 0; d < dim && block < 0; d++) phase += PetscFloorReal(3 * (x[d] - box[0][d]) / (box[1][d] - box[0][d] + 1e-9));
  return (block < 0 ? (PetscInt)phase : block) % 2 ? k->contrast : 1;
}

/* one number in a cell, the auxiliary field of dm */
static PetscErrorCode SetCellValues(const Conductivity *k, PetscFE like, DM dm)
{
  const PetscReal centre[3] = {0};
  PetscReal       x[3], box[2][3] = {{PETSC_MAX_REAL, PETSC_MAX_REAL, PETSC_MAX_REAL}, {PETSC_MIN_REAL, PETSC_MIN_REAL, PETSC_MIN_REAL}};
  PetscInt        dim, first, end;
  DM              values;
  DMLabel         blocks;
  PetscFE         fe;
  Vec             v;
  PetscScalar    *a, *at;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMClone(dm, &values));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, 1, PETSC_FALSE, 0, PETSC_DETERMINE, &fe));
  PetscCall(PetscFECopyQuadrature(like, fe));
  PetscCall(DMSetField(values, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(values));
  PetscCall(DMCreateLocalVector(values, &v));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &first, &end));
  PetscCall(DMGetLabel(dm, "Cell Sets", &blocks));
  for (PetscInt c = first; c < end; c++) {
    PetscCall(DMPlexReferenceToCoordinates(dm, c, 1, centre, x));
    for (PetscInt d = 0; d < dim; d++) {
      box[0][d] = PetscMin(box[0][d], x[d]);
      box[1][d] = PetscMax(box[1][d], x[d]);
    }
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, box[0], 3, MPIU_REAL, MPIU_MIN, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, box[1], 3, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt c = first; c < end; c++) {
    PetscInt block = -1;

    if (blocks) PetscCall(DMLabelGetValue(blocks, c, &block));
    PetscCall(DMPlexReferenceToCoordinates(dm, c, 1, centre, x));
    PetscCall(DMPlexPointLocalRef(values, c, a, &at));
    *at = CellValue(k, dim, x, (const PetscReal(*)[3])box, block);
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscCall(DMSetAuxiliaryVec(dm, NULL, 0, 0, v));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the problem ---- */

#define U_ PETSC_UNUSED
#define POINTWISE \
  U_ PetscInt dim, U_ PetscInt Nf, U_ PetscInt NfAux, U_ const PetscInt uOff[], U_ const PetscInt uOff_x[], U_ const PetscScalar u[], \
    U_ const PetscScalar u_t[], U_ const PetscScalar u_x[], U_ const PetscInt aOff[], U_ const PetscInt aOff_x[], \
    U_ const PetscScalar a[], U_ const PetscScalar a_t[], U_ const PetscScalar a_x[], U_ PetscReal t
#define AT_POINT U_ const PetscReal x[], U_ PetscInt numConstants, U_ const PetscScalar constants[]

static void Stiffness(POINTWISE, U_ PetscReal shift, AT_POINT, PetscScalar g3[])
{
  for (PetscInt d = 0; d < dim; d++) g3[d * dim + d] = a[0];
}

/* the load of 1 by a mass matrix, in much less time than by DMPlexSNESComputeResidualFEM(); local vectors have all nodes with and without
   boundary conditions, in one order */
static PetscErrorCode SetLoad(DM mesh, PetscFE fe, DM dm, Vec b)
{
  DM       all;
  Mat      M;
  Vec      one, load, local;
  PetscInt ncomp;

  PetscFunctionBeginUser;
  PetscCall(PetscFEGetNumComponents(fe, &ncomp));
  PetscCall(DMClone(mesh, &all));
  PetscCall(DMSetField(all, 0, NULL, (PetscObject)fe));
  PetscCall(DMCreateDS(all));
  PetscCall(MatCreateBakeoff(all, ncomp == 1 ? MAT_BAKEOFF_BP1 : MAT_BAKEOFF_BP2, MAT_BAKEOFF_LAYOUT_GLOBAL, &M));
  PetscCall(MatCreateVecs(M, &one, &load));
  PetscCall(VecSet(one, 1));
  PetscCall(MatMult(M, one, load));
  PetscCall(DMCreateLocalVector(all, &local));
  PetscCall(DMGlobalToLocal(all, load, INSERT_VALUES, local));
  PetscCall(DMLocalToGlobal(dm, local, INSERT_VALUES, b));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&one));
  PetscCall(VecDestroy(&load));
  PetscCall(MatDestroy(&M));
  PetscCall(DMDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MarkWalls(DM dm, DMLabel wall)
{
  PetscInt  side[16], n = 16;
  PetscBool some;
  IS        faces;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-walls", side, &n, &some));
  if (!some) PetscCall(DMPlexMarkBoundaryFaces(dm, 1, wall));
  for (PetscInt i = 0; some && i < n; i++) {
    PetscCall(DMGetStratumIS(dm, "Face Sets", side[i], &faces));
    if (faces) PetscCall(DMLabelInsertIS(wall, faces, 1)); /* else other ranks have them */
    PetscCall(ISDestroy(&faces));
  }
  PetscCall(DMPlexLabelComplete(dm, wall));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateProblem(DM mesh, PetscInt degree, Conductivity *k, const PetscReal *ratio, DM *dm, Mat *A, Vec *b)
{
  const PetscInt one = 1;
  PetscInt       dim;
  PetscFE        fe;
  PetscDS        ds;
  DMLabel        wall;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(mesh, &dim));
  PetscCall(DMClone(mesh, dm));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, dim, ratio ? dim : 1, PETSC_FALSE, degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(DMCreateDS(*dm));
  PetscCall(DMCreateLabel(*dm, "wall"));
  PetscCall(DMGetLabel(*dm, "wall", &wall));
  PetscCall(MarkWalls(*dm, wall));
  PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "wall", wall, 1, &one, 0, 0, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMGetDS(*dm, &ds));
  PetscCall(MatCreateDiffusionPlex(*dm, A));
  PetscCall(MatSetFromOptions(*A));
  if (ratio) PetscCall(MatElasticityPlexSetModuli(*A, 1, *ratio, DMBOX_PLANE_STRAIN, 0));
  else if (k->kind == 's') PetscCall(MatDiffusionPlexSetFunction(*A, 1, FunctionOfSpace, NULL, k));
  else if (k->kind != 'c') {
    PetscCall(SetCellValues(k, fe, *dm));
    PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, NULL, Stiffness));
    PetscCall(MatDiffusionPlexSetJacobian(*A, *dm, NULL, 0, 0));
  }
  PetscCall(MatCreateVecs(*A, NULL, b));
  PetscCall(SetLoad(mesh, fe, *dm, *b));
  PetscCall(PetscFEDestroy(&fe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solvers ---- */

static const char *const names[] = {"jacobi", "c4", "c1", "options", "gamg", "-smoothers", "", NULL};
enum {
  GAMG = 4
};
static const char *const option[6]  = {"-pc_type",
                                       "-mg_levels_ksp_type",
                                       "-mg_levels_pc_type",
                                       "-mg_levels_ksp_max_it",
                                       "-mg_levels_pc_patchfd_type",
                                       "-mg_levels_pc_patchfd_sweeps"};
static const char *const value[][6] = {{PCPATCHMG, KSPCHEBYSHEV, PCJACOBI, "3"},
                                       {PCPATCHMG, NULL, PCPATCHFD, NULL, "chebyshev_fourth", "2"},
                                       {PCPATCHMG, NULL, PCPATCHFD, NULL, "chebyshev_first", "3"},
                                       {NULL},
                                       {PCGAMG}};

/* option i of a smoother, of the cycle in double or in single precision */
static PetscErrorCode Option(int s, int i, PetscBool mixed, PetscBool set)
{
  char name[64];

  PetscFunctionBeginUser;
  if (!value[s][i]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", mixed ? "single_" : "", option[i] + 1));
  if (set) PetscCall(PetscOptionsSetValue(NULL, name, value[s][i]));
  else PetscCall(PetscOptionsClearValue(NULL, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, Vec b, int s, PetscBool mixed)
{
  const PetscInt     most = 200;
  PetscLogDouble     t[4], best = PETSC_MAX_REAL;
  const PetscReal   *history;
  PetscInt           n;
  KSPConvergedReason reason;
  VecType            type;
  PetscBool          cuda;
  Mat                P;
  Vec                x;
  KSP                ksp;
  PC                 pc;

  PetscFunctionBeginUser;
  for (int i = 0; i < 6; i++) PetscCall(Option(s, i, mixed, PETSC_TRUE));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Now(&t[0]));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmp(type, VECCUDA, &cuda));
  if (s == GAMG) {
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &P));
    if (cuda) PetscCall(MatConvert(P, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, &P));
  } else PetscCall(PetscObjectReference((PetscObject)(P = A)));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, most));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, mixed ? PCSINGLE : PCPATCHMG));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGMRESSetRestart(ksp, most)); /* never */
  PetscCall(KSPSetUp(ksp));
  PetscCall(Now(&t[1]));
  for (int i = 0; i < 2; i++) { /* the first one may record cycles */
    PetscCall(Now(&t[2]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Now(&t[3]));
    best = PetscMin(best, t[3] - t[2]);
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualHistory(ksp, &history, &n));
  if (reason > 0 && n > 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %6.1f", (double)(-9 * (n - 1) / PetscLog10Real(history[n - 1] / history[0]))));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " |      -"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %7.3f %7.3f", t[1] - t[0], best));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&P));
  PetscCall(VecDestroy(&x));
  for (int i = 0; i < 6; i++) PetscCall(Option(s, i, mixed, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt     degree[15] = {2, 4}, n = 15, m = 8, N, ncells, first, end;
  Blocks       mesh;
  PetscEnum    which = 2, kind = 0, smoother[8] = {0, 1, 2};
  Conductivity k = {'c', 1000};
  PetscBool    set, solid, mixed = PETSC_FALSE;
  PetscReal    ratio = 0;
  DM           plex, dm;
  Mat          A;
  Vec          b;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degree, &n, &set));
  if (!set) n = 2;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", meshes, &which, NULL));
  mesh = blocks[which];
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &mesh.n, NULL));
  PetscCheck(!mesh.dim || mesh.n > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-cells %" PetscInt_FMT " has to be positive", mesh.n);
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-K", conductivities, &kind, NULL));
  k.kind = conductivities[kind][0];
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &k.contrast, NULL));
  PetscCheck(k.contrast > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-contrast %g has to be positive", (double)k.contrast);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-poisson_ratio", &ratio, &solid));
  PetscCall(PetscOptionsGetEnumArray(NULL, NULL, "-smoothers", names, smoother, &m, &set));
  if (!set) m = 3;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mixed", &mixed, NULL));
  PetscCall(CreateMesh(&mesh, &plex));
  PetscCall(DMPlexGetHeightStratum(plex, 0, &first, &end));
  ncells = end - first;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ncells, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (solid) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " cells, Poisson's ratio %g\n N unknowns", ncells, (double)ratio));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " cells, K %s\n N unknowns", ncells, conductivities[kind]));
  for (PetscInt j = 0; j < m; j++)
    for (int single = 0; single <= (mixed && (int)smoother[j] != GAMG); single++)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, " | %-7s set-up   solve", single ? "mixed" : names[smoother[j]]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(CreateProblem(plex, degree[i], &k, solid ? &ratio : NULL, &dm, &A, &b));
    PetscCall(VecGetSize(b, &N));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%2" PetscInt_FMT " %8" PetscInt_FMT, degree[i], N));
    for (PetscInt j = 0; j < m; j++)
      for (int single = 0; single <= (mixed && (int)smoother[j] != GAMG); single++)
        PetscCall(Solve(A, b, (int)smoother[j], (PetscBool)single));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(DMDestroy(&plex));
  PetscCall(PetscFinalize());
  return 0;
}
