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
  FOLD_MIN   = 16, /* shorter lines are not folded */
  PARTS      = 5,  /* of a rank's planes, which are sent one after another, */
  PARTS_BACK = PATCHFD_BOX_MARKS, /* and come back so */
  PAD        = 8,  /* blocks above 4 times as many numbers are a multiple of so many: products are up to twice as fast, and ranks have multiples of as many modes */
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
  void          *t;           /* of the planes at work, before and after the product in direction 0; may be u where these are all */
  PatchFDHalo    there, back; /* from pieces to modes, and back; or, where ranks write to each other's memory: */
  PatchFDHalo    done;        /* everybody has heard that the others are so far */
  void          *flag;        /* what that sends, nothing of interest */
  void         **us, **ws;    /* [ranks] their arrays */
  MPI_Comm       comm;
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

static PetscErrorCode ArraysCreate(PatchFDBoxSolve s, PetscBool inparts)
{
  const PetscCount plane = (PetscCount)s->mode[s->ranks] * s->inner, nodes = Planes(s, s->me) * plane;
  const PetscCount modes = (PetscCount)PatchFDBoxLineLength(&s->line[s->c]) * Modes(s, s->me) * s->inner;

  PetscFunctionBegin;
  PetscCall(s->kern->malloc((size_t)nodes, &s->u));
  PetscCall(s->kern->malloc((size_t)PetscMax(nodes, modes), &s->v));
  if (s->ranks > 1) PetscCall(s->kern->malloc((size_t)modes, &s->w));
  else s->w = s->u;
  if (inparts) PetscCall(s->kern->malloc((size_t)((Planes(s, s->me) * 4 / 10 + 1) * plane), &s->t));
  else s->t = s->u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all ranks' arrays, where they can be reached */
static PetscErrorCode ArraysShare(PatchFDBoxSolve s, void *mine, void ***theirs)
{
  char *handle, own[PATCHFD_BOX_HANDLE];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(s->ranks, theirs));
  PetscCall(PetscMalloc1(s->ranks * PATCHFD_BOX_HANDLE, &handle));
  PetscCall(s->k->share(mine, own));
  PetscCallMPI(MPI_Allgather(own, PATCHFD_BOX_HANDLE, MPI_BYTE, handle, PATCHFD_BOX_HANDLE, MPI_BYTE, s->comm));
  for (PetscMPIInt r = 0; r < s->ranks; r++)
    if (r != s->me) PetscCall(s->k->open(handle + (size_t)r * PATCHFD_BOX_HANDLE, &(*theirs)[r]));
  PetscCall(PetscFree(handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a number from everybody to everybody, after which everybody knows that all others are so far */
static PetscErrorCode DoneCreate(PatchFDBoxSolve s, DMBoxHaloType type)
{
  PetscInt    *leaf, n = 0;
  PetscSFNode *root;
  PetscSF      sf;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(s->ranks, &leaf));
  PetscCall(PetscMalloc1(s->ranks, &root));
  for (PetscMPIInt r = 0; r < s->ranks; r++) {
    if (r == s->me) continue;
    leaf[n]   = 1 + r;
    root[n++] = (PetscSFNode){.rank = r, .index = 0};
  }
  PetscCall(PetscSFCreate(s->comm, &sf));
  PetscCall(PetscSFSetGraph(sf, 1, n, leaf, PETSC_OWN_POINTER, root, PETSC_OWN_POINTER));
  PetscCall(PatchFDHaloCreate(sf, type, &s->done));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(s->kern->malloc((size_t)s->ranks + 1, &s->flag));
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

/* can ranks write to each other's memory?  Then they do it part by part, beside the products of the next one */
static PetscErrorCode RanksCreate(PatchFDBoxSolve s, const PatchFDBoxSolveRanks *ranks)
{
  PetscBool peers = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(ranks->comm, &s->comm, NULL));
  if (s->k->share) {
    PetscCall(DoneCreate(s, ranks->halo));
    PetscCall(Exchange(s, s->done, s->flag, s->flag));
    peers = (PetscBool)(PatchFDHaloGetType(s->done, s->kern) == DMBOX_HALO_PEER);
  }
  PetscCall(ArraysCreate(s, peers));
  if (peers) {
    PetscCall(ArraysShare(s, s->u, &s->us));
    PetscCall(ArraysShare(s, s->w, &s->ws));
  } else {
    PetscCall(ExchangeCreate(s, ranks->comm, PETSC_FALSE, ranks->halo, &s->there));
    PetscCall(ExchangeCreate(s, ranks->comm, PETSC_TRUE, ranks->halo, &s->back));
  }
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
  if (s->ranks > 1) PetscCall(RanksCreate(s, ranks));
  else PetscCall(ArraysCreate(s, PETSC_FALSE));
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
  for (PetscMPIInt r = 0; r < s->ranks && s->us; r++) {
    if (s->us[r]) PetscCall(s->k->close(s->us[r]));
    if (s->ws[r]) PetscCall(s->k->close(s->ws[r]));
  }
  if (s->us) PetscCallMPI(MPI_Barrier(s->comm)); /* nobody has the arrays open any more */
  PetscCall(PetscFree(s->us));
  PetscCall(PetscFree(s->ws));
  PetscCall(PatchFDHaloDestroy(&s->done));
  PetscCall(s->kern->free(s->flag));
  if (s->comm) PetscCall(PetscCommDestroy(&s->comm));
  if (s->t != s->u) PetscCall(s->kern->free(s->t));
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

/* planes of a rank */
typedef struct {
  PetscInt first, n;
} Part;

static Part AllOf(PatchFDBoxSolve s, PetscMPIInt rank)
{
  return (Part){0, Planes(s, rank)};
}

/* in tenths; nothing goes on beside the products of the first part that is sent, its last copies, and the first ones on the way back: these are small */
static Part PartOf(PatchFDBoxSolve s, PetscMPIInt rank, PetscBool back, int i)
{
  static const PetscInt there[PARTS + 1] = {0, 1, 4, 7, 9, 10}, home[PARTS_BACK + 1] = {0, 1, 3, 6, 10};
  const PetscInt       *ends = back ? home : there, planes = Planes(s, rank), first = planes * ends[i] / 10;

  return (Part){first, planes * ends[i + 1] / 10 - first};
}

/* where an array of planes has a part of them, with so many numbers in a line of direction e */
static void *At(PatchFDBoxSolve s, void *a, Part part, PetscInt length)
{
  return (char *)a + (size_t)part.first * (size_t)(length * s->inner) * s->kern->size;
}

/* the nodes of a rank */
static PatchFDBoxFold FoldNodes(PatchFDBoxSolve s, Part part)
{
  PatchFDBoxFold f = {.box = s->box};

  for (int d = 0; d < 3; d++) {
    f.line[d]  = s->line[d];
    f.first[d] = s->first[d];
  }
  if (s->ranks > 1) {
    f.line[s->c] = PlainLine(part.n);
    f.first[s->c] += s->node[s->me] + part.first;
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
static PetscErrorCode ProductPieces(PatchFDBoxSolve s, Part part, PetscBool back)
{
  const PatchFDBoxLine *l      = &s->line[s->e];
  const PetscInt        length = PatchFDBoxLineLength(l);

  PetscFunctionBegin;
  for (PetscInt b = 0; b < l->blocks; b++) {
    PetscBool add = PETSC_FALSE;

    for (PetscMPIInt r = 0; r < s->ranks; r++) {
      const PetscInt          first = PetscMax(s->mode[r], b * l->size), end = PetscMin(s->mode[r + 1], (b + 1) * l->size);
      const PatchFDBoxProduct p = {.d = s->e, .block = b, .first = first - b * l->size, .n = end - first, .inner = s->inner, .outer = part.n, .numbers = length, .modes = Modes(s, r)};

      if (first >= end) continue;
      PetscCall(s->k->product(s->plan, &p, back, add, (char *)s->v + (size_t)(b * l->size * s->inner) * s->kern->size,
                                         (char *)At(s, Piece(s, r), part, Modes(s, r)) + (size_t)((first - s->mode[r]) * s->inner) * s->kern->size));
      add = back;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* direction 0, where it is not e */
static PetscErrorCode ProductFirst(PatchFDBoxSolve s, Part part, PetscBool back)
{
  PetscFunctionBegin;
  if (s->e) PetscCall(Product(s, 0, 1, PatchFDBoxLineLength(&s->line[1]) * part.n, back, s->t, s->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NodesToPieces(PatchFDBoxSolve s, Part part, const void *b)
{
  const PatchFDBoxFold fold = FoldNodes(s, part);

  PetscFunctionBegin;
  PetscCall(s->k->fold(&fold, b, s->e ? s->t : s->v));
  PetscCall(ProductFirst(s, part, PETSC_FALSE));
  PetscCall(ProductPieces(s, part, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PiecesToNodes(PatchFDBoxSolve s, Part part, void *x)
{
  const PatchFDBoxFold fold = FoldNodes(s, part);

  PetscFunctionBegin;
  PetscCall(ProductPieces(s, part, PETSC_TRUE));
  PetscCall(ProductFirst(s, part, PETSC_TRUE));
  PetscCall(s->k->unfold(&fold, s->e ? s->t : s->v, x));
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

/* ---- shared by ranks that write to each other's memory ---- */

/* a part of this rank's pieces to the modes of all others; or of the others' planes from this rank's modes to their pieces */
static PetscErrorCode Put(PatchFDBoxSolve s, PetscBool back, int i)
{
  PetscFunctionBegin;
  for (PetscMPIInt j = 1; j < s->ranks; j++) {
    const PetscMPIInt r = (s->me + j) % s->ranks, planes = back ? r : s->me, modes = back ? s->me : r;
    const Part        part = PartOf(s, planes, back, i);
    const PetscInt    n    = Modes(s, modes);
    char             *pieces = (char *)(back ? s->us[r] : s->u) + (size_t)PieceOut(s, planes, modes) * s->kern->size;
    char             *all    = (char *)(back ? s->w : s->ws[r]) + (size_t)PieceIn(s, planes, modes) * s->kern->size;
    void             *from = At(s, back ? all : pieces, part, n), *to = At(s, back ? pieces : all, part, n);

    PetscCall(s->k->put(s->plan, (size_t)part.n * (size_t)(n * s->inner), from, to));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all have put what they put before mark i */
static PetscErrorCode Wait(PatchFDBoxSolve s, int i)
{
  PetscFunctionBegin;
  PetscCall(s->k->wait(s->plan, i));
  PetscCall(Exchange(s, s->done, s->flag, s->flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyParts(PatchFDBoxSolve s, const void *b, void *x)
{
  PetscFunctionBegin;
  for (int i = 0; i < PARTS; i++) {
    PetscCall(NodesToPieces(s, PartOf(s, s->me, PETSC_FALSE, i), b));
    PetscCall(s->k->fork(s->plan));
    PetscCall(Put(s, PETSC_FALSE, i));
  }
  PetscCall(s->k->mark(s->plan, 0));
  PetscCall(Wait(s, 0));
  PetscCall(SolveModes(s));
  PetscCall(s->k->fork(s->plan));
  for (int i = 0; i < PARTS_BACK; i++) {
    PetscCall(Put(s, PETSC_TRUE, i));
    PetscCall(s->k->mark(s->plan, i));
  }
  for (int i = 0; i < PARTS_BACK; i++) {
    PetscCall(Wait(s, i));
    PetscCall(PiecesToNodes(s, PartOf(s, s->me, PETSC_TRUE, i), x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDBoxSolveApply(PatchFDBoxSolve s, const void *b, void *x)
{
  PetscFunctionBegin;
  if (s->small) PetscCall(s->kern->boxsolveapply(s->small, b, x));
  else if (s->us) PetscCall(ApplyParts(s, b, x));
  else {
    PetscCall(NodesToPieces(s, AllOf(s, s->me), b));
    PetscCall(Exchange(s, s->there, s->u, s->w));
    PetscCall(SolveModes(s));
    PetscCall(Exchange(s, s->back, s->w, s->u));
    PetscCall(PiecesToNodes(s, AllOf(s, s->me), x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
