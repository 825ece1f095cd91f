/*
  PCPATCHFD: vertex-patch smoothers whose local problems are solved by fast diagonalization.

  As a solver calls it:
     PCSetUp_PatchFD()            checks the operator, makes the patches' eigenvectors and the work arrays
     PCApplyRichardson_PatchFD()  smoothing steps on a given or zero guess: where the work is
     PCApply_PatchFD(), PCApplyTranspose_PatchFD()   steps from a zero guess; the transpose visits the colours in reverse
     PCSetFromOptions_PatchFD(), PCView_PatchFD(), PCReset/Destroy, PCCreate_PatchFD(), and the public setters.

  A step visits the colours of the patches one after another (paper 000, Algorithm 2.3).  On several ranks it works on ghosted arrays:
  each rank solves all patches that touch its unknowns, and the ghosts are refreshed between two colours, so that the iterates do
  not depend on the number of ranks.
*/
#include <petsc/private/pcimpl.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

const char *const PCPatchFDTypes[]    = {"multiplicative", "additive", "PCPatchFDType", "PC_PATCHFD_", NULL};
const char *const PCPatchFDPatches[]  = {"vertex", "box", "PCPatchFDPatch", "PC_PATCHFD_", NULL};
const char *const PCPatchFDVariants[] = {"auto", "boundary", "fused", "separate", "global", "PCPatchFDVariant", "PC_PATCHFD_", NULL};
const char *const PCPatchFDOrders[]   = {"forward", "backward", "symmetric", "PCPatchFDOrder", "PC_PATCHFD_", NULL};

typedef struct {
  PCPatchFDType    type;
  PCPatchFDPatch   patch;
  PCPatchFDVariant variant;
  PCPatchFDOrder   order;
  PetscReal        damping;
  PetscInt         sweeps;
  Mat_Box         *op; /* belongs to the Pmat */
  PCPatchFDVariant use; /* the variant that `auto` stands for */
  Vec              r;  /* residual, for the variants that need a global one */
} PC_PatchFD;

/* ---- colours ---- */

enum {
  MAX_SWEEP_COLORS = 16 /* a symmetric sweep in 3D */
};

/* A colour is the parity of a patch's first cell in each direction, x fastest.  Directions with one patch have one colour. */
static PetscInt PatchColors(const Mat_Box *m, PetscInt n[3])
{
  for (int d = 0; d < 3; d++) n[d] = PetscMin(2, m->patches[d].npatch);
  return n[0] * n[1] * n[2];
}

static void PatchColor(const PetscInt n[3], PetscInt c, PetscInt color[3])
{
  color[0] = c % n[0];
  color[1] = c / n[0] % n[1];
  color[2] = c / n[0] / n[1];
}

/* Number i of a sweep's colours.  With an exact solver the turning point of a symmetric sweep would be a repetition. */
static PetscInt PatchSweepColors(const PC_PatchFD *pc, PetscInt ncolors)
{
  return pc->order == PC_PATCHFD_SYMMETRIC && ncolors ? 2 * ncolors - (pc->damping == 1) : ncolors;
}

static PetscInt PatchSweepColor(const PC_PatchFD *pc, PetscInt ncolors, PetscInt i, PetscBool transpose)
{
  const PetscInt n = PatchSweepColors(pc, ncolors);

  if (pc->order == PC_PATCHFD_SYMMETRIC) return i < ncolors ? i : n - 1 - i;
  return (pc->order == PC_PATCHFD_BACKWARD) != transpose ? n - 1 - i : i;
}

/* the patches that touch this rank's unknowns */
static void PatchRange(const Mat_Box *m, PatchFDRange r)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (int d = 0; d < 3; d++) {
    r[d][0] = PetscMax(0, box->owncells[d][0] - 1);
    r[d][1] = box->own[d][1] > box->own[d][0] ? PetscMin(m->patches[d].npatch, box->owncells[d][1]) : r[d][0];
  }
}

/*
  How many of these colours need no exchange between them: those that only differ in directions that are not split over ranks.  A rank
  has all the patches that its patches see in these directions.
*/
static PetscInt PatchColorsTogether(const Mat_Box *m, PetscInt n, const PetscInt colors[][3])
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (PetscInt i = 1; i < n; i++)
    for (int d = 0; d < 3; d++)
      if (box->processes[d] > 1 && colors[i][d] != colors[0][d]) return i;
  return n;
}

