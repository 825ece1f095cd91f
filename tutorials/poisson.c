static char help[] = "Poisson's equation -div(D grad u) + shift u = f on a box, by multigrid with vertex-patch smoothers.\n\
The solution is u = prod_i sin(pi x_i); f, the Dirichlet data and the Neumann data follow from it.\n\
KSPREFINE solves three times: with V-cycles in single precision (\"mixed\"), with V-cycles in double precision, and with the levels that\n\
PCPATCHMG chooses, often one: the direct solve.\n\
  -dm_box_*, -dm_refine        : the mesh, the element (Q_k or DGQ_k) and the operator (see DMBOX)\n\
  -ksp_*, -pc_*, -single_*     : the first solver (default: refine, PCSINGLE with PCPATCHMG inside)\n\
  -double_ksp_*, -double_pc_*  : the second solver (default: refine, PCPATCHMG); -double false for the first one only\n\
  -direct_ksp_*, -direct_pc_*  : the third solver; -direct false for the first two only\n\
  -nodal                       : the load from values of f at the nodes, and errors against nodal values: the fast way, on the GPU, too\n\
  -time false                  : no times, for comparisons\n\
  -ksp_view_solution vtk:u.vts : write the solution for ParaView\n\n";

#include <petscpatchfd.h>
#include <petsctime.h>

