#pragma once
/*
  Local solvers with numbers of their own for each patch.  The matrix A_j of patch j is taken for

    T = g_0 A_0 (x) M_1 (x) M_2 + g_1 M_0 (x) A_1 (x) M_2 + g_2 M_0 (x) M_1 (x) A_2 + g_3 M_0 (x) M_1 (x) M_2

  with small matrices of each direction, S' M S = 1 and S' A S = diag(lambda), scaled so that it has the diagonal of A_j: with C = (diag T / diag A_j)^(1/2)

    B_j = C (S (x) S (x) S) D^{-1} (S (x) S (x) S)' C,   D = g_0 lambda (+) g_1 lambda (+) g_2 lambda + g_3.

  Where that is not near enough, m steps of Chebyshev's iteration on A_j z = r with B_j:  z_0 = b_0 B_j r, then r -= A_j z, z = a_i z + b_i B_j r, and x is the sum of all z.
*/
#include <patchfd/private/assembly.h>
#include <math.h>

enum {
  PATCHFD_FIT_MAX_POINTS = 17, /* in a direction of a cell */
  PATCHFD_FIT_MAX_STEPS  = 16,
  PATCHFD_FIT_MAX_LANCZOS = 32, /* of which bounds are found on a GPU */
  PATCHFD_FIT_RESIDUAL_DEGREES = 8, /* to which GPUs have residuals of patches */
  PATCHFD_FIT_MAX_KINDS  = 4,
  PATCHFD_FIT_MAX_CELLS  = 2 /* of a patch in a direction */
};

/* What patches of a direction can be like: cells and unknowns; lower is 1 if the unknowns begin behind the first node; where their matrices of constants are in the records */
typedef struct {
  PetscInt   ncells, n, lower;
  PetscCount record;
} PatchFDFitKind;

struct PatchFDFit {
  PetscInt    dim, degree;
  PetscBool   residuals; /* may groups begin with residuals of their own? */
  PetscBool   shared;   /* g_i are geometric means of the metric, and the matrices those of constants; otherwise matrices are the patch's own, and g_i = 1, i < 3 */
  PatchFDBox  box;      /* of the arrays */
  PatchFDRange read;    /* what is not fixed of them */
  PatchFDRange cells;   /* that patches consist of, x fastest */
  PetscInt    nkind[3];
  PatchFDFitKind kind[3][PATCHFD_FIT_MAX_KINDS];
  PetscCount  npatch, nrecord, nconstant;
  PetscInt   *cell, *first, *n; /* [npatch][3] first cell, first node, unknowns */
  PetscCount *number;   /* [npatch] of the patch in g: groups may change, and with them the order of all that is here but g and the records */
  PetscCount *record;   /* [npatch][3] where S[n][n], lambda[n], diag A[n], diag M[n] are in the records */
  PetscReal  *constants; /* [nconstant] records of constants, which are the first ones */
  PetscInt    ngroup, maxsteps; /* patches of a group are of one colour, which do not see each other, and take the same number of steps, 0 for those that are solved exactly; those of equal size are neighbours */
  PetscCount *group;    /* [ngroup + 1] */
  PetscInt   *color, *steps; /* [ngroup] */
  PetscCount *coefat;   /* [ngroup + 1] */
  PetscReal  *coef;     /* from coefat[group] on: [steps][patches of the group][2], a and b */
  PetscCount *compact;  /* [npatch + 1] where a patch's unknowns are in compact arrays, counted from those of the first patch of its group */
};

#if defined(__CUDACC__)
  #define PATCHFD_FIT_FUNCTION static __host__ __device__ inline
#else
  #define PATCHFD_FIT_FUNCTION static inline
#endif

/* a number in (-1, 1) without a pattern for unknown (i, j, k) of a patch: the residual that conjugate gradients begin with */
PATCHFD_FIT_FUNCTION double PatchFDFitNoise(unsigned i, unsigned j, unsigned k)
{
  unsigned h = 1 + i + 64 * (j + 64 * k);

  for (int round = 0; round < 2; round++) { /* M. O'Neill, PCG: A family of simple fast space-efficient statistically good algorithms for random number generation */
    h = h * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737u;
    h = (h >> 22) ^ h;
  }
  return h * (2.0 / 4294967296.0) - 1;
}

/*
  How far T may be from A on a patch, from logarithms v_i = log G_i - log T_i of the ratios of the metric's diagonal to that of T at all points.  What all directions have in common at
  a point, the scaling by C takes away as long as it varies slowly; the rest, exp(deviation), and what is outside of the diagonal bound the eigenvalues of T^{-1} A: a symmetric matrix of
  ones on the diagonal and c_ij beside it has those within 1 +- ((d - 1) / d 2 sum c_ij^2)^{1/2} (H. Wolkowicz, G. Styan, Bounds for eigenvalues using traces).
*/
typedef struct {
  double lo, hi;       /* of what the directions have in common */
  double deviation;    /* the largest difference to that, of a direction or of the shift */
} PatchFDFitRatio;

