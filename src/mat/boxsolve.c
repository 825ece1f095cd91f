/*
  The direct solve of the whole box (patchfd/private/boxsolve.h): lines for kernels, the steps, and what ranks send.

  Arrays have planes of numbers of the last direction: those of a line that is folded, and then, on several ranks, those of the piece's
  ends.  A common node of two pieces belongs to the upper one, where it is the first end: its plane takes part in the products of the other
  directions.
*/
#include <patchfd/private/boxsolve.h>
#include <petsc/private/petscimpl.h>

enum {
  FOLD_MIN = 16, /* shorter lines are not folded */
  PAD      = 8,  /* blocks above 4 times as many numbers are a multiple of so many: products are up to twice as fast */
  /* where kernels have them: lines from which on they win */
  WAVE_MIN = 16,
  BAND_MIN = 16,
  /* lines of a product at least, on a host */
  PLANE_LINES = 64
};

struct _n_PatchFDBoxSolve {
  PatchFDKernels    kern;
  PatchFDBoxKernels k;
  void             *small; /* the kernels' plan for all of it at once, and nothing else; or */
  void             *plan;
  PatchFDBoxLine    line[3];
  PatchFDBox        box;
  PetscInt          first[3];
  int               last;          /* direction */
  int               eliminated;    /* or -1 */
  PetscBool         unfolded;      /* numbers are nodes, in the same order */
  PetscInt          inner, planes; /* numbers of a plane, planes without the ends */
  PetscInt          nend, nkeep;   /* planes of ends, and of these the nodes */
  void             *u, *v;         /* numbers, and modes; u ends with the ends */
  void             *w;             /* all ends, of a part of the modes */
  PatchFDBox        ends, all;     /* numbers of a row, rows and planes: of this rank's ends, and of w; */
  PatchFDRange      own;           /* what is in both, */
  PatchFDHalo       there, back;   /* and what other ranks have of them, from ends to w and back */
};

static const PatchFDBoxKernels tables[PATCHFD_NUM_KERNELS] = {
  [PATCHFD_KERNELS_HOST_DOUBLE] = &PatchFDBoxHostDouble,
  [PATCHFD_KERNELS_HOST_FLOAT]  = &PatchFDBoxHostFloat,
#if defined(PETSC_HAVE_CUDA)
  [PATCHFD_KERNELS_CUDA_DOUBLE] = &PatchFDBoxCUDADouble,
  [PATCHFD_KERNELS_CUDA_FLOAT]  = &PatchFDBoxCUDAFloat,
#endif
};

/* ---- lines ---- */

/* are waves faster than matrices? */
static PetscBool PrefersWaves(const PatchFDEigen *e)
{
  PetscInt largest = 0;

  if (!e->wave || e->n < WAVE_MIN) return PETSC_FALSE;
  for (PetscInt n = e->n; n > 1; n /= PatchFDRadix(n)) largest = PetscMax(largest, PatchFDRadix(n));
  return (PetscBool)(largest <= PATCHFD_MAX_RADIX);
}

/* the longest line that is, or -1; without pivots, and so only where no sum of eigenvalues is negative */
static int Eliminated(const PatchFDEigen *const dir[3], int last)
{
  PetscReal least = 0;
  int       best  = -1;

  for (int d = 0; d < 3; d++) {
    PetscReal lo = PETSC_MAX_REAL;

    for (PetscInt i = 0; i < dir[d]->n; i++) lo = PetscMin(lo, dir[d]->lambda[i]);
    least += lo;
  }
  for (int d = 1; d <= last && least >= 0; d++)
    if (dir[d]->band && dir[d]->n >= BAND_MIN * dir[d]->width && (best < 0 || dir[d]->n > dir[best]->n)) best = d;
  return best;
}

