/*
  Local solvers of an operator matrix of a DMBOX, for a PCPATCHFD (patchfd/private/patches.h): what the settings leave open, and how a sweep
  goes.  A step visits the colours of the patches one after another (Cui, Grosse-Bley, Kanschat, Strzodka, Algorithm 2.3); local.c has what
  they are made of, sweep.c the work itself, whole.c direct solvers.

  Errors name the option, what was found and what is allowed.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

typedef struct {
  Mat_Box          *m;     /* the matrix as it was, */
  Mat_Box          *now;   /* and as it is, while they are exchanged */
  MatBoxLocal      *local; /* NULL for the direct solvers, which belong to m */
  MatBoxLocalRule   rule;
  MatPatchesVariant use;
  PatchFDPrecision  products;
  PetscBool         atomic;
  PatchFDColor      color[PATCHFD_MAX_COLORS];
  enum {
    PATCHES, /* of vertices, or the one of a mesh that has no more */
    DIAGONALIZED_BOX,
    FACTORED_BOX
  } method;
} BoxPatches;

/* ---- what is left to the solver ---- */

static PetscBool RuleHasFits(const MatBoxLocalRule *r)
{
  return (PetscBool)(r->type == MATBOX_LOCAL_OWN || r->type == MATBOX_LOCAL_SHARED);
}

