/*
  How a PCPATCHFD uses the local solvers of any matrix (patchfd/private/patches.h): the order of colours, steps, and the matrix that they
  belong to.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/patches.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

PetscErrorCode MatPatchesCheckSpec(MPI_Comm comm, const MatPatchesSpec *s)
{
  PetscFunctionBegin;
  if (s->patch == PC_PATCHFD_PATCH_BOX) {
    PetscCheck(s->damping == 1 || s->damping == PETSC_DETERMINE, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box is an exact solve and takes no damping; found -pc_patchfd_damping %g, allowed is 1",
               (double)s->damping);
    PetscCheck(s->sweeps == 1, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box is an exact solve, which is not repeated; found -pc_patchfd_sweeps %" PetscInt_FMT ", "
               "allowed is 1",
               s->sweeps);
    PetscCheck(s->type == PC_PATCHFD_TYPE_MULTIPLICATIVE && s->order == PC_PATCHFD_ORDER_FORWARD, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box has one patch; -pc_patchfd_type %s and -pc_patchfd_order %s do not apply, leave them at "
               "multiplicative and forward",
               PATCHES_WORD(s, type), PATCHES_WORD(s, order));
    PetscCheck(s->variant == PC_PATCHFD_VARIANT_AUTO, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box has no patches to choose kernels for: -pc_patchfd_variant %s does not apply, use auto",
               PATCHES_WORD(s, variant));
    PetscCheck(s->local == PC_PATCHFD_LOCAL_AUTO && s->fit == PC_PATCHFD_FIT_AUTO && s->classes == PC_PATCHFD_CLASSES_AUTO &&
                 s->precision == PC_PATCHFD_PRECISION_AUTO,
               comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_patch box has a solver of its own: -pc_patchfd_local %s, -pc_patchfd_fit %s, -pc_patchfd_classes %s "
               "and -pc_patchfd_precision %s do not apply, use auto",
               PATCHES_WORD(s, local), PATCHES_WORD(s, fit), PATCHES_WORD(s, classes), PATCHES_WORD(s, precision));
  }
  PetscCheck(!MatPatchesSpecIsChebyshev(s), comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_type %s is for closed cells (-pc_patchfd_patch cell): found -pc_patchfd_patch %s, use "
             "multiplicative or additive",
             PATCHES_WORD(s, type), PATCHES_WORD(s, patch));
  PetscCheck(MatPatchesSpecIsAdditive(s) || s->update == PC_PATCHFD_UPDATE_COLORED, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_update %s is for -pc_patchfd_type additive; with %s leave it at colored", PATCHES_WORD(s, update),
             PATCHES_WORD(s, type));
  if (MatPatchesSpecIsAdditive(s)) {
    PetscCheck(s->variant == PC_PATCHFD_VARIANT_AUTO || s->variant == PC_PATCHFD_VARIANT_GLOBAL, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_type additive takes one residual for all patches: -pc_patchfd_variant %s does not apply, use auto "
               "or global",
               PATCHES_WORD(s, variant));
    PetscCheck(s->order == PC_PATCHFD_ORDER_FORWARD, comm, PETSC_ERR_ARG_INCOMP,
               "PCPATCHFD: -pc_patchfd_type additive visits all patches at once: -pc_patchfd_order %s does not apply, leave it at forward",
               PATCHES_WORD(s, order));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesGetCellsSpec(MPI_Comm comm, const MatPatchesSpec *s, MatPatchesSpec *cells)
{
  PetscFunctionBegin;
  PetscCheck(s->patch == PC_PATCHFD_PATCH_AUTO || s->patch == PC_PATCHFD_PATCH_CELL, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_patch %s is for matrices of a DMBOX; those of a DMPLEX have closed cells, use auto or cell",
             PATCHES_WORD(s, patch));
  PetscCheck((s->local == PC_PATCHFD_LOCAL_AUTO || s->local == PC_PATCHFD_LOCAL_FD_INEXACT) && s->fit <= PC_PATCHFD_FIT_OWN &&
               s->rule.exact < 0,
             comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: closed cells take -pc_patchfd_local auto or fd_inexact, -pc_patchfd_fit auto or own and no -pc_patchfd_fit_exact; "
             "found %s, %s and %g",
             PATCHES_WORD(s, local), PATCHES_WORD(s, fit), (double)s->rule.exact);
  PetscCheck(s->variant == PC_PATCHFD_VARIANT_AUTO && s->classes == PC_PATCHFD_CLASSES_AUTO && s->precision <= PC_PATCHFD_PRECISION_SAME &&
               s->update == PC_PATCHFD_UPDATE_COLORED && s->order == PC_PATCHFD_ORDER_FORWARD && s->bricksize == PETSC_DETERMINE,
             comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: closed cells are summed from one residual: -pc_patchfd_variant %s, -pc_patchfd_classes %s, -pc_patchfd_precision "
             "%s, -pc_patchfd_update %s, -pc_patchfd_order %s and -pc_patchfd_brick_size do not apply, leave them at their defaults",
             PATCHES_WORD(s, variant), PATCHES_WORD(s, classes), PATCHES_WORD(s, precision), PATCHES_WORD(s, update),
             PATCHES_WORD(s, order));
  PetscCheck(!MatPatchesSpecIsChebyshev(s) || s->damping == PETSC_DETERMINE, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_damping %g does not apply to -pc_patchfd_type %s, which estimates its own", (double)s->damping,
             PATCHES_WORD(s, type));
  *cells = *s;
  if (s->type == PC_PATCHFD_TYPE_MULTIPLICATIVE) cells->type = PC_PATCHFD_TYPE_ADDITIVE; /* whatever the default is */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesCheckBricksSpec(MPI_Comm comm, const MatPatchesSpec *s)
{
  PetscFunctionBegin;
  PetscCheck(s->patch <= PC_PATCHFD_PATCH_VERTEX, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_patch %s is for matrices of a DMPLEX or a DMBOX; an assembled matrix of a DMDA has bricks, use "
             "vertex, or the "
             "direct solve of a sum of Kronecker products, use box",
             PATCHES_WORD(s, patch));
  PetscCheck((s->local == PC_PATCHFD_LOCAL_AUTO || s->local == PC_PATCHFD_LOCAL_FD_INEXACT) && s->fit <= PC_PATCHFD_FIT_OWN, comm,
             PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: bricks of a DMDA take -pc_patchfd_local auto or fd_inexact and -pc_patchfd_fit auto or own; found %s and %s",
             PATCHES_WORD(s, local), PATCHES_WORD(s, fit));
  PetscCheck((s->variant == PC_PATCHFD_VARIANT_AUTO || s->variant == PC_PATCHFD_VARIANT_FUSED) && s->classes == PC_PATCHFD_CLASSES_AUTO &&
               s->precision <= PC_PATCHFD_PRECISION_SAME && s->update == PC_PATCHFD_UPDATE_COLORED,
             comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: bricks of a DMDA take -pc_patchfd_variant auto or fused, -pc_patchfd_classes auto, -pc_patchfd_precision auto or "
             "same, and -pc_patchfd_update colored; found %s, %s, %s and %s",
             PATCHES_WORD(s, variant), PATCHES_WORD(s, classes), PATCHES_WORD(s, precision), PATCHES_WORD(s, update));
  PetscCheck(s->rule.exact < 0, comm, PETSC_ERR_ARG_INCOMP,
             "PCPATCHFD: -pc_patchfd_fit_exact %g is for -dm_box_operator diffusion, not for bricks of a DMDA", (double)s->rule.exact);
  PetscCall(MatPatchesCheckSpec(comm, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesViewSteps(MatPatches p, const char patches[], const char variant[], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s %s, %s order, damping %g, %" PetscInt_FMT " sweep(s)%s%s\n", PATCHES_WORD(&p->spec, type),
                                   patches, PATCHES_WORD(&p->spec, order), (double)p->omega, p->spec.sweeps, variant ? ", variant " : "",
                                   variant ? variant : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sums of all patches: what is made of them */
PetscErrorCode MatPatchesViewSums(MatPatches p, PetscViewer viewer)
{
  const PetscBool chebyshev = MatPatchesSpecIsChebyshev(&p->spec);

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s, %" PetscInt_FMT " sweep(s), %s %g\n", PATCHES_WORD(&p->spec, type), p->spec.sweeps,
                                   chebyshev ? "eigenvalues below" : "damping", (double)(chebyshev ? p->largest : p->omega)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation, destruction ---- */

PetscErrorCode MatPatchesCreate(Mat A, const MatPatchesSpec *spec, MatPatches *patches)
{
  MatPatches before = *patches;

  PetscFunctionBegin;
  PetscCall(PetscNew(patches));
  PetscCall(PetscObjectReference((PetscObject)A));
  (*patches)->A      = A;
  (*patches)->spec   = *spec;
  (*patches)->before = before;
  PetscCall(PetscObjectStateGet((PetscObject)A, &(*patches)->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesDestroy(MatPatches *patches)
{
  MatPatches p = *patches;

  PetscFunctionBegin;
  *patches = NULL;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatPatchesDestroy(&p->before));
  if (p->ops) PetscCall((*p->ops->destroy)(p));
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    for (int w = 0; w < PATCHES_NUM_WORK; w++) PetscCall(VecDestroy(&p->work[i][w]));
  PetscCall(MatDestroy(&p->A));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesAreOf(MatPatches p, Mat A, PetscBool *are)
{
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  *are = (PetscBool)(p->A == A && (p->state == state || p->exchanged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesExchange(MatPatches p)
{
  PetscBool same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MatPatchesAreOf(p, p->A, &same));
  if (!p->ops->exchange || (same && !p->exchanged)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*p->ops->exchange)(p));
  p->exchanged = (PetscBool)!p->exchanged;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesGetWork(MatPatches p, PatchFDKernels kern, MatPatchesWork which, Vec v, Vec *work)
{
  PetscFunctionBegin;
  if (!p->work[kern->id][which]) PetscCall(VecDuplicate(v, &p->work[kern->id][which]));
  *work = p->work[kern->id][which];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- steps ---- */

/* the colours of a sweep in their order; the transpose visits them in reverse */
static PetscInt Colors(MatPatches p, PetscBool transpose, PetscInt colors[])
{
  const MatPatchesOrder order = p->spec.order;
  const PetscInt        n     = order == PC_PATCHFD_ORDER_SYMMETRIC && p->ncolor ? 2 * p->ncolor - (PetscInt)p->turns : p->ncolor;

  for (PetscInt i = 0; i < n; i++) {
    if (order == PC_PATCHFD_ORDER_SYMMETRIC) colors[i] = i < p->ncolor ? i : n - 1 - i;
    else colors[i] = (order == PC_PATCHFD_ORDER_BACKWARD) != transpose ? n - 1 - i : i;
  }
  return n;
}

/*
  x = 0 by our own kernels: PETSc's device Vecs work on another stream than the current one, and a recording of the V-cycle
  (src/pc/patchmgcycle.c) would not contain it.  That a VECSINGLE is zero already is part of the recording, and so can be relied on; on the
  host nothing is recorded.
*/
static PetscErrorCode Zero(PatchFDKernels kern, Vec x)
{
  PetscBool known;
  PetscReal norm;
  PetscInt  n;
  void     *a;

  PetscFunctionBegin;
  PetscCall(VecNormAvailable(x, NORM_2, &known, &norm));
  if (known && norm == 0 && (VecIsSingle_Private(x) || PetscMemTypeHost(kern->memtype))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(PatchFDVecGetArrayWrite(x, kern, &a));
  PetscCall((*kern->zero)((size_t)n, a));
  PetscCall(PatchFDVecRestoreArrayWrite(x, kern, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = a y + b x, by our own kernels, too; zero factors read nothing */
static PetscErrorCode AXPBY(PatchFDKernels kern, PetscReal a, Vec y, PetscReal b, Vec x)
{
  const PatchFDRange none = {{0, 0}, {0, 0}, {0, 0}};
  PatchFDRange       all  = {{0, 0}, {0, 1}, {0, 1}};
  PatchFDBox         box  = {.n = {0, 1, 1}};
  const void        *ax;
  void              *ay;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &box.n[0]));
  all[0][1] = box.n[0];
  PetscCall(PatchFDVecGetArrayRead(x, kern, &ax));
  PetscCall(PatchFDVecGetArray(y, kern, &ay));
  PetscCall((*kern->fixed)((const PetscInt(*)[2])all, none, a, &box, ay, b, &box, ax));
  PetscCall(PatchFDVecRestoreArray(y, kern, &ay));
  PetscCall(PatchFDVecRestoreArrayRead(x, kern, &ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(MatPatches p, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  PetscCall(p->ops->residual ? (*p->ops->residual)(p, b, x, r) : MatResidual(p->A, b, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += scale times the corrections from r */
static PetscErrorCode Correct(MatPatches p, PatchFDKernels kern, PetscReal scale, Vec r, Vec x)
{
  const PetscReal omega = p->omega;

  PetscFunctionBegin;
  p->omega = scale;
  PetscCall((*p->ops->correct)(p, kern, r, x));
  p->omega = omega;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Additive(MatPatches p, PatchFDKernels kern, PetscInt64 steps, PetscBool zero, Vec b, Vec x)
{
  PetscFunctionBegin;
  for (PetscInt64 i = 0; i < steps; i++) {
    Vec r = b;

    if (!zero || i) PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_R, b, &r));
    if (r != b) PetscCall(Residual(p, b, x, r));
    PetscCall((*p->ops->correct)(p, kern, r, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Chebyshev's iteration: d = a d + c B r, x += d, r -= A d ---- */

/*
  a and c of step i = 1, 2, ...; *rho: of the step before.  Fourth kind: Phillips and Fischer, Optimal Chebyshev smoothers and one-sided
  V-cycles (2022), algorithm 1.  First kind, on [0.1, 1] times the bound: Saad, Iterative methods for sparse linear systems (2003),
  algorithm 12.1
*/
static void ChebyshevStep(MatPatchesType type, PetscReal bound, PetscInt i, PetscReal *rho, PetscReal *a, PetscReal *c)
{
  const PetscReal theta = 0.55 * bound, delta = 0.45 * bound, old = *rho;

  if (type == PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH) {
    *a = i > 1 ? (2 * (PetscReal)i - 3) / (2 * (PetscReal)i + 1) : 0;
    *c = (8 * (PetscReal)i - 4) / ((2 * (PetscReal)i + 1) * bound);
    return;
  }
  *rho = i > 1 ? 1 / (2 * theta / delta - old) : delta / theta;
  *a   = i > 1 ? *rho * old : 0;
  *c   = i > 1 ? 2 * *rho / delta : 1 / theta;
}

/* one polynomial of degree spec.sweeps */
static PetscErrorCode Chebyshev(MatPatches p, PatchFDKernels kern, PetscBool zero, Vec b, Vec x)
{
  PetscReal rho = 0, a, c;
  Vec       r = b, next = NULL, d = NULL, other = NULL;

  PetscFunctionBegin;
  PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_R, b, &next));
  PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_S, b, &other));
  PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_Z, b, &d));
  for (PetscInt i = 1; i <= p->spec.sweeps; i++) {
    ChebyshevStep(p->spec.type, p->largest, i, &rho, &a, &c);
    if (i == 1 && zero) { /* x is d */
      PetscCall(Correct(p, kern, c, b, x));
      continue;
    }
    PetscCall(Residual(p, r, i == 1 || (i == 2 && zero) ? x : d, next));
    r     = next;
    next  = other;
    other = r;
    if (i == 1) PetscCall(Zero(kern, d));
    else if (i == 2 && zero) PetscCall(AXPBY(kern, 0, d, a, x));
    else PetscCall(AXPBY(kern, a, d, 0, d));
    PetscCall(Correct(p, kern, c, r, d));
    PetscCall(AXPBY(kern, 1, x, 1, d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's own estimate begins with numbers that depend on the ranks */
PetscErrorCode MatPatchesFindLargest(MatPatches p, PatchFDKernels kern, Vec r)
{
  enum {
    STEPS = 10
  };
  const PetscReal rounding = 1e-10, safety = 1.1;
  PetscReal       a[STEPS], b[STEPS], bound[2] = {1, 1};
  PetscScalar     rz, dq, old = 0, first = 0;
  PetscInt        n;
  Vec             z, d, q;

  PetscFunctionBegin;
  PetscCall((*p->ops->prepare)(p, kern, PETSC_FALSE));
  PetscCall(VecDuplicate(r, &z));
  PetscCall(VecDuplicate(r, &d));
  PetscCall(VecDuplicate(r, &q));
  PetscCall(VecZeroEntries(d));
  for (n = 0; n < STEPS; n++) {
    PetscCall(VecZeroEntries(z));
    PetscCall(Correct(p, kern, 1, r, z));
    PetscCall(VecDot(r, z, &rz));
    if (n == 0) first = rz;
    else b[n - 1] = rz / old;
    if (!(rz > rounding * first)) break;
    PetscCall(VecAYPX(d, n ? b[n - 1] : 0, z));
    PetscCall(MatMult(p->A, d, q));
    PetscCall(VecDot(d, q, &dq));
    if (!(dq > 0)) break;
    a[n] = rz / dq;
    PetscCall(VecAXPY(r, -a[n], q));
    old = rz;
  }
  if (n) PetscCall(PatchFDHostFitBounds(1, n, a, b, bound));
  p->largest = safety * bound[1];
  PetscCall(PetscInfo(p->A, "The largest eigenvalue of closed cells is about %g\n", (double)bound[1]));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the product of the two numbers of steps need not fit a PetscInt */
PetscErrorCode MatPatchesSmooth(MatPatches p, PetscInt its, PetscBool transpose, PetscBool zero, Vec b, Vec x)
{
  const PetscInt64 steps = (PetscInt64)its * p->spec.sweeps;
  PatchFDKernels   kern;
  PetscInt         colors[2 * PATCHFD_MAX_COLORS], n = Colors(p, transpose, colors);

  PetscFunctionBegin;
  if (p->singular) { /* solvers find that something is not finite, and look for the reason */
    PetscCall(VecFlag(x, PETSC_TRUE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PatchFDVecGetKernels(b, &kern));
  PetscCall((*p->ops->prepare)(p, kern, transpose));
  PetscCall(PetscLogEventBegin(PATCHFD_Smooth, p->A, b, x, 0));
  if (zero && !p->overwrites) PetscCall(Zero(kern, x));
  if (p->spec.type == PC_PATCHFD_TYPE_MULTIPLICATIVE) PetscCall((*p->ops->sweep)(p, kern, steps, n, colors, zero, b, x));
  else if (MatPatchesSpecIsAdditive(&p->spec)) PetscCall(Additive(p, kern, steps, zero, b, x));
  else {
    for (PetscInt i = 0; i < its; i++) PetscCall(Chebyshev(p, kern, (PetscBool)(zero && i == 0), b, x));
  }
  if (p->ops->finish) PetscCall((*p->ops->finish)(p, kern, steps, b, x));
  PetscCall(PetscLogEventEnd(PATCHFD_Smooth, p->A, b, x, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatPatchesIterate(MatPatches p, Mat A, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  PatchFDKernels kern;
  Vec            r = NULL, z = NULL;

  PetscFunctionBegin;
  PetscCall(PatchFDVecGetKernels(b, &kern));
  PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_RICHARDSON_R, b, &r));
  PetscCall(MatPatchesGetWork(p, kern, PATCHES_WORK_RICHARDSON_Z, b, &z));
  for (PetscInt i = 0; i < its; i++) {
    if (zero && i == 0) PetscCall(MatPatchesSmooth(p, 1, PETSC_FALSE, PETSC_TRUE, b, x));
    else {
      PetscCall(MatResidual(A, b, x, r));
      PetscCall(MatPatchesSmooth(p, 1, PETSC_FALSE, PETSC_TRUE, r, z));
      PetscCall(AXPBY(kern, 1, x, 1, z));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
