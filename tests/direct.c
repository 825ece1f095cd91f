static char help[] = "The direct solve of the whole box: x is what A x was made of, on any number of ranks.\n\
  -kinds <uniform,graded,mixed,neumann,singular,helmholtz> : all sides Dirichlet; graded in one direction; Neumann on some sides; Neumann \
on all and a shift, or none: then up to\n\
     a constant; a negative shift, with eigenvalues of both signs.  Lines that are folded, and others\n\
  -messages : of a solve on each rank, and numbers that are sent\n\
  -time : solves are timed, too\n\
  -choice : the level on which PCPATCHMG solves directly instead\n\
  -cells <nx,ny,nz>, -dims <2,3>, -dm_box_degree, -dm_box_space, -dm_box_processes, -dm_box_halo, -dm_vec_type ...\n\n";

#include <petscpatchfd.h>
#include <petsc/private/dmimpl.h>
#include <petsctime.h>
#include "runtest.h"

static PetscErrorCode CreateBox(PetscInt dim, const char kind[], DM *dm)
{
  const PetscReal   D[3] = {1, 2, 0.5};
  DMBoxBoundaryType side[6];
  PetscBool         graded, mixed, neumann, singular, helmholtz;
  PetscInt          cells[3] = {9, 11, 13}, n = 3;
  PetscReal        *v;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(kind, "graded", &graded));
  PetscCall(PetscStrcmp(kind, "mixed", &mixed));
  PetscCall(PetscStrcmp(kind, "neumann", &neumann));
  PetscCall(PetscStrcmp(kind, "singular", &singular));
  PetscCall(PetscStrcmp(kind, "helmholtz", &helmholtz));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &n, NULL));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, 2, dm));
  for (int i = 0; i < 6; i++) side[i] = neumann || singular || (mixed && i % 3 == 0) ? DMBOX_BOUNDARY_NEUMANN : DMBOX_BOUNDARY_DIRICHLET;
  PetscCall(DMBoxSetBoundary(*dm, side));
  if (!graded) PetscCall(DMBoxSetPoisson(*dm, D, neumann ? 3 : (helmholtz ? -300 : 0)));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(PetscMalloc1(cells[dim - 1] + 1, &v));
  for (PetscInt i = 0; i <= cells[dim - 1]; i++) v[i] = i + 0.01 * PetscSqr((PetscReal)i);
  if (graded) PetscCall(DMBoxSetVertices(*dm, dim - 1, cells[dim - 1] + 1, v));
  PetscCall(PetscFree(v));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the rank that sends most sends in a solve */
static PetscErrorCode PrintMessages(PC pc, Vec b, Vec y)
{
  PetscLogDouble sent[2] = {-petsc_isend_ct, -petsc_isend_len};

  PetscFunctionBeginUser;
  PetscCall(PCApply(pc, b, y));
  sent[0] += petsc_isend_ct;
  sent[1] += petsc_isend_len;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sent, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  at most %g messages, %g bytes\n", sent[0], sent[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PetscInt dim, const char kind[], PetscBool timing, PetscBool messages)
{
  DM             dm;
  Mat            A;
  PC             pc;
  Vec            x, y, b;
  PetscRandom    random;
  MatNullSpace   nullspace;
  PetscReal      norm, error;
  PetscBool      single;
  PetscInt       cells[3], degree, n = 0; /* errors grow with the square of the longest line */
  PetscLogDouble start, end, first = 0, best = PETSC_MAX_REAL;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(dim, kind, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(A, x, b));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(PCSetFromOptions(pc));
  for (int i = 0; i < (timing ? 6 : 2); i++) { /* twice: nothing is left of the first time */
    PetscCall(VecNorm(y, NORM_2, &norm));      /* waits for a GPU */
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    for (int j = 0; j < (i && timing ? 4 : 1); j++) PetscCall(PCApply(pc, b, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(PetscTime(&end));
    if (i == 0) first = end - start;
    else best = PetscMin(best, (end - start) / (timing ? 4 : 1));
  }
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecNorm(y, NORM_INFINITY, &error));
  PetscCall(PetscStrcmpAny(dm->vectype, &single, VECSINGLE, VECSINGLECUDA, ""));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetDegree(dm, &degree));
  for (PetscInt d = 0; d < dim; d++) n = PetscMax(n, cells[d] * (degree + 1));
  if (error <=
      (single ? PetscMin(2e-2, PetscMax(5e-5, 1e-7 * (PetscReal)n * (PetscReal)n)) : PetscMax(2e-10, 1e-15 * (PetscReal)n * (PetscReal)n)) *
        norm)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D %s: exact\n", dim, kind));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D %s: WRONG by %g\n", dim, kind, (double)(error / norm)));
  PetscCall(PetscInfo(dm, "error %g\n", (double)(error / norm)));
  if (messages) PetscCall(PrintMessages(pc, b, y));
  if (timing) {
    PetscInt N;

    PetscCall(VecGetSize(x, &N));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "  %" PetscInt_FMT
                          " unknowns, set-up %.1f ms, solve %.3f ms, %.4f ns each, with a quarter of a norm; error %.1e\n",
                          N, (first - best) * 1e3, best * 1e3, best / (PetscLogDouble)N * 1e9, (double)(error / norm)));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the options lead to, or V-cycles down to one patch */