/* folded, unless kernels take it as it is: with `waves`, or to eliminate */
static PetscErrorCode LineCreate(const PatchFDEigen *e, PetscBool waves, PetscBool eliminated, PatchFDBoxLine *l)
{
  const PetscInt n = e->n, even = (n + 1) / 2;
  PetscReal     *S, *lambda;

  PetscFunctionBegin;
  l->n      = n;
  l->blocks = (e->parity || e->halfturn) && n >= FOLD_MIN && !waves && !eliminated ? 2 : 1;
  l->shift  = e->halfturn ? n / 2 : 0;
  l->size   = l->blocks == 2 ? even : n;
  if (l->size > 4 * PAD && !waves && !eliminated) l->size = (l->size + PAD - 1) / PAD * PAD;
  l->wave  = waves ? e->wave : NULL;
  l->band  = eliminated ? e->band : NULL;
  l->width = e->width;
  PetscCall(PetscCalloc1(waves ? 0 : (size_t)l->blocks * l->size * l->size, &S));
  PetscCall(PetscCalloc1((size_t)l->blocks * l->size, &lambda));
  if (waves) PetscCall(PetscArraycpy(lambda, e->wave, n));
  for (PetscInt b = 0, mode = 0; b < l->blocks && !waves; b++) {
    const PetscInt h = l->blocks == 1 ? n : (b ? n / 2 : even);

    for (PetscInt i = 0; i < h; i++)
      PetscCall(PetscArraycpy(S + ((PetscCount)b * l->size + i) * l->size, e->S + (PetscCount)i * n + mode, h));
    PetscCall(PetscArraycpy(lambda + b * l->size, e->lambda + mode, h));
    mode += h;
  }
  l->S      = S;
  l->lambda = lambda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LineDestroy(PatchFDBoxLine *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(l->S));
  PetscCall(PetscFree(l->lambda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- ends of pieces, and who solves their equations ---- */

PetscInt PatchFDBoxCommon(const PatchFDBox *a, const PatchFDBox *b, PetscInt index[])
{
  PatchFDRange both;
  PetscInt     n = 0;

  for (int d = 0; d < 3; d++) {
    both[d][0] = PetscMax(a->lo[d], b->lo[d]);
    both[d][1] = PetscMin(a->lo[d] + a->n[d], b->lo[d] + b->n[d]);
  }
  if (!index) return (PetscInt)PatchFDRangeSize(both);
  for (PetscInt k = both[2][0]; k < both[2][1]; k++)
    for (PetscInt j = both[1][0]; j < both[1][1]; j++)
      for (PetscInt i = both[0][0]; i < both[0][1]; i++) index[n++] = (PetscInt)PatchFDBoxNode(a, i, j, k);
  return n;
}

/* the same entries of arrays in which direction order[0] is the fastest one, and order[2] the slowest */
static void Reorder(const PatchFDBox *b, const int order[3], PetscInt n, PetscInt index[])
{
  for (PetscInt l = 0; l < n; l++) {
    const PetscInt at[3] = {index[l] % b->n[0], index[l] / b->n[0] % b->n[1], index[l] / b->n[0] / b->n[1]};

    index[l] = (at[order[2]] * b->n[order[1]] + at[order[1]]) * b->n[order[0]] + at[order[0]];
  }
}

PetscErrorCode PatchFDBoxHaloCreate(MPI_Comm comm, PatchFDHaloType type, const PatchFDBox *const box[2], const int *const order[2],
                                    PatchFDHalo *halo)
{
  PetscMPIInt size, me, n = 0, *rank;
  PetscInt   *first[2], *index[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &me));
  PetscCall(PetscMalloc1(size, &rank));
  for (int side = 0; side < 2; side++) PetscCall(PetscCalloc1(size + 1, &first[side]));
  for (PetscMPIInt r = 0; r < size; r++) {
    for (int side = 0; side < 2; side++) first[side][n + 1] = first[side][n] + PatchFDBoxCommon(&box[side][me], &box[!side][r], NULL);
    if (first[0][n + 1] == first[0][n] && first[1][n + 1] == first[1][n]) continue;
    rank[n++] = r;
  }
  for (int side = 0; side < 2; side++) {
    PetscCall(PetscMalloc1(first[side][n], &index[side]));
    for (PetscMPIInt i = 0; i < n; i++) (void)PatchFDBoxCommon(&box[side][me], &box[!side][rank[i]], index[side] + first[side][i]);
    if (order[side]) Reorder(&box[side][me], order[side], first[side][n], index[side]);
  }
  PetscCall(PatchFDHaloCreateFromLists(comm, type, n, rank, first, index, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a rank's ends, or all ends in its part of the modes: rows of numbers that travel together */
static PatchFDBox EndsBox(PatchFDBoxSolve s, const PatchFDCut *cut, PetscMPIInt rank, PetscBool all)
{
  const PetscInt rows = s->last == 2 ? PatchFDBoxLineLength(&s->line[1]) : s->inner, ranks = cut->npiece;
  PatchFDBox     b = {.n = {s->inner / PetscMax(rows, 1), rows, PatchFDCutEnds(cut)}};
  PetscInt       skip;

  if (!all) b.n[2] = PatchFDCutPieceEnds(cut, rank, &b.lo[2], &skip);
  else {
    b.lo[1] = (PetscInt)((PetscInt64)rows * rank / ranks);
    b.n[1]  = (PetscInt)((PetscInt64)rows * (rank + 1) / ranks) - b.lo[1];
  }
  return b;
}

/* from this rank's ends to the modes of the others, or back */
static PetscErrorCode ExchangeCreate(PatchFDBoxSolve s, const PatchFDBoxSolveRanks *ranks, PetscBool back, PatchFDHalo *halo)
{
  PetscMPIInt size, me, *rank;
  PetscInt   *first[2], *index[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(ranks->comm, &size));
  PetscCallMPI(MPI_Comm_rank(ranks->comm, &me));
  PetscCall(PetscMalloc1(size - 1, &rank));
  for (PetscMPIInt i = 0; i < size - 1; i++) rank[i] = i + (i >= me);
  for (int side = 0; side < 2; side++) { /* one side has ends, the other one modes */
    const PetscBool all  = (PetscBool)((side == 1) != back);
    PatchFDBox      mine = all ? s->all : s->ends, theirs;

    mine.n[0] = 1;
    PetscCall(PetscMalloc1(size, &first[side]));
    PetscCall(PetscMalloc1(PatchFDBoxSize(&mine), &index[side]));
    first[side][0] = 0;
    for (PetscMPIInt i = 0; i < size - 1; i++) {
      theirs             = EndsBox(s, ranks->cut, rank[i], (PetscBool)!all);
      first[side][i + 1] = first[side][i] + PatchFDBoxCommon(&mine, &theirs, index[side] + first[side][i]);
    }
  }
  PetscCall(PatchFDHaloCreateFromLists(ranks->comm, ranks->halo, size - 1, rank, first, index, halo));
  PetscCall(PatchFDHaloSetUnit(*halo, s->ends.n[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to w, or back */
static PetscErrorCode Exchange(PatchFDBoxSolve s, PetscBool back, void *ends)
{
  PatchFDHalo halo = back ? s->back : s->there;
  void       *from = back ? s->w : ends, *to = back ? ends : s->w;

  PetscFunctionBegin;
  PetscCall(PatchFDHaloBegin(halo, s->kern, 0, 1, (const void *const *)&from));
  PetscCall(s->kern->copy(s->own, back ? &s->all : &s->ends, from, back ? &s->ends : &s->all, to));
  PetscCall(PatchFDHaloEnd(halo, s->kern, 0, 1, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what belongs to the modes of a piece, in their order in blocks, for the ends that there are */
static PetscErrorCode EndsOfModes(const PatchFDBoxLine *l, const PatchFDCut *cut, PetscMPIInt piece, const PetscReal all[],
                                  PetscReal **mine)
{
  PetscInt at, skip, nend = PatchFDCutPieceEnds(cut, piece, &at, &skip), mode = cut->first[piece];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PatchFDBoxLineLength(l) * nend, mine));
  for (PetscInt b = 0; b < l->blocks; b++) {
    const PetscInt modes = l->blocks == 1 ? l->n : (l->n + 1 - b) / 2;

    for (PetscInt i = 0; i < modes; i++, mode++)
      PetscCall(PetscArraycpy(*mine + (b * l->size + i) * nend, all + mode * 2 * cut->nend + skip, nend));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the plan on several ranks; R is made and factored for this rank's modes */
static PetscErrorCode RanksCreate(PatchFDBoxSolve s, const PatchFDBoxSolveRanks *ranks, PatchFDBoxSteps *steps)
{
  const PatchFDCut *cut = ranks->cut;
  PetscMPIInt       me;
  PetscReal        *alpha, *mass;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(ranks->comm, &me));
  s->ends  = EndsBox(s, cut, me, PETSC_FALSE);
  s->all   = EndsBox(s, cut, me, PETSC_TRUE);
  s->nend  = s->ends.n[2];
  s->nkeep = me > 0 && PatchFDCutCopies(cut) == 2 ? 1 : 0;
  for (int d = 0; d < 3; d++) {
    s->own[d][0] = PetscMax(s->ends.lo[d], s->all.lo[d]);
    s->own[d][1] = PetscMin(s->ends.lo[d] + s->ends.n[d], s->all.lo[d] + s->all.n[d]);
  }
  PetscCall(EndsOfModes(&s->line[s->last], cut, me, cut->alpha, &alpha));
  PetscCall(EndsOfModes(&s->line[s->last], cut, me, cut->mass, &mass));
  steps->nend  = s->nend;
  steps->nkeep = s->nkeep;
  steps->alpha = alpha;
  steps->mass  = mass;
  steps->cut   = cut;
  steps->first = s->all.lo[1] * s->all.n[0];
  steps->n     = s->all.n[1] * s->all.n[0];
  PetscCall(s->k->create(steps, &s->plan));
  PetscCall(PetscFree(alpha));
  PetscCall(PetscFree(mass));
  PetscCall(s->kern->malloc(PatchFDBoxSize(&s->all), &s->w));
  PetscCall(ExchangeCreate(s, ranks, PETSC_FALSE, &s->there));
  PetscCall(ExchangeCreate(s, ranks, PETSC_TRUE, &s->back));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveIsDefinite(const PatchFDEigen *const dir[3], int last, const PatchFDCut *cut, PetscBool *definite)
{
  PetscReal lo = 0, hi = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscReal least = PETSC_MAX_REAL, most = PETSC_MIN_REAL;

    if (d == last) continue;
    for (PetscInt i = 0; i < dir[d]->n; i++) {
      least = PetscMin(least, dir[d]->lambda[i]);
      most  = PetscMax(most, dir[d]->lambda[i]);
    }
    lo += least;
    hi += most;
  }
  PetscCall(PatchFDCutIsDefinite(cut, lo, hi, definite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveIsSingular(PetscObject object, const PatchFDEigen *const dir[3], PetscBool constants, PetscBool *singular)
{
  const PetscReal rounding = 1e-15; /* of eigenvalues, beside the largest one: up to 4e-17 was seen */
  PetscReal       least, largest;

  PetscFunctionBegin;
  PetscCall(PatchFDEigenSums(dir, constants, &least, &largest));
  *singular = (PetscBool)(least <= rounding * largest);
  if (*singular)
    PetscCall(PetscInfo(object, "The operator is singular: of the sums of eigenvalues one is %g, and the largest %g\n", (double)least,
                        (double)largest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveCreate(PatchFDKernels kern, PetscInt dim, const PatchFDBoxSolveDesc *desc, const PatchFDBoxSolveRanks *ranks,
                                     PatchFDBoxSolve *solve)
{
  PatchFDBoxSolve s;
  PatchFDBoxSteps steps = {0};

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  *solve  = s;
  s->kern = kern;
  s->k    = tables[kern->id];
  s->box  = desc->box;
  if (!ranks && kern->boxsolvecreate) PetscCall(kern->boxsolvecreate(desc, &s->small));
  if (s->small) PetscFunctionReturn(PETSC_SUCCESS);
  s->last       = dim == 2 ? 1 : 2;
  s->inner      = 1;
  s->unfolded   = (PetscBool)!ranks;
  s->eliminated = s->k->eliminate && !ranks ? Eliminated(desc->dir, s->last) : -1;
  for (int d = 0; d < 3; d++) {
    s->first[d] = desc->first[d];
    PetscCall(
      LineCreate(desc->dir[d], (PetscBool)(s->k->eliminate && PrefersWaves(desc->dir[d])), (PetscBool)(d == s->eliminated), &s->line[d]));
    if (d < s->last) s->inner *= PatchFDBoxLineLength(&s->line[d]);
    if (s->line[d].n != s->box.n[d] || s->line[d].size != s->box.n[d]) s->unfolded = PETSC_FALSE;
  }
  s->planes  = PatchFDBoxLineLength(&s->line[s->last]);
  steps.line = s->line;
  steps.last = s->last;
  if (ranks) PetscCall(RanksCreate(s, ranks, &steps));
  else PetscCall(s->k->create(&steps, &s->plan));
  PetscCall(kern->malloc((size_t)(s->planes + s->nend) * (size_t)s->inner, &s->u));
  PetscCall(kern->malloc((size_t)(s->planes + s->nkeep) * (size_t)s->inner, &s->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveDestroy(PatchFDBoxSolve *solve)
{
  PatchFDBoxSolve s = *solve;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->small) PetscCall(s->kern->boxsolvedestroy(&s->small));
  PetscCall(PatchFDHaloDestroy(&s->there));
  PetscCall(PatchFDHaloDestroy(&s->back));
  PetscCall(s->kern->free(s->u));
  PetscCall(s->kern->free(s->v));
  PetscCall(s->kern->free(s->w));
  if (s->plan) PetscCall(s->k->destroy(&s->plan));
  for (int d = 0; d < 3; d++) PetscCall(LineDestroy(&s->line[d]));
  PetscCall(PetscFree(*solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- steps ---- */

/* where the numbers of direction d are before its product, and with `modes` after it: all modes are in v */
static void *Numbers(PatchFDBoxSolve s, int d, PetscBool modes)
{
  const int after = s->last - d - (s->eliminated > d ? 1 : 0); /* products to come */

  return after % 2 == (modes ? 1 : 0) ? s->u : s->v;
}

static void *Ends(PatchFDBoxSolve s)
{
  return (char *)s->u + (size_t)s->planes * (size_t)s->inner * s->kern->size;
}

/* between nodes and numbers: those of the lines, and the common node of two pieces below them */
static PetscErrorCode Fold(PatchFDBoxSolve s, PetscBool back, const void *b, void *x)
{
  PatchFDBoxFold f = {.box = s->box};
  char          *a = (char *)Numbers(s, 0, PETSC_FALSE);

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    f.line[d]  = s->line[d];
    f.first[d] = s->first[d];
  }
  for (PetscInt i = 0; i <= s->nkeep; i++) {
    if (back) PetscCall(s->k->unfold(&f, a, x));
    else PetscCall(s->k->fold(&f, b, a));
    a += (size_t)s->planes * (size_t)s->inner * s->kern->size;
    f.line[s->last] = (PatchFDBoxLine){.n = 1, .blocks = 1, .size = 1};
    f.first[s->last]--;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of direction d, in `planes` planes from this one on, or in the last direction in all.  nodes: NULL, or what is in place of the numbers of
   direction 0 */
static PetscErrorCode Product(PatchFDBoxSolve s, int d, PetscInt plane, PetscInt planes, PetscBool back, void *nodes)
{
  const size_t at      = (size_t)plane * (size_t)s->inner * s->kern->size;
  char        *numbers = (char *)(d == 0 && nodes ? nodes : Numbers(s, d, PETSC_FALSE)), *modes = (char *)Numbers(s, d, PETSC_TRUE);
  PetscInt     inner = 1, outer = 1;

  PetscFunctionBegin;
  if (d == s->eliminated) PetscFunctionReturn(PETSC_SUCCESS);
  for (int e = 0; e < d; e++) inner *= PatchFDBoxLineLength(&s->line[e]);
  for (int e = d + 1; e < s->last; e++) outer *= PatchFDBoxLineLength(&s->line[e]);
  if (d < s->last) outer *= planes;
  PetscCall(s->k->product(s->plan, d, inner, outer, back, numbers + at, modes + at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of all directions but the last one; on a host plane by plane, which caches hold, or several of few lines, that share what they read of
   matrices */
static PetscErrorCode PlaneProducts(PatchFDBoxSolve s, PetscBool back, void *nodes)
{
  const PetscInt all = s->planes + s->nkeep, lines = s->inner / PetscMax(1, PatchFDBoxLineLength(&s->line[0])),
                 planes = s->k->eliminate ? PetscMax(1, PLANE_LINES / PetscMax(1, lines)) : all;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < all; p += planes)
    for (int d = 0; d < s->last; d++) PetscCall(Product(s, back ? s->last - 1 - d : d, p, PetscMin(planes, all - p), back, nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g goes to where equations are solved, and z comes back */
static PetscErrorCode SolveEnds(PatchFDBoxSolve s)
{
  PetscFunctionBegin;
  PetscCall(s->k->ends(s->plan, s->v, Ends(s)));
  PetscCall(Exchange(s, PETSC_FALSE, Ends(s)));
  PetscCall(s->k->join(s->plan, s->w));
  PetscCall(Exchange(s, PETSC_TRUE, Ends(s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveApply(PatchFDBoxSolve s, const void *b, void *x)
{
  PetscFunctionBegin;
  if (s->small) {
    PetscCall(s->kern->boxsolveapply(s->small, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!s->unfolded) PetscCall(Fold(s, PETSC_FALSE, b, NULL));
  PetscCall(PlaneProducts(s, PETSC_FALSE, s->unfolded ? (void *)b : NULL));
  PetscCall(Product(s, s->last, 0, 0, PETSC_FALSE, NULL));
  if (s->there) PetscCall(SolveEnds(s));
  if (s->eliminated >= 0) PetscCall(s->k->eliminate(s->plan, s->eliminated, s->v));
  else PetscCall(s->k->divide(s->plan, Ends(s), s->v));
  PetscCall(Product(s, s->last, 0, 0, PETSC_TRUE, NULL));
  PetscCall(PlaneProducts(s, PETSC_TRUE, s->unfolded ? x : NULL));
  if (!s->unfolded) PetscCall(Fold(s, PETSC_TRUE, NULL, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
