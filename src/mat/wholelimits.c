/* For which meshes of a hierarchy the whole box is one patch: by how many unknowns, or by the parity blocks of a dense inverse */
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

/* their number and size on the mesh whose directions have been halved so often; nodes that are fixed are counted, too */
static void WholeBlocks(DM dm, const PetscInt halvings[3], PetscInt *nblock, PetscLogDouble *size)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  *nblock = 1;
  *size   = 0;
  for (PetscInt f = 0; f < box->nfield; f++) {
    PetscLogDouble nodes = 1;

    for (PetscInt d = 0; d < dm->dim; d++) nodes *= DMBoxCoarseNodes(&box->field[f].line[d], halvings[d]);
    *size += nodes;
  }
  for (PetscInt d = 0; d < dm->dim; d++)
    if (DMBoxIsMirrored(box, d)) *nblock *= 2;
  *size /= (PetscLogDouble)*nblock;
}

/* on this mesh, halved so often */
static PetscLogDouble WholeUnknowns(DM dm, const PetscInt halvings[3])
{
  PetscInt       nblock;
  PetscLogDouble size;

  WholeBlocks(dm, halvings, &nblock, &size);
  return (PetscLogDouble)nblock * size;
}

/*
  Unless the user says it: on a GPU, for large problems of operators that fast diagonalization solves.  1e5 unknowns take less time so than
  the kernels and exchanges of the levels below, in three dimensions the mesh halved once, up to 1.5e6 (in two their eigenproblems would be
  too long); small problems coarsen as on the host, and none depends on the number of ranks
*/
static PetscErrorCode WholeDefaultLimit(DM dm, PetscInt *limit)
{
  const PetscInt none[3] = {0, 0, 0};
  const DM_Box  *box     = (const DM_Box *)dm->data;
  PatchFDKernels kern;
  PetscBool      poisson;
  PetscLogDouble size;

  PetscFunctionBegin;
  *limit = 0;
  PetscCall(PetscStrcmp(box->op->name, "poisson", &poisson));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (!poisson || PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  size = WholeUnknowns(dm, none);
  if (size >= 5e5) *limit = dm->dim == 3 ? (PetscInt)PetscClipInterval(size / 6, 130000, 1500000) : 100000;
  if (*limit)
    PetscCall(PetscInfo(dm,
                        "Levels of PCPATCHMG end at a mesh with at most %" PetscInt_FMT
                        " unknowns, which is solved directly: -pc_patchmg_coarse_eq_limit\n",
                        *limit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLimitCoarsenings(DM dm, PetscInt limit, PetscInt *n)
{
  const PetscInt coarsenings = *n;
  PetscInt(*halvings)[3];

  PetscFunctionBegin;
  if (limit == PETSC_UNLIMITED) *n = 0;
  if (limit == PETSC_DECIDE) PetscCall(WholeDefaultLimit(dm, &limit));
  PetscCall(PetscMalloc1(coarsenings + 1, &halvings));
  PetscCall(DMBoxGetHalvings(dm, coarsenings, halvings));
  for (PetscInt fewer = 0; fewer < *n; fewer++)
    if (WholeUnknowns(dm, halvings[fewer]) <= (PetscLogDouble)limit) *n = fewer;
  PetscCall(PetscFree(halvings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A factorization of more unknowns than this takes longer than all the rest, 15 s for 15^3 cells of degree 2; on a GPU there is none, but
  an inverse (MatBoxLocalTakesWhole()).  Where halving ends there, degree 1 on the same cells is what patches need below them at any degree
  (L. F. Pavarino, Numer. Math. 66, 1993)
*/
PetscErrorCode MatBoxLowerDegree(DM dm, PetscInt *n, PetscInt *degree, PetscBool *large, PetscBool *points)
{
  const DM_Box        *box      = (const DM_Box *)dm->data;
  const PetscLogDouble factored = dm->dim == 3 || box->op->saddle ? 8000 : 30000, most = 8000;
  PetscLogDouble       limit = dm->dim == 3 ? 5000 : 50000, N;
  PetscInt             more  = *n + 1, (*halvings)[3];
  PetscBool            lower = (PetscBool)(box->degree > DMBoxLeastDegree(box));
  PatchFDKernels       kern;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  *degree = DMBoxLeastDegree(box);
  *points = DMBoxHasPoints(box);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (!dm->setupcalled || !(*points || box->op->reach || box->nfield > 1)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!*points) limit = factored;
  else if (!PetscMemTypeHost(kern->memtype)) limit = PetscSqrtReal(MATBOX_WHOLE_ENTRIES_GPU);
  PetscCall(PetscMalloc1(more, &halvings));
  PetscCall(DMBoxGetHalvings(dm, *n, halvings));
  N = WholeUnknowns(dm, halvings[*n]);
  PetscCall(PetscFree(halvings));
  if (N <= limit) PetscFunctionReturn(PETSC_SUCCESS);
  if (lower) {
    PetscCall(DMBoxSetLowering(dm, *n));
    ierr = DMBoxLimitFolded(dm, &more);
    PetscCall(DMBoxSetLowering(dm, -1)); /* also after an error */
    PetscCall(ierr);
    N  = more == *n ? 0 : N * PetscPowReal((PetscReal)*degree / (PetscReal)box->degree, dm->dim);
    *n = more;
  }
  /* no patch changes a flux around a ring */
  *large = (PetscBool)(N > (*points ? most : factored) && (*points || !(box->op->saddle && DMBoxHasRings(box))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatBoxIsOnePatch(const Mat_Box *m)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (int d = 0; d < 3; d++)
    if (box->field[0].line[d].ncells > 2) return PETSC_FALSE;
  return PETSC_TRUE;
}

/*
  Inverses of so many entries are made in seconds; by quadrature for each change of the coefficients, so that on the host it would cost
  more than it saves.  On a GPU it is worth it to degree 7 on two cells a direction: a factorization would be used on the host, where
  nothing can be recorded
*/
PetscBool MatBoxLocalTakesWhole(const Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box        *box     = (const DM_Box *)m->dm->data;
  const PetscLogDouble limit   = !m->form.points ? 2e7 : PetscMemTypeHost(kern->memtype) ? 5e6 : MATBOX_WHOLE_ENTRIES_GPU;
  PetscLogDouble       entries = 0;

  for (PetscInt f = 0; f < box->nfield; f++) entries += (PetscLogDouble)PatchFDBoxSize(&box->field[f].global);
  entries *= entries;
  for (int d = 0; d < m->dm->dim; d++) {
    const PatchFDBand *M       = m->form.M[0][d];
    PetscBool          uniform = PETSC_TRUE;

    for (PetscInt c = 1; c < M->ncells; c++) uniform = (PetscBool)(uniform && M->cls[c] == M->cls[0]);
    if (uniform && !m->form.points) entries /= 2; /* by parity */
  }
  return (PetscBool)(!box->halo && entries <= limit);
}

/* Inverses of saddle points are made once, on a core in 0.2 s, and have 10 MB in single precision; those of plates, whose kernels of coarse
   levels take less time, in 10 ms; those by quadrature for each change of coefficients, in less time than the kernels of a level */
PetscErrorCode MatBoxWholeCoarsenings(DM dm, PetscInt *n)
{
  const DM_Box        *box    = (const DM_Box *)dm->data;
  const PetscBool      points = (PetscBool)(dm->setupcalled && DMBoxHasPoints(box));
  const PetscLogDouble limit  = points ? 1e9 : box->op->saddle ? 4e9 : 1e8; /* operations */
  PatchFDKernels       kern;
  PetscInt(*halvings)[3];

  PetscFunctionBegin;
  if (!dm->setupcalled || !(box->op->saddle || points || box->op->reach)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  if (PetscMemTypeHost(kern->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(*n + 1, &halvings));
  PetscCall(DMBoxGetHalvings(dm, *n, halvings));
  for (PetscInt fewer = *n - 1; fewer > 0; fewer--) {
    PetscInt       nblock;
    PetscLogDouble size;

    WholeBlocks(dm, halvings[fewer], &nblock, &size);
    if (points) { /* without parity */
      size *= nblock;
      nblock = 1;
    }
    if (2 * (PetscLogDouble)nblock * size * size * size > limit) break;
    *n = fewer;
  }
  PetscCall(PetscFree(halvings));
  PetscFunctionReturn(PETSC_SUCCESS);
}
