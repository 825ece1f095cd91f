#pragma once
/*
  Local solvers with numbers of their own for each patch.  The matrix A_j of patch j is taken for

    T = g_0 A_0 (x) M_1 (x) M_2 + g_1 M_0 (x) A_1 (x) M_2 + g_2 M_0 (x) M_1 (x) A_2 + g_3 M_0 (x) M_1 (x) M_2

  with small matrices of each direction, S' M S = 1 and S' A S = diag(lambda), scaled so that it has the diagonal of A_j: with C = (diag T /
  diag A_j)^(1/2)

    B_j = C (S (x) S (x) S) D^{-1} (S (x) S (x) S)' C,   D = g_0 lambda (+) g_1 lambda (+) g_2 lambda + g_3.

  Where that is not near enough, m steps of Chebyshev's iteration on A_j z = r with B_j:  z_0 = b_0 B_j r, then r -= A_j z, z = a_i z + b_i
  B_j r, and x is the sum of all z.
*/
#include <patchfd/private/assembly.h>
#include <math.h>

enum {
  PATCHFD_FIT_MAX_POINTS       = 17, /* in a direction of a cell */
  PATCHFD_FIT_MAX_STEPS        = 16,
  PATCHFD_FIT_RESIDUAL_DEGREES = 8, /* to which GPUs have products on patches */
  PATCHFD_FIT_MAX_KINDS        = 4,
  PATCHFD_FIT_MAX_CELLS        = 2 /* of a patch in a direction */
};

/* What patches of a direction can be like: cells and unknowns; lower is 1 if the unknowns begin behind the first node; where their matrices
   of constants are in the records */
typedef struct {
  PetscInt   ncells, n, lower;
  PetscCount record;
} PatchFDFitKind;

/* a patch of a direction: its first cell and node, its kind, and its part of the number of its colour, which is the sum of three */
typedef struct {
  PetscInt cell, first, kind, color;
} PatchFDFitLine;

/* patches of a group that are alike, which come one after another */
typedef struct {
  PetscCount first, count;
  PetscInt   kind[3], n[3];
} PatchFDFitRun;

struct PatchFDFit {
  PetscInt  dim, degree;
  PetscBool residuals; /* may groups begin with residuals of their own? */
  PetscBool packed;    /* those of inner patches from factors in half precision, in a table of single precision in GPU memory */
  /* g_i are geometric means of the metric, and the matrices those of constants; otherwise matrices are the patch's own, and g_i = 1, i < 3
     */
  PetscBool       shared;
  PatchFDBox      box;   /* of the arrays */
  PatchFDRange    read;  /* what is not fixed of them */
  PatchFDRange    cells; /* that patches consist of, x fastest */
  PetscInt        nkind[3];
  PatchFDFitKind  kind[3][PATCHFD_FIT_MAX_KINDS];
  PetscInt        grid[3]; /* patches in a direction: (i, j, k) has the number (k grid[1] + j) grid[0] + i */
  PatchFDFitLine *line[3];
  /* S[n][n], lambda[n], diag A[n], diag M[n] of each direction are in the records: those of constants, then `stride` numbers a patch */
  PetscCount  npatch, nconstant, nrecord, stride;
  PetscReal  *constants; /* [nconstant] */
  PetscInt    volume;    /* compact arrays have room for so many unknowns a patch, for the patches of a group */
  PetscInt    ncolor;
  char       *take;             /* [npatch] by number: how many steps a patch takes, 0 if it is solved exactly */
  PetscInt    ngroup, maxsteps; /* patches of a group are of one colour, which do not see each other, and take the same number of steps */
  PetscCount *group;            /* [ngroup + 1] */
  PetscInt   *color, *steps, *runs; /* [ngroup]; runs of group i: runs[i] .. runs[i + 1] - 1 */
  PatchFDFitRun *run;
  PetscCount    *coefat; /* [ngroup + 1] */
  /* in memory of the host, for its kernels */
  PetscInt  *number; /* [npatch] in the order of groups */
  PetscReal *bound;  /* [npatch][2] by number: extreme eigenvalues, or NULL */
  PetscReal *coef;   /* from coefat[group] on: [steps][patches of the group][2], a and b */
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