/*
  Which patches are solved exactly: those of dense inverses are in any case.  At low degrees they all are, on the host: a patch has few
  unknowns, so that its rows of A are read in less time than it takes to compute residuals by quadrature, and its factor, which replaces
  fits and estimates of eigenvalues, is no more than a third of them (benchmarks/diffusion)
*/
static PetscErrorCode ChooseFitRule(MatPatches p, PatchFDKernels kern)
{
  const MatPatchesSpec *s    = &p->spec;
  BoxPatches           *x    = (BoxPatches *)p->data;
  const MPI_Comm        comm = PetscObjectComm((PetscObject)p->A);
  const PetscBool       fits = RuleHasFits(&x->rule), host = PetscMemTypeHost(kern->memtype);
  const PetscBool       may   = (PetscBool)(s->variant == PC_PATCHFD_VARIANT_AUTO || s->variant == PC_PATCHFD_VARIANT_FUSED);
  const PetscBool       fused = (PetscBool)(may && s->type == PC_PATCHFD_TYPE_MULTIPLICATIVE);
  const PetscBool       rows  = (PetscBool)(fits && host && fused && MatBoxFitTakesRows(x->m));
  const PetscBool       open  = (PetscBool)(s->fit == PC_PATCHFD_FIT_AUTO && s->local == PC_PATCHFD_LOCAL_AUTO);
  const PetscBool       packs = (PetscBool)(s->precision == PC_PATCHFD_PRECISION_AUTO || s->precision == PC_PATCHFD_PRECISION_FP16);

  PetscFunctionBegin;
  PetscCheck(s->rule.exact < 0 || fits || (x->m->form.points && x->rule.type == MATBOX_LOCAL_DENSE), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_fit_exact %g is for -pc_patchfd_fit own or shared, of -dm_box_operator diffusion",
             (double)s->rule.exact);
  PetscCheck(s->rule.exact < 0 || host, comm, PETSC_ERR_SUP,
             "PCPATCHFD: -pc_patchfd_fit_exact %g has kernels for the host alone; with vectors on a GPU leave it", (double)s->rule.exact);
  PetscCheck(s->rule.exact < 0 || s->rule.lanczos || PatchFDFitIsExact(&s->rule), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_fit_exact %g needs estimates of eigenvalues; -pc_patchfd_fit_lanczos is 0", (double)s->rule.exact);
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  x->rule.fit = s->rule;
  if (s->rule.exact < 0) x->rule.fit.exact = rows && open && s->rule.exact == PETSC_DETERMINE ? 0 : PETSC_MAX_REAL;
  x->rule.fit.rows   = (PetscBool)(rows && PatchFDFitIsExact(&x->rule.fit));
  x->rule.fit.packed = (PetscBool)(packs && kern->size == sizeof(float) && fused && MatBoxFitTakesResiduals(x->m, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A relative residual of 1e-3 for degrees up to 3 and of 1e-4 above keeps the iteration counts of exact local solvers (tutorials/iterations,
  and Cui, Kanschat, table 2)
*/
static void ChooseTolerances(const MatPatchesSpec *s, const Mat_Box *m, MatBoxLocalRule *rule)
{
  if (rule->type != MATBOX_LOCAL_SCHUR && rule->type != MATBOX_LOCAL_SCHUR_ALONE) return;
  rule->rtol  = s->schurrtol == PETSC_DETERMINE ? (MatBoxDegree(m) <= 3 ? 1e-3 : 1e-4) : s->schurrtol;
  rule->maxit = s->schurmaxit;
}

/* the local solver that the options and the operator lead to */
static PetscErrorCode ChooseLocal(MatPatches p, PatchFDKernels kern)
{
  const MatPatchesSpec *s         = &p->spec;
  BoxPatches           *x         = (BoxPatches *)p->data;
  const MPI_Comm        comm      = PetscObjectComm((PetscObject)p->A);
  const PetscBool       separable = x->m->form.separable, saddle = MatBoxIsSaddlePoint(x->m), points = x->m->form.points;
  MatPatchesLocal       local = s->local;
  const PetscBool       open  = (PetscBool)(s->classes == PC_PATCHFD_CLASSES_AUTO && !separable && !points);
  /* patches of continuous components without terms beside them are the same alone, and sides may differ between components */
  const PetscBool single = (PetscBool)((s->classes == PC_PATCHFD_CLASSES_SINGLE || open) && !MatBoxIsCoupled(x->m));

  PetscFunctionBegin;
  PetscCheck(!saddle || (local != PC_PATCHFD_LOCAL_FD && local != PC_PATCHFD_LOCAL_FD_INEXACT), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local %s is not for saddle points; -dm_box_operator %s takes dense or schur",
             PATCHES_WORDS_local[local], MatBoxName(x->m));
  PetscCheck(saddle || local != PC_PATCHFD_LOCAL_SCHUR, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local schur is for saddle points, of velocities and a pressure; -dm_box_operator %s takes %s or dense",
             MatBoxName(x->m), separable ? "fd" : "fd_inexact");
  PetscCheck(separable || local != PC_PATCHFD_LOCAL_FD, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local fd is for operators that fast diagonalization solves; this one has other terms, use fd_inexact, "
             "which leaves them out, or dense");
  PetscCheck(!separable || local != PC_PATCHFD_LOCAL_FD_INEXACT, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local fd_inexact is for operators that fast diagonalization does not solve; use fd, which solves this "
             "one");
  PetscCheck(!points || !MatBoxIsCoupled(x->m) || (local != PC_PATCHFD_LOCAL_FD_INEXACT && s->fit == PC_PATCHFD_FIT_AUTO), comm,
             PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local %s, -pc_patchfd_fit %s: patches of -dm_box_operator %s with a map or with a material that "
             "varies "
             "have dense inverses; use auto",
             PATCHES_WORDS_local[local], PATCHES_WORD(s, fit), MatBoxName(x->m));
  PetscCheck(points || s->fit == PC_PATCHFD_FIT_AUTO, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_fit %s is for operators with varying coefficients; -dm_box_operator %s takes auto",
             PATCHES_WORD(s, fit), MatBoxName(x->m));
  PetscCheck(local != PC_PATCHFD_LOCAL_DENSE || s->fit == PC_PATCHFD_FIT_AUTO, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_fit %s is for -pc_patchfd_local fd_inexact; dense inverses fit exactly, use auto",
             PATCHES_WORD(s, fit));
  PetscCheck(!points || s->fit == PC_PATCHFD_FIT_LINE || s->classes == PC_PATCHFD_CLASSES_AUTO, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_classes %s is for patches that share matrices, as with -pc_patchfd_fit line; with %s use auto",
             PATCHES_WORD(s, classes), PATCHES_WORD(s, fit));
  if (local == PC_PATCHFD_LOCAL_AUTO) {
    local = saddle ? PC_PATCHFD_LOCAL_SCHUR : PC_PATCHFD_LOCAL_FD_INEXACT;
    if (separable) local = PC_PATCHFD_LOCAL_FD;
    else if (s->fit == PC_PATCHFD_FIT_AUTO && MatBoxLocalIsDenseBest(x->m, kern)) local = PC_PATCHFD_LOCAL_DENSE;
  }
  if (local == PC_PATCHFD_LOCAL_DENSE) x->rule.type = single ? MATBOX_LOCAL_DENSE_ALONE : MATBOX_LOCAL_DENSE;
  else if (local == PC_PATCHFD_LOCAL_SCHUR) x->rule.type = single ? MATBOX_LOCAL_SCHUR_ALONE : MATBOX_LOCAL_SCHUR;
  else if (points && s->fit != PC_PATCHFD_FIT_LINE) x->rule.type = s->fit == PC_PATCHFD_FIT_SHARED ? MATBOX_LOCAL_SHARED : MATBOX_LOCAL_OWN;
  else x->rule.type = single ? MATBOX_LOCAL_FD_ALONE : MATBOX_LOCAL_FD;
  ChooseTolerances(s, x->m, &x->rule);
  PetscCall(ChooseFitRule(p, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the precision of products with inverses, and atomic updates: what kernels on a GPU have */
static PetscErrorCode ChooseProducts(MatPatches p, PatchFDKernels kern)
{
  static const PatchFDPrecision products[] = {
    [PC_PATCHFD_PRECISION_AUTO] = PATCHFD_PRECISION_DOUBLE,   [PC_PATCHFD_PRECISION_SAME] = PATCHFD_PRECISION_DOUBLE,
    [PC_PATCHFD_PRECISION_SINGLE] = PATCHFD_PRECISION_SINGLE, [PC_PATCHFD_PRECISION_TF32] = PATCHFD_PRECISION_TF32,
    [PC_PATCHFD_PRECISION_BF16] = PATCHFD_PRECISION_BF16,     [PC_PATCHFD_PRECISION_FP16] = PATCHFD_PRECISION_DOUBLE,
  };
  const MatPatchesSpec *s    = &p->spec;
  BoxPatches           *x    = (BoxPatches *)p->data;
  const MPI_Comm        comm = PetscObjectComm((PetscObject)p->A);
  const PetscBool       host = PetscMemTypeHost(kern->memtype), factors = (PetscBool)(s->precision == PC_PATCHFD_PRECISION_FP16);
  const PetscBool       lower   = (PetscBool)(s->precision > PC_PATCHFD_PRECISION_SAME && !factors);
  const PetscBool       inverse = (PetscBool)(x->rule.type == MATBOX_LOCAL_DENSE || x->rule.type == MATBOX_LOCAL_DENSE_ALONE);
  const PetscBool       dense   = (PetscBool)(s->patch != PC_PATCHFD_PATCH_BOX && inverse);

  PetscFunctionBegin;
  PetscCheck(dense || !lower, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_precision %s is for products with dense inverses (-pc_patchfd_local dense); here use auto or same",
             PATCHES_WORD(s, precision));
  PetscCheck(!host || !lower, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_precision %s is for GPUs; on the host use auto or same, or float throughout by -pc_type single",
             PATCHES_WORD(s, precision));
  PetscCheck(!factors || (x->method == PATCHES && x->rule.fit.packed), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_precision fp16 is for residuals of patches (-pc_patchfd_variant fused) of -dm_box_operator diffusion "
             "in single precision on GPUs, in 3D with -dm_box_extra_points 1; here use auto or same");
  PetscCheck(s->update == PC_PATCHFD_UPDATE_COLORED || (!host && !x->m->form.separable), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_update %s is for operators that are not separable (biharmonic) on GPUs; here use colored",
             PATCHES_WORD(s, update));
  x->products = products[s->precision];
  if (dense && s->precision == PC_PATCHFD_PRECISION_AUTO) x->products = MatBoxLocalBestPrecision(x->m, kern);
  x->atomic = (PetscBool)(s->update == PC_PATCHFD_UPDATE_ATOMIC);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are corrections those of an operator nearby? */
static PetscBool IsInexact(const BoxPatches *x)
{
  return (PetscBool)(!x->m->form.separable && (x->rule.type == MATBOX_LOCAL_FD || x->rule.type == MATBOX_LOCAL_FD_ALONE));
}

/* that with which local solvers converge: sums of overlapping corrections, and those of inexact solvers in 3D, are too large, unless scaled
   */
static PetscErrorCode ChooseDamping(MatPatches p)
{
  const BoxPatches *x        = (const BoxPatches *)p->data;
  const PetscInt    dim      = x->m->dm->dim;
  const PetscBool   additive = MatPatchesSpecIsAdditive(&p->spec), inexact3 = (PetscBool)(IsInexact(x) && dim == 3);

  PetscFunctionBegin;
  p->omega = p->spec.damping;
  if (p->omega != PETSC_DETERMINE) PetscFunctionReturn(PETSC_SUCCESS);
  if (x->method != PATCHES || p->spec.patch == PC_PATCHFD_PATCH_BOX) p->omega = 1;
  else if (additive) p->omega = inexact3 ? 0.1 : 1.0 / (PetscReal)(1 << dim);
  else if (x->m->form.points && p->spec.fit == PC_PATCHFD_FIT_LINE) PetscCall(MatBoxGetDamping(x->local, x->products, &p->omega));
  else if (inexact3 && !x->m->form.points) p->omega = p->spec.order == PC_PATCHFD_ORDER_SYMMETRIC ? 0.6 : 0.7;
  else p->omega = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* have fitted patches residuals of their own? */
static PetscBool FitIsFused(const BoxPatches *x, PatchFDKernels kern)
{
  return (PetscBool)(x->rule.fit.rows || (RuleHasFits(&x->rule) && MatBoxFitTakesResiduals(x->m, kern)));
}

/*
  By measurement (benchmarks/kernels, tests/cuda -time): no residual where the formula without one exists, unless a patch is one unknown,
  whose boundary is all there is to read.  With other terms, residuals of all patches of a parity at once: on a GPU by the operator, which
  reads x once.
*/
static MatPatchesVariant BestVariant(const BoxPatches *x, PatchFDKernels kern)
{
  if (x->method != PATCHES) return PC_PATCHFD_VARIANT_AUTO;
  if (x->m->form.points) return FitIsFused(x, kern) ? PC_PATCHFD_VARIANT_FUSED : PC_PATCHFD_VARIANT_GLOBAL;
  if (MatBoxLocalHasTerms(x->local)) return PetscMemTypeHost(kern->memtype) ? PC_PATCHFD_VARIANT_SEPARATE : PC_PATCHFD_VARIANT_GLOBAL;
  return MatBoxLocalIsPointwise(x->local) ? PC_PATCHFD_VARIANT_FUSED : PC_PATCHFD_VARIANT_BOUNDARY;
}

static PetscErrorCode ChooseVariant(MatPatches p, PatchFDKernels kern)
{
  const MatPatchesVariant variant = p->spec.variant;
  const MPI_Comm          comm    = PetscObjectComm((PetscObject)p->A);
  BoxPatches             *x       = (BoxPatches *)p->data;

  PetscFunctionBegin;
  x->use = variant;
  if (MatPatchesSpecIsAdditive(&p->spec)) x->use = PC_PATCHFD_VARIANT_GLOBAL;
  else if (variant == PC_PATCHFD_VARIANT_AUTO) x->use = BestVariant(x, kern);
  if (x->method != PATCHES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!x->m->form.points || x->use == PC_PATCHFD_VARIANT_GLOBAL || (x->use == PC_PATCHFD_VARIANT_FUSED && FitIsFused(x, kern)), comm,
             PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_variant %s is for operators whose patches have a residual of their own; -dm_box_operator %s takes "
             "auto or global, and fused on the host with -pc_patchfd_fit_exact 0 and, in 3D to degree 8, on GPUs with -dm_box_extra_points "
             "1",
             PATCHES_WORDS_variant[variant], MatBoxName(x->m));
  PetscCheck(variant != PC_PATCHFD_VARIANT_BOUNDARY || !MatBoxLocalHasTerms(x->local), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_variant boundary is for local solvers by fast diagonalization that are exact; with this operator and "
             "-pc_patchfd_local use auto, fused, separate or global");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the turning point of a symmetric sweep an exact solve would be repeated, if patches of a colour do not see each other */
static void ChooseColors(MatPatches p)
{
  BoxPatches     *x        = (BoxPatches *)p->data;
  const PetscBool residual = (PetscBool)(x->use == PC_PATCHFD_VARIANT_SEPARATE || x->use == PC_PATCHFD_VARIANT_GLOBAL);
  const PetscBool rows     = (PetscBool)(!residual && (x->rule.type == MATBOX_LOCAL_DENSE || x->rule.fit.rows));

  if (x->method != PATCHES) return;
  p->turns  = (PetscBool)(p->omega == 1 && (x->m->form.separable || rows));
  p->ncolor = MatBoxLocalColors(x->local, residual, x->color);
  if (!x->atomic) return;
  p->ncolor   = 1;
  x->color[0] = (PatchFDColor){.parity = {PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES}, .phase = PATCHFD_ALL_PHASES};
}

/* ---- sweeps ---- */

static PetscErrorCode MatPatchesPrepare_Box(MatPatches p, PatchFDKernels kern, PETSC_UNUSED PetscBool transpose)
{
  BoxPatches *x = (BoxPatches *)p->data;

  PetscFunctionBegin;
  if (x->method == DIAGONALIZED_BOX) PetscCall(MatBoxDirectSetUp(x->m, kern));
  else if (x->method == FACTORED_BOX) PetscCall(MatBoxFactorSetUp(p->A, x->m));
  else PetscCall(MatBoxLocalSetUp(x->local, kern, x->products));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of the matrix as it was, unless its residual is not ours */
static PetscErrorCode MatPatchesResidual_Box(MatPatches p, Vec b, Vec x, Vec r)
{
  PetscBool own;

  PetscFunctionBegin;
  PetscCall(MatBoxIsOwn(p->A, &own));
  if (own) PetscCall(MatApplyArrays(MatBoxApply, ((BoxPatches *)p->data)->m, -1, x, b, r));
  else PetscCall(MatResidual(p->A, b, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the residual that all patches of a colour need */
static PetscErrorCode ColorResidual(MatPatches p, PatchFDKernels kern, const PatchFDColor *color, Vec b, Vec x, Vec r)
{
  const void *ba, *xa;
  void       *ra;
  PetscBool   own;

  PetscFunctionBegin;
  PetscCall(MatBoxIsOwn(p->A, &own));
  if (!own || !MatBoxLocalHasOperatorColors(((BoxPatches *)p->data)->local)) {
    PetscCall(MatResidual(p->A, b, x, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ba));
  PetscCall(PatchFDVecGetArrayRead(x, kern, &xa));
  PetscCall(PatchFDVecGetArrayWrite(r, kern, &ra));
  PetscCall(MatBoxResidual(((BoxPatches *)p->data)->m, kern, color, ba, xa, ra));
  PetscCall(PatchFDVecRestoreArrayWrite(r, kern, &ra));
  PetscCall(PatchFDVecRestoreArrayRead(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* corrections from the residual r for all patches of these colours */
static PetscErrorCode Correct(MatPatches p, PatchFDKernels kern, PetscInt n, const PatchFDColor colors[], Vec r, Vec x)
{
  BoxPatches *box = (BoxPatches *)p->data;
  Vec         s   = NULL, sr, z;
  const void *ra;
  void       *xa;

  PetscFunctionBegin;
  if (IsInexact(box)) PetscCall(MatBoxLocalGetScaling(box->local, r, &s)); /* fits have theirs */
  if (s) {
    PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_R, r, &sr));
    PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_Z, r, &z));
    PetscCall(MatBoxLocalCorrectScaled(box->local, kern, box->products, n, colors, p->omega, s, r, sr, z, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PatchFDVecGetArrayRead(r, kern, &ra));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  PetscCall(MatBoxLocalCorrect(box->local, kern, box->products, n, colors, p->omega, ra, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(r, kern, &ra));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesCorrect_Box(MatPatches p, PatchFDKernels kern, Vec r, Vec x)
{
  PetscFunctionBegin;
  PetscCall(Correct(p, kern, p->ncolor, ((BoxPatches *)p->data)->color, r, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the global residual before each colour */
static PetscErrorCode SweepGlobal(MatPatches p, PatchFDKernels kern, PetscInt n, const PatchFDColor colors[], PetscBool zero, Vec b, Vec x)
{
  Vec r;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++, zero = PETSC_FALSE) {
    if (!zero) {
      PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_R, b, &r));
      PetscCall(ColorResidual(p, kern, &colors[i], b, x, r));
    }
    PetscCall(Correct(p, kern, 1, &colors[i], zero ? b : r, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does a sweep with residuals by the operator stay on ghosted arrays?  Scaled corrections are Vecs */
static PetscBool TakesOperator(const BoxPatches *x)
{
  return (PetscBool)(MatBoxLocalTakesOperator(x->local) && !x->atomic && !IsInexact(x));
}

/* on ghosted arrays, where there are such, or the direct solve */
static PetscErrorCode SweepLocal(MatPatches p, PatchFDKernels kern, PetscInt64 its, PetscInt n, const PatchFDColor colors[], PetscBool zero,
                                 Vec b, Vec x)
{
  const BoxPatches *box       = (const BoxPatches *)p->data;
  PatchFDPatchOp    operation = PATCHFD_OP_BOUNDARY;
  const void       *ba;
  void             *xa;

  PetscFunctionBegin;
  if (box->use == PC_PATCHFD_VARIANT_SEPARATE) operation = PATCHFD_OP_SOLVE;
  if (box->use == PC_PATCHFD_VARIANT_GLOBAL) operation = PATCHFD_OP_RESIDUAL;
  if (box->use == PC_PATCHFD_VARIANT_FUSED) operation = PATCHFD_OP_FUSED;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ba));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  if (box->method == DIAGONALIZED_BOX) PetscCall(MatBoxDirectSolve(box->m, kern, ba, xa));
  else PetscCall(MatBoxLocalSweep(box->local, kern, box->products, operation, its, n, colors, p->omega, zero, ba, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesSweep_Box(MatPatches p, PatchFDKernels kern, PetscInt64 its, PetscInt n, const PetscInt order[],
                                          PetscBool zero, Vec b, Vec x)
{
  const BoxPatches *box                       = (const BoxPatches *)p->data;
  PatchFDColor colors[2 * PATCHFD_MAX_COLORS] = {{.parity = {0}}}; /* the first is looked at, though a mesh without unknowns has none */
  PetscBool    own;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) colors[i] = box->color[order[i]];
  PetscCall(MatBoxIsOwn(p->A, &own));
  if (box->method == FACTORED_BOX) PetscCall(MatBoxFactorSolve(box->m, b, x));
  else if (box->method == PATCHES && box->use == PC_PATCHFD_VARIANT_GLOBAL && !(own && TakesOperator(box))) {
    for (PetscInt64 i = 0; i < its; i++) PetscCall(SweepGlobal(p, kern, n, colors, (PetscBool)(zero && i == 0), b, x));
  } else PetscCall(SweepLocal(p, kern, its, n, colors, zero, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the rows of fixed nodes are solved exactly, too: 1 - (1 - damping)^steps of the way */
static PetscErrorCode MatPatchesFinish_Box(MatPatches p, PatchFDKernels kern, PetscInt64 steps, Vec b, Vec x)
{
  const void *ba;
  void       *xa;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetArrayRead(b, kern, &ba));
  PetscCall(PatchFDVecGetArray(x, kern, &xa));
  PetscCall(MatBoxSolveFixed(((BoxPatches *)p->data)->m, kern, 1 - PetscPowReal(1 - p->omega, (PetscReal)steps), ba, xa));
  PetscCall(PatchFDVecRestoreArray(x, kern, &xa));
  PetscCall(PatchFDVecRestoreArrayRead(b, kern, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesExchange_Box(MatPatches p)
{
  BoxPatches *x = (BoxPatches *)p->data;

  PetscFunctionBegin;
  if (!p->exchanged) PetscCall(MatShellGetContext(p->A, &x->now));
  PetscCall(MatShellSetContext(p->A, p->exchanged ? x->now : x->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- view, creation ---- */

static PetscErrorCode ViewLocal(MatPatches p, PatchFDKernels kern, PetscViewer viewer)
{
  static const char *const solvers[] = {"fd_inexact", "dense", "schur", "fd_inexact"}; /* of pairs of a MatBoxLocalType */
  const BoxPatches        *x         = (const BoxPatches *)p->data;
  const MatBoxLocalRule   *rule      = &x->rule;
  const char              *matrices  = rule->type % 2 ? "single" : "exact";

  PetscFunctionBegin;
  if (RuleHasFits(rule)) matrices = rule->type == MATBOX_LOCAL_OWN ? "own" : "shared";
  if (!x->m->form.separable)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  local solver %s, %s matrices%s%s%s%s\n", solvers[rule->type / 2], matrices,
                                     x->products ? ", products in " : "",
                                     x->products ? PATCHES_WORDS_precision[PC_PATCHFD_PRECISION_SAME + (int)x->products] : "",
                                     rule->fit.packed ? ", residuals with factors in fp16" : "", x->atomic ? ", atomic updates" : ""));
  if (solvers[rule->type / 2] == solvers[MATBOX_LOCAL_SCHUR / 2])
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  pressures by conjugate gradients, relative tolerance %g, at most %" PetscInt_FMT " iterations\n",
                                     (double)rule->rtol, rule->maxit));
  PetscCall(MatBoxLocalView(x->local, kern, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPatchesView_Box(MatPatches p, PetscViewer viewer)
{
  const BoxPatches *x     = (const BoxPatches *)p->data;
  const PetscBool   whole = (PetscBool)(p->spec.patch == PC_PATCHFD_PATCH_BOX);
  DM                dm    = x->m->dm;
  PetscMPIInt       size;
  PatchFDKernels    kern;
  const char       *kernels = NULL, *solve = x->method == PATCHES ? "its dense inverse" : "fast diagonalization";

  PetscFunctionBegin;
  if (x->method == FACTORED_BOX) solve = "a factorization of the assembled matrix on the host";
  if (whole) PetscCall(PetscViewerASCIIPrintf(viewer, "  whole box as one patch: direct solve by %s\n", solve));
  else PetscCall(MatPatchesViewSteps(p, "vertex patches", PATCHES_WORDS_variant[x->use], viewer));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(DMBoxViewHalvings(dm, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (!whole) PetscCall(ViewLocal(p, kern, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  kernels: %s (%s memory, %d bytes a number)\n", kern->name,
                                   PetscMemTypeHost(kern->memtype) ? "host" : "device", (int)kern->size));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)p->A), &size));
  if (size > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "  between ranks: %s\n", PatchFDHaloTypes[DMBoxHaloTypeInUse(dm, kern)]));
  if (!whole) kernels = MatBoxLocalKernels(x->local, kern, x->products);
  if (kernels) PetscCall(PetscViewerASCIIPrintf(viewer, "  kernels for patches: %s\n", kernels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscLogDouble MatPatchesBytes_Box(MatPatches p, PatchFDKernels kern)
{
  const BoxPatches *x = (const BoxPatches *)p->data;

  return x->local ? MatBoxLocalBytes(x->local, kern) : 0;
}

static PetscErrorCode MatPatchesDestroy_Box(MatPatches p)
{
  BoxPatches *x = (BoxPatches *)p->data;

  PetscFunctionBegin;
  PetscCall(MatBoxLocalRelease(&x->local));
  PetscCall(MatBoxRelease(&x->m));
  PetscCall(PetscFree(p->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all that a sweep needs and could not be made later, when the matrix has changed */
static PetscErrorCode SetUp(MatPatches p, PatchFDKernels kern)
{
  BoxPatches *x = (BoxPatches *)p->data;
  Vec         v, s;
  void       *plan;

  PetscFunctionBegin;
  if (x->method == PATCHES) PetscCall(MatBoxLocalGet(x->m, &x->rule, &x->local));
  PetscCall(MatPatchesPrepare_Box(p, kern, PETSC_FALSE));
  p->singular = x->local ? x->local->singular : x->m->wholesingular;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &p->singular, 1, PATCHFD_MPI_BOOL, MPI_LOR, PetscObjectComm((PetscObject)p->A)));
  if (p->singular) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChooseDamping(p));
  PetscCall(ChooseVariant(p, kern));
  ChooseColors(p);
  if (x->method != PATCHES || x->use != PC_PATCHFD_VARIANT_GLOBAL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxGetOperator(x->m, kern, &plan));
  if (TakesOperator(x)) PetscCall(MatBoxGetGhostedOperator(x->m, kern, &plan));
  if (!IsInexact(x)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateGlobalVector(x->m->dm, &v));
  PetscCall(MatBoxLocalGetScaling(x->local, v, &s));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreatePatches_Box(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  static const struct _MatPatchesOps ops  = {.remedy   = "too small a penalty (-dm_box_penalty), or a negative shift (-dm_box_shift)",
                                             .prepare  = MatPatchesPrepare_Box,
                                             .sweep    = MatPatchesSweep_Box,
                                             .correct  = MatPatchesCorrect_Box,
                                             .residual = MatPatchesResidual_Box,
                                             .finish   = MatPatchesFinish_Box,
                                             .exchange = MatPatchesExchange_Box,
                                             .view     = MatPatchesView_Box,
                                             .bytes    = MatPatchesBytes_Box,
                                             .destroy  = MatPatchesDestroy_Box};
  const MPI_Comm                     comm = PetscObjectComm((PetscObject)A);
  MatPatches                         p    = *patches;
  BoxPatches                        *x;
  Mat_Box                           *m;
  PatchFDKernels                     kern;
  PetscMPIInt                        size;

  PetscFunctionBegin;
  if (spec->patch == PC_PATCHFD_PATCH_CELL) {
    PetscCall(MatCreatePatches_BoxCells(A, spec, patches));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(spec->bricksize == PETSC_DETERMINE, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_brick_size is for assembled matrices of a DMDA; those of a DMBOX have vertex patches");
  PetscCall(MatPatchesCheckSpec(comm, spec));
  PetscCall(MatBoxFind(A, &m));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1 && spec->patch == PC_PATCHFD_PATCH_BOX && !m->form.separable) {
    PetscCall(MatCreatePatches_BoxRedundant(A, spec, patches));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscNew(&x));
  x->m = m;
  x->m->holders++;
  if (p && (p->ops != &ops || ((BoxPatches *)p->data)->m != x->m)) PetscCall(MatPatchesDestroy(patches)); /* otherwise new ones may share */
  PetscCall(MatPatchesCreate(A, spec, patches));
  p       = *patches;
  p->ops  = &ops;
  p->data = x;
  PetscCall(PatchFDVecTypeGetKernels(x->m->dm->vectype, &kern));
  if (spec->patch != PC_PATCHFD_PATCH_BOX) PetscCall(ChooseLocal(p, kern));
  else if (x->m->form.separable) x->method = DIAGONALIZED_BOX;
  else if (x->m->nullspace && x->m->form.constants < 0) x->method = FACTORED_BOX; /* dense inverses know those of constants */
  else if (MatBoxIsOnePatch(x->m) && !x->m->form.points) x->rule.type = MATBOX_LOCAL_DENSE_ALONE;
  else if (MatBoxLocalTakesWhole(x->m, kern)) x->rule.type = MATBOX_LOCAL_WHOLE;
  else x->method = FACTORED_BOX;
  PetscCall(ChooseProducts(p, kern));
  p->overwrites = (PetscBool)(x->method == DIAGONALIZED_BOX);
  p->kernels    = (PetscBool)(x->method != FACTORED_BOX);
  PetscCall(SetUp(p, kern));
  PetscCall(MatPatchesDestroy(&p->before));
  PetscFunctionReturn(PETSC_SUCCESS);
}
