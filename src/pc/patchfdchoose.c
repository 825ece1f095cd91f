/*
  PCPATCHFD: may the options be together, and what is left to the solver?

  Errors name the option, what was found and what is allowed.
*/
#include "patchfd.h"
#include <patchfd/private/sysimpl.h>

/* what the options ask for must make sense together */
PetscErrorCode PCPatchFDCheckOptions(PC pc)
{
  PC_PatchFD    *p    = (PC_PatchFD *)pc->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  if (p->patch == PC_PATCHFD_BOX) {
    PetscCheck(p->damping == 1 || p->damping == PETSC_DETERMINE, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_patch box is an exact solve and takes no damping; found -pc_patchfd_damping %g, allowed is 1", (double)p->damping);
    PetscCheck(p->sweeps == 1, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_patch box is an exact solve, which is not repeated; found -pc_patchfd_sweeps %" PetscInt_FMT ", allowed is 1",
               p->sweeps);
    PetscCheck(p->type == PC_PATCHFD_MULTIPLICATIVE && p->order == PC_PATCHFD_FORWARD, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box has one patch; -pc_patchfd_type %s and -pc_patchfd_order %s do not apply, leave them at multiplicative and forward",
               PCPatchFDTypes[p->type], PCPatchFDOrders[p->order]);
    PetscCheck(p->variant == PC_PATCHFD_AUTO, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_patch box has no patches to choose kernels for: -pc_patchfd_variant %s does not apply, use auto",
               PCPatchFDVariants[p->variant]);
    PetscCheck(p->local == PC_PATCHFD_LOCAL_AUTO && p->fit == PC_PATCHFD_FIT_AUTO && p->classes == PC_PATCHFD_CLASSES_AUTO && p->precision == PC_PATCHFD_PRECISION_AUTO, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box has a solver of its own: -pc_patchfd_local %s, -pc_patchfd_fit %s, -pc_patchfd_classes %s and -pc_patchfd_precision %s do not apply, use auto",
               PCPatchFDLocals[p->local], PCPatchFDFits[p->fit], PCPatchFDClassesTypes[p->classes], PCPatchFDPrecisions[p->precision]);
  }
  PetscCheck(p->type == PC_PATCHFD_ADDITIVE || p->update == PC_PATCHFD_UPDATE_COLORED, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_update %s is for -pc_patchfd_type additive; with %s leave it at colored", PCPatchFDUpdates[p->update], PCPatchFDTypes[p->type]);
  if (p->type == PC_PATCHFD_ADDITIVE) {
    PetscCheck(p->variant == PC_PATCHFD_AUTO || p->variant == PC_PATCHFD_GLOBAL, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_type additive takes one residual for all patches: -pc_patchfd_variant %s does not apply, use auto or global", PCPatchFDVariants[p->variant]);
    PetscCheck(p->order == PC_PATCHFD_FORWARD, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_type additive visits all patches at once: -pc_patchfd_order %s does not apply, leave it at forward",
               PCPatchFDOrders[p->order]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Which patches are solved exactly: those of dense inverses are in any case.  At low degrees they all are, on the host: a patch has few unknowns, so that its rows of A are read in less time than it takes to compute residuals by quadrature,
  and its factor, which replaces fits and estimates of eigenvalues, is no more than a third of them (benchmarks/diffusion)
*/
static PetscErrorCode ChooseFitRule(PC pc, PatchFDKernels kern)
{
  PC_PatchFD     *p    = (PC_PatchFD *)pc->data;
  const MPI_Comm  comm = PetscObjectComm((PetscObject)pc);
  const PetscBool fits = (PetscBool)(p->solver == MATBOX_LOCAL_OWN || p->solver == MATBOX_LOCAL_SHARED), host = PetscMemTypeHost(kern->memtype);
  const PetscBool fused = (PetscBool)(p->type == PC_PATCHFD_MULTIPLICATIVE && (p->variant == PC_PATCHFD_AUTO || p->variant == PC_PATCHFD_FUSED)), rows = (PetscBool)(fits && host && fused && MatBoxFitTakesRows(p->matbox));
  const PetscBool packs = (PetscBool)(p->precision == PC_PATCHFD_PRECISION_AUTO || p->precision == PC_PATCHFD_PRECISION_FP16);

  PetscFunctionBegin;
  p->fitrule = p->rule;
  if (p->rule.exact < 0) p->fitrule.exact = p->rule.exact == PETSC_DETERMINE && rows && p->fit == PC_PATCHFD_FIT_AUTO && p->local == PC_PATCHFD_LOCAL_AUTO ? 0 : PETSC_MAX_REAL;
  p->fitrule.rows   = (PetscBool)(rows && PatchFDFitIsExact(&p->fitrule));
  p->fitrule.packed = (PetscBool)(fits && packs && kern->size == sizeof(float) && fused && MatBoxFitTakesResiduals(p->matbox, kern));
  PetscCheck(p->rule.exact < 0 || fits || (p->matbox->form.points && p->solver == MATBOX_LOCAL_DENSE), comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_fit_exact %g is for -pc_patchfd_fit own or shared, of -dm_box_operator diffusion",
             (double)p->rule.exact);
  PetscCheck(p->rule.exact < 0 || host, comm, PETSC_ERR_SUP, "PCPATCHFD: -pc_patchfd_fit_exact %g has kernels for the host alone; with vectors on a GPU leave it", (double)p->rule.exact);
  PetscCheck(p->rule.exact < 0 || p->rule.lanczos || PatchFDFitIsExact(&p->rule), comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_fit_exact %g needs estimates of eigenvalues; -pc_patchfd_fit_lanczos is 0", (double)p->rule.exact);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the local solver that the options and the operator lead to */
PetscErrorCode PCPatchFDChooseLocal(PC pc, PatchFDKernels kern)
{
  PC_PatchFD     *p         = (PC_PatchFD *)pc->data;
  const MPI_Comm  comm      = PetscObjectComm((PetscObject)pc);
  const PetscBool separable = p->matbox->form.separable, saddle = MatBoxIsSaddlePoint(p->matbox);
  PCPatchFDLocal  local     = p->local;
  const PetscBool points    = p->matbox->form.points;
  PetscBool       single    = (PetscBool)(p->classes == PC_PATCHFD_CLASSES_SINGLE || (p->classes == PC_PATCHFD_CLASSES_AUTO && !separable && !points));

  PetscFunctionBegin;
  PetscCheck(!saddle || (local != PC_PATCHFD_LOCAL_FD && local != PC_PATCHFD_LOCAL_FD_INEXACT), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local %s is for operators of one field; -dm_box_operator %s takes dense or schur", PCPatchFDLocals[local], MatBoxName(p->matbox));
  PetscCheck(saddle || local != PC_PATCHFD_LOCAL_SCHUR, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_local schur is for saddle points, of velocities and a pressure; -dm_box_operator %s takes %s or dense",
             MatBoxName(p->matbox), separable ? "fd" : "fd_inexact");
  PetscCheck(separable || local != PC_PATCHFD_LOCAL_FD, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_local fd is for operators that fast diagonalization solves; this one has other terms, use fd_inexact, which leaves them out, or dense");
  PetscCheck(!separable || local != PC_PATCHFD_LOCAL_FD_INEXACT, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_local fd_inexact is for operators that fast diagonalization does not solve; use fd, which solves this one");
  PetscCheck(points || p->fit == PC_PATCHFD_FIT_AUTO, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_fit %s is for operators with varying coefficients; -dm_box_operator %s takes auto", PCPatchFDFits[p->fit],
             MatBoxName(p->matbox));
  PetscCheck(local != PC_PATCHFD_LOCAL_DENSE || p->fit == PC_PATCHFD_FIT_AUTO, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_fit %s is for -pc_patchfd_local fd_inexact; dense inverses fit exactly, use auto",
             PCPatchFDFits[p->fit]);
  PetscCheck(!points || p->fit == PC_PATCHFD_FIT_LINE || p->classes == PC_PATCHFD_CLASSES_AUTO, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_classes %s is for patches that share matrices, as with -pc_patchfd_fit line; with %s use auto", PCPatchFDClassesTypes[p->classes], PCPatchFDFits[p->fit]);
  if (local == PC_PATCHFD_LOCAL_AUTO) {
    local = saddle ? PC_PATCHFD_LOCAL_SCHUR : PC_PATCHFD_LOCAL_FD_INEXACT;
    if (separable) local = PC_PATCHFD_LOCAL_FD;
    else if (p->fit == PC_PATCHFD_FIT_AUTO && MatBoxLocalIsDenseBest(p->matbox, kern)) local = PC_PATCHFD_LOCAL_DENSE;
  }
  if (local == PC_PATCHFD_LOCAL_DENSE) p->solver = single ? MATBOX_LOCAL_DENSE_ALONE : MATBOX_LOCAL_DENSE;
  else if (local == PC_PATCHFD_LOCAL_SCHUR) p->solver = single ? MATBOX_LOCAL_SCHUR_ALONE : MATBOX_LOCAL_SCHUR;
  else if (points && p->fit != PC_PATCHFD_FIT_LINE) p->solver = p->fit == PC_PATCHFD_FIT_SHARED ? MATBOX_LOCAL_SHARED : MATBOX_LOCAL_OWN;
  else p->solver = single ? MATBOX_LOCAL_FD_ALONE : MATBOX_LOCAL_FD;
  PetscCall(ChooseFitRule(pc, kern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the precision of products with inverses, and atomic updates: what kernels on a GPU have */
PetscErrorCode PCPatchFDChooseProducts(PC pc, PatchFDKernels kern)
{
  static const PatchFDPrecision products[] = {[PC_PATCHFD_PRECISION_AUTO] = PATCHFD_PRECISION_DOUBLE, [PC_PATCHFD_PRECISION_SAME] = PATCHFD_PRECISION_DOUBLE, [PC_PATCHFD_PRECISION_SINGLE] = PATCHFD_PRECISION_SINGLE,
                                              [PC_PATCHFD_PRECISION_TF32] = PATCHFD_PRECISION_TF32, [PC_PATCHFD_PRECISION_BF16] = PATCHFD_PRECISION_BF16, [PC_PATCHFD_PRECISION_FP16] = PATCHFD_PRECISION_DOUBLE};
  PC_PatchFD     *p     = (PC_PatchFD *)pc->data;
  const MPI_Comm  comm  = PetscObjectComm((PetscObject)pc);
  const PetscBool host  = PetscMemTypeHost(kern->memtype), factors = (PetscBool)(p->precision == PC_PATCHFD_PRECISION_FP16), lower = (PetscBool)(p->precision > PC_PATCHFD_PRECISION_SAME && !factors);
  const PetscBool dense = (PetscBool)(p->patch == PC_PATCHFD_VERTEX && (p->solver == MATBOX_LOCAL_DENSE || p->solver == MATBOX_LOCAL_DENSE_ALONE));

  PetscFunctionBegin;
  PetscCheck(dense || !lower, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_precision %s is for products with dense inverses (-pc_patchfd_local dense); here use auto or same", PCPatchFDPrecisions[p->precision]);
  PetscCheck(!host || !lower, comm, PETSC_ERR_ARG_INCOMP, "PCPATCHFD: -pc_patchfd_precision %s is for GPUs; on the host use auto or same, or float throughout by -pc_type single", PCPatchFDPrecisions[p->precision]);
  PetscCheck(!factors || (p->method == PATCHES && p->fitrule.packed), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_precision fp16 is for residuals of patches (-pc_patchfd_variant fused) of -dm_box_operator diffusion in single precision on GPUs, in 3D with -dm_box_extra_points 1; here use auto or same");
  PetscCheck(p->update == PC_PATCHFD_UPDATE_COLORED || (!host && !p->matbox->form.separable), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_update %s is for operators that are not separable (biharmonic) on GPUs; here use colored", PCPatchFDUpdates[p->update]);
  p->products = products[p->precision];
  if (dense && p->precision == PC_PATCHFD_PRECISION_AUTO) p->products = MatBoxLocalBestPrecision(p->matbox, kern);
  p->atomic = (PetscBool)(p->update == PC_PATCHFD_UPDATE_ATOMIC);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* damping with which the local solvers converge: sums of overlapping corrections, and those of inexact solvers in 3D, are too large, unless they are scaled */
PetscReal PCPatchFDBestDamping(const PC_PatchFD *p)
{
  const PetscInt  dim     = p->matbox->dm->dim;
  const PetscBool inexact = (PetscBool)(!p->matbox->form.separable && (p->solver == MATBOX_LOCAL_FD || p->solver == MATBOX_LOCAL_FD_ALONE));

  if (p->method != PATCHES || p->patch == PC_PATCHFD_BOX) return 1;
  if (p->type == PC_PATCHFD_ADDITIVE) return inexact && dim == 3 ? 0.1 : 1.0 / (PetscReal)(1 << dim);
  return inexact && dim == 3 && !p->matbox->form.points ? 0.7 : 1;
}

/* have fitted patches residuals of their own? */
PetscBool PCPatchFDFitIsFused(const PC_PatchFD *p, PatchFDKernels kern)
{
  return (PetscBool)(p->fitrule.rows || ((p->solver == MATBOX_LOCAL_OWN || p->solver == MATBOX_LOCAL_SHARED) && MatBoxFitTakesResiduals(p->matbox, kern)));
}

/*
  By measurement (benchmarks/kernels, tests/cuda -time): no residual where the formula without one exists, unless a patch is one unknown, whose boundary is
  all there is to read.  With other terms, residuals of all patches of a parity at once: on a GPU by the operator, which reads x once.
*/
PCPatchFDVariant PCPatchFDBestVariant(const PC_PatchFD *p, PatchFDKernels kern)
{
  if (p->method != PATCHES) return PC_PATCHFD_AUTO;
  if (p->matbox->form.points) return PCPatchFDFitIsFused(p, kern) ? PC_PATCHFD_FUSED : PC_PATCHFD_GLOBAL;
  if (MatBoxLocalHasTerms(p->matbox, p->solver)) return PetscMemTypeHost(kern->memtype) ? PC_PATCHFD_SEPARATE : PC_PATCHFD_GLOBAL;
  return MatBoxLocalIsPointwise(p->matbox, p->solver) ? PC_PATCHFD_FUSED : PC_PATCHFD_BOUNDARY;
}
