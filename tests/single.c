static char help[] = "PCSINGLE against the same preconditioner in double precision.\n\
  -kind aij, da, shell, box : an assembled matrix; a DMDA that assembles it on every level; a MATSHELL on a DMDA; a DMBOX\n\
  -n                        : nodes a direction of the DMDA\n\
  -copies                   : whether a solve copies vectors between the host and a GPU\n\
  -d_..., -s_...            : options of the KSP in double precision and of the one with PCSINGLE\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include <petscdmda.h>

typedef enum {
  AIJ,
  DA,
  SHELL,
  BOX
} Kind;
static const char *const Kinds[] = {"aij", "da", "shell", "box", "Kind", "", NULL};

typedef struct {
  Kind      kind;
  DM        dm;
  Mat       A;     /* for AIJ and SHELL */
  PetscReal shift; /* the operator is the Laplacian and this */
} Problem;

/* five-point stencil on the unit square, scaled by h^2 */
static PetscErrorCode Assemble(DM da, PetscReal shift, Mat A)
{
  DMDALocalInfo i;
  PetscReal     h2;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &i));
  h2 = 1.0 / ((i.mx + 1) * (i.mx + 1));
  for (PetscInt y = i.ys; y < i.ys + i.ym; y++) {
    for (PetscInt x = i.xs; x < i.xs + i.xm; x++) {
      const PetscInt step[5][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
      MatStencil     row        = {.i = x, .j = y}, col[5];
      PetscScalar    v[5];
      PetscInt       n = 0;

      for (int k = 0; k < 5; k++) {
        const PetscInt cx = x + step[k][0], cy = y + step[k][1];

        if (cx < 0 || cy < 0 || cx >= i.mx || cy >= i.my) continue;
        col[n] = (MatStencil){.i = cx, .j = cy};
        v[n++] = k ? -1 : 4 + shift * h2;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComputeOperators(KSP ksp, PETSC_UNUSED Mat A, Mat P, void *ctx)
{
  DM dm;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(Assemble(dm, ((Problem *)ctx)->shift, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same stencil without a matrix, by somebody who never heard of VECSINGLE */
static PetscErrorCode MatMult_Stencil(Mat A, Vec x, Vec y)
{
  Problem      *p;
  DMDALocalInfo i;
  Vec           l;
  PetscScalar **ax, **ay;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(A, &p));
  PetscCall(DMDAGetLocalInfo(p->dm, &i));
  PetscCall(DMGetLocalVector(p->dm, &l));
  PetscCall(VecSet(l, 0));
  PetscCall(DMGlobalToLocal(p->dm, x, INSERT_VALUES, l));
  PetscCall(DMDAVecGetArrayRead(p->dm, l, &ax));
  PetscCall(DMDAVecGetArrayWrite(p->dm, y, &ay));
  for (PetscInt k = i.ys; k < i.ys + i.ym; k++) {
    for (PetscInt j = i.xs; j < i.xs + i.xm; j++) {
      ay[k][j] = (4 + p->shift / ((i.mx + 1) * (i.mx + 1))) * ax[k][j];
      if (j > 0) ay[k][j] -= ax[k][j - 1];
      if (j < i.mx - 1) ay[k][j] -= ax[k][j + 1];
      if (k > 0) ay[k][j] -= ax[k - 1][j];
      if (k < i.my - 1) ay[k][j] -= ax[k + 1][j];
    }
  }
  PetscCall(DMDAVecRestoreArrayWrite(p->dm, y, &ay));
  PetscCall(DMDAVecRestoreArrayRead(p->dm, l, &ax));
  PetscCall(DMRestoreLocalVector(p->dm, &l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_Stencil(Mat A, Vec d)
{
  Problem      *p;
  DMDALocalInfo i;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(A, &p));
  PetscCall(DMDAGetLocalInfo(p->dm, &i));
  PetscCall(VecSet(d, 4 + p->shift / ((i.mx + 1) * (i.mx + 1))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemSetUp(Problem *p)
{
  PetscInt n = 33, nl, N;
  Vec      v;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-kind", Kinds, (PetscEnum *)&p->kind, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  if (p->kind == BOX) {
    PetscCall(DMCreate(PETSC_COMM_WORLD, &p->dm));
    PetscCall(DMSetType(p->dm, DMBOX));
  } else {
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                           NULL, NULL, &p->dm));
  }
  PetscCall(DMSetFromOptions(p->dm));
  PetscCall(DMSetUp(p->dm));
  if (p->kind == AIJ) {
    PetscCall(DMCreateMatrix(p->dm, &p->A));
    PetscCall(Assemble(p->dm, p->shift, p->A));
  } else if (p->kind == SHELL) {
    PetscCall(DMCreateGlobalVector(p->dm, &v));
    PetscCall(VecGetLocalSize(v, &nl));
    PetscCall(VecGetSize(v, &N));
    PetscCall(VecDestroy(&v));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, nl, nl, N, N, p, &p->A));
    PetscCall(MatShellSetOperation(p->A, MATOP_MULT, (PetscVoidFn *)MatMult_Stencil));
    PetscCall(MatShellSetOperation(p->A, MATOP_MULT_TRANSPOSE, (PetscVoidFn *)MatMult_Stencil));
    PetscCall(MatShellSetOperation(p->A, MATOP_GET_DIAGONAL, (PetscVoidFn *)MatGetDiagonal_Stencil));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemSetShift(Problem *p, PetscReal shift)
{
  const PetscReal diffusion[] = {2, 1, 1};

  PetscFunctionBeginUser;
  p->shift = shift;
  if (p->kind == AIJ) PetscCall(Assemble(p->dm, p->shift, p->A));
  if (p->kind == SHELL) { /* tells that it is another operator now */
    PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  }
  if (p->kind == BOX) PetscCall(DMBoxSetPoisson(p->dm, diffusion, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Problem *p, const char *prefix, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, 1e-10, 0, PETSC_CURRENT, 400));
  if (p->kind != AIJ) PetscCall(KSPSetDM(*ksp, p->dm));
  if (p->A) {
    PetscCall(KSPSetOperators(*ksp, p->A, p->A));
    PetscCall(KSPSetDMActive(*ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* iterations and true relative residual */
static PetscErrorCode Solve(Problem *p, KSP ksp, Vec b, Vec x, PetscInt *its, PetscReal *residual)
{
  KSPConvergedReason reason;
  Mat                A;
  Vec                r;
  PetscReal          norm;

  PetscFunctionBeginUser;
  if (p->kind == DA || p->kind == BOX)
    PetscCall(KSPSetComputeOperators(ksp, p->kind == DA ? ComputeOperators : NULL, p)); /* so that they are computed anew */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual /= norm;
  PetscCall(VecDestroy(&r));
  if (reason < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", KSPConvergedReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes copied between the host and the GPU until now; single numbers, as of norms, are counted elsewhere */
static PetscLogDouble Copied(void)
{
#if defined(PETSC_HAVE_DEVICE)
  return petsc_ctog_sz + petsc_gtoc_sz;
#else
  return 0;
#endif
}

/* the same system in double precision and with PCSINGLE */
static PetscErrorCode CompareSolves(Problem *p, KSP d, KSP s, Vec b, Vec x, Vec y, const char what[])
{
  PetscInt  itsd, itss;
  PetscReal rd, rs;
  PetscBool few, small;

  PetscFunctionBeginUser;
  PetscCall(Solve(p, d, b, x, &itsd, &rd));
  PetscCall(Solve(p, s, b, y, &itss, &rs));
  few   = (PetscBool)(PetscAbsInt(itss - itsd) <= 1 + itsd / 10);
  small = (PetscBool)(rs < 2e-10);
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%s: iterations %s, residual %s\n", what, few ? "as in double" : "differ", small ? "small" : "large"));
  if (!few || !small)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  iterations %" PetscInt_FMT " and %" PetscInt_FMT ", residuals %g and %g\n", itsd, itss,
                          (double)rd, (double)rs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one application, which differs from double by float's rounding only; x and y are work */
static PetscErrorCode TestInner(KSP d, KSP s, Vec z, PetscBool transpose, Vec x, Vec y)
{
  PC          pc, inner;
  PetscReal   norm, e;
  PetscBool   scale, warn;
  const char *prefix;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(s, &pc));
  PetscCall(PCSingleGetPC(pc, &inner));
  PetscCall(PCGetOptionsPrefix(inner, &prefix));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "prefix inside: %s\n", prefix));
  PetscCall(PCApply(pc, z, y));
  PetscCall(KSPGetPC(d, &pc));
  PetscCall(PCApply(pc, z, x));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_2, &e));
  PetscCall(VecNorm(x, NORM_2, &norm));
  if (!(e < 1e-4 * norm && e > 1e-10 * norm))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PCApply() differs from double by %g\n", (double)(e / norm)));
  if (transpose) {
    PetscCall(PCApplyTranspose(pc, z, x));
    PetscCall(KSPGetPC(s, &pc));
    PetscCall(PCApplyTranspose(pc, z, y));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(VecNorm(y, NORM_2, &e));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "PCApplyTranspose() %s\n", e < 1e-4 * norm && e > 1e-10 * norm ? "as in double, rounded" : "differs"));
  }
  PetscCall(KSPGetPC(s, &pc));
  PetscCall(PCSingleGetScale(pc, &scale));
  PetscCall(PCSingleGetWarn(pc, &warn));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "scale %s, warn %s\n", PetscBools[scale], PetscBools[warn]));
  PetscCall(PCSingleSetScale(pc, PETSC_TRUE));
  PetscCall(PCSingleSetWarn(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem         p        = {.kind = AIJ, .shift = 0};
  const PetscReal scales[] = {1, 1e-30, 1e30};
  KSP             d, s;
  PC              pc;
  Vec             b, x, y, z;
  PetscRandom     rand;
  PetscBool       flg, transpose = PETSC_FALSE, changes = PETSC_TRUE, copies = PETSC_FALSE;
  char            what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PETSC_STDERR = PETSC_STDOUT; /* the warning is part of what is tested */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-transpose", &transpose, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-changes", &changes, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-copies", &copies, NULL));
  PetscCall(ProblemSetUp(&p));
  PetscCall(CreateSolver(&p, "d_", &d));
  PetscCall(CreateSolver(&p, "s_", &s));
  PetscCall(DMCreateGlobalVector(p.dm, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &rand));
  PetscCall(PetscRandomSetInterval(rand, -1, 1));
  PetscCall(VecSetRandom(z, rand));
  PetscCall(PetscRandomDestroy(&rand));

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(scales); i++) {
    PetscCall(VecCopy(z, b));
    PetscCall(VecScale(b, scales[i]));
    PetscCall(PetscSNPrintf(what, sizeof(what), "right-hand side times %g", (double)scales[i]));
    PetscCall(CompareSolves(&p, d, s, b, x, y, what));
  }

  if (copies) {
    PetscLogDouble bytes = Copied();

    PetscCall(KSPSolve(s, b, y));
    bytes = Copied() - bytes;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "copied between host and GPU: %s\n", bytes > 0 ? "vectors" : "nothing"));
  }
  PetscCall(KSPGetPC(s, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSINGLE, &flg));
  if (flg) PetscCall(TestInner(d, s, z, transpose, x, y));

  for (PetscInt i = 1; changes && i <= 3; i++) {
    PetscCall(ProblemSetShift(&p, 100.0 * i * i));
    PetscCall(CompareSolves(&p, d, s, z, x, y, "operator changed"));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(KSPDestroy(&d));
  PetscCall(KSPDestroy(&s));
  PetscCall(MatDestroy(&p.A));
  PetscCall(DMDestroy(&p.dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -s_pc_type single
    test:
      suffix: pbjacobi_cg
      nsize: {{1 2 3 4}}
      args: -n 17 -d_pc_type pbjacobi -s_single_pc_type pbjacobi -d_ksp_type cg -s_ksp_type cg -transpose
      output_file: output/single_transpose.out
    test:
      suffix: pbjacobi_fcg
      nsize: 2
      args: -n 17 -d_pc_type pbjacobi -s_single_pc_type pbjacobi -d_ksp_type fcg -s_ksp_type fcg -transpose
      output_file: output/single_transpose.out
    test:
      suffix: pbjacobi_fgmres
      nsize: 2
      args: -n 17 -d_pc_type pbjacobi -s_single_pc_type pbjacobi -d_ksp_type fgmres -s_ksp_type fgmres -transpose
      output_file: output/single_transpose.out
    test:
      suffix: sor
      nsize: {{1 3}}
      args: -d_pc_type sor -s_single_pc_type sor
      output_file: output/single_1.out
    test:
      suffix: bjacobi
      nsize: {{1 2}}
      args: -d_pc_type bjacobi -s_single_pc_type bjacobi
      output_file: output/single_1.out
    test:
      suffix: gamg
      nsize: 2
      args: -d_pc_type gamg -s_single_pc_type gamg
      output_file: output/single_1.out
    test:
      suffix: ksp_inside
      nsize: 2
      args: -d_pc_type ksp -d_ksp_ksp_type cg -d_ksp_ksp_rtol 1e-3 -d_ksp_pc_type jacobi -s_single_pc_type ksp -s_single_ksp_ksp_type cg -s_single_ksp_ksp_rtol 1e-3 -s_single_ksp_pc_type jacobi
      output_file: output/single_1.out
    test:
      suffix: shell
      nsize: {{1 2}}
      args: -kind shell -d_pc_type jacobi -s_single_pc_type jacobi -d_ksp_type cg -s_ksp_type cg -transpose
      output_file: output/single_transpose.out
    test:
      suffix: mg
      nsize: {{1 2 4}}
      args: -kind da -n 9 -da_refine 2 -d_pc_type mg -s_single_pc_type mg
      output_file: output/single_1.out
    test:
      suffix: mg_jacobi
      nsize: {{1 3}}
      args: -kind da -n 9 -da_refine 2 -d_pc_type mg -d_pc_mg_galerkin both -d_mg_levels_pc_type jacobi
      args: -s_single_pc_type mg -s_single_pc_mg_galerkin both -s_single_mg_levels_pc_type jacobi
      output_file: output/single_1.out
    test:
      suffix: box
      nsize: {{1 2 4}}
      args: -kind box -dm_box_dim 3 -dm_box_cells 2,2,2 -dm_box_degree 3 -dm_refine 2 -d_pc_type patchmg
      output_file: output/single_1.out
    test:
      suffix: box_dgq
      nsize: {{1 2}}
      args: -kind box -dm_box_space dgq -dm_box_dim 3 -dm_box_cells 2,2,2 -dm_box_degree 2 -dm_refine 2 -d_pc_type patchmg
      output_file: output/single_1.out
    test:
      suffix: box_view
      nsize: 1
      args: -kind box -dm_box_dim 2 -dm_box_cells 4,4 -dm_box_degree 2 -d_pc_type patchmg -d_pc_patchmg_coarse_eq_limit 0 -s_single_pc_patchmg_coarse_eq_limit 0 -changes 0 -s_ksp_view
      filter: grep -E "single|VECSINGLE|bytes|kernels" | sort -u
    test: # CG: PETSc counts what its VecMDot() returns, in FGMRES, as a copied vector
      requires: cuda gpu
      suffix: box_cuda
      args: -kind box -dm_box_dim 3 -dm_box_cells 2,2,2 -dm_box_degree {{2 3}} -dm_refine 2 -d_pc_type patchmg -d_pc_patchmg_coarse_eq_limit 0 -s_single_pc_patchmg_coarse_eq_limit 0 -dm_vec_type cuda -copies
      args: -d_ksp_type cg -s_ksp_type cg -d_pc_patchmg_symmetric -s_single_pc_patchmg_symmetric
      output_file: output/single_cuda.out
    test:
      requires: cuda gpu
      suffix: box_dgq_cuda
      args: -kind box -dm_box_space dgq -dm_box_dim 3 -dm_box_cells 2,2,2 -dm_box_degree {{2 3}} -dm_refine 2 -d_pc_type patchmg -d_pc_patchmg_coarse_eq_limit 0 -s_single_pc_patchmg_coarse_eq_limit 0 -dm_vec_type cuda -copies
      args: -d_ksp_type cg -s_ksp_type cg -d_pc_patchmg_symmetric -s_single_pc_patchmg_symmetric
      output_file: output/single_cuda.out
    test:
      requires: cuda gpu
      suffix: box_cuda_general
      args: -kind box -dm_box_dim 2 -dm_box_cells 4,3 -dm_box_degree 3 -dm_refine 2 -d_pc_type patchmg -d_pc_patchmg_coarse_eq_limit 0 -s_single_pc_patchmg_coarse_eq_limit 0 -dm_vec_type cuda -copies
      args: -d_ksp_type cg -s_ksp_type cg -d_pc_patchmg_symmetric -s_single_pc_patchmg_symmetric
      output_file: output/single_cuda.out
    test:
      requires: cuda gpu
      suffix: box_cuda_2
      nsize: 2
      args: -kind box -dm_box_dim 3 -dm_box_cells 2,2,2 -dm_box_degree 3 -dm_refine 2 -d_pc_type patchmg -d_pc_patchmg_coarse_eq_limit 0 -s_single_pc_patchmg_coarse_eq_limit 0 -dm_vec_type cuda -use_gpu_aware_mpi 0
      output_file: output/single_1.out
    test: # the whole solve in single precision: as far as it gets
      requires: cuda gpu
      suffix: box_cuda_all
      args: -kind box -dm_box_dim 3 -dm_box_cells 2,2,2 -dm_box_degree 3 -dm_refine 2 -d_pc_type patchmg -d_pc_patchmg_coarse_eq_limit 0 -s_single_pc_patchmg_coarse_eq_limit 0 -dm_vec_type singlecuda -s_ksp_rtol 1e-5 -d_ksp_rtol 1e-5 -copies -changes 0
      filter: grep copied
    test: # on the host, with copies
      requires: cuda gpu
      suffix: da_cuda
      args: -kind da -n 9 -da_refine 2 -d_pc_type sor -s_single_pc_type sor -dm_vec_type cuda -copies
      output_file: output/single_cuda_host.out
    test:
      suffix: options
      args: -d_pc_type sor -s_single_pc_type sor -s_ksp_type gmres -s_pc_single_warn 0 -s_pc_single_scale 0 -changes 0 -n 17
      filter: grep "scale FALSE"
    test:
      suffix: warn
      nsize: 2
      args: -d_pc_type sor -s_single_pc_type sor -s_ksp_type {{gmres bcgs}separate output} -changes 0 -n 17
      filter: grep -A1 Warning

  # Vecs that are float outside, and too small a tolerance: a warning for each of the two solvers; none where 1e-5 is asked for, and none for solvers inside PCSINGLE
  testset:
    args: -kind box -dm_box_dim 2 -dm_box_cells 4 -dm_box_degree 2 -d_pc_type patchmg -s_pc_type single -changes 0
    test:
      suffix: warn_vec
      nsize: 2
      args: -dm_vec_type single -d_ksp_rtol 1e-9 -s_ksp_rtol 1e-9 -d_ksp_max_it 10 -s_ksp_max_it 10
      filter: grep -A1 Warning
    test:
      suffix: warn_not
      args: -dm_vec_type single -d_ksp_rtol 1e-5 -s_ksp_rtol 1e-5
      filter: grep Warning | wc -l
    test:
      suffix: warn_not_inside
      args: -d_pc_type ksp -d_ksp_ksp_rtol 1e-7 -d_ksp_pc_type patchmg -s_single_pc_type ksp -s_single_ksp_ksp_rtol 1e-7 -s_single_ksp_pc_type patchmg -s_single_ksp_ksp_type fgmres
      filter: grep Warning | wc -l
      output_file: output/single_warn_not.out

  testset:
    nsize: {{1 2}}
    output_file: output/single_nested.out
    test:
      suffix: composite
      args: -d_pc_type composite -d_pc_composite_pcs sor,jacobi -s_pc_type composite -s_pc_composite_pcs single,jacobi -s_sub_0_single_pc_type sor
    test:
      suffix: ksp
      args: -d_pc_type ksp -d_ksp_ksp_type fgmres -d_ksp_pc_type sor -d_ksp_ksp_rtol 1e-3 -s_pc_type ksp -s_ksp_ksp_type fgmres -s_ksp_pc_type single -s_ksp_single_pc_type sor -s_ksp_ksp_rtol 1e-3
    test:
      suffix: level
      args: -kind da -n 9 -da_refine 2 -d_pc_type mg -d_mg_levels_pc_type jacobi -s_pc_type mg -s_mg_levels_pc_type single -s_mg_levels_single_pc_type jacobi

TEST*/