  /* M. O'Neill, PCG: A family of simple fast space-efficient statistically good algorithms for random number generation */
  for (int round = 0; round < 2; round++) {
    h = h * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737u;
    h = (h >> 22) ^ h;
  }
  return h * (2.0 / 4294967296.0) - 1;
}

/*
  How far T may be from A on a patch, from logarithms v_i = log G_i - log T_i of the ratios of the metric's diagonal to that of T at all
  points.  What all directions have in common at a point, the scaling by C takes away as long as it varies slowly; the rest,
  exp(deviation), and what is outside of the diagonal bound the eigenvalues of T^{-1} A: a symmetric matrix of ones on the diagonal and
  c_ij beside it has those within 1 +- ((d - 1) / d 2 sum c_ij^2)^{1/2} (H. Wolkowicz, G. Styan, Bounds for eigenvalues using traces).
*/
typedef struct {
  double lo, hi;    /* of what the directions have in common */
  double deviation; /* the largest difference to that, of a direction or of the shift */
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

  return r->hi - r->lo <= slowly && spread < 1 && factor * (1 + spread) <= stable &&
         factor * factor * (1 + spread) <= condition * (1 - spread);
}

/* Which patches are there: those with these numbers, and the cells that they consist of */
typedef struct {
  PetscInt              dim, degree, ncells[3]; /* of the whole mesh */
  PatchFDRange          patches, cells;
  const PatchFDPatches *dir[3];
  /* colours of a direction: parities, and the last `singles` patches around a ring of `turn` cells, each for itself */
  PetscInt ncolor[3], turn[3], singles[3];
} PatchFDFitMesh;

/* Which patches take how many steps, from the extreme eigenvalues of B_j A_j */
struct PatchFDFitRule {
  PetscReal reduction; /* as many steps as reduce errors by this factor, */
  PetscInt  maxsteps;  /* but not more; */
  PetscReal stable;    /* one step has the factor 1 if the largest eigenvalue is not above this */
  PetscInt  lanczos;   /* steps from which the eigenvalues are estimated; 0: one step with the factor 1 everywhere */
  PetscReal exact;     /* patches with a larger condition number are solved exactly, all of them if this is not above 1 */
  PetscBool rows;      /* which have the rows of A then, too */
  PetscBool packed;    /* residuals of patches from factors in half precision, where kernels have that */
};

/* the condition number up to which one step is enough: 1 / cosh^{-1}((condition + 1) / (condition - 1)) of Chebyshev's polynomial is the
   reduction */
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

/* where the record of a patch in a direction is */
static inline PetscCount PatchFDFitRecord(const PatchFDFit *fit, PetscInt number, PetscInt d, PetscInt kind)
{
  return fit->shared || d >= fit->dim ? fit->kind[d][kind].record : fit->nconstant + number * fit->stride + d * (fit->stride / fit->dim);
}

/* patch i of direction d, from the number of a patch */
static inline const PatchFDFitLine *PatchFDFitLineOf(const PatchFDFit *fit, PetscInt number, PetscInt d)
{
  const PetscInt *grid = fit->grid;

  return &fit->line[d][d == 0 ? number % grid[0] : (d == 1 ? number / grid[0] % grid[1] : number / grid[0] / grid[1])];
}

/* cell `offset` of a patch, counted among those that there are */
static inline PetscCount PatchFDFitCellNumber(const PatchFDFit *fit, const PetscInt cell[3], const PetscInt offset[3])
{
  PetscCount number = 0;

  for (int d = 2; d >= 0; d--) number = number * (fit->cells[d][1] - fit->cells[d][0]) + cell[d] + offset[d] - fit->cells[d][0];
  return number;
}

