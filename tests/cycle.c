static char help
  [] = "The V-cycles of PCPATCHMG over many settings of the smoothers: symmetric ones are symmetric, replayed ones equal to others, and \
replayed where\n\
that is allowed and only there.\n\n";

#include <patchfd/private/compat.h>
#include <petscpatchfd.h>
#include <petscdevice.h>

typedef struct {
  DM          dm, assembled;
  Mat         A, aij; /* of the first and of the second */
  Vec         b, x, y, Mx, My;
  PetscRandom rnd;
  PetscReal   tolerance; /* of the precision of the vectors */
  PetscBool   gpu;       /* nothing is recorded on the host */
} Problem;

static PetscErrorCode ProblemCreate(PetscInt degree, PetscInt n, PetscReal length, PetscBool neumann, Problem *p)
{
  const PetscInt  cells[] = {n, n, n};
  const PetscReal lower[] = {0, 0, 0}, upper[] = {1, 1, length};
  VecType         type;
  PetscBool       single;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, degree, &p->dm));
  PetscCall(DMBoxSetBounds(p->dm, lower, upper));
  if (neumann) {
    const DMBoxBoundaryType sides[] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                       DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

    PetscCall(DMBoxSetBoundary(p->dm, sides));
  }
  PetscCall(DMSetFromOptions(p->dm));
  PetscCall(DMSetUp(p->dm));
  PetscCall(DMCreateMatrix(p->dm, &p->A));
  PetscCall(DMClone(p->dm, &p->assembled));
  PetscCall(DMSetMatType(p->assembled, MATAIJ));
  PetscCall(DMSetUp(p->assembled));
  PetscCall(DMCreateMatrix(p->assembled, &p->aij));
  PetscCall(DMCreateGlobalVector(p->dm, &p->b));
  PetscCall(VecDuplicate(p->b, &p->x));
  PetscCall(VecDuplicate(p->b, &p->y));
  PetscCall(VecDuplicate(p->b, &p->Mx));
  PetscCall(VecDuplicate(p->b, &p->My));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &p->rnd));
  PetscCall(VecGetType(p->b, &type));
  PetscCall(PetscStrbeginswith(type, "single", &single));
  PetscCall(PetscStrendswith(type, "cuda", &p->gpu)); /* seqcuda, singlecuda */
  p->tolerance = single ? 1e-4 : 1e-10;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscRandomDestroy(&p->rnd));
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->x));
  PetscCall(VecDestroy(&p->y));
  PetscCall(VecDestroy(&p->Mx));
  PetscCall(VecDestroy(&p->My));
  PetscCall(MatDestroy(&p->A));
  PetscCall(MatDestroy(&p->aij));
  PetscCall(DMDestroy(&p->dm));
  PetscCall(DMDestroy(&p->assembled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a PCPATCHMG with these options and no others; set up, unless that fails with *error */
static PetscErrorCode NewPC(Problem *p, Mat A, const char *options, PetscBool graph, PC *pc, PetscErrorCode *error)
{
  PetscOptions o;
  PetscInt     unused;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, options));
  PetscCall(PetscOptionsPush(o));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetDM(*pc, A == p->aij ? p->assembled : p->dm));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCPATCHMG));
  PetscCall(PCPatchMGSetCoarseEqLim(*pc, 0));
  PetscCall(PCPatchMGSetGraph(*pc, graph));
  PetscCall(PCSetFromOptions(*pc));
  if (error) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    *error = PCSetUp(*pc);
    PetscCall(PetscPopErrorHandler());
  } else {
    PetscCall(PCSetUp(*pc));
    PetscCall(PetscOptionsAllUsed(o, &unused));
    PetscCheck(!unused, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Not all of these options are used: %s", options);
  }
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- symmetry ---- */

/* |(Mx,y) - (x,My)| / |Mx| |y|, for right-hand sides x and y of systems that have a solution */
static PetscErrorCode Asymmetry(Problem *p, PC pc, PetscReal *asymmetry)
{
  PetscScalar  a, b;
  PetscReal    norm, normy;
  MatNullSpace null;

  PetscFunctionBeginUser;
  PetscCall(VecSetRandom(p->x, p->rnd));
  PetscCall(VecSetRandom(p->y, p->rnd));
  PetscCall(MatGetNullSpace(p->A, &null));
  if (null) PetscCall(MatNullSpaceRemove(null, p->x));
  if (null) PetscCall(MatNullSpaceRemove(null, p->y));
  PetscCall(PCApply(pc, p->x, p->Mx));
  PetscCall(PCApply(pc, p->y, p->My));
  PetscCall(VecDot(p->Mx, p->y, &a));
  PetscCall(VecDot(p->My, p->x, &b));
  PetscCall(VecNorm(p->Mx, NORM_2, &norm));
  PetscCall(VecNorm(p->y, NORM_2, &normy));
  *asymmetry = PetscAbsReal(a - b) / (norm * normy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSymmetric(Problem *p, Mat A, const char *options)
{
  PC        pc;
  PetscReal asymmetry;
  char      all[512];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(all, sizeof(all), "-pc_patchmg_symmetric %s", options));
  PetscCall(NewPC(p, A, all, PETSC_TRUE, &pc, NULL));
  PetscCall(Asymmetry(p, pc, &asymmetry));
  if (!(asymmetry < p->tolerance)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "NOT SYMMETRIC: %g with %s\n", (double)asymmetry, all));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const more[] = {
  "-mg_levels_pc_patchfd_type additive -mg_levels_pc_patchfd_damping 0.125",
  "-mg_levels_pc_patchfd_type additive -mg_levels_pc_patchfd_damping 0.125 -mg_levels_pc_patchfd_sweeps 2 -mg_levels_ksp_max_it 2",
  "-mg_levels_pc_patchfd_variant global -mg_levels_pc_patchfd_damping 0.9",
  "-mg_levels_pc_patchfd_variant separate -mg_levels_pc_patchfd_order backward",
  "-mg_levels_pc_patchfd_patch box",
  "-mg_levels_1_pc_patchfd_damping 0.7 -mg_levels_2_ksp_max_it 3", /* each level its own */
  "-mg_levels_ksp_norm_type preconditioned",
  "-mg_levels_ksp_type chebyshev", /* of PCPATCHFD in forward order */
  "-mg_levels_ksp_type chebyshev -mg_levels_ksp_max_it 3 -mg_levels_pc_patchfd_type additive",
  "-mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi",
  "-mg_levels_ksp_type preonly",
  "-mg_levels_pc_type jacobi -mg_levels_ksp_richardson_scale 0.5 -mg_levels_ksp_max_it 2",
  "-mg_levels_pc_type none -mg_levels_ksp_richardson_scale 0.01",
  "-mg_coarse_pc_patchfd_patch vertex -mg_coarse_pc_patchfd_order symmetric",
  "-pc_mg_multiplicative_cycles 2 -mg_levels_pc_patchfd_damping 0.9",
  /* the user's own post-smoother, here the right one */
  "-mg_levels_pc_patchfd_damping 0.9 -mg_levels_up_pc_patchfd_damping 0.9 -mg_levels_up_pc_patchfd_order backward", /* of one in forward order, then */
  "-mg_levels_pc_patchfd_damping 0.9 -mg_levels_up_ksp_type richardson -mg_levels_up_pc_type patchfd",
  "-mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi -mg_levels_up_ksp_type chebyshev -mg_levels_up_pc_type jacobi",
};

static PetscErrorCode CheckSymmetricMore(Problem *p)
{
  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(more); i++) PetscCall(CheckSymmetric(p, p->A, more[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSymmetry(Problem *p, PetscBool cross)
{
  const char *const order[]     = {"auto", "forward", "backward", "symmetric"};
  const char *const damping[]   = {"1", "0.7", "1.4"};
  const char *const scale[]     = {"1", "0.8"};
  const char *const cycle[]     = {"v", "w"};
  const char *const assembled[] = {
    "-mg_levels_pc_type sor", /* no PCPATCHFD on assembled matrices */
    "-mg_levels_pc_type sor -mg_levels_pc_sor_omega 1.3 -mg_levels_ksp_max_it 2",
    "-mg_levels_pc_type bjacobi -mg_levels_sub_pc_type ilu",
  };

  PetscFunctionBeginUser;
  for (int o = 0; o < 4 && cross; o++)
    for (int d = 0; d < 3; d++)
      for (int s = 0; s < 2; s++)
        for (int c = 0; c < 2; c++)
          for (int sweeps = 1; sweeps <= 2; sweeps++)
            for (int its = 1; its <= 3; its += 2) {
              char options[512];

              PetscCall(PetscSNPrintf(options, sizeof(options),
                                      "-mg_levels_pc_patchfd_order %s -mg_levels_pc_patchfd_damping %s -mg_levels_ksp_richardson_scale %s "
                                      "-pc_mg_cycle_type %s -mg_levels_pc_patchfd_sweeps %d -mg_levels_ksp_max_it %d",
                                      order[o], damping[d], scale[s], cycle[c], sweeps, its));
              PetscCall(CheckSymmetric(p, p->A, options));
            }
  PetscCall(CheckSymmetricMore(p));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(assembled) && !p->gpu; i++) {
    char options[512];

    PetscCall(PetscSNPrintf(options, sizeof(options), "-mg_coarse_ksp_type preonly -mg_coarse_pc_type redundant %s", assembled[i]));
    PetscCall(CheckSymmetric(p, p->aij, options));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "symmetric cycles: tested\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* settings by routines, and -mg_levels_up_ on top of what is mirrored */
static PetscErrorCode TestOverride(Problem *p)
{
  PC             pc, up;
  KSP            ksp;
  PetscReal      damping, asymmetry;
  PetscInt       its, sweeps;
  PCPatchFDOrder order;

  PetscFunctionBeginUser;
  PetscCall(NewPC(p, p->A,
                  "-pc_patchmg_symmetric -mg_levels_pc_patchfd_damping 0.7 -mg_levels_ksp_max_it 2 -mg_levels_pc_patchfd_sweeps 3 "
                  "-mg_levels_up_pc_patchfd_damping 0.9",
                  PETSC_TRUE, &pc, NULL));
  PetscCall(PCMGGetSmootherUp(pc, 1, &ksp));
  PetscCall(KSPGetTolerances(ksp, NULL, NULL, NULL, &its));
  PetscCall(KSPGetPC(ksp, &up));
  PetscCall(PCPatchFDGetDamping(up, &damping));
  PetscCall(PCPatchFDGetSweeps(up, &sweeps));
  PetscCall(PCPatchFDGetOrder(up, &order));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "post-smoother: damping %g, %s order, %" PetscInt_FMT " sweeps, %" PetscInt_FMT " steps\n",
                        (double)damping, PCPatchFDOrders[order], sweeps, its));
  PetscCall(PCDestroy(&pc));

  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetDM(pc, p->dm));
  PetscCall(PCSetOperators(pc, p->A, p->A));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
  PetscCall(PCPatchMGSetSymmetric(pc, PETSC_TRUE));
  PetscCall(PCMGSetLevels(pc, 2, NULL));
  PetscCall(PCMGGetSmoother(pc, 1, &ksp));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPRichardsonSetScale(ksp, 0.9));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  PetscCall(KSPGetPC(ksp, &up));
  PetscCall(PCSetType(up, PCPATCHFD));
  PetscCall(PCPatchFDSetDamping(up, 0.8));
  PetscCall(PCPatchFDSetOrder(up, PC_PATCHFD_ORDER_BACKWARD));
  PetscCall(Asymmetry(p, pc, &asymmetry));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "set by routines: %s\n", asymmetry < p->tolerance ? "symmetric" : "NOT SYMMETRIC"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the orders on the finest level, and whether they make a symmetric cycle */
static PetscErrorCode ShowOrders(Problem *p, PC pc, const char *what)
{
  PCPatchFDOrder order[2];
  PetscReal      asymmetry;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall(PCMGGetLevels(pc, &n));
  for (int i = 0; i < 2; i++) {
    KSP ksp;
    PC  smoother;

    PetscCall(i ? PCMGGetSmootherUp(pc, n - 1, &ksp) : PCMGGetSmootherDown(pc, n - 1, &ksp));
    PetscCall(KSPGetPC(ksp, &smoother));
    PetscCall(PCPatchFDGetOrder(smoother, &order[i]));
  }
  PetscCall(Asymmetry(p, pc, &asymmetry));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, %s, %s\n", what, PCPatchFDOrders[order[0]], PCPatchFDOrders[order[1]],
                        asymmetry < p->tolerance ? "symmetric" : "not symmetric"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which order a smoother has where none is chosen, in any sequence of calls */
static PetscErrorCode TestOrders(Problem *p)
{
  const char *const options[] = {"",
                                 "-mg_levels_pc_patchfd_order forward",
                                 "-mg_levels_pc_patchfd_order backward",
                                 "-mg_levels_pc_patchfd_order auto",
                                 "-mg_levels_up_pc_patchfd_order backward",
                                 "-mg_levels_pc_patchfd_type additive -mg_levels_pc_patchfd_damping 0.125"};
  PC                pc, smoother;
  KSP               ksp;
  PetscInt          n;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(options); i++) {
    char all[512];

    PetscCall(PetscSNPrintf(all, sizeof(all), "-pc_patchmg_symmetric %s", options[i]));
    PetscCall(NewPC(p, p->A, all, PETSC_TRUE, &pc, NULL));
    PetscCall(ShowOrders(p, pc, all));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(NewPC(p, p->A, "", PETSC_TRUE, &pc, NULL));
  for (int i = 0; i < 3; i++) {
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, p->A, p->A));
    PetscCall(PCPatchMGSetSymmetric(pc, (PetscBool)(i != 1)));
    PetscCall(PCSetUp(pc));
    PetscCall(ShowOrders(p, pc, i != 1 ? "switched on" : "switched off"));
  }
  PetscCall(PCMGGetLevels(pc, &n));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, p->A, p->A));
  PetscCall(PCMGGetSmootherDown(pc, n - 1, &ksp));
  PetscCall(KSPGetPC(ksp, &smoother));
  PetscCall(PCPatchFDSetOrder(smoother, PC_PATCHFD_ORDER_FORWARD));
  PetscCall(PCSetUp(pc));
  PetscCall(ShowOrders(p, pc, "PC_PATCHFD_ORDER_FORWARD"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, p->A, p->A));
  PetscCall(PCPatchFDSetOrder(smoother, PC_PATCHFD_ORDER_AUTO));
  PetscCall(PCSetUp(pc));
  PetscCall(ShowOrders(p, pc, "PC_PATCHFD_ORDER_AUTO"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(Problem *p)
{
  const char *const wrong[] = {"-mg_levels_ksp_type gmres",
                               "-mg_levels_ksp_richardson_self_scale",
                               "-mg_levels_ksp_norm_type preconditioned -mg_levels_ksp_convergence_test default",
                               "-mg_levels_pc_type shell",
                               "-mg_coarse_pc_patchfd_patch vertex",
                               "-pc_mg_type full"};
  PC                pc;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(wrong); i++) {
    PetscErrorCode error = PETSC_SUCCESS;
    char           options[512];

    PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_patchmg_symmetric %s", wrong[i]));
    PetscCall(NewPC(p, p->A, options, PETSC_TRUE, &pc, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", options, error == PETSC_ERR_ARG_INCOMP ? "error" : "NO ERROR"));
    PetscCall(PCDestroy(&pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG on cells of 1 : 1 : 20: a V-cycle that is not symmetric does not converge */
static PetscErrorCode TestCG(void)
{
  const char *const options[] = {"-pc_patchmg_symmetric", "-pc_patchmg_symmetric -mg_levels_pc_patchfd_damping 1.4",
                                 "-pc_patchmg_symmetric -mg_levels_pc_patchfd_damping 1.4 -mg_levels_pc_patchfd_order backward",
                                 "-pc_patchmg_symmetric -mg_levels_ksp_max_it 2"};
  Problem           p;
  PC                pc;
  KSP               ksp;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreate(1, 16, 20, PETSC_FALSE, &p));
  PetscCall(VecSet(p.b, 1));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(options); i++) {
    KSPConvergedReason reason;
    PetscInt           its;

    PetscCall(NewPC(&p, p.A, options[i], PETSC_TRUE, &pc, NULL));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, p.A, p.A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetPC(ksp, pc));
    PetscCall(KSPSetTolerances(ksp, 1e-9, 0, PETSC_CURRENT, 100));
    PetscCall(KSPSolve(ksp, p.b, p.x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "CG with %s: %s, iterations %" PetscInt_FMT "\n", options[i], KSPConvergedReasons[reason], its));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- recordings ---- */

static PetscErrorCode Replays(PetscInt *n)
{
  PetscEventPerfInfo info;
  PetscLogEvent      event;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("PatchFDReplay", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n applications of each to the same vectors; the first one replays a recording in `replays` of them */
static PetscErrorCode Compare(Problem *p, const char *what, PC pc, PC plain, PetscInt n, PetscInt replays)
{
  PetscReal worst = 0;
  PetscInt  before, after;

  PetscFunctionBeginUser;
  PetscCall(Replays(&before));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal norm, diff;

    PetscCall(VecSetRandom(p->b, p->rnd));
    PetscCall(VecSetRandom(p->x, p->rnd));
    PetscCall(PCApply(pc, p->b, p->x));
    PetscCall(PCApply(plain, p->b, p->y));
    PetscCall(VecNorm(p->y, NORM_2, &norm));
    PetscCall(VecCopy(p->x, p->Mx)); /* x keeps its array, which a recording holds */
    PetscCall(VecAXPY(p->Mx, -1, p->y));
    PetscCall(VecNorm(p->Mx, NORM_2, &diff));
    worst = PetscMax(worst, PetscIsInfOrNanReal(diff / norm) ? PETSC_MAX_REAL : diff / norm);
  }
  PetscCall(Replays(&after));
  if (!p->gpu) replays = 0;
  if (!(worst < p->tolerance)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "DIFFERENT: %g with %s\n", (double)worst, what));
  if (after - before != replays)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "REPLAYED %" PetscInt_FMT " times, expected %" PetscInt_FMT ", with %s\n", after - before,
                          replays, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRecording(Problem *p, const char *options, PetscBool allowed)
{
  PC pc[2];

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) PetscCall(NewPC(p, p->A, options, (PetscBool)(i == 0), &pc[i], NULL));
  PetscCall(Compare(p, options, pc[0], pc[1], 4, allowed ? 2 : 0));
  for (int i = 0; i < 2; i++) PetscCall(PCDestroy(&pc[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRecordings(Problem *p)
{
  const char *const order[]   = {"auto", "forward", "backward", "symmetric"};
  const char *const damping[] = {"1", "0.8"};
  const char *const cycle[]   = {"-pc_mg_cycle_type v",   "-pc_mg_cycle_type w",
                                 "-pc_patchmg_symmetric", "-pc_patchmg_symmetric -pc_mg_cycle_type w",
                                 "-pc_mg_type full",      "-pc_mg_type kaskade",
                                 "-pc_mg_type additive",  "-pc_mg_multiplicative_cycles 2"};
  const char *const allowed[] = {
    "-mg_levels_pc_patchfd_type additive -mg_levels_pc_patchfd_damping 0.125",
    "-mg_levels_pc_patchfd_variant global",
    "-mg_levels_pc_patchfd_variant separate",
    "-mg_levels_pc_patchfd_variant fused",
    "-mg_levels_pc_patchfd_variant boundary",
    "-mg_levels_pc_patchfd_patch box",
    "-mg_coarse_pc_patchfd_patch vertex -mg_coarse_ksp_max_it 3",
    "-mg_levels_ksp_richardson_scale 1",
    "-pc_mg_distinct_smoothup -mg_levels_up_pc_patchfd_damping 0.8",
    "-pc_mg_levels 2",
    "-pc_mg_levels 1",
  };
  /* what works with norms, with Vecs of PETSc's, or on the host, or may differ from one application to the next */
  const char *const forbidden[] = {
    "-mg_levels_ksp_richardson_scale 0.8",
    "-mg_levels_1_ksp_richardson_scale 0.8",
    "-mg_coarse_ksp_richardson_scale 0.8",
    "-pc_patchmg_symmetric -mg_levels_up_ksp_richardson_scale 0.8",
    "-mg_levels_ksp_richardson_self_scale",
    "-mg_levels_ksp_type chebyshev",
    "-mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi",
    "-mg_levels_ksp_type chebyshev -pc_patchmg_symmetric",
    "-mg_levels_ksp_type gmres",
    "-mg_levels_ksp_type cg -mg_levels_pc_type jacobi",
    "-mg_levels_pc_type jacobi -mg_levels_ksp_richardson_scale 0.5",
    "-mg_levels_pc_type jacobi",
    "-mg_levels_pc_type none",
    "-mg_levels_2_pc_type jacobi",
    "-mg_coarse_ksp_type preonly",
    "-mg_coarse_ksp_type cg -mg_coarse_pc_type none",
    "-mg_levels_ksp_norm_type preconditioned",
    "-mg_levels_ksp_convergence_test default",
    "-mg_levels_ksp_monitor ascii:/dev/null",
    "-mg_levels_ksp_converged_reason ascii:/dev/null",
    "-mg_levels_ksp_view ascii:/dev/null",
    "-mg_levels_ksp_view_final_residual ascii:/dev/null",
    "-mg_levels_ksp_knoll",
    "-mg_levels_ksp_guess_type fischer",
    "-pc_patchmg_graph 0",
  };

  PetscFunctionBeginUser;
  for (int o = 0; o < 3; o++)
    for (int d = 0; d < 2; d++)
      for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cycle); c++)
        for (int sweeps = 1; sweeps <= 2; sweeps++)
          for (int its = 1; its <= 2; its++) {
            char options[512];

            PetscCall(PetscSNPrintf(options, sizeof(options),
                                    "-mg_levels_pc_patchfd_order %s -mg_levels_pc_patchfd_damping %s %s -mg_levels_pc_patchfd_sweeps %d "
                                    "-mg_levels_ksp_max_it %d",
                                    order[o], damping[d], cycle[c], sweeps, its));
            PetscCall(CheckRecording(p, options, PETSC_TRUE));
          }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(allowed); i++) PetscCall(CheckRecording(p, allowed[i], PETSC_TRUE));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(forbidden); i++) PetscCall(CheckRecording(p, forbidden[i], PETSC_FALSE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "recordings: tested\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* changes behind the back of a recording: by routines, after it was made */

static PetscErrorCode Halve(Mat A, Vec b, Vec x, Vec r)
{
  PetscFunctionBeginUser;
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecScale(r, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Nothing(PETSC_UNUSED Mat A, Vec b, PETSC_UNUSED Vec x, Vec r)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Hook(PETSC_UNUSED KSP ksp, PETSC_UNUSED Vec b, Vec x, PETSC_UNUSED PetscCtx ctx)
{
  PetscFunctionBeginUser;
  PetscCall(VecScale(x, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Monitor(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt it, PETSC_UNUSED PetscReal norm, PETSC_UNUSED PetscCtx ctx)
{
  return PETSC_SUCCESS;
}

typedef enum {
  SCALE,
  SELFSCALE,
  TYPE,
  PCTYPE,
  NORM,
  MONITOR,
  PRESOLVE,
  POSTSOLVE,
  NULLSPACE,
  TRANSPOSENULLSPACE,
  RESIDUAL,
  OPERATION,
  DAMPING, /* after this and what follows a new recording is made */
  STEPS,
  CYCLE,
  NUMCHANGES
} Change;

static const char *const changes[] = {"scale",          "self scale",
                                      "KSP type",       "PC type",
                                      "norm",           "monitor",
                                      "pre-solve hook", "post-solve hook",
                                      "null space",     "null space of the transpose",
                                      "residual",       "operation of the matrix",
                                      "damping",        "steps",
                                      "cycle"};

static PetscErrorCode Alter(PC mg, Change change)
{
  KSP          ksp;
  PC           pc;
  Mat          A;
  MatNullSpace null;

  PetscFunctionBeginUser;
  PetscCall(PCMGGetSmoother(mg, 1, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  switch (change) {
  case SCALE:
    PetscCall(KSPRichardsonSetScale(ksp, 0.8));
    break;
  case SELFSCALE:
    PetscCall(KSPRichardsonSetSelfScale(ksp, PETSC_TRUE));
    PetscCall(KSPReset(ksp)); /* for its work vectors */
    PetscCall(KSPSetOperators(ksp, A, A));
    break;
  case TYPE:
    PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
    break;
  case PCTYPE:
    PetscCall(PCSetType(pc, PCJACOBI));
    break;
  case NORM:
    PetscCall(KSPSetNormType(ksp, KSP_NORM_PRECONDITIONED));
    break;
  case MONITOR:
    PetscCall(KSPMonitorSet(ksp, Monitor, NULL, NULL));
    break;
  case PRESOLVE:
    PetscCall(KSPSetPreSolve(ksp, Hook, NULL));
    break;
  case POSTSOLVE:
    PetscCall(KSPSetPostSolve(ksp, Hook, NULL));
    break;
  case NULLSPACE:
  case TRANSPOSENULLSPACE:
    PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_TRUE, 0, NULL, &null));
    if (change == NULLSPACE) PetscCall(MatSetNullSpace(A, null));
    else PetscCall(MatSetTransposeNullSpace(A, null));
    PetscCall(MatNullSpaceDestroy(&null));
    break;
  case RESIDUAL:
    PetscCall(PCMGSetResidual(mg, 1, Halve, A));
    break;
  case OPERATION:
    PetscCall(MatShellSetOperation(A, MATOP_RESIDUAL, (PetscVoidFn *)Nothing));
    break;
  case DAMPING:
    PetscCall(PCPatchFDSetDamping(pc, 0.7));
    break;
  case STEPS:
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 2));
    break;
  default:
    PetscCall(PCMGSetCycleType(mg, PC_MG_CYCLE_W));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChanges(Problem *p)
{
  PetscFunctionBeginUser;
  for (int c = 0; c < NUMCHANGES; c++) {
    PC pc[2];

    for (int i = 0; i < 2; i++) PetscCall(NewPC(p, p->A, "", (PetscBool)(i == 0), &pc[i], NULL));
    PetscCall(Compare(p, "defaults", pc[0], pc[1], 4, 2));
    for (int i = 0; i < 2; i++) PetscCall(Alter(pc[i], (Change)c));
    PetscCall(Compare(p, changes[c], pc[0], pc[1], 4, c < DAMPING ? 0 : 2));
    for (int i = 0; i < 2; i++) PetscCall(PCDestroy(&pc[i]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "changes: tested\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an error, or a synchronization, in the middle of a cycle, by a callback that PETSc calls at events */
static struct {
  PetscLogEvent fail, synchronize;
  PetscInt      countdown; /* to the event of this kind */
} callback = {-1, -1, 0};

static PetscErrorCode EventBegin(PetscLogEvent event, PETSC_UNUSED int t, PETSC_UNUSED PetscObject o1, PETSC_UNUSED PetscObject o2,
                                 PETSC_UNUSED PetscObject o3, PETSC_UNUSED PetscObject o4)
{
  return event == callback.fail && --callback.countdown == 0 ? PETSC_ERR_USER : PETSC_SUCCESS;
}

static PetscErrorCode EventEnd(PetscLogEvent event, PETSC_UNUSED int t, PETSC_UNUSED PetscObject o1, PETSC_UNUSED PetscObject o2,
                               PETSC_UNUSED PetscObject o3, PETSC_UNUSED PetscObject o4)
{
  PetscDeviceContext context;

  PetscFunctionBeginUser;
  if (event != callback.synchronize || --callback.countdown != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  (void)PetscDeviceContextSynchronize(context); /* a stream that is being captured cannot be waited for */
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFailures(Problem *p)
{
  PC                 pc[2];
  PetscDeviceContext before = NULL, after = NULL;
  PetscErrorCode     error;
  PetscInt           levels;

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) PetscCall(NewPC(p, p->A, "", (PetscBool)(i == 0), &pc[i], NULL));
  PetscCall(PCMGGetLevels(pc[0], &levels));
  if (p->gpu) PetscCall(PetscDeviceContextGetCurrentContext(&before)); /* PETSc with CUDA but no GPU has none */

  /* the second application would be recorded: an error comes through, and the next applications are right */
  PetscCall(Compare(p, "first application", pc[0], pc[1], 1, 0));
  PetscCall(PetscLogEventGetId("PatchFDMult", &callback.fail));
  callback.countdown = 1;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = PCApply(pc[0], p->b, p->x);
  PetscCall(PetscPopErrorHandler());
  callback.fail = -1;
  PetscCall(VecLockReadPop(p->b)); /* PCApply() has locked it */
  if (p->gpu) PetscCall(PetscDeviceContextGetCurrentContext(&after));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error in a cycle: %s, device context %s\n", error == PETSC_ERR_USER ? "returned" : "LOST",
                        before == after ? "as before" : "CHANGED"));
  PetscCall(Compare(p, "after an error", pc[0], pc[1], 3, 0));
  PetscCall(PCPatchMGSetGraph(pc[0], PETSC_TRUE)); /* try again */
  PetscCall(Compare(p, "recorded after an error", pc[0], pc[1], 4, 2));

  /* in the last event of a cycle, so that nothing else fails */
  PetscCall(PCPatchMGSetGraph(pc[0], PETSC_TRUE));
  PetscCall(PCApply(pc[0], p->b, p->x));
  if (p->gpu) PetscCall(PetscLogEventGetId("PatchFDSmooth", &callback.synchronize));
  callback.countdown = 2 * levels - 1;
  PetscCall(Compare(p, "what cannot be recorded", pc[0], pc[1], 3, 0));
  callback.synchronize = -1;
  if (p->gpu) PetscCall(PetscDeviceContextGetCurrentContext(&after));
  PetscCheck(before == after, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The device context is not as before");
  for (int i = 0; i < 2; i++) PetscCall(PCDestroy(&pc[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

static PetscInt residuals;

static PetscErrorCode CountResiduals(PETSC_UNUSED Mat A, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x, PETSC_UNUSED Vec r)
{
  return ++residuals == 100 ? PETSC_ERR_USER : PETSC_SUCCESS;
}

/* 65536 sweeps of each of 65536 steps, stopped after 100 residuals: 2^32 is not 0 */
static PetscErrorCode TestSweeps(Problem *p)
{
  PC             pc;
  KSP            ksp;
  Mat            A;
  Vec            b, x;
  PetscErrorCode error;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(p->dm, &A));
  PetscCall(MatShellSetOperation(A, MATOP_RESIDUAL, (PetscVoidFn *)CountResiduals));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 65536));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetVariant(pc, PC_PATCHFD_VARIANT_GLOBAL));
  PetscCall(PCPatchFDSetSweeps(pc, 65536));
  PetscCall(VecDuplicate(p->b, &b)); /* vectors of its own: KSPSolve() has locked them when it is stopped */
  PetscCall(VecDuplicate(p->b, &x));
  PetscCall(VecSet(b, 1));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "65536 x 65536 sweeps: %s after %" PetscInt_FMT " residuals\n",
                        error == PETSC_ERR_USER ? "stopped" : "OVER", residuals));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operators that have been changed: coarser levels follow ---- */

/* the V-cycle of a A is that of A divided by a, also where a comes after the set-up, and with A assembled from parts */
static PetscErrorCode TestScaled(Problem *p)
{
  const PetscScalar factor[] = {4, -0.25};
  PC                pc, plain;
  Mat               B;
  Vec               x[2];
  PetscReal         norm, diff;

  PetscFunctionBeginUser;
  PetscCall(NewPC(p, p->A, "", PETSC_TRUE, &plain, NULL));
  PetscCall(MatDuplicate(p->A, MAT_COPY_VALUES, &B));
  PetscCall(MatScale(B, 2));
  PetscCall(MatAXPY(B, 3, p->A, SAME_NONZERO_PATTERN)); /* 5 A */
  PetscCall(NewPC(p, B, "", PETSC_TRUE, &pc, NULL));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(p->b, &x[i]));
  PetscCall(VecSetRandom(p->b, p->rnd));
  PetscCall(PCApply(plain, p->b, x[0]));
  PetscCall(VecNorm(x[0], NORM_2, &norm));
  for (int i = 0; i < 3; i++) {
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, p->b, x[1]));
    PetscCall(VecAYPX(x[1], i == 0 ? -5 : (i == 1 ? -20 : 5), x[0]));
    PetscCall(VecNorm(x[1], NORM_2, &diff));
    if (!(diff < p->tolerance * norm))
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "DIFFERENT: %g after %d changes of the operator\n", (double)(diff / norm), i));
    if (i < 2) PetscCall(MatScale(B, factor[i]));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(MatDestroy(&B));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCDestroy(&plain));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "scaled operators: tested\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p, neumann;
  PetscBool symmetry = PETSC_TRUE, record = PETSC_TRUE, cross = PETSC_TRUE, errors = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-symmetry", &symmetry, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-record", &record, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cross", &cross, NULL)); /* all products of settings */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  PetscCall(ProblemCreate(2, 8, 3, PETSC_FALSE, &p));
  PetscCall(ProblemCreate(2, 8, 3, PETSC_TRUE, &neumann)); /* with a null space on all levels */
  if (symmetry) {
    PetscCall(TestSymmetry(&p, cross));
    PetscCall(CheckSymmetricMore(&neumann));
    PetscCall(TestOverride(&p));
    PetscCall(TestOrders(&p));
    if (cross) PetscCall(TestCG());
    if (errors) PetscCall(TestErrors(&p));
    if (errors) PetscCall(TestSweeps(&p));
  }
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscLogLegacyCallbacksBegin(EventBegin, EventEnd, NULL, NULL));
  if (record) PetscCall(TestRecordings(&p));
  if (record) PetscCall(CheckRecording(&neumann, "", PETSC_TRUE));
  PetscCall(TestChanges(&p));
  PetscCall(TestScaled(&p));
  if (errors) PetscCall(TestFailures(&p));
  PetscCall(ProblemDestroy(&neumann));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # on the host there is nothing to record: symmetry, changes of solvers, errors in a cycle
   test:
     suffix: ranks
     nsize: 2
     args: -record 0 -cross 0 -errors 0
   test:
     suffix: errors
     args: -record 0 -malloc_dump 0 -dm_box_semicoarsening 0

   testset:
     requires: cuda gpu
     test:
       suffix: symmetry_cuda
       args: -record 0 -dm_vec_type cuda -malloc_dump 0 -dm_box_semicoarsening 0
       output_file: output/cycle_errors.out
     test:
       suffix: record
       args: -symmetry 0 -dm_vec_type {{cuda singlecuda}} -malloc_dump 0

TEST*/
