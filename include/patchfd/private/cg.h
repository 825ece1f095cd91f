#pragma once
/*
  Conjugate gradients in two sweeps over memory (src/ksp/fusedcg.c): the numbers of an iteration and what follows from them, one code for
  the host and for kernels, which go from iteration to iteration by themselves on one rank, and on ranks that exchange without the host.

    first sweep    p = z + b p,  w = A p,  pw = p'w        z = d r with a diagonal preconditioner, z = r with none
    second sweep   a = rz / pw,  x += a p,  r -= a w,  and the sums r'z, r'r and z'z

  Where nobody looks at x in between, and the direction before is still there, x may take two steps at once, 5 numbers an unknown in place
  of 6: cgadvance without x leaves its step to the next cgadvance.
*/
#include <patchfd/private/kernels.h>
#include <petscksp.h>
#include <math.h>

#if defined(__CUDACC__)
  #define PATCHFD_CG_FUNCTION static __host__ __device__ inline
#else
  #define PATCHFD_CG_FUNCTION static inline
#endif

enum {
  PATCHFD_CG_HISTORY = 256 /* residual norms that are kept while nobody looks */
};

enum {
  PATCHFD_CG_RZ,
  PATCHFD_CG_RR,
  PATCHFD_CG_ZZ,
  PATCHFD_CG_NUM_SUMS
};

typedef enum {
  PATCHFD_CG_RUN,      /* nothing speaks against another iteration */
  PATCHFD_CG_LOOK,     /* the host has to look at the numbers: convergence, perhaps, or time to do so */
  PATCHFD_CG_BREAKDOWN /* p'w is not what it should be: x and r are still those of the iteration before */
} PatchFDCGStop;

struct PatchFDCG {
  PatchFDSweep sweep; /* b, pw, and a PatchFDCGStop: while that is not zero, sweeps do nothing to x, r and the numbers here */
  double       sum[PATCHFD_CG_NUM_SUMS]; /* like pw of this rank, or of all */
  /* these sums are all that there is: the second sweep ends with PatchFDCGNextAlone(), otherwise the total of its sums */
  int      alone;
  double   rz, rzold, pwold;
  double   later;                             /* a of a step that x has not taken */
  PetscInt it;                                /* iterations done */
  double   norm, history[PATCHFD_CG_HISTORY]; /* of iteration i at i % PATCHFD_CG_HISTORY */

  /* when the host has to look */
  KSPNormType normtype;
  double      low, high;
  PetscInt    first, until; /* no test of the norm before the one, and a look at the other */
};

/* is p'w zero, infinite, NaN, or of another sign than before? */
PATCHFD_CG_FUNCTION int PatchFDCGBreaksDown(const PatchFDCG *s)
{
  const double pw = s->sweep.pw;

  return !isfinite(pw) || pw == 0 || (pw < 0 && s->pwold > 0) || (pw > 0 && s->pwold < 0);
}

PATCHFD_CG_FUNCTION double PatchFDCGNorm(const PatchFDCG *s)
{
  switch (s->normtype) {
  case KSP_NORM_PRECONDITIONED:
    return sqrt(s->sum[PATCHFD_CG_ZZ]);
  case KSP_NORM_UNPRECONDITIONED:
    return sqrt(s->sum[PATCHFD_CG_RR]);
  case KSP_NORM_NATURAL:
    return sqrt(fabs(s->sum[PATCHFD_CG_RZ]));
  default:
    return 0;
  }
}

/* after the second sweep: from the sums to the next direction */
PATCHFD_CG_FUNCTION void PatchFDCGNext(PatchFDCG *s)
{
  s->pwold   = s->sweep.pw;
  s->rzold   = s->rz;
  s->rz      = s->sum[PATCHFD_CG_RZ];
  s->sweep.b = s->rz / s->rzold;
}

/* the same where kernels go on by themselves: what might be worth a look is decided there, and what it means by PETSc's own tests */
PATCHFD_CG_FUNCTION void PatchFDCGNextAlone(PatchFDCG *s)
{
  if (PatchFDCGBreaksDown(s)) {
    s->pwold      = s->sweep.pw; /* which the sweeps that follow may change */
    s->sweep.stop = PATCHFD_CG_BREAKDOWN;
    return;
  }
  PatchFDCGNext(s);
  s->it++;
  s->norm                                = PatchFDCGNorm(s);
  s->history[s->it % PATCHFD_CG_HISTORY] = s->norm;
  if (!isfinite(s->norm) || !(s->rz * s->rzold > 0) || (s->it >= s->first && (s->norm <= s->low || s->norm >= s->high)) ||
      s->it >= s->until)
    s->sweep.stop = PATCHFD_CG_LOOK;
}

/*
  What a matrix may offer by composing "MatFusedCGSweep_C": operatorsweep of its plan; sweep = NULL asks whether it can with this table,
  and arrays like p (those of a rank without unknowns are NULL in any case).  It may be recorded after its first call, and on one rank so
  may the matrix's product with a vector; on several, if "MatCanRecord_C" says so, too.
*/
typedef PetscErrorCode MatFusedCGSweepFn(Mat, PatchFDKernels, const void *d, const void *r, const void *q, void *p, void *w, PatchFDSweep *,
                                         PetscBool *can);

/* what is summed over ranks in an iteration */
typedef enum {
  PATCHFD_CG_TOTAL_PW,   /* after the first sweep */
  PATCHFD_CG_TOTAL_SUMS, /* after the second one, which goes on to the next iteration then */
  PATCHFD_CG_NUM_TOTALS
} PatchFDCGTotal;

#if defined(PETSC_HAVE_CUDA)
/* for plans of a table on the GPU: the state's numbers become the sums of those of all ranks, part[rank][...], in GPU memory.  May be
   recorded */
PETSC_INTERN PetscErrorCode PatchFDCGSetTotalCUDA(void *plan, PatchFDCGTotal, PetscMPIInt nrank, const double part[]);
#endif
