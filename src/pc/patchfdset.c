/* The public routines of PCPATCHFD, each the setter or getter of an option; what they do is in patchfd.c */
#include <patchfd/private/options.h> /*I "petscpatchfd.h" I*/

/*@
  PCPatchFDSetType - Sets how the corrections of the patches of a `PCPATCHFD` are combined

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- type - `PC_PATCHFD_TYPE_MULTIPLICATIVE` (default): one colour after another, each with the current values; `PC_PATCHFD_TYPE_ADDITIVE`: all
         patches from the same residual, corrections summed; `PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH`, `PC_PATCHFD_TYPE_CHEBYSHEV_FIRST`: the same
         under Chebyshev's iteration, for closed cells

  Options Database Key:
. -pc_patchfd_type (multiplicative|additive|chebyshev_fourth|chebyshev_first) - the type

  Level: intermediate

  Notes:
  Closed cells (`PC_PATCHFD_PATCH_CELL`) are additive by default.

  With a polynomial, set-up takes ten steps of conjugate gradients to estimate the largest eigenvalue l of the preconditioned matrix,
  from a vector that does not depend on the number of processes. An application is one polynomial, whose degree is the number of
  sweeps: of the fourth kind for eigenvalues up to 1.1 l (Phillips, Fischer, Optimal Chebyshev smoothers and one-sided V-cycles, 2022), or
  of the first kind for those from 0.11 l to 1.1 l.

.seealso: `PCPATCHFD`, `PCPatchFDGetType()`, `PCPatchFDSetDamping()`, `PCPatchFDSetSweeps()`, `KSPCHEBYSHEV`
@*/
PetscErrorCode PCPatchFDSetType(PC pc, PCPatchFDType type)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetType, Enum, PCPatchFDType, type);
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
  PATCHFD_GET(PC, pc, PCPatchFDGetType, PCPatchFDType *, type);
}

/*@
  PCPatchFDSetPatch - Sets what the patches of a `PCPATCHFD` are

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- patch - `PC_PATCHFD_PATCH_VERTEX`: the cells around each interior vertex; `PC_PATCHFD_PATCH_BOX`: the whole box;
          `PC_PATCHFD_PATCH_CELL`: closed cells; `PC_PATCHFD_PATCH_AUTO` (default): cells for a `DMPLEX`, otherwise vertices

  Options Database Key:
. -pc_patchfd_patch (auto|vertex|box|cell) - the patches

  Level: intermediate

  Notes:
  The whole box as one patch is a direct solver. `PCPATCHMG` uses it on the coarsest mesh. It takes matrices of a `DMBOX`, and assembled
  ones of a `DMDA` that are sums of Kronecker products, see `PCPATCHFD`.

  For separable operators (`poisson`) it is fast diagonalization: a dense eigenproblem of the size of each mesh line in set-up, and
  products with the eigenvectors in each solve. The processes share a solve, each with a piece of the lines of the last direction.
  Every process solves the whole problem from a gathered right-hand side if the problem is small, has eigenvalues of both signs, or
  has fewer cells in that direction than there are processes.

  In a pure Neumann problem on several processes the solution contains an arbitrary constant, which the `KSP` removes by the null
  space.

  For other operators every process solves the whole problem. It has the dense inverse if the mesh has no more cells than a patch, or if
  the inverse, in parity blocks, has less than 2e7 entries (by quadrature: 5e6, with vectors on a GPU 1.2e7). Otherwise it factors the
  assembled matrix on the host.

.seealso: `PCPATCHFD`, `PCPatchFDGetPatch()`, `MatCreateKroneckerSum()`, `PCPATCHMG`
@*/
PetscErrorCode PCPatchFDSetPatch(PC pc, PCPatchFDPatch patch)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetPatch, Enum, PCPatchFDPatch, patch);
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
  PATCHFD_GET(PC, pc, PCPatchFDGetPatch, PCPatchFDPatch *, patch);
}

