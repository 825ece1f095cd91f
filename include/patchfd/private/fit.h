#pragma once
/*
  Local solvers with numbers of their own for each patch.  The matrix A_j of patch j is taken for

    T = g_0 A_0 (x) M_1 (x) M_2 + g_1 M_0 (x) A_1 (x) M_2 + g_2 M_0 (x) M_1 (x) A_2 + g_3 M_0 (x) M_1 (x) M_2

  with small matrices of each direction, S' M S = 1 and S' A S = diag(lambda), scaled so that it has the diagonal of A_j: with C = (diag T / diag A_j)^(1/2)

    B_j = C (S (x) S (x) S) D^{-1} (S (x) S (x) S)' C,   D = g_0 lambda (+) g_1 lambda (+) g_2 lambda + g_3.

  Where that is not near enough, m steps of Chebyshev's iteration on A_j z = r with B_j:  z_0 = b_0 B_j r, then r -= A_j z, z = a_i z + b_i B_j r, and x is the sum of all z.
*/
#include <patchfd/private/assembly.h>

enum {
  PATCHFD_FIT_MAX_POINTS = 17, /* in a direction of a cell */
  PATCHFD_FIT_MAX_STEPS  = 16
};

struct PatchFDFit {
  PetscInt    dim, degree;
  PatchFDBox  box;      /* of the arrays */
  PetscCount  npatch, nrecord;
  PetscInt   *cell, *first, *n; /* [npatch][3] first cell, first node, unknowns */
  PetscCount *record;   /* [npatch][3] where S[n][n], lambda[n], diag A[n], diag M[n] are in `records` */
  PetscReal  *records;
  PetscReal  *g;        /* [npatch][4] */
  PetscInt    ngroup, maxsteps; /* patches of a group are of one colour, which do not see each other, and take the same number of steps; those of equal size are neighbours */
  PetscCount *group;    /* [ngroup + 1] */
  PetscInt   *color, *steps; /* [ngroup] */
  PetscCount *coefat;   /* [ngroup + 1] */
  PetscReal  *coef;     /* from coefat[group] on: [steps][patches of the group][2], a and b */
  PetscCount *compact;  /* [npatch + 1] where a patch's unknowns are in the arrays of fitwork, counted from those of the first patch of its group */
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

/* What a fit is made from: the patches with these numbers, and the points of the cells that they consist of, x fastest */
typedef struct {
  PetscInt              degree, ncells[3]; /* of the whole mesh */
  PatchFDRange          patches, cells;
  const PatchFDPatches *dir[3];
  const PatchFDPoints  *points;
  PetscInt              ncolor;
  const PatchFDColor   *color;
} PatchFDFitMesh;

/* One step with the factor 1 for all patches, whose groups are the colours.  shared: g_i are geometric means of the metric, and the matrices those of constants; otherwise all g_i are 1 */
PETSC_INTERN PetscErrorCode PatchFDHostFitCreate(const PatchFDFitMesh *, PetscBool shared, const PatchFDBox *, PatchFDFit *);
PETSC_INTERN PetscErrorCode PatchFDHostFitDestroy(PatchFDFit *);

/* Which patches take how many steps, from the extreme eigenvalues of B_j A_j */
typedef struct {
  PetscReal reduction; /* as many steps as reduce errors by this factor, */
  PetscInt  maxsteps;  /* but not more; */
  PetscReal stable;    /* one step has the factor 1 if the largest eigenvalue is not above this */
  PetscInt  lanczos;   /* steps from which the eigenvalues are estimated; 0: one step with the factor 1 everywhere */
} PatchFDFitRule;

/* the extreme eigenvalues, bound[count][2], from a and b of n steps of conjugate gradients, [n][count] */
PETSC_INTERN PetscErrorCode PatchFDHostFitBounds(PetscCount count, PetscInt n, const PetscReal a[], const PetscReal b[], PetscReal bound[]);
/* how many steps a patch takes, and their coefficients a and b, `stride` apart from step to step */
PETSC_INTERN PetscInt PatchFDHostFitRuleSteps(const PatchFDFitRule *, const PetscReal bound[2]);
PETSC_INTERN void     PatchFDHostFitRuleCoefficients(const PatchFDFitRule *, PetscInt steps, const PetscReal bound[2], PetscCount stride, PetscReal coef[]);
/* new groups, in which the patches of one colour that take one number of steps are together */
PETSC_INTERN PetscErrorCode PatchFDHostFitSetSteps(const PatchFDFitRule *, const PetscReal bound[], PatchFDFit *);
/* count[m] += the patches whose first cell is one of these and that take m steps */
PETSC_INTERN void PatchFDHostFitCount(const PatchFDFit *, const PatchFDRange cells, PetscInt64 count[PATCHFD_FIT_MAX_STEPS + 1]);
/* the cells of the patches of a group, on compact arrays; until destroyed */
PETSC_INTERN PetscErrorCode PatchFDHostFitPoints(const PatchFDFit *, PetscInt group, const PatchFDFitMesh *, PatchFDPoints *);
PETSC_INTERN PetscErrorCode PatchFDHostFitPointsDestroy(PatchFDPoints *);