/*
  Functions get many points at once, a row of nodes or the quadrature points of a cell: coordinate d of point i is x[dim * i + d].
  Sines take the time, and on a box most coordinates are those of the point before.
*/
static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, PetscInt n, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                            PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscReal s[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt d = 0; d < dim; d++)
      if (i == 0 || x[dim * i + d] != x[dim * (i - 1) + d]) s[d] = PetscSinReal(PETSC_PI * x[dim * i + d]);
    u[i] = s[0] * s[1] * s[2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RightHandSide(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  PetscReal D[3], factor;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetPoisson((DM)ctx, D, &factor)); /* the shift */
  for (PetscInt d = 0; d < dim; d++) factor += D[d] * PETSC_PI * PETSC_PI;
  PetscCall(Exact(dim, time, n, x, Nc, f, NULL));
  for (PetscInt i = 0; i < n; i++) f[i] *= factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D du/dn + h u: the points of a call are on one side, which lies on one bound of the box */
static PetscErrorCode Flux(PetscInt dim, PetscReal time, PetscInt n, const PetscReal x[], PetscInt Nc, PetscScalar g[], void *ctx)
{
  PetscReal lower[3], upper[3], D[3], h;
  PetscInt  normal = 0;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  PetscCall(DMBoxGetPoisson((DM)ctx, D, NULL));
  while (x[normal] != lower[normal] && x[normal] != upper[normal]) normal++;
  PetscCall(DMBoxGetRobin((DM)ctx, 2 * normal + (x[normal] != lower[normal]), &h));
  PetscCall(Exact(dim, time, n, x, Nc, g, NULL));
  for (PetscInt i = 0; i < n; i++, x += dim) {
    PetscReal flux = x[normal] == lower[normal] ? -D[normal] : D[normal];

    for (PetscInt d = 0; d < dim; d++) flux *= d == normal ? PETSC_PI * PetscCosReal(PETSC_PI * x[d]) : PetscSinReal(PETSC_PI * x[d]);
    g[i] = flux + h * g[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by quadrature; or against the function with the values of the exact solution at the nodes, in `work` */
static PetscErrorCode Error(DM dm, PetscBool nodal, Vec u, Vec work, PetscReal *l2)
{
  PetscFunctionBeginUser;
  if (nodal) {
    PetscCall(DMBoxInterpolateFunctionBatch(dm, 0, Exact, NULL, work));
    PetscCall(DMBoxComputeErrorVec(dm, u, work, l2, NULL));
  } else PetscCall(DMBoxComputeErrorBatch(dm, 0, Exact, NULL, u, l2, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what solved: options may have set another preconditioner, and PCPATCHMG chooses the number of levels */
static PetscErrorCode Name(KSP ksp, char name[], size_t length, PetscInt *levels)
{
  PC          pc, mg;
  PCType      type;
  KSPType     ksptype;
  PCMGType    mgtype;
  PetscBool   single, ismg;
  const char *cycle;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSINGLE, &single));
  if (single) PetscCall(PCSingleGetPC(pc, &mg));
  else mg = pc;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)mg, &ismg, PCPATCHMG, PCMG, ""));
  if (ismg) {
    PetscCall(PCMGGetLevels(mg, levels));
    PetscCall(PCMGGetType(mg, &mgtype));
    cycle = *levels == 1 ? "direct solve" : (mgtype == PC_MG_MULTIPLICATIVE ? "V-cycles" : "multigrid");
    PetscCall(PetscSNPrintf(name, length, "%s, %s", cycle, single ? "mixed" : "double"));
  } else {
    *levels = 1;
    PetscCall(KSPGetType(ksp, &ksptype));
    PetscCall(PCGetType(mg, &type));
    PetscCall(PetscSNPrintf(name, length, "%s and %s, %s", ksptype, type, single ? "mixed" : "double"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one solve, a line of the table; `limit`: where PCPATCHMG ends the levels */
static PetscErrorCode Solve(DM dm, Mat A, Vec b, const char *prefix, PetscBool single, PetscInt limit, PetscBool nodal, PetscBool times)
{
  KSP            ksp;
  PC             pc;
  Vec            u, r;
  PetscInt       its, levels;
  PetscReal      bnorm, rnorm, l2;
  PetscLogDouble t[3];
  char           name[64], residual[16];

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(PetscObjectSetName((PetscObject)u, "u"));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)dm), &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPREFINE));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  if (single) {
    PetscCall(PCSetType(pc, PCSINGLE));
    PetscCall(PCSingleGetPC(pc, &pc));
  }
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, limit));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCall(PetscTime(&t[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&t[1]));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(PetscTime(&t[2]));

  PetscCall(VecDuplicate(u, &r));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(MatResidual(A, b, u, r));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(Error(dm, nodal, u, r, &l2));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Name(ksp, name, sizeof(name), &levels));
  if (times) PetscCall(PetscSNPrintf(residual, sizeof(residual), "%.1e", (double)(rnorm / bnorm)));
  else PetscCall(PetscStrncpy(residual, rnorm <= 1e-9 * bnorm ? "<= 1e-9" : "> 1e-9", sizeof(residual)));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%-22s %6" PetscInt_FMT "  %10" PetscInt_FMT "  %8s  %9.3e", name, levels, its, residual, (double)l2));
  if (times) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %7.3f s  %7.3f s", t[1] - t[0], t[2] - t[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&u));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[] = {32, 32, 32};
  DM             dm;
  Mat            A;
  Vec            b, g;
  DMBoxSpace     space;
  PetscInt       dim, degree, n[3], N;
  PetscBool      second = PETSC_TRUE, third = PETSC_TRUE, times = PETSC_TRUE, nodal = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-double", &second, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-direct", &third, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &times, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-nodal", &nodal, NULL));

  /* the mesh carries the element and the operator */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 3, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));

  /* load, Neumann data, Dirichlet data */
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &g));
  if (nodal) {
    PetscCall(DMBoxInterpolateFunctionBatch(dm, 0, RightHandSide, dm, g));
    PetscCall(DMBoxAddLoadVec(dm, g, b));
  } else PetscCall(DMBoxAddLoadBatch(dm, 0, RightHandSide, dm, b));
  PetscCall(DMBoxAddNeumannLoadBatch(dm, 0, Flux, dm, b));
  PetscCall(DMBoxInterpolateFunctionBatch(dm, 0, Exact, NULL, g));
  PetscCall(DMBoxLiftDirichlet(dm, g, b));
  PetscCall(VecDestroy(&g));

  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, n));
  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(DMBoxGetSpace(dm, &space));
  PetscCall(VecGetSize(b, &N));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Poisson's equation, %s%" PetscInt_FMT " on %" PetscInt_FMT, space == DMBOX_SPACE_Q ? "Q" : "DGQ",
                        degree, n[0]));
  for (PetscInt d = 1; d < dim; d++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " x %" PetscInt_FMT, n[d]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " cells, %" PetscInt_FMT " unknowns%s\n\n", N, nodal ? "; errors against nodal values" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solver                 levels  iterations  residual   L2 error%s\n",
                        times ? "     set-up      solve" : ""));
  PetscCall(Solve(dm, A, b, NULL, PETSC_TRUE, 0, nodal, times));
  if (second) PetscCall(Solve(dm, A, b, "double_", PETSC_FALSE, 0, nodal, times));
  if (second && third) PetscCall(Solve(dm, A, b, "direct_", PETSC_FALSE, PETSC_DECIDE, nodal, times));

  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # what "make run" and "make check" print
   test:
     suffix: 1
     nsize: {{1 2}}
     output_file: output/poisson_1.out
     args: -time 0 -dm_box_cells 8
   testset: # V-cycles down to one patch
     args: -time 0 -direct 0
     # the same iterations and errors on any number of ranks
     test:
       suffix: ranks
       nsize: {{1 2 3 4 6 8}}
       output_file: output/poisson_ranks.out
       args: -dm_box_cells 8
     test:
       suffix: ranks_q1
       nsize: {{1 2 3 4 6 8}}
       output_file: output/poisson_ranks_q1.out
       args: -dm_box_cells 2 -dm_refine 4 -dm_box_degree 1
     # L2 errors of the reference implementation
     test:
       suffix: l2_q1
       args: -dm_box_cells 64 -dm_box_degree 1
     test:
       suffix: l2_q2
       args: -dm_box_cells 32 -dm_box_degree 2
     test:
       suffix: l2_q3
       args: -dm_box_cells 16 -dm_box_degree 3
     test:
       suffix: l2_q3_fine
       args: -dm_box_cells 32 -dm_box_degree 3
     test:
       suffix: l2_q4
       args: -dm_box_cells 16 -dm_box_degree 4
     test:
       suffix: l2_q5
       args: -dm_box_cells 16 -dm_box_degree 5 -ksp_rtol 1e-12 -double_ksp_rtol 1e-12
     test:
       suffix: l2_q7
       args: -dm_box_cells 4 -dm_box_degree 7 -ksp_rtol 1e-12 -double_ksp_rtol 1e-12
     test:
       suffix: l2_2d
       args: -dm_box_dim 2 -dm_box_cells 16 -dm_box_degree 5 -ksp_rtol 1e-12 -double_ksp_rtol 1e-12
     test:
       suffix: 1d
       args: -dm_box_dim 1 -dm_box_cells 64
     # a stretched box, all kinds of boundary data, two meshes: the errors fall by 2^4
     test:
       suffix: mixed_1
       args: -dm_box_cells 8,4,16 -dm_box_lower 0.1,0.2,-0.3 -dm_box_upper 1.7,0.9,2.3
       args: -dm_box_boundary dirichlet,neumann,neumann,dirichlet,dirichlet,dirichlet
     test:
       suffix: mixed_2
       nsize: 2
       args: -dm_box_cells 16,8,32 -dm_box_lower 0.1,0.2,-0.3 -dm_box_upper 1.7,0.9,2.3
       args: -dm_box_boundary dirichlet,neumann,neumann,dirichlet,dirichlet,dirichlet
     test:
       suffix: dirichlet_1
       args: -dm_box_cells 8,4,16 -dm_box_lower 0.1,0.2,-0.3 -dm_box_upper 1.7,0.9,2.3
     test:
       suffix: dirichlet_2
       args: -dm_box_cells 16,8,32 -dm_box_lower 0.1,0.2,-0.3 -dm_box_upper 1.7,0.9,2.3
     test:
       suffix: shift
       args: -dm_box_cells 16 -dm_box_degree 2 -dm_box_shift 100 -dm_box_diffusion 1,10,0.1 -dm_box_semicoarsening 0
     test:
       suffix: helmholtz
       args: -dm_box_cells 8 -dm_box_shift -40
     # only defined up to a constant, which the nullspace takes out
     test:
       suffix: neumann_1
       nsize: {{1 3}}
       output_file: output/poisson_neumann_1.out
       args: -dm_box_cells 8 -dm_box_lower -1 -dm_box_upper 1 -dm_box_boundary neumann
     test:
       suffix: neumann_2
       args: -dm_box_cells 16 -dm_box_lower -1 -dm_box_upper 1 -dm_box_boundary neumann
       args: -ksp_type cg -ksp_norm_type unpreconditioned -single_pc_patchmg_symmetric -double_ksp_type cg
       args: -double_ksp_norm_type unpreconditioned -double_pc_patchmg_symmetric
     # coarsest meshes of any shape
     test:
       suffix: coarse_even
       args: -dm_box_cells 24,16,40 -dm_box_semicoarsening 0
     test:
       suffix: coarse_odd
       nsize: 2
       args: -dm_box_cells 7,5,3
     # kinds of multigrid
     test:
       suffix: full
       args: -dm_box_cells 8 -double false -single_pc_mg_type full
     test:
       suffix: additive
       args: -dm_box_cells 8 -double false -single_pc_mg_type additive
     test:
       suffix: smoother_additive
       nsize: 2
       args: -dm_box_cells 8 -double_ksp_type cg -double_ksp_norm_type unpreconditioned -double_mg_levels_pc_patchfd_type additive
       args: -double_mg_levels_pc_patchfd_damping 0.125
       args: -ksp_type cg -ksp_norm_type unpreconditioned -single_mg_levels_pc_patchfd_type additive
       args: -single_mg_levels_pc_patchfd_damping 0.125
     test:
       suffix: cg
       args: -dm_box_cells 8 -ksp_type cg -ksp_norm_type unpreconditioned -single_pc_patchmg_symmetric -double_ksp_type cg
       args: -double_ksp_norm_type unpreconditioned -double_pc_patchmg_symmetric
     test:
       suffix: mg
       args: -dm_box_cells 2 -dm_refine 3 -double false -pc_type mg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1
       args: -mg_levels_pc_type patchfd
       args: -mg_coarse_ksp_type richardson -mg_coarse_ksp_max_it 1 -mg_coarse_pc_type patchfd -mg_coarse_pc_patchfd_patch box
     test:
       suffix: direct
       nsize: {{1 2}}
       output_file: output/poisson_direct.out
       args: -dm_box_cells 8 -double false -pc_type patchfd -pc_patchfd_patch box
     # other preconditioners work on the assembled matrix
     test:
       suffix: aij
       nsize: {{1 2}}
       output_file: output/poisson_aij.out
       args: -dm_box_cells 6 -dm_box_degree 2 -dm_mat_type aij -double false -pc_type jacobi -ksp_type cg -ksp_norm_type unpreconditioned
     # interior penalties
     test:
       suffix: dgq
       nsize: {{1 2 3 4}}
       output_file: output/poisson_dgq.out
       args: -dm_box_space dgq -dm_box_cells 8 -dm_box_degree 2
     test:
       suffix: dgq_mixed
       nsize: 2
       args: -dm_box_space dgq -dm_box_cells 8,4,16 -dm_box_degree 2 -dm_box_lower 0.1,0.2,-0.3 -dm_box_upper 1.7,0.9,2.3
       args: -dm_box_boundary dirichlet,neumann,neumann,dirichlet,dirichlet,dirichlet
     test:
       suffix: dgq_neumann
       nsize: {{1 3}}
       output_file: output/poisson_dgq_neumann.out
       args: -dm_box_space dgq -dm_box_cells 4 -dm_box_lower -1 -dm_box_upper 1 -dm_box_boundary neumann
     test:
       suffix: dgq_variants
       output_file: output/poisson_dgq_variants.out
       args: -dm_box_space dgq -dm_box_cells 4 -dm_box_degree 2 -double false -pc_type patchmg
       args: -mg_levels_pc_patchfd_variant {{boundary fused separate global}}
     test:
       suffix: dgq_full
       args: -dm_box_space dgq -dm_box_cells 8 -dm_box_degree 2 -single_pc_mg_type full -double_pc_mg_type full
     test:
       suffix: dgq_additive
       nsize: {{1 2}}
       output_file: output/poisson_dgq_additive.out
       args: -dm_box_space dgq -dm_box_cells 8 -dm_box_degree 2 -double false -ksp_type cg -ksp_norm_type unpreconditioned
       args: -pc_type patchmg -mg_levels_pc_patchfd_type additive -mg_levels_pc_patchfd_damping 0.1
     test:
       suffix: dgq_cg
       args: -dm_box_space dgq -dm_box_cells 8 -dm_box_degree 2 -ksp_type cg -ksp_norm_type unpreconditioned -single_pc_patchmg_symmetric
       args: -double_ksp_type cg -double_ksp_norm_type unpreconditioned -double_pc_patchmg_symmetric
     test:
       suffix: dgq_direct
       nsize: {{1 2}}
       output_file: output/poisson_dgq_direct.out
       args: -dm_box_space dgq -dm_box_cells 8 -dm_box_degree 2 -double false -pc_type patchfd -pc_patchfd_patch box
     # loads and errors from nodal values
     test:
       suffix: nodal
       nsize: {{1 3}}
       output_file: output/poisson_nodal.out
       args: -nodal -dm_box_cells 8 -dm_box_boundary dirichlet,neumann,neumann,dirichlet,dirichlet,dirichlet
     test:
       suffix: nodal_cuda
       requires: cuda gpu
       output_file: output/poisson_nodal.out
       args: -nodal -dm_box_cells 8 -dm_box_boundary dirichlet,neumann,neumann,dirichlet,dirichlet,dirichlet -dm_vec_type cuda
     # what the solver says about itself
     test:
       suffix: view
       filter: grep -E "patchfd|patchmg|patches|kernels|whole"
       args: -dm_box_cells 4 -double false -pc_type patchmg -pc_patchmg_coarse_eq_limit 0 -ksp_view
   # as PCPATCHMG chooses: one level, with errors as above
   testset:
     args: -time 0 -direct 0 -single_pc_patchmg_coarse_eq_limit decide -double_pc_patchmg_coarse_eq_limit decide
     test:
       suffix: choice
       nsize: {{1 2}}
       output_file: output/poisson_choice.out
       args: -dm_box_cells 16 -dm_box_degree 3
     test:
       suffix: choice_sides
       nsize: {{1 3}}
       output_file: output/poisson_choice_sides.out
       args: -dm_box_cells 8,4,16 -dm_box_lower 0.1,0.2,-0.3 -dm_box_upper 1.7,0.9,2.3
       args: -dm_box_boundary dirichlet,neumann,neumann,dirichlet,dirichlet,dirichlet
     test:
       suffix: choice_neumann
       nsize: {{1 3}}
       output_file: output/poisson_choice_neumann.out
       args: -dm_box_cells 8 -dm_box_lower -1 -dm_box_upper 1 -dm_box_boundary neumann
     test:
       suffix: choice_dgq
       args: -dm_box_space dgq -dm_box_cells 8 -dm_box_degree 2 -ksp_type cg -double_ksp_type cg
   test:
     suffix: choice_view
     filter: grep -E "patchfd|patchmg|patches|kernels|whole|one level|WARNING" | sed "s/[0-9.e+-]* ms/some ms/g"
     args: -time 0 -dm_box_cells 8 -double false -pc_type patchmg -ksp_view

TEST*/