static inline PetscCount PatchFDFitCount(const PatchFDFit *fit, PetscInt group)
{
  return fit->group[group + 1] - fit->group[group];
}

/* All but g, the records that are not constants and the groups, which fitcreate makes */
PETSC_INTERN PetscErrorCode PatchFDHostFitCreate(const PatchFDFitMesh *, PetscBool shared, const PatchFDBox *, PatchFDFit *);
PETSC_INTERN PetscErrorCode PatchFDHostFitDestroy(PatchFDFit *);
/* of that, the records of constants, for each kind of each direction, one after another */
PETSC_INTERN PetscErrorCode PatchFDHostFitConstants(PatchFDFit *);

/*
  Groups from the steps that patches take: these are sorted by bins, those of a colour, a number of steps and kinds.  PatchFDHostFitBins()
  says how many there are, PatchFDHostFitSetGroups() makes groups, runs and the places of coefficients from the numbers of patches in the
  bins; then bin[i] is where the first one is.
*/
PATCHFD_FIT_FUNCTION PetscInt PatchFDFitBin(const PetscInt nkind[3], PetscInt color, PetscInt steps, const PetscInt kind[3])
{
  return (((color * (PATCHFD_FIT_MAX_STEPS + 1) + steps) * nkind[2] + kind[2]) * nkind[1] + kind[1]) * nkind[0] + kind[0];
}
static inline PetscInt PatchFDHostFitBins(const PatchFDFit *fit)
{
  return fit->ncolor * (PATCHFD_FIT_MAX_STEPS + 1) * fit->nkind[0] * fit->nkind[1] * fit->nkind[2];
}
PETSC_INTERN PetscErrorCode PatchFDHostFitSetGroups(PatchFDFit *, PetscCount bin[]);
/* the same with the numbers of patches in the order of groups, and their coefficients, from the bounds that there are */
PETSC_INTERN PetscErrorCode PatchFDHostFitSort(const PatchFDFitRule *, PatchFDFit *);

/* The metric of cells: means of logarithms [cell][a][b][point of direction b], logarithms themselves [cell][a][point], sum of c_ij^2
   [cell], means of |J| s and their logarithms [cell][point] */
typedef struct {
  PetscInt   dim, points; /* in a direction */
  PetscCount ncells;
  PetscBool  stiff, hasshift;
  PetscReal *mean, *cross, *shift;
  float     *log, *logshift;
  PetscReal *end; /* [cell][dim][2]: sums of the factors of sides with h u v; NULL: none */
} PatchFDFitMeans;
PETSC_INTERN PetscErrorCode PatchFDHostFitMeansCreate(PetscInt dim, PetscInt points, PetscCount ncells, PetscBool stiff, PetscBool shift,
                                                      PatchFDFitMeans *);
PETSC_INTERN PetscErrorCode PatchFDHostFitMeansDestroy(PatchFDFitMeans *);
/* adds point i of a cell, with these factors (as in PatchFDPoints) and these weights in a direction */
PETSC_INTERN void PatchFDHostFitMeansAdd(PatchFDFitMeans *, const PetscReal w[], PetscCount cell, PetscInt i, const PetscReal factor[]);
/* g[npatch][4] and all records by the number of a patch; a patch takes one step where that is sure to be what the rule says, and two, until
   its eigenvalues are estimated, where not */
PETSC_INTERN PetscErrorCode PatchFDHostFitNumbers(PatchFDFit *, const PatchFDFitRule *, const PatchFDFitMeans *, PetscReal g[],
                                                  PetscReal records[]);