/*@
  PCPatchFDSetLocal - Sets how a `PCPATCHFD` solves the problem of a patch

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- local - `PC_PATCHFD_LOCAL_AUTO` (default), `PC_PATCHFD_LOCAL_FD`, `PC_PATCHFD_LOCAL_FD_INEXACT`, `PC_PATCHFD_LOCAL_DENSE` or
          `PC_PATCHFD_LOCAL_SCHUR`

  Options Database Key:
. -pc_patchfd_local (auto|fd|fd_inexact|dense|schur) - the local solver

  Level: intermediate

  Notes:
  `fd` is the default for separable operators (`poisson`) and is only for these. `fd_inexact` and `dense` are for other operators of
  one field. `fd_inexact` leaves out the terms that are not separable; it needs damping in 3D for `biharmonic`. `dense` is exact. It
  works on sums and differences of mirrored unknowns, in which a symmetric patch has 2^dim small matrices. Patches of a class share
  these. If the inverses of all classes need more than 8 GiB, as may happen on graded meshes, that is an error.

  For `biharmonic` the default is `dense` on uniform meshes and `fd_inexact` on graded ones. On a GPU it is `fd_inexact` also on
  uniform meshes, to degree 3 in 3D and 2 in 2D.

  For `stokes`, `dense` multiplies with the pseudo-inverse, which leaves out constant pressures of the patch. `schur` inverts the
  velocity block by fast diagonalization and iterates on the Schur complement of the pressure (`PCPatchFDSetSchurTolerances()`). The
  results agree up to its tolerance. The default is `dense` on uniform meshes and `schur` on graded ones.

  For `diffusion` the default is `fd_inexact`, with matrices that are fitted to each patch (`PCPatchFDSetFit()`), and `dense` on
  meshes of at most four cells in each direction, to degree 4 in 3D and 8 in 2D.

.seealso: `PCPATCHFD`, `PCPatchFDGetLocal()`, `PCPatchFDSetDamping()`
@*/
PetscErrorCode PCPatchFDSetLocal(PC pc, PCPatchFDLocal local)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetLocal, Enum, PCPatchFDLocal, local);
}

/*@
  PCPatchFDGetLocal - Gets how a `PCPATCHFD` solves the problem of a patch

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. local - what was set

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetLocal()`
@*/
PetscErrorCode PCPatchFDGetLocal(PC pc, PCPatchFDLocal *local)
{
  PATCHFD_GET(PC, pc, PCPatchFDGetLocal, PCPatchFDLocal *, local);
}

/*@
  PCPatchFDSetClasses - Sets which matrices the patches of a `PCPATCHFD` have

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- classes - `PC_PATCHFD_CLASSES_AUTO` (default), `PC_PATCHFD_CLASSES_SINGLE` or `PC_PATCHFD_CLASSES_EXACT`

  Options Database Key:
. -pc_patchfd_classes (auto|single|exact) - the classes

  Level: intermediate

  Notes:
  With `single` the matrix of a patch is that of a mesh that consists of the patch alone. Where the patch ends inside the mesh, its
  ends have the terms of a Dirichlet side; where it ends with the mesh, the condition of the mesh holds. On a uniform mesh all
  patches that do not touch Neumann or supported sides have the same matrix, which is symmetric in all directions.

  `single` is the default for `biharmonic` and `stokes`, where it costs at most one iteration. For `poisson` the default is `exact`;
  on continuous spaces both have the same matrices.

.seealso: `PCPATCHFD`, `PCPatchFDGetClasses()`, `PCPatchFDSetDamping()`
@*/
PetscErrorCode PCPatchFDSetClasses(PC pc, PCPatchFDClassesType classes)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetClasses, Enum, PCPatchFDClassesType, classes);
}

/*@
  PCPatchFDGetClasses - Gets which matrices the patches of a `PCPATCHFD` have

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. classes - what was set

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetClasses()`
@*/
PetscErrorCode PCPatchFDGetClasses(PC pc, PCPatchFDClassesType *classes)
{
  PATCHFD_GET(PC, pc, PCPatchFDGetClasses, PCPatchFDClassesType *, classes);
}

