/*
  PCPATCHMG: PCMG with the defaults that a DMBOX needs.  It is a PCMG in every respect (in the manner of PCGAMG: the type is set to PCMG
  and then renamed); only what PCMG would set by itself and what cannot work on matrix-free operators is replaced, just before
  PCMG sets up: the number of levels, Chebyshev and SOR on the levels, LU on the coarsest.
*/
#include <patchfd/private/degrees.h>
#include <patchfd/private/matimpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>
#include "patchmg.h"
#include <petsc/private/kspimpl.h>

/*
  For flows, which say that they are indefinite, full cycles, unless the user chose: a V-cycle needs ever more iterations at low degree,
  since penalties differ from level to level, and up to twice as many at any (doc/log/flow.md)
*/
static PetscErrorCode PCPatchMGSetCycle(PC pc)
{
  Mat_Box *m;

  PetscFunctionBegin;
  PetscCall(MatBoxFind(pc->pmat, &m));
  if (!m || pc->pmat->spd != PETSC_BOOL3_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (PATCHMG(pc)->symmetric || !PCPatchMGCycleIsFree_Private(pc)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMGSetType(pc, PC_MG_FULL));
  PATCHMG(pc)->changed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_PatchMG(PC pc, PatchFDOptionItems PetscOptionsObject)
{
  PC_PatchMG *p         = PATCHMG(pc);
  PetscBool   symmetric = p->symmetric, graph = p->graph, flg;
  PetscInt    limit = p->eqlimit;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PATCHMG options");
  PetscCall(PetscOptionsBool("-pc_patchmg_symmetric", "The adjoint of the smoother after the coarse correction, for CG",
                             "PCPatchMGSetSymmetric", symmetric, &symmetric, &flg));
  if (flg) PetscCall(PCPatchMGSetSymmetric(pc, symmetric));
  PetscCall(PetscOptionsBool("-pc_patchmg_graph", "On a GPU, replay the V-cycle as a graph", "PCPatchMGSetGraph", graph, &graph, &flg));
  if (flg) PetscCall(PCPatchMGSetGraph(pc, graph));
  PatchFDOptions(Int, PatchFDOptionsWord((PetscReal)limit), "-pc_patchmg_coarse_eq_limit", "Coarsen no further than to so many unknowns",
                 "PCPatchMGSetCoarseEqLim", limit, &limit, &flg);
  if (flg) PetscCall(PCPatchMGSetCoarseEqLim(pc, limit));
  PetscCall(PetscViewerDestroy(&p->viewer));
  PetscCall(PetscOptionsViewer("-pc_patchmg_view_levels", "Show the levels as a table, after set-up", "PCPatchMGViewLevels", &p->viewer,
                               &p->format, NULL));
  PetscOptionsHeadEnd();
  if (!((PC_MG *)pc->data)->levels) {
    PetscCall(PCPatchMGFindDM_Private(pc));
    if (!PCPatchMGHasPlex(pc)) PetscCall(PCPatchMGSetLevels_Private(pc));
  }
  PetscCall(PetscOptionsHasName(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, "-pc_mg_levels", &flg));
  /* PCMG would make a level where there is none yet: in PCSetUp() the matrix tells how many there are */
  if (((PC_MG *)pc->data)->levels || PCPatchMGHasDM_Private(pc) || flg) PetscCall(PCPatchMGReadOptions_Private(pc, PetscOptionsObject));
  p->options = PETSC_TRUE;
  if (pc->dm) PetscCall(DMPlexSetJacobian_PatchFD(pc->dm)); /* programs may have set another one since there is a matrix */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* steps of the smoother by themselves; preonly would cost a reduction a cycle */
static PetscErrorCode PCPatchMGSetRichardson(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the patches that a level's options ask for; cells by default, unless there are options that only vertex patches have */
static PetscErrorCode PCPatchMGGetPatch(KSP ksp, PCPatchFDPatch *patch)
{
  static const char *const vertex[] = {"-ksp_type",           "-pc_patchfd_type",      "-pc_patchfd_local",
                                       "-pc_patchfd_fit",     "-pc_patchfd_classes",   "-pc_patchfd_precision",
                                       "-pc_patchfd_update",  "-pc_patchfd_variant",   "-pc_patchfd_order",
                                       "-pc_patchfd_damping", "-pc_patchfd_fit_exact", "-pc_patchfd_fit_max_steps"};
  PetscBool                given, has = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEnum(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-pc_patchfd_patch", PCPatchFDPatches,
                                (PetscEnum *)patch, &given));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(vertex) && !has; i++)
    PetscCall(PetscOptionsHasName(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, vertex[i], &has));
  if (has && !given) *patch = PC_PATCHFD_PATCH_AUTO;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two steps of Chebyshev's iteration, or three, unless the user has another one for the level */
static PetscErrorCode PCPatchMGSetCells(KSP ksp, PetscBool robust, PC pc)
{
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-ksp_type", &has));
  if (has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCPatchFDSetType(pc, robust ? PC_PATCHFD_TYPE_CHEBYSHEV_FIRST : PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH));
  PetscCall(PCPatchFDSetSweeps(pc, robust ? 3 : 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where nothing can be factored: patches alone, with as many iterations as there may be cells in a direction; the outer solver corrects
   what they leave */
static PetscErrorCode PCPatchMGSetKrylov(KSP ksp, PC pc)
{
  const PetscInt  most = 60;
  const PetscReal rtol = 1e-2;
  void           *ctx;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, most));
  PetscCall(KSPConvergedDefaultCreate(&ctx));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedDefault, ctx, KSPConvergedDefaultDestroy));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_DEFAULT));
  PetscCall(KSPConvergedDefaultSetConvergedMaxits(ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, most));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_VERTEX));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* patchfd in place of what PCMG chose for this level: vertex patches, closed cells under Chebyshev's iteration, or the whole box; for mass
   matrices Jacobi; anything else is the user's choice */