/*
  The fit `own` to closed cells one by one (PatchFDCellsDesc), which their face neighbours then add to: at the end e of direction i,
    A_i[e, e] += f A', M_i[e, e] += f M' / exp T_i,  f = max(1, K / K'),
  A', M' (times its own exp T') and K' the numbers of the neighbour at its side of the face.  K = (g_i exp T_i)^(1/2), g_i = exp of the mean
  of log G_i: with sides at right angles (K_i (prod of K_a, a != i)^(1 / (d - 1)))^(1/2), times what both cells have of the face.
*/
typedef struct {
  PetscInt    dim, degree, gauss;
  PetscCount  ncells;
  PatchFDRule rule;
  PetscReal  *weight;      /* [cell][direction][A, M][point], of the one-dimensional matrices */
  PetscReal  *level;       /* [cell][direction]: exp T */
  PetscReal  *shift;       /* [cell] */
  PetscReal  *end, *other; /* [cell][direction][end][3]: A', M', K' of the cell itself, and of what is on the other side, where K' = 0 is
                              nothing, and K' < 0 that the nodes of the face are fixed */
} PatchFDCellFit;
PETSC_INTERN PetscErrorCode PatchFDHostCellFitCreate(const PatchFDPoints *nodes, PetscInt gauss, PatchFDCellFit *);
PETSC_INTERN PetscErrorCode PatchFDHostCellFitDestroy(PatchFDCellFit *);
/* the fit of a cell, from means of some cells, of which it is number i */
PETSC_INTERN void PatchFDHostCellFitSet(const PatchFDFitMeans *, PetscInt i, PetscCount cell, PatchFDCellFit *);
/* how many sides of cells on a box have h u v; their numbers among [ncells][dim][2], and the sums of their factors, if there is room */
PETSC_INTERN PetscCount PatchFDHostCellSides(const PatchFDPoints *, PetscInt side[], PetscReal mean[]);
/* sums += number k of each side at the nodes inside of it, which no third cell has */
PETSC_INTERN void PatchFDHostCellSidesAdd(const PatchFDPoints *nodes, PetscInt k, const PatchFDCellFit *, double sums[]);
/* number k of what is on the other side, from these sums; that of the cell itself where a side has no inner nodes */
PETSC_INTERN void PatchFDHostCellSidesGet(const PatchFDPoints *nodes, PetscInt k, const double sums[], PatchFDCellFit *);
/* sums += the number of cells at a node */
PETSC_INTERN void PatchFDHostCellCount(const PatchFDPoints *nodes, double sums[]);
/* h u v is to the one-dimensional matrix of a side's direction what a neighbour is */
PETSC_INTERN void PatchFDHostCellSidesRobin(const PatchFDCellsDesc *, PatchFDCellFit *);
/* records[cell][direction], as in PatchFDFit */
PETSC_INTERN PetscErrorCode PatchFDHostCellFitRecords(const PatchFDCellFit *, PetscReal records[]);
/* C_c at the nodes of a cell, from v at all nodes; 1 where there is no node */
PETSC_INTERN void PatchFDHostCellScale(const PatchFDPoints *nodes, const PetscReal record[], PetscReal shift, const PetscInt index[],
                                       const PetscReal v[], PetscReal scale[]);
/* flops of a correction of all cells */
static inline PetscLogDouble PatchFDCellsFlops(const PatchFDCellsDesc *desc)
{
  const PatchFDPoints *nodes = &desc->points;
  const PetscInt       n     = nodes->degree + 1;

  return (PetscLogDouble)(nodes->ncells * (desc->comp[1] - desc->comp[0])) * PetscPowInt(n, nodes->dim) *
         (4.0 * (PetscLogDouble)(nodes->dim * n) + 5);
}

/* the extreme eigenvalues, bound[count][2], from a and b of n steps of conjugate gradients, [n][count] */
PETSC_INTERN PetscErrorCode PatchFDHostFitBounds(PetscCount count, PetscInt n, const PetscReal a[], const PetscReal b[], PetscReal bound[]);
/* those of the patches of a group, and how many steps they take */
PETSC_INTERN PetscErrorCode PatchFDHostFitSetSteps(const PatchFDFitRule *, PetscInt group, PetscInt n, const PetscReal a[],
                                                   const PetscReal b[], PatchFDFit *);