PATCHFD_FIT_FUNCTION double PatchFDFitLarger(double x, double y) /* compilers make a call of fmax() */
{
  return x > y ? x : y;
}

PATCHFD_FIT_FUNCTION void PatchFDFitRatioAdd(int n, const double v[], double shift, int hasshift, PatchFDFitRatio *r)
{
  double mean = 0;

  for (int i = 0; i < n; i++) mean += v[i];
  mean *= 1.0 / n;
  for (int i = 0; i < n; i++) r->deviation = PatchFDFitLarger(fabs(v[i] - mean), r->deviation);
  if (hasshift) r->deviation = PatchFDFitLarger(fabs(shift - mean), r->deviation);
  r->lo = -PatchFDFitLarger(-mean, -r->lo);
  r->hi = PatchFDFitLarger(mean, r->hi);
}

/* cross: the largest sum of c_ij^2, i < j */
PATCHFD_FIT_FUNCTION int PatchFDFitIsClose(int dim, const PatchFDFitRatio *r, double cross, double stable, double condition)
{
  const double slowly = 1, spread = sqrt(2 * cross * (dim - 1) / dim), factor = exp(r->deviation);

  return r->hi - r->lo <= slowly && spread < 1 && factor * (1 + spread) <= stable && factor * factor * (1 + spread) <= condition * (1 - spread);
}

/* Which patches are there: those with these numbers, and the cells that they consist of */
typedef struct {
  PetscInt              dim, degree, ncells[3]; /* of the whole mesh */
  PatchFDRange          patches, cells;
  const PatchFDPatches *dir[3];
  PetscInt              ncolor;
  const PatchFDColor   *color;
} PatchFDFitMesh;

/* Which patches take how many steps, from the extreme eigenvalues of B_j A_j */
struct PatchFDFitRule {
  PetscReal reduction; /* as many steps as reduce errors by this factor, */
  PetscInt  maxsteps;  /* but not more; */
  PetscReal stable;    /* one step has the factor 1 if the largest eigenvalue is not above this */
  PetscInt  lanczos;   /* steps from which the eigenvalues are estimated; 0: one step with the factor 1 everywhere */
  PetscReal exact;     /* patches with a larger condition number are solved exactly, all of them if this is not above 1 */
  PetscBool rows;      /* which have the rows of A then, too */
};

/* the condition number up to which one step is enough: 1 / cosh^{-1}((condition + 1) / (condition - 1)) of Chebyshev's polynomial is the reduction */
static inline PetscReal PatchFDFitOneStep(const PatchFDFitRule *rule)
{
  return (1 + rule->reduction) / (1 - rule->reduction);
}

/* is every patch solved exactly? */
static inline PetscBool PatchFDFitIsExact(const PatchFDFitRule *rule)
{
  return (PetscBool)(rule->exact <= 1);
}

static inline PetscCount PatchFDFitRecordSize(PetscInt n)
{
  return (PetscCount)n * (n + 3);
}

/* a patch's cells in each direction, and the number of one of them among those that there are */
static inline void PatchFDFitPatchCells(const PatchFDFit *fit, PetscCount p, PetscInt n[3])
{
  for (int d = 0; d < 3; d++) n[d] = PetscMin((PetscInt)PATCHFD_FIT_MAX_CELLS, fit->cells[d][1] - fit->cell[3 * p + d]);
}

static inline PetscCount PatchFDFitCellNumber(const PatchFDFit *fit, PetscCount p, const PetscInt offset[3])
{
  PetscCount number = 0;

  for (int d = 2; d >= 0; d--) number = number * (fit->cells[d][1] - fit->cells[d][0]) + fit->cell[3 * p + d] + offset[d] - fit->cells[d][0];
  return number;
}

/* the kind of a patch in a direction */
static inline const PatchFDFitKind *PatchFDFitKindOf(const PatchFDFit *fit, PetscCount p, PetscInt d)
{
  const PatchFDFitKind *kind   = fit->kind[d];
  const PetscInt        ncells = PetscMin((PetscInt)PATCHFD_FIT_MAX_CELLS, fit->cells[d][1] - fit->cell[3 * p + d]), lower = fit->first[3 * p + d] - fit->cell[3 * p + d] * fit->degree;

  while (kind->ncells != ncells || kind->n != fit->n[3 * p + d] || kind->lower != lower) kind++;
  return kind;
}

/* of all patches of a group */
static inline PetscCount PatchFDFitUnknowns(const PatchFDFit *fit, PetscInt group)
{
  const PetscCount last = fit->group[group + 1] - 1;

  return fit->compact[last] + (PetscCount)fit->n[3 * last] * fit->n[3 * last + 1] * fit->n[3 * last + 2];
}

