/*
  What the kernel tables call: each function hands a description to the kind of kernels that takes it, and remembers which: those for
  Kronecker sums in continuous fields, in discontinuous ones (dg/dg.cuh), for other sums of bands (bands/operator.cuh, terms/terms.cuh),
  for several fields (fields/fields.cuh), or by quadrature (points/points.cuh).
*/
#include "bands/operator.cuh"
#include "base/cuda.cuh"
#include "dg/dg.cuh"
#include "fields/fields.cuh"
#include "fit/cells.cuh"
#include "fit/fit.cuh"
#include "transfer/transfer.cuh"
#include "points/points.cuh"
#include "terms/terms.cuh"
#include <patchfd/private/fit.h>
#include <patchfd/private/vecimpl.h>

namespace patchfd
{

struct DoorPlan : Plan {
  int   kind; /* the number of its class in the list of a door */
  void *plan = NULL;

  DoorPlan(int kind, void **door) : kind(kind) { *door = this; }
  ~DoorPlan() { delete (Plan *)plan; }
};

template <typename Kind>
struct DoorKind {
  using type = Kind;
};

/* f(DoorKind<Kind>()), Kind the class with number `kind` in the list */
template <typename Kind, typename... Others, typename F>
static PetscErrorCode DoorCall(int kind, F &&f)
{
  if constexpr (sizeof...(Others) > 0) {
    if (kind > 0) return DoorCall<Others...>(kind - 1, f);
  }
  return f(DoorKind<Kind>());
}

/* ---- operators ---- */

static SumDesc DescribeSum(const PatchFDOperatorDesc *desc, const PatchFDBand *const A[3], const PatchFDBand *const M[3])
{
  const PatchFDField *f = desc->field;
  SumDesc             s;

  for (int d = 0; d < 3; d++) {
    s.dir[d] = {M[d]->nloc, M[d]->ncells, M[d]->nclass, M[d]->cls, M[d]->X, A[d]->X};
    for (int e = 0; e < 2; e++) {
      s.read[d][e]  = f->read[d][e];
      s.write[d][e] = f->write[d][e];
      s.cells[d][e] = desc->cells[d][e];
    }
  }
  s.xbox = f->xbox;
  s.ybox = f->ybox;
  return s;
}

/* do cells share the nodes between them (false), or have nodes of their own (true), in all directions?  The point of a direction that does
   not exist counts as both */
static bool AllCells(bool own, const PetscInt nloc[3], const PetscInt stride[3])
{
  bool all = true;

  for (int d = 0; d < 3; d++) all = all && (nloc[d] == 1 || (stride[d] == nloc[d]) == own);
  return all;
}

template <typename T>
struct OperatorDoor {
  enum {
    SUM,
    DG,
    BANDS,
    TERMS,
    POINTS,
    SOLID
  };

