/*
  The direct solve of the whole box (patchfd/private/boxsolve.h): lines for kernels, the steps, and what ranks send.

  Arrays, x fastest, n0 n1 n2 the lengths of folded lines, of the direction that is cut c, of the one before e; other directions are whole:

    nodes    c: those of this rank, not folded unless it is the only one
    pieces   for each rank, one after another: c as above, e the modes of that rank
    modes    c: all of it, e the modes of this rank

  Rank r's piece of rank s is what lies in the planes of rank s in r's modes: each message is contiguous on both sides.
*/
#include <patchfd/private/boxsolve.h>
#include <petsc/private/petscimpl.h>

enum {
  FOLD_MIN = 16, /* shorter lines are not folded */
  PAD      = 8,  /* blocks above 4 times as many numbers are a multiple of so many: products are up to twice as fast, and ranks have multiples of as many modes */
};

struct _n_PatchFDBoxSolve {
  PatchFDKernels    kern;
  PatchFDBoxKernels k;
  void             *small; /* the kernels' plan for all of it at once, and nothing else; or */
  void             *plan;
  PatchFDBoxLine line[3];
  PatchFDBox     box;
  PetscInt       first[3];
  int            c, e;
  PetscMPIInt    ranks, me;
  PetscInt      *node, *mode; /* [ranks + 1], of c and e: first of each rank */
  PetscInt       inner;       /* numbers in the directions before e */
  void          *u, *v, *w;   /* u has the pieces, w the modes; on one rank they are one */
  PatchFDHalo    there, back; /* from pieces to modes, and back */
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

static PetscErrorCode LineCreate(const PatchFDEigen *e, PatchFDBoxLine *l)
{
  const PetscInt n = e->n, even = (n + 1) / 2;
  PetscReal     *S, *lambda;

  PetscFunctionBegin;
  l->n      = n;
  l->blocks = e->parity && n >= FOLD_MIN ? 2 : 1;
  l->size   = l->blocks == 2 ? even : n;
  if (l->size > 4 * PAD) l->size = (l->size + PAD - 1) / PAD * PAD;
  PetscCall(PetscCalloc1((size_t)l->blocks * l->size * l->size, &S));
  PetscCall(PetscCalloc1((size_t)l->blocks * l->size, &lambda));
  for (PetscInt b = 0, mode = 0; b < l->blocks; b++) {
    const PetscInt h = l->blocks == 1 ? n : (b ? n / 2 : even);

    for (PetscInt i = 0; i < h; i++) PetscCall(PetscArraycpy(S + ((PetscCount)b * l->size + i) * l->size, e->S + (PetscCount)i * n + mode, h));
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

/* numbers that are neither folded nor followed by zeros */
static PatchFDBoxLine PlainLine(PetscInt n)
{
  return (PatchFDBoxLine){.n = n, .blocks = 1, .size = n};
}

/* ---- arrays of a rank, and what it sends ---- */

static PetscInt Planes(PatchFDBoxSolve s, PetscMPIInt rank)
{
  return s->node[rank + 1] - s->node[rank];
}

static PetscInt Modes(PatchFDBoxSolve s, PetscMPIInt rank)
{
  return s->mode[rank + 1] - s->mode[rank];
}

/* where the piece of rank `to` begins among those of a rank; where it is there, among the modes */
static PetscCount PieceOut(PatchFDBoxSolve s, PetscMPIInt rank, PetscMPIInt to)
{
  return (PetscCount)Planes(s, rank) * s->mode[to] * s->inner;
}

static PetscCount PieceIn(PatchFDBoxSolve s, PetscMPIInt rank, PetscMPIInt to)
{
  return (PetscCount)s->node[rank] * Modes(s, to) * s->inner;
}

/* where this rank has the piece of another one, for products; its own is among the modes from the beginning */
static void *Piece(PatchFDBoxSolve s, PetscMPIInt rank)
{
  return rank == s->me && s->ranks > 1 ? (char *)s->w + (size_t)PieceIn(s, rank, rank) * s->kern->size : (char *)s->u + (size_t)PieceOut(s, s->me, rank) * s->kern->size;
}

/* numbers that always travel together */
static PetscInt Unit(PatchFDBoxSolve s)
{
  return s->e > 0 ? s->inner : (s->line[s->e].size % PAD ? 1 : PAD);
}

/* messages between all ranks, from the pieces to the modes or back */
static PetscErrorCode ExchangeCreate(PatchFDBoxSolve s, MPI_Comm comm, PetscBool back, DMBoxHaloType type, PatchFDHalo *halo)
{
  const PetscInt unit  = Unit(s), pieces = (PetscInt)(PieceOut(s, s->me, s->ranks) / unit), modes = (PetscInt)(PieceIn(s, s->ranks, s->me) / unit);
  PetscInt      *leaf, n = 0;
  PetscSFNode   *root;
  PetscSF        sf;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(back ? pieces : modes, &leaf));
  PetscCall(PetscMalloc1(back ? pieces : modes, &root));
  for (PetscMPIInt r = 0; r < s->ranks; r++) {
    /* from r's pieces to this rank's modes; or back, from r's modes to this rank's pieces */
    const PetscInt mine = (PetscInt)((back ? PieceOut(s, s->me, r) : PieceIn(s, r, s->me)) / unit), there = (PetscInt)((back ? PieceIn(s, s->me, r) : PieceOut(s, r, s->me)) / unit);
    const PetscInt count = (PetscInt)((PetscCount)(back ? Planes(s, s->me) * Modes(s, r) : Planes(s, r) * Modes(s, s->me)) * s->inner / unit);

    for (PetscInt i = 0; i < count && r != s->me; i++, n++) {
      leaf[n] = mine + i;
      root[n] = (PetscSFNode){.rank = r, .index = there + i};
    }
  }
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraph(sf, back ? modes : pieces, n, leaf, PETSC_OWN_POINTER, root, PETSC_OWN_POINTER));
  PetscCall(PatchFDHaloCreate(sf, type, halo));
  PetscCall(PatchFDHaloSetUnit(*halo, unit));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* equal parts of the modes, at ends of blocks where these are whole parts */
static void ShareModes(const PatchFDBoxLine *l, PetscMPIInt ranks, PetscInt mode[])
{
  const PetscInt length = PatchFDBoxLineLength(l), step = l->size % PAD ? 1 : PAD;

  for (PetscMPIInt r = 0; r <= ranks; r++) mode[r] = (PetscInt)((PetscInt64)(length / step) * r / ranks) * step;
}

static PetscErrorCode ArraysCreate(PatchFDBoxSolve s)
{
  const PetscCount nodes = PieceOut(s, s->me, s->ranks), modes = (PetscCount)PatchFDBoxLineLength(&s->line[s->c]) * Modes(s, s->me) * s->inner;

  PetscFunctionBegin;
  PetscCall(s->kern->malloc((size_t)nodes, &s->u));
  PetscCall(s->kern->malloc((size_t)PetscMax(nodes, modes), &s->v));
  if (s->ranks > 1) PetscCall(s->kern->malloc((size_t)modes, &s->w));
  else s->w = s->u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveCreate(PatchFDKernels kern, PetscInt dim, const PatchFDBoxSolveDesc *desc, const PatchFDBoxSolveRanks *ranks, PatchFDBoxSolve *solve)
{
  PatchFDBoxSolve s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  *solve   = s;
  s->kern  = kern;
  s->k     = tables[kern->id];
  s->box   = desc->box;
  s->ranks = 1;
  if (ranks) PetscCallMPI(MPI_Comm_size(ranks->comm, &s->ranks));
  if (ranks) PetscCallMPI(MPI_Comm_rank(ranks->comm, &s->me));
  if (s->ranks == 1 && kern->boxsolvecreate) PetscCall(kern->boxsolvecreate(desc, &s->small));
  if (s->small) PetscFunctionReturn(PETSC_SUCCESS);
  s->c = dim == 2 ? 1 : 2;
  s->e = s->c - 1;
  for (int d = 0; d < 3; d++) {
    s->first[d] = desc->first[d];
    PetscCall(LineCreate(desc->dir[d], &s->line[d]));
  }
  PetscCall(s->k->create(s->line, &s->plan));
  PetscCall(PetscMalloc2(s->ranks + 1, &s->node, s->ranks + 1, &s->mode));
  s->node[0] = 0;
  s->node[1] = PatchFDBoxLineLength(&s->line[s->c]);
  if (s->ranks > 1) PetscCall(PetscArraycpy(s->node, ranks->node, s->ranks + 1));
  ShareModes(&s->line[s->e], s->ranks, s->mode);
  s->inner = s->e ? PatchFDBoxLineLength(&s->line[0]) : 1;
  PetscCall(ArraysCreate(s));
  if (s->ranks > 1) {
    PetscCall(ExchangeCreate(s, ranks->comm, PETSC_FALSE, ranks->halo, &s->there));
    PetscCall(ExchangeCreate(s, ranks->comm, PETSC_TRUE, ranks->halo, &s->back));
  }
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
  if (s->w != s->u) PetscCall(s->kern->free(s->w));
  PetscCall(s->kern->free(s->u));
  PetscCall(s->kern->free(s->v));
  if (s->plan) PetscCall(s->k->destroy(&s->plan));
  for (int d = 0; d < 3; d++) PetscCall(LineDestroy(&s->line[d]));
  PetscCall(PetscFree2(s->node, s->mode));
  PetscCall(PetscFree(*solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- steps ---- */

/* the nodes of a rank */
static PatchFDBoxFold FoldNodes(PatchFDBoxSolve s)
{
  PatchFDBoxFold f = {.box = s->box};

  for (int d = 0; d < 3; d++) {
    f.line[d]  = s->line[d];
    f.first[d] = s->first[d];
  }
  if (s->ranks > 1) {
    f.line[s->c] = PlainLine(Planes(s, s->me));
    f.first[s->c] += s->node[s->me];
  }
  return f;
}

/* whole lines of the direction that is cut */
static PatchFDBoxFold FoldCut(PatchFDBoxSolve s)
{
  PatchFDBoxFold f = {.line = {PlainLine(1), PlainLine(1), PlainLine(1)}, .box = {.n = {1, 1, 1}}};

  if (s->e) f.line[0] = PlainLine(s->inner);
  f.line[s->e] = PlainLine(Modes(s, s->me));
  f.line[s->c] = s->line[s->c];
  for (int d = 0; d < 3; d++) f.box.n[d] = f.line[d].n;
  return f;
}

/* all of direction d, numbers and modes alike */
static PetscErrorCode Product(PatchFDBoxSolve s, int d, PetscInt inner, PetscInt outer, PetscBool back, void *numbers, void *modes)
{
  const PetscInt          length = PatchFDBoxLineLength(&s->line[d]);
  const PatchFDBoxProduct p      = {.d = d, .all = PETSC_TRUE, .inner = inner, .outer = outer, .numbers = length, .modes = length};

  PetscFunctionBegin;
  PetscCall(s->k->product(s->plan, &p, back, PETSC_FALSE, numbers, modes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* direction e, of which each rank gets its modes, or has sent them */
static PetscErrorCode ProductPieces(PatchFDBoxSolve s, PetscBool back, void *numbers)
{
  const PatchFDBoxLine *l      = &s->line[s->e];
  const PetscInt        length = PatchFDBoxLineLength(l);

  PetscFunctionBegin;
  for (PetscInt b = 0; b < l->blocks; b++) {
    PetscBool add = PETSC_FALSE;

    for (PetscMPIInt r = 0; r < s->ranks; r++) {
      const PetscInt          first = PetscMax(s->mode[r], b * l->size), end = PetscMin(s->mode[r + 1], (b + 1) * l->size);
      const PatchFDBoxProduct p = {.d = s->e, .block = b, .first = first - b * l->size, .n = end - first, .inner = s->inner, .outer = Planes(s, s->me), .numbers = length, .modes = Modes(s, r)};

      if (first >= end) continue;
      PetscCall(s->k->product(s->plan, &p, back, add, (char *)numbers + (size_t)(b * l->size * s->inner) * s->kern->size,
                                         (char *)Piece(s, r) + (size_t)((first - s->mode[r]) * s->inner) * s->kern->size));
      add = back;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NodesToPieces(PatchFDBoxSolve s, const void *b)
{
  const PatchFDBoxFold fold = FoldNodes(s);

  PetscFunctionBegin;
  PetscCall(s->k->fold(&fold, b, s->e ? s->u : s->v));
  if (s->e) PetscCall(Product(s, 0, 1, PatchFDBoxLineLength(&s->line[1]) * Planes(s, s->me), PETSC_FALSE, s->u, s->v));
  PetscCall(ProductPieces(s, PETSC_FALSE, s->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesToNodes(PatchFDBoxSolve s, void *x)
{
  const PatchFDBoxFold fold = FoldNodes(s);

  PetscFunctionBegin;
  PetscCall(ProductPieces(s, PETSC_TRUE, s->v));
  if (s->e) PetscCall(Product(s, 0, 1, PatchFDBoxLineLength(&s->line[1]) * Planes(s, s->me), PETSC_TRUE, s->u, s->v));
  PetscCall(s->k->unfold(&fold, s->e ? s->u : s->v, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from the modes of all directions but c to those of the solution */
static PetscErrorCode SolveModes(PatchFDBoxSolve s)
{
  const PetscInt       inner = s->inner * Modes(s, s->me);
  const PatchFDBoxFold fold  = FoldCut(s);
  void                *a = s->w, *b = s->v;
  PatchFDRange         range;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    range[d][0] = 0;
    range[d][1] = PatchFDBoxLineLength(&s->line[d]);
  }
  range[s->e][0] = s->mode[s->me];
  range[s->e][1] = s->mode[s->me + 1];
  if (s->ranks > 1) {
    PetscCall(s->k->fold(&fold, s->w, s->v));
    a = s->v;
    b = s->w;
  }
  PetscCall(Product(s, s->c, inner, 1, PETSC_FALSE, a, b));
  PetscCall(s->k->divide(s->plan, range, b));
  PetscCall(Product(s, s->c, inner, 1, PETSC_TRUE, a, b));
  if (s->ranks > 1) PetscCall(s->k->unfold(&fold, s->v, s->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Exchange(PatchFDBoxSolve s, PatchFDHalo halo, const void *from, void *to)
{
  PetscFunctionBegin;
  if (!halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDHaloBegin(halo, s->kern, 0, 1, &from));
  PetscCall(PatchFDHaloEnd(halo, s->kern, 0, 1, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveApply(PatchFDBoxSolve s, const void *b, void *x)
{
  PetscFunctionBegin;
  if (s->small) {
    PetscCall(s->kern->boxsolveapply(s->small, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(NodesToPieces(s, b));
  PetscCall(Exchange(s, s->there, s->u, s->w));
  PetscCall(SolveModes(s));
  PetscCall(Exchange(s, s->back, s->w, s->u));
  PetscCall(PiecesToNodes(s, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