/* how many steps a patch takes, and their coefficients a and b, `stride` apart from step to step */
PATCHFD_FIT_FUNCTION PetscInt PatchFDFitRuleSteps(const PatchFDFitRule *rule, const PetscReal bound[2])
{
  const PetscReal slack = 1e-9, condition = bound[1] > 1.001 * bound[0] ? bound[1] / bound[0] : 1.001,
                  factor = acosh((condition + 1) / (condition - 1));
  const PetscReal steps  = ceil(acosh(1 / rule->reduction) / factor - slack);

  return steps < 1 ? 1 : (steps < (PetscReal)rule->maxsteps ? (PetscInt)steps : rule->maxsteps);
}

/* Chebyshev's iteration on [lo, 1.02 hi], since the largest eigenvalue is underestimated */
PATCHFD_FIT_FUNCTION void PatchFDFitRuleCoefficients(const PatchFDFitRule *rule, PetscInt steps, const PetscReal bound[2],
                                                     PetscCount stride, PetscReal coef[])
{
  const PetscReal lo = bound[0], hi = 1.02 * bound[1], theta = (hi + lo) / 2, delta = hi - lo > 2e-3 * hi ? (hi - lo) / 2 : 1e-3 * hi,
                  sigma = theta / delta;
  PetscReal rho         = 1 / sigma;

  coef[0] = 0;
  coef[1] = 1 / theta;
  if (steps == 1) coef[1] = bound[1] <= rule->stable ? 1 : 2 / (bound[0] + bound[1]);
  for (PetscInt i = 1; i < steps; i++) {
    const PetscReal next = 1 / (2 * sigma - rho);

    coef += stride;
    coef[0] = next * rho;
    coef[1] = 2 * next / delta;
    rho     = next;
  }
}

/* count[m] += the patches whose first cell is one of these and that take m steps */
PETSC_INTERN void PatchFDHostFitCount(const PatchFDFit *, const PatchFDRange cells, PetscInt64 count[PATCHFD_FIT_MAX_STEPS + 1]);
/*
  In GPU memory, for plans of one precision: operatorpick() for the cells of the patches of a group, on its compact arrays.  Where
  PatchFDFitTakesResiduals(), A x at the unknowns of the patches of a group, to the array that fitwork() says for r; the first step of a
  group, as fitapply(), from r = b - that product; and y = A x or y -= A x on compact arrays
*/
struct _PatchFDFitKernels {
  PetscErrorCode (*pick)(void *fit, PetscInt group, void *operatorplan, void **picked);
  PetscErrorCode (*product)(void *fit, PetscInt group, void *operatorplan, const void *x);
  PetscErrorCode (*inner)(void *fit, PetscInt group, void *operatorplan, PetscBool subtract, const void *x, void *y);
  PetscErrorCode (*correct)(void *fit, PetscInt group, PetscReal omega, const void *diagonal, const void *b, void *x);
};
#if defined(PETSC_HAVE_CUDA)
PETSC_INTERN const struct _PatchFDFitKernels PatchFDFitKernelsCUDADouble, PatchFDFitKernelsCUDAFloat;
#endif
/* have kernels such residuals? */
static inline PetscBool PatchFDFitTakesResiduals(PetscInt dim, PetscInt degree, PetscInt gauss)
{
  return (PetscBool)(dim == 3 && degree <= PATCHFD_FIT_RESIDUAL_DEGREES && PatchFDPointsAreFew(degree, gauss));
}
/* the cells of the patches of a group and their nodes in its compact arrays, [ncells][(degree + 1)^dim], or -1; the caller frees them with
   PetscFree2() */
PETSC_INTERN PetscErrorCode PatchFDHostFitCells(const PatchFDFit *, PetscInt group, PetscCount *nnodes, PetscCount *ncells,
                                                PetscCount **cells, PetscInt **index);