/*
  Such colours on ghosted arrays.  With an exchange: first the patches whose unknowns other ranks wait for (the two outermost layers on
  each side with a neighbour; one of them has this parity), then, while those values travel, the others.
*/
static PetscErrorCode PatchColorExchange(Mat_Box *m, PatchFDKernels k, void *plan, PatchFDPatchOp op, PetscInt ncolors, const PetscInt colors[][3], PetscReal omega, PetscBool zero, PetscBool exchange, void *x, const void *b, void *r)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;
  PatchFDRange  inner;

  PetscFunctionBegin;
  PatchRange(m, inner);
  if (!box->halo || !exchange) {
    PetscCall(k->smootherapply(plan, op, ncolors, colors, inner, omega, zero, x, b, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int d = 0; d < 3; d++) {
    for (int side = 0; side < 2; side++) {
      PatchFDRange slab;

      if (side ? box->own[d][1] == PatchFDLineNumNodes(&box->line[d]) : box->own[d][0] == 0) continue;
      PetscCall(PetscMemcpy(slab, inner, sizeof(slab)));
      if (side) slab[d][0] = inner[d][1] = PetscMax(inner[d][0], inner[d][1] - 2);
      else slab[d][1] = inner[d][0] = PetscMin(inner[d][1], inner[d][0] + 2);
      PetscCall(k->smootherapply(plan, op, ncolors, colors, slab, omega, zero, x, b, r));
    }
  }
  PetscCall(DMBoxHaloBegin(m->dm, k, x));
  PetscCall(k->smootherapply(plan, op, ncolors, colors, inner, omega, zero, x, b, r));
  PetscCall(DMBoxHaloEnd(m->dm, k, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps; x and b are global arrays ---- */

/* multiplicative, with the residual taken patch by patch or not at all */
static PetscErrorCode SweepLocal(PC_PatchFD *pc, PatchFDKernels k, PetscBool transpose, PetscBool zero, const void *b, void *x)
{
  Mat_Box     *m   = pc->op;
  DM_Box      *box = (DM_Box *)m->dm->data;
  PetscInt     nc[3], ncolors = PatchColors(m, nc), n = PatchSweepColors(pc, ncolors), colors[MAX_SWEEP_COLORS][3];
  void        *plan, *bl, *xl, *rl = NULL;

  PetscFunctionBegin;
  PetscCall(MatBoxGetSmoother(m, k, &plan));
  if (pc->use == PC_PATCHFD_SEPARATE) PetscCall(DMBoxGetWork(m->dm, k, DMBOX_WORK_R, &rl));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, k, b, DMBOX_WORK_B, &bl));
  if (zero && box->halo) {
    PetscCall(DMBoxGetWork(m->dm, k, DMBOX_WORK_X, &xl));
    PetscCall(k->zero(PatchFDBoxSize(&box->local), xl));
  } else {
    PetscCall(DMBoxGlobalToLocalBegin(m->dm, k, x, DMBOX_WORK_X, &xl));
    PetscCall(DMBoxGlobalToLocalEnd(m->dm, k, x, DMBOX_WORK_X, &xl));
  }
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, k, b, DMBOX_WORK_B, &bl));
  for (PetscInt i = 0; i < n; i++) PatchColor(nc, PatchSweepColor(pc, ncolors, i, transpose), colors[i]);
  for (PetscInt i = 0, step; i < n; i += step) {
    const PetscBool first = (PetscBool)(zero && i == 0);
    PetscBool       exchange;

    step     = pc->use == PC_PATCHFD_SEPARATE ? 1 : PatchColorsTogether(m, n - i, &colors[i]);
    exchange = (PetscBool)(i + step < n);

    switch (pc->use) {
    case PC_PATCHFD_SEPARATE:
      PetscCall(PatchColorExchange(m, k, plan, PATCHFD_OP_RESIDUAL, step, &colors[i], 1, first, PETSC_FALSE, xl, bl, rl));
      PetscCall(PatchColorExchange(m, k, plan, PATCHFD_OP_SOLVE, step, &colors[i], pc->damping, first, exchange, xl, bl, rl));
      break;
    case PC_PATCHFD_FUSED:
      PetscCall(PatchColorExchange(m, k, plan, PATCHFD_OP_FUSED, step, &colors[i], pc->damping, first, exchange, xl, bl, rl));
      break;
    default:
      PetscCall(PatchColorExchange(m, k, plan, PATCHFD_OP_BOUNDARY, step, &colors[i], pc->damping, first, exchange, xl, bl, rl));
    }
  }
  if (box->halo) PetscCall(k->copy(box->own, &box->local, xl, &box->global, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r on a ghosted array from the Vec of the global residual; solve the patches of the colours from..end-1 with it and add to x */
static PetscErrorCode SolveColors(PC_PatchFD *pc, PatchFDKernels k, Vec r, const PetscInt nc[3], PetscInt from, PetscInt end, Vec x)
{
  Mat_Box    *m   = pc->op;
  DM_Box     *box = (DM_Box *)m->dm->data;
  const void *ra;
  PetscInt    colors[MAX_SWEEP_COLORS][3];
  void       *plan, *xa, *xl, *rl;

  PetscFunctionBegin;
  PetscCall(MatBoxGetSmoother(m, k, &plan));
  PetscCall(PatchFDVecGetArrayRead(r, k, &ra));
  PetscCall(PatchFDVecGetArray(x, k, &xa));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, k, ra, DMBOX_WORK_R, &rl));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, k, ra, DMBOX_WORK_R, &rl));
  xl = xa;
  if (box->halo) { /* updates only add to x: its ghosts need no values */
    PetscCall(DMBoxGetWork(m->dm, k, DMBOX_WORK_X, &xl));
    PetscCall(k->copy(box->own, &box->global, xa, &box->local, xl));
  }
  for (PetscInt c = from; c < end; c++) PatchColor(nc, c, colors[c - from]);
  PetscCall(PatchColorExchange(m, k, plan, PATCHFD_OP_SOLVE, end - from, colors, pc->damping, PETSC_FALSE, PETSC_FALSE, xl, NULL, rl));
  if (box->halo) PetscCall(k->copy(box->own, &box->local, xl, &box->global, xa));
  PetscCall(PatchFDVecRestoreArray(x, k, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(r, k, &ra));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the global residual before each colour (multiplicative) or once (additive) */
static PetscErrorCode SweepGlobal(PC pc, PatchFDKernels k, PetscBool transpose, PetscBool zero, Vec b, Vec x)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;
  PetscInt    nc[3], ncolors = PatchColors(p->op, nc), n = PatchSweepColors(p, ncolors);

  PetscFunctionBegin;
  if (!p->r) PetscCall(VecDuplicate(b, &p->r));
  if (p->type == PC_PATCHFD_ADDITIVE) {
    if (!zero) PetscCall(MatResidual(pc->pmat, b, x, p->r));
    PetscCall(SolveColors(p, k, zero ? b : p->r, nc, 0, ncolors, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt c = PatchSweepColor(p, ncolors, i, transpose);

    if (!zero || i) PetscCall(MatResidual(pc->pmat, b, x, p->r));
    PetscCall(SolveColors(p, k, zero && i == 0 ? b : p->r, nc, c, c + 1, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x = 0 by our own kernels: PETSc's device Vecs work on another stream than the current one, and a recording of the V-cycle (src/pc/patchmg.c)
  would not contain it
*/
static PetscErrorCode PatchFDZero(Mat_Box *m, PatchFDKernels k, Vec x)
{
  PetscBool known;
  PetscReal norm;
  void     *a;

  PetscFunctionBegin;
  PetscCall(VecNormAvailable(x, NORM_2, &known, &norm));
  if (known && norm == 0 && VecIsSingle_Private(x)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecGetArrayWrite(x, k, &a));
  PetscCall(k->zero(PatchFDBoxSize(&((DM_Box *)m->dm->data)->global), a));
  PetscCall(PatchFDVecRestoreArrayWrite(x, k, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its sweeps on x */
static PetscErrorCode PatchFDSmooth(PC pc, PetscInt its, PetscBool transpose, PetscBool zero, Vec b, Vec x)
{
  PC_PatchFD    *p   = (PC_PatchFD *)pc->data;
  DM_Box        *box = (DM_Box *)p->op->dm->data;
  PatchFDKernels k;
  const void    *ab;
  void          *ax;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(b, &k));
  PetscCall(PetscLogEventBegin(PATCHFD_Smooth, pc, b, x, 0));
  for (PetscInt i = 0; i < its * p->sweeps; i++) {
    const PetscBool local = (PetscBool)(p->patch == PC_PATCHFD_VERTEX && p->use != PC_PATCHFD_GLOBAL);

    if (zero && i == 0) PetscCall(PatchFDZero(p->op, k, x));
    if (p->patch == PC_PATCHFD_VERTEX && !local) PetscCall(SweepGlobal(pc, k, transpose, (PetscBool)(zero && i == 0), b, x));
    PetscCall(PatchFDVecGetArrayRead(b, k, &ab));
    PetscCall(PatchFDVecGetArray(x, k, &ax));
    if (p->patch == PC_PATCHFD_BOX) PetscCall(MatBoxSolve(p->op, k, ab, ax));
    else if (local) PetscCall(SweepLocal(p, k, transpose, (PetscBool)(zero && i == 0), ab, ax));
    /* the identity rows of the Dirichlet nodes are solved exactly, too */
    PetscCall(k->fixed(box->own, box->free, 1 - p->damping, &box->global, ax, p->damping, &box->global, ab));
    PetscCall(PatchFDVecRestoreArray(x, k, &ax));
    PetscCall(PatchFDVecRestoreArrayRead(b, k, &ab));
  }
  PetscCall(PetscLogEventEnd(PATCHFD_Smooth, pc, b, x, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_PatchFD(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PatchFDSmooth(pc, 1, PETSC_FALSE, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_PatchFD(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PatchFDSmooth(pc, 1, PETSC_TRUE, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyRichardson_PatchFD(PC pc, Vec b, Vec x, PETSC_UNUSED Vec w, PETSC_UNUSED PetscReal rtol, PETSC_UNUSED PetscReal abstol, PETSC_UNUSED PetscReal dtol, PetscInt its, PetscBool guesszero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(PatchFDSmooth(pc, its, PETSC_FALSE, guesszero, b, x));
  *outits = its;
  *reason = PCRICHARDSON_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PatchFD(PC pc)
{
  PC_PatchFD    *p = (PC_PatchFD *)pc->data;
  PatchFDKernels k;
  void          *plan;
  Vec            v;

  PetscFunctionBegin;
  PetscCall(MatBoxGet(pc->pmat, "PCPATCHFD", &p->op));
  p->use = p->variant;
  if (p->type == PC_PATCHFD_ADDITIVE) {
    PetscCheck(p->variant == PC_PATCHFD_AUTO || p->variant == PC_PATCHFD_GLOBAL, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_type additive takes one residual for all patches: -pc_patchfd_variant %s does not apply, use auto or global", PCPatchFDVariants[p->variant]);
    p->use = PC_PATCHFD_GLOBAL;
  } else if (p->variant == PC_PATCHFD_AUTO) {
    PetscInt degree;

    /* a Q1 patch has one unknown: its boundary is all there is to read, and the residual is the shorter sum (benchmarks/kernels) */
    PetscCall(DMBoxGetDegree(p->op->dm, &degree));
    p->use = degree == 1 ? PC_PATCHFD_FUSED : PC_PATCHFD_BOUNDARY;
  }
  if (p->patch == PC_PATCHFD_BOX) {
    PetscCheck(p->damping == 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_patch box is an exact solve and takes no damping; found -pc_patchfd_damping %g, allowed is 1", (double)p->damping);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMGetGlobalVector(p->op->dm, &v));
  PetscCall(PatchFDVecGetKernels(v, &k));
  PetscCall(DMRestoreGlobalVector(p->op->dm, &v));
  PetscCall(MatBoxGetSmoother(p->op, k, &plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_PatchFD(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_PatchFD      *p       = (PC_PatchFD *)pc->data;
  PCPatchFDType    type    = p->type;
  PCPatchFDPatch   patch   = p->patch;
  PCPatchFDVariant variant = p->variant;
  PCPatchFDOrder   order   = p->order;
  PetscReal        damping = p->damping;
  PetscInt         sweeps  = p->sweeps;
  PetscBool        flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PATCHFD options");
  PetscCall(PetscOptionsEnum("-pc_patchfd_type", "How the patches' corrections are combined", "PCPatchFDSetType", PCPatchFDTypes, (PetscEnum)type, (PetscEnum *)&type, &flg));
  if (flg) PetscCall(PCPatchFDSetType(pc, type));
  PetscCall(PetscOptionsEnum("-pc_patchfd_patch", "What a patch is", "PCPatchFDSetPatch", PCPatchFDPatches, (PetscEnum)patch, (PetscEnum *)&patch, &flg));
  if (flg) PetscCall(PCPatchFDSetPatch(pc, patch));
  PetscCall(PetscOptionsEnum("-pc_patchfd_variant", "Which kernels", "PCPatchFDSetVariant", PCPatchFDVariants, (PetscEnum)variant, (PetscEnum *)&variant, &flg));
  if (flg) PetscCall(PCPatchFDSetVariant(pc, variant));
  PetscCall(PetscOptionsEnum("-pc_patchfd_order", "Order of the colours", "PCPatchFDSetOrder", PCPatchFDOrders, (PetscEnum)order, (PetscEnum *)&order, &flg));
  if (flg) PetscCall(PCPatchFDSetOrder(pc, order));
  PetscCall(PetscOptionsReal("-pc_patchfd_damping", "Factor of the corrections", "PCPatchFDSetDamping", damping, &damping, &flg));
  if (flg) PetscCall(PCPatchFDSetDamping(pc, damping));
  PetscCall(PetscOptionsInt("-pc_patchfd_sweeps", "Sweeps an application", "PCPatchFDSetSweeps", sweeps, &sweeps, &flg));
  if (flg) PetscCall(PCPatchFDSetSweeps(pc, sweeps));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes of the one-dimensional matrices and vectors of all classes of patches, in the kernels' precision */
static size_t PatchBytes(const Mat_Box *m, PatchFDKernels k)
{
  size_t numbers = 0;

  for (int d = 0; d < 3; d++) {
    for (PetscInt c = 0; c < m->patches[d].nclass; c++) {
      const size_t n = (size_t)m->patches[d].eigen[c].n;

      numbers += 3 * n * n + 2 * n * (n + 2) + 5 * n;
    }
  }
  return numbers * k->size;
}

static PetscErrorCode PCView_PatchFD(PC pc, PetscViewer viewer)
{
  PC_PatchFD    *p = (PC_PatchFD *)pc->data;
  PetscBool      ascii;
  PetscInt       nc[3], ncolors, degree;
  PatchFDKernels k;
  Vec            v;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->patch == PC_PATCHFD_BOX) PetscCall(PetscViewerASCIIPrintf(viewer, "  whole box as one patch: direct solve by fast diagonalization\n"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  %s vertex patches, %s order, damping %g, %" PetscInt_FMT " sweep(s), variant %s\n", PCPatchFDTypes[p->type], PCPatchFDOrders[p->order], (double)p->damping, p->sweeps, PCPatchFDVariants[pc->setupcalled ? p->use : p->variant]));
  if (!pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetGlobalVector(p->op->dm, &v));
  PetscCall(PatchFDVecGetKernels(v, &k));
  PetscCall(DMRestoreGlobalVector(p->op->dm, &v));
  if (p->patch == PC_PATCHFD_VERTEX) {
    PetscCall(DMBoxGetDegree(p->op->dm, &degree));
    ncolors = PatchColors(p->op, nc);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " patches of degree %" PetscInt_FMT " in %" PetscInt_FMT " colours, %d bytes of 1D matrices\n", p->op->patches[0].npatch, p->op->patches[1].npatch, p->op->patches[2].npatch, degree, ncolors, (int)PatchBytes(p->op, k)));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "  kernels: %s (%s memory, %d bytes a number)\n", k->name, PetscMemTypeHost(k->memtype) ? "host" : "device", (int)k->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_PatchFD(PC pc)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&p->r));
  p->op = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the setters' implementations; a changed state ends recordings of the smoother, see PCApply_PatchMG() ---- */

static PetscErrorCode PCPatchFDSetType_PatchFD(PC pc, PCPatchFDType type)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  if (p->type != type) pc->setupcalled = PETSC_FALSE;
  p->type = type;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDSetPatch_PatchFD(PC pc, PCPatchFDPatch patch)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  if (p->patch != patch) pc->setupcalled = PETSC_FALSE;
  p->patch = patch;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDSetVariant_PatchFD(PC pc, PCPatchFDVariant variant)
{
  PC_PatchFD *p = (PC_PatchFD *)pc->data;

  PetscFunctionBegin;
  if (p->variant != variant) pc->setupcalled = PETSC_FALSE;
  p->variant = variant;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDSetOrder_PatchFD(PC pc, PCPatchFDOrder order)
{
  PetscFunctionBegin;
  ((PC_PatchFD *)pc->data)->order = order;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDSetDamping_PatchFD(PC pc, PetscReal damping)
{
  PetscFunctionBegin;
  PetscCheck(damping > 0 && damping < 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_damping must be in (0, 2), found %g", (double)damping);
  if (((PC_PatchFD *)pc->data)->damping != damping) pc->setupcalled = PETSC_FALSE;
  ((PC_PatchFD *)pc->data)->damping = damping;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDSetSweeps_PatchFD(PC pc, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscCheck(sweeps >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PCPATCHFD: -pc_patchfd_sweeps must be at least 1, found %" PetscInt_FMT, sweeps);
  ((PC_PatchFD *)pc->data)->sweeps = sweeps;
  PetscCall(PetscObjectStateIncrease((PetscObject)pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetType_PatchFD(PC pc, PCPatchFDType *type)
{
  PetscFunctionBegin;
  *type = ((PC_PatchFD *)pc->data)->type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetPatch_PatchFD(PC pc, PCPatchFDPatch *patch)
{
  PetscFunctionBegin;
  *patch = ((PC_PatchFD *)pc->data)->patch;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetVariant_PatchFD(PC pc, PCPatchFDVariant *variant)
{
  PetscFunctionBegin;
  *variant = ((PC_PatchFD *)pc->data)->variant;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetOrder_PatchFD(PC pc, PCPatchFDOrder *order)
{
  PetscFunctionBegin;
  *order = ((PC_PatchFD *)pc->data)->order;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetDamping_PatchFD(PC pc, PetscReal *damping)
{
  PetscFunctionBegin;
  *damping = ((PC_PatchFD *)pc->data)->damping;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPatchFDGetSweeps_PatchFD(PC pc, PetscInt *sweeps)
{
  PetscFunctionBegin;
  *sweeps = ((PC_PatchFD *)pc->data)->sweeps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char       *name;
  PetscErrorCodeFn *fn;
} methods[] = {
  {"PCPatchFDSetType_C",    (PetscErrorCodeFn *)PCPatchFDSetType_PatchFD   },
  {"PCPatchFDGetType_C",    (PetscErrorCodeFn *)PCPatchFDGetType_PatchFD   },
  {"PCPatchFDSetPatch_C",   (PetscErrorCodeFn *)PCPatchFDSetPatch_PatchFD  },
  {"PCPatchFDGetPatch_C",   (PetscErrorCodeFn *)PCPatchFDGetPatch_PatchFD  },
  {"PCPatchFDSetVariant_C", (PetscErrorCodeFn *)PCPatchFDSetVariant_PatchFD},
  {"PCPatchFDGetVariant_C", (PetscErrorCodeFn *)PCPatchFDGetVariant_PatchFD},
  {"PCPatchFDSetOrder_C",   (PetscErrorCodeFn *)PCPatchFDSetOrder_PatchFD  },
  {"PCPatchFDGetOrder_C",   (PetscErrorCodeFn *)PCPatchFDGetOrder_PatchFD  },
  {"PCPatchFDSetDamping_C", (PetscErrorCodeFn *)PCPatchFDSetDamping_PatchFD},
  {"PCPatchFDGetDamping_C", (PetscErrorCodeFn *)PCPatchFDGetDamping_PatchFD},
  {"PCPatchFDSetSweeps_C",  (PetscErrorCodeFn *)PCPatchFDSetSweeps_PatchFD },
  {"PCPatchFDGetSweeps_C",  (PetscErrorCodeFn *)PCPatchFDGetSweeps_PatchFD },
};

static PetscErrorCode PCDestroy_PatchFD(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_PatchFD(pc));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(methods); i++) PetscCall(PetscObjectComposeFunction_Private((PetscObject)pc, methods[i].name, NULL));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCPATCHFD - Tensor-product vertex-patch smoother: on each patch of cells around an interior vertex the local problem is solved
  exactly, by fast diagonalization

  Options Database Keys:
+ -pc_patchfd_type <multiplicative,additive>                - one colour after another (default), or all patches from one residual
. -pc_patchfd_patch <vertex,box>                            - the cells around each vertex (default), or the whole box as one patch (a direct solver)
. -pc_patchfd_variant <auto,boundary,fused,separate,global> - which kernels compute a step; all give the same result (default auto)
. -pc_patchfd_order <forward,backward,symmetric>            - order of the colours (default forward)
. -pc_patchfd_damping <w>                                   - factor of the corrections, 0 < w < 2 (default 1)
- -pc_patchfd_sweeps <n>                                    - sweeps an application (default 1)

  Level: beginner

  Notes:
  The Pmat must be an operator made by `DMCreateMatrix()` of a `DMBOX`. The patches of a line of cells are the pairs of neighbouring
  cells; a patch in d dimensions is a product of d pairs. Unknowns on Neumann sides belong to the patches that reach them.

  With `KSPRICHARDSON` as smoother (without monitors and with the default or skipped convergence test) a step works on the current
  iterate directly, which is what makes it fast; as a preconditioner of other methods it starts from zero.

  The variants. `global` takes the residual of the whole mesh before each colour, `separate` that of the patches of the colour,
  `fused` does the same and solves at once, and `boundary` computes the new values of a patch from the
  right-hand side and the values on the patch's boundary alone (`auto` is `boundary`, but `fused` for degree 1). For the additive smoother, which needs damping (1/4 in 2D and 1/8 in 3D
  are safe), only `global` applies.

  Multiplicative steps in the same order before and after the coarse correction converge fastest, with `KSPFGMRES`. For `KSPCG` the
  V-cycle must be symmetric: use the reverse order after the coarse correction (see `PCPatchMGSetSymmetric()`) or the symmetric order.

  On any number of ranks the iterates are the same to rounding.

  Source: C. Cui, P. Grosse-Bley, G. Kanschat, R. Strzodka, An implementation of tensor product patch smoothers on GPU, Algorithm
  2.3 and equations (2.8), (2.13).

.seealso: `DMBOX`, `PCPATCHMG`, `PCPatchFDSetType()`, `PCPatchFDSetPatch()`, `PCPatchFDSetVariant()`, `PCPatchFDSetOrder()`, `PCPatchFDSetDamping()`, `PCPatchFDSetSweeps()`, `PCPATCH`, `PCASM`
M*/
PetscErrorCode PCCreate_PatchFD(PC pc)
{
  PC_PatchFD *p;

  PetscFunctionBegin;
  PetscCall(PatchFDCite());
  PetscCall(PetscNew(&p));
  p->damping = 1;
  p->sweeps  = 1;
  pc->data   = p;

  pc->ops->setup           = PCSetUp_PatchFD;
  pc->ops->apply           = PCApply_PatchFD;
  pc->ops->applytranspose  = PCApplyTranspose_PatchFD;
  pc->ops->applyrichardson = PCApplyRichardson_PatchFD;
  pc->ops->presolve        = PCPreSolve_WarnOfSingle;
  pc->ops->setfromoptions  = PCSetFromOptions_PatchFD;
  pc->ops->view            = PCView_PatchFD;
  pc->ops->reset           = PCReset_PatchFD;
  pc->ops->destroy         = PCDestroy_PatchFD;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(methods); i++) PetscCall(PetscObjectComposeFunction_Private((PetscObject)pc, methods[i].name, methods[i].fn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetType - Sets how the corrections of the patches of a `PCPATCHFD` are combined

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- type - `PC_PATCHFD_MULTIPLICATIVE` (default): one colour after another, each with the current values; `PC_PATCHFD_ADDITIVE`: all patches from the same residual, corrections summed

  Options Database Key:
. -pc_patchfd_type <multiplicative,additive> - the type

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDGetType()`, `PCPatchFDSetDamping()`
@*/
PetscErrorCode PCPatchFDSetType(PC pc, PCPatchFDType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  PetscTryMethod(pc, "PCPatchFDSetType_C", (PC, PCPatchFDType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetType - Gets how the corrections of the patches of a `PCPATCHFD` are combined

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. type - the type

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetType()`
@*/
PetscErrorCode PCPatchFDGetType(PC pc, PCPatchFDType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(pc, "PCPatchFDGetType_C", (PC, PCPatchFDType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetPatch - Sets what the patches of a `PCPATCHFD` are

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- patch - `PC_PATCHFD_VERTEX` (default): the cells around each interior vertex; `PC_PATCHFD_BOX`: the whole box

  Options Database Key:
. -pc_patchfd_patch <vertex,box> - the patches

  Level: intermediate

  Note:
  The whole box as one patch is a direct solver. It needs a dense eigenproblem of the size of each mesh line in set-up, gathers the
  right-hand side on every rank, and is meant for coarsest meshes of any shape.

.seealso: `PCPATCHFD`, `PCPatchFDGetPatch()`, `PCPATCHMG`
@*/
PetscErrorCode PCPatchFDSetPatch(PC pc, PCPatchFDPatch patch)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, patch, 2);
  PetscTryMethod(pc, "PCPatchFDSetPatch_C", (PC, PCPatchFDPatch), (pc, patch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetPatch - Gets what the patches of a `PCPATCHFD` are

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. patch - the patches

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetPatch()`
@*/
PetscErrorCode PCPatchFDGetPatch(PC pc, PCPatchFDPatch *patch)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(patch, 2);
  PetscUseMethod(pc, "PCPatchFDGetPatch_C", (PC, PCPatchFDPatch *), (pc, patch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetVariant - Sets which kernels compute a smoothing step of a `PCPATCHFD`

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- variant - `PC_PATCHFD_AUTO` (default), `PC_PATCHFD_BOUNDARY`, `PC_PATCHFD_FUSED`, `PC_PATCHFD_SEPARATE` or `PC_PATCHFD_GLOBAL`

  Options Database Key:
. -pc_patchfd_variant <auto,boundary,fused,separate,global> - the variant

  Level: advanced

  Note:
  All variants give the same iterates to rounding; they differ in speed. Additive smoothers only have `global`.

.seealso: `PCPATCHFD`, `PCPatchFDGetVariant()`
@*/
PetscErrorCode PCPatchFDSetVariant(PC pc, PCPatchFDVariant variant)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, variant, 2);
  PetscTryMethod(pc, "PCPatchFDSetVariant_C", (PC, PCPatchFDVariant), (pc, variant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetVariant - Gets which kernels compute a smoothing step of a `PCPATCHFD`

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. variant - the variant that was set

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetVariant()`
@*/
PetscErrorCode PCPatchFDGetVariant(PC pc, PCPatchFDVariant *variant)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(variant, 2);
  PetscUseMethod(pc, "PCPatchFDGetVariant_C", (PC, PCPatchFDVariant *), (pc, variant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetOrder - Sets in which order a multiplicative `PCPATCHFD` visits the colours

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- order - `PC_PATCHFD_FORWARD` (default), `PC_PATCHFD_BACKWARD`, or `PC_PATCHFD_SYMMETRIC` (forward, then backward)

  Options Database Key:
. -pc_patchfd_order <forward,backward,symmetric> - the order

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDGetOrder()`, `PCPatchMGSetSymmetric()`
@*/
PetscErrorCode PCPatchFDSetOrder(PC pc, PCPatchFDOrder order)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, order, 2);
  PetscTryMethod(pc, "PCPatchFDSetOrder_C", (PC, PCPatchFDOrder), (pc, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetOrder - Gets in which order a multiplicative `PCPATCHFD` visits the colours

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. order - the order

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetOrder()`
@*/
PetscErrorCode PCPatchFDGetOrder(PC pc, PCPatchFDOrder *order)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(order, 2);
  PetscUseMethod(pc, "PCPatchFDGetOrder_C", (PC, PCPatchFDOrder *), (pc, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetDamping - Sets the factor by which a `PCPATCHFD` multiplies its corrections

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- damping - the factor, greater than 0 and less than 2 (default 1); with the whole box as one patch only 1

  Options Database Key:
. -pc_patchfd_damping <damping> - the factor

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDGetDamping()`, `PCPatchFDSetType()`
@*/
PetscErrorCode PCPatchFDSetDamping(PC pc, PetscReal damping)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, damping, 2);
  PetscTryMethod(pc, "PCPatchFDSetDamping_C", (PC, PetscReal), (pc, damping));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetDamping - Gets the factor by which a `PCPATCHFD` multiplies its corrections

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. damping - the factor

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetDamping()`
@*/
PetscErrorCode PCPatchFDGetDamping(PC pc, PetscReal *damping)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(damping, 2);
  PetscUseMethod(pc, "PCPatchFDGetDamping_C", (PC, PetscReal *), (pc, damping));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDSetSweeps - Sets how many sweeps over all patches an application of a `PCPATCHFD` makes

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner
- sweeps - the number of sweeps, at least 1 (default 1)

  Options Database Key:
. -pc_patchfd_sweeps <sweeps> - the number of sweeps

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDGetSweeps()`
@*/
PetscErrorCode PCPatchFDSetSweeps(PC pc, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, sweeps, 2);
  PetscTryMethod(pc, "PCPatchFDSetSweeps_C", (PC, PetscInt), (pc, sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCPatchFDGetSweeps - Gets how many sweeps over all patches an application of a `PCPATCHFD` makes

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. sweeps - the number of sweeps

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetSweeps()`
@*/
PetscErrorCode PCPatchFDGetSweeps(PC pc, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  PetscUseMethod(pc, "PCPatchFDGetSweeps_C", (PC, PetscInt *), (pc, sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}
