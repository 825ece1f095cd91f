/*
  The operations of VECSINGLE and VECSINGLECUDA that work on the floats: elementwise ones, and reductions over all ranks.  The loops are
  those of the type's table, VecSingleKernels; these functions see to storage, flops, states and the sum over the ranks.
*/
#include "single.h"

/* storage for v and for w, which is an operand of an operation of v */
static PetscErrorCode NeedOperand(Vec v, Vec w)
{
  PetscFunctionBegin;
  PetscCheck(SameStorage(v, w), PetscObjectComm((PetscObject)v), PETSC_ERR_ARG_INCOMP,
             "Cannot combine Vecs of type %s and %s: convert with VecSingleConvert(); for solvers that have Vecs of their own take "
             "-dm_vec_type standard, and -pc_type single for single precision",
             ((PetscObject)v)->type_name, ((PetscObject)w)->type_name);
  PetscCall(NeedStorage(v));
  PetscCall(NeedStorage(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LogFlops(Vec v, PetscLogDouble flops)
{
  PetscFunctionBegin;
  PetscCall(PetscMemTypeHost(Kernels(v)->memtype) ? PetscLogFlops(flops) : PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- elementwise ---- */

static PetscErrorCode VecCopy_Single(Vec x, Vec y)
{
  PetscFunctionBegin;
  if (SameStorage(x, y)) {
    PetscCall(NeedOperand(x, y));
    PetscCall(Kernels(x)->copy(x->map->n, Read(x), Write(y)));
  } else PetscCall(VecSingleConvert(x, 1.0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSet_Single(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->set(x->map->n, a, Write(x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSwap_Single(Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  if (x != y) PetscCall(Kernels(x)->swap(x->map->n, Write(x), Write(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecScale_Single(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  if (a == (PetscScalar)0.0) PetscCall(Kernels(x)->set(x->map->n, 0.0, Write(x)));
  else PetscCall(Kernels(x)->scale(x->map->n, a, Write(x)));
  PetscCall(LogFlops(x, x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPY_Single(Vec y, PetscScalar a, Vec x)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(y, x));
  PetscCall(Kernels(y)->axpy(y->map->n, a, Read(x), Write(y)));
  PetscCall(LogFlops(y, 2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBY_Single(Vec y, PetscScalar a, PetscScalar b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(y, x));
  PetscCall(Kernels(y)->axpby(y->map->n, a, b, Read(x), Write(y)));
  PetscCall(LogFlops(y, 3.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAYPX_Single(Vec y, PetscScalar b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(y, x));
  PetscCall(Kernels(y)->axpby(y->map->n, 1.0, b, Read(x), Write(y)));
  PetscCall(LogFlops(y, 2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBYPCZ_Single(Vec z, PetscScalar a, PetscScalar b, PetscScalar c, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(z, x));
  PetscCall(NeedOperand(z, y));
  PetscCall(Kernels(z)->axpbypcz(z->map->n, a, b, c, Read(x), Read(y), Write(z)));
  PetscCall(LogFlops(z, 5.0 * z->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecWAXPY_Single(Vec w, PetscScalar a, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(w, x));
  PetscCall(NeedOperand(w, y));
  PetscCall(Kernels(w)->waxpy(w->map->n, a, Read(x), Read(y), Write(w)));
  PetscCall(LogFlops(w, 2.0 * w->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetReadArrays(Vec v, PetscInt m, const Vec x[], const float ***a)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j++) PetscCall(NeedOperand(v, x[j]));
  PetscCall(PetscMalloc1(m, a));
  for (PetscInt j = 0; j < m; j++) (*a)[j] = Read(x[j]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMAXPBY_Single(Vec y, PetscInt m, const PetscScalar *a, PetscScalar b, Vec *x)
{
  const float **xa;

  PetscFunctionBegin;
  PetscCall(NeedStorage(y));
  PetscCall(GetReadArrays(y, m, x, &xa));
  PetscCall(Kernels(y)->maxpby(y->map->n, m, a, b, xa, Write(y)));
  PetscCall(PetscFree(xa));
  PetscCall(LogFlops(y, m * 2.0 * y->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMAXPY_Single(Vec y, PetscInt m, const PetscScalar *a, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(VecMAXPBY_Single(y, m, a, 1.0, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PointwiseBinary(Name, kernel) \
  static PetscErrorCode Name##_Single(Vec w, Vec x, Vec y) \
  { \
    PetscFunctionBegin; \
    PetscCall(NeedOperand(w, x)); \
    PetscCall(NeedOperand(w, y)); \
    PetscCall(Kernels(w)->kernel(w->map->n, Read(x), Read(y), Write(w))); \
    PetscCall(LogFlops(w, w->map->n)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PointwiseBinary(VecPointwiseMult, mult) PointwiseBinary(VecPointwiseDivide, divide) PointwiseBinary(VecPointwiseMax, pointwisemax)
  PointwiseBinary(VecPointwiseMin, pointwisemin) PointwiseBinary(VecPointwiseMaxAbs, pointwisemaxabs)

/* the callers of these leave the increase of the state to the type */
#define PointwiseUnary(Name, kernel) \
  static PetscErrorCode Name##_Single(Vec x) \
  { \
    PetscFunctionBegin; \
    PetscCall(NeedStorage(x)); \
    PetscCall(Kernels(x)->kernel(x->map->n, Write(x))); \
    PetscCall(PetscObjectStateIncrease((PetscObject)x)); \
    PetscCall(LogFlops(x, x->map->n)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
    PointwiseUnary(VecReciprocal, reciprocal) PointwiseUnary(VecSqrtAbs, sqrtabs) PointwiseUnary(VecAbs, abs) PointwiseUnary(VecExp, exp)
      PointwiseUnary(VecLog, log)

        static PetscErrorCode VecShift_Single(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->shift(x->map->n, a, Write(x)));
  PetscCall(PetscObjectStateIncrease((PetscObject)x));
  PetscCall(LogFlops(x, x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reductions ---- */

static PetscErrorCode Reduce(Vec v, PetscMPIInt n, PetscReal *s, MPI_Op op)
{
  PetscFunctionBegin;
  if (v->map->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, s, n, MPIU_REAL, op, PetscObjectComm((PetscObject)v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDotLocal_Single(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  const float **ya;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(GetReadArrays(x, m, y, &ya));
  PetscCall(Kernels(x)->mdot(x->map->n, m, Read(x), ya, s));
  PetscCall(PetscFree(ya));
  if (x->map->n) PetscCall(LogFlops(x, m * (2.0 * x->map->n - 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDot_Single(Vec x, PetscInt m, const Vec y[], PetscScalar *s)
{
  PetscMPIInt mm;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(m, &mm));
  PetscCall(VecMDotLocal_Single(x, m, y, s));
  PetscCall(Reduce(x, mm, s, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotLocal_Single(Vec x, Vec y, PetscScalar *s)
{
  const float *ya;

  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  ya = Read(y);
  PetscCall(Kernels(x)->mdot(x->map->n, 1, Read(x), &ya, s));
  if (x->map->n) PetscCall(LogFlops(x, 2.0 * x->map->n - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDot_Single(Vec x, Vec y, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(VecDotLocal_Single(x, y, s));
  PetscCall(Reduce(x, 1, s, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotNorm2_Single(Vec x, Vec y, PetscScalar *dot, PetscScalar *norm2)
{
  const Vec   v[2] = {x, y};
  PetscScalar s[2];

  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  PetscCall(VecMDotLocal_Single(y, 2, v, s));
  PetscCall(Reduce(x, 2, s, MPIU_SUM));
  *dot   = s[0];
  *norm2 = s[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with sums of squares instead of 2-norms, which is what ranks can add */
static PetscErrorCode NormParts(Vec x, NormType type, PetscReal *z)
{
  const PetscInt n = x->map->n;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  if (type == NORM_INFINITY) PetscCall(Kernels(x)->maxabs(n, Read(x), z));
  if (type == NORM_1 || type == NORM_1_AND_2) {
    PetscCall(Kernels(x)->sumabs(n, Read(x), z));
    if (n) PetscCall(LogFlops(x, n - 1.0));
  }
  if (type == NORM_2 || type == NORM_FROBENIUS || type == NORM_1_AND_2)
    PetscCall(VecDotLocal_Single(x, x, type == NORM_1_AND_2 ? z + 1 : z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void NormFinish(NormType type, PetscReal *z)
{
  if (type == NORM_2 || type == NORM_FROBENIUS) z[0] = PetscSqrtReal(z[0]);
  if (type == NORM_1_AND_2) z[1] = PetscSqrtReal(z[1]);
}

static PetscErrorCode VecNormLocal_Single(Vec x, NormType type, PetscReal *z)
{
  PetscFunctionBegin;
  PetscCall(NormParts(x, type, z));
  NormFinish(type, z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecNorm_Single(Vec x, NormType type, PetscReal *z)
{
  PetscFunctionBegin;
  PetscCall(NormParts(x, type, z));
  PetscCall(Reduce(x, type == NORM_1_AND_2 ? 2 : 1, z, type == NORM_INFINITY ? MPIU_MAX : MPIU_SUM));
  NormFinish(type, z);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecSum() adds the ranks' parts itself */
static PetscErrorCode VecSumLocal_Single(Vec x, PetscScalar *s)
{
  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->sum(x->map->n, Read(x), s));
  if (x->map->n) PetscCall(LogFlops(x, x->map->n - 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReduceLocated(Vec x, PetscInt i, PetscReal v, PetscInt *index, PetscReal *z, MPI_Op op, MPI_Op oploc)
{
  struct {
    PetscReal v;
    PetscInt  i;
  } in = {v, i < 0 ? i : i + x->map->rstart};

  PetscFunctionBegin;
  if (index) {
    if (x->map->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &in, 1, MPIU_REAL_INT, oploc, PetscObjectComm((PetscObject)x)));
    *index = in.i;
  } else PetscCall(Reduce(x, 1, &in.v, op));
  *z = in.v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMax_Single(Vec x, PetscInt *index, PetscReal *z)
{
  PetscInt  i;
  PetscReal v;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->max(x->map->n, Read(x), &i, &v));
  PetscCall(ReduceLocated(x, i, v, index, z, MPIU_MAX, MPIU_MAXLOC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMin_Single(Vec x, PetscInt *index, PetscReal *z)
{
  PetscInt  i;
  PetscReal v;

  PetscFunctionBegin;
  PetscCall(NeedStorage(x));
  PetscCall(Kernels(x)->min(x->map->n, Read(x), &i, &v));
  PetscCall(ReduceLocated(x, i, v, index, z, MPIU_MIN, MPIU_MINLOC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMaxPointwiseDivide_Single(Vec x, Vec y, PetscReal *z)
{
  PetscFunctionBegin;
  PetscCall(NeedOperand(x, y));
  PetscCall(Kernels(x)->maxdivide(x->map->n, Read(x), Read(y), z));
  PetscCall(Reduce(x, 1, z, MPIU_MAX));
  PetscCall(LogFlops(x, x->map->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecErrorWeightedNorms() calls this only when all the Vecs are of this type */
static PetscErrorCode VecErrorWeightedNorms_Single(Vec u, Vec y, Vec e, NormType type, PetscReal atol, Vec vatol, PetscReal rtol, Vec vrtol,
                                                   PetscReal ignore, PetscReal *norm, PetscInt *n, PetscReal *norma, PetscInt *na,
                                                   PetscReal *normr, PetscInt *nr)
{
  const PetscBool     infinity = (PetscBool)(type == NORM_INFINITY);
  VecSingleErrorNorms r;

  PetscFunctionBegin;
  PetscCall(NeedOperand(u, y));
  if (e) PetscCall(NeedOperand(u, e));
  if (vatol) PetscCall(NeedOperand(u, vatol));
  if (vrtol) PetscCall(NeedOperand(u, vrtol));
  PetscCall(Kernels(u)->errornorms(u->map->n, Read(u), Read(y), e ? Read(e) : NULL, infinity, atol, vatol ? Read(vatol) : NULL, rtol,
                                   vrtol ? Read(vrtol) : NULL, ignore, &r));
  PetscCall(Reduce(u, 3, r.sum, infinity ? MPIU_MAX : MPIU_SUM));
  PetscCall(Reduce(u, 3, r.n, MPIU_SUM));
  *norm  = infinity ? r.sum[0] : PetscSqrtReal(r.sum[0]);
  *norma = infinity ? r.sum[1] : PetscSqrtReal(r.sum[1]);
  *normr = infinity ? r.sum[2] : PetscSqrtReal(r.sum[2]);
  *n     = (PetscInt)r.n[0];
  *na    = (PetscInt)r.n[1];
  *nr    = (PetscInt)r.n[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

void VecSingleSetOperations(Vec v)
{
  v->ops->copy               = VecCopy_Single;
  v->ops->set                = VecSet_Single;
  v->ops->swap               = VecSwap_Single;
  v->ops->scale              = VecScale_Single;
  v->ops->shift              = VecShift_Single;
  v->ops->axpy               = VecAXPY_Single;
  v->ops->axpby              = VecAXPBY_Single;
  v->ops->aypx               = VecAYPX_Single;
  v->ops->axpbypcz           = VecAXPBYPCZ_Single;
  v->ops->waxpy              = VecWAXPY_Single;
  v->ops->maxpy              = VecMAXPY_Single;
  v->ops->maxpby             = VecMAXPBY_Single;
  v->ops->pointwisemult      = VecPointwiseMult_Single;
  v->ops->pointwisedivide    = VecPointwiseDivide_Single;
  v->ops->pointwisemax       = VecPointwiseMax_Single;
  v->ops->pointwisemin       = VecPointwiseMin_Single;
  v->ops->pointwisemaxabs    = VecPointwiseMaxAbs_Single;
  v->ops->reciprocal         = VecReciprocal_Single;
  v->ops->sqrt               = VecSqrtAbs_Single;
  v->ops->abs                = VecAbs_Single;
  v->ops->exp                = VecExp_Single;
  v->ops->log                = VecLog_Single;
  v->ops->dot                = VecDot_Single;
  v->ops->tdot               = VecDot_Single;
  v->ops->mdot               = VecMDot_Single;
  v->ops->mtdot              = VecMDot_Single;
  v->ops->dot_local          = VecDotLocal_Single;
  v->ops->tdot_local         = VecDotLocal_Single;
  v->ops->mdot_local         = VecMDotLocal_Single;
  v->ops->mtdot_local        = VecMDotLocal_Single;
  v->ops->dotnorm2           = VecDotNorm2_Single;
  v->ops->norm               = VecNorm_Single;
  v->ops->norm_local         = VecNormLocal_Single;
  v->ops->sum                = VecSumLocal_Single;
  v->ops->max                = VecMax_Single;
  v->ops->min                = VecMin_Single;
  v->ops->maxpointwisedivide = VecMaxPointwiseDivide_Single;
  v->ops->errorwnorm         = VecErrorWeightedNorms_Single;
}