static PetscErrorCode PCPatchMGSetSmoother(KSP ksp, PetscBool coarsest, PCType type, PCPatchFDPatch patch, PetscBool robust,
                                           PatchMGCoarse coarse)
{
  PC        pc;
  PetscBool kspdefault, pcdefault, patchfd;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &kspdefault, coarsest ? KSPPREONLY : KSPCHEBYSHEV, KSPCHEBYSHEV, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &pcdefault, PCSOR, coarsest ? PCLU : PCSOR, coarsest ? PCREDUNDANT : PCSOR, ""));
  if (!kspdefault || !pcdefault) PetscFunctionReturn(PETSC_SUCCESS);
  if (coarsest && coarse == PATCHMG_COARSE_ASSEMBLED) {
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(PCPatchMGSetAssembled(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSetType(pc, type));
  PetscCall(PetscStrcmp(type, PCPATCHFD, &patchfd));
  if (!patchfd) PetscFunctionReturn(PETSC_SUCCESS);
  if (coarsest && coarse == PATCHMG_COARSE_KRYLOV) {
    PetscCall(PCPatchMGSetKrylov(ksp, pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (coarsest) patch = PC_PATCHFD_PATCH_BOX;
  else PetscCall(PCPatchMGGetPatch(ksp, &patch));
  PetscCall(PCPatchMGSetRichardson(ksp));
  PetscCall(PCPatchFDSetPatch(pc, patch));
  if (patch == PC_PATCHFD_PATCH_CELL) PetscCall(PCPatchMGSetCells(ksp, robust, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set-up ---- */

/* PCMG has coarser levels' operators made by their DMs, which do not know of MatScale() or MatAXPY() on the finest one */
static PetscErrorCode PCPatchMGSetCoefficients(PC pc)
{
  PC_MG *mg = (PC_MG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < mg->nlevels - 1; l++) {
    const KSP ksp = mg->levels[l]->smoothd;
    Mat       A, P;

    if (!(ksp->dmActive & KSP_DMACTIVE_OPERATOR)) continue;
    PetscCall(KSPGetOperators(ksp, &A, &P));
    PetscCall(MatBoxFollow(P, pc->pmat));
    if (A != P) PetscCall(MatBoxFollow(A, pc->mat));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* solvers of the levels in place of PCMG's defaults */
static PetscErrorCode PCPatchMGSetSmoothers(PC pc, PCType type, PCPatchFDPatch patch, PetscBool robust, PatchMGCoarse coarse)
{
  PC_MG_Levels **levels = ((PC_MG *)pc->data)->levels;
  const PetscInt n      = ((PC_MG *)pc->data)->nlevels;

  PetscFunctionBegin;
  if (PATCHMG(pc)->symmetric) PetscCall(PCMGSetDistinctSmoothUp(pc));
  if (n == 1) { /* the only level is the coarsest, although PCMG calls it mg_levels_ */
    const char *prefix;

    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(KSPSetOptionsPrefix(levels[0]->smoothd, prefix));
    PetscCall(KSPAppendOptionsPrefix(levels[0]->smoothd, "mg_coarse_"));
  }
  for (PetscInt l = 0; l < n; l++) {
    PetscCall(PCPatchMGSetSmoother(levels[l]->smoothd, (PetscBool)(l == 0), type, patch, robust, coarse));
    if (levels[l]->smoothu == levels[l]->smoothd) continue;
    PetscCall(PCPatchMGSetSmoother(levels[l]->smoothu, PETSC_FALSE, type, patch, robust, PATCHMG_COARSE_BOX));
    if (PATCHMG(pc)->symmetric) PetscCall(PCPatchMGSetMirror_Private(levels[l]->smoothd, pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG takes the matrix of the first set-up for one that the user has set for the finest level, when there is another one */
static PetscErrorCode PCPatchMGSetFinest(PC pc)
{
  PC_PatchMG  *p      = PATCHMG(pc);
  const PC_MG *mg     = (const PC_MG *)pc->data;
  const KSP    ksp[2] = {mg->levels[mg->nlevels - 1]->smoothd, mg->levels[mg->nlevels - 1]->smoothu};

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscBool set;
    Mat       P;

    PetscCall(KSPGetOperatorsSet(ksp[i], NULL, &set));
    if (set) PetscCall(KSPGetOperators(ksp[i], NULL, &P));
    if (set && P != pc->pmat && ((PetscObject)P)->id == p->finest)
      PetscCall(KSPSetOperators(ksp[i], pc->useAmat ? pc->mat : pc->pmat, pc->pmat));
  }
  p->finest = ((PetscObject)pc->pmat)->id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* and keeps it for residuals */
static PetscErrorCode PCPatchMGSetResiduals(PC pc)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt l = 1; l < mg->nlevels; l++) {
    Mat A;

    PetscCall(KSPGetOperators(mg->levels[l]->smoothd, &A, NULL));
    if (mg->levels[l]->residual == PCMGResidualDefault && mg->levels[l]->A != A) PetscCall(PCMGSetResidual(pc, l, PCMGResidualDefault, A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PatchMG(PC pc)
{
  PC_PatchMG    *p = PATCHMG(pc);
  PetscInt       n, degrees;
  PetscBool      chosen, lower, stale, cells = PETSC_TRUE, robust = PETSC_FALSE;
  PCType         smoother = PCPATCHFD;
  PetscErrorCode ierr;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  pc->failedreason = PC_NOERROR; /* what PCMG says of it is of smoothers that fail now */
  PetscCall(PCPatchMGForget_Private(pc));
  PetscCall(PCPatchMGSetReuse_Private(pc));
  PetscCall(PCPatchMGDegreesAreStale(pc, &stale));
  if (stale) PetscCall(PCPatchMGSetStale_Private(pc));
  PetscCall(PCPatchMGUpdateCells(pc));
  PetscCall(PCPatchMGGetNumDegrees(pc, &degrees));
  if (!degrees) {
    Mat_Box *m;

    PetscCall(PCPatchMGFindDM_Private(pc));
    if (!pc->dm) PetscCall(MatBoxGet(pc->pmat, "PCPATCHMG without a DM", &m)); /* fails */
    PetscCall(PCPatchMGCheckHalvings_Private(pc));
  }
  PetscCall(PCPatchMGSetLevels_Private(pc));
  PetscCall(PCMGGetLevels(pc, &n));
  chosen = (PetscBool)(n == p->levels);
  if (!pc->setupcalled) {
    if (degrees) PetscCall(PCPatchMGGetDegreesSmoother(pc, &smoother, &robust));
    else PetscCall(MatBoxPrefersCells(pc->pmat, &cells));
    PetscCall(PCPatchMGSetSmoothers(pc, smoother, cells ? PC_PATCHFD_PATCH_CELL : PC_PATCHFD_PATCH_AUTO, robust,
                                    degrees ? PATCHMG_COARSE_ASSEMBLED : (chosen ? p->coarse : PATCHMG_COARSE_BOX)));
  }
  if (n && !p->cells) PetscCall(PCPatchMGSetFinest(pc));
  /* PCMG is to ask nothing of the DM of the matrix */
  if (((PC_MG *)pc->data)->galerkin == (degrees ? PC_MG_GALERKIN_NONE : PC_MG_GALERKIN_EXTERNAL))
    PetscCall(PCMGSetGalerkin(pc, degrees ? PC_MG_GALERKIN_EXTERNAL : PC_MG_GALERKIN_NONE));
  if (degrees) PetscCall(PCPatchMGSetUpDegrees(pc));
  PetscCall(PCPatchMGSetCycle(pc));
  lower = (PetscBool)(chosen && p->lowered);
  if (lower) PetscCall(DMBoxSetLowering(pc->dm, n - 2)); /* for the hierarchy that is made here, and no other */
  ierr = p->setup(pc);
  if (lower) PetscCall(DMBoxSetLowering(pc->dm, -1));
  PetscCall(ierr);
  if (n == 1) { /* PCMG's would solve anew in each step, whatever x is */
    p->changed               = (PetscBool)(p->changed || PCPatchMGCycleIsFree_Private(pc));
    pc->ops->applyrichardson = NULL;
  }
  PetscCall(PCPatchMGSetResiduals(pc));
  PetscCall(PCPatchMGSetGuess_Private(pc, PETSC_FALSE));
  PetscCall(PCPatchMGSetCoefficients(pc));
  if (p->symmetric) PetscCall(PCPatchMGCheckSymmetric_Private(pc));
  PetscCall(PetscTime(&end));
  PetscCall(
    PetscInfo(pc, "%" PetscInt_FMT " level(s) set up in %.3g s; the coarsest: %s\n", n, end - start, chosen ? p->why : "as it was set"));
  if (p->viewer) {
    PetscCall(PetscViewerPushFormat(p->viewer, p->format));
    PetscCall(PCPatchMGViewLevels_PatchMG(pc, p->viewer));
    PetscCall(PetscViewerPopFormat(p->viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_PatchMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCPatchMGForget_Private(pc));
  PATCHMG(pc)->degrees = 0;
  PetscCall(MatDestroy(&PATCHMG(pc)->cells));
  PetscCall(PATCHMG(pc)->reset(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- setters, destruction, creation ---- */

#define CheckLimit \
  PetscCheck(!((PC_MG *)object->data)->levels || PATCHMG(object)->eqlimit == value, PetscObjectComm((PetscObject)object), \
             PETSC_ERR_ARG_WRONGSTATE, \
             "PCPATCHMG: -pc_patchmg_coarse_eq_limit must be set before the number of levels, by -pc_mg_levels or PCSetUp()")
#define CheckSymmetric \
  PetscCheck(!object->setupcalled || PATCHMG(object)->symmetric == value, PetscObjectComm((PetscObject)object), PETSC_ERR_ARG_WRONGSTATE, \
             "PCPATCHMG: -pc_patchmg_symmetric must be set before PCSetUp()")
PATCHFD_SETTING(PC, PatchMG, Graph, PetscBool, PATCHMG(object)->graph, PetscCall(PCPatchMGForget_Private(object)))
PATCHFD_SETTING(PC, PatchMG, CoarseEqLim, PetscInt, PATCHMG(object)->eqlimit, CheckLimit)
PATCHFD_SETTING(PC, PatchMG, Symmetric, PetscBool, PATCHMG(object)->symmetric, CheckSymmetric)
static const PatchFDMethod methods[] = {PATCHFD_METHODS(PC, PatchMG, Graph), PATCHFD_METHODS(PC, PatchMG, CoarseEqLim),
                                        PATCHFD_METHODS(PC, PatchMG, Symmetric), PATCHFD_METHOD(PCPatchMGGetCoarseReason, PatchMG),
                                        PATCHFD_METHOD(PCPatchMGViewLevels, PatchMG)};

static PetscErrorCode PCDestroy_PatchMG(PC pc)
{
  PC_PatchMG *p = PATCHMG(pc);

  PetscFunctionBegin;
  PetscCall(PatchFDComposeMethods((PetscObject)pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_FALSE));
  PetscCall(PCPatchMGForget_Private(pc));
  PetscCall(PetscViewerDestroy(&p->viewer));
  PetscCall(PetscFree(p->halvings));
  PetscCall(MatDestroy(&p->cells));
  PetscCall(p->destroy(pc));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCPATCHMG - Geometric multigrid on a `DMBOX`: `PCMG` with `PCPATCHFD` smoothers and a direct solver on the coarsest mesh as defaults; on a
  `DMPLEX` of hexahedra, multigrid over degrees

  Options Database Keys:
+ -pc_patchmg_symmetric (true|false) - make the post-smoother the adjoint of the pre-smoother, so that the V-cycle is symmetric, as `KSPCG`
  needs (default false)
. -pc_patchmg_graph (true|false)     - replay the V-cycle as a CUDA graph on a GPU (default true)
. -pc_patchmg_coarse_eq_limit n      - coarsen no further than to a mesh with at most n unknowns, which is solved directly; 0 to halve it as
  far as possible, unlimited for the mesh itself, decide (the default) for an estimate
. -pc_patchmg_view_levels (viewer)   - after each set-up, show the levels as a table, see `PCPatchMGViewLevels()`
- -pc_mg_*                           - the options of `PCMG`; `-mg_levels_*`, `-mg_levels_up_*` (with `-pc_patchmg_symmetric` or
                                       `-pc_mg_distinct_smoothup`) and `-mg_coarse_*` those of the levels

  Level: beginner

  Notes:
  For a `DMBOX` the defaults are: levels by halving the mesh, in all directions or in those of strong coupling
  (`DMBoxSetSemicoarsening()`), until cells cannot be halved or cells of a mapped mesh would fold (`-info` says so); on each level
  one step of `KSPRICHARDSON` with `PCPATCHFD` before and one after the coarse correction; on the coarsest mesh `PCPATCHFD` with the
  whole box as one patch. This is the V-cycle of Algorithm 2.1 in C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An
  implementation of tensor product patch smoothers on GPU.

  For `poisson` there are fewer levels, often one, if the direct solver is estimated to take less time. `PCPatchMGSetCoarseEqLim()`
  with 0 makes all levels.

  For `stokes` the default is the full cycle of such V-cycles, `PC_MG_FULL`, on one process with vectors on a GPU with fewer levels:
  one product with a dense inverse solves a coarsest mesh of some thousand unknowns, such as 16 x 16 cells of degree 1. It is the
  V-cycle if you call `PCMGSetLevels()` or ask for a symmetric cycle; `PCMGSetType()` and `-pc_mg_type` choose others. For
  `diffusion` on a GPU a dense inverse solves a coarsest mesh of up to 793 nodes (4 x 4 x 4 cells of degree 2).

  Meshes have any numbers of cells: of an odd number the cell at one end is left as it is when the others are united. The coarsest one has
  at most two cells in each direction, and the direct solver, with the options prefix `mg_coarse_`. Only around rings, and for the space
  `p1`, odd numbers end the hierarchy. Where cells of a mesh of `diffusion` would fold, it and all coarser ones have Galerkin operators.

  If `DMBoxSetGalerkin()` says false, or above degree 8, the hierarchy ends before cells fold. If more than 5000 unknowns are left (2D:
  50000; with vectors on a GPU 3464), there is an additional level of degree 1 on the same cells (L. F. Pavarino, Additive Schwarz
  methods for the p-version finite element method, Numer. Math. 66, 1993). If that has more than 8000 unknowns, or the mesh is of degree 1
  already, one cycle of `PCGAMG` on the assembled matrix solves it, in double precision, with the options prefix `mg_coarse_assembled_`.
  Plates and flows get such a level, of degree 2 and 1, if the hierarchy ends at more than 8000 unknowns (plates in 2D: 30000), as it
  does around a ring of an odd number of cells. If that still has more, up to 60 iterations of `KSPFGMRES` with patches solve there to
  1e-2, with the options prefix `mg_coarse_`, also for solids; the outer method must be a flexible one then, such as `KSPFGMRES`. With a
  symmetric cycle, for flows around a ring, whose flux patches do not change, and with vectors on a GPU, whose patches take no such number
  of cells, the mesh is factored nevertheless, or there is an error.

  On a `DMPLEX` of quadrilaterals or hexahedra levels have the degrees N, N/2, ..., 1 on the same mesh. The matrix is one of
  `MatCreateDiffusionPlex()`, `MatCreateElasticityPlex()` or `MatCreateBakeoff()` (layout `MAT_BAKEOFF_LAYOUT_GLOBAL`), or any matrix of
  a solver that has a `DMPLEX` with one continuous Lagrange `PetscFE` (`KSPSetDM()`; `SNES` and `TS` pass it on). For the latter the
  levels are made from the `PetscDS`: K and s are g3 and g0 of its Jacobian at the solution for which `SNES` computed the matrix; the
  entries of the matrix are not used, but its diagonal in a `TS`, to find the derivative by u_t. Where K is not positive definite it is
  raised to 1e-8 of its largest value; tangents of solids are not.

  On each level two steps of `KSPCHEBYSHEV` come before and after the coarse correction: of the fourth kind with `PCPATCHFD`, for solids
  three of the first kind, or two of the first kind with `PCJACOBI` for mass matrices and for vectors on a GPU. Bounds of eigenvalues
  are estimated, unless an option of `KSPCHEBYSHEV` sets them. On the coarsest level two cycles of `PCGAMG` on the assembled matrix are
  the solver, in double precision, with the options prefix `mg_coarse_assembled_`; fewer than 1000 unknowns are solved exactly.
  `-pc_mg_levels` makes fewer levels. The cycle is symmetric, as `KSPCG` needs, and runs in single precision inside `PCSINGLE`.

  The hierarchy comes from the DM of `KSPSetDM()`, or else from the matrix, independent of the order of `KSPSetOperators()` and
  `KSPSetFromOptions()`. A DM that cannot be coarsened, such as the `DMSHELL` of a `SNES` without a DM, does not count. `PCSetUp()`
  makes the levels again if the matrix belongs to another `DMBOX`, or if its coefficients require other directions to be halved.
  Levels from `PCMGSetLevels()` keep their number and solvers.

  If `MatScale()` or `MatAXPY()` has changed the finest operator, the operators that coarser meshes make get its coefficients.

  With `KSPSetReusePreconditioner()` nothing is set up: coarser levels and the smoother of the finest level stay as they are. As in
  `PCMG`, residuals of the finest level use the matrix of the last set-up, with its current values.

  If the mesh that is solved directly is singular by accident, for example because the shift is minus an eigenvalue, or if patches
  are not positive definite but must be, the solve fails with `KSP_DIVERGED_PC_FAILED` (with `KSPSetErrorIfNotConverged()`: an
  error). Constants in the null space of the operator are no such case.

  On a GPU, on one process or with `PATCHFD_HALO_PEER` or `PATCHFD_HALO_NCCL`, the second application of a cycle of `KSPRICHARDSON`
  and `PCPATCHFD` is recorded as a CUDA graph. Later applications replay it until something changes. `-log_view` counts replayed
  applications as the event PatchFDReplay, and the events inside a cycle only for the others. With the options that measure time or
  energy on the GPU nothing is recorded. See `PCPatchMGSetGraph()`.

.seealso: `DMBOX`, `DMBoxSetSemicoarsening()`, `PCPATCHFD`, `PCMG`, `MatCreateDiffusionPlex()`, `MATPATCHFD`, `MatCreateBakeoff()`,
`PCPatchMGSetSymmetric()`, `PCPatchMGSetGraph()`,
`PCPatchMGSetCoarseEqLim()`, `PCPatchMGViewLevels()`
M*/
PetscErrorCode PCCreate_PatchMG(PC pc)
{
  PC_PatchMG *p;

  PetscFunctionBegin;
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PetscObjectChangeTypeName((PetscObject)pc, PCPATCHMG));
  PetscCall(PetscNew(&p));
  ((PC_MG *)pc->data)->innerctx = p;
  p->graph                      = PETSC_TRUE;
  p->eqlimit                    = PETSC_DECIDE;
  p->setfromoptions             = pc->ops->setfromoptions;
  p->setup                      = pc->ops->setup;
  p->apply                      = pc->ops->apply;
  p->applytranspose             = pc->ops->applytranspose;
  p->reset                      = pc->ops->reset;
  p->destroy                    = pc->ops->destroy;
  p->view                       = pc->ops->view;
  PCPatchMGFreeCycle_Private(pc);
  pc->ops->presolve       = PCPreSolve_CheckKrylov;
  pc->ops->setfromoptions = PCSetFromOptions_PatchMG;
  pc->ops->setup          = PCSetUp_PatchMG;
  pc->ops->apply          = PCApply_PatchMG;
  pc->ops->applytranspose = PCApplyTranspose_PatchMG;
  pc->ops->matapply       = NULL; /* column by column, by the routines above: smoothers have no products of blocks */
#if PETSC_VERSION_GE(3, 24, 0)
  pc->ops->matapplytranspose = NULL;
#endif
  pc->ops->reset   = PCReset_PatchMG;
  pc->ops->destroy = PCDestroy_PatchMG;
  pc->ops->view    = PCView_PatchMG;
  PetscCall(PatchFDComposeMethods((PetscObject)pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