  /* A, M: of a sum */
  static int kind(const PatchFDOperatorDesc *desc, const PatchFDBand *A[3], const PatchFDBand *M[3])
  {
    bool match = false;

    if (desc->points) return desc->points->solid ? SOLID : POINTS;
    if (PatchFDKroneckerSum(desc, A, M)) {
      const PetscInt nloc[] = {M[0]->nloc, M[1]->nloc, M[2]->nloc}, stride[] = {M[0]->stride, M[1]->stride, M[2]->stride};

      match = AllCells(false, nloc, stride);
      if (!match && AllCells(true, nloc, stride)) return DG;
    }
    for (int d = 0; d < 3 && match; d++) match = PatchFDBandsMatch(A[d], M[d]);
    return match ? SUM : (BandOperator<T>::takes(desc) ? BANDS : TERMS);
  }
  static PetscBool rings(const PatchFDOperatorDesc *desc)
  {
    const PatchFDBand *A[3], *M[3];

    return (PetscBool)(kind(desc, A, M) == SUM && M[1]->nloc > 1);
  }
  static PetscErrorCode create(const PatchFDOperatorDesc *desc, void **plan)
  {
    const PatchFDBand *A[3], *M[3];
    DoorPlan          *p = new DoorPlan(kind(desc, A, M), plan);

    PetscFunctionBegin;
    if (p->kind == SUM) {
      const SumDesc s = DescribeSum(desc, A, M);

      PetscCall(Operator<T>::create(&s, &p->plan));
    } else if (p->kind == DG) PetscCall(DGOperator<T>::create(desc, &p->plan));
    else if (p->kind == POINTS) PetscCall(PointsOperator<T>::create(desc, &p->plan));
    else if (p->kind == SOLID) PetscCall(SolidOperator<T>::create(desc, &p->plan));
    else if (p->kind == BANDS) PetscCall(BandOperator<T>::create(desc, &p->plan));
    else PetscCall(TermsOperator<T>::create(desc, &p->plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode apply(void *plan, PetscReal alpha, const void *x, const void *y0, void *y)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return DoorCall<Operator<T>, DGOperator<T>, BandOperator<T>, TermsOperator<T>, PointsOperator<T>,
                    SolidOperator<T>>(p->kind, [&](auto kind) { return decltype(kind)::type::apply(p->plan, alpha, x, y0, y); });
  }
  static PetscErrorCode residual(void *plan, const PatchFDColor *color, const void *x, const void *b, void *r)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return p->kind == BANDS ? BandOperator<T>::residual(p->plan, color, x, b, r)
         : p->kind == TERMS ? TermsOperator<T>::residual(p->plan, color, x, b, r)
                            : apply(plan, -1, x, b, r);
  }
  static const char    *name(void *plan) { return ((DoorPlan *)plan)->kind == SUM ? Operator<T>::name(((DoorPlan *)plan)->plan) : NULL; }
  static PetscErrorCode diagonal(void *plan, void *diagonal)
  {
    DoorPlan *p = (DoorPlan *)plan;

    PetscFunctionBegin;
    PetscCheck(p->kind >= POINTS, PETSC_COMM_SELF, PETSC_ERR_SUP, "The diagonal of an operator of terms is made by PatchFDHostDiagonal()");
    PetscCall((p->kind == SOLID ? SolidOperator<T>::diagonal : PointsOperator<T>::diagonal)(p->plan, diagonal));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode sweep(void *plan, const void *d, const void *r, const void *q, void *dir, void *w, PatchFDSweep *sweep)
  {
    DoorPlan *p = (DoorPlan *)plan;

    PetscFunctionBegin;
    PetscCheck(p->kind == POINTS, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Only scalar operators given by points have sweeps of conjugate gradients");
    PetscCall(PointsOperator<T>::sweep(p->plan, d, r, q, dir, w, sweep));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode pick(void *plan, PetscCount nnodes, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                             void **picked)
  {
    DoorPlan *p = new DoorPlan(POINTS, picked);

    PetscFunctionBegin;
    PetscCall(PointsOperator<T>::pick(((DoorPlan *)plan)->plan, nnodes, ncells, cells, index, &p->plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode fitpick(void *fit, PetscInt group, void *plan, void **picked)
  {
    DoorPlan *p = new DoorPlan(POINTS, picked);

    PetscFunctionBegin;
    PetscCall(PointsPickPatches<T>(((DoorPlan *)plan)->plan, Fit<T>::patches(fit, group), &p->plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode fitproduct(void *fit, PetscInt group, void *plan, const void *x)
  {
    return Fit<T>::product(fit, group, ((DoorPlan *)plan)->plan, x);
  }
  static PetscErrorCode fitinner(void *fit, PetscInt group, void *plan, PetscBool subtract, const void *x, void *y)
  {
    return Fit<T>::inner(fit, group, ((DoorPlan *)plan)->plan, subtract, x, y);
  }
  static PetscErrorCode fit(PatchFDFit *desc, const PatchFDFitRule *rule, void *plan, void **fit)
  {
    return Fit<T>::create(desc, rule, ((DoorPlan *)plan)->plan, fit);
  }
  static PetscErrorCode cells(const PatchFDCellsDesc *desc, void *plan, void **cells)
  {
    return Cells<T>::create(desc, ((DoorPlan *)plan)->plan, cells);
  }
};

/* ---- local solvers ---- */

template <typename T>
struct LocalDoor {
  enum {
    SUM,
    DG,
    TERMS,
    FIELDS
  };

  /* one patch that is a whole line in each direction, which has an inverse and no eigenvectors */
  static bool whole(const PatchFDLocalDesc *desc)
  {
    bool is = desc->kind == PATCHFD_LOCAL_DENSE;

    for (int d = 0; d < 3; d++) is = is && desc->field->dir[d]->npatch == 1 && !desc->field->dir[d]->eigen[0].S;
    return is;
  }

  static int kind(const PatchFDLocalDesc *desc)
  {
    return desc->nfield > 1 || whole(desc) ? FIELDS : (desc->nterm ? TERMS : (desc->nphase > 1 ? DG : SUM));
  }
  static PetscBool rings(const PatchFDLocalDesc *desc)
  {
    return (PetscBool)(kind(desc) == SUM && desc->kind == PATCHFD_LOCAL_FD && desc->field->box.n[1] > 1);
  }
  static PetscErrorCode create(const PatchFDLocalDesc *desc, void **plan)
  {
    DoorPlan *p = new DoorPlan(kind(desc), plan);

    PetscFunctionBegin;
    PetscCall(call(p->kind, [&](auto kind) { return decltype(kind)::type::create(desc, &p->plan); }));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[], const PatchFDRange patches,
                              PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return call(p->kind,
                [&](auto kind) { return decltype(kind)::type::apply(p->plan, op, ncolors, colors, patches, omega, zero, x, b, r); });
  }
  static const char *name(void *plan) { return ((DoorPlan *)plan)->kind == SUM ? Smoother<T>::name(((DoorPlan *)plan)->plan) : NULL; }

private:
  template <typename F>
  static PetscErrorCode call(int kind, F &&f)
  {
    return DoorCall<Smoother<T>, DGSmoother<T>, TermsSmoother<T>, FieldsSmoother<T>>(kind, f);
  }
};

/* ---- transfers ---- */

template <typename T>
struct TransferDoor {
  enum {
    CONTINUOUS,
    DG,
    MIXED,
    MESH
  };

  static PetscErrorCode create(const PatchFDTransferDesc *desc, void **plan)
  {
    const PetscInt nf[]      = {desc->dir[0]->nf, desc->dir[1]->nf, desc->dir[2]->nf},
                   fstride[] = {desc->dir[0]->fstride, desc->dir[1]->fstride, desc->dir[2]->fstride};
    PetscInt  k;
    int       shared, kind = MIXED;
    DoorPlan *p;

    PetscFunctionBegin;
    if (desc->mesh) kind = MESH;
    /* lines by products: those have no atomics */
    else if (AllCells(false, nf, fstride)) kind = nf[1] > 1 || nf[2] > 1 ? CONTINUOUS : MIXED;
    else if (AllCells(true, nf, fstride) && !MixedTransfer<T>::fast(desc, &k, &shared)) kind = DG;
    p = new DoorPlan(kind, plan);
    PetscCall((DoorCall<Transfer<T>, DGTransfer<T>, MixedTransfer<T>, MeshTransfer<T>>(p->kind, [&](auto kind) {
      return decltype(kind)::type::create(desc, &p->plan);
    })));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <bool RESTRICTION>
  static PetscErrorCode apply(void *plan, const void *from, void *to)
  {
    DoorPlan *p = (DoorPlan *)plan;

    return DoorCall<Transfer<T>, DGTransfer<T>, MixedTransfer<T>, MeshTransfer<T>>(p->kind, [&](auto kind) {
      return decltype(kind)::type::apply(p->plan, RESTRICTION, from, to);
    });
  }
  static const char *name(void *plan) { return ((DoorPlan *)plan)->kind == 0 ? Transfer<T>::name(((DoorPlan *)plan)->plan) : NULL; }
};

/* ---- the tables of both precisions ---- */

static MPI_Datatype TypeDouble(void)
{
  return MPI_DOUBLE;
}

static MPI_Datatype TypeFloat(void)
{
  return MPI_FLOAT;
}

/* PetscSF adds nothing but PetscScalars on the GPU */
static PetscErrorCode Widen(size_t n, const void *from, void *to)
{
  return (*VecSingleKernelsCUDA.todouble)((PetscInt)n, 1.0, (const float *)from, (double *)to);
}

static PetscErrorCode Narrow(size_t n, const void *from, void *to)
{
  return (*VecSingleKernelsCUDA.fromdouble)((PetscInt)n, 1.0, (const double *)from, (float *)to);
}

} // namespace patchfd

#define TABLE(T, TYPE, WIDE, WIDEN, NARROW) \
  { \
    .name = patchfd::Scalar<T>::name, .size = sizeof(T), .memtype = PETSC_MEMTYPE_CUDA, .datatype = TYPE, .id = patchfd::Scalar<T>::id, \
    .wide = WIDE, .widen = WIDEN, .narrow = NARROW, .malloc = patchfd::Grid<T>::malloc, .free = patchfd::Grid<T>::free, \
    .zero = patchfd::Grid<T>::zero, .multiply = patchfd::Grid<T>::multiply, .copy = patchfd::Grid<T>::copy, \
    .fixed = patchfd::Grid<T>::fixed, .operatorrings = patchfd::OperatorDoor<T>::rings, \
    .operatorcreate = patchfd::OperatorDoor<T>::create, .operatorapply = patchfd::OperatorDoor<T>::apply, \
    .operatorresidual = patchfd::OperatorDoor<T>::residual, .operatordiagonal = patchfd::OperatorDoor<T>::diagonal, \
    .operatorsweep = patchfd::OperatorDoor<T>::sweep, .operatorpick = patchfd::OperatorDoor<T>::pick, \
    .operatordestroy = patchfd::DestroyPlan<>, .latticecreate = patchfd::Lattice<T>::create, .latticeapply = patchfd::Lattice<T>::apply, \
    .latticediagonal = patchfd::Lattice<T>::diagonal, .latticesweep = patchfd::Lattice<T>::sweep, \
    .latticedestroy = patchfd::DestroyPlan<>, .transfercreate = patchfd::TransferDoor<T>::create, \
    .transferprolong = patchfd::TransferDoor<T>::apply<false>, .transferrestrict = patchfd::TransferDoor<T>::apply<true>, \
    .transferdestroy = patchfd::DestroyPlan<>, .localrings = patchfd::LocalDoor<T>::rings, .localcreate = patchfd::LocalDoor<T>::create, \
    .localapply = patchfd::LocalDoor<T>::apply, .localdestroy = patchfd::DestroyPlan<>, .pointsrestrict = patchfd::PointsRestrict, \
    .pointscontrast = patchfd::PointsContrast, .pointsmetric = patchfd::PointsMetric, .cellmatrices = patchfd::PointsCellMatrices, \
    .stresses = NULL, .invert = patchfd::Invert, .fitcreate = patchfd::OperatorDoor<T>::fit, .fitgroups = patchfd::Fit<T>::groups, \
    .fitapply = patchfd::Fit<T>::apply, .fitwork = patchfd::Fit<T>::work, .fitcg = patchfd::Fit<T>::cg, \
    .fitsteps = patchfd::Fit<T>::steps, .fitexact = NULL, .fitfused = NULL, .fitdestroy = patchfd::Fit<T>::destroy, \
    .cellscreate = patchfd::OperatorDoor<T>::cells, .cellssides = patchfd::Cells<T>::sides, .cellscount = patchfd::Cells<T>::count, \
    .cellsfinish = patchfd::Cells<T>::finish, .cellsapply = patchfd::Cells<T>::apply, .cellsnoise = patchfd::Cells<T>::noise, \
    .cellsdestroy = patchfd::Cells<T>::destroy, .operatorname = patchfd::OperatorDoor<T>::name, \
    .transfername = patchfd::TransferDoor<T>::name, .localname = patchfd::LocalDoor<T>::name, \
    .boxsolvecreate = patchfd::BoxSolve<T>::create, .boxsolveapply = patchfd::BoxSolve<T>::apply, \
    .boxsolvedestroy = patchfd::DestroyPlan<>, .cgcreate = patchfd::CG<T>::create, .cgdestroy = patchfd::DestroyPlan<>, \
    .cgstate = patchfd::CG<T>::state, .cgput = patchfd::CG<T>::put, .cgget = patchfd::CG<T>::get, \
    .cgdirection = patchfd::CG<T>::direction, .cgproduct = patchfd::CG<T>::product, .cgadvance = patchfd::CG<T>::advance, \
    .cgsums = patchfd::CG<T>::sums, .cgrecordbegin = patchfd::CG<T>::recordbegin, .cgrecordend = patchfd::CG<T>::recordend, \
    .recordbegin = patchfd::RecordBegin, .recordend = patchfd::RecordEnd, .recordreplay = patchfd::RecordReplay, \
    .recorddestroy = patchfd::RecordDestroy, .localpoints = patchfd::fields_most, \
  }

const struct _PatchFDKernels PatchFDKernelsCUDADouble = TABLE(double, patchfd::TypeDouble, NULL, NULL, NULL);
const struct _PatchFDKernels PatchFDKernelsCUDAFloat  = TABLE(float, patchfd::TypeFloat, &PatchFDKernelsCUDADouble, patchfd::Widen,
                                                              patchfd::Narrow);

#define FIT_TABLE(T) \
  { \
    .pick = patchfd::OperatorDoor<T>::fitpick, .product = patchfd::OperatorDoor<T>::fitproduct, \
    .inner = patchfd::OperatorDoor<T>::fitinner, .correct = patchfd::Fit<T>::correct, \
  }

const struct _PatchFDFitKernels PatchFDFitKernelsCUDADouble = FIT_TABLE(double);
const struct _PatchFDFitKernels PatchFDFitKernelsCUDAFloat  = FIT_TABLE(float);