/*@
  PCPatchFDSetPrecision - Sets the precision of products with dense inverses of patches, or of factors at quadrature points, in a
  `PCPATCHFD` on a GPU

  Logically Collective

  Input Parameters:
+ pc - the preconditioner
- precision - `PC_PATCHFD_PRECISION_AUTO` (default), `PC_PATCHFD_PRECISION_SAME`, `PC_PATCHFD_PRECISION_SINGLE`,
              `PC_PATCHFD_PRECISION_TF32`, `PC_PATCHFD_PRECISION_BF16` or `PC_PATCHFD_PRECISION_FP16`

  Options Database Key:
. -pc_patchfd_precision (auto|same|single|tf32|bf16|fp16) - the precision

  Level: advanced

  Notes:
  Dense inverses, `-pc_patchfd_local dense` on a GPU. Only corrections pass through products with inverses. Residuals and solutions
  keep the precision of the vectors, so the iteration counts hardly change. A precision that is not lower than that of the vectors
  has no effect.

  `auto` is `tf32` to degree 5 and `same` above, where the error of a correction, which grows with the condition of the patch
  matrices, would cost iterations. `bf16` multiplies with the factors of the inverse, W (W' r); the error of this grows with the
  square root of the condition.

  Patches at sides that are not clamped, patches of graded meshes, and patches above degree 6 use the precision of the vectors.

  Factors at quadrature points, the operator `diffusion` with vectors of type `VECSINGLECUDA` and `-pc_patchfd_variant fused`. With
  `fp16`, which is `auto` there, patches inside the mesh read |J| J^{-1} K J^{-T} as L D L' with entries of 11 bits, so that it
  remains positive definite. This halves the bytes. The energies of the matrix that sweeps then use differ from those of the
  operator by about 0.1 per cent. A cycle or a Krylov method computes residuals with the operator itself, so only sweeps alone
  (`KSPRICHARDSON`) converge to the solution of the other matrix. `same` reads the factors of the operator.

  Any other choice than `auto` and `same` is an error where it does not apply.

.seealso: `PCPATCHFD`, `PCPatchFDGetPrecision()`, `PCPatchFDSetLocal()`
@*/
PetscErrorCode PCPatchFDSetPrecision(PC pc, PCPatchFDPrecision precision)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetPrecision, Enum, PCPatchFDPrecision, precision);
}

/*@
  PCPatchFDGetPrecision - Gets in which precision a `PCPATCHFD` multiplies with the dense inverses of patches

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. precision - what was set

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetPrecision()`
@*/
PetscErrorCode PCPatchFDGetPrecision(PC pc, PCPatchFDPrecision *precision)
{
  PATCHFD_GET(PC, pc, PCPatchFDGetPrecision, PCPatchFDPrecision *, precision);
}

/*@
  PCPatchFDSetUpdate - Sets how an additive `PCPATCHFD` sums the corrections of patches that overlap

  Logically Collective

  Input Parameters:
+ pc - the preconditioner
- update - `PC_PATCHFD_UPDATE_COLORED` (default): one colour after another; `PC_PATCHFD_UPDATE_ATOMIC`: all patches at once, by atomic
           additions

  Options Database Key:
. -pc_patchfd_update (colored|atomic) - the update

  Level: advanced

  Notes:
  Both sums are the same up to rounding. `atomic` takes about half the time, but adds in any order, so that two runs may differ in
  the last bits.

  `atomic` is for operators that are not separable (`biharmonic`), on GPUs. Elsewhere it is an error.

.seealso: `PCPATCHFD`, `PCPatchFDGetUpdate()`, `PCPatchFDSetType()`
@*/
PetscErrorCode PCPatchFDSetUpdate(PC pc, PCPatchFDUpdate update)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetUpdate, Enum, PCPatchFDUpdate, update);
}

/*@
  PCPatchFDGetUpdate - Gets how an additive `PCPATCHFD` sums the corrections of patches that overlap

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. update - what was set

  Level: advanced

.seealso: `PCPATCHFD`, `PCPatchFDSetUpdate()`
@*/
PetscErrorCode PCPatchFDGetUpdate(PC pc, PCPatchFDUpdate *update)
{
  PATCHFD_GET(PC, pc, PCPatchFDGetUpdate, PCPatchFDUpdate *, update);
}

/*@
  PCPatchFDSetVariant - Sets which kernels compute a smoothing step of a `PCPATCHFD`

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- variant - `PC_PATCHFD_VARIANT_AUTO` (default), `PC_PATCHFD_VARIANT_BOUNDARY`, `PC_PATCHFD_VARIANT_FUSED`, `PC_PATCHFD_VARIANT_SEPARATE` or
            `PC_PATCHFD_VARIANT_GLOBAL`

  Options Database Key:
. -pc_patchfd_variant (auto|boundary|fused|separate|global) - the variant

  Level: advanced

  Notes:
  `global` computes the residual of the whole mesh before each colour. `separate` computes that of the patches of the colour.
  `fused` computes the residual and solves patch by patch. `boundary` computes the new values of a patch from the right-hand side
  and the values around the patch, without a residual.

  For separable operators all variants give the same iterates up to rounding. `auto` is `boundary`, and `fused` for degree 1 if a
  patch has one unknown.

  For other operators `boundary` does not apply. With `biharmonic` and `stokes`, all patches of a colour see the state before the
  colour in `separate` and `global`, while `fused` visits twice as many colours, in which no two patches are coupled. The iterates
  differ, the speed of convergence does not. `auto` is `separate` on the host and `global` on a GPU. With `diffusion`, `auto` is
  `fused` where patches have residuals of their own, and `global` otherwise.

  An additive smoother always uses `global`.

.seealso: `PCPATCHFD`, `PCPatchFDGetVariant()`
@*/
PetscErrorCode PCPatchFDSetVariant(PC pc, PCPatchFDVariant variant)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetVariant, Enum, PCPatchFDVariant, variant);
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
  PATCHFD_GET(PC, pc, PCPatchFDGetVariant, PCPatchFDVariant *, variant);
}