static PetscErrorCode SolveBox(DM dm, Mat A, PetscBool cycles, Vec b, Vec x, PetscInt *levels, PetscInt *its, char why[], size_t size)
{
  KSP         ksp;
  PC          pc;
  PetscBool   mixed;
  const char *reason;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 30));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCSetDM(pc, dm));
  if (cycles) PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  else PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSINGLE, &mixed));
  if (mixed) PetscCall(PCSingleGetPC(pc, &pc));
  PetscCall(PCMGGetLevels(pc, levels));
  PetscCall(PCPatchMGGetCoarseReason(pc, &reason));
  PetscCall(PetscStrncpy(why, reason, size));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the number of levels that PCPATCHMG takes, and why; the solution is that of V-cycles */
static PetscErrorCode CheckChoice(PetscInt dim, const char kind[])
{
  DM        dm;
  Mat       A;
  Vec       x, y, b;
  PetscReal norm, error;
  PetscInt  levels, its, all;
  char      why[256], other[256];

  PetscFunctionBeginUser;
  PetscCall(CreateBox(dim, kind, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(SolveBox(dm, A, PETSC_TRUE, b, y, &all, &its, other, sizeof(other)));
  PetscCall(SolveBox(dm, A, PETSC_FALSE, b, x, &levels, &its, why, sizeof(why)));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecNorm(y, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D %s: %s, %s iterations, %s: %s\n", dim, kind,
                        levels == 1 ? "the direct solve" : (levels == all ? "all levels" : "some levels"),
                        its <= (levels > 1 ? 8 : 2) ? "few" : "MANY",
                        error <= 1e-7 * norm ? "the solution of V-cycles" : "ANOTHER SOLUTION", why));
  PetscCall(PetscInfo(dm, "%" PetscInt_FMT " levels of %" PetscInt_FMT ", %" PetscInt_FMT " iterations, difference %g\n", levels, all, its,
                      (double)(error / norm)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  char     *kind[6];
  PetscInt  n = 6, dims[3] = {2, 3}, ndims = 3;
  PetscBool set, timing = PETSC_FALSE, messages = PETSC_FALSE, choice = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-dims", dims, &ndims, &set));
  if (!set) ndims = 2;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-kinds", kind, &n, &set));
  if (!set) n = 0;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &timing, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-messages", &messages, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-choice", &choice, NULL));
  for (PetscInt i = 0; i < ndims; i++)
    for (PetscInt j = 0; j < n; j++) PetscCall(choice ? CheckChoice(dims[i], kind[j]) : Check(dims[i], kind[j], timing, messages));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscFree(kind[j]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

   testset:
     args: -kinds uniform,graded,mixed,neumann,singular,helmholtz
     output_file: output/direct_all.out
     test:
       suffix: ranks
       nsize: {{1 2 3 8}}
       args: -each_dm_box_space q:dgq -each_dm_vec_type standard:single
     # slabs, with more numbers to a line than kernels pad for; 2D
     test:
       suffix: slabs
       nsize: {{4 5}}
       output_file: output/direct_slabs.out
       args: -dims 3 -cells 24,22,30 -dm_box_processes 1,1,-1
     test:
       suffix: plane
       nsize: {{2 5}}
       output_file: output/direct_plane.out
       args: -dims 2 -cells 44,42 -each_dm_box_space q:dgq
     test:
       suffix: degrees
       nsize: 3
       output_file: output/direct_slabs.out
       args: -dims 3 -cells 6,7,8 -each_dm_box_degree 3:4:5:6:7:8 -each_dm_box_space q:dgq
     # pieces of one cell, which at degree 1 has no inner nodes; more ranks than cells
     test:
       suffix: pieces
       nsize: {{5 6}}
       output_file: output/direct_slabs.out
       args: -dims 3 -cells 40,30,5 -each_dm_box_degree 1:2 -each_dm_box_space q:dgq -dm_box_processes -1,1,1
   # what travels, and what would if all had to: -300 u has eigenvalues of both signs, and is solved by all
   test:
     suffix: messages
     nsize: 3
     args: -dims 3 -kinds uniform,helmholtz -cells 24,22,30 -messages -dm_box_processes 1,1,-1 -dm_box_space {{q dgq}separate output}
   # the level on which PCPATCHMG solves directly: by an estimate, on all ranks the same, and with the options that force it
   testset:
     args: -choice
     filter: sed "s/[0-9.e+-]* ms/some ms/g"
     test:
       suffix: choice
       nsize: {{1 2 3}}
       args: -kinds uniform,graded,mixed,neumann -cells 16,8,8 -dm_box_space {{q dgq}}
       output_file: output/direct_choice.out
     test:
       suffix: choice_ksp
       nsize: 2
       args: -kinds uniform,graded -cells 8,8,16 -each_ksp_type fgmres:cg:richardson -each_pc_patchmg_symmetric 0:1
       output_file: output/direct_choice_ksp.out
     test:
       suffix: choice_mixed
       args: -kinds uniform,graded -cells 8,8,16 -pc_type single -single_pc_type patchmg
       output_file: output/direct_choice_ksp.out
     test:
       suffix: choice_line
       args: -dims 1 -kinds uniform,graded -cells 1024 -dm_box_degree {{1 3}}
       output_file: output/direct_choice_line.out
     test:
       suffix: choice_coarsest
       args: -kinds uniform -cells 2,2,2
     test:
       suffix: forced
       args: -kinds uniform,graded -cells 8,8,8 -pc_patchmg_coarse_eq_limit {{0 100 unlimited decide}separate output}
     test:
       suffix: forced_richardson
       args: -kinds uniform,graded -cells 8,8,8 -ksp_type richardson -pc_patchmg_coarse_eq_limit 0
       output_file: output/direct_forced_pc_patchmg_coarse_eq_limit-0.out
     test:
       suffix: forced_levels
       args: -kinds uniform -cells 8,8,8 -pc_mg_levels {{1 2}separate output}
     test:
       suffix: cycles_full
       args: -kinds uniform -cells 8,8,8 -pc_mg_type full
     test:
       suffix: cycles_levels
       nsize: 2
       args: -kinds uniform -cells 8,8,8 -mg_levels_pc_patchfd_sweeps 2
     test:
       suffix: cycles_coarse
       args: -kinds uniform -cells 8,8,8 -pc_type single -single_pc_type patchmg -single_mg_coarse_ksp_max_it 1
   testset:
     requires: cuda gpu
     args: -kinds uniform,graded,mixed,neumann,singular,helmholtz -use_gpu_aware_mpi 0 -dims 3
     output_file: output/direct_slabs.out
     test:
       suffix: cuda
       args: -dm_vec_type {{cuda singlecuda}} -cells 9,11,13 -dm_box_space {{q dgq}}
     # enough unknowns to be shared
     test:
       suffix: cuda_shared
       nsize: {{2 3}}
       args: -dm_vec_type {{cuda singlecuda}} -cells 48,50,56 -dm_box_halo {{auto host}} -dm_box_space {{q dgq}}
     test:
       suffix: cuda_degrees
       nsize: 3
       args: -dm_vec_type {{cuda singlecuda}} -cells 16,15,18 -dm_box_degree {{7 8}} -dm_box_processes 1,1,-1
     test:
       suffix: cuda_plane
       nsize: 2
       args: -dm_vec_type {{cuda singlecuda}} -dims 2 -cells 512,510 -dm_box_space {{q dgq}}
       output_file: output/direct_plane.out

TEST*/