/* All but g and the records that are not constants, which fitcreate makes.  One step with the factor 1 for all patches, whose groups are the colours */
PETSC_INTERN PetscErrorCode PatchFDHostFitCreate(const PatchFDFitMesh *, PetscBool shared, const PatchFDBox *, PatchFDFit *);
PETSC_INTERN PetscErrorCode PatchFDHostFitDestroy(PatchFDFit *);
/* of that, the records of constants, for each kind of each direction, one after another */
PETSC_INTERN PetscErrorCode PatchFDHostFitConstants(PatchFDFit *);

/* The metric of cells: means of logarithms [cell][a][b][point of direction b], logarithms themselves [cell][a][point], sum of c_ij^2 [cell], means of |J| s and their logarithms [cell][point] */
typedef struct {
  PetscInt   dim, points; /* in a direction */
  PetscCount ncells;
  PetscBool stiff, hasshift;
  PetscReal *mean, *cross, *shift;
  float     *log, *logshift;
} PatchFDFitMeans;
PETSC_INTERN PetscErrorCode PatchFDHostFitMeansCreate(PetscInt dim, PetscInt points, PetscCount ncells, PetscBool stiff, PetscBool shift, PatchFDFitMeans *);
PETSC_INTERN PetscErrorCode PatchFDHostFitMeansDestroy(PatchFDFitMeans *);
/* adds point i of a cell, with these factors (as in PatchFDPoints) and these weights in a direction */
PETSC_INTERN void PatchFDHostFitMeansAdd(PatchFDFitMeans *, const PetscReal w[], PetscCount cell, PetscInt i, const PetscReal factor[]);
/* g[npatch][4], all records, and close[npatch]: where one step with the factor 1 is sure to be what the rule says */
PETSC_INTERN PetscErrorCode PatchFDHostFitNumbers(const PatchFDFit *, const PatchFDFitRule *, const PatchFDFitMeans *, PetscReal g[], PetscReal records[], char close[]);

/* the extreme eigenvalues, bound[count][2], from a and b of n steps of conjugate gradients, [n][count] */
PETSC_INTERN PetscErrorCode PatchFDHostFitBounds(PetscCount count, PetscInt n, const PetscReal a[], const PetscReal b[], PetscReal bound[]);
/* how many steps a patch takes, and their coefficients a and b, `stride` apart from step to step */
PETSC_INTERN PetscInt PatchFDHostFitRuleSteps(const PatchFDFitRule *, const PetscReal bound[2]);
PETSC_INTERN void     PatchFDHostFitRuleCoefficients(const PatchFDFitRule *, PetscInt steps, const PetscReal bound[2], PetscCount stride, PetscReal coef[]);
/* groups of patches of one colour that are close, and of others, which have two steps for the time being */
PETSC_INTERN PetscErrorCode PatchFDHostFitSetClose(const char close[], PatchFDFit *);
/* from such groups, or those of the beginning, those of the patches of one colour that take one number of steps; bounds of those that are close, or where all are exact, are not looked at */
PETSC_INTERN PetscErrorCode PatchFDHostFitSetSteps(const PatchFDFitRule *, const PetscReal bound[], PatchFDFit *);
/* count[m] += the patches whose first cell is one of these and that take m steps */
PETSC_INTERN void PatchFDHostFitCount(const PatchFDFit *, const PatchFDRange cells, PetscInt64 count[PATCHFD_FIT_MAX_STEPS + 1]);
/*
  In GPU memory, for plans of one precision: operatorpick() for the cells of the patches of a group, on its compact arrays; the bounds, where fitcg() gave a and b to nobody; and residuals
  b - A x of the patches of a group, b where x is known to be zero, to the array that fitwork() says, for fitapply() without r
*/
struct _PatchFDFitKernels {
  PetscErrorCode (*pick)(void *fit, PetscInt group, void *operatorplan, void **picked);
  PetscErrorCode (*bounds)(void *fit, PetscInt group, PetscInt steps, PetscReal bound[]);
  PetscErrorCode (*residual)(void *fit, PetscInt group, void *operatorplan, PetscBool zero, const void *b, const void *x);
};
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDFitKernels PatchFDFitKernelsCUDADouble, PatchFDFitKernelsCUDAFloat;
#endif
/* have kernels such residuals? */
static inline PetscBool PatchFDFitTakesResiduals(PetscInt dim, PetscInt degree, PetscInt gauss)
{
  return (PetscBool)(dim == 3 && degree <= PATCHFD_FIT_RESIDUAL_DEGREES && gauss == degree + 1);
}
/* the cells of the patches of a group and their nodes in its compact arrays, [ncells][(degree + 1)^dim], or -1; the caller frees them with PetscFree2() */
PETSC_INTERN PetscErrorCode PatchFDHostFitCells(const PatchFDFit *, PetscInt group, PetscCount *nnodes, PetscCount *ncells, PetscCount **cells, PetscInt **index);