/*@
  PCPatchFDSetOrder - Sets in which order a multiplicative `PCPATCHFD` visits the colours

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- order - `PC_PATCHFD_ORDER_AUTO` (default), `PC_PATCHFD_ORDER_FORWARD`, `PC_PATCHFD_ORDER_BACKWARD`, or `PC_PATCHFD_ORDER_SYMMETRIC`
          (forward, then backward)

  Options Database Key:
. -pc_patchfd_order (auto|forward|backward|symmetric) - the order

  Level: intermediate

  Note:
  `PC_PATCHFD_ORDER_AUTO` is `PC_PATCHFD_ORDER_FORWARD`, except for the pre-smoother of a symmetric cycle, see `PCPatchMGSetSymmetric()`.

.seealso: `PCPATCHFD`, `PCPatchFDGetOrder()`, `PCPatchMGSetSymmetric()`
@*/
PetscErrorCode PCPatchFDSetOrder(PC pc, PCPatchFDOrder order)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetOrder, Enum, PCPatchFDOrder, order);
}

/*@
  PCPatchFDGetOrder - Gets in which order a multiplicative `PCPATCHFD` visits the colours

  Not Collective

  Input Parameter:
. pc - the preconditioner, of type `PCPATCHFD`

  Output Parameter:
. order - the order; after `PCSetUp()` the one that is used, not `PC_PATCHFD_ORDER_AUTO`

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDSetOrder()`
@*/
PetscErrorCode PCPatchFDGetOrder(PC pc, PCPatchFDOrder *order)
{
  PATCHFD_GET(PC, pc, PCPatchFDGetOrder, PCPatchFDOrder *, order);
}

/*@
  PCPatchFDSetDamping - Sets the factor by which a `PCPATCHFD` multiplies its corrections

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- damping - the factor, greater than 0 and less than 2, or `PETSC_DETERMINE` (default); with the whole box as one patch only 1

  Options Database Key:
. -pc_patchfd_damping damping - the factor

  Level: intermediate

  Notes:
  The default is 1 for multiplicative smoothers, and for `fd_inexact` with `biharmonic` in 3D 0.7, or 0.6 for symmetric order. For
  additive smoothers it is 2^-dim, and 0.1 for `fd_inexact` with `biharmonic` in 3D. For `diffusion` with `-pc_patchfd_fit line` it
  comes from an estimate of the largest eigenvalue. Bricks of a `DMDA` take 0.75 if the smoother is additive.

  After `PCSetUp()`, `PCPatchFDGetDamping()` returns the factor in use.

.seealso: `PCPATCHFD`, `PCPatchFDGetDamping()`, `PCPatchFDSetType()`, `PCPatchFDSetLocal()`
@*/
PetscErrorCode PCPatchFDSetDamping(PC pc, PetscReal damping)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetDamping, Real, PetscReal, damping);
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
  PATCHFD_GET(PC, pc, PCPatchFDGetDamping, PetscReal *, damping);
}

/*@
  PCPatchFDSetSweeps - Sets how many sweeps over all patches an application of a `PCPATCHFD` makes

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner
- sweeps - the number of sweeps, at least 1 (default 1)

  Options Database Key:
. -pc_patchfd_sweeps sweeps - the number of sweeps

  Level: intermediate

.seealso: `PCPATCHFD`, `PCPatchFDGetSweeps()`
@*/
PetscErrorCode PCPatchFDSetSweeps(PC pc, PetscInt sweeps)
{
  PATCHFD_SET(PC, pc, PCPatchFDSetSweeps, Int, PetscInt, sweeps);
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
  PATCHFD_GET(PC, pc, PCPatchFDGetSweeps, PetscInt *, sweeps);
}
